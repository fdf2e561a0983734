"""The rows of X as kernels see them: dense or CSR, float32 or float64."""

from fastrank._core._csrc cimport fr_matrix_t, fr_rows_t


cdef class Rows:
    cdef fr_matrix_t matrix
    cdef const fr_rows_t *table   # the products, for this kind of matrix
    cdef readonly Py_ssize_t n_rows
    cdef readonly Py_ssize_t n_columns
    cdef object arrays
