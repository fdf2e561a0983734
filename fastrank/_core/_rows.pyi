from typing import Any

import numpy as np
from numpy.typing import NDArray

class Rows:
    n_rows: int
    n_columns: int
    def __init__(
        self,
        values: NDArray[Any],
        indices: NDArray[Any] | None,
        indptr: NDArray[Any] | None,
        n_columns: int,
        level: int,
    ) -> None: ...
    def scores_into(self, w: NDArray[np.float64], first: int, last: int, out: NDArray[np.float64]) -> None: ...
    def add_transposed_into(self, g: NDArray[np.float64], first: int, last: int, out: NDArray[np.float64]) -> None: ...
    def largest_square(self, first: int, last: int) -> float: ...
