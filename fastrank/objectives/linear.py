"""The linear objective: a loss of the scores X w, in one pass over X."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from fastrank._core._objective import linear_into
from fastrank._threads import ROWS_PER_BLOCK, query_blocks, resolve_n_jobs, row_blocks, run_blocks, run_tasks
from fastrank._validation import check_matrix, check_vector
from fastrank.data._grouping import id_list
from fastrank.data.dataset import RankingDataset, check_dataset
from fastrank.losses._base import ScoreLoss, dataset_kernel
from fastrank.objectives._rows import rows_of

_MAX_BLOCKS = 32
"""Each block has a gradient of its own, so that threads need not wait for each other."""


class LinearObjective:
    """Sum over queries of a loss of linear scores, with its gradient.

    F(w) = sum over queries q of query_weight_q * loss(X_q w, R_q)

    Parameters
    ----------
    loss : ScoreLoss
        For example `Slam("ndcg@10")`, `ListNet()`, `RankSVM()`.
    data : RankingDataset
        Its row and query weights count.
    n_jobs : int or None, default=None
        Threads; None is 1, -1 all CPUs. Results have the same bits for any number.

    Attributes
    ----------
    loss, data
        As given.
    n_features : int
        Length of w and of the gradient.

    Raises
    ------
    TypeError, ValueError
        For what is not a loss or a data set, and for missing values in X.
    OverflowError
        From `value` and `value_and_grad`, where scores or the loss are so large that they are not finite.

    Notes
    -----
    Cost: one walk over the queries; each computes its scores X_q w, its loss, and adds X_q^T g to the gradient while
    X_q is in the cache. X is read once and never copied if its rows are grouped by query; products are in float64.
    Workspace: O(longest list) per thread, and at most 32 gradients, never more numbers than X has.

    Examples
    --------
    >>> from scipy.optimize import minimize
    >>> from fastrank.losses import RankSVM
    >>> data = RankingDataset([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [1, 0, 2], qid=[7, 7, 7])
    >>> objective = LinearObjective(RankSVM(), data)
    >>> value, gradient = objective.value_and_grad([0.0, 0.0])
    >>> value, gradient.tolist()
    (3.0, [-2.0, 0.0])
    >>> found = minimize(objective.value_and_grad, np.zeros(2), jac=True)
    >>> round(found.fun, 6)
    0.0
    """

    def __init__(self, loss: ScoreLoss, data: RankingDataset, *, n_jobs: int | None = None) -> None:
        if not isinstance(loss, ScoreLoss):
            raise TypeError(f"loss: expected a loss such as fastrank.losses.Slam('ndcg@10'), got {loss!r}")
        self._n_threads = resolve_n_jobs(n_jobs)
        if check_dataset(data).allow_nan:
            _check_no_missing(data, self._n_threads)
        self.loss, self.data = loss, data
        self.n_features = data.n_features
        self._rows = rows_of(data.grouped_X)
        self._kernel = dataset_kernel(loss, data)
        self._blocks = _blocks(data)

    def value(self, w: ArrayLike) -> float:
        """Return F(w)."""
        return self._total(self.query_values(w))

    def value_and_grad(self, w: ArrayLike) -> tuple[float, NDArray[np.float64]]:
        """Return F(w) and its gradient, shape (n_features,)."""
        gradients = np.empty((max(1, len(self._blocks)), self.n_features))
        gradients[0] = 0.0  # where there is no query, and so no block
        values = self._walk(w, gradients)
        # in the order of the blocks, whoever computed them
        return self._total(values), np.add.reduce(gradients, axis=0)

    def query_values(self, w: ArrayLike) -> NDArray[np.float64]:
        """Return the terms of F(w), one per query: query_weight * loss."""
        return self._walk(w, None)

    def scores(self, w: ArrayLike) -> NDArray[np.float64]:
        """Return X w in float64, one per row in the user's order."""
        vector, scores = self._check(w), np.empty(self.data.n_rows)

        def score(first: int, last: int) -> None:
            self._rows.scores_into(vector, first, last, scores)

        run_blocks(score, row_blocks(len(scores)), self._n_threads)
        return self.data.to_rows(scores)

    def _walk(self, w: ArrayLike, gradients: NDArray[np.float64] | None) -> NDArray[np.float64]:
        """Return the values of the queries; write the gradient of each block into its row."""
        vector, plan = self._check(w), self.data.plan.view
        values = np.empty(self.data.n_queries)
        parts = [None] * len(self._blocks) if gradients is None else list(gradients)
        tasks = [
            partial(linear_into, self._rows, plan, self._kernel, vector, self.data.query_weight, *block, values, part)
            for block, part in zip(self._blocks, parts, strict=False)
        ]
        run_tasks(tasks, self._n_threads)
        return values

    def _total(self, values: NDArray[np.float64]) -> float:
        with np.errstate(over="ignore", invalid="ignore"):
            total = float(values.sum())
        if not math.isfinite(total):
            worst = int(np.argmin(np.isfinite(values)))
            raise OverflowError(
                f"w: expected scores X w so small that the loss is finite, got {values[worst]} for query "
                f"{id_list(self.data.qid[worst : worst + 1])[0]!r} and {total} in all; scale X or w down"
            )
        return total

    def _check(self, w: ArrayLike) -> NDArray[np.float64]:
        return check_vector(w, self.n_features, name="w", per="one per feature")

    def __repr__(self) -> str:
        return f"LinearObjective({self.loss}, {self.data!r})"


def _blocks(data: RankingDataset) -> list[tuple[int, int]]:
    """Cut the queries by the data alone: few enough that their gradients are not more numbers than X has."""
    X = data.X
    stored = X.nnz if scipy.sparse.issparse(X) else X.size
    n_blocks = min(max(stored // max(1, data.n_features), 1), _MAX_BLOCKS)
    return query_blocks(data.qptr, max(ROWS_PER_BLOCK, -(-data.n_rows // n_blocks)))


def _check_no_missing(data: RankingDataset, n_threads: int) -> None:
    try:
        check_matrix(data.X, n_threads=n_threads, name="data")
    except ValueError as error:
        where = str(error).partition("got ")[2].partition(";")[0]
        raise ValueError(
            f"data: expected features without missing values, of which linear scores know nothing, got {where}; "
            "fill them first"
        ) from None
