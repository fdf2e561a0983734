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

/* From the sums of a set of rows to out = (x - offset) / divisor, column by column:
 *   FR_SCALE_MINMAX: (x - low) / (high - low); FR_SCALE_ZSCORE: (x - mean) / standard deviation (of the population);
 *   FR_SCALE_SUM: x / sum |x|. A column that would divide by zero, or has no value, gets divisor 1.
 *   square - sums about the mean (zscore); absolute - about 0 (sum); the others may be NULL where unused
 * Returns the first column whose values are too large or too small for its divisor to be a positive number, or -1. */
enum { FR_SCALE_MINMAX = 0, FR_SCALE_ZSCORE, FR_SCALE_SUM };
ptrdiff_t fr_columns_offsets(int method, ptrdiff_t n_columns, const double *low, const double *high, const double *mean,
                             const double *count, const double *absolute, const double *square, double *offset,
                             double *divisor);

/* The functions for a level; a level this build does not have gives the baseline. */
const fr_columns_f32_t *fr_columns_f32(int level);
const fr_columns_f64_t *fr_columns_f64(int level);

#endif
