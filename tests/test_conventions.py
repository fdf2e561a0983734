"""What each field of a convention does, in numbers small enough to do by hand. The real tools are in conformance/."""

from __future__ import annotations

import copy
import pickle
from math import log2

import numpy as np
import pytest

from fastrank import metrics
from fastrank.metrics import CONVENTIONS, Convention, conventions
from fastrank.metrics.conventions import resolve_convention

BUNDLES = ("fastrank", "letor", "trec_eval", "sklearn", "lightgbm", "xgboost", "catboost", "ranklib", "torchmetrics")
NAN = float("nan")


def one(measure, grades, scores=None, **options) -> float:
    """A measure of one query; without scores the documents stand in rank order."""
    scores = np.arange(len(grades), 0, -1) if scores is None else scores
    (value,) = getattr(metrics, measure)(grades, scores, **options)
    return float(value)


def test_every_bundle_is_there_and_in_the_table():
    assert tuple(CONVENTIONS) == BUNDLES
    for name, convention in CONVENTIONS.items():
        assert convention.name == name
        assert f"\n{name} " in conventions.__doc__
    assert CONVENTIONS["fastrank"] == Convention("fastrank")


def test_fields_of_the_table():
    """The columns of the module's table, read back."""
    lines = conventions.__doc__.splitlines()
    rules = [i for i, line in enumerate(lines) if line.startswith("====")]
    ends = [len(part) for part in lines[rules[0]].split("  ")]
    starts = np.concatenate(([0], np.cumsum(np.array(ends) + 2)))
    shorts = {"keep": "keep", "ndcg@k is 0": {"ndcg": "zero"}, "p@k shrinks": {"precision": "shrink"}}
    cuts = {"all": None, "": None, "@32": 32, "@10": 10}
    rows = lines[rules[1] + 1 : rules[2]]
    assert len(rows) == len(BUNDLES)
    for row in rows:
        name, gain, discount, ties, empty, short, ap_norm, scores, bare = (
            row[start:stop].strip() for start, stop in zip(starts, [*starts[1:-1], None], strict=False)
        )
        convention = CONVENTIONS[name]
        assert (convention.gain, convention.discount, convention.ap_norm) == (gain, discount, ap_norm)
        assert convention.short == shorts[short]
        assert convention.score_dtype == (None if scores == "as given" else scores)
        assert convention.default_k.get("ndcg") == cuts[bare]
        for kind in ("ndcg", "ap", "rr", "precision", "recall"):
            assert convention.rule("ties", kind) == rule_in(ties, kind)
            assert convention.rule("empty", kind) == int(rule_in(empty, kind))


def rule_in(cell: str, kind: str) -> str:
    """A rule from "mean; ap: threshold" or "0; ndcg, ap: 1"."""
    general, _, special = cell.partition("; ")
    kinds, _, rule = special.partition(": ")
    return rule if kind in kinds.split(", ") else general


# Gain, discount, stop


def test_gains():
    assert one("dcg", [3, 1], k=1) == 7
    assert one("dcg", [3, 1], k=1, gain="linear") == 3
    assert one("dcg", [3, 1], k=1, gain=[0, 1, 1, 5]) == 5
    assert one("dcg", [3, 1], k=1, gain=lambda grade: grade**2) == 9
    assert one("dcg", [0.5, 1], k=1) == pytest.approx(2**0.5 - 1)
    assert one("dcg", [0.5, 1], k=1, gain="linear") == 0.5
    assert one("dcg", [0.5, 1], k=1, gain=np.square) == 0.25
    assert one("dcg", [3, 1], k=1, convention="sklearn") == 3
    assert one("dcg", [3, 1], k=1, convention="sklearn", gain="exp2") == 7


def test_gain_function_sees_grades_that_there_are_and_no_others():
    seen = []

    def gain(grades):
        seen.extend(grades.tolist())
        return grades

    assert one("dcg", [4, 0.5, NAN, 0.5], gain=gain, k=1) == 4
    assert seen == [0.5, 4]


def test_gain_of_a_measure_wins_over_that_of_the_convention():
    found = metrics.evaluate([2, 0, 1], [1, 2, 3], ["ndcg", "NDCG:type=Base", "NDCG:type=Exp"], gain=[0, 1, 9])
    by_gain = [one("ndcg", [2, 0, 1], [1, 2, 3], gain=gain) for gain in ([0, 1, 9], "linear", "exp2")]
    assert found.values[:, 0].tolist() == by_gain
    assert len(set(by_gain)) == 3


def test_discounts():
    grades = [1, 1, 1, 1]
    assert one("dcg", grades) == pytest.approx(1 + 1 / log2(3) + 1 / 2 + 1 / log2(5))
    assert one("dcg", grades, discount="letor") == pytest.approx(1 + 1 + 1 / log2(3) + 1 / 2)
    assert one("dcg", grades, convention="letor") == one("dcg", grades, discount="letor")
    assert one("dcg", grades, discount=[1, 0.5, 0.25, 0]) == 1.75
    assert one("dcg", grades, discount=[1, 0.5, 0.25, 0, 0, 0]) == 1.75
    assert one("dcg", grades, k=2, discount=[1, 0.5]) == 1.5
    assert one("dcg", grades, discount=lambda rank: 1 / rank) == pytest.approx(1 + 1 / 2 + 1 / 3 + 1 / 4)
    assert one("dcg", [1], discount="letor") == 1
    assert one("dcg", [1, 1], discount="letor") == 2


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 31, 32, 33, 4096, 4097, 5000])
def test_discount_tables_are_long_enough(n):
    ranks = np.arange(1, n + 1)
    total = (1 / np.log2(1 + ranks)).sum()
    assert one("dcg", np.ones(n, dtype=int)) == pytest.approx(total)
    for k in (n, n + 1, 10**9):
        assert one("dcg", np.ones(n, dtype=int), k=k) == pytest.approx(total)
    letor = np.concatenate(([1], 1 / np.log2(ranks[1:]))).sum()
    assert one("dcg", np.ones(n, dtype=int), discount="letor") == pytest.approx(letor)


def test_chances_to_stop():
    assert one("err", [2, 1]) == pytest.approx(3 / 4 + 1 / 4 * 1 / 4 / 2)
    assert one("err", [2, 1], max_grade=3) == pytest.approx(3 / 8 + 5 / 8 * 1 / 8 / 2)
    assert one("err", [2, 1], convention="ranklib") == pytest.approx(3 / 16 + 13 / 16 * 1 / 16 / 2)
    assert one("err", [0.5, 1], stop="linear") == pytest.approx(0.5 + 0.5 * 1 / 2)
    assert one("err", [0.5, 1], convention="catboost") == pytest.approx(0.75)
    assert one("err", [2, 1], stop=[0, 0.5, 1]) == 1
    assert one("err", [2, 1], stop=lambda grade: grade / 4) == pytest.approx(0.5 + 0.5 * 0.25 / 2)
    assert one("err", [40, 39]) == pytest.approx(1, abs=1e-11)
    # the largest grade of the data, not of the query
    assert metrics.err([2, 1], [0, 0], group=[1, 1]).tolist() == [0.75, 0.25]


def test_err_and_wta_know_no_threshold():
    assert one("err", [1, 0], rel=2) == one("err", [1, 0]) == 0.5
    assert one("wta", [1, 0], rel=2) == 1
    assert one("ap", [1, 0], rel=2) == 0


# Ties


def test_ties_by_rule():
    grades, scores = [0, 2, 1], [5, 5, 5]
    ideal = 3 + 1 / log2(3)
    orders = {"index": [0, 2, 1], "worst": [0, 1, 2], "best": [2, 1, 0]}
    for rule, order in orders.items():
        dcg = sum((2**grade - 1) / log2(2 + place) for place, grade in enumerate(order))
        assert one("ndcg", grades, scores, ties=rule) == pytest.approx(dcg / ideal)
    mean_discount = (1 + 1 / log2(3) + 1 / 2) / 3
    assert one("ndcg", grades, scores, ties="mean") == pytest.approx(4 * mean_discount / ideal)
    assert one("ap", [0, 1], [5, 5], ties="threshold") == 0.5
    assert one("ap", [1, 0, 1, 0], [5, 5, 4, 4], ties="threshold") == pytest.approx((1 / 2 + 2 / 4) / 2)


@pytest.mark.parametrize("name", ["fastrank", "sklearn", "catboost"])
@pytest.mark.parametrize("measure", ["ndcg", "ap"])
def test_constant_scorer_does_not_win(name, measure):
    grades = [2, 1, 0, 0, 0, 0]
    constant = one(measure, grades, [1] * 6, convention=name)
    assert constant < 0.8
    assert constant == one(measure, grades[::-1], [1] * 6, convention=name)


def test_default_does_not_depend_on_the_order_of_rows(rng):
    grades, scores = rng.integers(0, 4, 200), rng.integers(0, 5, 200)
    order = rng.permutation(200)
    for measure in ("ndcg", "ap", "rr", "precision", "recall", "success", "wta", "bpref", "r_precision", "kendall_tau"):
        assert one(measure, grades, scores) == pytest.approx(one(measure, grades[order], scores[order]), abs=1e-12)


def test_ties_by_document_id():
    grades, scores = [1, 0, 0, 2], [5, 5, 7, 5]
    assert one("rr", grades, scores, ties="docid", docid=["b", "c", "x", "a"]) == pytest.approx(1 / 3)
    assert one("rr", grades, scores, ties="docid", docid=["b", "a", "x", "c"]) == pytest.approx(1 / 2)
    assert one("rr", grades, scores, convention="trec_eval", docid=["b", "c", "x", "a"]) == pytest.approx(1 / 3)
    # strings by their characters, numbers by their values
    assert one("rr", [1, 0], [5, 5], ties="docid", docid=["10", "9"]) == 0.5
    assert one("rr", [1, 0], [5, 5], ties="docid", docid=[10, 9]) == 1
    assert one("rr", [1, 0], [0.0, -0.0], ties="docid", docid=["a", "b"]) == 0.5


def test_a_rule_for_ties_per_measure():
    found = metrics.evaluate([0, 1], [5, 5], ["ndcg", "ap", "rr"], ties={"ap": "worst", "rr": "best"})
    assert found.values[:, 0].tolist() == [pytest.approx((1 + 1 / log2(3)) / 2), 0.5, 1]


def test_score_precision_makes_ties():
    grades, scores = [0, 1], [1, 1 + 1e-9]
    assert one("rr", grades, scores, ties="index") == 1
    assert one("rr", grades, scores, ties="index", score_dtype="float32") == 0.5
    assert one("ndcg", grades, scores, convention="xgboost") < 1
    assert one("ndcg", grades, scores, convention="xgboost", score_dtype="float64") == 1


# Empty queries, short lists, cut-offs


@pytest.mark.parametrize("measure", ["ndcg", "ap", "rr", "precision", "recall", "success", "wta", "err", "bpref"])
@pytest.mark.parametrize(("rule", "value"), [(0, 0), (1, 1), ("skip", NAN), ("nan", NAN)])
def test_empty_queries(measure, rule, value):
    for grades in ([0, 0], [NAN, NAN], []):
        np.testing.assert_equal(one(measure, grades, empty=rule), value)


@pytest.mark.parametrize(("rule", "value"), [(0, 0), (1, 1), ("nan", NAN)])
def test_tau_is_empty_where_it_is_not_defined(rule, value):
    for grades, scores in (([1, 1], [1, 2]), ([1, 2], [1, 1]), ([1], [1]), ([], []), ([1, NAN], [1, 2])):
        np.testing.assert_equal(one("kendall_tau", grades, scores, empty=rule), value)


def test_dcg_is_never_empty():
    assert one("dcg", [0, 0], empty="error") == 0


def test_empty_queries_of_the_tools():
    assert one("ndcg", [0, 0], convention="lightgbm") == one("ap", [0, 0], convention="lightgbm") == 1
    assert one("ndcg", [0, 0], convention="xgboost") == one("recall", [0, 0], convention="catboost") == 1
    assert one("precision", [0, 0], k=1, convention="xgboost") == one("ap", [0, 0], convention="catboost") == 0


def test_empty_query_as_error():
    with pytest.raises(
        ValueError, match=r"ap: expected no empty query, got 2 queries, the first of them 'b'; drop them"
    ):
        metrics.ap([1, 0, 0, 0], [4, 3, 2, 1], qid=["a", "b", "c", "c"], empty="error")
    assert metrics.ap([1, 1], [2, 1], qid=["a", "b"], empty="error").tolist() == [1, 1]


def test_short_lists():
    assert one("ndcg", [1, 0], k=2, convention="letor") == 1
    assert one("ndcg", [1, 0], k=3, convention="letor") == 0
    assert one("ndcg", [1, 0], convention="letor") == 1
    assert one("precision", [1, 1], k=4, convention="letor") == 0.5
    assert one("precision", [1, 1], k=4, short="zero") == 0
    assert one("precision", [1, 1], k=4, convention="xgboost") == 1
    assert one("precision", [1, 0, 1, 1], k=2, short="shrink") == 0.5
    assert one("recall", [1, 1], k=4, short="shrink") == 1


def test_norm_of_average_precision():
    grades = [1, 0, 1, 1]
    assert one("ap", grades, k=2) == pytest.approx(1 / 3)
    assert one("ap", grades, k=2, ap_norm="min") == pytest.approx(1 / 2)
    assert one("ap", grades, k=2, ap_norm="found", ties="index") == 1
    assert one("ap", [0, 0, 1], k=2, ap_norm="found", ties="index") == 0
    assert one("ap", [0, 0], k=2, ap_norm="found", ties="index", empty=1) == 1
    for norm in ("R", "min", "found"):
        assert one("ap", grades, ap_norm=norm) == pytest.approx((1 + 2 / 3 + 3 / 4) / 3)
    several = metrics.evaluate(grades, [4, 3, 2, 1], ["ap", "p@2", "ap@2", "ap@3"], ap_norm="found", ties="worst")
    assert several.values[:, 0].tolist() == pytest.approx([(1 + 2 / 3 + 3 / 4) / 3, 1 / 2, 1, (1 + 2 / 3) / 2])


def test_cut_offs_of_bare_names():
    grades = [0] * 40 + [1]
    assert one("ndcg", grades, convention="xgboost") == one("ap", grades, convention="xgboost") == 0
    assert one("ndcg", grades, k=41, convention="xgboost") > 0
    assert one("ndcg", grades, convention="xgboost", default_k={}) > 0
    assert one("ndcg", grades, default_k={"ndcg": 40}) == 0
    assert one("precision", [1] * 20, convention="ranklib") == 1
    assert metrics.evaluate(grades, range(41, 0, -1), ["ndcg"], convention="xgboost").metrics[0].name == "ndcg"


# Relevance and judgement


def test_relevance_thresholds():
    grades = [0.3, 1, 0, 2]
    assert one("rr", grades) == 1
    assert one("rr", grades, rel=0.3) == 1
    assert one("rr", grades, rel=0.31) == 0.5
    assert one("rr", grades, rel=2) == 0.25
    assert one("rr", grades, rel=5) == 0
    assert one("rr", grades, convention="catboost") == 0.5
    assert one("precision", [0, 0], rel=0) == 1
    assert one("ndcg", grades, rel=2) == one("ndcg", grades)
    found = metrics.evaluate(grades, [4, 3, 2, 1], ["rr", "RR(rel=1)", "RR(rel=2)", "ndcg"], rel=0.1)
    assert found.values[:3, 0].tolist() == [1, 0.5, 0.25]


def test_unjudged_documents():
    grades = [NAN, 1, 0, NAN, 2]
    assert one("rr", grades) == 0.5
    assert one("rr", grades, judged_only=True) == 1
    assert one("precision", grades, k=2) == one("precision", grades, k=2, judged_only=True) == 0.5
    assert one("ndcg", grades, judged_only=True) == one("ndcg", [1, 0, 2]) > one("ndcg", grades)
    assert one("bpref", grades) == one("bpref", [1, 0, 2]) == one("bpref", grades, judged_only=True)
    assert one("kendall_tau", grades) == one("kendall_tau", [1, 0, 2])
    values = metrics.rr([NAN, NAN, 1, NAN, 1], [5, 4, 3, 2, 1], group=[1, 2, 0, 2], judged_only=True)
    assert values.tolist() == [0, 1, 0, 1]


# The object


def test_overrides_have_a_name():
    assert resolve_convention(None) is resolve_convention("fastrank") is CONVENTIONS["fastrank"]
    mine = Convention("mine")
    assert resolve_convention(mine) is mine
    assert resolve_convention("letor", {"ties": None, "gain": None}) is CONVENTIONS["letor"]
    changed = resolve_convention("letor", {"ties": "worst", "short": {}, "gain": np.sqrt})
    assert changed.name == "letor, ties='worst', short={}, gain=sqrt"
    assert changed.rule("short", "ndcg") == "keep"
    assert changed.discount == "letor"
    assert resolve_convention("letor", {"ties": "index"}).name == "letor"
    assert resolve_convention("letor", {"gain": range(500)}).name == "letor, gain=a table of 500"


@pytest.mark.parametrize("name", BUNDLES)
def test_conventions_are_values(name):
    convention = CONVENTIONS[name]
    for again in (pickle.loads(pickle.dumps(convention)), copy.deepcopy(convention)):
        assert again == convention
        assert len({again, convention}) == 1
    with pytest.raises(AttributeError):
        convention.ties = "best"  # type: ignore[misc]
    with pytest.raises(TypeError):
        CONVENTIONS["mine"] = convention  # type: ignore[index]
    for rules in (convention.ties, convention.empty, convention.short, convention.default_k):
        if not isinstance(rules, (str, int)):
            with pytest.raises(TypeError):
                rules["ndcg"] = "best"  # type: ignore[index]


def test_tables_are_copied():
    gain = np.array([0.0, 1.0, 5.0])
    convention = Convention(gain=gain)
    gain[2] = 9
    assert convention.gain == (0, 1, 5)
    assert convention == Convention(gain=[0, 1, 5])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gain": "cubic"}, "gain: expected one of 'exp2', 'linear', got 'cubic'"),
        ({"gain": [0, -1]}, "gain: expected finite values of 0 and above, got -1 at position 1"),
        ({"gain": [0, np.inf]}, "gain: expected finite values of 0 and above, got inf"),
        ({"gain": lambda grades: -grades}, "gain: expected finite values of 0 and above, got -1"),
        ({"gain": lambda grades: 1.0}, r"gain: expected a function that returns a value for each of 2 grades"),
        ({"gain": [1]}, r"grades: expected grades below 1, as the table of gain has 1 entries, got 1 in row 1"),
        ({"discount": "log10"}, "discount: expected one of 'log2', 'letor'"),
        ({"discount": [1.0]}, "discount: expected a value for each of 2 ranks, got 1; add zeros"),
        ({"discount": [1, 2]}, "discount: expected values that never rise.* got 2 after 1 at rank 1"),
        ({"discount": lambda ranks: ranks}, "discount: expected values that never rise"),
        ({"discount": lambda ranks: ranks[:1]}, "discount: expected a function that returns a value for each of 2"),
        ({"ties": "random"}, "ties: expected one of 'index', 'worst', 'best', 'mean', 'docid', 'threshold'"),
        ({"ties": {"map": "mean"}}, "ties: expected kinds of measures .* got 'map'; did you mean 'ap'"),
        ({"ties": {"ap": "random"}}, r"ties\['ap'\]: expected one of 'index'"),
        ({"empty": 0.5}, "empty: expected one of 0, 1, 'skip', 'nan', 'error', got 0.5"),
        ({"empty": "zero"}, "empty: expected one of 0, 1, 'skip', 'nan', 'error', got 'zero'"),
        ({"short": "pad"}, "short: expected one of 'keep', 'zero', 'shrink'"),
        ({"ap_norm": "k"}, "ap_norm: expected one of 'R', 'min', 'found'"),
        ({"rel": -1}, "rel: expected a finite number of at least 0"),
        ({"score_dtype": "float16"}, "score_dtype: expected 'float32', 'float64' or None"),
        ({"score_dtype": "single-ish"}, "score_dtype: expected 'float32', 'float64' or None"),
        ({"default_k": {"ndcg": 0}}, r"default_k\['ndcg'\]: expected an integer of at least 1"),
        ({"default_k": {"tau": 1}}, "default_k: expected measures that have a cut-off, got 'tau'"),
        ({"convention": "lightgmb"}, "convention: expected one of 'fastrank', .*; did you mean 'lightgbm'"),
        (
            {"gain": [0, 1e308]},
            r"gain: expected gains that, times a discount, are at most 2\^1000, .* got 1e\+308 times 1",
        ),
        (
            {"discount": [1e302, 1e302], "gain": [0, 1]},
            r"gain: expected gains that, times a discount, .* got 1 times 1e",
        ),
        ({"convention": ["letor"]}, r"convention: expected one of 'fastrank', .* or a Convention, got \['letor'\]"),
        ({"convention": "galago"}, "convention: expected one of 'fastrank', .* or a Convention, got 'galago'"),
    ],
)
def test_wrong_rules(options, message):
    with pytest.raises(ValueError, match=message):
        metrics.ndcg([0, 1], [1, 2], **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gain": 3}, "gain: expected one of 'exp2', 'linear', a list of numbers or a function, got 3"),
        ({"gain": []}, "gain: expected one of"),
        ({"gain": lambda grades: ["much", "more"]}, r"gain: expected numbers, got \['much', 'more'\]"),
        ({"discount": [[1]]}, "discount: expected one of"),
        ({"ties": True}, "ties: expected one of"),
        ({"ties": ["mean"]}, "ties: expected one of .* or a mapping from kinds of measures"),
        ({"empty": True}, "empty: expected one of"),
        ({"judged_only": 1}, "judged_only: expected True or False"),
        ({"rel": "2"}, "rel: expected a finite number"),
        ({"default_k": 10}, r"default_k: expected a mapping such as \{'ndcg': 10\}, got 10"),
        ({"tie": "mean"}, "tie: expected a field of the convention .*; did you mean 'ties'"),
        ({"max_grade": "4"}, "max_grade: expected a finite number"),
    ],
)
def test_wrong_kinds_of_rules(options, message):
    with pytest.raises(TypeError, match=message):
        metrics.ndcg([0, 1], [1, 2], **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_grade": 1}, r"grades: expected grades up to max_grade=1, got 2 in row 1 \(query 0\)"),
        (
            {"stop": "linear"},
            r"grades: expected grades of 0 to 1, which stop='linear' takes for chances, got 2 in row 1",
        ),
        ({"stop": [0, 0.5]}, "grades: expected grades below 2, as the table of stop has 2 entries, got 2 in row 1"),
        ({"stop": [0, 1, 2]}, "stop: expected chances of at most 1, got 2"),
        ({"stop": lambda grades: grades}, "stop: expected chances of at most 1, got 2"),
    ],
)
def test_wrong_chances(options, message):
    with pytest.raises(ValueError, match=message):
        metrics.err([0, 2], [1, 2], **options)


def test_found_needs_an_order():
    with pytest.raises(ValueError, match="ties: expected 'index', .* for ap@k with ap_norm='found', got 'mean'"):
        metrics.ap([0, 1], [1, 2], k=1, ap_norm="found")


def test_ties_by_document_id_need_ids():
    with pytest.raises(ValueError, match="docid: expected document ids, by which ties='docid' orders equal scores"):
        metrics.ndcg([0, 1], [1, 2], convention="trec_eval")
    with pytest.raises(ValueError, match=r"docid: expected 2 document ids \(one per label\), got 3"):
        metrics.ndcg([0, 1], [1, 2], ties="docid", docid=["a", "b", "c"])
    with pytest.raises(TypeError, match="docid: expected a document id per label, got 'ab'"):
        metrics.ndcg([0, 1], [1, 2], ties="docid", docid="ab")
    with pytest.raises(TypeError, match="docid: expected ids that can be ordered"):
        metrics.ndcg([0, 1], [1, 1], ties="docid", docid=np.array(["a", 1], dtype=object))
    with pytest.raises(ValueError, match=r"scores: expected finite float64 values, got nan in row 1 \(query 0\)"):
        metrics.ndcg([0, 1], [1, NAN], ties="docid", docid=["a", "b"])
