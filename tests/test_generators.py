import itertools
import pickle
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastrank.data.dataset import Query, RankingDataset
from fastrank.data.generators import (
    SeparableStream,
    make_gov_like,
    make_mslr_like,
    make_separable,
    make_two_gaussians,
)

MAKERS = {
    "separable": lambda seed: make_separable(7, random_state=seed),
    "mslr_like": lambda seed: make_mslr_like(7, n_features=20, random_state=seed),
    "gov_like": lambda seed: make_gov_like(3, n_docs=200, n_features=8, random_state=seed),
    "two_gaussians": lambda seed: make_two_gaussians(random_state=seed),
}


def per_query(dataset):
    return [(dataset.X[a:b], dataset.y[a:b]) for a, b in itertools.pairwise(dataset.qptr)]


def smallest_gap(scores, y):
    """min s_i - s_j over R_i > R_j; inf without such a pair."""
    gaps = np.subtract.outer(scores, scores)[np.greater.outer(y, y)]
    return gaps.min() if gaps.size else np.inf


def mslr_transform(X):
    X = X.astype(np.float64)
    return np.sign(X) * np.log1p(np.abs(X))


# ---------------------------------------------------------------- all generators


@pytest.mark.parametrize("maker", MAKERS.values(), ids=MAKERS)
def test_seed_fixes_every_bit_and_another_seed_does_not(maker):
    first, again, other = maker(3), maker(3), maker(4)
    assert isinstance(first, RankingDataset)
    np.testing.assert_array_equal(first.X, again.X, strict=True)
    np.testing.assert_array_equal(first.y, again.y, strict=True)
    np.testing.assert_array_equal(first.qptr, again.qptr, strict=True)
    assert first.X.shape != other.X.shape or not np.array_equal(first.X, other.X)


@pytest.mark.parametrize("maker", MAKERS.values(), ids=MAKERS)
def test_generator_as_seed_is_drawn_from(maker):
    rng = np.random.default_rng(3)
    first, second = maker(rng), maker(rng)
    np.testing.assert_array_equal(first.X, maker(3).X)
    assert first.X.shape != second.X.shape or not np.array_equal(first.X, second.X)


@pytest.mark.parametrize("maker", MAKERS.values(), ids=MAKERS)
@pytest.mark.parametrize("seed", [None, "0", 1.0, True, np.random.RandomState(0)])
def test_seed_of_the_wrong_kind_is_refused(maker, seed):
    with pytest.raises(TypeError, match=r"random_state: expected an integer seed or a .*Generator, got"):
        maker(seed)


@pytest.mark.parametrize("maker", MAKERS.values(), ids=MAKERS)
def test_negative_seed_is_refused(maker):
    with pytest.raises(ValueError, match="random_state: expected an integer of at least 0, got -1"):
        maker(-1)


@pytest.mark.parametrize("make", [make_separable, make_mslr_like, make_gov_like, make_two_gaussians])
def test_seed_is_required(make):
    with pytest.raises(TypeError, match="random_state"):
        make()


@pytest.mark.parametrize(
    ("make", "arguments", "error", "message"),
    [
        (make_separable, {"n_queries": 0}, ValueError, "n_queries: expected an integer of at least 1, got 0"),
        (make_separable, {"n_queries": 2.0}, TypeError, "n_queries: expected an integer of at least 1, got 2.0"),
        (make_separable, {"n_queries": None}, TypeError, "n_queries: expected an integer of at least 1, got None"),
        (make_separable, {"n_docs": 0}, ValueError, "n_docs: expected an integer of at least 1, got 0"),
        (make_separable, {"n_features": True}, TypeError, "n_features: expected an integer of at least 1, got True"),
        (make_separable, {"n_grades": 1}, ValueError, "n_grades: expected an integer of at least 2, got 1"),
        (make_separable, {"margin": 0}, ValueError, "margin: expected a finite number greater than 0, got 0"),
        (make_separable, {"margin": -0.1}, ValueError, "margin: expected a finite number greater than 0, got -0.1"),
        (make_separable, {"margin": np.nan}, ValueError, "margin: expected a finite number greater than 0, got nan"),
        (make_separable, {"margin": np.inf}, ValueError, "margin: expected a finite number greater than 0, got inf"),
        (make_separable, {"margin": "1"}, TypeError, "margin: expected a finite number greater than 0, got '1'"),
        (make_separable, {"margin": 1e-5, "dtype": "f4"}, ValueError, "margin: expected at least .*use dtype=float64"),
        (make_separable, {"margin": 1e30, "dtype": "f4"}, ValueError, "margin: expected rows whose squared norms fit"),
        (make_separable, {"dtype": np.float16}, ValueError, "dtype: expected float32 or float64, got"),
        (make_separable, {"dtype": None}, ValueError, "dtype: expected float32 or float64, got None"),
        (make_separable, {"dtype": "real"}, TypeError, "dtype: expected float32 or float64, got 'real'"),
        (make_separable, {"return_ranker": 1}, TypeError, "return_ranker: expected True or False, got 1"),
        (make_mslr_like, {"n_queries": -3}, ValueError, "n_queries: expected an integer of at least 1, got -3"),
        (make_mslr_like, {"n_features": 0}, ValueError, "n_features: expected an integer of at least 1, got 0"),
        (make_mslr_like, {"noise": -1.0}, ValueError, "noise: expected a finite number of at least 0, got -1.0"),
        (make_mslr_like, {"noise": None}, TypeError, "noise: expected a finite number of at least 0, got None"),
        (make_mslr_like, {"dtype": np.int32}, ValueError, "dtype: expected float32 or float64, got"),
        (make_mslr_like, {"return_ranker": "no"}, TypeError, "return_ranker: expected True or False, got 'no'"),
        (make_gov_like, {"n_queries": 0}, ValueError, "n_queries: expected an integer of at least 1, got 0"),
        (make_gov_like, {"n_docs": 1}, ValueError, "n_docs: expected an integer of at least 2, got 1"),
        (make_gov_like, {"n_features": 0}, ValueError, "n_features: expected an integer of at least 1, got 0"),
        (make_two_gaussians, {"n_relevant": -1}, ValueError, "n_relevant: expected an integer of at least 0, got -1"),
        (make_two_gaussians, {"n_irrelevant": 0.5}, TypeError, "n_irrelevant: expected an integer of at least 0"),
        (make_two_gaussians, {"n_relevant": 0, "n_irrelevant": 0}, ValueError, "expected at least one document"),
        (make_two_gaussians, {"variances": 0.2}, TypeError, "variances: expected a pair of numbers, got 0.2"),
        (make_two_gaussians, {"variances": (1, 1, 1)}, ValueError, "variances: expected a pair of numbers, got 3"),
        (make_two_gaussians, {"variances": (1, -1)}, ValueError, r"variances\[1\]: expected a finite number of at"),
    ],
)
def test_bad_argument_gives_a_sentence(make, arguments, error, message):
    with pytest.raises(error, match=message):
        make(**arguments, random_state=0)


# ---------------------------------------------------------------- separable


@given(
    n_docs=st.integers(1, 40),
    n_features=st.integers(1, 60),
    n_grades=st.integers(2, 9),
    margin=st.floats(1e-2, 1e3),
    dtype=st.sampled_from([np.float32, np.float64]),
    seed=st.integers(0, 2**32),
)
@settings(max_examples=80, deadline=None)
def test_separable_margin_and_radius_hold_exactly(n_docs, n_features, n_grades, margin, dtype, seed):
    arguments = {"n_docs": n_docs, "n_features": n_features, "n_grades": n_grades, "margin": margin, "dtype": dtype}
    dataset, ranker = make_separable(30, **arguments, random_state=seed, return_ranker=True)
    assert dataset.X.dtype == dtype
    assert dataset.X.shape == (30 * n_docs, n_features)
    assert np.linalg.norm(ranker) == pytest.approx(1.0, rel=1e-15)
    # Scores in double precision, and wholly in the precision of the data; the margin is not rounded down for either.
    for scores in (dataset.X.astype(np.float64) @ ranker, (dataset.X @ ranker.astype(dtype)).astype(np.float64)):
        assert (
            min(
                smallest_gap(scores[a:b], y)
                for (a, b), (_, y) in zip(itertools.pairwise(dataset.qptr), per_query(dataset), strict=True)
            )
            >= margin
        )
    radius = np.hypot(1.0, (n_grades - 0.5) * margin)
    assert np.sqrt((dataset.X.astype(np.float64) ** 2).sum(axis=1)).max() <= radius


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_separable_margin_is_tight_over_many_rows(dtype):
    # Over all rows the squeezed components reach both ends of their bands, which a single query seldom does.
    dataset, ranker = make_separable(2000, margin=0.02, dtype=dtype, random_state=5, return_ranker=True)
    scores = (dataset.X @ ranker.astype(dtype)).astype(np.float64)
    bands = [(scores[dataset.y == g].min(), scores[dataset.y == g].max()) for g in range(5)]
    gaps = np.array([upper[0] - lower[1] for lower, upper in itertools.pairwise(bands)])
    assert (gaps >= 0.02).all()
    assert (gaps < 0.02 * 1.02).all()


def test_separable_grades_are_uniform_and_independent_of_the_position():
    dataset = make_separable(4000, random_state=0)
    counts = np.array([np.bincount(dataset.y.reshape(-1, 20)[:, j], minlength=5) for j in (0, 7, 19)])
    # Four standard deviations of a binomial count.
    assert np.abs(counts - 800).max() < 4 * np.sqrt(4000 * 0.2 * 0.8)
    assert set(np.unique(dataset.y)) == {0, 1, 2, 3, 4}
    assert dataset.y.dtype == np.int32


def test_separable_grades_have_gaussians_of_their_own():
    dataset, ranker = make_separable(3000, random_state=0, return_ranker=True)
    across = dataset.X - np.outer(dataset.X @ ranker, ranker)
    centers = np.array([across[dataset.y == g].mean(axis=0) for g in range(5)])
    distances = np.linalg.norm(centers[:, np.newaxis] - centers, axis=2)[np.triu_indices(5, 1)]
    assert distances.min() > 0.1
    # Kurtosis 3 of a Gaussian, along a fixed direction across the ranker.
    direction = np.linalg.svd(ranker[np.newaxis])[2][1]
    z = (across - centers[dataset.y]) @ direction
    assert np.mean(z**4) / np.mean(z**2) ** 2 == pytest.approx(3.0, abs=0.15)


def test_separable_rankers_of_other_seeds_point_elsewhere():
    rankers = np.array([make_separable(1, random_state=s, return_ranker=True)[1] for s in range(200)])
    assert np.linalg.norm(rankers.mean(axis=0)) < 0.25


def test_separable_perceptron_makes_few_mistakes_and_then_none():
    stream = SeparableStream(6000, random_state=2)
    w = np.zeros(20)
    mistakes = []
    for query in stream:
        pairs = np.greater.outer(query.y, query.y)
        if not pairs.any():
            continue
        scores = query.X @ w
        gaps = np.where(pairs, np.subtract.outer(scores, scores), np.inf)
        i, j = np.unravel_index(gaps.argmin(), gaps.shape)
        if gaps[i, j] <= 0:
            w += query.X[i] - query.X[j]
            mistakes.append(query.qid)
    assert 5 <= len(mistakes) <= 4 * stream.radius**2 / stream.margin**2
    assert mistakes[-1] < 5000


@pytest.mark.parametrize("n_docs", [1, 20, 3000])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_stream_yields_the_rows_of_the_data_set(n_docs, dtype):
    # 250 queries of 20 documents are more than two blocks and not a whole number of them.
    n_queries = 250 if n_docs == 20 else 5
    arguments = {"n_docs": n_docs, "n_features": 6, "n_grades": 3, "margin": 0.2, "dtype": dtype, "random_state": 11}
    dataset, ranker = make_separable(n_queries, **arguments, return_ranker=True)
    stream = SeparableStream(**arguments)
    np.testing.assert_array_equal(stream.ranker, ranker)
    for i, ((X, y), query) in enumerate(zip(per_query(dataset), stream, strict=False)):
        assert isinstance(query, Query)
        assert query.qid == i
        assert query.docid is None
        np.testing.assert_array_equal(query.X, X, strict=True)
        np.testing.assert_array_equal(query.y, y, strict=True)
    assert i == n_queries - 1


def test_longer_data_set_begins_with_the_shorter_one():
    short, long = make_separable(3, random_state=1), make_separable(300, random_state=1)
    np.testing.assert_array_equal(short.X, long.X[:60])


def test_finite_stream_ends_and_endless_one_goes_on():
    assert [q.qid for q in SeparableStream(3, random_state=0)] == [0, 1, 2]
    stream = SeparableStream(n_docs=2, random_state=0)
    assert iter(stream) is stream
    assert sum(1 for _ in itertools.islice(stream, 5000)) == 5000
    assert next(stream).qid == 5000
    assert "endless" in repr(stream)
    assert "3 queries" in repr(SeparableStream(3, random_state=0))


def test_stream_checks_its_arguments_before_the_first_query():
    with pytest.raises(ValueError, match="n_grades: expected an integer of at least 2, got 0"):
        SeparableStream(n_grades=0, random_state=0)
    with pytest.raises(ValueError, match="n_queries: expected an integer of at least 1, got 0"):
        SeparableStream(0, random_state=0)


def test_stream_query_may_be_changed_without_harm():
    stream, untouched = SeparableStream(random_state=0), SeparableStream(random_state=0)
    for query, same in zip(itertools.islice(stream, 150), untouched, strict=False):
        np.testing.assert_array_equal(query.X, same.X)
        query.X[:] = 0.0
        query.y[:] = 9
    with pytest.raises(ValueError, match="read-only"):
        stream.ranker[0] = 1.0


def test_stream_can_be_pickled_halfway():
    stream = SeparableStream(random_state=0)
    next(stream)
    copy = pickle.loads(pickle.dumps(stream))
    np.testing.assert_array_equal(next(copy).X, next(stream).X)


# ---------------------------------------------------------------- MSLR-like


@pytest.fixture(scope="module")
def mslr():
    return make_mslr_like(1500, random_state=0, return_ranker=True)


def test_mslr_like_list_lengths(mslr):
    sizes = mslr[0].sizes
    assert 110 < sizes.mean() < 130
    assert sizes.min() >= 1
    assert sizes.max() <= 900
    logs = np.log(sizes)
    assert 0.55 < logs.std() < 0.65
    assert abs(np.mean((logs - logs.mean()) ** 3) / logs.std() ** 3) < 0.3


def test_mslr_like_lengths_are_clipped_to_900():
    sizes = make_mslr_like(60_000, n_features=1, random_state=0).sizes
    assert sizes.max() == 900
    assert sizes.min() >= 1


def test_mslr_like_grade_shares(mslr):
    dataset = mslr[0]
    assert dataset.y.dtype == np.int32
    np.testing.assert_allclose(np.bincount(dataset.y) / dataset.n_rows, [0.52, 0.32, 0.13, 0.02, 0.01], atol=1e-4)


def test_mslr_like_features_are_of_the_documented_kinds(mslr):
    X = mslr[0].X
    assert X.shape == (mslr[0].n_rows, 136)
    assert X.dtype == np.float32
    assert X.flags.c_contiguous
    counts, heavy, ratios, negative, constant = np.split(X, [54, 75, 109, 122], axis=1)
    assert (counts == np.floor(counts)).all()
    assert (counts >= 0).all()
    zero_shares = (counts == 0).mean(axis=0)
    assert zero_shares.max() > 0.7
    assert zero_shares.min() < 0.05
    assert (heavy >= 0).all()
    assert 0.3 < (heavy == 0).mean() < 0.7
    # Tail index 1: the hundredfold smaller probability is at a value about a hundred times as large.
    q99, q9999 = np.quantile(heavy, [0.99, 0.9999], axis=0)
    assert 60 < np.median(q9999 / q99) < 160
    assert ratios.min() == 0
    assert ratios.max() == 1
    assert (ratios == 0).mean() > 0.1
    assert (ratios == 1).mean() > 0.01
    assert ((ratios > 0) & (ratios < 1)).mean() > 0.3
    assert (negative < 0).all()
    for rows in itertools.pairwise(mslr[0].qptr[:200]):
        assert (np.ptp(constant[slice(*rows)], axis=0) == 0).all()
    assert np.unique(constant[mslr[0].qptr[:-1], 0]).size > 1000


def test_mslr_like_grades_follow_the_ranker_noisily(mslr):
    dataset, ranker = mslr
    relevance = mslr_transform(dataset.X) @ ranker
    assert relevance.std() == pytest.approx(1.0, rel=1e-3)
    # Correlation of relevance with itself plus noise 1.5 is 1 / sqrt(1 + 1.5^2) = 0.55; five grades blur it a little.
    assert 0.42 < np.corrcoef(relevance, dataset.y)[0, 1] < 0.56
    means = [relevance[dataset.y == grade].mean() for grade in range(5)]
    assert (np.diff(means) > 0.2).all()


def test_mslr_like_without_noise_is_ordered_by_the_ranker():
    dataset, ranker = make_mslr_like(50, noise=0, random_state=3, return_ranker=True)
    relevance = mslr_transform(dataset.X) @ ranker
    for low, high in itertools.pairwise(range(5)):
        # float32 arithmetic inside against float64 here.
        assert relevance[dataset.y == low].max() <= relevance[dataset.y == high].min() + 1e-4


def test_mslr_like_float64_has_the_float32_values():
    single = make_mslr_like(60, random_state=1)
    double = make_mslr_like(60, dtype=np.float64, random_state=1)
    assert double.X.dtype == np.float64
    np.testing.assert_array_equal(single.X, double.X)
    np.testing.assert_array_equal(single.y, double.y)


@pytest.mark.parametrize("n_features", [1, 2, 3, 5, 11, 300])
def test_mslr_like_any_number_of_features(n_features):
    dataset, ranker = make_mslr_like(20, n_features=n_features, random_state=0, return_ranker=True)
    assert dataset.n_features == n_features
    assert ranker.shape == (n_features,)
    assert np.isfinite(ranker).all()
    assert np.ptp(dataset.X[:, 0]) > 0
    assert set(np.unique(dataset.y)) == {0, 1, 2, 3, 4}


def test_mslr_like_single_query():
    assert make_mslr_like(1, random_state=0).n_queries == 1


def test_mslr_like_holds_little_more_than_its_result():
    make_mslr_like(1, random_state=0)
    tracemalloc.start()
    try:
        dataset = make_mslr_like(1000, random_state=0)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 1.3 * dataset.X.nbytes


# ---------------------------------------------------------------- .gov-like


def test_gov_like_has_few_relevant_documents():
    dataset = make_gov_like(400, n_features=3, random_state=0)
    assert (dataset.sizes == 1000).all()
    assert set(np.unique(dataset.y)) == {0, 1}
    counts = dataset.y.reshape(400, 1000).sum(axis=1)
    # 0.1 to 1.5 % of 1,000, every number of them about equally often (400 / 15 = 27 times).
    times = np.bincount(counts, minlength=17)
    assert times[0] == times[16] == 0
    assert times[1:16].min() > 8
    assert times[1:16].max() < 55


@pytest.mark.parametrize("n_docs", [2, 66, 67, 100, 1001])
def test_gov_like_relevant_share_for_other_lengths(n_docs):
    counts = make_gov_like(40, n_docs=n_docs, n_features=2, random_state=0).y.reshape(40, n_docs).sum(axis=1)
    assert counts.min() >= max(1, 0.001 * n_docs)
    assert counts.max() <= max(1, 0.015 * n_docs)


def test_gov_like_features_are_scaled_per_query():
    dataset = make_gov_like(5, random_state=0)
    assert dataset.n_features == 64
    for X, _ in per_query(dataset):
        assert (X.min(axis=0) == 0).all()
        assert (X.max(axis=0) == 1).all()
    shares = (dataset.X == 0).mean(axis=0)
    assert shares.max() > 0.8
    assert shares.min() < 0.2


def test_gov_like_relevance_can_be_learnt():
    dataset = make_gov_like(60, random_state=0)
    half = dataset.qptr[30]
    w = np.linalg.lstsq(dataset.X[:half], dataset.y[:half], rcond=None)[0]
    y = dataset.y[half:].reshape(30, 1000)
    ranks = (-(dataset.X[half:] @ w)).reshape(30, 1000).argsort(axis=1, kind="stable").argsort(axis=1)
    # A random order has mean rank 500.
    assert ranks[y == 1].mean() < 60


# ---------------------------------------------------------------- two Gaussians


def test_two_gaussians_default_is_the_first_data_set():
    dataset = make_two_gaussians(random_state=0)
    assert dataset.n_queries == 1
    assert dataset.X.shape == (21, 2)
    assert np.bincount(dataset.y).tolist() == [14, 7]
    # Centers 2 * sqrt(2) apart and deviations sqrt(0.2): the diagonal separates this draw.
    assert smallest_gap(dataset.X.sum(axis=1), dataset.y) > 0


@pytest.mark.parametrize("variances", [(0.2, 0.2), (0.2, 1.3), (0.0, 2)])
def test_two_gaussians_moments(variances):
    dataset = make_two_gaussians(n_relevant=20_000, n_irrelevant=30_000, variances=variances, random_state=0)
    for grade, center in ((1, 1.0), (0, -1.0)):
        rows = dataset.X[dataset.y == grade]
        np.testing.assert_allclose(rows.mean(axis=0), [center, center], atol=0.05)
        np.testing.assert_allclose(np.cov(rows.T), np.diag(variances), rtol=0.05, atol=0.02)


def test_two_gaussians_rows_are_in_random_order():
    first_grades = [make_two_gaussians(random_state=seed).y[0] for seed in range(300)]
    assert 0.25 < np.mean(first_grades) < 0.42


def test_two_gaussians_may_lack_a_class():
    assert make_two_gaussians(n_relevant=0, random_state=0).y.max() == 0
    assert make_two_gaussians(n_irrelevant=0, random_state=0).y.min() == 1
