/* Ways to rank the documents of a query, for one score type and CPU level: included by fr_metrics.inc.h.
 *
 * rank_packed, rank_few, rank_first and narrow are for queries without ties where it matters; each says when it found
 * one. rank_tied is for any query. */

/* The bits of a score as an integer that is smaller for a higher score; -0.0 and 0.0 are one. For float, they fill the
 * upper half. The same function turns the integer back. */
FR_HOT int64_t FR_NAME(key_of)(FR_REAL score)
{
    const FR_REAL value = score + (FR_REAL)0.0;
#if FR_SINGLE
    int32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (int64_t)((uint64_t)(uint32_t) ~(bits ^ ((bits >> 31) & INT32_MAX)) << 32);
#else
    int64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return ~(bits ^ ((bits >> 63) & INT64_MAX));
#endif
}

FR_HOT FR_REAL FR_NAME(score_of)(int64_t key)
{
    FR_REAL score;
#if FR_SINGLE
    const int32_t flipped = (int32_t) ~(key >> 32), bits = flipped ^ ((flipped >> 31) & INT32_MAX);
#else
    const int64_t flipped = ~key, bits = flipped ^ ((flipped >> 63) & INT64_MAX);
#endif
    memcpy(&score, &bits, sizeof score);
    return score;
}

/* The low bits of a key that may hold numbers up to `most`. */
FR_HOT int64_t FR_NAME(room_for)(int64_t most)
{
#if FR_SINGLE
    (void)most;
    return INT64_C(0xFFFFFFFF);
#else
    return most > 0 ? (int64_t)(UINT64_MAX >> __builtin_clzll((unsigned long long)most)) : 0;
#endif
}

FR_TARGET static ptrdiff_t FR_NAME(first_nonfinite)(const FR_REAL *scores, ptrdiff_t n)
{
    enum { CHUNK = 256 };
#if FR_AVX512 && !FR_SINGLE
    __mmask8 odd = 0;
    const __m512i exponent = _mm512_set1_epi64(INT64_C(0x7FF0000000000000));
    for (ptrdiff_t i = 0; i < n; i += 8) {
        const __mmask8 here = n - i < 8 ? (__mmask8)((1u << (n - i)) - 1u) : (__mmask8)0xFF;
        const __m512i bits = _mm512_maskz_loadu_epi64(here, (const void *)(scores + i));
        odd |= _mm512_cmpeq_epi64_mask(_mm512_and_si512(bits, exponent), exponent);
    }
    if (!odd)
        return -1;
#endif
    for (ptrdiff_t first = 0; first < n; first += CHUNK) {
        const ptrdiff_t last = n - first < CHUNK ? n : first + CHUNK;
        int found = 0;
        for (ptrdiff_t i = first; i < last; i++) /* x - x is NaN for NaN and infinities, else 0 */
            found |= !(scores[i] - scores[i] == (FR_REAL)0.0);
        if (FR_UNLIKELY(found))
            for (ptrdiff_t i = first; i < last; i++)
                if (!(scores[i] - scores[i] == (FR_REAL)0.0))
                    return i;
    }
    return -1;
}

/* The general way, for any scores: full keys in index order, then keys that share their upper bits are told apart by the
 * lower ones. order: positions by score, equal scores by index. */
FR_TARGET static void FR_NAME(order_of)(const FR_REAL *scores, ptrdiff_t n, const fr_sort_t *sort, int64_t *keys,
                                        int64_t *work, int32_t *order)
{
    const int64_t room = FR_NAME(room_for)((int64_t)n - 1);
    for (ptrdiff_t i = 0; i < n; i++)
        keys[i] = (FR_NAME(key_of)(scores[i]) & ~room) | (int64_t)i;
    sort->sort(keys, n, n, work);
    for (ptrdiff_t i = 0; i < n; i++)
        order[i] = (int32_t)(keys[i] & room);
#if !FR_SINGLE
    const int shift = 64 - __builtin_clzll((unsigned long long)room | 1u);
    for (ptrdiff_t start = 0; start < n;) {
        ptrdiff_t end = start + 1;
        int64_t differ = 0;
        const int64_t head = FR_NAME(key_of)(scores[order[start]]);
        while (end < n && ((keys[end] ^ keys[start]) & ~room) == 0) {
            differ |= head ^ FR_NAME(key_of)(scores[order[end]]);
            end++;
        }
        if (differ) {
            for (ptrdiff_t i = start; i < end; i++) {
                const int64_t index = order[i];
                keys[i] = (int64_t)((uint64_t)(FR_NAME(key_of)(scores[index]) & room) << shift) | index;
            }
            sort->sort(keys + start, end - start, end - start, work);
            for (ptrdiff_t i = start; i < end; i++)
                order[i] = (int32_t)(keys[i] & room);
        }
        start = end;
    }
#endif
}

/* Rank by order_of and apply the rule for ties: ranked codes, and the ends of tied blocks. Returns the number of
 * blocks. */
FR_TARGET static ptrdiff_t FR_NAME(rank_tied)(const fr_program_t *program, const FR_REAL *scores, const int32_t *codes,
                                              ptrdiff_t n, const fr_sort_t *sort, const memory_t *memory)
{
    int32_t *order = memory->order, *ranked = memory->ranked, *ends = memory->ends;
    FR_NAME(order_of)(scores, n, sort, memory->keys, memory->work, order);
    ptrdiff_t n_blocks = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        ranked[i] = codes[order[i]];
        if (i + 1 == n || scores[order[i]] != scores[order[i + 1]])
            ends[n_blocks++] = (int32_t)(i + 1);
    }
    const int downwards = program->ties == FR_TIES_BEST, by_index = program->ties == FR_TIES_INDEX;
    for (ptrdiff_t block = 0, start = 0; block < n_blocks && !by_index; block++) {
        const ptrdiff_t size = ends[block] - start;
        if (size > 1) {
            for (ptrdiff_t i = 0; i < size; i++)
                memory->keys[i] = downwards ? -(int64_t)ranked[start + i] : (int64_t)ranked[start + i];
            sort->sort(memory->keys, size, size, memory->work);
            for (ptrdiff_t i = 0; i < size; i++)
                ranked[start + i] = (int32_t)(downwards ? -memory->keys[i] : memory->keys[i]);
        }
        start = ends[block];
    }
    return n_blocks;
}

/* Rank with the code in the low bits of the key; 0 where two of the first depth + 1 documents (may) tie. */
FR_TARGET static int FR_NAME(rank_packed)(const FR_REAL *scores, const int32_t *codes, ptrdiff_t n, ptrdiff_t depth,
                                          int32_t top, const fr_sort_t *sort, const memory_t *memory)
{
    const int64_t room = FR_NAME(room_for)(top);
    int64_t *keys = memory->keys;
    ptrdiff_t done = 0;
#if FR_AVX512 && !FR_SINGLE
    const __m512i rooms = _mm512_set1_epi64(room), magnitude = _mm512_set1_epi64(INT64_MAX);
    for (; done < n; done += 8) { /* what is written behind the list is room for the sort */
        const __mmask8 here = n - done < 8 ? (__mmask8)((1u << (n - done)) - 1u) : (__mmask8)0xFF;
        const __m512d score = _mm512_add_pd(_mm512_maskz_loadu_pd(here, scores + done), _mm512_setzero_pd());
        const __m512i bits = _mm512_castpd_si512(score), negative = _mm512_srai_epi64(bits, 63);
        const __m512i flipped = _mm512_xor_si512(bits, _mm512_and_si512(negative, magnitude));
        const __m512i code = _mm512_cvtepi32_epi64(_mm256_loadu_si256((const __m256i *)(const void *)(codes + done)));
        /* not flipped, but the room holds the code */
        _mm512_storeu_si512(keys + done, _mm512_or_si512(code, _mm512_andnot_si512(_mm512_or_si512(flipped, rooms),
                                                                                   _mm512_set1_epi64(-1))));
    }
    done = n;
#endif
    for (ptrdiff_t i = done; i < n; i++)
        keys[i] = (FR_NAME(key_of)(scores[i]) & ~room) | (int64_t)codes[i];
    const ptrdiff_t sorted = depth < n ? depth + 1 : n;
    sort->sort(keys, n, sorted, memory->work);
    int tied = 0;
    for (ptrdiff_t i = 0; i + 1 < sorted; i++)
        tied |= ((keys[i] ^ keys[i + 1]) & ~room) == 0;
    for (ptrdiff_t i = 0; i < sorted; i++)
        memory->ranked[i] = (int32_t)(keys[i] & room);
    return !tied;
}

/* Count the ranks of the few documents whose codes matter; 0 where one of them ties with another document. */
FR_TARGET static int FR_NAME(rank_few)(const FR_REAL *scores, const int32_t *codes, ptrdiff_t n, ptrdiff_t depth,
                                       int32_t first_interesting, const memory_t *memory)
{
    enum { AT_ONCE = 4 };
    int32_t places[FR_FEW + AT_ONCE];
    ptrdiff_t count = 0;
    for (ptrdiff_t i = 0; i < n && count < FR_FEW; i++)
        if (codes[i] >= first_interesting)
            places[count++] = (int32_t)i;
    memset(memory->ranked, 0, (size_t)depth * sizeof *memory->ranked);
    for (ptrdiff_t first = 0; first < count; first += AT_ONCE) {
        FR_REAL mine[AT_ONCE];
        for (int j = 0; j < AT_ONCE; j++) /* the last group may repeat a document */
            mine[j] = scores[places[first + j < count ? first + j : count - 1]];
#if FR_SINGLE
        int32_t above[AT_ONCE] = {0}, level[AT_ONCE] = {0};
#else
        int64_t above[AT_ONCE] = {0}, level[AT_ONCE] = {0};
#endif
        ptrdiff_t i = 0;
#if FR_AVX512 && !FR_SINGLE
        const __m512i one = _mm512_set1_epi64(1);
        __m512d mines[AT_ONCE];
        __m512i aboves[AT_ONCE], levels[AT_ONCE];
        _Pragma("GCC unroll 8") for (int j = 0; j < AT_ONCE; j++)
        {
            mines[j] = _mm512_set1_pd(mine[j]);
            aboves[j] = levels[j] = _mm512_setzero_si512();
        }
        for (; i + 8 <= n; i += 8) {
            const __m512d score = _mm512_loadu_pd(scores + i);
            _Pragma("GCC unroll 8") for (int j = 0; j < AT_ONCE; j++)
            {
                const __mmask8 more = _mm512_cmp_pd_mask(score, mines[j], _CMP_GT_OQ);
                const __mmask8 same = _mm512_cmp_pd_mask(score, mines[j], _CMP_GE_OQ);
                aboves[j] = _mm512_mask_add_epi64(aboves[j], more, aboves[j], one);
                levels[j] = _mm512_mask_add_epi64(levels[j], same, levels[j], one);
            }
        }
        for (int j = 0; j < AT_ONCE; j++) {
            above[j] = _mm512_reduce_add_epi64(aboves[j]);
            level[j] = _mm512_reduce_add_epi64(levels[j]);
        }
#endif
        for (; i < n; i++)
            for (int j = 0; j < AT_ONCE; j++) {
                above[j] += scores[i] > mine[j];
                level[j] += scores[i] >= mine[j];
            }
        for (int j = 0; j < AT_ONCE && first + j < count; j++) {
            if (level[j] - above[j] != 1)
                return 0;
            if (above[j] < depth)
                memory->ranked[above[j]] = codes[places[first + j]];
        }
    }
    return 1;
}

/* Rank of the first relevant document alone: 0-based, or -1 where it ties with another document. */
FR_TARGET static ptrdiff_t FR_NAME(rank_first)(const FR_REAL *scores, const int32_t *codes, ptrdiff_t n,
                                               int32_t first_relevant, int64_t *keys)
{
    int64_t best = INT64_MAX, above = 0, level = 0;
    for (ptrdiff_t i = 0; i < n; i++)
        keys[i] = FR_NAME(key_of)(scores[i]);
    for (ptrdiff_t i = 0; i < n; i++) {
        const int64_t mask = -(int64_t)(codes[i] >= first_relevant), key = (keys[i] & mask) | (INT64_MAX & ~mask);
        best = key < best ? key : best;
    }
    for (ptrdiff_t i = 0; i < n; i++) {
        above += keys[i] < best;
        level += keys[i] <= best;
    }
    return level - above == 1 ? (ptrdiff_t)above : -1;
}

/* Keep the documents whose score is at least the depth-th highest one, in row order; returns how many. Two reads of the
 * scores; the candidates of the first are few, unless scores ascend. */
FR_TARGET static ptrdiff_t FR_NAME(narrow)(const FR_REAL *scores, const int32_t *codes, ptrdiff_t n, ptrdiff_t depth,
                                           const fr_sort_t *sort, const memory_t *memory)
{
    const ptrdiff_t most = 2 * depth + 256 < n ? 2 * depth + 256 : n;
    int64_t *candidates = memory->keys;
    FR_REAL least = -INFINITY, *near_scores = memory->scores;
    ptrdiff_t count = 0;
    for (ptrdiff_t first = 0; first < n; first += 8) {
        const ptrdiff_t last = n - first < 8 ? n : first + 8;
        if (last - first == 8 && !FR_ANY_FROM(scores + first, least))
            continue;
        for (ptrdiff_t i = first; i < last; i++)
            if (scores[i] >= least) {
                if (count == most) {
                    sort->sort(candidates, count, depth, memory->work);
                    least = FR_NAME(score_of)(candidates[depth - 1]);
                    count = depth;
                }
                candidates[count++] = FR_NAME(key_of)(scores[i]);
            }
    }
    sort->sort(candidates, count, depth, memory->work);
    least = FR_NAME(score_of)(candidates[depth - 1]);
    count = 0;
    for (ptrdiff_t first = 0; first < n; first += 8) {
        const ptrdiff_t last = n - first < 8 ? n : first + 8;
        if (last - first == 8 && !FR_ANY_FROM(scores + first, least))
            continue;
        for (ptrdiff_t i = first; i < last; i++) {
            near_scores[count] = scores[i];
            memory->near_codes[count] = codes[i];
            count += scores[i] >= least;
        }
    }
    return count;
}
