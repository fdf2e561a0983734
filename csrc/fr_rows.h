/* Products of the rows of a matrix with vectors, for one query or many. Dense or CSR, float or double values.
 *
 * Sums are double, whatever the value type. A dot product of a dense row runs in 8 lanes, column j in lane j mod 8,
 * added up in one fixed tree; a transposed product adds rows in order, column by column. The dense functions are
 * dispatched by CPU level, and every level returns the same bits.
 */
#ifndef FR_ROWS_H
#define FR_ROWS_H

#include "fr_cpu.h"

typedef struct {
    const void *values;  /* dense: rows one after the other; CSR: the stored entries */
    const void *indices; /* CSR: their columns, int32_t or int64_t; else NULL */
    const void *indptr;  /* CSR: where each row starts among them, of the same type */
    ptrdiff_t n_columns;
} fr_matrix_t;

typedef struct {
    /* out[i - first] = x_i . w */
    void (*scores)(const fr_matrix_t *X, int64_t first, int64_t last, const double *w, double *out);
    /* out += sum_i g[i - first] x_i; rows with a zero g are not read */
    void (*add_transposed)(const fr_matrix_t *X, int64_t first, int64_t last, const double *g, double *out);
    /* With z = sum_i g[i - first] x_i: w -= rate z. Returns ||z||^2; where z or the step is not finite, or its norm
     * about 1e150 or more, infinity, and w stays as it was. z: workspace of n_columns zeros, left as zeros.
     * Dense: O(rows columns). CSR: O(stored entries), however many columns there are. */
    double (*descend)(const fr_matrix_t *X, int64_t first, int64_t last, const double *g, double rate, double *z,
                      double *w);
    /* max_i x_i . x_i; 0 without rows */
    double (*largest_square)(const fr_matrix_t *X, int64_t first, int64_t last);
    /* Ask for the first of these rows ahead of scores, which then fetches the others as it goes. */
    void (*prefetch)(const fr_matrix_t *X, int64_t first, int64_t last);
} fr_rows_t;

const fr_rows_t *fr_rows_dense(int level, int is_double);
const fr_rows_t *fr_rows_csr(int is_double, int is_wide);

#endif
