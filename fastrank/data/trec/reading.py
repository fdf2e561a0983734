"""Reading TREC judgements and runs: blocks of lines to columns, in parallel, with the line of every mistake."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from fastrank._core import _trec
from fastrank._errors import DataFormatError
from fastrank._threads import resolve_n_jobs, run_tasks
from fastrank.data._grouping import MAX_QUERY_ROWS
from fastrank.data._strings import StringColumn, text_array
from fastrank.data._text import Batch, Block, TextReader
from fastrank.data.letor._format import shown
from fastrank.data.trec.pairs import Pairs, Qrels, Run, group_rows, take_strings

_FREELY_RESERVED_BYTES = 256 << 20
_COLUMNS = {False: "qid iter docno rel", True: "qid Q0 docno rank score tag"}
_ReadT = TypeVar("_ReadT", bound=Pairs)


def load_qrels(path: str | os.PathLike[str], *, n_jobs: int | None = None) -> Qrels:
    """Read a TREC file of judgements, plain or gzip: `qid iter docno rel`, separated by blanks.

    Lines that are empty or start with `#` are skipped; `iter` is ignored. Lines may be in any order.

    Parameters
    ----------
    path : path-like
    n_jobs : int or None, default=None
        Threads that parse; None is 1, -1 all CPUs. The result does not depend on it.

    Returns
    -------
    Qrels

    Raises
    ------
    DataFormatError
        With path and line, for whatever is not of the format, and for a document that a query has twice.

    Examples
    --------
    >>> from pathlib import Path; from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "qrels")
    ...     _ = path.write_text("301 0 FT911-3 1\\n301 0 FT911-4 0\\n")
    ...     qrels = load_qrels(path)
    >>> qrels
    Qrels: 1 query, 2 documents
    >>> qrels.to_dict()
    {'301': {'FT911-3': 1, 'FT911-4': 0}}
    """
    return _read(Qrels, path, n_jobs)


def load_run(path: str | os.PathLike[str], *, n_jobs: int | None = None) -> Run:
    """Read a TREC run, plain or gzip: `qid Q0 docno rank score tag`, separated by blanks.

    Lines that are empty or start with `#` are skipped; `Q0`, `rank` and what follows the tag are ignored. Lines may be
    in any order. The tag of the last line is the run's.

    Parameters
    ----------
    path : path-like
    n_jobs : int or None, default=None
        Threads that parse; None is 1, -1 all CPUs. The result does not depend on it.

    Returns
    -------
    Run

    Raises
    ------
    DataFormatError
        With path and line, for whatever is not of the format, and for a document that a query has twice.

    Notes
    -----
    Memory: 20 bytes per line and its document id, and 4 MB of text, with more than 7 threads 1 MB for each of them, at
    most 32 MB. While lines of different queries alternate, the ids are copied once more.

    Examples
    --------
    >>> from pathlib import Path; from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "run")
    ...     _ = path.write_text("301 Q0 FT911-3 1 2.5 bm25\\n301 Q0 FT911-9 2 1.25 bm25\\n")
    ...     run = load_run(path)
    >>> run.tag, run.to_dict()
    ('bm25', {'301': {'FT911-3': 2.5, 'FT911-9': 1.25}})
    """
    return _read(Run, path, n_jobs)


def _read(kind: type[_ReadT], path: str | os.PathLike[str], n_jobs: int | None) -> _ReadT:
    n_threads = resolve_n_jobs(n_jobs)
    with TextReader(path, n_threads) as reader:
        store = _Store(kind is Run, reader.path)
        following: Any = reader.next_batch()
        if following is not None and following.buffer.startswith(b"\xef\xbb\xbf"):
            raise DataFormatError(
                "expected a query id, got a byte order mark; save the file without it", path=reader.path, line=1
            )
        while following is not None:
            tasks: list[Callable[[], Any]] = [reader.next_batch, *store.tasks(following)]
            following, *parts = _run_all(tasks, n_threads)
            store.add(parts)
    return store.finish(kind, n_threads)


def _run_all(tasks: list[Callable[[], Any]], n_threads: int) -> list[Any]:
    """Run the reader of the next batch and the parsers of this one's blocks.

    The first mistake of the file is the one reported, whichever thread met its own first.
    """
    results = run_tasks([partial(_caught, task) for task in tasks], n_threads)
    for result in (*results[1:], results[0]):
        if isinstance(result, DataFormatError):
            raise result
    return results


def _caught(task: Callable[[], Any]) -> Any:
    try:
        return task()
    except DataFormatError as error:
        return error


class _Lines(NamedTuple):
    """The lines of a block's rows."""

    before: int
    of_row: NDArray[np.int64] | None
    """Lines of the block before each row; None: every line is a row."""

    def number(self, row: int) -> int:
        """Return the 1-based line of a row of the block."""
        return self.before + (row if self.of_row is None else int(self.of_row[row])) + 1


class _Part(NamedTuple):
    """What a block gave besides the numbers of its rows. Codes of query ids are those of the block."""

    block: Block
    id_bytes: NDArray[np.uint8]
    qids: list[bytes]
    run_row: NDArray[np.int64]
    run_code: NDArray[np.int32]
    lines: _Lines
    tag: bytes


class _Store:
    """The growing columns of a file. Room is reserved for the rows that the part read so far lets expect."""

    def __init__(self, is_run: bool, path: str) -> None:
        self._is_run = is_run
        self._path = path
        self._n_rows = self._n_bytes = 0
        self._fraction: float | None = None
        self._values = np.empty(0)
        self._hashes = np.empty(0, dtype=np.uint32)
        self._offsets = np.zeros(1, dtype=np.int64)
        self._bytes = np.empty(0, dtype=np.uint8)
        self._codes: dict[bytes, int] = {}
        self._runs: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
        self._lines: list[tuple[int, _Lines]] = []
        self._tag = b""

    def tasks(self, batch: Batch) -> list[Callable[[], _Part]]:
        """Return what parses the blocks of a batch, each into its rows."""
        self._fraction = batch.fraction
        stop = self._n_rows + batch.rows
        self._values = self._room(self._values, self._n_rows, stop)
        self._hashes = self._room(self._hashes, self._n_rows, stop)
        self._offsets = self._room(self._offsets, self._n_rows + 1, stop + 1)
        first_rows = self._n_rows + np.cumsum([0] + [block.rows for block in batch.blocks])
        return [
            partial(self._parse, batch.buffer, block, row)
            for block, row in zip(batch.blocks, first_rows[:-1].tolist(), strict=True)
        ]

    def _room(self, array: NDArray[Any], used: int, needed: int) -> NDArray[Any]:
        """The array, or a longer one with the entries used so far; pages that stay untouched cost nothing."""
        if needed <= len(array):
            return array
        expected = needed
        if self._fraction is None:
            expected = 2 * needed
        elif self._fraction < 1.0:
            expected = int(1.05 * needed / max(self._fraction, 1e-6))
        freely = max(8 * needed, _FREELY_RESERVED_BYTES // array.itemsize)
        moved = np.empty(max(needed, min(expected, freely)), dtype=array.dtype)
        moved[:used] = array[:used]
        return moved

    def _parse(self, buffer: bytearray, block: Block, row: int) -> _Part:
        n = block.rows
        id_bytes = np.empty(block.stop - block.start + _trec.SLACK, dtype=np.uint8)
        id_end = self._offsets[row + 1 : row + n + 1]
        row_line = None if block.lines == n else np.empty(n, dtype=np.int64)
        run_row, run_code = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int32)
        places = np.empty((2, n), dtype=np.int64)
        code, lines, n_parsed, at, end, n_runs, n_qids, n_bytes, not_ascii, tag_at, tag_end = _trec.parse_block(
            buffer,
            block.start,
            block.stop,
            self._is_run,
            self._values[row : row + n],
            self._hashes[row : row + n],
            id_end,
            id_bytes,
            row_line,
            run_row,
            run_code,
            places,
            np.empty(n, dtype=np.uint32),
            np.full(1 << (2 * n).bit_length(), -1, dtype=np.int32),
        )
        qids = [
            bytes(buffer[block.start + first : block.start + first + size])
            for first, size in places[:, :n_qids].T.tolist()
        ]
        tag = bytes(buffer[tag_at:tag_end])
        numbers = _Lines(block.lines_before, row_line)
        # copies: the rest of the workspace is free again
        runs = run_row[:n_runs].copy(), run_code[:n_runs].copy()
        part = _Part(block, id_bytes[:n_bytes], qids, *runs, numbers, tag)
        bad = [(int(run_row[np.argmax(part.run_code == i)]), qid) for i, qid in enumerate(qids) if not _is_utf8(qid)]
        if not_ascii:
            bad += _not_utf8(part.id_bytes, id_end[:n_parsed])
        bad = [(bad_row, text) for bad_row, text in bad if bad_row < n_parsed]
        if bad:
            bad_row, text = min(bad)
            raise _mistake(self._path, numbers.number(bad_row), "not_utf8", text, self._is_run)
        status = _trec.STATUS[code]
        if status != "ok":
            raise _mistake(self._path, block.lines_before + lines + 1, status, bytes(buffer[at:end]), self._is_run)
        return part

    def add(self, parts: list[_Part]) -> None:
        """Take over what the blocks of a batch gave."""
        stop = self._n_bytes + sum(len(part.id_bytes) for part in parts)
        self._bytes = self._room(self._bytes, self._n_bytes, stop)
        for part in parts:
            row, rows, size = self._n_rows, part.block.rows, len(part.id_bytes)
            self._offsets[row + 1 : row + rows + 1] += self._n_bytes
            self._bytes[self._n_bytes : self._n_bytes + size] = part.id_bytes
            codes = np.array([self._codes.setdefault(qid, len(self._codes)) for qid in part.qids], dtype=np.int64)
            self._runs.append((part.run_row + row, codes[part.run_code]))
            self._lines.append((row, part.lines))
            self._tag = part.tag or self._tag
            self._n_rows, self._n_bytes = row + rows, self._n_bytes + size

    def finish(self, kind: type[_ReadT], n_threads: int) -> _ReadT:
        """Make the object, the rows of each query together, and look for documents that come twice."""
        n = self._n_rows
        if n == 0:
            raise DataFormatError(
                f"expected at least one line `{_COLUMNS[self._is_run]}`, got an empty file or only comments; is this "
                "the right file?",
                path=self._path,
            )
        for array, size in ((self._values, n), (self._hashes, n), (self._offsets, n + 1), (self._bytes, self._n_bytes)):
            array.resize(size, refcheck=False)
        values, hashes, docid = self._values, self._hashes, StringColumn(self._bytes, self._offsets)
        run_rows, run_codes = (np.concatenate(arrays) for arrays in zip(*self._runs, strict=True))
        starts = np.append(True, run_codes[1:] != run_codes[:-1])  # a run may go on in the next block
        run_rows, run_codes = run_rows[starts], run_codes[starts]
        rows: NDArray[np.int64] | None = None
        if len(run_codes) == len(self._codes):
            qptr = np.append(run_rows, n)
        else:
            codes = np.repeat(run_codes.astype(np.int32), np.diff(run_rows, append=n))
            rows, qptr = group_rows(codes, len(self._codes))
            values, hashes, docid = values[rows], hashes[rows], take_strings(docid, rows)
        if np.diff(qptr).max() > MAX_QUERY_ROWS:
            raise DataFormatError(f"expected queries of at most {MAX_QUERY_ROWS:,} lines, got more", path=self._path)
        qid = text_array([qid.decode() for qid in self._codes])
        attributes: dict[str, Any] = {"_hashes": hashes}
        if self._is_run:
            attributes["tag"] = self._tag.decode(errors="replace")
        else:
            values = values.astype(np.int32)
        made = kind._trusted(qid, qptr, docid, values, **attributes)
        found = made._duplicate(rows, n_threads)
        if found is not None:
            raise self._twice(made, rows, *found)
        return made

    def _twice(self, made: Pairs, rows: NDArray[np.int64] | None, one: int, two: int) -> DataFormatError:
        place = two if rows is None else int(np.flatnonzero(rows == two)[0])
        qid = str(made.qid[np.searchsorted(made.qptr, place, side="right") - 1])
        return DataFormatError(
            f"expected each document once per query, got {made.docid[place]!r} for query {qid!r} here and on line "
            f"{self._line(one)}; keep one of them",
            path=self._path,
            line=self._line(two),
        )

    def _line(self, row: int) -> int:
        first, lines = self._lines[bisect_right(self._lines, row, key=lambda entry: entry[0]) - 1]
        return lines.number(row - first)


def _mistake(path: str, line: int, status: str, text: bytes, is_run: bool) -> DataFormatError:
    columns, got = _COLUMNS[is_run], shown(text)
    n_columns, n_found = len(columns.split()), len(text.split())
    other = "is this a file of judgements, for load_qrels?" if is_run else "is this a run, for load_run?"
    message = {
        "short": f"expected {n_columns} columns `{columns}`, got {n_found} in {got}; "
        + (other if is_run and n_found == 4 else "complete the line, or put '#' before a comment"),
        "long": f"expected {n_columns} columns `{columns}`, got {got} behind them; {other}",
        "control": f"expected ids without control characters, separated by spaces or tabs, got {got}; rename such ids",
        "not_utf8": f"expected ids in UTF-8, got {got}; convert the file to UTF-8",
        "bad_score": f"expected a number as score, got {got}; write scores as 1, -0.5 or 2e-3, and drop documents "
        "without a score",
        "bad_relevance": f"expected an integer above -2^31 and below 2^31 as relevance, got {got}; write relevance as "
        "0, 1, 2, ...",
    }[status]
    return DataFormatError(message, path=path, line=line)


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def _not_utf8(data: NDArray[np.uint8], ends: NDArray[np.int64]) -> list[tuple[int, bytes]]:
    """Row and text of the first id that is not UTF-8, if there is one."""
    starts = np.append(0, ends)[:-1]
    text = data.tobytes()
    # all together, with each id at the start of a character
    if _is_utf8(text) and not (data[starts] & 0xC0 == 0x80).any():
        return []
    bounds = zip(starts.tolist(), ends.tolist(), strict=True)
    texts = ((row, text[first:last]) for row, (first, last) in enumerate(bounds))
    return [next((row, one) for row, one in texts if not _is_utf8(one))]
