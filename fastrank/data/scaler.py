"""QueryScaler: features brought to one scale, query by query or over the whole data set."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from fastrank._core import _columns, _cpu
from fastrank._threads import query_blocks, resolve_n_jobs, row_blocks, run_blocks
from fastrank._validation import Matrix, check_choice, check_matrix, plural
from fastrank.data.dataset import RankingDataset

_WORK_ROWS = _columns.N_STATISTICS + 3


class QueryScaler:
    """Scale each feature by its values among the documents of a query, or of the whole training set.

    - "minmax": (x - min) / (max - min), LETOR's and RankLib's `linear`;
    - "zscore": (x - mean) / standard deviation (of the population);
    - "sum": x / sum of |x|.

    Parameters
    ----------
    method : {"minmax", "zscore", "sum"}, default="minmax"
    scope : {"query", "global"}, default="query"
        Whose values: those of the document's own query, so that there is nothing to learn, or those of the data given
        to `fit`.
    n_jobs : int or None, default=None
        Threads; the result does not depend on it, to the last bit.

    Attributes
    ----------
    n_features_in_ : int
    offset_, divisor_ : ndarray of shape (n_features,)
        With scope="global": the result is (x - offset_) / divisor_.

    Notes
    -----
    A feature that is constant becomes 0 with "minmax" and "zscore", and stays 0 with "sum" if it is 0. NaN is left out
    of the statistics and stays NaN. Sums are float64; the result has the type of X. Cost: two reads of X ("zscore":
    four) and one write. Sparse X only with "sum", which keeps zeros.

    Examples
    --------
    >>> QueryScaler().fit_transform([[1.0], [3.0], [5.0], [5.0]], group=[2, 2]).ravel().tolist()
    [0.0, 1.0, 0.0, 0.0]
    """

    def __init__(self, method: str = "minmax", *, scope: str = "query", n_jobs: int | None = None) -> None:
        self.method = method
        self.scope = scope
        self.n_jobs = n_jobs

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name, as scikit-learn's estimators do."""
        return {"method": self.method, "scope": self.scope, "n_jobs": self.n_jobs}

    def set_params(self, **params: Any) -> QueryScaler:
        """Set parameters by name."""
        for name, value in params.items():
            check_choice(name, tuple(self.get_params()), name="parameter")
            setattr(self, name, value)
        return self

    def fit(
        self, X: Any, y: Any = None, *, qid: ArrayLike | None = None, group: ArrayLike | None = None
    ) -> QueryScaler:
        """Learn the scale of each feature; with scope="query" only the number of features.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_rows, n_features), or RankingDataset
        y, qid, group : ignored
            Accepted so that `fit` and `transform` can be called alike.
        """
        self._check_params()
        matrix = self._matrix(X)
        self.n_features_in_ = int(matrix.shape[1])
        if self.scope == "global":
            self.offset_, self.divisor_ = self._global_scale(matrix)
        return self

    def transform(self, X: Any, *, qid: ArrayLike | None = None, group: ArrayLike | None = None) -> Any:
        """Return X on its new scale; a RankingDataset gives a RankingDataset.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_rows, n_features), or RankingDataset
        qid, group : array-like, optional
            The queries, as for `RankingDataset`; needed with scope="query" unless X is a data set.
        """
        if not hasattr(self, "n_features_in_"):
            raise ValueError("this QueryScaler has not been fitted; call fit or fit_transform first")
        self._check_params()
        matrix = self._matrix(X)
        if matrix.shape[1] != self.n_features_in_:
            raise ValueError(f"X: expected {plural(self.n_features_in_, 'feature')}, as in fit, got {matrix.shape[1]}")
        if isinstance(X, RankingDataset):
            dataset = X
        elif self.scope == "query":
            if qid is None and group is None:
                raise ValueError("qid: expected the query of each row, got neither qid= nor group=")
            dataset = RankingDataset(matrix, np.zeros(matrix.shape[0]), qid=qid, group=group, allow_nan=True)
        else:
            return self._scaled_globally(matrix)
        scaled = self._scaled_globally(matrix) if self.scope == "global" else self._scaled_by_query(dataset)
        return dataset.with_X(scaled) if isinstance(X, RankingDataset) else scaled

    def fit_transform(
        self, X: Any, y: Any = None, *, qid: ArrayLike | None = None, group: ArrayLike | None = None
    ) -> Any:
        """Fit, then transform the same data."""
        return self.fit(X).transform(X, qid=qid, group=group)

    def to_dict(self) -> dict[str, Any]:
        """Return what a saved model needs to make this scaler again, as numbers, strings and lists."""
        state = {"method": self.method, "scope": self.scope, "n_features": getattr(self, "n_features_in_", None)}
        if hasattr(self, "offset_"):
            state |= {"offset": self.offset_.tolist(), "divisor": self.divisor_.tolist()}
        return state

    @classmethod
    def from_dict(cls, state: dict[str, Any]) -> QueryScaler:
        """Make the scaler that `to_dict` described."""
        scaler = cls(state["method"], scope=state["scope"])
        scaler._check_params()
        if state["n_features"] is not None:
            scaler.n_features_in_ = int(state["n_features"])
        if "offset" in state:
            scaler.offset_ = np.array(state["offset"], dtype=np.float64)
            scaler.divisor_ = np.array(state["divisor"], dtype=np.float64)
        return scaler

    def __repr__(self) -> str:
        return f"QueryScaler({self.method!r}, scope={self.scope!r})"

    def _check_params(self) -> None:
        check_choice(self.method, tuple(_columns.SCALE_METHODS), name="method")
        check_choice(self.scope, ("query", "global"), name="scope")
        self._n_threads = resolve_n_jobs(self.n_jobs)

    def _matrix(self, X: Any) -> Matrix:
        matrix = X.X if isinstance(X, RankingDataset) else check_matrix(X, allow_nan=True, n_threads=self._n_threads)
        if scipy.sparse.issparse(matrix) and self.method != "sum":
            raise TypeError(
                f"X: expected a dense matrix for method={self.method!r}, which would turn zeros into other values, "
                "got a sparse one; use method='sum' or X.toarray()"
            )
        return matrix

    def _global_scale(self, X: Matrix) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        n_columns = X.shape[1]
        offset, divisor = np.zeros(n_columns), np.ones(n_columns)
        if not isinstance(X, np.ndarray):
            return offset, _cell_sums(X.data, X.indices, n_columns)
        mean = np.zeros(n_columns)
        statistics = self._statistics(X, mean)
        if self.method == "zscore":
            count = statistics[_columns.COUNT]
            np.divide(statistics[_columns.SUM], count, out=mean, where=count > 0)
            statistics = self._statistics(X, mean)
        column = _columns.offsets_into(_columns.SCALE_METHODS[self.method], statistics, mean, offset, divisor)
        if column >= 0:
            raise self._beyond_float64(column, "the data")
        return offset, divisor

    def _statistics(self, X: NDArray[Any], center: NDArray[np.float64]) -> NDArray[np.float64]:
        """Statistics of all rows: those of fixed blocks, put together in block order."""

        def of_block(first: int, last: int) -> NDArray[np.float64]:
            out = np.empty((_columns.N_STATISTICS, X.shape[1]))
            _columns.statistics_into(X, first, last, center, _cpu.LEVEL, out)
            return out

        total = np.zeros((_columns.N_STATISTICS, X.shape[1]))
        total[_columns.LOW], total[_columns.HIGH] = np.inf, -np.inf
        for part in run_blocks(of_block, row_blocks(X.shape[0]), self._n_threads):
            total[_columns.LOW] = np.minimum(total[_columns.LOW], part[_columns.LOW])
            total[_columns.HIGH] = np.maximum(total[_columns.HIGH], part[_columns.HIGH])
            total[_columns.COUNT :] += part[_columns.COUNT :]
        return total

    def _scaled_globally(self, X: Matrix) -> Matrix:
        if not isinstance(X, np.ndarray):
            return scipy.sparse.csr_array(
                (_divided(X.data, self.divisor_[X.indices]), X.indices, X.indptr), shape=X.shape
            )
        out = np.empty_like(X)

        def scale(first: int, last: int) -> None:
            _columns.scale_into(X, first, last, self.offset_, self.divisor_, _cpu.LEVEL, out)

        run_blocks(scale, row_blocks(X.shape[0]), self._n_threads)
        return out

    def _scaled_by_query(self, dataset: RankingDataset) -> Matrix:
        X = dataset.grouped_X
        if not isinstance(X, np.ndarray):
            return self._scaled_sparse(dataset)
        out = np.empty_like(X)

        def scale(first: int, last: int) -> tuple[int, int]:
            work = np.empty((_WORK_ROWS, X.shape[1]))
            method = _columns.SCALE_METHODS[self.method]
            return _columns.scale_queries_into(X, dataset.qptr, first, last, method, _cpu.LEVEL, work, out)

        for query, column in run_blocks(scale, query_blocks(dataset.qptr), self._n_threads):
            if query >= 0:
                raise self._beyond_float64(column, f"query {dataset.qid[query].item()!r}")
        return dataset.to_rows(out)

    def _beyond_float64(self, column: int, where: str) -> ValueError:
        return ValueError(
            f"X: expected values whose {self.method} scale is a positive float64, got a spread that over- or "
            f"underflows in column {column} of {where}; rescale that feature first"
        )

    def _scaled_sparse(self, dataset: RankingDataset) -> Matrix:
        """Divide each entry by the sum of the entries of its query and feature."""
        X: Any = dataset.X
        query = dataset.to_rows(np.repeat(np.arange(dataset.n_queries), dataset.sizes))
        cell = np.repeat(query, np.diff(X.indptr)) * X.shape[1] + X.indices
        cells, place = np.unique(cell, return_inverse=True)
        sums = _cell_sums(X.data, place, len(cells))
        return scipy.sparse.csr_array((_divided(X.data, sums[place]), X.indices, X.indptr), shape=X.shape)


def _cell_sums(values: NDArray[Any], cell: NDArray[Any], n_cells: int) -> NDArray[np.float64]:
    """Sum |values| by cell in float64, without NaN; 1 where that is 0."""
    sums = np.bincount(cell, weights=np.nan_to_num(np.abs(values), nan=0.0), minlength=n_cells).astype(np.float64)
    sums[sums == 0] = 1.0
    return sums


def _divided(values: NDArray[Any], by: NDArray[np.float64]) -> NDArray[Any]:
    """Divide in float64 and round to the type of the values, as the dense kernels do."""
    return (values.astype(np.float64) / by).astype(values.dtype)
