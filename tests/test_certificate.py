"""Certificates of runs that the slow twins played: every bound holds, says when it applies, and reads well."""

from __future__ import annotations

import dataclasses
import math
import pickle

import bound_cases as cases
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import losses, online

import fastrank as fr
from fastrank.bounds import Comparator, certify_rounds, separating_direction
from fastrank.bounds import perceptron as bounds


def constants(stream: cases.Stream, surrogate: str, margin: float = 1.0) -> tuple[float, float]:
    if surrogate == "max_pair":
        return (bounds.max_pair_constant(stream.radius, margin),) * 2
    constant, _, v_max = cases.weight_statistics(stream, surrogate)
    longest = int(surrogate[5:]) if "@" in surrogate else max(map(len, stream.grades))
    return (
        bounds.slam_constant(stream.radius, constant, margin),
        bounds.slam_constant_paper(stream.radius, longest, v_max, margin),
    )


def vector(name: str, u, run: cases.Run, **options) -> Comparator:
    return Comparator(name, float(np.linalg.norm(u)), lambda scale: run.sums(scale * u), **options)


def separation(stream: cases.Stream):
    rows, grades = np.concatenate(stream.lists), np.concatenate(stream.grades)
    return separating_direction(fr.RankingDataset(rows, grades, group=[len(y) for y in stream.grades]))


def certify(run: cases.Run, rate, **changes) -> fr.bounds.Certificate:
    """What a learner does with its sums."""
    constant, paper = constants(run.stream, run.surrogate, run.margin)
    candidates = [vector("final weights", run.record.w, run)]
    found = separation(run.stream)
    if found.direction is not None:
        candidates.append(vector("separating direction", found.direction, run, margin=found.margin))
    arguments = {
        "kind": "max_pair" if run.surrogate == "max_pair" else "slam",
        "metric_name": cases.measure_name(run.surrogate),
        "n_rounds": run.record.n_rounds,
        "n_mistakes": int(run.steps.sum()),
        "n_updates": int(run.record.moved.sum()),
        "observed_loss": run.loss,
        "surrogate_sum": float(run.record.surrogate.sum()),
        "square_sum": float(run.record.square.sum()),
        "rate": rate,
        "radius": run.stream.radius,
        "constant": constant,
        "paper_constant": paper,
        "bound_scale": 1 / run.margin,
        "candidates": candidates,
    }
    return certify_rounds(**{**arguments, **changes})


def by_name(certificate) -> dict:
    return {bound.name: bound for bound in certificate.bounds}


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    st.integers(0, 10**6),
    st.sampled_from(cases.SURROGATES),
    st.booleans(),
    st.sampled_from([0.3, 1.0, 1.5, 20.0]),
    st.sampled_from([0.2, 1.0, 3.0]),
)
def test_every_bound_that_applies_holds(seed, surrogate, separable, factor, margin):
    rng = np.random.default_rng(seed)
    stream = cases.make_stream(rng, n_rounds=15, separable=separable)
    constant, _ = constants(stream, surrogate, margin)
    rate = factor / constant if constant else 1.0
    run = cases.perceptron(stream, surrogate, rate, margin)
    certificate = certify(run, rate)
    assert certificate.holds
    assert certificate.observed <= certificate.guaranteed * (1 + 1e-9)
    assert certificate.worst_loss * (1 + 1e-9) >= certificate.observed_loss
    found = by_name(certificate)
    assert found["regret of this run"].applies
    # what the bound of the run bounds is more than the measure's loss
    if surrogate != "max_pair":
        assert certificate.surrogate_sum <= found["regret of this run"].value * margin * (1 + 1e-9)
    for bound in certificate.bounds:
        assert bound.applies == (bound.reason == "")
        assert bound.paper_value is None or bound.paper_value >= bound.value
    if constant and surrogate != "max_pair":
        assert found["at the rate used"].applies == (factor < 2)
        assert found["at rate 1 / A"].applies == (factor <= 1)
    assert pickle.loads(pickle.dumps(certificate)) == certificate
    assert str(certificate).startswith("Lost ")


@pytest.mark.parametrize("hinge", [1.0, 0.5])
def test_separable_rounds_at_the_rate_of_the_theory(rng, hinge):
    stream = cases.make_stream(rng, n_rounds=8, n_docs=4, separable=True)
    long = cases.Stream(stream.lists * 40, stream.grades * 40)
    constant, paper = constants(stream, "ap2017", hinge)
    assert constant < paper
    run = cases.perceptron(long, "ap2017", 1 / constant, hinge)
    certificate = certify(run, 1 / constant)
    found = by_name(certificate)
    gamma = separation(stream).margin
    expected = bounds.margin_bound(constants(stream, "ap2017")[0], gamma)
    assert certificate.margin == pytest.approx(gamma)
    assert all(bound.applies for bound in certificate.bounds)
    assert found["separable rounds"].value == pytest.approx(expected)
    assert found["separable rounds"].paper_value == pytest.approx(bounds.margin_bound(paper * hinge, gamma))
    assert found["at the best rate"].value == pytest.approx(expected)  # F = 0: all of them are one
    assert found["at the rate used"].value <= expected * (1 + 1e-9)
    # at half the rate the constant in effect is twice as large
    slow = certify(cases.perceptron(long, "ap2017", 0.5 / constant, hinge), 0.5 / constant)
    assert by_name(slow)["separable rounds"].value == pytest.approx(2 * expected)
    assert not by_name(slow)["at the best rate"].applies


def test_a_rate_that_no_theorem_allows(rng):
    stream = cases.make_stream(rng, separable=True)
    constant, _ = constants(stream, "ndcg@3")
    rate = 5 / constant
    certificate = certify(cases.perceptron(stream, "ndcg@3", rate), rate)
    found = by_name(certificate)
    assert [bound.name for bound in certificate.bounds if bound.applies] == ["regret of this run"]
    assert found["at the rate used"].value == math.inf
    assert f"needs a rate below 2 / A = {2 / constant:.6g}, the run used {rate:.6g}" in str(certificate)
    assert "does not apply" in str(certificate)
    assert found["at rate 1 / A"].source == "2014, Corollary 7"


def test_the_max_pair_perceptron_has_its_bounds_at_every_rate(rng):
    stream = cases.make_stream(rng, separable=True)
    constant, _ = constants(stream, "max_pair")
    certificates = [certify(cases.perceptron(stream, "max_pair", rate), rate) for rate in (1e-3 / constant, 1.0)]
    assert certificates[0].observed_loss == certificates[1].observed_loss
    values = [[bound.value for bound in certificate.bounds] for certificate in certificates]
    assert values[0] == pytest.approx(values[1])
    assert all(bound.applies for bound in certificates[1].bounds)
    # but a ball makes the rate matter
    kept = certify(cases.perceptron(stream, "max_pair", 1.0, radius=0.5), 1.0, ball=0.5)
    assert not by_name(kept)["at the best rate"].applies
    assert all(bound.norm <= 0.5 * (1 + 1e-8) for bound in kept.bounds if bound.applies)
    assert kept.holds
    assert "ball of radius 0.5" in str(kept)


@pytest.mark.parametrize("factor", [1.2, 1000.0])
def test_the_scale_is_the_best_one(rng, factor):
    """Against a fine grid, for both kinds of bounds."""
    stream = cases.make_stream(rng, separable=True, n_rounds=60)
    constant, _ = constants(stream, "ap2017")
    rate = factor / constant
    run = cases.perceptron(stream, "ap2017", rate)
    u = separation(stream).direction
    calls = []

    def sums(scale):
        calls.append(scale)
        return run.sums(scale * u)

    certificate = certify(run, rate, candidates=[Comparator("u", 1.0, sums)])
    assert len(calls) <= 60
    found = by_name(certificate)
    grid = [(scale, *run.sums(scale * u)) for scale in np.geomspace(1e-4, 1e2, 500)]
    regret = min(bounds.a_posteriori_bound(F, c, rate, certificate.square_sum) for c, _, F in grid)
    theorem = min(bounds.fixed_rate_bound(F, c, constant, rate) for c, F, _ in grid)
    assert found["regret of this run"].value <= regret * 1.001
    assert found["at the rate used"].value == math.inf or found["at the rate used"].value <= theorem * 1.001


def test_a_comparator_of_ones_own_is_taken_as_it_is(rng):
    stream = cases.make_stream(rng)
    run = cases.perceptron(stream, "ndcg2017", 1e-3)
    u = rng.standard_normal(4)
    certificate = certify(run, 1e-3, candidates=[vector("mine", u, run, scale=1.0)])
    F_all, F = run.sums(u)
    constant, _ = constants(stream, "ndcg2017")
    U = float(np.linalg.norm(u))
    found = by_name(certificate)
    assert found["at the rate used"].value == pytest.approx(bounds.fixed_rate_bound(F_all, U, constant, 1e-3))
    assert found["at the rate used"].surrogate == pytest.approx(F_all)
    expected = min(
        bounds.a_posteriori_bound(F, U, 1e-3, certificate.square_sum),
        bounds.a_posteriori_bound(run.sums(0 * u)[1], 0.0, 1e-3, certificate.square_sum),
    )
    assert found["regret of this run"].value == pytest.approx(expected)


def test_a_bound_that_says_nothing_is_called_that(rng):
    stream = cases.make_stream(rng, n_rounds=200)  # noise: no vector is any good
    certificate = certify(cases.perceptron(stream, "max_pair", 1.0), 1.0)
    assert certificate.vacuous
    assert certificate.holds
    first = str(certificate).splitlines()[0]
    assert "says nothing: the zero vector gives as much" in first
    run = cases.perceptron(stream, "ndcg2017", 3.0)
    large = certify(run, 3.0)
    assert large.guaranteed > large.worst_loss
    assert f"says nothing: these rounds cannot lose more than {large.worst_loss:.4g}." in str(large)
    # the rounds that could lose: those with two grades, one of them relevant
    assert large.worst_loss <= sum(len(set(y)) > 1 for y in stream.grades) * (1 + 1e-9)


def test_a_broken_guarantee_is_not_hidden(rng):
    stream = cases.make_stream(rng, separable=True)
    constant, paper = constants(stream, "ap2017")
    run = cases.perceptron(stream, "ap2017", 1 / constant)
    certificate = certify(run, 1 / constant)
    lie = dataclasses.replace(certificate, observed_loss=2 * certificate.guaranteed)
    assert not lie.holds
    assert "BROKEN" in str(lie).splitlines()[0]
    assert "BROKEN" in str(lie).splitlines()[3]
    # a constant that the run itself disproves is not used
    small = certify(run, 1 / constant, constant=1e-3 * constant, paper_constant=1e-3 * paper)
    assert [bound.name for bound in small.bounds if bound.applies] == ["regret of this run"]
    assert "needs squared gradients of at most A" in str(small)


def test_classification(rng):
    X, u = rng.standard_normal((80, 3)), np.array([0.6, 0.0, -0.8])
    y = np.where(X @ u > 0, 1.0, -1.0)
    X = X + 0.2 * y[:, None] * u
    record = online.binary(X, y, range(80), [2.0] * 80, np.zeros(3))

    def sums(scale):
        hinge = np.maximum(0, 1 - scale * y * (X @ u))
        return float(hinge.sum()), float(hinge[record.mistakes > 0].sum())

    radius = float(np.linalg.norm(X, axis=1).max())
    gamma = float((y * (X @ u)).min())
    mistakes = int(record.mistakes.sum())
    certificate = certify_rounds(
        kind="classification",
        metric_name="accuracy",
        n_rounds=80,
        n_mistakes=mistakes,
        n_updates=mistakes,
        observed_loss=float(mistakes),
        surrogate_sum=float(record.hinge.sum()),
        square_sum=float(record.square.sum()),
        rate=2.0,
        radius=radius,
        constant=radius**2,
        paper_constant=radius**2,
        bound_scale=1.0,
        candidates=[Comparator("u", 1.0, sums, margin=gamma)],
    )
    found = by_name(certificate)
    assert certificate.holds
    assert found["separable rounds"].value == pytest.approx(radius**2 / gamma**2)
    assert found["separable rounds"].source == "2017, Corollary 2"
    assert found["at the best rate"].value <= found["separable rounds"].value
    assert str(certificate).startswith(f"{mistakes} mistakes in 80 rounds; guaranteed at most ")


@pytest.mark.parametrize("schedule", ["constant", "falling"])
def test_regret_of_gradient_descent(rng, schedule):
    """A loss that bounds no measure: the guarantee is about the loss itself."""
    stream = cases.make_stream(rng, separable=True)
    n_rounds, ball = len(stream.lists), 2.0
    rates = [0.2 / (math.sqrt(t) if schedule == "falling" else 1) for t in range(1, n_rounds + 1)]

    def loss(query, scores):
        return losses.list_net(scores, losses.softmax(stream.grades[query]))

    def measures(query, scores):
        return [cases.measure(scores, stream.grades[query], "ndcg")]

    record = online.rounds(
        stream.lists, loss, measures, range(n_rounds), rates, np.zeros(4), only_mistakes=False, radius=ball
    )

    def sums(scale):
        total = sum(loss(query, stream.lists[query] @ (scale * record.w))[0] for query in range(n_rounds))
        return total, total

    def certify_descent(**changes):
        arguments = {
            "kind": "regret",
            "metric_name": "ndcg",
            "n_rounds": n_rounds,
            "n_mistakes": int((record.measures[0] < 1).sum()),
            "n_updates": n_rounds,
            "observed_loss": float((1 - record.measures[0]).sum()),
            "surrogate_sum": float(record.surrogate.sum()),
            "square_sum": float(record.square.sum()),
            "rate": rates[0] if schedule == "constant" else None,
            "radius": stream.radius,
            "constant": None,
            "paper_constant": None,
            "bound_scale": None,
            "candidates": [Comparator("final weights", float(np.linalg.norm(record.w)), sums)],
            "ball": ball,
            "last_rate": rates[-1],
            "rate_square_sum": float(record.square @ rates),
        }
        return certify_rounds(**{**arguments, **changes})

    certificate = certify_descent()
    [bound] = certificate.bounds
    assert bound.applies
    assert bound.norm <= ball
    assert certificate.holds
    assert certificate.surrogate_sum <= bound.value
    assert certificate.worst_loss == math.inf
    assert "the surrogate, which bounds no measure" in str(certificate)
    if schedule == "falling":
        expected = bounds.regret_bound(bound.surrogate, ball + bound.norm, rates[-1], float(record.square @ rates))
        assert bound.value == pytest.approx(expected)
        free = certify_descent(ball=math.inf)
        assert not free.bounds[0].applies
        assert free.tightest is None
        assert free.guaranteed == math.inf
        assert free.holds
        assert "no guarantee applies" in str(free)
        assert "the rate varied: needs a ball" in str(free)


def test_varying_rates_leave_a_perceptron_without_theorems(rng):
    run = cases.perceptron(cases.make_stream(rng, separable=True), "ndcg2017", 0.1)
    certificate = certify(run, None)
    assert not any(bound.applies for bound in certificate.bounds)
    assert "needs one rate for all rounds" in str(certificate)


def test_nothing_happened(rng):
    stream = cases.Stream([np.ones((1, 4))] * 3, [[1], [0], [2]])
    for surrogate, rate in (("ndcg2017", 1.0), ("max_pair", 0.1)):
        certificate = certify(cases.perceptron(stream, surrogate, rate), rate)
        assert certificate.holds
        assert certificate.observed_loss == certificate.mean_loss == 0
        assert certificate.guaranteed == 0
    none = certify(cases.perceptron(stream, "ap2017", 1.0), 1.0, n_rounds=0, n_mistakes=0, n_updates=0)
    assert none.mean_loss == 0


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"kind": "boosting"}, "kind: expected one of 'slam', 'max_pair'"),
        ({"candidates": []}, "candidates: expected at least one vector"),
        ({"rate": -1.0}, "rate: expected a finite number greater than 0"),
        ({"observed_loss": math.nan}, "observed_loss: expected"),
        ({"n_rounds": -1}, "n_rounds: expected"),
        ({"candidates": [Comparator("u", 1.0, lambda scale: (1.0, -1.0))]}, "surrogate_sums of .*: expected"),
        ({"candidates": [Comparator("u", math.inf, lambda scale: (1.0, 1.0))]}, "norm of u: expected"),
        (
            {"candidates": [Comparator("u", 1.0, lambda scale: (1.0, 1.0), margin=-0.5)]},
            "margin of u: expected a margin",
        ),
    ],
)
def test_bad_input(rng, changes, words):
    run = cases.perceptron(cases.make_stream(rng, n_rounds=3), "ap2017", 0.1)
    with pytest.raises(ValueError, match=words):
        certify(run, **{"rate": 0.1, **changes})


def test_bound_scale_is_needed_for_a_measure(rng):
    run = cases.perceptron(cases.make_stream(rng, n_rounds=3), "ap2017", 0.1)
    for name in ("bound_scale", "constant", "paper_constant"):
        with pytest.raises(TypeError, match=f"{name}: expected"):
            certify(run, 0.1, **{name: None})
