"""LETOR / SVMlight text: `grade qid:ID 1:v 2:v ... # comment`, read whole, read query by query, and written."""

from __future__ import annotations

import gzip
import math
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray
from scipy import sparse as sp

from fastrank._core import _letor
from fastrank._errors import DataFormatError
from fastrank._progress import Progress
from fastrank._threads import resolve_n_jobs, run_tasks
from fastrank._validation import Matrix, check_choice, check_count
from fastrank.data._atomic import atomic_file
from fastrank.data._grouping import Grouping, check_qid_in_groups, group_by_qid, group_by_sizes
from fastrank.data._strings import StringColumn
from fastrank.data._text import Batch, Block, TextReader
from fastrank.data.dataset import Query, RankingDataset

SIDE_FILE_ENDINGS = (".query", ".group")
"""LightGBM's names for the file of list lengths that lies beside a data file."""

_PROBED_BYTES = 1 << 16
_ANY_COLUMN = 2**31 - 1


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
    """Read a LETOR / SVMlight text file, plain or gzip.

    One document a line: `grade qid:ID index:value index:value ... # comment`, indices ascending, features that are not
    listed are 0. Blank lines and lines that are only a comment are skipped.

    Parameters
    ----------
    path : path-like
    n_features : int, optional
        Number of columns; the largest index of the file decides where it is not given.
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
        `qid` is int64 where all ids of the file are plain decimal integers, else str.

    Raises
    ------
    DataFormatError
        With path and line, for whatever is not of the format.

    Notes
    -----
    Cost: one read of the file. Memory: the arrays, and about 20 MB of text.

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
    format_ = _Format.check(n_features, dtype, sparse, index_base, missing, comments)
    n_threads = resolve_n_jobs(n_jobs)
    bar = progress if isinstance(progress, Progress) else Progress(f"reading {Path(path).name}", enabled=progress)
    with TextReader(path) as reader, bar:
        following = _first_rows(reader)
        format_ = _probe(reader, following, format_, has_lengths=group is not None)
        store = _Store(format_, reader.path)
        while following is not None:
            batch = following
            X, y = store.rows_for(batch)
            parts, following = _parse_batch(reader, batch, store.format, X, y, n_threads)
            widest = max(part.max_index for part in parts) + 1 - format_.index_base
            if widest > store.format.n_columns:
                store.widen(widest)
                X, y = store.rows_for(batch)
                parts, _ = _parse_batch(reader, batch, store.format, X, y, n_threads, read_ahead=False)
            store.add(parts)
            bar.update(batch.fraction)
    return store.finish(*_list_lengths(reader.path, format_, group), n_threads)


def iter_letor(
    path: str | os.PathLike[str],
    *,
    n_features: int | None = None,
    dtype: DTypeLike = np.float32,
    sparse: bool = False,
    index_base: int = 1,
    missing: str | float = "error",
    comments: str | None = "docid",
    n_jobs: int | None = None,
) -> Iterator[Query]:
    """Read a LETOR / SVMlight text file query by query, for files larger than memory.

    Parameters are those of `load_letor`. The first lines of the file decide the number of features where `n_features`
    is not given.

    Yields
    ------
    Query
        qid (an int where the text is a plain decimal integer, else a str), X, y (float64) and docid of one query, None
        where none of its lines has one.

    Raises
    ------
    DataFormatError
        As `load_letor`; also where the lines of a query are not adjacent, or have more features than the first ones.

    Notes
    -----
    Memory: about 20 MB of text, its rows, and the ids of the queries seen.
    """
    format_ = _Format.check(n_features, dtype, sparse, index_base, missing, comments)
    return _iter_queries(path, format_, resolve_n_jobs(n_jobs))


def _iter_queries(path: str | os.PathLike[str], format_: _Format, n_threads: int) -> Iterator[Query]:
    with TextReader(path) as reader:
        following = _first_rows(reader)
        format_ = _probe(reader, following, format_, needs_width=True)
        format_ = replace(format_, with_qid=True, fixed_columns=True)
        seen: set[bytes] = set()
        open_query = b""
        pieces: list[tuple[Any, ...]] = []
        while following is not None:
            batch = following
            y = np.empty(batch.rows)
            dense = None if format_.sparse else _empty_matrix(batch.rows, format_.n_columns, format_.dtype, reader.path)
            parts, following = _parse_batch(reader, batch, format_, dense, y, n_threads)
            X = _csr(parts, format_.n_columns) if dense is None else dense
            docid = _join_comments(parts)
            starts = _query_starts(parts)
            ends = [row for row, _, _ in starts[1:]] + [len(y)]
            for (row, line, token), end in zip(starts, ends, strict=False):  # no row, no start
                if token != open_query:
                    if pieces:
                        yield _join_pieces(open_query, pieces)
                    if token in seen:
                        raise DataFormatError(
                            f"expected the lines of a query to be adjacent, got qid {token.decode()!r} again; read the "
                            "file with load_letor, or sort it by qid",
                            path=reader.path,
                            line=line,
                        )
                    seen.add(token)
                    open_query, pieces = token, []
                pieces.append((X[row:end], y[row:end], None if docid is None else docid[row:end]))
        if not pieces:
            raise _no_rows(reader.path)
        yield _join_pieces(open_query, pieces)


def save_letor(
    dataset: RankingDataset,
    path: str | os.PathLike[str],
    *,
    index_base: int = 1,
    decimals: int | None = None,
    progress: bool | Progress = False,
) -> None:
    """Write a data set as LETOR / SVMlight text, gzip where the name ends in `.gz`.

    Parameters
    ----------
    dataset : RankingDataset
        Rows are written in the user's order. A dense X writes every feature, a sparse one its stored entries.
    path : path-like
        The file appears when it is whole.
    index_base : {0, 1}, default=1
    decimals : int from 0 to 15, optional
        Decimals of every value; by default the shortest text that `load_letor` reads back as the same value.
    progress : bool, default=False
        Show a progress bar.

    Raises
    ------
    ValueError
        For ids that the format cannot hold: with white space, `#` or NUL, or an empty qid.
    """
    check_choice(index_base, (0, 1), name="index_base")
    if decimals is not None and not 0 <= check_count(decimals, name="decimals", least=0) <= 15:
        raise ValueError(f"decimals: expected 0 to 15, or None for exact values, got {decimals}")
    qids = [_written_id(one, "qid") for one in dataset.row_qid().tolist()]
    docids = None if dataset.docid is None else [_written_comment(one) for one in dataset.docid]
    grades = [repr(grade).removesuffix(".0") for grade in dataset.y.tolist()]
    X = dataset.X
    widest = dataset.n_features if isinstance(X, np.ndarray) else int(np.diff(X.indptr).max(initial=0))
    buffer = bytearray(max(1, widest) * (2 + 20 + _letor.LONGEST_NUMBER))
    bar = progress if isinstance(progress, Progress) else Progress(f"writing {Path(path).name}", enabled=progress)
    digits = -1 if decimals is None else decimals
    with bar, atomic_file(path) as part, _open_for_writing(part, os.fspath(path).endswith(".gz")) as stream:
        for row in range(dataset.n_rows):
            stream.write(f"{grades[row]} qid:{qids[row]}".encode())
            if isinstance(X, np.ndarray):
                size = _letor.format_row_into(X[row], None, index_base, digits, buffer)
            else:
                entries = slice(X.indptr[row], X.indptr[row + 1])
                columns = X.indices[entries].astype(np.int32, copy=False)
                size = _letor.format_row_into(X.data[entries], columns, index_base, digits, buffer)
            stream.write(memoryview(buffer)[:size])
            stream.write(b"\n" if docids is None else f"{docids[row]}\n".encode())
            if row % 1024 == 0:
                bar.update(row / dataset.n_rows)


def load_group(path: str | os.PathLike[str]) -> NDArray[np.int64]:
    """Read LightGBM's side file of list lengths: one integer a line, plain or gzip."""
    with TextReader(path) as reader:
        lines = []
        while (batch := reader.next_batch()) is not None:
            for block in batch.blocks:
                lines += bytes(batch.buffer[block.start : block.stop]).split(b"\n")[:-1]
    sizes = []
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if text and not (text.isdigit() and len(text) < 19):
            raise DataFormatError(
                f"expected the number of rows of one query, got {_shown(text)}; write one integer a line",
                path=reader.path,
                line=number,
            )
        if text:
            sizes.append(int(text))
    return np.array(sizes, dtype=np.int64)


@dataclass(frozen=True)
class _Format:
    """How a file is to be read."""

    dtype: np.dtype[Any]
    sparse: bool
    index_base: int
    allow_missing: bool
    missing: float
    comments: int
    n_columns: int
    fixed_columns: bool
    with_qid: bool = True

    @classmethod
    def check(
        cls,
        n_features: int | None,
        dtype: DTypeLike,
        sparse: bool,
        index_base: int,
        missing: str | float,
        comments: str | None,
    ) -> _Format:
        kind = np.dtype(dtype)
        if kind not in (np.dtype(np.float32), np.dtype(np.float64)):
            raise ValueError(f"dtype: expected float32 or float64, got {kind}")
        check_choice(index_base, (0, 1), name="index_base")
        check_choice(comments, tuple(_letor.COMMENTS), name="comments")
        if isinstance(missing, str):
            check_choice(missing, ("error", "nan"), name="missing")
        elif isinstance(missing, bool) or not isinstance(missing, (int, float, np.integer, np.floating)):
            raise TypeError(f"missing: expected 'error', 'nan' or a number, got {missing!r}")
        elif not abs(missing) <= float(np.finfo(kind).max):
            raise ValueError(f"missing: expected 'error', 'nan' or a finite {kind}, got {missing!r}")
        if n_features is not None:
            n_features = check_count(n_features, name="n_features", least=0)
        unknown = _ANY_COLUMN if sparse else 0
        return cls(
            dtype=kind,
            sparse=bool(sparse),
            index_base=index_base,
            allow_missing=missing != "error",
            missing=float("nan") if missing in ("nan", "error") else float(missing),
            comments=_letor.COMMENTS[comments],
            n_columns=unknown if n_features is None else n_features,
            fixed_columns=n_features is not None,
        )


class _Part(NamedTuple):
    """What one block gave. `runs` holds the row, line and text of each new qid, rows counted from the batch's first."""

    rows: int
    runs: list[tuple[int, int, bytes]]
    max_index: int
    comment_bytes: NDArray[np.uint8] | None
    comment_end: NDArray[np.int64] | None
    values: NDArray[Any] | None
    columns: NDArray[np.int32] | None
    row_end: NDArray[np.int64] | None


def _parse_batch(
    reader: TextReader,
    batch: Batch,
    format_: _Format,
    X: NDArray[Any] | None,
    y: NDArray[np.float64],
    n_threads: int,
    *,
    read_ahead: bool = True,
) -> tuple[list[_Part], Batch | None]:
    """Parse the blocks of a batch into X (None: sparse) and y, while the next batch is read.

    The first mistake of the file is the one reported, whichever thread met its own first.
    """
    first_rows = np.cumsum([0] + [block.rows for block in batch.blocks])
    tasks: list[Callable[[], Any]] = [partial(_caught, reader.next_batch)] if read_ahead else []
    for block, row in zip(batch.blocks, first_rows[:-1].tolist(), strict=True):
        tasks.append(partial(_caught, partial(_parse_block, reader.path, batch, block, row, format_, X, y)))
    results = run_tasks(tasks, n_threads)
    following = results.pop(0) if read_ahead else None
    for result in [*results, following]:
        if isinstance(result, DataFormatError):
            raise result
    return results, following


def _caught(task: Callable[[], Any]) -> Any:
    try:
        return task()
    except DataFormatError as error:
        return error


def _parse_block(
    path: str,
    batch: Batch,
    block: Block,
    row: int,
    format_: _Format,
    X: NDArray[Any] | None,
    y: NDArray[np.float64],
) -> _Part:
    stop = row + block.rows
    runs = np.empty((4, block.rows), dtype=np.int64)
    keeps_comments = format_.comments != _letor.COMMENTS[None]
    comment_bytes = np.empty(block.stop - block.start if keeps_comments else 0, dtype=np.uint8)
    comment_end = np.empty(block.rows if keeps_comments else 0, dtype=np.int64)
    columns = row_end = None
    if X is None:
        values = np.empty((block.stop - block.start) // 4 + 1, dtype=format_.dtype)  # "1:0 " is the shortest entry
        columns, row_end = np.empty(len(values), dtype=np.int32), np.empty(block.rows, dtype=np.int64)
    else:
        values = X[row:stop].reshape(-1)
    code, lines, at, end, n_runs, n_entries, n_bytes, max_index = _letor.parse_block(
        batch.buffer,
        block.start,
        block.stop,
        values,
        columns,
        row_end,
        y[row:stop],
        runs,
        comment_bytes,
        comment_end,
        format_.n_columns,
        format_.fixed_columns,
        format_.index_base,
        format_.with_qid,
        format_.allow_missing,
        format_.missing,
        format_.comments,
    )
    status = _letor.STATUS[code]
    if status not in ("ok", "wide"):
        raise _mistake(path, block.lines_before + lines + 1, status, bytes(batch.buffer[at:end]), format_)
    starts = [
        (row + first, block.lines_before + line + 1, bytes(batch.buffer[block.start + at : block.start + at + size]))
        for first, line, at, size in runs[:, :n_runs].T.tolist()
    ]
    return _Part(
        block.rows,
        starts,
        max_index,
        comment_bytes[:n_bytes].copy() if keeps_comments else None,
        comment_end if keeps_comments else None,
        None if X is not None else values[:n_entries].copy(),
        None if columns is None else columns[:n_entries].copy(),
        row_end,
    )


def _shown(text: bytes) -> str:
    """Text of a file for a message: short, and with bytes that are not printable ASCII escaped."""
    return repr(text[:60])[1:] + ("..." if len(text) > 60 else "")


def _mistake(path: str, line: int, status: str, text: bytes, format_: _Format) -> DataFormatError:
    got = _shown(text) if text else "the end of the line"
    index = text.split(b":")[0]
    last = format_.index_base + format_.n_columns - 1
    beyond = format_.fixed_columns and index.isdigit() and len(index) <= 10 and int(index) > last
    message = {
        "bad_grade": f"expected the line to start with a grade (a number, such as 0 or 2), got {got}",
        "negative_grade": f"expected a grade of 0 (not relevant) or above, got {got}; shift the grades, or drop "
        "unjudged lines",
        "infinite_grade": f"expected a finite grade, got {got}; drop lines without a judgement",
        "no_qid": f"expected qid:ID behind the grade, got {got}; add the query ids, or pass list lengths as group=",
        "empty_qid": f"expected an id directly behind 'qid:', got {got}; add the query id",
        "late_qid": f"expected index:value, got {got}; the qid stands once, directly behind the grade, on every line "
        "or on none",
        "bad_token": f"expected index:value with an integer index, got {got}; put '#' before a comment",
        "bad_index": f"expected feature indices up to {last}, as n_features or the first lines say, got {got}; pass a "
        "larger n_features="
        if beyond
        else f"expected a feature index of {format_.index_base} or above (and below 2^31 - 1), got {got}"
        + ("; pass index_base=0 for files that count features from 0" if index == b"0" else "; number the features"),
        "unordered": f"expected ascending feature indices, got {got} behind a larger index; sort the features of the "
        "line",
        "duplicate": f"expected each feature once, got {got} behind the same index; remove one of them",
        "bad_number": f"expected index:number, got {got}; write numbers as 1, -0.5 or 2e-3",
        "missing": f"expected a number, got the missing value {got}; pass missing='nan' to keep it as NaN, or the "
        "number to put in its place",
        "infinite": f"expected a finite {format_.dtype}, got {got}; clip or drop such values"
        + (", or pass dtype='float64' if it is only too large for float32" if format_.dtype == np.float32 else ""),
        "not_utf8": f"expected ids and comments in UTF-8 without NUL bytes, got {got}; convert the file to UTF-8, or "
        "pass comments=None if only the comment is at fault",
    }[status]
    return DataFormatError(message, path=path, line=line)


def _no_rows(path: str) -> DataFormatError:
    return DataFormatError(
        "expected at least one line `grade qid:ID index:value ...`, got an empty file or only comments; is this the "
        "right file?",
        path=path,
    )


def _first_rows(reader: TextReader) -> Batch | None:
    """Read on to the first batch that has rows: a file may start with a long comment."""
    batch = reader.next_batch()
    while batch is not None and batch.rows == 0:
        batch = reader.next_batch()
    return batch


def _probe(
    reader: TextReader,
    batch: Batch | None,
    format_: _Format,
    *,
    has_lengths: bool = False,
    needs_width: bool = False,
) -> _Format:
    """Learn from the first lines whether there are qids, and how many features."""
    if batch is None:
        return format_
    block = next(block for block in batch.blocks if block.rows > 0)
    first, end = _first_row(batch, block)
    if not any(token.startswith(b"qid:") for token in bytes(batch.buffer[first:end]).split(maxsplit=2)[:2]):
        # Without list lengths the parser will ask for qids.
        format_ = replace(format_, with_qid=not (has_lengths or _side_file(reader.path)))
    if format_.fixed_columns or (format_.sparse and not needs_width):
        return format_
    stop = max(end, batch.buffer.rfind(b"\n", first, min(first + _PROBED_BYTES, block.stop)) + 1)
    rows = _letor.count_rows(batch.buffer, block.start, stop)[1]
    head = Block(block.start, stop, block.lines_before, 0, rows)
    X, y = np.empty((rows, 0), dtype=format_.dtype), np.empty(rows)
    found = _parse_block(reader.path, batch, head, 0, replace(format_, n_columns=0), X, y).max_index
    return replace(format_, n_columns=max(0, found + 1 - format_.index_base))


def _first_row(batch: Batch, block: Block) -> tuple[int, int]:
    """Where the first line of a block that is a row starts and ends."""
    start = end = block.start
    while _letor.count_rows(batch.buffer, start, end)[1] == 0:
        start, end = end, batch.buffer.find(b"\n", end, block.stop) + 1
    return start, end


class _Store:
    """The growing arrays of a file that is read whole.

    Space is reserved for the rows that the part read so far lets expect; pages that stay untouched cost nothing.
    """

    def __init__(self, format_: _Format, path: str) -> None:
        self.format = format_
        self._path = path
        self._n_rows = 0
        self._X = np.empty((0, 0 if format_.sparse else format_.n_columns), dtype=format_.dtype)
        self._y = np.empty(0)
        self._parts: list[_Part] = []
        self._starts: list[tuple[int, int, bytes]] = []

    def rows_for(self, batch: Batch) -> tuple[NDArray[Any] | None, NDArray[np.float64]]:
        """The rows that the batch is to be written to."""
        stop = self._n_rows + batch.rows
        if stop > len(self._y):
            capacity = max(stop, int(1.05 * stop / max(batch.fraction, 1e-6)))
            if batch.fraction == 1.0:
                capacity = stop
            y = np.empty(capacity)
            y[: self._n_rows] = self._y[: self._n_rows]
            self._y = y
            if not self.format.sparse:
                X = _empty_matrix(capacity, self._X.shape[1], self.format.dtype, self._path)
                X[: self._n_rows] = self._X[: self._n_rows]
                self._X = X
        rows = slice(self._n_rows, stop)
        return None if self.format.sparse else self._X[rows], self._y[rows]

    def widen(self, n_columns: int) -> None:
        """A line has more features than all before it: those get zeros."""
        X = _empty_matrix(len(self._y), n_columns, self.format.dtype, self._path)
        X[: self._n_rows, : self._X.shape[1]] = self._X[: self._n_rows]
        X[: self._n_rows, self._X.shape[1] :] = 0
        self._X = X
        self.format = replace(self.format, n_columns=n_columns)

    def add(self, parts: list[_Part]) -> None:
        """The batch is parsed into its rows."""
        self._parts += [part._replace(runs=[]) for part in parts]
        self._starts += [(self._n_rows + row, line, token) for row, line, token in _query_starts(parts)]
        self._n_rows += sum(part.rows for part in parts)

    def finish(self, lengths: NDArray[np.int64] | None, lengths_from: str, n_threads: int) -> RankingDataset:
        """Make the data set; `lengths_from` is the file to blame for lengths that do not fit."""
        if self._n_rows == 0:
            raise _no_rows(self._path)
        n_rows = self._n_rows
        X: Matrix
        if self.format.sparse:
            n_columns = self.format.n_columns
            if not self.format.fixed_columns:
                n_columns = max(part.max_index for part in self._parts) + 1 - self.format.index_base
            X = _csr(self._parts, max(0, n_columns))
        else:
            self._X.resize((n_rows, self._X.shape[1]), refcheck=False)
            X = self._X
        docid = _join_comments(self._parts)
        if docid is not None and len(docid.data) == 0:
            docid = None
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
        ids = _ids([token for _, _, token in self._starts])
        if lengths is not None:
            try:
                groups = group_by_sizes(lengths, self._n_rows)
                if not self._starts:
                    return groups
                return check_qid_in_groups(np.repeat(ids, np.diff(qptr)), groups, self._n_rows)
            except ValueError as error:
                raise DataFormatError(str(error), path=lengths_from) from error
        if len(np.unique(ids)) == len(ids):
            return Grouping(ids, qptr, None)
        return group_by_qid(np.repeat(ids, np.diff(qptr)), self._n_rows)


def _empty_matrix(n_rows: int, n_columns: int, dtype: np.dtype[Any], path: str) -> NDArray[Any]:
    try:
        return np.empty((n_rows, n_columns), dtype=dtype)
    except MemoryError as error:
        raise DataFormatError(
            f"expected a dense matrix that fits in memory, got {n_rows:,} rows of {n_columns:,} features; pass "
            "sparse=True, or mend the line with an index that large",
            path=path,
        ) from error


def _all_int32(y: NDArray[np.float64]) -> bool:
    return bool(y.max() < 2**31 and (y == np.floor(y)).all())


def _query_starts(parts: list[_Part]) -> list[tuple[int, int, bytes]]:
    """Row, line and qid of each run of equal qids; a run that goes on in the next block is one run."""
    starts: list[tuple[int, int, bytes]] = []
    for part in parts:
        for start in part.runs:
            if not starts or starts[-1][2] != start[2]:
                starts.append(start)
    return starts


def _is_plain_integer(token: bytes) -> bool:
    """Tell whether the text is an integer's own: no leading zeros, no plus, within int64."""
    digits = token[1:] if token[:1] == b"-" else token
    if not digits.isdigit() or len(digits) > 19:
        return False
    return str(int(token)).encode() == token and -(2**63) <= int(token) < 2**63


def _ids(tokens: list[bytes]) -> NDArray[Any]:
    if all(map(_is_plain_integer, tokens)):
        return np.array([int(token) for token in tokens], dtype=np.int64)
    return np.array([token.decode() for token in tokens])


def _csr(parts: list[_Part], n_columns: int) -> sp.csr_array[Any]:
    """Join the entries of all blocks."""
    shifts = np.cumsum([0] + [0 if part.values is None else len(part.values) for part in parts])
    ends = [part.row_end + shift for part, shift in zip(parts, shifts[:-1], strict=True) if part.row_end is not None]
    indptr = np.concatenate([[0], *ends])
    columns = np.concatenate([part.columns for part in parts if part.columns is not None])
    values = np.concatenate([part.values for part in parts if part.values is not None])
    if len(values) >= 2**31:  # SciPy wants both index arrays of one type
        columns = columns.astype(np.int64)
    else:
        indptr = indptr.astype(np.int32)
    return sp.csr_array((values, columns, indptr), shape=(len(indptr) - 1, n_columns))


def _join_comments(parts: list[_Part]) -> StringColumn | None:
    columns = [
        StringColumn(part.comment_bytes, np.concatenate(([0], part.comment_end)))
        for part in parts
        if part.comment_bytes is not None and part.comment_end is not None
    ]
    return StringColumn.concatenate(columns) if columns else None


def _join_pieces(token: bytes, pieces: list[tuple[Any, ...]]) -> Query:
    """One query out of the blocks it was spread over, with arrays of its own."""
    X, y, docid = zip(*pieces, strict=True)
    qid = int(token) if _is_plain_integer(token) else token.decode()
    whole = sp.csr_array(sp.vstack(X, format="csr")) if sp.issparse(X[0]) else np.concatenate(X)
    column = None if docid[0] is None else StringColumn.concatenate(list(docid))
    return Query(qid, whole, np.concatenate(y), None if column is None or len(column.data) == 0 else column)


def _list_lengths(
    path: str, format_: _Format, group: str | os.PathLike[str] | ArrayLike | None
) -> tuple[NDArray[np.int64] | None, str]:
    """List lengths given, or those of a side file where the lines have no qid; and the file they come from."""
    if group is None and not format_.with_qid:
        group = _side_file(path)
    if isinstance(group, (str, os.PathLike)):
        return load_group(group), os.fspath(group)
    return None if group is None else np.asarray(group), path


def _side_file(path: str) -> str | None:
    return next((path + ending for ending in SIDE_FILE_ENDINGS if Path(path + ending).exists()), None)


def _written_id(value: Any, name: str) -> str:
    text = str(value)
    if not text or any(character.isspace() or character in "#\0" for character in text):
        raise ValueError(
            f"{name}: expected ids that LETOR text can hold (not empty, no white space, no '#', no NUL), got "
            f"{value!r}; rename such ids, or save the data set as a binary cache"
        )
    return text


def _written_comment(docid: Any) -> str:
    return "" if docid == "" else f" #docid = {_written_id(docid, 'docid')}"


@contextmanager
def _open_for_writing(path: Path, compress: bool) -> Iterator[IO[bytes]]:
    with path.open("wb", buffering=1 << 20) as file:
        if not compress:
            yield file
            return
        # Neither time nor the name of the temporary file: the same data give the same bytes.
        with gzip.GzipFile("", "wb", compresslevel=6, fileobj=file, mtime=0) as packed:
            yield packed  # type: ignore[misc]
