"""The engine of online learning: rounds are played in blocks, and each block leaves a whole new state."""

from __future__ import annotations

import warnings
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from fastrank._core import _cpu, _online
from fastrank._threads import query_blocks
from fastrank.data.dataset import RankingDataset
from fastrank.learners._measures import measure_program
from fastrank.learners._warnings import DivergenceWarning
from fastrank.learners.history import OnlineHistory, losses
from fastrank.losses._base import ScoreLoss, dataset_kernel
from fastrank.metrics.names import Metric
from fastrank.objectives._rows import rows_of

SCHEDULES = ("constant", "invsqrt", "inverse")

_ROWS_PER_CALL = 1 << 18
"""Between two calls of a kernel Ctrl-C is heard and the progress bar moves."""


class State(NamedTuple):
    """All that learning changes. A learner replaces it as a whole, so that an interrupt never finds half of it."""

    w: NDArray[np.float64]
    w_sum: NDArray[np.float64] | None
    history: OnlineHistory
    diverged: bool = False

    @staticmethod
    def start(n_features: int, average: bool, history: OnlineHistory) -> State:
        """All zeros, before the first round."""
        return State(np.zeros(n_features), np.zeros(n_features) if average else None, history)

    def widened(self, n_features: int) -> State:
        """The same with zeros for features that were not seen before."""
        new = (0, n_features - len(self.w))
        return self._replace(w=np.pad(self.w, new), w_sum=None if self.w_sum is None else np.pad(self.w_sum, new))

    @property
    def mean(self) -> NDArray[np.float64] | None:
        """The mean of w_1, ..., w_T, each before its update; None where it was not asked for."""
        return None if self.w_sum is None else self.w_sum / max(1, self.history.n_rounds)


@dataclass(frozen=True)
class Rates:
    """Learning rates: eta, eta / sqrt(t) or eta / t in round t = 1, 2, ..."""

    eta: float
    schedule: str = "constant"

    def of(self, n_played: int, n_rounds: int) -> NDArray[np.float64]:
        """The rates of the rounds after those already played."""
        if self.schedule == "constant":
            return np.full(n_rounds, self.eta)
        t = np.arange(n_played + 1, n_played + n_rounds + 1, dtype=np.float64)
        return self.eta / (np.sqrt(t) if self.schedule == "invsqrt" else t)


class Block(NamedTuple):
    """The record of consecutive rounds; `n_played` is less than their number where learning diverged."""

    n_played: int
    measures: NDArray[np.float64]
    surrogate: NDArray[np.float64]
    square: NDArray[np.float64]
    moved: NDArray[np.bool_]
    stepped: NDArray[np.bool_]


class Rounds(Protocol):
    """What can be shown in a round."""

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Rows of each thing that a round may show."""

    def run(
        self,
        order: NDArray[np.int64],
        rates: NDArray[np.float64],
        w: NDArray[np.float64],
        w_sum: NDArray[np.float64] | None,
    ) -> Block:
        """Show the things at these positions one after the other; w and w_sum are changed in place."""


@dataclass(frozen=True)
class Rules:
    """How a ranker learns from a query.

    `only_mistakes` makes it a perceptron: f_t = 0 where the first metric is 1. `ball` is the radius of the ball that w
    is kept in.
    """

    loss: ScoreLoss
    metrics: tuple[Metric, ...]
    only_mistakes: bool
    ball: float = np.inf


class QueryRounds:
    """Rounds that show a query each. A query's weight multiplies its f_t, and so z_t."""

    def __init__(self, data: RankingDataset, rules: Rules) -> None:
        self.sizes = data.sizes
        self.rows = rows_of(data.grouped_X)
        self._rules, self._plan, self._weight = rules, data.plan, data.query_weight
        self._kernel = dataset_kernel(rules.loss, data)
        # without a row there is no grade to measure by, and nothing happens
        self._program = measure_program(data.plan, rules.metrics) if data.n_rows else None

    def run(
        self,
        order: NDArray[np.int64],
        rates: NDArray[np.float64],
        w: NDArray[np.float64],
        w_sum: NDArray[np.float64] | None,
    ) -> Block:
        """Show the queries at these positions; see `Rounds.run`."""
        n_rounds, rules = len(order), self._rules
        measures = np.ones((len(rules.metrics), n_rounds))
        surrogate, square, moved = np.zeros(n_rounds), np.zeros(n_rounds), np.zeros(n_rounds, dtype=np.uint8)
        weight = None if self._weight is None else self._weight[order]
        n_played = n_rounds
        if self._program is not None:
            n_played = _online.run_rounds(
                self.rows,
                self._plan.view,
                self._kernel,
                self._program,
                self._plan.levels,
                order,
                rates if weight is None else rates * weight,
                rules.only_mistakes,
                rules.ball,
                w,
                w_sum,
                measures,
                surrogate,
                square,
                moved,
                _cpu.LEVEL,
            )
        elif w_sum is not None:
            for _ in range(n_rounds):
                w_sum += w
        if weight is not None:
            surrogate *= weight
            square *= weight * weight
        stepped = losses(measures[0]) > 0.0 if rules.only_mistakes else np.ones(n_rounds, dtype=bool)
        return Block(n_played, measures, surrogate, square, (moved > 0) & (square > 0.0), stepped)


class Tally:
    """How often each thing given so far was shown, and in how many of these rounds the learner took a step."""

    def __init__(self) -> None:
        self._shown, self._stepped = array("i"), array("i")

    def __len__(self) -> int:
        return len(self._shown)

    def room(self, n: int) -> int:
        """Make room for n more things, and tell where it begins."""
        first = len(self)
        for counts in (self._shown, self._stepped):
            counts.frombytes(bytes(n * counts.itemsize))
        return first

    def add(self, positions: NDArray[np.int64], stepped: NDArray[np.bool_]) -> None:
        """Count rounds; each thing at most once a call."""
        self.shown[positions] += 1
        self.stepped[positions] += stepped

    @property
    def shown(self) -> NDArray[np.int32]:
        """Rounds by thing, a view: it must be gone before there is more room."""
        return np.frombuffer(self._shown, dtype=np.int32)

    @property
    def stepped(self) -> NDArray[np.int32]:
        """Rounds with a step by thing, a view too."""
        return np.frombuffer(self._stepped, dtype=np.int32)


def play(
    rounds: Rounds, state: State, order: NDArray[np.int64], rates: Rates, tally: Tally, first: int = 0
) -> Iterator[State]:
    """Play the rounds of an order without repetitions; yield the state after each block of them.

    `tally` counts from `first` on. It may be ahead of the state that an interrupt leaves behind, never behind it: then
    bounds are larger than need be, never smaller. Where learning diverges, the last state says so.
    """
    offsets = np.concatenate(([0], np.cumsum(rounds.sizes[order])))
    for begin, end in query_blocks(offsets, _ROWS_PER_CALL):
        eta = rates.of(state.history.n_rounds, end - begin)
        w, w_sum = state.w.copy(), None if state.w_sum is None else state.w_sum.copy()
        n, measures, surrogate, square, moved, stepped = rounds.run(order[begin:end], eta, w, w_sum)
        tally.add(first + order[begin : begin + n], stepped[:n])
        history = state.history.extended(measures[:, :n], surrogate[:n], square[:n], moved[:n], eta[:n])
        w.flags.writeable = False
        state = State(w, w_sum, history, diverged=n < end - begin)
        yield state
        if state.diverged:
            return


def warn_of_divergence(state: State, rates: Rates, stacklevel: int) -> None:
    """Say where learning ended and what to do."""
    n_played = state.history.n_rounds
    warnings.warn(
        f"learning diverged: scores or gradients beyond 1e150 in round {n_played + 1:,}, at learning rate "
        f"{rates.of(n_played, 1)[0]:g}; the weights are those before that round. Lower learning_rate, or scale the "
        "features",
        DivergenceWarning,
        stacklevel=stacklevel + 1,
    )
