"""Epochs of the perceptrons in which every round is a mistake, and in which few are: kernel, learner, NumPy loop."""

from __future__ import annotations

from collections.abc import Callable

import loss_peers
import loss_workloads
import numpy as np
import pytest
from loss_workloads import LOSSES, RATE, Epoch, LinearTask

import fastrank as fr

TASKS: dict[str, Callable[[int], LinearTask]] = {
    "all mistakes": loss_workloads.all_mistakes,
    "few mistakes": loss_workloads.few_mistakes,
}
PERCEPTRONS = ("Slam ndcg2017", "Slam ndcg@10", "MaxPair")


@pytest.fixture(scope="module", params=TASKS)
def task(request: pytest.FixtureRequest, is_smoke: bool) -> LinearTask:
    return TASKS[request.param](200 if is_smoke else 10_000)


def _describe(benchmark, task: LinearTask) -> None:
    benchmark.group = f"perceptron epoch: {task.n_mistakes:,} mistakes in {task.dataset.n_queries:,} rounds"
    benchmark.extra_info.update(n_rows=task.dataset.n_rows)


def test_bench_epoch_floor(benchmark, task: LinearTask) -> None:
    _describe(benchmark, task)
    benchmark(task.floor())


@pytest.mark.parametrize("loss", PERCEPTRONS)
def test_bench_epoch(benchmark, task: LinearTask, loss: str) -> None:
    _describe(benchmark, task)
    epoch = Epoch(task, LOSSES[loss])
    record = epoch()
    assert Epoch.mistakes(record) == task.n_mistakes
    np.testing.assert_allclose(record["w"], task.w, rtol=1e-6)  # so every round starts from the same weights
    benchmark(epoch)


@pytest.mark.parametrize("loss", PERCEPTRONS)
def test_bench_partial_fit(benchmark, task: LinearTask, loss: str) -> None:
    _describe(benchmark, task)
    learner = loss_workloads.perceptron(task, LOSSES[loss])
    before = learner.history_.n_mistakes
    assert learner.partial_fit(task.dataset).history_.n_mistakes - before == task.n_mistakes
    np.testing.assert_allclose(learner.coef_, task.w, rtol=1e-6)
    benchmark(learner.partial_fit, task.dataset)


@pytest.mark.benchmark(group="online ListNet: a step in every round")
def test_bench_online_listnet(benchmark, is_smoke: bool) -> None:
    task = loss_workloads.mslr_like(50 if is_smoke else 10_000)
    learner = fr.OnlineRanker(LOSSES["ListNet"], learning_rate=RATE)
    benchmark(learner.partial_fit, task.dataset)


def test_bench_numpy_epoch(benchmark, task: LinearTask) -> None:
    few, rate = loss_workloads.mslr_like(200), 1e-6  # weights move, and no rounding of a sum decides about a mistake
    w, n_mistakes = loss_peers.NumpyPerceptron(few.dataset, rate)(few.w)
    record = Epoch(few, LOSSES["Slam ndcg@10"], rate)()
    assert n_mistakes == Epoch.mistakes(record)
    np.testing.assert_allclose(w, record["w"], rtol=1e-6)
    assert not np.allclose(w, few.w, rtol=1e-3)
    _describe(benchmark, task)
    _, n_mistakes = benchmark.pedantic(loss_peers.NumpyPerceptron(task.dataset, RATE), args=(task.w,), rounds=3)
    assert n_mistakes == task.n_mistakes
