/* Eight tiny queries at a time, one lane each, for one score type and CPU level: included by fr_metrics.inc.h.
 *
 * Keys with the code in their low 4 bits lie in rows of 8 lanes: row p holds document p of each of the eight queries, then,
 * sorted, the document at position p. Places without a document have code 15. The same operations as everywhere, so the
 * same bits: the sum over positions puts position p < 8 alone in its lane, and adds them up in the same tree. */

/* Sort rows lane by lane, by the fewest exchanges; the lesser first, or the greater. */
FR_HOT void FR_NAME(sort_tiny)(tiny_row_t *rows, int n, const int downwards)
{
    for (const uint8_t(*pair)[2] = fr_networks[n]; (*pair)[1] > 0; pair++) {
        tiny_row_t *first = rows + (*pair)[downwards], *second = rows + (*pair)[!downwards];
        const fr_wholes_t a = first->wholes, b = second->wholes;
#if FR_AVX512
        first->wholes = (fr_wholes_t)_mm512_min_epi64((__m512i)a, (__m512i)b);
        second->wholes = (fr_wholes_t)_mm512_max_epi64((__m512i)a, (__m512i)b);
#else
        const fr_wholes_t swap = b < a;
        first->wholes = (b & swap) | (a & ~swap);
        second->wholes = (a & swap) | (b & ~swap);
#endif
    }
}

/* The sum of what each row adds, in the order of fr_lanes_total. A macro: not every level can return such a vector. */
#define FR_TOTAL_TINY(rows) \
    ((((rows)[0] + (rows)[4]) + ((rows)[2] + (rows)[6])) + (((rows)[1] + (rows)[5]) + ((rows)[3] + (rows)[7])))

FR_HOT void FR_NAME(dcg_tiny)(const fr_program_t *program, const tiny_row_t *codes, int k, fr_reals_t *dcg)
{
    const fr_reals_t zero = {0.0};
    fr_reals_t rows[8] = {zero, zero, zero, zero, zero, zero, zero, zero};
    for (int p = 0; p < k; p++) {
#if FR_AVX512
        const __m512d gain = _mm512_permutex2var_pd(_mm512_loadu_pd(program->few_gains), (__m512i)codes[p].wholes,
                                                    _mm512_loadu_pd(program->few_gains + 8));
        rows[p] = (fr_reals_t)gain * program->discounts[p];
#else
        for (int lane = 0; lane < 8; lane++)
            rows[p][lane] = program->few_gains[codes[p].whole[lane] & 15] * program->discounts[p];
#endif
    }
    *dcg = FR_TOTAL_TINY(rows);
}

FR_TARGET static void FR_NAME(measure_tiny)(const fr_program_t *program, const tiny_t *tiny, const fr_batch_t *batch,
                                            ptrdiff_t q)
{
    const fr_reals_t zero = {0.0}, one = zero + 1.0;
    const fr_wholes_t first_relevant = (fr_wholes_t){0} + program->first_relevant;
    fr_reals_t seen[9], is_relevant[8]; /* relevant documents in the first p positions; at position p */
    seen[0] = zero;
    for (int p = 0; p < 8; p++) {
        is_relevant[p] = zero;
        if (p < tiny->most && !tiny->sets)
            is_relevant[p] = FR_SELECT(tiny->codes[p].wholes >= first_relevant, one, zero);
        seen[p + 1] = tiny->sets ? tiny->relevant.reals : seen[p] + is_relevant[p];
    }
    const fr_reals_t n_relevant = seen[8];
    fr_reals_t dcg = zero, ideal = zero;
    int dcg_k = -1;
    for (ptrdiff_t m = 0; m < program->n_measures; m++) {
        const double cut = program->cuts[m] > 0 ? (double)program->cuts[m] : INFINITY;
        const int k = cut < tiny->most ? (int)cut : tiny->most, kind = program->kinds[m], flags = program->flags[m];
        fr_reals_t value = zero, base = n_relevant;
        switch (kind) {
        case FR_DCG:
        case FR_NDCG:
            if (k != dcg_k) { /* measures that differ by cuts beyond the lists share it */
                FR_NAME(dcg_tiny)(program, tiny->codes, k, &dcg);
                FR_NAME(dcg_tiny)(program, tiny->ideal, k, &ideal);
                dcg_k = k;
            }
            base = kind == FR_NDCG ? ideal : one;
            value = dcg / base;
            break;
        case FR_AP: {
            fr_reals_t rows[8] = {zero, zero, zero, zero, zero, zero, zero, zero};
            for (int p = 0; p < k; p++)
                rows[p] = is_relevant[p] * (seen[p + 1] / (double)(p + 1));
            const fr_reals_t most = zero + cut;
            value = FR_TOTAL_TINY(rows) /
                    ((flags & FR_NORM_MIN) ? FR_SELECT(most < n_relevant, most, n_relevant) : n_relevant);
            break;
        }
        case FR_RR:
            for (int p = k - 1; p >= 0; p--)
                value = FR_SELECT(is_relevant[p] > zero, zero + 1.0 / (double)(p + 1), value);
            break;
        case FR_PRECISION: {
            const fr_reals_t most = zero + cut, sizes = tiny->sizes.reals;
            const int shrink = (flags & FR_NORM_MIN) || cut == INFINITY;
            value = seen[k] / (shrink ? FR_SELECT(most < sizes, most, sizes) : most);
            break;
        }
        case FR_RECALL:
            value = seen[k] / n_relevant;
            break;
        case FR_SUCCESS:
            value = FR_SELECT(seen[k] > zero, one, zero);
            break;
        default: /* FR_WTA */
            value = FR_SELECT(tiny->codes[0].wholes == tiny->top.wholes, one, zero);
        }
        if ((flags & FR_SHORT_ZERO) && cut != INFINITY)
            value = FR_SELECT(tiny->sizes.reals < zero + cut, zero, value);
        tiny_row_t empty, result;
        empty.wholes = base <= zero;
        result.reals = FR_SELECT(empty.wholes, zero + program->fills[m], value);
        memcpy(batch->out + m * batch->stride + q, &result, sizeof result);
        empty.wholes &= ~tiny->tied.wholes;
        int64_t n_empty = 0;
        for (int lane = 0; lane < 8; lane++)
            n_empty -= empty.whole[lane];
        batch->n_empty[m] += n_empty;
    }
}

/* Queries q..q+7, of at most 8 documents each; codes are those of their rows, one after the other. Queries with ties are
 * done again, one by one. */
FR_TARGET static void FR_NAME(eight)(const fr_program_t *program, const fr_batch_t *batch, const FR_REAL *scores,
                                     const int32_t *codes, ptrdiff_t q, const memory_t *memory)
{
    tiny_t tiny;
    const int64_t *qptr = batch->qptr + q;
    const fr_wholes_t low = (fr_wholes_t){0} + FR_NO_CODE, none = (fr_wholes_t){0} - 1;
    const int n = (int)(qptr[8] - qptr[0]);
    int ordered = 0, sizes[8];
    tiny.most = 0;
    for (int lane = 0; lane < 8; lane++) {
        sizes[lane] = (int)(qptr[lane + 1] - qptr[lane]);
        tiny.sizes.real[lane] = (double)sizes[lane];
        tiny.most = sizes[lane] > tiny.most ? sizes[lane] : tiny.most;
    }
    for (ptrdiff_t m = 0; m < program->n_measures && scores; m++)
        ordered |= !((1u << program->kinds[m]) & FR_SET_KINDS) || (program->cuts[m] > 0 && program->cuts[m] < tiny.most);
    tiny.tied.wholes = (fr_wholes_t){0};
    tiny.sets = !ordered && (program->kind_set & FR_SET_KINDS) == program->kind_set;
    if (tiny.sets) { /* how many are relevant is all that matters */
        for (int lane = 0; lane < 8; lane++) {
            tiny.relevant.real[lane] = (double)FR_NAME(count_range)(codes, sizes[lane], program->first_relevant, INT32_MAX);
            codes += sizes[lane];
        }
        FR_NAME(measure_tiny)(program, &tiny, batch, q);
        return;
    }
    int64_t keys[64];
    if (ordered)
        for (int i = 0; i < n; i++)
            keys[i] = (FR_NAME(key_of)(scores[i]) & ~(int64_t)FR_NO_CODE) | codes[i];
    else
        for (int i = 0; i < n; i++)
            keys[i] = codes[i];
    for (int p = 0; p < tiny.most || p == 0; p++)
        tiny.codes[p].wholes = (fr_wholes_t){0} + INT64_MAX;
    for (int lane = 0, row = 0; lane < 8; lane++)
        for (int p = 0; p < sizes[lane]; p++)
            tiny.codes[p].whole[lane] = keys[row++];
    if (ordered) {
        FR_NAME(sort_tiny)(tiny.codes, tiny.most, 0);
        for (int p = 0; p + 1 < tiny.most; p++) {
            const fr_wholes_t next = tiny.codes[p + 1].wholes, apart = (tiny.codes[p].wholes ^ next) & ~low;
            tiny.tied.wholes |= (apart == 0) & ((next & low) != low);
        }
    }
    tiny.top.wholes = none;
    for (int p = 0; p < tiny.most || p == 0; p++) {
        const fr_wholes_t bits = tiny.codes[p].wholes & low, code = bits | (bits == low); /* -1 without a document */
        const fr_wholes_t higher = code > tiny.top.wholes;
        tiny.codes[p].wholes = tiny.ideal[p].wholes = code;
        tiny.top.wholes = (code & higher) | (tiny.top.wholes & ~higher);
    }
    if (program->kind_set & (1u << FR_NDCG))
        FR_NAME(sort_tiny)(tiny.ideal, tiny.most, 1);
    FR_NAME(measure_tiny)(program, &tiny, batch, q);
    int64_t any = 0;
    for (int lane = 0; lane < 8; lane++)
        any |= tiny.tied.whole[lane];
    if (FR_UNLIKELY(any))
        for (int lane = 0; lane < 8; lane++) {
            if (tiny.tied.whole[lane])
                FR_NAME(query)(program, batch, scores, codes, sizes[lane], (int32_t)tiny.top.whole[lane],
                               FR_NAME(count_from)(codes, sizes[lane], program->first_relevant), q + lane, memory);
            codes += sizes[lane];
            scores += sizes[lane];
        }
}

/* Whether the next eight queries are tiny. */
FR_HOT int FR_NAME(are_tiny)(const int64_t *qptr)
{
    int tiny = 1;
    for (int lane = 0; lane < 8; lane++)
        tiny &= qptr[lane + 1] - qptr[lane] <= 8;
    return tiny;
}
#undef FR_TOTAL_TINY
