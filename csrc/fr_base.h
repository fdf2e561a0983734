/* What every unit of csrc shares: status codes, restrict, CPU levels.
 *
 * (a) Plain C11: no Python.h, no malloc, no mutable globals. Callers own all memory.
 * (b) Sizes are ptrdiff_t, offsets int64_t, positions inside a query int32_t, sums double.
 * (c) Argument order: const inputs, sizes, parameters, workspace, outputs.
 * (d) Every external symbol starts with fr_.
 */
#ifndef FR_BASE_H
#define FR_BASE_H

#include <stddef.h>
#include <stdint.h>

#if defined(_MSC_VER)
#define FR_RESTRICT __restrict
#define FR_INLINE static __forceinline
#define FR_UNLIKELY(x) (x)
#define FR_PREFETCH(address) ((void)(address))
#else
#define FR_RESTRICT restrict
#define FR_INLINE static inline __attribute__((always_inline))
#define FR_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define FR_PREFETCH(address) __builtin_prefetch((const void *)(address))
#endif

/* Pastes after expanding, for the templates that are included once per type. */
#define FR_PASTE_(a, b) a##_##b
#define FR_PASTE(a, b) FR_PASTE_(a, b)

#endif
