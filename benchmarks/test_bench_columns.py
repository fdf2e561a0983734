"""The dispatched column kernels at each CPU level, with equal bits; the query scaler against NumPy."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from fastrank._core import _columns, _cpu
from fastrank.data import QueryScaler, make_mslr_like


@pytest.fixture(scope="module", params=["float32", "float64"])
def X(request: pytest.FixtureRequest) -> np.ndarray:
    """A block that fits the second-level cache: 1,000 documents, 136 features."""
    return np.random.default_rng(3).normal(size=(1000, 136)).astype(request.param)


@pytest.mark.benchmark(group="has_nonfinite")
@pytest.mark.parametrize("level", _cpu.supported_levels())
def test_bench_nonfinite(benchmark, X: np.ndarray, level: str) -> None:
    number = _cpu.LEVELS.index(level)
    spoiled = X.copy()
    spoiled[-1, -1] = np.inf
    assert _columns.has_nonfinite(spoiled, 0, len(X), False, number)
    assert not _columns.has_nonfinite(X, 0, len(X), False, number)
    benchmark(_columns.has_nonfinite, X, 0, len(X), False, number)


@pytest.mark.benchmark(group="column statistics")
@pytest.mark.parametrize("level", _cpu.supported_levels())
def test_bench_statistics(benchmark, X: np.ndarray, level: str) -> None:
    center = np.zeros(X.shape[1])
    plain, out = (np.empty((_columns.N_STATISTICS, X.shape[1])) for _ in range(2))
    _columns.statistics_into(X, 0, len(X), center, 0, plain)
    benchmark(_columns.statistics_into, X, 0, len(X), center, _cpu.LEVELS.index(level), out)
    assert np.array_equal(plain, out)


@pytest.mark.benchmark(group="scale columns")
@pytest.mark.parametrize("level", _cpu.supported_levels())
def test_bench_scale(benchmark, X: np.ndarray, level: str) -> None:
    offset, divisor = np.full(X.shape[1], 0.5), np.full(X.shape[1], 3.0)
    plain, out = np.empty_like(X), np.empty_like(X)
    _columns.scale_into(X, 0, len(X), offset, divisor, 0, plain)
    benchmark(_columns.scale_into, X, 0, len(X), offset, divisor, _cpu.LEVELS.index(level), out)
    assert np.array_equal(plain, out)


def _numpy_minmax(X: np.ndarray, qptr: np.ndarray) -> np.ndarray:
    out = np.empty_like(X)
    for start, stop in pairwise(qptr):
        query = X[start:stop].astype(np.float64)
        low, spread = query.min(axis=0), np.ptp(query, axis=0)
        out[start:stop] = (query - low) / np.where(spread > 0, spread, 1.0)
    return out


@pytest.mark.benchmark(group="scale each query")
@pytest.mark.parametrize("method", ["ours-1", "ours-2", "numpy"])
def test_bench_query_scaler(benchmark, is_smoke: bool, method: str) -> None:
    dataset = make_mslr_like(20 if is_smoke else 2000, random_state=2)
    expected = _numpy_minmax(dataset.X, dataset.qptr)
    assert np.array_equal(QueryScaler().fit_transform(dataset).X, expected)
    benchmark.extra_info.update(n_rows=dataset.n_rows, n_queries=dataset.n_queries)
    if method == "numpy":
        benchmark(_numpy_minmax, dataset.X, dataset.qptr)
    else:
        scaler = QueryScaler(n_jobs=int(method[-1])).fit(dataset)
        benchmark(scaler.transform, dataset)
