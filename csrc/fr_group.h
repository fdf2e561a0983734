/* Grouping rows by an integer key, without a sort: codes in order of first appearance, then a counting sort. */
#ifndef FR_GROUP_H
#define FR_GROUP_H

#include "fr_base.h"

/* Codes of keys from a small range: code[i] = how many distinct keys came before the first row with keys[i].
 *   keys, n  - the keys, all within [least, least + size of table)
 *   table    - workspace, filled with -1
 *   codes    - out
 * Returns the number of distinct keys. O(n). */
int32_t fr_group_direct(const int64_t *FR_RESTRICT keys, ptrdiff_t n, int64_t least, int32_t *FR_RESTRICT table,
                        int32_t *FR_RESTRICT codes);

/* The same for any keys, with an open-addressing hash table that the caller enlarges.
 *   capacity     - slots, a power of two
 *   slot_codes   - workspace, filled with -1 at the start; slot_keys: workspace
 *   start        - first row to code (rows before it are done)
 *   n_codes      - in and out: distinct keys so far
 * Returns the row it stopped at: n, or the row where the table is half full. */
ptrdiff_t fr_group_hashed(const int64_t *FR_RESTRICT keys, ptrdiff_t n, ptrdiff_t start, int64_t capacity,
                          int64_t *FR_RESTRICT slot_keys, int32_t *FR_RESTRICT slot_codes,
                          int32_t *FR_RESTRICT n_codes, int32_t *FR_RESTRICT codes);

/* Moves the entries of a table into a larger one (slot_codes filled with -1). */
void fr_group_rehash(const int64_t *FR_RESTRICT old_keys, const int32_t *FR_RESTRICT old_codes, int64_t old_capacity,
                     int64_t capacity, int64_t *FR_RESTRICT slot_keys, int32_t *FR_RESTRICT slot_codes);

/* 1 when codes never decrease: the rows of each group are adjacent. */
int fr_group_is_grouped(const int32_t *codes, ptrdiff_t n);

/* Stable counting sort: order lists the rows by code.
 *   next  - in: the offset of each code's first row; used up
 *   order - out */
void fr_group_order(const int32_t *FR_RESTRICT codes, ptrdiff_t n, int64_t *FR_RESTRICT next,
                    int64_t *FR_RESTRICT order);

#endif
