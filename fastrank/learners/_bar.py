"""A progress bar for work that may turn out to be short: it shows once there was something to wait for."""

from __future__ import annotations

import time
from types import TracebackType

from fastrank._progress import Progress

_PATIENCE = 2.0
"""Seconds without a bar."""


class Bar:
    """Move a bar, of one's own or the caller's.

    Parameters
    ----------
    label : str
        What is being done.
    n_rounds : int or None
        How much of it there is; None where rounds do not tell.
    verbose : bool or None
        None shows it on a terminal after two seconds, True at once and anywhere, False never.
    progress : Progress, optional
        The caller's, moved instead.
    """

    def __init__(
        self, label: str, n_rounds: int | None, verbose: bool | None, progress: Progress | None = None
    ) -> None:
        self._label, self._n_rounds, self._verbose, self._given = label, n_rounds, verbose, progress
        self._own: Progress | None = None
        self._begin = time.monotonic() + (0.0 if verbose else _PATIENCE)

    def __enter__(self) -> Bar:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._own is not None:
            self._own.__exit__(kind, error, trace)

    def played(self, n_played: int) -> None:
        """Say how many rounds were played."""
        if self._n_rounds:
            self.update(n_played / self._n_rounds)

    def update(self, fraction: float) -> None:
        """Say that `fraction` (0 to 1) of the work is done."""
        if self._given is not None:
            self._given.update(fraction)
        elif self._verbose is not False and time.monotonic() >= self._begin:
            if self._own is None:
                self._own = Progress(self._label, enabled=self._verbose)
            self._own.update(fraction)
