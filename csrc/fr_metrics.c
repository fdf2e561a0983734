#include "fr_metrics.h"

#include <math.h>
#include <string.h>

#include "fr_blocks.h"
#if FR_HAS_LEVELS
#include <immintrin.h>
#endif

/* Parts of the workspace, each for the longest list. */
typedef struct {
    int64_t *keys, *work;
    void *scores; /* of a narrowed list */
    int32_t *codes, *near_codes, *pool, *ranked, *ideal, *order, *ends;
} memory_t;

/* One query on its way to its measures. */
typedef struct {
    fr_ranking_t ranking;
    const int32_t *downwards; /* the ranking with codes descending inside blocks, for tau */
    ptrdiff_t n, n_ideal;
    ptrdiff_t first_relevant_place; /* 0-based, where it is all that is known; else -1 */
    int64_t n_listed;               /* relevant documents in the list itself */
    int32_t top;                    /* the highest code */
} query_t;

enum {
    FR_FEW = 32,            /* documents whose ranks are counted rather than sorted, at most */
    FR_NARROW_FROM = 2048,  /* shorter lists are sorted partially rather than narrowed */
    FR_COUNTED_CODES = 16,  /* up to this code, the ideal order comes from counts */
    FR_FEW_CODES = 15,      /* codes below it have their gains in few_gains */
    FR_NO_CODE = 15,        /* low bits of a place without a document */
    PART_ALIGNMENT = 64
};
#define FR_FEW_KINDS                                                                                            \
    ((1u << FR_DCG) | (1u << FR_NDCG) | (1u << FR_AP) | (1u << FR_RR) | (1u << FR_PRECISION) | (1u << FR_RECALL) | \
     (1u << FR_SUCCESS) | (1u << FR_WTA) | (1u << FR_RPREC))

#define FR_SET_KINDS ((1u << FR_PRECISION) | (1u << FR_RECALL) | (1u << FR_SUCCESS))
#define FR_TINY_KINDS (FR_FEW_KINDS & ~(1u << FR_RPREC))

/* Eight numbers side by side; compilers make of them what the CPU level has. A comparison gives -1 where it holds. */
typedef double fr_reals_t __attribute__((vector_size(64)));
typedef int64_t fr_wholes_t __attribute__((vector_size(64)));
#define FR_SELECT(mask, a, b) ((fr_reals_t)(((fr_wholes_t)(a) & (mask)) | ((fr_wholes_t)(b) & ~(mask))))

typedef union {
    fr_reals_t reals;
    fr_wholes_t wholes;
    double real[8];
    int64_t whole[8];
} tiny_row_t;

/* Eight tiny queries, one lane each. */
typedef struct {
    tiny_row_t codes[8], ideal[8];
    tiny_row_t top, tied, sizes;
    tiny_row_t relevant; /* documents, where sets */
    int most;            /* documents of the longest */
    int sets;            /* no measure asks for the order */
} tiny_t;

/* The fewest exchanges that sort 2 to 8 things; a pair with 0 second ends a list. */
static const uint8_t fr_networks[9][20][2] = {
    {{0, 0}},
    {{0, 0}},
    {{0, 1}},
    {{0, 2}, {0, 1}, {1, 2}},
    {{0, 1}, {2, 3}, {0, 2}, {1, 3}, {1, 2}},
    {{0, 3}, {1, 4}, {0, 2}, {1, 3}, {0, 1}, {2, 4}, {1, 2}, {3, 4}, {2, 3}},
    {{0, 5}, {1, 3}, {2, 4}, {1, 2}, {3, 4}, {0, 3}, {2, 5}, {0, 1}, {2, 3}, {4, 5}, {1, 2}, {3, 4}},
    {{0, 6}, {2, 3}, {4, 5}, {0, 2}, {1, 4}, {3, 6}, {0, 1}, {2, 5},
     {3, 4}, {1, 2}, {4, 6}, {2, 3}, {4, 5}, {1, 2}, {3, 4}, {5, 6}},
    {{0, 2}, {1, 3}, {4, 6}, {5, 7}, {0, 4}, {1, 5}, {2, 6}, {3, 7}, {0, 1}, {2, 3},
     {4, 5}, {6, 7}, {2, 4}, {3, 5}, {1, 4}, {3, 6}, {1, 2}, {3, 4}, {5, 6}},
};

static size_t part_bytes(ptrdiff_t longest, size_t item)
{
    const size_t bytes = ((size_t)(longest < 64 ? 64 : longest) + 2 * FR_SORT_PAD) * item; /* eight tiny queries: 64 */
    return (bytes + PART_ALIGNMENT - 1) / PART_ALIGNMENT * PART_ALIGNMENT;
}

size_t fr_metrics_workspace(ptrdiff_t longest)
{
    return 3 * part_bytes(longest, sizeof(int64_t)) + 7 * part_bytes(longest, sizeof(int32_t));
}

static memory_t carve(void *work, ptrdiff_t longest)
{
    char *next = (char *)work;
    const size_t wide = part_bytes(longest, sizeof(int64_t)), narrow = part_bytes(longest, sizeof(int32_t));
    memory_t memory;
    memory.keys = (int64_t *)(void *)next;
    memory.work = (int64_t *)(void *)(next + wide);
    memory.scores = next + 2 * wide;
    next += 3 * wide;
    int32_t **parts[] = {&memory.codes, &memory.near_codes, &memory.pool, &memory.ranked,
                         &memory.ideal, &memory.order,      &memory.ends};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++, next += narrow)
        *parts[i] = (int32_t *)(void *)next;
    return memory;
}

/* Counting a rank costs a read of the list; sorting costs more the longer it is. */
static ptrdiff_t few_enough(ptrdiff_t n)
{
    return n < 256 ? 12 : n < 1024 ? 20 : FR_FEW;
}

/* FR_ANY_FROM: whether one of eight scores is at least `least`. */
#define FR_ANY_PLAIN(p, least) \
    ((p)[0] >= (least) || (p)[1] >= (least) || (p)[2] >= (least) || (p)[3] >= (least) || (p)[4] >= (least) || \
     (p)[5] >= (least) || (p)[6] >= (least) || (p)[7] >= (least))
#define FR_ANY_SINGLE(p, least) \
    _mm256_movemask_ps(_mm256_cmp_ps(_mm256_loadu_ps(p), _mm256_set1_ps(least), _CMP_GE_OQ))

#define FR_REAL double
#define FR_SINGLE 0
#define FR_LEVEL FR_CPU_BASELINE
#define FR_AVX512 0
#define FR_TARGET
#define FR_SUFFIX f64_base
#define FR_ANY_FROM FR_ANY_PLAIN
#include "fr_metrics.inc.h"
#define FR_REAL float
#define FR_SINGLE 1
#define FR_LEVEL FR_CPU_BASELINE
#define FR_AVX512 0
#define FR_TARGET
#define FR_SUFFIX f32_base
#define FR_ANY_FROM FR_ANY_PLAIN
#include "fr_metrics.inc.h"
#if FR_HAS_LEVELS
#define FR_REAL double
#define FR_SINGLE 0
#define FR_LEVEL FR_CPU_V3
#define FR_AVX512 0
#define FR_TARGET FR_TARGET_V3
#define FR_SUFFIX f64_v3
#define FR_ANY_FROM(p, least)                                                                        \
    _mm256_movemask_pd(_mm256_or_pd(_mm256_cmp_pd(_mm256_loadu_pd(p), _mm256_set1_pd(least), _CMP_GE_OQ), \
                                    _mm256_cmp_pd(_mm256_loadu_pd((p) + 4), _mm256_set1_pd(least), _CMP_GE_OQ)))
#include "fr_metrics.inc.h"
#define FR_REAL float
#define FR_SINGLE 1
#define FR_LEVEL FR_CPU_V3
#define FR_AVX512 0
#define FR_TARGET FR_TARGET_V3
#define FR_SUFFIX f32_v3
#define FR_ANY_FROM FR_ANY_SINGLE
#include "fr_metrics.inc.h"
#define FR_REAL double
#define FR_SINGLE 0
#define FR_LEVEL FR_CPU_V4
#define FR_AVX512 1
#define FR_TARGET FR_TARGET_V4
#define FR_SUFFIX f64_v4
#define FR_ANY_FROM(p, least) _mm512_cmp_pd_mask(_mm512_loadu_pd(p), _mm512_set1_pd(least), _CMP_GE_OQ)
#include "fr_metrics.inc.h"
#define FR_REAL float
#define FR_SINGLE 1
#define FR_LEVEL FR_CPU_V4
#define FR_AVX512 1
#define FR_TARGET FR_TARGET_V4
#define FR_SUFFIX f32_v4
#define FR_ANY_FROM FR_ANY_SINGLE
#include "fr_metrics.inc.h"
#endif

const fr_metrics_t *fr_metrics_f32(int level)
{
    return FR_CHOOSE(level, table_f32_base, table_f32_v3, table_f32_v4);
}

const fr_metrics_t *fr_metrics_f64(int level)
{
    return FR_CHOOSE(level, table_f64_base, table_f64_v3, table_f64_v4);
}

void fr_program_prepare(fr_program_t *program, void *work)
{
    const int32_t n = program->n_codes;
    const int64_t all[2] = {0, n};
    fr_metrics_f64(FR_CPU_BASELINE)->rank(program->gains, all, 0, 1, n, work, program->by_gain);
    program->n_gaining = 0;
    for (int32_t place = 0; place < n; place++) {
        program->gain_place[program->by_gain[place]] = place;
        program->n_gaining += program->gains[program->by_gain[place]] > 0.0;
    }
    program->first_interesting = program->first_relevant;
    for (int32_t code = 0; code < program->first_interesting; code++)
        if (program->gains[code] > 0.0)
            program->first_interesting = code;
    program->monotone = 1;
    for (int32_t code = 1; code < n; code++)
        program->monotone &= program->gains[code - 1] <= program->gains[code];
    for (int32_t code = 0; code < 16; code++)
        program->few_gains[code] = code < n && code < FR_FEW_CODES ? program->gains[code] : 0.0;
    program->kind_set = 0;
    program->ndcg_depth = 0;
    for (ptrdiff_t m = 0; m < program->n_measures; m++) {
        program->kind_set |= 1u << program->kinds[m];
        const int64_t cut = program->cuts[m] > 0 ? program->cuts[m] : INT64_MAX;
        if (program->kinds[m] == FR_NDCG && cut > program->ndcg_depth)
            program->ndcg_depth = cut;
    }
}
