"""The query plan from its definitions, in decimal arithmetic of 50 digits. One query at a time."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal, localcontext
from functools import cache
from itertools import groupby

DIGITS = 50


def by_grade(grades: Sequence[float]) -> list[int]:
    """Documents by grade, highest first, those of one grade by position."""
    return sorted(range(len(grades)), key=lambda i: (-grades[i], i))


def level_ends(grades: Sequence[float]) -> list[tuple[float, int]]:
    """Each grade present, highest first, and the place after its last document."""
    ends, place = [], 0
    for grade, run in groupby(sorted(grades, reverse=True)):
        place += len(list(run))
        ends.append((grade, place))
    return ends


@cache
def gain(grade: float) -> Decimal:
    """G(r) = 2^r - 1."""
    with localcontext(prec=2 * DIGITS):
        return Decimal(2) ** Decimal(grade) - 1


@cache
def discount(rank: int) -> Decimal:
    """D(i) = 1 / log2(1 + i), for ranks from 1."""
    with localcontext(prec=DIGITS):
        return Decimal(2).ln() / Decimal(1 + rank).ln()


def _ideal_dcg(grades: Sequence[float], k: int | None = None) -> Decimal:
    ideal = sorted(grades, reverse=True)[:k]
    return sum((gain(grade) * discount(rank) for rank, grade in enumerate(ideal, start=1)), Decimal(0))


def ideal_dcg(grades: Sequence[float], k: int | None = None) -> float:
    """Z_k: DCG@k of the documents by grade."""
    with localcontext(prec=DIGITS):
        return float(_ideal_dcg(grades, k))


def worst_ap(m: int, r: int) -> Decimal:
    """AP where the r relevant of m documents come last: the i-th of them stands at rank m - r + i."""
    return sum((Decimal(i) / (m - r + i) for i in range(1, r + 1)), Decimal(0)) / r


def slam_weights(grades: Sequence[float], name: str, *, class_average: bool = False) -> list[float]:
    """SLAM weights per document, by their equations in Chaudhuri & Tewari 2014 and 2017."""
    with localcontext(prec=DIGITS):
        order = by_grade(grades)
        R = [grades[i] for i in order]
        m, r = len(R), sum(grade > 0 for grade in R)
        v = [Decimal(0)] * m
        if r > 0:
            places = range(1, m + 1)
            if name == "map2014":
                v = [Decimal(m - r) / (r * (m - r + i)) if i <= r else Decimal(0) for i in places]
            elif name == "ap2017":
                v = [Decimal(1) / r if i <= r else Decimal(0) for i in places]
            elif name == "ap_sym":
                slack = 1 - worst_ap(m, r)
                v = [slack / r if i <= r else Decimal(0) for i in places]
            elif name == "ndcg2014":
                Z = _ideal_dcg(R)
                v = [(gain(R[i - 1]) - gain(R[-1])) * (discount(i) - discount(m)) / Z for i in places]
            else:
                k = m if name == "ndcg2017" else int(name.removeprefix("ndcg@"))
                Z = _ideal_dcg(R, k)
                v = [gain(R[i - 1]) * discount(i) / Z if i <= k else Decimal(0) for i in places]
        if class_average:
            averaged: list[Decimal] = []
            for _, run in groupby(range(m), key=lambda place: R[place]):
                members = [v[place] for place in run]
                averaged += [sum(members, Decimal(0)) / len(members)] * len(members)
            v = averaged
        weights = [0.0] * m
        for place, document in enumerate(order):
            weights[document] = float(v[place])
        return weights
