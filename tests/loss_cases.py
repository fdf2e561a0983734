"""Scores and grades that break losses, one generator for all tests of the loss kernels.

`make(name)` gives the lists of each name in `NAMES`, the same at every call. `SCORES` and `GRADES` are the ways to
score and to grade one list. Scores stay within 1e300, so that sums of hinges are finite.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise, product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from reference import plan as reference

from fastrank._core._loss import Loss, evaluate_into
from fastrank.data.plan import QueryPlan

Array = NDArray[np.float64]
Random = np.random.Generator
MARGINS = (0.01, 1.0, 100.0)


class Case(NamedTuple):
    """Lists of scored and graded documents, with a weight per document and per list."""

    name: str
    scores: Array
    grades: Array
    qptr: NDArray[np.int64]
    row_weight: Array
    query_weight: Array

    @property
    def n_queries(self) -> int:
        """How many lists."""
        return len(self.qptr) - 1

    @property
    def plan(self) -> QueryPlan:
        """What depends on the grades alone."""
        return _plan(self.name) if self.name in NAMES else QueryPlan(self.grades, self.qptr)

    def split(self, values: NDArray[Any]) -> list[NDArray[Any]]:
        """Values per row, list by list."""
        return [values[a:b] for a, b in pairwise(self.qptr.tolist())]

    def slam_weights(self, name: str) -> Array:
        """By their equations; "any" are weights of no measure, some of them zero."""
        if name == "any":
            return self.row_weight[::-1].copy()
        lists = [reference.slam_weights(grades.tolist(), name) for grades in self.split(self.grades)]
        return np.array([weight for one in lists for weight in one], dtype=np.float64)


SCORES: dict[str, Callable[[Random, int], Array]] = {
    "ordinary": lambda rng, n: rng.standard_normal(n),
    "wide": lambda rng, n: rng.normal(0, 100, n),
    "all tied": lambda rng, n: np.full(n, 0.7),
    "few values": lambda rng, n: rng.choice([-0.3, 0.1, 0.2, 1.4], n),
    # differences that are the margin exactly, also 0.01 and 100
    "at the margin": lambda rng, n: rng.integers(-3, 4, n) * rng.choice([0.25, 1.0, 100.0]),
    "at the margin of 0.01": lambda rng, n: rng.choice([0.0, 0.01, -0.01], n),
    "dyadic": lambda rng, n: rng.integers(-16, 17, n) / 8,
    "zeros of both signs": lambda rng, n: rng.choice([0.0, -0.0], n),
    "tiny": lambda rng, n: rng.choice([1e-300, -1e-300, 5e-324, -5e-324, 3e-308, 0.0], n),
    "huge": lambda rng, n: rng.choice([1e300, -1e300, 9.99e299, 1e150, 1.0, 0.0], n),
    "large": lambda rng, n: rng.choice([1e150, -1e150, 1e150 * (1 + 2**-50), 1e148], n),
    "the margin is lost": lambda rng, n: 2.0**60 + 2.0**9 * rng.integers(-3, 4, n),
    "every size": lambda rng, n: rng.choice([-1.0, 1.0], n) * np.exp2(rng.uniform(-1074, 990, n)),
    "ascending": lambda rng, n: np.arange(n, dtype=np.float64),
    "descending": lambda rng, n: -np.arange(n, dtype=np.float64),
}

GRADES: dict[str, Callable[[Random, int], Array]] = {
    "graded": lambda rng, n: rng.choice(5, n, p=[0.4, 0.3, 0.2, 0.05, 0.05]).astype(np.float64),
    "binary": lambda rng, n: rng.integers(0, 2, n).astype(np.float64),
    "none relevant": lambda rng, n: np.zeros(n),
    "one grade": lambda rng, n: np.full(n, 2.0),
    "all relevant": lambda rng, n: rng.integers(1, 5, n).astype(np.float64),
    "one relevant": lambda rng, n: (np.arange(n) == rng.integers(0, max(n, 1))).astype(np.float64),
    "all but one": lambda rng, n: (np.arange(n) != rng.integers(0, max(n, 1))) * 3.0,
    "fractions": lambda rng, n: rng.choice([0.0, 0.25, 0.5, 1.5, 3.75], n),
    "all different": lambda rng, n: rng.permutation(n) / 16,
}

# On both sides of what a register and a run of eight lanes hold.
_SIZES = (0, 1, 2, 3, 4, 7, 8, 9, 16, 17, 33)


def _lists(scorer: str, rng: Random) -> list[tuple[Array, Array]]:
    return [(SCORES[scorer](rng, n), grade(rng, n)) for n, grade in product(_SIZES, GRADES.values())]


def _agreeing(step: float) -> Callable[[Random], list[tuple[Array, Array]]]:
    """Scores that are the grades times a step: positive losses where the margin is larger than the gap."""

    def lists(rng: Random) -> list[tuple[Array, Array]]:
        graded = [grade(rng, n) for n, grade in product((1, 2, 9, 33), GRADES.values())]
        return [(step * grades, grades) for grades in graded]

    return lists


def _long(rng: Random) -> list[tuple[Array, Array]]:
    graded = [(SCORES["ordinary"], GRADES["graded"]), (SCORES["dyadic"], GRADES["all different"])]
    return [(np.zeros(0), np.zeros(0)), *((score(rng, 400), grade(rng, 400)) for score, grade in graded)]


LISTS: dict[str, Callable[[Random], list[tuple[Array, Array]]]] = {
    "no lists": lambda rng: [],
    "one empty list": lambda rng: [(np.zeros(0), np.zeros(0))],
    "only empty lists": lambda rng: [(np.zeros(0), np.zeros(0))] * 5,
    "one document": lambda rng: [(np.array([0.5]), np.array([2.0]))],
    "two documents": lambda rng: [
        (np.array(scores), np.array(grades))
        for scores in ([0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [-0.0, 0.0], [1e300, -1e300])
        for grades in ([0.0, 0.0], [1.0, 1.0], [1.0, 0.0], [0.0, 0.5])
    ],
    **{f"scores: {scorer}": lambda rng, scorer=scorer: _lists(scorer, rng) for scorer in SCORES},
    "perfect": _agreeing(512.0),
    "right order": _agreeing(0.125),
    "wrong order": _agreeing(-1.0),
    "long": _long,
}
NAMES = tuple(LISTS)


def joined(lists: Sequence[tuple[Any, Any]], rng: Random, name: str = "") -> Case:
    """The case of these (scores, grades); weights are random, some of them 0 and 1."""
    sizes = [len(grades) for _, grades in lists]
    n, n_queries = sum(sizes), len(sizes)
    case = Case(
        name,
        np.concatenate([np.zeros(0), *(np.asarray(scores, dtype=np.float64) for scores, _ in lists)]),
        np.concatenate([np.zeros(0), *(np.asarray(grades, dtype=np.float64) for _, grades in lists)]),
        np.concatenate(([0], np.cumsum(sizes, dtype=np.int64))).astype(np.int64),
        np.where(rng.random(n) < 0.3, rng.choice([0.0, 1.0], n), rng.exponential(1, n)),
        np.where(rng.random(n_queries) < 0.3, rng.choice([0.0, 1.0], n_queries), rng.exponential(1, n_queries)),
    )
    for part in case[1:]:
        part.flags.writeable = False
    return case


@cache
def make(name: str) -> Case:
    """The case of this name; nobody may write to it."""
    rng = np.random.default_rng([13, NAMES.index(name)])
    return joined(LISTS[name](rng), rng, name)


@cache
def _plan(name: str) -> QueryPlan:
    case = make(name)
    return QueryPlan(case.grades, case.qptr)


def ordinary(rng: Random, n_queries: int, longest: int) -> Case:
    """Lists without ties, grades 0 to 4: what differences of values can be taken at."""
    sizes = rng.integers(0, longest + 1, n_queries).tolist()
    return joined([(SCORES["ordinary"](rng, n), GRADES["graded"](rng, n)) for n in sizes], rng)


def evaluate(loss: Loss, plan: QueryPlan, scores: Any, query_weight: Array | None = None) -> tuple[Array, Array]:
    """(value per query, gradient per row) of a core loss."""
    values, gradient = np.full(len(plan.qptr) - 1, np.nan), np.full(len(plan.by_grade), np.nan)
    evaluate_into(loss, plan.view, scores, query_weight, 0, len(values), values, gradient)
    return values, gradient
