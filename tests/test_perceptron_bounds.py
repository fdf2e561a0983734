"""The bounds as algebra, and against runs of plain perceptrons that must stay within them."""

from __future__ import annotations

import math

import bound_cases as cases
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from reference import online
from reference.losses import max_pair, slam

import fastrank as fr
from fastrank.bounds import minimax
from fastrank.bounds import perceptron as bounds
from fastrank.data.adversary import MinimaxAdversary

examples = settings(max_examples=200, deadline=None, derandomize=True)
number = st.floats(0, 1e6).map(lambda x: 0.0 if x < 1e-6 else x)
positive = st.floats(1e-3, 1e3)
SLACK = 1 + 1e-9


# ---------------------------------------------------------------- algebra


@examples
@given(number, positive, positive)
def test_best_rate_is_the_best_of_all_rates(F, U, A):
    rate = bounds.best_rate(F, U, A)
    best = bounds.best_rate_bound(F, U, A)
    assert 0 < rate <= 1 / A * SLACK
    assert bounds.fixed_rate_bound(F, U, A, rate) == pytest.approx(best, rel=1e-9)
    for eta in np.geomspace(1e-6, 1.999, 400) / A:
        assert best <= bounds.fixed_rate_bound(F, U, A, float(eta)) * SLACK


@examples
@given(number, positive, positive)
def test_bounds_are_ordered(F, U, A):
    best = bounds.best_rate_bound(F, U, A)
    assert best >= F
    assert best <= bounds.relaxed_bound(F, U, A) * SLACK
    assert best <= bounds.theorem5_bound(F, U, A) * SLACK
    assert bounds.theorem5_bound(F, U, A) == pytest.approx(bounds.fixed_rate_bound(F, U, A, 1 / A))
    # a larger constant is a constant too
    for bound in (bounds.best_rate_bound, bounds.relaxed_bound, bounds.theorem5_bound):
        assert bound(F, U, A) <= bound(F, U, 1.5 * A)


@examples
@given(number, positive, positive, positive)
def test_self_bounding_turns_the_regret_into_the_fixed_rate_bound(F, U, A, surrogate):
    """x <= F + U^2 / 2 eta + eta A x / 2 has the largest solution `fixed_rate_bound`."""
    rate = 1.3 / A
    x = bounds.fixed_rate_bound(F, U, A, rate)
    assert bounds.a_posteriori_bound(F, U, rate, A * x) == pytest.approx(x)
    assert bounds.any_rate_bound(F, U, A * surrogate) <= bounds.a_posteriori_bound(F, U, rate, A * surrogate) * SLACK
    # at the rate that never changes, in a ball around the comparator, the two regrets are one
    assert bounds.regret_bound(F, U, rate, rate * A) == pytest.approx(bounds.a_posteriori_bound(F, U, rate, A))


@examples
@given(number, positive, positive)
def test_helper_step_of_the_papers(F, U, A):
    """The root of x - b sqrt(x) - c with b^2 = A U^2 and c = F: the rate chosen in hindsight would give the same."""
    b = math.sqrt(A) * U
    root = (b / 2 + math.sqrt(b * b / 4 + F)) ** 2
    assert bounds.best_rate_bound(F, U, A) == pytest.approx(root)


@examples
@given(positive, positive, st.floats(0.1, 10))
def test_margin_bound_does_not_depend_on_the_hinge(R, gamma, hinge):
    assume(R / gamma < 1e4)
    A = bounds.max_pair_constant(R, hinge)
    loss = bounds.fixed_rate_bound(0.0, hinge / gamma, A, 1 / A) / hinge
    assert loss == pytest.approx(bounds.margin_bound(bounds.max_pair_constant(R), gamma))
    assert bounds.best_rate_bound(0.0, hinge / gamma, A) / hinge == pytest.approx(loss)


def test_limits():
    assert bounds.fixed_rate_bound(1.0, 1.0, 2.0, 1.0) == math.inf
    assert bounds.fixed_rate_bound(3.0, 0.0, 0.0, 1.0) == 3.0
    assert bounds.best_rate(0.0, 0.0, 4.0) == 0.25
    assert bounds.best_rate(1.0, 0.0, 4.0) == 0.0
    assert bounds.best_rate(1.0, 2.0, 0.0) == math.inf
    assert bounds.margin_bound(4.0, math.inf) == 0.0
    # no cancellation where the comparator loses much
    assert bounds.best_rate(1e18, 1e-3, 1.0) == pytest.approx(1e-12, rel=1e-6)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: bounds.fixed_rate_bound(-1.0, 1.0, 1.0, 1.0), "surrogate_sum: expected a finite number of at least 0"),
        (lambda: bounds.fixed_rate_bound(1.0, math.nan, 1.0, 1.0), "norm: expected a finite number"),
        (lambda: bounds.fixed_rate_bound(1.0, 1.0, 1.0, 0.0), "rate: expected .* greater than 0 .* learning rate"),
        (lambda: bounds.margin_bound(1.0, 0.0), "gamma: .*Corollary 7: one direction ranks every round"),
        (lambda: bounds.max_pair_constant(-1.0), "radius: .*Theorem 10: no document is longer"),
        (lambda: bounds.max_pair_constant(1.0, margin=0.0), "margin: .*hinge"),
        (lambda: bounds.slam_constant_paper(1.0, 5, 0.5), "v_max: expected at least 1 .*Lemma 5"),
        (lambda: bounds.slam_constant_paper(1.0, 0, 1.5), "n_docs_or_k: expected an integer of at least 1"),
        (lambda: bounds.minimax_lower_bound(1.0, 0.9), "margin: expected at most"),
        (lambda: bounds.regret_bound(1.0, -1.0, 1.0, 1.0), "distance: expected"),
        (lambda: bounds.a_posteriori_bound(1.0, 1.0, 1.0, -1.0), "square_sum: expected"),
    ],
)
def test_numbers_that_no_theorem_allows(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_reachable_from_the_package():
    assert fr.bounds.perceptron.best_rate_bound(0.0, 3.0, 4.0) == 36.0
    assert set(fr.bounds.perceptron.__all__) <= set(dir(fr.bounds.perceptron))


# ---------------------------------------------------------------- self-bounding, and margins of the hinge


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.integers(0, 10**6), st.sampled_from(cases.SURROGATES), st.sampled_from([0.1, 1.0, 2.5]))
def test_self_bounding_at_every_hinge(seed, surrogate, margin):
    rng = np.random.default_rng(seed)
    stream = cases.make_stream(rng, n_rounds=1, n_docs=7, n_grades=4)
    [X], [grades] = stream.lists, stream.grades
    scores = X @ rng.standard_normal(4) * rng.choice([0, 0.1, 3])
    if surrogate == "max_pair":
        phi = lambda s, m: max_pair(s, grades, m)  # noqa: E731
        A = paper = bounds.max_pair_constant(stream.radius, margin)
    else:
        v = cases.slam_weights(grades, surrogate)
        phi = lambda s, m: slam(s, grades, v, m)  # noqa: E731
        constant, support, v_max = cases.weight_statistics(stream, surrogate)
        A = bounds.slam_constant(stream.radius, constant, margin)
        paper = bounds.slam_constant_paper(stream.radius, max(support, 1), v_max, margin)
    value, gradient = phi(scores, margin)
    assert value == pytest.approx(margin * phi(scores / margin, 1.0)[0])
    loss = 1 - cases.measure(scores, grades, cases.measure_name(surrogate))
    assert loss <= value / margin * SLACK + 1e-12
    if loss >= 1e-12:
        assert paper * SLACK >= A
        assert np.sum((X.T @ gradient) ** 2) <= A * value * SLACK


# ---------------------------------------------------------------- runs


@pytest.mark.parametrize("surrogate", cases.SURROGATES)
@pytest.mark.parametrize("separable", [False, True])
def test_runs_stay_within_every_bound(rng, surrogate, separable):
    margin = float(rng.choice([0.25, 1.0, 2.0]))
    for _ in range(2):
        stream = cases.make_stream(rng, separable=separable, spread=float(rng.choice([0.1, 1.0])))
        if surrogate == "max_pair":
            A = bounds.max_pair_constant(stream.radius, margin)
        else:
            A = bounds.slam_constant(stream.radius, cases.weight_statistics(stream, surrogate)[0], margin)
        for rate in (0.2 / A, 1 / A, 1.7 / A, 30 / A):
            run = cases.perceptron(stream, surrogate, rate, margin)
            surrogate_sum, square_sum = run.record.surrogate.sum(), float(run.record.square.sum())
            assert run.loss <= surrogate_sum / margin * SLACK
            assert square_sum <= A * surrogate_sum * SLACK
            for u in cases.comparators(rng, run):
                F_all, F = run.sums(u)
                U = float(np.linalg.norm(u))
                assert F_all * SLACK >= F
                assert surrogate_sum <= bounds.a_posteriori_bound(F, U, rate, square_sum) * SLACK
                assert surrogate_sum <= bounds.fixed_rate_bound(F, U, A, rate) * SLACK
                if rate <= 1 / A:
                    assert surrogate_sum <= bounds.theorem5_bound(F, U, 1 / rate) * SLACK
                if surrogate == "max_pair":  # the same mistakes at every rate
                    assert margin * run.loss <= bounds.any_rate_bound(F, U, square_sum) * SLACK
                    assert margin * run.loss <= bounds.best_rate_bound(F, U, A) * SLACK
                    assert margin * run.steps.sum() <= bounds.best_rate_bound(F, U, A) * SLACK


@pytest.mark.parametrize("surrogate", ["ap2017", "ndcg@3"])
def test_best_rate_chosen_before_the_run(rng, surrogate):
    for _ in range(3):
        stream = cases.make_stream(rng)
        A = bounds.slam_constant(stream.radius, cases.weight_statistics(stream, surrogate)[0])
        for u in rng.standard_normal((2, 4)):
            F_all, _ = cases.perceptron(stream, surrogate, 1.0).sums(u)  # of all rounds: no matter which run
            rate = bounds.best_rate(F_all, float(np.linalg.norm(u)), A)
            run = cases.perceptron(stream, surrogate, rate)
            best = bounds.best_rate_bound(F_all, float(np.linalg.norm(u)), A)
            assert run.loss <= run.record.surrogate.sum() <= best * SLACK


@pytest.mark.parametrize("surrogate", ["map2014", "ndcg@3", "max_pair"])
def test_separable_rounds_lose_a_constant(rng, surrogate):
    """However often they are shown."""
    stream = cases.make_stream(rng, n_rounds=8, separable=True)
    data = fr.RankingDataset(
        np.concatenate(stream.lists), np.concatenate(stream.grades), group=[len(y) for y in stream.grades]
    )
    gamma = fr.bounds.separating_direction(data).margin
    assert gamma > 0
    A = bounds.max_pair_constant(stream.radius)
    if surrogate != "max_pair":
        A = bounds.slam_constant(stream.radius, cases.weight_statistics(stream, surrogate)[0])
    long = cases.Stream(stream.lists * 12, stream.grades * 12)
    run = cases.perceptron(long, surrogate, 1 / A)
    assert run.record.surrogate.sum() <= bounds.margin_bound(A, gamma)
    if surrogate == "max_pair":
        assert run.record.surrogate[-8:].sum() == 0  # has learnt it


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.integers(0, 10**6), st.booleans())
def test_classification(seed, separable):
    rng = np.random.default_rng(seed)
    X, u = rng.standard_normal((60, 3)), rng.standard_normal(3)
    y = np.where(X @ u > 0, 1.0, -1.0) if separable else rng.choice([-1.0, 1.0], 60)
    X = X + 0.1 * y[:, None] * u if separable else X
    record = online.binary(X, y, range(60), [1.0] * 60, np.zeros(3))
    A = bounds.classification_constant(float(np.linalg.norm(X, axis=1).max()))
    mistakes = int(record.mistakes.sum())
    assert record.square.sum() <= A * record.hinge.sum()
    for c in (0.0, 0.1, 1.0, 10.0):
        F = float(np.maximum(0, 1 - c * y * (X @ u))[record.mistakes > 0].sum())
        U = c * float(np.linalg.norm(u))
        assert mistakes <= bounds.any_rate_bound(F, U, float(record.square.sum())) * SLACK
        assert mistakes <= bounds.best_rate_bound(F, U, A) * SLACK
        assert record.hinge.sum() <= bounds.a_posteriori_bound(F, U, 1.0, float(record.square.sum())) * SLACK
    if separable:
        gamma = float((y * (X @ u)).min() / np.linalg.norm(u))
        assert mistakes <= bounds.margin_bound(A, gamma)


def test_projected_descent_with_falling_rates(rng):
    """A step every round, in a ball: the regret of Zinkevich."""
    stream = cases.make_stream(rng)
    weights = [cases.slam_weights(y, "ndcg2017") for y in stream.grades]
    n_rounds, ball = len(stream.lists), 0.7
    rates = [0.5 / math.sqrt(t) for t in range(1, n_rounds + 1)]

    def loss(query, scores):
        return slam(scores, stream.grades[query], weights[query])

    record = online.rounds(
        stream.lists, loss, lambda *_: [0.0], range(n_rounds), rates, np.zeros(4), only_mistakes=False, radius=ball
    )
    for u in rng.standard_normal((5, 4)):
        u *= ball / np.linalg.norm(u) * rng.uniform()
        F = sum(loss(query, stream.lists[query] @ u)[0] for query in range(n_rounds))
        U = float(np.linalg.norm(u))
        bound = bounds.regret_bound(F, ball + U, rates[-1], float(record.square @ rates))
        assert record.surrogate.sum() <= bound * SLACK


@pytest.mark.parametrize(("weights", "loss", "claimed"), [("map2014", 416.9, 186.7), ("ap2017", 277.9, 124.5)])
def test_theorem_5_of_2014_fails_at_rate_1_and_holds_at_1_over_A(weights, loss, claimed):
    """The counterexample: one query shown over and over, which rate 1 takes long to learn."""
    X = 0.05 * np.array([[1.0, 0.0], [-0.5, 0.49], [0.0, 0.0]])
    stream = cases.Stream([X] * 2500, [[1, 1, 0]] * 2500)
    R = stream.radius
    _, _, v_max = cases.weight_statistics(cases.Stream([X], [[1, 1, 0]]), weights)
    A = bounds.slam_constant_paper(R, 3, v_max)
    data = fr.RankingDataset(X, [1, 1, 0], group=[3])
    found = fr.bounds.separating_direction(data)
    bound = bounds.margin_bound(A, found.margin)

    at_one = cases.perceptron(stream, weights, 1.0)
    assert at_one.loss == pytest.approx(loss, abs=0.1)
    assert bound == pytest.approx(claimed, rel=0.02)
    assert at_one.loss > 2 * bound
    assert at_one.loss <= bounds.a_posteriori_bound(0.0, 1 / found.margin, 1.0, float(at_one.record.square.sum()))
    assert cases.perceptron(stream, weights, 1 / A).record.surrogate.sum() <= bound


# ---------------------------------------------------------------- the minimax game


class MaxPairPerceptron:
    def __init__(self, n_features):
        self.w = np.zeros(n_features)

    def predict(self, X):
        assert self.w.any()  # not before it has learnt anything
        return X @ self.w

    def partial_fit(self, X, y, group):
        assert group == [len(y)]
        scores = X @ self.w
        self.w -= X.T @ max_pair(scores, y)[1]
        return self


@pytest.mark.parametrize("metric", ["ap", "ndcg", "NDCG@10", "mrr", "ndcg@1"])
@pytest.mark.parametrize("n_docs", [2, 4])
def test_the_game_forces_what_the_theorem_says(metric, n_docs):
    game = MinimaxAdversary(0.2, radius=2.0, n_docs=n_docs)
    result = minimax.play(MaxPairPerceptron(game.n_features), game, metric=metric)
    assert result.n_rounds == 99
    assert result.lower_bound == bounds.minimax_lower_bound(2.0, 0.2, metric)
    assert result.lower_bound * (1 - 1e-12) <= result.loss <= result.upper_bound_here * SLACK
    assert result.upper_bound_here == pytest.approx(result.n_rounds + 1)
    assert result.upper_bound == pytest.approx(400.0)
    assert f"{result.loss:,.2f}" in str(result)
    if n_docs == 2:
        assert result.loss == pytest.approx(result.lower_bound)


def test_the_game_makes_its_own_rounds():
    result = minimax.play(MaxPairPerceptron(25), margin=0.2)
    assert (result.n_rounds, result.metric, result.radius) == (24, "ndcg@10", 1.0)


def test_the_game_needs_a_learner_and_a_beginning():
    with pytest.raises(TypeError, match="learner: expected an object with predict, got 3"):
        minimax.play(3)
    game = MinimaxAdversary(0.5)
    minimax.play(MaxPairPerceptron(game.n_features), game)
    with pytest.raises(ValueError, match="game: expected a game that has not begun"):
        minimax.play(MaxPairPerceptron(game.n_features), game)
    with pytest.raises(ValueError, match="measure: expected"):
        minimax.play(MaxPairPerceptron(25), metric="p@5")
