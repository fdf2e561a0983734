"""The opponent that no deterministic online ranker beats: it labels every round so that the ranking was wrong."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from fastrank._validation import check_bool, check_choice, check_count, check_real, check_vector
from fastrank.data.dataset import RankingDataset

__all__ = ["MinimaxAdversary"]

# Lets a margin such as 0.1, which binary floats cannot hold, count as the decimal it was written as.
_FLOOR_SLACK = 1e-12
_MAX_ROUNDS = 2**31


class MinimaxAdversary(Iterator[NDArray[np.float64]]):
    """Play the lower-bound game against a deterministic online ranker.

    Round i = 1, ..., T shows the documents (e_j is the j-th unit vector, R the radius)

        X_i = (R e_{i+1};  -R e_{i+1};  R e_1;  ...;  R e_1),

    takes the learner's scores, and then labels as the only relevant document the one of the first two that the learner
    did *not* put first. The learner is wrong in every round, and still one vector ranks all rounds correctly:

        w*_1     = -margin / (2 R),
        w*_{i+1} = +margin / (2 R) if the first document of round i is the relevant one, else -margin / (2 R).

    Parameters
    ----------
    margin : float
        What w* keeps between the relevant document and every other one (Eq. 21).
    radius : float
        R, the norm of every document.
    n_docs : int
        Documents per round, at least 2.
    n_features : int, optional
        Dimension of the documents, at least n_rounds + 1, which is the default.
    extended : bool
        False plays the paper's T = floor(R^2 / margin^2) - 1 rounds, which leave ||w*|| <= 1/2. True plays
        T = floor(4 R^2 / margin^2) - 1 rounds, which use up ||w*|| <= 1.

    Attributes
    ----------
    margin, radius, n_docs, n_features, extended
        As given.
    n_rounds : int
        T, also `len(game)`.
    n_played : int
        Rounds labelled so far.
    w_star : ndarray of shape (n_features,)
        The separating vector of the rounds played so far.
    scores : ndarray of shape (n_played * n_docs,)
        The learner's scores, one per row of `dataset()`.

    Raises
    ------
    ValueError
        If an argument is out of range, if the margin is too large for a single round, or if `n_features` is too small.
    TypeError
        If an argument is of the wrong kind.

    Notes
    -----
    **Ties.** Equal scores of the first two documents count as the first one put first, so the second becomes relevant.
    With the rule `index` (a stable sort) the first document then stands above the relevant one; with `worst` all
    documents tied with the relevant one stand above it, whichever was chosen. Under both rules the relevant document
    is at rank 2 or below in every round, so 1 - AP >= 1/2 and 1 - NDCG >= 1 - 1/log2(3). Under `mean` a learner that
    ties the two loses at least half of that, and under `best` it may lose nothing: see `loss_per_round_lower_bound`.

    A learner that outputs a ranking instead of scores passes minus the ranks. A learner that draws random numbers
    is not bound by the theorem, but the labels still depend on what it did, and the loss of every round is as above.

    **Exactness.** Each row has one non-zero entry and the entries of w* are rounded away from zero where needed, so the
    scores X_i w* have the margin exactly, in floating point, in every round. Where w* must have norm 1, divide it by
    its norm: the margin then is margin / ||w*||, never smaller. The ratio under the floor is rounded up by one part in
    10^12, so that radius 1 and margin 0.1 give 100 - 1 rounds.

    Cost O(n_docs * n_features) per round; `dataset()` holds all rounds, dense unless asked otherwise.

    References
    ----------
    Chaudhuri and Tewari (2017), Theorem 9 and Eq. 25. The printed proof sets entry i of w* by the labels of round i; it
    is entry i + 1 that belongs to them.

    Examples
    --------
    >>> game = MinimaxAdversary(margin=0.25)
    >>> w = np.zeros(game.n_features)
    >>> for X in game:
    ...     y = game.label(X @ w)
    ...     w += X[y.argmax()] - X[1 - y.argmax()]
    >>> game.n_played
    15
    """

    def __init__(
        self,
        margin: float = 0.1,
        *,
        radius: float = 1.0,
        n_docs: int = 2,
        n_features: int | None = None,
        extended: bool = False,
    ) -> None:
        self.margin = check_real(margin, name="margin", zero=False)
        self.radius = check_real(radius, name="radius", zero=False)
        self.n_docs = check_count(n_docs, name="n_docs", least=2)
        self.extended = check_bool(extended, name="extended")
        quotient = (2.0 if self.extended else 1.0) * self.radius / self.margin
        ratio = quotient * quotient * (1.0 + _FLOOR_SLACK)
        if ratio >= _MAX_ROUNDS:
            raise ValueError(
                f"margin: expected a game of fewer than 2^31 rounds at radius {self.radius:g}, got {self.margin:g}; "
                "raise the margin or lower the radius"
            )
        self.n_rounds = math.floor(ratio) - 1
        if self.n_rounds < 1:
            largest = self.radius * math.sqrt(2.0 if self.extended else 0.5)
            more = "" if self.extended else ", or pass extended=True, which allows twice that"
            raise ValueError(
                f"margin: expected at most {largest:.6g} for one round at radius {self.radius:g}, got {self.margin:g}; "
                f"lower the margin or raise the radius{more}"
            )
        if n_features is None:
            self.n_features = self.n_rounds + 1
        else:
            self.n_features = check_count(n_features, name="n_features")
            if self.n_features <= self.n_rounds:
                raise ValueError(
                    f"n_features: expected at least {self.n_rounds + 1} (one per round and one more), "
                    f"got {self.n_features}; raise n_features, raise the margin or lower the radius"
                )

        weight = self.margin / (2.0 * self.radius)
        while self.radius * weight < 0.5 * self.margin:
            weight = math.nextafter(weight, math.inf)
        self._weight = weight
        self._first_relevant: list[bool] = []
        self._scores: list[NDArray[np.float64]] = []
        self._waiting = False

    def __len__(self) -> int:
        """Return the number of rounds of the whole game."""
        return self.n_rounds

    def __iter__(self) -> MinimaxAdversary:
        """Return the game itself; it goes on where it stands."""
        return self

    def __next__(self) -> NDArray[np.float64]:
        """Return the documents of the next round, a fresh array of shape (n_docs, n_features)."""
        if self._waiting:
            raise RuntimeError(
                f"label: expected the scores of round {self.n_played + 1} before the next round, got none; "
                "call label(scores) once per round"
            )
        if self.n_played >= self.n_rounds:
            raise StopIteration
        self._waiting = True
        X = np.zeros((self.n_docs, self.n_features))
        X[0, self.n_played + 1] = self.radius
        X[1, self.n_played + 1] = -self.radius
        X[2:, 0] = self.radius
        return X

    def label(self, scores: ArrayLike) -> NDArray[np.int32]:
        """Take the learner's scores of the current round and return the grades that make it wrong.

        Parameters
        ----------
        scores : array_like of shape (n_docs,)
            Finite scores; larger means higher in the ranking.

        Returns
        -------
        ndarray of shape (n_docs,), int32
            1 for the second document if scores[0] >= scores[1], else for the first; 0 for all others.

        Raises
        ------
        RuntimeError
            If no round is waiting for scores.
        ValueError
            If there is not one finite score per document.
        """
        if not self._waiting:
            raise RuntimeError(
                "label: expected a round that waits for scores, got none; take the documents of a round first, "
                "with next(game) or a for loop"
            )
        given = check_vector(scores, self.n_docs, name="scores", per="one score per row of X").copy()
        first_relevant = bool(given[0] < given[1])
        self._scores.append(given)
        self._first_relevant.append(first_relevant)
        self._waiting = False
        y = np.zeros(self.n_docs, dtype=np.int32)
        y[0 if first_relevant else 1] = 1
        return y

    def play(
        self,
        score_fn: Callable[[NDArray[np.float64]], ArrayLike],
        update_fn: Callable[[NDArray[np.float64], NDArray[np.int32]], object] | None = None,
    ) -> NDArray[np.float64]:
        """Play all remaining rounds against a learner.

        Parameters
        ----------
        score_fn : callable
            Maps the documents X (n_docs, n_features) of a round to scores (n_docs,).
        update_fn : callable, optional
            Called as update_fn(X, y) with the grades after every round; its result is not used.

        Returns
        -------
        ndarray of shape (n_played * n_docs,)
            The attribute `scores`: the learner's scores, one per row of `dataset()`.
        """
        for X in self:
            y = self.label(score_fn(X))
            if update_fn is not None:
                update_fn(X, y)
        return self.scores

    @property
    def n_played(self) -> int:
        """The number of rounds labelled so far."""
        return len(self._first_relevant)

    @property
    def scores(self) -> NDArray[np.float64]:
        """The learner's scores of the rounds played so far, one per row of `dataset()`."""
        return np.concatenate(self._scores) if self._scores else np.empty(0)

    @property
    def w_star(self) -> NDArray[np.float64]:
        """The vector that ranks all rounds played so far with the margin; 0 for features not yet seen.

        Its norm is sqrt(n_played + 1) * margin / (2 * radius): at most 1/2 at the end of the game, at most 1 at the
        end of an extended one.
        """
        w = np.zeros(self.n_features)
        w[0] = -self._weight
        w[1 : self.n_played + 1] = np.where(self._first_relevant, self._weight, -self._weight)
        return w

    def dataset(self, *, sparse_features: bool = False) -> RankingDataset:
        """Return the rounds played so far, one query each (qid 0, 1, ...).

        Parameters
        ----------
        sparse_features : bool
            Whether X is a CSR array (one entry per row) instead of a dense one.

        Returns
        -------
        RankingDataset
            n_played * n_docs rows; `w_star` separates it with `margin`, and no row is longer than `radius`.

        Raises
        ------
        RuntimeError
            If no round has been played.
        """
        sparse_features = check_bool(sparse_features, name="sparse_features")
        if self.n_played == 0:
            raise RuntimeError("dataset: expected at least one labelled round, got none; play the game first")
        n_rows = self.n_played * self.n_docs
        column = np.zeros((self.n_played, self.n_docs), dtype=np.int64)
        column[:, :2] = np.arange(1, self.n_played + 1)[:, np.newaxis]
        value = np.full((self.n_played, self.n_docs), self.radius)
        value[:, 1] = -self.radius
        y = np.zeros((self.n_played, self.n_docs), dtype=np.int32)
        y[np.arange(self.n_played), np.where(self._first_relevant, 0, 1)] = 1
        shape = (n_rows, self.n_features)
        X: Any
        if sparse_features:
            X = scipy.sparse.csr_array((value.ravel(), column.ravel(), np.arange(n_rows + 1)), shape=shape)
        else:
            X = np.zeros(shape)
            X[np.arange(n_rows), column.ravel()] = value.ravel()
        return RankingDataset(X, y.ravel(), qptr=np.arange(0, n_rows + 1, self.n_docs, dtype=np.int64))

    @staticmethod
    def loss_per_round_lower_bound(measure: str, *, ties: str = "worst") -> float:
        """Return the least loss, 1 - measure, that any learner suffers in every round.

        Parameters
        ----------
        measure : str
            "ap" or "map", "mrr", "ndcg", or "ndcg@k" with k >= 1, upper or lower case. NDCG discounts by
            1 / log2(1 + rank); a discount that does not fall from rank 1 to rank 2 has no such bound.
        ties : {"worst", "index", "mean", "best"}
            How the measure ranks equal scores.

        Returns
        -------
        float
            For `worst` and `index`: 1/2 for AP and MRR, 1 - 1/log2(3) for NDCG and NDCG@k with k >= 2, 1 for NDCG@1.
            Half of it for `mean`, 0 for `best`.

        Raises
        ------
        ValueError
            If the measure or the tie rule is not one of these.
        TypeError
            If the measure is not a string.
        """
        check_choice(ties, ("worst", "index", "mean", "best"), name="ties")
        if not isinstance(measure, str):
            raise TypeError(f"measure: expected 'ap', 'mrr', 'ndcg' or 'ndcg@k', got {measure!r}")
        found = re.fullmatch(r"(?:(ap|map|mrr)|ndcg(?:@([1-9][0-9]*))?)", measure.lower())
        if found is None:
            raise ValueError(f"measure: expected 'ap', 'map', 'mrr', 'ndcg' or 'ndcg@k' with k >= 1, got {measure!r}")
        # The best the learner can do is to have its one relevant document at rank 2.
        if found[1]:
            loss = 0.5
        elif found[2] == "1":
            loss = 1.0
        else:
            loss = 1.0 - 1.0 / math.log2(3.0)
        return loss * {"worst": 1.0, "index": 1.0, "mean": 0.5, "best": 0.0}[ties]

    def __repr__(self) -> str:
        """Say what is played and how far it is."""
        return (
            f"MinimaxAdversary(margin={self.margin:g}, radius={self.radius:g}, n_docs={self.n_docs}, "
            f"n_features={self.n_features}, extended={self.extended}, played {self.n_played} of {self.n_rounds} rounds)"
        )
