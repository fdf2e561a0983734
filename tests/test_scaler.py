from __future__ import annotations

import json

import numpy as np
import pytest
from reference import scaler as reference
from scipy import sparse

from fastrank._core import _columns, _cpu
from fastrank.data import QueryScaler, RankingDataset

METHODS = ["minmax", "zscore", "sum"]


def make(rng: np.random.Generator, dtype: str = "float64", n_rows: int = 300, n_columns: int = 7) -> np.ndarray:
    X = rng.normal(size=(n_rows, n_columns)) * 10.0 ** rng.integers(-6, 6, n_columns)
    X[:, 0] = 0.1  # constant: its rounded mean is not 0.1
    X[:, 1] = 0.0
    X[rng.random(X.shape) < 0.05] = np.nan
    X[:, 2] = rng.integers(0, 3, n_rows)
    return X.astype(dtype)


def groups_of(qid: np.ndarray) -> list[list[int]]:
    return [np.flatnonzero(qid == one).tolist() for one in np.unique(qid)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("method", METHODS)
def test_query_scope_matches_the_definition(rng, method, dtype):
    X = make(rng, dtype)
    qid = rng.integers(0, 40, len(X))  # in no order, and some queries of one row
    qid[0] = 99
    scaled = QueryScaler(method).fit_transform(X, qid=qid)
    assert scaled.dtype == X.dtype
    expected = reference.scale(X, groups_of(qid), method)
    np.testing.assert_allclose(scaled, expected, rtol=2e-6 if dtype == "float32" else 1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("method", METHODS)
def test_global_scope_matches_the_definition(rng, method, dtype):
    X = make(rng, dtype, n_rows=9000)  # more than two blocks
    scaled = QueryScaler(method, scope="global").fit_transform(X)
    expected = reference.scale(X, [list(range(len(X)))], method)
    np.testing.assert_allclose(scaled, expected, rtol=2e-6 if dtype == "float32" else 1e-11, atol=1e-12)


@pytest.mark.parametrize("scope", ["query", "global"])
@pytest.mark.parametrize("method", METHODS)
def test_same_bits_for_any_number_of_threads(rng, method, scope):
    X = make(rng, n_rows=20_000)
    qid = np.sort(rng.integers(0, 700, len(X)))
    one = QueryScaler(method, scope=scope).fit_transform(X, qid=qid)
    for n_jobs in (2, 3, 8):
        other = QueryScaler(method, scope=scope, n_jobs=n_jobs).fit_transform(X, qid=qid)
        assert np.array_equal(one.view(np.int64), other.view(np.int64))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("method", METHODS)
def test_same_bits_at_every_cpu_level(rng, method, dtype):
    X = make(rng, dtype, n_rows=500, n_columns=37)
    qptr = np.array([0, 0, 1, 3, 200, 200, 500])
    results = []
    for level in range(len(_cpu.supported_levels())):
        out, work = np.empty_like(X), np.empty((_columns.N_STATISTICS + 3, X.shape[1]))
        statistics = np.empty((_columns.N_STATISTICS, X.shape[1]))
        _columns.scale_queries_into(X, qptr, 0, 6, _columns.SCALE_METHODS[method], level, work, out)
        _columns.statistics_into(X, 0, 500, np.full(X.shape[1], 0.25), level, statistics)
        results.append(out.tobytes() + statistics.tobytes())
    assert set(results) == {results[0]}


def test_minmax_reaches_exactly_zero_and_one(rng):
    X = rng.normal(size=(500, 5)).astype(np.float32)
    scaled = QueryScaler().fit_transform(X, group=[250, 250])
    for part in (scaled[:250], scaled[250:]):
        assert (part.min(axis=0) == 0).all()
        assert (part.max(axis=0) == 1).all()


@pytest.mark.parametrize("scope", ["query", "global"])
def test_sparse_sum_equals_dense(rng, scope):
    X = make(rng)
    X = np.where(np.isnan(X) | (rng.random(X.shape) < 0.5), 0.0, X)
    qid = rng.integers(0, 30, len(X))
    dense = QueryScaler("sum", scope=scope).fit_transform(X, qid=qid)
    scaled = QueryScaler("sum", scope=scope).fit_transform(sparse.csr_matrix(X), qid=qid)
    assert sparse.issparse(scaled)
    np.testing.assert_allclose(scaled.toarray(), dense, rtol=1e-14)


@pytest.mark.parametrize("method", ["minmax", "zscore"])
def test_sparse_needs_sum(method):
    with pytest.raises(TypeError, match=f"method='{method}', which would turn zeros .* use method='sum'"):
        QueryScaler(method).fit(sparse.csr_array(np.eye(3)))


def test_dataset_keeps_everything_but_features(rng):
    X = make(rng)
    data = RankingDataset(
        X,
        rng.integers(0, 3, len(X)),
        qid=rng.integers(0, 9, len(X)),
        docid=[f"d{i}" for i in range(len(X))],
        feature_names=list("abcdefg"),
        allow_nan=True,
    )
    scaled = QueryScaler("zscore").fit_transform(data)
    assert isinstance(scaled, RankingDataset)
    assert np.array_equal(scaled.y, data.y)
    assert list(scaled.docid) == list(data.docid)
    assert scaled.feature_names == data.feature_names
    assert np.array_equal(scaled.X, QueryScaler("zscore").fit_transform(X, qid=data.row_qid()), equal_nan=True)


@pytest.mark.parametrize("scope", ["query", "global"])
def test_state_survives_json(rng, scope):
    X = make(rng)
    scaler = QueryScaler("zscore", scope=scope).fit(X)
    again = QueryScaler.from_dict(json.loads(json.dumps(scaler.to_dict())))
    qid = rng.integers(0, 5, len(X))
    assert np.array_equal(again.transform(X, qid=qid), scaler.transform(X, qid=qid), equal_nan=True)


def test_input_is_not_changed_and_may_be_read_only(rng):
    X = make(rng)
    before = X.copy()
    X.flags.writeable = False
    QueryScaler("zscore").fit_transform(X[:, ::-1], group=[100, 200])
    assert np.array_equal(X, before, equal_nan=True)


def test_empty_shapes():
    assert QueryScaler().fit_transform(np.empty((0, 3)), group=[]).shape == (0, 3)
    assert QueryScaler("zscore", scope="global").fit_transform(np.empty((0, 3))).shape == (0, 3)
    assert QueryScaler().fit_transform(np.empty((4, 0)), group=[4]).shape == (4, 0)


def test_parameters_follow_scikit_learn():
    scaler = QueryScaler("sum").set_params(method="zscore", n_jobs=2)
    assert scaler.get_params() == {"method": "zscore", "scope": "query", "n_jobs": 2}
    with pytest.raises(ValueError, match="parameter: expected one of 'method', 'scope', 'n_jobs', got 'axis'"):
        scaler.set_params(axis=1)


def test_errors_are_sentences():
    X = np.ones((3, 2))
    with pytest.raises(ValueError, match="has not been fitted; call fit"):
        QueryScaler().transform(X, group=[3])
    with pytest.raises(ValueError, match="method: expected one of 'minmax', 'zscore', 'sum', got 'robust'"):
        QueryScaler("robust").fit(X)
    with pytest.raises(ValueError, match="scope: expected one of 'query', 'global'"):
        QueryScaler(scope="row").fit(X)
    with pytest.raises(ValueError, match="qid: expected the query of each row"):
        QueryScaler().fit_transform(X)
    with pytest.raises(ValueError, match="X: expected 2 features, as in fit, got 3"):
        QueryScaler().fit(X).transform(np.ones((3, 3)), group=[3])


@pytest.mark.parametrize("scope", ["query", "global"])
def test_sparse_sums_leave_out_missing_values_and_add_in_float64(rng, scope):
    dense = np.array([[np.nan, 3.0], [2.0, 1.0], [0.0, 4.0]], dtype=np.float32)
    expected = QueryScaler("sum", scope=scope).fit_transform(dense, group=[3])
    scaled = QueryScaler("sum", scope=scope).fit_transform(sparse.csr_array(dense), group=[3])
    np.testing.assert_array_equal(scaled.toarray(), expected)
    assert scaled.toarray()[1, 0] == 1.0
    many = np.full((200_000, 1), 0.1, dtype=np.float32)
    sums = QueryScaler("sum", scope="global").fit(sparse.csr_array(many)).divisor_
    np.testing.assert_allclose(sums, [np.float64(np.float32(0.1)) * 200_000], rtol=1e-12)


@pytest.mark.parametrize(
    ("method", "values"),
    [
        ("minmax", [-1e308, 1e308, 0.0]),
        ("zscore", [1e200, -1e200, 0.0]),
        ("zscore", [1e-200, -1e-200, 0.0]),
        ("sum", [1e308, 1e308, 1.0]),
    ],
)
def test_values_beyond_float64_are_refused_not_flattened(method, values):
    X = np.column_stack([np.arange(3.0), values])
    with pytest.raises(ValueError, match=f"{method} scale .* over- or underflows in column 1 of query 'b'; rescale"):
        QueryScaler(method).fit_transform(np.vstack([np.eye(3)[:, :2], X]), qid=list("aaabbb"))
    with pytest.raises(ValueError, match="in column 1 of the data; rescale that feature"):
        QueryScaler(method, scope="global").fit(X)
