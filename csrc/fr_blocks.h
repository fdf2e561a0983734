/* Measures of a ranking with tied blocks, and those without a fast path: plain C, one implementation.
 *
 * A ranking is a list of codes by position and the ends of its blocks of tied documents. The expected value under a
 * uniformly random order inside each block has a closed form for every measure. A block of one document adds exactly
 * what the same position adds to an untied ranking, bit for bit.
 */
#ifndef FR_BLOCKS_H
#define FR_BLOCKS_H

#include "fr_lanes.h"

typedef struct {
    const int32_t *codes; /* by position */
    const int32_t *ends;  /* of the blocks, ascending; NULL: every document is a block of its own */
    ptrdiff_t n;          /* positions that are filled */
    int32_t first_judged, first_relevant;
    int64_t n_relevant, n_nonrelevant; /* of the query, documents that are not in the list included */
} fr_ranking_t;

/* Expected values over the first k positions; ends must not be NULL. ap is the sum before normalisation; threshold != 0
 * takes the precision at the end of each block instead. */
double fr_mean_dcg(const fr_ranking_t *ranking, int64_t k, const double *gains, const double *discounts);
double fr_mean_relevant(const fr_ranking_t *ranking, int64_t k);
double fr_mean_ap(const fr_ranking_t *ranking, int64_t k, int threshold);
double fr_mean_rr(const fr_ranking_t *ranking, int64_t k);
double fr_mean_success(const fr_ranking_t *ranking, int64_t k);
double fr_mean_wta(const fr_ranking_t *ranking, int32_t top);

/* With or without blocks. err: chances has n + 1 entries of workspace. */
double fr_err(const fr_ranking_t *ranking, int64_t k, const double *stops, double *chances);
double fr_bpref(const fr_ranking_t *ranking);

/* Kendall's tau-b between scores and codes, of judged documents; NaN where it is not defined. Inside blocks codes must
 * be descending. work: 2 n entries. */
double fr_tau_b(const fr_ranking_t *ranking, int32_t *work);

#endif
