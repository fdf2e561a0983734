/* Ranking measures of ragged query lists: one ranking of each query for all measures. Dispatched by CPU level.
 *
 * (a) A document has a score and a code: a small integer that grows with its grade. Codes below first_judged are
 *     unjudged, codes from first_relevant on relevant; gains and stops are tables by code.
 * (b) Queries without tied scores, almost all in practice, take shortcuts: the code rides in the low bits of the sort
 *     key; only the first documents are selected where measures have cut-offs; the ranks of a few relevant documents
 *     are counted; lists of at most 8 are ranked eight queries at a time. Where scores tie (or differ only in bits that
 *     a code displaced), the query is ranked again by full keys and the rule for ties is applied.
 * (c) Sums over positions run in 8 lanes, position p in lane p mod 8, added up in one fixed tree. So all paths and all
 *     CPU levels return the same bits, and the ideal order divided by itself is 1.
 */
#ifndef FR_METRICS_H
#define FR_METRICS_H

#include "fr_sort.h"

enum {
    FR_DCG = 0,
    FR_NDCG,
    FR_AP,
    FR_RR,
    FR_PRECISION,
    FR_RECALL,
    FR_SUCCESS,
    FR_WTA,
    FR_ERR,
    FR_BPREF,
    FR_RPREC,
    FR_TAU
};
enum { FR_TIES_INDEX = 0, FR_TIES_WORST, FR_TIES_BEST, FR_TIES_MEAN, FR_TIES_THRESHOLD };
enum { FR_NORM_MIN = 1, FR_SHORT_ZERO = 2 };
enum { FR_CODES_I32 = 0, FR_CODES_I64, FR_CODES_F64 };

/* What to compute. fr_program_prepare fills in the second half. */
typedef struct {
    ptrdiff_t n_measures;
    const int32_t *kinds;
    const int64_t *cuts; /* 0: the whole list */
    const int32_t *flags;
    const double *fills; /* the value of a query for which the measure is not defined */
    const double *gains; /* by code, not negative */
    const double *stops; /* by code: ERR's chance that the document satisfies */
    int32_t n_codes, first_judged, first_relevant;
    const double *discounts; /* by 0-based position */
    int ties;

    int32_t *by_gain;    /* codes by gain, the largest first: n_codes entries, owned by the caller like the next */
    int32_t *gain_place; /* where by_gain has each code */
    int32_t n_gaining;   /* codes with a gain above 0: the first ones of by_gain */
    int32_t first_interesting; /* codes below neither gain nor are relevant */
    int monotone;              /* gains never decrease with the code */
    double few_gains[16];      /* gains of the codes below 15; the last is 0, for places without a document */
    int64_t ndcg_depth;        /* the largest cut of an NDCG */
    uint32_t kind_set;         /* bit per kind */
} fr_program_t;

/* One range of queries.
 *   scores       - float or double, finite; NULL: documents are in rank order
 *   codes        - integers of the type code_type in [0, n_codes)
 *   qptr         - offsets of the queries
 *   missing, missing_ptr - codes of judged documents that are not in the list, per query; NULL: none
 *   plain        - 1: rank every query by full keys and the baseline sort, no shortcuts
 *   work         - fr_metrics_workspace() bytes, aligned to 64
 *   out          - measure m of query q at out[m * stride + q]
 *   n_empty      - per measure, added to: queries that got the fill
 * Returns the first row whose score is not finite or whose code is no integer in range, or -1. */
typedef struct {
    const void *scores;
    const void *codes;
    int code_type;
    const int64_t *qptr;
    ptrdiff_t first, last;
    const int32_t *missing;
    const int64_t *missing_ptr;
    int plain;
    ptrdiff_t longest; /* list of the range, its missing documents included */
    void *work;
    double *out;
    ptrdiff_t stride;
    int64_t *n_empty;
} fr_batch_t;

typedef struct {
    ptrdiff_t (*run)(const fr_program_t *program, const fr_batch_t *batch);
    /* order: positions inside each query by score, highest first, equal scores in row order. Scores are finite. */
    void (*rank)(const void *scores, const int64_t *qptr, ptrdiff_t first, ptrdiff_t last, ptrdiff_t longest,
                 void *work, int32_t *order);
} fr_metrics_t;

const fr_metrics_t *fr_metrics_f32(int level);
const fr_metrics_t *fr_metrics_f64(int level);

/* Bytes of workspace for lists of at most `longest` documents, missing ones included. */
size_t fr_metrics_workspace(ptrdiff_t longest);

/* Fill in the derived fields; work as for a list of n_codes documents. */
void fr_program_prepare(fr_program_t *program, void *work);

#endif
