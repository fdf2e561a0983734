"""scikit-learn's ranking scores: the package itself where it is installed, its frozen values, and ragged lists."""

from __future__ import annotations

import importlib
import inspect
import subprocess
import sys
import warnings

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import sparse

from fastrank.compat import sklearn as ours
from fastrank.metrics import functions

LABELS = [[3, 0, 1, 2, 0], [0, 0, 1, 0, 0], [0, 0, 0, 0, 0]]
SCORES = [[0.5, 0.5, 0.2, 0.9, 0.5], [2.0, 1.0, 1.0, 3.0, -1.0], [1.0, 2.0, 3.0, 4.0, 5.0]]
BINARY = [[1, 0, 1, 1, 0], [0, 0, 1, 0, 0], [0, 0, 0, 0, 0]]
WEIGHTS = [0.5, 2.0, 1.0]


@pytest.mark.parametrize(
    ("name", "labels", "arguments", "value"),
    [
        # scikit-learn 1.9.1
        ("ndcg_score", LABELS, {}, 0.43150752471810244),
        ("ndcg_score", LABELS, {"k": 3}, 0.302500498938491),
        ("ndcg_score", LABELS, {"k": 3, "sample_weight": WEIGHTS}, 0.23678592811649615),
        ("dcg_score", LABELS, {}, 1.4712657993053628),
        ("dcg_score", LABELS, {"k": 2, "log_base": 10}, 2.913253154688037),
        ("label_ranking_average_precision_score", BINARY, {}, 0.65),
        ("label_ranking_average_precision_score", BINARY, {"sample_weight": WEIGHTS}, 0.5285714285714286),
        ("average_precision_score", BINARY, {"average": "samples"}, 0.31666666666666665),
        ("average_precision_score", BINARY, {"average": "micro"}, 0.20689865689865689),
        ("average_precision_score", BINARY, {}, 0.24999999999999994),
        ("average_precision_score", BINARY, {"average": "weighted"}, 0.45833333333333326),
    ],
)
def test_frozen_values(name, labels, arguments, value):
    assert getattr(ours, name)(labels, SCORES, **arguments) == pytest.approx(value, abs=1e-12)


def theirs(name):
    return getattr(pytest.importorskip("sklearn.metrics"), name)


def call(function, *arguments, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of lists without relevant documents
        return function(*arguments, **settings)


shapes = st.tuples(st.integers(1, 4), st.integers(2, 9))


@st.composite
def matrices(draw, labels):
    shape = draw(shapes)
    values = st.one_of(st.integers(-2, 2).map(float), st.floats(-1e6, 1e6))
    read = [
        draw(st.lists(kind, min_size=shape[0] * shape[1], max_size=shape[0] * shape[1])) for kind in (labels, values)
    ]
    weights = draw(st.none() | st.lists(st.floats(0.1, 5), min_size=shape[0], max_size=shape[0]))
    return np.array(read[0]).reshape(shape), np.array(read[1]).reshape(shape), weights


grades = st.one_of(st.integers(0, 4), st.sampled_from([0.0, 0.5, 1.25, 100.0]))


@given(matrices(grades), st.none() | st.integers(1, 12))
@settings(max_examples=150, deadline=None)
def test_ndcg_equals_scikit_learn(data, k):
    labels, scores, weights = data
    arguments = {"k": k, "sample_weight": weights}
    expected = theirs("ndcg_score")(labels, scores, **arguments)
    assert ours.ndcg_score(labels, scores, **arguments) == pytest.approx(expected, abs=1e-12)


@given(
    matrices(st.one_of(grades, st.integers(-3, 0))), st.none() | st.integers(1, 12), st.sampled_from([2, 10, 0.5, 1])
)
@settings(max_examples=150, deadline=None)
def test_dcg_equals_scikit_learn(data, k, log_base):
    labels, scores, weights = data
    arguments = {"k": k, "sample_weight": weights, "log_base": log_base}
    expected = call(theirs("dcg_score"), labels, scores, **arguments)
    assert ours.dcg_score(labels, scores, **arguments) == pytest.approx(expected, rel=1e-12, abs=1e-10)


@given(matrices(grades), st.none() | st.integers(1, 12))
@settings(max_examples=100, deadline=None)
def test_ignored_ties_equal_scikit_learn(data, k):
    labels, scores, _ = data
    for row in scores:  # which of equal scores comes first depends on the processor in scikit-learn
        assume(len(np.unique(row)) == len(row))
    for name in ("ndcg_score", "dcg_score"):
        expected = theirs(name)(labels, scores, k=k, ignore_ties=True)
        assert getattr(ours, name)(labels, scores, k=k, ignore_ties=True) == pytest.approx(expected, abs=1e-10)


@given(matrices(st.integers(0, 1)))
@settings(max_examples=150, deadline=None)
def test_label_ranking_average_precision_equals_scikit_learn(data):
    labels, scores, weights = data
    expected = theirs("label_ranking_average_precision_score")(labels, scores, sample_weight=weights)
    for form in (labels, labels * 2, labels.astype(bool), sparse.csr_array(labels)):
        found = ours.label_ranking_average_precision_score(form, scores, sample_weight=weights)
        assert found == pytest.approx(expected, abs=1e-12)


@given(matrices(st.integers(0, 1)))
@settings(max_examples=150, deadline=None)
def test_average_precision_equals_scikit_learn(data):
    labels, scores, weights = data
    expected_of = theirs("average_precision_score")
    for average in ("micro", "macro", "samples", "weighted", None):
        arguments = {"average": average, "sample_weight": weights if average == "samples" else None}
        expected = call(expected_of, labels, scores, **arguments)
        assert ours.average_precision_score(labels, scores, **arguments) == pytest.approx(expected, abs=1e-12)
    expected = call(expected_of, labels[0], scores[0])
    assert ours.average_precision_score(labels[0], scores[0]) == pytest.approx(expected, abs=1e-12)
    if len(set(labels[0])) == 2:
        words = np.where(labels[0], "yes", "no")
        assert ours.average_precision_score(words, scores[0], pos_label="yes") == pytest.approx(expected, abs=1e-12)


def test_classes_with_a_column_each_equal_scikit_learn(rng):
    classes, scores = np.array([0, 1, 2, 2, 1, 0, 1]), rng.random((7, 3))
    for average in ("macro", "micro", "weighted", None):
        expected = theirs("average_precision_score")(classes, scores, average=average)
        assert ours.average_precision_score(classes, scores, average=average) == pytest.approx(expected, abs=1e-12)


def test_signatures_begin_as_scikit_learns():
    for name in ours.__all__:
        expected = list(inspect.signature(theirs(name)).parameters.values())
        found = list(inspect.signature(getattr(ours, name)).parameters.values())
        assert [(one.name, one.kind, one.default) for one in found[: len(expected)]] == [
            (one.name, one.kind, one.default) for one in expected
        ]
        assert [one.name for one in found[len(expected) :]] == ["qid", "group", "n_jobs"]


MISTAKES = [
    ("ndcg_score", ([[1, -1]], [[1, 2]]), {}, "y_true: expected grades of 0 and above"),
    ("ndcg_score", ([[1]], [[1]]), {}, "y_true: expected at least 2 documents per query, .* got 1; pass qid="),
    ("dcg_score", ([[1]], [[1]]), {}, "y_true: expected at least 2 documents per query"),
    (
        "ndcg_score",
        ([1, 0], [1, 2]),
        {},
        r"y_true: expected a matrix with a row per query, got shape \(2,\); pass qid=",
    ),
    ("ndcg_score", (np.zeros((2, 2, 2)), np.zeros((2, 2, 2))), {}, r"expected a matrix .* got shape \(2, 2, 2\)"),
    ("ndcg_score", ([[1, 0]], [[1, 2, 3]]), {}, r"y_score: expected the shape of y_true, \(1, 2\), got \(1, 3\)"),
    ("ndcg_score", ([[1, 0]], [[1, 2], [3, 4]]), {}, "y_score: expected the shape of y_true"),
    ("ndcg_score", ([[1, 0]], [[1, np.nan]]), {}, "expected finite float64 values, got nan"),
    ("ndcg_score", ([[1, 0]], [[1, np.inf]]), {}, "expected finite float64 values, got inf"),
    ("ndcg_score", ([[1, np.nan]], [[1, 2]]), {}, "y_true: expected finite values"),
    ("dcg_score", ([[1, np.inf]], [[1, 2]]), {}, "y_true: expected finite values"),
    ("ndcg_score", ([["a", "b"]], [[1, 2]]), {}, "y_true: expected numbers, got dtype"),
    ("ndcg_score", ([[1, 0], [1]], [[1, 2], [1]]), {}, "y_true: expected numbers in rows of equal length"),
    ("ndcg_score", (np.zeros((0, 2)), np.zeros((0, 2))), {}, "y_true: expected at least one query, got none"),
    ("ndcg_score", ([[1, 0]], [[1, 2]]), {"sample_weight": [1, 2]}, "sample_weight: expected 1 values"),
    ("ndcg_score", ([[1, 0]], [[1, 2]]), {"k": 0}, "k: expected an integer of at least 1, got 0"),
    ("ndcg_score", ([[1, 0]], [[1, 2]]), {"k": 1.5}, "k: expected an integer of at least 1, got 1.5"),
    ("ndcg_score", ([[1, 0]], [[1, 2]]), {"ignore_ties": "x"}, "ignore_ties: expected True or False, got 'x'"),
    ("dcg_score", ([[1, 0]], [[1, 2]]), {"log_base": 0}, "log_base: expected a finite number greater than 0, got 0"),
    ("dcg_score", ([[1, 0]], [[1, 2]]), {"log_base": "e"}, "log_base: expected a finite number greater than 0"),
    ("label_ranking_average_precision_score", ([1, 0], [1, 2]), {}, "y_true: expected a matrix"),
    ("label_ranking_average_precision_score", ([[2, 1, 0]], [[1, 2, 3]]), {}, "y_true: expected two values"),
    ("label_ranking_average_precision_score", ([[1, 0]], [[1, 2, 3]]), {}, "y_score: expected the shape of y_true"),
    ("average_precision_score", ([0, 2], [1, 2]), {}, "pos_label: expected one of 0, 2, got 1"),
    ("average_precision_score", ([[0, 1]], [[1, 2]]), {"pos_label": 0}, "pos_label: expected 1"),
    ("average_precision_score", ([[0, 1, 2]], [[1, 2, 3]]), {}, "y_true: expected two labels, got 3"),
    ("average_precision_score", ([0, 1], [1, 2, 3]), {}, "y_score: expected the shape of y_true"),
    ("average_precision_score", ([0, 1], [1, np.nan]), {}, "expected finite float64 values"),
    ("average_precision_score", ([0, np.nan], [1, 2]), {}, "y_true: expected finite values"),
    ("average_precision_score", ([0, 1], [1, 2]), {"average": "x"}, "average: expected one of 'micro'"),
]


@pytest.mark.parametrize(("name", "arguments", "settings", "message"), MISTAKES)
def test_mistakes(name, arguments, settings, message):
    with pytest.raises((ValueError, TypeError), match=message):
        getattr(ours, name)(*arguments, **settings)


@pytest.mark.parametrize(("name", "arguments", "settings", "message"), MISTAKES)
def test_mistakes_are_mistakes_to_scikit_learn(name, arguments, settings, message):
    with pytest.raises((ValueError, TypeError)):
        call(
            theirs(name),
            *map(np.array, arguments) if message.startswith("y_true: expected two") else arguments,
            **settings,
        )


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("ndcg_score", {"sample_weight": [0.0]}, "sample_weight: expected a weight above 0"),
        ("ndcg_score", {"sample_weight": [-1.0]}, "sample_weight: expected weights of 0 and above"),
        ("ndcg_score", {"qid": [1, 1]}, "qid"),
        ("average_precision_score", {"sample_weight": [1.0]}, "sample_weight: expected None, as weights of documents"),
    ],
)
def test_where_we_are_stricter(name, settings, message):
    with pytest.raises(ValueError, match=message):
        getattr(ours, name)([[1, 0]], [[1, 2]], **settings)


# -------------------------------------------------------------------------------------------------- ragged lists


def ragged(rng):
    sizes = np.array([3, 1, 7, 2, 5])
    qid = np.repeat([10, 3, 7, 1, 2], sizes)
    labels, scores = rng.integers(0, 3, sizes.sum()), rng.integers(0, 4, sizes.sum()) / 2
    return sizes, qid, labels, scores


@pytest.mark.parametrize("ignore_ties", [False, True])
@pytest.mark.parametrize("name", ["ndcg_score", "dcg_score"])
def test_ragged_lists_are_the_mean_of_their_rows(name, ignore_ties, rng):
    sizes, qid, labels, scores = ragged(rng)
    function = getattr(ours, name)
    ends = np.cumsum(sizes)
    # a document of grade 0 and the lowest score makes a list long enough for a matrix, and changes nothing
    rows = [
        function([[*labels[a:b], 0]], [[*scores[a:b], -1]], k=3, ignore_ties=ignore_ties)
        for a, b in zip(ends - sizes, ends, strict=True)
    ]
    weights = [1, 2, 3, 4, 5]
    arguments = {"k": 3, "ignore_ties": ignore_ties}
    scattered = np.argsort(np.concatenate([np.arange(size) for size in sizes]), kind="stable")
    found = function(labels[scattered], scores[scattered], qid=qid[scattered], **arguments)
    assert found == pytest.approx(np.mean(rows), abs=1e-12)
    for groups in ({"qid": qid}, {"group": sizes}, {"qid": qid.astype(str), "n_jobs": 2}):
        found = function(labels, scores, **arguments, sample_weight=weights, **groups)
        assert found == pytest.approx(np.average(rows, weights=weights), abs=1e-12)


def test_ignored_ties_take_the_last_first():
    assert ours.dcg_score([[1, 0, 2]], [[5, 5, 5]], k=1, ignore_ties=True) == 2.0
    assert ours.dcg_score([1, 0, 2, 7], [5, 5, 5, 1], k=1, ignore_ties=True, qid=[1, 1, 1, 2]) == 4.5


def test_ragged_average_precision(rng):
    _, qid, labels, scores = ragged(rng)
    relevant = labels > 0
    each = functions.ap(relevant, scores, qid=qid, convention="sklearn")
    n_relevant = [relevant[qid == query].sum() for query in (10, 3, 7, 1, 2)]
    average = ours.average_precision_score
    np.testing.assert_allclose(average(relevant, scores, qid=qid, average=None), each, atol=1e-15)
    assert average(relevant, scores, qid=qid) == pytest.approx(each.mean())
    assert average(relevant, scores, qid=qid, average="weighted") == pytest.approx(np.average(each, weights=n_relevant))
    assert average(relevant, scores, qid=qid, average="micro") == pytest.approx(average(relevant, scores))
    assert average(relevant, scores, qid=qid, sample_weight=[0, 0, 1, 0, 0]) == pytest.approx(each[2])
    assert average([0, 0, 0], [1, 2, 3], qid=[1, 1, 2], average="weighted") == 0.0
    lrap = ours.label_ranking_average_precision_score(relevant, scores, qid=qid)
    assert lrap == pytest.approx(np.where(np.array(n_relevant) == 0, 1.0, each).mean())


def test_inputs_stay_as_they_are(rng):
    labels, scores = rng.integers(0, 2, (3, 6)), rng.random((3, 6))
    kept = labels.copy(), scores.copy()
    for array in (labels, scores):
        array.flags.writeable = False
    for name in ours.__all__:
        getattr(ours, name)(labels, scores)
    ours.dcg_score(labels - 1, scores)
    assert np.array_equal(labels, kept[0])
    assert np.array_equal(scores, kept[1])


def test_scikit_learn_is_not_imported():
    code = "import sys, fastrank.compat.sklearn as m; m.ndcg_score([[1, 0]], [[1, 2]]); print('sklearn' in sys.modules)"
    found = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"
    assert importlib.import_module("fastrank.compat.sklearn") is ours
