"""The join of judgements and runs, against dictionaries, trec_eval's rules and pytrec_eval."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import trec as twin

from fastrank._core import _trec
from fastrank.data import Qrels, Run, load_qrels, load_run
from fastrank.data.trec import UNJUDGED, join
from fastrank.metrics import evaluate_lists
from fastrank.metrics.conventions import resolve_convention

OPTIONS = [
    {"complete": complete, "max_docs": max_docs, "judged_only": judged_only}
    for complete, max_docs, judged_only in itertools.product((False, True), (None, 1, 3), (False, True))
]


def check(qrels: dict[str, dict[str, int]], run: dict[str, dict[str, float]], **options: Any) -> None:
    """The join is that of the twin."""
    expected = twin.join(qrels, run, **options)
    if not expected.grades and not options.get("complete"):
        with pytest.raises(ValueError, match="run: expected queries that have judgements, got none"):
            join(Qrels.from_dict(qrels), Run.from_dict(run), **options)
        return
    for n_jobs in (1, 3):
        joined = join(Qrels.from_dict(qrels), Run.from_dict(run), n_jobs=n_jobs, **options)
        assert joined.scores is None
        assert joined.docid is None
        assert joined.qid.tolist() == list(expected.grades)
        for values, qptr, wanted in (
            (joined.grades, joined.qptr, expected.grades),
            (joined.missing_grades, joined.missing_ptr, expected.missing),
        ):
            assert (values.dtype, qptr.dtype) == (np.int32, np.int64)
            assert [list(part) for part in np.split(values, qptr[1:-1])][: len(wanted)] == list(wanted.values())
            assert (qptr[0], qptr[-1], len(qptr)) == (0, len(values), len(wanted) + 1)
        assert joined.only_in_run.tolist() == expected.only_in_run
        assert joined.only_in_qrels.tolist() == expected.only_in_qrels


def test_by_hand():
    qrels = Qrels.from_dict({"q1": {"a": 1, "b": 0, "c": 2, "d": -1}, "q2": {"a": 1}})
    run = Run.from_dict({"q3": {"a": 1}, "q1": {"d": 2.0, "x": 3.0, "b": 2.0, "a": 2.0}})
    joined = join(qrels, run)
    assert joined.qid.tolist() == ["q1"]
    assert joined.grades.tolist() == [UNJUDGED, UNJUDGED, 0, 1]  # x, then d, b, a: ids descending
    assert joined.missing_grades.tolist() == [2]
    assert (joined.only_in_run.tolist(), joined.only_in_qrels.tolist()) == (["q3"], ["q2"])
    joined = join(qrels, run, complete=True, max_docs=3, judged_only=True)
    assert (joined.qid.tolist(), joined.qptr.tolist(), joined.grades.tolist()) == (["q1", "q2"], [0, 1, 1], [0])
    assert (joined.missing_grades.tolist(), joined.missing_ptr.tolist()) == ([1, 2, 1], [0, 2, 3])


def test_queries_come_by_the_bytes_of_their_ids():
    ids = ["10", "9", "1", "é", "Z", "a", "aa", "~", "日", "😀", "\uffff"]
    pairs = {qid: {"d": 1} for qid in ids}
    assert join(Qrels.from_dict(pairs), Run.from_dict(pairs)).qid.tolist() == sorted(ids, key=str.encode)


IDS = ["a", "aa", "aaaaaaa", "aaaaaaaa", "aaaaaaaab", "aaaaaaaaa", "b", "é", "日本", "~", "A", "0" * 40, "0" * 39 + "1"]
queries = st.sampled_from(["1", "10", "2", "q", "é"])
scores = st.sampled_from([0.0, -0.0, 1.0, 1.0 + 2**-40, -1.5, 1e300, -1e300, np.inf, -np.inf, 5e-324])


@settings(max_examples=200, deadline=None)
@given(
    st.dictionaries(queries, st.dictionaries(st.sampled_from(IDS), st.integers(-2, 3))),
    st.dictionaries(queries, st.dictionaries(st.sampled_from(IDS), scores)),
    st.sampled_from(OPTIONS),
)
def test_any_join_is_that_of_the_twin(qrels, run, options):
    check(qrels, run, **options)


@pytest.mark.parametrize("options", OPTIONS[:6])
@pytest.mark.parametrize("n_scores", [1, 2, 50, 10**6])
def test_large_lists_with_ties(options, n_scores, rng):
    def pairs(n_queries: int, most: int, value: Any) -> dict[str, dict[str, Any]]:
        found = {}
        for query in rng.permutation(n_queries):
            documents = rng.choice(5000, int(rng.integers(0, most)), replace=False)
            found[f"q{query}"] = {f"doc{document}": value() for document in documents}
        return found

    qrels = pairs(20, 400, lambda: int(rng.integers(-1, 4)))
    run = pairs(25, 3000, lambda: float(rng.integers(0, n_scores)))
    check(qrels, run, **options)


@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 16, 17, 100, 1000, 4097])
def test_ties_are_in_descending_order_of_ids(n, rng):
    ids = list(dict.fromkeys("d" * int(rng.integers(0, 12)) + str(rng.integers(0, 10 * n)) for _ in range(n)))
    qrels = {"q": {docid: grade for grade, docid in enumerate(ids)}}
    joined = join(Qrels.from_dict(qrels), Run.from_dict({"q": dict.fromkeys(ids, 0.5)}))
    assert [ids[grade] for grade in joined.grades] == sorted(ids, key=str.encode, reverse=True)


def test_ids_with_equal_hashes_are_told_apart(rng):
    ids = [f"{number:x}" for number in range(300_000)]
    run = Run.from_dict({"q": dict.fromkeys(ids, 1.0)})
    order = np.argsort(run._hashes, kind="stable")
    equal = np.flatnonzero(np.diff(run._hashes[order].astype(np.int64)) == 0)
    assert len(equal) >= 3  # about 10 of 300,000 by chance
    for one, two in zip(order[equal].tolist(), order[equal + 1].tolist(), strict=True):
        for judged, other in ((one, two), (two, one)):
            check({"q": {ids[judged]: 2}}, {"q": {ids[other]: 1.0, ids[judged]: 0.5}})
            check({"q": {ids[judged]: 2}}, {"q": {ids[other]: 1.0}})
        assert Run(["q", "q"], [ids[one], ids[two]], [1, 2]).n_queries == 1


def test_query_ids_with_equal_hashes_are_told_apart(tmp_path):
    ids = [f"{number:x}" for number in range(300_000)]
    run = Run.from_dict({"q": dict.fromkeys(ids, 1.0)})
    order = np.argsort(run._hashes, kind="stable")
    equal = np.flatnonzero(np.diff(run._hashes[order].astype(np.int64)) == 0)
    colliding = [ids[row] for row in (*order[equal], *order[equal + 1])]
    path = tmp_path / "qrels"
    path.write_text("".join(f"{qid} 0 {docid} 1\n" for docid in "xyz" for qid in colliding))
    assert load_qrels(path).to_dict() == {qid: {"x": 1, "y": 1, "z": 1} for qid in colliding}


def test_scores_may_be_rounded_first():
    qrels = {"q": {"a": 1, "b": 0, "c": 2}}
    run = Run.from_dict({"q": {"a": 1.0 + 1e-9, "b": 1.0, "c": 1e39}})
    assert join(Qrels.from_dict(qrels), run).grades.tolist() == [2, 1, 0]
    assert join(Qrels.from_dict(qrels), run, score_dtype="float64").grades.tolist() == [2, 1, 0]
    assert join(Qrels.from_dict(qrels), run, score_dtype=np.float32).grades.tolist() == [2, 0, 1]
    assert run.score.tolist() == [1.0 + 1e-9, 1.0, 1e39]
    beyond = Run.from_dict({"q": {"a": 2e39, "b": 1e39, "c": -1e39}})  # both infinite as float32: a tie
    assert join(Qrels.from_dict(qrels), beyond, score_dtype="float32").grades.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda q, r: join(r, q), TypeError, "qrels: expected Qrels, got Run"),
        (lambda q, r: join(q, {}), TypeError, "run: expected Run, got dict"),
        (lambda q, r: join(q, r, max_docs=0), ValueError, "max_docs: expected an integer of at least 1, got 0"),
        (lambda q, r: join(q, r, complete=1), TypeError, "complete: expected True or False, got 1"),
        (lambda q, r: join(q, r, score_dtype="int8"), ValueError, "score_dtype: expected float32 or float64"),
        (lambda q, r: join(q, Run.from_dict({"x": {"a": 1}})), ValueError,
         "run: expected queries that have judgements, got none: the run has 'x', the judgements have 'q'; are these"),
        (lambda q, r: join(q, Run.from_dict({})), ValueError, "the run has none, the judgements have 'q'"),
    ],
)  # fmt: skip
def test_wrong_arguments(call, error, said):
    with pytest.raises(error, match=re.escape(said)):
        call(Qrels.from_dict({"q": {"a": 1}}), Run.from_dict({"q": {"a": 1.0}}))


def test_hash_of_nothing_and_gathering_of_nothing():
    empty, offsets = np.zeros(0, dtype=np.uint8), np.zeros(3, dtype=np.int64)
    hashes = np.ones(2, dtype=np.uint32)
    _trec.hash_into(empty, offsets, hashes)
    assert hashes[0] == hashes[1]
    assert Run(["a", "b", "a"], ["", "", "x"], [1, 2, 3]).to_dict() == {"a": {"": 1.0, "x": 3.0}, "b": {"": 2.0}}
    assert Run(["a", "b"], ["", ""], [1, 2]).to_dict() == {"a": {"": 1.0}, "b": {"": 2.0}}


MEASURES = ["map", "ndcg", "ndcg_cut_10", "recip_rank", "P_5", "recall_20", "success_1", "bpref", "Rprec", "map_cut_5"]


@pytest.mark.parametrize("level", [1, 2])
def test_values_are_those_of_pytrec_eval(level, rng):
    pytrec_eval = pytest.importorskip("pytrec_eval")
    qrels, run = {}, {}
    for query in range(60):
        documents = [f"d{number}" for number in rng.permutation(300)]
        qrels[f"q{query}"] = {docid: int(rng.integers(-1, 4)) for docid in documents[: rng.integers(1, 90)]}
        run[f"q{query + 2}"] = {
            docid: float(rng.integers(0, 40)) / 7
            for docid in rng.permutation(documents)[: rng.integers(1, 200)].tolist()
        }
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, set(MEASURES), relevance_level=level)
    expected = evaluator.evaluate(run)
    joined = join(Qrels.from_dict(qrels), Run.from_dict(run), score_dtype="float32")
    found = evaluate_lists(joined, MEASURES, resolve_convention("trec_eval", {"rel": level}))
    assert sorted(expected) == joined.qid.tolist()
    for measure in MEASURES:
        theirs = [expected[qid][measure] for qid in joined.qid.tolist()]
        assert np.allclose(found[measure], theirs, rtol=1e-13, atol=1e-15), measure


def test_real_files_as_the_twin_joins_them(data_room):
    folder = data_room / "trec_eval"
    for judgements, results in (
        ("qrels.test", "results.test"),
        ("qrels.rel_level", "results.trunc"),
        ("qrels.comment.test", "results.comment.test"),
    ):
        qrels, run = load_qrels(folder / judgements), load_run(folder / results)
        for options in OPTIONS:
            check(qrels.to_dict(), run.to_dict(), **options)
