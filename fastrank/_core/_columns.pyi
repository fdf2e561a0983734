from typing import Any

from numpy.typing import NDArray

def has_nonfinite(X: NDArray[Any], first: int, last: int, allow_nan: bool, level: int) -> bool: ...
def range_into(X: NDArray[Any], first: int, last: int, level: int, low: NDArray[Any], high: NDArray[Any]) -> None: ...
def sums_into(
    X: NDArray[Any], first: int, last: int, center: NDArray[Any], level: int, out: NDArray[Any]
) -> None: ...
def scale_into(
    X: NDArray[Any],
    first: int,
    last: int,
    offset: NDArray[Any],
    divisor: NDArray[Any],
    level: int,
    out: NDArray[Any],
) -> None: ...
