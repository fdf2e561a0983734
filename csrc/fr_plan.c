#include "fr_plan.h"

#include <math.h>

/* A double-double number: an unevaluated sum with about 32 digits. Plain IEEE operations, no contraction. */
typedef struct {
    double high, low;
} pair_t;

static pair_t pair_sum(double a, double b)
{
    const double sum = a + b, shadow = sum - a;
    return (pair_t){sum, (a - (sum - shadow)) + (b - shadow)};
}

static pair_t pair_add(pair_t a, pair_t b)
{
    const pair_t high = pair_sum(a.high, b.high);
    return pair_sum(high.high, high.low + (a.low + b.low));
}

/* Exact product by splitting each factor into halves of 26 bits. */
static pair_t pair_product(double a, double b)
{
    const double split = 134217729.0; /* 2^27 + 1 */
    const double ta = split * a, a1 = ta - (ta - a), a2 = a - a1;
    const double tb = split * b, b1 = tb - (tb - b), b2 = b - b1;
    const double product = a * b;
    return (pair_t){product, ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2};
}

static pair_t pair_multiply(pair_t a, pair_t b)
{
    const pair_t high = pair_product(a.high, b.high);
    return pair_sum(high.high, high.low + (a.high * b.low + a.low * b.high));
}

static pair_t pair_divide(pair_t a, pair_t b)
{
    const double first = a.high / b.high;
    pair_t rest = pair_multiply(b, (pair_t){first, 0.0});
    rest = pair_add(a, (pair_t){-rest.high, -rest.low});
    const double second = rest.high / b.high;
    rest = pair_add(rest, (pair_t){-second * b.high, -second * b.low});
    return pair_add(pair_sum(first, second), (pair_t){rest.high / b.high, 0.0});
}

/* 2 atanh(1/(2n + 1)) = ln((n + 1)/n), by its series in 1/(2n + 1)^2. */
static pair_t log_step(double n)
{
    const pair_t x = pair_divide((pair_t){1.0, 0.0}, (pair_t){2.0 * n + 1.0, 0.0});
    const pair_t square = pair_multiply(x, x);
    pair_t power = x, sum = x;
    for (double odd = 3.0; power.high > sum.high * 1e-33; odd += 2.0) {
        power = pair_multiply(power, square);
        sum = pair_add(sum, pair_divide(power, (pair_t){odd, 0.0}));
    }
    return (pair_t){2.0 * sum.high, 2.0 * sum.low};
}

void fr_plan_discounts(ptrdiff_t n, double *discounts)
{
    const pair_t log_two = log_step(1.0);
    pair_t log_rank = log_two; /* ln(2 + i) */
    for (ptrdiff_t i = 0; i < n; i++) {
        discounts[i] = pair_divide(log_two, log_rank).high;
        log_rank = pair_add(log_rank, log_step((double)i + 2.0));
    }
}

/* With k the integer part of r and x = (r - k) ln 2: 2^r - 1 = 2^k (e^x - 1) + (2^k - 1), e^x - 1 by its series. */
void fr_plan_gains(const double *grades, ptrdiff_t n, double *gains)
{
    const pair_t log_two = log_step(1.0);
    for (ptrdiff_t i = 0; i < n; i++) {
        const double whole = floor(grades[i]);
        const pair_t x = pair_multiply(log_two, (pair_t){grades[i] - whole, 0.0});
        pair_t term = x, sum = x;
        for (double k = 2.0; term.high > sum.high * 1e-34; k += 1.0) {
            term = pair_divide(pair_multiply(term, x), (pair_t){k, 0.0});
            sum = pair_add(sum, term);
        }
        const double power = ldexp(1.0, (int)whole);
        gains[i] = pair_add(pair_sum(power, -1.0), (pair_t){power * sum.high, power * sum.low}).high;
    }
}

void fr_plan_count_levels(const int32_t *FR_RESTRICT level, const int64_t *FR_RESTRICT qptr, ptrdiff_t first,
                          ptrdiff_t last, int32_t *FR_RESTRICT seen, int64_t *FR_RESTRICT n_query_levels)
{
    for (ptrdiff_t q = first; q < last; q++) {
        int64_t n = 0;
        for (int64_t row = qptr[q]; row < qptr[q + 1]; row++) {
            n += !seen[level[row]];
            seen[level[row]] = 1;
        }
        for (int64_t row = qptr[q]; row < qptr[q + 1]; row++)
            seen[level[row]] = 0;
        n_query_levels[q] = n;
    }
}

void fr_plan_by_grade(const int32_t *FR_RESTRICT level, const int64_t *FR_RESTRICT qptr, ptrdiff_t first,
                      ptrdiff_t last, int32_t n_levels, const int64_t *FR_RESTRICT level_ptr,
                      int32_t *FR_RESTRICT counts, int32_t *FR_RESTRICT by_grade, int32_t *FR_RESTRICT level_end,
                      int32_t *FR_RESTRICT level_of)
{
    for (ptrdiff_t q = first; q < last; q++) {
        const int32_t *const query_level = level + qptr[q];
        const int32_t m = (int32_t)(qptr[q + 1] - qptr[q]);
        int32_t *const order = by_grade + qptr[q];
        for (int32_t i = 0; i < m; i++)
            counts[query_level[i]]++;
        int32_t place = 0;
        int64_t entry = level_ptr[q];
        for (int32_t l = n_levels - 1; l >= 0; l--) {
            if (counts[l] == 0)
                continue;
            const int32_t n = counts[l];
            counts[l] = place; /* from here on: the next free place of this level */
            place += n;
            level_end[entry] = place;
            level_of[entry++] = l;
        }
        for (int32_t i = 0; i < m; i++)
            order[counts[query_level[i]]++] = i;
        for (int32_t i = 0; i < m; i++)
            counts[query_level[i]] = 0;
    }
}

void fr_plan_ideal_dcg(const int64_t *FR_RESTRICT qptr, ptrdiff_t first, ptrdiff_t last,
                       const int64_t *FR_RESTRICT level_ptr, const int32_t *FR_RESTRICT level_end,
                       const int32_t *FR_RESTRICT level_of, const double *FR_RESTRICT level_gain,
                       const double *FR_RESTRICT discounts, int64_t k, double *FR_RESTRICT ideal)
{
    for (ptrdiff_t q = first; q < last; q++) {
        const int64_t m = qptr[q + 1] - qptr[q];
        const int64_t cut = k < m ? k : m;
        double sum = 0.0;
        int64_t place = 0;
        for (int64_t entry = level_ptr[q]; entry < level_ptr[q + 1] && place < cut; entry++)
            for (; place < level_end[entry] && place < cut; place++)
                sum += level_gain[level_of[entry]] * discounts[place];
        ideal[q] = sum;
    }
}

/* 1 - AP of the worst order: (1/r) sum over i = 1..r of (m - r)/(m - r + i). */
static double worst_ap_loss(int64_t m, int64_t r)
{
    double sum = 0.0;
    for (int64_t i = 1; i <= r; i++)
        sum += (double)(m - r) / (double)(m - r + i);
    return sum / (double)r;
}

void fr_plan_slam_weights(const int64_t *FR_RESTRICT qptr, ptrdiff_t first, ptrdiff_t last,
                          const int32_t *FR_RESTRICT by_grade, const int64_t *FR_RESTRICT level_ptr,
                          const int32_t *FR_RESTRICT level_end, const int32_t *FR_RESTRICT level_of,
                          const double *FR_RESTRICT level_gain, const double *FR_RESTRICT discounts,
                          const int64_t *FR_RESTRICT n_relevant, const double *FR_RESTRICT ideal, int kind, int64_t k,
                          int class_average, double *FR_RESTRICT place_weight, double *FR_RESTRICT weights)
{
    for (ptrdiff_t q = first; q < last; q++) {
        const int64_t m = qptr[q + 1] - qptr[q], r = n_relevant[q];
        const int64_t entry_end = level_ptr[q + 1];
        if (m == 0)
            continue;
        for (int64_t place = 0; place < m; place++)
            place_weight[place] = 0.0;
        if (kind == FR_SLAM_NDCG2014 || kind == FR_SLAM_NDCG2017) {
            const double least_gain = kind == FR_SLAM_NDCG2014 ? level_gain[level_of[entry_end - 1]] : 0.0;
            const double least_discount = kind == FR_SLAM_NDCG2014 ? discounts[m - 1] : 0.0;
            const int64_t cut = kind == FR_SLAM_NDCG2017 && k < m ? k : m;
            int64_t place = 0;
            for (int64_t entry = level_ptr[q]; ideal[q] > 0.0 && entry < entry_end; entry++)
                for (; place < level_end[entry] && place < cut; place++)
                    place_weight[place] = (level_gain[level_of[entry]] - least_gain)
                                          * (discounts[place] - least_discount) / ideal[q];
        } else if (r > 0) {
            const double equal = kind == FR_SLAM_AP2017 ? 1.0 / (double)r
                                 : kind == FR_SLAM_AP_SYM ? worst_ap_loss(m, r) / (double)r : 0.0;
            for (int64_t place = 0; place < r; place++)
                place_weight[place] = kind == FR_SLAM_MAP2014
                                          ? (double)(m - r) / ((double)r * (double)(m - r + place + 1)) : equal;
        }
        if (class_average) {
            int64_t start = 0;
            for (int64_t entry = level_ptr[q]; entry < entry_end; entry++) {
                double sum = 0.0;
                for (int64_t place = start; place < level_end[entry]; place++)
                    sum += place_weight[place];
                sum /= (double)(level_end[entry] - start);
                for (int64_t place = start; place < level_end[entry]; place++)
                    place_weight[place] = sum;
                start = level_end[entry];
            }
        }
        for (int64_t place = 0; place < m; place++)
            weights[qptr[q] + by_grade[qptr[q] + place]] = place_weight[place];
    }
}
