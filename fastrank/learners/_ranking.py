"""Online ranking: the same three ways to learn for every loss and every rule."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Sized
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fastrank._progress import Progress
from fastrank._validation import check_bool, check_count, check_random_state, plural
from fastrank.bounds.certificate import Certificate
from fastrank.data.dataset import RankingDataset
from fastrank.learners._bar import Bar
from fastrank.learners._certify import Constants, PassingSums, certificate, comparators, separating_vector
from fastrank.learners._estimator import RankingModel, as_dataset, check_comparator
from fastrank.learners._model import OnlineModel
from fastrank.learners._rounds import QueryRounds, Rates, Rules, State, Tally
from fastrank.learners._stream import is_path, query_chunks
from fastrank.learners._warnings import NothingToLearnWarning
from fastrank.learners.history import OnlineHistory
from fastrank.losses._base import ScoreLoss


class _Training(NamedTuple):
    """The data of a fit, and what to compare the run with."""

    data: RankingDataset
    comparator: NDArray[np.float64] | None


class _File(NamedTuple):
    """The file of a stream, and how it was read."""

    path: str
    chunk_rows: int
    n_features: int | None


class _Passed(NamedTuple):
    """What was collected while a stream passed by."""

    constants: Constants
    sums: list[PassingSums]


class OnlineRankingModel(RankingModel, OnlineModel):
    """A linear ranker learned query by query; what subclasses add is how (`_rules`, `_rates`)."""

    loss: ScoreLoss | None
    n_epochs: int
    shuffle: bool
    max_records: int
    random_state: int | np.random.Generator

    _loss_so_far: ScoreLoss | None  # None where it changed between rounds

    def _rules(self) -> Rules:
        """The parameters, checked."""
        raise NotImplementedError

    def _rates(
        self, rules: Rules, data: RankingDataset | None = None, comparator: NDArray[np.float64] | None = None
    ) -> Rates:
        """The learning rates, fixed before the first round; without data those of a stream."""
        raise NotImplementedError

    def _next_rates(self, rules: Rules) -> Rates:
        """The learning rates of a run that goes on."""
        return self._rates(rules)

    def _inspect(self, rounds: QueryRounds) -> None:
        """Look at rows before they are learned from."""

    def _history(self, rules: Rules) -> OnlineHistory:
        return OnlineHistory([metric.name for metric in rules.metrics], self.max_records)

    # Three ways to learn.

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        qid: Any = None,
        group: Any = None,
        sample_weight: Any = None,
        query_weight: Any = None,
        comparator: ArrayLike | None = None,
    ) -> Self:
        """Learn anew, from w = 0: `n_epochs` rounds with each query, in an order drawn for each epoch.

        Parameters
        ----------
        X : RankingDataset, or array, CSR matrix or data frame of shape (n_rows, n_features)
        y : array-like of shape (n_rows,), or str
            Grades, or the frame column that holds them. None with a data set, as all that follows.
        qid : array-like of shape (n_rows,), or str, optional
            The query of each row, in any order.
        group : array-like of int, optional
            Number of rows of each query, instead of qid.
        sample_weight : array-like of shape (n_rows,), optional
            Row weights: they multiply the terms of the loss in which the row is the document that should stand higher.
        query_weight : array-like of shape (n_queries,) or mapping from qid, optional
            Multiply the loss of a query, and so its step.
        comparator : array-like of shape (n_features,), optional
            A vector that `certificate_` compares the run with, instead of the best it can find; with
            learning_rate="theory" also the one for which the rate is chosen.

        Returns
        -------
        self

        Warns
        -----
        DivergenceWarning
            If scores leave the range of numbers; the weights before that round are kept.
        NothingToLearnWarning
            If no query has two grades, or features never tell documents apart.

        Notes
        -----
        Ctrl-C leaves a whole model, that of the rounds played until then.
        """
        data = as_dataset(
            X,
            y,
            qid=qid,
            group=group,
            sample_weight=sample_weight,
            query_weight=query_weight,
            n_jobs=self.n_jobs,
        )
        u = None if comparator is None else check_comparator(comparator, data.n_features)
        n_epochs, shuffle = check_count(self.n_epochs, name="n_epochs"), check_bool(self.shuffle, name="shuffle")
        rng = check_random_state(self.random_state)
        rules = self._rules()
        rates = self._rates(rules, data, u)
        rounds = QueryRounds(data, rules)
        self._inspect(rounds)
        self._start(data.n_features, rules, rates, _Training(data, u))
        tally = self._counter()
        tally.room(data.n_queries)
        with Bar(type(self).__name__, n_epochs * data.n_queries, self.verbose) as bar:
            for _ in range(n_epochs):
                order = rng.permutation(data.n_queries) if shuffle else np.arange(data.n_queries)
                if not self._learn(rounds, order, rates, tally, bar=bar):
                    break
        self._warn_of_nothing(has_pairs(data))
        return self

    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        *,
        qid: Any = None,
        group: Any = None,
        sample_weight: Any = None,
        query_weight: Any = None,
    ) -> Self:
        """Go on learning, or begin: one round with each query, in the order given.

        Parameters
        ----------
        X, y, qid, group, sample_weight, query_weight
            As in `fit`; one query or many.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For another number of features or another measure than in the rounds so far, and as `fit`.

        Notes
        -----
        The bits are the same however queries are divided into calls. Rounds are numbered on, and so are rates that
        fall. Afterwards `certify(data)` needs all data so far, in the order in which they were given.
        """
        data = as_dataset(
            X,
            y,
            qid=qid,
            group=group,
            sample_weight=sample_weight,
            query_weight=query_weight,
            n_jobs=self.n_jobs,
        )
        rules = self._rules()
        if "_state" in vars(self):
            rates = self._next_rates(rules)
            self._go_on(data.n_features, self._history(rules))
            self._loss_so_far = rules.loss if rules.loss == self._loss_so_far else None
        else:
            rates = self._rates(rules)
            self._start(data.n_features, rules, rates, None)
        rounds = QueryRounds(data, rules)
        self._inspect(rounds)
        tally = self._counter()
        self._learn(rounds, np.arange(data.n_queries), rates, tally, tally.room(data.n_queries))
        return self

    def fit_stream(
        self,
        source: Any,
        *,
        n_features: int | None = None,
        chunk_rows: int = 4096,
        progress: Progress | None = None,
        comparator: ArrayLike | None = None,
    ) -> Self:
        """Learn anew from queries as they come, one round with each: from a file larger than memory, or an iterator.

        Parameters
        ----------
        source : path, or iterable of Query or of pairs (X, y)
            A LETOR file (plain or gzip), learned from while it is read; for other ways to read it pass
            `iter_letor(path, ...)`. A pair holds the documents and grades of one query.
        n_features : int, optional
            Without it the first query decides, or the first lines of the file; a sparse X may become wider from query
            to query, with weights that begin at 0.
        chunk_rows : int, default=4096
            Rows that are gathered before they are learned from. The result does not depend on it.
        progress : Progress, optional
            A bar to move, where the source is a file or has a length.
        comparator : array-like of shape (n_features,), optional
            A vector to compare the run with: its sums are collected on the way, so that `certificate_` needs the rounds
            no more.

        Returns
        -------
        self

        Raises
        ------
        DataFormatError
            For a file that is broken, with its line. What came before it has been learned and is kept.
        ValueError, TypeError
            For a source without a query, and for queries that do not fit, with their number. What came before is kept
            too.

        Notes
        -----
        The bits are those of `fit` with one epoch and shuffle=False on the same rows. Memory: the chunk, and the
        weights; for a file also 8 bytes per query, for the certificate.
        """
        chunk_rows = check_count(chunk_rows, name="chunk_rows")
        rules = self._rules()
        rates = self._rates(rules)
        u = None if comparator is None else check_comparator(comparator)
        file = _File(os.fspath(source), chunk_rows, n_features) if is_path(source) else None
        passed = None if u is None else _Passed(Constants(), [PassingSums("given vector", u)])
        begun = any_pairs = False
        n_rounds = len(source) if file is None and isinstance(source, Sized) else None
        with Bar(type(self).__name__, n_rounds, self.verbose, progress) as bar:
            for data in query_chunks(
                source, chunk_rows=chunk_rows, n_features=n_features, n_jobs=self.n_jobs, progress=bar
            ):
                if not begun:
                    self._start(data.n_features, rules, rates, file, keeps_tally=file is not None)
                    begun = True
                elif data.n_features > len(self._state.w):
                    self._state = self._state.widened(data.n_features)
                rounds = QueryRounds(data, rules)
                self._inspect(rounds)
                tally = self._counter()
                first = tally.room(data.n_queries)
                may_go_on = self._learn(rounds, np.arange(data.n_queries), rates, tally, first, bar)
                if passed is not None:
                    add_passed(passed, data, rules, tally, first)
                any_pairs = any_pairs or has_pairs(data)
                if not may_go_on:
                    break
        if not begun:
            raise ValueError("source: expected at least one query, got none")
        if passed is not None:
            self._source = passed
        self._warn_of_nothing(any_pairs)
        return self

    def _start(self, n_features: int, rules: Rules, rates: Rates, source: Any, keeps_tally: bool = True) -> None:
        self._begin(n_features, self._history(rules), rates.eta, source, keeps_tally)
        self._loss_so_far = rules.loss

    def _warn_of_nothing(self, any_pairs: bool) -> None:
        history = self._state.history
        if not any_pairs:
            reason = "no query has documents of two different grades; is y constant, or qid different in every row?"
        elif history.n_mistakes and not history.n_updates and not self._state.diverged:
            reason = "the features never tell documents of a query apart; are they all zero, or equal in a query?"
        else:
            return
        warnings.warn(f"nothing to learn: {reason}", NothingToLearnWarning, stacklevel=3)

    # What the theory says.

    def certify(
        self, data: RankingDataset | str | os.PathLike[str], comparator: ArrayLike | None = None
    ) -> Certificate:
        """Put what the rounds lost next to what theory says they could lose at most.

        Parameters
        ----------
        data : RankingDataset or path
            All data learned from: that of `fit`, then that of each `partial_fit`, in the order given; or the file of
            `fit_stream`, which is read in chunks.
        comparator : array-like of shape (n_features,), optional
            A vector to compare with, at the length that suits the bounds best. Without it the best of what is at hand:
            a separating direction, if there is one and X has at most two million entries, w after the last round, and
            the mean of all w where `average=True`.

        Returns
        -------
        Certificate
            Printed, a table of bounds.

        Raises
        ------
        ValueError
            For other data than those learned from, as far as their numbers tell, and for rounds with different losses.

        Notes
        -----
        Cost: a pass over the data for each vector, and about 20 evaluations of the loss. With row or query weights the
        bounds are about the weighted surrogate, no longer about the measure.

        References
        ----------
        Chaudhuri and Tewari (2014), Theorem 5, Corollaries 6 and 7; Chaudhuri and Tewari (2017), Theorems 1, 6, 8, 10
        and Corollaries 7, 11. See `fastrank.bounds.perceptron` for their formulas, as corrected.
        """
        state = self._current()
        if is_path(data):
            return self._certify_file(state, _File(os.fspath(data), 4096, self.n_features_in_), comparator)
        if not isinstance(data, RankingDataset):
            raise TypeError(f"data: expected a RankingDataset or the path of a LETOR file, got {type(data).__name__}")
        rules, tally = self._certifiable()
        if (data.n_queries, data.n_features) != (len(tally), len(state.w)):
            raise ValueError(
                f"data: expected the {plural(len(tally), 'query')} of {plural(len(state.w), 'feature')} learned from, "
                f"got {plural(data.n_queries, 'query')} of {plural(data.n_features, 'feature')}; pass all of them, in "
                "the order given"
            )
        constants = Constants()
        constants.add(data, rules)
        vectors = self._vectors(state, comparator)
        if comparator is None:
            vectors |= separating_vector(data)
        return certificate(
            state.history, rules, constants, comparators(data, rules, tally.shown, tally.stepped, vectors)
        )

    def _certify_source(self, state: State, source: Any) -> Certificate:
        if isinstance(source, _Training):
            return self.certify(*source)
        if isinstance(source, _File):
            return self._certify_file(state, source, None)
        passed: _Passed = source
        candidates = [one for sums in passed.sums for one in sums.comparators()]
        return certificate(state.history, self._rules(), passed.constants, candidates)

    def _certify_file(self, state: State, file: _File, comparator: ArrayLike | None) -> Certificate:
        rules, tally = self._certifiable()
        vectors = self._vectors(state, comparator)
        passed = _Passed(Constants(), [PassingSums(name, u) for name, u in vectors.items()])
        first = 0
        for data in self._first_queries(file, len(tally)):
            add_passed(passed, data, rules, tally, first)
            first += data.n_queries
        if first < len(tally):
            raise ValueError(
                f"data: expected {plural(len(tally), 'query')} in {file.path}, as when it was learned from, got "
                f"{first:,}; has the file changed?"
            )
        candidates = [one for sums in passed.sums for one in sums.comparators()]
        return certificate(state.history, rules, passed.constants, candidates)

    def _first_queries(self, file: _File, n_queries: int) -> Iterator[RankingDataset]:
        """As many queries of the file as were learned from: learning may have ended before the file did."""
        left = n_queries
        if left == 0:
            return
        for data in query_chunks(file.path, chunk_rows=file.chunk_rows, n_features=file.n_features, n_jobs=self.n_jobs):
            yield data if data.n_queries <= left else data[:left]
            left -= data.n_queries
            if left <= 0:
                return

    def _certifiable(self) -> tuple[Rules, Tally]:
        rules = self._rules()
        if self._tally is None:
            raise ValueError(
                "certify: expected a run whose rounds were counted, got a stream that passed by; give fit_stream a "
                "comparator, or learn with fit, partial_fit or from a file"
            )
        if self._loss_so_far != rules.loss:
            raise ValueError(f"loss: expected the same in all rounds and now, got {rules.loss}; start anew with fit")
        return rules, self._tally


def add_passed(passed: _Passed, data: RankingDataset, rules: Rules, tally: Tally, first: int) -> None:
    """Count in the rounds with the queries of a chunk, which the tally has from `first` on."""
    passed.constants.add(data, rules)
    own = slice(first, first + data.n_queries)
    for sums in passed.sums:
        sums.add(data, rules, tally.shown[own], tally.stepped[own])


def has_pairs(data: RankingDataset) -> bool:
    """Tell whether some query has documents of two grades."""
    return bool((np.diff(data.plan.level_ptr) > 1).any())
