#include "fr_columns.h"

#include <math.h>
#include <string.h>

#define FR_REAL float
#define FR_BITS uint32_t
#define FR_TABLE fr_columns_f32_t
#define FR_EXPONENT 0x7F800000u
#define FR_SUFFIX f32_base
#define FR_TARGET
#include "fr_columns.inc.h"
#if FR_HAS_LEVELS
#define FR_SUFFIX f32_v3
#define FR_TARGET FR_TARGET_V3
#include "fr_columns.inc.h"
#define FR_SUFFIX f32_v4
#define FR_TARGET FR_TARGET_V4
#include "fr_columns.inc.h"
#endif
#undef FR_REAL
#undef FR_BITS
#undef FR_EXPONENT
#undef FR_TABLE

#define FR_REAL double
#define FR_BITS uint64_t
#define FR_TABLE fr_columns_f64_t
#define FR_EXPONENT UINT64_C(0x7FF0000000000000)
#define FR_SUFFIX f64_base
#define FR_TARGET
#include "fr_columns.inc.h"
#if FR_HAS_LEVELS
#define FR_SUFFIX f64_v3
#define FR_TARGET FR_TARGET_V3
#include "fr_columns.inc.h"
#define FR_SUFFIX f64_v4
#define FR_TARGET FR_TARGET_V4
#include "fr_columns.inc.h"
#endif

const fr_columns_f32_t *fr_columns_f32(int level)
{
    return FR_CHOOSE(level, table_f32_base, table_f32_v3, table_f32_v4);
}

const fr_columns_f64_t *fr_columns_f64(int level)
{
    return FR_CHOOSE(level, table_f64_base, table_f64_v3, table_f64_v4);
}

ptrdiff_t fr_columns_offsets(int method, ptrdiff_t n_columns, const double *low, const double *high, const double *mean,
                             const double *count, const double *absolute, const double *square, double *offset,
                             double *divisor)
{
    ptrdiff_t failed = -1;
    for (ptrdiff_t j = 0; j < n_columns; j++) {
        double shift = 0.0, scale;
        int constant = 0;
        if (method == FR_SCALE_SUM) {
            scale = absolute[j];
            constant = scale == 0.0;
        } else if (!(high[j] > low[j])) { /* constant or empty: exactly 0, whatever rounding says of its deviation */
            shift = high[j] == low[j] ? low[j] : 0.0;
            scale = 0.0;
            constant = 1;
        } else if (method == FR_SCALE_MINMAX) {
            shift = low[j];
            scale = high[j] - low[j];
        } else {
            shift = mean[j];
            scale = sqrt(square[j] / count[j]);
        }
        offset[j] = shift;
        divisor[j] = constant ? 1.0 : scale;
        if (failed < 0 && !(divisor[j] > 0.0 && divisor[j] < INFINITY))
            failed = j;
    }
    return failed;
}
