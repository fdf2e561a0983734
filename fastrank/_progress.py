"""A progress bar for long work: one line on standard error, only where a person is looking."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Protocol, TextIO

_WIDTH = 28
_SECONDS_BETWEEN = 0.1


class Moves(Protocol):
    """What long work tells how far it has come."""

    def update(self, fraction: float) -> None:
        """Say that `fraction` (0 to 1) of the work is done."""


class Progress:
    """Show how far a piece of work has come.

    Parameters
    ----------
    label : str
        What is being done.
    enabled : bool or None, default=None
        None shows the bar only when the stream is a terminal.
    stream : file object, default=sys.stderr

    Examples
    --------
    >>> with Progress("reading", enabled=False) as progress:
    ...     progress.update(0.5)
    """

    def __init__(self, label: str, *, enabled: bool | None = None, stream: TextIO | None = None) -> None:
        self._label = label
        self._stream = sys.stderr if stream is None else stream
        self._enabled = self._stream.isatty() if enabled is None else enabled
        self._started = time.monotonic()
        self._next = self._started

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._enabled:
            if kind is None:
                self._draw(1.0)
            self._stream.write("\n")
            self._stream.flush()

    def update(self, fraction: float) -> None:
        """Say that `fraction` (0 to 1) of the work is done."""
        now = time.monotonic()
        if self._enabled and now >= self._next:
            self._next = now + _SECONDS_BETWEEN
            self._draw(fraction)

    def _draw(self, fraction: float) -> None:
        fraction = min(max(fraction, 0.0), 1.0)
        filled = round(fraction * _WIDTH)
        elapsed = time.monotonic() - self._started
        bar = "#" * filled + "." * (_WIDTH - filled)
        self._stream.write(f"\r{self._label} [{bar}] {fraction:4.0%} {elapsed:6.1f} s")
        self._stream.flush()
