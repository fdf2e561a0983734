"""The rows of X, dense or sparse, as the kernels read them."""

from __future__ import annotations

import numpy as np
import scipy

from fastrank._core import _cpu
from fastrank._core._rows import Rows
from fastrank._validation import Matrix


def rows_of(X: Matrix, level: int = _cpu.LEVEL) -> Rows:
    """Return the rows of a matrix that `check_matrix` or a data set gave, without a copy."""
    if not scipy.sparse.issparse(X):
        return Rows(X, None, None, X.shape[1], level)
    indices, indptr = X.indices, X.indptr
    if indices.dtype != indptr.dtype:  # which no constructor of SciPy gives
        common = np.int32 if X.shape[1] <= 2**31 and X.nnz < 2**31 else np.int64
        indices, indptr = indices.astype(common, copy=False), indptr.astype(common, copy=False)
    return Rows(X.data, indices, indptr, X.shape[1], level)
