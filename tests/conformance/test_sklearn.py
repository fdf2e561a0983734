"""convention="sklearn" beside scikit-learn: ndcg_score, dcg_score, average precision and its ranking form."""

from __future__ import annotations

import numpy as np
import pytest

import fastrank as fr
from conformance import tools
from conformance.cases import Batch, adversarial, batch

CUTS = (1, 2, 3, 5, 10, 1000)
GAINS = ["ndcg", "dcg", *tools.at(CUTS, "ndcg", "dcg")]
ATOL = 1e-12  # both sum in float64, in another order; DCG of 400 documents reaches 100


@pytest.fixture(scope="module", autouse=True)
def _sklearn():
    tools.installed("sklearn")


def two_or_more(queries: Batch) -> Batch:
    """Without the queries of one document, which ndcg_score refuses."""
    return batch([query for query in queries.queries() if len(query.grades) > 1])


@pytest.mark.parametrize("max_grade", [1, 4])
def test_gains_of_each_query(max_grade):
    queries = two_or_more(adversarial(max_grade))
    theirs = tools.each_query(tools.sklearn, queries, GAINS)
    ours = fr.evaluate(queries.grades, queries.scores, GAINS, group=queries.group, convention="sklearn")
    tools.assert_same(ours.values, theirs, GAINS, queries.labels, atol=ATOL)


def test_gains_that_are_not_whole():
    queries = two_or_more(adversarial(9))
    queries = queries._replace(grades=queries.grades * 0.3)
    theirs = tools.each_query(tools.sklearn, queries, GAINS)
    ours = fr.evaluate(queries.grades, queries.scores, GAINS, group=queries.group, convention="sklearn")
    tools.assert_same(ours.values, theirs, GAINS, queries.labels, atol=ATOL)


def test_average_precision_of_each_query():
    queries = adversarial(1)
    theirs = tools.each_query(tools.sklearn, queries, ["ap"])
    ours = fr.evaluate(queries.grades, queries.scores, ["ap"], group=queries.group, convention="sklearn")
    tools.assert_same(ours.values, theirs, ["ap"], queries.labels, atol=ATOL)


def test_label_ranking_average_precision_counts_an_empty_query_as_one():
    queries = two_or_more(adversarial(1))
    theirs = tools.each_query(tools.sklearn, queries, ["lrap"])
    ours = fr.evaluate(queries.grades, queries.scores, ["ap"], group=queries.group, convention="sklearn", empty=1)
    tools.assert_same(ours.values, theirs, ["lrap"], queries.labels, atol=ATOL)


def test_means_of_two_dimensional_input(rng):
    from sklearn.metrics import dcg_score, label_ranking_average_precision_score, ndcg_score

    grades = rng.integers(0, 4, (40, 12)) * rng.integers(0, 2, (40, 1))  # half of the queries are empty
    scores = rng.integers(0, 6, (40, 12)) / 4
    for k in (None, 1, 5, 12, 50):
        ours = fr.metrics.ndcg(grades, scores, k=k, convention="sklearn").mean()
        assert abs(ours - ndcg_score(grades, scores, k=k)) <= ATOL
        ours = fr.metrics.dcg(grades, scores, k=k, convention="sklearn").mean()
        assert abs(ours - dcg_score(grades, scores, k=k)) <= ATOL
    binary = np.minimum(grades, 1)
    ours = fr.metrics.ap(binary, scores, convention="sklearn", empty=1).mean()
    assert abs(ours - label_ranking_average_precision_score(binary, scores)) <= ATOL
