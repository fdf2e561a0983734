"""What the papers prove of the losses, as tests of the kernels: bounds, convexity, self-bounding, constants.

Sections and equations: Chaudhuri & Tewari 2014 and 2017, with their errata mended.
"""

from __future__ import annotations

import itertools
import math

import loss_cases as cases
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import losses as reference
from reference import metrics
from reference.metrics import Measure, Tables

from fastrank._core import _cpu, _metrics
from fastrank._core._losses import ListNetLoss, MaxPairLoss, RankSvmLoss, SlamLoss
from fastrank.data.plan import QueryPlan

examples = settings(max_examples=150, deadline=None, derandomize=True)

CUTS = (1, 2, 3, 5)
# The measure that each vector of weights makes a bound of.
MEASURES = {
    "ap2017": Measure("ap", fill=1.0),
    "map2014": Measure("ap", fill=1.0),
    "ap_sym": Measure("ap", fill=1.0),
    "ndcg2014": Measure("ndcg", fill=1.0),
    "ndcg2017": Measure("ndcg", fill=1.0),
    **{f"ndcg@{k}": Measure("ndcg", k, fill=1.0) for k in CUTS},
}
WEIGHTS = tuple(itertools.product(MEASURES, (False, True)))
DISTINCT = tuple(dict.fromkeys(MEASURES.values()))
SLACK = 1e-12

GRADE = st.integers(0, 4) | st.sampled_from([0.5, 2.25])
# Few values, so that scores tie and gaps are the margin; near ones, where the bounds are tight; and any.
SCORE = st.sampled_from([0.0, -0.0, 1.0, -1.0, 0.5, 2.0]) | st.integers(0, 7).map(lambda i: i * 2.0**-30)
SCORE |= st.floats(-4, 4)


def lists_of(*parts, least=0, most=8):
    """Tuples of lists of one length."""
    sizes = st.integers(least, most)
    return sizes.flatmap(lambda n: st.tuples(*(st.lists(part, min_size=n, max_size=n) for part in parts)))


QUERY = lists_of(GRADE, SCORE)
PAIR = lists_of(GRADE, SCORE, SCORE)
WITH_FEATURES = lists_of(GRADE, st.tuples(*[st.integers(-3, 3)] * 3), least=2, most=6)


def plan_of(*lists):
    sizes = [len(grades) for grades in lists]
    grades = np.array([grade for one in lists for grade in one], dtype=np.float64)
    return QueryPlan(grades, np.cumsum([0, *sizes], dtype=np.int64))


def tables_of(plan):
    return Tables(plan.level_gain, [0.0] * len(plan.grades), plan.discounts, 0, int((plan.grades <= 0).sum()))


def losses_of(plan, margin=1.0):
    """Every convex loss of one plan, by a name that explains itself in a failure."""
    found = {
        f"Slam {name}, class average {average}": SlamLoss(plan.slam_weights(name, class_average=average), margin)
        for name, average in WEIGHTS
    }
    found["MaxPair"] = MaxPairLoss(None, margin)
    found["RankSVM"] = RankSvmLoss(None, margin, _cpu.LEVEL)
    return found


def one(loss, plan, scores):
    """(value, gradient) of a plan of one query."""
    values, gradient = cases.evaluate(loss, plan, np.asarray(scores, dtype=np.float64))
    return float(values[0]), gradient


def measured(plan, measures, scores, ties):
    """Measures of one query by the twin."""
    values = metrics.expected if ties == "mean" else lambda *arguments: metrics.values(*arguments, ties)
    return values(measures, tables_of(plan), plan.levels.tolist(), scores)


def lost(plan, measures, scores, ties="worst"):
    """1 - measure."""
    return dict(zip(measures, (1 - value for value in measured(plan, measures, scores, ties)), strict=True))


# ---------------------------------------------------------------- upper bounds (2014 Thm 2-3; 2017 Lemma 3-4, Sec. 6)


@examples
@given(QUERY)
def test_no_tie_rule_loses_more_than_the_worst(query):
    grades, scores = query
    plan = plan_of(grades)
    worst = lost(plan, DISTINCT, scores)
    for ties in metrics.TIES:
        for measure, loss in lost(plan, DISTINCT, scores, ties).items():
            assert loss <= worst[measure] + SLACK, (measure, ties)


@examples
@given(QUERY)
def test_slam_is_at_least_what_its_measure_loses(query):
    grades, scores = query
    plan = plan_of(grades)
    for ties in metrics.TIES:
        losses = lost(plan, DISTINCT, scores, ties)
        for name, average in WEIGHTS:
            value, _ = one(SlamLoss(plan.slam_weights(name, class_average=average), 1.0), plan, scores)
            assert value >= losses[MEASURES[name]] - SLACK, (name, average, ties)


@examples
@given(QUERY)
def test_max_pair_is_at_least_what_any_measure_loses_and_one_on_mistakes(query):
    grades, scores = query
    plan = plan_of(grades)
    value, _ = one(MaxPairLoss(None, 1.0), plan, scores)
    for ties in metrics.TIES:
        for measure, loss in lost(plan, DISTINCT, scores, ties).items():
            assert value >= loss - SLACK, (measure, ties)
            assert loss < SLACK or value >= 1, (measure, ties)


def every_query(n, grades, gap):
    """All ways to grade and to order n documents, ties included, scores `gap` apart."""
    return [
        (np.array(scores) * gap, np.array(labels, dtype=np.float64))
        for labels in itertools.product(grades, repeat=n)
        for scores in itertools.product(range(n), repeat=n)
    ]


@pytest.mark.parametrize(("n", "grades"), [(1, (0, 1, 2)), (2, (0, 1, 2)), (3, (0, 1, 2, 3)), (4, (0, 1, 2))])
@pytest.mark.parametrize("gap", [2.0**-40, 0.5])
def test_every_order_of_a_few_documents(n, grades, gap, rng):
    case = cases.joined(every_query(n, grades, gap), rng)
    plan = case.plan
    found = {}
    for measure in DISTINCT:
        program = _metrics.Program(
            np.array([_metrics.KINDS[measure.kind]], dtype=np.int32),
            np.array([measure.cut], dtype=np.int64),
            np.zeros(1, dtype=np.int32),
            np.ones(1),
            plan.level_gain,
            np.zeros(len(plan.grades)),
            0,
            int((plan.grades <= 0).sum()),
            plan.discounts,
            _metrics.TIES["worst"],
        )
        out = np.empty((1, case.n_queries))
        program.run(case.scores, plan.levels, case.qptr, 0, case.n_queries, None, None, _cpu.LEVEL, 0, out)
        found[measure] = 1 - out[0]
    for name, average in WEIGHTS:
        weights = plan.slam_weights(name, class_average=average)
        values, _ = cases.evaluate(SlamLoss(weights, 1.0), plan, case.scores)
        slack = values - found[MEASURES[name]]
        assert slack.min() >= -SLACK, (name, average)
        if n > 1 and gap < 1e-9 and "2014" in name:  # nothing smaller will do
            assert slack[found[MEASURES[name]] > 0.1].min() < 1e-9, (name, average)
    values, _ = cases.evaluate(MaxPairLoss(None, 1.0), plan, case.scores)
    for losses in found.values():
        assert (values >= losses).all()
        assert (values[losses >= SLACK] >= 1).all()


# ---------------------------------------------------------------- the definition (2014 Eq. 3-5, 2017 Eq. 8-9)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(QUERY, st.sampled_from(cases.MARGINS), st.data())
def test_slam_is_the_value_of_the_linear_program(query, margin, data):
    grades, scores = query
    plan = plan_of(grades)
    n = len(grades)
    vectors = [plan.slam_weights(name, class_average=average) for name, average in WEIGHTS[:6]]
    vectors.append(np.array(data.draw(st.lists(st.floats(0, 3), min_size=n, max_size=n)), dtype=np.float64))
    for weights in vectors:
        value = reference.slam_lp(scores, grades, weights, margin)
        assert one(SlamLoss(weights, margin), plan, scores)[0] == pytest.approx(value, rel=1e-9, abs=1e-8)
        assert reference.slam(scores, grades, weights, margin)[0] == pytest.approx(value, rel=1e-9, abs=1e-8)


@examples
@given(QUERY, st.integers(-8, 8))
def test_the_margin_is_a_unit_of_scores(query, exponent):
    """phi_margin(s) = margin phi_1(s / margin): the same bits where the margin is a power of two."""
    grades, scores = query
    plan = plan_of(grades)
    margin = 2.0**exponent
    scaled = np.array(scores, dtype=np.float64) / margin
    for (name, loss), unit in zip(losses_of(plan, margin).items(), losses_of(plan).values(), strict=True):
        value, gradient = one(loss, plan, scores)
        value_1, gradient_1 = one(unit, plan, scaled)
        if all(score == 0 or abs(score) > 1e-200 for score in scores):  # no subnormal numbers, which round
            assert value == margin * value_1, name
            np.testing.assert_array_equal(gradient, gradient_1, err_msg=name)
        else:
            assert value == pytest.approx(margin * value_1), name
    for margin in (0.01, 0.3, 100.0):
        for name in ("ap2017", "ndcg2017"):
            weights = plan.slam_weights(name)
            value, _ = one(SlamLoss(weights, margin), plan, scores)
            value_1, _ = one(SlamLoss(weights, 1.0), plan, np.array(scores) / margin)
            assert value == pytest.approx(margin * value_1, rel=1e-12, abs=1e-12 * margin)


@examples
@given(QUERY, st.sampled_from([0.01, 0.5]))
def test_a_smaller_margin_bounds_that_share_of_the_loss(query, margin):
    grades, scores = query
    plan = plan_of(grades)
    losses = lost(plan, DISTINCT, scores)
    for name, average in WEIGHTS:
        value, _ = one(SlamLoss(plan.slam_weights(name, class_average=average), margin), plan, scores)
        assert value >= margin * losses[MEASURES[name]] - SLACK, (name, average)


# ---------------------------------------------------------------- convexity


@examples
@given(PAIR)
def test_losses_are_convex_and_their_gradients_are_subgradients(pair):
    grades, a, b = pair
    plan = plan_of(grades)
    a, b = np.array(a, dtype=np.float64), np.array(b, dtype=np.float64)
    targets = np.array(reference.softmax(grades), dtype=np.float64)
    for name, loss in {**losses_of(plan), "ListNet": ListNetLoss(targets, _cpu.LEVEL)}.items():
        (at_a, slope), (at_b, _), (middle, _) = (one(loss, plan, scores) for scores in (a, b, (a + b) / 2))
        slack = 1e-12 * (1 + at_a + at_b)
        assert middle <= (at_a + at_b) / 2 + slack, name
        assert at_b >= at_a + slope @ (b - a) - slack, name


def test_weights_sorted_by_score_inside_a_grade_would_not_be_convex():
    """Why the weights are fixed by row: with sorted ones the ends are 1/3 and the middle is 5/12."""

    def by_score(scores):
        high, low = sorted(scores[:2], reverse=True)
        return reference.slam([high, low, scores[2]], [1, 1, 0], [1 / 4, 1 / 6, 0])[0]

    assert by_score([1, -1, 0]) == by_score([-1, 1, 0]) == pytest.approx(1 / 3)
    assert by_score([0, 0, 0]) == pytest.approx(5 / 12)


# ---------------------------------------------------------------- self-bounding (2014 Prop. 4; 2017 Lemma 5, Thm 10)


@examples
@given(WITH_FEATURES, st.lists(st.sampled_from([0.0, 0.25, -1.0, 3.0]), min_size=3, max_size=3))
def test_steps_are_bounded_by_the_loss_on_mistakes(query, w):
    """||X^T g||^2 <= A f with A = 4 |supp v| (sum v) R^2 v_max, and 4 R^2 for MaxPair."""
    grades, features = query
    plan = plan_of(grades)
    X = np.array(features, dtype=np.float64)
    scores = X @ np.array(w)
    R2 = float((X**2).sum(axis=1).max())
    losses = lost(plan, DISTINCT, scores.tolist())
    for name, average in WEIGHTS:
        weights = plan.slam_weights(name, class_average=average)
        if losses[MEASURES[name]] >= SLACK:
            value, gradient = one(SlamLoss(weights, 1.0), plan, scores)
            positive = weights[weights > 0]
            spread = positive.max() / positive.min()
            A = 4 * len(positive) * positive.sum() * R2 * spread
            assert float(((X.T @ gradient) ** 2).sum()) <= A * value * (1 + SLACK), (name, average)
            assert len(positive) * positive.sum() <= len(grades) * (1 + SLACK)  # so A <= 4 m R^2 v_max, the papers'
    if max(losses.values()) >= SLACK:
        value, gradient = one(MaxPairLoss(None, 1.0), plan, scores)
        assert float(((X.T @ gradient) ** 2).sum()) <= 4 * R2 * value * (1 + SLACK)


# ---------------------------------------------------------------- weights and norms


@examples
@given(st.lists(GRADE, max_size=12))
def test_weights_of_2014_are_below_those_of_2017(grades):
    plan = plan_of(grades)
    v = {name: plan.slam_weights(name) for name in MEASURES}
    assert (v["map2014"] <= v["ap2017"] + 1e-15).all()
    assert (v["ap_sym"] <= v["ap2017"] + 1e-15).all()
    assert (v["ndcg2014"] <= v["ndcg2017"] + 1e-15).all()
    for name, average in WEIGHTS:
        weights = plan.slam_weights(name, class_average=average)
        assert (weights >= 0).all()
        assert weights.sum() <= 1 + SLACK
        assert weights.sum() == pytest.approx(v[name].sum(), rel=1e-13)
    worst = lost(plan, [MEASURES["ap2017"]], [-grade for grade in grades])[MEASURES["ap2017"]]
    assert v["map2014"].sum() == pytest.approx(worst, abs=1e-14)
    assert v["ap_sym"].sum() == pytest.approx(worst, abs=1e-14)


@examples
@given(QUERY, st.sampled_from(cases.MARGINS))
def test_gradients_are_within_their_constants(query, margin):
    grades, scores = query
    plan = plan_of(grades)
    m = len(grades)

    def norms(loss):
        _, gradient = one(loss, plan, scores)
        assert abs(math.fsum(gradient)) <= 1e-13 * (1 + np.abs(gradient).sum())  # adding to all scores changes nothing
        return math.fsum(np.abs(gradient)), math.sqrt(math.fsum(gradient**2))

    for name, average in WEIGHTS:
        weights = plan.slam_weights(name, class_average=average)
        l1, l2 = norms(SlamLoss(weights, margin))
        assert l1 <= 2 * weights.sum() * (1 + SLACK)
        assert l2 <= math.sqrt(2) * weights.sum() * (1 + SLACK)
    l1, l2 = norms(MaxPairLoss(None, margin))
    assert (l1, l2) in ((0, 0), (2, math.sqrt(2)))
    l1, _ = norms(RankSvmLoss(None, margin, _cpu.LEVEL))
    assert l1 <= m**2 // 2
    targets = np.array(reference.softmax(grades), dtype=np.float64)
    l1, l2 = norms(ListNetLoss(targets, _cpu.LEVEL))
    assert l1 <= 2 * (1 - targets.min(initial=1)) + SLACK
    assert l2 <= math.sqrt(2) + SLACK


@pytest.mark.parametrize("m", range(2, 12))
def test_the_constant_of_rank_svm_is_reached(m):
    grades = [0.0] * (m // 2) + [1.0] * (m - m // 2)
    _, gradient = one(RankSvmLoss(None, 1.0, _cpu.LEVEL), plan_of(grades), np.zeros(m))
    assert np.abs(gradient).sum() == m**2 // 2


@examples
@given(lists_of(st.integers(0, 3), st.integers(-6, 6)), st.randoms(use_true_random=False))
def test_class_averages_do_not_depend_on_the_order_of_the_rows(query, random):
    grades, scores = query
    rows = list(range(len(grades)))
    random.shuffle(rows)
    other = [grades[row] for row in rows], [scores[row] for row in rows]
    for name in MEASURES:
        values = []
        for labels, points in (query, other):
            plan = plan_of(labels)
            values.append(one(SlamLoss(plan.slam_weights(name, class_average=True), 1.0), plan, points)[0])
        assert values[0] == pytest.approx(values[1], rel=1e-13, abs=1e-15)
