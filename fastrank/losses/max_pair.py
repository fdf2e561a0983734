"""MaxPair: the loss of the worst pair."""

from __future__ import annotations

import math
from dataclasses import dataclass

from fastrank._core import _losses
from fastrank._validation import check_real
from fastrank.data.plan import QueryPlan
from fastrank.losses._base import ScoreLoss
from fastrank.losses._inputs import Weights
from fastrank.metrics.names import Metric, parse_metric

# Measures that are 1 wherever documents stand in order of their grades: and whether at every cut-off too.
_BOUNDED = {"ndcg": True, "ap": False, "rr": True, "success": True, "wta": False, "rprec": False, "bpref": False}


@dataclass(frozen=True, repr=False)
class MaxPair(ScoreLoss):
    """How far the worst pair of documents is from standing in order.

    phi_C(s, R) = max(0, max{margin + s_j - s_i : R_i > R_j})

    At least `margin` wherever a document stands below, or ties with, one of lower grade. So it bounds every measure
    that is 1 for documents in order of their grades and never negative: margin * (1 - measure) <= phi_C.

    Parameters
    ----------
    margin : float, default=1.0
        How far above every lower grade a document must score.

    Notes
    -----
    Cost: O(m) for m documents, by one sweep up the grades. Subgradient: +1 at j, -1 at i of the pair of largest value;
    of equal pairs the one of lowest grade of i, then of lowest row.

    References
    ----------
    S. Chaudhuri and A. Tewari, "Perceptron-like algorithms for online learning to rank", 2017, Eq. 26-29.

    Examples
    --------
    >>> values, gradient = MaxPair().value_and_grad([0.5, 2.0, 1.0], [2, 0, 1])
    >>> values.tolist(), gradient.tolist()
    ([2.5], [-1.0, 1.0, 0.0])
    """

    margin: float = 1.0

    formula = "max(0, max{margin + s_j - s_i : R_i > R_j})"

    def __post_init__(self) -> None:
        object.__setattr__(self, "margin", check_real(self.margin, name="margin", zero=False))

    def kernel(self, plan: QueryPlan, sample_weight: Weights = None) -> _losses.MaxPairLoss:
        """Return the compiled loss; see `ScoreLoss.kernel`."""
        return _losses.MaxPairLoss(sample_weight, self.margin)

    def _lipschitz(self, norm: str, n_docs: int | None) -> float:
        return 2.0 if norm == "linf" else math.sqrt(2.0)

    @property
    def metric(self) -> Metric:
        """NDCG, the most usual of the measures that it bounds."""
        return Metric("ndcg")

    @property
    def bound_scale(self) -> float:
        """1 / margin."""
        return 1.0 / self.margin

    def bounds(self, metric: str | Metric) -> bool:
        """Tell whether the measure is 1 for documents in order of their grades: NDCG(@k), AP, RR(@k), WTA and such.

        Not so AP@k, P@k, recall@k and ERR, which even the best order may leave below 1.
        """
        asked = parse_metric(metric)
        return asked.kind in _BOUNDED and (asked.k is None or _BOUNDED[asked.kind])

    def _arguments(self) -> str:
        return f"margin={self.margin:g}"
