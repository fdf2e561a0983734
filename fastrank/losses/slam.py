"""SLAM: listwise surrogates that bound NDCG and average precision from above."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fastrank._core import _losses, _plan
from fastrank._validation import check_bool, check_real, check_weights
from fastrank.data.plan import QueryPlan
from fastrank.losses._base import ScoreLoss
from fastrank.losses._inputs import Weights
from fastrank.metrics.names import Metric, parse_metric

_SHOWN_WEIGHTS = 6


class SlamStatistics(NamedTuple):
    """What mistake bounds need of SLAM's weights: maxima over the queries of at least two grades.

    Attributes
    ----------
    v_max : float
        Ratio of the largest to the least positive weight of a query.
    support : int
        Positive weights of a query.
    weight_sum : float
        Sum of the weights of a query.
    constant : float
        Their product, support * weight_sum * v_max, of one query. All are 0 where no query has a positive weight.
    """

    v_max: float
    support: int
    weight_sum: float
    constant: float


@dataclass(frozen=True, init=False, repr=False)
class Slam(ScoreLoss):
    """Surrogate loss of a ranking measure: a weighted sum of how far documents are from standing where they should.

    phi_v(s, R) = sum_i v_i max(0, margin + max{s_j : R_j < R_i} - s_i),

    documents of the lowest grade contributing nothing. It is convex, the optimum of the linear program

        min sum_i v_i delta_i  subject to  delta_i >= 0,  s_i + delta_i >= margin + s_j wherever R_i > R_j,

    and for every named weight vector margin * (1 - measure) <= phi_v, whatever the scores and the order of tied ones.

    Parameters
    ----------
    weights : str, Metric or array-like, default="ndcg2017"
        How much documents count, listed by grade, highest first: "ndcg2017", "ndcg2014" for NDCG, "ndcg@k" for NDCG@k;
        "ap2017", "map2014", "ap_sym" for average precision; see `QueryPlan.slam_weights` for their formulas. A measure
        means the weights of 2017: "ndcg" is "ndcg2017", "ap" and "map" are "ap2017". Or a vector of your own, finite
        and not negative; places beyond its end weigh 0.
    margin : float, default=1.0
        How far above all lower grades a document must score to cost nothing.
    class_average : bool, default=False
        Replace each weight by the mean inside its grade, so that the order of the rows does not matter.

    Notes
    -----
    Cost: O(m) for m documents, by one sweep up the grades. The weights of 2014 are smaller and the bound is tighter;
    those of 2017 have the better mistake bound (see `weight_statistics`). Subgradient: the maximum of equal scores is
    the one of lowest grade, then of lowest row; a document exactly at its margin has slope 0.

    References
    ----------
    S. Chaudhuri and A. Tewari, "Perceptron-like algorithms for online learning to rank", 2014, Eq. 3-9 and 31, and
    2017, Eq. 8-13 and 24.

    Examples
    --------
    >>> loss = Slam("ndcg@10")
    >>> loss
    Slam('ndcg@10', margin=1)  sum_i v_i max(0, margin + max{s_j : R_j < R_i} - s_i)
    >>> values, gradient = loss.value_and_grad([0.5, 2.0, 1.0, 3.0, 1.0], [1, 0, 0, 1, 0], qid=[7, 7, 7, 8, 8])
    >>> values.tolist(), gradient.tolist()
    ([2.5, 0.0], [-1.0, 1.0, 0.0, 0.0, 0.0])
    """

    weights: str | tuple[float, ...]
    margin: float
    class_average: bool

    formula = "sum_i v_i max(0, margin + max{s_j : R_j < R_i} - s_i)"

    def __init__(
        self, weights: str | Metric | ArrayLike = "ndcg2017", *, margin: float = 1.0, class_average: bool = False
    ) -> None:
        is_named = isinstance(weights, (str, Metric))
        object.__setattr__(self, "weights", _name(weights) if is_named else _vector(weights))
        object.__setattr__(self, "margin", check_real(margin, name="margin", zero=False))
        object.__setattr__(self, "class_average", check_bool(class_average, name="class_average"))

    def row_weights(self, plan: QueryPlan) -> NDArray[np.float64]:
        """Return v, one per row in grouped order."""
        if isinstance(self.weights, str):
            return plan.slam_weights(self.weights, class_average=self.class_average)
        table = np.zeros(max(len(plan.discounts), len(self.weights)))
        table[: len(self.weights)] = self.weights
        first_row = np.repeat(plan.qptr[:-1], np.diff(plan.qptr))
        place, row = np.arange(len(first_row)) - first_row, first_row + plan.by_grade
        by_place = table[place]
        if self.class_average and len(place):
            level = plan.levels[row]
            is_first = place == 0
            is_first[1:] |= level[1:] != level[:-1]
            firsts = np.flatnonzero(is_first)
            sizes = np.diff(firsts, append=len(place))
            by_place = np.repeat(np.add.reduceat(by_place, firsts) / sizes, sizes)
        v = np.empty(len(row))
        v[row] = by_place
        return v

    def kernel(self, plan: QueryPlan, sample_weight: Weights = None) -> _losses.SlamLoss:
        """Return the compiled loss; see `ScoreLoss.kernel`."""
        v = self.row_weights(plan)
        return _losses.SlamLoss(v if sample_weight is None else v * sample_weight, self.margin)

    def weight_statistics(self, plan: QueryPlan, sample_weight: Weights = None) -> SlamStatistics:
        """Return what mistake bounds need of the weights: A = 4 * constant * R^2 / margin, R the longest document.

        Parameters
        ----------
        plan : QueryPlan
        sample_weight : ndarray of float64, shape (n_rows,), or None
            Row weights in grouped order, which multiply v.

        Notes
        -----
        Cost: O(rows). The subgradient z of a query whose measure is below 1 has ||z||^2 <= A phi_v: its norm is at
        most 2 R sum_i v_i, and phi_v is at least margin times the v of a document that is out of place. With weights of
        your own, or row weights of 0, all documents out of place may weigh nothing, and A is no such constant.

        Examples
        --------
        >>> from fastrank.data import RankingDataset
        >>> data = RankingDataset([[0.0]] * 5, [1, 0, 1, 1, 1], group=[3, 2])
        >>> Slam("ap").weight_statistics(data.plan)
        SlamStatistics(v_max=1.0, support=2, weight_sum=1.0, constant=2.0)
        """
        v = self.row_weights(plan)
        v = v if sample_weight is None else v * sample_weight
        has_rows = np.diff(plan.qptr) > 0
        starts = plan.qptr[:-1][has_rows]
        if not len(starts):
            return SlamStatistics(0.0, 0, 0.0, 0.0)
        support = np.add.reduceat((v > 0).astype(np.int64), starts)
        counts = (np.diff(plan.level_ptr)[has_rows] > 1) & (support > 0)
        if not counts.any():
            return SlamStatistics(0.0, 0, 0.0, 0.0)
        support, total = support[counts], np.add.reduceat(v, starts)[counts]
        largest = np.maximum.reduceat(v, starts)[counts]
        ratio = largest / np.minimum.reduceat(np.where(v > 0, v, np.inf), starts)[counts]
        constant = float((support * total * ratio).max())
        return SlamStatistics(float(ratio.max()), int(support.max()), float(total.max()), constant)

    def _lipschitz(self, norm: str, n_docs: int | None) -> float:
        total = 1.0 if isinstance(self.weights, str) else math.fsum(self.weights)
        return total * (2.0 if norm == "linf" else math.sqrt(2.0))

    @property
    def metric(self) -> Metric | None:
        """The measure that the weights belong to; None for a vector of your own."""
        if not isinstance(self.weights, str):
            return None
        if "@" in self.weights:
            return parse_metric(self.weights)
        return Metric("ndcg" if self.weights.startswith("ndcg") else "ap")

    @property
    def bound_scale(self) -> float | None:
        """1 / margin, or None for a vector of your own."""
        return None if self.metric is None else 1.0 / self.margin

    def bounds(self, metric: str | Metric) -> bool:
        """Tell whether the weights belong to this measure, with gain 2^grade - 1, relevant being grades above 0."""
        asked = parse_metric(metric)
        return self.metric == (dataclasses.replace(asked, gain=None) if asked.gain == "exp2" else asked)

    def _arguments(self) -> str:
        weights = repr(self.weights)
        if not isinstance(self.weights, str) and len(self.weights) > _SHOWN_WEIGHTS:
            shown = ", ".join(map(repr, self.weights[:_SHOWN_WEIGHTS]))
            weights = f"({shown}, ... {len(self.weights)} weights)"
        return f"{weights}, margin={self.margin:g}" + (", class_average=True" if self.class_average else "")


def _name(weights: Any) -> str:
    """The name in the plan of a weight vector, or of the one that belongs to a measure."""
    if weights in _plan.SLAM_KINDS:
        return str(weights)
    try:
        metric = parse_metric(weights)
    except ValueError:
        metric = Metric("tau")  # has no weights
    if metric.rel is None and metric.gain in (None, "exp2"):
        if metric.kind == "ndcg":
            return "ndcg2017" if metric.k is None else f"ndcg@{metric.k}"
        if metric.kind == "ap" and metric.k is None:
            return "ap2017"
    names = ", ".join([*_plan.SLAM_KINDS, "ndcg@k"])
    raise ValueError(
        f"weights: expected one of {names}, the measures 'ndcg' and 'ap', or a vector of weights by place, "
        f"got {weights!r}"
    )


def _vector(weights: Any) -> tuple[float, ...]:
    found = check_weights(weights, np.size(weights), name="weights", per="one per place, highest grade first")
    if found is None or not len(found):
        raise ValueError(f"weights: expected at least one weight, or a name such as 'ndcg@10', got {weights!r}")
    return tuple(found.tolist())
