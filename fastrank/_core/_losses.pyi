import numpy as np
from numpy.typing import NDArray

from fastrank._core._loss import Loss

class _Rowwise(Loss): ...

class SlamLoss(_Rowwise):
    def __init__(self, weights: NDArray[np.float64], margin: float) -> None: ...

class MaxPairLoss(_Rowwise):
    def __init__(self, row_weight: NDArray[np.float64] | None, margin: float) -> None: ...

class ListNetLoss(_Rowwise):
    def __init__(self, targets: NDArray[np.float64], level: int) -> None: ...

class RankSvmLoss(_Rowwise):
    def __init__(self, row_weight: NDArray[np.float64] | None, margin: float, level: int) -> None: ...

class SquaredGainLoss(_Rowwise):
    def __init__(self, gains: NDArray[np.float64], row_weight: NDArray[np.float64] | None) -> None: ...

def softmax_into(
    values: NDArray[np.float64],
    qptr: NDArray[np.int64],
    first: int,
    last: int,
    level: int,
    out: NDArray[np.float64],
) -> None: ...
