"""convention="xgboost" beside XGBoost: ndcg, map and pre of scores rounded to float32."""

from __future__ import annotations

import pytest

import fastrank as fr
from conformance import tools
from conformance.cases import adversarial

CUTS = (1, 2, 3, 5, 10, 32, 1000)
ATOL = 1e-12  # scores are float32, the sums are float64


@pytest.fixture(scope="module", autouse=True)
def _xgboost():
    tools.installed("xgboost")


def test_each_query_with_grades():
    batch = adversarial(4)
    metrics = ["ndcg", *tools.at(CUTS, "ndcg")]
    theirs = tools.each_query(tools.xgboost, batch, metrics)
    ours = fr.evaluate(batch.grades, batch.scores, metrics, group=batch.group, convention="xgboost")
    tools.assert_same(ours.values, theirs, metrics, batch.labels, atol=ATOL)


def test_each_query_with_binary_labels():
    # XGBoost refuses grades above 1 for map and pre.
    batch = adversarial(1)
    metrics = ["ndcg", "ap", "p", *tools.at(CUTS, "ndcg", "ap", "p")]
    theirs = tools.each_query(tools.xgboost, batch, metrics)
    ours = fr.evaluate(batch.grades, batch.scores, metrics, group=batch.group, convention="xgboost")
    tools.assert_same(ours.values, theirs, metrics, batch.labels, atol=ATOL)


def test_linear_gain():
    batch = adversarial(4)
    metrics = tools.at(CUTS, "ndcg")
    theirs = tools.each_query(tools.xgboost, batch, metrics, ndcg_exp_gain=False)
    ours = fr.evaluate(batch.grades, batch.scores, metrics, group=batch.group, convention="xgboost", gain="linear")
    tools.assert_same(ours.values, theirs, metrics, batch.labels, atol=ATOL)


def test_names_that_end_in_minus():
    # "ndcg@5-" and "map@5-": a query without relevant documents counts 0, which is our empty=0.
    batch = adversarial(1)
    metrics = ["ndcg", "ap", "p", *tools.at((1, 5), "ndcg", "ap", "p")]
    theirs = tools.each_query(tools.xgboost, batch, metrics, suffix="-")
    ours = fr.evaluate(batch.grades, batch.scores, metrics, group=batch.group, convention="xgboost", empty=0)
    tools.assert_same(ours.values, theirs, metrics, batch.labels, atol=ATOL)


def test_means():
    batch = adversarial(1, seed=6)
    metrics = ["ndcg", "ap", "p", *tools.at(CUTS, "ndcg", "ap", "p")]
    theirs = tools.xgboost(batch.grades, batch.scores, batch.group, metrics)
    ours = fr.evaluate(batch.grades, batch.scores, metrics, group=batch.group, convention="xgboost")
    tools.assert_same_means(ours.mean, theirs, metrics, atol=ATOL)
