"""Measures of ranked lists: us on one and two threads, the tools that CI has, and the kernels at each CPU level."""

from __future__ import annotations

from pathlib import Path

import metric_peers
import metric_workloads
import numpy as np
import pytest
from metric_workloads import MEASURES, RankedLists

import fastrank as fr
from fastrank._core import _cpu

QUICK_PEERS = ("numpy loop", "sklearn ignore_ties", "xgboost", "lightgbm")
TOOLS = [(measure, name) for name in QUICK_PEERS for measure in metric_peers.PEERS[name].measures]


@pytest.fixture(scope="module", params=metric_workloads.WORKLOADS)
def workload(request: pytest.FixtureRequest, is_smoke: bool) -> tuple[str, RankedLists]:
    makers = metric_workloads.SMALL if is_smoke else metric_workloads.WORKLOADS
    return request.param, makers[request.param]()


def _describe(benchmark, lists: RankedLists, group: str) -> None:
    benchmark.group = group
    benchmark.extra_info.update(n_rows=lists.n_docs, n_queries=lists.n_queries)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("measure", MEASURES)
def test_bench_measure(benchmark, workload: tuple[str, RankedLists], measure: str, n_jobs: int) -> None:
    name, lists = workload
    _describe(benchmark, lists, f"{name}: {measure}")
    values = benchmark(metric_workloads.ours, lists, measure, n_jobs=n_jobs)
    few = lists.first(1000)
    np.testing.assert_allclose(values[: few.n_queries], metric_peers.numpy_loop(few, measure), rtol=1e-12)


@pytest.mark.filterwarnings("ignore")  # whatever a tool warns of is its own affair
@pytest.mark.parametrize(("measure", "peer"), TOOLS)
def test_bench_peer(benchmark, workload: tuple[str, RankedLists], measure: str, peer: str) -> None:
    name, lists = workload
    tool = metric_peers.PEERS[peer]
    if not tool.is_installed():
        pytest.skip(f"{tool.module} is not installed")
    if not tool.supports(measure, lists):
        pytest.skip(f"{peer} refuses lists of {lists.longest} documents")
    if peer == "numpy loop" and lists.n_queries > 100_000:
        pytest.skip("a loop over so many queries takes long")
    tool.check(lists, measure)
    _describe(benchmark, lists, f"{name}: {measure}")
    benchmark.pedantic(tool, args=(lists, measure), rounds=3)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_bench_all_measures(benchmark, workload: tuple[str, RankedLists], n_jobs: int) -> None:
    name, lists = workload
    _describe(benchmark, lists, f"{name}: all five")
    evaluation = benchmark(metric_workloads.ours_together, lists, n_jobs=n_jobs)
    for measure in MEASURES:
        assert np.array_equal(evaluation[measure], metric_workloads.ours(lists, measure)), measure


@pytest.mark.parametrize("level", _cpu.supported_levels())
@pytest.mark.parametrize("kernel", metric_workloads.kernels(1))
def test_bench_metric_kernel(benchmark, kernel: str, level: str) -> None:
    run = metric_workloads.kernels()[kernel]
    benchmark.group = kernel
    assert np.array_equal(benchmark(run, _cpu.LEVELS.index(level)), run(0))


@pytest.fixture(scope="module")
def dicts(is_smoke: bool) -> tuple[metric_workloads.Qrels, metric_workloads.Run]:
    return metric_workloads.trec_dicts(*((5, 50, 10) if is_smoke else (1_000, 1_000, 100)))


@pytest.mark.parametrize("module", ["fastrank.compat.pytrec_eval", "pytrec_eval"])
def test_bench_trec_dicts(benchmark, dicts, module: str) -> None:
    from fastrank.compat.pytrec_eval import RelevanceEvaluator

    measures = set(metric_workloads.TREC_MEASURES)
    evaluator = pytest.importorskip(module).RelevanceEvaluator
    qrels, run = dicts
    benchmark.group = "TREC dictionaries"
    found = benchmark(lambda: evaluator(qrels, measures).evaluate(run))
    for qid, expected in RelevanceEvaluator(qrels, measures).evaluate(run).items():
        assert found[qid] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_bench_trec_files(benchmark, dicts, folder: Path, n_jobs: int) -> None:
    from fastrank.compat.pytrec_eval import RelevanceEvaluator

    qrels, run = metric_workloads.write_trec(*dicts, folder)
    measures = metric_workloads.TREC_MEASURES

    def evaluate() -> fr.Evaluation:
        judgements, ranking = fr.load_qrels(qrels, n_jobs=n_jobs), fr.load_run(run, n_jobs=n_jobs)
        return fr.evaluate(judgements, ranking, measures, convention="trec_eval", n_jobs=n_jobs)

    benchmark.group = "TREC files"
    benchmark.extra_info.update(megabytes=run.stat().st_size / 1e6)
    found = benchmark(evaluate)
    expected = RelevanceEvaluator(dicts[0], set(measures)).evaluate(dicts[1])
    for metric in found.metrics:
        values = [expected[qid][metric.trec_name] for qid in found.qid.tolist()]
        np.testing.assert_allclose(found[metric], values, rtol=0, atol=1e-12)
