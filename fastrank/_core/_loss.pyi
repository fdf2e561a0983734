import numpy as np
from numpy.typing import NDArray

class Loss:
    def __init__(self) -> None: ...

class PlanView:
    n_queries: int
    n_rows: int
    longest: int
    def __init__(
        self,
        qptr: NDArray[np.int64],
        by_grade: NDArray[np.int32],
        level_ptr: NDArray[np.int64],
        level_end: NDArray[np.int32],
        level_of: NDArray[np.int32],
    ) -> None: ...

def evaluate_into(
    loss: Loss,
    plan: PlanView,
    scores: NDArray[np.float64],
    query_weight: NDArray[np.float64] | None,
    first: int,
    last: int,
    values: NDArray[np.float64],
    gradient: NDArray[np.float64] | None,
) -> None: ...
