/* Sorting 64-bit keys: the heart of every measure. Dispatched by CPU level.
 *
 * (a) Keys are signed integers in ascending order. Callers pack a score's bits above a code or an index, so that one
 *     sort of plain integers orders documents.
 * (b) Up to 128 keys (16 vectors) are sorted in registers by bitonic networks; longer lists are cut by a vectorised
 *     quicksort first. The baseline is a merge sort, which is also the way out when pivots are bad: O(n log n) always.
 * (c) Keys that are equal are the same, so every level gives the same result.
 */
#ifndef FR_SORT_H
#define FR_SORT_H

#include "fr_cpu.h"

/* Entries behind the n keys, and behind the n of the workspace, that a vectorised sort may overwrite. */
enum { FR_SORT_PAD = 8 };

typedef struct {
    /* Ascending order of the first `depth` keys (the least ones); the others follow in any order.
     *   keys  - in and out, n entries
     *   work  - workspace, n + FR_SORT_PAD entries
     * depth <= n. Cost: O(n log n) at most, O(n + depth log depth) on average. */
    void (*sort)(int64_t *keys, ptrdiff_t n, ptrdiff_t depth, int64_t *work);
} fr_sort_t;

const fr_sort_t *fr_sort(int level);

#endif
