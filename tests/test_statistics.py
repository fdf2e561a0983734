from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import statistics as reference
from scipy import stats

from fastrank.metrics import _statistics as ours

STEPS = st.lists(st.integers(-6, 6), min_size=2, max_size=9)
P_VALUES = st.lists(st.floats(0, 1), min_size=1, max_size=30)


def as_steps(values: list[int]) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def sample(n: int, seed: int = 0) -> np.ndarray:
    """Skewed values, so that BCa has something to mend."""
    return np.random.default_rng(seed).random(n) ** 3


# Intervals


@pytest.mark.parametrize("n", [2, 3, 10, 57])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_t_interval_is_scipys(n, confidence):
    x = sample(n)
    expected = stats.t.interval(confidence, n - 1, loc=x.mean(), scale=stats.sem(x))
    np.testing.assert_allclose(ours.t_interval(x, confidence), expected, rtol=1e-10)


def test_t_interval_by_hand():
    # mean 2, s = 1, t(2; 0.975) = 4.302653, so 2 ± 4.302653 / sqrt(3)
    np.testing.assert_allclose(ours.t_interval([1, 2, 3]), (2 - 2.484138, 2 + 2.484138), atol=1e-6)


@pytest.mark.parametrize("method", ["BCa", "percentile"])
@pytest.mark.parametrize("confidence", [0.8, 0.95])
@pytest.mark.parametrize("n", [12, 57, 400])
def test_bootstrap_is_scipys_for_the_same_resamples(n, confidence, method):
    x = sample(n, seed=n)
    expected = stats.bootstrap(
        (x,),
        np.mean,
        n_resamples=999,
        confidence_level=confidence,
        method=method,
        random_state=np.random.default_rng(7),
    ).confidence_interval
    found = ours.bootstrap_interval(x, confidence, 999, 7, method.lower())
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_bca_differs_from_percentile_where_data_are_skewed():
    x = sample(30)
    bca, plain = (np.array(ours.bootstrap_interval(x, method=method)) for method in ("bca", "percentile"))
    assert (bca > plain + 0.002).all()  # a long right tail: both ends move up


def test_bootstrap_agrees_with_another_seed_within_monte_carlo_error():
    x = sample(200)
    one, other = (np.array(ours.bootstrap_interval(x, random_state=seed)) for seed in (1, 2))
    assert (one != other).all()
    np.testing.assert_allclose(one, other, atol=0.1 * stats.sem(x))


def test_bootstrap_covers_the_truth_about_as_often_as_it_says():
    rng = np.random.default_rng(5)
    draws = rng.exponential(size=(400, 40))
    intervals = ours.bootstrap_intervals(draws, 0.9, 500, 0)
    covered = np.mean((intervals[:, 0] < 1) & (intervals[:, 1] > 1))
    assert 0.84 < covered < 0.94


def test_bootstrap_of_rows_is_that_of_each_row_alone():
    rng = np.random.default_rng(0)
    table = rng.random((4, 50))
    table[1, [3, 8]] = np.nan
    table[3, 3:] = np.nan
    table[2] = 0.25
    both = ours.bootstrap_intervals(table, 0.9, 300, 11)
    for row, found in zip(table, both, strict=True):
        assert ours.bootstrap_interval(row, 0.9, 300, 11) == tuple(found)
        assert ours.bootstrap_interval(row[~np.isnan(row)], 0.9, 300, 11) == tuple(found)


def test_bootstrap_does_not_depend_on_the_size_of_blocks(monkeypatch):
    x = sample(33)
    whole = ours.bootstrap_interval(x, n_resamples=200)
    monkeypatch.setattr(ours, "_BLOCK", 100)
    assert ours.bootstrap_interval(x, n_resamples=200) == whole


def test_bootstrap_ties_of_tenths_do_not_depend_on_rounding():
    # 0.1 has no exact double: resampled means equal to the observed one come out a bit above or below it.
    x = np.array([0.1, 0.2, 0.3, 0.7, 0.9, 0.4] * 2)
    np.testing.assert_allclose(
        ours.bootstrap_interval(x, n_resamples=2000),
        np.array(ours.bootstrap_interval(np.rint(10 * x), n_resamples=2000)) / 10,
        rtol=1e-12,
    )


@pytest.mark.parametrize("interval", [ours.t_interval, ours.bootstrap_interval])
@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([], (math.nan, math.nan)),
        ([0.3], (math.nan, math.nan)),
        ([math.nan, 0.3, math.nan], (math.nan, math.nan)),
        ([0.3, 0.3, 0.3], (0.3, 0.3)),
        ([0.0, 0.0], (0.0, 0.0)),
        ([0.1 + 0.2, 0.3, math.nan, 0.3], (0.1 + 0.2, 0.1 + 0.2)),
    ],
)
def test_intervals_of_degenerate_data(interval, values, expected):
    np.testing.assert_equal(interval(values), expected)


@pytest.mark.parametrize("interval", [ours.t_interval, ours.bootstrap_interval])
def test_intervals_leave_nan_out(interval):
    assert interval([0.1, math.nan, 0.5, 0.7]) == interval([0.1, 0.5, 0.7])


def test_bootstrap_with_extreme_settings():
    x = sample(12)
    for n_resamples in (1, 2, 3):
        for y in (x, 1 - x):
            for seed in range(5):
                low, high = ours.bootstrap_interval(y, n_resamples=n_resamples, random_state=seed)
                assert y.min() <= low <= high <= y.max()
    low, high = ours.bootstrap_interval([0.0] * 9 + [1.0], confidence=1 - 1e-15, n_resamples=500)
    assert 0 <= low < high <= 1


def test_a_generator_moves_on_and_a_seed_does_not():
    x = sample(20)
    rng = np.random.default_rng(3)
    first, second = (ours.bootstrap_interval(x, n_resamples=50, random_state=rng) for _ in range(2))
    assert first != second
    again = ours.bootstrap_interval(x, n_resamples=50, random_state=np.random.default_rng(3))
    assert first == again
    assert ours.bootstrap_interval(x, random_state=4) == ours.bootstrap_interval(x, random_state=4)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"confidence": 95}, "confidence: expected a number between 0 and 1, got 95; for 95 % pass 0.95"),
        ({"confidence": 0}, "confidence: expected a finite number greater than 0"),
        ({"n_resamples": 0}, "n_resamples: expected an integer of at least 1, got 0"),
        ({"method": "basic"}, "method: expected one of 'bca', 'percentile', got 'basic'"),
        ({"random_state": -1}, "random_state: expected an integer of at least 0"),
    ],
)
def test_bootstrap_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        ours.bootstrap_interval([0.1, 0.2], **arguments)


def test_random_state_of_the_wrong_kind():
    with pytest.raises(TypeError, match="random_state: expected an integer seed"):
        ours.bootstrap_interval([0.1, 0.2], random_state=None)


def test_memory_is_bounded():
    x = sample(20_000)
    steps = ours.difference_steps(x, sample(20_000, 1))
    tracemalloc.start()
    try:
        ours.bootstrap_interval(x, n_resamples=300)
        ours.randomisation_test(steps, 2000)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 12e6  # all draws at once would be 48 MB


# Differences


def test_steps_make_rounding_harmless():
    a, b = np.array([0.3, 0.2, 0.9, 0.1 + 0.2]), np.array([0.2, 0.1, 0.8, 0.3])
    assert len(set((a - b).tolist())) == 3  # 0.09999999999999998, 0.1, again the first, 5.6e-17
    steps = ours.difference_steps(a, b)
    assert steps[0] == steps[1] == steps[2] > 0
    assert steps[3] == 0
    assert (ours.difference_steps(b, a) == -steps).all()


def test_steps_up_to_the_tolerance_are_0():
    a, b = np.array([0.3, 0.8, 0.5, 0.9, 0.2]), np.array([0.2, 0.7, 0.6, 0.7, 0.31])
    assert (np.abs(a - b) <= 0.1).tolist() == [True, False, True, False, False]  # 0.8 - 0.7 is 0.10000000000000009
    assert (ours.difference_steps(a, b, 0.1) == 0).tolist() == [True, True, True, False, False]
    plain = ours.difference_steps(a, b)
    assert (ours.difference_steps(a, b, 0.1)[3:] == plain[3:]).all()
    assert not ours.difference_steps(a, b, 1e308).any()
    assert not ours.difference_steps(1e-300 * a, 1e-300 * b, 1.0).any()


@given(st.lists(st.integers(-(10**9), 10**9), min_size=1, max_size=20), st.integers(-300, 300))
def test_steps_are_the_differences_at_any_scale(values, exponent):
    a = np.ldexp(np.array(values, dtype=float), exponent)
    b = np.zeros(len(a))
    steps = ours.difference_steps(a, b)
    largest = np.abs(a).max()
    if largest > 0:
        unit = math.ldexp(1.0, math.frexp(largest)[1] - 40)
        np.testing.assert_array_equal(steps * unit, a)  # 30 bits fit into 40
    assert (ours.difference_steps(b, a) == -steps).all()


def test_sums_of_steps_fit_into_64_bits(monkeypatch):
    monkeypatch.setattr(ours, "_STEP_BITS", 60)  # as large as only many millions of queries would make the sum
    for n in (1, 2, 15, 16, 1000):
        steps = ours.difference_steps(np.full(n, 1.999), np.full(n, -1.999))
        assert 2**60 < int(steps[0]) * n < 2**63


# Tests


@given(st.integers(0, 10**6), st.integers(2, 40))
def test_t_test_is_scipys(seed, n):
    a, b = np.random.default_rng(seed).random((2, n))
    assert ours.t_test(a - b) == pytest.approx(stats.ttest_rel(a, b).pvalue, rel=1e-10)


@given(STEPS)
def test_wilcoxon_is_the_definition(values):
    assert ours.wilcoxon_test(as_steps(values)) == pytest.approx(reference.wilcoxon(values), rel=1e-12)


@pytest.mark.parametrize("n", [5, 20, 50, 51, 300])
def test_wilcoxon_is_scipys_without_ties(n):
    rng = np.random.default_rng(n)
    steps = (rng.permutation(n) + 1) * rng.choice([-1, 1], n, p=[0.3, 0.7])
    assert ours.wilcoxon_test(steps) == pytest.approx(stats.wilcoxon(steps).pvalue, rel=1e-10)


def test_wilcoxon_with_ties_and_zeros_beyond_the_exact_distribution():
    steps = np.random.default_rng(0).integers(-4, 6, 200)
    assert np.count_nonzero(steps) < 200
    expected = stats.wilcoxon(steps[steps != 0], correction=False).pvalue
    assert ours.wilcoxon_test(steps) == pytest.approx(expected, rel=1e-10)


@given(STEPS)
def test_sign_test_is_scipys(values):
    wins, losses = sum(v > 0 for v in values), sum(v < 0 for v in values)
    expected = stats.binomtest(wins, wins + losses).pvalue if wins + losses else 1.0
    assert ours.sign_test(as_steps(values)) == expected


@given(STEPS)
def test_randomisation_counts_all_patterns_where_they_are_few(values):
    assert ours.randomisation_test(as_steps(values), 600) == pytest.approx(reference.randomisation(values), rel=1e-12)


@settings(max_examples=30)
@given(st.lists(st.integers(-9, 9), min_size=7, max_size=12).filter(any), st.integers(0, 1000))
def test_drawn_patterns_agree_with_all_patterns(values, seed):
    steps = as_steps(values)
    exact = ours.randomisation_test(steps, 5000)
    drawn = (
        1 + np.count_nonzero(np.abs(ours._random_sums(steps, 5000, np.random.default_rng(seed))) >= abs(steps.sum()))
    ) / 5001
    assert drawn == pytest.approx(exact, abs=5 * math.sqrt(0.25 / 5000))


def test_drawn_signs_are_fair_and_independent():
    # Digits of base 1000 keep the signs of 6 differences apart; further ones are 0 to fill the eights.
    weights = 1000 ** np.arange(6, dtype=np.int64)
    sums = ours._random_sums(weights, 20_000, np.random.default_rng(1))
    patterns, counts = np.unique(sums, return_counts=True)
    assert len(patterns) == 64
    assert stats.chisquare(counts).pvalue > 1e-4


def test_randomisation_is_scipys():
    rng = np.random.default_rng(8)
    a, b = rng.random((2, 40))
    b += 0.08

    def mean_difference(x, y, axis):
        return np.mean(x - y, axis=axis)

    expected = stats.permutation_test(
        (a, b), mean_difference, permutation_type="samples", vectorized=True, n_resamples=20_000, random_state=rng
    ).pvalue
    found = ours.randomisation_test(ours.difference_steps(a, b), 20_000, 0)
    assert found == pytest.approx(expected, abs=5 * math.sqrt(expected / 20_000))
    assert 0.01 < expected < 0.5


def test_randomisation_never_answers_zero_from_draws():
    assert ours.randomisation_test(np.full(100, 7), 500) == 1 / 501


def test_randomisation_seeds():
    steps = ours.difference_steps(sample(60), sample(60, 1))
    assert ours.randomisation_test(steps, 999, 5) == ours.randomisation_test(steps, 999, 5)
    assert len({ours.randomisation_test(steps, 999, seed) for seed in range(6)}) > 1


ALL_TESTS = [ours.wilcoxon_test, ours.sign_test, ours.randomisation_test]


@pytest.mark.parametrize("test", ALL_TESTS)
@given(values=st.lists(st.integers(-50, 50), min_size=2, max_size=70))
@settings(max_examples=25)
def test_p_does_not_depend_on_which_system_is_the_baseline(test, values):
    assert test(as_steps(values)) == test(-as_steps(values))


@pytest.mark.parametrize("test", ALL_TESTS)
@given(values=st.lists(st.integers(-5, 5), min_size=2, max_size=13), zeros=st.integers(0, 5))
@settings(max_examples=25)
def test_rank_and_sign_tests_leave_zeros_out(test, values, zeros):
    assert test(as_steps(values + [0] * zeros)) == test(as_steps(values))


@pytest.mark.parametrize("test", [*ALL_TESTS, ours.t_test])
def test_equal_systems_have_p_1(test):
    for n in (2, 5, 1000):
        assert test(np.zeros(n, dtype=float if test is ours.t_test else np.int64)) == 1.0


@pytest.mark.parametrize("test", [*ALL_TESTS, ours.t_test])
@pytest.mark.parametrize("values", [[], [3], [0]])
def test_fewer_than_two_queries_have_no_p(test, values):
    assert math.isnan(test(np.array(values, dtype=float if test is ours.t_test else np.int64)))


def test_t_test_of_a_constant_difference():
    assert ours.t_test(np.full(6, 0.1)) == 0.0
    assert ours.t_test(np.array([0.3, 0.2, 0.7]) - np.array([0.2, 0.1, 0.6])) == 0.0  # equal but for rounding


@pytest.mark.parametrize("test", [*ALL_TESTS, ours.t_test])
def test_p_is_uniform_where_there_is_no_difference(test):
    rng = np.random.default_rng(2)
    a, b = rng.random((2, 300, 25))
    gaps = a - b if test is ours.t_test else [ours.difference_steps(x, y) for x, y in zip(a, b, strict=True)]
    rejected = np.mean([test(gap, 500) < 0.1 if test is ours.randomisation_test else test(gap) < 0.1 for gap in gaps])
    assert 0.04 < rejected < 0.16


# Effect sizes


def test_cohens_dz_by_hand():
    assert ours.cohens_dz(np.array([1.0, 2.0, 3.0])) == pytest.approx(2.0)  # mean 2, standard deviation 1
    assert ours.cohens_dz(np.zeros(3)) == 0.0
    assert ours.cohens_dz(np.full(3, -0.1)) == -math.inf
    assert math.isnan(ours.cohens_dz(np.ones(1)))


def test_dz_and_t_tell_the_same():
    gap = sample(30) - 0.2
    t = stats.ttest_1samp(gap, 0).statistic
    assert ours.cohens_dz(gap) * math.sqrt(30) == pytest.approx(t)


def test_hedges_correction_by_hand():
    # From the gamma function at whole and half numbers; then Hedges' own approximation 1 - 3 / (4 f - 1).
    assert ours.hedges_correction(3) == pytest.approx(1 / math.sqrt(math.pi))
    assert ours.hedges_correction(4) == pytest.approx(math.sqrt(math.pi / 6))
    assert ours.hedges_correction(5) == pytest.approx(math.sqrt(2 / math.pi))
    assert ours.hedges_correction(10_000) == pytest.approx(1 - 3 / (4 * 9999 - 1), rel=1e-8)
    assert ours.hedges_correction(2) == 0.0
    assert math.isnan(ours.hedges_correction(1))


@given(STEPS)
def test_rank_biserial_is_the_definition(values):
    found = ours.rank_biserial(as_steps(values))
    assert found == pytest.approx(reference.rank_biserial(values), abs=1e-12)
    assert -1 <= found <= 1
    assert ours.rank_biserial(-as_steps(values)) == -found


def test_rank_biserial_of_clear_cases():
    assert ours.rank_biserial(as_steps([1, 2, 3])) == 1.0
    assert ours.rank_biserial(as_steps([0, 0])) == 0.0
    assert math.isnan(ours.rank_biserial(as_steps([])))


# Corrections


def test_corrections_by_hand():
    p = [0.01, 0.04, 0.03, 0.005]
    np.testing.assert_allclose(ours.holm(p), [0.03, 0.06, 0.06, 0.02])
    np.testing.assert_allclose(ours.benjamini_hochberg(p), [0.02, 0.04, 0.04, 0.02])


@given(P_VALUES)
def test_corrections_are_the_definitions(p):
    np.testing.assert_allclose(ours.holm(p), reference.holm(p), rtol=1e-12)
    np.testing.assert_allclose(ours.benjamini_hochberg(p), reference.benjamini_hochberg(p), rtol=1e-12)


@given(P_VALUES, st.randoms())
def test_theorems_about_corrections(p, random):
    raw = np.array(p)
    for correct in (ours.holm, ours.benjamini_hochberg):
        adjusted = correct(p)
        assert (adjusted >= raw).all()
        assert (adjusted <= 1).all()
        assert (np.diff(adjusted[np.argsort(raw, kind="stable")]) >= -1e-15).all()
        order = random.sample(range(len(p)), len(p))
        np.testing.assert_allclose(correct(raw[order]), adjusted[order], rtol=1e-12)
    bonferroni = np.minimum(1, raw * len(raw))
    assert (ours.benjamini_hochberg(p) <= ours.holm(p) * (1 + 1e-12)).all()
    assert (ours.holm(p) <= bonferroni * (1 + 1e-12)).all()


@given(P_VALUES, st.integers(0, 5))
def test_corrections_do_not_count_nan(p, position):
    position = min(position, len(p))
    for correct in (ours.holm, ours.benjamini_hochberg):
        found = correct([*p[:position], math.nan, *p[position:]])
        assert math.isnan(found[position])
        np.testing.assert_array_equal(np.delete(found, position), correct(p))
        assert len(correct([])) == 0
        assert np.isnan(correct([math.nan])).all()
