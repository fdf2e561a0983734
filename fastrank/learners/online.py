"""Online gradient descent on any loss, with its online-to-batch average."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fastrank._validation import check_choice, check_real
from fastrank.data.dataset import RankingDataset
from fastrank.learners._measures import check_metric, recorded_metrics
from fastrank.learners._ranking import OnlineRankingModel
from fastrank.learners._rounds import SCHEDULES, Rates, Rules
from fastrank.losses import ListNet, ScoreLoss
from fastrank.metrics.names import Metric

__all__ = ["OnlineRanker"]


class OnlineRanker(OnlineRankingModel):
    """Learn to rank by a gradient step with every query.

    Round t = 1, 2, ... shows the documents X_t of a query:

        w_{t+1} = P(w_t - eta_t X_t^T g),  g a (sub)gradient of the loss at X_t w_t,

    w_1 = 0, P the projection onto the ball ||w|| <= ball. With `average` the model is the mean of w_1, ..., w_T, whose
    expected loss on new queries exceeds that of any u in the ball by at most G W R sqrt(2 / T), at the best constant
    rate: G is `loss.lipschitz()`, W the radius of the ball, R the largest norm of a document.

    Parameters
    ----------
    loss : ScoreLoss, default=ListNet()
        Any loss of `fastrank.losses`, or one of your own.
    metric : str or Metric, default="ndcg@10"
        "ndcg", "ndcg@k" or "ap": what the record counts as loss. It plays no part in learning.
    learning_rate : float, default=0.1
        eta.
    schedule : {"constant", "invsqrt", "inverse"}, default="constant"
        eta_t = eta, eta / sqrt(t) or eta / t.
    ball : float or None, default=None
        Radius W of the ball that w is kept in.
    n_epochs : int, default=1
        Rounds with each query in `fit`.
    shuffle : bool, default=True
        Draw the order of queries anew for each epoch of `fit`.
    average : bool, default=True
        Let `coef_` be the mean of all w_t instead of the last.
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
        What the rounds lost, next to the regret bound on it.
    learning_rate_ : float
        eta as a number.

    Notes
    -----
    Cost: a round reads the query's rows twice, the second time from the cache, and ranks it: O(m d + m log m).
    Of CSR rows only the stored entries are read; averaging and the ball add O(n_features) to each round.

    **The rate.** For ListNet and features between 0 and 1, rates from 0.03 to 0.3 rank alike; from 3 on learning goes
    astray. The larger the features, the smaller the rate should be. Averaging makes up for a rate that is too large.

    References
    ----------
    S. Chaudhuri and A. Tewari, "Online learning to rank with perceptron-like algorithms", 2017, section 8 (online
    ListNet). A. Tewari and S. Chaudhuri, "Generalization error bounds for learning to rank: does the length of document
    lists matter?", 2015, Theorem 5 (averaging). M. Zinkevich, "Online convex programming and generalized infinitesimal
    gradient ascent", 2003.

    Examples
    --------
    >>> from fastrank.data import make_separable
    >>> model = OnlineRanker().fit(make_separable(500, random_state=0))
    >>> model.history_.n_updates
    500
    """

    def __init__(
        self,
        loss: ScoreLoss | None = None,
        *,
        metric: str | Metric = "ndcg@10",
        learning_rate: float = 0.1,
        schedule: str = "constant",
        ball: float | None = None,
        n_epochs: int = 1,
        shuffle: bool = True,
        average: bool = True,
        max_records: int = 4096,
        random_state: int | np.random.Generator = 0,
        n_jobs: int | None = None,
        verbose: bool | None = None,
    ) -> None:
        self.loss = loss
        self.metric = metric
        self.learning_rate = learning_rate
        self.schedule = schedule
        self.ball = ball
        self.n_epochs = n_epochs
        self.shuffle = shuffle
        self.average = average
        self.max_records = max_records
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _rules(self) -> Rules:
        loss = ListNet() if self.loss is None else self.loss
        if not isinstance(loss, ScoreLoss):
            raise TypeError(f"loss: expected a loss such as fastrank.losses.ListNet(), got {loss!r}")
        ball = np.inf if self.ball is None else check_real(self.ball, name="ball", zero=False)
        return Rules(loss, recorded_metrics(check_metric(self.metric)), only_mistakes=False, ball=ball)

    def _rates(
        self, rules: Rules, data: RankingDataset | None = None, comparator: NDArray[np.float64] | None = None
    ) -> Rates:
        eta = check_real(self.learning_rate, name="learning_rate", zero=False)
        return Rates(eta, check_choice(self.schedule, SCHEDULES, name="schedule"))
