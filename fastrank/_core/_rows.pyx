"""Products of the rows of X with vectors. Callers have checked values and indices; lengths are checked here."""

from libc.stdint cimport int32_t, int64_t

from fastrank._core._csrc cimport fr_rows_csr, fr_rows_dense


cdef class Rows:
    """X, dense (2-D values, no indices) or CSR (1-D values). The arrays are kept, not copied."""

    def __cinit__(self, values, indices, indptr, Py_ssize_t n_columns, int level):
        cdef bint is_double = memoryview(values).format == "d", is_wide
        if (indices is None) != (indptr is None):
            raise ValueError("expected indices and indptr together, got one without the other")
        if indices is None:
            self.matrix.values = _address[double](values, 2) if is_double else _address[float](values, 2)
            self.n_rows = values.shape[0]
            if values.shape[1] != n_columns:
                raise ValueError(f"expected {n_columns} columns, got {values.shape[1]}")
            self.table = fr_rows_dense(level, is_double)
        else:
            is_wide = memoryview(indices).itemsize == 8
            self.matrix.values = _address[double](values, 1) if is_double else _address[float](values, 1)
            self.matrix.indices = _address[int64_t](indices, 1) if is_wide else _address[int32_t](indices, 1)
            self.matrix.indptr = _address[int64_t](indptr, 1) if is_wide else _address[int32_t](indptr, 1)
            self.n_rows = len(indptr) - 1
            if self.n_rows < 0 or indptr[0] != 0 or indptr[self.n_rows] > len(values) or len(indices) != len(values):
                raise ValueError(f"expected indptr to cover {len(values)} values and as many indices")
            self.table = fr_rows_csr(is_double, is_wide)
        self.matrix.n_columns = self.n_columns = n_columns
        self.arrays = (values, indices, indptr)

    def scores_into(self, const double[::1] w not None, Py_ssize_t first, Py_ssize_t last, double[::1] out not None):
        """`out[first:last] = X[first:last] @ w`."""
        self._check(w.shape[0], out.shape[0], first, last)
        if last > first and self.n_columns > 0:
            with nogil:
                self.table.scores(&self.matrix, first, last, &w[0], &out[first])
        elif last > first:
            out[first:last] = 0.0

    def add_transposed_into(self, const double[::1] g not None, Py_ssize_t first, Py_ssize_t last,
                            double[::1] out not None):
        """`out += X[first:last].T @ g[first:last]`."""
        self._check(out.shape[0], g.shape[0], first, last)
        if last > first and self.n_columns > 0:
            with nogil:
                self.table.add_transposed(&self.matrix, first, last, &g[first], &out[0])

    def largest_square(self, Py_ssize_t first, Py_ssize_t last):
        """`(X[first:last] ** 2).sum(axis=1).max()`, 0 without rows."""
        cdef double largest = 0.0
        self._check(self.n_columns, self.n_rows, first, last)
        if last > first and self.n_columns > 0:
            with nogil:
                largest = self.table.largest_square(&self.matrix, first, last)
        return largest

    def _check(self, Py_ssize_t n_columns, Py_ssize_t n_rows, Py_ssize_t first, Py_ssize_t last):
        if n_columns != self.n_columns or n_rows != self.n_rows:
            raise ValueError(f"expected vectors of {self.n_columns} columns and {self.n_rows} rows, got {n_columns} "
                             f"and {n_rows}")
        if not 0 <= first <= last <= self.n_rows:
            raise ValueError(f"expected rows within 0..{self.n_rows}, got {first}..{last}")


ctypedef fused item_t:
    float
    double
    int32_t
    int64_t


cdef const void *_address(array, int n_dimensions, item_t *tag=NULL) except? NULL:
    """Where a C-contiguous array of this type starts; NULL where it is empty."""
    cdef const item_t[::1] vector
    cdef const item_t[:, ::1] table
    if n_dimensions == 1:
        vector = array
        return &vector[0] if vector.shape[0] > 0 else NULL
    table = array
    return &table[0, 0] if table.shape[0] > 0 and table.shape[1] > 0 else NULL
