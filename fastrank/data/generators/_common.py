"""What the generators share."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

RandomState: TypeAlias = int | np.random.Generator
FloatArray: TypeAlias = npt.NDArray[np.floating[Any]]

BLOCK_ROWS = 2048
"""Rows drawn at once: the scratch arrays of a block then stay in the second-level cache."""


def dot(X: FloatArray, w: FloatArray) -> FloatArray:
    """Return X w with the same bits on every machine: a threaded BLAS may add in another order."""
    out: FloatArray = np.einsum("ij,j->i", X, w)
    return out
