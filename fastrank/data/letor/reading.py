"""Reading a file whole."""

from __future__ import annotations

import math
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from fastrank._errors import DataFormatError
from fastrank._progress import Progress
from fastrank._threads import resolve_n_jobs
from fastrank._validation import Matrix
from fastrank.data._grouping import Grouping, check_qid_in_groups, group_by_qid, group_by_sizes
from fastrank.data._text import Batch, TextReader
from fastrank.data.dataset import RankingDataset
from fastrank.data.letor._blocks import (
    Part,
    empty_arrays,
    first_rows,
    join_comments,
    join_entries,
    parse_batch,
    probe,
    query_ids,
    query_starts,
)
from fastrank.data.letor._format import LetorFormat, no_rows
from fastrank.data.letor.list_lengths import list_lengths

_FREELY_RESERVED_BYTES = 256 << 20


def load_letor(
    path: str | os.PathLike[str],
    *,
    n_features: int | None = None,
    dtype: DTypeLike = np.float32,
    sparse: bool = False,
    index_base: int = 1,
    missing: str | float = "error",
    comments: str | None = "docid",
    group: str | os.PathLike[str] | ArrayLike | None = None,
    n_jobs: int | None = None,
    progress: bool | Progress = False,
) -> RankingDataset:
    """Read a LETOR / SVMlight text file or pipe, plain or gzip.

    One document a line: `grade qid:ID index:value index:value ... # comment`, indices ascending, features that are not
    listed are 0. Blank lines and lines that are only a comment are skipped.

    Parameters
    ----------
    path : path-like
    n_features : int, optional
        Number of columns; the largest index of the file decides where it is not given. Given, a dense X never has to
        grow in width while the file is read.
    dtype : float32 or float64, default=float32
        Values are read as the nearest float64 and then rounded to this type.
    sparse : bool, default=False
        Read into CSR. Zeros are not stored.
    index_base : {0, 1}, default=1
        The index of the first feature. 1 is LETOR's and SVMlight's.
    missing : "error", "nan" or a number, default="error"
        What to make of values written as `NULL` or `nan`.
    comments : "docid", "all" or None, default="docid"
        What to keep of comments as document ids: X of `docid = X`, or the comment where it is not of that form; always
        the whole comment; nothing.
    group : path-like or array of int, optional
        List lengths, for files without qid: an array or LightGBM's side file. Where it is not given and the lines have
        no qid, `<path>.query` and `<path>.group` are tried.
    n_jobs : int or None, default=None
        Threads that parse; None is 1, -1 all CPUs. The result does not depend on it.
    progress : bool, default=False
        Show a progress bar.

    Returns
    -------
    RankingDataset
        `qid` is int64 where all ids of the file are plain decimal integers, else str (an array of Python strings where
        few ids are far longer than the others).

    Raises
    ------
    DataFormatError
        With path and line, for whatever is not of the format.

    Notes
    -----
    Cost: one read of the file. Memory: the arrays, and 4 MB of text, with more than 7 threads 1 MB for each of them, at
    most 32 MB; more only where single lines are longer than that. Where n_features is not given and lines far down are
    wider than all before, the rows so far are copied into a wider array, by at least a quarter, so that a width that
    grows all along costs a few copies; meanwhile both arrays are in memory. Of a pipe the size is unknown: the arrays
    double as they fill.

    Examples
    --------
    >>> from pathlib import Path; from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "train.txt")
    ...     _ = path.write_text("2 qid:7 1:0.5 2:1 # docid = a\\n0 qid:7 2:0.25 # docid = b\\n")
    ...     data = load_letor(path)
    >>> data
    RankingDataset: 1 query, 2 documents (2 a query), 2 features (float32), grades 0 to 2, document ids
    >>> data.X.tolist(), list(data.docid)
    ([[0.5, 1.0], [0.0, 0.25]], ['a', 'b'])
    """
    format_ = LetorFormat.check(n_features, dtype, sparse, index_base, missing, comments)
    n_threads = resolve_n_jobs(n_jobs)
    bar = progress if isinstance(progress, Progress) else Progress(f"reading {Path(path).name}", enabled=progress)
    with TextReader(path, n_threads) as reader, bar:
        following = first_rows(reader)
        format_ = probe(reader, following, format_, has_lengths=group is not None)
        store = _Store(format_, reader.path)
        while following is not None:
            batch = following
            X, y = store.rows_for(batch)
            parts, following = parse_batch(reader, batch, store.format, X, y, n_threads)
            widest = max(part.max_index for part in parts) + 1 - format_.index_base
            if widest > store.format.n_columns:
                store.widen(widest, batch)
                X, y = store.rows_for(batch)
                parts, _ = parse_batch(reader, batch, store.format, X, y, n_threads, read_ahead=False)
            store.add(parts)
            if batch.fraction is not None:
                bar.update(batch.fraction)
    return store.finish(*list_lengths(reader.path, format_, group), n_threads)


class _Store:
    """The growing arrays of a file that is read whole.

    Space is reserved for the rows that the part read so far lets expect; pages that stay untouched cost nothing. The
    first lines may be far shorter than the others, so less is reserved where the system refuses that much. A dense
    array may be wider than the lines so far.
    """

    def __init__(self, format_: LetorFormat, path: str) -> None:
        self.format = format_
        self._path = path
        self._n_rows = 0
        self._width = format_.n_columns
        self._X = np.empty((0, 0 if format_.sparse else format_.n_columns), dtype=format_.dtype)
        self._y = np.empty(0)
        self._parts: list[Part] = []
        self._starts: list[tuple[int, int, bytes]] = []

    def rows_for(self, batch: Batch) -> tuple[NDArray[Any] | None, NDArray[np.float64]]:
        """The rows that the batch is to be written to."""
        stop = self._n_rows + batch.rows
        if stop > len(self._y):
            some_more = max(stop, len(self._y) + len(self._y) // 2)
            self._move([(rows, self._X.shape[1]) for rows in (*self._expected_rows(batch, stop), some_more, stop)])
        rows = slice(self._n_rows, stop)
        return None if self.format.sparse else self._X[rows], self._y[rows]

    def _expected_rows(self, batch: Batch, stop: int) -> tuple[int, ...]:
        """Rows of the whole file by what is read so far; then, where that is too much, a modest number."""
        if batch.fraction is None:
            return (2 * stop,)
        if batch.fraction == 1.0:
            return (stop,)
        expected = int(1.3 * stop / max(batch.fraction, 1e-6))
        row_bytes = self._y.itemsize + int(self._X.shape[1]) * self._X.itemsize
        return max(stop, expected), max(stop, min(expected, max(8 * stop, _FREELY_RESERVED_BYTES // row_bytes)))

    def widen(self, width: int, batch: Batch) -> None:
        """A line of the batch has more features than all before it: those get zeros."""
        capacity, stop = len(self._y), self._n_rows + batch.rows
        # a quarter more at least: a width that grows all along then costs few copies
        ample = max(width, self._X.shape[1] + self._X.shape[1] // 4)
        self._move([(capacity, ample), (capacity, width), (stop, width)])

    def _move(self, shapes: list[tuple[int, int]]) -> None:
        """Move the rows so far to larger arrays, of the first shape that memory has room for."""
        n_rows, old = self._n_rows, self._X.shape[1]
        X, y = empty_arrays(shapes, self.format.dtype, self._path)
        X[:n_rows, :old] = self._X[:n_rows]
        X[:n_rows, old:] = 0
        y[:n_rows] = self._y[:n_rows]
        self._X, self._y = X, y
        if not self.format.sparse:
            self.format = replace(self.format, n_columns=X.shape[1])

    def add(self, parts: list[Part]) -> None:
        """The batch is parsed into its rows."""
        self._parts += [part._replace(runs=[]) for part in parts]
        self._starts += [(self._n_rows + row, line, token) for row, line, token in query_starts(parts)]
        self._n_rows += sum(part.rows for part in parts)
        self._width = max(self._width, *(part.max_index + 1 - self.format.index_base for part in parts))

    def finish(self, lengths: NDArray[np.int64] | None, lengths_from: str, n_threads: int) -> RankingDataset:
        """Make the data set; `lengths_from` is the file to blame for lengths that do not fit."""
        if self._n_rows == 0:
            raise no_rows(self._path)
        n_rows = self._n_rows
        X: Matrix
        if self.format.sparse:
            n_columns = self.format.n_columns
            if not self.format.fixed_columns:
                n_columns = max(part.max_index for part in self._parts) + 1 - self.format.index_base
            X = join_entries(self._parts, max(0, n_columns))
        else:
            _cut_columns(self._X[:n_rows], self._width)
            self._X.resize((n_rows, self._width), refcheck=False)
            X = self._X
        has_comments = any(part.comment_bytes is not None and len(part.comment_bytes) for part in self._parts)
        docid = join_comments(self._parts) if has_comments else None
        self._parts = []
        y = self._y[:n_rows]
        grades: NDArray[Any] = y.astype(np.int32) if _all_int32(y) else y.copy()
        return RankingDataset._trusted(
            X,
            grades,
            self._groups(lengths, lengths_from),
            docid=docid,
            allow_nan=self.format.allow_missing and math.isnan(self.format.missing),
            n_threads=n_threads,
        )

    def _groups(self, lengths: NDArray[np.int64] | None, lengths_from: str) -> Grouping:
        starts = np.array([row for row, _, _ in self._starts], dtype=np.int64)
        qptr = np.append(starts, self._n_rows)
        tokens = [token for _, _, token in self._starts]
        ids = query_ids(tokens)
        if lengths is not None:
            try:
                groups = group_by_sizes(lengths, self._n_rows)
                if not self._starts:
                    return groups
                return check_qid_in_groups(np.repeat(ids, np.diff(qptr)), groups, self._n_rows)
            except ValueError as error:
                raise DataFormatError(str(error), path=lengths_from) from error
        if len(set(tokens)) == len(tokens):
            return Grouping(ids, qptr, None)
        return group_by_qid(np.repeat(ids, np.diff(qptr)), self._n_rows)


def _cut_columns(X: NDArray[Any], width: int) -> None:
    """Move the first columns of every row to where they lie in an array of that width: no second array is needed."""
    n_rows, old = X.shape
    if width == old:
        return
    values = X.reshape(-1)
    step = max(1, (1 << 20) // max(1, old))  # rows move to the front, past none that are still to be moved
    for first in range(0, n_rows, step):
        rows = X[first : first + step, :width]
        values[first * width : first * width + rows.size] = rows.reshape(-1)


def _all_int32(y: NDArray[np.float64]) -> bool:
    return bool(y.max() < 2**31 and (y == np.floor(y)).all())
