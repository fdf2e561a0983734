"""Measures of ragged query lists. Callers have checked what the arrays mean; lengths are checked here."""

from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, malloc

from fastrank._core._csrc cimport (
    FR_AP,
    FR_BPREF,
    FR_CODES_F64,
    FR_CODES_I32,
    FR_CODES_I64,
    FR_DCG,
    FR_ERR,
    FR_NDCG,
    FR_NORM_MIN,
    FR_PRECISION,
    FR_RECALL,
    FR_RPREC,
    FR_RR,
    FR_SHORT_ZERO,
    FR_SUCCESS,
    FR_TAU,
    FR_TIES_BEST,
    FR_TIES_INDEX,
    FR_TIES_MEAN,
    FR_TIES_THRESHOLD,
    FR_TIES_WORST,
    FR_WTA,
    fr_batch_t,
    fr_metrics_f32,
    fr_metrics_f64,
    fr_metrics_workspace,
    fr_program_prepare,
    real_t,
)
from fastrank._core._memory cimport Memory

KINDS = {
    "dcg": FR_DCG,
    "ndcg": FR_NDCG,
    "ap": FR_AP,
    "rr": FR_RR,
    "precision": FR_PRECISION,
    "recall": FR_RECALL,
    "success": FR_SUCCESS,
    "wta": FR_WTA,
    "err": FR_ERR,
    "bpref": FR_BPREF,
    "rprec": FR_RPREC,
    "tau": FR_TAU,
}
TIES = {
    "index": FR_TIES_INDEX,
    "worst": FR_TIES_WORST,
    "best": FR_TIES_BEST,
    "mean": FR_TIES_MEAN,
    "threshold": FR_TIES_THRESHOLD,
}
PATHS = {"auto": 0, "plain": 1}
NORM_MIN = FR_NORM_MIN
SHORT_ZERO = FR_SHORT_ZERO


cdef class Program:
    """What to compute: measures with cuts, flags and fills; gains and stops by code; discounts by position."""

    def __init__(self, const int32_t[::1] kinds not None, const int64_t[::1] cuts not None,
                 const int32_t[::1] flags not None, const double[::1] fills not None,
                 const double[::1] gains not None, const double[::1] stops not None, int first_judged,
                 int first_relevant, const double[::1] discounts not None, int ties):
        cdef Py_ssize_t n = kinds.shape[0], m
        if n == 0 or cuts.shape[0] != n or flags.shape[0] != n or fills.shape[0] != n:
            raise ValueError(f"expected one kind, cut, flag and fill per measure and at least one, got {n} kinds")
        if gains.shape[0] == 0 or gains.shape[0] != stops.shape[0] or gains.shape[0] >= 2**31:
            raise ValueError(f"expected one gain and stop per code, got {gains.shape[0]} and {stops.shape[0]}")
        if not (0 <= first_judged <= first_relevant <= gains.shape[0] and 0 <= ties <= FR_TIES_THRESHOLD):
            raise ValueError("expected 0 <= first_judged <= first_relevant <= number of codes, and a rule for ties")
        for m in range(n):
            if not (0 <= kinds[m] <= FR_TAU and cuts[m] >= 0):
                raise ValueError(f"expected a known kind and a cut of 0 or more, got {kinds[m]} and {cuts[m]}")
        # the views keep the arrays alive
        self.kinds, self.cuts, self.flags, self.fills = kinds, cuts, flags, fills
        self.gains, self.stops, self.discounts = gains, stops, discounts
        self.n_discounts = discounts.shape[0]
        self.program.n_measures = n
        self.program.kinds, self.program.cuts = &kinds[0], &cuts[0]
        self.program.flags, self.program.fills = &flags[0], &fills[0]
        self.program.gains, self.program.stops = &gains[0], &stops[0]
        self.program.n_codes = <int32_t>gains.shape[0]
        self.program.first_judged, self.program.first_relevant = first_judged, first_relevant
        self.program.discounts = &discounts[0] if self.n_discounts > 0 else NULL
        self.program.ties = ties
        self.discount_reach = 0
        for m in range(n):
            if kinds[m] == FR_DCG or kinds[m] == FR_NDCG:
                self.discount_reach = max(self.discount_reach, cuts[m] if cuts[m] > 0 else <int64_t>1 << 62)
        free(self.program.by_gain)
        self.program.by_gain = <int32_t *>malloc(2 * gains.shape[0] * sizeof(int32_t))
        if self.program.by_gain == NULL:
            raise MemoryError("expected memory for the tables by code, got none")
        self.program.gain_place = self.program.by_gain + gains.shape[0]
        cdef Memory work = Memory(fr_metrics_workspace(gains.shape[0]))
        with nogil:
            fr_program_prepare(&self.program, work.start)

    def __dealloc__(self):
        free(self.program.by_gain)

    cdef ptrdiff_t measure(self, const double *scores, const int32_t *codes, Py_ssize_t n, int level, void *work,
                           int64_t *n_empty, double *out) noexcept nogil:
        cdef fr_batch_t batch
        cdef int64_t[2] qptr
        qptr[0], qptr[1] = 0, n
        batch.scores, batch.codes, batch.code_type = scores, codes, FR_CODES_I32
        batch.qptr, batch.first, batch.last, batch.longest = qptr, 0, 1, n
        batch.missing, batch.missing_ptr, batch.plain = NULL, NULL, 0
        batch.work, batch.out, batch.stride, batch.n_empty = work, out, 1, n_empty
        return fr_metrics_f64(level).run(&self.program, &batch)

    cdef bint reaches(self, Py_ssize_t longest) noexcept nogil:
        return min(self.discount_reach, <int64_t>longest) <= self.n_discounts

    def run(self, scores, codes, const int64_t[::1] qptr not None, Py_ssize_t first, Py_ssize_t last, missing,
            missing_ptr, int level, int path, double[:, ::1] out not None):
        """Fill out[:, first:last]. Returns the first row that is not finite or not a code, or -1, and empties."""
        cdef fr_batch_t batch
        cdef const float[::1] single
        cdef const double[::1] wide
        cdef const int32_t[::1] codes_i32
        cdef const int64_t[::1] codes_i64
        cdef const double[::1] codes_f64
        cdef const int32_t[::1] missing_codes
        cdef const int64_t[::1] missing_offsets
        cdef Py_ssize_t n_queries = qptr.shape[0] - 1, n_rows, m, n_measures = self.program.n_measures
        cdef ptrdiff_t bad
        cdef bint is_single = False
        if not 0 <= first <= last <= n_queries:
            raise ValueError(f"expected queries within 0..{n_queries}, got {first}..{last}")
        if out.shape[0] != n_measures or out.shape[1] != n_queries:
            raise ValueError(f"expected out of shape ({n_measures}, {n_queries}), got ({out.shape[0]}, {out.shape[1]})")
        n_rows = len(codes)
        if qptr[0] != 0 or qptr[n_queries] != n_rows or (scores is not None and len(scores) != n_rows):
            raise ValueError(f"expected scores and codes for the {qptr[n_queries]} rows of qptr, got {n_rows} codes")
        batch.scores = NULL
        if scores is not None and n_rows > 0:
            is_single = memoryview(scores).format == "f"
            if is_single:
                single = scores
                batch.scores = &single[0]
            else:
                wide = scores
                batch.scores = &wide[0]
        batch.codes = NULL
        batch.code_type = FR_CODES_I32
        if n_rows > 0:
            code_format = memoryview(codes).format
            if code_format == "d":
                codes_f64 = codes
                batch.codes, batch.code_type = &codes_f64[0], FR_CODES_F64
            elif memoryview(codes).itemsize == 8:
                codes_i64 = codes
                batch.codes, batch.code_type = &codes_i64[0], FR_CODES_I64
            else:
                codes_i32 = codes
                batch.codes = &codes_i32[0]
        batch.missing, batch.missing_ptr = NULL, NULL
        if (missing is None) != (missing_ptr is None):
            raise ValueError("expected missing and missing_ptr together, got one without the other")
        if missing is not None:
            missing_codes = missing
            missing_offsets = missing_ptr
            if missing_offsets.shape[0] != n_queries + 1 or missing_offsets[0] != 0 or (
                missing_offsets[n_queries] != missing_codes.shape[0]
            ):
                raise ValueError("expected missing_ptr to hold the offsets of every query in missing")
            for m in range(missing_codes.shape[0]):
                if not 0 <= missing_codes[m] < self.program.n_codes:
                    raise ValueError(f"expected missing codes below {self.program.n_codes}, got {missing_codes[m]}")
            if missing_codes.shape[0] > 0:
                batch.missing, batch.missing_ptr = &missing_codes[0], &missing_offsets[0]
        batch.qptr = &qptr[0]
        batch.first, batch.last = first, last
        batch.longest = _longest(qptr, batch.missing_ptr, first, last)
        if not self.reaches(batch.longest):
            raise ValueError(f"expected {min(self.discount_reach, <int64_t>batch.longest)} discounts (the longest list "
                             f"with its missing documents, or the largest cut), got {self.n_discounts}")
        batch.plain = path
        cdef Memory work = Memory(fr_metrics_workspace(batch.longest))
        cdef Memory counts = Memory(n_measures * sizeof(int64_t))
        batch.work = work.start
        batch.n_empty = <int64_t *>counts.start
        for m in range(n_measures):
            batch.n_empty[m] = 0
        batch.out = &out[0, 0] if n_queries > 0 else NULL
        batch.stride = n_queries
        with nogil:
            bad = (fr_metrics_f32(level) if is_single else fr_metrics_f64(level)).run(&self.program, &batch)
        return bad, [batch.n_empty[m] for m in range(n_measures)]


cdef Py_ssize_t _longest(const int64_t[::1] qptr, const int64_t *missing_ptr, Py_ssize_t first,
                         Py_ssize_t last) except -1:
    """The longest list of the range, missing documents included."""
    cdef int64_t longest = 0, least = 0, size
    cdef Py_ssize_t q
    with nogil:
        for q in range(first, last):
            size = qptr[q + 1] - qptr[q]
            least = min(least, size)
            if missing_ptr != NULL:
                size += missing_ptr[q + 1] - missing_ptr[q]
            longest = max(longest, size)
    if least < 0 or longest >= <int64_t>1 << 31:
        raise ValueError("expected offsets that never decrease, and lists of fewer than 2^31 documents")
    return longest


def longest_list(const int64_t[::1] qptr not None, missing_ptr):
    """`(np.diff(qptr) + np.diff(missing_ptr)).max()`, or 0 without queries; missing_ptr may be None."""
    cdef const int64_t[::1] missing_offsets
    cdef const int64_t *missing = NULL
    if missing_ptr is not None:
        missing_offsets = missing_ptr
        if missing_offsets.shape[0] != qptr.shape[0]:
            raise ValueError("expected missing_ptr to hold the offsets of every query in missing")
        missing = &missing_offsets[0]
    return _longest(qptr, missing, 0, qptr.shape[0] - 1)


def rank_into(const real_t[::1] scores not None, const int64_t[::1] qptr not None, Py_ssize_t first, Py_ssize_t last,
              int level, int32_t[::1] order not None):
    """`order[query] = np.argsort(-scores[query], kind="stable")`; scores are finite."""
    cdef Py_ssize_t n_queries = qptr.shape[0] - 1
    if not (0 <= first <= last <= n_queries and qptr[0] == 0 and qptr[n_queries] == scores.shape[0]
            and order.shape[0] == scores.shape[0]):
        raise ValueError("expected qptr to cover scores and order, and queries within it")
    if scores.shape[0] == 0:
        return
    cdef Py_ssize_t longest = _longest(qptr, NULL, first, last)
    cdef Memory work = Memory(fr_metrics_workspace(longest))
    with nogil:
        if real_t is float:
            fr_metrics_f32(level).rank(&scores[0], &qptr[0], first, last, longest, work.start, &order[0])
        else:
            fr_metrics_f64(level).rank(&scores[0], &qptr[0], first, last, longest, work.start, &order[0])


cdef size_t measure_workspace(Py_ssize_t longest) noexcept nogil:
    return fr_metrics_workspace(longest)


cdef void rank_query(const double *scores, Py_ssize_t n, int level, void *work, int32_t *order) noexcept nogil:
    cdef int64_t[2] qptr
    qptr[0], qptr[1] = 0, n
    fr_metrics_f64(level).rank(scores, qptr, 0, 1, n, work, order)
