/* The query plan: what depends on grades alone. Documents of a query are listed by grade, highest first, and by
 * position inside a grade; "place" is a 0-based position in that list.
 */
#ifndef FR_PLAN_H
#define FR_PLAN_H

#include "fr_base.h"

/* discounts[i] = 1 / log2(2 + i), i = 0..n-1, the discount of rank i + 1: rounded from about 30 digits, so that it
 * is the same on every machine (the log2 of C libraries is not). O(n). */
void fr_plan_discounts(ptrdiff_t n, double *discounts);

/* gains[i] = 2^grades[i] - 1 for grades of 0 to 1000, rounded in the same way: exact for integers, and the same on
 * every machine for the rest. */
void fr_plan_gains(const double *grades, ptrdiff_t n, double *gains);

/* How many different levels each query has.
 *   level (qptr[n_queries]) - grade of each row as a number 0..n_levels-1, larger is better
 *   seen (n_levels)         - workspace, zeroed; left zeroed
 *   n_query_levels          - out */
void fr_plan_count_levels(const int32_t *FR_RESTRICT level, const int64_t *FR_RESTRICT qptr, ptrdiff_t first,
                          ptrdiff_t last, int32_t *FR_RESTRICT seen, int64_t *FR_RESTRICT n_query_levels);

/* Counting sort of each query by level, highest first, stable.
 *   counts (n_levels + 1) - workspace, zeroed; left zeroed
 *   by_grade (rows)       - out: position inside the query of the document at each place
 *   level_ptr             - offsets of each query in the two arrays below, from fr_plan_count_levels
 *   level_end, level_of   - out: per query and level present, the place after its last document, and the level
 * O(m + n_levels) per query. */
void fr_plan_by_grade(const int32_t *FR_RESTRICT level, const int64_t *FR_RESTRICT qptr, ptrdiff_t first,
                      ptrdiff_t last, int32_t n_levels, const int64_t *FR_RESTRICT level_ptr,
                      int32_t *FR_RESTRICT counts, int32_t *FR_RESTRICT by_grade, int32_t *FR_RESTRICT level_end,
                      int32_t *FR_RESTRICT level_of);

/* Ideal DCG of each query at cutoff k: Z_k = sum over places p < min(k, m) of gain * discounts[p]. */
void fr_plan_ideal_dcg(const int64_t *FR_RESTRICT qptr, ptrdiff_t first, ptrdiff_t last,
                       const int64_t *FR_RESTRICT level_ptr, const int32_t *FR_RESTRICT level_end,
                       const int32_t *FR_RESTRICT level_of, const double *FR_RESTRICT level_gain,
                       const double *FR_RESTRICT discounts, int64_t k, double *FR_RESTRICT ideal);

/* SLAM weights (Chaudhuri & Tewari 2014, 2017), as the names of fastrank's Python interface. */
enum { FR_SLAM_AP2017 = 0, FR_SLAM_MAP2014, FR_SLAM_AP_SYM, FR_SLAM_NDCG2014, FR_SLAM_NDCG2017 };

/* The weight of each document, in row order.
 *   n_relevant (n_queries) - documents with a grade above zero
 *   ideal (n_queries)      - ideal DCG at cutoff k (NDCG kinds)
 *   k                      - cutoff of FR_SLAM_NDCG2017; the other kinds take the whole list
 *   class_average          - replace weights by their mean inside each grade
 *   place_weight (longest) - workspace
 *   weights (rows)         - out; all zero where the measure is undefined */
void fr_plan_slam_weights(const int64_t *FR_RESTRICT qptr, ptrdiff_t first, ptrdiff_t last,
                          const int32_t *FR_RESTRICT by_grade, const int64_t *FR_RESTRICT level_ptr,
                          const int32_t *FR_RESTRICT level_end, const int32_t *FR_RESTRICT level_of,
                          const double *FR_RESTRICT level_gain, const double *FR_RESTRICT discounts,
                          const int64_t *FR_RESTRICT n_relevant, const double *FR_RESTRICT ideal, int kind, int64_t k,
                          int class_average, double *FR_RESTRICT place_weight, double *FR_RESTRICT weights);

#endif
