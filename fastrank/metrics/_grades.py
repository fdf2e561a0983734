"""Grades as the kernel sees them: small integers, with the gain and the stopping chance of each in a table.

The first look is hopeful: labels are their own codes, with tables for the grades 0 to 31. The kernel checks each label
on its way; only where one is something else (unjudged, negative, fractional, larger) are the grades that there are
numbered, or refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastrank._core import _plan
from fastrank.metrics._lists import Lists, is_unjudged
from fastrank.metrics.conventions import Convention, Table, check_nonnegative
from fastrank.metrics.names import GAIN_KINDS

_HOPEFUL = 32
_MAX_EXP2 = 1000  # 2^grade - 1 is finite up to here, and so are sums of it
_MAX_DIRECT = 1024  # whole grades below this are their own numbers; others are numbered by a sort


class Coding(NamedTuple):
    """Grades as codes: code c is the grade levels[c - first_judged], codes below first_judged are unjudged."""

    codes: NDArray[Any]
    missing: NDArray[np.int32] | None
    levels: NDArray[np.float64]
    first_judged: int
    is_hopeful: bool

    def first_relevant(self, rel: float | None) -> int:
        """Return the lowest relevant code."""
        above = np.searchsorted(self.levels, 0, "right") if rel is None else np.searchsorted(self.levels, rel, "left")
        return self.first_judged + int(above)

    def by_code(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Turn a table by level into one by code; unjudged documents have 0."""
        return np.concatenate((np.zeros(self.first_judged), values))


def hopeful_coding(lists: Lists, kinds: set[str], convention: Convention) -> Coding:
    """Return labels as they are, with the levels that tables can have without knowing them; else look closer."""
    size = _HOPEFUL
    tables = [convention.gain] if not GAIN_KINDS.isdisjoint(kinds) else []
    if "err" in kinds:
        tables.append(convention.stop)
        if convention.stop == "linear":
            size = 2
        elif convention.stop == "exp2" and convention.max_grade is not None:
            size = min(size, int(convention.max_grade) + 1)
    for table in tables:
        if callable(table):  # to be called for grades that there are, and no others
            return _without_gaps(exact_coding(lists, kinds))
        if not isinstance(table, str):
            size = min(size, len(table))
    missing = lists.missing_grades
    if missing is not None and missing.size and not 0 <= missing.min() <= missing.max() < size:
        return exact_coding(lists, kinds)
    return Coding(lists.grades, missing, np.arange(float(size)), 0, True)


def exact_coding(lists: Lists, kinds: set[str]) -> Coding:
    """Number the grades, ascending; unjudged documents have code 0."""
    missing = lists.missing_grades if lists.missing_grades is not None else np.zeros(0, dtype=np.int32)
    judged = ~is_unjudged(lists.grades)
    # a product does not branch, but NaN stays NaN
    grades = np.where(judged, lists.grades, 0) if lists.grades.dtype.kind == "f" else lists.grades * judged
    low = min(float(part.min(initial=0)) for part in (grades, missing))
    high = max(float(part.max(initial=0)) for part in (grades, missing))
    if low < 0 and kinds != {"tau"}:
        raise _error(
            lists,
            "expected grades of 0 (not relevant) and above",
            lambda values: values < 0,
            "shift the grades, or mark unjudged documents with NaN",
        )
    if not math.isfinite(high - low):
        raise _error(lists, "expected finite grades", np.isinf, "mend or drop such documents first")
    is_whole = grades.dtype.kind != "f" or bool((grades == np.floor(grades)).all())
    if low >= 0 and high < _MAX_DIRECT and is_whole:
        levels, codes = np.arange(high + 1), grades.astype(np.int32)
    else:
        levels, numbers = np.unique(np.concatenate((grades, missing)), return_inverse=True)
        codes, missing = np.split(numbers.reshape(-1).astype(np.int32), [len(grades)])
    codes = (codes + np.int32(1)) * judged
    missing_codes = None if lists.missing_grades is None else missing + np.int32(1)
    return Coding(codes, missing_codes, levels.astype(np.float64), 1, False)


def _without_gaps(coding: Coding) -> Coding:
    """Leave out levels that no document has."""
    counts = np.bincount(coding.codes, minlength=len(coding.levels) + 1)
    if coding.missing is not None:
        counts += np.bincount(coding.missing, minlength=len(counts))
    is_there = counts > 0
    is_there[0] = False
    code_of = np.cumsum(is_there, dtype=np.int32)
    return coding._replace(
        codes=code_of[coding.codes],
        missing=None if coding.missing is None else code_of[coding.missing],
        levels=coding.levels[is_there[1:]],
    )


def gains(lists: Lists, levels: NDArray[np.float64], gain: Table) -> NDArray[np.float64]:
    """Return the gain of each level, by the formula, table or function."""
    if gain == "linear":
        return levels
    return _exp2_gains(lists, levels) if gain == "exp2" else _looked_up(lists, levels, gain, "gain")


def stops(lists: Lists, levels: NDArray[np.float64], convention: Convention) -> NDArray[np.float64]:
    """Return ERR's chance that a document of each level satisfies."""
    if convention.stop == "linear":
        if levels.size and levels[-1] > 1:
            raise _error(
                lists,
                "expected grades of 0 to 1, which stop='linear' takes for chances",
                lambda values: values > 1,
                "pass stop='exp2', or a table",
            )
        return levels
    if convention.stop == "exp2":
        limit = convention.max_grade
        if limit is None:
            limit = _largest(lists)
        elif levels.size and levels[-1] > limit:
            raise _error(lists, f"expected grades up to max_grade={limit:g}", lambda values: values > limit, "raise it")
        # levels that do not occur in the data may be larger
        shown = _exp2_gains(lists, np.minimum(levels, limit))
        return shown / (_exp2_gains(lists, np.array([limit])) + 1)
    chances = _looked_up(lists, levels, convention.stop, "stop")
    if (chances > 1).any():
        raise ValueError(f"stop: expected chances of at most 1, got {chances.max():g}")
    return chances


def _exp2_gains(lists: Lists, levels: NDArray[np.float64]) -> NDArray[np.float64]:
    if levels.size and levels[-1] > _MAX_EXP2:
        raise _error(
            lists,
            f"expected grades of at most {_MAX_EXP2}, for which 2^grade - 1 is finite",
            lambda values: values > _MAX_EXP2,
            "rescale the grades, or pass another gain= (for err: stop=)",
        )
    found = np.empty_like(levels)
    _plan.gains_into(levels, found)
    return found


def _looked_up(lists: Lists, levels: NDArray[np.float64], table: Any, name: str) -> NDArray[np.float64]:
    """A value for each level from a table by grade, or from a function of grades."""
    if callable(table):
        values = check_nonnegative(table(levels.copy()), name)
        if values.shape != levels.shape:
            raise ValueError(
                f"{name}: expected a function that returns a value for each of {len(levels)} grades, "
                f"got shape {values.shape}"
            )
        return values  # type: ignore[no-any-return]
    if (levels != np.floor(levels)).any():
        raise _error(
            lists,
            f"expected whole grades where {name} is a table",
            lambda values: values != np.floor(values),
            f"pass a function as {name}=",
        )
    if levels.size and levels[-1] >= len(table):
        raise _error(
            lists,
            f"expected grades below {len(table)}, as the table of {name} has {len(table)} entries",
            lambda values: values >= len(table),
            "make it longer",
        )
    return np.array(table)[levels.astype(np.int64)]


def _largest(lists: Lists) -> float:
    """The largest grade of the data; 0 if there is none."""
    found = [0.0]
    for grades in (lists.grades, lists.missing_grades):
        if grades is not None and grades.size:
            found.append(float(np.fmax.reduce(grades)))  # not NaN; unjudged integers are far below 0
    return max(found)


def _error(lists: Lists, wanted: str, is_bad: Callable[[NDArray[Any]], NDArray[np.bool_]], mend: str) -> ValueError:
    """The sentence for the first grade that is not as it should be."""
    bad = is_bad(lists.grades) & ~is_unjudged(lists.grades)
    if bad.any():
        row = int(np.argmax(bad))
        grade, place = lists.grades[row], lists.place(row)
    else:
        missing = lists.missing_grades if lists.missing_grades is not None else np.zeros(0)
        grade, place = missing[is_bad(missing)][0], "a document that is not in the lists"
    return ValueError(f"grades: {wanted}, got {grade:g} in {place}; {mend}")
