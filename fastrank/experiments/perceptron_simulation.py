"""Ranking perceptrons and online ListNet on a separable stream: the loss of the perceptrons stays below a constant.

Chaudhuri and Tewari (2017), section 8 and Figure 1: lists of 20 documents with 20 features and grades 0 to 4, which one
unknown direction ranks perfectly, by a margin. The two perceptrons lose at most A / margin^2 in all, so that their
time-averaged NDCG@10 tends to 1 as fast as 1 / t; gradient descent on ListNet's loss has a regret of sqrt(t) only.

As in the paper, learning rates are the best of a few on the first rounds. The theorem on SLAM is about a far smaller
rate, 1 / A, so that this perceptron appears twice; the max-pair perceptron makes the same mistakes at every rate.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fastrank._progress import Progress
from fastrank._validation import check_count
from fastrank.data import Query, SeparableStream
from fastrank.experiments._result import Result
from fastrank.metrics._tables import text_table

if TYPE_CHECKING:
    from fastrank.learners import OnlineRanker, RankingPerceptron
    from fastrank.learners.history import OnlineHistory

__all__ = ["Curve", "PerceptronSimulation", "run"]

_METRIC, _CUT = "ndcg@10", 10
_GRADES = 5
_RATES = (0.01, 0.1, 1.0, 10.0, 100.0)
_MAX_RECORDS = 1 << 18
_POINTS = 1000
"""Of a curve in the CSV and in the picture, evenly spaced on a logarithmic axis."""


@dataclass(frozen=True)
class Curve:
    """One learner on the stream.

    Attributes
    ----------
    name : str
        The learner.
    rate : float
        Its learning rate; that of the first round where it falls.
    history : OnlineHistory
        Its record.
    bound : float
        What its cumulative loss cannot exceed, known before the first round; inf where no theorem says so.
    bound_after : float
        The same by the regret of this run, known after it; inf where there is none.
    """

    name: str
    rate: float
    history: OnlineHistory
    bound: float = math.inf
    bound_after: float = math.inf

    @property
    def within(self) -> bool | None:
        """Whether the loss is within both bounds; None where there is none."""
        bound = min(self.bound, self.bound_after)
        return None if bound == math.inf else self.history.loss <= bound * (1.0 + 1e-9)

    @property
    def perfect_from(self) -> int:
        """A round after which no ranking was wrong, the first that the record has; the last round if there is none."""
        mistakes = self.history.mistakes
        return int(self.history.round[np.searchsorted(mistakes, mistakes[-1])])

    def average_at(self, rounds: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the time-averaged NDCG@10 up to rounds that the record has."""
        average: NDArray[np.float64] = self.history.average[_METRIC][np.searchsorted(self.history.round, rounds)]
        return average

    @property
    def points(self) -> NDArray[np.int64]:
        """Positions in the record that are evenly spaced on a logarithmic axis, with the powers of ten and the last."""
        rounds = self.history.round
        wanted = np.concatenate([np.geomspace(rounds[0], rounds[-1], _POINTS), 10.0 ** np.arange(16)])
        found: NDArray[np.int64] = np.unique(np.searchsorted(rounds, wanted[wanted <= rounds[-1]]))
        return found


@dataclass(frozen=True)
class PerceptronSimulation(Result):
    """The learners' records on the separable stream.

    Attributes
    ----------
    queries, seed : int
        Rounds, and the seed of the stream.
    margin, radius : float
        What the stream's unit vector keeps between documents of different grades; the largest norm of a document.
    curves : tuple of Curve
        SLAM at the rate of the theorem, SLAM at the best rate, max-pair, online ListNet.

    Examples
    --------
    >>> from fastrank.experiments import perceptron_simulation
    >>> result = perceptron_simulation.run(queries=300, seed=1)
    >>> [curve.name for curve in result.curves if curve.within]
    ['SLAM perceptron, rate 1/A', 'SLAM perceptron, best rate', 'max-pair perceptron']
    """

    name: ClassVar[str] = "perceptron-simulation"
    has_picture: ClassVar[bool] = True

    queries: int
    seed: int
    margin: float
    radius: float
    curves: tuple[Curve, ...]

    def table(self) -> str:
        """Return what each learner lost next to its bounds, and its time-averaged NDCG@10 on the way."""
        title = (
            f"{self.queries:,} rounds of {SeparableStream.__name__}: margin {self.margin:g}, no document longer than "
            f"{self.radius:.4g}, seed {self.seed}"
        )
        lost = text_table(
            ["learner", "rate", "rounds", "mistakes", "none after", "loss", "bound", "bound after", "within the bound"],
            [self._row(curve) for curve in self.curves],
        )
        rounds = self._table_rounds()
        averages = text_table(
            ["time-averaged NDCG@10 after", *(f"{t:,}" for t in rounds)],
            [[curve.name, *curve.average_at(rounds).tolist()] for curve in self.curves],
            digits=6,
        )
        return "\n\n".join([title, lost, averages, "\n".join(self._verdicts())])

    def _row(self, curve: Curve) -> list[Any]:
        history = curve.history
        return [
            curve.name,
            f"{curve.rate:.3g}",
            history.n_rounds,
            history.n_mistakes,
            curve.perfect_from,
            history.loss,
            _number(curve.bound),
            _number(curve.bound_after),
            {None: "no bound", True: "yes", False: "NO"}[curve.within],
        ]

    def _table_rounds(self) -> NDArray[np.int64]:
        rounds = self.curves[0].history.round
        wanted = 10 ** np.arange(2, 16, dtype=np.int64)
        return np.union1d(wanted[np.isin(wanted, rounds)], rounds[-1:])

    def _verdicts(self) -> Iterator[str]:
        for curve in self.curves:
            said = f"{curve.name}: lost {curve.history.loss:.4g}, average {curve.history.mean[_METRIC]:.6f}"
            promise = f"guaranteed: at least 1 - {curve.bound:,.0f} / t"
            if curve.within is None:
                yield f"{said}; no theorem bounds what it loses of NDCG@10."
            elif not curve.within:
                yield f"{said}, which is MORE than its bound allows: a theorem is false, or there is a bug."
            elif curve.bound == math.inf:
                yield f"{said}; no theorem knows this rate, its own gradients allow at most {curve.bound_after:,.1f}."
            elif curve.bound < self.queries:
                yield f"{said}; {promise}, here {1.0 - curve.bound / self.queries:.6f}."
            else:
                yield f"{said}; {promise}, which says nothing in so few rounds."
        listnet, others = self.curves[-1], self.curves[1:-1]
        behind = all(listnet.history.loss > curve.history.loss for curve in others)
        yield (
            "The paper's Figure 1 has ListNet behind the perceptrons at their best rates; "
            + ("so it is here." if behind else "here it is not: this stream is easy for it.")
        )

    def columns(self) -> Mapping[str, Sequence[Any]]:
        """Return the curves one below the other: learner, round, and what happened up to it."""
        columns: dict[str, list[Any]] = {}
        for curve in self.curves:
            history, at = curve.history, curve.points
            rounds = history.round[at]
            parts = {
                "learner": [curve.name] * len(at),
                "round": rounds.tolist(),
                "mistakes": history.mistakes[at].tolist(),
                "cumulative_loss": history.cumulative_loss[at].tolist(),
                f"average {_METRIC}": history.average[_METRIC][at].tolist(),
                f"guaranteed average {_METRIC}": np.maximum(0.0, 1.0 - curve.bound / rounds).tolist(),
            }
            for name, values in parts.items():
                columns.setdefault(name, []).extend(values)
        return columns

    def draw(self, axes: Any) -> None:
        """Draw the time-averaged NDCG@10 against the rounds, and what is guaranteed of it."""
        lowest = 1.0
        for number, curve in enumerate(self.curves):
            rounds = curve.history.round[curve.points]
            average = curve.average_at(rounds)
            axes.plot(rounds, average, color=f"C{number}", label=curve.name)
            lowest = min(lowest, float(average[min(len(average) - 1, int(np.searchsorted(rounds, 10)))]))
        for number, curve in enumerate(self.curves):
            rounds = curve.history.round[curve.points]
            guaranteed = 1.0 - curve.bound / rounds
            if guaranteed[-1] > lowest:  # else there is nothing to see yet
                label = f"guaranteed: 1 - {curve.bound:,.0f} / t"
                axes.plot(rounds, guaranteed, color=f"C{number}", linestyle="--", label=label)
        axes.set_xscale("log")
        axes.set_ylim(lowest - 0.01, 1.0 + 0.05 * (1.0 - lowest))
        axes.set_xlabel("round")
        axes.set_ylabel("time-averaged NDCG@10")
        axes.set_title(f"Separable stream, margin {self.margin:g}")
        axes.grid(alpha=0.3)
        axes.legend(loc="center right")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare size, margin and seed."""
    parser.add_argument("--queries", type=int, default=300_000, metavar="N", help="rounds (default: 300,000)")
    parser.add_argument("--margin", type=float, default=0.1, metavar="G", help="margin of the stream (default: 0.1)")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="seed of the stream (default: 0)")
    parser.add_argument(
        "--tuning-queries", type=int, default=1000, metavar="N", help="first rounds that choose a rate (default: 1000)"
    )


def run(
    *,
    queries: int = 300_000,
    margin: float = 0.1,
    seed: int = 0,
    tuning_queries: int = 1000,
    progress: Progress | None = None,
) -> PerceptronSimulation:
    """Train the perceptrons and online ListNet on the same separable stream.

    Parameters
    ----------
    queries : int, default=300_000
        Rounds, one query each.
    margin : float, default=0.1
        Margin of the stream.
    seed : int, default=0
        Seed of the stream. Nothing else is random.
    tuning_queries : int, default=1000
        SLAM and ListNet use the learning rate, of 0.01, 0.1, 1, 10 and 100, that loses least in as many first rounds.
    progress : Progress, optional
        A bar to move.

    Returns
    -------
    PerceptronSimulation

    Notes
    -----
    The constant of SLAM is the one that is known before the first round, A = 4 k v_max R^2 with k = 10 and
    v_max = (G(4) / G(1)) log2(11), the largest ratio of two weights of NDCG@10 at grades up to 4. Cost: a few
    microseconds per round and learner; the stream is never held.

    References
    ----------
    Chaudhuri and Tewari (2017), Algorithms 2 and 3, Theorem 8, Corollary 11, section 8 (Figure 1).

    Examples
    --------
    >>> result = run(queries=200, seed=0)
    >>> result.curves[2].name, result.curves[2].history.loss < result.curves[2].bound
    ('max-pair perceptron', True)
    """
    from fastrank.bounds import perceptron  # here: the command line need not wait for the learners
    from fastrank.learners import OnlineRanker, RankingPerceptron
    from fastrank.losses import ListNet, MaxPair, Slam

    for name, count, least in (("queries", queries, 1), ("seed", seed, 0), ("tuning_queries", tuning_queries, 1)):
        check_count(count, name=name, least=least)
    radius = SeparableStream(1, n_grades=_GRADES, margin=margin, random_state=seed).radius
    tuning_queries = min(tuning_queries, queries)
    bar = _Bar(progress, 2 * len(_RATES) * tuning_queries + 4 * queries)
    common: dict[str, Any] = {"metric": _METRIC, "max_records": min(max(2, queries), _MAX_RECORDS), "verbose": False}

    def slam(rate: float) -> RankingPerceptron:
        return RankingPerceptron(Slam(_METRIC), learning_rate=rate, **common)

    def listnet(rate: float) -> OnlineRanker:
        return OnlineRanker(ListNet(), learning_rate=rate, schedule="invsqrt", average=False, **common)

    def history(learner: RankingPerceptron | OnlineRanker, n_queries: int = queries) -> OnlineHistory:
        stream = SeparableStream(n_queries, n_grades=_GRADES, margin=margin, random_state=seed)
        return learner.fit_stream(bar.watch(stream)).history_

    def best_rate(make: Callable[[float], RankingPerceptron | OnlineRanker]) -> float:
        return min(_RATES, key=lambda rate: history(make(rate), tuning_queries).loss)

    norm = 1.0 / margin  # of the stream's direction, scaled so that it loses nothing at hinge margin 1
    gain_ratio = (2.0 ** (_GRADES - 1) - 1.0) / (2.0**1 - 1.0)
    constant = perceptron.slam_constant_paper(radius, _CUT, gain_ratio * math.log2(_CUT + 1))

    def slam_curve(name: str, rate: float) -> Curve:
        record = history(slam(rate))
        before = perceptron.fixed_rate_bound(0.0, norm, constant, rate)  # inf from 2 / A on
        return Curve(name, rate, record, before, perceptron.a_posteriori_bound(0.0, norm, rate, record.square_sum))

    def max_pair_curve(name: str) -> Curve:
        record = history(RankingPerceptron(MaxPair(), learning_rate=1.0, **common))
        before = perceptron.margin_bound(perceptron.max_pair_constant(radius), margin)
        return Curve(name, 1.0, record, before, perceptron.any_rate_bound(0.0, norm, record.square_sum))

    def listnet_curve(name: str, rate: float) -> Curve:
        return Curve(name, rate, history(listnet(rate)))

    curves = (
        slam_curve("SLAM perceptron, rate 1/A", 1.0 / constant),
        slam_curve("SLAM perceptron, best rate", best_rate(slam)),
        max_pair_curve("max-pair perceptron"),
        listnet_curve("online ListNet, best rate", best_rate(listnet)),
    )
    return PerceptronSimulation(queries, seed, margin, radius, curves)


class _Bar:
    """Move a bar as the queries of several streams are taken."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress, self._total, self._done = progress, total, 0

    def watch(self, stream: Iterable[Query]) -> Iterator[Query]:
        for query in stream:
            yield query
            self._done += 1
            if self._progress is not None and self._done % 256 == 0:
                self._progress.update(self._done / self._total)


def _number(value: float) -> str | None:
    return None if value == math.inf else f"{value:,.0f}" if value >= 1e3 else f"{value:.1f}"
