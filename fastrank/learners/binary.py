"""The perceptron for two classes, as the ranking perceptrons are told from it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fastrank._core import _online
from fastrank._threads import resolve_n_jobs
from fastrank._validation import Matrix, check_bool, check_count, check_matrix, check_random_state, check_real, plural
from fastrank.bounds.certificate import Certificate, Comparator, certify_rounds
from fastrank.bounds.perceptron import classification_constant
from fastrank.learners._bar import Bar
from fastrank.learners._estimator import check_width
from fastrank.learners._model import OnlineModel
from fastrank.learners._rounds import Block, Rates, State
from fastrank.learners.history import OnlineHistory
from fastrank.objectives._rows import rows_of

__all__ = ["BinaryPerceptron"]


class BinaryPerceptron(OnlineModel):
    """Learn to tell two classes apart from mistakes.

    Round t shows a row x_t with its class y_t = -1 or 1:

        w_{t+1} = w_t + learning_rate y_t x_t  if y_t w_t . x_t <= 0, else w_{t+1} = w_t;  w_1 = 0.

    So a score of 0 is a mistake. There is no intercept: add a column of ones for one.

    Parameters
    ----------
    learning_rate : float, default=1.0
        Scales w and changes no prediction.
    n_epochs : int, default=1
        Rounds with each row in `fit`.
    shuffle : bool, default=True
        Draw the order of rows anew for each epoch of `fit`.
    average : bool, default=False
        Let `coef_` be the mean of all w_t instead of the last.
    max_records : int, default=4096
        Points of the curves of `history_`.
    random_state : int or numpy Generator, default=0
        Seed of the shuffling.
    n_jobs : int or None, default=None
        Threads for checking X and for predictions; None is 1, -1 all CPUs.
    verbose : bool or None, default=None
        None shows a progress bar on a terminal where learning takes more than two seconds, True always, False never.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The labels of the negative and of the positive class.
    coef_, last_coef_ : ndarray of float64, shape (n_features_in_,)
        The weights w, and those after the last round.
    n_features_in_ : int
    history_ : OnlineHistory
        Totals and curves; the measure is "accuracy", the surrogate the hinge loss max(0, 1 - y w . x) of mistakes.
    certificate_ : Certificate
        The mistakes, next to the bounds on their number.

    Notes
    -----
    Cost: O(d) per row. With a margin gamma and rows no longer than R there are at most R^2 / gamma^2 mistakes, in
    however many rounds.

    References
    ----------
    S. Chaudhuri and A. Tewari, "Online learning to rank with perceptron-like algorithms", 2017, Algorithm 1, Theorem 1.

    Examples
    --------
    >>> X = [[1.0, 0.2], [-1.0, 0.3], [0.8, -0.1], [-0.9, -0.4]]
    >>> model = BinaryPerceptron().fit(X, [1, 0, 1, 0])
    >>> model.predict(X).tolist(), model.history_.n_mistakes
    ([1, 0, 1, 0], 1)
    """

    def __init__(
        self,
        *,
        learning_rate: float = 1.0,
        n_epochs: int = 1,
        shuffle: bool = True,
        average: bool = False,
        max_records: int = 4096,
        random_state: int | np.random.Generator = 0,
        n_jobs: int | None = None,
        verbose: bool | None = None,
    ) -> None:
        self.learning_rate = learning_rate
        self.n_epochs = n_epochs
        self.shuffle = shuffle
        self.average = average
        self.max_records = max_records
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Learn anew, from w = 0: `n_epochs` rounds with each row.

        Parameters
        ----------
        X : array or CSR matrix, shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
            Both of -1 and 1, or both of 0 and 1.

        Returns
        -------
        self

        Warns
        -----
        DivergenceWarning
            If scores leave the range of numbers; the weights before that round are kept.
        """
        matrix, labels = self._check_X(X), np.asarray(y)
        classes = _classes(labels)
        if len(np.unique(labels)) < 2:
            raise ValueError(f"y: expected rows of two classes, got {labels[0]} only; add rows of the other")
        rounds = _RowRounds(matrix, _signs(labels, matrix.shape[0], classes))
        n_epochs, shuffle = check_count(self.n_epochs, name="n_epochs"), check_bool(self.shuffle, name="shuffle")
        rng, rates, n_rows = check_random_state(self.random_state), self._rates(), matrix.shape[0]
        self._start(matrix.shape[1], classes, rates, source=(matrix, labels))
        tally = self._counter()
        tally.room(n_rows)
        with Bar(type(self).__name__, n_epochs * n_rows, self.verbose) as bar:
            for _ in range(n_epochs):
                order = rng.permutation(n_rows) if shuffle else np.arange(n_rows)
                if not self._learn(rounds, order, rates, tally, bar=bar):
                    break
        return self

    def partial_fit(self, X: Any, y: ArrayLike, classes: ArrayLike | None = None) -> Self:
        """Go on learning, or begin: one round with each row, in the order given.

        Parameters
        ----------
        X, y
            As in `fit`; rows of one class will do.
        classes : array-like of shape (2,), optional
            [-1, 1] or [0, 1], where the first rows are all of class 1: without it the other is then -1.

        Returns
        -------
        self
        """
        matrix, labels, rates = self._check_X(X), np.asarray(y), self._rates()
        if "_state" in vars(self):
            self._go_on(matrix.shape[1], self._history())
        else:
            self._start(matrix.shape[1], _classes(labels if classes is None else np.asarray(classes)), rates)
        rounds = _RowRounds(matrix, _signs(labels, matrix.shape[0], self.classes_))
        tally = self._counter()
        self._learn(rounds, np.arange(matrix.shape[0]), rates, tally, tally.room(matrix.shape[0]))
        return self

    def fit_stream(self, source: Iterable[tuple[Any, ArrayLike]], *, classes: ArrayLike | None = None) -> Self:
        """Learn anew from batches of rows as they come, one round with each row.

        Parameters
        ----------
        source : iterable of pairs (X, y)
        classes : array-like of shape (2,), optional
            As in `partial_fit`.

        Returns
        -------
        self

        Notes
        -----
        The bits are those of `fit` with one epoch and shuffle=False on the same rows. Only one batch is held.
        """
        if isinstance(source, (str, os.PathLike)) or not isinstance(source, Iterable):
            raise TypeError(f"source: expected an iterable of pairs (X, y), got {source!r}")
        vars(self).pop("_state", None)
        for X, y in source:
            self.partial_fit(X, y, classes)
            self._tally = None  # a stream may be endless
            if self._state.diverged:
                break
        if "_state" not in vars(self):
            raise ValueError("source: expected at least one batch of rows, got none")
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the score w . x of each row; above 0 is the positive class."""
        return self._linear_scores(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of each row, as labels were given; a score of 0 is the negative class."""
        is_positive = self.decision_function(X) > 0.0
        labels: NDArray[Any] = self.classes_[is_positive.astype(np.intp)]
        return labels

    def certify(self, X: Any, y: ArrayLike, comparator: ArrayLike | None = None) -> Certificate:
        """Put the number of mistakes next to the bounds on it.

        Parameters
        ----------
        X, y
            All rows learned from, in the order given.
        comparator : array-like of shape (n_features,), optional
            A vector to compare with; without it w after the last round, and the mean of all w where `average=True`.

        Returns
        -------
        Certificate

        References
        ----------
        Chaudhuri and Tewari (2017), Theorem 1 and Corollary 2.
        """
        state = self._current()
        if self._tally is None:
            raise ValueError("certify: expected a run whose rounds were counted, got a stream; use fit or partial_fit")
        matrix = self._check_X(X)
        check_width(matrix.shape[1], len(state.w))
        if matrix.shape[0] != len(self._tally):
            raise ValueError(f"X: expected the {plural(len(self._tally), 'row')} learned from, got {matrix.shape[0]:,}")
        rows, signs = rows_of(matrix), _signs(np.asarray(y), matrix.shape[0], self.classes_)
        counts = np.stack([self._tally.shown, self._tally.stepped]).astype(np.float64)
        radius = float(np.sqrt(rows.largest_square(0, rows.n_rows)))

        def candidate(name: str, u: NDArray[np.float64]) -> Comparator:
            scores = np.empty(rows.n_rows)
            rows.scores_into(u, 0, rows.n_rows, scores)
            scores *= signs
            norm = float(np.linalg.norm(u))
            margin = float(scores.min()) / norm if norm > 0.0 else 0.0

            def sums(scale: float) -> tuple[float, float]:
                over_all, over_steps = counts @ np.maximum(0.0, 1.0 - scale * scores)
                return float(over_all), float(over_steps)

            return Comparator(name, norm, sums, margin=margin if margin > 0.0 else None)

        history = state.history
        return certify_rounds(
            kind="classification",
            metric_name="accuracy",
            n_rounds=history.n_rounds,
            n_mistakes=history.n_mistakes,
            n_updates=history.n_updates,
            observed_loss=history.loss,
            surrogate_sum=history.surrogate_sum,
            square_sum=history.square_sum,
            rate=history.rate,
            radius=radius,
            constant=classification_constant(radius),
            paper_constant=classification_constant(radius),
            bound_scale=1.0,
            candidates=[candidate(name, u) for name, u in self._vectors(state, comparator).items()],
        )

    def _certify_source(self, state: State, source: Any) -> Certificate:
        return self.certify(*source)

    def _check_X(self, X: Any) -> Matrix:
        matrix = check_matrix(X, n_threads=resolve_n_jobs(self.n_jobs))
        if 0 in matrix.shape:
            raise ValueError(f"X: expected at least one row and one feature, got shape {matrix.shape}")
        return matrix

    def _rates(self) -> Rates:
        return Rates(check_real(self.learning_rate, name="learning_rate", zero=False))

    def _history(self) -> OnlineHistory:
        return OnlineHistory(["accuracy"], self.max_records)

    def _start(self, n_features: int, classes: NDArray[Any], rates: Rates, source: Any = None) -> None:
        self._begin(n_features, self._history(), rates.eta, source)
        self.classes_ = classes


class _RowRounds:
    """Rounds that show a row each."""

    def __init__(self, X: Matrix, signs: NDArray[np.float64]) -> None:
        self._rows, self._signs = rows_of(X), signs
        self.sizes = np.ones(len(signs), dtype=np.int64)

    def run(
        self,
        order: NDArray[np.int64],
        rates: NDArray[np.float64],
        w: NDArray[np.float64],
        w_sum: NDArray[np.float64] | None,
    ) -> Block:
        """Show the rows at these positions; see `Rounds.run`."""
        n_rounds = len(order)
        hinge, square, mistakes = np.zeros(n_rounds), np.zeros(n_rounds), np.zeros(n_rounds, dtype=np.uint8)
        n_played = _online.run_binary(self._rows, self._signs, order, rates, w, w_sum, hinge, square, mistakes)
        is_mistake = mistakes > 0
        accuracy = np.where(is_mistake, 0.0, 1.0)[np.newaxis]
        return Block(n_played, accuracy, hinge, square, is_mistake & (square > 0.0), is_mistake)


def _classes(labels: NDArray[Any]) -> NDArray[Any]:
    """The two classes that labels are of, in the type of the labels."""
    if labels.ndim != 1 or labels.dtype.kind not in "fiub" or len(labels) == 0:
        raise TypeError(
            f"y: expected a vector of -1 and 1, or of 0 and 1, got shape {labels.shape} and dtype {labels.dtype}"
        )
    found = np.unique(labels)
    for negative in (-1, 0):
        if set(found.tolist()) <= {negative, 1} and (negative == 0 or labels.dtype.kind in "fi"):
            return np.array([negative, 1]).astype(labels.dtype)
    raise ValueError(f"y: expected labels -1 and 1, or 0 and 1, got {', '.join(map(str, found[:5]))}")


def _signs(labels: NDArray[Any], n_rows: int, classes: NDArray[Any]) -> NDArray[np.float64]:
    """-1 or 1 for each row."""
    if labels.shape != (n_rows,):
        raise ValueError(f"y: expected {plural(n_rows, 'label')}, one per row of X, got shape {labels.shape}")
    known = np.isin(labels, classes)
    if not known.all():
        row = int(np.argmin(known))
        raise ValueError(f"y: expected labels {classes[0]} and {classes[1]}, got {labels[row]} in row {row}")
    return np.where(labels == classes[1], 1.0, -1.0)
