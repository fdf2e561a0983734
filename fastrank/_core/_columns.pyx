"""Passes over the columns of C-ordered matrices. Callers have checked shapes and ranges."""

from libc.stdint cimport int64_t
from libc.string cimport memset

from fastrank._core._csrc cimport (
    FR_SCALE_MINMAX,
    FR_SCALE_SUM,
    FR_SCALE_ZSCORE,
    fr_columns_f32,
    fr_columns_f64,
    fr_columns_offsets,
    real_t,
)

SCALE_METHODS = {"minmax": FR_SCALE_MINMAX, "zscore": FR_SCALE_ZSCORE, "sum": FR_SCALE_SUM}

# Rows of the statistics of a set of rows, each with one value per column.
LOW, HIGH, COUNT, SUM, ABSOLUTE, SQUARE, N_STATISTICS = range(7)


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


cdef inline void _range(const real_t *x, Py_ssize_t n_rows, Py_ssize_t n_columns, int level,
                        double *out) noexcept nogil:
    """Fill rows LOW and HIGH of the statistics `out`."""
    if real_t is float:
        fr_columns_f32(level).range(x, n_rows, n_columns, out, out + n_columns)
    else:
        fr_columns_f64(level).range(x, n_rows, n_columns, out, out + n_columns)


cdef inline void _sums(const real_t *x, Py_ssize_t n_rows, Py_ssize_t n_columns, const double *center, int level,
                       double *out) noexcept nogil:
    """Fill rows COUNT to SQUARE of the statistics `out`."""
    cdef double *count = out + 2 * n_columns
    if real_t is float:
        fr_columns_f32(level).sums(x, n_rows, n_columns, center, count, count + n_columns, count + 2 * n_columns,
                                   count + 3 * n_columns)
    else:
        fr_columns_f64(level).sums(x, n_rows, n_columns, center, count, count + n_columns, count + 2 * n_columns,
                                   count + 3 * n_columns)


cdef inline void _mean(const double *statistics, Py_ssize_t n_columns, double *mean) noexcept nogil:
    cdef Py_ssize_t j
    for j in range(n_columns):
        mean[j] = statistics[3 * n_columns + j] / statistics[2 * n_columns + j]


def statistics_into(const real_t[:, ::1] X not None, Py_ssize_t first, Py_ssize_t last,
                    const double[::1] center not None, int level, double[:, ::1] out not None):
    """Per column of rows first..last-1, without NaN: least, largest, count, and sums of x - center, |.|, (.)^2."""
    cdef const real_t *x = &X[first, 0] if last > first and X.shape[1] > 0 else NULL
    if X.shape[1] > 0:
        with nogil:
            _range(x, last - first, X.shape[1], level, &out[0, 0])
            _sums(x, last - first, X.shape[1], &center[0], level, &out[0, 0])


def offsets_into(int method, const double[:, ::1] statistics not None, const double[::1] mean not None,
                 double[::1] offset not None, double[::1] divisor not None):
    """Turn statistics about `mean` into offset and divisor of a method. Returns a column beyond float64, or -1."""
    cdef Py_ssize_t n = mean.shape[0]
    if n == 0:
        return -1
    return fr_columns_offsets(method, n, &statistics[0, 0], &statistics[1, 0], &mean[0], &statistics[2, 0],
                              &statistics[4, 0], &statistics[5, 0], &offset[0], &divisor[0])


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


def scale_queries_into(const real_t[:, ::1] X not None, const int64_t[::1] qptr not None, Py_ssize_t first,
                       Py_ssize_t last, int method, int level, double[:, ::1] work not None,
                       real_t[:, ::1] out not None):
    """Scale each of the queries first..last-1 by its own columns; work has N_STATISTICS + 3 rows.

    Returns the first query and column whose values are beyond float64, or (-1, -1).
    """
    cdef Py_ssize_t q, n_rows, failed, n_columns = X.shape[1], failed_query = -1, failed_column = -1
    cdef const real_t *x
    if n_columns == 0:
        return -1, -1
    cdef double *statistics = &work[0, 0]
    cdef double *mean = &work[6, 0]
    cdef double *offset = &work[7, 0]
    cdef double *divisor = &work[8, 0]
    with nogil:
        for q in range(first, last):
            n_rows = qptr[q + 1] - qptr[q]
            if n_rows == 0:
                continue
            x = &X[qptr[q], 0]
            if method != FR_SCALE_SUM:
                _range(x, n_rows, n_columns, level, statistics)
            if method != FR_SCALE_MINMAX:
                memset(mean, 0, n_columns * sizeof(double))
                _sums(x, n_rows, n_columns, mean, level, statistics)
            if method == FR_SCALE_ZSCORE:
                _mean(statistics, n_columns, mean)
                _sums(x, n_rows, n_columns, mean, level, statistics)
            failed = fr_columns_offsets(method, n_columns, statistics, statistics + n_columns, mean,
                                        statistics + 2 * n_columns, statistics + 4 * n_columns,
                                        statistics + 5 * n_columns, offset, divisor)
            if failed >= 0 and failed_query < 0:
                failed_query, failed_column = q, failed
            if real_t is float:
                fr_columns_f32(level).scale(x, n_rows, n_columns, offset, divisor, &out[qptr[q], 0])
            else:
                fr_columns_f64(level).scale(x, n_rows, n_columns, offset, divisor, &out[qptr[q], 0])
    return failed_query, failed_column
