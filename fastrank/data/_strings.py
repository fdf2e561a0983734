"""A column of strings as two arrays, so that a million document ids cost their bytes and can be memory-mapped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray


class StringColumn:
    """An immutable sequence of strings: UTF-8 bytes end to end, and where each one ends.

    Parameters
    ----------
    data : ndarray of uint8
        The bytes of all strings.
    offsets : ndarray of int64, shape (n + 1,)
        String i is `data[offsets[i]:offsets[i + 1]]`.
    """

    __slots__ = ("data", "offsets")

    def __init__(self, data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> None:
        self.data = data
        self.offsets = offsets

    @classmethod
    def from_strings(cls, strings: Iterable[str]) -> StringColumn:
        """Pack Python strings."""
        encoded = [string.encode() for string in strings]
        offsets = np.zeros(len(encoded) + 1, dtype=np.int64)
        np.cumsum([len(string) for string in encoded], out=offsets[1:])
        return cls(np.frombuffer(b"".join(encoded), dtype=np.uint8), offsets)

    @classmethod
    def concatenate(cls, columns: list[StringColumn]) -> StringColumn:
        """Join columns end to end."""
        shifts = np.cumsum([0] + [int(column.offsets[-1] - column.offsets[0]) for column in columns])
        pairs = zip(columns, shifts[:-1], strict=True)
        offsets = [column.offsets[:-1] - column.offsets[0] + shift for column, shift in pairs]
        data = np.concatenate([column.data[column.offsets[0] : column.offsets[-1]] for column in columns])
        return cls(data, np.concatenate([*offsets, [len(data)]]).astype(np.int64, copy=False))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __iter__(self) -> Iterator[str]:
        ends = (self.offsets - self.offsets[0]).tolist()
        text = self.data[self.offsets[0] : self.offsets[-1]].tobytes()
        return (text[start:end].decode() for start, end in pairwise(ends))

    @overload
    def __getitem__(self, index: int | np.integer[Any]) -> str: ...
    @overload
    def __getitem__(self, index: slice | NDArray[Any]) -> StringColumn: ...
    def __getitem__(self, index: int | np.integer[Any] | slice | NDArray[Any]) -> str | StringColumn:
        if isinstance(index, (int, np.integer)):
            if not -len(self) <= index < len(self):
                raise IndexError(f"index: expected a number below {len(self)}, got {index}")
            index = int(index) % len(self)
            return self.data[self.offsets[index] : self.offsets[index + 1]].tobytes().decode()
        if isinstance(index, slice) and index.step in (None, 1):
            start, stop, _ = index.indices(len(self))
            return StringColumn(self.data, self.offsets[start : max(start, stop) + 1])
        return self._take(np.arange(len(self))[index])

    def _take(self, rows: NDArray[np.int64]) -> StringColumn:
        starts, sizes = self.offsets[rows], np.diff(self.offsets)[rows]
        offsets = np.zeros(len(rows) + 1, dtype=np.int64)
        np.cumsum(sizes, out=offsets[1:])
        # byte j of the result comes from its string's start plus its place inside the string
        source = np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], sizes)
        return StringColumn(self.data[source], offsets)

    def __reduce__(self) -> tuple[object, ...]:
        # a slice shares the bytes of the whole column; another process needs only its own
        start, stop = self.offsets[0], self.offsets[-1]
        return StringColumn, (self.data[start:stop], self.offsets - start)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(list(self), dtype=dtype if dtype is not None else object)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, (StringColumn, list, tuple, np.ndarray)):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = ", ".join(repr(self[i]) for i in range(min(3, len(self))))
        return f"StringColumn([{shown}{', ...' if len(self) > 3 else ''}], n={len(self)})"


def text_array(texts: list[str]) -> NDArray[Any]:
    """Return strings as a NumPy array.

    NumPy's strings all take the space of the longest; Python's are kept where that is far more than there is text.
    """
    sizes = [len(text) for text in texts]
    is_wasteful = len(sizes) * max(sizes, default=0) > 4 * sum(sizes) + (1 << 20)
    return np.array(texts, dtype=object if is_wasteful else np.str_)
