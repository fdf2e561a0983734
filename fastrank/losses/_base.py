"""What every loss has: values and gradients over ragged queries, a kernel, constants and a name."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from fastrank._core import _loss
from fastrank._threads import ROWS_PER_BLOCK, query_blocks, resolve_n_jobs, run_blocks
from fastrank._validation import check_choice, check_count
from fastrank.data.dataset import RankingDataset
from fastrank.data.plan import QueryPlan
from fastrank.losses._inputs import Weights, from_dataset, from_grades
from fastrank.metrics.names import Metric, parse_metric

_KEPT_KERNELS = 8
"""Kernels that are kept for each plan: enough to compare losses, few enough to forget a sweep over margins."""

# Read without a lock: a mapping is replaced by a new one, never changed.
_kernels: WeakKeyDictionary[QueryPlan, dict[ScoreLoss, tuple[Weights, _loss.Loss]]] = WeakKeyDictionary()


class ScoreLoss(ABC):
    """A loss of the scores s and grades R of one query, summed over nothing: a value for each query.

    Losses have no state: two of the same kind with the same parameters are equal, have the same hash, and pickle.

    Notes
    -----
    A loss of your own implements `kernel` (in Cython: a subclass of `fastrank._core._loss.Loss`, which may live in
    another project) and `formula`; `KernelLoss` wraps such a kernel where parameters do not matter. Values of queries
    are independent of each other, so results have the same bits for any `n_jobs`.
    """

    @property
    @abstractmethod
    def formula(self) -> str:
        """The loss of one query, in symbols: s scores, R grades, i and j documents."""

    @abstractmethod
    def kernel(self, plan: QueryPlan, sample_weight: Weights = None) -> _loss.Loss:
        """Return the compiled loss for the queries of a plan.

        Parameters
        ----------
        plan : QueryPlan
        sample_weight : ndarray of float64, shape (n_rows,), or None
            Row weights in grouped order. They multiply the terms in which the row is the document that should stand
            higher.
        """

    def value(
        self,
        scores: Any,
        y: Any,
        *,
        qid: Any = None,
        group: Any = None,
        sample_weight: Any = None,
        query_weight: Any = None,
        n_jobs: int | None = None,
    ) -> NDArray[np.float64]:
        """Return the loss of each query; see `value_and_grad`."""
        return self._evaluate(scores, y, qid, group, sample_weight, query_weight, n_jobs, has_gradient=False)[0]

    def grad(
        self,
        scores: Any,
        y: Any,
        *,
        qid: Any = None,
        group: Any = None,
        sample_weight: Any = None,
        query_weight: Any = None,
        n_jobs: int | None = None,
    ) -> NDArray[np.float64]:
        """Return d loss / d score of each row; see `value_and_grad`."""
        return self._evaluate(scores, y, qid, group, sample_weight, query_weight, n_jobs, has_gradient=True)[1]

    def value_and_grad(
        self,
        scores: Any,
        y: Any,
        *,
        qid: Any = None,
        group: Any = None,
        sample_weight: Any = None,
        query_weight: Any = None,
        n_jobs: int | None = None,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the loss of each query and its derivatives with respect to the scores.

        Parameters
        ----------
        scores : array-like of shape (n_rows,) or (n_queries, n_docs)
            Finite scores, in the order of the rows. float64 arrays are used as they are.
        y : RankingDataset, or array-like of the same shape
            Relevance grades, 0 and above. In a loop pass a data set: what depends on its grades is computed once, and
            its X, of which no loss knows, may have no columns. A matrix has a query in each row.
        qid : array-like of shape (n_rows,), optional
            The query of each row, any hashable ids in any order. Without qid and group a vector is one query.
        group : array-like of int, optional
            Number of rows of each query; rows are adjacent.
        sample_weight : array-like of shape (n_rows,), optional
            Row weights; they multiply the terms in which the row is the document that should stand higher. A data set
            has its own.
        query_weight : array-like of shape (n_queries,), optional
            Multiply value and gradient of each query. A data set has its own.
        n_jobs : int or None, default=None
            Threads; None is 1, -1 all CPUs.

        Returns
        -------
        values : ndarray of float64, shape (n_queries,)
            In order of first appearance of the query.
        gradient : ndarray of float64, of the shape of y
            In the order of the rows.

        Raises
        ------
        ValueError, TypeError
            For lengths that disagree, scores that are not finite, negative grades or weights.
        """
        return self._evaluate(scores, y, qid, group, sample_weight, query_weight, n_jobs, has_gradient=True)

    def _evaluate(
        self,
        scores: Any,
        y: Any,
        qid: Any,
        group: Any,
        sample_weight: Any,
        query_weight: Any,
        n_jobs: int | None,
        has_gradient: bool,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        n_threads = resolve_n_jobs(n_jobs)
        if isinstance(y, RankingDataset):
            given = {"qid": qid, "group": group, "sample_weight": sample_weight, "query_weight": query_weight}
            for name, value in given.items():
                if value is not None:
                    raise ValueError(f"{name}: expected None with a RankingDataset, which has its own, got a value")
            inputs = from_dataset(scores, y)
            kernel = dataset_kernel(self, y)
        else:
            inputs = from_grades(scores, y, qid, group, sample_weight, query_weight, n_threads)
            kernel = self.kernel(inputs.plan, inputs.sample_weight)
        view, weight, qptr = inputs.plan.view, inputs.query_weight, inputs.plan.qptr
        values = np.empty(len(qptr) - 1)
        gradient = np.empty(len(inputs.scores)) if has_gradient else None

        def evaluate(first: int, last: int) -> None:
            _loss.evaluate_into(kernel, view, inputs.scores, weight, first, last, values, gradient)

        if n_threads == 1:
            evaluate(0, len(values))
        else:  # queries are independent, so that the cut may depend on the number of threads
            blocks = query_blocks(qptr, max(ROWS_PER_BLOCK, int(qptr[-1]) // (2 * n_threads)))
            run_blocks(evaluate, blocks, n_threads)
        return values, values if gradient is None else inputs.to_users(gradient)

    def lipschitz(self, norm: str = "linf", *, n_docs: int | None = None) -> float:
        """Return the least known L with |loss(s) - loss(s')| <= L ||s - s'|| for all scores and grades of a query.

        Parameters
        ----------
        norm : {"linf", "l2"}, default="linf"
            Norm of s - s'. The gradient is bounded by L in the dual norm: l1 for "linf", l2 for "l2".
        n_docs : int or None, default=None
            Documents of the longest list, where the constant depends on it.

        Returns
        -------
        float
            infinity where there is no bound. Weights multiply it by the largest of them.
        """
        check_choice(norm, ("linf", "l2"), name="norm")
        return self._lipschitz(norm, None if n_docs is None else check_count(n_docs, name="n_docs", least=0))

    def _lipschitz(self, norm: str, n_docs: int | None) -> float:
        return math.inf

    @property
    def metric(self) -> Metric | None:
        """The measure that the loss bounds, the most usual where it bounds several; None where it bounds none."""
        return None

    @property
    def bound_scale(self) -> float | None:
        """c such that 1 - measure <= c * loss, without row weights, for every measure that the loss bounds.

        The measure is that of any scores and of the worst order of tied documents, and 1 for a query without relevant
        documents.
        """
        return None

    def bounds(self, metric: str | Metric) -> bool:
        """Tell whether 1 - metric <= bound_scale * loss holds for every query."""
        parse_metric(metric)
        return False

    def _arguments(self) -> str:
        """The arguments in brackets after the name."""
        return ""

    def __str__(self) -> str:
        return f"{type(self).__name__}({self._arguments()})"

    def __repr__(self) -> str:
        return f"{self}  {self.formula}"


def dataset_kernel(loss: ScoreLoss, data: RankingDataset) -> _loss.Loss:
    """Return the kernel of a loss for a data set and its row weights, made once."""
    plan, weights = data.plan, data.sample_weight
    known = _kernels.get(plan, {})
    found = known.get(loss)
    if found is None or found[0] is not weights:
        found = weights, loss.kernel(plan, None if weights is None else data.to_grouped(weights))
        recent = [(key, value) for key, value in known.items() if key != loss][1 - _KEPT_KERNELS :]
        _kernels[plan] = dict([*recent, (loss, found)])
    return found[1]
