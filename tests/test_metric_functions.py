"""The public functions: every way to pass data gives the values of the reference, and mistakes get a sentence."""

from __future__ import annotations

import inspect
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import metrics as reference

from fastrank import metrics
from fastrank.data import RankingDataset
from fastrank.metrics import _lists, _program, functions
from fastrank.metrics.names import CUT_KINDS, KINDS

NAN = float("nan")
FUNCTIONS = {
    **{kind: getattr(metrics, kind) for kind in KINDS if kind not in ("rprec", "tau")},
    "rprec": metrics.r_precision,
    "tau": metrics.kendall_tau,
}


def lists_of(rng: np.random.Generator, n_queries: int = 30) -> tuple[Any, Any, Any]:
    """Grades 0 to 4, scores with ties, list lengths with 0 and 1 among them."""
    group = rng.integers(0, 12, n_queries)
    n = int(group.sum())
    return rng.integers(0, 5, n), rng.integers(0, 6, n) / 4, group


def expected(kind: str, k: int | None, grades: Any, scores: Any, group: Any, ties: str = "mean") -> list[float]:
    """By the reference, with our default gain, discount and chances."""
    top = int(max(grades, default=0))
    gains = [2.0**grade - 1 for grade in range(top + 1)]
    discounts = (1 / np.log2(np.arange(2, max(group) + 2))).tolist()
    tables = reference.Tables(gains, [gain / 2**top for gain in gains], discounts)
    ends = np.cumsum(group)
    return [
        reference.value(reference.Measure(kind, k or 0), tables, list(grades[a:b]), list(scores[a:b]), ties)
        for a, b in zip(ends - group, ends, strict=True)
    ]


@pytest.mark.parametrize("ties", ["index", "worst", "best", "mean", "threshold"])
@pytest.mark.parametrize("kind", KINDS)
def test_values_are_those_of_the_reference(kind, ties, rng):
    grades, scores, group = lists_of(rng)
    for k in (None, 1, 3, 10) if kind in CUT_KINDS else (None,):
        cut = {} if k is None else {"k": k}
        found = FUNCTIONS[kind](grades, scores, group=group, ties=ties, **cut)
        np.testing.assert_allclose(found, expected(kind, k, grades, scores, group, ties), rtol=1e-12, atol=1e-14)
        assert found.dtype == np.float64


@pytest.mark.parametrize("kind", KINDS)
def test_shapes_of_input(kind, rng):
    measure = FUNCTIONS[kind]
    grades, scores = rng.integers(0, 4, (6, 7)), rng.normal(size=(6, 7))
    wanted = measure(grades, scores)
    assert wanted.shape == (6,)
    np.testing.assert_array_equal(
        wanted, [measure(*row, **top(kind, 3))[0] for row in zip(grades, scores, strict=True)]
    )
    flat, ids = (grades.ravel(), scores.ravel()), np.repeat(list("fbdace"), 7)
    np.testing.assert_array_equal(wanted, measure(*flat, group=[7] * 6))
    np.testing.assert_array_equal(wanted, measure(*flat, qid=ids))
    np.testing.assert_array_equal(wanted, measure(*flat, qid=ids, group=[7] * 6))
    np.testing.assert_array_equal(wanted, measure(flat[0][:, None], flat[1][:, None], qid=ids))
    np.testing.assert_array_equal(wanted, measure(flat[0].tolist(), flat[1].tolist(), qid=ids.tolist()))


def top(kind: str, largest: int) -> dict[str, int]:
    """ERR of one query must know the largest grade of all."""
    return {"max_grade": largest} if kind == "err" else {}


def test_queries_may_be_shuffled_and_come_in_order_of_appearance(rng):
    grades, scores = rng.integers(0, 3, 300), rng.normal(size=300)
    qid = rng.choice(["x", "a", "m", "q"], 300)
    found = metrics.ndcg(grades, scores, qid=qid)
    ids = list(dict.fromkeys(qid.tolist()))
    wanted = [metrics.ndcg(grades[qid == one], scores[qid == one])[0] for one in ids]
    np.testing.assert_array_equal(found, wanted)
    dataset = RankingDataset(np.zeros((300, 1)), grades, qid=qid)
    np.testing.assert_array_equal(metrics.ndcg(dataset, scores), wanted)
    np.testing.assert_array_equal(metrics.ndcg(dataset, scores[:, None]), wanted)


@pytest.mark.parametrize("kind", KINDS)
def test_types_of_input_do_not_matter(kind, rng):
    grades, scores = rng.integers(0, 2, 200), (rng.integers(0, 50, 200) / 8).astype(np.float16)
    measure = FUNCTIONS[kind]
    wanted = measure(grades, scores.astype(np.float64), group=[80, 120])
    for dtype in (bool, "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", ">i4", ">f8", object):
        np.testing.assert_array_equal(measure(grades.astype(dtype), scores, group=[80, 120]), wanted)
    for dtype in ("f2", "f4", "f8", ">f4", ">f8", object):
        np.testing.assert_array_equal(measure(grades, scores.astype(dtype), group=[80, 120]), wanted)
    strided = np.repeat(grades, 3)[::3], np.repeat(scores, 2)[::2]
    np.testing.assert_array_equal(measure(*strided, group=[80, 120]), wanted)
    reversed_rows = grades[::-1], scores[::-1]
    np.testing.assert_array_equal(measure(*reversed_rows, group=[120, 80]), wanted[::-1])


def test_whole_scores_are_numbers_too():
    assert metrics.rr([0, 1], [1, 2]).tolist() == metrics.rr([0, 1], [False, True]).tolist() == [1]


def test_input_may_be_read_only_and_stays_as_it_is(rng):
    arrays = [rng.integers(0, 3, 50).astype(float), rng.normal(size=50), rng.integers(0, 4, 50), rng.permutation(50)]
    arrays[0][::9] = np.nan
    copies = [array.copy() for array in arrays]
    for array in arrays:
        array.flags.writeable = False
    grades, scores, qid, docid = arrays
    for ties in ("mean", "docid"):
        values = metrics.ndcg(grades, scores, qid=qid, ties=ties, docid=docid, judged_only=True)
        assert values.flags.writeable
    for array, copied in zip(arrays, copies, strict=True):
        np.testing.assert_array_equal(array, copied)


@pytest.mark.parametrize("n_jobs", [2, 3, 8, -1])
def test_threads_do_not_change_a_bit(n_jobs, rng, monkeypatch):
    monkeypatch.setattr(_program, "_ROWS_PER_BLOCK", 50)
    grades, scores, group = lists_of(rng, 400)
    for kind in KINDS:
        one = FUNCTIONS[kind](grades, scores, group=group)
        np.testing.assert_array_equal(one, FUNCTIONS[kind](grades, scores, group=group, n_jobs=n_jobs))
        grades_with_gaps = np.where(grades == 3, np.nan, grades)
        one = FUNCTIONS[kind](grades_with_gaps, scores, group=group)
        np.testing.assert_array_equal(one, FUNCTIONS[kind](grades_with_gaps, scores, group=group, n_jobs=n_jobs))


def test_one_thread_makes_one_call_and_several_make_several(rng, monkeypatch):
    calls = []
    call = _program._Run._call

    def counted(self, program, out, first, last):
        calls.append((first, last))
        return call(self, program, out, first, last)

    monkeypatch.setattr(_program._Run, "_call", counted)
    grades, scores = rng.integers(0, 3, 300_000), rng.normal(size=300_000)
    metrics.evaluate(grades, scores, ["ndcg@10", "map", "mrr", "P@5", "err@20", "bpref"], group=[100] * 3000)
    assert calls == [(0, 3000)]
    calls.clear()
    metrics.ndcg(grades, scores, group=[100] * 3000, n_jobs=2)
    assert len(calls) == 4  # two blocks a thread
    assert sorted(calls)[0][0] == 0


# Grades


def test_grades_of_any_size(rng):
    scores, group = rng.normal(size=60), [20, 40]
    small = rng.integers(0, 4, 60)
    for shift in (0, 28, 29, 900, 1020, 100_000):
        large = np.where(small == 3, shift + 3, small)
        for measure in ("ap", "rr", "wta", "kendall_tau", "bpref"):
            found = getattr(metrics, measure)(large, scores, group=group)
            np.testing.assert_array_equal(found, getattr(metrics, measure)(small, scores, group=group))
        table = {0: 0, 1: 1, 2: 2, shift + 3: 3}
        numbered = metrics.ndcg(large, scores, group=group, gain=lambda grades, t=table: [t[one] for one in grades])
        np.testing.assert_array_equal(numbered, metrics.ndcg(small, scores, group=group, gain="linear"))


def test_gains_up_to_the_largest_number():
    assert metrics.dcg([1000], [0]).tolist() == [2.0**1000 - 1]
    assert metrics.dcg([40, 0], [1, 0]).tolist() == [2.0**40 - 1]
    assert metrics.dcg([40.5], [0], gain="linear").tolist() == [40.5]
    assert metrics.err([1000, 999], [2, 1]).tolist() == [1.0]
    for dtype in (np.uint32, np.uint64, np.int64, np.float64):
        assert metrics.dcg(np.array([2**31 + 5], dtype=dtype), [0], gain="linear").tolist() == [2**31 + 5]


@given(
    st.lists(st.tuples(st.sampled_from([0, 0.5, 1, 1.5, 31, 32, 33.25, NAN]), st.integers(0, 3)), max_size=12),
    st.sampled_from(["index", "worst", "best", "mean"]),
)
@settings(max_examples=200, deadline=None)
def test_real_grades_and_gaps(rows, ties):
    grades, scores = np.array([grade for grade, _ in rows]), np.array([score for _, score in rows], dtype=float)
    levels = sorted({grade for grade in grades if grade == grade} | {0.0})
    codes = [0 if grade != grade else 1 + levels.index(grade) for grade in grades]
    discounts = (1 / np.log2(np.arange(2, len(rows) + 3))).tolist()
    tables = reference.Tables([0, *levels], [0.0] * (len(levels) + 1), discounts, 1, 2)
    for kind in ("dcg", "ndcg", "ap", "bpref", "rprec", "tau", "wta"):
        wanted = reference.value(reference.Measure(kind), tables, codes, scores.tolist(), ties)
        (found,) = FUNCTIONS[kind](grades, scores, ties=ties, gain="linear")
        assert found == pytest.approx(wanted, rel=1e-12, abs=1e-13)


def test_integers_that_mark_unjudged_documents():
    grades = np.array([_lists.UNJUDGED, 1, 0, 1], dtype=np.int32)
    scores = [4, 3, 2, 1]
    for kind in KINDS:
        wanted = FUNCTIONS[kind]([NAN, 1, 0, 1], scores)
        np.testing.assert_array_equal(FUNCTIONS[kind](grades, scores), wanted)
        np.testing.assert_array_equal(FUNCTIONS[kind](grades.astype(np.int64), scores), wanted)


def test_tau_of_any_numbers(rng):
    labels, scores = rng.normal(size=40), rng.normal(size=40)
    (found,) = metrics.kendall_tau(labels, scores)
    assert found == pytest.approx(reference.kendall_tau(np.argsort(np.argsort(labels)).tolist(), scores.tolist()))
    assert metrics.kendall_tau([-1, 0, 5], [1, 2, 3]).tolist() == [1]
    assert metrics.kendall_tau(np.array([-3, -2]), [2, 1]).tolist() == [-1]


# Ties by document id


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 2)), max_size=25),
    st.sampled_from(["strings", "numbers", "column"]),
)
@settings(max_examples=150, deadline=None)
def test_ties_by_document_id_are_a_sort_by_score_and_id(rows, kind):
    grades, scores, qid = ([row[i] for row in rows] for i in range(3))
    docid: Any = [f"d{(7 * i) % 25}" if kind != "numbers" else (7 * i) % 25 for i in range(len(rows))]
    if kind == "column":
        docid = RankingDataset(np.zeros((len(rows), 1)), grades, qid=qid, docid=docid).docid
    found = metrics.ndcg(grades, scores, qid=qid, ties="docid", docid=docid)
    ids = list(docid)
    for one, value in zip(dict.fromkeys(qid), found, strict=True):
        order = sorted((i for i in range(len(rows)) if qid[i] == one), key=lambda i: (scores[i], ids[i]), reverse=True)
        assert value == metrics.ndcg([grades[i] for i in order], -np.arange(len(order)))[0]


def test_document_ids_of_a_data_set():
    dataset = RankingDataset(np.zeros((4, 1)), [1, 0, 0, 1], qid=[2, 1, 2, 1], docid=["a", "x", "b", "y"])
    assert metrics.rr(dataset, [0, 0, 0, 0], convention="trec_eval").tolist() == [0.5, 1]
    assert metrics.rr(dataset, [0, 0, 0, 0], convention="trec_eval", docid=[4, 3, 2, 1]).tolist() == [1, 0.5]


# Nothing, and mistakes


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_to_judge(kind):
    measure = FUNCTIONS[kind]
    assert measure([], [], group=[]).shape == (0,)
    assert measure([], [], qid=[]).shape == (0,)
    assert measure(np.zeros((0, 5)), np.zeros((0, 5))).shape == (0,)
    assert measure(np.zeros((2, 0)), np.zeros((2, 0))).tolist() == [0, 0]
    assert measure([], [], group=[], n_jobs=4).shape == (0,)
    assert measure([1], [1], group=[0, 1, 0])[[0, 2]].tolist() == [0, 0]


@pytest.mark.parametrize("bad", [NAN, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("n_jobs", [1, 4])
def test_scores_that_are_not_finite(bad, dtype, n_jobs, rng, monkeypatch):
    monkeypatch.setattr(_program, "_ROWS_PER_BLOCK", 10)
    scores = rng.normal(size=100).astype(dtype)
    scores[[57, 83]] = bad
    name = np.dtype(dtype).name
    for kind in KINDS:
        cut = {"k": 1} if kind in CUT_KINDS else {}
        with pytest.raises(
            ValueError, match=rf"scores: expected finite {name} values, got {bad} in row 57 \(query 5\)"
        ):
            FUNCTIONS[kind](np.zeros(100, dtype=int), scores, group=[10] * 10, n_jobs=n_jobs, **cut)


def test_mistakes_are_named_by_the_row_of_the_user():
    qid, scores = ["b", "a", "b", "a"], [1, 2, NAN, 4]
    with pytest.raises(ValueError, match=r"got nan in row 2 \(query 'b'\)"):
        metrics.ndcg([0, 1, 0, 1], scores, qid=qid)
    with pytest.raises(ValueError, match=r"got nan in row 2 \(query 'b'\)"):
        metrics.ndcg([NAN, 1, 0, 1], scores, qid=qid, judged_only=True)
    with pytest.raises(ValueError, match=r"got -1 in row 1 \(query 'a'\)"):
        metrics.ndcg([0, -1, 0, 1], [1, 2, 3, 4], qid=qid, ties="docid", docid=[1, 2, 3, 4])


def test_scores_beyond_single_precision():
    with pytest.raises(ValueError, match="scores: expected finite float32 values, got inf in row 1"):
        metrics.ndcg([0, 1], [1, 1e39], convention="xgboost")


def test_places_in_a_matrix():
    with pytest.raises(ValueError, match="got nan in row 1, column 2; mend"):
        metrics.ndcg([[0, 1, 0], [0, 1, 0]], [[1, 2, 3], [1, 2, NAN]])
    with pytest.raises(ValueError, match="got -1 in row 1, column 2; shift"):
        metrics.ndcg([[0, NAN, 0], [0, 1, -1]], [[1, 2, 3], [1, 2, 3]], judged_only=True)


def test_large_integers_as_scores():
    assert metrics.rr([0, 1], [2**53 - 1, 2**53]).tolist() == [1.0]


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "tau"])
@pytest.mark.parametrize("dtype", ["i4", "i8", "f8"])
def test_negative_grades(kind, dtype):
    grades = np.array([1, 0, -1, 2, -3], dtype=dtype)
    with pytest.raises(
        ValueError,
        match=r"grades: expected grades of 0 \(not relevant\) and above, got -1 in row 2 \(query 1\); "
        "shift the grades, or mark unjudged documents with NaN",
    ):
        FUNCTIONS[kind](grades, np.zeros(5), group=[2, 3])


@pytest.mark.parametrize(
    ("grades", "options", "message"),
    [
        (
            [0, 1001],
            {},
            r"grades: expected grades of at most 1000, for which 2\^grade - 1 is finite, got 1001 in row 1",
        ),
        ([0, 1e300], {}, r"grades: expected grades of at most 1000.*got 1e\+300 in row 1"),
        ([0, np.inf], {}, r"grades: expected finite grades, got inf in row 1 \(query 0\)"),
        ([0.5, 1], {"gain": [0, 1]}, "grades: expected whole grades where gain is a table, got 0.5 in row 0"),
        (
            [0, 3],
            {"gain": [0, 1]},
            "grades: expected grades below 2, as the table of gain has 2 entries, got 3 in row 1",
        ),
        ([0, 1], {"k": 0}, "k: expected an integer of at least 1, got 0"),
        ([0, 1], {"k": 2**63}, "k: expected at most 2,147,483,647, got 9223372036854775808; None is the whole list"),
        ([0, 1], {"k": -3}, "k: expected an integer of at least 1, got -3"),
        ([0, 1, 2], {}, r"y_score: expected 3 values \(the shape of y_true\), got 2"),
        ([[0, 1]], {}, r"y_score: expected shape \(1, 2\) \(the shape of y_true\), got \(2,\)"),
        ([0, 1], {"group": [1, 2]}, "group: expected sizes that add up to the 2 rows"),
        ([0, 1], {"group": [3, -1]}, "group: expected sizes of 0 and above, got -1"),
        ([0, 1], {"qid": ["a"]}, "qid: expected 2 ids"),
        ([0, 1], {"qid": ["a", "b"], "group": [2]}, "qid: expected one id per group"),
    ],
)
def test_mistakes(grades, options, message):
    with pytest.raises(ValueError, match=message):
        metrics.ndcg(grades, [1, 2], **options)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((["a", "b"], [1, 2]), {}, "y_true: expected numbers, one per document, got dtype <U1"),
        (([0, 1], [1, None]), {}, "y_score: expected numbers|finite"),
        (({"q": {"d": 1}}, {"q": {"d": 1.0}}), {}, r"y_true: expected .* got a dict; .* pass Qrels.from_dict\(...\)"),
        (
            ([0, 1], [2**60, 2**60 + 1]),
            {},
            r"y_score: expected integers of at most 2\^53 in size.* got 1152921504606846977",
        ),
        (([0, 1], [-(2**63), 1]), {}, r"y_score: expected integers of at most 2\^53 in size.* got 9223372036854775808"),
        (([0, 1], [1j, 2]), {}, "y_score: expected numbers, one per document, got dtype complex128"),
        (([[0], [0, 1]], [1, 2]), {}, "y_true: expected numbers, one per document, got what NumPy cannot read"),
        ((np.ma.masked_array([0, 1], [True, False]), [1, 2]), {}, "y_true: expected plain values, got a masked array"),
        (([0, 1], [1, 2]), {"k": 2.5}, "k: expected an integer of at least 1, got 2.5"),
        (([0, 1], [1, 2]), {"k": True}, "k: expected an integer of at least 1, got True"),
        (([0, 1], [1, 2]), {"k": [1, 2]}, r"k: expected an integer of at least 1, got \[1, 2\]"),
        (([0, 1], [1, 2]), {"n_jobs": 1.5}, "n_jobs: expected an integer or None"),
        (([0, 1], [1, 2]), {"group": 2}, "group: expected a list of integers"),
    ],
)
def test_mistakes_of_type(arguments, options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        metrics.ndcg(*arguments, **options)


@pytest.mark.parametrize("shape", [(), (1, 1, 2)])
def test_labels_of_other_shapes(shape):
    with pytest.raises(
        ValueError, match="y_true: expected a vector of labels, or a matrix with a row per query, got sh"
    ):
        metrics.ndcg(np.zeros(shape), np.zeros(shape))


def test_groups_of_what_has_its_own():
    with pytest.raises(ValueError, match="qid, group: expected neither where y_true is a matrix with a row per query"):
        metrics.ndcg([[0, 1]], [[1, 2]], qid=[1, 1])
    dataset = RankingDataset(np.zeros((2, 1)), [0, 1], qid=[1, 1])
    with pytest.raises(ValueError, match="qid, group: expected neither with a RankingDataset"):
        metrics.ndcg(dataset, [1, 2], group=[2])
    with pytest.raises(ValueError, match=r"y_score: expected 2 values \(one score per row of the data set\), got 3"):
        metrics.ndcg(dataset, [1, 2, 3])


def test_measures_of_the_whole_list_have_no_cut_off():
    for name in ("wta", "bpref", "r_precision", "kendall_tau"):
        with pytest.raises(TypeError, match="k: expected a field of the convention"):
            getattr(metrics, name)([0, 1], [1, 2], k=5)


# Documentation


@pytest.mark.parametrize("measure", FUNCTIONS.values(), ids=lambda measure: measure.__name__)
def test_signatures_and_documentation_are_complete(measure):
    signature = inspect.signature(measure)
    assert list(signature.parameters)[:4] == ["y_true", "y_score", "qid", "group"]
    documentation = inspect.getdoc(measure)
    for name, parameter in signature.parameters.items():
        assert name in documentation
        assert parameter.kind is not inspect.Parameter.VAR_KEYWORD
        if name not in ("y_true", "y_score"):
            assert parameter.kind is inspect.Parameter.KEYWORD_ONLY
            assert parameter.default is None
    assert "{" not in documentation.replace('{"', "")
    headings = ["Parameters", "Returns", "Raises", "Notes", "Examples"]
    places = [documentation.index(f"{heading}\n{'-' * len(heading)}\n") for heading in headings]
    assert places == sorted(places)
    for word in ("Cost: ", "mpty", "ie"):
        assert word in documentation
    assert pickle.loads(pickle.dumps(measure)) is measure


def test_documented_parameters_start_lines_of_their_own():
    lines = inspect.getdoc(functions.ndcg).splitlines()
    wanted = ["y_true :", "y_score :", "k :", "qid :", "group :", "convention :", "docid :", "n_jobs :"]
    assert [line.split(":")[0] + ":" for line in lines if line.startswith(tuple(wanted))] == wanted


def test_public_names():
    assert sorted(metrics.__all__) == metrics.__all__
    for name in metrics.__all__:
        assert hasattr(metrics, name)
    assert {measure.__name__ for measure in FUNCTIONS.values()} <= set(metrics.__all__)
