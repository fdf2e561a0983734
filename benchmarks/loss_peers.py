"""The same losses and the same perceptron by other means: a NumPy loop over queries, vectorised inside, and torch.

The loops get the plan for nothing, and what can be gathered for all queries at once is.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from metric_workloads import Array, RankedLists

import fastrank as fr
from fastrank.data import QueryPlan

HAS_TORCH = importlib.util.find_spec("torch") is not None


def assert_same(theirs: Sequence[Any], ours: Sequence[Any], tolerance: float = 1e-9) -> None:
    """Values, and gradients relative to their largest entry."""
    for found, expected in zip(theirs, ours, strict=True):
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * float(np.abs(expected).max()))


class NumpySlam:
    """SLAM in score space, a query at a time.

    Documents are kept by grade, highest first. The largest score of lower grades is then a maximum from the end, and
    the document that has it the next one at which that maximum is attained.
    """

    def __init__(self, plan: QueryPlan, weights: str = "ndcg2017", margin: float = 1.0) -> None:
        sizes = np.diff(plan.qptr)
        self.bounds = plan.qptr.tolist()
        self.order = plan.by_grade + np.repeat(plan.qptr[:-1], sizes)
        self.weights = plan.slam_weights(weights)[self.order]
        self.margin = margin
        self.ends = np.split(plan.level_end, plan.level_ptr[1:-1])
        self.starts = [np.append(0, ends[:-2]) for ends in self.ends]
        self.n_lower = [ends[:-1] for ends in self.ends]
        level_sizes = [np.diff(ends, prepend=0)[:-1] for ends in self.ends]
        self.level = [np.repeat(np.arange(len(sizes)), sizes) for sizes in level_sizes]

    def query(self, number: int, t: Array, v: Array, g: Array) -> float:
        """Of documents by grade: return the loss, write the gradient."""
        g[:] = 0
        lower = self.n_lower[number]
        if not len(lower):
            return 0.0
        n_higher = lower[-1]
        largest = np.maximum.accumulate(t[::-1])[::-1]
        c = (self.margin + largest[lower])[self.level[number]] - t[:n_higher]
        active = np.where(c > 0, v[:n_higher], 0.0)
        np.negative(active, out=g[:n_higher])
        attained = (t == largest).nonzero()[0]
        np.add.at(g, attained[attained.searchsorted(lower)], np.add.reduceat(active, self.starts[number]))
        return active @ c

    def __call__(self, scores: Array) -> tuple[Array, Array]:
        t, v = scores[self.order], self.weights
        g = np.empty_like(t)
        values = np.empty(len(self.bounds) - 1)
        start = 0
        for number, stop in enumerate(self.bounds[1:]):
            values[number] = self.query(number, t[start:stop], v[start:stop], g[start:stop])
            start = stop
        gradient = np.empty_like(g)
        gradient[self.order] = g
        return values, gradient


def numpy_objective(data: fr.RankingDataset, slam: NumpySlam, w: Array, dtype: Any = np.float64) -> tuple[float, Array]:
    """SLAM summed over queries and its gradient in w; products in float64 as ours are, or in float32 and quicker."""
    X, w = data.X, w.astype(dtype)
    gradient = np.zeros_like(w)
    value = 0.0
    start = 0
    for number, stop in enumerate(slam.bounds[1:]):
        query, order = X[start:stop], slam.order[start:stop] - start
        g = np.empty(stop - start)
        value += slam.query(number, (query @ w)[order], slam.weights[start:stop], g)
        in_place = np.empty_like(g)
        in_place[order] = g
        gradient += in_place.astype(dtype) @ query
        start = stop
    return value, gradient


class NumpyPerceptron:
    """An epoch with SLAM for NDCG@10, which tells when it is mistaken: equal scores are in the worst order.

    Ours records AP too, and this does not.
    """

    def __init__(self, data: fr.RankingDataset, rate: float, k: int = 10) -> None:
        self.data, self.rate, self.k = data, rate, k
        self.slam = NumpySlam(data.plan, f"ndcg@{k}")
        self.ideal = data.plan.ideal_dcg(k).tolist()

    def __call__(self, w: Array) -> tuple[Array, int]:
        """The weights after the epoch, and the mistakes."""
        X, slam, k = self.data.X, self.slam, self.k
        gains, discounts = self.data.plan.gains, self.data.plan.discounts[:k]
        w, n_mistakes, start = w.copy(), 0, 0
        for number, stop in enumerate(slam.bounds[1:]):
            query, gain = X[start:stop], gains[start:stop]
            s = query @ w
            ranked = gain[np.lexsort((gain, -s))[:k]]
            if ranked @ discounts[: len(ranked)] <= self.ideal[number] * (1 - 1e-12):
                order, g = slam.order[start:stop] - start, np.empty(stop - start)
                slam.query(number, s[order], slam.weights[start:stop], g)
                in_place = np.empty_like(g)
                in_place[order] = g
                w -= self.rate * (in_place @ query)
                n_mistakes += 1
            start = stop
        return w, n_mistakes


def torch_listnet(lists: RankedLists, dtype: str, n_batch: int) -> Callable[[], Array]:
    """ListNet's gradient by autograd, so many lists of one length at a time; conversions are not counted."""
    import torch

    torch.set_num_threads(1)
    assert lists.width
    shape = (lists.n_queries, lists.width)
    real = {"float32": torch.float32, "float64": torch.float64}[dtype]
    scores = torch.from_numpy(lists.scores.reshape(shape)).to(real).split(n_batch)
    targets = torch.softmax(torch.from_numpy(lists.grades.reshape(shape)).to(real), 1).split(n_batch)

    def gradients() -> Array:
        found = []
        for batch, target in zip(scores, targets, strict=True):
            batch = batch.detach().requires_grad_()
            loss = -(target * torch.log_softmax(batch, 1)).sum()
            found.append(torch.autograd.grad(loss, batch)[0].numpy().reshape(-1))
        return np.concatenate(found)

    return gradients
