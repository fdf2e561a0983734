"""Online learning: rounds that show one query (or one row) each, without the GIL from the first to the last."""

from libc.math cimport INFINITY, fabs, sqrt
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy, memset

from fastrank._core._csrc cimport FR_PREFETCH
from fastrank._core._loss cimport WORK_FIXED, Loss, PlanView, check_loss, query_t
from fastrank._core._memory cimport Memory
from fastrank._core._metrics cimport Program, measure_workspace
from fastrank._core._rows cimport Rows

# A measure this close to 1 is a perfect ranking: what is missing is rounding.
cdef double LEAST_LOSS = 1e-12
# Scores beyond this are no longer learning.
cdef double LARGEST_SCORE = 1e150


def run_rounds(Rows rows not None, PlanView plan not None, Loss loss not None, Program program not None,
               const int32_t[::1] codes not None, const int64_t[::1] order not None, const double[::1] rates not None,
               bint only_mistakes, double radius, double[::1] w not None, double[::1] w_sum,
               double[:, ::1] measures not None, double[::1] surrogate not None, double[::1] square not None,
               uint8_t[::1] moved not None, int level):
    """Show query order[t] in round t and step from w along its gradient; see the stub. Returns the rounds played."""
    cdef Py_ssize_t t, i, m, d = rows.n_columns, n_rounds = order.shape[0], n_measures = measures.shape[0]
    cdef Py_ssize_t played = n_rounds, bad = -1
    cdef query_t query
    cdef int64_t n_wild
    cdef bint is_sane
    check_loss(loss, plan)
    if rows.n_rows != plan.n_rows or codes.shape[0] != plan.n_rows or w.shape[0] != d:
        raise ValueError(f"expected {plan.n_rows} rows and codes and {d} weights, got {rows.n_rows} rows, "
                         f"{codes.shape[0]} codes and {w.shape[0]} weights")
    if w_sum is not None and w_sum.shape[0] != d:
        raise ValueError(f"expected {d} sums of weights, got {w_sum.shape[0]}")
    if (rates.shape[0] != n_rounds or measures.shape[1] != n_rounds or surrogate.shape[0] != n_rounds
            or square.shape[0] != n_rounds or moved.shape[0] != n_rounds):
        raise ValueError(f"expected a rate and a record for each of {n_rounds} rounds")
    if n_measures != program.program.n_measures or not program.reaches(plan.longest):
        raise ValueError("expected a record per measure of the program, and discounts for the longest list")
    for t in range(n_rounds):
        if not 0 <= order[t] < plan.n_queries:
            raise ValueError(f"expected queries within 0..{plan.n_queries}, got {order[t]} in round {t}")
    cdef Py_ssize_t n_work = loss.work_per_document * plan.longest + WORK_FIXED
    cdef size_t n_ranking = measure_workspace(plan.longest)
    cdef Memory ranking = Memory(n_ranking)
    cdef Memory memory = Memory((n_work + 2 * plan.longest + 2 * d + 2 * n_measures) * sizeof(double))
    cdef double *work = <double *>memory.start
    cdef double *scores = work + n_work
    cdef double *g = scores + plan.longest
    cdef double *z = g + plan.longest
    cdef double *start = z + d
    cdef double *values = start + d
    cdef int64_t *n_empty = <int64_t *>(values + n_measures)
    memset(z, 0, (2 * d + 2 * n_measures) * sizeof(double))
    if n_rounds == 0 or d == 0 or plan.n_rows == 0:
        raise ValueError("expected at least one round, one column and one row")
    with nogil:
        for t in range(n_rounds):
            query = plan.query(order[t])
            surrogate[t] = square[t] = 0.0
            moved[t] = 0
            for m in range(n_measures):
                measures[m, t] = 1.0
            if query.n > 0:
                rows.table.scores(&rows.matrix, query.row, query.row + query.n, &w[0], scores)
            if t + 1 < n_rounds:
                _prefetch(rows, plan, &codes[0], &order[t], t + 2 < n_rounds)
            n_wild = 0
            for i in range(query.n):
                n_wild += not fabs(scores[i]) < LARGEST_SCORE
            is_sane = n_wild == 0
            if is_sane and query.n > 0:
                bad = program.measure(scores, &codes[query.row], query.n, level, ranking.start, n_empty, values)
                if bad >= 0:
                    bad += query.row
                    break
                for m in range(n_measures):
                    measures[m, t] = values[m]
                if not only_mistakes or 1.0 - values[0] >= LEAST_LOSS:
                    if w_sum is not None:
                        memcpy(start, &w[0], d * sizeof(double))
                    surrogate[t] = loss.evaluate(scores, &query, work, g)
                    square[t] = rows.table.descend(&rows.matrix, query.row, query.row + query.n, g, rates[t], z, &w[0])
                    is_sane = square[t] < INFINITY
            if not is_sane:
                played = t
                break
            moved[t] = square[t] > 0.0
            if w_sum is not None:
                for i in range(d):
                    w_sum[i] += start[i] if moved[t] else w[i]
            if moved[t] and radius < LARGEST_SCORE:
                _project(&w[0], d, radius)
    if bad >= 0:
        raise ValueError(f"expected codes below {program.program.n_codes}, got {codes[bad]} in row {bad}")
    return played


cdef void _prefetch(Rows rows, PlanView plan, const int32_t *codes, const int64_t *order,
                    bint has_second) noexcept nogil:
    """Ask for what the next round reads, while this one computes. Not where it follows in memory anyway."""
    cdef query_t query
    cdef Py_ssize_t i
    if order[1] != order[0] + 1:
        query = plan.query(order[1])
        rows.table.prefetch(&rows.matrix, query.row, query.row + query.n)
        for i in range(0, query.n, 16):  # a cache line of int32
            FR_PREFETCH(codes + query.row + i)
            FR_PREFETCH(query.by_grade + i)
        if has_second:
            FR_PREFETCH(plan.qptr + order[2])
            FR_PREFETCH(plan.level_ptr + order[2])


cdef void _project(double *w, Py_ssize_t d, double radius) noexcept nogil:
    """Scale w back onto the ball, where it is outside."""
    cdef double norm = 0.0
    cdef Py_ssize_t j
    for j in range(d):
        norm += w[j] * w[j]
    norm = sqrt(norm)
    if norm > radius:
        for j in range(d):
            w[j] *= radius / norm


def run_binary(Rows rows not None, const double[::1] labels not None, const int64_t[::1] order not None,
               const double[::1] rates not None, double[::1] w not None, double[::1] w_sum,
               double[::1] hinge not None, double[::1] square not None, uint8_t[::1] mistakes not None):
    """The classification perceptron: row order[t] in round t. Returns the rounds played."""
    cdef Py_ssize_t t, j, d = rows.n_columns, n_rounds = order.shape[0], played = n_rounds
    cdef int64_t row
    cdef double score, g
    if labels.shape[0] != rows.n_rows or w.shape[0] != d or (w_sum is not None and w_sum.shape[0] != d):
        raise ValueError(f"expected {rows.n_rows} labels and {d} weights, got {labels.shape[0]} and {w.shape[0]}")
    if (rates.shape[0] != n_rounds or hinge.shape[0] != n_rounds or square.shape[0] != n_rounds
            or mistakes.shape[0] != n_rounds):
        raise ValueError(f"expected a rate and a record for each of {n_rounds} rounds")
    if n_rounds == 0 or d == 0:
        raise ValueError("expected at least one round and one column")
    for t in range(n_rounds):
        if not 0 <= order[t] < rows.n_rows:
            raise ValueError(f"expected rows within 0..{rows.n_rows}, got {order[t]} in round {t}")
    cdef Memory memory = Memory(2 * d * sizeof(double))
    cdef double *z = <double *>memory.start
    cdef double *start = z + d
    memset(z, 0, 2 * d * sizeof(double))
    with nogil:
        for t in range(n_rounds):
            row = order[t]
            hinge[t] = square[t] = 0.0
            mistakes[t] = 0
            rows.table.scores(&rows.matrix, row, row + 1, &w[0], &score)
            if not fabs(score) < LARGEST_SCORE:
                played = t
                break
            if w_sum is not None:
                memcpy(start, &w[0], d * sizeof(double))
            if labels[row] * score <= 0.0:
                g = -labels[row]
                hinge[t] = 1.0 - labels[row] * score
                square[t] = rows.table.descend(&rows.matrix, row, row + 1, &g, rates[t], z, &w[0])
                if not square[t] < INFINITY:
                    played = t
                    break
                mistakes[t] = 1
            if w_sum is not None:
                for j in range(d):
                    w_sum[j] += start[j]
    return played
