"""Passes over the columns of C-ordered matrices. Callers have checked shapes and ranges."""

from fastrank._core._csrc cimport fr_columns_f32, fr_columns_f64, real_t


def has_nonfinite(const real_t[:, ::1] X not None, Py_ssize_t first, Py_ssize_t last, bint allow_nan, int level):
    """Tell whether rows first..last-1 hold an infinite value or (unless allowed) NaN. `not np.isfinite(X).all()`."""
    cdef Py_ssize_t n_columns = X.shape[1]
    cdef int found
    if last <= first or n_columns == 0:
        return False
    with nogil:
        if real_t is float:
            found = fr_columns_f32(level).nonfinite(&X[first, 0], (last - first) * n_columns, allow_nan)
        else:
            found = fr_columns_f64(level).nonfinite(&X[first, 0], (last - first) * n_columns, allow_nan)
    return bool(found)


def range_into(const real_t[:, ::1] X not None, Py_ssize_t first, Py_ssize_t last, int level,
               double[::1] low not None, double[::1] high not None):
    """Least and largest value of each column in rows first..last-1. `np.nanmin(X, 0), np.nanmax(X, 0)`."""
    if X.shape[1] == 0:
        return
    cdef const real_t *x = &X[first, 0] if last > first else NULL
    with nogil:
        if real_t is float:
            fr_columns_f32(level).range(x, last - first, X.shape[1], &low[0], &high[0])
        else:
            fr_columns_f64(level).range(x, last - first, X.shape[1], &low[0], &high[0])


def sums_into(const real_t[:, ::1] X not None, Py_ssize_t first, Py_ssize_t last, const double[::1] center not None,
              int level, double[:, ::1] out not None):
    """Count, and sums of x - center, its modulus and its square, per column of rows first..last-1, as rows of out."""
    if X.shape[1] == 0:
        return
    cdef const real_t *x = &X[first, 0] if last > first else NULL
    with nogil:
        if real_t is float:
            fr_columns_f32(level).sums(x, last - first, X.shape[1], &center[0], &out[0, 0], &out[1, 0], &out[2, 0],
                                       &out[3, 0])
        else:
            fr_columns_f64(level).sums(x, last - first, X.shape[1], &center[0], &out[0, 0], &out[1, 0], &out[2, 0],
                                       &out[3, 0])


def scale_into(const real_t[:, ::1] X not None, Py_ssize_t first, Py_ssize_t last, const double[::1] offset not None,
               const double[::1] divisor not None, int level, real_t[:, ::1] out not None):
    """`out[first:last] = (X[first:last] - offset) / divisor`, computed in float64."""
    if X.shape[1] == 0 or last <= first:
        return
    with nogil:
        if real_t is float:
            fr_columns_f32(level).scale(&X[first, 0], last - first, X.shape[1], &offset[0], &divisor[0],
                                        &out[first, 0])
        else:
            fr_columns_f64(level).scale(&X[first, 0], last - first, X.shape[1], &offset[0], &divisor[0],
                                        &out[first, 0])
