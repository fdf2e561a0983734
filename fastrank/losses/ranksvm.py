"""RankSVM: hinge loss of every pair."""

from __future__ import annotations

import math
from dataclasses import dataclass

from fastrank._core import _cpu, _losses
from fastrank._validation import check_real
from fastrank.data.plan import QueryPlan
from fastrank.losses._base import ScoreLoss
from fastrank.losses._inputs import Weights


@dataclass(frozen=True, repr=False)
class RankSVM(ScoreLoss):
    """Sum of the hinge losses of all pairs of documents of different grades.

    phi(s, R) = sum over R_i > R_j of max(0, margin + s_j - s_i)

    Parameters
    ----------
    margin : float, default=1.0
        How far apart the scores of a pair must be to cost nothing.

    Notes
    -----
    Cost: O(m log m + L m) for m documents of L grades, never O(m^2). The gradient is +1 at j and -1 at i for every pair
    that costs something. It is as large as the number of pairs: give long lists a `query_weight`, or they rule.

    Constants for lists of m documents: the gradient lies in the polytope whose corners are the orders of m - 1, m - 3,
    ..., 1 - m (all pairs of m different grades), so its l1 norm is at most floor(m^2 / 2) and its l2 norm at most
    sqrt(m (m^2 - 1) / 3). Both are attained.

    References
    ----------
    T. Joachims, "Optimizing search engines using clickthrough data", KDD 2002. The l1 constant:
    S. Chaudhuri and A. Tewari, "Perceptron-like algorithms for online learning to rank", 2014, section 7.9, where it is
    given as 2 m, which is too small.

    Examples
    --------
    >>> values, gradient = RankSVM().value_and_grad([0.0, 0.5, 2.0], [2, 1, 0])
    >>> values.tolist(), gradient.tolist()
    ([7.0], [-2.0, 0.0, 2.0])
    """

    margin: float = 1.0

    formula = "sum over R_i > R_j of max(0, margin + s_j - s_i)"

    def __post_init__(self) -> None:
        object.__setattr__(self, "margin", check_real(self.margin, name="margin", zero=False))

    def kernel(self, plan: QueryPlan, sample_weight: Weights = None) -> _losses.RankSvmLoss:
        """Return the compiled loss; see `ScoreLoss.kernel`."""
        return _losses.RankSvmLoss(sample_weight, self.margin, _cpu.LEVEL)

    def _lipschitz(self, norm: str, n_docs: int | None) -> float:
        if n_docs is None:
            return math.inf
        return float(n_docs**2 // 2) if norm == "linf" else math.sqrt(n_docs * (n_docs**2 - 1) / 3)

    def _arguments(self) -> str:
        return f"margin={self.margin:g}"
