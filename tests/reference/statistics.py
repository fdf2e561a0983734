"""Paired tests and corrections by their definitions: every sign pattern, every subset, one at a time."""

from __future__ import annotations

import itertools
from fractions import Fraction


def sign_patterns(n: int):
    return itertools.product((1, -1), repeat=n)


def randomisation(differences: list[int]) -> float:
    """Share of the sign patterns whose |sum| is at least the observed one."""
    observed = abs(sum(differences))
    patterns = list(sign_patterns(len(differences)))
    hits = sum(abs(sum(sign * d for sign, d in zip(signs, differences, strict=True))) >= observed for signs in patterns)
    return hits / len(patterns)


def ranks(values: list[int]) -> list[Fraction]:
    """Mean ranks from 1: one more than the number of smaller values, plus half of the others that are equal."""
    return [
        Fraction(2 * sum(other < value for other in values) + sum(other == value for other in values) + 1, 2)
        for value in values
    ]


def wilcoxon(differences: list[int]) -> float:
    """Twice the smaller tail of the sum of positive ranks over all sign patterns; zeros left out."""
    nonzero = [d for d in differences if d]
    rank = ranks([abs(d) for d in nonzero])

    def positive_sum(signs) -> Fraction:
        return sum((r for r, sign in zip(rank, signs, strict=True) if sign > 0), Fraction(0))

    observed = positive_sum([1 if d > 0 else -1 for d in nonzero])
    sums = [positive_sum(signs) for signs in sign_patterns(len(nonzero))]
    low = sum(s <= observed for s in sums)
    high = sum(s >= observed for s in sums)
    return min(1.0, 2 * min(low, high) / len(sums))


def rank_biserial(differences: list[int]) -> float:
    nonzero = [d for d in differences if d]
    rank = ranks([abs(d) for d in nonzero])
    signed = sum((r if d > 0 else -r for r, d in zip(rank, nonzero, strict=True)), Fraction(0))
    return float(signed / sum(rank)) if nonzero else 0.0


def holm(p: list[float]) -> list[float]:
    """The smallest level at which Holm's procedure rejects each hypothesis: it stops at the first that it keeps."""
    order = sorted(range(len(p)), key=lambda i: p[i])
    adjusted = [0.0] * len(p)
    for place, i in enumerate(order):
        needed = [(len(p) - step) * p[order[step]] for step in range(place + 1)]
        adjusted[i] = min(1.0, max(needed))
    return adjusted


def benjamini_hochberg(p: list[float]) -> list[float]:
    """The smallest level at which the step-up procedure rejects each hypothesis."""
    order = sorted(range(len(p)), key=lambda i: p[i])
    adjusted = [0.0] * len(p)
    for place, i in enumerate(order):
        needed = [len(p) / (step + 1) * p[order[step]] for step in range(place, len(p))]
        adjusted[i] = min(1.0, *needed)
    return adjusted
