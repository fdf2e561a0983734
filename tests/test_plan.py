"""The query plan, against decimal arithmetic from the definitions."""

import itertools
import math

import cases
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import plan as reference

from fastrank._core import _plan
from fastrank.data.plan import QueryPlan

KINDS = (
    "ap2017",
    "map2014",
    "ap_sym",
    "ndcg2014",
    "ndcg2017",
    "ndcg@1",
    "ndcg@3",
    "ndcg@10",
    "ndcg@99999999999999999999",
)


def lists_of(plan_or_case):
    """Grades of each query as Python numbers, in grouped order."""
    return [plan_or_case.y[rows].tolist() for rows in plan_or_case.rows().values()]


def plan_of(*lists):
    sizes = [len(grades) for grades in lists]
    y = np.concatenate([np.asarray(grades, dtype=float) for grades in [*lists, []]])
    return QueryPlan(y, np.concatenate(([0], np.cumsum(sizes, dtype=np.int64))).astype(np.int64))


def parts(plan, values):
    return [values[a:b] for a, b in itertools.pairwise(plan.qptr)]


def levels(plan):
    """Grade and end of each run, query by query."""
    pairs = list(zip(plan.grades[plan.level_of].tolist(), plan.level_end.tolist(), strict=True))
    return [pairs[a:b] for a, b in itertools.pairwise(plan.level_ptr)]


# ---------------------------------------------------------------- the twin, by hand


def test_the_twin_gives_the_numbers_of_the_papers():
    assert reference.by_grade([0, 2, 1, 2]) == [1, 3, 2, 0]
    assert reference.level_ends([0, 2, 1, 2]) == [(2, 2), (1, 3), (0, 4)]
    assert reference.ideal_dcg([0, 1, 2]) == pytest.approx(3 + 1 / math.log2(3), rel=1e-15)
    assert reference.ideal_dcg([0, 1, 2], 1) == 3
    assert reference.slam_weights([1, 1, 0], "map2014") == pytest.approx([1 / 4, 1 / 6, 0], rel=1e-15)
    assert reference.slam_weights([1, 1, 0], "ap2017") == [0.5, 0.5, 0]
    # the worst order has AP (1/2 + 2/3) / 2 = 7/12
    assert reference.slam_weights([1, 0, 1], "ap_sym") == pytest.approx([5 / 24, 0, 5 / 24], rel=1e-15)
    Z = 3 + 1 / math.log2(3)
    assert reference.slam_weights([0, 1, 2], "ndcg2017") == pytest.approx([0, 1 / math.log2(3) / Z, 3 / Z], rel=1e-15)
    assert reference.slam_weights([0, 1, 2], "ndcg2014") == pytest.approx(
        [0, (1 / math.log2(3) - 0.5) / Z, 1.5 / Z], rel=1e-14
    )
    assert reference.slam_weights([0, 1, 2], "ndcg@1") == [0, 0, 1]
    assert reference.slam_weights([1, 1, 0], "map2014", class_average=True) == pytest.approx([5 / 24, 5 / 24, 0])


# ---------------------------------------------------------------- documents by grade


@pytest.mark.parametrize("name", cases.NAMES)
def test_documents_by_grade(name):
    case = cases.make(name)
    plan = case.dataset().plan
    lists = lists_of(case)
    assert [part.tolist() for part in parts(plan, plan.by_grade)] == [reference.by_grade(one) for one in lists]
    assert levels(plan) == [reference.level_ends(one) for one in lists]
    assert plan.grades.tolist() == sorted(set(case.y.tolist()))
    assert plan.n_relevant.tolist() == [sum(grade > 0 for grade in one) for one in lists]
    assert (plan.by_grade.dtype, plan.level_end.dtype, plan.level_of.dtype) == (np.int32, np.int32, np.int32)
    assert (plan.level_ptr.dtype, plan.n_relevant.dtype) == (np.int64, np.int64)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.lists(st.integers(0, 4) | st.sampled_from([0.5, 2.25]), max_size=12), max_size=8))
def test_any_small_lists(lists):
    plan = plan_of(*lists)
    assert [part.tolist() for part in parts(plan, plan.by_grade)] == [reference.by_grade(one) for one in lists]
    assert levels(plan) == [reference.level_ends(one) for one in lists]
    for name in ("map2014", "ndcg@3"):
        for averaged in (False, True):
            got = plan.slam_weights(name, class_average=averaged)
            expected = [w for one in lists for w in reference.slam_weights(one, name, class_average=averaged)]
            np.testing.assert_allclose(got, expected, rtol=1e-13, atol=1e-16)


@pytest.mark.parametrize("n_grades", [1023, 1024, 1025, 3000])
def test_both_sorts_agree_around_the_switch(rng, n_grades):
    y = np.concatenate([rng.permutation(n_grades), rng.integers(0, n_grades, 500)]) / 4
    sizes = np.array([0, 700, 0, n_grades + 500 - 701, 1, 0])
    # and lists that begin with the grade with which the one before ends
    lists = [*np.split(y, np.cumsum(sizes)[:-1]), *map(np.array, ([7.0], [7.0, 7.0], [0.0, 7.0], [0.0], [0.0, 0.0]))]
    plan = plan_of(*lists)
    assert len(plan.grades) == n_grades
    assert [part.tolist() for part in parts(plan, plan.by_grade)] == [reference.by_grade(one.tolist()) for one in lists]
    assert levels(plan) == [reference.level_ends(one.tolist()) for one in lists]


# ---------------------------------------------------------------- gains and discounts


def test_gains_of_real_grades_are_correctly_rounded(rng):
    grades = np.concatenate([rng.uniform(0, 5, 300), 10.0 ** rng.uniform(-30, 0, 100), rng.uniform(0, 1000, 100)])
    gains = np.empty_like(grades)
    _plan.gains_into(grades, gains)
    np.testing.assert_array_equal(gains, [float(reference.gain(grade)) for grade in grades.tolist()])


@pytest.mark.parametrize("name", cases.NAMES)
def test_gains(name):
    case = cases.make(name)
    data = case.dataset()
    expected = [float(reference.gain(grade)) for one in lists_of(case) for grade in one]
    np.testing.assert_array_equal(data.plan.gains, expected)


def test_discounts_are_rounded_correctly():
    table = np.empty(5000)
    _plan.discounts_into(table)
    assert table.tolist() == [float(reference.discount(rank)) for rank in range(1, 5001)]
    assert table[[0, 2, 6, 14, 4094]].tolist() == [1, 1 / 2, 1 / 3, 1 / 4, 1 / 12]


@pytest.mark.parametrize("rank", [2**17 - 1, 99_999, 2**17, 2**17 + 1])
def test_discounts_far_out_are_rounded_correctly(rank):
    table = np.empty(2**17 + 1)
    _plan.discounts_into(table)
    assert table[rank - 1] == float(reference.discount(rank))


def test_discounts_do_not_depend_on_how_many_there_are():
    whole = np.empty(5000)
    _plan.discounts_into(whole)
    for n in (0, 1, 2, 3, 63, 64, 65, 1000, 4999):
        table = np.empty(n)
        _plan.discounts_into(table)
        assert table.tobytes() == whole[:n].tobytes()
    assert plan_of([1], [0] * 37, []).discounts.tobytes() == whole[:37].tobytes()


# ---------------------------------------------------------------- ideal DCG


@pytest.mark.parametrize("name", cases.NAMES)
@pytest.mark.parametrize("k", [None, 1, 2, 10, 10**9])
def test_ideal_dcg(name, k):
    case = cases.make(name)
    expected = [reference.ideal_dcg(one, k) for one in lists_of(case)]
    np.testing.assert_allclose(case.dataset().plan.ideal_dcg(k), expected, rtol=1e-13)


def test_ideal_dcg_is_the_largest_of_all_orders():
    grades = [2, 0, 1, 1, 3]
    plan = plan_of(grades)
    for k in (1, 3, 5):
        dcg = [
            sum((2 ** grades[i] - 1) / math.log2(2 + place) for place, i in enumerate(order[:k]))
            for order in itertools.permutations(range(5))
        ]
        assert plan.ideal_dcg(k)[0] == pytest.approx(max(dcg), rel=1e-14)


@pytest.mark.parametrize(
    ("k", "error", "message"),
    [
        (0, ValueError, r"^k: expected an integer of at least 1, got 0$"),
        (-1, ValueError, r"^k: expected an integer of at least 1, got -1$"),
        (2.0, TypeError, r"^k: expected an integer of at least 1, got 2.0$"),
        (True, TypeError, r"^k: expected an integer of at least 1, got True$"),
    ],
)
def test_bad_cutoffs(k, error, message):
    with pytest.raises(error, match=message):
        plan_of([1, 0]).ideal_dcg(k)


# ---------------------------------------------------------------- SLAM weights


@pytest.mark.parametrize("averaged", [False, True], ids=["by place", "class average"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", [name for name in cases.NAMES if "huge" not in name and "blocks" not in name])
def test_slam_weights(name, kind, averaged):
    case = cases.make(name)
    got = case.dataset().plan.slam_weights(kind, class_average=averaged)
    expected = [w for one in lists_of(case) for w in reference.slam_weights(one, kind, class_average=averaged)]
    assert got.dtype == np.float64
    np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("averaged", [False, True])
@pytest.mark.parametrize("kind", ["map2014", "ap_sym", "ndcg2014", "ndcg@10"])
def test_slam_weights_of_a_huge_list(kind, averaged):
    case = cases.make("a huge list among tiny ones")
    got = case.dataset().plan.slam_weights(kind, class_average=averaged)
    expected = [w for one in lists_of(case) for w in reference.slam_weights(one, kind, class_average=averaged)]
    np.testing.assert_allclose(got, expected, rtol=1e-11, atol=1e-15)


@pytest.mark.parametrize("averaged", [False, True])
@pytest.mark.parametrize("name", ["graded", "binary", "all relevant", "all tied", "none relevant", "real grades"])
def test_slam_weights_have_the_sums_and_order_of_the_table(name, averaged):
    case = cases.make(name)
    plan = case.dataset().plan
    weights = {
        kind: [part.tolist() for part in parts(plan, plan.slam_weights(kind, class_average=averaged))] for kind in KINDS
    }
    for q, grades in enumerate(lists_of(case)):
        m, r = len(grades), sum(grade > 0 for grade in grades)
        total = {kind: sum(weights[kind][q]) for kind in KINDS}
        assert all(weight >= 0 for kind in KINDS for weight in weights[kind][q])
        if r == 0:
            assert not any(total.values())
            continue
        slack = 1 - float(reference.worst_ap(m, r))
        for kind in ("ap2017", "ndcg2017", "ndcg@1", "ndcg@3", "ndcg@10", KINDS[-1]):
            assert total[kind] == pytest.approx(1, rel=1e-13)
        for kind in ("map2014", "ap_sym"):
            assert total[kind] == pytest.approx(slack, rel=1e-12, abs=1e-15)
        assert total["ndcg2014"] <= 1
        for tight, loose in (("map2014", "ap2017"), ("ap_sym", "ap2017"), ("ndcg2014", "ndcg2017")):
            assert all(a <= b + 1e-15 for a, b in zip(weights[tight][q], weights[loose][q], strict=True))
        if r == m:
            assert total["map2014"] == total["ap_sym"] == 0
        if min(grades) == max(grades):
            assert total["ndcg2014"] == 0
        for kind in KINDS:
            listed = [weights[kind][q][i] for i in reference.by_grade(grades)]
            if averaged:
                by_level = {grade: set() for grade in grades}
                for grade, weight in zip(grades, weights[kind][q], strict=True):
                    by_level[grade].add(weight)
                assert all(len(different) == 1 for different in by_level.values())
            assert all(a >= b - 1e-15 for a, b in itertools.pairwise(listed))


def test_class_averages_do_not_depend_on_row_order(rng):
    grades = rng.integers(0, 4, 30)
    rows = rng.permutation(30)
    for kind in KINDS:
        one = plan_of(grades).slam_weights(kind, class_average=True)
        two = plan_of(grades[rows]).slam_weights(kind, class_average=True)
        assert one[rows].tobytes() == two.tobytes()


@pytest.mark.parametrize("name", ["ndcg@0", "ndcg@-1", "ndcg@", "ndcg", "ndcg@1.5", "ndcg@03", "AP2017", "", None, 3])
def test_unknown_weights(name):
    message = (
        r"^name: expected one of ap2017, map2014, ap_sym, ndcg2014, ndcg2017, ndcg@k with k an integer above zero, got "
    )
    with pytest.raises(ValueError, match=message):
        plan_of([1, 0]).slam_weights(name)


# ---------------------------------------------------------------- built once, the same bits for any threads


def test_results_are_kept():
    plan = cases.make("shuffled rows").dataset().plan
    longest = int(np.diff(plan.qptr).max())
    assert plan.ideal_dcg() is plan.ideal_dcg()
    assert plan.ideal_dcg(3) is plan.ideal_dcg(3)
    assert plan.ideal_dcg(3) is not plan.ideal_dcg(4)
    assert plan.ideal_dcg(longest + 7) is plan.ideal_dcg()
    for averaged in (False, True):
        for kind in KINDS:
            kept = plan.slam_weights(kind, class_average=averaged)
            assert kept is plan.slam_weights(kind, class_average=averaged)
    assert plan.slam_weights("ndcg2017") is not plan.slam_weights("ndcg2017", class_average=True)
    for name in ("gains", "discounts", "n_relevant"):
        assert getattr(plan, name) is getattr(plan, name)


def test_everything_is_read_only():
    plan = cases.make("graded").dataset().plan
    arrays = [plan.ideal_dcg(2), plan.slam_weights("ap2017"), plan.gains, plan.discounts, plan.n_relevant]
    arrays += [plan.by_grade, plan.level_ptr, plan.level_end, plan.level_of, plan.grades, plan.level_gain, plan.qptr]
    for array in arrays:
        with pytest.raises(ValueError, match="read-only"):
            array[:] = 0


def bits(plan):
    arrays = [plan.by_grade, plan.level_ptr, plan.level_end, plan.level_of, plan.grades, plan.gains, plan.n_relevant]
    arrays += [plan.ideal_dcg(k) for k in (None, 1, 7)]
    arrays += [plan.slam_weights(kind, class_average=averaged) for kind in KINDS for averaged in (False, True)]
    return [array.tobytes() for array in arrays]


@pytest.mark.parametrize(
    "name", ["many blocks", "shuffled rows in many blocks", "a huge list among tiny ones", "more than 1024 grades"]
)
def test_the_same_bits_for_any_number_of_threads(name):
    case = cases.make(name)
    expected = bits(case.dataset(n_jobs=1).plan)
    for n_jobs in (2, 3, 8):
        assert bits(case.dataset(n_jobs=n_jobs).plan) == expected


def test_the_plan_does_not_change_the_grades():
    case = cases.make("shuffled rows")
    data = case.dataset()
    bits(data.plan)
    np.testing.assert_array_equal(data.y, case.y)


def test_grades_whose_gain_overflows():
    assert np.isfinite(plan_of([1000, 0]).slam_weights("ndcg2014")).all()
    with pytest.raises(ValueError, match=r"^y: expected grades of at most 1000, .* got 1001; rescale the grades$"):
        plan_of([1001, 0])


def test_repr():
    assert repr(plan_of([1, 0], [2])) == "QueryPlan(2 queries, 3 rows, 3 grades)"
