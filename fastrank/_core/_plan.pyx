"""The query plan's kernels: what depends on grades alone. Queries first..last-1 of the data set at each call."""

from libc.stdint cimport int32_t, int64_t

from fastrank._core._csrc cimport (
    FR_SLAM_AP2017,
    FR_SLAM_AP_SYM,
    FR_SLAM_MAP2014,
    FR_SLAM_NDCG2014,
    FR_SLAM_NDCG2017,
    fr_plan_by_grade,
    fr_plan_count_levels,
    fr_plan_discounts,
    fr_plan_gains,
    fr_plan_ideal_dcg,
    fr_plan_slam_weights,
)

SLAM_KINDS = {
    "ap2017": FR_SLAM_AP2017,
    "map2014": FR_SLAM_MAP2014,
    "ap_sym": FR_SLAM_AP_SYM,
    "ndcg2014": FR_SLAM_NDCG2014,
    "ndcg2017": FR_SLAM_NDCG2017,
}


def discounts_into(double[::1] discounts not None):
    """`discounts[:] = 1 / np.log2(np.arange(2, n + 2))`, with the same bits on every machine."""
    if discounts.shape[0] > 0:
        with nogil:
            fr_plan_discounts(discounts.shape[0], &discounts[0])


def gains_into(const double[::1] grades not None, double[::1] gains not None):
    """`gains[:] = np.exp2(grades) - 1`, with the same bits on every machine."""
    if grades.shape[0] > 0:
        with nogil:
            fr_plan_gains(&grades[0], grades.shape[0], &gains[0])


def count_levels_into(const int32_t[::1] level not None, const int64_t[::1] qptr not None, Py_ssize_t first,
                      Py_ssize_t last, int32_t[::1] seen not None, int64_t[::1] n_query_levels not None):
    """`n_query_levels[q] = len(np.unique(level[qptr[q]:qptr[q + 1]]))`; seen (all levels) is zeroed workspace."""
    if level.shape[0] == 0 or last <= first:
        return
    with nogil:
        fr_plan_count_levels(&level[0], &qptr[0], first, last, &seen[0], &n_query_levels[0])


def by_grade_into(const int32_t[::1] level not None, const int64_t[::1] qptr not None, Py_ssize_t first,
                  Py_ssize_t last, const int64_t[::1] level_ptr not None, int32_t[::1] counts not None,
                  int32_t[::1] by_grade not None, int32_t[::1] level_end not None, int32_t[::1] level_of not None):
    """`by_grade[query] = np.argsort(-level[query], kind="stable")` and the ends of its runs of equal levels."""
    if level.shape[0] == 0 or last <= first:
        return
    with nogil:
        fr_plan_by_grade(&level[0], &qptr[0], first, last, <int32_t>counts.shape[0], &level_ptr[0], &counts[0],
                         &by_grade[0], &level_end[0], &level_of[0])


def ideal_dcg_into(const int64_t[::1] qptr not None, Py_ssize_t first, Py_ssize_t last,
                   const int64_t[::1] level_ptr not None, const int32_t[::1] level_end not None,
                   const int32_t[::1] level_of not None, const double[::1] level_gain not None,
                   const double[::1] discounts not None, int64_t k, double[::1] ideal not None):
    """`ideal[q] = (np.sort(gain[query])[::-1] * discounts)[:k].sum()`."""
    if last <= first or level_end.shape[0] == 0:
        return
    with nogil:
        fr_plan_ideal_dcg(&qptr[0], first, last, &level_ptr[0], &level_end[0], &level_of[0], &level_gain[0],
                          &discounts[0], k, &ideal[0])


def slam_weights_into(const int64_t[::1] qptr not None, Py_ssize_t first, Py_ssize_t last,
                      const int32_t[::1] by_grade not None, const int64_t[::1] level_ptr not None,
                      const int32_t[::1] level_end not None, const int32_t[::1] level_of not None,
                      const double[::1] level_gain not None, const double[::1] discounts not None,
                      const int64_t[::1] n_relevant not None, const double[::1] ideal not None, int kind, int64_t k,
                      bint class_average, double[::1] place_weight not None, double[::1] weights not None):
    """SLAM weights of each document; see fr_plan.h. place_weight (longest query) is workspace."""
    if last <= first or by_grade.shape[0] == 0:
        return
    with nogil:
        fr_plan_slam_weights(&qptr[0], first, last, &by_grade[0], &level_ptr[0], &level_end[0], &level_of[0],
                             &level_gain[0], &discounts[0], &n_relevant[0], &ideal[0], kind, k, class_average,
                             &place_weight[0], &weights[0])
