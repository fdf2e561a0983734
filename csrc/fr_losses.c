#include "fr_losses.h"

#include <math.h>
#include <string.h>

#include "fr_lanes.h"
#include "fr_math.h"

#define FR_SUFFIX base
#define FR_TARGET
#include "fr_losses.inc.h"
#if FR_HAS_LEVELS
#define FR_SUFFIX v3
#define FR_TARGET FR_TARGET_V3
#include "fr_losses.inc.h"
#define FR_SUFFIX v4
#define FR_TARGET FR_TARGET_V4
#include "fr_losses.inc.h"
#endif

const fr_losses_t *fr_losses(int level)
{
    return FR_CHOOSE(level, table_base, table_v3, table_v4);
}

static void set_zero(double *values, ptrdiff_t n)
{
    memset(values, 0, (size_t)n * sizeof *values);
}

/* The best document of the grades swept so far. */
typedef struct {
    double score;
    int32_t at;
} top_t;

static top_t raise_top(top_t top, const double *scores, const int32_t *by_grade, int32_t start, int32_t end)
{
    for (int32_t place = start; place < end; place++) {
        const int32_t i = by_grade[place];
        if (scores[i] > top.score) {
            top.score = scores[i];
            top.at = i;
        }
    }
    return top;
}

double fr_slam(const double *FR_RESTRICT scores, ptrdiff_t n, const int32_t *FR_RESTRICT by_grade,
               const int32_t *FR_RESTRICT level_end, ptrdiff_t n_levels, const double *FR_RESTRICT weights,
               double margin, double *FR_RESTRICT gradient)
{
    set_zero(gradient, n);
    if (n_levels < 2)
        return 0.0;
    double value = 0.0;
    top_t top = raise_top((top_t){-INFINITY, 0}, scores, by_grade, level_end[n_levels - 2], level_end[n_levels - 1]);
    for (ptrdiff_t level = n_levels - 2; level >= 0; level--) {
        const int32_t start = level > 0 ? level_end[level - 1] : 0, end = level_end[level];
        const double reach = margin + top.score;
        double active = 0.0;
        for (int32_t place = start; place < end; place++) {
            const int32_t i = by_grade[place];
            const double slack = reach - scores[i];
            const double v = slack > 0.0 ? weights[i] : 0.0;
            value += v * (slack > 0.0 ? slack : 0.0);
            active += v;
            gradient[i] = 0.0 - v;
        }
        gradient[top.at] += active;
        if (level > 0)
            top = raise_top(top, scores, by_grade, start, end);
    }
    return value;
}

double fr_max_pair(const double *FR_RESTRICT scores, ptrdiff_t n, const int32_t *FR_RESTRICT by_grade,
                   const int32_t *FR_RESTRICT level_end, ptrdiff_t n_levels, const double *FR_RESTRICT row_weight,
                   double margin, double *FR_RESTRICT gradient)
{
    set_zero(gradient, n);
    if (n_levels < 2)
        return 0.0;
    double value = 0.0;
    int32_t higher = -1, lower = -1;
    top_t top = raise_top((top_t){-INFINITY, 0}, scores, by_grade, level_end[n_levels - 2], level_end[n_levels - 1]);
    for (ptrdiff_t level = n_levels - 2; level >= 0; level--) {
        const int32_t start = level > 0 ? level_end[level - 1] : 0, end = level_end[level];
        const double reach = margin + top.score;
        for (int32_t place = start; place < end; place++) {
            const int32_t i = by_grade[place];
            const double slack = reach - scores[i];
            const double pair = row_weight == NULL ? slack : row_weight[i] * slack;
            if (pair > value) {
                value = pair;
                higher = i;
                lower = top.at;
            }
        }
        if (level > 0)
            top = raise_top(top, scores, by_grade, start, end);
    }
    if (higher >= 0) {
        const double weight = row_weight == NULL ? 1.0 : row_weight[higher];
        gradient[higher] = -weight;
        gradient[lower] = weight;
    }
    return value;
}

/* How much has been met of the grades above each grade, grade 0 being the highest. For up to 8 grades a table with one
 * entry each, which compilers add to as a vector; for more a binary indexed tree. */
enum { FEW_LEVELS = 8 };
static const double BELOW[FEW_LEVELS][FEW_LEVELS] = {
    {0, 1, 1, 1, 1, 1, 1, 1}, {0, 0, 1, 1, 1, 1, 1, 1}, {0, 0, 0, 1, 1, 1, 1, 1}, {0, 0, 0, 0, 1, 1, 1, 1},
    {0, 0, 0, 0, 0, 1, 1, 1}, {0, 0, 0, 0, 0, 0, 1, 1}, {0, 0, 0, 0, 0, 0, 0, 1}, {0, 0, 0, 0, 0, 0, 0, 0},
};

FR_INLINE void meet(double *met, ptrdiff_t n_levels, ptrdiff_t level, double amount, int few)
{
    if (few)
        for (int k = 0; k < FEW_LEVELS; k++)
            met[k] += BELOW[level][k] * amount;
    else
        for (ptrdiff_t node = level + 1; node <= n_levels; node += node & -node)
            met[node] += amount;
}

FR_INLINE double met_above(const double *met, ptrdiff_t level, int few)
{
    if (few)
        return met[level];
    double sum = 0.0;
    for (ptrdiff_t node = level; node > 0; node -= node & -node)
        sum += met[node];
    return sum;
}

/* Scores, grades and weights are by rank, the highest score first; so is the gradient. */
FR_INLINE double ranked_pairs(const double *scores, const int32_t *levels, const double *weights, ptrdiff_t n,
                              ptrdiff_t n_levels, double margin, int few, double *met, double *gradient)
{
    const ptrdiff_t lowest = n_levels - 1;
    double pairs = 0.0, value = 0.0;
    /* Down the ranks: how many documents of lower grade come within the margin of each. Grades are counted from the
     * lowest, so that "above" is "below". */
    set_zero(met, few ? FEW_LEVELS : n_levels + 1);
    for (ptrdiff_t rank = 0, next = 0; rank < n; rank++) {
        for (; next < n && margin + scores[next] > scores[rank]; next++)
            meet(met, n_levels, lowest - levels[next], 1.0, few);
        const double amount = weights[rank] * met_above(met, lowest - levels[rank], few);
        gradient[rank] = 0.0 - amount;
        pairs += amount;
    }
    /* Up the ranks: the weights of the documents of higher grade within the margin of each. */
    set_zero(met, few ? FEW_LEVELS : n_levels + 1);
    for (ptrdiff_t rank = n - 1, next = n - 1; rank >= 0; rank--) {
        const double reach = margin + scores[rank];
        for (; next >= 0 && reach > scores[next]; next--)
            meet(met, n_levels, levels[next], weights[next], few);
        gradient[rank] += met_above(met, levels[rank], few);
    }
    /* The gradient sums to 0, so that scores may be taken from any origin: the middle one keeps the terms small. */
    for (ptrdiff_t rank = 0; rank < n; rank++)
        value += (scores[rank] - scores[n / 2]) * gradient[rank];
    value += margin * pairs;
    return value < 0.0 ? 0.0 : value; /* rounding */
}

double fr_ranksvm(const double *FR_RESTRICT scores, ptrdiff_t n, const int32_t *FR_RESTRICT by_grade,
                  const int32_t *FR_RESTRICT level_end, ptrdiff_t n_levels, const double *FR_RESTRICT row_weight,
                  double margin, const int32_t *FR_RESTRICT order, double *FR_RESTRICT work,
                  double *FR_RESTRICT gradient)
{
    set_zero(gradient, n);
    if (n_levels < 2)
        return 0.0;
    double *const met = work, *const sorted = met + n_levels + FEW_LEVELS, *const weights = sorted + n;
    double *const slopes = weights + n;
    int32_t *const level_of = (int32_t *)(void *)(slopes + n), *const levels = level_of + n;
    for (ptrdiff_t level = 0, place = 0; level < n_levels; level++)
        for (; place < level_end[level]; place++)
            level_of[by_grade[place]] = (int32_t)level;
    for (ptrdiff_t rank = 0; rank < n; rank++) {
        sorted[rank] = scores[order[rank]];
        levels[rank] = level_of[order[rank]];
        weights[rank] = row_weight == NULL ? 1.0 : row_weight[order[rank]];
    }
    const double value = n_levels <= FEW_LEVELS
                             ? ranked_pairs(sorted, levels, weights, n, n_levels, margin, 1, met, slopes)
                             : ranked_pairs(sorted, levels, weights, n, n_levels, margin, 0, met, slopes);
    for (ptrdiff_t rank = 0; rank < n; rank++)
        gradient[order[rank]] = slopes[rank];
    return value;
}

double fr_squared_gain(const double *FR_RESTRICT scores, ptrdiff_t n, const double *FR_RESTRICT gains,
                       const double *FR_RESTRICT row_weight, double *FR_RESTRICT gradient)
{
    double lanes[FR_LANES] = {0.0};
    for (ptrdiff_t i = 0; i < n; i++) {
        const double gap = scores[i] - gains[i];
        gradient[i] = row_weight == NULL ? gap : row_weight[i] * gap;
        lanes[i % FR_LANES] += gradient[i] * gap;
    }
    return 0.5 * fr_lanes_total(lanes);
}
