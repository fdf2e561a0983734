import numpy as np
from numpy.typing import NDArray

from fastrank._core._loss import Loss, PlanView
from fastrank._core._metrics import Program
from fastrank._core._rows import Rows

# Round t shows query order[t]: s = X_q w; measures[:, t] of the program (codes: the grade of each row as an index).
# If not only_mistakes, or 1 - measures[0, t] >= 1e-12: surrogate[t] = loss, z = X_q^T gradient, square[t] = ||z||^2,
# moved[t] = z != 0, w -= rates[t] z, and w is scaled back onto the ball ||w|| <= radius (inf: none). Otherwise the
# three are 0. w_sum (or None) gathers w as it was at the start of each round. Returns the number of rounds played:
# fewer than there are where a score or z leaves |.| < 1e150; w is then as it was before that round.
def run_rounds(
    rows: Rows,
    plan: PlanView,
    loss: Loss,
    program: Program,
    codes: NDArray[np.int32],
    order: NDArray[np.int64],
    rates: NDArray[np.float64],
    only_mistakes: bool,
    radius: float,
    w: NDArray[np.float64],
    w_sum: NDArray[np.float64] | None,
    measures: NDArray[np.float64],
    surrogate: NDArray[np.float64],
    square: NDArray[np.float64],
    moved: NDArray[np.uint8],
    level: int,
) -> int: ...

# Round t shows row order[t], labels are +1 and -1. A mistake is label * (x w) <= 0: then hinge[t] = 1 - label x w,
# square[t] = ||x||^2 and w += rates[t] label x. Otherwise zeros.
def run_binary(
    rows: Rows,
    labels: NDArray[np.float64],
    order: NDArray[np.int64],
    rates: NDArray[np.float64],
    w: NDArray[np.float64],
    w_sum: NDArray[np.float64] | None,
    hinge: NDArray[np.float64],
    square: NDArray[np.float64],
    mistakes: NDArray[np.uint8],
) -> int: ...
