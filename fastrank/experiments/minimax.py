"""The game that every deterministic online ranker loses: what it costs the perceptrons and online ListNet.

Chaudhuri and Tewari (2017), Theorem 9: an opponent labels each round after seeing the ranking, so that it was wrong,
and one vector still ranks all rounds by a margin. No deterministic learner loses less than the lower bound; the
max-pair perceptron loses at most 4 R^2 / margin^2 (Corollary 11), and so does SLAM here, where one document of a round
is relevant.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from fastrank._progress import Progress
from fastrank._validation import check_choice, check_count
from fastrank.data import MinimaxAdversary
from fastrank.experiments._result import Result
from fastrank.metrics._tables import text_table

if TYPE_CHECKING:
    from fastrank.bounds import MinimaxResult

__all__ = ["Minimax", "run"]

_METRICS = ("ndcg@10", "ndcg", "ap")


@dataclass(frozen=True)
class Minimax(Result):
    """A game against each learner.

    Attributes
    ----------
    games : dict of str to MinimaxResult
        By learner.

    Examples
    --------
    >>> result = run(margin=0.25)
    >>> [game.lower_bound <= game.loss for game in result.games.values()]
    [True, True, True]
    """

    name: ClassVar[str] = "minimax"

    games: dict[str, MinimaxResult]

    def table(self) -> str:
        """Return what each learner was made to lose, between the lower and the upper bound."""
        game = next(iter(self.games.values()))
        title = (
            f"{game.n_rounds:,} rounds, margin {game.margin:g}, no document longer than {game.radius:g};"
            f" loss: the sum of 1 - {game.metric.upper()}, ties in the worst order"
        )
        rows = [
            [name, game.loss, game.lower_bound, *_upper(name, game), "yes" if _is_between(name, game) else "NO"]
            for name, game in self.games.items()
        ]
        bounds = ["at least", "at most, in this game", "at most, at this margin"]
        headers = ["learner", "loss", *bounds, "within the bounds"]
        return f"{title}\n\n{text_table(headers, rows, digits=2)}"

    def columns(self) -> Mapping[str, Sequence[Any]]:
        """Return the games one below the other."""
        records = [{"learner": name, **asdict(game)} for name, game in self.games.items()]
        return {name: [record[name] for record in records] for name in records[0]}


def _upper(name: str, game: MinimaxResult) -> tuple[float | None, float | None]:
    """The upper bounds, which gradient descent on ListNet does not have."""
    return (game.upper_bound_here, game.upper_bound) if "perceptron" in name else (None, None)


def _is_between(name: str, game: MinimaxResult) -> bool:
    upper = _upper(name, game)[0]
    return game.lower_bound <= game.loss * (1.0 + 1e-9) and (upper is None or game.loss <= upper * (1.0 + 1e-9))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the game."""
    parser.add_argument(
        "--margin", type=float, default=0.1, metavar="G", help="rounds are about 1 / G^2 (default: 0.1, 99 rounds)"
    )
    parser.add_argument("--docs", type=int, default=2, metavar="N", help="documents of a round (default: 2)")
    parser.add_argument("--metric", default=_METRICS[0], help=f"one of {', '.join(_METRICS)} (default: {_METRICS[0]})")


def run(*, margin: float = 0.1, docs: int = 2, metric: str = "ndcg@10", progress: Progress | None = None) -> Minimax:
    """Play the game against the SLAM perceptron, the max-pair perceptron and online ListNet.

    Parameters
    ----------
    margin : float, default=0.1
        gamma of the game, of floor(1 / gamma^2) - 1 rounds.
    docs : int, default=2
        Documents of a round.
    metric : {"ndcg@10", "ndcg", "ap"}, default="ndcg@10"
        The measure that is lost.
    progress : Progress, optional
        A bar to move.

    Returns
    -------
    Minimax

    Notes
    -----
    Cost: for each learner rounds * docs * rounds, as a round has a feature of its own.

    References
    ----------
    Chaudhuri and Tewari (2017), Theorem 9 and Corollary 11.
    """
    from fastrank.bounds import perceptron, play  # here: the command line need not wait for the learners
    from fastrank.learners import OnlineRanker, RankingPerceptron
    from fastrank.losses import ListNet, MaxPair, Slam

    check_choice(metric, _METRICS, name="metric")
    check_count(docs, name="docs", least=2)
    constant = perceptron.slam_constant(1.0, 1.0)  # one relevant document: one weight, 1
    learners = {
        "SLAM perceptron": RankingPerceptron(Slam(metric), learning_rate=1.0 / constant, verbose=False),
        "max-pair perceptron": RankingPerceptron(MaxPair(), metric=metric, learning_rate=1.0, verbose=False),
        "online ListNet": OnlineRanker(ListNet(), metric=metric, learning_rate=1.0, verbose=False),
    }
    games = {}
    for number, (name, learner) in enumerate(learners.items(), start=1):
        games[name] = play(learner, MinimaxAdversary(margin, n_docs=docs), metric=metric)
        if progress is not None:
            progress.update(number / len(learners))
    return Minimax(games)
