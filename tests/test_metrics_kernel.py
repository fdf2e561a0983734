"""The kernel of the measures, against the definitions; every path and every machine to the same bits."""

from __future__ import annotations

import itertools
import math
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import metric_cases as cases
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import metrics as reference
from reference.metrics import Measure, Tables
from scipy import stats

from fastrank._core import _cpu, _metrics

LEVELS = range(len(_cpu.supported_levels()))
LEVEL_NAMES = list(_cpu.supported_levels())
TIES = tuple(_metrics.TIES)
PATHS = tuple(_metrics.PATHS)
UNTOUCHED = -77.0
FILLS = itertools.cycle([0.0, 1.0, math.nan, 0.25])
CUT_KINDS = ("dcg", "ndcg", "ap", "rr", "precision", "recall", "success", "err")
MEASURES = (
    *(
        Measure(kind, cut, fill=next(FILLS))
        for kind in reference.KINDS
        for cut in ((0, 1, 2, 5, 10, 100, 10**6) if kind in CUT_KINDS else (0,))
    ),
    Measure("ap", 1, norm_min=True),
    Measure("ap", 10, norm_min=True, fill=1.0),
    Measure("ap", 0, norm_min=True),
    Measure("precision", 10, norm_min=True),
    Measure("precision", 0, norm_min=True, fill=0.5),
    Measure("ndcg", 5, short_zero=True, fill=0.0),
    Measure("ndcg", 100, short_zero=True, fill=0.0),
    Measure("ap", 10, norm_min=True, short_zero=True, fill=0.0),
    Measure("precision", 2, short_zero=True, fill=0.0),
)
# Ratios of integers, one division from the exact value, unless ties are averaged.
EXACT = ("rr", "precision", "recall", "success", "wta", "rprec")
# What the kernel may find without sorting everything.
ALONE = (
    (Measure("ndcg", 10),),
    (Measure("dcg", 1),),
    (Measure("rr"),),
    (Measure("rr", 10), Measure("success", 5)),
    (Measure("precision", 1),),
    (Measure("recall", 100),),
    (Measure("ap"),),
    (Measure("ap"), Measure("ndcg", 10)),
    (Measure("wta"),),
    (Measure("err", 20),),
    (Measure("bpref"), Measure("rprec")),
    (Measure("tau"),),
    tuple(measure for measure in MEASURES if measure.kind not in ("err", "bpref", "rprec", "tau")),
    tuple(measure for measure in MEASURES if measure.kind in ("dcg", "ndcg") and measure.cut in (1, 2, 5)),
)


def names(measures):
    return " ".join(f"{m.kind}@{m.cut}" if m.cut else m.kind for m in measures)


def program(measures, tables, ties):
    """The kernel's form of the measures and tables."""
    return _metrics.Program(
        np.array([_metrics.KINDS[m.kind] for m in measures], dtype=np.int32),
        np.array([m.cut for m in measures], dtype=np.int64),
        np.array(
            [_metrics.NORM_MIN * m.norm_min + _metrics.SHORT_ZERO * m.short_zero for m in measures], dtype=np.int32
        ),
        np.array([m.fill for m in measures], dtype=np.float64),
        np.array(tables.gains, dtype=np.float64),
        np.array(tables.stops, dtype=np.float64),
        tables.first_judged,
        tables.first_relevant,
        np.array(tables.discounts, dtype=np.float64),
        _metrics.TIES[ties],
    )


def run(case, measures=MEASURES, ties="mean", *, tables=None, level=_cpu.LEVEL, path="auto", **changes):
    """(values, first bad row, empty queries per measure) of the queries first..last."""
    given = {"scores": case.scores, "codes": case.codes, "first": 0, "last": case.n_queries} | changes
    out = np.full((len(measures), case.n_queries), UNTOUCHED)
    made = changes.get("program") or program(measures, tables or case.tables(), ties)
    bad, n_empty = made.run(
        given["scores"],
        given["codes"],
        case.qptr,
        given["first"],
        given["last"],
        case.missing,
        case.missing_ptr,
        level,
        _metrics.PATHS[path],
        out,
    )
    return out, bad, np.array(n_empty, dtype=np.int64)


def values(*arguments, **options):
    out, bad, _ = run(*arguments, **options)
    assert bad == -1
    return out


@cache
def expected(name, ties, single=False):
    """The twin's values of a case, and which queries are empty."""
    case = cases.make32(name) if single else cases.make(name)
    tables = case.tables()
    table = np.empty((len(MEASURES), case.n_queries))
    empty = np.zeros(len(MEASURES), dtype=np.int64)
    for query in range(case.n_queries):
        codes, scores, missing = case.query(query)
        table[:, query] = reference.values(MEASURES, tables, codes, scores, ties, missing)
        empty += np.array(reference.empties(MEASURES, tables, codes, scores, missing))
    return table, empty


def assert_parity(got, wanted, measures, ties):
    for row, measure in enumerate(measures):
        label = f"{measure}, ties {ties}"
        if measure.kind in EXACT and ties != "mean":
            np.testing.assert_array_equal(got[row], wanted[row], err_msg=label)
        else:
            np.testing.assert_allclose(got[row], wanted[row], rtol=1e-12, atol=1e-15, err_msg=label)


def assert_same_bits(got, wanted, what):
    if got.tobytes() != wanted.tobytes():
        row, query = np.argwhere(got.view(np.int64) != wanted.view(np.int64))[0]
        pytest.fail(f"{what}: measure {row}, query {query}: {got[row, query]!r} and not {wanted[row, query]!r}")


def case_of(*lists, n_codes=5, **options):
    """A case of (scores, codes) pairs."""
    qptr = np.cumsum([0, *(len(codes) for _, codes in lists)]).astype(np.int64)
    scores = np.array([score for one, _ in lists for score in one], dtype=np.float64)
    codes = np.array([code for _, one in lists for code in one], dtype=np.int32)
    return cases.Case("", scores, codes, qptr, n_codes, **options)


# ---------------------------------------------------------------- the twin, by hand

PLAIN = Tables([0.0, 1.0, 3.0], [0.0, 0.25, 0.75], [1 / math.log2(1 + rank) for rank in range(1, 9)])
BY_HAND = [
    # kind, cut, codes in rank order, value
    ("dcg", 0, [2, 0, 1], 3 + 1 / 2),
    ("dcg", 2, [2, 0, 1], 3),
    ("ndcg", 0, [0, 2, 1], (3 / math.log2(3) + 1 / 2) / (3 + 1 / math.log2(3))),
    ("ndcg", 1, [1, 2, 0], 1 / 3),
    ("ap", 0, [1, 0, 1, 0, 0, 2], (1 + 2 / 3 + 3 / 6) / 3),
    ("ap", 3, [1, 0, 1, 0, 0, 2], (1 + 2 / 3) / 3),
    ("rr", 0, [0, 0, 1, 1], 1 / 3),
    ("rr", 2, [0, 0, 1, 1], 0),
    ("precision", 5, [1, 0, 1], 2 / 5),
    ("precision", 0, [1, 0, 1], 2 / 3),
    ("recall", 2, [1, 0, 1, 1], 1 / 3),
    ("success", 2, [0, 0, 1], 0),
    ("success", 3, [0, 0, 1], 1),
    ("wta", 0, [1, 2], 0),
    ("wta", 0, [2, 2, 1], 1),
    ("err", 0, [1, 2, 0], 1 / 4 + (3 / 4) * (3 / 4) / 2),
    ("err", 1, [1, 2, 0], 1 / 4),
    # two relevant, three not: one is above the first, two are above the second
    ("bpref", 0, [0, 1, 0, 1, 0], ((1 - 1 / 2) + (1 - 2 / 2)) / 2),
    ("bpref", 0, [1, 0, 2, 1], (1 + 0 + 0) / 3),
    ("rprec", 0, [1, 0, 1, 0], 1 / 2),
    ("tau", 0, [1, 2, 0], 1 / 3),
    ("tau", 0, [2, 1, 1], 2 / math.sqrt(3 * 2)),
]


@pytest.mark.parametrize(("kind", "cut", "codes", "value"), BY_HAND)
def test_the_twin_gives_the_numbers_of_the_textbook(kind, cut, codes, value):
    scores = list(range(len(codes), 0, -1))
    for ties in reference.TIES:
        assert reference.value(Measure(kind, cut), PLAIN, codes, scores, ties) == pytest.approx(value, rel=1e-14)
    assert reference.value(Measure(kind, cut), PLAIN, codes, None) == pytest.approx(value, rel=1e-14)


def test_the_twin_with_flags_ties_and_missing_documents_by_hand():
    def value(kind, codes, scores, ties="index", cut=0, missing=(), **flags):
        return reference.value(Measure(kind, cut, **flags), PLAIN, codes, scores, ties, missing)

    assert value("ap", [1, 0, 1], [3, 2, 1], cut=1) == 1 / 2
    assert value("ap", [1, 0, 1], [3, 2, 1], cut=1, norm_min=True) == 1
    assert value("precision", [1, 0], [2, 1], cut=5, norm_min=True) == 1 / 2
    assert value("ndcg", [1, 0], [2, 1], cut=2, short_zero=True) == 1
    assert value("ndcg", [1, 0], [2, 1], cut=3, short_zero=True) == 0
    assert value("ndcg", [0, 0], [2, 1], cut=2, fill=0.5) == value("ap", [], [], fill=0.5) == 0.5
    assert value("dcg", [], [], fill=0.5) == 0
    # one relevant of two, tied
    assert [value("ap", [0, 1], [1, 1], ties) for ties in reference.TIES] == [1 / 2, 1 / 2, 1, 3 / 4, 1 / 2]
    assert [value("ap", [1, 0], [1, 1], ties) for ties in reference.TIES] == [1, 1 / 2, 1, 3 / 4, 1 / 2]
    # threshold: both of the block's relevant count 2 of 3
    assert value("ap", [1, 1, 0], [1, 1, 1], "threshold") == 2 / 3
    assert value("ap", [1, 1, 0], [1, 1, 1], "worst") == pytest.approx((1 / 2 + 2 / 3) / 2, rel=1e-15)
    assert value("rr", [0, 0, 1], [1, 1, 1], "mean") == pytest.approx((1 + 1 / 2 + 1 / 3) / 3, rel=1e-15)
    assert value("err", [1, 2], [1, 1], "mean") == pytest.approx((1 / 4 + 9 / 32 + 3 / 4 + 1 / 32) / 2, rel=1e-15)
    assert value("wta", [1, 2, 2], [1, 1, 0], "mean") == 1 / 2
    # zeros of both signs tie
    assert value("rr", [0, 1], [-0.0, 0.0], "best") == 1
    # not retrieved: one relevant, two not
    assert value("ap", [1, 0], [2, 1], missing=[2, 0, 0]) == 1 / 2
    assert value("recall", [1, 0], [2, 1], missing=[2, 0, 0]) == 1 / 2
    assert value("rprec", [0, 1], [2, 1], missing=[2, 0, 0]) == 1 / 2
    assert value("bpref", [0, 1], [2, 1], missing=[2, 0, 0]) == (1 - 1 / 2) / 2
    assert value("ndcg", [1], [1], missing=[2]) == pytest.approx(1 / (3 + 1 / math.log2(3)), rel=1e-15)
    assert value("precision", [1], [1], missing=[2]) == 1
    assert value("wta", [1, 0], [2, 1], missing=[2]) == 0
    # a threshold that passes three documents is beyond a cut of two
    assert value("ap", [1, 1, 1, 0], [2, 1, 1, 0], "threshold", cut=2) == 1 / 3
    assert value("ap", [1, 1, 1, 0], [2, 1, 1, 0], "threshold", cut=3) == 1
    # unjudged documents count as ranks, and not as nonrelevant
    unjudged = PLAIN._replace(first_judged=1, first_relevant=2)
    assert reference.value(Measure("bpref"), unjudged, [0, 2, 1, 2], [4, 3, 2, 1]) == 1 / 2
    assert reference.value(Measure("rr"), unjudged, [0, 2, 1, 2], [4, 3, 2, 1]) == 1 / 2
    assert reference.value(Measure("tau"), unjudged, [0, 2, 1], [3, 2, 1]) == 1
    assert reference.value(Measure("tau", fill=0.5), unjudged, [0, 0, 1], [3, 2, 1]) == 0.5


SMALL = st.integers(0, 7).flatmap(
    lambda n: st.tuples(
        st.lists(st.integers(0, 3), min_size=n, max_size=n),
        st.lists(st.sampled_from([0.0, -0.0, 1.0, 2.0, 3.0]), min_size=n, max_size=n),
        st.lists(st.integers(1, 3), max_size=3),
    )
)
GRADED = Tables([0.0, 0.0, 1.0, 3.0], [0.0, 0.1, 1.0, 0.5], [1 / math.log2(2 + place) for place in range(12)], 1, 2)
FEW = tuple(measure for measure in MEASURES if measure.cut in (0, 1, 2, 5))


@settings(max_examples=60, deadline=None)
@given(SMALL)
def test_closed_forms_are_the_means_over_all_orders(query):
    codes, scores, missing = query
    if reference.n_orders(reference.blocks_of(codes, scores)) <= 720:
        np.testing.assert_allclose(
            reference.expected(FEW, GRADED, codes, scores, missing),
            reference.enumerated(FEW, GRADED, codes, scores, missing),
            rtol=1e-13,
            atol=1e-15,
        )


@pytest.mark.parametrize("codes", [[0, 1, 2, 2, 3, 0, 1], [3, 0, 0, 0, 0, 0, 0], [2, 3, 3, 1, 1, 1, 0], [1] * 6 + [2]])
def test_closed_forms_are_the_means_over_all_orders_of_seven(codes):
    scores = [1.0] * 7
    np.testing.assert_allclose(
        reference.expected(FEW, GRADED, codes, scores), reference.enumerated(FEW, GRADED, codes, scores), rtol=1e-13
    )


@pytest.mark.parametrize("n", [2, 3, 10, 60, 200])
def test_tau_pair_by_pair_is_the_one_of_scipy(rng, n):
    for n_values in (2, 3, 1000):
        codes, scores = rng.integers(0, 4, n), rng.integers(0, n_values, n).astype(float)
        tau = stats.kendalltau(codes, scores, variant="b").statistic
        got = reference.kendall_tau(codes.tolist(), scores.tolist())
        assert math.isnan(tau) if got is None else got == pytest.approx(tau, rel=1e-13, abs=1e-15)


# ---------------------------------------------------------------- parity


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("name", cases.SHORT)
def test_parity(name, ties):
    case = cases.make(name)
    wanted, empty = expected(name, ties)
    got, bad, n_empty = run(case, MEASURES, ties)
    assert bad == -1
    assert_parity(got, wanted, MEASURES, ties)
    assert list(n_empty) == empty.tolist()


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("name", cases.SHORT)
def test_parity_in_single_precision(name, ties):
    case = cases.make32(name)
    assert case.scores.dtype == np.float32
    assert_parity(values(case, MEASURES, ties), expected(name, ties, True)[0], MEASURES, ties)


@pytest.mark.parametrize("ties", ["index", "worst", "best", "threshold", "mean"])
@pytest.mark.parametrize("name", cases.LONG)
def test_parity_of_long_lists(name, ties):
    case = cases.make(name)
    tables = case.tables()
    # the twin's ERR of a large tied block is quadratic
    measures = [m for m in MEASURES if m.cut in (0, 1, 10, 10**6) and (m.kind != "err" or ties != "mean")]
    got = values(case, measures, ties)
    for query in range(case.n_queries):
        codes, scores, missing = case.query(query)
        wanted = reference.values(measures, tables, codes, scores, ties, missing)
        assert_parity(got[:, [query]], np.array(wanted)[:, None], measures, ties)


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("name", ["tiny lists of mixed lengths", "60 to 140", "tiny and huge", "missing", "5000 codes"])
@pytest.mark.parametrize("dtype", [np.int64, np.float64])
def test_codes_of_any_type_give_the_same_bits(name, ties, dtype):
    for case in (cases.make(name), cases.make32(name)):
        wanted = values(case, MEASURES, ties)
        assert_same_bits(values(case, MEASURES, ties, codes=case.codes.astype(dtype)), wanted, np.dtype(dtype))


def test_a_negative_zero_is_a_code():
    case = case_of(([1, 2, 3], [0, 1, 0]))
    wanted = values(case)
    assert_same_bits(values(case, codes=np.array([-0.0, 1.0, 0.0])), wanted, "negative zero")


@pytest.mark.parametrize("name", [*cases.SHORT, "5000"])
def test_rows_that_are_in_rank_order_already(name):
    case = cases.make(name)
    falling = -np.concatenate([np.arange(n) for n in np.diff(case.qptr)] or [np.zeros(0)]).astype(np.float64)
    for ties in TIES:
        wanted = values(case, MEASURES, ties, scores=falling)
        for level, path in itertools.product(LEVELS, PATHS):
            assert_same_bits(values(case, MEASURES, ties, scores=None, level=level, path=path), wanted, (ties, path))
    tables = case.tables()
    for query in range(min(case.n_queries, 8)):
        codes, _, missing = case.query(query)
        one = np.array(reference.values(MEASURES, tables, codes, None, "index", missing))
        assert_parity(wanted[:, [query]], one[:, None], MEASURES, "index")


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("name", ["labels: even", "tiny lists of mixed lengths", "60 to 140", "missing", "300 codes"])
def test_gains_and_stops_of_any_shape(name, ties, rng):
    """Gains that fall and rise with the grade, equal ones, documents that always or never satisfy."""
    case = cases.make(name)
    tables = case.tables()
    gains = rng.permutation(np.repeat([0.0, 0.5, 7.0, 1e-3], len(tables.gains)))[: len(tables.gains)].tolist()
    stops = rng.choice([0.0, 1.0, 0.3], len(tables.stops)).tolist()
    discounts = np.sort(rng.random(len(tables.discounts)))[::-1].tolist()
    tables = tables._replace(gains=gains, stops=stops, discounts=discounts)
    got = values(case, MEASURES, ties, tables=tables)
    for query in range(case.n_queries):
        codes, scores, missing = case.query(query)
        wanted = reference.values(MEASURES, tables, codes, scores, ties, missing)
        assert_parity(got[:, [query]], np.array(wanted)[:, None], MEASURES, ties)
    for level, path in itertools.product(LEVELS, PATHS):
        assert_same_bits(values(case, MEASURES, ties, tables=tables, level=level, path=path), got, (level, path))


def test_discounts_need_not_go_beyond_the_cut():
    case = cases.make("60 to 140")
    measures = [Measure("ndcg", 10), Measure("dcg", 3), Measure("ap"), Measure("err")]
    tables = case.tables()
    wanted = values(case, measures)
    assert_same_bits(values(case, measures, tables=tables._replace(discounts=tables.discounts[:10])), wanted, "short")


LISTS = st.lists(
    st.integers(0, 12).flatmap(
        lambda n: st.tuples(
            st.lists(
                st.sampled_from([0.0, -0.0, 1.0, np.nextafter(1.0, 2), 1e300, -5e-324, 0.1])
                | st.floats(allow_nan=False, allow_infinity=False),
                min_size=n,
                max_size=n,
            ),
            st.lists(st.integers(0, 4), min_size=n, max_size=n),
        )
    ),
    max_size=24,
)


@settings(max_examples=60, deadline=None)
@given(LISTS, st.sampled_from(TIES))
def test_any_small_lists(lists, ties):
    case = case_of(*lists)
    tables = case.tables()
    got = values(case, MEASURES, ties)
    for query in range(case.n_queries):
        codes, scores, _ = case.query(query)
        wanted = reference.values(MEASURES, tables, codes, scores, ties)
        assert_parity(got[:, [query]], np.array(wanted)[:, None], MEASURES, ties)
    assert_all_ways(case, ties, got)


# ---------------------------------------------------------------- all ways to the same bits


def assert_all_ways(case, ties, wanted, measures=MEASURES):
    """Every CPU level and path, for all measures and for those that may go another way when alone."""
    for level, path in itertools.product(LEVELS, PATHS):
        got = values(case, measures, ties, level=level, path=path)
        assert_same_bits(got, wanted, f"{LEVEL_NAMES[level]}, {path}, ties {ties}")


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("name", cases.NAMES)
def test_paths_and_cpu_levels_give_the_same_bits(name, ties):
    measures = [m for m in MEASURES if m.kind != "err" or ties != "mean"] if name in cases.LONG else MEASURES
    for case in (cases.make(name), cases.make32(name)):
        assert_all_ways(case, ties, values(case, measures, ties, path="plain", level=0), measures)


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("name", cases.NAMES)
def test_measures_alone_give_the_bits_that_they_give_together(name, ties):
    measures = [m for m in MEASURES if m.kind != "err" or ties != "mean"] if name in cases.LONG else MEASURES
    for case in (cases.make(name), cases.make32(name)):
        together = values(case, measures, ties)
        for row, measure in enumerate(measures):
            assert_same_bits(values(case, [measure], ties), together[[row]], f"{measure} alone, ties {ties}")
        if name in cases.LONG:
            continue
        for alone in ALONE:
            plain = values(case, alone, ties, path="plain", level=0)
            for level in LEVELS:
                assert_same_bits(values(case, alone, ties, level=level), plain, f"{names(alone)}, ties {ties}")


@pytest.mark.parametrize("ties", ["index", "mean"])
def test_the_order_of_the_measures_does_not_matter(rng, ties):
    case = cases.make("labels: even")
    wanted = values(case, MEASURES, ties)
    for _ in range(5):
        rows = rng.permutation(len(MEASURES))
        assert_same_bits(values(case, [MEASURES[row] for row in rows], ties), wanted[rows], "other order")


BLOCK_CASES = [
    "tiny lists of mixed lengths",
    "tiny lists of one length each",
    "tiny lists, some empty",
    "lists of one",
    "tiny and huge",
    "60 to 140",
    "missing",
]


@pytest.mark.parametrize("ties", ["index", "worst", "mean"])
@pytest.mark.parametrize("name", BLOCK_CASES)
def test_blocks_of_queries_give_the_same_bits(name, ties, rng):
    case = cases.make(name)
    for measures in (MEASURES, *ALONE[:3]):
        made = program(measures, case.tables(), ties)
        wanted, _, empty = run(case, measures, program=made)
        for n_cuts in (1, 2, 5, case.n_queries):
            ends = np.unique([0, *rng.integers(0, case.n_queries + 1, n_cuts), case.n_queries])
            total = np.zeros_like(empty)
            for first, last in itertools.pairwise(ends.tolist()):
                got, bad, some = run(case, measures, program=made, first=first, last=last)
                assert bad == -1
                assert_same_bits(got[:, first:last], wanted[:, first:last], f"queries {first} to {last}")
                assert (np.delete(got, np.s_[first:last], axis=1) == UNTOUCHED).all()
                total += some
            assert total.tolist() == empty.tolist()
        got, bad, some = run(case, measures, program=made, first=1, last=1)
        assert (got == UNTOUCHED).all()
        assert (bad, some.tolist()) == (-1, [0] * len(measures))


SIZES = st.one_of(
    st.lists(st.integers(0, 9), max_size=30),
    st.lists(st.integers(0, 140), max_size=8),
    st.lists(st.integers(200, 1100), max_size=2),
    st.just([3, 2100, 1]),
)


@settings(max_examples=200, deadline=None)
@given(
    st.integers(0, 2**32),
    SIZES,
    st.sampled_from([2, 5, 15, 16, 17, 40]),
    st.lists(st.sampled_from(MEASURES), min_size=1, max_size=4),
    st.sampled_from(TIES),
)
def test_any_lists_and_measures_by_any_path(seed, sizes, n_codes, measures, ties):
    case = cases.drawn(seed, sizes, n_codes)
    for one in (case, case.as_float32()):
        wanted = values(one, measures, ties, path="plain", level=0)
        for level in LEVELS:
            assert_same_bits(values(one, measures, ties, level=level), wanted, LEVEL_NAMES[level])


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("scorer", cases.SCORES)
def test_shortcuts_of_long_lists_give_the_same_bits(scorer, ties):
    """Few relevant documents, few positions that count: each on both sides of where the kernel changes its way."""
    double = cases.shortcuts(scorer)
    for case, measures in itertools.product((double, double.as_float32()), ALONE[:8]):
        wanted = values(case, measures, ties, path="plain", level=0)
        for level in LEVELS:
            got = values(case, measures, ties, level=level)
            assert_same_bits(got, wanted, f"{names(measures)}, {LEVEL_NAMES[level]}")


@pytest.mark.parametrize("level", LEVELS, ids=LEVEL_NAMES)
@pytest.mark.parametrize("n_codes", [5, 5000])
@pytest.mark.parametrize("n", [20, 130, 300, 700, 2100])
def test_every_cut_gives_the_same_bits(n, n_codes, level, rng):
    case = case_of((rng.standard_normal(n), rng.integers(0, n_codes, n)), n_codes=n_codes)
    tables = case.tables()
    measures = [Measure("ndcg", cut) for cut in range(1, min(n, 400) + 1)]
    wanted = values(case, measures, tables=tables, path="plain")
    for row, measure in enumerate(measures):
        got = values(case, [measure], tables=tables, level=level)
        assert_same_bits(got, wanted[[row]], f"cut {measure.cut}")


@settings(max_examples=30, deadline=None)
@given(LISTS, st.sampled_from(TIES), st.data())
def test_any_split_into_blocks(lists, ties, data):
    case = case_of(*lists)
    made = program(MEASURES, case.tables(), ties)
    wanted = values(case, program=made)
    cuts = data.draw(st.lists(st.integers(0, case.n_queries), max_size=4).map(sorted))
    for first, last in itertools.pairwise([0, *cuts, case.n_queries]):
        got = values(case, program=made, first=first, last=last)
        assert_same_bits(got[:, first:last], wanted[:, first:last], f"queries {first} to {last}")


@pytest.mark.parametrize("n_threads", [1, 2, 3, 4])
@pytest.mark.parametrize("name", ["tiny lists of mixed lengths", "tiny and huge", "60 to 140", "1000"])
def test_threads_share_a_program_and_an_output(name, n_threads):
    case = cases.make(name)
    for ties in ("index", "mean"):
        made = program(MEASURES, case.tables(), ties)
        wanted = values(case, program=made)
        out = np.full_like(wanted, UNTOUCHED)
        ends = np.linspace(0, case.n_queries, 4 * n_threads + 1).astype(int)

        def block(bounds, made=made, out=out):
            return made.run(
                case.scores, case.codes, case.qptr, *bounds, None, None, _cpu.LEVEL, _metrics.PATHS["auto"], out
            )

        with ThreadPoolExecutor(n_threads) as pool:
            assert all(bad == -1 for bad, _ in pool.map(block, itertools.pairwise(ends.tolist())))
        assert_same_bits(out, wanted, f"{n_threads} threads")


@pytest.mark.parametrize("name", ["tiny lists of mixed lengths", "tiny and huge", "missing"])
def test_calls_repeat_and_leave_their_inputs_alone(name):
    case = cases.make(name)
    copy = case._replace(
        **{part: None if getattr(case, part) is None else getattr(case, part).copy() for part in case._fields[1:4]}
    )
    wanted = values(copy)
    for _ in range(3):
        assert_same_bits(values(copy), wanted, "again")
    for part in ("scores", "codes", "qptr"):
        assert getattr(copy, part).tobytes() == getattr(case, part).tobytes()
        assert not getattr(case, part).flags.writeable  # the kernel has read from these all along


def test_the_program_keeps_its_own_tables():
    case = cases.make("labels: even")
    tables = case.tables()
    gains, stops, discounts = (np.array(part) for part in (tables.gains, tables.stops, tables.discounts))
    arguments = [np.array([1], dtype=np.int32), np.array([0], dtype=np.int64), np.array([0], dtype=np.int32)]
    made = _metrics.Program(*arguments, np.array([0.0]), gains, stops, 0, 1, discounts, 0)
    wanted = values(case, [Measure("ndcg")], program=made)
    before = [part.copy() for part in (gains, stops, discounts)]
    for part, old in zip((gains, stops, discounts), before, strict=True):
        assert part.tobytes() == old.tobytes()
    del gains, stops, discounts, arguments
    assert_same_bits(values(case, [Measure("ndcg")], program=made), wanted, "tables let go")


# ---------------------------------------------------------------- invariances


@pytest.mark.parametrize("ties", ["mean", "worst", "best"])
@pytest.mark.parametrize("name", [name for name in cases.SHORT if not name.startswith("one")])
def test_the_order_of_the_rows_does_not_matter(name, ties, rng):
    case = cases.make(name)
    wanted = values(case, MEASURES, ties)
    assert_same_bits(values(case.permuted(rng), MEASURES, ties), wanted, f"ties {ties}")


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("name", ["tiny lists of mixed lengths", "60 to 140", "tiny and huge", "missing", "1000"])
def test_only_the_order_of_the_scores_matters(name, ties):
    case = cases.make(name)
    wanted = values(case, MEASURES, ties)
    dense = np.concatenate(
        [
            np.unique(case.scores[a:b], return_inverse=True)[1].astype(np.float64)
            for a, b in itertools.pairwise(case.qptr)
        ]
    )
    for other in (dense, dense - 1000, dense * 2.0**-1070, dense * 1e290, np.sqrt(dense) - 5, dense.astype(np.float32)):
        assert_same_bits(values(case, MEASURES, ties, scores=other), wanted, "other scores")


@pytest.mark.parametrize("name", cases.SHORT)
def test_bounds(name):
    case = cases.make(name)
    measures = [m._replace(fill=0.0) for m in MEASURES]
    found = {ties: values(case, measures, ties) for ties in TIES}
    for row, measure in enumerate(measures):
        least, most = {"dcg": (0, np.inf), "tau": (-1, 1)}.get(measure.kind, (0, 1))
        for ties in TIES:
            assert (found[ties][row] >= least).all(), (measure, ties)
            assert (found[ties][row] <= most).all(), (measure, ties)
        for ties in ("mean", "index"):
            slack = 1e-13 * np.abs(found["best"][row]) + 1e-300
            assert (found["worst"][row] <= found[ties][row] + slack).all(), (measure, ties)
            assert (found[ties][row] <= found["best"][row] + slack).all(), (measure, ties)


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("name", [name for name in cases.SHORT if "missing" not in name])
def test_a_perfect_order_is_worth_exactly_one(name, ties):
    case = cases.make(name)
    measures = [Measure("ndcg", cut, fill=1.0) for cut in (0, 1, 2, 5, 10, 100, 10**6)] + [Measure("ap", fill=1.0)]
    for scores in (case.codes.astype(np.float64), case.codes.astype(np.float32)):
        assert (values(case, measures, ties, scores=scores) == 1).all()
    # distinct scores that put the highest codes first
    order = np.lexsort((np.arange(len(case.codes)), -case.codes.astype(np.int64)))
    scores = np.empty(len(order))
    scores[order] = -np.arange(len(order))
    assert (values(case, measures, ties, scores=scores) == 1).all()


@pytest.mark.parametrize("ties", TIES)
def test_a_perfect_order_is_worth_exactly_one_for_any_gains(ties, rng):
    gains = [0.0, 0.1, 0.3, 0.7, 1 / 3]
    lists = [np.sort(rng.integers(0, 5, n))[::-1] for n in (1, 2, 3, 4, 5, 6, 7, 8, 8, 9, 20, 64, 130, 700)]
    case = case_of(*[(codes, codes) for codes in lists])
    tables = case.tables()._replace(gains=sorted(gains))
    measures = [Measure("ndcg", cut, fill=1.0) for cut in (0, 1, 3, 10)]
    assert (values(case, measures, ties, tables=tables) == 1).all()


@pytest.mark.parametrize("n", [2, 3, 8, 9, 60, 128, 129, 1000])
def test_a_constant_scorer_does_not_win(n):
    codes = [1] + [0] * (n - 1)
    case = case_of(([0.5] * n, codes))
    measures = [Measure("ndcg"), Measure("ap"), Measure("rr"), Measure("success", 1), Measure("precision", 1)]
    mean, worst, best = (values(case, measures, ties)[:, 0] for ties in ("mean", "worst", "best"))
    assert (worst < mean).all()
    assert (mean < best).all()
    assert mean[2] == pytest.approx(math.fsum(1 / rank for rank in range(1, n + 1)) / n, rel=1e-13)
    assert mean[3:] == pytest.approx([1 / n, 1 / n], rel=1e-13)


# ---------------------------------------------------------------- bad input

LENGTHS = {
    "tiny": [1, 2, 3, 0, 5, 8, 1, 4, 4, 20, 7, 3],
    "tiny, equal": [4] * 17,
    "ones": [1] * 19,
    "middling": [64, 3, 130, 2, 1, 17],
    "long": [2, 300, 1, 1030, 5],
}
BAD_CODES = {
    np.int32: [-1, 5, 2**31 - 1, -(2**31), 256, 65536],
    np.int64: [-1, 5, 2**31, 2**32, 2**32 + 1, 2**40, -(2**63), 2**63 - 1, -(2**32)],
    np.float64: [
        -1.0,
        5.0,
        0.5,
        3.9999999,
        -0.5,
        1e300,
        2.0**32,
        2.0**31,
        math.nan,
        math.inf,
        -math.inf,
        5e-324,
        -1e300,
    ],
}
BAD_SETS = [MEASURES, *ALONE]


def plain_case(lengths, rng):
    return case_of(*[(rng.integers(0, 6, n) / 4, rng.integers(0, 5, n)) for n in lengths])


def bad_row(case, measures, level, path, ties, **changes):
    return run(case, measures, ties, level=level, path=path, **changes)[1]


def somewhere(case):
    """All rows of short cases; of others the ends and edges of the lists, of registers and of blocks."""
    n = len(case.codes)
    if n <= 120:
        return range(n)
    rows = {row + d for row in case.qptr.tolist() for d in (-2, -1, 0, 1, 7, 8, 31, 63, 64, 127, 128, 255, 256)}
    return sorted(row for row in rows if 0 <= row < n)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("lengths", LENGTHS)
def test_a_score_that_is_not_finite_is_found_wherever_it_is(lengths, dtype, rng):
    case = plain_case(LENGTHS[lengths], rng)
    scores = case.scores.astype(dtype)
    ways = itertools.cycle(itertools.product(BAD_SETS, LEVELS, PATHS, TIES, [math.nan, math.inf, -math.inf, -math.nan]))
    for row in somewhere(case):
        for measures, level, path, ties, bad in itertools.islice(ways, 23):
            scores[row] = bad
            found = bad_row(case, measures, level, path, ties, scores=scores)
            assert found == row, (bad, LEVEL_NAMES[level], path, ties, names(measures))
        scores[row] = 0


@pytest.mark.parametrize("dtype", BAD_CODES)
@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize("scored", [True, False], ids=["scores", "rank order"])
def test_a_code_out_of_range_is_found_wherever_it_is(lengths, dtype, scored, rng):
    case = plain_case(LENGTHS[lengths], rng)
    codes = case.codes.astype(dtype)
    scores = case.scores if scored else None
    ways = itertools.cycle(itertools.product(BAD_SETS, LEVELS, PATHS, TIES, BAD_CODES[dtype]))
    for row in somewhere(case):
        kept = codes[row]
        for measures, level, path, ties, bad in itertools.islice(ways, 29):
            codes[row] = bad
            found = bad_row(case, measures, level, path, ties, codes=codes, scores=scores)
            assert found == row, (bad, LEVEL_NAMES[level], path, ties, names(measures))
        codes[row] = kept


@pytest.mark.parametrize("lengths", LENGTHS)
def test_every_bad_value_in_every_way(lengths, rng):
    """One row in the middle, and all combinations."""
    case = plain_case(LENGTHS[lengths], rng)
    row = len(case.codes) // 2
    for measures, level, path, ties in itertools.product(BAD_SETS, LEVELS, PATHS, TIES):
        what = (LEVEL_NAMES[level], path, ties, names(measures))
        for score in (math.nan, math.inf, -math.inf):
            scores = case.scores.copy()
            scores[row] = score
            assert bad_row(case, measures, level, path, ties, scores=scores) == row, (score, *what)
        for dtype, bad_codes in BAD_CODES.items():
            for code in bad_codes:
                codes = case.codes.astype(dtype)
                codes[row] = code
                assert bad_row(case, measures, level, path, ties, codes=codes) == row, (code, dtype, *what)


@pytest.mark.parametrize("lengths", LENGTHS)
def test_the_first_bad_row_is_the_one_reported(lengths, rng):
    case = plain_case(LENGTHS[lengths], rng)
    n = len(case.codes)
    for _ in range(30):
        measures, level = BAD_SETS[rng.integers(len(BAD_SETS))], int(rng.integers(len(LEVELS)))
        path, ties = PATHS[rng.integers(len(PATHS))], TIES[rng.integers(len(TIES))]
        scores, codes = case.scores.copy(), case.codes.copy()
        rows = rng.integers(0, n, 4)
        scores[rows[:2]] = math.nan
        codes[rows[2:]] = 99
        assert bad_row(case, measures, level, path, ties, scores=scores, codes=codes) == rows.min()
        # rows of other queries are not looked at
        query = int(np.searchsorted(case.qptr, rows.min(), side="right")) - 1
        assert bad_row(case, measures, level, path, ties, scores=scores, codes=codes, last=query) == -1
        after = rows[rows >= case.qptr[query + 1]]
        found = bad_row(case, measures, level, path, ties, scores=scores, codes=codes, first=query + 1)
        assert found == (after.min() if len(after) else -1)


def test_everything_is_bad():
    case = case_of(*[(np.zeros(n), np.zeros(n, dtype=int)) for n in (0, 3, 200, 8, 8, 8)])
    n = len(case.codes)
    for measures, level, path, ties in itertools.product(BAD_SETS, LEVELS, PATHS, TIES):
        assert bad_row(case, measures, level, path, ties, scores=np.full(n, math.nan)) == 0
        assert bad_row(case, measures, level, path, ties, codes=np.full(n, -1, dtype=np.int32)) == 0
        assert bad_row(case, measures, level, path, ties, codes=np.full(n, 2**40)) == 0
        assert bad_row(case, measures, level, path, ties, codes=np.full(n, math.nan)) == 0


def call(**changes):
    """A good call, some arguments changed; all by position, as the kernel takes them."""
    arguments = {
        "scores": np.array([3.0, 2.0, 1.0]),
        "codes": np.array([0, 1, 1], dtype=np.int32),
        "qptr": np.array([0, 2, 3], dtype=np.int64),
        "first": 0,
        "last": 2,
        "missing": None,
        "missing_ptr": None,
        "level": _cpu.LEVEL,
        "path": _metrics.PATHS["auto"],
        "out": np.empty((len(FEW), 2)),
    } | changes
    tables = Tables([0.0, 1.0], [0.0, 0.5], [1.0, 0.5, 0.4])
    return program(FEW, tables, "mean").run(*arguments.values())


NOTHING = np.zeros(0, dtype=np.int32)
MISSING_PTR = np.zeros(3, dtype=np.int64)


def test_the_call_that_the_bad_ones_change_is_good():
    assert call()[0] == -1
    assert call(missing=NOTHING, missing_ptr=MISSING_PTR)[0] == -1


@pytest.mark.parametrize(
    "changes",
    [
        {"scores": np.zeros(2)},
        {"scores": np.zeros(4)},
        {"scores": np.zeros(0)},
        {"codes": np.zeros(2, dtype=np.int32)},
        {"codes": np.zeros(4, dtype=np.int64)},
        {"codes": np.zeros(0)},
        {"scores": None, "codes": np.zeros(2, dtype=np.int32)},
        {"qptr": np.array([0, 2, 4], dtype=np.int64)},
        {"qptr": np.zeros(0, dtype=np.int64)},
        {"qptr": np.array([0, 3], dtype=np.int64)},
        {"first": -1},
        {"last": 3},
        {"first": 2, "last": 1},
        {"missing": NOTHING, "missing_ptr": np.zeros(2, dtype=np.int64)},
        {"missing": NOTHING, "missing_ptr": np.array([0, 0, 1], dtype=np.int64)},
        {"missing": NOTHING},
        {"out": np.empty((len(FEW), 1))},
        {"out": np.empty((len(FEW) - 1, 2))},
        {"out": np.empty((2, len(FEW))).T},
        {"scores": np.zeros((3, 1))},
        {"scores": np.zeros(6)[::2]},
        {"codes": np.zeros(6, dtype=np.int32)[::2]},
        {"codes": np.zeros(3, dtype=np.int16)},
        {"scores": np.zeros(3, dtype=np.int64)},
    ],
)
def test_arrays_that_do_not_fit_are_refused(changes):
    with pytest.raises((ValueError, TypeError)):
        call(**changes)


def test_a_read_only_output_is_refused():
    out = np.empty((len(FEW), 2))
    out.flags.writeable = False
    with pytest.raises(ValueError):
        call(out=out)


@pytest.mark.parametrize(
    "place",
    [0, 1, 2, 3, 5],
    ids=["kinds", "cuts", "flags", "fills", "stops"],
)
def test_tables_of_different_lengths_are_refused(place):
    parts = [np.zeros(2, dtype=np.int32), np.zeros(2, dtype=np.int64), np.zeros(2, dtype=np.int32), np.zeros(2)]
    parts += [np.zeros(5), np.zeros(5)]
    _metrics.Program(*parts, 0, 1, np.ones(3), 0)
    for changed in (parts[place][:1], np.concatenate([parts[place]] * 2)):
        with pytest.raises(ValueError):
            _metrics.Program(*parts[:place], changed, *parts[place + 1 :], 0, 1, np.ones(3), 0)


def test_discounts_that_end_too_early_are_refused():
    case = case_of(([1, 2, 3], [0, 1, 0]))
    short = case.tables()._replace(discounts=[1.0, 0.5])
    for measure in (Measure("ndcg"), Measure("dcg"), Measure("ndcg", 10**6), Measure("ndcg", 3)):
        with pytest.raises(ValueError):
            run(case, [measure], tables=short)
    assert run(case, [Measure("ndcg", 2), Measure("ap")], tables=short)[1] == -1


# ---------------------------------------------------------------- ranks


def order_of(case, level, **changes):
    order = np.full(len(case.scores), -1, dtype=np.int32)
    given = {"scores": case.scores, "first": 0, "last": case.n_queries} | changes
    _metrics.rank_into(given["scores"], case.qptr, given["first"], given["last"], level, order)
    return order


def stable_order(case):
    parts = [np.argsort(-case.scores[a:b], kind="stable") for a, b in itertools.pairwise(case.qptr)]
    return np.concatenate([np.zeros(0, dtype=np.int64), *parts])


@pytest.mark.parametrize("level", LEVELS, ids=LEVEL_NAMES)
@pytest.mark.parametrize("name", cases.NAMES)
def test_ranks(name, level):
    for case in (cases.make(name), cases.make32(name)):
        np.testing.assert_array_equal(order_of(case, level), stable_order(case))


@settings(max_examples=60, deadline=None)
@given(LISTS)
def test_ranks_of_any_small_lists(lists):
    case = case_of(*lists)
    for level in LEVELS:
        np.testing.assert_array_equal(order_of(case, level), stable_order(case))


def test_ranks_of_some_queries():
    case = cases.make("tiny and huge")
    wanted = stable_order(case)
    for first, last in ((0, 3), (3, 4), (4, 17), (5, 5)):
        got = order_of(case, _cpu.LEVEL, first=first, last=last)
        a, b = case.qptr[[first, last]]
        np.testing.assert_array_equal(got[a:b], wanted[a:b])
        assert (np.delete(got, np.s_[a:b]) == -1).all()


def test_ranks_of_arrays_that_do_not_fit_are_refused():
    qptr = np.array([0, 3], dtype=np.int64)
    for scores, order, last in ((2, 3, 1), (3, 2, 1), (4, 3, 1), (3, 3, 2), (3, 4, 1)):
        with pytest.raises(ValueError):
            _metrics.rank_into(np.zeros(scores), qptr, 0, last, _cpu.LEVEL, np.zeros(order, dtype=np.int32))


HARD = [
    "one value",
    "two values",
    "one differs",
    "few values, as trees give",
    "ascending",
    "descending",
    "organ pipe",
    "valley",
    "sawtooth",
    "median killer",
    "nearly sorted",
    "low 20 bits",
    "neighbours",
    "distinct",
]


@pytest.mark.parametrize("n", [129, 1000, 4097, 200_000])
@pytest.mark.parametrize("name", HARD)
def test_sorts_at_their_worst(name, n, rng):
    scores = cases.SCORES[name](rng, n)
    codes = rng.integers(0, 5, n).astype(np.int32)
    for one in (scores, scores[::-1].copy(), np.concatenate((scores[n // 2 :], scores[: n // 2])), -scores):
        case = case_of()._replace(scores=one, codes=codes, qptr=np.array([0, n], dtype=np.int64))
        wanted = stable_order(case)
        for level in LEVELS:
            np.testing.assert_array_equal(order_of(case, level), wanted)
        gains = 2.0 ** codes[wanted] - 1
        dcg = (gains / np.log2(np.arange(2, n + 2))).cumsum()
        tables = case.tables()._replace(discounts=1 / np.log2(np.arange(2, n + 2)))
        for measures, at in (((Measure("dcg"),), -1), ((Measure("dcg", 10),), 9), ((Measure("dcg", 100),), 99)):
            for level in LEVELS:
                got = values(case, measures, "index", tables=tables, level=level)
                assert got[0, 0] == pytest.approx(dcg[at], rel=1e-10)
