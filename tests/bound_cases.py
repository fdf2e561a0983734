"""Online runs to hold bounds against, played by the slow twins."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from reference import losses, online
from reference.plan import slam_weights

WEIGHTS = ("map2014", "ap2017", "ap_sym", "ndcg2014", "ndcg2017", "ndcg@1", "ndcg@3")
SURROGATES = (*WEIGHTS, "max_pair")


def measure(scores, grades, name: str) -> float:
    """AP, NDCG or NDCG@k, equal scores in the worst order; 1 where nothing is relevant."""
    ranked = [grades[i] for i in sorted(range(len(grades)), key=lambda i: (-scores[i], grades[i]))]
    if max(ranked, default=0) <= 0:
        return 1.0
    if name == "ap":
        hits = [rank for rank, grade in enumerate(ranked, 1) if grade > 0]
        return math.fsum(found / rank for found, rank in enumerate(hits, 1)) / len(hits)
    k = int(name.split("@")[1]) if "@" in name else len(ranked)
    dcg, ideal = (
        math.fsum((2.0**grade - 1) / math.log2(1 + rank) for rank, grade in enumerate(order[:k], 1))
        for order in (ranked, sorted(ranked, reverse=True))
    )
    return dcg / ideal


def measure_name(weights: str) -> str:
    """What a vector of weights, or the max-pair surrogate, bounds."""
    if weights == "max_pair":
        return "ndcg"
    return "ap" if "ap" in weights else "ndcg" + weights.partition("@")[1] + weights.partition("@")[2]


@dataclass
class Stream:
    """Queries, one per round."""

    lists: list[np.ndarray]
    grades: list[list[int]]

    @property
    def radius(self) -> float:
        return max(float(np.linalg.norm(X, axis=1).max()) for X in self.lists)


def make_stream(rng, n_rounds=40, n_docs=6, n_features=4, n_grades=3, separable=False, spread=1.0) -> Stream:
    direction = rng.standard_normal(n_features)
    lists, grades = [], []
    for _ in range(n_rounds):
        X = spread * rng.standard_normal((int(rng.integers(1, n_docs + 1)), n_features))
        if separable:
            y = np.clip(np.round(X @ direction / np.linalg.norm(direction) / spread + 1), 0, n_grades - 1).astype(int)
            X = X + 0.2 * spread * np.outer(y, direction)
        else:
            y = rng.integers(0, n_grades, len(X))
        lists.append(X)
        grades.append(y.tolist())
    return Stream(lists, grades)


@dataclass
class Run:
    """A perceptron on a stream, and the surrogate of any comparator on it."""

    stream: Stream
    surrogate: str
    margin: float
    record: online.Record
    values: Callable[[np.ndarray], np.ndarray]

    @property
    def steps(self) -> np.ndarray:
        return self.record.surrogate > 0

    @property
    def loss(self) -> float:
        return float((1 - self.record.measures[0]).sum())

    def sums(self, u) -> tuple[float, float]:
        """F of u over all rounds and over the mistake rounds."""
        values = self.values(np.asarray(u))
        return float(values.sum()), float(values[self.steps].sum())


def perceptron(stream: Stream, surrogate: str, rate: float, margin: float = 1.0, radius: float = math.inf) -> Run:
    """Algorithm 2 with the weights of this name, or Algorithm 3."""
    weights = [slam_weights(y, surrogate) if surrogate != "max_pair" else [] for y in stream.grades]

    def loss(query, scores):
        if surrogate == "max_pair":
            return losses.max_pair(scores, stream.grades[query], margin)
        return losses.slam(scores, stream.grades[query], weights[query], margin)

    def measures(query, scores):
        return [measure(scores, stream.grades[query], measure_name(surrogate))]

    order = range(len(stream.lists))
    record = online.rounds(
        stream.lists,
        loss,
        measures,
        order,
        [rate] * len(order),
        np.zeros(stream.lists[0].shape[1]),
        only_mistakes=True,
        radius=radius,
    )
    assert record.n_rounds == len(order)
    return Run(
        stream,
        surrogate,
        margin,
        record,
        lambda u: np.array([loss(query, stream.lists[query] @ u)[0] for query in order]),
    )


def weight_statistics(stream: Stream, surrogate: str) -> tuple[float, int, float]:
    """Largest |supp v| (sum v) v_max, longest support and largest v_max of the queries with two grades."""
    constant, support, ratio = 0.0, 1, 1.0
    for y in stream.grades:
        v = np.array(slam_weights(y, surrogate))
        v = v[v > 0]
        if len(set(y)) > 1 and len(v):
            constant = max(constant, len(v) * float(v.sum()) * float(v.max() / v.min()))
            support, ratio = max(support, len(v)), max(ratio, float(v.max() / v.min()))
    return constant, support, ratio


def comparators(rng, run: Run) -> Sequence[np.ndarray]:
    """Vectors of all lengths: none, random ones, and what the run itself ended with."""
    n_features = len(run.record.w)
    random = [rng.standard_normal(n_features) * scale for scale in (0.01, 0.3, 3.0)]
    return [np.zeros(n_features), *random, run.record.w, 10 * run.record.w, run.record.w_sum / run.record.n_rounds]
