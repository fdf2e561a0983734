/* TREC judgements (qrels: `qid iter docno rel`) and runs (`qid Q0 docno rank score tag`): lines to columns, and the join
 * of the two on the text of their document ids.
 *
 * (a) A row is one line. Columns are separated by blanks (space, tab, carriage return); ids are any other bytes.
 * (b) Ids lie end to end in one array of bytes; id i is bytes[offsets[i]] to bytes[offsets[i + 1] - 1]. Each has a hash,
 *     so that tables compare texts only where hashes are equal.
 * (c) Tables of ids are made per query, so that they are small: open addressing, a power of two of slots.
 */
#ifndef FR_TREC_H
#define FR_TREC_H

#include "fr_base.h"

enum {
    FR_TREC_OK = 0,
    FR_TREC_HARD,          /* a number that needs a slow exact converter: set `supplied` and `value` and call again */
    FR_TREC_SHORT,         /* the line ends before its last column */
    FR_TREC_LONG,          /* the line goes on behind its last column */
    FR_TREC_CONTROL,       /* a control character inside a column */
    FR_TREC_BAD_SCORE,     /* not a number */
    FR_TREC_BAD_RELEVANCE  /* not an integer above -2^31 and below 2^31 */
};

/* The grade of a document without judgement. */
#define FR_TREC_UNJUDGED INT32_MIN

/* A block of whole lines and where its columns go. Zero the struct, then set the first two groups. */
typedef struct {
    const char *text;       /* ends with a newline; FR_TEXT_PAD bytes behind it can be read */
    int64_t size;
    const uint64_t *pow5;   /* the table of fr_number.h */
    int32_t is_run;         /* 1: a run, 0: judgements */

    double *values;         /* per row: the score, or the relevance */
    uint32_t *hashes;       /* per row: of the document id */
    int64_t *id_end;        /* per row: where its id ends in id_bytes */
    char *id_bytes;         /* the document ids; 8 bytes longer than the text */
    int64_t *row_line;      /* per row: lines of the block before it; NULL where nobody asks */
    int64_t *run_row;       /* per run of equal query ids (at most one per row): its first row */
    int32_t *run_code;      /* per run: which of the distinct ids of the block it has */
    int64_t *qid_at;        /* per distinct query id of the block, in order of first appearance: place and size in text */
    int64_t *qid_size;
    uint32_t *qid_hash;
    int32_t *slots;         /* table of query ids, n_slots entries of -1 */
    int64_t n_slots;        /* a power of two, at least twice the rows */

    int64_t position;       /* where to go on: the start of a line */
    int64_t line;           /* lines, rows, runs, query ids and bytes of ids so far */
    int64_t row;
    int64_t n_runs;
    int64_t n_qids;
    int64_t n_bytes;
    int32_t not_ascii;      /* 1: some document id has bytes above 127 */
    int32_t supplied;       /* 1: `value` is the number that was FR_TREC_HARD */
    double value;
    int64_t at;             /* what a status is about: text[at] to text[end - 1]; nothing at the end of a line */
    int64_t end;
    int64_t tag_at;         /* the tag of the last row of a run */
    int64_t tag_end;
} fr_trec_t;

/* Parses on from block->position to the end of the block or to the first line that is not of the format.
 * Returns a status. Cost: one pass. */
int fr_trec_parse(fr_trec_t *block);

/* Columns of document ids, grouped by query: those of query q are ids qptr[q] to qptr[q + 1] - 1. */
typedef struct {
    const char *bytes;
    const int64_t *offsets;
    const uint32_t *hashes;
    const int64_t *qptr;
} fr_trec_ids_t;

/* The hash that fr_trec_parse gives, for ids from elsewhere. */
void fr_trec_hash(const char *bytes, const int64_t *offsets, ptrdiff_t n, uint32_t *hashes);

/* Slots of the table for the longest of the queries first..last-1. */
int64_t fr_trec_slots(const int64_t *qptr, ptrdiff_t first, ptrdiff_t last);

/* Looks for an id that a query has twice.
 *   first, last - queries to look at
 *   slots       - workspace, fr_trec_slots(qptr, first, last)
 *   earlier     - out: the first of the two
 * Returns the second, in the first query that has such ids and as early in it as there is one; -1 where there is none. */
int64_t fr_trec_duplicate(const fr_trec_ids_t *ids, ptrdiff_t first, ptrdiff_t last, int32_t *slots, int64_t *earlier);

/* Puts documents of equal score into descending order of their ids' bytes.
 *   scores - per row
 *   work   - workspace, as long as the longest query
 *   order  - in and out: positions inside each query by descending score */
void fr_trec_order_ties(const fr_trec_ids_t *ids, const double *scores, ptrdiff_t first, ptrdiff_t last, int32_t *work,
                        int32_t *order);

/* Grades of ranked documents, and of judged ones that were not retrieved.
 *   judged, relevance - the judgements; a negative relevance is none
 *   ranked, order     - the run, and positions inside each of its queries from the first rank on
 *   judged_query,     - per query of the result: the query there, -1 for none
 *   ranked_query
 *   first, last       - queries of the result
 *   list_ptr          - offsets of the result's lists, which may be shorter than those of the run
 *   missing_ptr       - offsets of as many places as a query has judgements
 *   slots             - workspace, enough for each of the judged queries
 *   grades            - out: per rank the relevance or FR_TREC_UNJUDGED
 *   missing           - out: per judgement its relevance, or FR_TREC_UNJUDGED where it is none or its document is listed
 * Cost: one probe per document. */
void fr_trec_join(const fr_trec_ids_t *judged, const int32_t *relevance, const fr_trec_ids_t *ranked,
                  const int32_t *order, const int64_t *judged_query, const int64_t *ranked_query, ptrdiff_t first,
                  ptrdiff_t last, const int64_t *list_ptr, const int64_t *missing_ptr, int32_t *slots, int32_t *grades,
                  int32_t *missing);

/* Copies the ids rows[0], rows[1], ... end to end.
 *   new_offsets - out, n + 1 entries
 *   new_bytes   - out, as long as these ids together */
void fr_trec_gather(const char *bytes, const int64_t *offsets, const int64_t *rows, ptrdiff_t n, int64_t *new_offsets,
                    char *new_bytes);

#endif
