"""From a run and the data it saw to what the bounds need: constants, and the surrogate sums of comparators."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from fastrank._core._loss import evaluate_into
from fastrank.bounds.certificate import Certificate, Comparator, Kind, certify_rounds
from fastrank.bounds.perceptron import max_pair_constant, slam_constant, slam_constant_paper
from fastrank.bounds.separation import margin_of, separating_direction
from fastrank.data.dataset import RankingDataset
from fastrank.learners._rounds import Rules
from fastrank.learners.history import OnlineHistory
from fastrank.losses._base import dataset_kernel
from fastrank.losses.max_pair import MaxPair
from fastrank.losses.slam import Slam
from fastrank.objectives._rows import rows_of

_MOST_ENTRIES_TO_SEPARATE = 2_000_000
"""Rows times features up to which a separating direction is looked for."""

_SCALES = (0.0, *(2.0**exponent for exponent in range(-16, 17)))
"""Lengths at which a comparator is tried where the rounds pass by only once."""

Counts = NDArray[np.int32]


class Constants:
    """What the constants of the bounds are made of: maxima over the data shown, chunk by chunk."""

    def __init__(self) -> None:
        self._square, self._longest, self._v_max, self._weights = 0.0, 0, 1.0, 0.0
        self.is_weighted = False

    def add(self, data: RankingDataset, rules: Rules) -> None:
        """Count a data set in."""
        if data.n_rows:
            self._square = max(self._square, rows_of(data.grouped_X).largest_square(0, data.n_rows))
            self._longest = max(self._longest, int(data.sizes.max()))
        self.is_weighted |= data.sample_weight is not None or data.query_weight is not None
        if isinstance(rules.loss, Slam):
            statistics = rules.loss.weight_statistics(data.plan)
            self._v_max = max(self._v_max, statistics.v_max)
            self._weights = max(self._weights, statistics.constant)

    @property
    def radius(self) -> float:
        """R_X, the largest norm of a document."""
        return math.sqrt(self._square)

    def of(self, rules: Rules, radius: float | None = None) -> tuple[float, float] | None:
        """A of self-bounding and the papers' larger one; None where mistake rounds of this loss have none.

        `radius` replaces the largest norm found.
        """
        loss, norm = rules.loss, self.radius if radius is None else radius
        if isinstance(loss, Slam):
            cut = rules.metrics[0].k
            places = self._longest if cut is None else min(cut, self._longest)
            return (
                slam_constant(norm, self._weights, loss.margin),
                slam_constant_paper(norm, max(1, places), self._v_max, loss.margin),
            )
        if isinstance(loss, MaxPair):
            constant = max_pair_constant(norm, loss.margin)
            return constant, constant
        return None


def certificate(
    history: OnlineHistory, rules: Rules, constants: Constants, candidates: Sequence[Comparator]
) -> Certificate:
    """Put the sums of a run next to the bounds on them."""
    loss, metric = rules.loss, rules.metrics[0]
    # row and query weights change what is learned from, and not what is measured
    is_bound = loss.bound_scale is not None and loss.bounds(metric) and not constants.is_weighted
    found = constants.of(rules) if is_bound and rules.only_mistakes else None
    kind: Kind = "regret" if found is None else "slam" if isinstance(loss, Slam) else "max_pair"
    return certify_rounds(
        kind=kind,
        metric_name=metric.name,
        n_rounds=history.n_rounds,
        n_mistakes=history.n_mistakes,
        n_updates=history.n_updates,
        observed_loss=history.loss,
        surrogate_sum=history.surrogate_sum,
        square_sum=history.square_sum,
        rate=history.rate,
        radius=constants.radius,
        constant=None if found is None else found[0],
        paper_constant=None if found is None else found[1],
        bound_scale=loss.bound_scale if is_bound else None,
        candidates=candidates,
        ball=rules.ball,
        last_rate=history.last_rate,
        rate_square_sum=history.rate_square_sum,
    )


def comparators(
    data: RankingDataset, rules: Rules, shown: Counts, stepped: Counts, vectors: dict[str, NDArray[np.float64]]
) -> list[Comparator]:
    """Return what a run on a data set may be compared with, the scale of each still open."""
    found = []
    for name, u in vectors.items():
        margin = margin_of(data, u) if u.any() else 0.0
        sums = surrogate_sums(data, rules, shown, stepped, u)
        found.append(Comparator(name, float(np.linalg.norm(u)), sums, margin=_usable(margin)))
    return found


def separating_vector(data: RankingDataset) -> dict[str, NDArray[np.float64]]:
    """Return the direction that ranks all queries perfectly, by its name, where there is one and it is soon found."""
    if data.n_rows * data.n_features > _MOST_ENTRIES_TO_SEPARATE:
        return {}
    direction = separating_direction(data).direction
    return {} if direction is None else {"separating direction": direction}


def surrogate_sums(
    data: RankingDataset, rules: Rules, shown: Counts, stepped: Counts, u: NDArray[np.float64]
) -> Callable[[float], tuple[float, float]]:
    """Return the sums of the surrogate of c u over the rounds, and over those with a step, as a function of c.

    X is read once; each call then costs O(rows).
    """
    kernel, view = dataset_kernel(rules.loss, data), data.plan.view
    scores, values = np.empty(data.n_rows), np.empty(data.n_queries)
    if data.n_rows:
        rows_of(data.grouped_X).scores_into(u, 0, data.n_rows, scores)
    counts = np.stack([shown, stepped]).astype(np.float64)

    def sums(scale: float) -> tuple[float, float]:
        evaluate_into(kernel, view, scale * scores, data.query_weight, 0, data.n_queries, values, None)
        over_all, over_steps = counts @ values
        return float(over_all), float(over_steps)

    return sums


class PassingSums:
    """The surrogate sums of a vector over rounds that pass by in chunks, at a few scales."""

    def __init__(self, name: str, u: NDArray[np.float64]) -> None:
        self._name, self._u, self._norm = name, u, float(np.linalg.norm(u))
        self._margin = math.inf
        self._sums = dict.fromkeys(_SCALES, (0.0, 0.0))

    def add(self, data: RankingDataset, rules: Rules, shown: Counts, stepped: Counts) -> None:
        """Count the rounds of a chunk in; the vector has zeros for features that it does not know."""
        u = np.zeros(data.n_features)
        known = min(len(u), len(self._u))
        u[:known] = self._u[:known]
        margin = margin_of(data, u) * float(np.linalg.norm(u)) / self._norm if u.any() else 0.0
        self._margin = min(self._margin, margin)
        sums = surrogate_sums(data, rules, shown, stepped, u)
        for scale, (over_all, over_steps) in self._sums.items():
            more_all, more_steps = sums(scale)
            self._sums[scale] = over_all + more_all, over_steps + more_steps

    def comparators(self) -> list[Comparator]:
        """Return the vector at each scale."""
        return [
            Comparator(self._name, self._norm, self._sums.__getitem__, margin=_usable(self._margin), scale=scale)
            for scale in _SCALES
        ]


def _usable(margin: float) -> float | None:
    return margin if 0.0 < margin < math.inf else None
