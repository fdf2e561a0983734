/* CPU levels for run-time dispatch.
 *
 * A dispatched unit includes its template once per level, each copy compiled for that level's instruction set, and
 * chooses by the `level` argument. The template spells out the order of every floating-point operation and the build
 * forbids contraction, so all levels return the same bits. An argument rather than an ifunc: the choice can be forced
 * (FASTRANK_CPU), every level can be tested in one process, and it works on musl.
 */
#ifndef FR_CPU_H
#define FR_CPU_H

#include "fr_base.h"

enum { FR_CPU_BASELINE = 0, FR_CPU_V3 = 1, FR_CPU_V4 = 2 };

/* FR_HAS_LEVELS: the compiler can build functions for x86-64-v3 and v4 beside the baseline. */
#if defined(__x86_64__) && (defined(__clang__) ? (__clang_major__ >= 18) : (defined(__GNUC__) && __GNUC__ >= 12))
#define FR_HAS_LEVELS 1
#define FR_TARGET_V3 __attribute__((target("arch=x86-64-v3")))
#define FR_TARGET_V4 __attribute__((target("arch=x86-64-v4,prefer-vector-width=512")))
#else
#define FR_HAS_LEVELS 0
#endif

/* The address of a level's table; a level this build does not have gives the baseline. */
#if FR_HAS_LEVELS
#define FR_CHOOSE(level, base, v3, v4) ((level) == FR_CPU_V4 ? &(v4) : (level) == FR_CPU_V3 ? &(v3) : &(base))
#else
#define FR_CHOOSE(level, base, v3, v4) ((void)(level), &(base))
#endif

/* The highest level that both this build and this processor support. */
int fr_cpu_best(void);

/* The compiler that built this code, e.g. "gcc 12.2.0". */
const char *fr_cpu_compiler(void);

#endif
