from __future__ import annotations

import inspect
import json
import math
import pickle
import sys

import numpy as np
import pytest

from fastrank import metrics
from fastrank.data import RankingDataset
from fastrank.data.trec import Qrels, Run, join
from fastrank.metrics import Convention, Evaluation, Metric, evaluate, evaluate_lists
from fastrank.metrics._statistics import bootstrap_interval, t_interval
from fastrank.metrics.evaluation import DEFAULT_METRICS

NAN = float("nan")
EVERYTHING = ["dcg@5", "ndcg", "ndcg@3", "ap", "ap@4", "rr", "p@2", "recall@3", "success@1", "wta", "err", "bpref"]
EVERYTHING += ["rprec", "tau"]


def small(**options) -> Evaluation:
    """Queries "b" (2, 0, 1 ranked 0, 2, 1), "a" (perfect) and "c" (empty)."""
    labels, scores = [2, 0, 1, 1, 0, 0, 0], [0.5, 0.9, 0.1, 0.8, 0.2, 0.4, 0.3]
    return evaluate(labels, scores, ["ndcg@10", "map"], qid=list("bbbaacc"), **options)


def test_all_measures_are_those_of_their_functions(rng):
    grades, scores = rng.integers(0, 4, 400), rng.integers(0, 30, 400)
    qid = rng.integers(0, 40, 400)
    found = evaluate(grades, scores, EVERYTHING, qid=qid)
    names = {"p": "precision", "rprec": "r_precision", "tau": "kendall_tau"}
    for name in EVERYTHING:
        kind, _, k = name.partition("@")
        cut = {"k": int(k)} if k else {}
        alone = getattr(metrics, names.get(kind, kind))(grades, scores, qid=qid, **cut)
        np.testing.assert_array_equal(found[name], alone)
    assert found.values.shape == (len(EVERYTHING), len(set(qid.tolist())))
    assert found.qid.tolist() == list(dict.fromkeys(qid.tolist()))


@pytest.mark.parametrize("n_jobs", [2, 5])
def test_threads_do_not_change_a_bit(n_jobs, rng):
    grades, scores, group = rng.integers(0, 4, 200_000), rng.normal(size=200_000), [100] * 2000
    one = evaluate(grades, scores, EVERYTHING, group=group, max_grade=4)
    assert evaluate(grades, scores, EVERYTHING, group=group, max_grade=4, n_jobs=n_jobs) == one


def test_by_hand():
    found = small()
    dcg = 0 + 3 / math.log2(3) + 1 / 2
    assert found.qid.tolist() == ["b", "a", "c"]
    assert found["ndcg@10"].tolist() == pytest.approx([dcg / (3 + 1 / math.log2(3)), 1, 0])
    assert found["AP"].tolist() == pytest.approx([(1 / 2 + 2 / 3) / 2, 1, 0])
    assert found.mean == {"ndcg@10": pytest.approx(found["ndcg@10"].mean()), "ap": pytest.approx((7 / 12 + 1) / 3)}
    assert found.n_empty == {"ndcg@10": 1, "ap": 1}
    assert found.n_queries == 3
    assert found.metrics == (Metric("ndcg", 10), Metric("ap"))
    assert found.convention.name == "fastrank"


def test_default_measures():
    assert evaluate([1, 0], [1, 2]).metrics == tuple(metrics.parse_metric(name) for name in DEFAULT_METRICS)
    assert evaluate([1, 0], [1, 2], "mrr").metrics == (Metric("rr"),)


def test_lookup_by_any_spelling():
    found = small()
    for spelling in ("ndcg@10", "nDCG@10", "ndcg_cut_10", "NDCG:top=10", Metric("ndcg", 10)):
        np.testing.assert_array_equal(found[spelling], found.values[0])
        assert spelling in found
    assert "ndcg@5" not in found
    assert list(found) == ["ndcg@10", "ap"]
    with pytest.raises(KeyError, match=r"metric: expected one of ndcg@10, ap, got 'ndcg@5'; evaluate it too"):
        found["ndcg@5"]
    with pytest.raises(ValueError, match="metric: expected one of dcg"):
        found["nonsense"]


@pytest.mark.parametrize(("empty", "mean"), [(0, 19 / 36), (1, 31 / 36), ("skip", 19 / 24), ("nan", NAN)])
def test_how_empty_queries_count(empty, mean):
    found = small(empty=empty)
    assert found.mean["ap"] == pytest.approx(mean, nan_ok=True)
    assert found.n_empty["ap"] == 1
    assert np.isnan(found["ap"][2]) == isinstance(empty, str)
    written = {0: "1 as 0", 1: "1 as 1", "skip": "1 skipped", "nan": "1 as nan"}
    assert written[empty] in str(found)


def test_empty_rules_per_measure():
    found = small(empty={"ap": "skip"})
    assert found["ndcg@10"][2] == 0
    assert np.isnan(found["ap"][2])
    assert found.mean["ap"] == pytest.approx(19 / 24)


def test_nothing_to_judge():
    for empty in (0, "skip"):
        found = evaluate([], [], group=[], empty=empty)
        assert found.n_queries == 0
        assert all(math.isnan(mean) for mean in found.mean.values())
        assert found.n_empty == dict.fromkeys(DEFAULT_METRICS, 0)
        assert all(math.isnan(end) for end in found.interval("ap"))
        assert "0 queries" in str(found)
    all_empty = evaluate([0, 0], [1, 2], "ap", empty="skip")
    assert math.isnan(all_empty.mean["ap"])
    assert "nan" in str(all_empty)


# Data in other forms


def test_data_set(rng):
    grades, scores, qid = rng.integers(0, 3, 60), rng.normal(size=60), rng.permutation(np.arange(60) % 7)
    dataset = RankingDataset(rng.normal(size=(60, 2)), grades, qid=qid, docid=[f"d{i}" for i in range(60)])
    assert evaluate(dataset, scores) == evaluate(grades, scores, qid=qid)
    by_docid = evaluate(dataset, np.zeros(60), convention="trec_eval")
    assert by_docid == evaluate(grades, np.zeros(60), qid=qid, convention="trec_eval", docid=dataset.docid)
    with pytest.raises(ValueError, match=r"scores: expected 60 values \(one score per row of the data set\), got 59"):
        evaluate(dataset, scores[:-1])


QRELS = {"q1": {"a": 2, "b": 0, "c": 1, "e": 1}, "q2": {"a": 1, "x": -1}, "q3": {"a": 1}}
RUN = {"q1": {"a": 0.5, "c": 0.5, "d": 0.5, "b": 0.1}, "q2": {"x": 2.0, "a": 1.0}, "q4": {"a": 1.0}}


def test_judgements_and_a_run():
    qrels, run = Qrels.from_dict(QRELS), Run.from_dict(RUN)
    found = evaluate(qrels, run, ["ndcg", "map", "recip_rank", "bpref"], convention="trec_eval")
    assert found.qid.tolist() == ["q1", "q2"]
    # q1 by score and id: d (unjudged), c 1, a 2, b 0; e is missing
    ideal = 2 + 1 / math.log2(3) + 1 / 2
    assert found["ndcg"].tolist() == pytest.approx([(1 / math.log2(3) + 2 / 2) / ideal, 1 / math.log2(3)])
    assert found["map"].tolist() == pytest.approx([(1 / 2 + 2 / 3) / 3, 1 / 2])
    assert found["mrr"].tolist() == [0.5, 0.5]
    assert found["bpref"].tolist() == pytest.approx([2 / 3, 1])
    assert found == evaluate_lists(join(qrels, run), found.metrics, "trec_eval")
    complete = evaluate_lists(join(qrels, run, complete=True), "map", "trec_eval")
    assert complete.qid.tolist() == ["q1", "q2", "q3"]
    assert complete["map"][2] == 0


def test_ties_of_a_run_count_as_asked():
    qrels, run = Qrels.from_dict(QRELS), Run.from_dict(RUN)
    for ties, value in (
        ("docid", 1 / 2),
        ("index", 1 / 2),
        ("worst", 1 / 2),
        ("best", 1),
        ("mean", (1 + 1 + 1 / 2) / 3),
    ):
        assert evaluate(qrels, run, "rr", ties=ties)["rr"].tolist() == [pytest.approx(value), 0.5]
    mixed = evaluate(qrels, run, ["rr", "success@1"], ties={"rr": "docid", "success": "best"})
    assert mixed.values.tolist() == [[0.5, 0.5], [1, 0]]
    close = Run.from_dict({"q1": {"a": 1.0, "c": 1 + 1e-9, "d": 1 + 2e-9}, "q2": {"x": math.inf, "a": -math.inf}})
    assert evaluate(qrels, close, "rr", ties="best")["rr"].tolist() == [0.5, 0.5]
    assert evaluate(qrels, close, "rr", ties="best", score_dtype="float32")["rr"].tolist() == [1, 0.5]
    assert evaluate(qrels, run, "rr", judged_only=True, ties="docid")["rr"].tolist() == [1, 1]


def test_judgements_have_their_own_ids():
    with pytest.raises(ValueError, match="qid, group, docid: expected none of them with Qrels"):
        evaluate(Qrels.from_dict(QRELS), Run.from_dict(RUN), qid=[1])
    with pytest.raises(TypeError, match="run: expected Run, got dict"):
        evaluate(Qrels.from_dict(QRELS), RUN)


def test_lists_in_rank_order_with_missing_documents():
    lists = (np.array(["a", "b"]), np.array([0, 2, 3]), None, np.array([0, 1, 2], dtype=np.int32), None)
    missing = np.array([1, 40], dtype=np.int32), np.array([0, 1, 2])
    found = evaluate_lists((*lists, *missing), ["ap", "recall@1", "ndcg"], Convention(gain="linear"))
    assert found["ap"].tolist() == [0.25, 0.5]
    assert found["recall@1"].tolist() == [0, 0.5]
    ideal = 40 + 2 / math.log2(3)
    assert found["ndcg"].tolist() == pytest.approx([1 / math.log2(3) / (1 + 1 / math.log2(3)), 2 / ideal])
    whole = evaluate_lists((*lists, None, None), ["ap"])
    assert whole["ap"].tolist() == [0.5, 1]


def test_mistakes_in_missing_documents():
    lists = np.array(["a"]), np.array([0, 1]), None, np.array([0], dtype=np.int32), None
    missing = np.array([-3], dtype=np.int32), np.array([0, 1])
    with pytest.raises(ValueError, match="got -3 in a document that is not in the lists; shift the grades"):
        evaluate_lists((*lists, *missing), "ap")


# Intervals


def test_intervals():
    values = np.random.default_rng(0).random(50)
    found = Evaluation((Metric("ap"),), np.arange(50), values[None], Convention())
    assert found.interval("map", method="t") == t_interval(values)
    assert found.interval("map", 0.8, method="t") == t_interval(values, 0.8)
    assert found.interval("map", n_resamples=500, random_state=3) == bootstrap_interval(values, 0.95, 500, 3)
    assert found.interval("map", n_resamples=500) == found.interval("map", n_resamples=500)
    low, high = found.interval("map", n_resamples=2000)
    assert low < found.mean["ap"] < high
    with pytest.raises(ValueError, match="method: expected one of 'bootstrap', 't', got 'z'"):
        found.interval("map", method="z")
    with pytest.raises(ValueError, match="confidence: expected a number between 0 and 1"):
        found.interval("map", 95)


def test_intervals_are_of_what_the_mean_is_of():
    values = np.array([[0.2, 0.4, NAN, 0.9]])
    skipping = Evaluation((Metric("ap"),), np.arange(4), values, Convention(empty="skip"))
    assert skipping.interval("ap", method="t") == t_interval([0.2, 0.4, 0.9])
    marking = Evaluation((Metric("ap"),), np.arange(4), values, Convention(empty="nan"))
    for method in ("t", "bootstrap"):
        assert all(math.isnan(end) for end in marking.interval("ap", method=method))


# The object


def test_text():
    assert repr(small()) == "Evaluation(3 queries, ndcg@10 0.5530, ap 0.5278, convention fastrank)"
    lines = str(small(ties="worst")).splitlines()
    assert lines[0] == "3 queries, convention fastrank, ties='worst'"
    assert lines[1].split() == ["metric", "mean", "95", "%", "interval", "empty"]
    assert lines[3].split() == ["ap", "0.5278", "[-0.7200,", "1.7756]", "1", "as", "0"]
    assert len(lines) == 4
    assert str(evaluate([1, 0], [2, 1], "ap")).splitlines()[2].split() == ["ap", "1.0000", "0"]  # no interval of one


def test_tables():
    assert small().to_markdown().splitlines()[0].startswith("| metric ")
    assert "ndcg@10" in small().to_markdown()
    assert r"\begin{tabular}" in small().to_latex()
    assert r"95 \% interval" in small().to_latex()


def test_dictionary_is_plain():
    found = small().to_dict()
    assert json.loads(json.dumps(found)) == found
    assert found["qid"] == ["b", "a", "c"]
    assert found["mean"]["ap"] == pytest.approx(19 / 36)
    assert found["values"]["ap"] == pytest.approx([7 / 12, 1, 0])
    assert found["n_empty"] == {"ndcg@10": 1, "ap": 1}
    assert (found["n_queries"], found["convention"]) == (3, "fastrank")


def test_frame():
    pytest.importorskip("pandas")
    frame = small().to_frame()
    assert frame.index.tolist() == ["b", "a", "c"]
    assert frame.index.name == "qid"
    assert frame.columns.tolist() == ["ndcg@10", "ap"]
    np.testing.assert_array_equal(frame["ap"], small()["ap"])


def test_frame_without_pandas(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"to_frame: expected pandas to be installed; .* or use to_dict\(\)"):
        small().to_frame()


def test_equality():
    assert small() == small()
    assert small(empty="nan") == small(empty="nan")
    assert small() != small(ties="worst")
    assert small() != 5
    other = evaluate([2, 0, 1, 1, 0, 0, 0], [0.5, 0.9, 0.1, 0.8, 0.2, 0.4, 0.3], ["ndcg@10", "map"], group=[3, 2, 2])
    assert small() != other
    with pytest.raises(TypeError):
        hash(small())


def test_immutable():
    labels = np.array([1, 0])
    found = evaluate(labels, np.array([1.0, 2.0]), "ap", qid=np.array([4, 4]))
    with pytest.raises(AttributeError):
        found.values = None
    with pytest.raises(ValueError, match="read-only"):
        found.values[0, 0] = 9
    with pytest.raises(ValueError, match="read-only"):
        found["ap"][0] = 9
    with pytest.raises(ValueError, match="read-only"):
        found.qid[0] = 9
    values = np.zeros((1, 2))
    Evaluation((Metric("ap"),), np.arange(2), values, Convention())
    values[0, 0] = 1  # that of others stays as it was


def test_pickle():
    for found in (small(), small(empty="nan"), small(convention="xgboost")):
        found.mean  # noqa: B018  computed when first asked for
        again = pickle.loads(pickle.dumps(found))
        assert again == found
        assert again.mean == pytest.approx(found.mean, nan_ok=True)
        with pytest.raises(ValueError, match="read-only"):
            again.values[0, 0] = 9


def test_parts_must_fit():
    with pytest.raises(ValueError, match=r"values: expected shape \(1, 2\), a row per measure and a column per query"):
        Evaluation((Metric("ap"),), np.arange(2), np.zeros((2, 2)), Convention())


def test_counts_of_empty_queries_without_them():
    values = np.array([[NAN, 1, NAN], [0, 1, 1]])
    assert Evaluation((Metric("ap"), Metric("rr")), np.arange(3), values, Convention()).n_empty == {"ap": 2, "rr": 0}


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([1, 0], [1, 2], "ndgc"), {}, "metric: .*did you mean 'ndcg'"),
        (([1, 0], [1, 2], []), {}, "metrics: expected at least one measure"),
        (([1, 0], [1, 2]), {"convention": "trec"}, "convention: .*did you mean 'trec_eval'"),
        (([1, 0], [1, 2, 3]), {}, r"scores: expected 2 values \(the shape of data\), got 3"),
        (
            ([1, 0], [1, NAN]),
            {"qid": ["u", "v"]},
            r"scores: expected finite float64 values, got nan in row 1 \(query 'v'\)",
        ),
        (([1, 0], [1, 2]), {"empty": "error", "qid": ["u", "v"]}, "ndcg@10: expected no empty query, .* 'v'"),
    ],
)
def test_mistakes(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        evaluate(*arguments, **options)


def test_documentation_names_every_parameter():
    for name in inspect.signature(evaluate).parameters:
        assert name in inspect.getdoc(evaluate)
    assert "{shared}" not in inspect.getdoc(evaluate)
