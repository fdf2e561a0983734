"""Online learning round by round: Chaudhuri & Tewari 2017, Algorithms 1, 2 and 3, and projected gradient descent.

Algorithm 2 is `rounds` with the SLAM loss and `only_mistakes`, Algorithm 3 the same with the max-pair loss; a step in
every round with a radius is online gradient descent.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
LossOf = Callable[[int, Array], tuple[float, Array]]
MeasuresOf = Callable[[int, Array], Sequence[float]]

SMALLEST_LOSS = 1e-12
LARGEST = 1e150


class Record(NamedTuple):
    """What happened in each round that was played; `w` is the last, `w_sum` the sum of those before each update."""

    n_rounds: int
    measures: Array
    surrogate: Array
    square: Array
    moved: NDArray[np.uint8]
    w: Array
    w_sum: Array


def times(X: Array, w: Array) -> Array:
    """X w; equal rows have equal scores, which a matrix product does not promise."""
    return np.array([math.fsum(row * w) for row in X], dtype=np.float64)


def rounds(
    lists: Sequence[Array],
    loss: LossOf,
    measures: MeasuresOf,
    order: Sequence[int],
    rates: Sequence[float],
    w: Array,
    *,
    only_mistakes: bool,
    radius: float = math.inf,
) -> Record:
    """Show the query order[t] in round t: `lists` are the documents of each query, `loss` and `measures` know its
    grades. The first measure, under the pessimistic tie rule, says whether the round is a mistake."""
    w = w.copy()
    w_sum = np.zeros_like(w)
    rows: list[tuple[Sequence[float], float, float, bool]] = []
    for query, rate in zip(order, rates, strict=True):
        X = lists[query]
        s = times(X, w)
        if not (np.abs(s) <= LARGEST).all():
            break
        found = measures(query, s)
        surrogate, z = 0.0, np.zeros_like(w)
        if not only_mistakes or 1 - found[0] >= SMALLEST_LOSS:
            surrogate, g = loss(query, s)
            z = times(X.T, g)
            if not (np.abs(z) <= LARGEST).all():
                break
        rows.append((found, surrogate, float(z @ z), bool(z.any())))
        w_sum += w
        w = w - rate * z
        norm = math.sqrt(float(w @ w))
        if norm > radius:
            w = w * (radius / norm)
    return Record(
        len(rows),
        np.array([found for found, *_ in rows], dtype=np.float64).T,
        np.array([surrogate for _, surrogate, _, _ in rows], dtype=np.float64),
        np.array([square for _, _, square, _ in rows], dtype=np.float64),
        np.array([moved for *_, moved in rows], dtype=np.uint8),
        w,
        w_sum,
    )


class BinaryRecord(NamedTuple):
    """The same for classification."""

    hinge: Array
    square: Array
    mistakes: NDArray[np.uint8]
    w: Array
    w_sum: Array


def binary(X: Array, labels: Sequence[float], order: Sequence[int], rates: Sequence[float], w: Array) -> BinaryRecord:
    """The perceptron: Algorithm 1. A score of zero is a mistake."""
    w = w.copy()
    w_sum = np.zeros_like(w)
    hinge, square, mistakes = np.zeros(len(order)), np.zeros(len(order)), np.zeros(len(order), dtype=np.uint8)
    for t, (row, rate) in enumerate(zip(order, rates, strict=True)):
        x, label = X[row], labels[row]
        w_sum += w
        margin = label * math.fsum(x * w)
        if margin <= 0:
            hinge[t], square[t], mistakes[t] = 1 - margin, math.fsum(x * x), 1
            w = w + rate * label * x
    return BinaryRecord(hinge, square, mistakes, w, w_sum)
