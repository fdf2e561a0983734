"""Small workloads where nothing is timed (CI), the real ones otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest

import fastrank as fr
from fastrank._core import _cpu


@pytest.fixture(scope="session")
def is_smoke(request: pytest.FixtureRequest) -> bool:
    """True with --benchmark-disable: run everything once, on little data."""
    return bool(request.config.getoption("benchmark_disable"))


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("workloads")


@pytest.fixture(autouse=True)
def describe(benchmark) -> None:  # type: ignore[no-untyped-def]
    """Say in the history what was measured."""
    benchmark.extra_info["fastrank"] = fr.__version__
    benchmark.extra_info["cpu_path"] = _cpu.LEVELS[_cpu.LEVEL]
