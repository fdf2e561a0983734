"""The linear objective against X^T g in NumPy: every layout of X, any weights, the same bits for any threads."""

import math
import sys
import tracemalloc

import cases
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import minimize

from fastrank.data import RankingDataset
from fastrank.losses import KernelLoss, ListNet, MaxPair, RankSVM, Slam, SquaredGain
from fastrank.objectives import LinearObjective, linear
from fastrank.objectives._rows import rows_of

LOSSES = (Slam("ndcg@10"), Slam("ap"), MaxPair(), ListNet(), RankSVM(), SquaredGain())
names = pytest.mark.parametrize("loss", LOSSES, ids=str)


def with_index(X, dtype):
    """CSR with indices of the given type, which SciPy narrows where it may."""
    csr = sparse.csr_array(X)
    csr.indices, csr.indptr = csr.indices.astype(dtype), csr.indptr.astype(dtype)
    return csr


LAYOUTS = {
    "float64": lambda X: X,
    "float32": lambda X: X.astype(np.float32),
    "CSR float64 int32": lambda X: with_index(X, np.int32),
    "CSR float32 int32": lambda X: with_index(X.astype(np.float32), np.int32),
    "CSR float64 int64": lambda X: with_index(X, np.int64),
    "CSR float32 int64": lambda X: with_index(X.astype(np.float32), np.int64),
}
layouts = pytest.mark.parametrize("layout", LAYOUTS)


def sparse_values(rng, shape):
    """Ordinary values, most of them zero."""
    return np.where(rng.random(shape) < 0.4, rng.standard_normal(shape), 0.0)


def dense(X):
    return (X.toarray() if sparse.issparse(X) else np.asarray(X)).astype(np.float64)


def formula(loss, data, w):
    """F(w) and its gradient: scores, the loss in score space, X^T g."""
    X = dense(data.X)
    values, gradient = loss.value_and_grad(X @ w, data)
    return values, X.T @ gradient


def example(name, layout="float64", n_features=7, **options):
    case, rng = cases.make(name), np.random.default_rng(11)
    X = LAYOUTS[layout](sparse_values(rng, (len(case.y), n_features)))
    return case.dataset(X, **options), rng.standard_normal(n_features)


def assert_near(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11)


# ---------------------------------------------------------------- values and gradients


@names
@layouts
@pytest.mark.parametrize("name", ["graded", "shuffled rows", "empty queries between others"])
def test_values_and_gradients_are_those_of_numpy(loss, layout, name):
    data, w = example(name, layout)
    if "int64" in layout and data.order is None:
        assert data.grouped_X.indices.dtype == data.grouped_X.indptr.dtype == np.int64
    objective = LinearObjective(loss, data)
    values, gradient = formula(loss, data, w)
    found = objective.value_and_grad(w)
    assert_near(found[0], values.sum())
    assert_near(found[1], gradient)
    assert isinstance(found[0], float)
    assert found[1].dtype == np.float64
    assert objective.value(w) == found[0]
    assert_near(objective.query_values(w), values)
    assert_near(objective.scores(w), dense(data.X) @ w)


@names
@layouts
def test_weights_of_rows_and_queries(loss, layout):
    rng = np.random.default_rng(5)
    n_rows, n_queries = (len(cases.make("shuffled rows").y), 40)
    options = {"sample_weight": rng.uniform(0, 2, n_rows), "query_weight": rng.uniform(0, 2, n_queries)}
    data, w = example("shuffled rows", layout, **options)
    values, gradient = formula(loss, data, w)
    found = LinearObjective(loss, data).value_and_grad(w)
    assert_near(found[0], values.sum())
    assert_near(found[1], gradient)
    plain = LinearObjective(loss, example("shuffled rows", layout)[0])
    assert not math.isclose(plain.value(w), found[0])
    by_query = example("shuffled rows", layout, query_weight=options["query_weight"])[0]
    assert_near(LinearObjective(loss, by_query).query_values(w), plain.query_values(w) * options["query_weight"])


@pytest.mark.parametrize("name", cases.NAMES)
def test_every_kind_of_list(name):
    data, w = example(name)
    is_huge = data.y.size > 0 and data.y.max() > 30  # gains of 2^1000 are for nobody's squares
    for loss in (Slam("ndcg@10"), MaxPair()) if is_huge else LOSSES:
        values, gradient = formula(loss, data, w)
        found = LinearObjective(loss, data).value_and_grad(w)
        np.testing.assert_allclose(found[0], values.sum(), rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(found[1], gradient, rtol=1e-9, atol=1e-8)


@layouts
@pytest.mark.parametrize("n_features", [0, 1, 3, 8, 17])
def test_widths(layout, n_features):
    data, w = example("graded", layout, n_features)
    for loss in (Slam(), ListNet()):
        values, gradient = formula(loss, data, w)
        found = LinearObjective(loss, data).value_and_grad(w)
        assert_near(found[0], values.sum())
        assert_near(found[1], gradient)


@pytest.mark.parametrize("X", [np.zeros((0, 3)), sparse.csr_array((0, 3)), np.zeros((0, 0), dtype=np.float32)])
@pytest.mark.parametrize("group", [[], [0], [0, 0]])
def test_nothing_at_all(X, group):
    objective = LinearObjective(Slam(), RankingDataset(X, [], group=group))
    value, gradient = objective.value_and_grad(np.ones(X.shape[1]))
    assert value == 0.0
    assert gradient.tolist() == [0.0] * X.shape[1]
    assert objective.scores(np.ones(X.shape[1])).shape == (0,)
    assert objective.query_values(np.ones(X.shape[1])).tolist() == [0.0] * len(group)


@names
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_gradients_are_slopes(loss, seed):
    """At a random w every loss is smooth: differences tell its slope."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((24, 4)), rng.integers(0, 3, 24)
    data = RankingDataset(X, y, group=[9, 8, 7], sample_weight=rng.uniform(0, 2, 24), query_weight=[1.0, 0.5, 2.0])
    objective, w, direction, h = LinearObjective(loss, data), rng.standard_normal(4), rng.standard_normal(4), 1e-6
    slope = (objective.value(w + h * direction) - objective.value(w - h * direction)) / (2 * h)
    gradient = objective.value_and_grad(w)[1]
    sides = [objective.value_and_grad(w + step * direction)[1] for step in (-h, h)]
    if max(np.abs(side - gradient).max() for side in sides) < 1e-4:  # no kink in between
        assert slope == pytest.approx(gradient @ direction, rel=1e-5, abs=1e-5)
    else:
        low, high = sorted(side @ direction for side in sides)
        assert low - 1e-5 <= slope <= high + 1e-5


def test_solvers_take_it():
    data, w = example("graded")
    for loss in (ListNet(), SquaredGain()):
        objective = LinearObjective(loss, data)
        found = minimize(objective.value_and_grad, np.zeros(7), jac=True, method="L-BFGS-B", tol=1e-12)
        assert np.abs(objective.value_and_grad(found.x)[1]).max() < 1e-2
        assert objective.value(found.x) < objective.value(w)
    X, gains = dense(data.X), 2.0**data.y - 1
    assert_near(found.fun, 0.5 * np.linalg.lstsq(X, gains, rcond=None)[1][0])


def test_a_kernel_of_ones_own():
    data, w = example("graded")
    core = MaxPair(0.5).kernel(data.plan)
    one, two = LinearObjective(KernelLoss(core), data), LinearObjective(MaxPair(0.5), data)
    np.testing.assert_array_equal(one.value_and_grad(w)[1], two.value_and_grad(w)[1])


# ---------------------------------------------------------------- threads


@names
@layouts
def test_same_bits_for_any_number_of_threads(loss, layout):
    data, w = example("shuffled rows in many blocks", layout)
    one = LinearObjective(loss, data, n_jobs=1)
    assert len(one._blocks) > 1
    value, gradient = one.value_and_grad(w)
    for n_jobs in (2, 3, 4, -1):
        many = LinearObjective(loss, data, n_jobs=n_jobs)
        found = many.value_and_grad(w)
        assert found[0].hex() == value.hex()
        np.testing.assert_array_equal(found[1].view(np.int64), gradient.view(np.int64))
        np.testing.assert_array_equal(many.scores(w), one.scores(w))
        np.testing.assert_array_equal(many.query_values(w), one.query_values(w))


def test_blocks_depend_on_the_data_alone():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200_000, 2)).astype(np.float32)
    dense_data = RankingDataset(X, np.zeros(200_000), group=[100] * 2000)
    sizes = [last - first for first, last in linear._blocks(dense_data)]
    assert sum(sizes) == 2000
    assert len(sizes) == 32
    assert max(sizes) - min(sizes) <= 1
    # a gradient as wide as all entries of X: one block, whose gradient is the only one
    wide = sparse.csr_array((np.ones(200_000), (np.arange(200_000), np.arange(200_000))))
    assert linear._blocks(RankingDataset(wide, np.zeros(200_000), group=[100] * 2000)) == [(0, 2000)]
    few = RankingDataset(X[:8000], np.zeros(8000), group=[100] * 80)
    assert linear._blocks(few) == [(0, 41), (41, 80)]


# ---------------------------------------------------------------- memory


@layouts
def test_grouped_X_is_not_copied(layout):
    rng = np.random.default_rng(0)
    X = LAYOUTS[layout](rng.standard_normal((20_000, 50)))
    data = RankingDataset(X, rng.integers(0, 3, 20_000), group=[100] * 200)
    w = rng.standard_normal(50)
    dataset_bytes = X.data.nbytes
    data.plan.slam_weights("ndcg@10")
    tracemalloc.start()
    try:
        objective = LinearObjective(Slam("ndcg@10"), data)
        objective.value_and_grad(w)
        objective.scores(w)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < dataset_bytes / 5


def test_rows_are_those_of_X():
    X = np.arange(12.0).reshape(4, 3)
    count = sys.getrefcount(X)
    rows = rows_of(X)
    assert (rows.n_rows, rows.n_columns) == (4, 3)
    assert sys.getrefcount(X) > count  # kept, not copied
    X[0, 0] = 100.0
    out = np.empty(4)
    rows.scores_into(np.array([1.0, 0.0, 0.0]), 0, 4, out)
    assert out.tolist() == [100.0, 3.0, 6.0, 9.0]


def test_rows_whose_indices_are_of_two_types():
    csr = sparse.csr_array(np.eye(3))
    csr.indptr = csr.indptr.astype(np.int64)
    out = np.empty(3)
    rows_of(csr).scores_into(np.array([1.0, 2.0, 3.0]), 0, 3, out)
    assert out.tolist() == [1.0, 2.0, 3.0]


def test_read_only_and_mapped_X(tmp_path):
    data, w = example("graded")
    np.save(tmp_path / "X.npy", data.X)
    mapped = data.with_X(np.load(tmp_path / "X.npy", mmap_mode="r"))
    expected = LinearObjective(ListNet(), data).value_and_grad(w)
    found = LinearObjective(ListNet(), mapped).value_and_grad(w)
    assert found[0] == expected[0]
    np.testing.assert_array_equal(found[1], expected[1])


# ---------------------------------------------------------------- mistakes


def test_mistakes_are_sentences():
    data, w = example("graded")
    with pytest.raises(TypeError, match=r"loss: expected a loss such as fastrank.losses.Slam\('ndcg@10'\), got 'slam'"):
        LinearObjective("slam", data)
    with pytest.raises(TypeError, match="data: expected a RankingDataset, got ndarray; make one of X, y and qid"):
        LinearObjective(Slam(), data.X)
    with pytest.raises(TypeError, match="n_jobs: expected an integer or None, got 'all'"):
        LinearObjective(Slam(), data, n_jobs="all")
    objective = LinearObjective(Slam(), data)
    for call in (objective.value, objective.value_and_grad, objective.query_values, objective.scores):
        with pytest.raises(ValueError, match=r"w: expected 7 values \(one per feature\), got 6; pass one for each"):
            call(w[:6])
        with pytest.raises(ValueError, match=r"w: expected finite values \(one per feature\), got nan at position 0"):
            call(np.full(7, np.nan))
        with pytest.raises(TypeError, match="w: expected numbers"):
            call(["a"] * 7)
    with pytest.raises(ValueError, match="sample_weight: expected None with a KernelLoss"):
        LinearObjective(
            KernelLoss(MaxPair().kernel(data.plan)), example("graded", sample_weight=np.ones(data.n_rows))[0]
        )


def test_missing_values():
    X = np.array([[1.0, 0.0], [0.0, np.nan], [1.0, 1.0]])
    for layout in (X, sparse.csr_array(X)):
        data = RankingDataset(layout, [1, 0, 2], group=[3], allow_nan=True)
        with pytest.raises(
            ValueError, match="data: expected features without missing values, .* got nan in row 1, column 1; fill"
        ):
            LinearObjective(Slam(), data)
    complete = RankingDataset(np.nan_to_num(X), [1, 0, 2], group=[3], allow_nan=True)
    assert LinearObjective(Slam("ap"), complete).value([0.0, 0.0]) == 1.0


@pytest.mark.parametrize("loss", [Slam(), MaxPair(), ListNet(), RankSVM(), SquaredGain()], ids=str)
def test_scores_beyond_all_numbers(loss):
    X = np.array([[1.0], [0.5], [1e300], [-1e300], [0.0]])
    objective = LinearObjective(loss, RankingDataset(X, [1, 0, 0, 1, 2], qid=["a", "a", "b", "b", "b"]))
    for call in (objective.value, objective.value_and_grad):
        with pytest.raises(OverflowError, match=r"w: expected scores X w so small .* for query 'b' .*; scale X or w"):
            call([1e10])
    assert math.isfinite(objective.query_values([1e10])[0])


@pytest.mark.parametrize("loss", [Slam(), MaxPair(), ListNet(), RankSVM(), SquaredGain()], ids=str)
def test_scores_that_are_no_numbers(loss):
    """inf - inf, which every comparison of a hinge takes for nothing to lose."""
    X = np.array([[1e300, 1e300], [1.0, 1.0], [0.0, 0.0]])
    objective = LinearObjective(loss, RankingDataset(X, [1, 0, 2], group=[3]))
    for call in (objective.value, objective.value_and_grad):
        with pytest.raises(OverflowError, match="scale X or w down"):
            call([1e200, -1e200])


def test_it_prints_what_it_is():
    data = RankingDataset([[1.0], [0.0]], [1, 0], group=[2])
    assert repr(LinearObjective(Slam("ndcg@10"), data)) == f"LinearObjective(Slam('ndcg@10', margin=1), {data!r})"
    assert LinearObjective(Slam(), data).n_features == 1
