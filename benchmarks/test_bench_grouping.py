"""Rows with query ids in no order: grouping against one stable argsort of the ids."""

from __future__ import annotations

import numpy as np
import pytest
import workloads

from fastrank.data._grouping import group_by_qid


@pytest.mark.benchmark(group="group rows by qid")
@pytest.mark.parametrize("method", ["ours", "argsort"])
@pytest.mark.parametrize("ids", ["small range", "high bits"])
@pytest.mark.parametrize("n_queries", [1_000, 30_000])
def test_bench_grouping(benchmark, is_smoke: bool, n_queries: int, ids: str, method: str) -> None:
    n_rows = 100_000 if is_smoke else 10_000_000
    qid = workloads.shuffled_qids(n_rows, n_queries)
    if ids == "high bits":  # a poor hash would send all of them to one slot
        qid = qid << 46
    groups = group_by_qid(qid, n_rows)
    by_id = np.argsort(qid, kind="stable")
    first_seen = np.argsort(groups.qid)
    ours = np.concatenate([groups.order[groups.qptr[q] : groups.qptr[q + 1]] for q in first_seen])
    assert np.array_equal(ours, by_id)
    benchmark.extra_info.update(n_rows=n_rows, n_queries=n_queries)
    if method == "ours":
        benchmark(group_by_qid, qid, n_rows)
    else:
        benchmark(np.argsort, qid, kind="stable")
