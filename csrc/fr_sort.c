#include "fr_sort.h"

#include <string.h>

#if FR_HAS_LEVELS
#include <immintrin.h>
#endif

/* Runs of this many keys are sorted by insertion before they are merged. */
enum { RUN = 8 };

/* Merge sort from short runs upwards, without branches that depend on keys. */
static void sort_base(int64_t *keys, ptrdiff_t n, ptrdiff_t depth, int64_t *work)
{
    (void)depth;
    for (ptrdiff_t first = 0; first < n; first += RUN) {
        const ptrdiff_t last = n - first < RUN ? n : first + RUN;
        for (ptrdiff_t i = first + 1; i < last; i++) {
            const int64_t key = keys[i];
            ptrdiff_t j = i;
            for (; j > first && keys[j - 1] > key; j--)
                keys[j] = keys[j - 1];
            keys[j] = key;
        }
    }
    int64_t *from = keys, *to = work;
    for (ptrdiff_t width = RUN; width < n; width *= 2) {
        for (ptrdiff_t first = 0; first < n; first += 2 * width) {
            const ptrdiff_t middle = n - first < width ? n : first + width;
            const ptrdiff_t last = n - first < 2 * width ? n : first + 2 * width;
            ptrdiff_t i = first, j = middle, out = first;
            while (i < middle && j < last) {
                const int64_t a = from[i], b = from[j];
                const ptrdiff_t second = b < a;
                to[out++] = second ? b : a;
                i += 1 - second;
                j += second;
            }
            memcpy(to + out, from + i, (size_t)(middle - i) * sizeof *to);
            memcpy(to + out + (middle - i), from + j, (size_t)(last - j) * sizeof *to);
        }
        int64_t *swap = from;
        from = to;
        to = swap;
    }
    if (from != keys)
        memcpy(keys, from, (size_t)n * sizeof *keys);
}

static const fr_sort_t table_base = {sort_base};

#if FR_HAS_LEVELS

/* AVX-512: 8 keys a vector. Lane permutations are constants; masks choose which lanes keep the larger key. */
#define FR_SUFFIX v4
#define FR_TARGET FR_TARGET_V4
#define FR_LANES 8
#define FR_VECTOR __m512i
#define FR_LOAD(p) _mm512_loadu_si512((const void *)(p))
#define FR_STORE(p, v) _mm512_storeu_si512((void *)(p), v)
#define FR_LOAD_FIRST(p, count) \
    _mm512_mask_loadu_epi64(_mm512_set1_epi64(INT64_MAX), (__mmask8)((1u << (count)) - 1u), (const void *)(p))
#define FR_STORE_FIRST(p, count, v) _mm512_mask_storeu_epi64((void *)(p), (__mmask8)((1u << (count)) - 1u), v)
#define FR_FILL(x) _mm512_set1_epi64(x)
#define FR_MIN(a, b) _mm512_min_epi64(a, b)
#define FR_MAX(a, b) _mm512_max_epi64(a, b)
#define FR_REVERSE(v) _mm512_permutexvar_epi64(_mm512_set_epi64(0, 1, 2, 3, 4, 5, 6, 7), v)
/* Compare lane i with lane partner[i]; lanes in `larger` keep the larger key. */
#define FR_EXCHANGE(v, partners, larger)                                                             \
    do {                                                                                             \
        const __m512i other_ = (partners);                                                           \
        v = _mm512_mask_max_epi64(_mm512_min_epi64(v, other_), (__mmask8)(larger), v, other_);        \
    } while (0)
#define FR_STEP_4(v) FR_EXCHANGE(v, _mm512_shuffle_i64x2(v, v, 0x4E), 0xF0)
#define FR_STEP_2(v) FR_EXCHANGE(v, _mm512_permutex_epi64(v, 0x4E), 0xCC)
#define FR_STEP_1(v) FR_EXCHANGE(v, _mm512_shuffle_epi32(v, (_MM_PERM_ENUM)0x4E), 0xAA)
#define FR_MIRROR_4(v) FR_EXCHANGE(v, _mm512_permutex_epi64(v, 0x1B), 0xCC)
#define FR_MIRROR_8(v) FR_EXCHANGE(v, FR_REVERSE(v), 0xF0)
#define FR_SORT_VECTOR(v) \
    do {                  \
        FR_STEP_1(v);     \
        FR_MIRROR_4(v);   \
        FR_STEP_1(v);     \
        FR_MIRROR_8(v);   \
        FR_STEP_2(v);     \
        FR_STEP_1(v);     \
    } while (0)
#define FR_MERGE_VECTOR(v) \
    do {                   \
        FR_STEP_4(v);      \
        FR_STEP_2(v);      \
        FR_STEP_1(v);      \
    } while (0)
/* The keys below the pivot to low, the others to high, in order; returns how many went to low. */
#define FR_SPLIT(v, pivot, strict, low, high, n_low)                                                              \
    do {                                                                                                          \
        const __mmask8 below_ =                                                                                   \
            (strict) ? _mm512_cmplt_epi64_mask(v, pivot) : _mm512_cmple_epi64_mask(v, pivot);                     \
        FR_STORE(low, _mm512_maskz_compress_epi64(below_, v));                                                    \
        FR_STORE(high, _mm512_maskz_compress_epi64((__mmask8)~below_, v));                                        \
        n_low = __builtin_popcount(below_);                                                                       \
    } while (0)
#include "fr_sort.inc.h"

/* AVX2: 4 keys a vector. */
#define FR_SUFFIX v3
#define FR_TARGET FR_TARGET_V3
#define FR_LANES 4
#define FR_VECTOR __m256i
#define FR_LOAD(p) _mm256_loadu_si256((const __m256i *)(const void *)(p))
#define FR_STORE(p, v) _mm256_storeu_si256((__m256i *)(void *)(p), v)
#define FR_FILL(x) _mm256_set1_epi64x(x)
#define FR_FIRST_(count) \
    _mm256_cmpgt_epi64(_mm256_set1_epi64x((long long)(count)), _mm256_set_epi64x(3, 2, 1, 0))
#define FR_LOAD_FIRST(p, count)                                                                        \
    _mm256_blendv_epi8(FR_FILL(INT64_MAX),                                                             \
                       _mm256_maskload_epi64((const long long *)(const void *)(p), FR_FIRST_(count)), \
                       FR_FIRST_(count))
#define FR_STORE_FIRST(p, count, v) _mm256_maskstore_epi64((long long *)(void *)(p), FR_FIRST_(count), v)
#define FR_MIN(a, b) _mm256_blendv_epi8(a, b, _mm256_cmpgt_epi64(a, b))
#define FR_MAX(a, b) _mm256_blendv_epi8(b, a, _mm256_cmpgt_epi64(a, b))
#define FR_REVERSE(v) _mm256_permute4x64_epi64(v, 0x1B)
#define FR_EXCHANGE(v, partners, larger)                                           \
    do {                                                                           \
        const __m256i other_ = (partners), greater_ = _mm256_cmpgt_epi64(v, other_); \
        v = _mm256_blend_epi32(_mm256_blendv_epi8(v, other_, greater_),            \
                               _mm256_blendv_epi8(other_, v, greater_), larger);   \
    } while (0)
#define FR_STEP_2(v) FR_EXCHANGE(v, _mm256_permute4x64_epi64(v, 0x4E), 0xF0)
#define FR_STEP_1(v) FR_EXCHANGE(v, _mm256_shuffle_epi32(v, 0x4E), 0xCC)
#define FR_MIRROR_4(v) FR_EXCHANGE(v, FR_REVERSE(v), 0xF0)
#define FR_SORT_VECTOR(v) \
    do {                  \
        FR_STEP_1(v);     \
        FR_MIRROR_4(v);   \
        FR_STEP_1(v);     \
    } while (0)
#define FR_MERGE_VECTOR(v) \
    do {                   \
        FR_STEP_2(v);      \
        FR_STEP_1(v);      \
    } while (0)
/* compress_v3[mask]: the lanes in mask first, as pairs of 32-bit lanes. */
#define FR_PAIRS_(a, b, c, d) {2 * (a), 2 * (a) + 1, 2 * (b), 2 * (b) + 1, 2 * (c), 2 * (c) + 1, 2 * (d), 2 * (d) + 1}
static const int32_t compress_v3[16][8] = {
    FR_PAIRS_(0, 1, 2, 3), FR_PAIRS_(0, 1, 2, 3), FR_PAIRS_(1, 0, 2, 3), FR_PAIRS_(0, 1, 2, 3),
    FR_PAIRS_(2, 0, 1, 3), FR_PAIRS_(0, 2, 1, 3), FR_PAIRS_(1, 2, 0, 3), FR_PAIRS_(0, 1, 2, 3),
    FR_PAIRS_(3, 0, 1, 2), FR_PAIRS_(0, 3, 1, 2), FR_PAIRS_(1, 3, 0, 2), FR_PAIRS_(0, 1, 3, 2),
    FR_PAIRS_(2, 3, 0, 1), FR_PAIRS_(0, 2, 3, 1), FR_PAIRS_(1, 2, 3, 0), FR_PAIRS_(0, 1, 2, 3),
};
#define FR_COMPRESS_(v, mask) _mm256_permutevar8x32_epi32(v, FR_LOAD(compress_v3[mask]))
#define FR_SPLIT(v, pivot, strict, low, high, n_low)                                                               \
    do {                                                                                                           \
        const __m256i compared_ = (strict) ? _mm256_cmpgt_epi64(pivot, v) : _mm256_cmpgt_epi64(v, pivot);          \
        const int found_ = _mm256_movemask_pd(_mm256_castsi256_pd(compared_)), below_ = (strict) ? found_ : 15 & ~found_; \
        FR_STORE(low, FR_COMPRESS_(v, below_));                                                                    \
        FR_STORE(high, FR_COMPRESS_(v, 15 & ~below_));                                                             \
        n_low = __builtin_popcount((unsigned)below_);                                                              \
    } while (0)
#include "fr_sort.inc.h"
#undef FR_PAIRS_
#undef FR_FIRST_
#undef FR_COMPRESS_

const fr_sort_t *fr_sort(int level)
{
    return level == FR_CPU_V4 ? &table_v4 : level == FR_CPU_V3 ? &table_v3 : &table_base;
}

#else

const fr_sort_t *fr_sort(int level)
{
    (void)level;
    return &table_base;
}

#endif
