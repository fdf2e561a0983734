/* Products of CSR rows for one value and one index type. Needs FR_REAL, FR_INDEX and FR_SUFFIX (both types). */
#if !defined(FR_REAL) || !defined(FR_INDEX) || !defined(FR_SUFFIX)
#error "fr_csr.inc.h needs FR_REAL, FR_INDEX and FR_SUFFIX"
#endif
#define FR_NAME(name) FR_PASTE(name, FR_SUFFIX)

static void FR_NAME(scores)(const fr_matrix_t *X, int64_t first, int64_t last, const double *w, double *out)
{
    const FR_REAL *const values = (const FR_REAL *)X->values;
    const FR_INDEX *const columns = (const FR_INDEX *)X->indices, *const indptr = (const FR_INDEX *)X->indptr;
    for (int64_t i = first; i < last; i++) {
        /* four sums, entry k in sum k mod 4, so that additions need not wait for one another */
        double sums[4] = {0.0};
        FR_INDEX k = indptr[i];
        for (; indptr[i + 1] - k >= 4; k += 4)
            for (int lane = 0; lane < 4; lane++)
                sums[lane] += (double)values[k + lane] * w[columns[k + lane]];
        for (int lane = 0; k < indptr[i + 1]; k++, lane++)
            sums[lane] += (double)values[k] * w[columns[k]];
        out[i - first] = (sums[0] + sums[2]) + (sums[1] + sums[3]);
    }
}

static void FR_NAME(add_transposed)(const fr_matrix_t *X, int64_t first, int64_t last, const double *g, double *out)
{
    const FR_REAL *const values = (const FR_REAL *)X->values;
    const FR_INDEX *const columns = (const FR_INDEX *)X->indices, *const indptr = (const FR_INDEX *)X->indptr;
    for (int64_t i = first; i < last; i++) {
        if (g[i - first] == 0.0)
            continue;
        for (FR_INDEX k = indptr[i]; k < indptr[i + 1]; k++)
            out[columns[k]] += (double)values[k] * g[i - first];
    }
}

static double FR_NAME(descend)(const fr_matrix_t *X, int64_t first, int64_t last, const double *g, double rate,
                               double *z, double *w)
{
    const FR_INDEX *const columns = (const FR_INDEX *)X->indices, *const indptr = (const FR_INDEX *)X->indptr;
    FR_NAME(add_transposed)(X, first, last, g, z);
    double most = 0.0; /* at least ||z||^2: a column counts as often as it is stored */
    for (FR_INDEX k = indptr[first]; k < indptr[last]; k++)
        most += z[columns[k]] * z[columns[k]];
    const int is_sane = step_is_sane(most, rate);
    /* z is zero outside the columns of these rows; the first entry of a column takes all of it */
    double square = 0.0;
    for (FR_INDEX k = indptr[first]; k < indptr[last]; k++) {
        const double part = z[columns[k]];
        z[columns[k]] = 0.0;
        if (is_sane && part != 0.0) {
            square += part * part;
            w[columns[k]] -= rate * part;
        }
    }
    return is_sane ? square : INFINITY;
}

static double FR_NAME(largest_square)(const fr_matrix_t *X, int64_t first, int64_t last)
{
    const FR_REAL *const values = (const FR_REAL *)X->values;
    const FR_INDEX *const indptr = (const FR_INDEX *)X->indptr;
    double largest = 0.0;
    for (int64_t i = first; i < last; i++) {
        double square = 0.0;
        for (FR_INDEX k = indptr[i]; k < indptr[i + 1]; k++)
            square += (double)values[k] * (double)values[k];
        largest = square > largest ? square : largest;
    }
    return largest;
}

static void FR_NAME(prefetch)(const fr_matrix_t *X, int64_t first, int64_t last)
{
    const FR_INDEX *const indptr = (const FR_INDEX *)X->indptr;
    if (first < last) {
        FR_PREFETCH((const FR_REAL *)X->values + indptr[first]);
        FR_PREFETCH((const FR_INDEX *)X->indices + indptr[first]);
    }
}

static const fr_rows_t FR_NAME(table) = {FR_NAME(scores), FR_NAME(add_transposed), FR_NAME(descend),
                                         FR_NAME(largest_square), FR_NAME(prefetch)};

#undef FR_NAME
#undef FR_INDEX
#undef FR_SUFFIX
