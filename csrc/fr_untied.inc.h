/* Measures of a ranking without ties, codes by position, for one CPU level: included by fr_metrics.inc.h. */

/* few: all codes are below 15, so that the gains are a table of 16 in registers. */
FR_TARGET static double FR_NAME(dcg)(const int32_t *codes, ptrdiff_t n, const fr_program_t *program, int few)
{
    const double *gains = program->gains, *discounts = program->discounts;
    double lanes[8] = {0.0};
    ptrdiff_t i = 0;
#if FR_AVX512
    if (few) {
        const __m512d low = _mm512_loadu_pd(program->few_gains), high = _mm512_loadu_pd(program->few_gains + 8);
        __m512d sums = _mm512_setzero_pd();
        for (; i + 8 <= n; i += 8) {
            const __m512i code = _mm512_cvtepi32_epi64(_mm256_loadu_si256((const __m256i *)(const void *)(codes + i)));
            const __m512d gain = _mm512_permutex2var_pd(low, code, high);
            sums = _mm512_add_pd(sums, _mm512_mul_pd(gain, _mm512_loadu_pd(discounts + i)));
        }
        _mm512_storeu_pd(lanes, sums);
    }
#else
    (void)few;
#endif
    for (; i + 8 <= n; i += 8)
        for (int lane = 0; lane < 8; lane++)
            lanes[lane] += gains[codes[i + lane]] * discounts[i + lane];
    for (; i < n; i++)
        lanes[i & 7] += gains[codes[i]] * discounts[i];
    return fr_lanes_total(lanes);
}

/* Codes in [least, most]. */
FR_HOT int64_t FR_NAME(count_range)(const int32_t *codes, ptrdiff_t n, int32_t least, int32_t most)
{
    ptrdiff_t i = 0;
    int64_t count = 0;
#if FR_AVX512
    const __m512i low = _mm512_set1_epi32(least), high = _mm512_set1_epi32(most);
    for (; i < n; i += 16) {
        const __mmask16 here = n - i < 16 ? (__mmask16)((1u << (n - i)) - 1u) : (__mmask16)0xFFFF;
        const __m512i code = _mm512_maskz_loadu_epi32(here, (const void *)(codes + i));
        const __mmask16 above = _mm512_mask_cmpge_epi32_mask(here, code, low);
        count += __builtin_popcount(_mm512_mask_cmple_epi32_mask(above, code, high));
    }
#endif
    for (; i < n; i++)
        count += codes[i] >= least && codes[i] <= most;
    return count;
}

FR_TARGET static int64_t FR_NAME(count_from)(const int32_t *codes, ptrdiff_t n, int32_t least)
{
    return FR_NAME(count_range)(codes, n, least, INT32_MAX);
}

FR_TARGET static double FR_NAME(ap_sum)(const int32_t *codes, ptrdiff_t n, int32_t first_relevant)
{
    double lanes[8] = {0.0};
    int64_t seen = 0;
    ptrdiff_t i = 0;
#if FR_AVX512
    const __m256i least = _mm256_set1_epi32(first_relevant);
    const __m512d steps = _mm512_set_pd(8, 7, 6, 5, 4, 3, 2, 1);
    __m512d sums = _mm512_setzero_pd(), rank = steps;
    for (; i + 8 <= n; i += 8, rank = _mm512_add_pd(rank, _mm512_set1_pd(8.0))) {
        const __m256i code = _mm256_loadu_si256((const __m256i *)(const void *)(codes + i));
        const __mmask8 relevant = _mm256_cmpge_epi32_mask(code, least);
        if (relevant) { /* the running count, at the lanes that are relevant */
            const __m512d count = _mm512_add_pd(steps, _mm512_set1_pd((double)seen));
            sums = _mm512_add_pd(sums, _mm512_div_pd(_mm512_maskz_expand_pd(relevant, count), rank));
            seen += __builtin_popcount(relevant);
        }
    }
    _mm512_storeu_pd(lanes, sums);
#endif
    for (; i + 8 <= n; i += 8) {
        double count[8], relevant[8];
        for (int lane = 0; lane < 8; lane++) {
            const int is_relevant = codes[i + lane] >= first_relevant;
            seen += is_relevant;
            count[lane] = (double)seen;
            relevant[lane] = is_relevant ? 1.0 : 0.0;
        }
        for (int lane = 0; lane < 8; lane++)
            lanes[lane] += relevant[lane] * (count[lane] / (double)(i + lane + 1));
    }
    for (; i < n; i++)
        if (codes[i] >= first_relevant)
            lanes[i & 7] += (double)++seen / (double)(i + 1);
    return fr_lanes_total(lanes);
}

FR_TARGET static ptrdiff_t FR_NAME(first_from)(const int32_t *codes, ptrdiff_t n, int32_t least)
{
    for (ptrdiff_t i = 0; i < n; i++)
        if (codes[i] >= least)
            return i;
    return n;
}
