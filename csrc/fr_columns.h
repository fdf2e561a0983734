/* Passes over a C-ordered matrix, column by column side by side: dispatched by CPU level.
 *
 * Each column has its own double accumulator and rows are added in order, so the loops vectorise across columns
 * without reassociation and every level returns the same bits. NaN counts as a missing value and is left out.
 */
#ifndef FR_COLUMNS_H
#define FR_COLUMNS_H

#include "fr_cpu.h"

/* One table of functions per CPU level; FR_REAL stands for the value type.
 *
 * nonfinite: 1 when one of the n values is NaN or infinite, or only infinite where allow_nan != 0. One read.
 * range:     low, high (n_columns) - out: least and largest value; +inf and -inf where a column has none.
 * sums:      count, sum, absolute, square (n_columns) - out: the number of values and the sums of x - center,
 *            |x - center| and (x - center)^2.
 * scale:     out = (x - offset) / divisor, in double, then rounded to the type of x. out may be x itself. */
#define FR_COLUMNS_TABLE(FR_REAL)                                                                                  \
    {                                                                                                              \
        int (*nonfinite)(const FR_REAL *x, ptrdiff_t n, int allow_nan);                                            \
        void (*range)(const FR_REAL *x, ptrdiff_t n_rows, ptrdiff_t n_columns, double *low, double *high);         \
        void (*sums)(const FR_REAL *x, ptrdiff_t n_rows, ptrdiff_t n_columns, const double *center, double *count, \
                     double *sum, double *absolute, double *square);                                               \
        void (*scale)(const FR_REAL *x, ptrdiff_t n_rows, ptrdiff_t n_columns, const double *offset,               \
                      const double *divisor, FR_REAL *out);                                                        \
    }

typedef struct FR_COLUMNS_TABLE(float) fr_columns_f32_t;
typedef struct FR_COLUMNS_TABLE(double) fr_columns_f64_t;

/* The functions for a level; a level this build does not have gives the baseline. */
const fr_columns_f32_t *fr_columns_f32(int level);
const fr_columns_f64_t *fr_columns_f64(int level);

#endif
