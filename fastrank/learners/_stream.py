"""Queries that come one after the other, in chunks that are worth a call."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any, TypeGuard

import numpy as np
import scipy

from fastrank._progress import Moves
from fastrank._validation import check_count, plural
from fastrank.data.dataset import Query, RankingDataset
from fastrank.data.letor import iter_letor


def is_path(source: Any) -> TypeGuard[str | os.PathLike[str]]:
    """Tell whether a source is the name of a file."""
    return isinstance(source, (str, os.PathLike))


def query_chunks(
    source: Any, *, chunk_rows: int, n_features: int | None, n_jobs: int | None, progress: Moves | None = None
) -> Iterator[RankingDataset]:
    """Yield whole queries in data sets of about `chunk_rows` rows; nothing else is held.

    A source that fails has all queries before the failure yielded first. A sparse X may be as wide as it likes unless
    `n_features` says how wide; chunks never become narrower. `progress` moves as a file is read.

    Raises
    ------
    ValueError, TypeError, DataFormatError
        For what is not a query, lists of different width, values as `RankingDataset` refuses them, and what the source
        raises.
    """
    if is_path(source):
        source = iter_letor(source, n_features=n_features, comments=None, progress=progress, n_jobs=n_jobs)
    elif not isinstance(source, Iterable):
        raise TypeError(f"source: expected the path of a LETOR file or an iterable of queries, got {source!r}")
    chunk = _Chunk(None if n_features is None else check_count(n_features, name="n_features"))
    failure: Exception | None = None
    queries = iter(source)
    while True:
        try:
            chunk.add(next(queries))
        except StopIteration:
            break
        except Exception as error:  # raised again, below: what came before it is learned from
            failure = error
            break
        if chunk.n_rows >= chunk_rows:
            yield chunk.take(n_jobs)
    if chunk.sizes:
        yield chunk.take(n_jobs)
    if failure is not None:
        raise failure


class _Chunk:
    """The queries that wait, and the width of all so far."""

    def __init__(self, n_features: int | None) -> None:
        self.sizes: list[int] = []
        self.n_rows = 0
        self._X: list[Any] = []
        self._y: list[Any] = []
        self._n_given = 0
        self._width, self._is_fixed = n_features or 0, n_features is not None
        self._is_sparse: bool | None = None

    def add(self, item: Any) -> None:
        if isinstance(item, Query):
            X, y = item.X, item.y
        elif isinstance(item, (tuple, list)) and len(item) == 2:
            X, y = item
        else:
            raise self._error(TypeError, f"expected a Query or a pair (X, y), got {type(item).__name__}")
        is_sparse = scipy.sparse.issparse(X)
        X, y = scipy.sparse.csr_array(X) if is_sparse else np.asarray(X), np.asarray(y)
        if X.ndim != 2 or y.shape != X.shape[:1]:
            raise self._error(ValueError, f"expected X with a row per entry of y, got shapes {X.shape} and {y.shape}")
        if self._is_sparse is None:
            self._is_sparse = is_sparse
            self._width = self._width if self._is_fixed else X.shape[1]
        elif self._is_sparse != is_sparse:
            raise self._error(TypeError, "expected all queries dense or all sparse, got both")
        if X.shape[1] != self._width:
            if not is_sparse or (self._is_fixed and X.shape[1] > self._width):
                expected, got = plural(self._width, "feature"), f"{X.shape[1]:,}"
                raise self._error(ValueError, f"expected {expected}, as before it or as n_features says, got {got}")
            self._width = max(self._width, X.shape[1])
        self._X.append(X)
        self._y.append(y)
        self.sizes.append(len(y))
        self.n_rows += len(y)
        self._n_given += 1

    def _error(self, kind: type[Exception], message: str) -> Exception:
        return kind(f"query {self._n_given + 1:,} of the stream: {message}")

    def take(self, n_jobs: int | None) -> RankingDataset:
        """Return the queries that wait as a data set, and begin anew."""
        X, y, sizes = self._joined(), np.concatenate(self._y), self.sizes
        self._X, self._y, self.sizes, self.n_rows = [], [], [], 0
        try:
            return RankingDataset(X, y, group=sizes, n_jobs=n_jobs)
        except (TypeError, ValueError) as error:
            last = self._n_given
            where = f"rows of queries {last - len(sizes) + 1:,} to {last:,} of the stream"
            raise type(error)(f"{error} ({where})") from None

    def _joined(self) -> Any:
        if not self._is_sparse:
            return self._X[0] if len(self._X) == 1 else np.concatenate(self._X)
        # the same entries in as many columns as there are by now
        wide = [scipy.sparse.csr_array((X.data, X.indices, X.indptr), (X.shape[0], self._width)) for X in self._X]
        return wide[0] if len(wide) == 1 else scipy.sparse.csr_array(scipy.sparse.vstack(wide, format="csr"))
