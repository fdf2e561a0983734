"""The losses of the library, each one call of a C helper. Arrays are per row, grouped, and kept, not copied."""

from libc.stdint cimport int32_t, int64_t

from fastrank._core._csrc cimport (
    fr_losses,
    fr_losses_t,
    fr_max_pair,
    fr_ranksvm,
    fr_slam,
    fr_squared_gain,
)
from fastrank._core._loss cimport Loss, query_t
from fastrank._core._metrics cimport measure_workspace, rank_query


cdef class _Rowwise(Loss):
    """A loss with one or two values per row (targets, weights); NULL stands for weights of 1."""

    cdef const double *first
    cdef const double *second
    cdef list views  # they keep the memory alive

    cdef const double *keep(self, const double[::1] values) except? NULL:
        if self.views is None:
            self.views = []
        if values is None:
            return NULL
        if self.n_rows >= 0 and self.n_rows != values.shape[0]:
            raise ValueError(f"expected arrays of one length, got {self.n_rows} and {values.shape[0]}")
        self.n_rows = values.shape[0]
        self.views.append(values)
        return &values[0] if values.shape[0] > 0 else NULL


cdef inline const double *_of_query(const double *values, const query_t *query) noexcept nogil:
    return NULL if values == NULL else values + query.row


cdef class SlamLoss(_Rowwise):
    """sum_i v_i max(0, margin + max{s_j : R_j < R_i} - s_i)."""

    cdef double margin

    def __cinit__(self, const double[::1] weights not None, double margin):
        self.first = self.keep(weights)
        self.margin = margin

    cdef double evaluate(self, const double *scores, const query_t *query, double *work,
                         double *gradient) noexcept nogil:
        return fr_slam(scores, query.n, query.by_grade, query.level_end, query.n_levels, self.first + query.row,
                       self.margin, gradient)


cdef class MaxPairLoss(_Rowwise):
    """max(0, max{a_i (margin + s_j - s_i) : R_i > R_j})."""

    cdef double margin

    def __cinit__(self, const double[::1] row_weight, double margin):
        self.first = self.keep(row_weight)
        self.margin = margin

    cdef double evaluate(self, const double *scores, const query_t *query, double *work,
                         double *gradient) noexcept nogil:
        return fr_max_pair(scores, query.n, query.by_grade, query.level_end, query.n_levels,
                           _of_query(self.first, query), self.margin, gradient)


cdef class ListNetLoss(_Rowwise):
    """-sum_j targets_j ln P_j(s)."""

    cdef const fr_losses_t *table

    def __cinit__(self, const double[::1] targets not None, int level):
        self.first = self.keep(targets)
        self.table = fr_losses(level)

    cdef double evaluate(self, const double *scores, const query_t *query, double *work,
                         double *gradient) noexcept nogil:
        return self.table.listnet(scores, query.n, self.first + query.row, gradient)


cdef class RankSvmLoss(_Rowwise):
    """sum over R_i > R_j of a_i max(0, margin + s_j - s_i)."""

    cdef double margin
    cdef int level

    def __cinit__(self, const double[::1] row_weight, double margin, int level):
        cdef Py_ssize_t many = 1 << 20
        self.first = self.keep(row_weight)
        self.margin, self.level = margin, level
        # The order, half a double per document, and then the ranking's workspace, or the 5 doubles of the sweeps.
        self.work_per_document = 1 + max(measure_workspace(many) // (sizeof(double) * many) + 1, 5)

    cdef double evaluate(self, const double *scores, const query_t *query, double *work,
                         double *gradient) noexcept nogil:
        # the order first, where the ranking's own workspace is not
        cdef int32_t *order = <int32_t *>work
        cdef double *rest = work + (query.n // 2 + 8) // 8 * 8
        if query.n_levels > 1:
            rank_query(scores, query.n, self.level, rest, order)
        return fr_ranksvm(scores, query.n, query.by_grade, query.level_end, query.n_levels,
                          _of_query(self.first, query), self.margin, order, rest, gradient)


cdef class SquaredGainLoss(_Rowwise):
    """1/2 sum_i a_i (s_i - gains_i)^2."""

    def __cinit__(self, const double[::1] gains not None, const double[::1] row_weight):
        self.first = self.keep(gains)
        self.second = self.keep(row_weight)

    cdef double evaluate(self, const double *scores, const query_t *query, double *work,
                         double *gradient) noexcept nogil:
        return fr_squared_gain(scores, query.n, self.first + query.row,
                               _of_query(self.second, query), gradient)


def softmax_into(const double[::1] values not None, const int64_t[::1] qptr not None, Py_ssize_t first,
                 Py_ssize_t last, int level, double[::1] out not None):
    """`out[query] = scipy.special.softmax(values[query])`, with the same bits on every machine."""
    cdef Py_ssize_t q, n_queries = qptr.shape[0] - 1
    cdef const fr_losses_t *table = fr_losses(level)
    if not (0 <= first <= last <= n_queries and qptr[0] == 0 and qptr[n_queries] == values.shape[0]
            and out.shape[0] == values.shape[0]):
        raise ValueError("expected qptr to cover values and out, and queries within it")
    with nogil:
        for q in range(first, last):
            if qptr[q + 1] > qptr[q]:
                table.softmax(&values[qptr[q]], qptr[q + 1] - qptr[q], &out[qptr[q]])
