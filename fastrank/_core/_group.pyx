"""Grouping rows by integer keys in linear time. Callers have checked that there are fewer than 2^31 rows per group."""

from libc.stdint cimport int32_t, int64_t

from fastrank._core._csrc cimport (
    fr_group_direct,
    fr_group_hashed,
    fr_group_is_grouped,
    fr_group_order,
    fr_group_rehash,
)


def codes_direct_into(const int64_t[::1] keys not None, int64_t least, int32_t[::1] table not None,
                      int32_t[::1] codes not None):
    """Code keys of a small range by first appearance; table (the range) is filled with -1. Returns how many."""
    cdef int32_t n_codes
    if keys.shape[0] == 0:
        return 0
    with nogil:
        n_codes = fr_group_direct(&keys[0], keys.shape[0], least, &table[0], &codes[0])
    return n_codes


def codes_hashed_into(const int64_t[::1] keys not None, Py_ssize_t start, int32_t n_codes,
                      int64_t[::1] slot_keys not None, int32_t[::1] slot_codes not None, int32_t[::1] codes not None):
    """Code any keys by first appearance until the table is half full. Returns the row reached and how many codes."""
    cdef Py_ssize_t row
    if keys.shape[0] == 0:
        return 0, 0
    with nogil:
        row = fr_group_hashed(&keys[0], keys.shape[0], start, slot_keys.shape[0], &slot_keys[0], &slot_codes[0],
                              &n_codes, &codes[0])
    return row, n_codes


def rehash_into(const int64_t[::1] old_keys not None, const int32_t[::1] old_codes not None,
                int64_t[::1] slot_keys not None, int32_t[::1] slot_codes not None):
    """Move a hash table into a larger one, whose codes are filled with -1."""
    with nogil:
        fr_group_rehash(&old_keys[0], &old_codes[0], old_keys.shape[0], slot_keys.shape[0], &slot_keys[0],
                        &slot_codes[0])


def is_grouped(const int32_t[::1] codes not None):
    """Tell whether codes never decrease. `(np.diff(codes) >= 0).all()`."""
    cdef int grouped = 1
    if codes.shape[0] > 1:
        with nogil:
            grouped = fr_group_is_grouped(&codes[0], codes.shape[0])
    return bool(grouped)


def order_into(const int32_t[::1] codes not None, int64_t[::1] next_row not None, int64_t[::1] order not None):
    """`order[:] = np.argsort(codes, kind="stable")`; next_row holds the offset of each code and is used up."""
    if codes.shape[0] > 0:
        with nogil:
            fr_group_order(&codes[0], codes.shape[0], &next_row[0], &order[0])
