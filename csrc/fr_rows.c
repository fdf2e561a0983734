#include "fr_rows.h"

#include <math.h>
#include <string.h>

#include "fr_lanes.h"

/* Whether z, of this square, and rate z are steps that learning may take; not where something is NaN. */
static int step_is_sane(double square, double rate)
{
    const double huge_square = 1e300;
    return square == 0.0 || (square < huge_square && rate * rate * square < huge_square);
}

/* Rows between the one that is read and the one that is fetched. */
enum { FR_AHEAD = 16 };

#if defined(__GNUC__)
#define FR_BASE_WIDTH 2
#else
#define FR_BASE_WIDTH 1
#endif

#define FR_REAL float
#define FR_SUFFIX f32_base
#define FR_TARGET
#define FR_TILE 16
#define FR_WIDTH FR_BASE_WIDTH
#include "fr_rows.inc.h"
#if FR_HAS_LEVELS
#define FR_SUFFIX f32_v3
#define FR_TARGET FR_TARGET_V3
#define FR_TILE 32
#define FR_WIDTH 4
#include "fr_rows.inc.h"
#define FR_SUFFIX f32_v4
#define FR_TARGET FR_TARGET_V4
#define FR_TILE 64
#define FR_WIDTH 8
#include "fr_rows.inc.h"
#endif
#undef FR_REAL

#define FR_REAL double
#define FR_SUFFIX f64_base
#define FR_TARGET
#define FR_TILE 16
#define FR_WIDTH FR_BASE_WIDTH
#include "fr_rows.inc.h"
#if FR_HAS_LEVELS
#define FR_SUFFIX f64_v3
#define FR_TARGET FR_TARGET_V3
#define FR_TILE 32
#define FR_WIDTH 4
#include "fr_rows.inc.h"
#define FR_SUFFIX f64_v4
#define FR_TARGET FR_TARGET_V4
#define FR_TILE 64
#define FR_WIDTH 8
#include "fr_rows.inc.h"
#endif

#undef FR_REAL

#define FR_REAL float
#define FR_INDEX int32_t
#define FR_SUFFIX csr_f32_i32
#include "fr_csr.inc.h"
#define FR_INDEX int64_t
#define FR_SUFFIX csr_f32_i64
#include "fr_csr.inc.h"
#undef FR_REAL

#define FR_REAL double
#define FR_INDEX int32_t
#define FR_SUFFIX csr_f64_i32
#include "fr_csr.inc.h"
#define FR_INDEX int64_t
#define FR_SUFFIX csr_f64_i64
#include "fr_csr.inc.h"

const fr_rows_t *fr_rows_dense(int level, int is_double)
{
    return is_double ? FR_CHOOSE(level, table_f64_base, table_f64_v3, table_f64_v4)
                     : FR_CHOOSE(level, table_f32_base, table_f32_v3, table_f32_v4);
}

const fr_rows_t *fr_rows_csr(int is_double, int is_wide)
{
    if (is_double)
        return is_wide ? &table_csr_f64_i64 : &table_csr_f64_i32;
    return is_wide ? &table_csr_f32_i64 : &table_csr_f32_i32;
}
