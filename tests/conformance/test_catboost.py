"""convention="catboost" beside catboost.utils.eval_metric."""

from __future__ import annotations

import numpy as np
import pytest

import fastrank as fr
from conformance import tools
from conformance.cases import adversarial

KINDS = ("ndcg", "dcg", "ap", "rr", "p", "recall")
CUTS = (1, 2, 3, 5, 10, 1000)
METRICS = [*KINDS, *tools.at(CUTS, *KINDS)]
ATOL = 1e-12  # both sum in float64, in another order


@pytest.fixture(scope="module", autouse=True)
def _catboost():
    tools.installed("catboost")


@pytest.mark.parametrize("max_grade", [1, 4])
def test_each_query(max_grade):
    batch = adversarial(max_grade)
    theirs = tools.each_query(tools.catboost, batch, METRICS)
    ours = fr.evaluate(batch.grades, batch.scores, METRICS, group=batch.group, convention="catboost")
    tools.assert_same(ours.values, theirs, METRICS, batch.labels, atol=ATOL)


def test_means():
    batch = adversarial(4, seed=6)
    theirs = tools.catboost(batch.grades, batch.scores, batch.group, METRICS)
    ours = fr.evaluate(batch.grades, batch.scores, METRICS, group=batch.group, convention="catboost")
    tools.assert_same_means(ours.mean, theirs, METRICS, atol=ATOL)


@pytest.mark.parametrize(
    ("options", "ours"),
    [
        ("type=Exp", {"gain": "exp2"}),
        ("denominator=Position", {"discount": lambda ranks: 1.0 / ranks}),
    ],
)
def test_options_of_dcg(options, ours):
    batch = adversarial(4)
    metrics = ["ndcg", "dcg", *tools.at(CUTS, "ndcg", "dcg")]
    theirs = tools.each_query(tools.catboost, batch, metrics, options=options)
    found = fr.evaluate(batch.grades, batch.scores, metrics, group=batch.group, convention="catboost", **ours)
    tools.assert_same(found.values, theirs, metrics, batch.labels, atol=ATOL)


def test_border():
    batch = adversarial(4)
    metrics = ["ap", "rr", "p", "recall", *tools.at(CUTS, "ap", "rr", "p", "recall")]
    theirs = tools.each_query(tools.catboost, batch, metrics, options="border=1.5")
    ours = fr.evaluate(batch.grades, batch.scores, metrics, group=batch.group, convention="catboost", rel=2)
    tools.assert_same(ours.values, theirs, metrics, batch.labels, atol=ATOL)


def test_err_takes_the_label_for_the_probability():
    # Multiples of 1/8, because CatBoost keeps labels in float32. Labels of 0.5 and below are not relevant for map and
    # mrr, and still count in ERR and NDCG.
    batch = adversarial(8)
    metrics = ["err", "ndcg", "dcg", "ap", "rr", *tools.at(CUTS, "err", "ndcg", "dcg", "ap", "rr")]
    chances = batch._replace(grades=batch.grades / 8)
    theirs = tools.each_query(tools.catboost, chances, metrics)
    ours = fr.evaluate(chances.grades, chances.scores, metrics, group=batch.group, convention="catboost")
    tools.assert_same(ours.values, theirs, metrics, batch.labels, atol=ATOL)
    assert np.unique(theirs[0]).size > 20
