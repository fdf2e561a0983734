from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from fastrank._core import _columns, _cpu

LEVELS = range(len(_cpu.supported_levels()))


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        check=False,
    )


def test_baseline_can_be_forced():
    found = run("from fastrank._core import _cpu; print(_cpu.LEVELS[_cpu.LEVEL])", FASTRANK_CPU="baseline")
    assert found.stdout.strip() == "baseline"


def test_unknown_level_is_refused_with_the_choices():
    found = run("import fastrank._core._cpu", FASTRANK_CPU="pentium")
    assert found.returncode != 0
    assert "FASTRANK_CPU: expected auto or a level this machine can run (baseline" in found.stderr
    assert "got 'pentium'" in found.stderr


def test_highest_level_is_the_default(monkeypatch):
    assert _cpu._choose_level(None) == _cpu._choose_level("auto") == _cpu._choose_level("") == LEVELS[-1]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan, -np.nan])
def test_nonfinite_is_found_wherever_it_is(dtype, level, bad):
    X = np.full((3, 1100), np.finfo(dtype).max, dtype=dtype)
    assert not _columns.has_nonfinite(X, 0, 3, False, level)
    for place in (0, 1, 15, 16, 1023, 1024, 1099):
        X[1, place] = bad
        assert _columns.has_nonfinite(X, 0, 3, False, level)
        assert _columns.has_nonfinite(X, 0, 3, True, level) == np.isinf(bad)
        assert not _columns.has_nonfinite(X, 2, 3, False, level)
        X[1, place] = np.finfo(dtype).tiny / 2  # subnormals are finite


@pytest.mark.parametrize("level", LEVELS)
def test_statistics_against_numpy(rng, level):
    X = rng.normal(size=(200, 13))
    X[rng.random(X.shape) < 0.1] = np.nan
    center = rng.normal(size=13)
    out = np.empty((_columns.N_STATISTICS, 13))
    _columns.statistics_into(X, 10, 190, center, level, out)
    part = X[10:190]
    np.testing.assert_array_equal(out[_columns.LOW], np.nanmin(part, axis=0))
    np.testing.assert_array_equal(out[_columns.HIGH], np.nanmax(part, axis=0))
    np.testing.assert_array_equal(out[_columns.COUNT], (~np.isnan(part)).sum(axis=0))
    np.testing.assert_allclose(out[_columns.SUM], np.nansum(part - center, axis=0), rtol=1e-12)
    np.testing.assert_allclose(out[_columns.ABSOLUTE], np.nansum(np.abs(part - center), axis=0), rtol=1e-12)
    np.testing.assert_allclose(out[_columns.SQUARE], np.nansum((part - center) ** 2, axis=0), rtol=1e-12)
