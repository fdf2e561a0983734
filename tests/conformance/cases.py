"""Queries on which conventions differ: ties, empty queries, short and long lists, scores near each other."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Query(NamedTuple):
    """One query: what it is for, its grades and its scores."""

    label: str
    grades: NDArray[np.int64]
    scores: NDArray[np.float64]


class Batch(NamedTuple):
    """Queries as grouped rows."""

    labels: list[str]
    grades: NDArray[np.int64]
    scores: NDArray[np.float64]
    group: NDArray[np.int64]

    def queries(self) -> list[Query]:
        """The same queries one by one."""
        ends = np.cumsum(self.group)
        return [
            Query(label, self.grades[end - size : end], self.scores[end - size : end])
            for label, size, end in zip(self.labels, self.group, ends, strict=True)
        ]


def batch(queries: list[Query]) -> Batch:
    """Grouped rows of these queries."""
    return Batch(
        [query.label for query in queries],
        np.concatenate([query.grades for query in queries]),
        np.concatenate([query.scores for query in queries]),
        np.array([len(query.grades) for query in queries], dtype=np.int64),
    )


def adversarial(max_grade: int, *, ties: bool = True, positive: bool = False, seed: int = 5) -> Batch:
    """Every kind of query that conventions treat differently, with grades 0..max_grade.

    Without ``ties``, no two scores of a query are equal, also after rounding to float32. With ``positive``, all scores
    are above zero.
    """
    rng = np.random.default_rng(seed)

    def query(label: str, grades, scores) -> Query:
        return Query(label, np.asarray(grades, dtype=np.int64), np.asarray(scores, dtype=np.float64))

    def distinct(n: int) -> NDArray[np.float64]:
        spread = rng.permutation(n) + 1.0
        return (spread + (0 if positive else -n / 2 - 0.25)) / 8.0

    def grades(n: int) -> NDArray[np.int64]:
        return rng.integers(0, max_grade + 1, n) * (rng.random(n) < 0.5)

    top = max_grade
    found = [
        query("one relevant document", [top], [0.5]),
        query("one other document", [0], [0.5]),
        query("none relevant", np.zeros(7), distinct(7)),
        query("none relevant, two documents", [0, 0], [2.0, 1.0]),
        query("all relevant", np.full(6, top), distinct(6)),
        query("ideal order", [top, top, 1, 1, 0, 0, 0], np.arange(7, 0, -1)),
        query("worst order", [0, 0, 0, 1, 1, top, top], np.arange(7, 0, -1)),
        query("relevant last of 60", np.r_[np.zeros(59), top], np.arange(60, 0, -1)),
        query("relevant at 32, 33 and 40 of 45", np.isin(np.arange(1, 46), (32, 33, 40)) * top, np.arange(45, 0, -1)),
        query("more relevant than the cut", np.full(30, 1), distinct(30)),
        query("half relevant, long", grades(300), distinct(300)),
        query("few relevant, long", (rng.random(400) < 0.02) * top, distinct(400)),
        query("tiny and huge", [0, top, 1, 0], [1e-30, 1e30, 2e-30, 1.0]),
    ]
    if ties:
        near = 1.0 + rng.permutation(9) * 1e-9  # one value in float32, nine in float64
        found += [
            query("all tied, relevant first", [top, 1, 0, 0, 0], np.full(5, 0.5)),
            query("all tied, relevant last", [0, 0, 0, 1, top], np.full(5, 0.5)),
            query("all tied, long", grades(80), np.full(80, 0.25)),
            query("all tied, none relevant", [0, 0, 0], [1.0, 1.0, 1.0]),
            query("all tied, all relevant", [top, top, top], [1.0, 1.0, 1.0]),
            query("tie across the cut", [0, 0, 0, 0, top, 1, 0, top], [9, 8, 7, 6, 2, 2, 2, 2]),
            query("near ties", [0, 1, 0, top, 0, 1, 0, 0, top], near),
            query("near ties that float32 tells apart", [0, top, 0, 1], 1.0 + np.array([3, 1, 2, 0]) * 2.0**-22),
            *(
                query(f"few scores {i}", grades(n), rng.integers(1, 5, n) / 4)
                for i, n in enumerate((2, 3, 5, 9, 17, 40))
            ),
        ]
        if not positive:
            found += [query("both zeros", [0, top, 0, 1], [-0.0, 0.0, 0.0, -0.0])]
    found += [query(f"random {i}", grades(n), distinct(n)) for i, n in enumerate(rng.integers(1, 25, 30))]
    return batch(found)
