"""Seeded work for the losses, the linear objective and the online learners.

Score space: lists of one length each, a million documents in all, so that only the length differs. Linear: an MSLR-like
set whose labels suit what is timed; the matrix is made once and shared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from itertools import pairwise
from typing import Any

import metric_workloads
import numpy as np
from metric_workloads import Array, RankedLists

import fastrank as fr
from fastrank._core import _cpu, _losses, _online
from fastrank._core._loss import Loss, evaluate_into
from fastrank._core._objective import linear_into
from fastrank._core._rows import Rows
from fastrank._threads import row_blocks, run_blocks
from fastrank.data import QueryPlan, make_mslr_like
from fastrank.learners._measures import measure_program, recorded_metrics
from fastrank.losses import ListNet, MaxPair, RankSVM, ScoreLoss, Slam, SquaredGain
from fastrank.metrics import Metric
from fastrank.objectives import LinearObjective
from fastrank.objectives._rows import rows_of

LENGTHS = (100, 1_000, 10_000, 100_000)

LOSSES: dict[str, ScoreLoss] = {
    "Slam ndcg2017": Slam("ndcg2017"),
    "Slam ndcg@10": Slam("ndcg@10"),
    "MaxPair": MaxPair(),
    "ListNet": ListNet(),
    "RankSVM": RankSVM(),
    "SquaredGain": SquaredGain(),
}


def equal_lists(length: int, n_docs: int = 1_000_000) -> RankedLists:
    """Lists of this many documents, so many documents in all; grades 0 to 4, normal scores."""
    return metric_workloads.long(max(1, n_docs // length), length)


@dataclass(frozen=True)
class ScoreSpace:
    """Losses of given scores: value per query and gradient per document, no features."""

    lists: RankedLists

    @cached_property
    def plan(self) -> QueryPlan:
        return QueryPlan(self.lists.grades, self.lists.qptr)

    @cached_property
    def dataset(self) -> fr.RankingDataset:
        """The lists as a data set without features, its plan built: what a user hands to a loss many times."""
        dataset = fr.RankingDataset(np.empty((self.lists.n_docs, 0)), self.lists.grades, group=self.lists.group)
        assert dataset.plan is not None
        return dataset

    def kernel(self, loss: ScoreLoss) -> Callable[[], tuple[Array, Array]]:
        """The compiled loss over all lists, into arrays that are there already."""
        return _evaluation(loss.kernel(self.plan, None), self.plan, self.lists.scores)

    def call(self, loss: ScoreLoss, n_jobs: int = 1) -> Any:
        """The same as a user asks for it."""
        return loss.value_and_grad(self.lists.scores, self.dataset, n_jobs=n_jobs)


def _evaluation(kernel: Loss, plan: QueryPlan, scores: Array) -> Callable[[], tuple[Array, Array]]:
    values, gradient = np.empty(len(plan.qptr) - 1), np.empty(len(scores))

    def evaluate() -> tuple[Array, Array]:
        evaluate_into(kernel, plan.view, scores, None, 0, len(values), values, gradient)
        return values, gradient

    return evaluate


@dataclass(frozen=True)
class LinearTask:
    """A data set with its plan built, and the weights at which it is evaluated or from which an epoch starts."""

    dataset: fr.RankingDataset
    w: Array
    n_mistakes: int | None = None
    """Rounds of an epoch from `w` with a vanishing learning rate that are mistakes, None where nobody counted."""

    @cached_property
    def rows(self) -> Rows:
        return rows_of(self.dataset.X)

    def objective(self, loss: ScoreLoss, n_jobs: int = 1) -> LinearObjective:
        return LinearObjective(loss, self.dataset, n_jobs=n_jobs)

    def in_two_passes(self, loss: ScoreLoss) -> tuple[float, Array]:
        """The same value and gradient, not fused: all scores, their losses, then X^T g."""
        values, g = _evaluation(loss.kernel(self.dataset.plan, None), self.dataset.plan, self.floor()())()
        gradient = np.zeros(self.dataset.n_features)
        self.rows.add_transposed_into(g, 0, len(g), gradient)
        return float(values.sum()), gradient

    def kernel(self, loss: ScoreLoss) -> Callable[[], tuple[float, Array]]:
        """The compiled objective over all queries at once, into arrays that are there already."""
        plan, kernel = self.dataset.plan, loss.kernel(self.dataset.plan, None)
        values, gradient = np.empty(self.dataset.n_queries), np.empty(self.dataset.n_features)

        def evaluate() -> tuple[float, Array]:
            linear_into(self.rows, plan.view, kernel, self.w, None, 0, len(values), values, gradient)
            return float(values.sum()), gradient

        return evaluate

    def floor(self, n_jobs: int = 1) -> Callable[[], Array]:
        """One pass over X with our own dot, into an array that is there already: what all figures are multiples of."""
        out = np.empty(self.dataset.n_rows)
        blocks = row_blocks(len(out), -(-len(out) // (1 if n_jobs == 1 else 32)))

        def scores() -> Array:
            run_blocks(partial(self.rows.scores_into, self.w, out=out), blocks, n_jobs)
            return out

        return scores


@lru_cache(maxsize=2)
def _mslr_like(n_queries: int) -> tuple[fr.RankingDataset, Array]:
    """The set, and weights under which scores have a standard deviation of about one and are nowhere equal."""
    dataset = make_mslr_like(n_queries, random_state=4)
    rng = np.random.default_rng(4)
    sample = dataset.X[:: max(1, dataset.n_rows // 10_000)].astype(np.float64)
    w = rng.normal(size=dataset.n_features) / (1e-9 + np.abs(sample).max(axis=0))
    return dataset, w / (sample @ w).std()


def mslr_like(n_queries: int = 10_000) -> LinearTask:
    """About 120 documents a query, 136 features in float32, the set's own grades."""
    dataset, w = _mslr_like(n_queries)
    assert dataset.plan is not None
    return LinearTask(dataset, w)


def all_mistakes(n_queries: int = 10_000) -> LinearTask:
    """Each query's documents have grades in the wrong order of their scores."""
    return _graded_by_score(n_queries, share=1.0)


def few_mistakes(n_queries: int = 10_000, share: float = 0.01) -> LinearTask:
    """The right order in all queries but a few."""
    return _graded_by_score(n_queries, share)


_CUTS = np.cumsum((0.01, 0.02, 0.13, 0.32))
"""Shares of a list at which grade 4 becomes 3, 3 becomes 2, and so on: its first document has 4, its last has 0."""


def _graded_by_score(n_queries: int, share: float) -> LinearTask:
    """The grades of MSLR-WEB's shares by score, upside down in this share of the queries, evenly spread."""
    dataset, w = _mslr_like(n_queries)
    scores = np.empty(dataset.n_rows)
    rows_of(dataset.X).scores_into(w, 0, dataset.n_rows, scores)
    y = np.empty(dataset.n_rows, dtype=np.int32)
    is_wrong = np.diff(np.floor(np.arange(dataset.n_queries + 1) * share)) > 0
    for query, (start, stop) in enumerate(pairwise(dataset.qptr.tolist())):
        by_score = np.argsort(scores[start:stop] if is_wrong[query] else -scores[start:stop])
        n_docs = stop - start
        y[start + by_score] = 4 - np.searchsorted(_CUTS, np.arange(n_docs) / (n_docs - 1), side="right")
    relabelled = fr.RankingDataset(dataset.X, y, qptr=dataset.qptr)
    assert relabelled.X is dataset.X
    assert relabelled.plan is not None
    return LinearTask(relabelled, w, int(is_wrong.sum()))


RATE = 1e-30
"""So small a step that no order of scores changes in an epoch: what is a mistake is known, the work is the same."""


@dataclass(frozen=True)
class Epoch:
    """One epoch of the perceptron over the queries in their order, from the task's weights, in the kernel.

    It measures all that `RankingPerceptron` records.
    """

    task: LinearTask
    loss: ScoreLoss
    rate: float = RATE

    @cached_property
    def _arguments(self) -> dict[str, Any]:
        dataset = self.task.dataset
        n_rounds = dataset.n_queries
        metrics = recorded_metrics(self.loss.metric if isinstance(self.loss, Slam) else Metric("ndcg", 10))
        return {
            "rows": self.task.rows,
            "plan": dataset.plan.view,
            "loss": self.loss.kernel(dataset.plan, None),
            "program": measure_program(dataset.plan, metrics),
            "codes": dataset.plan.levels,
            "order": np.arange(n_rounds),
            "rates": np.full(n_rounds, self.rate),
            "only_mistakes": True,
            "radius": np.inf,
            "w": self.task.w.copy(),
            "w_sum": None,
            "measures": np.empty((len(metrics), n_rounds)),
            "surrogate": np.empty(n_rounds),
            "square": np.empty(n_rounds),
            "moved": np.empty(n_rounds, dtype=np.uint8),
            "level": _cpu.LEVEL,
        }

    def __call__(self) -> dict[str, Array]:
        """Play it and return its record."""
        found = self._arguments
        found["w"][:] = self.task.w
        assert _online.run_rounds(**found) == len(found["order"])
        return {name: found[name] for name in ("w", "measures", "surrogate", "square", "moved")}

    @staticmethod
    def mistakes(record: dict[str, Array]) -> int:
        return int((1 - record["measures"][0] >= 1e-12).sum())


def perceptron(task: LinearTask, loss: ScoreLoss) -> fr.RankingPerceptron:
    """A perceptron whose weights are the task's: it has learnt one query, the weights against nothing."""
    pair = np.stack((task.w, np.zeros_like(task.w)))
    learner = fr.RankingPerceptron(loss, learning_rate=1.0).partial_fit(fr.RankingDataset(pair, [1, 0], group=[2]))
    assert np.array_equal(learner.coef_, task.w)
    return learner.set_params(learning_rate=RATE)


def kernels(n_queries: int = 8) -> dict[str, Callable[[int], Array]]:
    """The kernels behind losses and objective as functions of the CPU level that return what they computed.

    About a thousand documents, which fit the second-level cache.
    """
    lists = metric_workloads.mslr_like(n_queries)
    space = ScoreSpace(lists)
    found: dict[str, Callable[[int], Array]] = {}
    rng = np.random.default_rng(3)
    for dtype in ("float32", "float64"):
        X = rng.normal(size=(lists.n_docs, 136)).astype(dtype)
        found[f"scores {dtype}"] = partial(_scores, X, rng.normal(size=136))
        found[f"transposed product {dtype}"] = partial(_transposed, X, rng.normal(size=lists.n_docs))
    levels = range(len(_cpu.supported_levels()))
    by_level: dict[str, Callable[[int], Loss]] = {
        "ListNet": partial(_losses.ListNetLoss, _targets(space.plan)),
        "RankSVM": partial(_losses.RankSvmLoss, None, 1.0),
    }
    for name, make in by_level.items():
        found[name] = partial(_at_level, [_evaluation(make(level), space.plan, lists.scores) for level in levels])
    return found


def _scores(X: Array, w: Array, level: int) -> Array:
    out = np.empty(len(X))
    rows_of(X, level).scores_into(w, 0, len(X), out)
    return out


def _transposed(X: Array, g: Array, level: int) -> Array:
    out = np.zeros(X.shape[1])
    rows_of(X, level).add_transposed_into(g, 0, len(X), out)
    return out


def _at_level(evaluations: Sequence[Callable[[], Sequence[Array]]], level: int) -> Array:
    return np.concatenate(evaluations[level]())


def _targets(plan: QueryPlan) -> Array:
    """P(y) of ListNet: the softmax of the grades."""
    targets = np.empty(len(plan.by_grade))
    _losses.softmax_into(plan.grades[plan.levels], plan.qptr, 0, len(plan.qptr) - 1, 0, targets)
    return targets
