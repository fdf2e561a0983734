"""The kernels of losses, of softmax and of the rows of X, against the formulas; every machine to the same bits."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from decimal import Decimal, localcontext
from functools import cache

import loss_cases as cases
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import losses as reference

from fastrank._core import _cpu
from fastrank._core._loss import Loss, PlanView, evaluate_into
from fastrank._core._losses import (
    ListNetLoss,
    MaxPairLoss,
    RankSvmLoss,
    SlamLoss,
    SquaredGainLoss,
    softmax_into,
)
from fastrank._core._rows import Rows
from fastrank._threads import query_blocks, run_blocks

LEVELS = range(len(_cpu.supported_levels()))
LEVEL_NAMES = list(_cpu.supported_levels())
UNTOUCHED = -77.0
EPS = 2.0**-52
FAR, LEAST = -708.0, 3.4e-308
"""Below FAR our exp stays at exp(FAR), which is less than LEAST, so that nothing is ever a slow subnormal number."""
WEIGHTS = ("ap2017", "map2014", "ap_sym", "ndcg2014", "ndcg2017", "ndcg@3", "any")

# A loss of a case: the kernel's object, and the twin's (value, gradient) of one query.
Kernel = Callable[[cases.Case, int], Loss]
LOSSES: dict[str, Kernel] = {
    **{
        f"Slam {name}": lambda case, level, name=name: SlamLoss(case.slam_weights(name), 1.0)
        for name in ("ndcg2017", "any")
    },
    "MaxPair": lambda case, level: MaxPairLoss(None, 1.0),
    "MaxPair, weighted": lambda case, level: MaxPairLoss(case.row_weight, 1.0),
    "ListNet": lambda case, level: ListNetLoss(targets_of(case), level),
    "ListNet, weighted": lambda case, level: ListNetLoss(targets_of(case) * case.row_weight, level),
    "RankSVM": lambda case, level: RankSvmLoss(None, 1.0, level),
    "RankSVM, weighted": lambda case, level: RankSvmLoss(case.row_weight, 1.0, level),
    "SquaredGain": lambda case, level: SquaredGainLoss(case.plan.gains, None),
    "SquaredGain, weighted": lambda case, level: SquaredGainLoss(case.plan.gains, case.row_weight),
}
MIXED = ("no lists", "only empty lists", "two documents", "scores: few values", "scores: huge", "right order", "long")


def targets_of(case):
    """Softmax of the grades."""
    return np.array([p for grades in case.split(case.grades) for p in reference.softmax(grades)], dtype=np.float64)


def evaluate(loss, case, **changes):
    """(values, gradient), of the queries first..last."""
    given = {"scores": case.scores, "query_weight": None, "first": 0, "last": case.n_queries} | changes
    values, gradient = np.full(case.n_queries, UNTOUCHED), np.full(len(case.scores), UNTOUCHED)
    evaluate_into(loss, case.plan.view, *given.values(), values, gradient)
    return values, gradient


def per_query(case, twin, *columns):
    """(values, gradients per query) of the twin, which gets scores, grades and more columns of the query."""
    parts = zip(*(case.split(column) for column in (case.scores, case.grades, *columns)), strict=True)
    found = [twin(*part) for part in parts]
    return np.array([value for value, _ in found]), [gradient for _, gradient in found]


def assert_close(got, wanted, scales, rtol, what=""):
    """Value and gradient within rtol of their scales, per query."""
    for query, (one, other, scale) in enumerate(zip(got, wanted, scales, strict=True)):
        error = np.abs(np.subtract(one, other)).max(initial=0)
        assert error <= rtol * scale, f"{what}: query {query}: {one} and not {other}, off by {error} of {scale}"


def assert_same_bits(got, wanted, what):
    for one, other in zip(got, wanted, strict=True):
        assert one.tobytes() == other.tobytes(), what


# ---------------------------------------------------------------- the twins, by hand


def test_the_twins_give_the_numbers_of_the_formulas():
    value, gradient = reference.slam([0.0, 2.0, 1.5], [2, 1, 0], [0.5, 0.25, 1.0])
    assert value == 0.5 * 3 + 0.25 * 0.5
    assert gradient.tolist() == [-0.5, 0.5 - 0.25, 0.25]
    assert reference.slam([0.0, 2.0, 1.5], [2, 1, 0], [0.5, 0.25, 1.0], row_weight=[2, 4, 8])[0] == 3 + 0.5
    assert reference.slam_lp([0.0, 2.0, 1.5], [2, 1, 0], [0.5, 0.25, 1.0]) == pytest.approx(1.625)
    assert reference.slam([0.0, 0.5], [1, 0], [1, 1], margin=0.25)[0] == 0.75
    # exactly at the margin: nothing lost, no slope
    assert reference.slam([1.0, 0.0], [1, 0], [1, 1])[0] == 0
    assert reference.slam([1.0, 0.0], [1, 0], [1, 1])[1].tolist() == [0, 0]
    # of equal maximisers the one of the lowest grade, then the first
    assert reference.slam([0, 1, 1, 1, 1], [2, 1, 0, 0, 1], [1, 0, 0, 0, 0])[1].tolist() == [-1, 0, 1, 0, 0]
    assert reference.slam([0, -0.0, 0.0], [1, 0, 0], [1, 0, 0])[1].tolist() == [-1, 1, 0]

    value, gradient = reference.max_pair([0.0, 2.0, 1.5], [2, 1, 0])
    assert (value, gradient.tolist()) == (3, [-1, 1, 0])
    value, gradient = reference.max_pair([0.0, 2.0, 1.5], [2, 1, 0], row_weight=[0.125, 2, 1])
    assert (value, gradient.tolist()) == (1, [0, -2, 2])
    assert reference.max_pair([0, 0, 0, 0], [2, 1, 0, 1])[1].tolist() == [0, -1, 1, 0]
    assert reference.max_pair([5.0, 0.0], [1, 0])[0] == 0

    value, gradient = reference.rank_svm([0.0, 2.0, 1.5], [2, 1, 0])
    assert (value, gradient.tolist()) == (3 + 2.5 + 0.5, [-2, 0, 2])
    assert reference.rank_svm([0.0, 2.0, 1.5], [2, 1, 0], row_weight=[2, 4, 8])[1].tolist() == [-4, -2, 6]

    value, gradient = reference.list_net([0.0, math.log(3)], [0.5, 0.5])
    assert value == pytest.approx(-0.5 * (math.log(1 / 4) + math.log(3 / 4)), rel=1e-15)
    assert gradient == pytest.approx([1 / 4 - 1 / 2, 3 / 4 - 1 / 2], rel=1e-15)
    value, gradient = reference.list_net([0.0, math.log(3)], [0.5, 0.5], [1, 0])
    assert value == pytest.approx(0.5 * math.log(4), rel=1e-15)
    assert gradient == pytest.approx([0.5 / 4 - 0.5, 0.5 * 3 / 4], rel=1e-15)
    assert reference.list_net([1e300, -1e300], [0.5, 0.5])[0] == 1e300

    value, gradient = reference.squared_gain([1.0, 2.0], [3.0, 0.0])
    assert (value, gradient.tolist()) == (4, [-2, 2])
    assert reference.squared_gain([1.0, 2.0], [3.0, 0.0], [0.5, 2.0])[0] == 1 + 4


# ---------------------------------------------------------------- parity


@pytest.mark.parametrize("name", cases.NAMES)
def test_slam(name):
    case = cases.make(name)
    for weights, margin in [*((weights, 1.0) for weights in WEIGHTS), ("ndcg2017", 0.01), ("any", 100.0)]:
        v = case.slam_weights(weights)
        values, gradient = evaluate(SlamLoss(v, margin), case)
        wanted, slopes = per_query(case, lambda s, R, v, margin=margin: reference.slam(s, R, v, margin), v)
        assert_close(values, wanted, wanted, 1e-13, f"{weights}, margin {margin}")
        scales = [part.sum() for part in case.split(v)]
        assert_close(case.split(gradient), slopes, scales, 1e-13, f"{weights}, margin {margin}")


def test_slam_is_exact_where_the_arithmetic_is(rng):
    """Weights, scores and margin are small multiples of 1/16: every sum is exact, in whatever order."""
    lists = [
        (rng.integers(-16, 17, n) / 8, rng.integers(0, n_grades, n)) for n in range(60) for n_grades in (2, 3, 5, 60)
    ]
    case = cases.joined(lists, rng)
    v = rng.integers(0, 33, len(case.scores)) / 16
    for margin in (0.125, 1.0, 4.0):
        wanted, slopes = per_query(case, lambda s, R, v, margin=margin: reference.slam(s, R, v, margin), v)
        values, gradient = evaluate(SlamLoss(v, margin), case)
        np.testing.assert_array_equal(values, wanted)
        np.testing.assert_array_equal(gradient, np.concatenate(slopes))


@pytest.mark.parametrize("margin", cases.MARGINS)
@pytest.mark.parametrize("name", cases.NAMES)
def test_max_pair(name, margin):
    case = cases.make(name)
    for row_weight in (None, case.row_weight):
        a = np.ones(len(case.scores)) if row_weight is None else row_weight
        values, gradient = evaluate(MaxPairLoss(row_weight, margin), case)
        wanted, slopes = per_query(case, lambda s, R, a: reference.max_pair(s, R, margin, a), a)
        np.testing.assert_array_equal(values, wanted)
        np.testing.assert_array_equal(gradient, np.concatenate([np.zeros(0), *slopes]))


@pytest.mark.parametrize("margin", cases.MARGINS)
@pytest.mark.parametrize("name", cases.NAMES)
def test_rank_svm(name, margin):
    case = cases.make(name)
    # what the sums go through: every active pair has a hinge, but its two scores may be larger
    scales = [len(s) ** 2 * (margin + np.abs(s).max(initial=0)) for s in case.split(case.scores)]
    values, gradient = evaluate(RankSvmLoss(None, margin, _cpu.LEVEL), case)
    wanted, slopes = per_query(case, lambda s, R: reference.rank_svm(s, R, margin))
    np.testing.assert_array_equal(gradient, np.concatenate([np.zeros(0), *slopes]))
    assert_close(values, wanted, scales, 1e-15)

    values, gradient = evaluate(RankSvmLoss(case.row_weight, margin, _cpu.LEVEL), case)
    wanted, slopes = per_query(case, lambda s, R, a: reference.rank_svm(s, R, margin, a), case.row_weight)
    masses = [1 + part.sum() for part in case.split(case.row_weight)]
    assert_close(values, wanted, np.multiply(scales, masses), 1e-15)
    assert_close(case.split(gradient), slopes, [len(s) * mass for s, mass in zip(slopes, masses, strict=True)], 1e-15)


def test_rank_svm_of_ordinary_scores_to_the_last_places(rng):
    case = cases.ordinary(rng, 60, 80)
    wanted, _ = per_query(case, reference.rank_svm)
    values, _ = evaluate(RankSvmLoss(None, 1.0, _cpu.LEVEL), case)
    np.testing.assert_allclose(values, wanted, rtol=1e-13)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", cases.NAMES)
def test_list_net(name, weighted):
    case = cases.make(name)
    for targets in (targets_of(case), np.where(case.row_weight > 1, 1.0, 0.0)):
        t = targets * case.row_weight if weighted else targets
        values, gradient = evaluate(ListNetLoss(t, _cpu.LEVEL), case)
        wanted, slopes = per_query(case, lambda s, R, t: reference.list_net(s, t), t)
        masses = [part.sum() for part in case.split(t)]
        assert_close(values, wanted, wanted + masses, 1e-13)
        assert_close(case.split(gradient), slopes, masses, 1e-14)


@pytest.mark.parametrize("name", cases.NAMES)
def test_squared_gain(name):
    case = cases.make(name)
    small = case._replace(scores=np.clip(case.scores, -1e150, 1e150))
    gains = case.plan.gains
    for row_weight in (None, case.row_weight):
        a = np.ones(len(case.scores)) if row_weight is None else row_weight
        values, gradient = evaluate(SquaredGainLoss(gains, row_weight), small)
        wanted, slopes = per_query(small, lambda s, R, G, a: reference.squared_gain(s, G, a), gains, a)
        np.testing.assert_allclose(values, wanted, rtol=1e-13)
        np.testing.assert_array_equal(gradient, np.concatenate([np.zeros(0), *slopes]))


SCORE = st.sampled_from([0.0, -0.0, 1.0, -1.0, 0.5, 1e300, -1e300, 5e-324]) | st.floats(-1e150, 1e150)
LISTS = st.lists(
    st.integers(0, 10).flatmap(
        lambda n: st.tuples(
            st.lists(SCORE, min_size=n, max_size=n),
            st.lists(st.integers(0, 3) | st.just(0.5), min_size=n, max_size=n),
        )
    ),
    max_size=6,
)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(LISTS, st.sampled_from(cases.MARGINS), st.integers(0, 2**32))
def test_any_small_lists(lists, margin, seed):
    case = cases.joined(lists, np.random.default_rng(seed))
    v = case.slam_weights("any")
    values, gradient = evaluate(SlamLoss(v, margin), case)
    wanted, slopes = per_query(case, lambda s, R, v: reference.slam(s, R, v, margin), v)
    np.testing.assert_allclose(values, wanted, rtol=1e-13)
    np.testing.assert_allclose(gradient, np.concatenate([np.zeros(0), *slopes]), rtol=1e-13, atol=1e-13)
    wanted, slopes = per_query(case, lambda s, R: reference.max_pair(s, R, margin))
    values, gradient = evaluate(MaxPairLoss(None, margin), case)
    np.testing.assert_array_equal(values, wanted)
    np.testing.assert_array_equal(gradient, np.concatenate([np.zeros(0), *slopes]))
    _, slopes = per_query(case, lambda s, R: reference.rank_svm(s, R, margin))
    _, gradient = evaluate(RankSvmLoss(None, margin, _cpu.LEVEL), case)
    np.testing.assert_array_equal(gradient, np.concatenate([np.zeros(0), *slopes]))
    for name, kernel in LOSSES.items():
        wanted = evaluate(kernel(case, 0), case, scores=np.clip(case.scores, -1e150, 1e150))
        for level in LEVELS:
            got = evaluate(kernel(case, level), case, scores=np.clip(case.scores, -1e150, 1e150))
            assert_same_bits(got, wanted, f"{name}, {LEVEL_NAMES[level]}")


@pytest.mark.parametrize("name", LOSSES)
def test_gradients_are_central_differences(name, rng):
    """Of fourth order, away from the kinks: all losses are linear between them, or smooth."""
    case = cases.ordinary(rng, 25, 12)
    loss = LOSSES[name](case, _cpu.LEVEL)
    _, gradient = evaluate(loss, case)
    step, rows = 2.0**-10, np.arange(len(case.scores))
    kinks = [
        row
        for row, (scores, first) in enumerate(
            (scores, a)
            for scores, a, b in zip(case.split(case.scores), case.qptr[:-1], case.qptr[1:], strict=True)
            for _ in range(b - a)
        )
        # a step may change a hinge or the order
        if any(
            abs(abs(case.scores[row] - scores[j]) - gap) < 3 * step
            for j in range(len(scores))
            for gap in (0.0, 1.0)
            if first + j != row
        )
    ]
    if "MaxPair" in name:  # the largest of several pairs, or none, may change within a step
        kinks = [row for row in rows if changes(case, loss, row, 3 * step)]
    checked = np.setdiff1d(rows, kinks)
    assert len(checked) > len(rows) / 2
    query = np.repeat(np.arange(case.n_queries), np.diff(case.qptr))
    for row in checked:
        values = {}
        for steps in (-2, -1, 1, 2):
            scores = case.scores.copy()
            scores[row] += steps * step
            values[steps] = evaluate(loss, case, scores=scores)[0][query[row]]
        slope = (8 * (values[1] - values[-1]) - (values[2] - values[-2])) / (12 * step)
        assert gradient[row] == pytest.approx(slope, rel=1e-9, abs=1e-9 * (1 + abs(values[1]))), row


def changes(case, loss, row, step):
    """Whether the gradient does."""
    found = []
    for move in (-step, step):
        scores = case.scores.copy()
        scores[row] += move
        found.append(evaluate(loss, case, scores=scores)[1])
    return (found[0] != found[1]).any()


# ---------------------------------------------------------------- all ways to the same bits


@pytest.mark.parametrize("name", cases.NAMES)
def test_cpu_levels_give_the_same_bits(name):
    case = cases.make(name)
    for kind, kernel in LOSSES.items():
        scores = np.clip(case.scores, -1e150, 1e150) if "Squared" in kind else case.scores
        wanted = evaluate(kernel(case, 0), case, scores=scores)
        assert np.isfinite(np.concatenate(wanted)).all()
        for level in LEVELS[1:]:
            got = evaluate(kernel(case, level), case, scores=scores)
            assert_same_bits(got, wanted, f"{kind}, {LEVEL_NAMES[level]}")


@pytest.mark.parametrize("n", [*range(1, 40), 63, 64, 65, 127, 128, 129, 255, 256, 257, 1000, 5000])
def test_cpu_levels_give_the_same_bits_at_every_length(n, rng):
    lists = [(rng.normal(0, 3, n), rng.integers(0, 5, n)), (rng.integers(-4, 5, n) / 2, rng.permutation(n) % 64)]
    case = cases.joined(lists, rng)
    for kind, kernel in LOSSES.items():
        if not kind.startswith("Slam"):  # whose weights by decimal arithmetic are slow, and which knows no levels
            wanted = evaluate(kernel(case, 0), case)
            for level in LEVELS[1:]:
                assert_same_bits(evaluate(kernel(case, level), case), wanted, f"{kind}, {LEVEL_NAMES[level]}")


@cache
def blocky():
    rng = np.random.default_rng(3)
    return cases.ordinary(rng, 400, 60)


@pytest.mark.parametrize("n_threads", [1, 2, 3, 4])
@pytest.mark.parametrize("name", LOSSES)
def test_threads_give_the_same_bits(name, n_threads):
    case = blocky()
    loss = LOSSES[name](case, _cpu.LEVEL) if "Slam" not in name else SlamLoss(case.plan.slam_weights("ndcg2017"), 1.0)
    wanted = evaluate(loss, case)
    values, gradient = np.full(case.n_queries, UNTOUCHED), np.full(len(case.scores), UNTOUCHED)

    def block(first, last):
        evaluate_into(loss, case.plan.view, case.scores, None, first, last, values, gradient)

    run_blocks(block, query_blocks(case.qptr, 256), n_threads)
    assert_same_bits((values, gradient), wanted, f"{n_threads} threads")


@pytest.mark.parametrize("case_name", MIXED)
@pytest.mark.parametrize("name", LOSSES)
def test_ranges_of_queries_leave_the_others_alone(name, case_name, rng):
    case = cases.make(case_name)
    loss = LOSSES[name](case, _cpu.LEVEL)
    wanted = evaluate(loss, case)
    ends = np.unique([0, *rng.integers(0, case.n_queries + 1, 3), case.n_queries]).tolist()
    for first, last in [*itertools.pairwise(ends), (0, 0), (case.n_queries, case.n_queries)]:
        values, gradient = evaluate(loss, case, first=first, last=last)
        rows = slice(case.qptr[first], case.qptr[last])
        assert_same_bits((values[first:last], gradient[rows]), (wanted[0][first:last], wanted[1][rows]), (first, last))
        assert (np.delete(values, np.s_[first:last]) == UNTOUCHED).all()
        assert (np.delete(gradient, rows) == UNTOUCHED).all()


@pytest.mark.parametrize("case_name", MIXED)
@pytest.mark.parametrize("name", LOSSES)
def test_query_weights_multiply(name, case_name):
    case = cases.make(case_name)
    loss = LOSSES[name](case, _cpu.LEVEL)
    scores = np.clip(case.scores, -1e150, 1e150)
    plain, slopes = evaluate(loss, case, scores=scores)
    values, gradient = evaluate(loss, case, scores=scores, query_weight=case.query_weight)
    np.testing.assert_array_equal(values, plain * case.query_weight)
    np.testing.assert_array_equal(gradient, slopes * np.repeat(case.query_weight, np.diff(case.qptr)))


@pytest.mark.parametrize("case_name", MIXED)
@pytest.mark.parametrize("name", LOSSES)
def test_values_without_a_gradient_are_the_same(name, case_name):
    case = cases.make(case_name)
    loss = LOSSES[name](case, _cpu.LEVEL)
    for query_weight in (None, case.query_weight):
        wanted, _ = evaluate(loss, case, query_weight=query_weight)
        values = np.full(case.n_queries, UNTOUCHED)
        evaluate_into(loss, case.plan.view, case.scores, query_weight, 0, case.n_queries, values, None)
        assert values.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("name", LOSSES)
def test_a_query_has_the_same_bits_among_others_and_alone(name):
    case = cases.make("scores: ordinary")
    wanted = evaluate(LOSSES[name](case, _cpu.LEVEL), case)
    parts = (case.split(part) for part in (case.scores, case.grades, case.row_weight))
    for query, (scores, grades, row_weight) in enumerate(zip(*parts, strict=True)):
        if name == "Slam any":
            break  # its weights are those of the whole case
        alone = cases.joined([(scores, grades)], np.random.default_rng(0))._replace(row_weight=row_weight)
        values, gradient = evaluate(LOSSES[name](alone, _cpu.LEVEL), alone)
        rows = slice(case.qptr[query], case.qptr[query + 1])
        assert_same_bits((values, gradient), (wanted[0][[query]], wanted[1][rows]), query)


@pytest.mark.parametrize("name", LOSSES)
def test_calls_repeat_and_leave_their_inputs_alone(name):
    """All arrays of a case are read-only: the kernels have never written to them, nor refused them."""
    case = cases.make("scores: few values")
    assert not any(part.flags.writeable for part in case[1:])
    loss = LOSSES[name](case, _cpu.LEVEL)
    wanted = evaluate(loss, case, query_weight=case.query_weight)
    for _ in range(3):
        assert_same_bits(evaluate(loss, case, query_weight=case.query_weight), wanted, "again")


def test_losses_keep_their_arrays_alive():
    case = cases.make("long")
    wanted = evaluate(ListNetLoss(targets_of(case), _cpu.LEVEL), case)
    loss = ListNetLoss(np.array(targets_of(case)), _cpu.LEVEL)
    churn = [np.full(len(case.scores), float(i)) for i in range(100)]
    assert_same_bits(evaluate(loss, case), wanted, "arrays let go")
    del churn


# ---------------------------------------------------------------- bad input


def good_call(**changes):
    plan = cases.make("two documents").plan
    n, n_queries = len(plan.by_grade), len(plan.qptr) - 1
    arguments = {
        "loss": MaxPairLoss(None, 1.0),
        "plan": plan.view,
        "scores": np.zeros(n),
        "query_weight": np.ones(n_queries),
        "first": 0,
        "last": n_queries,
        "values": np.zeros(n_queries),
        "gradient": np.zeros(n),
    } | changes
    evaluate_into(*arguments.values())


def frozen(array):
    array.flags.writeable = False
    return array


def test_the_call_that_the_bad_ones_change_is_good():
    good_call()
    good_call(query_weight=None, gradient=None)


@pytest.mark.parametrize(
    "changes",
    [
        {"scores": np.zeros(39)},
        {"scores": np.zeros(41)},
        {"scores": np.zeros(80)[::2]},
        {"scores": np.zeros(40, dtype=np.float32)},
        {"scores": None},
        {"query_weight": np.zeros(19)},
        {"query_weight": np.zeros(40)},
        {"first": -1},
        {"last": 21},
        {"first": 3, "last": 2},
        {"values": np.zeros(19)},
        {"values": np.zeros(21)},
        {"values": frozen(np.zeros(20))},
        {"gradient": np.zeros(39)},
        {"gradient": np.zeros(20)},
        {"gradient": frozen(np.zeros(40))},
        {"loss": None},
        {"plan": None},
        {"loss": SlamLoss(np.zeros(39), 1.0)},
        {"loss": SlamLoss(np.zeros(0), 1.0)},
        {"loss": MaxPairLoss(np.zeros(41), 1.0)},
        {"loss": ListNetLoss(np.zeros(39), 0)},
        {"loss": RankSvmLoss(np.zeros(39), 1.0, 0)},
        {"loss": SquaredGainLoss(np.zeros(39), None)},
    ],
)
def test_arrays_that_do_not_fit_are_refused(changes):
    with pytest.raises((ValueError, TypeError)):
        good_call(**changes)


def test_arrays_of_different_lengths_are_refused():
    with pytest.raises(ValueError):
        SquaredGainLoss(np.zeros(3), np.zeros(4))


@pytest.mark.parametrize(
    ("place", "changed"),
    [
        (0, [0, 2]),
        (0, [0, 2, 4]),
        (0, [1, 2, 3]),
        (0, [0, 4, 3]),
        (0, []),
        (1, [0, 1]),
        (2, [0, 2]),
        (2, [0, 2, 4]),
        (2, [0, 4, 3]),
        (3, [1, 2]),
        (4, [1, 0, 0, 0]),
        (1, [0, 2, 0]),
        (1, [0, -1, 0]),
        (3, [0, 2, 1]),
        (3, [2, 1, 1]),
        (3, [1, 3, 1]),
        (3, [1, 2, 2]),
    ],
)
def test_plans_that_do_not_fit_are_refused(place, changed):
    types = (np.int64, np.int32, np.int64, np.int32, np.int32)
    parts = [[0, 2, 3], [0, 1, 0], [0, 2, 3], [1, 2, 1], [1, 0, 0]]
    view = PlanView(*(np.array(part, dtype=dtype) for part, dtype in zip(parts, types, strict=True)))
    assert (view.n_queries, view.n_rows, view.longest) == (2, 3, 2)
    parts[place] = changed
    with pytest.raises(ValueError):
        PlanView(*(np.array(part, dtype=dtype) for part, dtype in zip(parts, types, strict=True)))


# ---------------------------------------------------------------- softmax


def softmax(values, level=_cpu.LEVEL, qptr=None):
    values = np.asarray(values, dtype=np.float64)
    qptr = np.array([0, len(values)] if qptr is None else qptr, dtype=np.int64)
    out = np.full(len(values), UNTOUCHED)
    softmax_into(values, qptr, 0, len(qptr) - 1, level, out)
    return out


@pytest.mark.parametrize("name", cases.NAMES)
def test_softmax(name):
    case = cases.make(name)
    for values in (case.scores, case.grades):
        found = [softmax(values, level, case.qptr) for level in LEVELS]
        for part, got in zip(case.split(values), case.split(found[-1]), strict=True):
            np.testing.assert_allclose(got, reference.softmax(part), rtol=4e-15, atol=LEAST)
            assert len(part) == 0 or math.fsum(got) == pytest.approx(1, rel=1e-14)
        for one in found:
            assert one.tobytes() == found[0].tobytes()


def test_softmax_of_some_queries():
    values, qptr, out = np.arange(9.0), np.array([0, 2, 2, 7, 9], dtype=np.int64), np.full(9, UNTOUCHED)
    softmax_into(values, qptr, 1, 3, _cpu.LEVEL, out)
    assert (np.delete(out, np.s_[2:7]) == UNTOUCHED).all()
    assert out[2:7].tobytes() == softmax(values[2:7]).tobytes()


@pytest.mark.parametrize(
    ("n", "qptr", "first", "last", "n_out"),
    [
        (3, [0, 3], 0, 1, 2),
        (3, [0, 2], 0, 1, 3),
        (3, [1, 3], 0, 1, 3),
        (3, [], 0, 0, 3),
        (3, [0, 3], 0, 2, 3),
        (3, [0, 3], -1, 1, 3),
        (3, [0, 3], 1, 0, 3),
    ],
)
def test_softmax_of_arrays_that_do_not_fit_is_refused(n, qptr, first, last, n_out):
    with pytest.raises(ValueError):
        softmax_into(np.zeros(n), np.array(qptr, dtype=np.int64), first, last, _cpu.LEVEL, np.zeros(n_out))


def ulps(got, exact):
    """How many representable values apart, also among the subnormal ones."""
    unit = Decimal(math.ulp(float(exact)))
    return abs(Decimal(got) - exact) / unit


@pytest.mark.parametrize("level", LEVELS, ids=LEVEL_NAMES)
def test_our_own_exp(level, rng):
    """Beside a 0 the softmax of x below -37 is exp(x): its sum rounds to 1, and nothing else rounds."""
    halves = -np.log(2) / 2 * np.arange(108, 2043)  # where the reduced argument changes its sign
    x = np.concatenate([-rng.uniform(37, -FAR, 2000), halves, np.nextafter(halves, 0), [FAR, -37.0]])
    assert x.min() == FAR
    got = np.array([softmax([0.0, value], level)[1] for value in x])
    with localcontext(prec=40):
        worst = max(ulps(one, Decimal(value).exp()) for one, value in zip(got.tolist(), x.tolist(), strict=True))
    assert worst <= 2
    # a list goes another way than a pair; so far below all of its powers add nothing to 1
    np.testing.assert_array_equal(softmax([0.0, *x[x < -60]], level), [1, *got[x < -60]])


@pytest.mark.parametrize("level", LEVELS, ids=LEVEL_NAMES)
def test_our_own_exp_near_zero(level, rng):
    """Of two values: exp, a sum and a division may each round."""
    for x in [*-rng.uniform(0, 37, 1000), *-(10.0 ** rng.uniform(-20, 0, 300)), *-np.log(2) * np.arange(1, 54) / 2]:
        with localcontext(prec=40):
            power = Decimal(float(x)).exp()
            low, high = softmax([0.0, x], level)[[1, 0]].tolist()
            assert ulps(low, power / (1 + power)) <= 4
            assert ulps(high, 1 / (1 + power)) <= 2
    assert softmax([0.0, 0.0], level).tolist() == [0.5, 0.5]
    assert softmax([-3.0], level).tolist() == [1.0]


@pytest.mark.parametrize("level", LEVELS, ids=LEVEL_NAMES)
@pytest.mark.parametrize("far", [np.nextafter(FAR, -np.inf), -745.0, -746.0, -1e4, -1e150, -1e300, -1.7e308])
def test_exp_of_what_is_far_below_is_next_to_nothing(far, level):
    least = softmax([0.0, FAR], level)[1]
    assert 0 < least < LEAST
    assert softmax([0.0, far], level).tolist() == [1, least]
    got = softmax([1e300, far, 0.0, 1e300, *[far] * 9], level)
    assert got.tolist() == [0.5, least / 2, least / 2, 0.5, *[least / 2] * 9]


# ---------------------------------------------------------------- rows of X

WIDTHS = (0, 1, 7, 8, 9, 15, 16, 17, 136, 1000)


def dense(rng, n, d, dtype):
    """Ordinary values among zeros and values of very different size."""
    X = rng.standard_normal((n, d)) * np.exp2(rng.integers(-20, 20, (n, d)))
    return np.where(rng.random((n, d)) < 0.2, 0, X).astype(dtype)


def csr(X, wide):
    """(values, indices, indptr), without the zeros."""
    integer = np.int64 if wide else np.int32
    entries = [np.flatnonzero(row) for row in X]
    values = np.concatenate([np.zeros(0, X.dtype), *(row[columns] for row, columns in zip(X, entries, strict=True))])
    indices = np.concatenate([np.zeros(0, integer), *entries]).astype(integer)
    return values, indices, np.cumsum([0, *map(len, entries)]).astype(integer)


def forms(X, level):
    """X as dense and as CSR rows."""
    yield Rows(X, None, None, X.shape[1], level)
    for wide in (False, True):
        yield Rows(*csr(X, wide), X.shape[1], level)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("d", WIDTHS)
def test_rows(d, dtype, rng):
    n = 23
    X = dense(rng, n, d, dtype)
    X[[0, 4, 5, n - 1]] = 0  # empty rows of CSR
    w, g, start = rng.standard_normal(d), rng.standard_normal(n), rng.standard_normal(d)
    wide = X.astype(np.float64)
    scores = np.array([math.fsum(row * w) for row in wide])
    largest = max(math.fsum(row * row) for row in wide)
    for rows in forms(X, _cpu.LEVEL):
        assert (rows.n_rows, rows.n_columns) == (n, d)
        for first, last in ((0, n), (3, 17), (5, 6), (9, 9), (n, n)):
            part = slice(first, last)
            out = np.full(n, UNTOUCHED)
            rows.scores_into(w, first, last, out)
            assert (np.delete(out, np.s_[first:last]) == UNTOUCHED).all()
            allowed = EPS * (d / 8 + 8) * (np.abs(wide) @ np.abs(w))
            assert (np.abs(out - scores) <= allowed)[part].all()

            total = start.copy()
            rows.add_transposed_into(g, first, last, total)
            wanted = np.array([math.fsum([start[j], *(wide[part, j] * g[part])]) for j in range(d)])
            allowed = EPS * (last - first + 4) * (np.abs(start) + np.abs(wide[part]).T @ np.abs(g[part]))
            assert (np.abs(total - wanted) <= allowed).all()
        assert rows.largest_square(0, n) == pytest.approx(largest, rel=1e-14)
        assert rows.largest_square(5, 6) == rows.largest_square(9, 9) == 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("d", WIDTHS)
def test_rows_have_the_same_bits_at_every_level(d, dtype, rng):
    n = 37
    X = dense(rng, n, d, dtype)
    w, g = rng.standard_normal(d), rng.standard_normal(n)
    found = []
    for level in LEVELS:
        for rows in forms(X, level):
            out, total = np.zeros(n), np.ones(d)
            rows.scores_into(w, 0, n, out)
            rows.add_transposed_into(g, 0, n, total)
            found.append((out.tobytes(), total.tobytes(), rows.largest_square(0, n)))
    for form in range(3):
        assert len(set(found[form::3])) == 1
    assert found[1] == found[2]  # whatever the type of the indices


@pytest.mark.parametrize("d", [1, 9, 136])
def test_equal_rows_have_equal_scores(d, rng):
    """So that documents that cannot be told apart are tied, wherever they stand."""
    X = np.repeat(dense(rng, 1, d, np.float32), 50, axis=0)
    w = rng.standard_normal(d)
    for rows in forms(X, _cpu.LEVEL):
        out = np.zeros(50)
        rows.scores_into(w, 0, 50, out)
        assert len(set(out.tolist())) == 1
        for first in range(49):
            some = np.zeros(50)
            rows.scores_into(w, first, first + 1, some)
            assert some[first] == out[0]


@pytest.mark.parametrize("rows_per_block", [1, 7, 100])
def test_scores_do_not_depend_on_blocks_or_threads(rows_per_block, rng):
    X = dense(rng, 200, 17, np.float32)
    w = rng.standard_normal(17)
    for rows in forms(X, _cpu.LEVEL):
        wanted, got = np.zeros(200), np.zeros(200)
        rows.scores_into(w, 0, 200, wanted)
        blocks = [(first, min(first + rows_per_block, 200)) for first in range(0, 200, rows_per_block)]
        run_blocks(lambda first, last, rows=rows, got=got: rows.scores_into(w, first, last, got), blocks, 3)
        assert got.tobytes() == wanted.tobytes()


def test_rows_of_read_only_arrays(rng):
    X = frozen(dense(rng, 5, 4, np.float64))
    parts = [frozen(part) for part in csr(X, False)]
    w, g = frozen(rng.standard_normal(4)), frozen(rng.standard_normal(5))
    for rows in (Rows(X, None, None, 4, _cpu.LEVEL), Rows(*parts, 4, _cpu.LEVEL)):
        out, total = np.zeros(5), np.zeros(4)
        rows.scores_into(w, 0, 5, out)
        rows.add_transposed_into(g, 0, 5, total)
        np.testing.assert_allclose(out, X @ w, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(total, X.T @ g, rtol=1e-12, atol=1e-12)


def test_no_rows():
    for rows in forms(np.zeros((0, 3)), _cpu.LEVEL):
        total = np.ones(3)
        rows.scores_into(np.zeros(3), 0, 0, np.zeros(0))
        rows.add_transposed_into(np.zeros(0), 0, 0, total)
        assert total.tolist() == [1, 1, 1]
        assert rows.largest_square(0, 0) == 0


@pytest.mark.parametrize(
    ("n_w", "n_out", "first", "last"),
    [(2, 5, 0, 5), (4, 5, 0, 5), (3, 4, 0, 5), (3, 6, 0, 5), (3, 5, -1, 5), (3, 5, 0, 6), (3, 5, 3, 2)],
)
def test_vectors_that_do_not_fit_the_rows_are_refused(n_w, n_out, first, last):
    for rows in forms(np.ones((5, 3)), _cpu.LEVEL):
        with pytest.raises(ValueError):
            rows.scores_into(np.zeros(n_w), first, last, np.zeros(n_out))
        with pytest.raises(ValueError):
            rows.add_transposed_into(np.zeros(n_out), first, last, np.zeros(n_w))
        if first < 0 or last > 5 or first > last:
            with pytest.raises(ValueError):
                rows.largest_square(first, last)


INDICES = np.array([0, 1, 2], dtype=np.int32)
INDPTR = np.array([0, 2, 3], dtype=np.int32)


@pytest.mark.parametrize(
    "arguments",
    [
        (np.zeros((5, 3)), None, None, 4),
        (np.zeros((5, 3)), None, INDPTR, 3),
        (np.zeros((5, 3)), INDICES, None, 3),
        (np.zeros((5, 6))[:, ::2], None, None, 3),
        (np.zeros((3, 5)).T, None, None, 3),
        (np.zeros((5, 3), dtype=np.int64), None, None, 3),
        (np.zeros(15), None, None, 3),
        (np.zeros(3), INDICES, np.array([0, 2, 4], dtype=np.int32), 3),
        (np.zeros(3), INDICES, np.array([1, 2, 3], dtype=np.int32), 3),
        (np.zeros(3), INDICES, np.zeros(0, dtype=np.int32), 3),
        (np.zeros(3), INDICES[:2], INDPTR, 3),
        (np.zeros(3), INDICES, INDPTR.astype(np.int64), 3),
        (np.zeros(3), INDICES.astype(np.float64), INDPTR.astype(np.float64), 3),
        (np.zeros((3, 1)), INDICES, INDPTR, 3),
        (np.zeros(3, dtype=np.int32), INDICES, INDPTR, 3),
    ],
)
def test_matrices_that_do_not_fit_are_refused(arguments):
    Rows(np.zeros(3), INDICES, INDPTR, 3, _cpu.LEVEL)
    with pytest.raises((ValueError, TypeError)):
        Rows(*arguments, _cpu.LEVEL)
