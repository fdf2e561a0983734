"""The measures of one query, for kernels that rank as they go."""

from libc.stdint cimport int32_t, int64_t

from fastrank._core._csrc cimport fr_program_t


cdef class Program:
    cdef fr_program_t program
    cdef object kinds, cuts, flags, fills, gains, stops, discounts
    cdef Py_ssize_t n_discounts
    cdef int64_t discount_reach

    # The measures of one list to out[0..n_measures-1]; scores are finite, else returns the first that is not, or -1.
    # work: measure_workspace(n) bytes, aligned to 64. n_empty: one count per measure, added to.
    cdef ptrdiff_t measure(self, const double *scores, const int32_t *codes, Py_ssize_t n, int level, void *work,
                           int64_t *n_empty, double *out) noexcept nogil

    # Whether lists of at most this length have all the discounts they need.
    cdef bint reaches(self, Py_ssize_t longest) noexcept nogil


cdef size_t measure_workspace(Py_ssize_t longest) noexcept nogil

# Positions by score, highest first, equal scores in row order; work as above.
cdef void rank_query(const double *scores, Py_ssize_t n, int level, void *work, int32_t *order) noexcept nogil
