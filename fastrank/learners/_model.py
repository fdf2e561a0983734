"""What all online learners share: one state, and what can be read off it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fastrank._validation import check_bool
from fastrank.bounds.certificate import Certificate
from fastrank.learners._bar import Bar
from fastrank.learners._estimator import LinearModel, NotFittedError, check_comparator, check_width, not_fitted
from fastrank.learners._rounds import Rates, Rounds, State, Tally, play, warn_of_divergence
from fastrank.learners.history import OnlineHistory


class OnlineModel(LinearModel):
    """A linear model learned round by round.

    Attributes
    ----------
    coef_ : ndarray of float64, shape (n_features_in_,)
        w after the last round; with `average=True` the mean of w_1, ..., w_T, each before its update.
    last_coef_ : ndarray of float64, shape (n_features_in_,)
        w after the last round.
    history_ : OnlineHistory
        The record of the rounds.
    certificate_ : Certificate
        What the rounds lost, next to what theory says they could lose; computed when first asked for.
    learning_rate_ : float
        The learning rate, of the first round where it varies.
    """

    average: bool
    n_jobs: int | None
    verbose: bool | None
    learning_rate_: float

    _state: State
    _tally: Tally | None = None  # None: not kept, or not all of it
    _source: Any = None  # where the certificate's rounds are: data, a path, sums collected on the way; or nowhere
    _certificate: Certificate | None = None

    def _current(self) -> State:
        if "_state" not in vars(self):
            raise not_fitted(self)
        return self._state

    @property
    def coef_(self) -> NDArray[np.float64]:
        """The weights."""
        state = self._current()
        mean = state.mean
        return state.w if mean is None else mean

    @property
    def last_coef_(self) -> NDArray[np.float64]:
        """The weights after the last round."""
        return self._current().w

    @property
    def n_features_in_(self) -> int:
        """Features of the data learned from."""
        return len(self._current().w)

    @property
    def history_(self) -> OnlineHistory:
        """The record of the rounds."""
        return self._current().history

    @property
    def certificate_(self) -> Certificate:
        """What the rounds lost, next to what theory says they could lose at most.

        After `fit` it is `certify` of the training data, to which a reference is kept until then (not in a pickle);
        after `fit_stream` of a file, which is read once more, or of any source with `comparator`.
        """
        state = self._current()
        if self._certificate is None:
            if self._source is None:
                raise NotFittedError(
                    "certificate_: expected the rounds at hand, got a model that no longer has them, as after "
                    "partial_fit, a pickle, or a stream that passed by; call certify(data) with all data learned from, "
                    "or give fit_stream a comparator"
                )
            self._certificate = self._certify_source(state, self._source)
            self._source = None
        return self._certificate

    def _vectors(self, state: State, comparator: ArrayLike | None) -> dict[str, NDArray[np.float64]]:
        """What to compare the run with: the vector given, or those that the run itself has."""
        if comparator is not None:
            return {"given vector": check_comparator(comparator, len(state.w))}
        mean = state.mean
        return {"last weights": state.w} | ({} if mean is None else {"averaged weights": mean})

    def _certify_source(self, state: State, source: Any) -> Certificate:
        raise NotImplementedError

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_source"}

    # Learning.

    def _begin(
        self, n_features: int, history: OnlineHistory, rate: float, source: Any, keeps_tally: bool = True
    ) -> None:
        """Forget everything and start at w = 0."""
        state = State.start(n_features, check_bool(self.average, name="average"), history)
        vars(self).update(
            _state=state,
            _tally=Tally() if keeps_tally else None,
            _source=source,
            _certificate=None,
            learning_rate_=rate,
        )

    def _counter(self) -> Tally:
        """Where rounds are counted, for good or for this once."""
        return Tally() if self._tally is None else self._tally

    def _go_on(self, n_features: int, history: OnlineHistory) -> None:
        """Check that more rounds fit those so far; what was certified is certified no longer."""
        state = self._current()
        check_width(n_features, len(state.w))
        if state.history.measures != history.measures:
            raise ValueError(
                f"metric: expected {state.history.measures[0]!r}, which the rounds so far were measured by, got "
                f"{history.measures[0]!r}; start anew with fit"
            )
        if (state.w_sum is not None) != check_bool(self.average, name="average"):
            raise ValueError(
                f"average: expected {state.w_sum is not None}, as in the rounds so far, got {self.average}; start anew "
                "with fit"
            )
        self._source = self._certificate = None

    def _learn(
        self,
        rounds: Rounds,
        order: NDArray[np.int64],
        rates: Rates,
        tally: Tally,
        first: int = 0,
        bar: Bar | None = None,
    ) -> bool:
        """Play rounds; tell whether learning may go on."""
        for state in play(rounds, self._state, order, rates, tally, first):
            self._state = state
            if bar is not None:
                bar.played(state.history.n_rounds)
        if self._state.diverged:
            warn_of_divergence(self._state, rates, stacklevel=3)
        return not self._state.diverged
