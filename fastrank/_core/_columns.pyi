from typing import Any

from numpy.typing import NDArray

SCALE_METHODS: dict[str, int]
LOW: int
HIGH: int
COUNT: int
SUM: int
ABSOLUTE: int
SQUARE: int
N_STATISTICS: int

def has_nonfinite(X: NDArray[Any], first: int, last: int, allow_nan: bool, level: int) -> bool: ...
def statistics_into(
    X: NDArray[Any], first: int, last: int, center: NDArray[Any], level: int, out: NDArray[Any]
) -> None: ...
def offsets_into(
    method: int, statistics: NDArray[Any], mean: NDArray[Any], offset: NDArray[Any], divisor: NDArray[Any]
) -> int: ...
def scale_into(
    X: NDArray[Any],
    first: int,
    last: int,
    offset: NDArray[Any],
    divisor: NDArray[Any],
    level: int,
    out: NDArray[Any],
) -> None: ...
def scale_queries_into(
    X: NDArray[Any],
    qptr: NDArray[Any],
    first: int,
    last: int,
    method: int,
    level: int,
    work: NDArray[Any],
    out: NDArray[Any],
) -> tuple[int, int]: ...
