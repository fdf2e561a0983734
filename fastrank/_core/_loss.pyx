"""Losses in score space: what they see of the data, and the driver over ragged queries."""

from libc.stdint cimport int32_t, int64_t

from fastrank._core._memory cimport Memory


cdef extern from *:
    """
    #define IS_SAME_EVALUATE(a, b) ((a)->__pyx_vtab->evaluate == (b)->__pyx_vtab->evaluate)

    /* Where Loss is a heap type (limited API), its deallocator gives back a reference to the type of the object. If a
     * class on the way to Loss is static, as other projects compile it, nobody has taken that reference: take it. */
    static void fr_own_type(PyObject *object, PyObject *loss_type)
    {
    #if CYTHON_USE_TYPE_SPECS
        PyTypeObject *type = Py_TYPE(object);
        while (type != (PyTypeObject *)loss_type && (PyType_GetFlags(type) & Py_TPFLAGS_HEAPTYPE))
            type = (PyTypeObject *)PyType_GetSlot(type, Py_tp_base);
        if (type != (PyTypeObject *)loss_type)
            Py_INCREF((PyObject *)Py_TYPE(object));
    #else
        (void)object, (void)loss_type;
    #endif
    }
    """
    bint IS_SAME_EVALUATE(Loss a, Loss b) nogil
    void fr_own_type(object loss, object loss_type)


cdef class Loss:
    """A loss of one query in score space; subclasses implement `evaluate`, in Cython."""

    def __cinit__(self):
        fr_own_type(self, Loss)
        self.n_rows = -1
        self.work_per_document = 0

    cdef double evaluate(self, const double *scores, const query_t *query, double *work,
                         double *gradient) noexcept nogil:
        cdef Py_ssize_t i
        for i in range(query.n):
            gradient[i] = 0.0
        return 0.0


cdef class PlanView:
    """The query plan as losses see it: documents by grade of every query. The arrays are kept, not copied."""

    def __cinit__(self, const int64_t[::1] qptr not None, const int32_t[::1] by_grade not None,
                  const int64_t[::1] level_ptr not None, const int32_t[::1] level_end not None,
                  const int32_t[::1] level_of not None):
        cdef Py_ssize_t q, n_queries = qptr.shape[0] - 1
        cdef int64_t i, n, end, least = 0, longest = 0
        cdef bint is_wrong = False
        # Checked once, here: kernels follow these arrays without looking.
        if n_queries < 0 or level_ptr.shape[0] != n_queries + 1 or level_end.shape[0] != level_of.shape[0]:
            raise ValueError("expected offsets of every query in rows and levels, and an end and a grade per level")
        if qptr[0] != 0 or qptr[n_queries] != by_grade.shape[0]:
            raise ValueError(f"expected qptr to cover the {by_grade.shape[0]} rows of by_grade")
        if level_ptr[0] != 0 or level_ptr[n_queries] != level_end.shape[0]:
            raise ValueError(f"expected level_ptr to cover the {level_end.shape[0]} levels")
        for q in range(n_queries):
            least = min(least, qptr[q + 1] - qptr[q], level_ptr[q + 1] - level_ptr[q])
            longest = max(longest, qptr[q + 1] - qptr[q])
        if least < 0 or longest >= <int64_t>1 << 31:
            raise ValueError("expected offsets that never decrease, and lists of fewer than 2^31 documents")
        for q in range(n_queries):
            n, end = qptr[q + 1] - qptr[q], 0
            for i in range(qptr[q], qptr[q + 1]):
                is_wrong |= not 0 <= by_grade[i] < n
            for i in range(level_ptr[q], level_ptr[q + 1]):
                is_wrong |= level_end[i] <= end
                end = level_end[i]
            is_wrong |= end != n
        if is_wrong:
            raise ValueError("expected by_grade to hold positions inside each query, and level_end to rise to its size")
        self.arrays = (qptr, by_grade, level_ptr, level_end, level_of)  # the views keep the memory alive
        self.qptr, self.level_ptr = &qptr[0], &level_ptr[0]
        self.by_grade = &by_grade[0] if by_grade.shape[0] > 0 else NULL
        self.level_end = &level_end[0] if level_end.shape[0] > 0 else NULL
        self.level_of = &level_of[0] if level_of.shape[0] > 0 else NULL
        self.n_queries, self.n_rows, self.longest = n_queries, by_grade.shape[0], longest

    cdef query_t query(self, Py_ssize_t q) noexcept nogil:
        cdef query_t view
        cdef int64_t row = self.qptr[q], level = self.level_ptr[q]
        view.row = row
        view.n = self.qptr[q + 1] - row
        view.n_levels = self.level_ptr[q + 1] - level
        view.by_grade = self.by_grade + row
        view.level_end = self.level_end + level
        view.level_of = self.level_of + level
        return view


cdef Loss _NOTHING = Loss()


cdef int check_loss(Loss loss, PlanView plan) except -1:
    """Refuse a loss without `evaluate`, and one that was made for another data set."""
    if IS_SAME_EVALUATE(loss, _NOTHING):
        raise TypeError(f"expected a loss that implements evaluate, got {type(loss).__name__}, which does not; "
                        "implement it in Cython: kernels do not see methods of Python")
    if loss.n_rows >= 0 and loss.n_rows != plan.n_rows:
        raise ValueError(f"expected a loss made for {plan.n_rows} rows, got one made for {loss.n_rows}")
    return 0


def evaluate_into(Loss loss not None, PlanView plan not None, const double[::1] scores not None,
                  const double[::1] query_weight, Py_ssize_t first, Py_ssize_t last, double[::1] values not None,
                  double[::1] gradient):
    """`values[q]` for queries first..last-1 and, unless None, the gradient of their rows; both times the weight."""
    cdef Py_ssize_t q, i, n = plan.n_rows
    cdef query_t query
    cdef double weight
    cdef double *out
    check_loss(loss, plan)
    if not 0 <= first <= last <= plan.n_queries:
        raise ValueError(f"expected queries within 0..{plan.n_queries}, got {first}..{last}")
    if scores.shape[0] != n or values.shape[0] != plan.n_queries or (gradient is not None and gradient.shape[0] != n):
        raise ValueError(f"expected {n} scores and gradients, and {plan.n_queries} values")
    if query_weight is not None and query_weight.shape[0] != plan.n_queries:
        raise ValueError(f"expected {plan.n_queries} query weights, got {query_weight.shape[0]}")
    cdef Py_ssize_t n_work = loss.work_per_document * plan.longest + WORK_FIXED
    cdef Memory memory = Memory((n_work + plan.longest) * sizeof(double))
    cdef double *work = <double *>memory.start
    cdef double *spare = work + n_work
    with nogil:
        for q in range(first, last):
            query = plan.query(q)
            if query.n == 0:
                values[q] = 0.0
                continue
            out = spare if gradient is None else &gradient[query.row]
            values[q] = loss.evaluate(&scores[query.row], &query, work, out)
            if query_weight is not None:
                weight = query_weight[q]
                values[q] *= weight
                if gradient is not None:
                    for i in range(query.n):
                        out[i] *= weight
