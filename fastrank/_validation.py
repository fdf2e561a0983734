"""Checks at the boundary: what users pass in becomes what kernels trust, or a sentence that says why not."""

from __future__ import annotations

import numbers
from typing import Any, TypeAlias

import numpy as np
import scipy  # scipy.sparse loads at first use: `import fastrank` need not wait for it
from numpy.typing import ArrayLike, DTypeLike, NDArray

from fastrank._core import _columns, _cpu
from fastrank._threads import row_blocks, run_blocks

Matrix: TypeAlias = "NDArray[Any] | scipy.sparse.csr_array[Any]"
"""What X becomes: a C-ordered float32 or float64 array, or a CSR array of one of the two."""


def plural(n: int, noun: str) -> str:
    """Write a count with its noun: "1 row", "12,000 rows", "2 queries"."""
    if n == 1:
        return f"1 {noun}"
    return f"{n:,} {noun[:-1] + 'ies' if noun.endswith('ry') else noun + 's'}"


def check_matrix(X: Any, *, allow_nan: bool = False, n_threads: int = 1, name: str = "X") -> Matrix:
    """Return X as a C-ordered float32/float64 array or CSR array, without a copy where it is one already.

    Cost: one read of X, to find values that are not finite.
    """
    if scipy.sparse.issparse(X):
        csr = _check_sparse(X, name)
        values: NDArray[Any] = csr.data.reshape(-1, 1)
        block = _first_nonfinite_block(values, allow_nan, n_threads)
        if block is not None:
            entry = _first_nonfinite(values, block, allow_nan)[0]
            row = int(np.searchsorted(csr.indptr, entry, side="right")) - 1
            raise _nonfinite_error(name, csr.data[entry], row, int(csr.indices[entry]), allow_nan)
        return csr
    if np.ma.isMaskedArray(X) and np.ma.getmaskarray(X).any():
        raise TypeError(f"{name}: expected plain values, got a masked array; fill it, or use X.filled(np.nan) with NaN")
    try:
        array = np.asarray(X)
    except ValueError as error:
        raise ValueError(
            f"{name}: expected rows of the same length, one per document, got a {type(X).__name__} that NumPy cannot "
            f"make a matrix of ({error})"
        ) from None
    if array.ndim != 2:
        raise ValueError(
            f"{name}: expected a matrix with one row per document, got an array of {array.ndim} dimensions "
            f"and shape {array.shape}" + ("; use X.reshape(-1, 1) for a single feature" if array.ndim == 1 else "")
        )
    # aligned too: a map or buffer may start at any byte
    array = np.require(array, dtype=_real_dtype(array.dtype, name), requirements=["C_CONTIGUOUS", "ALIGNED"])
    block = _first_nonfinite_block(array, allow_nan, n_threads)
    if block is not None:
        row, column = _first_nonfinite(array, block, allow_nan)
        raise _nonfinite_error(name, array[row, column], row, column, allow_nan)
    return array


def _real_dtype(dtype: np.dtype[Any], name: str) -> type[np.float32] | type[np.float64]:
    if dtype == np.float32 or dtype == np.float16:
        return np.float32
    if dtype.kind in "fiub":
        return np.float64
    raise TypeError(f"{name}: expected numbers (float32 or float64), got dtype {dtype}; convert or drop these columns")


def _check_sparse(X: Any, name: str) -> scipy.sparse.csr_array[Any]:
    if X.ndim != 2:
        raise ValueError(f"{name}: expected a sparse matrix of two dimensions, got {X.ndim}")
    dtype = _real_dtype(X.dtype, name)
    csr = scipy.sparse.csr_array(X) if X.dtype == dtype else scipy.sparse.csr_array(X, dtype=dtype)
    if (np.diff(csr.indptr) < 0).any():
        raise ValueError(f"{name}: expected a CSR matrix whose indptr never decreases; build it anew")
    if csr.nnz and not 0 <= csr.indices.min() <= csr.indices.max() < csr.shape[1]:
        raise ValueError(
            f"{name}: expected column indices from 0 to {csr.shape[1] - 1}, got {csr.indices.min()} to "
            f"{csr.indices.max()}; build the CSR matrix anew, or give it its shape"
        )
    if not csr.has_canonical_format:
        csr = csr.copy()  # the caller's matrix stays as it is
        csr.sum_duplicates()
    return csr


def _first_nonfinite_block(X: NDArray[Any], allow_nan: bool, n_threads: int) -> tuple[int, int] | None:
    def found(first: int, last: int) -> bool:
        return _columns.has_nonfinite(X, first, last, allow_nan, _cpu.LEVEL)

    # about a megabyte a block, whatever the width
    blocks = row_blocks(X.shape[0], max(1, (1 << 20) // max(1, X.shape[1] * X.itemsize)))
    for block, bad in zip(blocks, run_blocks(found, blocks, n_threads), strict=True):
        if bad:
            return block
    return None


def _first_nonfinite(X: NDArray[Any], block: tuple[int, int], allow_nan: bool) -> tuple[int, int]:
    part = X[block[0] : block[1]]
    bad = np.isinf(part) if allow_nan else ~np.isfinite(part)
    row, column = np.unravel_index(int(np.argmax(bad)), bad.shape)
    return block[0] + int(row), int(column)


def _nonfinite_error(name: str, value: Any, row: int, column: int, allow_nan: bool) -> ValueError:
    mend = (
        "pass allow_nan=True to keep missing values, or fill them first"
        if np.isnan(value) and not allow_nan
        else "clip or drop such values first"
    )
    return ValueError(f"{name}: expected finite values, got {value} in row {row}, column {column}; {mend}")


def check_grades(y: ArrayLike, n_rows: int, *, name: str = "y") -> NDArray[Any]:
    """Return relevance grades as int32 where all are integers, else as float64; finite and not negative."""
    grades = check_vector(y, n_rows, name=name, per="one grade per row of X")
    negative = grades < 0
    if negative.any():
        row = int(np.argmax(negative))
        raise ValueError(
            f"{name}: expected grades of 0 (not relevant) and above, got {grades[row]:g} in row {row}; "
            "shift the grades, or drop unjudged documents"
        )
    if grades.size == 0 or (grades.max() < 2**31 and bool((grades == np.floor(grades)).all())):
        return grades.astype(np.int32)
    return grades.copy()  # not the caller's array: the plan would not see it change


def check_vector(values: ArrayLike, size: int, *, name: str, per: str) -> NDArray[np.float64]:
    """Return a finite float64 vector of the given size; `per` says what its entries belong to."""
    array = np.asarray(values)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(f"{name}: expected a vector ({per}), got an array of shape {array.shape}")
    if array.dtype.kind not in "fiub":
        raise TypeError(f"{name}: expected numbers ({per}), got dtype {array.dtype}")
    if len(array) != size:
        raise ValueError(f"{name}: expected {size:,} values ({per}), got {len(array):,}; pass one for each")
    vector = np.ascontiguousarray(array, dtype=np.float64)
    finite = np.isfinite(vector)
    if not finite.all():
        row = int(np.argmin(finite))
        raise ValueError(f"{name}: expected finite values ({per}), got {vector[row]} at position {row}")
    return vector


def check_weights(values: ArrayLike | None, size: int, *, name: str, per: str) -> NDArray[np.float64] | None:
    """Return weights as a finite, non-negative float64 vector; None stays None."""
    if values is None:
        return None
    weights = check_vector(values, size, name=name, per=per)
    if (weights < 0).any():
        position = int(np.argmax(weights < 0))
        raise ValueError(f"{name}: expected weights of 0 and above, got {weights[position]:g} at position {position}")
    return weights.copy()  # not the caller's array: what is made of them would not see it change


def check_choice(value: Any, choices: tuple[Any, ...], *, name: str) -> Any:
    """Return value if it is one of the choices."""
    if value not in choices:
        raise ValueError(f"{name}: expected one of {', '.join(map(repr, choices))}, got {value!r}")
    return value


def check_count(value: Any, *, name: str, least: int = 1) -> int:
    """Return value if it is an integer of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{name}: expected an integer of at least {least}, got {value!r}")
    if value < least:
        raise ValueError(f"{name}: expected an integer of at least {least}, got {value}")
    return int(value)


def check_real(value: Any, *, name: str, zero: bool) -> float:
    """Return value if it is a finite number above 0, or 0 where that is allowed."""
    wanted = "a finite number of at least 0" if zero else "a finite number greater than 0"
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name}: expected {wanted}, got {value!r}")
    number = float(value)
    if not np.isfinite(number) or number < 0.0 or (number == 0.0 and not zero):
        raise ValueError(f"{name}: expected {wanted}, got {value!r}")
    return number


def check_bool(value: Any, *, name: str) -> bool:
    """Return value if it is True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name}: expected True or False, got {value!r}")
    return bool(value)


def check_float_dtype(dtype: DTypeLike, *, name: str = "dtype") -> np.dtype[Any]:
    """Return float32 or float64."""
    try:
        found = np.dtype(dtype)
    except TypeError:
        raise TypeError(f"{name}: expected float32 or float64, got {dtype!r}") from None
    if dtype is None or found not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise ValueError(f"{name}: expected float32 or float64, got {dtype!r}")
    return found


def check_random_state(random_state: Any) -> np.random.Generator:
    """Return a generator: the one given, or one made from the given seed."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    try:
        seed = check_count(random_state, name="random_state", least=0)
    except TypeError:
        raise TypeError(
            "random_state: expected an integer seed or a numpy.random.Generator, "
            f"got {random_state!r}; pass for example random_state=0"
        ) from None
    return np.random.default_rng(seed)
