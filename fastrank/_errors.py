"""The exceptions of fastrank."""

from __future__ import annotations

import os


class DataFormatError(ValueError):
    """A file does not hold what its format promises.

    Attributes
    ----------
    path : str
        The file.
    line : int or None
        The 1-based line, where the mistake is on a line.
    """

    def __init__(self, message: str, *, path: str | os.PathLike[str], line: int | None = None) -> None:
        self.path = os.fspath(path)
        self.line = line
        where = self.path if line is None else f"{self.path}:{line}"
        super().__init__(f"{where}: {message}")
        self._message = message

    def __reduce__(self) -> tuple[object, ...]:
        # The default would call __init__ with the finished text; process pools need errors to pickle.
        return _rebuild, (self._message, self.path, self.line)


def _rebuild(message: str, path: str, line: int | None) -> DataFormatError:
    return DataFormatError(message, path=path, line=line)
