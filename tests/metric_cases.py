"""Scores and labels that break sorts and measures, one generator for all tests of the metrics kernel.

`make(name)` gives the lists of each name in `NAMES`, the same at every call; `LONG` names those too long for every
combination. `SCORES` and `LABELS` are the ways to score and label one list.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from reference import metrics as reference

Scores = NDArray[np.float64]
Codes = NDArray[np.int32]
Random = np.random.Generator


class Case(NamedTuple):
    """Lists of scored and coded documents, and the codes of judged documents that were not retrieved (or None)."""

    name: str
    scores: NDArray[Any]
    codes: Codes
    qptr: NDArray[np.int64]
    n_codes: int
    first_judged: int = 0
    first_relevant: int = 1
    missing: Codes | None = None
    missing_ptr: NDArray[np.int64] | None = None

    @property
    def n_queries(self) -> int:
        """How many lists."""
        return len(self.qptr) - 1

    def as_float32(self) -> Case:
        """The same with scores rounded to single precision, the overflowing ones to the largest there is."""
        most = float(np.finfo(np.float32).max)
        return self._replace(scores=np.clip(self.scores, -most, most).astype(np.float32))

    def tables(self) -> reference.Tables:
        """Gains 2^grade - 1 where there are few grades, else linear; ERR's usual chances; 1 / log2(1 + rank)."""
        grades = np.maximum(np.arange(self.n_codes) - self.first_judged, 0).astype(np.float64)
        gains = np.exp2(grades) - 1 if self.n_codes <= 32 else grades
        stops = gains / np.exp2(grades.max(initial=0)) if self.n_codes <= 32 else grades / self.n_codes
        longest = int(np.diff(self.qptr).max(initial=0))
        if self.missing_ptr is not None:
            longest = int((np.diff(self.qptr) + np.diff(self.missing_ptr)).max(initial=0))
        discounts = 1 / np.log2(np.arange(2, longest + 2))
        return reference.Tables(
            gains.tolist(), stops.tolist(), discounts.tolist(), self.first_judged, self.first_relevant
        )

    def query(self, query: int) -> tuple[list[int], list[float], list[int]]:
        """Codes, scores and missing codes of one list."""
        rows = slice(self.qptr[query], self.qptr[query + 1])
        missing: list[int] = []
        if self.missing is not None and self.missing_ptr is not None:
            missing = self.missing[self.missing_ptr[query] : self.missing_ptr[query + 1]].tolist()
        return self.codes[rows].tolist(), self.scores[rows].astype(np.float64).tolist(), missing

    def permuted(self, rng: Random) -> Case:
        """The same lists, the rows of each in another order."""
        rows = np.concatenate(
            [a + rng.permutation(b - a) for a, b in zip(self.qptr[:-1], self.qptr[1:], strict=True)] or [[]]
        ).astype(np.int64)
        return self._replace(scores=self.scores[rows], codes=self.codes[rows])


# ---------------------------------------------------------------- scores of one list


def _bits(values: Any) -> Scores:
    return np.asarray(values, dtype=np.uint64).view(np.float64)


def _low_bits(n_bits: int) -> Callable[[Random, int], Scores]:
    """Values that are equal once the lowest bits are dropped, around a few centres of both signs."""

    def scores(rng: Random, n: int) -> Scores:
        centres = rng.choice(np.array([0.7, -0.7, 1.0, -1.0, 3e-300, -12345.678]), n).view(np.uint64)
        low = rng.integers(0, 2**n_bits, n, dtype=np.uint64)
        return _bits((centres >> np.uint64(n_bits) << np.uint64(n_bits)) | low)

    return scores


def _single_low_bits(rng: Random, n: int) -> Scores:
    """Neighbours among the float32 values."""
    centres = rng.choice(np.array([0.7, -0.7, 1.0], dtype=np.float32), n).view(np.uint32)
    return (centres ^ rng.integers(0, 4, n, dtype=np.uint32)).view(np.float32).astype(np.float64)


def _with_pair(gap: int) -> Callable[[Random, int], Scores]:
    """Distinct scores but for two that lie `gap` representable values apart; 0 is a tie."""

    def scores(rng: Random, n: int) -> Scores:
        return pair_at(rng, n, int(rng.integers(0, max(n - 1, 1))), gap)

    return scores


def pair_at(rng: Random, n: int, place: int, gap: int) -> Scores:
    """Shuffled scores whose only near ones are those at 0-based ranks `place` and `place` + 1."""
    scores = np.sort(rng.standard_normal(n) + np.arange(n) / 8)[::-1].copy()
    if n > 1:
        bits = scores[place : place + 2].view(np.int64)
        bits[1] = bits[0] - gap if scores[place] > 0 else bits[0] + gap
    return rng.permutation(scores)


def _organ_pipe(rng: Random, n: int) -> Scores:
    return np.minimum(np.arange(n), np.arange(n)[::-1]).astype(np.float64)


def _median_killer(rng: Random, n: int) -> Scores:
    """Musser's sequence: a quicksort that pivots on the median of first, middle and last goes quadratic."""
    half = n // 2
    place = np.arange(n)
    killer = np.where(place % 2 == 0, place + 1, half + place)
    killer[half:] = 2 * (place[half:] - half + 1)
    return killer.astype(np.float64)


SCORES: dict[str, Callable[[Random, int], Scores]] = {
    "distinct": lambda rng, n: rng.standard_normal(n),
    "few values, as trees give": lambda rng, n: rng.choice(rng.standard_normal(7), n) if n else np.zeros(0),
    "two values": lambda rng, n: rng.integers(0, 2, n).astype(np.float64),
    "pairs": lambda rng, n: rng.permutation(np.arange(n) // 2) / 3,
    "one value": lambda rng, n: np.full(n, -1.5),
    "one differs": lambda rng, n: (np.arange(n) == rng.integers(0, max(n, 1))).astype(np.float64),
    "last bit": lambda rng, n: _bits(np.float64(0.1).view(np.uint64) + rng.integers(0, 2, n, dtype=np.uint64)),
    "neighbours": lambda rng, n: _bits(np.float64(-1.0).view(np.uint64) + rng.permutation(n).astype(np.uint64)),
    "one tied pair": _with_pair(0),
    "one pair of neighbours": _with_pair(1),
    "one near pair": _with_pair(5),
    "low 2 bits": _low_bits(2),
    "low 3 bits": _low_bits(3),
    "low 4 bits": _low_bits(4),
    "low 8 bits": _low_bits(8),
    "low 16 bits": _low_bits(16),
    "low 20 bits": _low_bits(20),
    "low 32 bits": _low_bits(32),
    "low bits of float32": _single_low_bits,
    "float32 and not": lambda rng, n: np.where(
        rng.random(n) < 0.5, np.float32(0.1).astype(np.float64), rng.choice([0.1, np.nextafter(0.1, 1)], n)
    ),
    "huge": lambda rng, n: rng.choice([1e300, -1e300, 9.99e299, 1.7976931348623157e308, -1.7976931348623157e308, 1], n),
    "every size": lambda rng, n: rng.choice([-1.0, 1.0], n) * np.exp2(rng.uniform(-1074, 1023, n)),
    "subnormal": lambda rng, n: _bits(rng.integers(0, 5, n, dtype=np.uint64)) * rng.choice([-1.0, 1.0], n),
    "zeros of both signs": lambda rng, n: rng.choice([0.0, -0.0], n),
    "zeros among others": lambda rng, n: rng.choice([0.0, -0.0, 5e-324, -5e-324, 1.0, -1.0], n),
    "above 2^53": lambda rng, n: 2.0**53 + 2 * rng.integers(0, max(n, 1), n),
    "ascending": lambda rng, n: np.arange(n, dtype=np.float64),
    "descending": lambda rng, n: -np.arange(n, dtype=np.float64),
    "descending runs": lambda rng, n: -(np.arange(n) // 3).astype(np.float64),
    "organ pipe": _organ_pipe,
    "valley": lambda rng, n: -_organ_pipe(rng, n),
    "sawtooth": lambda rng, n: (np.arange(n) % 16).astype(np.float64),
    "median killer": _median_killer,
    "nearly sorted": lambda rng, n: -np.arange(n) + 4.0 * (rng.random(n) < 0.05),
}


# ---------------------------------------------------------------- labels of one list


def _relevant(rng: Random, n: int, count: int) -> Codes:
    codes = np.zeros(n, dtype=np.int32)
    codes[rng.permutation(n)[:count]] = 1
    return codes


LABELS: dict[str, Callable[[Random, int], Codes]] = {
    "graded": lambda rng, n: rng.choice(5, n, p=[0.5, 0.3, 0.15, 0.03, 0.02]).astype(np.int32),
    "even": lambda rng, n: rng.integers(0, 5, n, dtype=np.int32),
    "binary": lambda rng, n: rng.integers(0, 2, n, dtype=np.int32),
    "none": lambda rng, n: np.zeros(n, dtype=np.int32),
    "all": lambda rng, n: rng.integers(1, 5, n, dtype=np.int32),
    "one grade": lambda rng, n: np.full(n, 3, dtype=np.int32),
    "one": lambda rng, n: _relevant(rng, n, 1),
    "few": lambda rng, n: _relevant(rng, n, int(rng.integers(1, 21))),
    "sparse": lambda rng, n: (rng.random(n) < 0.01).astype(np.int32) * rng.integers(1, 5, n, dtype=np.int32),
    "all but one": lambda rng, n: (1 - _relevant(rng, n, 1)) * np.int32(4),
}


# ---------------------------------------------------------------- cases


def _joined(name: str, lists: Sequence[tuple[Scores, Codes]], n_codes: int = 5, **more: Any) -> Case:
    sizes = [len(codes) for _, codes in lists]
    scores = np.concatenate([np.zeros(0), *(scores for scores, _ in lists)])
    codes = np.concatenate([np.zeros(0, dtype=np.int32), *(codes for _, codes in lists)]).astype(np.int32)
    qptr = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64))).astype(np.int64)
    return Case(name, scores, codes, qptr, n_codes, **more)


def _mixed(rng: Random, sizes: Sequence[int]) -> list[tuple[Scores, Codes]]:
    """Lists of these sizes, each scored and labelled in another way."""
    scorers, labellers = list(SCORES.values()), list(LABELS.values())
    start = int(rng.integers(0, 1000))
    return [
        (scorers[(start + i) % len(scorers)](rng, n), labellers[(start + 3 * i) % len(labellers)](rng, n))
        for i, n in enumerate(sizes)
    ]


def _ordinary(rng: Random, sizes: Sequence[int], scorer: str = "distinct", label: str = "graded") -> Any:
    return [(SCORES[scorer](rng, n), LABELS[label](rng, n)) for n in sizes]


# The last sizes cross what a register, a cache line and a batch hold.
_SIZES = (0, 1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33, 64, 65, 130, 257)

LISTS: dict[str, Callable[[Random], list[tuple[Scores, Codes]]]] = {
    "no lists": lambda rng: [],
    "one empty list": lambda rng: _mixed(rng, [0]),
    "only empty lists": lambda rng: _mixed(rng, [0] * 11),
    "one document": lambda rng: [(np.array([0.5]), np.array([2], dtype=np.int32))],
    "one irrelevant document": lambda rng: [(np.array([0.5]), np.array([0], dtype=np.int32))],
    "lists of one": lambda rng: _mixed(rng, [1] * 43),
    "eight lists of three": lambda rng: _mixed(rng, [3] * 8),
    "tiny lists of one length each": lambda rng: _mixed(rng, [n for n in range(1, 21) for _ in range(9)]),
    "tiny lists of mixed lengths": lambda rng: _mixed(rng, rng.integers(0, 21, 150).tolist()),
    "tiny lists, some empty": lambda rng: _mixed(rng, (rng.integers(0, 9, 150) * rng.integers(0, 2, 150)).tolist()),
    "1 to 20": lambda rng: _mixed(rng, range(1, 21)),
    "20 to 70": lambda rng: _mixed(rng, range(20, 70)),
    "60 to 140": lambda rng: _mixed(rng, range(60, 141, 3)),
    "120 to 135": lambda rng: _mixed(rng, range(120, 136)),
    "250 to 260": lambda rng: _mixed(rng, range(250, 261)),
    "500 to 520": lambda rng: _mixed(rng, range(500, 521, 4)),
    "1000": lambda rng: _mixed(rng, [1000, 1023, 1024, 1025]),
    "about 120, few ties": lambda rng: _ordinary(rng, rng.integers(80, 160, 20).tolist()),
    "about 120, trees": lambda rng: _ordinary(rng, rng.integers(80, 160, 20).tolist(), "few values, as trees give"),
    "a thousand, few relevant": lambda rng: [
        (SCORES["distinct"](rng, 1000), _relevant(rng, 1000, count)) for count in (1, 2, 3, 5, 8, 13, 16, 17, 20)
    ],
    "a thousand, few relevant, ties": lambda rng: [
        (SCORES["few values, as trees give"](rng, 1000), _relevant(rng, 1000, count)) for count in (1, 4, 9, 20)
    ],
    "tiny and huge": lambda rng: _mixed(rng, [2, 1, 3, 2500, 1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 700, 1]),
    "5000": lambda rng: _ordinary(rng, [5000]) + _ordinary(rng, [5000], "few values, as trees give", "sparse"),
    "100000": lambda rng: _ordinary(rng, [3, 100_000, 2]),
    "100000, few relevant, ties": lambda rng: _ordinary(rng, [100_000], "few values, as trees give", "few"),
}


def _by_score(scorer: str) -> Callable[[Random], list[tuple[Scores, Codes]]]:
    labels = list(LABELS.values())
    return lambda rng: [(SCORES[scorer](rng, n), labels[i % len(labels)](rng, n)) for i, n in enumerate(_SIZES)]


def _by_label(label: str) -> Callable[[Random], list[tuple[Scores, Codes]]]:
    scorers = list(SCORES.values())
    return lambda rng: [(scorers[i % len(scorers)](rng, n), LABELS[label](rng, n)) for i, n in enumerate(_SIZES)]


LISTS |= {f"scores: {scorer}": _by_score(scorer) for scorer in SCORES}
LISTS |= {f"labels: {label}": _by_label(label) for label in LABELS}


def _pairs(gaps: Sequence[int], sizes: Sequence[int]) -> Callable[[Random], list[tuple[Scores, Codes]]]:
    """Lists whose only tied or near scores stand at each rank in turn, so that each cut once divides them."""
    return lambda rng: [
        (pair_at(rng, n, place, gap), LABELS["even"](rng, n)) for n in sizes for gap in gaps for place in range(n - 1)
    ]


LISTS |= {
    "tied pairs at every rank": _pairs([0], [2, 3, 4, 7, 8, 9, 16, 17, 33, 65]),
    "near pairs at every rank": _pairs([1, 2, 3, 4, 7, 8], [2, 3, 4, 7, 8, 9, 17]),
    "pairs at every rank of 130": _pairs([0, 3], [130]),
}


def _spread(rng: Random, n_codes: int, sizes: Sequence[int]) -> list[tuple[Scores, Codes]]:
    return [(scores, rng.integers(0, n_codes, len(scores), dtype=np.int32)) for scores, _ in _mixed(rng, sizes)]


def _with_missing(name: str, rng: Random) -> Case:
    """Unjudged documents retrieved, judged ones not; a list may be empty and yet have relevant documents."""
    case = _joined(name, _mixed(rng, [0, 1, 2, 3, 5, 8, 0, 9, 17, 33, 64, 130, 0, 257, 4, 4]), 6)
    codes = np.where(rng.random(len(case.codes)) < 0.3, 0, case.codes + 1).astype(np.int32)
    sizes = rng.choice([0, 1, 2, 7, 30], case.n_queries)
    sizes[:2] = (3, 0)
    return case._replace(
        codes=codes,
        first_judged=1,
        first_relevant=2,
        missing=rng.integers(1, 6, sizes.sum(), dtype=np.int32),
        missing_ptr=np.concatenate(([0], np.cumsum(sizes))).astype(np.int64),
    )


OTHERS: dict[str, Callable[[str, Random], Case]] = {
    "15 codes": lambda name, rng: _joined(name, _spread(rng, 15, [*[3, 8, 5, 1, 0, 8, 7, 6] * 2, 40, 130]), 15),
    "16 codes": lambda name, rng: _joined(name, _spread(rng, 16, [*[3, 8, 5, 1, 0, 8, 7, 6] * 2, 40, 130]), 16),
    "17 codes": lambda name, rng: _joined(name, _spread(rng, 17, [*[3, 8, 5, 1, 0, 8, 7, 6] * 2, 40, 130]), 17),
    "33 codes": lambda name, rng: _joined(name, _spread(rng, 33, [5, 40, 0, 130]), 33),
    "300 codes": lambda name, rng: _joined(name, _spread(rng, 300, [1, 70, 300]), 300, first_relevant=150),
    "5000 codes": lambda name, rng: _joined(name, _spread(rng, 5000, [3, 1200, 9, 64]), 5000, first_relevant=4000),
    "one code": lambda name, rng: _joined(name, _spread(rng, 1, [1, 5, 70]), 1),
    "no code is relevant": lambda name, rng: _joined(name, _spread(rng, 5, [1, 5, 70]), 5, first_relevant=5),
    "every code is relevant": lambda name, rng: _joined(name, _spread(rng, 5, [0, 1, 5, 70]), 5, first_relevant=0),
    "high grades are relevant": lambda name, rng: _joined(name, _mixed(rng, _SIZES), 5, first_relevant=3),
    "unjudged": lambda name, rng: _joined(name, _spread(rng, 6, _SIZES), 6, first_judged=1, first_relevant=2),
    "unjudged, all judged relevant": lambda name, rng: _joined(
        name, _spread(rng, 6, _SIZES), 6, first_judged=1, first_relevant=1
    ),
    "missing": _with_missing,
    "missing, again": _with_missing,
    "missing, all judged": lambda name, rng: _with_missing(name, rng)._replace(first_judged=0, first_relevant=1),
}
NAMES = (*LISTS, *OTHERS)
LONG = ("5000", "100000", "100000, few relevant, ties")
SHORT = tuple(name for name in NAMES if name not in LONG)


@cache
def make(name: str) -> Case:
    """The case of this name; nobody may write to it."""
    rng = np.random.default_rng([11, NAMES.index(name)])
    case = OTHERS[name](name, rng) if name in OTHERS else _joined(name, LISTS[name](rng))
    for part in (case.scores, case.codes, case.qptr, case.missing, case.missing_ptr):
        if part is not None:
            part.flags.writeable = False
    return case


@cache
def make32(name: str) -> Case:
    """The same with scores in single precision."""
    case = make(name).as_float32()
    case.scores.flags.writeable = False
    return case


def drawn(seed: int, sizes: Sequence[int], n_codes: int) -> Case:
    """Lists of these sizes, each scored and labelled in a way that the seed chooses."""
    rng = np.random.default_rng(seed)
    scorers, labellers = list(SCORES.values()), list(LABELS.values())
    lists = []
    for n in sizes:
        codes = labellers[rng.integers(len(labellers))](rng, n)
        if n_codes > 5 and rng.random() < 0.5:
            codes = codes * rng.integers(0, n_codes // 4 + 1, n, dtype=np.int32)
        lists.append((scorers[rng.integers(len(scorers))](rng, n), np.minimum(codes, n_codes - 1)))
    return _joined("drawn", lists, n_codes, first_relevant=int(rng.choice([1, n_codes // 2])))


@cache
def shortcuts(scorer: str) -> Case:
    """Lists around the lengths and the numbers of relevant documents where a shortcut may begin or end."""
    rng = np.random.default_rng([13, list(SCORES).index(scorer)])
    shapes = [(n, count) for n in (31, 32, 130) for count in (0, 1, 4, 5, 11, 12, 13)]
    shapes += [(n, count) for n in (255, 256, 700) for count in (1, 12, 13, 20, 21)]
    shapes += [(n, count) for n in (1023, 1024) for count in (2, 20, 21, 32, 33)]
    shapes += [(n, count) for n in (2047, 2048, 2600) for count in (3, 33, n // 2)]
    return _joined(scorer, [(SCORES[scorer](rng, n), _relevant(rng, n, count)) for n, count in shapes])
