"""The ranking perceptrons and the one for two classes: Algorithms 1 to 3 of Chaudhuri and Tewari (2017)."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from scipy import sparse

import fastrank as fr
from fastrank.bounds import perceptron as bounds
from fastrank.bounds.minimax import play
from fastrank.data import MinimaxAdversary, make_separable
from fastrank.learners import (
    BinaryPerceptron,
    DivergenceWarning,
    DocumentNormWarning,
    NotFittedError,
    NothingToLearnWarning,
    OnlineRanker,
    RankingPerceptron,
)
from fastrank.losses import ListNet, MaxPair, RankSVM, Slam

LOSSES = [Slam("ndcg@10"), Slam("ndcg@3", margin=0.5), Slam("ap"), Slam("ndcg"), MaxPair()]


@pytest.fixture
def noisy(rng) -> fr.RankingDataset:
    """Queries that nothing separates, in mixed row order, with lists of one grade among them."""
    X = rng.standard_normal((300, 6))
    y = np.clip(np.rint(X @ rng.standard_normal(6) + rng.standard_normal(300)), 0, 3)
    return fr.RankingDataset(X, y, qid=rng.integers(0, 40, 300))


def by_hand(data, loss, metric, rate, order, *, only_mistakes=True):
    """The algorithm as it is printed, one query at a time."""
    w, lost, surrogate, square, n_updates = np.zeros(data.n_features), 0.0, 0.0, 0.0, 0
    iterates = []
    for q in order:
        query = data[int(q)]
        iterates.append(w)
        scores = query.X @ w
        value = fr.evaluate(query, scores, metric, ties="worst", empty=1).values[0, 0]
        lost += 1 - value
        if 1 - value >= 1e-12 or not only_mistakes:
            f, g = loss.value_and_grad(scores, query)
            z = query.X.T @ g
            surrogate, square, n_updates = surrogate + f[0], square + z @ z, n_updates + bool(z.any())
            w = w - rate * z
    return w, np.mean(iterates, axis=0), (lost, surrogate, square, n_updates)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_fit_is_the_algorithm_of_the_paper(noisy, loss):
    metric = "ndcg@10" if loss == MaxPair() else loss.metric
    order = np.random.default_rng(3).permutation(noisy.n_queries)
    w, mean, (lost, surrogate, square, n_updates) = by_hand(noisy, loss, metric, 0.2, order)
    model = RankingPerceptron(loss, learning_rate=0.2, random_state=3, average=True).fit(noisy)
    np.testing.assert_allclose(model.last_coef_, w, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.coef_, mean, rtol=1e-9, atol=1e-12)
    history = model.history_
    assert (history.n_rounds, history.n_updates) == (noisy.n_queries, n_updates)
    assert n_updates < noisy.n_queries
    assert (history.loss, history.surrogate_sum, history.square_sum) == pytest.approx((lost, surrogate, square))


def test_epochs_draw_one_order_after_the_other(noisy):
    rng = np.random.default_rng(0)
    order = np.concatenate([rng.permutation(noisy.n_queries) for _ in range(3)])
    w, _, _ = by_hand(noisy, Slam("ndcg@10"), "ndcg@10", 0.1, order)
    model = RankingPerceptron(n_epochs=3).fit(noisy)
    np.testing.assert_allclose(model.coef_, w, rtol=1e-9, atol=1e-12)
    assert np.array_equal(
        RankingPerceptron(n_epochs=3, random_state=np.random.default_rng(0)).fit(noisy).coef_, model.coef_
    )
    assert not np.array_equal(RankingPerceptron(n_epochs=3, random_state=1).fit(noisy).coef_, model.coef_)
    once = model.coef_
    assert np.array_equal(model.fit(noisy).coef_, once)  # a fresh start


def test_partial_fit_goes_on_in_the_order_given(noisy):
    whole = RankingPerceptron(shuffle=False, n_epochs=2).fit(noisy)
    parts = RankingPerceptron().partial_fit(noisy).partial_fit(noisy[:7])
    for query in noisy[7:]:
        parts.partial_fit(query.X, query.y, group=[len(query.y)])
    assert np.array_equal(parts.coef_, whole.coef_)
    assert {name: values.tolist() for name, values in parts.history_.columns().items()} == {
        name: values.tolist() for name, values in whole.history_.columns().items()
    }


def test_max_pair_does_not_depend_on_the_rate(noisy):
    one = RankingPerceptron(MaxPair(), learning_rate=1.0, n_epochs=2).fit(noisy)
    for rate in (2.0**-20, 0.5, 8.0):
        other = RankingPerceptron(MaxPair(), learning_rate=rate, n_epochs=2).fit(noisy)
        assert np.array_equal(other.coef_, rate * one.coef_)
        assert np.array_equal(other.history_.mistakes, one.history_.mistakes)
    slow = RankingPerceptron(Slam("ndcg@10"), learning_rate=2.0**-20).fit(noisy)
    fast = RankingPerceptron(Slam("ndcg@10"), learning_rate=8.0).fit(noisy)
    assert not np.array_equal(slow.history_.cumulative_loss, fast.history_.cumulative_loss)


def test_dense_sparse_and_single_precision_agree(noisy):
    X = np.where(noisy.X > 0, noisy.X, 0).astype(np.float32)
    dense = noisy.with_X(X)
    models = [RankingPerceptron().fit(data) for data in (dense, noisy.with_X(sparse.csr_array(X)))]
    models.append(RankingPerceptron().fit(noisy.with_X(X.astype(np.float64))))
    for model in models[1:]:
        np.testing.assert_allclose(model.coef_, models[0].coef_, rtol=1e-12)
        np.testing.assert_allclose(model.predict(X), models[0].predict(sparse.csr_array(X)), rtol=1e-12)


def test_scores_are_in_the_order_of_the_rows(noisy):
    model = RankingPerceptron().fit(noisy)
    scores = model.predict(noisy)
    np.testing.assert_allclose(scores, noisy.X @ model.coef_, rtol=1e-12)
    assert scores.dtype == np.float64
    assert np.array_equal(model.predict(noisy.X), scores)
    assert np.array_equal(model.set_params(n_jobs=2).predict(noisy.X), scores)
    assert model.predict(np.empty((0, 6))).shape == (0,)
    arrays = RankingPerceptron().fit(noisy.X, noisy.y, qid=noisy.row_qid())
    assert np.array_equal(arrays.coef_, model.coef_)
    assert (model.n_features_in_, model.history_.measures) == (6, ("ndcg@10", "ap"))


def test_weights_of_queries_and_rows_scale_the_step(noisy):
    plain = RankingPerceptron(learning_rate=0.25, average=True)
    double = RankingPerceptron(learning_rate=0.5, average=True).fit(noisy)
    by_query = fr.RankingDataset(noisy.X, noisy.y, qid=noisy.row_qid(), query_weight=np.full(noisy.n_queries, 2.0))
    by_row = fr.RankingDataset(noisy.X, noisy.y, qid=noisy.row_qid(), sample_weight=np.full(noisy.n_rows, 2.0))
    for data in (by_query, by_row):
        model = plain.fit(data)
        assert np.array_equal(model.coef_, double.coef_)
        assert model.history_.surrogate_sum == 2 * double.history_.surrogate_sum
        assert model.history_.square_sum == 4 * double.history_.square_sum
        certificate = model.certificate_
        assert certificate.kind == "regret"  # of the weighted surrogate, which bounds no measure
        assert certificate.bound_scale is None
        assert certificate.holds
    ignored = np.arange(noisy.n_queries) % 2
    half = RankingPerceptron(shuffle=False).fit(
        noisy.X, noisy.y, qid=noisy.row_qid(), query_weight=ignored.astype(np.float64)
    )
    assert np.array_equal(half.coef_, RankingPerceptron(shuffle=False).fit(noisy[ignored == 1]).coef_)
    with pytest.raises(ValueError, match="learning_rate: expected a number for data with weights"):
        RankingPerceptron(learning_rate="theory").fit(by_row)


# What theory says.


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_theory_is_one_over_the_constant_and_its_bounds_hold(noisy, loss):
    model = RankingPerceptron(loss, learning_rate="theory", n_epochs=2).fit(noisy)
    radius = math.sqrt((noisy.X**2).sum(axis=1).max())
    constant = (
        bounds.max_pair_constant(radius, loss.margin)
        if isinstance(loss, MaxPair)
        else bounds.slam_constant(radius, loss.weight_statistics(noisy.plan).constant, loss.margin)
    )
    assert model.learning_rate_ == pytest.approx(1 / constant)
    certificate = model.certificate_
    assert certificate.constant == pytest.approx(constant)
    if isinstance(loss, Slam):
        places = min(noisy.sizes.max(), loss.metric.k or 10**6)
        v_max = loss.weight_statistics(noisy.plan).v_max
        paper = bounds.slam_constant_paper(radius, int(places), v_max, loss.margin)
        assert certificate.paper_constant == pytest.approx(paper)
    assert (certificate.n_rounds, certificate.n_updates) == (2 * noisy.n_queries, model.history_.n_updates)
    assert certificate.observed_loss == model.history_.loss
    assert certificate.holds
    assert certificate.bounds[0].value < certificate.n_rounds
    assert model.certificate_ is certificate  # computed once
    given = model.certify(noisy, comparator=3 * model.last_coef_)
    assert given.comparator in ("given vector", "the zero vector")
    assert given.holds


def test_theory_with_a_comparator_takes_its_best_rate(noisy):
    u = np.linalg.lstsq(noisy.X, noisy.y, rcond=None)[0]
    model = RankingPerceptron(learning_rate="theory", n_epochs=3).fit(noisy, comparator=u)
    plain = RankingPerceptron(learning_rate="theory").fit(noisy)
    surrogate = 3 * Slam("ndcg@10").value(noisy.X @ u, noisy).sum()
    expected = bounds.best_rate(surrogate, np.linalg.norm(u), 1 / plain.learning_rate_)
    assert model.learning_rate_ == pytest.approx(expected)
    assert model.learning_rate_ < plain.learning_rate_
    assert "given" in model.certificate_.comparator or model.certificate_.comparator == "the zero vector"
    assert model.certificate_.holds


@pytest.mark.parametrize("loss", [Slam("ndcg@10"), Slam("ap"), MaxPair()], ids=str)
def test_separable_queries_lose_a_constant(loss):
    data = make_separable(400, n_docs=6, n_features=5, n_grades=2, margin=0.5, random_state=1)
    model = RankingPerceptron(loss, learning_rate="theory", n_epochs=3, average=True).fit(data)
    certificate = model.certificate_
    assert certificate.margin > 0.5
    assert certificate.holds
    assert not certificate.vacuous
    assert certificate.n_rounds == 1200
    perfect = RankingPerceptron(loss, learning_rate=1.0, n_epochs=3).fit(data)
    assert fr.evaluate(data, perfect.predict(data), "ap", ties="worst", empty=1).mean["ap"] == 1.0
    assert len(perfect.history_.round) == 1200
    assert perfect.history_.mistakes[399] == perfect.history_.mistakes[-1]  # none after the first epoch


@pytest.mark.parametrize("extended", [False, True])
def test_the_adversary_wins_every_round_and_no_more(extended):
    game = MinimaxAdversary(0.125, n_docs=4, extended=extended)
    learner = RankingPerceptron(MaxPair(), metric="ap")
    result = play(learner, game, metric="ap")
    assert result.lower_bound <= result.loss <= result.upper_bound
    history = learner.history_
    assert (history.n_rounds, history.n_mistakes) == (game.n_rounds, game.n_rounds)
    assert history.loss == pytest.approx(result.loss)
    certificate = learner.certify(game.dataset(), comparator=game.w_star)
    assert certificate.margin == pytest.approx(0.125 / np.linalg.norm(game.w_star))
    assert certificate.holds
    with pytest.raises(NotFittedError, match="call certify.data. with all data"):
        learner.certificate_  # noqa: B018


def test_certify_wants_the_data_and_the_loss_of_the_rounds(noisy):
    model = RankingPerceptron().partial_fit(noisy[:10]).partial_fit(noisy[10:])
    assert model.certify(fr.RankingDataset.concatenate([noisy[:10], noisy[10:]])).holds
    with pytest.raises(ValueError, match="data: expected the .* queries of 6 features learned from"):
        model.certify(noisy[:10])
    with pytest.raises(TypeError, match="data: expected a RankingDataset or the path"):
        model.certify(noisy.X)
    with pytest.raises(ValueError, match="comparator: expected a vector other than 0"):
        model.certify(noisy, np.zeros(6))
    once = RankingPerceptron(shuffle=False).fit(noisy)
    assert once.certificate_.n_rounds == noisy.n_queries
    once.partial_fit(noisy[:1])  # rounds that are not in it
    with pytest.raises(NotFittedError, match="certificate_: expected the rounds at hand"):
        once.certificate_  # noqa: B018
    model.set_params(loss=Slam("ndcg@10", margin=2.0)).partial_fit(noisy[:1])
    with pytest.raises(ValueError, match="loss: expected the same in all rounds"):
        model.certify(fr.RankingDataset.concatenate([noisy, noisy[:1]], keys=[0, 1]))


def test_weights_of_ones_own_bound_no_measure(noisy):
    model = RankingPerceptron(Slam([1.0, 0.5, 0.25]), n_epochs=2).fit(noisy)
    assert model.history_.measures[0] == "ndcg@10"
    assert (model.certificate_.kind, model.certificate_.bound_scale) == ("regret", None)
    assert model.certificate_.holds


def test_a_pickle_has_the_model_and_not_the_data(noisy):
    model = RankingPerceptron(Slam("ap"), average=True).fit(noisy)
    size = len(pickle.dumps(RankingPerceptron(Slam("ap"), average=True).fit(noisy[:30])))
    copy = pickle.loads(pickle.dumps(model))
    assert len(pickle.dumps(model)) < 2 * size
    assert np.array_equal(copy.coef_, model.coef_)
    assert copy.get_params() == model.get_params()
    with pytest.raises(AttributeError, match="certificate_: expected the rounds at hand"):
        copy.certificate_  # noqa: B018
    assert copy.certify(noisy) == model.certificate_
    assert pickle.loads(pickle.dumps(model)).certificate_ == model.certificate_
    copy.partial_fit(noisy[:5])
    assert copy.history_.n_rounds == model.history_.n_rounds + 5


# Parameters and mistakes.


def test_parameters_are_stored_and_checked_at_fit(noisy):
    loss = Slam("ap")
    model = RankingPerceptron(loss, learning_rate=-1, metric="nonsense")
    assert model.get_params()["loss"] is loss
    assert model.set_params(learning_rate=0.5, metric="ap") is model
    assert repr(model) == "RankingPerceptron(loss=Slam('ap2017', margin=1), metric='ap', learning_rate=0.5)"
    assert repr(RankingPerceptron()) == "RankingPerceptron()"
    with pytest.raises(ValueError, match="set_params: expected some of loss, metric, .* got 'lr'"):
        model.set_params(average=True, lr=1)
    assert model.average is False


def test_clones_of_scikit_learn(noisy):
    clone = pytest.importorskip("sklearn.base").clone
    for model in (RankingPerceptron(MaxPair(), n_epochs=2), OnlineRanker(ListNet()), BinaryPerceptron(average=True)):
        assert clone(model).get_params() == model.get_params()
        assert clone(model) is not model


@pytest.mark.parametrize(
    ("loss", "metric", "found"),
    [
        (None, None, "ndcg@10"),
        (Slam("ndcg"), None, "ndcg"),
        (Slam("map2014"), None, "ap"),
        (MaxPair(), None, "ndcg@10"),
        (MaxPair(), "MAP", "ap"),
        (MaxPair(), "ndcg_cut_5", "ndcg@5"),
        (Slam([1.0]), None, "ndcg@10"),
        (Slam([1.0]), "ap", "ap"),
    ],
)
def test_the_measure_that_decides(noisy, loss, metric, found):
    assert RankingPerceptron(loss, metric=metric).fit(noisy).history_.measures[0] == found


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"loss": ListNet()}, "loss: expected Slam.* got ListNet.*use OnlineRanker"),
        ({"loss": RankSVM()}, "use OnlineRanker"),
        ({"metric": "ap"}, "metric: expected a measure that Slam.* bounds, got 'ap'"),
        ({"metric": "ndcg@5"}, "bounds, got 'ndcg@5'"),
        ({"loss": MaxPair(), "metric": "ap@10"}, "metric: expected 'ndcg', 'ndcg@k' or 'ap'"),
        ({"loss": MaxPair(), "metric": "mrr"}, "metric: expected 'ndcg', 'ndcg@k' or 'ap'"),
        ({"loss": MaxPair(), "metric": "ap(rel=2)"}, "got 'ap.rel=2.'"),
        ({"learning_rate": 0.0}, "learning_rate: expected a finite number greater than 0"),
        ({"learning_rate": "best"}, "learning_rate: expected a number above 0 or 'theory'"),
        ({"n_epochs": 0}, "n_epochs: expected an integer of at least 1"),
        ({"max_records": 1}, "max_records: expected an integer of at least 2"),
        ({"document_norm": -1.0}, "document_norm: expected a finite number greater than 0"),
    ],
)
def test_wrong_values_are_refused(noisy, parameters, message):
    with pytest.raises(ValueError, match=message):
        RankingPerceptron(**parameters).fit(noisy)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"loss": "slam"}, "loss: expected Slam"),
        ({"shuffle": 1}, "shuffle: expected True or False"),
        ({"average": None}, "average: expected True or False"),
        ({"random_state": None}, "random_state: expected an integer seed"),
        ({"learning_rate": True}, "learning_rate: expected"),
    ],
)
def test_wrong_kinds_are_refused(noisy, parameters, message):
    with pytest.raises(TypeError, match=message):
        RankingPerceptron(**parameters).fit(noisy)


def test_data_that_do_not_fit_are_refused(noisy):
    model = RankingPerceptron()
    for call in (lambda: model.predict(noisy), lambda: model.coef_, lambda: model.history_, lambda: model.certificate_):
        with pytest.raises(NotFittedError, match="RankingPerceptron: expected a fitted model"):
            call()
    assert not hasattr(model, "coef_")
    with pytest.raises(ValueError, match="y: expected None with a RankingDataset"):
        model.fit(noisy, noisy.y)
    with pytest.raises(ValueError, match="y: expected the grades"):
        model.fit(noisy.X, qid=noisy.row_qid())
    with pytest.raises(ValueError, match="qid: expected the query of each row"):
        model.fit(noisy.X, noisy.y)
    with pytest.raises(ValueError, match="X: expected at least one document"):
        model.fit(np.empty((0, 3)), [], group=[])
    with pytest.raises(ValueError, match="comparator: expected 6 values"):
        model.fit(noisy, comparator=[1.0])
    missing = fr.RankingDataset(np.full((2, 1), np.nan), [0, 1], group=[2], allow_nan=True)
    with pytest.raises(ValueError, match="X: expected finite values, got nan"):
        model.fit(missing)
    assert not hasattr(model, "coef_")
    model.fit(noisy)
    with pytest.raises(ValueError, match="X: expected 6 features, as in the data learned from, got 2"):
        model.predict(np.zeros((3, 2)))
    with pytest.raises(ValueError, match="X: expected 6 features"):
        model.partial_fit(np.zeros((3, 2)), [0, 1, 0], group=[3])
    with pytest.raises(ValueError, match="X: expected finite values"):
        model.predict(np.full((1, 6), np.inf))
    with pytest.raises(ValueError, match="metric: expected 'ndcg@10', which the rounds so far"):
        model.set_params(loss=Slam("ap")).partial_fit(noisy)
    with pytest.raises(ValueError, match="average: expected False, as in the rounds so far"):
        model.set_params(loss=None, average=True).partial_fit(noisy)


def test_theory_needs_all_queries_before_the_first_round(noisy):
    model = RankingPerceptron(learning_rate="theory")
    with pytest.raises(ValueError, match="learning_rate: expected a number, as 'theory' needs all queries"):
        model.partial_fit(noisy)
    with pytest.raises(ValueError, match="'theory' needs all queries"):
        model.set_params(document_norm=9.0).fit_stream(noisy)
    rate = model.fit(noisy).learning_rate_
    assert rate < RankingPerceptron(learning_rate="theory").fit(noisy).learning_rate_
    assert model.partial_fit(noisy[:3]).history_.rate == rate  # it goes on at the rate it has
    model = RankingPerceptron(MaxPair(), learning_rate="theory", document_norm=9.0).fit_stream(noisy)
    assert model.learning_rate_ == 1 / (4 * 81)
    with pytest.warns(DocumentNormWarning, match="no document longer than 0.5, got one of norm"):
        model.set_params(document_norm=0.5).partial_fit(noisy)


def test_divergence_keeps_the_weights_before_it(noisy):
    # the margin makes the surrogate's steps the same in every round: it is the features that run away
    X = noisy.X.copy()
    X[noisy.rows_of(20)] *= 1e155
    data = noisy.with_X(X)
    model = RankingPerceptron(shuffle=False, n_epochs=2)
    with pytest.warns(DivergenceWarning, match="in round 2[0-9], at learning rate 0.1; .*Lower learning_rate"):
        model.fit(data)
    n_rounds = model.history_.n_rounds
    assert 20 <= n_rounds < 30
    assert np.isfinite(model.coef_).all()
    assert np.array_equal(model.coef_, RankingPerceptron().partial_fit(data[:n_rounds]).coef_)


def test_nothing_to_learn_is_said(noisy):
    with pytest.warns(NothingToLearnWarning, match="no query has documents of two different grades"):
        model = RankingPerceptron().fit(noisy.X, np.ones(noisy.n_rows), qid=noisy.row_qid())
    assert not model.coef_.any()
    assert model.history_.n_mistakes == 0
    with pytest.warns(NothingToLearnWarning, match="features never tell documents of a query apart"):
        model = RankingPerceptron(learning_rate="theory").fit(noisy.with_X(np.zeros((noisy.n_rows, 2))))
    assert not model.coef_.any()
    assert model.history_.n_mistakes > 0
    assert model.certificate_.holds
    with pytest.warns(NothingToLearnWarning, match="no query has documents"):
        RankingPerceptron().fit_stream([([[1.0]], [1]), ([[2.0]], [0])])


# Two classes.


def test_classification_is_algorithm_1(rng):
    X = rng.standard_normal((200, 4))
    y = np.where(X @ [1.0, -2.0, 0.5, 0.0] + 0.3 * rng.standard_normal(200) > 0, 1, 0)
    w, w_sum, mistakes = np.zeros(4), np.zeros(4), 0
    for x, label in zip(X, 2 * y - 1, strict=True):
        w_sum += w
        if label * (x @ w) <= 0:
            w, mistakes = w + 0.5 * label * x, mistakes + 1
    model = BinaryPerceptron(learning_rate=0.5, shuffle=False, average=True).fit(X, y)
    np.testing.assert_allclose(model.last_coef_, w, rtol=1e-12)
    np.testing.assert_allclose(model.coef_, w_sum / 200, rtol=1e-12)
    assert model.history_.n_mistakes == mistakes
    assert model.history_.mean["accuracy"] == 1 - mistakes / 200
    assert np.array_equal(model.predict(X), np.where(X @ model.coef_ > 0, 1, 0))
    np.testing.assert_allclose(model.decision_function(X), X @ model.coef_, rtol=1e-12)
    batches = [(X[:3], y[:3]), (X[3:150], y[3:150]), (X[150:], y[150:])]
    streamed = BinaryPerceptron(learning_rate=0.5, average=True).fit_stream(batches)
    assert np.array_equal(streamed.coef_, model.coef_)
    parts = BinaryPerceptron(learning_rate=0.5, average=True)
    for batch in batches:
        parts.partial_fit(*batch)
    assert np.array_equal(parts.coef_, model.coef_)
    assert parts.certify(X, y) == model.certificate_
    assert model.certificate_.holds
    assert model.certify(X, y, comparator=[1.0, -2.0, 0.5, 0.0]).holds
    with pytest.raises(ValueError, match="got a stream"):
        streamed.certify(X, y)
    with pytest.raises(ValueError, match="X: expected the 200 rows learned from, got 5"):
        model.certify(X[:5], y[:5])


def test_mistakes_of_separable_classes_are_bounded(rng):
    X = rng.standard_normal((3000, 3))
    X = X[np.abs(X[:, 0]) > 0.3]
    y = np.sign(X[:, 0])
    model = BinaryPerceptron().fit(sparse.csr_array(X), y)
    certificate = model.certify(sparse.csr_array(X), y, comparator=[2.0, 0.0, 0.0])
    bound = (X**2).sum(axis=1).max() / np.abs(X[:, 0]).min() ** 2
    assert certificate.guaranteed <= bound * (1 + 1e-12)
    assert 0 < model.history_.n_mistakes <= certificate.guaranteed
    assert model.predict(X).dtype == y.dtype


def test_labels_of_two_classes(rng):
    X = rng.standard_normal((6, 2))
    for y in ([0, 1, 0, 1, 0, 1], [-1, 1, -1, 1, -1, 1.0], [False, True, False, True, False, True]):
        model = BinaryPerceptron().fit(X, y)
        assert set(model.predict(X).tolist()) <= set(y)
        assert model.classes_.dtype == np.asarray(y).dtype
    ones = BinaryPerceptron().partial_fit(X, np.ones(6), classes=[0, 1])
    assert ones.classes_.tolist() == [0, 1]
    with pytest.raises(ValueError, match="y: expected labels 0 and 1, got -1 in row 2"):
        ones.partial_fit(X[:3], [0, 1, -1])
    for y, message in [
        ([1, 2, 1, 2, 1, 2], "y: expected labels -1 and 1, or 0 and 1, got 1, 2"),
        ([-1, 0, 1, 0, 1, 0], "or 0 and 1, got -1, 0, 1"),
        ([1] * 6, "y: expected rows of two classes, got 1 only"),
        ([1, 0], "y: expected 6 labels"),
        ([0.5, 1, 1, 1, 1, 1], "got 0.5, 1.0"),
    ]:
        with pytest.raises(ValueError, match=message):
            BinaryPerceptron().fit(X, y)
    with pytest.raises(TypeError, match="y: expected a vector"):
        BinaryPerceptron().fit(X, list("ababab"))
    with pytest.raises(ValueError, match="X: expected 2 features"):
        ones.predict(np.zeros((1, 3)))
    with pytest.raises(NotFittedError, match="BinaryPerceptron: expected a fitted model"):
        BinaryPerceptron().predict(X)
    with pytest.raises(ValueError, match="source: expected at least one batch"):
        BinaryPerceptron().fit_stream([])
    with pytest.raises(TypeError, match="source: expected an iterable of pairs"):
        BinaryPerceptron().fit_stream("rows.txt")
