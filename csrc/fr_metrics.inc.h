/* Ranking and measuring for one score type and one CPU level. Needs FR_REAL, FR_SINGLE (1 for float), FR_LEVEL,
 * FR_AVX512 (1 where it may be used), FR_ANY_FROM, FR_TARGET and FR_SUFFIX (type and level). */
#if !defined(FR_REAL) || !defined(FR_SINGLE) || !defined(FR_LEVEL) || !defined(FR_TARGET) || !defined(FR_SUFFIX)
#error "fr_metrics.inc.h needs FR_REAL, FR_SINGLE, FR_LEVEL, FR_TARGET and FR_SUFFIX"
#endif
#define FR_NAME(name) FR_PASTE(name, FR_SUFFIX)
#define FR_HOT FR_INLINE FR_TARGET

#include "fr_untied.inc.h"

#include "fr_rank.inc.h"

FR_TARGET static void FR_NAME(measure)(const fr_program_t *program, const query_t *query, const memory_t *memory,
                                       const fr_batch_t *batch, ptrdiff_t q)
{
    const fr_ranking_t *ranking = &query->ranking;
    const int mean = ranking->ends != NULL && program->ties == FR_TIES_MEAN;
    const int threshold = ranking->ends != NULL && program->ties == FR_TIES_THRESHOLD;
    const int few = query->top < FR_FEW_CODES;
    const double n_relevant = (double)ranking->n_relevant;
    for (ptrdiff_t m = 0; m < program->n_measures; m++) {
        const int64_t cut = program->cuts[m] > 0 ? program->cuts[m] : INT64_MAX;
        const ptrdiff_t k = cut < query->n ? (ptrdiff_t)cut : query->n;
        const int kind = program->kinds[m], flags = program->flags[m];
        double value = 0.0, ideal = 1.0;
        if (kind == FR_NDCG) {
            const ptrdiff_t length = cut < query->n_ideal ? (ptrdiff_t)cut : query->n_ideal;
            ideal = FR_NAME(dcg)(memory->ideal, length, program, few);
        }
        int defined = kind == FR_NDCG ? ideal > 0.0 : kind == FR_DCG || kind == FR_TAU || ranking->n_relevant > 0;
        if (defined && !((flags & FR_SHORT_ZERO) && cut != INT64_MAX && query->n < cut))
            switch (kind) {
            case FR_DCG:
            case FR_NDCG:
                value = mean ? fr_mean_dcg(ranking, k, program->gains, program->discounts)
                             : FR_NAME(dcg)(ranking->codes, k, program, few);
                value = kind == FR_NDCG ? value / ideal : value;
                break;
            case FR_AP: {
                const double most = (flags & FR_NORM_MIN) && (double)cut < n_relevant ? (double)cut : n_relevant;
                value = mean || threshold ? fr_mean_ap(ranking, k, threshold)
                                          : FR_NAME(ap_sum)(ranking->codes, k, ranking->first_relevant);
                value /= most;
                break;
            }
            case FR_RR:
                if (mean) {
                    value = fr_mean_rr(ranking, k);
                } else {
                    const ptrdiff_t place = query->first_relevant_place >= 0
                                                ? query->first_relevant_place
                                                : FR_NAME(first_from)(ranking->codes, k, ranking->first_relevant);
                    value = place < k ? 1.0 / (double)(place + 1) : 0.0;
                }
                break;
            case FR_PRECISION:
            case FR_RECALL:
            case FR_RPREC: {
                const int64_t reach = kind != FR_RPREC               ? k
                                      : ranking->n_relevant < query->n ? ranking->n_relevant
                                                                       : query->n;
                const double count =
                    reach == query->n ? (double)query->n_listed
                    : mean            ? fr_mean_relevant(ranking, reach)
                                      : (double)FR_NAME(count_from)(ranking->codes, reach, ranking->first_relevant);
                const double size = (flags & FR_NORM_MIN) || cut == INT64_MAX ? (double)k : (double)cut;
                value = kind != FR_PRECISION ? count / n_relevant : size > 0.0 ? count / size : 0.0;
                break;
            }
            case FR_SUCCESS:
                value = k == query->n ? (query->n_listed > 0 ? 1.0 : 0.0)
                        : mean        ? fr_mean_success(ranking, k)
                                      : (FR_NAME(first_from)(ranking->codes, k, ranking->first_relevant) < k ? 1.0 : 0.0);
                break;
            case FR_WTA:
                if (query->n > 0)
                    value = mean ? fr_mean_wta(ranking, query->top) : ranking->codes[0] == query->top ? 1.0 : 0.0;
                break;
            case FR_ERR: {
                const fr_ranking_t untied = {ranking->codes, NULL, ranking->n, 0, 0, 0, 0};
                value = fr_err(mean ? ranking : &untied, k, program->stops, (double *)(void *)memory->keys);
                break;
            }
            case FR_BPREF: {
                fr_ranking_t rest = *ranking;
                rest.ends = mean ? ranking->ends : NULL;
                value = fr_bpref(&rest);
                break;
            }
            default: { /* FR_TAU */
                fr_ranking_t best = *ranking;
                best.codes = query->downwards;
                value = fr_tau_b(&best, (int32_t *)(void *)memory->work);
                defined = value == value;
            }
            }
        batch->out[m * batch->stride + q] = defined ? value : program->fills[m];
        batch->n_empty[m] += !defined;
    }
}

/* The codes of the ideal order, as far as the measures look. */
FR_TARGET static ptrdiff_t FR_NAME(make_ideal)(const fr_program_t *program, const int32_t *pool, ptrdiff_t size,
                                               int32_t top, const fr_sort_t *sort, const memory_t *memory)
{
    const ptrdiff_t depth = program->ndcg_depth < size ? (ptrdiff_t)program->ndcg_depth : size;
    int32_t *ideal = memory->ideal;
    ptrdiff_t filled = 0;
    if (top < FR_COUNTED_CODES) {
        for (int32_t place = 0; place < program->n_gaining && filled < depth; place++) {
            const int32_t code = program->by_gain[place];
            if (code > top)
                continue;
            const ptrdiff_t end = filled + (ptrdiff_t)FR_NAME(count_range)(pool, size, code, code);
            /* eight at a time: the next code, or the room behind the longest list, takes what is too much */
            for (ptrdiff_t i = filled; i < end && i < depth; i += 8)
                for (int j = 0; j < 8; j++)
                    ideal[i + j] = code;
            filled = end < depth ? end : depth;
        }
        return filled;
    }
    int64_t *keys = memory->keys;
    for (ptrdiff_t i = 0; i < size; i++)
        keys[i] = program->gain_place[pool[i]];
    sort->sort(keys, size, depth, memory->work);
    while (filled < depth && keys[filled] < program->n_gaining) {
        ideal[filled] = program->by_gain[keys[filled]];
        filled++;
    }
    return filled;
}

/* Positions that the measures look at in a list of n; 0: the order does not matter. rr_only: RR alone looks. */
FR_HOT ptrdiff_t FR_NAME(reach)(const fr_program_t *program, ptrdiff_t n, int *rr_only)
{
    ptrdiff_t reach = 0;
    *rr_only = 1;
    for (ptrdiff_t m = 0; m < program->n_measures; m++) {
        const int kind = program->kinds[m];
        const int64_t cut = kind == FR_WTA ? 1 : program->cuts[m] > 0 ? program->cuts[m] : INT64_MAX;
        if (cut >= n && (kind == FR_PRECISION || kind == FR_RECALL || kind == FR_SUCCESS))
            continue;
        if (kind != FR_RR)
            *rr_only = 0;
        reach = cut < n ? (cut > reach ? (ptrdiff_t)cut : reach) : n;
        if (reach == n && !*rr_only)
            break;
    }
    return reach;
}

FR_TARGET static void FR_NAME(query)(const fr_program_t *program, const fr_batch_t *batch, const FR_REAL *scores,
                                     const int32_t *codes, ptrdiff_t n, int32_t top, int64_t n_listed,
                                     ptrdiff_t q, const memory_t *memory)
{
    const fr_sort_t *sort = fr_sort(batch->plain ? FR_CPU_BASELINE : FR_LEVEL);
    query_t query = {.ranking = {.first_judged = program->first_judged, .first_relevant = program->first_relevant}};
    const int32_t *pool = codes;
    ptrdiff_t size = n;
    if (batch->missing_ptr) {
        const int64_t start = batch->missing_ptr[q];
        const ptrdiff_t more = (ptrdiff_t)(batch->missing_ptr[q + 1] - start);
        if (more > 0) {
            memcpy(memory->pool, codes, (size_t)n * sizeof *codes);
            memcpy(memory->pool + n, batch->missing + start, (size_t)more * sizeof *codes);
            for (ptrdiff_t i = 0; i < more; i++)
                top = memory->pool[n + i] > top ? memory->pool[n + i] : top;
            pool = memory->pool;
            size = n + more;
        }
    }
    query.n = n;
    query.top = top;
    query.first_relevant_place = -1;
    query.n_listed = n_listed;
    query.ranking.n_relevant = n_listed + FR_NAME(count_from)(pool + n, size - n, program->first_relevant);
    if (program->kind_set & (1u << FR_BPREF))
        query.ranking.n_nonrelevant =
            FR_NAME(count_from)(pool, size, program->first_judged) - query.ranking.n_relevant;
    if (program->kind_set & (1u << FR_NDCG))
        query.n_ideal = FR_NAME(make_ideal)(program, pool, size, top, sort, memory);

    int rr_only;
    const ptrdiff_t reach = FR_NAME(reach)(program, n, &rr_only);
    query.ranking.codes = codes;
    query.ranking.n = n;
    if (scores && reach > 0) {
        query.ranking.codes = memory->ranked;
        int done = 0;
        if (!batch->plain) {
            const ptrdiff_t few = few_enough(n);
            if (rr_only) {
                query.first_relevant_place =
                    query.n_listed > 0
                        ? FR_NAME(rank_first)(scores, codes, n, program->first_relevant, memory->keys)
                        : n;
                done = query.first_relevant_place >= 0;
                query.ranking.codes = done ? codes : memory->ranked;
            } else if (n >= 32 && (program->kind_set & FR_FEW_KINDS) == program->kind_set &&
                       (program->first_interesting == program->first_relevant
                            ? n_listed
                            : FR_NAME(count_from)(codes, n, program->first_interesting)) <= few) {
                done = FR_NAME(rank_few)(scores, codes, n, reach, program->first_interesting, memory);
            } else {
                if (n >= FR_NARROW_FROM && reach < n / 8) {
                    query.ranking.n = n = FR_NAME(narrow)(scores, codes, n, reach, sort, memory);
                    scores = memory->scores;
                    codes = memory->near_codes;
                }
                done = FR_NAME(rank_packed)(scores, codes, n, reach < n ? reach : n, top, sort, memory);
            }
        }
        if (!done) {
            const ptrdiff_t n_blocks = FR_NAME(rank_tied)(program, scores, codes, n, sort, memory);
            query.ranking.ends = n_blocks < n ? memory->ends : NULL;
        }
    }
    query.downwards = query.ranking.codes;
    if ((program->kind_set & (1u << FR_TAU)) && query.ranking.ends) {
        for (ptrdiff_t block = 0, start = 0; start < n; block++) {
            const ptrdiff_t end = query.ranking.ends[block], width = end - start;
            for (ptrdiff_t i = 0; i < width; i++)
                memory->keys[i] = -(int64_t)memory->ranked[start + i];
            sort->sort(memory->keys, width, width, memory->work);
            for (ptrdiff_t i = 0; i < width; i++)
                memory->order[start + i] = (int32_t)-memory->keys[i];
            start = end;
        }
        query.downwards = memory->order;
    }
    FR_NAME(measure)(program, &query, memory, batch, q);
}

/* Copy the codes of rows first..last-1 as int32, find the highest and count the relevant ones; returns the first row
 * whose code is no integer in range, or -1. */
FR_TARGET static ptrdiff_t FR_NAME(load_codes)(const fr_program_t *program, const fr_batch_t *batch, ptrdiff_t first,
                                               ptrdiff_t last, int32_t *codes, int32_t *top, int64_t *n_relevant)
{
    const int32_t n_codes = program->n_codes;
    const ptrdiff_t n = last - first;
    int bad = 0;
    int32_t highest = -1;
#if FR_AVX512
    if (batch->code_type != FR_CODES_F64) {
        const __m512i limit = _mm512_set1_epi32(n_codes), relevant = _mm512_set1_epi32(program->first_relevant);
        int64_t count = 0;
        __m512i most = _mm512_set1_epi32(-1);
        __mmask16 outside = 0;
        for (ptrdiff_t i = 0; i < n; i += 16) {
            const __mmask16 here = n - i < 16 ? (__mmask16)((1u << (n - i)) - 1u) : (__mmask16)0xFFFF;
            __m512i code;
            if (batch->code_type == FR_CODES_I32) {
                code = _mm512_maskz_loadu_epi32(here, (const int32_t *)batch->codes + first + i);
            } else { /* unsigned saturation: what does not fit 32 bits is outside */
                const int64_t *from = (const int64_t *)batch->codes + first + i;
                const __m512i low = _mm512_maskz_loadu_epi64((__mmask8)here, from);
                const __m512i high = _mm512_maskz_loadu_epi64((__mmask8)(here >> 8), from + 8);
                code = _mm512_inserti64x4(_mm512_castsi256_si512(_mm512_cvtusepi64_epi32(low)),
                                          _mm512_cvtusepi64_epi32(high), 1);
            }
            outside |= _mm512_cmpge_epu32_mask(code, limit);
            count += __builtin_popcount(_mm512_mask_cmpge_epi32_mask(here, code, relevant));
            most = _mm512_max_epi32(most, code);
            _mm512_storeu_si512(codes + i, code);
        }
        bad = outside != 0;
        highest = n > 0 ? _mm512_reduce_max_epi32(most) : -1;
        *n_relevant = count;
    } else
#endif
    if (batch->code_type == FR_CODES_I32) {
        const int32_t *from = (const int32_t *)batch->codes + first;
        for (ptrdiff_t i = 0; i < n; i++) {
            codes[i] = from[i];
            bad |= (uint32_t)from[i] >= (uint32_t)n_codes;
            highest = from[i] > highest ? from[i] : highest;
        }
    } else if (batch->code_type == FR_CODES_I64) {
        const int64_t *from = (const int64_t *)batch->codes + first;
        for (ptrdiff_t i = 0; i < n; i++) {
            const int32_t code = (int32_t)from[i];
            codes[i] = code;
            bad |= (uint64_t)from[i] >= (uint64_t)n_codes;
            highest = code > highest ? code : highest;
        }
    } else {
        const double *from = (const double *)batch->codes + first;
        for (ptrdiff_t i = 0; i < n; i++) {
            const double inside = from[i] >= 0.0 && from[i] < (double)n_codes ? from[i] : 0.0;
            const int32_t code = (int32_t)inside;
            codes[i] = code;
            bad |= (double)code != from[i];
            highest = code > highest ? code : highest;
        }
    }
    *top = highest;
    if (!FR_AVX512 || batch->code_type == FR_CODES_F64)
        *n_relevant = FR_NAME(count_from)(codes, n, program->first_relevant);
    if (FR_UNLIKELY(bad))
        for (ptrdiff_t i = 0; i < n; i++) {
            const double code = batch->code_type == FR_CODES_I32   ? (double)((const int32_t *)batch->codes)[first + i]
                                : batch->code_type == FR_CODES_I64 ? (double)((const int64_t *)batch->codes)[first + i]
                                                                   : ((const double *)batch->codes)[first + i];
            if (!(code >= 0.0 && code < (double)n_codes && (double)(int32_t)code == code))
                return first + i;
        }
    return -1;
}

#include "fr_tiny.inc.h"

FR_TARGET static ptrdiff_t FR_NAME(run)(const fr_program_t *program, const fr_batch_t *batch)
{
    const FR_REAL *scores = (const FR_REAL *)batch->scores;
    const memory_t memory = carve(batch->work, batch->longest);
    const int tiny = !batch->plain && !batch->missing_ptr && program->monotone &&
                     (program->kind_set & FR_TINY_KINDS) == program->kind_set;
    const size_t code_size = batch->code_type == FR_CODES_I32 ? sizeof(int32_t) : sizeof(int64_t);
    for (ptrdiff_t q = batch->first, count; q < batch->last; q += count) {
        count = tiny && q + 8 <= batch->last && FR_NAME(are_tiny)(batch->qptr + q) ? 8 : 1;
        const ptrdiff_t first = (ptrdiff_t)batch->qptr[q], n = (ptrdiff_t)batch->qptr[q + count] - first;
        if (count == 8) /* short reads from two places: the hardware does not look this far ahead */
            for (size_t ahead = 2048; ahead < 2048 + 5 * 64; ahead += 64) {
                FR_PREFETCH((uintptr_t)scores + (size_t)first * sizeof *scores + ahead);
                FR_PREFETCH((uintptr_t)batch->codes + (size_t)first * code_size + ahead);
            }
        int32_t top;
        int64_t n_relevant;
        const ptrdiff_t bad_code =
            FR_NAME(load_codes)(program, batch, first, first + n, memory.codes, &top, &n_relevant);
        const ptrdiff_t bad_score = scores ? FR_NAME(first_nonfinite)(scores + first, n) : -1;
        if (FR_UNLIKELY(bad_code >= 0 || bad_score >= 0))
            return bad_score >= 0 && (bad_code < 0 || first + bad_score < bad_code) ? first + bad_score : bad_code;
        if (count == 8 && top < FR_FEW_CODES) {
            FR_NAME(eight)(program, batch, scores ? scores + first : NULL, memory.codes, q, &memory);
        } else {
            if (count == 8) {
                count = 1;
                FR_NAME(load_codes)(program, batch, first, (ptrdiff_t)batch->qptr[q + 1], memory.codes, &top,
                                    &n_relevant);
            }
            FR_NAME(query)(program, batch, scores ? scores + first : NULL, memory.codes,
                           (ptrdiff_t)batch->qptr[q + 1] - first, top, n_relevant, q, &memory);
        }
    }
    return -1;
}

FR_TARGET static void FR_NAME(rank)(const void *scores, const int64_t *qptr, ptrdiff_t first, ptrdiff_t last,
                                    ptrdiff_t longest, void *work, int32_t *order)
{
    const memory_t memory = carve(work, longest);
    for (ptrdiff_t q = first; q < last; q++)
        FR_NAME(order_of)((const FR_REAL *)scores + qptr[q], (ptrdiff_t)(qptr[q + 1] - qptr[q]), fr_sort(FR_LEVEL),
                          memory.keys, memory.work, order + qptr[q]);
}

static const fr_metrics_t FR_NAME(table) = {FR_NAME(run), FR_NAME(rank)};

#undef FR_NAME
#undef FR_HOT
#undef FR_REAL
#undef FR_SINGLE
#undef FR_LEVEL
#undef FR_AVX512
#undef FR_TARGET
#undef FR_SUFFIX
#undef FR_ANY_FROM
