"""The linear objective: queries are walked once, and X^T g is added while the query is still in cache."""

from libc.math cimport INFINITY, NAN, fabs
from libc.stdint cimport int64_t
from libc.string cimport memset

from fastrank._core._loss cimport WORK_FIXED, Loss, PlanView, check_loss, query_t
from fastrank._core._memory cimport Memory
from fastrank._core._rows cimport Rows


def linear_into(Rows rows not None, PlanView plan not None, Loss loss not None, const double[::1] w not None,
                const double[::1] query_weight, Py_ssize_t first, Py_ssize_t last, double[::1] values not None,
                double[::1] gradient):
    """`values[q] = loss(X_q w)` for queries first..last-1 and, unless None, `gradient[:] = sum_q X_q^T g_q`.

    Where a score is not finite the value is NaN, and the query adds nothing to the gradient.
    """
    cdef Py_ssize_t q, i, d = rows.n_columns
    cdef query_t query
    cdef double weight
    cdef int64_t n_wild
    check_loss(loss, plan)
    if rows.n_rows != plan.n_rows or values.shape[0] != plan.n_queries or not 0 <= first <= last <= plan.n_queries:
        raise ValueError(f"expected {plan.n_rows} rows, {plan.n_queries} values and queries among them, got "
                         f"{rows.n_rows} rows, {values.shape[0]} values, queries {first}..{last}")
    if w.shape[0] != d or (gradient is not None and gradient.shape[0] != d):
        raise ValueError(f"expected vectors of {d} columns, got {w.shape[0]}")
    if query_weight is not None and query_weight.shape[0] != plan.n_queries:
        raise ValueError(f"expected {plan.n_queries} query weights, got {query_weight.shape[0]}")
    cdef Py_ssize_t n_work = loss.work_per_document * plan.longest + WORK_FIXED
    cdef Memory memory = Memory((n_work + 2 * plan.longest) * sizeof(double))
    cdef double *work = <double *>memory.start
    cdef double *scores = work + n_work
    cdef double *g = scores + plan.longest
    if d == 0:
        gradient = None
        memset(scores, 0, plan.longest * sizeof(double))
    with nogil:
        if gradient is not None:
            memset(&gradient[0], 0, d * sizeof(double))
        for q in range(first, last):
            query = plan.query(q)
            if query.n == 0:
                values[q] = 0.0
                continue
            if d > 0:
                rows.table.scores(&rows.matrix, query.row, query.row + query.n, &w[0], scores)
            n_wild = 0
            for i in range(query.n):
                n_wild += not fabs(scores[i]) < INFINITY
            if n_wild > 0:
                values[q] = NAN
                continue
            values[q] = loss.evaluate(scores, &query, work, g)
            if query_weight is not None:
                weight = query_weight[q]
                values[q] *= weight
                for i in range(query.n):
                    g[i] *= weight
            if gradient is not None:
                rows.table.add_transposed(&rows.matrix, query.row, query.row + query.n, g, &gradient[0])
