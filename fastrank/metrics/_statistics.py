"""Intervals, paired tests, effect sizes and corrections for values of one measure per query.

(a) The statistic is always a mean over queries, so resampling needs no Python function per resample: all of it is
    array arithmetic over blocks of bounded size.
(b) NaN marks a query that a measure leaves out; intervals skip it. Pairs are cleaned by the caller.
(c) Rank, sign and randomisation tests must know when two differences are equal, and 0.3 - 0.2 is not 0.1 in floating
    point. They see differences in whole multiples of a small unit (`difference_steps`): ties are ties, sums are exact,
    and the result has the same bits on every machine.
(d) Nothing here warns. Where a question has no answer, the answer is NaN, and the docstring says when.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy  # its modules load at first use: `import fastrank.metrics` need not wait for scipy.stats
from numpy.typing import ArrayLike, NDArray

from fastrank._validation import check_choice, check_count, check_random_state, check_real

_BLOCK = 1 << 18  # drawn numbers in memory at a time: 2 MB, so that they stay in the cache
_STEP_BITS = 40  # values are told apart down to 2**-40 (about 1e-12) of the largest
_EXACT_WILCOXON = 50  # nonzero differences up to which the exact distribution is used, as in scipy


def check_confidence(confidence: Any) -> float:
    """Return confidence if it lies strictly between 0 and 1."""
    level = check_real(confidence, name="confidence", zero=False)
    if level >= 1:
        raise ValueError(f"confidence: expected a number between 0 and 1, got {confidence!r}; for 95 % pass 0.95")
    return level


def t_interval(values: ArrayLike, confidence: float = 0.95) -> tuple[float, float]:
    """Return Student's interval of the mean over queries: mean ± t(n - 1) · s / √n.

    Parameters
    ----------
    values : array-like of shape (n_queries,)
        NaN is left out.
    confidence : float, default=0.95

    Returns
    -------
    (low, high) : tuple of float
        (NaN, NaN) with fewer than two values; both the value itself where all are equal.

    Examples
    --------
    >>> low, high = t_interval([0.2, 0.4, 0.9])
    >>> round(low, 4), round(high, 4)
    (-0.3957, 1.3957)
    """
    level = check_confidence(confidence)
    sample = _present(values)
    n = len(sample)
    if n < 2:
        return math.nan, math.nan
    if _is_constant(sample):
        return float(sample[0]), float(sample[0])
    half = float(scipy.special.stdtrit(n - 1, (1 + level) / 2)) * float(np.std(sample, ddof=1)) / math.sqrt(n)
    mean = float(np.mean(sample))
    return mean - half, mean + half


def bootstrap_interval(
    values: ArrayLike,
    confidence: float = 0.95,
    n_resamples: int = 10_000,
    random_state: Any = 0,
    method: str = "bca",
) -> tuple[float, float]:
    """Return a bootstrap interval of the mean over queries.

    Queries are drawn with replacement, as many as there are; the interval comes from the quantiles of the means.

    Parameters
    ----------
    values : array-like of shape (n_queries,)
        NaN is left out.
    confidence : float, default=0.95
    n_resamples : int, default=10,000
    random_state : int or numpy Generator, default=0
    method : {"bca", "percentile"}, default="bca"
        "percentile": the plain quantiles. "bca": quantiles shifted for bias and for skewness (acceleration), more
        accurate for few queries [1]_.

    Returns
    -------
    (low, high) : tuple of float
        (NaN, NaN) with fewer than two values; both the value itself where all are equal.

    Notes
    -----
    The same numbers as `scipy.stats.bootstrap` for the same seed, up to rounding; but where a resample has the observed
    mean, rounding does not tip it to one side here. Cost: about 3 ns times queries times resamples; memory is bounded.
    For very many queries `t_interval` says the same at once.

    References
    ----------
    .. [1] B. Efron, "Better bootstrap confidence intervals", JASA 82, 1987.

    Examples
    --------
    >>> low, high = bootstrap_interval([0.2, 0.4, 0.9, 0.7, 0.5, 0.6], method="percentile")
    >>> round(low, 2), round(high, 2)
    (0.37, 0.72)
    """
    low, high = bootstrap_intervals(np.reshape(values, (1, -1)), confidence, n_resamples, random_state, method)[0]
    return float(low), float(high)


def bootstrap_intervals(
    values: ArrayLike,
    confidence: float = 0.95,
    n_resamples: int = 10_000,
    random_state: Any = 0,
    method: str = "bca",
) -> NDArray[np.float64]:
    """Return the bootstrap intervals of several means, from the same resamples of the queries.

    Each row gets what `bootstrap_interval` gives it alone, in less time: rows with the same queries share the draws.

    Parameters
    ----------
    values : array-like of shape (n_rows, n_queries)
        A row per measure (or system); NaN is left out.
    confidence, n_resamples, random_state, method
        As in `bootstrap_interval`.

    Returns
    -------
    ndarray of shape (n_rows, 2)
    """
    level = check_confidence(confidence)
    count = check_count(n_resamples, name="n_resamples")
    check_choice(method, ("bca", "percentile"), name="method")
    seed = draw_seed(random_state)
    table = np.asarray(values, dtype=np.float64)
    intervals = np.full((len(table), 2), np.nan)
    present = ~np.isnan(table)
    if not present.size:
        return intervals
    for mask in np.unique(present, axis=0):
        rows = np.flatnonzero((present == mask).all(axis=1))
        if mask.sum() < 2:
            continue
        samples = np.ascontiguousarray(table[np.ix_(rows, mask)])
        means = _resampled_means(samples, count, np.random.default_rng(seed))
        for row, sample, drawn in zip(rows, samples, means, strict=True):
            if _is_constant(sample):
                intervals[row] = sample[0]
            else:
                tails = _bca_levels(sample, drawn, level) if method == "bca" else [(1 - level) / 2, (1 + level) / 2]
                intervals[row] = np.quantile(drawn, tails)
    return intervals


def draw_seed(random_state: Any) -> int:
    """Return the seed itself, or one drawn from the generator given."""
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    check_random_state(random_state)
    return int(random_state)


def _present(values: ArrayLike) -> NDArray[np.float64]:
    array = np.asarray(values, dtype=np.float64)
    return array[~np.isnan(array)]


def _is_constant(sample: NDArray[np.float64]) -> bool:
    """Tell whether the values differ by no more than rounding."""
    largest = float(np.abs(sample).max())
    return float(np.ptp(sample)) <= math.ldexp(largest, -_STEP_BITS)


def _resampled_means(samples: NDArray[np.float64], n_resamples: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Means of the rows over the same drawn columns, shape (n_rows, n_resamples)."""
    n_rows, n = samples.shape
    means = np.empty((n_rows, n_resamples))
    height = max(1, _BLOCK // n)
    for first in range(0, n_resamples, height):
        last = min(first + height, n_resamples)
        drawn = rng.integers(0, n, (last - first, n))
        for row in range(n_rows):
            samples[row].take(drawn).mean(axis=1, out=means[row, first:last])
    return means


def _bca_levels(sample: NDArray[np.float64], means: NDArray[np.float64], confidence: float) -> list[float]:
    """The quantiles of the resampled means that make the interval, after Efron (1987)."""
    n_resamples = len(means)
    centre = float(np.mean(sample))
    noise = math.ldexp(float(np.abs(sample).max()), -_STEP_BITS)
    below = np.count_nonzero(means < centre - noise) + np.count_nonzero(means <= centre + noise)
    share = min(max(below / (2 * n_resamples), 0.5 / n_resamples), 1 - 0.5 / n_resamples)
    bias = float(scipy.special.ndtri(share))
    # The jackknife values of a mean are linear in the sample, so that their skewness needs no resampling.
    deviation = sample - centre
    acceleration = float(np.sum(deviation**3)) / (6 * float(np.sum(deviation**2)) ** 1.5)
    z = float(scipy.special.ndtri((1 + confidence) / 2))
    shifts = [bias - z, bias + z]
    tiny = math.ldexp(1.0, -30)  # reached only by a confidence of almost 1
    return [float(scipy.special.ndtr(bias + shift / max(1 - acceleration * shift, tiny))) for shift in shifts]


def difference_steps(
    values: NDArray[np.float64], baseline: NDArray[np.float64], tolerance: float = 0.0
) -> NDArray[np.int64]:
    """Return values - baseline in whole multiples of a unit, a power of two near 1e-12 of the largest value.

    Differences that are equal but for rounding get the same number, and the sum of all of them, under any signs, is
    exact in 64 bits. Those up to the tolerance in size become 0. Both arrays are finite.
    """
    difference = values - baseline
    largest = max(float(np.abs(values).max(initial=0.0)), float(np.abs(baseline).max(initial=0.0)))
    if largest == 0.0:
        return np.zeros(len(difference), dtype=np.int64)
    bits = min(_STEP_BITS, 61 - len(difference).bit_length())
    exponent = bits - math.frexp(largest)[1]
    steps = np.rint(np.ldexp(difference, exponent))
    # Where the tolerance is larger than all differences, ldexp of it might overflow.
    steps[np.abs(steps) <= round(math.ldexp(min(tolerance, 2 * largest), exponent))] = 0
    return steps.astype(np.int64)


def t_test(difference: NDArray[np.float64]) -> float:
    """Return the two-sided p of the paired t-test (`scipy.stats.ttest_rel`).

    NaN with fewer than two pairs. Where all differences are equal there is no spread to measure against: p is 1 if
    they are 0, else 0.
    """
    if len(difference) < 2:
        return math.nan
    if not difference.any():
        return 1.0
    if _is_constant(difference):
        return 0.0
    return float(scipy.stats.ttest_rel(difference, np.zeros(len(difference))).pvalue)


def wilcoxon_test(steps: NDArray[np.int64]) -> float:
    """Return the two-sided p of Wilcoxon's signed-rank test.

    Zero differences are left out, as Wilcoxon did; equal ones share their mean rank. Up to 50 nonzero differences the
    distribution is exact, given those ranks; beyond, `scipy.stats.wilcoxon` approximates it by a normal one with the
    tie correction. NaN with fewer than two pairs, 1 if all differences are 0.
    """
    if len(steps) < 2:
        return math.nan
    steps = steps[steps != 0]
    if len(steps) == 0:
        return 1.0
    if len(steps) > _EXACT_WILCOXON:
        return float(scipy.stats.wilcoxon(steps.astype(np.float64), correction=False, method="approx").pvalue)
    twice = np.rint(2 * scipy.stats.rankdata(np.abs(steps))).astype(np.int64)  # mean ranks are whole or half
    ways = np.ones(1)  # ways[s]: signs with sum s of the positive ranks; below 2**50, so exact
    for rank in twice:
        longer = np.zeros(len(ways) + rank)
        longer[: len(ways)] += ways
        longer[rank:] += ways
        ways = longer
    total = int(twice[steps > 0].sum())
    tail = min(ways[: total + 1].sum(), ways[total:].sum())
    return min(1.0, float(2 * tail / ways.sum()))


def sign_test(steps: NDArray[np.int64]) -> float:
    """Return the two-sided p of the sign test (`scipy.stats.binomtest`).

    Zero differences are left out. NaN with fewer than two pairs, 1 if all differences are 0.
    """
    if len(steps) < 2:
        return math.nan
    wins, losses = int(np.count_nonzero(steps > 0)), int(np.count_nonzero(steps < 0))
    return 1.0 if wins + losses == 0 else float(scipy.stats.binomtest(wins, wins + losses).pvalue)


def randomisation_test(steps: NDArray[np.int64], n_resamples: int = 10_000, random_state: Any = 0) -> float:
    """Return the two-sided p of Fisher's randomisation test of the mean difference.

    Under the null hypothesis the two values of a query could as well have been swapped: each difference gets a random
    sign, and p is the share of the sign patterns whose |sum| is at least the observed one. All patterns are counted
    where there are at most `n_resamples` of them; else as many are drawn, and the observed one is counted among them:
    p = (1 + hits) / (1 + n_resamples). The same test as `scipy.stats.permutation_test` with
    `permutation_type="samples"` of the mean. NaN with fewer than two pairs, 1 if all differences are 0.

    Cost: one table lookup per 8 queries and resample; memory O(n_resamples).
    """
    if len(steps) < 2:
        return math.nan
    count = check_count(n_resamples, name="n_resamples")
    observed = abs(int(steps.sum()))
    steps = steps[steps != 0]
    if len(steps) < 60 and 2 ** len(steps) <= count:
        sums = np.zeros(1, dtype=np.int64)
        for step in steps:
            sums = np.concatenate((sums + step, sums - step))
        return float(np.mean(np.abs(sums) >= observed))
    sums = _random_sums(steps, count, np.random.default_rng(draw_seed(random_state)))
    return (1 + int(np.count_nonzero(np.abs(sums) >= observed))) / (1 + count)


def _random_sums(steps: NDArray[np.int64], n_resamples: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Sums under random signs. A random byte chooses one of the 256 signed sums of 8 differences."""
    patterns = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1)
    signs = 2 * patterns.T.astype(np.int64) - 1
    eights = np.concatenate((steps, np.zeros(-len(steps) % 8, dtype=np.int64))).reshape(-1, 8)
    sums = np.zeros(n_resamples, dtype=np.int64)
    for eight in eights:
        choice = np.frombuffer(rng.bytes(n_resamples), dtype=np.uint8)
        sums += (eight @ signs)[choice]
    return sums


def cohens_dz(difference: NDArray[np.float64]) -> float:
    """Return the mean difference in units of the standard deviation of the differences.

    NaN with fewer than two pairs. Where all differences are equal: 0 if they are 0, else infinite.
    """
    if len(difference) < 2:
        return math.nan
    if not difference.any():
        return 0.0
    mean = float(np.mean(difference))
    return math.copysign(math.inf, mean) if _is_constant(difference) else mean / float(np.std(difference, ddof=1))


def hedges_correction(n: int) -> float:
    """Return the factor that takes the bias of n pairs out of Cohen's d: Γ(f/2) / (√(f/2) Γ((f-1)/2)), f = n - 1."""
    freedom = n - 1
    if freedom < 1:
        return math.nan
    log_ratio = scipy.special.gammaln(freedom / 2) - scipy.special.gammaln((freedom - 1) / 2)
    return math.exp(log_ratio) / math.sqrt(freedom / 2)


def rank_biserial(steps: NDArray[np.int64]) -> float:
    """Return the matched-pairs rank-biserial correlation: (R+ - R-) / (R+ + R-) of Wilcoxon's rank sums.

    From -1 (all queries lose) to 1 (all win); 0 if all differences are 0, NaN without pairs.
    """
    if len(steps) == 0:
        return math.nan
    steps = steps[steps != 0]
    if len(steps) == 0:
        return 0.0
    ranks = scipy.stats.rankdata(np.abs(steps))
    return float(np.sum(ranks * np.sign(steps)) / np.sum(ranks))


def holm(p: ArrayLike) -> NDArray[np.float64]:
    """Return p adjusted by Holm's step-down method, which bounds the chance of any false discovery.

    The i-th smallest of m becomes max over j <= i of (m - j + 1) p_(j), at most 1. NaN stays NaN and does not count.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    adjusted = np.array(p, dtype=np.float64)
    known = np.flatnonzero(~np.isnan(adjusted))
    order = known[np.argsort(adjusted[known], kind="stable")]
    adjusted[order] = np.minimum(1, np.maximum.accumulate(adjusted[order] * np.arange(len(order), 0, -1)))
    return adjusted


def benjamini_hochberg(p: ArrayLike) -> NDArray[np.float64]:
    """Return p adjusted by Benjamini and Hochberg (`scipy.stats.false_discovery_control`).

    Bounds the expected share of false discoveries among all discoveries. NaN stays NaN and does not count.

    Examples
    --------
    >>> benjamini_hochberg([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.04, 0.04]
    """
    adjusted = np.array(p, dtype=np.float64)
    known = ~np.isnan(adjusted)
    if known.any():
        adjusted[known] = scipy.stats.false_discovery_control(adjusted[known])
    return adjusted
