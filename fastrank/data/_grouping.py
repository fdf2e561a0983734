"""From query ids in any order to adjacent rows: codes by first appearance, then a counting sort. O(rows)."""

from __future__ import annotations

from collections.abc import Mapping, Set
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fastrank._core import _group
from fastrank._validation import plural

MAX_QUERY_ROWS = 2**31 - 1
"""Positions inside a query are int32 in the kernels."""


class Grouping(NamedTuple):
    """How rows form queries.

    `qid` holds one id per query in order of first appearance; query q has the grouped rows qptr[q]..qptr[q + 1] - 1;
    grouped row i is row order[i] of the user's, or row i where order is None.
    """

    qid: NDArray[Any]
    qptr: NDArray[np.int64]
    order: NDArray[np.int64] | None


def group_by_qid(qid: ArrayLike, n_rows: int) -> Grouping:
    """Group rows by ids of any hashable kind, in any order."""
    ids = _id_array(qid, n_rows)
    codes, n_codes = _codes(ids)
    sizes = np.bincount(codes, minlength=n_codes) if n_rows else np.zeros(0, dtype=np.int64)
    qptr = _offsets(sizes)
    if _group.is_grouped(codes):
        return Grouping(ids[qptr[:-1]], qptr, None)
    order = np.empty(n_rows, dtype=np.int64)
    _group.order_into(codes, qptr[:-1].copy(), order)
    return Grouping(ids[order[qptr[:-1]]], qptr, order)


def group_by_sizes(group: ArrayLike, n_rows: int) -> Grouping:
    """Group adjacent rows by list lengths, as LightGBM does."""
    sizes = np.asarray(group)
    if sizes.ndim != 1 or (sizes.size and sizes.dtype.kind not in "iu"):
        raise TypeError(
            f"group: expected a list of integers, the number of rows of each query, got shape {sizes.shape} and dtype "
            f"{sizes.dtype}; pass one id per row as qid="
        )
    if sizes.size and sizes.min() < 0:
        query = int(np.argmax(sizes < 0))
        raise ValueError(f"group: expected sizes of 0 and above, got {sizes[query]} for query {query}")
    total = int(sizes.sum())
    if total != n_rows:
        mend = "; pass one id per row as qid=" if len(sizes) == n_rows else ""
        raise ValueError(
            f"group: expected sizes that add up to the {plural(n_rows, 'row')}, got {plural(len(sizes), 'size')} "
            f"that add up to {total:,}{mend}"
        )
    return Grouping(query_numbers(len(sizes)), _offsets(sizes), None)


def group_by_offsets(qptr: ArrayLike, n_rows: int) -> Grouping:
    """Group adjacent rows by offsets: query q has rows qptr[q] to qptr[q + 1] - 1."""
    offsets = np.asarray(qptr)
    if offsets.ndim != 1 or offsets.dtype.kind not in "iu" or offsets.size == 0:
        raise TypeError(
            f"qptr: expected integer offsets, one more than there are queries, got shape {offsets.shape} and dtype "
            f"{offsets.dtype}"
        )
    if offsets[0] != 0 or offsets[-1] != n_rows:
        raise ValueError(
            f"qptr: expected offsets from 0 to the number of rows ({n_rows:,}), got {offsets[0]} to {offsets[-1]}"
        )
    sizes = np.diff(offsets.astype(np.int64))
    if (sizes < 0).any():
        query = int(np.argmax(sizes < 0))
        raise ValueError(
            f"qptr: expected offsets that never decrease, got {offsets[query]} and then {offsets[query + 1]} "
            f"at position {query + 1}"
        )
    return Grouping(query_numbers(len(sizes)), _offsets(sizes), None)


@lru_cache(maxsize=4)
def query_numbers(n_queries: int) -> NDArray[np.int64]:
    """Return 0, 1, 2, ..., the ids of queries without ids: read-only, because it is shared.

    Kept, as measures are asked of the same queries again and again: a million numbers take as long as their NDCG.
    """
    numbers = np.arange(n_queries)
    numbers.flags.writeable = False
    return numbers


def check_qid_in_groups(qid: ArrayLike, groups: Grouping, n_rows: int) -> Grouping:
    """Take ids and sizes together: every group must have one id of its own."""
    ids = _id_array(qid, n_rows)
    codes, _ = _codes(ids)
    group_of_row = np.repeat(np.arange(len(groups.qid)), np.diff(groups.qptr))
    if n_rows == 0:
        return groups
    first_row = groups.qptr[:-1][group_of_row]
    mixed = codes != codes[first_row]
    if mixed.any():
        row = int(np.argmax(mixed))
        one, two = id_list(ids[[first_row[row], row]])
        raise ValueError(
            f"qid: expected one id per group, got {one!r} and {two!r} (row {row}) in group "
            f"{group_of_row[row]}; pass qid alone, or mend the sizes in group"
        )
    starts = groups.qptr[:-1][np.diff(groups.qptr) > 0]
    order = np.argsort(codes[starts], kind="stable")
    repeated = np.flatnonzero(np.diff(codes[starts][order]) == 0)
    if repeated.size:
        rows = starts[order[[repeated[0], repeated[0] + 1]]]
        one, two = group_of_row[rows]
        raise ValueError(
            f"qid: expected each id in one group, got {id_list(ids[rows])[0]!r} in group {one} and again in group "
            f"{two} (row {rows[1]}): the boundary splits a query; pass qid alone, or mend the sizes in group"
        )
    if len(starts) < len(groups.qid):
        empty = int(np.argmin(np.diff(groups.qptr)))
        raise ValueError(f"group: expected at least one row per group where qid is given, got none in group {empty}")
    return Grouping(ids[starts], groups.qptr, None)


def _offsets(sizes: NDArray[Any]) -> NDArray[np.int64]:
    if sizes.size and sizes.max() > MAX_QUERY_ROWS:
        raise ValueError(f"X: expected queries of at most {MAX_QUERY_ROWS:,} rows, got one of {sizes.max():,}")
    qptr = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=qptr[1:])
    return qptr


def _id_array(qid: ArrayLike, n_rows: int) -> NDArray[Any]:
    """One id per row. Lists of tuples and other mixtures become object arrays rather than matrices."""
    if isinstance(qid, (str, bytes, Set, Mapping)) or not hasattr(qid, "__len__"):
        raise TypeError(f"qid: expected a sequence with one query id per row, got {qid!r}")
    ids = from_sequence(qid)
    if ids.ndim == 2 and ids.shape[1] == 1:
        ids = ids[:, 0]
    if ids.ndim != 1:
        raise ValueError(f"qid: expected a vector with one query id per row, got shape {ids.shape}")
    if len(ids) != n_rows:
        raise ValueError(
            f"qid: expected {n_rows:,} ids (one per row), got {len(ids):,}"
            + ("; pass list lengths as group=" if len(ids) < n_rows else "")
        )
    return ids


def from_sequence(ids: Any) -> NDArray[Any]:
    """Return ids as an array; what NumPy would change (mixtures, tuples, huge integers) stays Python objects."""
    if hasattr(ids, "__array__"):
        return np.asarray(ids)
    values = list(ids)
    if not values:
        return np.zeros(0, dtype=np.int64)
    if {type(value) for value in values} in ({int}, {str}, {bytes}, {float}, {bool}):
        array = np.array(values)
        # NumPy rounds [-1, 2**63] to floats and cuts trailing NULs off strings
        again = array.tolist()
        if type(again[0]) is type(values[0]) and again == values:
            return array
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def id_list(ids: NDArray[Any]) -> list[Any]:
    """Return ids as hashable Python objects; dates keep their type, which `tolist` turns into others by their unit."""
    return list(ids) if ids.dtype.kind in "mM" else ids.tolist()


def _codes(ids: NDArray[Any]) -> tuple[NDArray[np.int32], int]:
    """Number the ids 0, 1, 2, ... by first appearance."""
    if ids.dtype.kind in "iub":
        # uint64 wraps to int64: a bijection is all that grouping needs
        return _integer_codes(ids.astype(np.int64, copy=False))
    if ids.dtype.kind == "f":
        if np.isnan(ids).any():
            row = int(np.argmax(np.isnan(ids)))
            raise ValueError(f"qid: expected an id in every row, got nan in row {row}; drop or fill such rows")
        return _integer_codes((ids.astype(np.float64) + 0.0).view(np.int64))  # + 0.0 makes -0.0 and 0.0 one id
    if ids.dtype.kind in "mM" and not np.isnat(ids).any():
        return _integer_codes(ids.view(np.int64))
    return _hashable_codes(ids)


def _integer_codes(keys: NDArray[np.int64]) -> tuple[NDArray[np.int32], int]:
    keys = np.require(keys, requirements=["C_CONTIGUOUS", "ALIGNED"])
    n = len(keys)
    codes = np.empty(n, dtype=np.int32)
    if n == 0:
        return codes, 0
    least, largest = int(keys.min()), int(keys.max())
    if largest - least < 2 * n + 1024:
        table = np.full(largest - least + 1, -1, dtype=np.int32)
        return codes, _group.codes_direct_into(keys, least, table, codes)
    capacity = 1 << 16
    slot_keys, slot_codes = np.empty(capacity, dtype=np.int64), np.full(capacity, -1, dtype=np.int32)
    row, n_codes = _group.codes_hashed_into(keys, 0, 0, slot_keys, slot_codes, codes)
    while row < n:
        capacity *= 4
        old_keys, old_codes = slot_keys, slot_codes
        slot_keys, slot_codes = np.empty(capacity, dtype=np.int64), np.full(capacity, -1, dtype=np.int32)
        _group.rehash_into(old_keys, old_codes, slot_keys, slot_codes)
        row, n_codes = _group.codes_hashed_into(keys, row, n_codes, slot_keys, slot_codes, codes)
    return codes, n_codes


def _hashable_codes(ids: NDArray[Any]) -> tuple[NDArray[np.int32], int]:
    numbers: dict[Any, int] = {}
    codes = np.empty(len(ids), dtype=np.int32)
    for row, value in enumerate(id_list(ids)):
        try:
            codes[row] = numbers.setdefault(value, len(numbers))
        except TypeError:
            raise TypeError(
                f"qid: expected hashable ids, got {value!r} of type {type(value).__name__} in row {row}"
            ) from None
        if _is_missing(value):
            raise ValueError(f"qid: expected an id in every row, got {value!r} in row {row}; drop or fill such rows")
    return codes, len(numbers)


def _is_missing(value: Any) -> bool:
    """Tell None, NaN, NaT and pandas' NA, which is neither equal to itself nor different, from ids."""
    try:
        return value is None or bool(value != value)
    except TypeError:
        return True
