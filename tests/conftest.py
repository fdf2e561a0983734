"""Fixtures that all tests share."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

# Beside the project, where it is checked out; FASTRANK_DATA says where else.
_DEFAULT_DATA = Path(__file__).resolve().parent.parent.parent / "shared" / "data"


@pytest.fixture(scope="session")
def data_room() -> Path:
    """The folder of real data sets, or a skip that says how to get the test to run."""
    root = Path(os.environ.get("FASTRANK_DATA") or _DEFAULT_DATA)
    if not root.is_dir():
        pytest.skip(f"no real data at {root}; set FASTRANK_DATA to the folder that holds letor4-mq2008 and others")
    return root


@pytest.fixture
def rng() -> np.random.Generator:
    """A generator that is the same in every run."""
    return np.random.default_rng(20240229)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """One folder for the examples of hypothesis, which may not use a fixture per test."""
    return tmp_path_factory.mktemp("letor")
