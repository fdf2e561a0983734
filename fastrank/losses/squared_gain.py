"""SquaredGain: least squares regression on the gains."""

from __future__ import annotations

from dataclasses import dataclass

from fastrank._core import _losses
from fastrank.data.plan import QueryPlan
from fastrank.losses._base import ScoreLoss
from fastrank.losses._inputs import Weights


@dataclass(frozen=True, repr=False)
class SquaredGain(ScoreLoss):
    """Half the squared distance between scores and gains.

    phi(s, R) = 1/2 sum_i (s_i - G(R_i))^2,  G(r) = 2^r - 1

    Notes
    -----
    Cost: O(m) for m documents. The gradient is s - G; it has no bound, and neither has the Lipschitz constant.

    References
    ----------
    D. Cossock and T. Zhang, "Subset ranking using regression", COLT 2006.

    Examples
    --------
    >>> values, gradient = SquaredGain().value_and_grad([1.0, 2.0], [2, 0])
    >>> values.tolist(), gradient.tolist()
    ([4.0], [-2.0, 2.0])
    """

    formula = "1/2 sum_i (s_i - (2^R_i - 1))^2"

    def kernel(self, plan: QueryPlan, sample_weight: Weights = None) -> _losses.SquaredGainLoss:
        """Return the compiled loss; see `ScoreLoss.kernel`."""
        return _losses.SquaredGainLoss(plan.gains, sample_weight)
