from typing import Any

import numpy as np
from numpy.typing import NDArray

KINDS: dict[str, int]
TIES: dict[str, int]
PATHS: dict[str, int]
NORM_MIN: int
SHORT_ZERO: int

class Program:
    def __init__(
        self,
        kinds: NDArray[np.int32],
        cuts: NDArray[np.int64],
        flags: NDArray[np.int32],
        fills: NDArray[np.float64],
        gains: NDArray[np.float64],
        stops: NDArray[np.float64],
        first_judged: int,
        first_relevant: int,
        discounts: NDArray[np.float64],
        ties: int,
    ) -> None: ...
    def run(
        self,
        scores: NDArray[Any] | None,
        codes: NDArray[Any],
        qptr: NDArray[np.int64],
        first: int,
        last: int,
        missing: NDArray[np.int32] | None,
        missing_ptr: NDArray[np.int64] | None,
        level: int,
        path: int,
        out: NDArray[np.float64],
    ) -> tuple[int, list[int]]: ...

def longest_list(qptr: NDArray[np.int64], missing_ptr: NDArray[np.int64] | None) -> int: ...
def rank_into(
    scores: NDArray[Any],
    qptr: NDArray[np.int64],
    first: int,
    last: int,
    level: int,
    order: NDArray[np.int32],
) -> None: ...
