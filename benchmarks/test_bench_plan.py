"""The query plan against a NumPy loop over queries."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from fastrank.data import QueryPlan, make_mslr_like


def _numpy_ideal(y: np.ndarray, qptr: np.ndarray) -> np.ndarray:
    discounts = 1 / np.log2(np.arange(2, np.diff(qptr).max() + 2))
    ideal = np.empty(len(qptr) - 1)
    for q, (start, stop) in enumerate(pairwise(qptr)):
        gains = np.exp2(y[start:stop][np.argsort(-y[start:stop], kind="stable")]) - 1
        ideal[q] = gains @ discounts[: stop - start]
    return ideal


def _plan_ideal(y: np.ndarray, qptr: np.ndarray) -> np.ndarray:
    return QueryPlan(y, qptr).ideal_dcg()


@pytest.mark.benchmark(group="query plan")
@pytest.mark.parametrize("method", [_plan_ideal, _numpy_ideal])
def test_bench_plan(benchmark, is_smoke: bool, method) -> None:
    dataset = make_mslr_like(50 if is_smoke else 10_000, n_features=8, random_state=4)
    np.testing.assert_allclose(_plan_ideal(dataset.y, dataset.qptr), _numpy_ideal(dataset.y, dataset.qptr), rtol=1e-12)
    benchmark.extra_info.update(n_rows=dataset.n_rows, n_queries=dataset.n_queries)
    benchmark(method, dataset.y, dataset.qptr)
