#include "fr_blocks.h"

#include <math.h>
#include <string.h>

static ptrdiff_t block_end(const fr_ranking_t *ranking, ptrdiff_t block, ptrdiff_t start)
{
    return ranking->ends ? ranking->ends[block] : start + 1;
}

static int64_t relevant_in(const fr_ranking_t *ranking, ptrdiff_t start, ptrdiff_t end)
{
    int64_t count = 0;
    for (ptrdiff_t i = start; i < end; i++)
        count += ranking->codes[i] >= ranking->first_relevant;
    return count;
}

double fr_mean_dcg(const fr_ranking_t *ranking, int64_t k, const double *gains, const double *discounts)
{
    double lanes[8] = {0.0};
    for (ptrdiff_t start = 0, block = 0; start < ranking->n && start < k; block++) {
        const ptrdiff_t end = block_end(ranking, block, start), stop = end < k ? end : (ptrdiff_t)k;
        /* the mean as a distance from the first gain: gains that are all equal have exactly that mean */
        const double first = gains[ranking->codes[start]];
        double distance = 0.0;
        for (ptrdiff_t i = start; i < end; i++)
            distance += gains[ranking->codes[i]] - first;
        const double gain = first + distance / (double)(end - start);
        for (ptrdiff_t i = start; i < stop; i++)
            lanes[i & 7] += gain * discounts[i];
        start = end;
    }
    return fr_lanes_total(lanes);
}

double fr_mean_relevant(const fr_ranking_t *ranking, int64_t k)
{
    double count = 0.0;
    for (ptrdiff_t start = 0, block = 0; start < ranking->n && start < k; block++) {
        const ptrdiff_t end = block_end(ranking, block, start), stop = end < k ? end : (ptrdiff_t)k;
        const double relevant = (double)relevant_in(ranking, start, end);
        count += stop == end ? relevant : relevant * (double)(stop - start) / (double)(end - start);
        start = end;
    }
    return count;
}

/* Block of n documents, q relevant, after t documents of which `seen` are relevant: position t + a holds a relevant
 * one with chance q/n, and then (a - 1)(q - 1)/(n - 1) of those before it in the block are expected to be relevant. */
double fr_mean_ap(const fr_ranking_t *ranking, int64_t k, int threshold)
{
    double lanes[8] = {0.0};
    int64_t seen = 0;
    for (ptrdiff_t start = 0, block = 0; start < ranking->n && start < k; block++) {
        const ptrdiff_t end = block_end(ranking, block, start), stop = end < k ? end : (ptrdiff_t)k;
        const int64_t relevant = relevant_in(ranking, start, end);
        if (threshold) {
            const double precision = (double)(seen + relevant) / (double)end;
            /* one document at a time, so that a block of one is what it is without ties */
            for (int64_t i = 0; i < relevant && stop == end; i++)
                lanes[(end - 1) & 7] += precision;
        } else if (relevant > 0) {
            const double n = (double)(end - start), q = (double)relevant, chance = q / n;
            const double step = end - start > 1 ? (q - 1.0) / (n - 1.0) : 0.0;
            for (ptrdiff_t i = start; i < stop; i++)
                lanes[i & 7] += chance * (((double)(seen + 1) + (double)(i - start) * step) / (double)(i + 1));
        }
        seen += relevant;
        start = end;
    }
    return fr_lanes_total(lanes);
}

/* The first of q relevant among n is at place a with chance C(n - a, q - 1) / C(n, q). */
double fr_mean_rr(const fr_ranking_t *ranking, int64_t k)
{
    for (ptrdiff_t start = 0, block = 0; start < ranking->n && start < k; block++) {
        const ptrdiff_t end = block_end(ranking, block, start), stop = end < k ? end : (ptrdiff_t)k;
        const int64_t relevant = relevant_in(ranking, start, end);
        if (relevant > 0) {
            double value = 0.0, chance = (double)relevant / (double)(end - start);
            for (ptrdiff_t i = start; i < stop && chance > 0.0; i++) {
                value += chance / (double)(i + 1);
                chance *= (double)(end - i - 1 - (relevant - 1)) / (double)(end - i - 1 > 0 ? end - i - 1 : 1);
            }
            return value;
        }
        start = end;
    }
    return 0.0;
}

double fr_mean_success(const fr_ranking_t *ranking, int64_t k)
{
    for (ptrdiff_t start = 0, block = 0; start < ranking->n && start < k; block++) {
        const ptrdiff_t end = block_end(ranking, block, start), stop = end < k ? end : (ptrdiff_t)k;
        const int64_t relevant = relevant_in(ranking, start, end);
        if (relevant > 0) {
            double none = 1.0;
            for (ptrdiff_t i = start; i < stop && none > 0.0; i++)
                none *= (double)(end - i - relevant) / (double)(end - i);
            return none > 0.0 ? 1.0 - none : 1.0;
        }
        start = end;
    }
    return 0.0;
}

double fr_mean_wta(const fr_ranking_t *ranking, int32_t top)
{
    const ptrdiff_t end = block_end(ranking, 0, 0);
    int64_t count = 0;
    for (ptrdiff_t i = 0; i < end; i++)
        count += ranking->codes[i] == top;
    return (double)count / (double)end;
}

/* In a block, with E_j the expected product of (1 - stop) over j random documents of it, position a adds
 * (E_{a-1} - E_a) / (t + a). E_j after m documents: (m - j)/m E_j + j/m (1 - stop_m) E_{j-1}, all of them averages. */
double fr_err(const fr_ranking_t *ranking, int64_t k, const double *stops, double *chances)
{
    double value = 0.0, trust = 1.0;
    for (ptrdiff_t start = 0, block = 0; start < ranking->n && start < k; block++) {
        const ptrdiff_t end = block_end(ranking, block, start), stop = end < k ? end : (ptrdiff_t)k;
        if (end == start + 1) {
            const double x = stops[ranking->codes[start]];
            value += trust * x / (double)end;
            trust *= 1.0 - x;
        } else {
            const ptrdiff_t places = stop - start;
            chances[0] = 1.0;
            for (ptrdiff_t m = 1; m <= end - start; m++) {
                const double pass = 1.0 - stops[ranking->codes[start + m - 1]];
                for (ptrdiff_t j = m < places ? m : places; j > 0; j--) {
                    const double share = (double)j / (double)m, without = j < m ? (1.0 - share) * chances[j] : 0.0;
                    chances[j] = without + share * pass * chances[j - 1];
                }
            }
            double sum = 0.0;
            for (ptrdiff_t a = 1; a <= places; a++)
                sum += (chances[a - 1] - chances[a]) / (double)(start + a);
            value += trust * sum;
            trust *= chances[places];
        }
        if (trust < value * 0x1p-64) /* all that could follow is less than half a unit in the last place */
            break;
        start = end;
    }
    return value;
}

/* A relevant document of a block with u judged nonrelevant ones has 0, 1, ..., u of them above it, equally likely. */
double fr_bpref(const fr_ranking_t *ranking)
{
    const int64_t cap = ranking->n_relevant;
    const double least = (double)(ranking->n_nonrelevant < cap ? ranking->n_nonrelevant : cap);
    int64_t above = 0;
    double sum = 0.0;
    for (ptrdiff_t start = 0, block = 0; start < ranking->n; block++) {
        const ptrdiff_t end = block_end(ranking, block, start);
        int64_t relevant = 0, nonrelevant = 0;
        for (ptrdiff_t i = start; i < end; i++) {
            relevant += ranking->codes[i] >= ranking->first_relevant;
            nonrelevant += ranking->codes[i] >= ranking->first_judged && ranking->codes[i] < ranking->first_relevant;
        }
        if (relevant > 0) {
            double penalty = 0.0;
            if (least > 0.0) {
                for (int64_t j = 0; j <= nonrelevant; j++)
                    penalty += (double)(above + j < cap ? above + j : cap);
                penalty = penalty / (double)(nonrelevant + 1) / least;
            }
            for (int64_t i = 0; i < relevant; i++)
                sum += 1.0 - penalty;
        }
        above += nonrelevant;
        start = end;
    }
    return sum / (double)ranking->n_relevant;
}

/* Pairs i < j with codes[i] < codes[j], by a merge sort from pairs upwards that leaves codes descending. */
static int64_t count_ascents(int32_t *codes, ptrdiff_t n, int32_t *work)
{
    int64_t count = 0;
    int32_t *from = codes, *to = work;
    for (ptrdiff_t width = 1; width < n; width *= 2) {
        for (ptrdiff_t first = 0; first < n; first += 2 * width) {
            const ptrdiff_t middle = n - first < width ? n : first + width;
            const ptrdiff_t last = n - first < 2 * width ? n : first + 2 * width;
            ptrdiff_t i = first, j = middle, out = first;
            while (i < middle && j < last) {
                const ptrdiff_t second = from[j] > from[i];
                to[out++] = second ? from[j] : from[i];
                count += second ? middle - i : 0;
                i += 1 - second;
                j += second;
            }
            memcpy(to + out, from + i, (size_t)(middle - i) * sizeof *to);
            memcpy(to + out + (middle - i), from + j, (size_t)(last - j) * sizeof *to);
        }
        int32_t *swap = from;
        from = to;
        to = swap;
    }
    if (from != codes)
        memcpy(codes, from, (size_t)n * sizeof *codes);
    return count;
}

/* Pairs inside runs of equal codes. */
static int64_t tied_pairs(const int32_t *codes, ptrdiff_t n)
{
    int64_t pairs = 0;
    for (ptrdiff_t start = 0; start < n;) {
        ptrdiff_t end = start + 1;
        while (end < n && codes[end] == codes[start])
            end++;
        pairs += (int64_t)(end - start) * (end - start - 1) / 2;
        start = end;
    }
    return pairs;
}

double fr_tau_b(const fr_ranking_t *ranking, int32_t *work)
{
    int32_t *judged = work;
    ptrdiff_t n = 0;
    int64_t score_ties = 0, both_ties = 0;
    for (ptrdiff_t start = 0, block = 0; start < ranking->n; block++) {
        const ptrdiff_t end = block_end(ranking, block, start), before = n;
        for (ptrdiff_t i = start; i < end; i++)
            if (ranking->codes[i] >= ranking->first_judged)
                judged[n++] = ranking->codes[i];
        score_ties += (int64_t)(n - before) * (n - before - 1) / 2;
        both_ties += tied_pairs(judged + before, n - before);
        start = end;
    }
    const int64_t pairs = (int64_t)n * (n - 1) / 2;
    const int64_t ascents = count_ascents(judged, n, work + ranking->n);
    const int64_t code_ties = tied_pairs(judged, n);
    const double product = (double)(pairs - score_ties) * (double)(pairs - code_ties);
    if (!(product > 0.0))
        return NAN;
    return (double)(pairs - score_ties - code_ties + both_ties - 2 * ascents) / sqrt(product);
}
