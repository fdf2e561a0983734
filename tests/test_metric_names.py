from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastrank._core import _metrics
from fastrank.metrics import Metric, parse_metric
from fastrank.metrics.names import CUT_KINDS, KINDS, REL_KINDS, parse_metrics

METRICS = [Metric(kind, k) for kind in KINDS for k in (None, 1, 10, 1000) if k is None or kind in CUT_KINDS]


def test_kinds_are_those_of_the_kernel():
    assert set(KINDS) == set(_metrics.KINDS)


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("ndcg", "ndcg"),
        ("ndcg@10", "ndcg@10"),
        ("nDCG@10", "ndcg@10"),
        ("NDCG@10", "ndcg@10"),
        ("ndcg_cut_10", "ndcg@10"),
        ("ndcg_cut.10", "ndcg@10"),
        ("ndcg_at_10", "ndcg@10"),
        ("ndcgAt10", "ndcg@10"),
        ("ndcg_10", "ndcg@10"),
        ("ndcg.10", "ndcg@10"),
        ("NDCG:top=10", "ndcg@10"),
        ("NDCG:top=10;type=Base", "ndcg(gain=linear)@10"),
        ("NDCG:type=Exp;denominator=LogPosition", "ndcg(gain=exp2)"),
        ("nDCG(dcg='exp-log2')@10", "ndcg(gain=exp2)@10"),
        ("nDCG(dcg='log2')", "ndcg(gain=linear)"),
        ("ndcg_burges@5", "ndcg(gain=exp2)@5"),
        ("ndcg_score", "ndcg"),
        ("RetrievalNormalizedDCG", "ndcg"),
        ("retrieval_normalized_dcg", "ndcg"),
        ("DCG@5", "dcg@5"),
        ("map", "ap"),
        ("MAP@10", "ap@10"),
        ("map_cut_100", "ap@100"),
        ("map_cut.100", "ap@100"),
        ("AP", "ap"),
        ("AP@100", "ap@100"),
        ("AP(rel=2)@100", "ap(rel=2)@100"),
        ("AP(rel=2)", "ap(rel=2)"),
        ("average_precision", "ap"),
        ("mean average precision", "ap"),
        ("mrr", "rr"),
        ("MRR@10", "rr@10"),
        ("RR@10", "rr@10"),
        ("RR(rel=0.5)@10", "rr(rel=0.5)@10"),
        ("recip_rank", "rr"),
        ("reciprocal_rank", "rr"),
        ("P@5", "p@5"),
        ("P_5", "p@5"),
        ("P.5", "p@5"),
        ("pre@5", "p@5"),
        ("precision_at_5", "p@5"),
        ("PrecisionAt:top=5", "p@5"),
        ("set_P", "p"),
        ("R@100", "recall@100"),
        ("Recall@100", "recall@100"),
        ("recall_100", "recall@100"),
        ("RecallAt:top=3", "recall@3"),
        ("success_1", "success@1"),
        ("Success@1", "success@1"),
        ("hit@1", "success@1"),
        ("hit_rate", "success"),
        ("hit_rate@10", "success@10"),
        ("wta", "wta"),
        ("winner-takes-all", "wta"),
        ("ERR@20", "err@20"),
        ("bpref", "bpref"),
        ("Bpref", "bpref"),
        ("Rprec", "rprec"),
        ("R-precision", "rprec"),
        ("r_precision", "rprec"),
        ("tau", "tau"),
        ("kendall_tau", "tau"),
        ("KendallTau", "tau"),
        ("  ndcg@10 ", "ndcg@10"),
    ],
)
def test_spellings(spelling, name):
    metric = parse_metric(spelling)
    assert metric.name == name
    assert parse_metric(name) == metric
    assert parse_metric(metric) is metric


@pytest.mark.parametrize("metric", METRICS, ids=str)
def test_every_spelling_that_a_metric_has_is_read_back(metric):
    assert metric.spellings["fastrank"] == metric.name == str(metric)
    assert metric.spellings["mlflow"] == metric.safe_name
    for spelling in metric.spellings.values():
        assert parse_metric(spelling) == metric
    assert metric.safe_name.isidentifier()


@pytest.mark.parametrize(
    ("name", "trec_name"),
    [
        ("ndcg", "ndcg"),
        ("ndcg@10", "ndcg_cut_10"),
        ("ap", "map"),
        ("ap@10", "map_cut_10"),
        ("rr", "recip_rank"),
        ("rr@10", None),
        ("p@5", "P_5"),
        ("recall@100", "recall_100"),
        ("success@1", "success_1"),
        ("bpref", "bpref"),
        ("rprec", "Rprec"),
        ("err@20", None),
        ("wta", None),
        ("tau", None),
        ("ap(rel=2)", None),
    ],
)
def test_names_of_trec_eval(name, trec_name):
    assert parse_metric(name).trec_name == trec_name


def test_settings_are_part_of_a_measure():
    metric = Metric("ap", 100, rel=2)
    assert metric.name == "ap(rel=2)@100"
    assert metric.safe_name == "ap_rel_2_at_100"
    assert metric.spellings == {
        "fastrank": "ap(rel=2)@100",
        "mlflow": "ap_rel_2_at_100",
        "ir_measures": "AP(rel=2)@100",
    }
    assert Metric("ap", rel=0.5).safe_name == "ap_rel_0p5"
    assert Metric("ap", rel=0.50000001).name == "ap(rel=0.50000001)"
    assert metric != Metric("ap", 100)
    assert metric == Metric("ap", 100, rel=2.0)


def test_metric_is_a_value():
    metric = parse_metric("ndcg@10")
    assert pickle.loads(pickle.dumps(metric)) == metric
    assert {metric, parse_metric("nDCG@10")} == {metric}
    assert metric.greater_is_better
    assert repr(metric) == "Metric('ndcg@10')"
    with pytest.raises(AttributeError):
        metric.k = 5  # type: ignore[misc]


@pytest.mark.parametrize(
    ("spelling", "message"),
    [
        ("ndgc@10", r"expected one of dcg, ndcg, ap.*got 'ndgc@10'; did you mean 'ndcg'"),
        ("meanaverageprecison", "did you mean 'meanaverageprecision'"),
        ("accuracy", "expected one of dcg, ndcg"),
        ("", "expected one of dcg"),
        ("10", "expected one of dcg"),
        ("ndcg@", "expected a whole number of at least 1 after '@', got ''"),
        ("ndcg@ten", "expected a whole number of at least 1 after '@', got 'ten'"),
        ("ndcg@-5", "expected a whole number of at least 1 after '@', got '-5'"),
        ("ndcg@2.5", "expected a whole number of at least 1 after '@', got '2.5'"),
        ("ndcg@0", "expected a cut-off of at least 1, got 0 in 'ndcg@0'"),
        ("P_5,10", "expected one of dcg"),
        ("ndcg@10-", "for the final '-' of XGBoost pass empty=0"),
        ("rprec@5", "cannot read 'rprec@5': k: expected None, as rprec is of the whole list"),
        ("ndcg(rel=2)", "rel: expected None, as ndcg knows no relevant documents"),
        ("AP(rel=high)", "expected a number after 'rel=', got 'high'"),
        ("AP(rel=-1)", "rel: expected a finite number of at least 0"),
        ("AP(judged_only=True)", "pass others as arguments, such as judged_only="),
        ("NDCG:top=10;denominator=Position", "pass others as arguments, such as judged_only= or discount="),
        ("AP:type=Exp", "gain: expected None, as ap has no gains"),
    ],
)
def test_names_that_mean_nothing(spelling, message):
    with pytest.raises(ValueError, match=f"metric: .*{message}"):
        parse_metric(spelling)


@pytest.mark.parametrize("value", [None, 10, ["ndcg"], b"ndcg"])
def test_names_are_strings(value):
    with pytest.raises(TypeError, match="metric: expected a name such as 'ndcg@10' or a Metric"):
        parse_metric(value)


@given(st.text())
def test_any_text_is_a_measure_or_a_sentence(text):
    try:
        found = parse_metric(text)
    except ValueError as error:
        message = str(error)
    else:
        message = f"metric: {found.name}"
    assert message.startswith("metric: ")


def test_metric_checks_its_parts():
    with pytest.raises(ValueError, match="kind: expected one of 'dcg'"):
        Metric("map")
    with pytest.raises(ValueError, match="k: expected an integer of at least 1, got 0"):
        Metric("ndcg", 0)
    with pytest.raises(TypeError, match="k: expected an integer of at least 1, got 2.5"):
        Metric("ndcg", 2.5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="gain: expected one of 'linear', 'exp2'"):
        Metric("ndcg", gain="cubic")
    for kind in set(KINDS) - REL_KINDS:
        with pytest.raises(ValueError, match="rel: expected None"):
            Metric(kind, rel=1)


def test_lists_of_names():
    ndcg, ap = parse_metric("ndcg@10"), parse_metric("ap")
    assert parse_metrics("ndcg@10") == parse_metrics(ndcg) == (ndcg,)
    assert parse_metrics(["map", ndcg, "AP"]) == (ap, ndcg)
    assert parse_metrics(name for name in ("map", "ndcg@10")) == (ap, ndcg)
    with pytest.raises(ValueError, match="metrics: expected at least one measure, got none"):
        parse_metrics([])
    with pytest.raises(TypeError, match="metrics: expected a list of names such as"):
        parse_metrics(None)
    with pytest.raises(TypeError, match="metric: expected a name"):
        parse_metrics([1])
