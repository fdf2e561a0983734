"""convention="ranklib": no jar is run here. The values follow by hand from the scorers of RankLib 2.x:

gain 2^grade - 1, discount 1 / log2(1 + rank), ideal DCG of 0 counts 0; ERR with 2^4 = 16 below, whatever the data; P@k
divides by the shorter of k and the list; equal scores in file order; bare NDCG, DCG, P and ERR stop at rank 10.
"""

from __future__ import annotations

from math import log2

import numpy as np
import pytest

import fastrank as fr

SCORES = np.array([3.0, 2.0, 2.0, 1.0])
GRADES = np.array([0, 2, 0, 1])  # ranked as they stand


def value(metric: str, grades=GRADES, scores=SCORES) -> float:
    return float(fr.evaluate(grades, scores, [metric], group=[len(grades)], convention="ranklib").values[0, 0])


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("dcg@10", 3 / log2(3) + 1 / log2(5)),
        ("ndcg@10", (3 / log2(3) + 1 / log2(5)) / (3 + 1 / log2(3))),
        ("ndcg@2", (3 / log2(3)) / (3 + 1 / log2(3))),
        ("ap", (1 / 2 + 2 / 4) / 2),
        ("p@2", 1 / 2),
        ("p@10", 2 / 4),
        ("rr@10", 1 / 2),
        ("rr@1", 0.0),
        ("err@10", (3 / 16) / 2 + (13 / 16) * (1 / 16) / 4),
        ("err@2", (3 / 16) / 2),
    ],
)
def test_by_hand(metric, expected):
    assert value(metric) == pytest.approx(expected, rel=0, abs=1e-15)


@pytest.mark.parametrize("metric", ["ndcg@10", "ap", "p@10", "rr@10", "err@10", "dcg@10"])
def test_a_query_without_relevant_documents_counts_0(metric):
    assert value(metric, np.zeros(4, dtype=int)) == 0


@pytest.mark.parametrize(("bare", "cut"), [("ndcg", "ndcg@10"), ("dcg", "dcg@10"), ("p", "p@10"), ("err", "err@10")])
def test_bare_names_stop_at_10(bare, cut):
    grades = np.r_[0, 1, 2, np.zeros(8, dtype=int), 1, 2]
    scores = -np.arange(13.0)
    assert value(bare, grades, scores) == value(cut, grades, scores)
    assert value(bare, grades, scores) != value(f"{cut[:-2]}13", grades, scores)


def test_ties_in_file_order():
    assert value("rr", np.array([0, 1, 0]), np.ones(3)) == 1 / 2
    assert value("rr", np.array([1, 0, 0]), np.ones(3)) == 1
