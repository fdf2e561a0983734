from __future__ import annotations

import importlib
import json
import math
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from fastrank.metrics import _statistics
from fastrank.metrics.comparison import TESTS, Comparison, compare
from fastrank.metrics.conventions import Convention
from fastrank.metrics.evaluation import Evaluation, evaluate
from fastrank.metrics.names import parse_metric


def evaluation(values, qid=None, metrics=("ndcg@10",), convention=None) -> Evaluation:
    """An evaluation with these values, a row per measure."""
    table = np.atleast_2d(np.asarray(values, dtype=float))
    return Evaluation(
        metrics=tuple(map(parse_metric, metrics)),
        qid=np.arange(table.shape[1]) if qid is None else np.asarray(qid),
        values=table,
        convention=convention or Convention("fastrank"),
    )


def three_systems(n: int = 60) -> dict[str, Evaluation]:
    rng = np.random.default_rng(1)
    base = rng.random((2, n))
    return {
        "base": evaluation(base, metrics=("ndcg@10", "ap")),
        "better": evaluation(base + 0.05 + 0.1 * rng.normal(size=(2, n)), metrics=("ndcg@10", "ap")),
        "same": evaluation(base, metrics=("ndcg@10", "ap")),
    }


def test_one_comparison_by_hand():
    base, mine = [0.5, 0.4, 0.3, 0.2], [0.6, 0.4, 0.6, 0.1]
    found = compare({"base": evaluation(base), "mine": evaluation(mine)})["mine", "ndcg@10"]
    gap = np.array([0.1, 0.0, 0.3, -0.1])
    assert (found.system, found.metric, found.n_queries, found.n_left_out) == ("mine", "ndcg@10", 4, 0)
    assert found.mean == pytest.approx(0.425)
    assert found.baseline_mean == pytest.approx(0.35)
    assert found.difference == pytest.approx(0.075)
    assert found.relative_difference == pytest.approx(0.075 / 0.35)
    assert (found.wins, found.ties, found.losses) == (2, 1, 1)
    assert found.cohens_dz == pytest.approx(gap.mean() / gap.std(ddof=1))
    assert found.hedges_g == pytest.approx(found.cohens_dz * math.sqrt(math.pi / 6))
    # Of the ranks 1.5, 1.5 (0.1 and -0.1, which differ in floating point) and 3, 4.5 are of wins: (4.5 - 1.5) / 6.
    assert found.rank_biserial == pytest.approx(0.5)
    assert found.p["t"] == pytest.approx(stats.ttest_rel(mine, base).pvalue)
    # Signs of 1.5, 1.5, 3: sums of positive ranks 0, 1.5, 1.5, 3, 3, 4.5, 4.5, 6; three of eight are 4.5 or more.
    assert found.p["wilcoxon"] == pytest.approx(6 / 8)
    assert found.p["sign"] == 1.0  # 2 of 3
    # Sums of ±1 ±3 ±1: 5, 3, -1, -3, 3, 1, -3, -5; six of eight are 3 or more in size, the observed one being 3.
    assert found.p["randomisation"] == pytest.approx(6 / 8)


def test_results_are_those_of_the_statistics():
    systems = three_systems()
    comparison = compare(systems, "base", random_state=3, n_resamples=2000)
    for row, metric in enumerate(("ndcg@10", "ap")):
        gap = systems["better"].values[row] - systems["base"].values[row]
        found = comparison["better", metric]
        assert found.difference == pytest.approx(gap.mean())
        assert (found.low, found.high) == pytest.approx(_statistics.bootstrap_interval(gap, 0.95, 2000, 3))
        assert found.p["t"] == pytest.approx(stats.ttest_1samp(gap, 0).pvalue)
        assert found.p["wilcoxon"] == pytest.approx(stats.wilcoxon(gap, correction=False, method="approx").pvalue)
        assert found.p["sign"] == stats.binomtest(int((gap > 0).sum()), 60).pvalue
        steps = _statistics.difference_steps(systems["better"].values[row], systems["base"].values[row])
        assert found.p["randomisation"] == _statistics.randomisation_test(steps, 2000, 3)
    assert len(comparison) == 4
    assert [(one.metric, one.system) for one in comparison] == [
        ("ndcg@10", "better"),
        ("ndcg@10", "same"),
        ("ap", "better"),
        ("ap", "same"),
    ]


def test_evaluations_of_shuffled_rows():
    rng = np.random.default_rng(4)
    qid = np.repeat([f"q{number}" for number in range(30)], 8)
    y, noise = rng.integers(0, 3, 240), rng.normal(size=240)
    y[:8] = 0  # an empty query, which is skipped
    mixed = rng.permutation(240)
    base = evaluate(y, noise, ["ndcg@5", "map"], qid=qid, empty="skip")
    mine = evaluate(y[mixed], (y + noise)[mixed], ["map", "ndcg_cut_5"], qid=qid[mixed], empty="skip")
    assert mine.qid.tolist() != base.qid.tolist()
    comparison = compare({"base": base, "mine": mine}, n_resamples=1000)
    straight = evaluate(y, y + noise, ["ndcg@5", "map"], qid=qid, empty="skip")
    for name in ("ndcg@5", "ap"):
        found = comparison["mine", name]
        assert found.baseline_mean == pytest.approx(base.mean[name])
        assert found.mean == pytest.approx(straight.mean[name])
        np.testing.assert_array_equal(comparison.differences("mine", name).difference, straight[name] - base[name])
        assert (found.n_queries, found.n_left_out) == (29, 1)
        assert found.p_corrected["randomisation"] < 0.01
    assert comparison.differences("mine", "ap").qid.tolist() == base.qid.tolist()


def test_t_interval_on_demand():
    systems = three_systems()
    found = compare(systems, interval="t", confidence=0.9, n_resamples=10)["better", "ap"]
    gap = systems["better"].values[1] - systems["base"].values[1]
    assert (found.low, found.high) == pytest.approx(_statistics.t_interval(gap, 0.9))


@pytest.mark.parametrize(
    ("correction", "correct"),
    [("holm", _statistics.holm), ("bh", _statistics.benjamini_hochberg), (None, np.asarray)],
)
def test_correction_is_over_all_systems_and_measures(correction, correct):
    comparison = compare(three_systems(), correction=correction, n_resamples=500)
    for test in TESTS:
        raw = [one.p[test] for one in comparison]
        assert [one.p_corrected[test] for one in comparison] == correct(raw).tolist()
    assert comparison.correction == correction


def test_baseline_may_be_any_system_and_is_the_first_without_a_name():
    systems = three_systems()
    assert compare(systems, n_resamples=10).baseline == "base"
    turned = compare(systems, baseline="better", n_resamples=10)
    assert turned.systems == ("base", "same")
    forward = compare(systems, n_resamples=10)["better", "ap"]
    backward = turned["base", "ap"]
    assert backward.difference == -forward.difference
    assert (backward.wins, backward.losses) == (forward.losses, forward.wins)
    assert backward.p == forward.p
    assert (backward.low, backward.high) == pytest.approx((-forward.high, -forward.low))


def test_result_does_not_depend_on_the_company():
    systems = three_systems()
    alone = compare({name: systems[name] for name in ("base", "better")}, metrics="ap", n_resamples=300)["better", "ap"]
    among = compare(systems, n_resamples=300)["better", "ap"]
    assert alone.p == among.p
    assert (alone.low, alone.high) == (among.low, among.high)
    assert alone.p_corrected["t"] < among.p_corrected["t"]


def test_generator_as_random_state():
    systems = three_systems()
    rng = np.random.default_rng(0)
    first, second = (compare(systems, random_state=rng, n_resamples=200)["better", "ap"].low for _ in range(2))
    assert first != second
    assert first == compare(systems, random_state=np.random.default_rng(0), n_resamples=200)["better", "ap"].low


@given(st.permutations(range(7)), st.booleans())
@settings(max_examples=20)
def test_queries_are_matched_by_qid(order, as_text):
    qid = np.array([f"q{number}" for number in range(7)]) if as_text else np.arange(7) * 10
    base, mine = np.random.default_rng(0).random((2, 7))
    straight = compare({"a": evaluation(base, qid), "b": evaluation(mine, qid)}, n_resamples=200)
    mixed = compare({"a": evaluation(base, qid), "b": evaluation(mine[order], qid[order])}, n_resamples=200)
    assert mixed["b", "ndcg@10"] == straight["b", "ndcg@10"]
    found = mixed.differences("b", "ndcg@10")
    assert found.qid.tolist() == qid.tolist()
    np.testing.assert_array_equal(found.difference, mine - base)
    np.testing.assert_array_equal(found.baseline, base)
    np.testing.assert_array_equal(found.system, mine)


def test_rows_of_measures_are_matched_by_measure():
    base = evaluation([[0.1, 0.2], [0.3, 0.5]], metrics=("ap", "rr"))
    mine = evaluation([[0.4, 0.5], [0.2, 0.2]], metrics=("rr", "ap"))
    comparison = compare({"base": base, "mine": mine}, n_resamples=10)
    assert comparison["mine", "ap"].mean == pytest.approx(0.2)
    assert comparison["mine", "rr"].mean == pytest.approx(0.45)
    assert comparison["mine", "MAP"] is comparison["mine", "ap"]
    assert comparison["mine", parse_metric("mrr")] is comparison["mine", "rr"]
    only = compare({"base": base, "mine": mine}, metrics=["recip_rank", "rr"], n_resamples=10)
    assert [metric.name for metric in only.metrics] == ["rr"]


def test_nan_in_either_system_leaves_the_query_out():
    base = [0.1, np.nan, 0.3, 0.5, 0.2]
    mine = [0.2, 0.4, np.nan, 0.9, 0.1]
    comparison = compare({"base": evaluation(base), "mine": evaluation(mine)})
    found = comparison["mine", "ndcg@10"]
    kept = compare({"base": evaluation([0.1, 0.5, 0.2]), "mine": evaluation([0.2, 0.9, 0.1])})["mine", "ndcg@10"]
    assert (found.n_queries, found.n_left_out) == (3, 2)
    assert (found.mean, found.baseline_mean, found.p, found.low) == (kept.mean, kept.baseline_mean, kept.p, kept.low)
    assert found.wins + found.ties + found.losses == 3
    assert np.isnan(comparison.differences("mine", "ndcg@10").difference).tolist() == [False, True, True, False, False]
    assert "Left out, because the measure has no value there: ndcg@10 2 queries." in str(comparison)
    assert "Left out" not in str(compare({"base": evaluation([0.1]), "mine": evaluation([0.2])}))


def test_equal_systems():
    found = compare(three_systems())["same", "ap"]
    assert found.p == dict.fromkeys(TESTS, 1.0)
    assert found.p_corrected == dict.fromkeys(TESTS, 1.0)
    assert (found.difference, found.low, found.high) == (0.0, 0.0, 0.0)
    assert (found.cohens_dz, found.hedges_g, found.rank_biserial) == (0.0, 0.0, 0.0)
    assert (found.wins, found.ties, found.losses) == (0, 60, 0)


def test_systems_that_differ_by_rounding_are_equal():
    base = np.random.default_rng(0).random(40)
    noisy = np.nextafter(base, 1)
    found = compare({"base": evaluation(base), "noisy": evaluation(noisy)})["noisy", "ndcg@10"]
    assert found.p == dict.fromkeys(TESTS, 1.0)
    assert (found.difference, found.low, found.high, found.ties) == (0.0, 0.0, 0.0, 40)


@pytest.mark.parametrize("n", [0, 1])
def test_too_few_queries_to_tell(n):
    comparison = compare({"a": evaluation(np.full((1, n), 0.2)), "b": evaluation(np.full((1, n), 0.3))})
    found = comparison["b", "ndcg@10"]
    assert all(math.isnan(p) for p in (*found.p.values(), *found.p_corrected.values()))
    assert all(map(math.isnan, (found.low, found.high, found.cohens_dz, found.hedges_g)))
    assert found.n_queries == n
    assert math.isnan(found.difference) == (n == 0)
    assert "nan" in str(comparison)


def test_constant_difference():
    base = np.random.default_rng(0).random(30)
    found = compare({"base": evaluation(base), "mine": evaluation(base + 0.1)})["mine", "ndcg@10"]
    assert found.p["t"] == 0.0
    assert found.p["sign"] == found.p["wilcoxon"] == pytest.approx(2 * 0.5**30)
    assert found.p["randomisation"] == 1 / 10_001
    assert (found.low, found.high) == pytest.approx((0.1, 0.1))
    assert found.cohens_dz == found.hedges_g == math.inf
    assert found.rank_biserial == 1.0
    two = compare({"base": evaluation([0.5, 0.25]), "mine": evaluation([0.25, 0.0])})["mine", "ndcg@10"]
    assert two.cohens_dz == two.hedges_g == -math.inf


def test_relative_difference_of_bases_at_and_below_zero():
    def relative(base, mine):
        systems = {"base": evaluation(base, metrics=["tau"]), "mine": evaluation(mine, metrics=["tau"])}
        return compare(systems, n_resamples=10)["mine", "tau"].relative_difference

    assert math.isnan(relative([0.0, 0.0], [0.1, 0.3]))
    assert relative([-0.2, -0.6], [-0.1, -0.5]) == pytest.approx(0.25)  # less negative is a gain


def test_tie_tolerance():
    base = np.array([0.5, 0.5, 0.5, 0.5, 0.5])
    mine = base + np.array([0.01, -0.02, 0.05, 0.1, -0.005])
    systems = {"base": evaluation(base), "mine": evaluation(mine)}
    strict, wide = (compare(systems, tie_tolerance=tol)["mine", "ndcg@10"] for tol in (0.0, 0.03))
    assert (strict.wins, strict.ties, strict.losses) == (3, 0, 2)
    assert (wide.wins, wide.ties, wide.losses) == (2, 3, 0)
    assert wide.p["sign"] == 0.5
    assert wide.p["wilcoxon"] == 0.5
    assert wide.rank_biserial == 1.0
    assert strict.rank_biserial < 1.0
    edge = compare(systems, tie_tolerance=0.05)["mine", "ndcg@10"]  # 0.5 + 0.05 - 0.5 is 0.050000000000000044
    assert (edge.wins, edge.ties, edge.losses) == (1, 4, 0)
    assert wide.p["t"] == strict.p["t"]
    assert wide.p["randomisation"] == strict.p["randomisation"]


# Errors


def test_different_queries_are_named():
    a = evaluation([0.1, 0.2, 0.3], ["x", "y", "z"])
    with pytest.raises(ValueError, match=r"got 'y' and 1 query more in 'a' but not in 'b'; evaluate both"):
        compare({"a": a, "b": evaluation([0.1, 0.2], ["x", "w"])})
    with pytest.raises(ValueError, match=r"got 'w' in 'b' but not in 'a'; evaluate both"):
        compare({"a": a, "b": evaluation([0.1, 0.2, 0.3, 0.4], ["w", "x", "y", "z"])})
    with pytest.raises(ValueError, match=r"got 1 and 1 query more in 'a' but not in 'b'"):
        compare({"a": evaluation([0.1, 0.2], [1, 2]), "b": evaluation([0.1, 0.2], ["1", "2"])})


def test_different_measures_are_named():
    a = evaluation([[0.1, 0.2], [0.3, 0.4]], metrics=("ap", "rr"))
    b = evaluation([0.1, 0.2], metrics=("ap",))
    for systems in ({"a": a, "b": b}, {"b": b, "a": a}):
        with pytest.raises(ValueError, match="metrics: expected 'rr' in every evaluation, got only ap in 'b'"):
            compare(systems)
        assert len(compare(systems, metrics="ap", n_resamples=10)) == 1
    with pytest.raises(ValueError, match="metrics: expected 'ndcg@5' in every evaluation, got only ap, rr in 'a'"):
        compare({"a": a, "b": b}, metrics=["ndcg@5"])
    with pytest.raises(ValueError, match="metrics: expected at least one measure"):
        compare({"a": a, "b": b}, metrics=[])


def test_different_conventions_are_named():
    a = evaluation([0.1, 0.2], convention=Convention("one", ties="mean"))
    b = evaluation([0.1, 0.2], convention=Convention("two", ties="index"))
    with pytest.raises(ValueError, match=r"got ties='mean' in 'a' and ties='index' in 'b'; evaluate both the same way"):
        compare({"a": a, "b": b})
    by_kind, same = (Convention(ties={"ap": "worst"}, gain=[0, 1, 3], default_k={"ap": 5}) for _ in range(2))
    assert len(compare({"a": evaluation([0.1], convention=by_kind), "b": evaluation([0.2], convention=same)})) == 1
    with pytest.raises(ValueError, match=r"got gain=\(0.0, 1.0, 3.0\) in 'a' and gain='exp2' in 'b'"):
        compare({"a": evaluation([0.1], convention=by_kind), "b": evaluation([0.1])})
    renamed = evaluation([0.1, 0.2], convention=Convention("three", ties="mean"))
    assert len(compare({"a": a, "b": renamed}, n_resamples=10)) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"baseline": "bm25"}, "baseline: expected one of 'base', 'better', 'same', got 'bm25'"),
        ({"correction": "bonferroni"}, "correction: expected one of 'holm', 'bh', got 'bonferroni'"),
        ({"test": "anova"}, "test: expected one of 't', 'wilcoxon', 'sign', 'randomisation', got 'anova'"),
        ({"interval": "exact"}, "interval: expected one of 'bootstrap', 't', got 'exact'"),
        ({"confidence": 1.5}, "confidence: expected a number between 0 and 1, got 1.5"),
        ({"tie_tolerance": -1}, "tie_tolerance: expected a finite number of at least 0, got -1"),
        ({"n_resamples": 0}, "n_resamples: expected an integer of at least 1, got 0"),
        ({"metrics": "ndgc@10"}, "ndcg"),
    ],
)
def test_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        compare(three_systems(), **arguments)


def test_what_is_compared():
    one = evaluation([0.1, 0.2])
    with pytest.raises(ValueError, match="evaluations: expected two systems or more, got 1"):
        compare({"a": one})
    with pytest.raises(TypeError, match=r"evaluations: expected a mapping of names to evaluations.*, got list"):
        compare([one, one])
    with pytest.raises(TypeError, match="expected names of systems as strings, got 3"):
        compare({3: one, "b": one})
    with pytest.raises(TypeError, match=r"expected the result of evaluate\(\) for 'b', got list"):
        compare({"a": one, "b": [0.1, 0.2]})


def test_unknown_names_in_a_comparison():
    comparison = compare(three_systems(), n_resamples=10)
    with pytest.raises(ValueError, match="system: expected one of 'better', 'same', got 'base'"):
        comparison["base", "ap"]
    with pytest.raises(ValueError, match=r"metric: expected one of ndcg@10, ap, got 'rr'"):
        comparison.differences("better", "rr")
    with pytest.raises(TypeError, match="expected a system and a measure, got 'better'"):
        comparison["better"]


# Tables


# Mean 0.02, standard deviation 0.01 sqrt(20 / 19): the t interval is 0.02 ± 2.0930 * 0.01 / sqrt(19).
GAINS = np.tile([0.01, 0.03], 10)


@pytest.fixture
def shown() -> Comparison:
    base = np.linspace(0.2, 0.6, 20)
    return compare(
        {
            "bm25": evaluation([base, base / 2], metrics=("ndcg@10", "ap")),
            "my_run": evaluation([base + GAINS, base / 2], metrics=("ndcg@10", "ap")),
        },
        interval="t",
    )


def test_text(shown):
    assert str(shown) == "\n".join(
        [
            "Compared with bm25 over 20 queries; randomisation test, Holm correction over 2 comparisons; "
            "* p < 0.05, ** p < 0.01, *** p < 0.001.",
            "",
            "metric   system    mean  difference            95 % interval  relative  win/tie/loss       p",
            "ndcg@10  bm25    0.4000",
            "         my_run  0.4200     +0.0200  ***  [+0.0152, +0.0248]    +5.0 %        20/0/0  0.0002",
            "ap       bm25    0.2000",
            "         my_run  0.2000     +0.0000       [+0.0000, +0.0000]    +0.0 %        0/20/0  1.0000",
        ]
    )
    assert repr(shown) == "Comparison(baseline='bm25', systems=['my_run'], metrics=['ndcg@10', 'ap'], n_queries=20)"


def test_text_of_tiny_p(shown):
    base = np.linspace(0.2, 0.6, 20)
    systems = {"a": evaluation(base), "b": evaluation(base + GAINS)}
    assert str(compare(systems, test="t", correction=None)).endswith(" < 0.0001")
    assert "paired t-test, not corrected;" in str(compare(systems, test="t", correction=None))


@pytest.mark.parametrize(("p", "mark"), [(0.0009, "***"), (0.001, "**"), (0.01, "*"), (0.05, ""), (math.nan, "")])
def test_marks(shown, p, mark):
    shown["my_run", "ap"].p_corrected["randomisation"] = p
    assert shown.to_latex().splitlines()[-3] == rf"my\_run & 0.4200*** & 0.2000{mark} \\"


def test_markdown_and_latex(shown):
    assert shown.to_markdown(digits=2).splitlines() == [
        "| system  |    ndcg@10 |   ap |",
        "| :------ | ---------: | ---: |",
        "| bm25    |       0.40 | 0.20 |",
        r"| my\_run | 0.42\*\*\* | 0.20 |",
    ]
    assert shown.to_latex(percent=True).splitlines()[1:-1] == [
        r"\hline",
        r"system & ndcg@10 & ap \\",
        r"\hline",
        r"bm25 & 40.00 & 20.00 \\",
        r"my\_run & 42.00*** & 20.00 \\",
        r"\hline",
    ]
    assert r"\toprule" in shown.to_latex(booktabs=True)
    with pytest.raises(ValueError, match="digits: expected an integer of at least 0"):
        shown.to_markdown(digits=-1)


def test_dictionary_and_frame(shown):
    settings = shown.to_dict()
    assert {key: settings[key] for key in ("baseline", "n_queries", "correction", "confidence")} == {
        "baseline": "bm25",
        "n_queries": 20,
        "correction": "holm",
        "confidence": 0.95,
    }
    assert json.loads(json.dumps(settings)) == settings
    row = settings["results"][0]
    assert row["metric"] == "ndcg@10"
    assert row["p_randomisation_corrected"] == 2 * row["p_randomisation"]
    pytest.importorskip("pandas")
    frame = shown.to_frame()
    assert list(frame.columns) == list(row)
    assert frame["wins"].tolist() == [20, 0]
    assert frame["p_t"].tolist() == [one.p["t"] for one in shown]


def test_plot(shown):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    figure = importlib.import_module("matplotlib.figure").Figure()
    ax = shown.plot("my_run", "ndcg@10", ax=figure.subplots())
    heights = [bar.get_height() for bar in ax.patches]
    expected = np.sort(shown.differences("my_run", "ndcg@10").difference)[::-1]
    assert heights == expected.tolist()
    assert ax.get_ylabel() == "ndcg@10: my_run - bm25"
    pyplot = importlib.import_module("matplotlib.pyplot")
    assert len(shown.plot().patches) == 20
    pyplot.close("all")


def test_plot_without_matplotlib(shown, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"plot: expected matplotlib to be installed; .*fastrank-ltr\[plot\]"):
        shown.plot()
