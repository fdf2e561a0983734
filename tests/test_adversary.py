import itertools
import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from fastrank.data.adversary import MinimaxAdversary
from fastrank.data.dataset import RankingDataset

NDCG_BOUND = 1 - 1 / math.log2(3)


# ---------------------------------------------------------------- the slow, obviously right measures


def orders_by_rule(scores, y, ties):
    if ties == "index":
        return [sorted(range(len(y)), key=lambda i: (-scores[i], i))]
    if ties == "worst":
        return [sorted(range(len(y)), key=lambda i: (-scores[i], y[i]))]
    if ties == "best":
        return [sorted(range(len(y)), key=lambda i: (-scores[i], -y[i]))]
    rows = itertools.permutations(range(len(y)))
    return [p for p in rows if all(scores[a] >= scores[b] for a, b in itertools.pairwise(p))]


def measure(order, y, name):
    """AP, RR or NDCG(@k) of a list with exactly one relevant document, by its rank."""
    rank = 1 + [y[i] for i in order].index(1)
    if name in ("ap", "mrr"):
        return 1 / rank
    k = int(name.split("@")[1]) if "@" in name else math.inf
    return 1 / math.log2(1 + rank) if rank <= k else 0.0


def loss(scores, y, name, ties):
    orders = orders_by_rule(scores, y, ties)
    return 1 - sum(measure(order, y, name) for order in orders) / len(orders)


# ---------------------------------------------------------------- learners


class Constant:
    """Ties every document with every other."""

    def __init__(self, n_features):
        pass

    def score(self, X):
        return np.zeros(len(X))

    def update(self, X, y):
        pass


class Perceptron:
    """Max-pair perceptron."""

    def __init__(self, n_features):
        self.w = np.zeros(n_features)

    def score(self, X):
        return X @ self.w

    def update(self, X, y):
        scores = self.score(X)
        best = int(y.argmax())
        worst = max((i for i in range(len(y)) if i != best), key=lambda i: scores[i])
        if scores[worst] >= scores[best]:
            self.w += X[best] - X[worst]


class RandomButDeterministic(Constant):
    """Seeded random scores, many of them tied."""

    def __init__(self, n_features):
        self.rng = np.random.default_rng(5)

    def score(self, X):
        return self.rng.integers(0, 3, size=len(X)).astype(np.float32)


class Contrarian(Constant):
    """Guesses that the adversary repeats its last label."""

    last = 0

    def score(self, X):
        scores = np.zeros(len(X))
        scores[self.last] = 1.0
        return scores

    def update(self, X, y):
        self.last = int(y.argmax())


class ThirdFirst(Constant):
    """Puts one of the other documents on top, if there is one."""

    def score(self, X):
        return np.arange(len(X), dtype=float)


LEARNERS = [Constant, Perceptron, RandomButDeterministic, Contrarian, ThirdFirst]


def assert_separated(game, dataset, w):
    scores = dataset.X @ w
    for a, b in itertools.pairwise(dataset.qptr):
        y = dataset.y[a:b]
        assert y.sum() == 1
        relevant = int(y.argmax())
        assert relevant in (0, 1)
        others = np.delete(scores[a:b], relevant)
        assert scores[a:b][relevant] - others.max() >= game.margin


# ---------------------------------------------------------------- the theorem


@pytest.mark.parametrize("learner_class", LEARNERS)
@pytest.mark.parametrize("n_docs", [2, 3, 5])
@pytest.mark.parametrize("extended", [False, True])
def test_learner_loses_every_round_on_separable_data(learner_class, n_docs, extended):
    game = MinimaxAdversary(0.2, radius=1.5, n_docs=n_docs, n_features=300, extended=extended)
    learner = learner_class(game.n_features)
    scores = game.play(learner.score, learner.update)
    dataset = game.dataset()
    assert game.n_played == game.n_rounds == len(game) == dataset.n_queries
    assert_separated(game, dataset, game.w_star)
    assert np.linalg.norm(dataset.X, axis=1).max() <= game.radius
    assert np.linalg.norm(game.w_star) <= (1.0 if extended else 0.5)
    for a, b in itertools.pairwise(dataset.qptr):
        y = dataset.y[a:b].tolist()
        for name, ties in itertools.product(("ap", "mrr", "ndcg", "ndcg@1", "ndcg@2", "ndcg@10"), ("worst", "index")):
            bound = game.loss_per_round_lower_bound(name, ties=ties)
            assert loss(scores[a:b], y, name, ties) >= bound - 1e-15
        for name in ("ap", "ndcg"):
            assert loss(scores[a:b], y, name, "mean") >= game.loss_per_round_lower_bound(name, ties="mean") - 1e-15


def test_bounds_are_reached():
    # Two documents: a learner that puts the wrong one first loses exactly the bound; a tie loses exactly half of it.
    for name in ("ap", "mrr", "ndcg", "ndcg@1", "ndcg@2"):
        least = MinimaxAdversary.loss_per_round_lower_bound(name)
        for ties in ("worst", "index", "mean", "best"):
            assert loss([1.0, 0.0], [0, 1], name, ties) == pytest.approx(least, abs=1e-15)
            tied = MinimaxAdversary.loss_per_round_lower_bound(name, ties=ties)
            assert loss([0.0, 0.0], [0, 1], name, ties) == pytest.approx(tied, abs=1e-15)


@given(
    scores=st.lists(st.sampled_from([-1.0, 0.0, 0.5, 1.0]), min_size=2, max_size=5),
    ties=st.sampled_from(["worst", "index", "mean", "best"]),
    name=st.sampled_from(["ap", "mrr", "ndcg", "ndcg@1", "ndcg@3"]),
)
@settings(max_examples=300, deadline=None)
def test_bound_holds_for_any_scores(scores, ties, name):
    game = MinimaxAdversary(0.5, n_docs=len(scores))
    next(game)
    y = game.label(scores).tolist()
    assert loss(scores, y, name, ties) >= game.loss_per_round_lower_bound(name, ties=ties) - 1e-15


@given(
    radius=st.floats(1e-100, 1e100),
    ratio=st.floats(1.5, 12.0),
    extended=st.booleans(),
    n_docs=st.integers(2, 4),
    seed=st.integers(0, 2**32),
)
@settings(max_examples=100, deadline=None)
def test_margin_holds_exactly_for_any_radius(radius, ratio, extended, n_docs, seed):
    game = MinimaxAdversary(radius / ratio, radius=radius, n_docs=n_docs, extended=extended)
    rng = np.random.default_rng(seed)
    game.play(lambda X: rng.integers(0, 2, size=len(X)))
    assert_separated(game, game.dataset(), game.w_star)
    assert np.linalg.norm(game.w_star) <= (1.0 if extended else 0.5) * (1 + 1e-11)


def test_minimax_perceptron_stays_within_its_upper_bound():
    # The unit-norm margin of w* is margin / ||w*||; the perceptron's loss is at most 4 R^2 over its square, and the
    # adversary makes it lose a constant share of that.
    game = MinimaxAdversary(0.1, extended=True)
    learner = Perceptron(game.n_features)
    scores = game.play(learner.score, learner.update)
    dataset = game.dataset()
    total = sum(loss(scores[a:b], dataset.y[a:b].tolist(), "ap", "worst") for a, b in itertools.pairwise(dataset.qptr))
    upper = 4 * game.radius**2 / (game.margin / np.linalg.norm(game.w_star)) ** 2
    assert game.n_rounds * 0.5 <= total <= upper


# ---------------------------------------------------------------- hand values


@pytest.mark.parametrize(
    ("margin", "radius", "extended", "n_rounds"),
    [
        (0.1, 1.0, False, 99),
        (0.1, 1.0, True, 399),
        (0.1, 0.3, False, 8),  # 0.3 / 0.1 is below 3 in binary
        (0.3, 1.0, False, 10),
        (0.3, 3.0, False, 99),
        (0.5, 1.0, False, 3),
        (0.7, 1.0, False, 1),
        (1.0, 1.0, True, 3),
        (1.4, 1.0, True, 1),
        (np.float32(0.5), 1, False, 3),
    ],
)
def test_number_of_rounds(margin, radius, extended, n_rounds):
    game = MinimaxAdversary(margin, radius=radius, extended=extended)
    assert game.n_rounds == n_rounds
    assert game.n_features == n_rounds + 1


def test_game_of_three_rounds_by_hand():
    game = MinimaxAdversary(0.5, n_docs=3, n_features=5)
    np.testing.assert_array_equal(next(game), [[0, 1, 0, 0, 0], [0, -1, 0, 0, 0], [1, 0, 0, 0, 0]])
    assert game.label([2.0, 1.0, 0.0]).tolist() == [0, 1, 0]
    np.testing.assert_array_equal(next(game), [[0, 0, 1, 0, 0], [0, 0, -1, 0, 0], [1, 0, 0, 0, 0]])
    assert game.label([1.0, 2.0, 3.0]).tolist() == [1, 0, 0]
    np.testing.assert_array_equal(game.w_star, [-0.25, -0.25, 0.25, 0, 0])
    np.testing.assert_array_equal(next(game), [[0, 0, 0, 1, 0], [0, 0, 0, -1, 0], [1, 0, 0, 0, 0]])
    grades = game.label([7.0, 7.0, 9.0])
    assert grades.tolist() == [0, 1, 0]
    assert grades.dtype == np.int32
    with pytest.raises(StopIteration):
        next(game)
    np.testing.assert_array_equal(game.w_star, [-0.25, -0.25, 0.25, -0.25, 0])
    np.testing.assert_array_equal(game.scores, [2, 1, 0, 1, 2, 3, 7, 7, 9])
    dataset = game.dataset()
    assert isinstance(dataset, RankingDataset)
    np.testing.assert_array_equal(dataset.y, [0, 1, 0, 1, 0, 0, 0, 1, 0])
    np.testing.assert_array_equal(dataset.X @ game.w_star, np.array([-1, 1, -1, 1, -1, -1, -1, 1, -1]) / 4)


def test_data_set_has_the_matrices_that_were_shown():
    game = MinimaxAdversary(0.3, radius=2.0, n_docs=4, n_features=60)
    shown, labels = [], []
    for X in game:
        shown.append(X)
        labels.append(game.label(np.sin(np.arange(4) * len(shown))))
    dense, csr = game.dataset(), game.dataset(sparse_features=True)
    np.testing.assert_array_equal(dense.X, np.concatenate(shown))
    np.testing.assert_array_equal(dense.y, np.concatenate(labels))
    assert sparse.issparse(csr.X)
    np.testing.assert_array_equal(csr.X.toarray(), dense.X)
    np.testing.assert_array_equal(csr.y, dense.y)
    assert 0 < np.concatenate(labels).reshape(-1, 4)[:, 0].sum() < game.n_rounds


def test_changing_what_was_shown_or_given_does_not_change_the_game():
    game = MinimaxAdversary(0.5)
    scores = np.array([1.0, 0.0])
    for X in game:
        game.label(scores)
        X[:] = 99.0
    scores[:] = 5.0
    assert np.abs(game.dataset().X).max() == 1.0
    np.testing.assert_array_equal(game.scores, [1, 0] * 3)


# ---------------------------------------------------------------- the protocol


def test_round_must_be_labelled_before_the_next():
    game = MinimaxAdversary(0.5)
    next(game)
    with pytest.raises(RuntimeError, match="label: expected the scores of round 1 before the next round"):
        next(game)
    game.label([0.0, 1.0])
    with pytest.raises(RuntimeError, match="label: expected a round that waits for scores, got none"):
        game.label([0.0, 1.0])


def test_game_can_be_left_and_taken_up_again():
    game = MinimaxAdversary(0.5)
    for _ in game:
        game.label([1.0, 0.0])
        break
    assert game.n_played == 1
    assert game.dataset().n_queries == 1
    assert "played 1 of 3 rounds" in repr(game)
    copy = pickle.loads(pickle.dumps(game))
    assert game.play(lambda X: [0.0, 1.0]).tolist() == [1, 0, 0, 1, 0, 1]
    assert copy.n_played == 1
    assert game.play(lambda X: [0.0, 1.0]).size == 6


def test_update_gets_the_documents_and_their_grades():
    seen = []
    game = MinimaxAdversary(0.5)
    game.play(lambda X: [1.0, 0.0], lambda X, y: seen.append((X.copy(), y.tolist())))
    assert [y for _, y in seen] == [[0, 1]] * 3
    np.testing.assert_array_equal(np.concatenate([X for X, _ in seen]), game.dataset().X)


@pytest.mark.parametrize(
    ("scores", "error", "message"),
    [
        ([1.0], ValueError, "scores: expected 2 values"),
        ([1.0, np.nan], ValueError, "scores: expected finite values"),
        ([np.inf, 0.0], ValueError, "scores: expected finite values"),
        (np.zeros((2, 2)), ValueError, "scores: expected a vector"),
        (["a", "b"], TypeError, "scores: expected numbers"),
    ],
)
def test_bad_scores_are_refused_and_the_round_still_waits(scores, error, message):
    game = MinimaxAdversary(0.5)
    next(game)
    with pytest.raises(error, match=message):
        game.label(scores)
    assert game.n_played == 0
    assert game.label([0.0, 1.0]).tolist() == [1, 0]


def test_nothing_played_yet():
    game = MinimaxAdversary(0.5)
    assert game.scores.shape == (0,)
    np.testing.assert_array_equal(game.w_star, [-0.25, 0, 0, 0])
    with pytest.raises(RuntimeError, match="dataset: expected at least one labelled round, got none"):
        game.dataset()


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"margin": 0.0}, ValueError, "margin: expected a finite number greater than 0, got 0.0"),
        ({"margin": -1.0}, ValueError, "margin: expected a finite number greater than 0, got -1.0"),
        ({"margin": math.nan}, ValueError, "margin: expected a finite number greater than 0, got nan"),
        ({"margin": "0.1"}, TypeError, "margin: expected a finite number greater than 0, got '0.1'"),
        ({"margin": 0.8}, ValueError, "margin: expected at most 0.707107 for one round at radius 1.*extended=True"),
        ({"margin": 1.5, "extended": True}, ValueError, "margin: expected at most 1.41421 for one round at radius 1"),
        ({"margin": 1e-9}, ValueError, "margin: expected a game of fewer than 2\\^31 rounds at radius 1, got 1e-09"),
        ({"margin": 1e-300, "radius": 1e300}, ValueError, "margin: expected a game of fewer than 2\\^31 rounds"),
        ({"radius": 0.0}, ValueError, "radius: expected a finite number greater than 0, got 0.0"),
        ({"radius": math.inf}, ValueError, "radius: expected a finite number greater than 0, got inf"),
        ({"n_docs": 1}, ValueError, "n_docs: expected an integer of at least 2, got 1"),
        ({"n_docs": 2.0}, TypeError, "n_docs: expected an integer of at least 2, got 2.0"),
        ({"n_features": 99}, ValueError, "n_features: expected at least 100 .*, got 99; raise n_features"),
        ({"n_features": 399, "extended": True}, ValueError, "n_features: expected at least 400 .*, got 399"),
        ({"n_features": "100"}, TypeError, "n_features: expected an integer of at least 1, got '100'"),
        ({"extended": 1}, TypeError, "extended: expected True or False, got 1"),
    ],
)
def test_bad_argument_gives_a_sentence(arguments, error, message):
    with pytest.raises(error, match=message):
        MinimaxAdversary(**arguments)


def test_bounds_by_hand():
    bound = MinimaxAdversary(0.5).loss_per_round_lower_bound
    assert bound("ap") == bound("MAP") == bound("mrr") == bound("ap", ties="index") == 0.5
    assert bound("ndcg") == bound("NDCG@10") == bound("ndcg@2") == NDCG_BOUND
    assert bound("ndcg") == pytest.approx(0.36907024642854256, rel=1e-14)
    assert bound("ndcg@1") == 1.0
    assert bound("ap", ties="mean") == 0.25
    assert bound("ndcg", ties="best") == 0.0


@pytest.mark.parametrize("name", ["", "dcg", "ndcg@0", "ndcg@", "ndcg@1.5", "p@5", "ap@3"])
def test_unknown_measure_is_refused(name):
    with pytest.raises(ValueError, match="measure: expected 'ap', 'map', 'mrr', 'ndcg' or 'ndcg@k' with k >= 1, got"):
        MinimaxAdversary.loss_per_round_lower_bound(name)


def test_unknown_tie_rule_or_kind_is_refused():
    with pytest.raises(ValueError, match="ties: expected one of 'worst', 'index', 'mean', 'best', got 'first'"):
        MinimaxAdversary.loss_per_round_lower_bound("ap", ties="first")
    with pytest.raises(TypeError, match="measure: expected 'ap', 'mrr', 'ndcg' or 'ndcg@k', got 3"):
        MinimaxAdversary.loss_per_round_lower_bound(3)
