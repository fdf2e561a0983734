"""Every C declaration of csrc that the kernels use, in one place."""

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

ctypedef fused real_t:
    float
    double


cdef extern from "fr_cpu.h" nogil:
    enum:
        FR_CPU_BASELINE
        FR_CPU_V3
        FR_CPU_V4
    int fr_cpu_best()
    const char *fr_cpu_compiler()


cdef extern from "fr_columns.h" nogil:
    ctypedef struct fr_columns_f32_t:
        int (*nonfinite)(const float *x, ptrdiff_t n, int allow_nan) noexcept nogil
        void (*range)(const float *x, ptrdiff_t n_rows, ptrdiff_t n_columns, double *low, double *high) noexcept nogil
        void (*sums)(const float *x, ptrdiff_t n_rows, ptrdiff_t n_columns, const double *center, double *count,
                     double *sum, double *absolute, double *square) noexcept nogil
        void (*scale)(const float *x, ptrdiff_t n_rows, ptrdiff_t n_columns, const double *offset,
                      const double *divisor, float *out) noexcept nogil
    ctypedef struct fr_columns_f64_t:
        int (*nonfinite)(const double *x, ptrdiff_t n, int allow_nan) noexcept nogil
        void (*range)(const double *x, ptrdiff_t n_rows, ptrdiff_t n_columns, double *low, double *high) noexcept nogil
        void (*sums)(const double *x, ptrdiff_t n_rows, ptrdiff_t n_columns, const double *center, double *count,
                     double *sum, double *absolute, double *square) noexcept nogil
        void (*scale)(const double *x, ptrdiff_t n_rows, ptrdiff_t n_columns, const double *offset,
                      const double *divisor, double *out) noexcept nogil
    enum:
        FR_SCALE_MINMAX
        FR_SCALE_ZSCORE
        FR_SCALE_SUM
    ptrdiff_t fr_columns_offsets(int method, ptrdiff_t n_columns, const double *low, const double *high,
                                 const double *mean, const double *count, const double *absolute,
                                 const double *square, double *offset, double *divisor)
    const fr_columns_f32_t *fr_columns_f32(int level)
    const fr_columns_f64_t *fr_columns_f64(int level)


cdef extern from "fr_group.h" nogil:
    int32_t fr_group_direct(const int64_t *keys, ptrdiff_t n, int64_t least, int32_t *table, int32_t *codes)
    ptrdiff_t fr_group_hashed(const int64_t *keys, ptrdiff_t n, ptrdiff_t start, int64_t capacity,
                              int64_t *slot_keys, int32_t *slot_codes, int32_t *n_codes, int32_t *codes)
    void fr_group_rehash(const int64_t *old_keys, const int32_t *old_codes, int64_t old_capacity, int64_t capacity,
                         int64_t *slot_keys, int32_t *slot_codes)
    int fr_group_is_grouped(const int32_t *codes, ptrdiff_t n)
    void fr_group_order(const int32_t *codes, ptrdiff_t n, int64_t *next, int64_t *order)


cdef extern from "fr_number.h" nogil:
    enum:
        FR_NUMBER_OK
        FR_NUMBER_HARD
        FR_POW5_MIN
        FR_POW5_MAX
        FR_POW5_WORDS
        FR_TEXT_PAD
    int fr_number_parse(const char **text, const uint64_t *pow5, double *value)
    int fr_number_format(double value, int single, int decimals, char *out)


cdef extern from "fr_letor.h" nogil:
    enum:
        FR_LETOR_OK
        FR_LETOR_HARD
        FR_LETOR_WIDE
        FR_LETOR_BAD_GRADE
        FR_LETOR_NEGATIVE_GRADE
        FR_LETOR_INFINITE_GRADE
        FR_LETOR_NO_QID
        FR_LETOR_EMPTY_QID
        FR_LETOR_LATE_QID
        FR_LETOR_BAD_TOKEN
        FR_LETOR_BAD_INDEX
        FR_LETOR_UNORDERED
        FR_LETOR_DUPLICATE
        FR_LETOR_BAD_NUMBER
        FR_LETOR_MISSING
        FR_LETOR_INFINITE
        FR_LETOR_NOT_UTF8
        FR_LETOR_NO_COMMENTS
        FR_LETOR_DOCIDS
        FR_LETOR_COMMENTS
    ctypedef struct fr_letor_t:
        const char *text
        int64_t size
        const uint64_t *pow5
        int32_t index_base
        int32_t with_qid
        int32_t fixed_columns
        int32_t allow_missing
        int32_t comments
        double missing
        int64_t n_columns
        void *values
        int32_t *columns
        int64_t *row_end
        double *grades
        int64_t *qid_row
        int64_t *qid_line
        int64_t *qid_at
        int64_t *qid_size
        char *comment_bytes
        int64_t *comment_end
        int64_t position
        int64_t line
        int64_t row
        int64_t n_runs
        int64_t n_entries
        int64_t n_comment_bytes
        int64_t last_index
        int64_t max_index
        int32_t in_row
        int32_t is_wide
        int64_t at
        int64_t end
    void fr_letor_count(const char *text, int64_t size, int64_t *lines, int64_t *rows)
    int fr_letor_parse_dense_f32(fr_letor_t *block)
    int fr_letor_parse_dense_f64(fr_letor_t *block)
    int fr_letor_parse_sparse_f32(fr_letor_t *block)
    int fr_letor_parse_sparse_f64(fr_letor_t *block)
    void fr_letor_supply_dense_f32(fr_letor_t *block, double value)
    void fr_letor_supply_dense_f64(fr_letor_t *block, double value)
    void fr_letor_supply_sparse_f32(fr_letor_t *block, double value)
    void fr_letor_supply_sparse_f64(fr_letor_t *block, double value)


cdef extern from "fr_plan.h" nogil:
    enum:
        FR_SLAM_AP2017
        FR_SLAM_MAP2014
        FR_SLAM_AP_SYM
        FR_SLAM_NDCG2014
        FR_SLAM_NDCG2017
    void fr_plan_discounts(ptrdiff_t n, double *discounts)
    void fr_plan_gains(const double *grades, ptrdiff_t n, double *gains)
    void fr_plan_count_levels(const int32_t *level, const int64_t *qptr, ptrdiff_t first, ptrdiff_t last,
                              int32_t *seen, int64_t *n_query_levels)
    void fr_plan_by_grade(const int32_t *level, const int64_t *qptr, ptrdiff_t first, ptrdiff_t last,
                          int32_t n_levels, const int64_t *level_ptr, int32_t *counts, int32_t *by_grade,
                          int32_t *level_end, int32_t *level_of)
    void fr_plan_ideal_dcg(const int64_t *qptr, ptrdiff_t first, ptrdiff_t last, const int64_t *level_ptr,
                           const int32_t *level_end, const int32_t *level_of, const double *level_gain,
                           const double *discounts, int64_t k, double *ideal)
    void fr_plan_slam_weights(const int64_t *qptr, ptrdiff_t first, ptrdiff_t last, const int32_t *by_grade,
                              const int64_t *level_ptr, const int32_t *level_end, const int32_t *level_of,
                              const double *level_gain, const double *discounts, const int64_t *n_relevant,
                              const double *ideal, int kind, int64_t k, int class_average, double *place_weight,
                              double *weights)


cdef extern from "fr_trec.h" nogil:
    enum:
        FR_TREC_OK
        FR_TREC_HARD
        FR_TREC_SHORT
        FR_TREC_LONG
        FR_TREC_CONTROL
        FR_TREC_BAD_SCORE
        FR_TREC_BAD_RELEVANCE
        FR_TREC_UNJUDGED
    ctypedef struct fr_trec_t:
        const char *text
        int64_t size
        const uint64_t *pow5
        int32_t is_run
        double *values
        uint32_t *hashes
        int64_t *id_end
        char *id_bytes
        int64_t *row_line
        int64_t *run_row
        int32_t *run_code
        int64_t *qid_at
        int64_t *qid_size
        uint32_t *qid_hash
        int32_t *slots
        int64_t n_slots
        int64_t position
        int64_t line
        int64_t row
        int64_t n_runs
        int64_t n_qids
        int64_t n_bytes
        int32_t not_ascii
        int32_t supplied
        double value
        int64_t at
        int64_t end
        int64_t tag_at
        int64_t tag_end
    ctypedef struct fr_trec_ids_t:
        const char *bytes
        const int64_t *offsets
        const uint32_t *hashes
        const int64_t *qptr
    int fr_trec_parse(fr_trec_t *block)
    void fr_trec_hash(const char *bytes, const int64_t *offsets, ptrdiff_t n, uint32_t *hashes)
    int64_t fr_trec_slots(const int64_t *qptr, ptrdiff_t first, ptrdiff_t last)
    int64_t fr_trec_duplicate(const fr_trec_ids_t *ids, ptrdiff_t first, ptrdiff_t last, int32_t *slots,
                              int64_t *earlier)
    void fr_trec_order_ties(const fr_trec_ids_t *ids, const double *scores, ptrdiff_t first, ptrdiff_t last,
                            int32_t *work, int32_t *order)
    void fr_trec_join(const fr_trec_ids_t *judged, const int32_t *relevance, const fr_trec_ids_t *ranked,
                      const int32_t *order, const int64_t *judged_query, const int64_t *ranked_query, ptrdiff_t first,
                      ptrdiff_t last, const int64_t *list_ptr, const int64_t *missing_ptr, int32_t *slots,
                      int32_t *grades, int32_t *missing)
    void fr_trec_gather(const char *bytes, const int64_t *offsets, const int64_t *rows, ptrdiff_t n,
                        int64_t *new_offsets, char *new_bytes)


cdef extern from "fr_metrics.h" nogil:
    enum:
        FR_DCG
        FR_NDCG
        FR_AP
        FR_RR
        FR_PRECISION
        FR_RECALL
        FR_SUCCESS
        FR_WTA
        FR_ERR
        FR_BPREF
        FR_RPREC
        FR_TAU
        FR_TIES_INDEX
        FR_TIES_WORST
        FR_TIES_BEST
        FR_TIES_MEAN
        FR_TIES_THRESHOLD
        FR_NORM_MIN
        FR_SHORT_ZERO
        FR_CODES_I32
        FR_CODES_I64
        FR_CODES_F64
    ctypedef struct fr_program_t:
        ptrdiff_t n_measures
        const int32_t *kinds
        const int64_t *cuts
        const int32_t *flags
        const double *fills
        const double *gains
        const double *stops
        int32_t n_codes
        int32_t first_judged
        int32_t first_relevant
        const double *discounts
        int ties
        int32_t *by_gain
        int32_t *gain_place
        int64_t ndcg_depth
    ctypedef struct fr_batch_t:
        const void *scores
        const void *codes
        int code_type
        const int64_t *qptr
        ptrdiff_t first
        ptrdiff_t last
        const int32_t *missing
        const int64_t *missing_ptr
        int plain
        ptrdiff_t longest
        void *work
        double *out
        ptrdiff_t stride
        int64_t *n_empty
    ctypedef struct fr_metrics_t:
        ptrdiff_t (*run)(const fr_program_t *program, const fr_batch_t *batch) noexcept nogil
        void (*rank)(const void *scores, const int64_t *qptr, ptrdiff_t first, ptrdiff_t last, ptrdiff_t longest,
                     void *work, int32_t *order) noexcept nogil
    const fr_metrics_t *fr_metrics_f32(int level)
    const fr_metrics_t *fr_metrics_f64(int level)
    size_t fr_metrics_workspace(ptrdiff_t longest)
    void fr_program_prepare(fr_program_t *program, void *work)


cdef extern from "fr_base.h" nogil:
    void FR_PREFETCH(const void *address)


cdef extern from "fr_sort.h" nogil:
    enum:
        FR_SORT_PAD
    ctypedef struct fr_sort_t:
        void (*sort)(int64_t *keys, ptrdiff_t n, ptrdiff_t depth, int64_t *work) noexcept nogil
    const fr_sort_t *fr_sort(int level)


cdef extern from "fr_rows.h" nogil:
    ctypedef struct fr_matrix_t:
        const void *values
        const void *indices
        const void *indptr
        ptrdiff_t n_columns
    ctypedef struct fr_rows_t:
        void (*scores)(const fr_matrix_t *X, int64_t first, int64_t last, const double *w, double *out) noexcept nogil
        void (*add_transposed)(const fr_matrix_t *X, int64_t first, int64_t last, const double *g,
                               double *out) noexcept nogil
        double (*descend)(const fr_matrix_t *X, int64_t first, int64_t last, const double *g, double rate, double *z,
                          double *w) noexcept nogil
        double (*largest_square)(const fr_matrix_t *X, int64_t first, int64_t last) noexcept nogil
        void (*prefetch)(const fr_matrix_t *X, int64_t first, int64_t last) noexcept nogil
    const fr_rows_t *fr_rows_dense(int level, int is_double)
    const fr_rows_t *fr_rows_csr(int is_double, int is_wide)


cdef extern from "fr_losses.h" nogil:
    ctypedef struct fr_losses_t:
        double (*listnet)(const double *scores, ptrdiff_t n, const double *targets, double *gradient) noexcept nogil
        void (*softmax)(const double *values, ptrdiff_t n, double *out) noexcept nogil
    const fr_losses_t *fr_losses(int level)
    double fr_slam(const double *scores, ptrdiff_t n, const int32_t *by_grade, const int32_t *level_end,
                   ptrdiff_t n_levels, const double *weights, double margin, double *gradient)
    double fr_max_pair(const double *scores, ptrdiff_t n, const int32_t *by_grade, const int32_t *level_end,
                       ptrdiff_t n_levels, const double *row_weight, double margin, double *gradient)
    double fr_ranksvm(const double *scores, ptrdiff_t n, const int32_t *by_grade, const int32_t *level_end,
                      ptrdiff_t n_levels, const double *row_weight, double margin, const int32_t *order, double *work,
                      double *gradient)
    double fr_squared_gain(const double *scores, ptrdiff_t n, const double *gains, const double *row_weight,
                           double *gradient)
