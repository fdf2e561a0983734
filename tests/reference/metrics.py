"""Every ranking measure of one query, under every tie rule, from its definition.

`value` builds the order that the tie rule asks for and reads the measure off it. Random tie-breaking ("mean") is the
mean over all orders of the tied blocks where there are few enough of them to write down; `expected` has the closed
forms for the rest, and is tested against that enumeration.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import groupby, permutations, product
from typing import NamedTuple

import numpy as np
from scipy import stats

KINDS = ("dcg", "ndcg", "ap", "rr", "precision", "recall", "success", "wta", "err", "bpref", "rprec", "tau")
TIES = ("index", "worst", "best", "mean", "threshold")
MOST_ORDERS = 720  # as many are enumerated; `enumerated` has no limit


class Measure(NamedTuple):
    """What to compute; a cut of 0 is the whole list, `fill` is the value of an empty query."""

    kind: str
    cut: int = 0
    norm_min: bool = False
    short_zero: bool = False
    fill: float = 0.0


class Tables(NamedTuple):
    """What codes and ranks are worth."""

    gains: Sequence[float]
    stops: Sequence[float]
    discounts: Sequence[float]
    first_judged: int = 0
    first_relevant: int = 1


Block = list[int]


def ranked(scores: Sequence[float] | None, n: int) -> list[int]:
    """Documents by score, highest first, equal scores in row order; None: they are in rank order already."""
    return list(range(n)) if scores is None else sorted(range(n), key=lambda i: -scores[i])


def blocks_of(codes: Sequence[int], scores: Sequence[float] | None) -> list[Block]:
    """Codes of equally scored documents together, highest score first, row order inside."""
    if scores is None:
        return [[code] for code in codes]
    order = ranked(scores, len(codes))
    return [[codes[i] for i in block] for _, block in groupby(order, key=lambda i: scores[i])]


def n_orders(blocks: list[Block]) -> int:
    """In how many ways tied documents can be ordered."""
    return math.prod(math.factorial(len(block)) for block in blocks)


def orders(blocks: list[Block]) -> Iterator[list[Block]]:
    """All of them."""
    for choice in product(*(permutations(block) for block in blocks)):
        yield [list(block) for block in choice]


def value(
    measure: Measure,
    tables: Tables,
    codes: Sequence[int],
    scores: Sequence[float] | None,
    ties: str = "index",
    missing: Sequence[int] = (),
) -> float:
    """One measure of one query."""
    return values([measure], tables, codes, scores, ties, missing)[0]


def values(
    measures: Sequence[Measure],
    tables: Tables,
    codes: Sequence[int],
    scores: Sequence[float] | None,
    ties: str = "index",
    missing: Sequence[int] = (),
) -> list[float]:
    """Several measures of one query."""
    blocks = blocks_of(codes, scores)
    if ties in ("worst", "threshold"):
        blocks = [sorted(block) for block in blocks]
    elif ties == "best":
        blocks = [sorted(block, reverse=True) for block in blocks]
    by_rule = [_Ordered, _Expected][ties == "mean" and n_orders(blocks) > MOST_ORDERS]
    if ties == "mean" and by_rule is _Ordered:
        return enumerated(measures, tables, codes, scores, missing)
    query = by_rule(tables, blocks, missing, threshold=ties == "threshold")
    tau = kendall_tau(codes, scores, tables.first_judged)
    return [query.value(measure, tau) for measure in measures]


def enumerated(
    measures: Sequence[Measure],
    tables: Tables,
    codes: Sequence[int],
    scores: Sequence[float] | None,
    missing: Sequence[int] = (),
) -> list[float]:
    """Means over all orders of tied documents."""
    tau = kendall_tau(codes, scores, tables.first_judged)
    table = []
    for blocks in orders(blocks_of(codes, scores)):
        query = _Ordered(tables, blocks, missing)
        table.append([query.value(measure, tau) for measure in measures])
    return [math.fsum(column) / len(table) for column in zip(*table, strict=True)]


def expected(
    measures: Sequence[Measure],
    tables: Tables,
    codes: Sequence[int],
    scores: Sequence[float] | None,
    missing: Sequence[int] = (),
) -> list[float]:
    """The same in closed form."""
    query = _Expected(tables, blocks_of(codes, scores), missing)
    tau = kendall_tau(codes, scores, tables.first_judged)
    return [query.value(measure, tau) for measure in measures]


def empties(
    measures: Sequence[Measure],
    tables: Tables,
    codes: Sequence[int],
    scores: Sequence[float] | None,
    missing: Sequence[int] = (),
) -> list[bool]:
    """Whether the query has no value of its own, per measure."""
    query = _Ordered(tables, blocks_of(codes, scores), missing)
    tau = kendall_tau(codes, scores, tables.first_judged)
    return [query.is_empty(measure, tau) for measure in measures]


def kendall_tau(codes: Sequence[int], scores: Sequence[float] | None, first_judged: int = 0) -> float | None:
    """Tau-b: (concordant - discordant pairs) / sqrt(pairs of different codes * pairs of different scores).

    Of judged documents; None where one of those is no pair. Pair by pair up to 200 documents, then
    scipy.stats.kendalltau.
    """
    judged = [i for i, code in enumerate(codes) if code >= first_judged]
    x = np.array([codes[i] for i in judged], dtype=np.int64)
    y = np.array([-i if scores is None else scores[i] for i in judged], dtype=np.float64)
    if len(judged) < 2 or (x == x[0]).all() or (y == y[0]).all():
        return None
    if len(judged) > 200:
        return float(stats.kendalltau(x, y, variant="b", method="asymptotic").statistic)
    one, other = np.triu_indices(len(judged), 1)
    left = np.sign(x[one] - x[other])
    right = (y[one] > y[other]).astype(np.int64) - (y[one] < y[other])
    return int((left * right).sum()) / math.sqrt(int((left != 0).sum()) * int((right != 0).sum()))


class _Ordered:
    """A query whose documents stand in one order."""

    def __init__(self, tables: Tables, blocks: list[Block], missing: Sequence[int], *, threshold: bool = False) -> None:
        self.tables, self.blocks, self.threshold = tables, blocks, threshold
        self.codes = [code for block in blocks for code in block]
        self.n = len(self.codes)
        self.everything = self.codes + list(missing)
        self.relevant = [code >= tables.first_relevant for code in self.codes]
        self.R = sum(code >= tables.first_relevant for code in self.everything)
        self.N = sum(tables.first_judged <= code < tables.first_relevant for code in self.everything)
        self._ideal_gains = sorted((tables.gains[code] for code in self.everything), reverse=True)

    def value(self, measure: Measure, tau: float | None) -> float:
        if self.is_empty(measure, tau):
            return measure.fill
        if measure.short_zero and self.n < measure.cut:
            return 0.0
        if measure.kind == "tau":
            assert tau is not None
            return tau
        return float(getattr(self, measure.kind)(measure, measure.cut or self.n))

    def is_empty(self, measure: Measure, tau: float | None) -> bool:
        if measure.kind == "dcg":
            return False
        if measure.kind == "ndcg":
            return not any(self._ideal_gains[: measure.cut or None])
        if measure.kind == "tau":
            return tau is None
        return self.R == 0

    def ideal(self, cut: int) -> float:
        """DCG@k of all judged documents by gain, the missing ones too."""
        gains = self._ideal_gains[: cut or None]
        return math.fsum(gain * self.tables.discounts[place] for place, gain in enumerate(gains) if gain)

    def places(self) -> list[int]:
        """Ranks of the relevant documents."""
        return [rank for rank, relevant in enumerate(self.relevant, start=1) if relevant]

    def dcg(self, measure: Measure, k: int) -> float:
        return math.fsum(
            self.tables.gains[code] * self.tables.discounts[place] for place, code in enumerate(self.codes[:k])
        )

    def ndcg(self, measure: Measure, k: int) -> float:
        return self.dcg(measure, k) / self.ideal(measure.cut)

    def ap(self, measure: Measure, k: int) -> float:
        terms = [seen / rank for seen, rank in enumerate(self.places(), start=1) if rank <= k]
        if self.threshold:  # all relevant documents of a block stand where it ends
            terms, end, seen = [], 0, 0
            for block in self.blocks:
                end += len(block)
                inside = sum(code >= self.tables.first_relevant for code in block)
                seen += inside
                terms += [seen / end] * (inside if end <= k else 0)
        norm = min(self.R, measure.cut) if measure.norm_min and measure.cut else self.R
        return math.fsum(terms) / norm

    def rr(self, measure: Measure, k: int) -> float:
        places = self.places()
        return 1 / places[0] if places and places[0] <= k else 0.0

    def precision(self, measure: Measure, k: int) -> float:
        k_or_fewer = min(k, self.n) if measure.norm_min else k
        return sum(self.relevant[:k]) / k_or_fewer if k_or_fewer else 0.0

    def recall(self, measure: Measure, k: int) -> float:
        return sum(self.relevant[:k]) / self.R

    def success(self, measure: Measure, k: int) -> float:
        return float(any(self.relevant[:k]))

    def wta(self, measure: Measure, k: int) -> float:
        return float(self.n > 0 and self.codes[0] == max(self.everything))

    def err(self, measure: Measure, k: int) -> float:
        reach, terms = 1.0, []
        for rank, code in enumerate(self.codes[:k], start=1):
            terms.append(reach * self.tables.stops[code] / rank)
            reach *= 1 - self.tables.stops[code]
        return math.fsum(terms)

    def bpref(self, measure: Measure, k: int) -> float:
        above, terms = 0, []
        for code, relevant in zip(self.codes, self.relevant, strict=True):
            if relevant:
                terms.append(1 - min(above, self.R) / min(self.N, self.R) if above else 1.0)
            elif code >= self.tables.first_judged:
                above += 1
        return math.fsum(terms) / self.R

    def rprec(self, measure: Measure, k: int) -> float:
        return sum(self.relevant[: self.R]) / self.R


class _Expected(_Ordered):
    """A query whose tied documents stand in every order with the same chance."""

    def spans(self) -> Iterator[tuple[int, int, int, Block]]:
        """(documents before the block, relevant before it, relevant inside it, its codes)."""
        before = seen = 0
        for block in self.blocks:
            inside = sum(self.relevant[before : before + len(block)])
            yield before, seen, inside, block
            before += len(block)
            seen += inside

    def found(self, k: int) -> float:
        """Expected relevant documents in the first k: a block that the cut divides shows a share of its own."""
        shares = []
        for before, _, inside, block in self.spans():
            shown = min(max(k - before, 0), len(block))
            shares.append(inside * shown / len(block))
        return math.fsum(shares)

    def dcg(self, measure: Measure, k: int) -> float:
        terms = []
        for before, _, _, block in self.spans():
            gain = math.fsum(self.tables.gains[code] for code in block) / len(block)
            terms.append(gain * math.fsum(self.tables.discounts[before : max(before, min(before + len(block), k))]))
        return math.fsum(terms)

    def ap(self, measure: Measure, k: int) -> float:
        terms = []
        for before, seen, inside, block in self.spans():
            n = len(block)
            for a in range(1, min(n, k - before) + 1):
                others = (a - 1) * (inside - 1) / (n - 1) if n > 1 else 0
                terms.append(inside / n * (seen + 1 + others) / (before + a))
        norm = min(self.R, measure.cut) if measure.norm_min and measure.cut else self.R
        return math.fsum(terms) / norm

    def rr(self, measure: Measure, k: int) -> float:
        for before, _, inside, block in self.spans():
            if inside:
                n, none_yet, terms = len(block), 1.0, []
                for a in range(1, min(n, k - before) + 1):
                    terms.append(none_yet * inside / (n - a + 1) / (before + a))
                    none_yet *= (n - inside - a + 1) / (n - a + 1)
                return math.fsum(terms)
        return 0.0

    def precision(self, measure: Measure, k: int) -> float:
        k_or_fewer = min(k, self.n) if measure.norm_min else k
        return self.found(k) / k_or_fewer if k_or_fewer else 0.0

    def recall(self, measure: Measure, k: int) -> float:
        return self.found(k) / self.R

    def success(self, measure: Measure, k: int) -> float:
        none = 1.0
        for before, _, inside, block in self.spans():
            n = len(block)
            for a in range(min(n, max(k - before, 0))):
                none *= max(n - inside - a, 0) / (n - a)
        return 1 - none

    def wta(self, measure: Measure, k: int) -> float:
        return self.blocks[0].count(max(self.everything)) / len(self.blocks[0]) if self.n else 0.0

    def err(self, measure: Measure, k: int) -> float:
        """The chance that nobody stops in the first a of a block is a mean over its subsets of a documents.

        Document by document: the newest one is among the first a of i + 1 with chance a / (i + 1).
        """
        reach, total = np.longdouble(1), np.longdouble(0)
        for before, _, _, block in self.spans():
            passed = np.ones(1, dtype=np.longdouble)  # by a = 0..i
            for i, code in enumerate(block):
                a = np.arange(i + 2, dtype=np.longdouble)
                among = np.concatenate(([0], passed)) * (1 - np.longdouble(self.tables.stops[code]))
                passed = ((i + 1 - a) * np.concatenate((passed, [0])) + a * among) / (i + 1)
            ranks = np.arange(before + 1, before + len(block) + 1)
            total += reach * ((passed[:-1] - passed[1:]) / ranks)[ranks <= k].sum()
            reach *= passed[-1]
        return float(total)

    def bpref(self, measure: Measure, k: int) -> float:
        """Among the c nonrelevant of its block a relevant document takes each of c + 1 places equally often."""
        above, terms = 0, []
        for _, _, inside, block in self.spans():
            c = sum(self.tables.first_judged <= code < self.tables.first_relevant for code in block)
            if inside:
                for j in range(above, above + c + 1):
                    one = 1 - min(j, self.R) / min(self.N, self.R) if j else 1.0
                    terms.append(inside * one / (c + 1))
            above += c
        return math.fsum(terms) / self.R

    def rprec(self, measure: Measure, k: int) -> float:
        return self.found(self.R) / self.R
