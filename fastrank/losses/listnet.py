"""ListNet: cross entropy between the chances of being first."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fastrank._core import _cpu, _losses
from fastrank._validation import check_choice
from fastrank.data.plan import QueryPlan
from fastrank.losses._base import ScoreLoss
from fastrank.losses._inputs import Weights


@dataclass(frozen=True, repr=False)
class ListNet(ScoreLoss):
    """Cross entropy between the top-1 distributions of the grades and of the scores.

    phi(s, R) = -sum_i P_i(R) log P_i(s),  P_i(x) = exp(x_i) / sum_j exp(x_j)

    Parameters
    ----------
    target : {"grade", "gain"}, default="grade"
        P of the grades R, as the papers have it, or of the gains 2^R - 1.

    Notes
    -----
    Cost: O(m) for m documents, with an exponential for each; scores of any size are safe. The gradient is P(s) - P(R).
    The least value is the entropy of P(R), not 0.

    References
    ----------
    Z. Cao et al., "Learning to rank: from pairwise approach to listwise approach", ICML 2007. The constants:
    A. Tewari and S. Chaudhuri, "Generalization error bounds for learning to rank: Does the length of document lists
    matter?", ICML 2015, Prop. 1, where they are larger than need be.

    Examples
    --------
    >>> values, gradient = ListNet().value_and_grad([0.0, 0.0], [1, 0])
    >>> values.round(4).tolist(), gradient.round(4).tolist()
    ([0.6931], [-0.2311, 0.2311])
    """

    target: str = "grade"

    def __post_init__(self) -> None:
        check_choice(self.target, ("grade", "gain"), name="target")

    @property
    def formula(self) -> str:
        """The loss of one query, in symbols."""
        x = "R" if self.target == "grade" else "2^R - 1"
        return f"-sum_i P_i({x}) log P_i(s), P = softmax"

    def kernel(self, plan: QueryPlan, sample_weight: Weights = None) -> _losses.ListNetLoss:
        """Return the compiled loss; see `ScoreLoss.kernel`."""
        values = plan.gains if self.target == "gain" else plan.grades[plan.levels]
        targets = np.empty(len(values))
        _losses.softmax_into(values, plan.qptr, 0, len(plan.qptr) - 1, _cpu.LEVEL, targets)
        return _losses.ListNetLoss(targets if sample_weight is None else targets * sample_weight, _cpu.LEVEL)

    def _lipschitz(self, norm: str, n_docs: int | None) -> float:
        return 2.0 if norm == "linf" else math.sqrt(2.0)  # suprema, which no scores attain

    def smoothness(self) -> float:
        """Return H with ||gradient(s) - gradient(s')||_1 <= H ||s - s'||_inf: 1, with unit weights."""
        return 1.0

    def _arguments(self) -> str:
        return f"target={self.target!r}"
