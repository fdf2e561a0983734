"""The provider for ir_measures, against the providers that ir_measures has."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys

import pytest


def test_without_ir_measures_the_error_says_what_to_install():
    code = """
import sys
sys.modules["ir_measures"] = None
import fastrank.compat.ir_measures as module
for name in ("fastrank", "FastrankProvider", "FastrankEvaluator"):
    try:
        getattr(module, name)
    except ImportError as error:
        print(error)
try:
    module.use_by_default()
except ImportError as error:
    print(error)
try:
    module.nonsense
except AttributeError as error:
    print(error)
"""
    found = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    lines = found.stdout.splitlines()
    assert len(lines) == 5
    for line in lines[:4]:
        assert "expected the package ir_measures" in line
        assert "pip install ir_measures" in line
    assert "has no attribute 'nonsense'" in lines[4]


@pytest.fixture(scope="module")
def tool():
    return pytest.importorskip("ir_measures")


@pytest.fixture(scope="module")
def ours(tool):
    from fastrank.compat.ir_measures import fastrank

    return fastrank


def parse(tool, text):
    # a measure's text is Python; the tool's own parser uses what newer Pythons warn of
    return eval(text, {}, vars(tool))


MEASURES = [
    *("nDCG", "nDCG@5", "nDCG(judged_only=True)@3", "nDCG(gains={1:5,0:1})@5", "nDCG(gains={3:0})"),
    *("AP", "AP@4", "AP(rel=2)", "AP(rel=3,judged_only=True)@7", "RR", "RR(rel=2)", "RR(judged_only=True)"),
    *("P@5", "P(rel=2)@3", "P(judged_only=True)@3", "R@5", "R@100", "R(judged_only=True)@2"),
    *("Success@1", "Success(rel=2)@3", "Success(judged_only=True)@3", "Rprec", "Rprec(rel=2,judged_only=True)"),
    *("Bpref", "Bpref(rel=2)", "SetP", "SetP(rel=2,judged_only=True)", "SetR", "SetR(rel=2)"),
]


def random_data(seed):
    rng = random.Random(seed)
    docs, queries = [f"d{i}" for i in range(30)], ["1", "2", "3", "4", "5"]
    qrels = {
        query: {doc: rng.choice([-1, 0, 0, 1, 1, 2, 3, 4]) for doc in rng.sample(docs, rng.randrange(25))} | {"z": 0}
        for query in queries
    }
    score = [lambda: float(rng.randrange(3)), rng.random, lambda: rng.randrange(-4, 4)][seed % 3]
    run = {
        query: {doc: score() for doc in rng.sample(docs, rng.randrange(1, 30))}
        for query in rng.sample([*queries, "unjudged"], 4)
    }
    return qrels, run


def by_query(provider, measures, qrels, run):
    # one by one: the provider of pytrec_eval may give nDCG the gains of another measure
    return {
        (metric.query_id, metric.measure): metric.value
        for measure in measures
        for metric in provider.iter_calc([measure], qrels, run)
    }


@pytest.mark.parametrize("seed", range(30))
def test_values_are_those_of_the_pytrec_eval_provider(tool, ours, seed):
    pytest.importorskip("pytrec_eval")
    qrels, run = random_data(seed)
    measures = [parse(tool, measure) for measure in MEASURES]
    expected = by_query(tool.pytrec_eval, measures, qrels, run)
    together = list(ours.iter_calc(measures, qrels, run))
    found = {(metric.query_id, metric.measure): metric.value for metric in together}
    assert len(together) == len(found) == len(expected) == 5 * len(MEASURES)
    for key, value in expected.items():
        assert found[key] == pytest.approx(value, abs=1e-12), key
    aggregated = ours.calc_aggregate(measures, qrels, run)
    assert list(aggregated) == measures
    for measure, value in aggregated.items():
        mean = sum(expected[str(query), measure] for query in range(1, 6)) / 5
        assert value == pytest.approx(mean, abs=1e-12)
    both = ours.calc(measures, qrels, run)
    assert both.aggregated == pytest.approx(aggregated, abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_values_are_those_of_gdeval(tool, ours, seed):
    if shutil.which("perl") is None:
        pytest.skip("needs perl")
    qrels, run = random_data(seed)
    run.pop("unjudged", None)  # gdeval knows numbers only
    measures = [parse(tool, text) for text in ("nDCG(dcg='exp-log2')@5", "ERR@5", "ERR@20")]
    expected = by_query(tool.gdeval, measures, qrels, run)
    found = by_query(ours, measures, qrels, run)
    assert found.keys() == expected.keys()
    for key, value in expected.items():
        assert found[key] == pytest.approx(value, abs=6e-6), key  # it prints five decimals


def test_values_by_hand(tool, ours):
    # grades by rank: 0 (unjudged), 2, 0, 1; a document of grade 1 is missing
    qrels = {"q": {"b": 2, "c": 0, "d": 1, "missing": 1}, "absent": {"a": 1}}
    run = {"q": {"a": 4.0, "b": 3.0, "c": 2.0, "d": 1.0}, "other": {"a": 1.0}}
    expected = {
        "RR@1": 0.0,
        "RR@2": 0.5,
        "AP": (1 / 2 + 2 / 4) / 3,
        "P@2": 0.5,
        "R@4": 2 / 3,
        "Success@1": 0.0,
        "Rprec": 1 / 3,
        "nDCG@1": 0.0,
        "nDCG(judged_only=True)@1": 1.0,
        "AP(rel=2)": 0.5,
        "ERR": 3 / 16 / 2 + 13 / 16 / 16 / 4,
    }
    measures = [parse(tool, text) for text in expected]
    for form in (qrels, [tool.Qrel(query, doc, grade) for query, docs in qrels.items() for doc, grade in docs.items()]):
        found = {(one.query_id, str(one.measure)): one.value for one in ours.iter_calc(measures, form, run)}
        for measure, text in zip(measures, expected, strict=True):
            assert found["q", str(measure)] == pytest.approx(expected[text], abs=1e-12), text
            assert found["absent", str(measure)] == 0.0
        assert len(found) == 2 * len(expected)


def test_frames(tool, ours):
    pandas = pytest.importorskip("pandas")
    qrels = pandas.DataFrame({"query_id": ["q", "q"], "doc_id": ["a", "b"], "relevance": [0, 1]})
    run = pandas.DataFrame({"query_id": ["q", "q"], "doc_id": ["a", "b"], "score": [2.0, 1.0]})
    assert ours.calc_aggregate([tool.RR], qrels, run) == {tool.RR: 0.5}


@pytest.mark.parametrize(
    ("folder", "qrels", "run"),
    [
        ("ir_measures", "compat.qrels", "compat.run"),
        ("ir_measures", "cwl.qrels", "cwl.run"),
        ("trec_eval", "qrels.test", "results.test"),
        ("trec_eval", "qrels.rel_level", "results.test"),
    ],
)
def test_files(tool, ours, data_room, folder, qrels, run):
    pytest.importorskip("pytrec_eval")
    judged = list(tool.read_trec_qrels(str(data_room / folder / qrels)))
    ranked = list(tool.read_trec_run(str(data_room / folder / run)))
    measures = [parse(tool, measure) for measure in MEASURES if "judged_only" not in measure]
    expected = by_query(tool.pytrec_eval, measures, judged, ranked)
    found = by_query(ours, measures, judged, ranked)
    assert found.keys() == expected.keys()
    for key, value in expected.items():
        assert found[key] == pytest.approx(value, abs=1e-12), key
    assert any(expected.values())


def test_registered_and_used_by_default_when_asked(tool, ours):
    from fastrank.compat.ir_measures import use_by_default

    assert tool.providers.registry["fastrank"] is ours
    assert ours not in tool.DefaultPipeline.providers
    before = list(tool.DefaultPipeline.providers)
    try:
        use_by_default()
        use_by_default()
        assert tool.DefaultPipeline.providers == [before[0], ours, *before[1:]]
        evaluator = tool.evaluator([tool.AP, tool.nDCG @ 10], {"q": {"a": 1}})
        assert type(evaluator).__name__ == "FastrankEvaluator"
        assert evaluator.calc_aggregate({"q": {"a": 1.0}}) == {tool.AP: 1.0, tool.nDCG @ 10: 1.0}
    finally:
        tool.DefaultPipeline.providers[:] = before


def test_supported_measures(tool, ours):
    for text in MEASURES:
        assert ours.supports(parse(tool, text)), text
    for text in ("nDCG(dcg='exp-log2',gains={1:2})@5", "SetP(relative=True)", "RBP", "alpha_nDCG@5", "Judged@5"):
        assert not ours.supports(parse(tool, text)), text


@pytest.mark.parametrize(
    ("measure", "grade", "score", "error", "message"),
    [
        ("RBP", 1, 1.0, ValueError, "measures: expected some that the provider fastrank supports, got RBP"),
        ("AP(rel=0)", 1, 1.0, ValueError, r"rel: expected a grade of at least 1 in AP\(rel=0\), got 0"),
        ("ERR@5", 5, 1.0, ValueError, "qrels: expected grades up to 4, gdeval's highest, for ERR@5, got 5"),
        ("AP", 0.5, 1.0, TypeError, "qrels: expected an integer as the grade of document 'a' of query 'q', got 0.5"),
        ("AP", 1, "1", TypeError, "run: expected a number as the score of document 'a' of query 'q', got '1'"),
        ("AP", 1, float("nan"), ValueError, "run: expected a number for every document, got NaN for 'a' of query 'q'"),
    ],
)
def test_mistakes(tool, ours, measure, grade, score, error, message):
    with pytest.raises(error, match=message):
        ours.calc_aggregate([parse(tool, measure)], {"q": {"a": grade}}, {"q": {"a": score}})
