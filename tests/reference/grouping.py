"""Grouping from its definition: a dictionary from id to rows."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence


def rows_by_id(ids: Iterable[Hashable]) -> dict[Hashable, list[int]]:
    """Rows of each id; ids by first appearance, rows ascending."""
    rows: dict[Hashable, list[int]] = {}
    for row, one in enumerate(ids):
        rows.setdefault(one, []).append(row)
    return rows


def rows_by_size(sizes: Sequence[int]) -> dict[Hashable, list[int]]:
    """Rows of each query 0, 1, ... whose rows are adjacent."""
    rows: dict[Hashable, list[int]] = {}
    start = 0
    for query, size in enumerate(sizes):
        rows[query] = list(range(start, start + size))
        start += size
    return rows
