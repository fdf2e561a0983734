"""Score-space losses of one query and their subgradients, from the formulas: every pair is looked at.

Each loss takes the scores and grades of one query and gives (value, d value / d scores). A row weight a_i multiplies
the terms in which document i is the one that should stand higher.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

Vector = Sequence[float] | NDArray[np.float64]
Loss = tuple[float, NDArray[np.float64]]


class _Sums:
    """A gradient whose terms are added up exactly, at the end."""

    def __init__(self, n: int) -> None:
        self.terms: list[list[float]] = [[] for _ in range(n)]

    def add(self, i: int, term: float) -> None:
        self.terms[i].append(term)

    def total(self) -> NDArray[np.float64]:
        return np.array([math.fsum(terms) for terms in self.terms], dtype=np.float64)


def _arrays(*vectors: Any) -> Iterator[NDArray[np.float64]]:
    """Each as an array; None is ones."""
    for vector in vectors:
        yield np.ones(len(vectors[0])) if vector is None else np.asarray(vector, dtype=np.float64)


def highest_below(scores: NDArray[np.float64], grades: NDArray[np.float64], i: int) -> int | None:
    """k(i): of the documents of lower grade than i the one of highest score; of those the one of lowest grade, then
    of lowest position. None where no grade is lower."""
    lower = [j for j in range(len(grades)) if grades[j] < grades[i]]
    return min(lower, key=lambda j: (-scores[j], grades[j], j)) if lower else None


def slam(
    scores: Vector, grades: Vector, weights: Vector, margin: float = 1.0, row_weight: Vector | None = None
) -> Loss:
    """sum_i a_i v_i c_i, c_i = max(0, margin + max{s_j : R_j < R_i} - s_i); the slope at c_i = 0 is 0."""
    s, R, v, a = _arrays(scores, grades, weights, row_weight)
    terms, gradient = [], _Sums(len(s))
    for i in range(len(s)):
        k = highest_below(s, R, i)
        if k is not None and (margin + s[k]) - s[i] > 0:
            terms.append(a[i] * v[i] * ((margin + s[k]) - s[i]))
            gradient.add(i, -a[i] * v[i])
            gradient.add(k, a[i] * v[i])
    return math.fsum(terms), gradient.total()


def slam_lp(scores: Vector, grades: Vector, weights: Vector, margin: float = 1.0) -> float:
    """min sum_i v_i delta_i subject to delta >= 0 and s_i + delta_i >= margin + s_j wherever R_i > R_j."""
    s, R, v = _arrays(scores, grades, weights)
    pairs = [(i, j) for i in range(len(s)) for j in range(len(s)) if R[i] > R[j]]
    if not pairs:
        return 0.0
    A = np.zeros((len(pairs), len(s)))
    A[np.arange(len(pairs)), [i for i, _ in pairs]] = -1
    b = [s[i] - s[j] - margin for i, j in pairs]
    exact = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    solution = linprog(v, A_ub=A, b_ub=b, bounds=(0, None), method="highs", options=exact)
    assert solution.success, solution.message
    return float(solution.fun)


def max_pair(scores: Vector, grades: Vector, margin: float = 1.0, row_weight: Vector | None = None) -> Loss:
    """max(0, max over R_i > R_j of a_i (margin + s_j - s_i)).

    Of equal pairs the slope is the one of the first i found going up the grades, by position inside a grade.
    """
    s, R, a = _arrays(scores, grades, row_weight)
    most, gradient = 0.0, np.zeros(len(s))
    for i in sorted(range(len(s)), key=lambda i: (R[i], i)):
        k = highest_below(s, R, i)
        if k is not None and a[i] * ((margin + s[k]) - s[i]) > most:
            most = float(a[i] * ((margin + s[k]) - s[i]))
            gradient[:] = 0
            gradient[i], gradient[k] = -a[i], a[i]
    return most, gradient


def rank_svm(scores: Vector, grades: Vector, margin: float = 1.0, row_weight: Vector | None = None) -> Loss:
    """sum over R_i > R_j of a_i max(0, margin + s_j - s_i)."""
    s, R, a = _arrays(scores, grades, row_weight)
    terms, gradient = [], _Sums(len(s))
    for i in range(len(s)):
        for j in range(len(s)):
            if R[i] > R[j] and (margin + s[j]) - s[i] > 0:
                terms.append(a[i] * ((margin + s[j]) - s[i]))
                gradient.add(i, -a[i])
                gradient.add(j, a[i])
    return math.fsum(terms), gradient.total()


def softmax(values: Vector) -> list[float]:
    """P_i = exp(x_i) / sum_j exp(x_j)."""
    most = max(values, default=0.0)
    powers = [math.exp(value - most) for value in values]
    total = math.fsum(powers)
    return [power / total for power in powers]


def list_net(scores: Vector, targets: Vector, row_weight: Vector | None = None) -> Loss:
    """-sum_i t_i log P_i(s), t_i = a_i P_i(y): the cross entropy of the top-1 distributions."""
    s, P_y, a = _arrays(scores, targets, row_weight)
    if not len(s):
        return 0.0, np.zeros(0)
    t = [float(x) for x in a * P_y]
    top = int(np.argmax(s))
    # log sum_j exp(s_j - s_top), of which the term of `top` is 1
    log_sum = math.log1p(math.fsum(math.exp(s[j] - s[top]) for j in range(len(s)) if j != top))
    value = math.fsum(t[i] * ((s[top] - s[i]) + log_sum) for i in range(len(s)))
    total, P_s = math.fsum(t), softmax(s)
    return value, np.array([math.fsum([total * P_s[i], -t[i]]) for i in range(len(s))])


def squared_gain(scores: Vector, gains: Vector, row_weight: Vector | None = None) -> Loss:
    """1/2 sum_i a_i (s_i - G_i)^2."""
    s, G, a = _arrays(scores, gains, row_weight)
    return math.fsum(a * (s - G) * (s - G)) / 2, a * (s - G)
