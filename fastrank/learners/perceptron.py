"""The ranking perceptrons: steps on mistake rounds only, and a bound on all that is ever lost."""

from __future__ import annotations

import math
import warnings

import numpy as np
from numpy.typing import NDArray

from fastrank._validation import check_real
from fastrank.bounds.perceptron import best_rate
from fastrank.data.dataset import RankingDataset
from fastrank.learners._certify import Constants, surrogate_sums
from fastrank.learners._measures import check_metric, recorded_metrics
from fastrank.learners._ranking import OnlineRankingModel
from fastrank.learners._rounds import QueryRounds, Rates, Rules
from fastrank.learners._warnings import DocumentNormWarning
from fastrank.losses import MaxPair, ScoreLoss, Slam
from fastrank.metrics.names import Metric

__all__ = ["RankingPerceptron"]


class RankingPerceptron(OnlineRankingModel):
    """Learn to rank from mistakes: a gradient step where a ranking was not perfect, nothing where it was.

    Round t shows the documents X_t of a query. They are ranked by X_t w_t, equal scores in the worst order, and

        w_{t+1} = w_t - learning_rate X_t^T g,  g a subgradient of the loss at X_t w_t,  if 1 - metric > 0,

    else w_{t+1} = w_t; w_1 = 0. As the loss bounds 1 - metric, the metric's cumulative loss is bounded, for separable
    queries by a constant: see `certificate_`.

    Parameters
    ----------
    loss : Slam or MaxPair, default=Slam("ndcg@10")
        `Slam` makes it the listwise perceptron of Algorithm 2 (Algorithm 1 of 2014 at rate 1), `MaxPair` that of
        Algorithm 3, which is optimal for separable queries and weak for others.
    metric : str or Metric, default=None
        "ndcg", "ndcg@k" or "ap": decides what a mistake is. None takes the one that the loss is made for, "ndcg@10" for
        MaxPair and weights of your own.
    learning_rate : float or "theory", default=0.1
        "theory" is 1 / A, A the constant of the bounds for this data, at which they hold; with `fit(comparator=u)` the
        rate at which the bound for u is least. The max-pair perceptron makes the same mistakes at every rate.
    n_epochs : int, default=1
        Rounds with each query in `fit`.
    shuffle : bool, default=True
        Draw the order of queries anew for each epoch of `fit`.
    average : bool, default=False
        Let `coef_` be the mean of all w_t instead of the last.
    document_norm : float, optional
        The largest norm of a document, where learning_rate="theory" cannot know it, in streams; documents that are
        longer are warned of.
    max_records : int, default=4096
        Points of the curves of `history_`.
    random_state : int or numpy Generator, default=0
        Seed of the shuffling.
    n_jobs : int or None, default=None
        Threads for checking data and for `predict`; None is 1, -1 all CPUs. Rounds have one: they follow each other.
    verbose : bool or None, default=None
        None shows a progress bar on a terminal where learning takes more than two seconds, True always, False never.

    Attributes
    ----------
    coef_, last_coef_ : ndarray of float64, shape (n_features_in_,)
        The weights w, and those after the last round.
    n_features_in_ : int
    history_ : OnlineHistory
        Totals and curves of the rounds.
    certificate_ : Certificate
        What the rounds lost, next to the bounds on it.
    learning_rate_ : float
        The rate as a number.

    Notes
    -----
    Cost: a round reads the query's rows once, twice where it was a mistake, and ranks it: O(m d + m log m). Of
    CSR rows only the stored entries are read; averaging adds O(n_features) to each round.

    **The rate.** The listwise perceptron depends on it. Only rates below 2 / A are certain to obey the bounds before
    the run; `certificate_` has one for any rate after it. Small rates, down to that of theory, all rank alike: every
    document is then within the margin, so that the rate only scales w. For features between 0 and 1, 0.1 is about the
    largest of them. On separable queries larger rates lose less, on others more.

    **Averaging.** Where queries are not separable the last w depends much on the last queries. To use the model on new
    queries, pass `average=True`; the rounds and their bounds stay the same.

    References
    ----------
    S. Chaudhuri and A. Tewari, "Perceptron-like algorithms for online learning to rank", 2014, Algorithm 1, Theorem 5,
    and 2017, Algorithms 2 and 3, Theorems 6, 8 and 10. The claim that the rate of the listwise perceptron does not
    matter (2014, section 5) is false.

    Examples
    --------
    >>> from fastrank.data import make_separable
    >>> model = RankingPerceptron(MaxPair()).fit(make_separable(500, random_state=0))
    >>> model.history_
    OnlineHistory(500 rounds, 21 mistakes, 21 updates, loss 2.00752, mean ndcg@10 0.9960, mean ap 0.9984)
    >>> model.certificate_.holds  # 4 R^2 / margin^2 and other bounds on that loss; print it to see them
    True
    """

    def __init__(
        self,
        loss: ScoreLoss | None = None,
        *,
        metric: str | Metric | None = None,
        learning_rate: float | str = 0.1,
        n_epochs: int = 1,
        shuffle: bool = True,
        average: bool = False,
        document_norm: float | None = None,
        max_records: int = 4096,
        random_state: int | np.random.Generator = 0,
        n_jobs: int | None = None,
        verbose: bool | None = None,
    ) -> None:
        self.loss = loss
        self.metric = metric
        self.learning_rate = learning_rate
        self.n_epochs = n_epochs
        self.shuffle = shuffle
        self.average = average
        self.document_norm = document_norm
        self.max_records = max_records
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _rules(self) -> Rules:
        loss = Slam("ndcg@10") if self.loss is None else self.loss
        if not isinstance(loss, Slam) and (not isinstance(loss, ScoreLoss) or loss.bound_scale is None):
            kind = TypeError if not isinstance(loss, ScoreLoss) else ValueError
            raise kind(
                f"loss: expected Slam(...) or MaxPair(), which bound the loss of a measure, got {loss}; use "
                "OnlineRanker, which steps in every round, for other losses"
            )
        own = loss.metric if isinstance(loss, Slam) else None
        metric = check_metric((own or Metric("ndcg", 10)) if self.metric is None else self.metric)
        if loss.bound_scale is not None and not loss.bounds(metric):
            raise ValueError(
                f"metric: expected a measure that {loss} bounds, got {metric.name!r}; pass "
                f"loss=Slam({metric.name!r}), MaxPair(), or use OnlineRanker"
            )
        return Rules(loss, recorded_metrics(metric), only_mistakes=True)

    def _rates(
        self, rules: Rules, data: RankingDataset | None = None, comparator: NDArray[np.float64] | None = None
    ) -> Rates:
        if not isinstance(self.learning_rate, str):
            return Rates(check_real(self.learning_rate, name="learning_rate", zero=False))
        if self.learning_rate != "theory":
            raise ValueError(f"learning_rate: expected a number above 0 or 'theory', got {self.learning_rate!r}")
        norm = self._document_norm()
        constants = Constants()
        if data is not None:
            constants.add(data, rules)
            if constants.is_weighted:
                raise ValueError(
                    "learning_rate: expected a number for data with weights, for which no theorem chooses a rate, got "
                    "'theory'"
                )
        elif norm is None or not isinstance(rules.loss, MaxPair):
            raise ValueError(
                "learning_rate: expected a number, as 'theory' needs all queries before the first round, or "
                "loss=MaxPair() and document_norm, got 'theory'; use fit, or pass for example learning_rate=0.1"
            )
        found = constants.of(rules, norm)
        if found is None:
            raise ValueError(
                f"learning_rate: expected a number for {rules.loss}, got 'theory', which knows Slam and MaxPair"
            )
        if data is None or comparator is None:
            eta = best_rate(0.0, 0.0, found[0])
        else:
            shown = np.full(data.n_queries, self.n_epochs, dtype=np.int32)
            surrogate = surrogate_sums(data, rules, shown, shown, comparator)(1.0)[0]
            eta = best_rate(surrogate, float(np.linalg.norm(comparator)), found[0])
        # without two grades or without features A is 0, and every rate is as good
        return Rates(eta if math.isfinite(eta) else 1.0)

    def _next_rates(self, rules: Rules) -> Rates:
        return Rates(self.learning_rate_) if self.learning_rate == "theory" else self._rates(rules)

    def _document_norm(self) -> float | None:
        if self.document_norm is None:
            return None
        return check_real(self.document_norm, name="document_norm", zero=False)

    def _inspect(self, rounds: QueryRounds) -> None:
        norm = self._document_norm()
        if norm is None or rounds.rows.n_rows == 0:
            return
        longest = math.sqrt(rounds.rows.largest_square(0, rounds.rows.n_rows))
        if longest > norm * (1.0 + 1e-12):
            warnings.warn(
                f"document_norm: expected no document longer than {norm:g}, got one of norm {longest:g}; what theory "
                "says for this rate does not hold",
                DocumentNormWarning,
                stacklevel=3,
            )
