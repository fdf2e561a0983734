"""pytrec_eval's interface: the package itself where installed, its frozen values, and a slow twin of the kernel."""

from __future__ import annotations

import collections
import math
import random
import sys
import types
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastrank._core import _cpu, _dicts
from fastrank.compat import pytrec_eval as ours
from fastrank.compat._runs import Judgements
from fastrank.metrics._lists import UNJUDGED

QRELS = {
    "q1": {"a": 1, "b": 0, "c": 2, "d": -1},
    "q2": {"a": 3, "e": 0, "f": 1, "g": 1},
    "q3": {"a": 0},
    "q4": {"never": 1},
}
RUN = {
    "q2": {"a": 1, "e": 3.5, "x": 3.5, "g": 3.5},
    "q1": {"x": 4.0, "b": 3.0, "a": 2.0, "c": -1.0, "d": 9.0},
    "q3": {"a": 1.0},
    "q5": {"a": 1.0},
    "q4": {},
}
# pytrec_eval-terrier 0.5.11 on these.
VALUES = {
    "q1": {
        "runid": 0.0,
        "num_q": 1.0,
        "num_ret": 5.0,
        "num_rel": 2.0,
        "num_rel_ret": 2.0,
        "map": 0.325,
        "gm_map": -1.1239300966523995,
        "Rprec": 0.0,
        "bpref": 0.0,
        "recip_rank": 0.25,
        "iprec_at_recall_0.00": 0.4,
        "iprec_at_recall_0.50": 0.4,
        "iprec_at_recall_1.00": 0.4,
        "P_5": 0.4,
        "recall_5": 1.0,
        "gm_bpref": -11.512925464970229,
        "utility": -1.0,
        "11pt_avg": 0.39999999999999997,
        "ndcg": 0.45777815652719006,
        "ndcg_cut_5": 0.45777815652719006,
        "map_cut_5": 0.325,
        "relative_P_5": 1.0,
        "success_1": 0.0,
        "success_5": 1.0,
        "set_P": 0.4,
        "set_relative_P": 1.0,
        "set_recall": 1.0,
        "set_map": 0.4,
        "set_F": 0.5714285714285715,
        "num_nonrel_judged_ret": 1.0,
    },
    "q2": {
        "num_rel": 3.0,
        "num_rel_ret": 2.0,
        "map": 0.3333333333333333,
        "Rprec": 0.3333333333333333,
        "bpref": 0.3333333333333333,
        "recip_rank": 0.5,
        "iprec_at_recall_0.50": 0.5,
        "iprec_at_recall_1.00": 0.0,
        "P_5": 0.4,
        "recall_5": 0.6666666666666666,
        "ndcg": 0.4655028147426407,
        "set_F": 0.5714285714285715,
    },
    "q3": {
        "num_rel": 0.0,
        "map": 0.0,
        "ndcg": 0.0,
        "bpref": 0.0,
        "P_5": 0.0,
        "gm_map": -11.512925464970229,
    },
    "q4": {
        "num_ret": 0.0,
        "num_rel": 1.0,
        "map": 0.0,
        "ndcg": 0.0,
        "set_P": 0.0,
        "recip_rank": 0.0,
    },
}


def test_frozen_values():
    results = ours.RelevanceEvaluator(QRELS, ours.supported_measures).evaluate(RUN)
    assert list(results) == ["q2", "q1", "q3", "q4"]
    for query, values in VALUES.items():
        for measure, value in values.items():
            assert results[query][measure] == pytest.approx(value, abs=1e-12), (query, measure)


@pytest.mark.parametrize(
    ("arguments", "value"), [({"relevance_level": 2}, 0.2), ({"judged_docs_only_flag": True}, 0.5833333333333333)]
)
def test_frozen_values_of_the_settings(arguments, value):
    results = ours.RelevanceEvaluator(QRELS, ["map"], **arguments).evaluate({"q1": RUN["q1"]})
    assert results["q1"]["map"] == pytest.approx(value, abs=1e-12)


# ---------------------------------------------------------------------------------------------- the package itself


def assert_same(theirs, found):
    assert list(found) == list(theirs)
    for query in theirs:
        assert list(found[query]) == list(theirs[query])
        for measure, value in theirs[query].items():
            # for a list that judged_docs_only_flag emptied theirs divides 0 by 0
            expected = 0.0 if measure.startswith(("11pt_avg", "iprec")) and math.isnan(value) else value
            assert found[query][measure] == pytest.approx(expected, abs=1e-12), (query, measure)


ids = st.sampled_from(["q1", "q2", "q3"])
docs = st.one_of(
    st.sampled_from(["d1", "d2", "d3", "d10", "D1", "e", "\u00e9", "\uffff", "\U00010000"]),
    st.text(st.characters(exclude_categories=("Cs", "Cc"), exclude_characters=" "), min_size=1, max_size=12),
)
scores = st.one_of(
    st.integers(-3, 3),
    st.floats(allow_nan=False),
    st.sampled_from([0.0, -0.0, 1.0, 1.0 + 1e-9, 1e300, 2e300, -1e300]),
)
# Theirs may crash, at once or later, where a query has no documents, or only negative grades.
runs = st.dictionaries(ids, st.dictionaries(docs, scores, min_size=1, max_size=25), max_size=3)
qrels = st.dictionaries(
    ids, st.dictionaries(docs, st.integers(-2, 4), max_size=25).map(lambda grades: {**grades, "z": 0}), max_size=3
)


@given(qrels, runs, st.integers(1, 5), st.booleans())
@settings(max_examples=200, deadline=None)
def test_everything_equals_pytrec_eval(qrel, run, level, judged_only):
    theirs = pytest.importorskip("pytrec_eval")
    measures = {*ours.supported_measures, "ndcg_cut.1,3", "P_2", "iprec_at_recall.0.25,0.6", "set_F.0.5"}
    arguments = {"relevance_level": level, "judged_docs_only_flag": judged_only}
    expected = theirs.RelevanceEvaluator(qrel, measures, **arguments).evaluate(run)
    assert_same(expected, ours.RelevanceEvaluator(qrel, measures, **arguments).evaluate(run))


@pytest.mark.parametrize("measures", [["official"], ["set"], ["P"], ["P", "P.3"], ["P_5", "P.3,5"], ["ndcg_cut"], []])
def test_measures_and_their_order_equal_pytrec_eval(measures):
    theirs = pytest.importorskip("pytrec_eval")
    run = {query: docs for query, docs in RUN.items() if docs}
    assert_same(
        theirs.RelevanceEvaluator(QRELS, measures).evaluate(run), ours.RelevanceEvaluator(QRELS, measures).evaluate(run)
    )


def test_names_are_those_of_pytrec_eval():
    theirs = pytest.importorskip("pytrec_eval")
    assert ours.supported_measures <= theirs.supported_measures
    for nickname, measures in ours.supported_nicknames.items():
        assert measures == theirs.supported_nicknames[nickname]
    # what the module's docstring says is missing
    assert theirs.supported_measures - ours.supported_measures == {
        *("G", "Rndcg", "Rprec_mult", "binG", "infAP", "ndcg_rel", "relstring")
    }


def test_parsers_and_aggregation_equal_pytrec_eval(data_room):
    theirs = pytest.importorskip("pytrec_eval")
    for name, parser in (("qrels.test", "parse_qrel"), ("results.test", "parse_run")):
        lines = (data_room / "trec_eval" / name).read_text().splitlines()
        assert getattr(ours, parser)(lines) == getattr(theirs, parser)(lines)
    for measure in ("map", "num_rel", "gm_map"):
        values = [-1.5, 0.25, 3.0]
        assert ours.compute_aggregated_measure(measure, values) == theirs.compute_aggregated_measure(measure, values)


def test_what_trec_eval_prints(data_room):
    folder = data_room / "trec_eval"
    qrel = ours.parse_qrel((folder / "qrels.test").read_text().splitlines())
    run = ours.parse_run((folder / "results.test").read_text().splitlines())
    results = ours.RelevanceEvaluator(qrel, ours.supported_measures).evaluate(run)
    checked = 0
    for line in (folder / "out.test.aq").read_text().splitlines():
        measure, query, value = line.split()
        # trec_eval 10 rounds recall levels differently from the version inside pytrec_eval
        is_other = measure.startswith(("runid", "iprec", "11pt"))
        if query in results and measure in results[query] and not is_other:
            # geometric means are printed as such for single queries too
            found = math.exp(results[query][measure]) if measure.startswith("gm_") else results[query][measure]
            assert found == pytest.approx(float(value), abs=5.1e-5), line
            checked += 1
    assert checked > 150


# ------------------------------------------------------------------------------------------------------ the kernel


def slow_ranking(qrel, run):
    """Grades in rank order and those that are missing, from the definition."""
    with np.errstate(over="ignore"):
        order = sorted(run, key=lambda doc: (np.float32(run[doc]), doc), reverse=True)
    judged = {doc: grade for doc, grade in qrel.items() if grade >= 0}
    return [judged.get(doc, UNJUDGED) for doc in order], sorted(judged[doc] for doc in judged.keys() - run.keys())


def kernel_ranking(qrel, run, level=_cpu.LEVEL):
    kernel = _dicts.Judgements([("q", qrel)], lambda *_: pytest.fail("plain values need no conversion"))
    grades, missing = np.empty(len(run), np.int32), np.empty(kernel.n_judged([0]), np.int32)
    qptr, missing_ptr = np.empty(2, np.int64), np.empty(2, np.int64)
    convert = lambda *_: pytest.fail("plain values need no conversion")  # noqa: E731
    bad = kernel.rank_into(["q"], [run], [0], convert, UNJUDGED, level, grades, qptr, missing, missing_ptr)
    assert bad == -1
    assert qptr.tolist() == [0, len(run)]
    return grades.tolist(), sorted(missing[: missing_ptr[1]].tolist())


any_text = st.text(st.characters(), max_size=12)  # lone surrogates and NUL too


any_score = st.one_of(st.floats(allow_nan=False), st.integers(-2, 2))


@given(
    st.dictionaries(any_text, st.integers(-2, 3), max_size=10),
    st.dictionaries(any_text, any_score, max_size=10),
    st.dictionaries(any_text, st.tuples(st.integers(-2, 3), any_score), max_size=30),
    st.integers(0, len(_cpu.supported_levels()) - 1),
)
@settings(max_examples=200, deadline=None)
def test_kernel_ranks_as_the_definition(qrel, run, both, level):
    qrel.update({doc: grade for doc, (grade, _) in both.items()})
    run.update({doc: score for doc, (_, score) in both.items()})
    assert kernel_ranking(qrel, run, level) == slow_ranking(qrel, run)


@pytest.mark.parametrize("n", [10, 1000, 70_000])
@pytest.mark.parametrize("form", ["{}", "clueweb09-en{:07}-00-{:05}", "{:064}", "\u00e9{}"])
@pytest.mark.parametrize("n_scores", [1, 7])
def test_long_blocks_of_tied_documents(n, form, n_scores):
    rng = random.Random(n)
    names = [form.format(i * 7919 % n, i) for i in range(n)]
    run = {name: float(rng.randrange(n_scores)) for name in names}
    qrel = {name: rng.randrange(4) for name in names if rng.random() < 0.3}
    assert kernel_ranking(qrel, run) == slow_ranking(qrel, run)


def test_scores_are_rounded_to_float32():
    assert kernel_ranking({"a": 1, "b": 0}, {"a": 1.0 + 1e-9, "b": 1.0}) == ([0, 1], [])
    assert kernel_ranking({"a": 1, "b": 0}, {"a": 1.0 + 1e-7, "b": 1.0}) == ([1, 0], [])
    assert kernel_ranking({"a": 1, "b": 0}, {"a": 2e300, "b": 1e300}) == ([0, 1], [])


def test_ties_of_documents_without_utf8():
    run = dict.fromkeys(["\ud800", "a", "\udfff", "z", "\U0001f600"], 1.0)
    qrel = {"a": 1, "\udfff": 2, "z": 3}
    assert kernel_ranking(qrel, run) == slow_ranking(qrel, run) == ([UNJUDGED, 2, UNJUDGED, 3, 1], [])


def test_order_of_dictionaries_does_not_matter():
    rng = random.Random(1)
    run = {f"d{i}": float(rng.randrange(5)) for i in range(200)}
    qrel = {f"d{i}": rng.randrange(3) for i in range(0, 300, 2)}
    measures = ["map", "ndcg", "bpref"]
    expected = ours.RelevanceEvaluator({"q": qrel}, measures).evaluate({"q": run})
    for _ in range(5):
        shuffled = [dict(rng.sample(list(docs.items()), len(docs))) for docs in (qrel, run)]
        assert ours.RelevanceEvaluator({"q": shuffled[0]}, measures).evaluate({"q": shuffled[1]}) == expected


def test_judgements_are_read_once_and_results_do_not_depend_on_earlier_ones():
    qrel = {"q": {"a": 1, "b": 0}, "other": {"a": 1}}
    evaluator = ours.RelevanceEvaluator(qrel, ["map"])
    first = evaluator.evaluate({"q": {"b": 2.0, "a": 1.0}})
    qrel["q"]["b"] = 1
    del qrel["other"]
    evaluator.evaluate({"other": {"a": 1.0}})
    assert evaluator.evaluate({"q": {"b": 2.0, "a": 1.0}}) == first == {"q": {"map": 0.5}}


def test_one_evaluator_in_many_threads():
    rng = random.Random(2)
    qrel = {f"q{q}": {f"d{i}": rng.randrange(3) for i in range(50)} for q in range(20)}
    evaluator = ours.RelevanceEvaluator(qrel, ["map", "ndcg_cut.10", "bpref"])
    several = [{q: {f"d{i}": float(rng.randrange(20)) for i in range(80)} for q in qrel} for _ in range(16)]
    expected = [evaluator.evaluate(run) for run in several]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(evaluator.evaluate, several)) == expected


# ------------------------------------------------------------------------------------------- what may be passed in


class Frozen(collections.abc.Mapping):
    def __init__(self, items):
        self._items = dict(items)

    def __getitem__(self, key):
        return self._items[key]

    def __iter__(self):
        return iter(self._items)

    def __len__(self):
        return len(self._items)


@pytest.mark.parametrize(
    "kind",
    [
        dict,
        collections.OrderedDict,
        types.MappingProxyType,
        Frozen,
        lambda items: collections.defaultdict(float, items),
        lambda items: {np.str_(key): value for key, value in items.items()},
    ],
    ids=["dict", "OrderedDict", "proxy", "Mapping", "defaultdict", "numpy-strings"],
)
def test_any_mapping_at_both_levels(kind):
    measures = ["map", "ndcg", "bpref", "num_ret"]
    expected = ours.RelevanceEvaluator(QRELS, measures).evaluate(RUN)
    qrel = kind({query: kind(grades) for query, grades in QRELS.items()})
    run = kind({query: kind(docs) for query, docs in RUN.items()})
    assert ours.RelevanceEvaluator(qrel, measures).evaluate(run) == expected


@pytest.mark.parametrize(
    "number", [float, int, np.float64, np.float32, np.int8, np.uint64, Fraction, np.array, lambda x: bool(x == 2)]
)
def test_scores_of_any_type(number):
    run = {"q1": {"a": number(1), "b": number(2), "c": 0.0}}
    assert ours.RelevanceEvaluator(QRELS, ["recip_rank"]).evaluate(run) == {"q1": {"recip_rank": 0.5}}


@pytest.mark.parametrize("number", [int, np.int64, np.uint8, np.float32, float])
def test_whole_grades_of_any_type(number):
    qrel = {"q1": {doc: number(grade) for doc, grade in {"a": 1, "b": 0, "c": 2}.items()}, "q0": {"a": True}}
    results = ours.RelevanceEvaluator(qrel, ["ndcg"]).evaluate({**RUN, "q0": {"a": 1}})
    expected = ours.RelevanceEvaluator(QRELS, ["ndcg"]).evaluate(RUN)
    assert results == {"q1": expected["q1"], "q0": {"ndcg": 1.0}}


def test_what_pytrec_eval_cannot_bear():
    qrel = {"negative": {"a": -1, "b": -5}, "huge": {"a": 2**31 - 1, "b": 1}, "nul": {"a\0b": 1, "a": 0}}
    run = {
        "negative": {"a": 1.0},
        "huge": {"b": 2.0, "a": 1.0},
        "nul": {"a\0b": 1.0, "a": 1.0, "\udc80": math.inf},
    }
    results = ours.RelevanceEvaluator(qrel, ["recip_rank", "ndcg_cut.1"]).evaluate(run)
    assert results["negative"] == {"recip_rank": 0.0, "ndcg_cut_1": 0.0}
    assert results["huge"] == {"recip_rank": 1.0, "ndcg_cut_1": 1 / (2**31 - 1)}
    assert results["nul"] == {"recip_rank": 0.5, "ndcg_cut_1": 0.0}


def test_queries_without_judgements_or_documents():
    evaluator = ours.RelevanceEvaluator({"empty": {}, "q": {"a": 1}, "unseen": {"a": 1}}, ["map"])
    assert evaluator.evaluate({"empty": {"a": 1.0}, "q": {}, "new": {"a": 1.0}}) == {"q": {"map": 0.0}}
    assert evaluator.evaluate({}) == {}
    assert ours.RelevanceEvaluator({}, ["map"]).evaluate(RUN) == {}


@pytest.mark.parametrize(
    ("scores", "error", "message"),
    [
        (None, TypeError, r"scores: expected a dictionary \{query: \{document: score\}\}, got None"),
        ([("q1", {})], TypeError, "scores: expected a dictionary"),
        ({1: {"a": 1.0}}, TypeError, r"scores: expected strings as queries, got 1 \(int\); use str"),
        ({b"q1": {"a": 1.0}}, TypeError, "scores: expected strings as queries"),
        ({"q1": None}, TypeError, r"scores: expected a dictionary \{document: score\} for query 'q1', got None"),
        ({"q1": ["a"]}, TypeError, "for query 'q1', got"),
        ({"q1": {1: 1.0}}, TypeError, r"scores: expected strings as documents, got 1 \(int\) for query 'q1'; use str"),
        ({"q1": {"a": 1.0, None: 1.0}}, TypeError, "expected strings as documents, got None"),
        ({"q1": {"a": "1"}}, TypeError, "expected a number as the score of document 'a' of query 'q1', got '1'"),
        ({"q1": {"a": None}}, TypeError, "expected a number as the score of document 'a'"),
        ({"q1": {"a": 1j}}, TypeError, "expected a number as the score of document 'a'"),
        ({"q1": {"a": [1.0]}}, TypeError, "expected a number as the score of document 'a'"),
        ({"q1": {"a": 10**400}}, ValueError, "expected a number as the score of document 'a'"),
        ({"q1": {"b": 1.0, "a": math.nan}}, ValueError, "scores: expected a number .* got NaN for 'a' of query 'q1'"),
        ({"q1": {"a": np.float32("nan")}}, ValueError, "got NaN for 'a' of query 'q1'"),
    ],
)
def test_bad_runs(scores, error, message):
    evaluator = ours.RelevanceEvaluator(QRELS, ["map"])
    with pytest.raises(error, match=message):
        evaluator.evaluate(scores)


@pytest.mark.parametrize(
    ("qrel", "error", "message"),
    [
        (None, TypeError, r"query_relevance: expected a dictionary \{query: \{document: grade\}\}, got None"),
        ({1: {"a": 1}}, TypeError, "query_relevance: expected strings as queries, got 1"),
        ({"q": ["a"]}, TypeError, r"query_relevance: expected a dictionary \{document: grade\} for query 'q'"),
        ({"q": {1: 1}}, TypeError, "query_relevance: expected strings as documents, got 1"),
        ({"q": {"a": 0.5}}, TypeError, "expected an integer as the grade of document 'a' of query 'q', got 0.5"),
        ({"q": {"a": "1"}}, TypeError, "expected an integer as the grade"),
        ({"q": {"a": None}}, TypeError, "expected an integer as the grade"),
        ({"q": {"a": math.nan}}, ValueError, "expected an integer as the grade"),
        ({"q": {"a": 2**31}}, ValueError, "expected an integer as the grade"),
        ({"q": {"a": -(2**31) - 1}}, ValueError, "expected an integer as the grade"),
        ({"q": {"a": 10**40}}, ValueError, "expected an integer as the grade"),
    ],
)
def test_bad_judgements(qrel, error, message):
    with pytest.raises(error, match=message):
        ours.RelevanceEvaluator(qrel, ["map"])


@pytest.mark.parametrize(
    ("measures", "error", "message"),
    [
        ("map", TypeError, "measures: expected a set of names"),
        (None, TypeError, "measures: expected a set of names"),
        ([1], TypeError, "measures: expected names"),
        (
            ["nonsense"],
            ValueError,
            "measures: expected some of runid, .*ndcg_cut.* nicknames official and set, got 'non",
        ),
        (["infAP"], ValueError, "expected some of .* got 'infAP'"),
        (["all_trec"], ValueError, "got 'all_trec'"),
        (["P.0"], ValueError, "whole numbers of at least 1 after 'P', got 'P.0'"),
        (["P.2.5"], ValueError, "whole numbers of at least 1 after 'P'"),
        (["P_1,,2"], ValueError, "whole numbers of at least 1 after 'P'"),
        (["ndcg_cut_10x"], ValueError, "got 'ndcg_cut_10x'"),
        (["recip_rank.10"], ValueError, "expected 'recip_rank', which takes no parameter, got 'recip_rank.10'"),
    ],
)
def test_bad_measures(measures, error, message):
    with pytest.raises(error, match=message):
        ours.RelevanceEvaluator(QRELS, measures)


@pytest.mark.parametrize(("level", "error"), [(0, ValueError), (-1, ValueError), (1.5, TypeError), ("1", TypeError)])
def test_bad_levels(level, error):
    with pytest.raises(error, match="relevance_level: expected an integer of at least 1"):
        ours.RelevanceEvaluator(QRELS, ["map"], relevance_level=level)


@pytest.mark.parametrize(
    ("parser", "line", "message"),
    [
        (ours.parse_run, "q1 Q0 d1 1 2.5", "line 2: expected 'query Q0 document rank score tag', got 'q1 Q0 d1 1 2.5'"),
        (ours.parse_run, "q1 Q0 d1 1 high tag", "line 2: expected"),
        (ours.parse_run, "q1 Q0 d0 1 1 tag", "line 2: expected each document once for query 'q1', got 'd0' twice"),
        (ours.parse_qrel, "q1 0 d1", "line 2: expected 'query 0 document grade'"),
        (ours.parse_qrel, "q1 0 d1 0.5", "line 2: expected"),
        (ours.parse_qrel, "q1 0 d0 1", "line 2: expected each document once"),
    ],
)
def test_bad_lines(parser, line, message):
    first = "q1 Q0 d0 1 1 tag" if parser is ours.parse_run else "q1 0 d0 1"
    with pytest.raises(ValueError, match=message):
        parser([first, line])


def test_no_values_to_aggregate():
    with pytest.raises(ValueError, match="values: expected at least one value of map, got none"):
        ours.compute_aggregated_measure("map", [])


# ------------------------------------------------------------------- objects whose methods meddle with the dictionary


class Meddler:
    """A number that changes dictionaries when it is read."""

    def __init__(self, *meddle):
        self._meddle = meddle

    def __float__(self):
        for one in self._meddle:
            one()
        return 1.0

    __int__ = __index__ = lambda self: int(float(self))

    def __eq__(self, other):
        return other == 1

    __hash__ = None


class FloatWithManners(float):
    def __float__(self):
        raise AssertionError("a float is read without calling it")


@pytest.mark.parametrize("how", ["clear", "grow", "replace"])
def test_a_score_that_changes_the_run(how):
    docs: dict[str, object] = {f"d{i}": float(i) for i in range(500)}
    later: dict[str, object] = {"a": 1.0}
    run = {"q1": docs, "q2": later}

    def meddle():
        if how == "clear":
            docs.clear()
            run.clear()
        elif how == "grow":
            docs.update({f"more{i}": 1.0 for i in range(5000)})
            later.update({f"more{i}": 1.0 for i in range(5000)})
        else:
            for doc in list(docs):
                docs[doc] = object()

    docs["a"] = Meddler(meddle)
    evaluator = ours.RelevanceEvaluator(QRELS, ["num_ret"])
    if how == "grow":  # the second query has outgrown what was measured
        with pytest.raises(RuntimeError, match="expected runs that stay the same while they are read"):
            evaluator.evaluate(run)
    else:
        assert evaluator.evaluate(run) == {"q1": {"num_ret": 501.0}, "q2": {"num_ret": 1.0}}


def test_a_grade_that_changes_the_judgements():
    grades: dict[str, object] = {f"d{i}": 1 for i in range(500)}
    grades["a"] = Meddler(grades.clear)
    evaluator = ours.RelevanceEvaluator({"q1": grades, "q2": {"a": 1}}, ["num_rel"])
    assert evaluator.evaluate(RUN) == {"q2": {"num_rel": 1.0}, "q1": {"num_rel": 501.0}}


def test_subclasses_are_read_without_calling_them():
    run = {"q1": {"a": FloatWithManners(2.0), "b": 1.0}}
    assert ours.RelevanceEvaluator(QRELS, ["recip_rank"]).evaluate(run) == {"q1": {"recip_rank": 1.0}}


def test_keys_with_methods_of_their_own():
    class Name(str):
        __slots__ = ()

        def __eq__(self, other):
            docs.clear()
            return str.__eq__(self, other)

        __hash__ = str.__hash__

    docs = {Name("a"): 1.0, "b": 2.0}
    assert ours.RelevanceEvaluator(QRELS, ["recip_rank"]).evaluate({"q1": docs}) == {"q1": {"recip_rank": 0.5}}


def test_documents_that_are_the_same_as_strings():
    class Name(str):
        __slots__ = ()

        def __hash__(self):
            return id(self)

    with pytest.raises(ValueError, match="scores: expected each document once for query 'q1', got one twice"):
        ours.RelevanceEvaluator(QRELS, ["map"]).evaluate({"q1": {Name("a"): 1.0, "a": 2.0}})


def test_an_error_of_a_score_object_is_the_users():
    def fail():
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        ours.RelevanceEvaluator(QRELS, ["map"]).evaluate({"q1": {"a": Meddler(fail)}})


def test_documents_are_neither_lost_nor_kept():
    name = "".join(["a document", " of its own"])  # not interned
    before = sys.getrefcount(name)
    run = {"q1": {name: 1.0, "a": 1.0, "b": 1.0}}
    evaluator = ours.RelevanceEvaluator(QRELS, ["map"])
    for _ in range(100):
        evaluator.evaluate(run)
    del run
    assert sys.getrefcount(name) == before


def test_kernel_refuses_what_does_not_fit():
    judgements = Judgements(QRELS, "qrels")._kernel
    arrays = [np.empty(n, dtype) for n, dtype in ((5, np.int32), (2, np.int64), (4, np.int32), (2, np.int64))]

    def rank(places, grades, qptr, missing, missing_ptr):
        return judgements.rank_into(["q1"], [RUN["q1"]], places, dict, 0, 0, grades, qptr, missing, missing_ptr)

    with pytest.raises(ValueError, match="expected places below 4, got 4"):
        rank([4], *arrays)
    with pytest.raises(ValueError, match="expected room for all judged documents, got room for 4"):
        rank([0], *arrays)
    with pytest.raises(ValueError, match="expected one run and place per query"):
        rank([0], arrays[0], np.empty(3, np.int64), np.empty(3, np.int32), arrays[3])
    with pytest.raises(RuntimeError, match="expected runs that stay the same"):
        rank([0], np.empty(4, np.int32), arrays[1], np.empty(3, np.int32), arrays[3])
    with pytest.raises(RuntimeError, match="expected a run that stays the same"):
        judgements.select(["q1", "q2"], [{}], dict)
    with pytest.raises(ValueError, match=r"expected values of shape \(1, 2\)"):
        _dicts.results(["q1", "q2"], ["map"], np.zeros((2, 1)))
    with pytest.raises(RuntimeError, match="judgements do not change"):
        judgements.__init__([], dict)
