"""convention="torchmetrics" beside torchmetrics.retrieval, which computes in float32: 1e-5.

Two habits are not imitated. Average precision, reciprocal rank, precision and recall count documents with scores of 0
and below as not relevant, so the scores here are positive. And ties go by `torch.topk`, whose order is not defined, so
only NDCG, which averages over them as we do, is compared on ties.
"""

from __future__ import annotations

import numpy as np
import pytest

import fastrank as fr
from conformance import tools
from conformance.cases import adversarial

KINDS = ("ndcg", "ap", "rr", "p", "recall", "success")
CUTS = (1, 2, 3, 5, 10, 1000)
METRICS = [*KINDS, "rprec", *tools.at(CUTS, *KINDS)]
ATOL = 1e-5  # sums of 400 terms in float32


@pytest.fixture(scope="module", autouse=True)
def _torchmetrics():
    tools.installed("torchmetrics")


def test_each_query():
    batch = adversarial(1, ties=False, positive=True)
    theirs = tools.each_query(tools.torchmetrics, batch, METRICS)
    ours = fr.evaluate(batch.grades, batch.scores, METRICS, group=batch.group, convention="torchmetrics")
    tools.assert_same(ours.values, theirs, METRICS, batch.labels, atol=ATOL)


def test_ndcg_with_grades_ties_and_any_scores():
    batch = adversarial(4)
    metrics = ["ndcg", *tools.at(CUTS, "ndcg")]
    theirs = tools.each_query(tools.torchmetrics, batch, metrics)
    ours = fr.evaluate(batch.grades, batch.scores, metrics, group=batch.group, convention="torchmetrics")
    tools.assert_same(ours.values, theirs, metrics, batch.labels, atol=ATOL)


@pytest.mark.parametrize(("theirs", "ours"), [("neg", 0), ("pos", 1), ("skip", "skip")])
def test_empty_queries(theirs, ours):
    batch = adversarial(1, ties=False, positive=True, seed=6)
    expected = tools.torchmetrics(batch.grades, batch.scores, batch.group, METRICS, empty=theirs)
    found = fr.evaluate(batch.grades, batch.scores, METRICS, group=batch.group, convention="torchmetrics", empty=ours)
    tools.assert_same_means(found.mean, expected, METRICS, atol=ATOL)


def test_adaptive_k():
    batch = adversarial(1, ties=False, positive=True)
    metrics = tools.at(CUTS, "p")
    theirs = tools.each_query(tools.torchmetrics, batch, metrics, adaptive_k=True)
    ours = fr.evaluate(
        batch.grades, batch.scores, metrics, group=batch.group, convention="torchmetrics", short={"precision": "shrink"}
    )
    tools.assert_same(ours.values, theirs, metrics, batch.labels, atol=ATOL)


def test_scores_of_zero_and_below():
    # The habit that we leave to torchmetrics: with logits, a perfect ranking scores 0.
    grades, scores = np.array([1, 0, 1]), np.array([-1.0, -2.0, -0.5])
    theirs = tools.torchmetrics(grades, scores, [3], ["ap", "rr", "p", "recall", "ndcg", "success", "rprec"])
    assert [theirs[name] for name in ("ap", "rr", "p", "recall")] == [0, 0, 0, 0]
    assert [theirs[name] for name in ("ndcg", "success", "rprec")] == [1, 1, 1]
    ours = fr.evaluate(grades, scores, ["ap", "rr", "recall", "ndcg"], group=[3], convention="torchmetrics")
    assert ours.values.ravel().tolist() == [1, 1, 1, 1]
