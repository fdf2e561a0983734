"""Online rounds in the core, against the algorithms of the papers round by round."""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import numpy as np
import pytest
from reference import losses, metrics
from reference import online as reference
from reference.metrics import Measure, Tables
from scipy import sparse

from fastrank._core import _cpu, _metrics
from fastrank._core._losses import ListNetLoss, MaxPairLoss, RankSvmLoss, SlamLoss, SquaredGainLoss
from fastrank._core._online import run_binary, run_rounds
from fastrank._core._rows import Rows
from fastrank.data.plan import QueryPlan

LEVELS = range(len(_cpu.supported_levels()))
LEVEL_NAMES = list(_cpu.supported_levels())
UNTOUCHED = -77.0
NDCG, AP, NDCG_3 = Measure("ndcg", fill=1.0), Measure("ap", fill=1.0), Measure("ndcg", 3, fill=1.0)


class Stream(NamedTuple):
    """Queries to learn from."""

    X: np.ndarray
    plan: QueryPlan

    @property
    def lists(self):
        return [self.X[a:b].astype(np.float64) for a, b in itertools.pairwise(self.plan.qptr)]

    def split(self, values):
        return [values[a:b] for a, b in itertools.pairwise(self.plan.qptr)]

    @property
    def grades(self):
        return self.split(self.plan.grades[self.plan.levels])


def stream_of(lists, dtype=np.float64):
    """From pairs (documents, grades)."""
    X = np.concatenate([np.atleast_2d(np.asarray(X, dtype=np.float64)) for X, _ in lists]).astype(dtype)
    grades = np.concatenate([np.asarray(grades, dtype=np.float64) for _, grades in lists])
    qptr = np.cumsum([0, *(len(grades) for _, grades in lists)]).astype(np.int64)
    return Stream(X, QueryPlan(grades, qptr))


def random_stream(rng, n_queries=30, d=5, dtype=np.float64, noise=1.0):
    """Lists of 0 to 12 documents, graded 0 to 3 by a hidden direction and some noise, and the degenerate ones."""
    hidden, lists = rng.standard_normal(d), []
    for n in [0, 1, *rng.integers(2, 13, n_queries), 0]:
        X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.8)
        lists.append((X, np.clip(np.rint(X @ hidden + noise * rng.standard_normal(n)), 0, 3)))
    lists += [(rng.standard_normal((4, d)), [0] * 4), (rng.standard_normal((4, d)), [2] * 4)]
    return stream_of(lists, dtype)


# name -> (kernel, twin of one query) of a stream
def slam(name, margin=1.0):
    def make(stream):
        weights = stream.plan.slam_weights(name)
        parts = stream.split(weights)
        return SlamLoss(weights, margin), lambda q, s: losses.slam(s, stream.grades[q], parts[q], margin)

    return make


def max_pair(stream):
    return MaxPairLoss(None, 1.0), lambda q, s: losses.max_pair(s, stream.grades[q])


def list_net(stream):
    parts = [losses.softmax(grades) for grades in stream.grades]
    targets = np.array([p for part in parts for p in part])
    return ListNetLoss(targets, _cpu.LEVEL), lambda q, s: losses.list_net(s, parts[q])


def rank_svm(stream):
    return RankSvmLoss(None, 1.0, _cpu.LEVEL), lambda q, s: losses.rank_svm(s, stream.grades[q])


def squared_gain(stream):
    parts = stream.split(stream.plan.gains)
    return SquaredGainLoss(stream.plan.gains, None), lambda q, s: losses.squared_gain(s, parts[q])


LOSSES = {
    "Slam ap2017": slam("ap2017"),
    "Slam ndcg@3": slam("ndcg@3"),
    "Slam ndcg2014": slam("ndcg2014", 0.25),
    "MaxPair": max_pair,
    "ListNet": list_net,
    "RankSVM": rank_svm,
    "SquaredGain": squared_gain,
}


def tables_of(plan):
    return Tables(plan.level_gain, [0.0] * len(plan.grades), plan.discounts, 0, int((plan.grades <= 0).sum()))


def program_of(plan, measures):
    tables = tables_of(plan)
    return _metrics.Program(
        np.array([_metrics.KINDS[measure.kind] for measure in measures], dtype=np.int32),
        np.array([measure.cut for measure in measures], dtype=np.int64),
        np.zeros(len(measures), dtype=np.int32),
        np.ones(len(measures)),
        tables.gains,
        np.array(tables.stops),
        0,
        tables.first_relevant,
        tables.discounts,
        _metrics.TIES["worst"],
    )


def forms(X):
    """X as the kernels take it: (values, indices, indptr)."""
    yield "dense", (np.ascontiguousarray(X), None, None)
    csr = sparse.csr_array(X)
    for integer in (np.int32, np.int64):
        parts = (csr.indices.astype(integer), csr.indptr.astype(integer))
        yield f"CSR {np.dtype(integer)}", (csr.data, *parts)


def play(stream, kernel, order, rates, **options):
    """The record of the kernel, as the twin's."""
    given = {
        "measures": (NDCG, AP, NDCG_3),
        "only_mistakes": True,
        "radius": math.inf,
        "w": np.zeros(stream.X.shape[1]),
        "average": True,
        "level": _cpu.LEVEL,
        "form": None,
    } | options
    n = len(order)
    w, w_sum = given["w"].copy(), np.zeros(stream.X.shape[1])
    found = np.full((len(given["measures"]), n), UNTOUCHED)
    surrogate, square, moved = np.full(n, UNTOUCHED), np.full(n, UNTOUCHED), np.full(n, 77, dtype=np.uint8)
    rows = Rows(*(given["form"] or (stream.X, None, None)), stream.X.shape[1], given["level"])
    played = run_rounds(
        rows,
        stream.plan.view,
        kernel,
        program_of(stream.plan, given["measures"]),
        stream.plan.levels,
        np.asarray(order, dtype=np.int64),
        np.broadcast_to(np.asarray(rates, dtype=np.float64), n).copy(),
        given["only_mistakes"],
        given["radius"],
        w,
        w_sum if given["average"] else None,
        found,
        surrogate,
        square,
        moved,
        given["level"],
    )
    return reference.Record(played, found[:, :played], surrogate[:played], square[:played], moved[:played], w, w_sum)


def twin(stream, loss, order, rates, measures=(NDCG, AP, NDCG_3), only_mistakes=True, radius=math.inf, w=None):
    codes, tables = stream.split(stream.plan.levels), tables_of(stream.plan)
    return reference.rounds(
        stream.lists,
        loss,
        lambda q, s: metrics.values(measures, tables, codes[q].tolist(), s.tolist(), "worst"),
        order,
        np.broadcast_to(rates, len(order)),
        np.zeros(stream.X.shape[1]) if w is None else w,
        only_mistakes=only_mistakes,
        radius=radius,
    )


def assert_records_agree(got, wanted, what=""):
    assert got.n_rounds == wanted.n_rounds, what
    np.testing.assert_array_equal(got.moved, wanted.moved, err_msg=what)
    for name in ("measures", "surrogate", "square", "w", "w_sum"):
        one, other = getattr(got, name), getattr(wanted, name)
        scale = np.abs(other).max(initial=1)
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-10 * scale, err_msg=f"{what}: {name}")


def assert_same_bits(got, wanted, what):
    for name, one, other in zip(got._fields, got, wanted, strict=True):
        assert np.asarray(one).tobytes() == np.asarray(other).tobytes(), f"{what}: {name}"


# ---------------------------------------------------------------- the twin, by hand


def test_the_twin_plays_the_rounds_of_a_page():
    """Two documents on a line, the relevant one at 1, the other at -1: tied at first, then right."""
    stream = stream_of([([[1.0], [-1.0]], [1, 0])])
    kernel, loss = max_pair(stream)
    for record in (twin(stream, loss, [0, 0, 0], 0.5), play(stream, kernel, [0, 0, 0], 0.5)):
        assert record.measures[1].tolist() == [0.5, 1, 1]
        assert record.surrogate.tolist() == [1, 0, 0]
        assert record.square.tolist() == [4, 0, 0]
        assert record.moved.tolist() == [1, 0, 0]
        assert (record.w.tolist(), record.w_sum.tolist()) == ([1], [2])
    # every round steps until the margin is reached; a ball of radius 1/4 never lets it
    for record in (
        twin(stream, loss, [0, 0, 0], 0.125, only_mistakes=False),
        play(stream, kernel, [0, 0, 0], 0.125, only_mistakes=False),
    ):
        assert record.surrogate.tolist() == [1, 0.5, 0]
        assert (record.w.tolist(), record.w_sum.tolist()) == ([0.5], [0.75])
    for record in (
        twin(stream, loss, [0, 0, 0], 0.125, only_mistakes=False, radius=0.25),
        play(stream, kernel, [0, 0, 0], 0.125, only_mistakes=False, radius=0.25),
    ):
        assert record.surrogate.tolist() == [1, 0.5, 0.5]
        assert record.w.tolist() == [0.25]


def test_the_binary_twin_by_hand():
    X, labels = np.array([[1.0, 0.0], [0.0, 2.0]]), [1.0, -1.0]
    record = reference.binary(X, labels, [0, 1, 0, 1], [1.0, 0.5, 1.0, 1.0], np.zeros(2))
    assert record.hinge.tolist() == [1, 1, 0, 0]
    assert record.square.tolist() == [1, 4, 0, 0]
    assert record.mistakes.tolist() == [1, 1, 0, 0]
    assert record.w.tolist() == [1, -1]
    assert record.w_sum.tolist() == [0 + 1 + 1 + 1, -2]


# ---------------------------------------------------------------- parity


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("only_mistakes", [True, False])
@pytest.mark.parametrize("name", LOSSES)
def test_rounds(name, only_mistakes, dtype, rng):
    stream = random_stream(rng, dtype=dtype)
    kernel, loss = LOSSES[name](stream)
    order = np.concatenate([rng.permutation(len(stream.lists)), rng.integers(0, len(stream.lists), 40)])  # repeats
    rates = 0.1 / np.sqrt(1 + np.arange(len(order))) if name != "SquaredGain" else 0.002
    for radius in (math.inf, 0.05):
        given = {"only_mistakes": only_mistakes, "radius": radius, "w": np.array([0.0, 0.01, -0.01, 0.0, 0.02])}
        wanted = twin(stream, loss, order, rates, **given)
        assert 5 < wanted.moved.sum() < len(order)
        for form, parts in forms(stream.X):
            got = play(stream, kernel, order, rates, form=parts, **given)
            assert_records_agree(got, wanted, f"{form}, radius {radius}")
            assert np.linalg.norm(got.w) <= radius * (1 + 1e-15)
    free = twin(stream, loss, order, rates, **given | {"radius": math.inf})
    assert np.abs(free.w_sum - wanted.w_sum).max() > radius  # the ball was felt


@pytest.mark.parametrize("measures", [(AP,), (NDCG_3,), (AP, NDCG), (NDCG_3, AP, NDCG)])
def test_the_first_measure_says_what_a_mistake_is(measures, rng):
    stream = random_stream(rng)
    kernel, loss = LOSSES["Slam ap2017"](stream)
    order = rng.integers(0, len(stream.lists), 60)
    got = play(stream, kernel, order, 0.1, measures=measures)
    assert_records_agree(got, twin(stream, loss, order, 0.1, measures))
    mistakes = 1 - got.measures[0] >= 1e-12
    assert 0 < mistakes.sum() < len(order)
    assert (got.surrogate[~mistakes] == 0).all()
    assert (got.square[~mistakes] == 0).all()
    assert not got.moved[~mistakes].any()


@pytest.mark.parametrize("name", LOSSES)
def test_averaging_changes_nothing_else(name, rng):
    stream = random_stream(rng)
    kernel, _ = LOSSES[name](stream)
    order = rng.integers(0, len(stream.lists), 50)
    for only_mistakes in (True, False):
        averaged = play(stream, kernel, order, 0.001, only_mistakes=only_mistakes)
        plain = play(stream, kernel, order, 0.001, only_mistakes=only_mistakes, average=False)
        assert (plain.w_sum == 0).all()
        assert_same_bits(plain._replace(w_sum=averaged.w_sum), averaged, "average")


@pytest.mark.parametrize("name", LOSSES)
def test_rounds_in_two_calls_are_the_rounds_of_one(name, rng):
    stream = random_stream(rng)
    kernel, _ = LOSSES[name](stream)
    order = rng.integers(0, len(stream.lists), 50)
    rates = 0.001 * rng.random(50)
    whole = play(stream, kernel, order, rates)
    one = play(stream, kernel, order[:20], rates[:20])
    two = play(stream, kernel, order[20:], rates[20:], w=one.w)
    assert two.w.tobytes() == whole.w.tobytes()
    for name in ("surrogate", "square", "moved"):
        assert np.concatenate([getattr(one, name), getattr(two, name)]).tobytes() == getattr(whole, name).tobytes()
    np.testing.assert_allclose(one.w_sum + two.w_sum, whole.w_sum, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("d", [1, 7, 8, 17, 136])
def test_cpu_levels_give_the_same_bits(d, dtype, rng):
    stream = random_stream(rng, d=d, dtype=dtype)
    order = rng.integers(0, len(stream.lists), 60)
    for name in ("Slam ndcg@3", "MaxPair"):
        kernel, _ = LOSSES[name](stream)
        for form, parts in forms(stream.X):
            for radius in (math.inf, 0.05):
                wanted = play(stream, kernel, order, 0.05, form=parts, radius=radius, level=0)
                for level in LEVELS[1:]:
                    got = play(stream, kernel, order, 0.05, form=parts, radius=radius, level=level)
                    assert_same_bits(got, wanted, f"{form}, {LEVEL_NAMES[level]}")


def test_rounds_are_those_of_the_scores_and_gradients_alone(rng):
    """One round from any w is what the other kernels give one after the other."""
    stream = random_stream(rng)
    kernel, _ = LOSSES["Slam ndcg@3"](stream)
    rows = Rows(stream.X, None, None, 5, _cpu.LEVEL)
    weights = stream.split(stream.plan.slam_weights("ndcg@3"))
    for query in range(len(stream.lists)):
        w = rng.standard_normal(5)
        record = play(stream, kernel, [query], 0.5, w=w, only_mistakes=False)
        scores, z = np.zeros(len(stream.X)), np.zeros(5)
        a, b = stream.plan.qptr[[query, query + 1]]
        rows.scores_into(w, a, b, scores)
        value, g = losses.slam(scores[a:b], stream.grades[query], weights[query])
        gradient = np.zeros(len(stream.X))
        gradient[a:b] = g
        rows.add_transposed_into(gradient, a, b, z)
        np.testing.assert_allclose(record.surrogate, [value], rtol=1e-13)
        np.testing.assert_allclose(record.w, w - 0.5 * z, rtol=1e-13, atol=1e-14)


# ---------------------------------------------------------------- degenerate queries and divergence

DEGENERATE = {
    "empty": (np.zeros((0, 2)), []),
    "one document": ([[1.0, 2.0]], [1]),
    "one irrelevant document": ([[1.0, 2.0]], [0]),
    "none relevant": ([[1.0, 2.0], [3.0, 4.0]], [0, 0]),
    "one grade": ([[1.0, 2.0], [3.0, 4.0]], [2, 2]),
    "equal documents": ([[1.0, 2.0], [1.0, 2.0]], [1, 0]),
    "documents of zeros": ([[0.0, 0.0], [0.0, 0.0]], [1, 0]),
}


@pytest.mark.parametrize("case", DEGENERATE)
@pytest.mark.parametrize("name", ["Slam ap2017", "Slam ndcg@3", "MaxPair", "RankSVM"])
def test_degenerate_queries_make_no_update(name, case):
    stream = stream_of([DEGENERATE[case], ([[1.0, 0.0], [0.0, 1.0]], [1, 0])])
    kernel, _ = LOSSES[name](stream)
    for only_mistakes, start in itertools.product((True, False), ([0.0, 0.0], [1.0, -3.0])):
        for _, parts in forms(stream.X):
            rates = [1.0, 1e300]  # a step of any length along nothing is none
            record = play(stream, kernel, [0, 0], rates, only_mistakes=only_mistakes, w=np.array(start), form=parts)
            assert record.n_rounds == 2
            assert record.w.tolist() == start
            assert not record.moved.any()
            assert (record.square == 0).all()
            lost = 1 - record.measures
            if case in ("equal documents", "documents of zeros"):  # tied for ever: a mistake that teaches nothing
                assert (lost > 0.3).all()
                assert (record.surrogate >= 0.25).all()
            else:
                assert (lost == 0).all()
                assert (record.surrogate == 0).all()


def test_ties_are_mistakes_and_the_first_step_is_taken():
    """Under the pessimistic rule; the optimistic one would never leave w = 0."""
    stream = stream_of([([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [2, 1, 0])])
    for make in LOSSES.values():
        kernel, _ = make(stream)
        assert play(stream, kernel, [0], 0.1).moved.tolist() == [1]


@pytest.mark.parametrize("form", [0, 1])
@pytest.mark.parametrize("only_mistakes", [True, False])
def test_divergence_ends_early_with_the_weights_before_it(form, only_mistakes, rng):
    stream = random_stream(rng)
    kernel, loss = squared_gain(stream)
    order = rng.integers(0, len(stream.lists), 2000)
    parts = [parts for _, parts in forms(stream.X)][form]
    rates = np.full(len(order), 50.0)
    record = play(stream, kernel, order, rates, only_mistakes=only_mistakes, form=parts)
    assert 5 < record.n_rounds < len(order)
    assert np.isfinite(record.w).all()
    assert np.isfinite(record.w_sum).all()
    assert np.isfinite(record.square).all()
    assert np.isfinite(record.surrogate).all()
    n = record.n_rounds
    before = play(stream, kernel, order[:n], rates[:n], only_mistakes=only_mistakes, form=parts)
    assert before.n_rounds == n
    assert_same_bits(record._replace(w_sum=before.w_sum), before, "the rounds before")
    np.testing.assert_allclose(record.w_sum, before.w_sum, rtol=1e-12)
    # the twin loses touch in the last places, yet not in when it ends
    wanted = twin(stream, loss, order[: n + 50], rates[: n + 50], only_mistakes=only_mistakes)
    assert abs(wanted.n_rounds - n) <= 1


@pytest.mark.parametrize("huge", [1e155, 1e300])
def test_divergence_of_scores_and_of_steps(huge):
    stream = stream_of([([[huge, 0.0], [0.0, huge]], [1, 0])])
    kernel, _ = max_pair(stream)
    for start in ([0.0, 0.0], [1.0, 0.0], [-1.0, 0.0], [1e-160, 1e-161]):
        record = play(stream, kernel, [0, 0], 1e-3, w=np.array(start))
        if start == [1e-160, 1e-161]:  # scores that are not too large, in the right order: no step is taken
            assert record.n_rounds == 2
        else:
            assert record.n_rounds == 0
        assert record.w.tolist() == start
        assert record.w_sum.tolist() in ([0, 0], [2 * value for value in start])


FORMS = ("dense", "CSR int32", "CSR int64")


@pytest.mark.parametrize("form", FORMS)
def test_a_step_too_large_is_not_taken(form):
    """Each part of z is below 1e150, but not its norm."""
    stream = stream_of([([[9e149, 9e149], [0.0, 0.0]], [1, 0])])
    record = play(stream, max_pair(stream)[0], [0], 1.0, form=dict(forms(stream.X))[form])
    assert (record.n_rounds, record.w.tolist()) == (0, [0, 0])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("rate", [1e139, 1e145, 1e200, 1e300])
def test_rates_that_overflow_leave_finite_weights(rate, form):
    X = 1e10 * np.eye(2)
    stream = stream_of([(X, [1, 0]), (X, [0, 1])])
    parts = dict(forms(stream.X))[form]
    record = play(stream, max_pair(stream)[0], [0, 1, 0, 1], rate, form=parts)
    assert record.n_rounds < 4
    assert np.isfinite(record.w).all()
    assert np.isfinite(record.w_sum).all()
    played, record = play_binary(stream.X, parts, [1.0, -1.0, -1.0, 1.0], [0, 2, 0, 2], rate)
    assert played < 4
    assert np.isfinite(record.w).all()
    assert np.isfinite(record.w_sum).all()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("rate", [1e100, 1e139, 1e145, 1e300])
def test_projection_of_huge_steps(rate, form):
    """They end on the ball, or the round is not played."""
    stream = stream_of([(1e10 * np.eye(2), [1, 0])])
    record = play(stream, max_pair(stream)[0], [0], rate, radius=2.0, form=dict(forms(stream.X))[form])
    if record.n_rounds:
        assert record.w == pytest.approx([math.sqrt(2), -math.sqrt(2)], rel=1e-14)
    else:
        assert rate > 1e130
        assert record.w.tolist() == [0, 0]


@pytest.mark.parametrize("form", FORMS)
def test_divergence_leaves_the_sum_of_the_weights_before_it(form):
    stream = stream_of([(np.eye(2), [1, 0]), (np.eye(2), [0, 1])])
    parts = dict(forms(stream.X))[form]
    for rate in (1e20, 1e149, 1e200):
        record = play(stream, max_pair(stream)[0], [0, 0, 1, 1, 1], [1.0, 1.0, rate, 1.0, 1.0], form=parts)
        moved = [0.0, 0.0] if record.n_rounds == 2 else [1.0, -1.0]
        if record.n_rounds < 5:
            assert record.w_sum.tolist() == np.add([1.0, -1.0], moved).tolist()


# ---------------------------------------------------------------- the learning rate


@pytest.mark.parametrize("eta", [2.0**-30, 0.25, 2.0, 2.0**20])
def test_max_pair_perceptron_scales_with_the_rate_bit_for_bit(eta, rng):
    """Algorithm 3: which pair is worst does not depend on the scale of w."""
    stream = random_stream(rng, n_queries=60)
    order = rng.integers(0, len(stream.lists), 300)
    kernel, _ = max_pair(stream)
    for _, parts in forms(stream.X):
        one = play(stream, kernel, order, 1.0, form=parts)
        other = play(stream, kernel, order, eta, form=parts)
        assert 20 < one.moved.sum() < 280
        for name in ("measures", "square", "moved"):
            assert getattr(one, name).tobytes() == getattr(other, name).tobytes(), name
        assert (eta * one.w).tobytes() == other.w.tobytes()
        assert (eta * one.w_sum).tobytes() == other.w_sum.tobytes()


@pytest.mark.parametrize("eta", [1e-9, 0.1, 3.0, 1e5])
def test_max_pair_perceptron_makes_the_same_mistakes_at_any_rate(eta, rng):
    stream = random_stream(rng, n_queries=60)
    order = rng.integers(0, len(stream.lists), 300)
    kernel, _ = max_pair(stream)
    one, other = play(stream, kernel, order, 1.0), play(stream, kernel, order, eta)
    assert one.measures.tobytes() == other.measures.tobytes()
    assert one.moved.tobytes() == other.moved.tobytes()
    np.testing.assert_allclose(other.w / eta, one.w, rtol=1e-9, atol=1e-12)


def test_slam_perceptron_depends_on_the_rate():
    """Algorithm 2, in spite of what was claimed: small steps stay within the margin, where every document pushes."""
    stream = stream_of([(0.05 * np.array([[1.0, 0.0], [-0.5, 0.49], [0.0, 0.0]]), [1, 1, 0])])
    for name in ("map2014", "ap2017"):
        kernel, loss = slam(name)(stream)
        mistakes = {}
        for eta in (1.0, 100.0):
            record = play(stream, kernel, [0] * 2000, eta, measures=(AP,))
            mistakes[eta] = int(record.moved.sum())
            assert mistakes[eta] == twin(stream, loss, [0] * 2000, eta, (AP,)).moved.sum()
        assert mistakes[100.0] < mistakes[1.0] / 2, (name, mistakes)


@pytest.mark.parametrize("name", ["Slam ap2017", "MaxPair"])
def test_mistakes_of_a_separable_stream_are_bounded(name, rng):
    """Chaudhuri & Tewari 2017, Corollaries 7 and 11: sum f_t(w_t) <= A / margin^2 at eta = 1 / A."""
    hidden = np.array([0.6, 0.0, -0.8])
    lists = []
    for _ in range(40):
        X = rng.standard_normal((8, 3))
        X /= np.linalg.norm(X, axis=1, keepdims=True)
        grades = np.digitize(X @ hidden, [-0.3, 0.3])
        X += np.outer((grades - 1) * 0.2, hidden)  # a gap between the grades
        lists.append((X, grades))
    stream = stream_of(lists)
    margin = min(
        (X @ hidden)[grades == high].min(initial=9) - (X @ hidden)[grades == high - 1].max(initial=-9)
        for X, grades in lists
        for high in (1, 2)
    )
    assert margin >= 0.2
    R2 = max((X**2).sum(axis=1).max() for X, _ in lists)
    A = 4 * R2 * (1 if name == "MaxPair" else 8)
    order = np.tile(np.arange(40), 30)
    record = play(stream, LOSSES[name](stream)[0], order, 1 / A, measures=(AP,))
    assert 0 < record.surrogate.sum() <= A / margin**2
    assert (1 - record.measures[0]).sum() <= record.surrogate.sum() + 1e-12
    assert (record.square <= A * record.surrogate * (1 + 1e-12)).all()


# ---------------------------------------------------------------- classification


def play_binary(X, form, labels, order, rates, w=None, average=True, level=_cpu.LEVEL):
    n, d = len(order), X.shape[1]
    w, w_sum = np.zeros(d) if w is None else w.copy(), np.zeros(d)
    hinge, square, mistakes = np.full(n, UNTOUCHED), np.full(n, UNTOUCHED), np.full(n, 77, dtype=np.uint8)
    played = run_binary(
        Rows(*form, d, level),
        np.asarray(labels, dtype=np.float64),
        np.asarray(order, dtype=np.int64),
        np.broadcast_to(np.asarray(rates, dtype=np.float64), n).copy(),
        w,
        w_sum if average else None,
        hinge,
        square,
        mistakes,
    )
    return played, reference.BinaryRecord(hinge, square, mistakes, w, w_sum)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("d", [1, 3, 8, 17])
def test_binary_rounds(d, dtype, rng):
    X = (rng.standard_normal((50, d)) * (rng.random((50, d)) < 0.8)).astype(dtype)
    X[7] = 0  # its score is always zero: always a mistake, and never a step
    labels = np.where(X @ rng.standard_normal(d) + 0.5 * rng.standard_normal(50) > 0, 1.0, -1.0)
    order = rng.integers(0, 50, 300)
    rates = rng.random(300)
    wanted = reference.binary(X.astype(np.float64), labels.tolist(), order.tolist(), rates.tolist(), np.zeros(d))
    assert 20 < wanted.mistakes.sum() < 280
    for form, parts in forms(X):
        played, got = play_binary(X, parts, labels, order, rates)
        assert played == 300
        np.testing.assert_array_equal(got.mistakes, wanted.mistakes, err_msg=form)
        assert got.mistakes[order == 7].all()
        for name in ("hinge", "square", "w", "w_sum"):
            np.testing.assert_allclose(getattr(got, name), getattr(wanted, name), rtol=1e-10, atol=1e-11, err_msg=name)
        for level in LEVELS:
            assert_same_bits(play_binary(X, parts, labels, order, rates, level=level)[1], got, LEVEL_NAMES[level])
        plain = play_binary(X, parts, labels, order, rates, average=False)[1]
        assert_same_bits(plain._replace(w_sum=got.w_sum), got, "average")


@pytest.mark.parametrize("eta", [2.0**-20, 8.0])
def test_binary_rounds_scale_with_the_rate(eta, rng):
    X = rng.standard_normal((50, 4))
    labels = np.where(X @ rng.standard_normal(4) + rng.standard_normal(50) > 0, 1.0, -1.0)
    order = rng.integers(0, 50, 200)
    form = (X, None, None)
    (_, one), (_, other) = (play_binary(X, form, labels, order, rate) for rate in (1.0, eta))
    assert one.mistakes.tobytes() == other.mistakes.tobytes()
    assert (eta * one.w).tobytes() == other.w.tobytes()


def test_binary_rounds_that_diverge_end_early(rng):
    X = rng.standard_normal((20, 3))
    labels = np.where(rng.random(20) < 0.5, 1.0, -1.0)
    order = rng.integers(0, 20, 100)
    played, record = play_binary(X, (X, None, None), labels, order, 10.0 ** np.arange(100, 300, 2))
    assert 0 < played < 100
    assert np.isfinite(record.w).all()
    again, before = play_binary(X, (X, None, None), labels, order[:played], 10.0 ** np.arange(100, 300, 2)[:played])
    assert again == played
    assert before.w.tobytes() == record.w.tobytes()


# ---------------------------------------------------------------- bad input


def call(**changes):
    """A good call of run_rounds, some arguments changed."""
    stream = stream_of([([[1.0, 0.0], [0.0, 1.0]], [1, 0]), ([[0.0, 1.0]], [1])])
    arguments = {
        "rows": Rows(stream.X, None, None, 2, _cpu.LEVEL),
        "plan": stream.plan.view,
        "loss": MaxPairLoss(None, 1.0),
        "program": program_of(stream.plan, (AP, NDCG)),
        "codes": stream.plan.levels,
        "order": np.array([0, 1, 0], dtype=np.int64),
        "rates": np.ones(3),
        "only_mistakes": True,
        "radius": math.inf,
        "w": np.zeros(2),
        "w_sum": np.zeros(2),
        "measures": np.zeros((2, 3)),
        "surrogate": np.zeros(3),
        "square": np.zeros(3),
        "moved": np.zeros(3, dtype=np.uint8),
        "level": _cpu.LEVEL,
    } | changes
    return run_rounds(*arguments.values())


def test_the_call_that_the_bad_ones_change_is_good():
    assert call() == 3
    assert call(w_sum=None) == 3


@pytest.mark.parametrize(
    "changes",
    [
        {"rows": Rows(np.zeros((2, 2)), None, None, 2, _cpu.LEVEL)},
        {"rows": Rows(np.zeros((3, 3)), None, None, 3, _cpu.LEVEL)},
        {"loss": SlamLoss(np.zeros(2), 1.0)},
        {"codes": np.zeros(2, dtype=np.int32)},
        {"codes": np.array([0, 1, 2], dtype=np.int32)},
        {"codes": np.array([0, 1, -1], dtype=np.int32)},
        {"order": np.array([0, 2, 0], dtype=np.int64)},
        {"order": np.array([0, -1, 0], dtype=np.int64)},
        {"order": np.zeros(2, dtype=np.int64)},
        {"rates": np.ones(2)},
        {"rates": np.ones(4)},
        {"w": np.zeros(3)},
        {"w_sum": np.zeros(1)},
        {"measures": np.zeros((2, 2))},
        {"measures": np.zeros((1, 3))},
        {"measures": np.zeros((3, 3))},
        {"surrogate": np.zeros(2)},
        {"square": np.zeros(4)},
        {"moved": np.zeros(2, dtype=np.uint8)},
        {"loss": None},
        {"rows": None},
        {"plan": None},
        {"program": None},
    ],
)
def test_arrays_that_do_not_fit_the_rounds_are_refused(changes):
    with pytest.raises((ValueError, TypeError)):
        call(**changes)


@pytest.mark.parametrize(
    "changes",
    [
        {"labels": np.ones(2)},
        {"order": np.array([0, 3], dtype=np.int64)},
        {"order": np.array([0, -1], dtype=np.int64)},
        {"rates": np.ones(1)},
        {"w": np.zeros(1)},
        {"w_sum": np.zeros(3)},
        {"hinge": np.zeros(3)},
        {"square": np.zeros(1)},
        {"mistakes": np.zeros(1, dtype=np.uint8)},
        {"rows": None},
    ],
)
def test_arrays_that_do_not_fit_the_binary_rounds_are_refused(changes):
    def call_binary(**changes):
        arguments = {
            "rows": Rows(np.ones((3, 2)), None, None, 2, _cpu.LEVEL),
            "labels": np.ones(3),
            "order": np.array([0, 2], dtype=np.int64),
            "rates": np.ones(2),
            "w": np.zeros(2),
            "w_sum": np.zeros(2),
            "hinge": np.zeros(2),
            "square": np.zeros(2),
            "mistakes": np.zeros(2, dtype=np.uint8),
        } | changes
        return run_binary(*arguments.values())

    assert call_binary() == 2
    with pytest.raises((ValueError, TypeError)):
        call_binary(**changes)
