from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

class _Workspace: ...

class Judgements:
    places: dict[str, int]
    highest: int
    def __init__(self, pairs: list[tuple[str, Any]], convert: Callable[[str, Any], dict[str, int]]) -> None: ...
    def n_judged(self, places: list[int]) -> int: ...
    def select(
        self, queries: list[str], runs: list[Any], convert: Callable[[str, Any], dict[str, float]]
    ) -> tuple[list[str], list[Any], list[int], int]: ...
    def rank_into(
        self,
        queries: list[str],
        runs: list[Any],
        places: list[int],
        convert: Callable[[str, Any], dict[str, float]],
        unjudged: int,
        level: int,
        grades: NDArray[np.int32],
        qptr: NDArray[np.int64],
        missing: NDArray[np.int32],
        missing_ptr: NDArray[np.int64],
    ) -> int: ...

def results(queries: list[str], keys: list[str], values: NDArray[np.float64]) -> dict[str, dict[str, float]]: ...
