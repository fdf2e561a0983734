"""The minimax game: what a deterministic online ranker is made to lose, between the lower and the upper bound."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fastrank.bounds.perceptron import margin_bound, max_pair_constant
from fastrank.data.adversary import MinimaxAdversary
from fastrank.metrics import evaluate, parse_metric

__all__ = ["MinimaxResult", "OnlineLearner", "play"]


class OnlineLearner(Protocol):
    """What can play: anything that scores documents and learns from one query at a time."""

    def predict(self, X: NDArray[np.float64]) -> Any:
        """Return a score per row of X."""

    def partial_fit(self, X: NDArray[np.float64], y: NDArray[np.int32], *, group: list[int]) -> Any:
        """Learn from the documents of one query."""


@dataclass(frozen=True)
class MinimaxResult:
    """A game that was played to its end.

    Attributes
    ----------
    metric : str
        The measure; equal scores count in the worst order.
    n_rounds : int
        T.
    margin, radius : float
        gamma and R: some vector of norm at most 1 ranks all rounds with the margin, and no document is longer than R.
    loss : float
        What the learner lost: sum of 1 - metric.
    loss_per_round : float
        What it had to lose in every round.
    lower_bound : float
        n_rounds * loss_per_round: no deterministic learner loses less in this game.
    upper_bound : float
        What the max-pair perceptron loses at most on rounds with this margin and radius, 4 R^2 / gamma^2.
    upper_bound_here : float
        The same with the margin that the rounds of this game in fact have, gamma / ||w*||.
    """

    metric: str
    n_rounds: int
    margin: float
    radius: float
    loss: float
    loss_per_round: float
    lower_bound: float
    upper_bound: float
    upper_bound_here: float

    def __str__(self) -> str:
        rows = [
            ("every deterministic learner loses at least", self.lower_bound),
            ("this learner lost", self.loss),
            ("the max-pair perceptron loses at most, in this game", self.upper_bound_here),
            ("the max-pair perceptron loses at most, at this margin", self.upper_bound),
        ]
        width = max(len(f"{value:,.2f}") for _, value in rows)
        title = f"{self.n_rounds:,} rounds, margin {self.margin:g}, radius {self.radius:g}, 1 - {self.metric.upper()}"
        return "\n".join([title, *(f"{name:<53}  {value:>{width},.2f}" for name, value in rows)])


def play(
    learner: OnlineLearner,
    game: MinimaxAdversary | None = None,
    *,
    metric: str = "ndcg@10",
    margin: float = 0.1,
    radius: float = 1.0,
) -> MinimaxResult:
    """Play the lower-bound game against a learner, and put what it lost between the bounds.

    Parameters
    ----------
    learner : object with predict(X) and partial_fit(X, y, group=[n])
        Not fitted yet: its scores in the first round are taken as zeros, and `predict` is called from the second on.
    game : MinimaxAdversary, optional
        A game that has not begun. Without it, one of two documents per round, with the margin and radius.
    metric : str, default="ndcg@10"
        "ap", "rr", "ndcg" or "ndcg@k".
    margin, radius : float
        gamma and R of the game; not used where `game` is given.

    Returns
    -------
    MinimaxResult

    Notes
    -----
    Cost: n_rounds calls of `predict` and `partial_fit`, on documents of n_rounds + 1 features.

    References
    ----------
    Chaudhuri and Tewari (2017), Theorem 9 for the lower bound, Corollary 11 for the upper.

    Examples
    --------
    >>> class Stubborn:
    ...     def predict(self, X):
    ...         return np.zeros(len(X))
    ...
    ...     def partial_fit(self, X, y, group):
    ...         return self
    >>> print(play(Stubborn(), margin=0.25, metric="ap"))
    15 rounds, margin 0.25, radius 1, 1 - AP
    every deterministic learner loses at least              7.50
    this learner lost                                       7.50
    the max-pair perceptron loses at most, in this game    16.00
    the max-pair perceptron loses at most, at this margin  64.00
    """
    chosen = parse_metric(metric)
    # MRR by another name: the theorem's rounds have one relevant document each
    per_round = MinimaxAdversary.loss_per_round_lower_bound("mrr" if chosen.name == "rr" else chosen.name)
    if game is None:
        game = MinimaxAdversary(margin, radius=radius)
    if game.n_played:
        raise ValueError(f"game: expected a game that has not begun, got {game!r}; pass a new one")
    for method in ("predict", "partial_fit"):
        if not callable(getattr(learner, method, None)):
            raise TypeError(f"learner: expected an object with {method}, got {learner!r}; pass an online learner")

    def score(X: NDArray[np.float64]) -> Any:
        return learner.predict(X) if game.n_played else np.zeros(len(X))

    def learn(X: NDArray[np.float64], y: NDArray[np.int32]) -> object:
        return learner.partial_fit(X, y, group=[len(y)])

    scores = game.play(score, learn)
    values = evaluate(game.dataset(sparse_features=True), scores, chosen, ties="worst").values
    return MinimaxResult(
        metric=chosen.name,
        n_rounds=game.n_rounds,
        margin=game.margin,
        radius=game.radius,
        loss=float(np.sum(1.0 - values)),
        loss_per_round=per_round,
        lower_bound=game.n_rounds * per_round,
        upper_bound=margin_bound(max_pair_constant(game.radius), game.margin),
        upper_bound_here=margin_bound(max_pair_constant(game.radius), game.margin / float(np.linalg.norm(game.w_star))),
    )
