"""The query plan: everything that depends on the grades alone, computed once per data set."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastrank._core import _loss, _plan
from fastrank._lazy import lazy
from fastrank._threads import query_blocks, run_blocks
from fastrank._validation import check_count

_MAX_COUNTED_LEVELS = 1024
"""Beyond this many different grades a counting sort per query would cost more than a comparison sort."""


class QueryPlan:
    """Documents by grade, level boundaries, gains, discounts, ideal DCG and SLAM weights of every query.

    A "place" is a 0-based position in the list of a query's documents by grade, highest first, rows of the same grade
    in row order. Gains are G(r) = 2^r - 1, discounts D(i) = 1 / log2(1 + i) for rank i.

    Parameters
    ----------
    y : ndarray of int32 or float64, shape (n_rows,)
        Grades, rows grouped by query.
    qptr : ndarray of int64, shape (n_queries + 1,)
        Offsets of the queries.
    n_threads : int, default=1

    Attributes
    ----------
    by_grade : ndarray of int32, shape (n_rows,)
        Position inside its query of the document at each place.
    level_ptr : ndarray of int64, shape (n_queries + 1,)
        Offsets of each query in `level_end` and `level_of`.
    level_end : ndarray of int32
        Per query and grade present, highest first: the place after its last document.
    level_of : ndarray of int32
        The grade of that run, as an index into `grades`.
    grades : ndarray of float64
        The different grades of the data set, ascending.
    level_gain : ndarray of float64
        Their gains.
    levels : ndarray of int32, shape (n_rows,)
        The grade of each row, as an index into `grades`.

    Notes
    -----
    Cost: O(rows + queries * grades) time once (with more than 1,024 different grades, a sort of the rows), 8 bytes per
    row. Everything is read-only, and what is per row is in grouped order: `RankingDataset.to_rows` brings it back.
    """

    def __init__(self, y: NDArray[Any], qptr: NDArray[np.int64], n_threads: int = 1) -> None:
        self.qptr = qptr
        self._blocks = query_blocks(qptr)
        self._n_threads = n_threads
        grades, level = np.unique(y, return_inverse=True)
        self.grades = grades.astype(np.float64)
        if self.grades.size and self.grades[-1] > 1000:
            raise ValueError(
                f"y: expected grades of at most 1000, whose gain 2^grade - 1 is finite, got {self.grades[-1]:g}; "
                "rescale the grades"
            )
        self.level_gain = np.empty_like(self.grades)
        _plan.gains_into(self.grades, self.level_gain)
        self.levels = level.reshape(-1).astype(np.int32)
        if len(grades) <= _MAX_COUNTED_LEVELS:
            self._count_sort()
        else:
            self._compare_sort()
        places = (self.by_grade, self.level_ptr, self.level_end, self.level_of)
        for array in (self.levels, self.grades, self.level_gain, *places):
            array.flags.writeable = False
        self._ideal: dict[int, NDArray[np.float64]] = {}
        self._weights: dict[tuple[str, bool], NDArray[np.float64]] = {}

    def _count_sort(self) -> None:
        n_queries, n_grades = len(self.qptr) - 1, len(self.grades)
        n_levels = np.zeros(n_queries, dtype=np.int64)

        def count(first: int, last: int) -> None:
            _plan.count_levels_into(self.levels, self.qptr, first, last, np.zeros(n_grades, np.int32), n_levels)

        run_blocks(count, self._blocks, self._n_threads)
        self.level_ptr = np.concatenate(([0], np.cumsum(n_levels))).astype(np.int64)
        self.by_grade = np.empty(len(self.levels), dtype=np.int32)
        self.level_end = np.empty(int(self.level_ptr[-1]), dtype=np.int32)
        self.level_of = np.empty_like(self.level_end)

        def sort(first: int, last: int) -> None:
            counts = np.zeros(n_grades, np.int32)
            _plan.by_grade_into(
                self.levels,
                self.qptr,
                first,
                last,
                self.level_ptr,
                counts,
                self.by_grade,
                self.level_end,
                self.level_of,
            )

        run_blocks(sort, self._blocks, self._n_threads)

    def _compare_sort(self) -> None:
        """The same by a stable sort, for grades that are almost all different."""
        query = np.repeat(np.arange(len(self.qptr) - 1), np.diff(self.qptr))
        order = np.lexsort((-self.levels, query))
        self.by_grade = (order - self.qptr[query]).astype(np.int32)
        level = self.levels[order]
        is_end = np.ones(len(level), dtype=bool)
        is_end[:-1] = (level[1:] != level[:-1]) | (query[1:] != query[:-1])
        ends = np.flatnonzero(is_end)
        self.level_end = (ends + 1 - self.qptr[query[ends]]).astype(np.int32)
        self.level_of = level[ends]
        self.level_ptr = np.concatenate(([0], np.cumsum(np.bincount(query[ends], minlength=len(self.qptr) - 1))))
        self.level_ptr = self.level_ptr.astype(np.int64)

    @lazy
    def view(self) -> _loss.PlanView:
        """The plan as the kernels of losses see it."""
        return _loss.PlanView(self.qptr, self.by_grade, self.level_ptr, self.level_end, self.level_of)

    @lazy
    def gains(self) -> NDArray[np.float64]:
        """Gain 2^grade - 1 of each row, shape (n_rows,)."""
        return _frozen(self.level_gain[self.levels])

    @lazy
    def discounts(self) -> NDArray[np.float64]:
        """1 / log2(1 + rank) for ranks 1, 2, ... up to the longest list; the same bits on every machine."""
        sizes = np.diff(self.qptr)
        table = np.empty(int(sizes.max()) if sizes.size else 0)
        _plan.discounts_into(table)
        return _frozen(table)

    @lazy
    def n_relevant(self) -> NDArray[np.int64]:
        """Documents with a grade above zero, per query."""
        seen = np.concatenate(([0], np.cumsum(self.grades[self.levels] > 0)))
        return _frozen(seen[self.qptr[1:]] - seen[self.qptr[:-1]])

    def ideal_dcg(self, k: int | None = None) -> NDArray[np.float64]:
        """Largest DCG that any order reaches, per query: Z_k = sum over places p <= k of G D(p). Computed once per k.

        Parameters
        ----------
        k : int or None, default=None
            Cutoff; None takes the whole list, as does a k beyond its end.

        References
        ----------
        Chaudhuri & Tewari 2017, Eq. 1.
        """
        longest = len(self.discounts)
        cut = longest if k is None else min(check_count(k, name="k"), longest)
        if cut not in self._ideal:
            ideal = np.zeros(len(self.qptr) - 1)

            def fill(first: int, last: int) -> None:
                _plan.ideal_dcg_into(
                    self.qptr,
                    first,
                    last,
                    self.level_ptr,
                    self.level_end,
                    self.level_of,
                    self.level_gain,
                    self.discounts,
                    cut,
                    ideal,
                )

            run_blocks(fill, self._blocks, self._n_threads)
            self._ideal.setdefault(cut, _frozen(ideal))
        return self._ideal[cut]

    def slam_weights(self, name: str, *, class_average: bool = False) -> NDArray[np.float64]:
        """Weights v of the SLAM surrogate sum_i v_i c_i, one per row. Computed once per name.

        With documents listed by grade, m of them, r relevant, i the 1-based place:

        - "ap2017": 1/r for i <= r;
        - "map2014": (m - r) / (r (m - r + i)) for i <= r;
        - "ap_sym": (1 - AP of the worst order) / r for i <= r;
        - "ndcg2014": (G(R_i) - G(R_m)) (D(i) - D(m)) / Z;
        - "ndcg2017": G(R_i) D(i) / Z;
        - "ndcg@k": G(R_i) D(i) / Z_k for i <= k.

        Parameters
        ----------
        name : str
            One of the names above, k being an integer.
        class_average : bool, default=False
            Replace each weight by the mean inside its grade, which makes them independent of row order.

        Notes
        -----
        All zero in a query without a relevant document.

        References
        ----------
        Chaudhuri & Tewari 2014, Eq. 6, 9, 31; Chaudhuri & Tewari 2017, Eq. 10, 11, 24.
        """
        key = (name, class_average)
        if key not in self._weights:
            cut = re.fullmatch(r"ndcg@([1-9][0-9]*)", str(name))
            kind = "ndcg2017" if cut else name
            if kind not in _plan.SLAM_KINDS:
                names = ", ".join([*_plan.SLAM_KINDS, "ndcg@k"])
                raise ValueError(f"name: expected one of {names} with k an integer above zero, got {name!r}")
            ideal = self.ideal_dcg(int(cut[1]) if cut else None)
            k = min(int(cut[1]), len(self.discounts)) if cut else len(self.discounts)
            weights = np.zeros(len(self.by_grade))

            def fill(first: int, last: int) -> None:
                _plan.slam_weights_into(
                    self.qptr,
                    first,
                    last,
                    self.by_grade,
                    self.level_ptr,
                    self.level_end,
                    self.level_of,
                    self.level_gain,
                    self.discounts,
                    self.n_relevant,
                    ideal,
                    _plan.SLAM_KINDS[kind],
                    k,
                    class_average,
                    np.empty(len(self.discounts)),
                    weights,
                )

            self.n_relevant  # noqa: B018  computed here, before threads ask for it
            run_blocks(fill, self._blocks, self._n_threads)
            self._weights.setdefault(key, _frozen(weights))
        return self._weights[key]

    def __repr__(self) -> str:
        return f"QueryPlan({len(self.qptr) - 1:,} queries, {len(self.by_grade):,} rows, {len(self.grades)} grades)"


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    array.flags.writeable = False
    return array
