/* Losses of one query in score space: the value, and its derivative by each score.
 *
 * The documents of a query are n scores; by_grade lists their positions by grade, highest first, and level_end where
 * each of the n_levels grades ends in that list (fr_plan.h). Arrays per document are in row order, as the scores are.
 * row_weight may be NULL: all ones. It multiplies the terms in which the document is the one that should stand higher.
 */
#ifndef FR_LOSSES_H
#define FR_LOSSES_H

#include "fr_cpu.h"

/* SLAM (Chaudhuri & Tewari 2014, Eq. 3; 2017, Eq. 8): sum_i v_i max(0, margin + max{s_j : R_j < R_i} - s_i).
 * Subgradient: every i with a positive term gives -v_i to itself and +v_i to the maximiser, which is the one of lowest
 * grade, then lowest position. One sweep over the grades, lowest first: O(n). */
double fr_slam(const double *scores, ptrdiff_t n, const int32_t *by_grade, const int32_t *level_end,
               ptrdiff_t n_levels, const double *weights, double margin, double *gradient);

/* The largest pair (Chaudhuri & Tewari 2017, Eq. 26): max(0, max{a_i (margin + s_j - s_i) : R_i > R_j}). O(n).
 * Of equal pairs, the first one met by the sweep over the grades, lowest first, then by position. */
double fr_max_pair(const double *scores, ptrdiff_t n, const int32_t *by_grade, const int32_t *level_end,
                   ptrdiff_t n_levels, const double *row_weight, double margin, double *gradient);

/* All pairs: sum over R_i > R_j of a_i max(0, margin + s_j - s_i); without weights the gradient is exact integers.
 *   order  - positions by score, highest first
 *   work   - workspace, 5 n + 8 doubles
 * O(n log n_levels), O(n) for up to 8 grades: two sweeps over the order that count documents per grade. */
double fr_ranksvm(const double *scores, ptrdiff_t n, const int32_t *by_grade, const int32_t *level_end,
                  ptrdiff_t n_levels, const double *row_weight, double margin, const int32_t *order, double *work,
                  double *gradient);

/* 1/2 sum a_i (s_i - gains_i)^2. */
double fr_squared_gain(const double *scores, ptrdiff_t n, const double *gains, const double *row_weight,
                       double *gradient);

/* Dispatched by CPU level.
 * listnet: -sum_j targets_j ln P_j(s), P(s) = softmax; gradient (sum targets) P(s) - targets. One exp per document.
 * softmax: out = P(values). */
typedef struct {
    double (*listnet)(const double *scores, ptrdiff_t n, const double *targets, double *gradient);
    void (*softmax)(const double *values, ptrdiff_t n, double *out);
} fr_losses_t;

const fr_losses_t *fr_losses(int level);

#endif
