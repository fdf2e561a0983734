"""What a loss in score space is. Other Cython projects may cimport this file and subclass Loss: no header is needed."""

from libc.stdint cimport int32_t, int64_t


cdef struct query_t:
    int64_t row                 # first row of the query in the data set: arrays per row of a loss start here
    Py_ssize_t n                # documents
    Py_ssize_t n_levels         # different grades
    const int32_t *by_grade     # position (0..n-1) of the document at each place: by grade, highest first
    const int32_t *level_end    # per grade, highest first: the place after its last document
    const int32_t *level_of     # per grade: its index among the grades of the data set, ascending


cdef class Loss:
    # Rows of the data set that the loss was made for, or -1 where it fits any.
    cdef Py_ssize_t n_rows
    # Doubles of workspace that evaluate needs per document; there are WORK_FIXED more. Both are set in __cinit__.
    cdef Py_ssize_t work_per_document

    # The loss of one query; writes d loss / d scores to gradient[0..n-1].
    cdef double evaluate(self, const double *scores, const query_t *query, double *work,
                         double *gradient) noexcept nogil


cdef enum:
    WORK_FIXED = 1024


cdef class PlanView:
    cdef const int64_t *qptr
    cdef const int32_t *by_grade
    cdef const int64_t *level_ptr
    cdef const int32_t *level_end
    cdef const int32_t *level_of
    cdef object arrays
    cdef readonly Py_ssize_t n_queries
    cdef readonly Py_ssize_t n_rows
    cdef readonly Py_ssize_t longest

    cdef query_t query(self, Py_ssize_t q) noexcept nogil


cdef int check_loss(Loss loss, PlanView plan) except -1
