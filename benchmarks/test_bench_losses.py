"""Losses in score space, and the linear objective, as kernels and as calls, next to NumPy and torch."""

from __future__ import annotations

import tracemalloc
from functools import partial

import loss_peers
import loss_workloads
import metric_workloads
import numpy as np
import pytest
from loss_workloads import LENGTHS, LOSSES, LinearTask, ScoreSpace

from fastrank._core import _cpu


@pytest.fixture(scope="module", params=["mslr-like", *LENGTHS])
def space(request: pytest.FixtureRequest, is_smoke: bool) -> ScoreSpace:
    if request.param == "mslr-like":
        return ScoreSpace(metric_workloads.mslr_like(20 if is_smoke else 10_000))
    if is_smoke:
        length = 20 + request.param // 50
        return ScoreSpace(loss_workloads.equal_lists(length, 5 * length))
    return ScoreSpace(loss_workloads.equal_lists(request.param))


@pytest.fixture(scope="module")
def task(is_smoke: bool) -> LinearTask:
    return loss_workloads.mslr_like(50 if is_smoke else 10_000)


def _describe(benchmark, space: ScoreSpace, loss: str) -> None:
    length = space.lists.width or "mslr-like"
    benchmark.group = f"{loss}: lists of {length}"
    benchmark.extra_info.update(n_rows=space.lists.n_docs, n_queries=space.lists.n_queries)


@pytest.mark.parametrize("method", ["kernel", "call"])
@pytest.mark.parametrize("loss", LOSSES)
def test_bench_loss(benchmark, space: ScoreSpace, loss: str, method: str) -> None:
    kernel = space.kernel(LOSSES[loss])
    for ours, expected in zip(space.call(LOSSES[loss]), kernel(), strict=True):
        assert np.array_equal(ours, expected)
    _describe(benchmark, space, loss)
    if method == "kernel":
        benchmark(kernel)
    else:
        benchmark(space.call, LOSSES[loss])


def test_bench_numpy_slam(benchmark, space: ScoreSpace) -> None:
    loop = loss_peers.NumpySlam(space.plan)
    loss_peers.assert_same(loop(space.lists.scores), space.kernel(LOSSES["Slam ndcg2017"])())
    _describe(benchmark, space, "Slam ndcg2017")
    benchmark.pedantic(loop, args=(space.lists.scores,), rounds=3)


@pytest.mark.parametrize("n_batch", [1, 1_000])
def test_bench_torch_listnet(benchmark, space: ScoreSpace, n_batch: int) -> None:
    pytest.importorskip("torch")
    if space.lists.width is None:
        pytest.skip("lists of different lengths")
    gradient = loss_peers.torch_listnet(space.lists, "float64", n_batch)
    np.testing.assert_allclose(gradient(), space.kernel(LOSSES["ListNet"])()[1], rtol=1e-9, atol=1e-14)
    _describe(benchmark, space, "ListNet")
    benchmark.pedantic(gradient, rounds=3)


@pytest.mark.benchmark(group="linear objective")
def test_bench_floor(benchmark, task: LinearTask) -> None:
    floor = task.floor()
    np.testing.assert_allclose(floor(), task.dataset.X.astype(np.float64) @ task.w, rtol=1e-10, atol=1e-12)
    benchmark.extra_info.update(n_rows=task.dataset.n_rows)
    benchmark(floor)


@pytest.mark.benchmark(group="linear objective")
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("loss", LOSSES)
def test_bench_objective(benchmark, task: LinearTask, loss: str, n_jobs: int) -> None:
    evaluate = task.objective(LOSSES[loss], n_jobs).value_and_grad
    loss_peers.assert_same(evaluate(task.w), task.in_two_passes(LOSSES[loss]))
    benchmark.extra_info.update(n_rows=task.dataset.n_rows, n_queries=task.dataset.n_queries)
    benchmark(evaluate, task.w)


@pytest.mark.benchmark(group="linear objective")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_bench_numpy_objective(benchmark, task: LinearTask, dtype: str) -> None:
    loop = partial(loss_peers.numpy_objective, task.dataset, loss_peers.NumpySlam(task.dataset.plan), task.w, dtype)
    ours = task.objective(LOSSES["Slam ndcg2017"]).value_and_grad(task.w)
    loss_peers.assert_same(loop(), ours, tolerance=1e-9 if dtype == "float64" else 1e-3)
    benchmark.pedantic(loop, rounds=3)


@pytest.mark.benchmark(group="linear objective")
@pytest.mark.parametrize("loss", LOSSES)
def test_bench_objective_memory(benchmark, task: LinearTask, loss: str) -> None:
    """No copy of X: what an evaluation takes is below a twentieth of it, values of all queries and blocks included."""
    evaluate = task.objective(LOSSES[loss]).value_and_grad
    evaluate(task.w)  # whatever a loss keeps for the data set
    tracemalloc.start()
    evaluate(task.w)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    benchmark.extra_info.update(peak=peak, x=task.dataset.X.nbytes)
    assert peak < task.dataset.X.nbytes / 20
    benchmark.pedantic(evaluate, args=(task.w,), rounds=1)


@pytest.mark.parametrize("level", _cpu.supported_levels())
@pytest.mark.parametrize("kernel", loss_workloads.kernels(1))
def test_bench_loss_kernel(benchmark, kernel: str, level: str) -> None:
    run = loss_workloads.kernels()[kernel]
    benchmark.group = kernel
    assert np.array_equal(benchmark(run, _cpu.LEVELS.index(level)), run(0))
