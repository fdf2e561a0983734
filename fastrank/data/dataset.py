"""RankingDataset: ragged queries as one flat data set."""

from __future__ import annotations

import operator
import os
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence, Sized
from typing import TYPE_CHECKING, Any, NamedTuple, SupportsIndex

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from fastrank._lazy import lazy
from fastrank._threads import resolve_n_jobs
from fastrank._validation import Matrix, check_grades, check_matrix, check_weights, plural
from fastrank.data import _frames
from fastrank.data._grouping import (
    Grouping,
    check_qid_in_groups,
    from_sequence,
    group_by_offsets,
    group_by_qid,
    group_by_sizes,
    id_list,
)
from fastrank.data._strings import StringColumn
from fastrank.data.plan import QueryPlan

if TYPE_CHECKING:
    from fastrank._progress import Progress

DocIds = StringColumn | NDArray[Any]


class Query(NamedTuple):
    """The documents of one query: its id, features, grades and, where known, document ids."""

    qid: Any
    X: Matrix
    y: NDArray[Any]
    docid: DocIds | None = None


class RankingDataset:
    """Documents with features and relevance grades, grouped into queries.

    Rows may come in any order: the permutation that makes the rows of each query adjacent is built once, and `X`, `y`,
    `docid`, `sample_weight` and whatever is computed per row stay in the order in which they were given.

    Parameters
    ----------
    X : array, CSR or other sparse matrix, or data frame, shape (n_rows, n_features)
        Features. float32 and float64 arrays in C order, CSR matrices and memory maps are used as they are; other
        numbers become float64. A pandas, polars or pyarrow frame gives its column names as feature names.
    y : array-like of shape (n_rows,), or str
        Relevance grades, 0 and above, or the frame column that holds them.
    qid : array-like of shape (n_rows,), or str, optional
        The query of each row: any hashable ids in any order, or the frame column that holds them.
    group : array-like of int, optional
        Number of rows of each query; rows are adjacent. With `qid` too, both must agree.
    qptr : array-like of int, optional
        Offsets: query q has rows qptr[q] to qptr[q + 1] - 1.
    feature_names : sequence of str, optional
    docid : sequence, optional
        A document id per row, or the frame column that holds them. Strings are kept as a `StringColumn`, other ids as
        an array.
    sample_weight : array-like of shape (n_rows,), or str, optional
    query_weight : array-like of shape (n_queries,) or mapping from qid, optional
        Aligned with `dataset.qid`.
    allow_nan : bool, default=False
        Accept NaN in X as a missing value.
    n_jobs : int or None, default=None
        Threads for checking X and building the plan; None is 1, -1 all CPUs.

    Attributes
    ----------
    qid : ndarray of shape (n_queries,)
        Ids in order of first appearance.
    qptr : ndarray of int64, shape (n_queries + 1,)
        Offsets of the queries in the grouped rows.
    order : ndarray of int64 or None
        Grouped row i is row `order[i]`; None where the rows are grouped already.

    Raises
    ------
    ValueError, TypeError
        For lengths that disagree, negative or non-finite grades, NaN or infinite features, missing or unhashable ids.

    Notes
    -----
    Cost: one read of X and O(n_rows) for the grouping; no copy of X unless its type or layout must change. Thread-safe
    for reading.

    Examples
    --------
    >>> data = RankingDataset([[0.1], [0.9], [0.4]], [0, 2, 1], qid=["b", "a", "b"])
    >>> data
    RankingDataset: 2 queries, 3 documents (1 to 2 a query, mean 1.5), 1 feature (float64), grades 0 to 2, not grouped
    >>> data.qid.tolist(), data.sizes.tolist()
    (['b', 'a'], [2, 1])
    """

    def __init__(
        self,
        X: Any,
        y: Any,
        *,
        qid: Any = None,
        group: ArrayLike | None = None,
        qptr: ArrayLike | None = None,
        feature_names: Sequence[str] | None = None,
        docid: Sequence[Any] | DocIds | None = None,
        sample_weight: ArrayLike | None = None,
        query_weight: ArrayLike | Mapping[Hashable, float] | None = None,
        allow_nan: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        n_threads = resolve_n_jobs(n_jobs)
        if _frames.is_frame(X):
            X, names, taken = _frames.split_frame(X, y=y, qid=qid, docid=docid, sample_weight=sample_weight)
            y, qid, docid, sample_weight = taken["y"], taken["qid"], taken["docid"], taken["sample_weight"]
            feature_names = names if feature_names is None else feature_names
        elif isinstance(y, str) or isinstance(qid, str):
            raise TypeError(
                "y, qid: expected arrays, got a column name, which needs X to be a data frame; "
                + ("call X.collect() first" if hasattr(X, "collect") else f"X is a {type(X).__name__}")
            )
        self._X = check_matrix(X, allow_nan=allow_nan, n_threads=n_threads)
        n_rows, n_features = self._X.shape
        self._y = check_grades(y, n_rows)
        groups = _group(n_rows, qid, group, qptr)
        self.qid, self.qptr, self.order = groups
        self._docid = _check_docid(docid, n_rows)
        self.feature_names = _check_names(feature_names, n_features)
        self._sample_weight = check_weights(sample_weight, n_rows, name="sample_weight", per="one per row of X")
        if isinstance(query_weight, Mapping):
            query_weight = _weights_of(query_weight, self.qid)
        self.query_weight = check_weights(query_weight, len(self.qid), name="query_weight", per="one per query")
        self.allow_nan = bool(allow_nan)  # a NumPy bool cannot be written to a cache's manifest
        self._n_threads = n_threads
        self._freeze()

    def _freeze(self) -> None:
        """Offsets and ids that other objects rely on must not change under them."""
        self.qid.flags.writeable = False
        self.qptr.flags.writeable = False

    @classmethod
    def _trusted(
        cls,
        X: Matrix,
        y: NDArray[Any],
        groups: Grouping,
        *,
        docid: DocIds | None = None,
        feature_names: list[str] | None = None,
        sample_weight: NDArray[np.float64] | None = None,
        query_weight: NDArray[np.float64] | None = None,
        allow_nan: bool = False,
        n_threads: int = 1,
    ) -> RankingDataset:
        """Make a data set of parts that are known to be right, without reading X."""
        self = cls.__new__(cls)
        self._X, self._y = X, y
        self.qid, self.qptr, self.order = groups
        self._docid = docid
        self.feature_names = feature_names
        self._sample_weight, self.query_weight = sample_weight, query_weight
        self.allow_nan, self._n_threads = bool(allow_nan), n_threads
        self._freeze()
        return self

    # What the user gave, in the user's order.

    @property
    def X(self) -> Matrix:
        """Features, shape (n_rows, n_features)."""
        return self._X

    @property
    def y(self) -> NDArray[Any]:
        """Grades, int32 where all are integers, else float64, shape (n_rows,)."""
        return self._y

    @property
    def docid(self) -> DocIds | None:
        """Document ids, one per row, or None."""
        return self._docid

    @property
    def sample_weight(self) -> NDArray[np.float64] | None:
        """Row weights, or None."""
        return self._sample_weight

    def row_qid(self) -> NDArray[Any]:
        """Return the query id of each row."""
        return self.to_rows(np.repeat(self.qid, self.sizes))

    # The same grouped by query, for the kernels.

    @lazy
    def grouped_X(self) -> Matrix:
        """Features with the rows of each query adjacent: X itself where they are, else a copy made once."""
        return self._X if self.order is None else _take_rows(self._X, self.order)

    @lazy
    def grouped_y(self) -> NDArray[Any]:
        """Grades with the rows of each query adjacent."""
        return self.to_grouped(self._y)

    @lazy
    def plan(self) -> QueryPlan:
        """What depends on the grades alone: documents by grade, gains, ideal DCG, SLAM weights. Built once."""
        return QueryPlan(self.grouped_y, self.qptr, self._n_threads)

    def to_grouped(self, values: NDArray[Any]) -> NDArray[Any]:
        """Bring one value per row from the user's order into grouped order."""
        return values if self.order is None else values[self.order]

    def to_rows(self, values: NDArray[Any]) -> NDArray[Any]:
        """Bring one value per row from grouped order into the user's order."""
        if self.order is None:
            return values
        rows = np.empty_like(values)
        rows[self.order] = values
        return rows

    # Sizes.

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return len(self.qptr) - 1

    @property
    def n_rows(self) -> int:
        """Number of documents in all queries."""
        return int(self._X.shape[0])

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self._X.shape[1])

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of documents of each query."""
        return np.diff(self.qptr)

    def __len__(self) -> int:
        return self.n_queries

    # Queries.

    def rows_of(self, index: SupportsIndex) -> NDArray[np.int64]:
        """Return the rows, in the user's order, of the query at this position."""
        index = self._position(index)
        rows = np.arange(self.qptr[index], self.qptr[index + 1])
        return rows if self.order is None else self.order[rows]

    def position_of(self, qid: Hashable) -> int:
        """Return the position of a query id."""
        try:
            return self._positions[qid]
        except KeyError:
            raise KeyError(f"qid: expected one of the {plural(self.n_queries, 'query')}, got {qid!r}") from None

    @lazy
    def _positions(self) -> dict[Hashable, int]:
        return {qid: position for position, qid in enumerate(id_list(self.qid))}

    def _position(self, index: SupportsIndex) -> int:
        index = operator.index(index)
        if not -self.n_queries <= index < self.n_queries:
            raise IndexError(f"query: expected a position below {self.n_queries}, got {index}")
        return index % self.n_queries

    def __getitem__(self, index: Any) -> RankingDataset:
        """Select queries by position: a number, a slice, a list of numbers or a boolean mask.

        The rows of the result are grouped. A slice of a grouped data set shares its memory.
        """
        if isinstance(index, (int, np.integer)) and not isinstance(index, bool):
            position = self._position(index)
            index = slice(position, position + 1)
        if isinstance(index, slice) and index.step in (None, 1) and self.order is None:
            first, last, _ = index.indices(self.n_queries)
            last = max(first, last)
            queries: Any = slice(first, last)
            rows: Any = slice(int(self.qptr[first]), int(self.qptr[last]))
            qptr = self.qptr[first : last + 1] - self.qptr[first]
        else:
            queries = _check_selection(index, self.n_queries)
            sizes = self.sizes[queries]
            qptr = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
            rows = np.arange(qptr[-1]) + np.repeat(self.qptr[:-1][queries] - qptr[:-1], sizes)
            rows = rows if self.order is None else self.order[rows]
        return RankingDataset._trusted(
            _take_rows(self._X, rows),
            self._y[rows],
            Grouping(self.qid[queries], qptr, None),
            docid=None if self._docid is None else self._docid[rows],
            feature_names=self.feature_names,
            sample_weight=None if self._sample_weight is None else self._sample_weight[rows],
            query_weight=None if self.query_weight is None else self.query_weight[queries],
            allow_nan=self.allow_nan,
            n_threads=self._n_threads,
        )

    def __iter__(self) -> Iterator[Query]:
        """Yield the queries in order, as `Query` tuples."""
        ids = id_list(self.qid)
        for position in range(self.n_queries):
            rows: Any = slice(int(self.qptr[position]), int(self.qptr[position + 1]))
            rows = rows if self.order is None else self.order[rows]
            docid = None if self._docid is None else self._docid[rows]
            yield Query(ids[position], _take_rows(self._X, rows), self._y[rows], docid)

    def with_X(self, X: Any) -> RankingDataset:
        """Return the same documents with other features, rows in the user's order."""
        matrix = check_matrix(X, allow_nan=self.allow_nan, n_threads=self._n_threads)
        if matrix.shape[0] != self.n_rows:
            raise ValueError(f"X: expected {plural(self.n_rows, 'row')}, one per document, got {matrix.shape[0]:,}")
        other = RankingDataset._trusted(
            matrix,
            self._y,
            Grouping(self.qid, self.qptr, self.order),
            docid=self._docid,
            feature_names=self.feature_names if matrix.shape[1] == self.n_features else None,
            sample_weight=self._sample_weight,
            query_weight=self.query_weight,
            allow_nan=self.allow_nan,
            n_threads=self._n_threads,
        )
        if "plan" in self.__dict__:  # the grades are the same
            other.__dict__["plan"] = self.plan
        return other

    @classmethod
    def concatenate(
        cls, datasets: Sequence[RankingDataset], *, keys: Sequence[Hashable] | None = None
    ) -> RankingDataset:
        """Join data sets end to end.

        Parameters
        ----------
        datasets : sequence of RankingDataset
            With the same number and names of features. Document ids and weights must be in all of them or in none.
        keys : sequence, optional
            One per data set: query ids become pairs (key, qid), for data sets that share ids.

        Raises
        ------
        ValueError
            For an empty sequence, different features, or an id that is in two data sets without `keys`.
        """
        datasets = list(datasets)
        if not datasets:
            raise ValueError("datasets: expected at least one data set, got none")
        first = datasets[0]
        for number, other in enumerate(datasets):
            if other.n_features != first.n_features:
                raise ValueError(
                    f"datasets: expected the same features, got {plural(first.n_features, 'feature')} in data set 0 "
                    f"and {plural(other.n_features, 'feature')} in data set {number}"
                )
            if other.feature_names != first.feature_names:
                raise ValueError(
                    f"datasets: expected the same feature names, got others in data set {number} than in data set 0; "
                    "set feature_names of one to those of the other"
                )
        ids = _joined_ids(datasets, keys)
        sizes = np.concatenate([dataset.sizes for dataset in datasets])
        qptr = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
        starts = np.cumsum([0] + [dataset.n_rows for dataset in datasets])
        order = None
        if any(dataset.order is not None for dataset in datasets):
            order = np.concatenate(
                [
                    start + (np.arange(dataset.n_rows) if dataset.order is None else dataset.order)
                    for dataset, start in zip(datasets, starts[:-1], strict=True)
                ]
            )
        X: Any
        if any(scipy.sparse.issparse(dataset.X) for dataset in datasets):
            # csr_array again: SciPy before 1.12 gives a matrix
            X = scipy.sparse.csr_array(scipy.sparse.vstack([scipy.sparse.csr_array(dataset.X) for dataset in datasets]))
        else:
            X = np.concatenate([np.asarray(dataset.X) for dataset in datasets])
        grades = np.concatenate([dataset.y for dataset in datasets])
        return cls._trusted(
            X,
            grades,
            Grouping(ids, qptr, order),
            docid=_joined([dataset.docid for dataset in datasets], "docid"),
            feature_names=first.feature_names,
            sample_weight=_joined([dataset.sample_weight for dataset in datasets], "sample_weight"),
            query_weight=_joined([dataset.query_weight for dataset in datasets], "query_weight"),
            allow_nan=any(dataset.allow_nan for dataset in datasets),
            n_threads=first._n_threads,
        )

    # Files.

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False, progress: Progress | None = None) -> None:
        """Write the data set as a binary cache, a folder of .npy files; see `fastrank.data.cache`."""
        from fastrank.data import cache

        cache.save(self, path, overwrite=overwrite, progress=progress)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, mmap: bool = True, verify: bool | None = None) -> RankingDataset:
        """Read a binary cache; see `fastrank.data.cache`."""
        from fastrank.data import cache

        return cache.load(path, mmap=mmap, verify=verify)

    def __repr__(self) -> str:
        sizes = self.sizes
        if sizes.size:
            spread = f"{sizes.min():,} to {sizes.max():,} a query, mean {sizes.mean():,.1f}"
            spread = f" ({spread})" if sizes.min() != sizes.max() else f" ({sizes.min():,} a query)"
        else:
            spread = ""
        layout = "CSR " if scipy.sparse.issparse(self._X) else "memory-mapped " if _is_mapped(self._X) else ""
        grades = f", grades {self._y.min():g} to {self._y.max():g}" if len(self._y) else ""
        extras = [
            name
            for name, value in (
                ("document ids", self._docid),
                ("row weights", self._sample_weight),
                ("query weights", self.query_weight),
            )
            if value is not None
        ]
        shuffled = ", not grouped" if self.order is not None else ""
        return (
            f"RankingDataset: {plural(self.n_queries, 'query')}, {plural(self.n_rows, 'document')}{spread}, "
            f"{plural(self.n_features, 'feature')} ({layout}{self._X.dtype}){grades}{shuffled}"
            + "".join(f", {extra}" for extra in extras)
        )

    def __getstate__(self) -> dict[str, Any]:
        # What can be computed again is not worth shipping to another process.
        lazy = ("plan", "grouped_X", "grouped_y", "_positions")
        return {name: value for name, value in self.__dict__.items() if name not in lazy}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._freeze()  # pickle makes arrays writable


def _group(n_rows: int, qid: Any, group: ArrayLike | None, qptr: ArrayLike | None) -> Grouping:
    if group is not None and qptr is not None:
        raise ValueError("group, qptr: expected one of the two, got both")
    if group is None and qptr is None:
        if qid is None:
            raise ValueError(
                "qid: expected the query of each row, got none of qid=, group= and qptr=; pass one id per row as qid=, "
                "or list lengths as group="
            )
        return group_by_qid(qid, n_rows)
    groups = group_by_sizes(group, n_rows) if group is not None else group_by_offsets(qptr, n_rows)  # type: ignore[arg-type]
    return groups if qid is None else check_qid_in_groups(qid, groups, n_rows)


def _check_docid(docid: Sequence[Any] | DocIds | None, n_rows: int) -> DocIds | None:
    if docid is None:
        return None
    if not isinstance(docid, Sized):
        raise TypeError(f"docid: expected a sequence of document ids (one per row of X), got {docid!r}")
    if isinstance(docid, (str, bytes)) or len(docid) != n_rows:
        got = repr(docid) if isinstance(docid, (str, bytes)) else f"{len(docid):,}"
        raise ValueError(f"docid: expected {n_rows:,} document ids (one per row of X), got {got}; pass them all")
    if isinstance(docid, StringColumn):
        return docid
    if hasattr(docid, "__array__"):
        ids = np.asarray(docid)
        if ids.ndim != 1:
            raise ValueError(f"docid: expected one document id per row of X, got an array of shape {ids.shape}")
        if ids.dtype.kind not in "OU":
            return ids
        docid = ids.tolist()
    values = list(docid)
    return StringColumn.from_strings(values) if all(type(one) is str for one in values) else from_sequence(values)


def _check_names(names: Sequence[str] | None, n_features: int) -> list[str] | None:
    if names is None:
        return None
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise TypeError(f"feature_names: expected a list of names (one per column of X), got {names!r}")
    names = [str(name) for name in names]
    if len(names) != n_features:
        raise ValueError(f"feature_names: expected {n_features} names (one per column of X), got {len(names)}")
    if len(set(names)) != n_features:
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise ValueError(f"feature_names: expected different names, got {twice!r} twice")
    return names


def _weights_of(weights: Mapping[Hashable, float], qid: NDArray[Any]) -> list[float]:
    ids = id_list(qid)
    missing = [one for one in ids if one not in weights]
    if missing:
        raise ValueError(f"query_weight: expected a weight for every query, got none for {missing[0]!r}")
    return [weights[one] for one in ids]


def _check_selection(index: Any, n_queries: int) -> NDArray[np.int64]:
    chosen = np.arange(n_queries)[index] if isinstance(index, slice) else np.asarray(index)
    if chosen.ndim != 1 or (chosen.size and chosen.dtype.kind not in "iub"):
        raise TypeError(f"queries: expected a position, a slice, a list of positions or a mask, got {index!r}")
    if chosen.dtype.kind == "b":
        if len(chosen) != n_queries:
            raise IndexError(f"queries: expected a mask of {n_queries} values, got {len(chosen)}")
        return np.flatnonzero(chosen)
    chosen = chosen.astype(np.int64)
    outside = (chosen < -n_queries) | (chosen >= n_queries)
    if outside.any():
        raise IndexError(f"queries: expected positions below {n_queries}, got {chosen[int(np.argmax(outside))]}")
    chosen = np.where(chosen < 0, chosen + n_queries, chosen)
    if len(np.unique(chosen)) != len(chosen):
        raise ValueError("queries: expected different positions, got one twice; a data set holds each query once")
    return chosen


def _take_rows(X: Matrix, rows: Any) -> Any:
    return scipy.sparse.csr_array(X[rows]) if scipy.sparse.issparse(X) else X[rows]


def _is_mapped(X: Any) -> bool:
    while isinstance(X, np.ndarray):
        if isinstance(X, np.memmap):
            return True
        X = X.base
    return False


def _joined_ids(datasets: list[RankingDataset], keys: Sequence[Hashable] | None) -> NDArray[Any]:
    if keys is not None:
        if len(keys) != len(datasets):
            raise ValueError(f"keys: expected {len(datasets)} keys (one per data set), got {len(keys)}")
        if len(set(keys)) != len(keys):
            raise ValueError(f"keys: expected different keys, got {list(keys)}")
        return from_sequence(
            [(key, one) for key, dataset in zip(keys, datasets, strict=True) for one in id_list(dataset.qid)]
        )
    seen: dict[Hashable, int] = {}
    for number, dataset in enumerate(datasets):
        for one in id_list(dataset.qid):
            if seen.setdefault(one, number) != number:
                raise ValueError(
                    f"datasets: expected each query in one data set, got qid {one!r} in data sets {seen[one]} and "
                    f"{number}; pass keys= to tell them apart"
                )
    kinds = {dataset.qid.dtype.kind for dataset in datasets}
    if len(kinds) == 1:
        return np.concatenate([dataset.qid for dataset in datasets])
    return np.concatenate([dataset.qid.astype(object) for dataset in datasets])


def _joined(parts: Sequence[Any], name: str) -> Any:
    if all(part is None for part in parts):
        return None
    if any(part is None for part in parts):
        raise ValueError(f"datasets: expected {name} in every data set or in none, got it in some")
    if all(isinstance(part, StringColumn) for part in parts):
        return StringColumn.concatenate(list(parts))
    return np.concatenate([np.asarray(part) for part in parts])


def check_dataset(data: Any, *, name: str = "data") -> RankingDataset:
    """Return data if it is a data set."""
    if not isinstance(data, RankingDataset):
        raise TypeError(f"{name}: expected a RankingDataset, got {type(data).__name__}; make one of X, y and qid")
    return data
