/* Column passes for one value type and one CPU level. Needs FR_REAL with FR_BITS (its bits as an unsigned integer),
 * FR_EXPONENT (the bits of infinity) and FR_TABLE (its table type), and FR_TARGET with FR_SUFFIX (type and level). */
#if !defined(FR_REAL) || !defined(FR_BITS) || !defined(FR_EXPONENT) || !defined(FR_TABLE)
#error "fr_columns.inc.h needs FR_REAL, FR_BITS, FR_EXPONENT and FR_TABLE"
#endif
#if !defined(FR_SUFFIX) || !defined(FR_TARGET)
#error "fr_columns.inc.h needs FR_SUFFIX and FR_TARGET"
#endif
#define FR_NAME(name) FR_PASTE(name, FR_SUFFIX)

FR_TARGET static int FR_NAME(nonfinite)(const FR_REAL *x, ptrdiff_t n, int allow_nan)
{
    /* Without the sign bit, infinity is FR_EXPONENT and NaNs are above it. */
    const FR_BITS magnitude = (FR_BITS) ~(FR_BITS)0 >> 1;
    const FR_BITS limit = (FR_BITS)FR_EXPONENT;
    const FR_BITS any_nan = allow_nan ? 0 : magnitude;
    enum { CHUNK = 1024 }; /* long enough to vectorise, short enough to stop early */
    for (ptrdiff_t first = 0; first < n; first += CHUNK) {
        const ptrdiff_t last = n - first < CHUNK ? n : first + CHUNK;
        FR_BITS found = 0;
        for (ptrdiff_t i = first; i < last; i++) {
            FR_BITS bits;
            memcpy(&bits, x + i, sizeof bits);
            bits &= magnitude;
            found |= (FR_BITS)(bits == limit) | ((FR_BITS)(bits > limit) & any_nan);
        }
        if (found)
            return 1;
    }
    return 0;
}

FR_TARGET static void FR_NAME(range)(const FR_REAL *x, ptrdiff_t n_rows, ptrdiff_t n_columns,
                                     double *FR_RESTRICT low, double *FR_RESTRICT high)
{
    for (ptrdiff_t j = 0; j < n_columns; j++) {
        low[j] = INFINITY;
        high[j] = -INFINITY;
    }
    for (ptrdiff_t i = 0; i < n_rows; i++, x += n_columns)
        for (ptrdiff_t j = 0; j < n_columns; j++) {
            const double value = (double)x[j];
            low[j] = value < low[j] ? value : low[j]; /* false for NaN */
            high[j] = value > high[j] ? value : high[j];
        }
}

FR_TARGET static void FR_NAME(sums)(const FR_REAL *x, ptrdiff_t n_rows, ptrdiff_t n_columns,
                                    const double *FR_RESTRICT center, double *FR_RESTRICT count,
                                    double *FR_RESTRICT sum, double *FR_RESTRICT absolute,
                                    double *FR_RESTRICT square)
{
    for (ptrdiff_t j = 0; j < n_columns; j++)
        count[j] = sum[j] = absolute[j] = square[j] = 0.0;
    for (ptrdiff_t i = 0; i < n_rows; i++, x += n_columns)
        for (ptrdiff_t j = 0; j < n_columns; j++) {
            const double shifted = (double)x[j] - center[j];
            const int known = shifted == shifted;
            const double value = known ? shifted : 0.0;
            count[j] += known ? 1.0 : 0.0;
            sum[j] += value;
            absolute[j] += fabs(value);
            square[j] += value * value;
        }
}

FR_TARGET static void FR_NAME(scale)(const FR_REAL *x, ptrdiff_t n_rows, ptrdiff_t n_columns,
                                     const double *FR_RESTRICT offset, const double *FR_RESTRICT divisor, FR_REAL *out)
{
    for (ptrdiff_t i = 0; i < n_rows; i++, x += n_columns, out += n_columns)
        for (ptrdiff_t j = 0; j < n_columns; j++)
            out[j] = (FR_REAL)(((double)x[j] - offset[j]) / divisor[j]);
}

static const FR_TABLE FR_NAME(table) = {FR_NAME(nonfinite), FR_NAME(range), FR_NAME(sums), FR_NAME(scale)};

#undef FR_NAME
#undef FR_SUFFIX
#undef FR_TARGET
