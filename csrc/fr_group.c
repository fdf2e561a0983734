#include "fr_group.h"

int32_t fr_group_direct(const int64_t *FR_RESTRICT keys, ptrdiff_t n, int64_t least, int32_t *FR_RESTRICT table,
                        int32_t *FR_RESTRICT codes)
{
    int32_t n_codes = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        /* unsigned, so that a range wider than half of int64 does not overflow */
        int32_t *slot = table + ((uint64_t)keys[i] - (uint64_t)least);
        if (*slot < 0)
            *slot = n_codes++;
        codes[i] = *slot;
    }
    return n_codes;
}

/* Multiplication carries bits upwards only, so the key's high half is folded into the low one before it, and the high
 * half of the product after it: keys that differ in a few high bits (i << 48, or doubles) spread like any others. */
FR_INLINE uint64_t slot_of(int64_t key, int64_t capacity)
{
    uint64_t hash = (uint64_t)key;
    hash = (hash ^ hash >> 32) * UINT64_C(0x9E3779B97F4A7C15);
    hash ^= hash >> 32;
    return hash & ((uint64_t)capacity - 1);
}

ptrdiff_t fr_group_hashed(const int64_t *FR_RESTRICT keys, ptrdiff_t n, ptrdiff_t start, int64_t capacity,
                          int64_t *FR_RESTRICT slot_keys, int32_t *FR_RESTRICT slot_codes,
                          int32_t *FR_RESTRICT n_codes, int32_t *FR_RESTRICT codes)
{
    int32_t count = *n_codes;
    const uint64_t mask = (uint64_t)capacity - 1;
    ptrdiff_t i = start;
    for (; i < n && count < capacity / 2; i++) {
        const int64_t key = keys[i];
        uint64_t slot = slot_of(key, capacity);
        while (slot_codes[slot] >= 0 && slot_keys[slot] != key)
            slot = (slot + 1) & mask;
        if (slot_codes[slot] < 0) {
            slot_keys[slot] = key;
            slot_codes[slot] = count++;
        }
        codes[i] = slot_codes[slot];
    }
    *n_codes = count;
    return i;
}

void fr_group_rehash(const int64_t *FR_RESTRICT old_keys, const int32_t *FR_RESTRICT old_codes, int64_t old_capacity,
                     int64_t capacity, int64_t *FR_RESTRICT slot_keys, int32_t *FR_RESTRICT slot_codes)
{
    const uint64_t mask = (uint64_t)capacity - 1;
    for (int64_t old = 0; old < old_capacity; old++) {
        if (old_codes[old] < 0)
            continue;
        uint64_t slot = slot_of(old_keys[old], capacity);
        while (slot_codes[slot] >= 0)
            slot = (slot + 1) & mask;
        slot_keys[slot] = old_keys[old];
        slot_codes[slot] = old_codes[old];
    }
}

int fr_group_is_grouped(const int32_t *codes, ptrdiff_t n)
{
    for (ptrdiff_t i = 1; i < n; i++)
        if (codes[i] < codes[i - 1])
            return 0;
    return 1;
}

void fr_group_order(const int32_t *FR_RESTRICT codes, ptrdiff_t n, int64_t *FR_RESTRICT next,
                    int64_t *FR_RESTRICT order)
{
    for (ptrdiff_t i = 0; i < n; i++)
        order[next[codes[i]]++] = i;
}
