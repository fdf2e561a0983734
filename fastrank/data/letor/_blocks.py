"""Blocks of lines to arrays, in parallel, and arrays of blocks to arrays of files."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from fastrank._core import _letor
from fastrank._errors import DataFormatError
from fastrank._threads import run_tasks
from fastrank.data._strings import StringColumn, text_array
from fastrank.data._text import Batch, Block, TextReader
from fastrank.data.letor._format import LetorFormat, is_id, mistake
from fastrank.data.letor.list_lengths import side_file

_PROBED_BYTES = 1 << 16


class Part(NamedTuple):
    """What one block gave. `runs` holds the row, line and text of each new qid, rows counted from the batch's first."""

    rows: int
    runs: list[tuple[int, int, bytes]]
    max_index: int
    comment_bytes: NDArray[np.uint8] | None
    comment_end: NDArray[np.int64] | None
    values: NDArray[Any] | None
    columns: NDArray[np.int32] | None
    row_end: NDArray[np.int64] | None


def parse_batch(
    reader: TextReader,
    batch: Batch,
    format_: LetorFormat,
    X: NDArray[Any] | None,
    y: NDArray[np.float64],
    n_threads: int,
    *,
    read_ahead: bool = True,
) -> tuple[list[Part], Batch | None]:
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
    format_: LetorFormat,
    X: NDArray[Any] | None,
    y: NDArray[np.float64],
) -> Part:
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
    starts = [
        (row + first, block.lines_before + line + 1, bytes(batch.buffer[block.start + at : block.start + at + size]))
        for first, line, at, size in runs[:, :n_runs].T.tolist()
    ]
    for _, line, token in starts:  # before the mistake that ended the parsing, if there is one
        if not token.isalnum() and not is_id(token.decode()):
            raise mistake(path, line, "bad_qid", token, format_)
    status = _letor.STATUS[code]
    if status not in ("ok", "wide"):
        raise mistake(path, block.lines_before + lines + 1, status, bytes(batch.buffer[at:end]), format_)
    return Part(
        block.rows,
        starts,
        max_index,
        comment_bytes[:n_bytes].copy() if keeps_comments else None,
        comment_end if keeps_comments else None,
        None if X is not None else values[:n_entries].copy(),
        None if columns is None else columns[:n_entries].copy(),
        row_end,
    )


def first_rows(reader: TextReader) -> Batch | None:
    """Read on to the first batch that has rows: a file may start with a long comment."""
    batch = reader.next_batch()
    while batch is not None and batch.rows == 0:
        batch = reader.next_batch()
    return batch


def probe(
    reader: TextReader,
    batch: Batch | None,
    format_: LetorFormat,
    *,
    has_lengths: bool = False,
) -> LetorFormat:
    """Learn from the first lines whether there are qids, and how many features."""
    if batch is None:
        return format_
    block = next(block for block in batch.blocks if block.rows > 0)
    first, end = _first_row(batch, block)
    if not any(token.startswith(b"qid:") for token in bytes(batch.buffer[first:end]).split(maxsplit=2)[:2]):
        # Without list lengths the parser will ask for qids.
        format_ = replace(format_, with_qid=not (has_lengths or side_file(reader.path)))
    if format_.fixed_columns or format_.sparse:
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


def empty_arrays(
    shapes: list[tuple[int, int]], dtype: np.dtype[Any], path: str
) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Return X and y of the first shape that memory has room for; the last is what the rows read need."""
    for shape in shapes:
        with suppress(MemoryError, ValueError):  # ValueError: more bytes than an address can count
            return np.empty(shape, dtype=dtype), np.empty(shape[0])
    n_rows, n_columns = shapes[-1]
    raise DataFormatError(
        f"expected a dense matrix that fits in memory, got {n_rows:,} rows of {n_columns:,} features up to here; pass "
        "sparse=True, or mend the line with an index that large",
        path=path,
    )


def query_starts(parts: list[Part]) -> list[tuple[int, int, bytes]]:
    """Row, line and qid of each run of equal qids; a run that goes on in the next block is one run."""
    starts: list[tuple[int, int, bytes]] = []
    for part in parts:
        for start in part.runs:
            if not starts or starts[-1][2] != start[2]:
                starts.append(start)
    return starts


def is_plain_integer(token: bytes) -> bool:
    """Tell whether the text is an int64's own: no leading zeros, no plus, no minus zero."""
    digits = token[1:] if token[:1] == b"-" else token
    if not digits.isdigit() or len(digits) > 19 or (digits[:1] == b"0" and token != b"0"):
        return False
    return len(digits) < 19 or -(2**63) <= int(token) < 2**63


def query_ids(tokens: list[bytes]) -> NDArray[Any]:
    """Turn the texts of qids into int64 where all are plain integers, else into strings."""
    if all(map(is_plain_integer, tokens)):
        return np.array([int(token) for token in tokens], dtype=np.int64)
    return text_array([token.decode() for token in tokens])


def join_entries(parts: list[Part], n_columns: int) -> scipy.sparse.csr_array[Any]:
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
    return scipy.sparse.csr_array((values, columns, indptr), shape=(len(indptr) - 1, n_columns))


def join_comments(parts: list[Part]) -> StringColumn | None:
    """Join the comments of all blocks; None where they are not kept."""
    data = [part.comment_bytes for part in parts if part.comment_bytes is not None]
    if not data:
        return None
    ends = [part.comment_end for part in parts if part.comment_end is not None]
    shifts = np.cumsum([0] + [len(block) for block in data])
    offsets = [end + shift for end, shift in zip(ends, shifts[:-1], strict=True)]
    return StringColumn(np.concatenate(data), np.concatenate([shifts[:1], *offsets]))
