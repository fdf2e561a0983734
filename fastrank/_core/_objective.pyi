import numpy as np
from numpy.typing import NDArray

from fastrank._core._loss import Loss, PlanView
from fastrank._core._rows import Rows

def linear_into(
    rows: Rows,
    plan: PlanView,
    loss: Loss,
    w: NDArray[np.float64],
    query_weight: NDArray[np.float64] | None,
    first: int,
    last: int,
    values: NDArray[np.float64],
    gradient: NDArray[np.float64] | None,
) -> None: ...
