"""The record of online learning: what the papers plot and the bounds need, thinned for long streams."""

from __future__ import annotations

import copy
import importlib
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastrank._validation import check_count, plural
from fastrank.data._atomic import write_csv

__all__ = ["OnlineHistory"]

LEAST_LOSS = 1e-12
"""A measure this close to 1 is a perfect ranking: what is missing is rounding."""

_SUMS = ("loss", "mistakes", "updates", "surrogate", "square", "rate_square")


class OnlineHistory:
    """What happened in the rounds of an online learner: exact totals, and curves of at most `max_records` points.

    Round t = 1, 2, ... shows one query: w_t scores its documents, the ranking is measured (equal scores in the worst
    order), and w moves by -rate z_t, z_t a gradient of the surrogate f_t at w_t. Perceptrons have f_t = 0 in rounds
    without a mistake.

    Parameters
    ----------
    measures : sequence of str
        Names of the measures of a round; 1 minus the first is the loss.
    max_records : int, default=4096
        Points of the curves, at least 2.

    Attributes
    ----------
    n_rounds, n_mistakes, n_updates : int
        Rounds played, those with a loss above 1e-12, those that moved w.
    loss, surrogate_sum, square_sum : float
        Sums of the losses, of f_t(w_t) and of ||z_t||^2 over all rounds.
    mean : dict of str to float
        Mean of each measure over all rounds; NaN before the first.
    rate : float or None
        The learning rate, None where it varied.
    round : ndarray of int64, shape (n_points,)
        The rounds of the curves: multiples of a power of two, and the last.
    measure, average : dict of str to ndarray
        Each measure in that round, and its mean up to it.
    cumulative_loss, mistakes, updates, surrogate, square : ndarray
        Sums up to that round, of the losses, of mistakes and updates, of f_t(w_t) and of ||z_t||^2.

    Notes
    -----
    Which rounds are kept depends on their number alone: multiples of the least power of two that leaves no more than
    `max_records`. Sums are added up round by round. So a history has the same bits however the rounds were divided
    into calls. Cost: O(1) per round; memory: at most max_records points. Objects are values: learning on makes a new
    one, and those that were looked at stay as they are.

    Examples
    --------
    >>> from fastrank.data import make_separable
    >>> from fastrank.learners import RankingPerceptron
    >>> history = RankingPerceptron().fit(make_separable(200, random_state=0)).history_
    >>> history.round[-3:].tolist(), bool(history.average["ndcg@10"][-1] == history.mean["ndcg@10"])
    ([198, 199, 200], True)
    """

    def __init__(self, measures: Sequence[str], max_records: int = 4096) -> None:
        self.measures = tuple(measures)
        self.max_records = check_count(max_records, name="max_records", least=2)
        self.n_rounds = 0
        self._now = np.zeros(len(self.measures))
        self._sums = np.zeros(len(self.measures) + len(_SUMS))
        self._stride = 1
        self._points = _Points(2 * len(self.measures) + len(_SUMS))
        self._rates: tuple[float, float, bool] | None = None  # first, last, whether one was above the one before

    def extended(
        self,
        measures: NDArray[np.float64],
        surrogate: NDArray[np.float64],
        square: NDArray[np.float64],
        moved: NDArray[Any],
        rates: NDArray[np.float64],
    ) -> OnlineHistory:
        """Return the history with more rounds: `measures` has a row per measure, all a column or entry per round."""
        n_new = len(rates)
        if n_new == 0:
            return self
        loss = losses(measures[0])
        terms = np.vstack([measures, loss, loss > 0.0, moved, surrogate, square, rates * square])
        # one after the other from the last sums on: however rounds are cut into calls, the bits are the same
        sums = np.add.accumulate(np.column_stack([self._sums, terms]), axis=1)[:, 1:]
        new = copy.copy(self)
        new.n_rounds = self.n_rounds + n_new
        new._now, new._sums = measures[:, -1].copy(), sums[:, -1].copy()
        while new.n_rounds // new._stride > new.max_records:
            new._stride *= 2
        first = new._stride - 1 - self.n_rounds % new._stride
        points = np.vstack([measures, sums])[:, first :: new._stride]
        new._points = self._points.thinned(new._stride // self._stride).extended(points)
        rose = bool((np.diff(rates) > 0.0).any()) or (self._rates is not None and bool(rates[0] > self._rates[1]))
        begun = (float(rates[0]), 0.0, False) if self._rates is None else self._rates
        new._rates = (begun[0], float(rates[-1]), begun[2] or rose)
        return new

    # Totals.

    def _total(self, name: str) -> float:
        return float(self._sums[len(self.measures) + _SUMS.index(name)])

    @property
    def n_mistakes(self) -> int:
        """Rounds with a loss."""
        return int(self._total("mistakes"))

    @property
    def n_updates(self) -> int:
        """Rounds that moved w."""
        return int(self._total("updates"))

    @property
    def loss(self) -> float:
        """Sum of 1 - measure over all rounds."""
        return self._total("loss")

    @property
    def surrogate_sum(self) -> float:
        """Sum of f_t(w_t) over all rounds."""
        return self._total("surrogate")

    @property
    def square_sum(self) -> float:
        """Sum of ||z_t||^2 over all rounds."""
        return self._total("square")

    @property
    def rate_square_sum(self) -> float:
        """Sum of rate_t ||z_t||^2 over all rounds."""
        return self._total("rate_square")

    @property
    def mean(self) -> dict[str, float]:
        """Mean of each measure over all rounds."""
        n_rounds = self.n_rounds or np.nan
        return {name: float(total / n_rounds) for name, total in zip(self.measures, self._sums, strict=False)}

    @property
    def rate(self) -> float | None:
        """The learning rate of all rounds; None where it varied, or before the first."""
        if self._rates is None or self._rates[0] != self._rates[1] or self._rates[2]:
            return None
        return self._rates[0]

    @property
    def last_rate(self) -> float | None:
        """The learning rate of the last round, where rates never rose; else None."""
        return None if self._rates is None or self._rates[2] else self._rates[1]

    # Curves.

    @property
    def round(self) -> NDArray[np.int64]:
        """The rounds of the curves."""
        kept = np.arange(1, self._points.n + 1, dtype=np.int64) * self._stride
        return kept if self._ends_at_last else np.append(kept, self.n_rounds)

    @property
    def _ends_at_last(self) -> bool:
        return self.n_rounds % self._stride == 0

    def _curve(self, row: int) -> NDArray[np.float64]:
        kept = self._points.row(row)
        return kept.copy() if self._ends_at_last else np.append(kept, np.append(self._now, self._sums)[row])

    def _sum_curve(self, name: str) -> NDArray[np.float64]:
        return self._curve(2 * len(self.measures) + _SUMS.index(name))

    @property
    def measure(self) -> dict[str, NDArray[np.float64]]:
        """Each measure in the rounds of the curves."""
        return {name: self._curve(row) for row, name in enumerate(self.measures)}

    @property
    def average(self) -> dict[str, NDArray[np.float64]]:
        """The mean of each measure up to the rounds of the curves."""
        return {name: self._curve(len(self.measures) + row) / self.round for row, name in enumerate(self.measures)}

    @property
    def cumulative_loss(self) -> NDArray[np.float64]:
        """Sum of 1 - measure up to the rounds of the curves."""
        return self._sum_curve("loss")

    @property
    def mistakes(self) -> NDArray[np.int64]:
        """Mistakes up to the rounds of the curves."""
        return self._sum_curve("mistakes").astype(np.int64)

    @property
    def updates(self) -> NDArray[np.int64]:
        """Updates up to the rounds of the curves."""
        return self._sum_curve("updates").astype(np.int64)

    @property
    def surrogate(self) -> NDArray[np.float64]:
        """Sum of f_t(w_t) up to the rounds of the curves."""
        return self._sum_curve("surrogate")

    @property
    def square(self) -> NDArray[np.float64]:
        """Sum of ||z_t||^2 up to the rounds of the curves."""
        return self._sum_curve("square")

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the curves by column: round, each measure, each average ("average ndcg@10"), and the sums."""
        return {
            "round": self.round,
            **self.measure,
            **{f"average {name}": values for name, values in self.average.items()},
            "cumulative_loss": self.cumulative_loss,
            "mistakes": self.mistakes,
            "updates": self.updates,
            "surrogate": self.surrogate,
            "square": self.square,
        }

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the curves as CSV: a line of names, then a line per round, floats so that they read back exactly.

        Parameters
        ----------
        path : path
            Appears whole or not at all.
        """
        write_csv(path, {name: values.tolist() for name, values in self.columns().items()})

    def plot(self, ax: Any = None) -> Any:
        """Draw the time-averaged measures, as in the papers' figures.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure without it.

        Returns
        -------
        matplotlib Axes

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        if ax is None:
            try:
                pyplot = importlib.import_module("matplotlib.pyplot")
            except ImportError:
                raise ImportError(
                    "plot: expected matplotlib to be installed; pip install 'fastrank-ltr[plot]', or use to_csv()"
                ) from None
            ax = pyplot.subplots()[1]
        for name, values in self.average.items():
            ax.plot(self.round, values, label=name)
        ax.set_xlabel("round")
        ax.set_ylabel("mean up to the round")
        ax.legend()
        return ax

    def __repr__(self) -> str:
        means = "".join(f", mean {name} {value:.4f}" for name, value in self.mean.items())
        return (
            f"OnlineHistory({plural(self.n_rounds, 'round')}, {plural(self.n_mistakes, 'mistake')}, "
            f"{plural(self.n_updates, 'update')}, loss {self.loss:.6g}{means})"
        )


def losses(measure: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return 1 - measure, and 0 for what is only rounding."""
    loss = 1.0 - measure
    loss[loss < LEAST_LOSS] = 0.0
    return loss


class _Points:
    """Columns of numbers that grow: appending writes behind the last one, which older objects do not see."""

    def __init__(self, n_rows: int) -> None:
        self.n = 0
        self._columns = np.zeros((n_rows, 16))
        self._used = [0]  # shared by all that share the columns: who is not the last to append makes a copy

    def row(self, row: int) -> NDArray[np.float64]:
        values: NDArray[np.float64] = self._columns[row, : self.n]
        return values

    def thinned(self, step: int) -> _Points:
        """Every step-th column."""
        return self if step == 1 else self._copied(self._columns[:, step - 1 : self.n : step], 0)

    def extended(self, columns: NDArray[np.float64]) -> _Points:
        n = self.n + columns.shape[1]
        if self._used[0] != self.n or n > self._columns.shape[1]:
            return self._copied(self._columns[:, : self.n], n).extended(columns)
        new = copy.copy(self)
        self._columns[:, self.n : n] = columns
        new.n = self._used[0] = n
        return new

    def _copied(self, columns: NDArray[np.float64], room: int) -> _Points:
        new = copy.copy(self)
        new.n = columns.shape[1]
        new._columns = np.zeros((len(columns), max(2 * room, new.n, 16)))
        new._columns[:, : new.n] = columns
        new._used = [new.n]
        return new
