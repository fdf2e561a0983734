"""Text files in batches of whole lines: plain or gzip, counted, cut into blocks for threads."""

from __future__ import annotations

import gzip
import io
import os
import stat
import zlib
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from fastrank._core import _letor
from fastrank._errors import DataFormatError

BLOCK_BYTES = 256 << 10
"""Text that one task parses: fits the second-level cache beside its rows, and is hundreds of lines."""

BATCH_BYTES = 8 * BLOCK_BYTES
"""Text of a batch, for up to seven threads; one batch is parsed while the next is read."""

MOST_THREADS = 32
"""More threads than this get no larger batches: two batches then hold 32 MB of text."""

MAX_LINE_BYTES = 64 << 20


@dataclass
class Block:
    """Whole lines: a range of a batch's buffer, the lines before it in the file, its lines and rows."""

    start: int
    stop: int
    lines_before: int
    lines: int
    rows: int


@dataclass
class Batch:
    """A buffer of whole lines, cut into blocks; `fraction` of the file is read with it, None where that is unknown."""

    buffer: bytearray
    blocks: list[Block]
    fraction: float | None

    @property
    def rows(self) -> int:
        """Rows of all blocks."""
        return sum(block.rows for block in self.blocks)


class _Replayed(io.RawIOBase):
    """A stream from its start, of which `head` is read already: pipes cannot seek back."""

    def __init__(self, head: bytes, rest: io.RawIOBase) -> None:
        self._head = head
        self._rest = rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        if not self._head:
            return self._rest.readinto(buffer)
        size = min(len(self._head), len(buffer))
        buffer[:size] = self._head[:size]
        self._head = self._head[size:]
        return size


class TextReader:
    """Read a plain or gzip file or pipe batch by batch. A batch is valid until the next but one is read.

    Parameters
    ----------
    path : path-like
    n_threads : int, default=1
        How many threads the blocks of a batch are for: more of them get larger batches.

    Raises
    ------
    DataFormatError
        For a folder, a damaged gzip stream or a line of more than `MAX_LINE_BYTES`.
    """

    def __init__(self, path: str | os.PathLike[str], n_threads: int = 1) -> None:
        self.path = os.fspath(path)
        if Path(self.path).is_dir():
            raise DataFormatError(
                "expected a text file, got a folder; pass the path of one of its files, or open a binary cache with "
                "RankingDataset.load",
                path=self.path,
            )
        self._file = Path(self.path).open("rb", buffering=0)  # noqa: SIM115  closed by __exit__
        magic = self._file.read(2)
        if len(magic) == 1:  # a pipe may give its bytes one by one
            magic += self._file.read(1)
        self.is_gzip = magic == b"\x1f\x8b"
        whole = _Replayed(magic, self._file)
        self._stream: io.RawIOBase | gzip.GzipFile = gzip.GzipFile(fileobj=whole) if self.is_gzip else whole
        status = os.fstat(self._file.fileno())
        # pipes and devices have no size, and files that the system makes up say 0
        self._size = status.st_size if stat.S_ISREG(status.st_mode) and status.st_size > 0 else None
        room = BATCH_BYTES * max(1, min(n_threads, MOST_THREADS) // 4)
        if self._size is not None and not self.is_gzip:
            room = min(room, self._size + 1)  # one byte more than a small file has: its end shows in the first batch
        self._buffers = [bytearray(room + _letor.TEXT_PAD + 1) for _ in range(2)]
        self._carry = b""
        self._lines = 0
        self._ended = False

    def __enter__(self) -> TextReader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stream.close()
        self._file.close()

    def next_batch(self) -> Batch | None:
        """Read the next batch, of one line at least; None at the end."""
        if self._ended:
            return None
        self._buffers.reverse()
        buffer = self._buffers[0]
        filled = len(self._carry)
        if filled >= len(buffer) - _letor.TEXT_PAD - 1:
            buffer.extend(bytes(filled))
        buffer[:filled] = self._carry
        while True:
            filled, self._ended = self._fill(buffer, filled)
            cut = buffer.rfind(b"\n", 0, filled) + 1
            if self._ended or cut > 0:
                break
            if filled >= MAX_LINE_BYTES:
                raise DataFormatError(
                    f"expected lines of at most {MAX_LINE_BYTES >> 20} MiB, got a longer one; is this a text file "
                    "with one document a line?",
                    path=self.path,
                    line=self._lines + 1,
                )
            buffer.extend(bytes(len(buffer)))
        if filled == 0:  # the batch before ended with the file
            return None
        if self._ended and cut < filled:
            buffer[filled : filled + 1] = b"\n"  # the last line of the file lacks its newline
            filled += 1
            cut = filled
        self._carry = bytes(memoryview(buffer)[cut:filled])
        return Batch(buffer, self._cut(buffer, cut), self._fraction())

    def _fill(self, buffer: bytearray, filled: int) -> tuple[int, bool]:
        """Read until the buffer is full or the file ends; tell how far it is filled, and whether the file ended."""
        room = len(buffer) - _letor.TEXT_PAD - 1
        with memoryview(buffer) as view:
            while filled < room:
                try:
                    got = self._stream.readinto(view[filled:room])
                except (EOFError, zlib.error, gzip.BadGzipFile) as error:
                    lines = self._lines + buffer.count(b"\n", 0, filled)
                    raise DataFormatError(
                        f"expected a whole gzip file, got one that is damaged or cut off after {lines:,} lines "
                        f"({error}); copy or compress it again",
                        path=self.path,
                    ) from error
                if not got:
                    return filled, True
                filled += got
        return filled, False

    def _cut(self, buffer: bytearray, stop: int) -> list[Block]:
        blocks = []
        start = 0
        while start < stop:
            end = buffer.find(b"\n", min(start + BLOCK_BYTES, stop) - 1, stop) + 1
            lines, rows = _letor.count_rows(buffer, start, end)
            blocks.append(Block(start, end, self._lines, lines, rows))
            self._lines += lines
            start = end
        return blocks

    def _fraction(self) -> float | None:
        if self._ended:
            return 1.0
        if self._size is None:
            return None
        fraction = self._file.tell() / self._size
        return fraction if fraction <= 1.0 else None  # the file grows while it is read
