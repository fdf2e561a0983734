"""convention="lightgbm" beside LightGBM: ndcg and map, in float64."""

from __future__ import annotations

import numpy as np
import pytest

import fastrank as fr
from conformance import tools
from conformance.cases import adversarial

METRICS = tools.at((1, 2, 3, 5, 10, 32, 1000), "ndcg", "ap")
ATOL = 1e-12  # both sum in float64, in another order


@pytest.fixture(scope="module", autouse=True)
def _lightgbm():
    tools.installed("lightgbm")


@pytest.mark.parametrize("max_grade", [1, 2, 4])
def test_each_query(max_grade):
    batch = adversarial(max_grade)
    theirs = tools.each_query(tools.lightgbm, batch, METRICS)
    ours = fr.evaluate(batch.grades, batch.scores, METRICS, group=batch.group, convention="lightgbm")
    tools.assert_same(ours.values, theirs, METRICS, batch.labels, atol=ATOL)


def test_means():
    batch = adversarial(4, seed=6)
    theirs = tools.lightgbm(batch.grades, batch.scores, batch.group, METRICS)
    ours = fr.evaluate(batch.grades, batch.scores, METRICS, group=batch.group, convention="lightgbm")
    tools.assert_same_means(ours.mean, theirs, METRICS, atol=ATOL)


def test_gains_by_grade():
    batch = adversarial(4)
    metrics = tools.at((1, 3, 10), "ndcg")
    theirs = tools.each_query(tools.lightgbm, batch, metrics, label_gain=[0, 1, 1.5, 7, 20])
    ours = fr.evaluate(
        batch.grades, batch.scores, metrics, group=batch.group, convention="lightgbm", gain=[0, 1, 1.5, 7, 20]
    )
    tools.assert_same(ours.values, theirs, metrics, batch.labels, atol=ATOL)


def test_labels_up_to_one_half_are_not_relevant():
    # Only map takes labels that are not whole.
    batch = adversarial(8)
    halves = batch._replace(grades=batch.grades / 8)
    metrics = tools.at((1, 3, 10, 1000), "ap")
    theirs = tools.each_query(tools.lightgbm, halves, metrics)
    ours = fr.evaluate(halves.grades, halves.scores, metrics, group=batch.group, convention="lightgbm")
    tools.assert_same(ours.values, theirs, metrics, batch.labels, atol=ATOL)


def test_scores_keep_float64():
    # 1 + 1e-12 is above 1 and rounds to it in float32.
    grades, scores = np.array([1, 0]), np.array([1.0, 1.0 + 1e-12])
    theirs = tools.lightgbm(grades, scores, [2], ["ndcg@1", "ap@1"])
    assert theirs == {"ndcg@1": 0.0, "ap@1": 0.0}
    ours = fr.evaluate(grades, scores, ["ndcg@1", "ap@1"], group=[2], convention="lightgbm")
    assert dict(ours.mean) == theirs
