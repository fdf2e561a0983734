"""Online gradient descent: a step in every round, schedules, the ball, averaging."""

from __future__ import annotations

import numpy as np
import pytest

import fastrank as fr
from fastrank.data import make_separable
from fastrank.learners import DivergenceWarning, OnlineRanker
from fastrank.losses import KernelLoss, ListNet, MaxPair, RankSVM, Slam, SquaredGain

LOSSES = [ListNet(), ListNet("gain"), RankSVM(), SquaredGain(), Slam("ndcg@10"), MaxPair()]


@pytest.fixture
def data(rng) -> fr.RankingDataset:
    X = rng.standard_normal((200, 5))
    y = np.clip(np.rint(X @ rng.standard_normal(5) + rng.standard_normal(200)), 0, 3)
    return fr.RankingDataset(X, y, qid=rng.integers(0, 30, 200))


def by_hand(data, loss, rates, ball=np.inf):
    w, iterates, surrogate, square = np.zeros(data.n_features), [], 0.0, 0.0
    for position, rate in zip(range(data.n_queries), rates, strict=True):
        query = data[position]
        iterates.append(w)
        f, g = loss.value_and_grad(query.X @ w, query)
        z = query.X.T @ g
        surrogate, square = surrogate + f[0], square + z @ z
        w = w - rate * z
        w = w * min(1.0, ball / max(np.linalg.norm(w), 1e-300))
    return w, np.mean(iterates, axis=0), surrogate, square


@pytest.mark.parametrize("loss", LOSSES, ids=str)
@pytest.mark.parametrize("schedule", ["constant", "invsqrt", "inverse"])
@pytest.mark.parametrize("ball", [None, 0.05])
def test_every_round_is_a_gradient_step(data, loss, schedule, ball):
    t = np.arange(1, data.n_queries + 1)
    rates = 0.02 / {"constant": np.ones(len(t)), "invsqrt": np.sqrt(t), "inverse": t}[schedule]
    w, mean, surrogate, square = by_hand(data, loss, rates, np.inf if ball is None else ball)
    model = OnlineRanker(loss, learning_rate=0.02, schedule=schedule, ball=ball, shuffle=False).fit(data)
    np.testing.assert_allclose(model.last_coef_, w, rtol=1e-9, atol=1e-14)
    np.testing.assert_allclose(model.coef_, mean, rtol=1e-9, atol=1e-14)
    history = model.history_
    assert (history.surrogate_sum, history.square_sum) == pytest.approx((surrogate, square))
    assert history.rate == (0.02 if schedule == "constant" else None)
    assert ball is None or np.linalg.norm(model.last_coef_) <= ball * (1 + 1e-12)
    last = OnlineRanker(loss, learning_rate=0.02, schedule=schedule, ball=ball, shuffle=False, average=False).fit(data)
    assert np.array_equal(last.coef_, model.last_coef_)
    # the regret of the run, as far as there is a theorem for it
    certificate = model.certificate_
    assert certificate.bounds[0].applies == (schedule == "constant" or ball is not None)
    assert certificate.holds
    assert (certificate.bound_scale is None) == (not loss.bounds("ndcg@10"))


def test_falling_rates_go_on_where_they_were(data):
    model = OnlineRanker(schedule="invsqrt", shuffle=False, n_epochs=2).fit(data)
    parts = OnlineRanker(schedule="invsqrt").partial_fit(data[:1]).partial_fit(data[1:]).partial_fit(data)
    assert np.array_equal(parts.coef_, model.coef_)
    assert np.array_equal(parts.history_.surrogate, model.history_.surrogate)


def test_default_is_listnet_and_learns():
    train, test = make_separable(300, random_state=0)[:200], make_separable(300, random_state=0)[200:]
    model = OnlineRanker().fit(train)
    assert np.array_equal(OnlineRanker(ListNet()).fit(train).coef_, model.coef_)
    assert fr.evaluate(test, model.predict(test), "ndcg@10").mean["ndcg@10"] > 0.999
    # the average of the iterates has less loss on new queries than a step less would have
    assert ListNet().value(model.predict(test), test).mean() < ListNet().value(np.zeros(test.n_rows), test).mean()


def test_a_kernel_of_ones_own(data):
    kernel = KernelLoss(MaxPair().kernel(data.plan))
    plain = OnlineRanker(MaxPair(), learning_rate=0.25).fit(data)
    assert np.array_equal(OnlineRanker(kernel, learning_rate=0.25).fit(data).coef_, plain.coef_)
    weighted = fr.RankingDataset(data.X, data.y, qid=data.row_qid(), query_weight=np.full(data.n_queries, 0.5))
    assert np.array_equal(OnlineRanker(kernel, learning_rate=0.5).fit(weighted).coef_, plain.coef_)


def test_a_rate_too_large_is_said():
    data = fr.RankingDataset([[1.0], [0.5]] * 400, [1, 0] * 400, group=[2] * 400)
    with pytest.warns(DivergenceWarning, match="beyond 1e150 in round .* at learning rate 100"):
        model = OnlineRanker(SquaredGain(), learning_rate=100.0).fit(data)
    assert np.isfinite(model.coef_).all()
    assert 0 < model.history_.n_rounds < 400
    assert np.isfinite(model.history_.surrogate).all()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"schedule": "cosine"}, "schedule: expected one of 'constant', 'invsqrt', 'inverse'"),
        ({"ball": 0.0}, "ball: expected a finite number greater than 0"),
        ({"metric": "err@10"}, "metric: expected 'ndcg', 'ndcg@k' or 'ap'"),
        ({"learning_rate": np.inf}, "learning_rate: expected a finite number greater than 0"),
    ],
)
def test_wrong_values_are_refused(data, parameters, message):
    with pytest.raises(ValueError, match=message):
        OnlineRanker(**parameters).fit(data)


def test_wrong_kinds_are_refused(data):
    with pytest.raises(TypeError, match="loss: expected a loss such as"):
        OnlineRanker("listnet").fit(data)
    with pytest.raises(TypeError, match="learning_rate: expected"):
        OnlineRanker(learning_rate="theory").fit(data)
