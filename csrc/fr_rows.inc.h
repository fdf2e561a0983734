/* Products of dense rows for one value type and one CPU level. Needs FR_REAL, FR_TARGET with FR_SUFFIX (type and level),
 * FR_WIDTH (doubles of a register of the level; 1 without vectors) and FR_TILE (columns whose sums fit its registers, a
 * multiple of 8). */
#if !defined(FR_REAL) || !defined(FR_SUFFIX) || !defined(FR_TARGET) || !defined(FR_WIDTH) || !defined(FR_TILE)
#error "fr_rows.inc.h needs FR_REAL, FR_SUFFIX, FR_TARGET, FR_WIDTH and FR_TILE"
#endif
#define FR_NAME(name) FR_PASTE(name, FR_SUFFIX)

/* 8 lanes are FR_PARTS registers. Vectors of the compiler's own, as wide as the level's registers: wider ones would be
 * kept in memory. */
#define FR_PARTS (FR_LANES / FR_WIDTH)
#if FR_WIDTH > 1
typedef FR_REAL FR_NAME(values_t) __attribute__((vector_size(FR_WIDTH * sizeof(FR_REAL))));
typedef double FR_NAME(lanes_t) __attribute__((vector_size(FR_WIDTH * sizeof(double))));
#define FR_WIDEN(values) __builtin_convertvector(values, FR_NAME(lanes_t))
#else
typedef FR_REAL FR_NAME(values_t);
typedef double FR_NAME(lanes_t);
#define FR_WIDEN(values) ((double)(values))
#endif

/* lanes += x * w for 8 columns. */
FR_TARGET FR_INLINE void FR_NAME(add_product)(const FR_REAL *x, const double *w, FR_NAME(lanes_t) *lanes)
{
    for (int part = 0; part < FR_PARTS; part++) {
        FR_NAME(values_t) values;
        FR_NAME(lanes_t) weights;
        memcpy(&values, x + part * FR_WIDTH, sizeof values);
        memcpy(&weights, w + part * FR_WIDTH, sizeof weights);
        lanes[part] += FR_WIDEN(values) * weights;
    }
}

/* lanes += g * x for 8 columns. */
FR_TARGET FR_INLINE void FR_NAME(add_scaled)(const FR_REAL *x, double g, FR_NAME(lanes_t) *lanes)
{
    for (int part = 0; part < FR_PARTS; part++) {
        FR_NAME(values_t) values;
        memcpy(&values, x + part * FR_WIDTH, sizeof values);
        lanes[part] += FR_WIDEN(values) * g;
    }
}

/* The last columns, fewer than 8, and the total. */
FR_TARGET FR_INLINE double FR_NAME(finish)(const FR_NAME(lanes_t) *lanes, const FR_REAL *x, const double *w,
                                           ptrdiff_t j, ptrdiff_t n_columns)
{
    double sums[FR_LANES];
    memcpy(sums, lanes, sizeof sums);
    for (int lane = 0; j < n_columns; j++, lane++)
        sums[lane] += (double)x[j] * w[j];
    return fr_lanes_total(sums);
}

FR_TARGET static void FR_NAME(scores)(const fr_matrix_t *X, int64_t first, int64_t last, const double *w, double *out)
{
    const ptrdiff_t n_rows = (ptrdiff_t)(last - first), n_columns = X->n_columns;
    const FR_REAL *x = (const FR_REAL *)X->values + first * n_columns;
    const ptrdiff_t whole = n_columns - n_columns % FR_LANES;
    ptrdiff_t i = 0;
    /* four rows at a time: w is loaded once for them, and their sums do not wait for one another */
    for (; i + 4 <= n_rows; i += 4, x += 4 * n_columns) {
        FR_NAME(lanes_t) sums[4][FR_PARTS];
        memset(sums, 0, sizeof sums);
        for (ptrdiff_t j = 0; j < whole; j += FR_LANES) {
            /* X comes from memory, faster than hardware alone would fetch it: four rows that are FR_AHEAD rows on */
            for (uintptr_t at = 0; at < 4 * FR_LANES * sizeof(FR_REAL); at += 64)
                FR_PREFETCH((uintptr_t)(x + 4 * j) + (uintptr_t)(FR_AHEAD * n_columns) * sizeof(FR_REAL) + at);
            for (int row = 0; row < 4; row++)
                FR_NAME(add_product)(x + row * n_columns + j, w + j, sums[row]);
        }
        for (int row = 0; row < 4; row++)
            out[i + row] = FR_NAME(finish)(sums[row], x + row * n_columns, w, whole, n_columns);
    }
    for (; i < n_rows; i++, x += n_columns) {
        FR_NAME(lanes_t) sums[FR_PARTS];
        memset(sums, 0, sizeof sums);
        for (ptrdiff_t j = 0; j < whole; j += FR_LANES)
            FR_NAME(add_product)(x + j, w + j, sums);
        out[i] = FR_NAME(finish)(sums, x, w, whole, n_columns);
    }
}

/* Adds the listed rows to one tile of 8 * n_lanes columns, whose sums stay in registers. */
FR_TARGET FR_INLINE void FR_NAME(add_tile)(const FR_REAL *x, ptrdiff_t n_columns, const int32_t *rows,
                                           const double *factors, int n_listed, int n_lanes, double *out)
{
    FR_NAME(lanes_t) sums[FR_TILE / FR_LANES][FR_PARTS];
    for (int k = 0; k < n_lanes; k++)
        memcpy(sums[k], out + k * FR_LANES, sizeof sums[k]);
    for (int r = 0; r < n_listed; r++) {
        const FR_REAL *const row = x + rows[r] * n_columns;
        for (int k = 0; k < n_lanes; k++)
            FR_NAME(add_scaled)(row + k * FR_LANES, factors[r], sums[k]);
    }
    for (int k = 0; k < n_lanes; k++)
        memcpy(out + k * FR_LANES, sums[k], sizeof sums[k]);
}

FR_TARGET static void FR_NAME(add_transposed)(const fr_matrix_t *X, int64_t first, int64_t last, const double *g,
                                              double *out)
{
    const ptrdiff_t n_rows = (ptrdiff_t)(last - first), n_columns = X->n_columns;
    enum { CHUNK = 64 }; /* rows listed at a time: few enough to stay in the nearest cache, tile after tile */
    int32_t rows[CHUNK];
    double factors[CHUNK];
    for (ptrdiff_t start = 0; start < n_rows; start += CHUNK) {
        const FR_REAL *const x = (const FR_REAL *)X->values + (first + start) * n_columns;
        const int n = n_rows - start < CHUNK ? (int)(n_rows - start) : CHUNK;
        int n_listed = 0;
        for (int i = 0; i < n; i++) {
            rows[n_listed] = i;
            factors[n_listed] = g[start + i];
            n_listed += g[start + i] != 0.0;
        }
        if (n_listed == 0)
            continue;
        ptrdiff_t j = 0;
        for (; j + FR_TILE <= n_columns; j += FR_TILE)
            FR_NAME(add_tile)(x + j, n_columns, rows, factors, n_listed, FR_TILE / FR_LANES, out + j);
        for (; j + FR_LANES <= n_columns; j += FR_LANES)
            FR_NAME(add_tile)(x + j, n_columns, rows, factors, n_listed, 1, out + j);
        for (; j < n_columns; j++) {
            double sum = out[j];
            for (int r = 0; r < n_listed; r++)
                sum += (double)x[rows[r] * n_columns + j] * factors[r];
            out[j] = sum;
        }
    }
}

FR_TARGET static double FR_NAME(descend)(const fr_matrix_t *X, int64_t first, int64_t last, const double *g, double rate,
                                         double *FR_RESTRICT z, double *FR_RESTRICT w)
{
    const ptrdiff_t n_columns = X->n_columns;
    FR_NAME(add_transposed)(X, first, last, g, z);
    double sums[FR_LANES] = {0.0};
    ptrdiff_t j = 0;
    for (; j + FR_LANES <= n_columns; j += FR_LANES)
        for (int lane = 0; lane < FR_LANES; lane++)
            sums[lane] += z[j + lane] * z[j + lane];
    for (int lane = 0; j < n_columns; j++, lane++)
        sums[lane] += z[j] * z[j];
    const double square = fr_lanes_total(sums);
    const int is_sane = step_is_sane(square, rate);
    for (j = 0; is_sane && j < n_columns; j++)
        w[j] -= rate * z[j];
    memset(z, 0, (size_t)n_columns * sizeof *z);
    return is_sane ? square : INFINITY;
}

FR_TARGET static double FR_NAME(largest_square)(const fr_matrix_t *X, int64_t first, int64_t last)
{
    const ptrdiff_t n_columns = X->n_columns;
    double largest = 0.0;
    for (int64_t i = first; i < last; i++) {
        const FR_REAL *const x = (const FR_REAL *)X->values + i * n_columns;
        double sums[FR_LANES] = {0.0};
        ptrdiff_t j = 0;
        for (; j + FR_LANES <= n_columns; j += FR_LANES)
            for (int lane = 0; lane < FR_LANES; lane++)
                sums[lane] += (double)x[j + lane] * (double)x[j + lane];
        for (int lane = 0; j < n_columns; j++, lane++)
            sums[lane] += (double)x[j] * (double)x[j];
        const double square = fr_lanes_total(sums);
        largest = square > largest ? square : largest;
    }
    return largest;
}

FR_TARGET static void FR_NAME(prefetch)(const fr_matrix_t *X, int64_t first, int64_t last)
{
    const int64_t n_rows = last - first < FR_AHEAD ? last - first : FR_AHEAD;
    const FR_REAL *const x = (const FR_REAL *)X->values + first * X->n_columns;
    for (uintptr_t at = 0; at < (uintptr_t)(n_rows * X->n_columns) * sizeof(FR_REAL); at += 64)
        FR_PREFETCH((uintptr_t)x + at);
}

static const fr_rows_t FR_NAME(table) = {FR_NAME(scores), FR_NAME(add_transposed), FR_NAME(descend),
                                         FR_NAME(largest_square), FR_NAME(prefetch)};

#undef FR_NAME
#undef FR_SUFFIX
#undef FR_TARGET
#undef FR_TILE
#undef FR_WIDTH
#undef FR_PARTS
#undef FR_WIDEN
