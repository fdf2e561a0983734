from __future__ import annotations

import copy
import functools
import pickle

import numpy as np
import pytest

from fastrank.data import RankingDataset
from fastrank.data.trec import Qrels, Run
from fastrank.metrics import StreamEvaluator, evaluate

METRICS = ["ndcg@10", "ap", "rr", "p@5", "err@10", "tau"]


@pytest.fixture
def data(rng):
    """Labels, scores and ids of 40 queries, rows grouped."""
    group = rng.integers(1, 30, 40)
    n = int(group.sum())
    return rng.integers(0, 3, n), rng.integers(0, 9, n) / 4, np.repeat([f"q{i}" for i in range(40)], group), group


def batches(data, cuts):
    """The same in batches of whole queries."""
    labels, scores, qid, group = data
    ends = np.concatenate(([0], np.cumsum(group)))
    for first, last in zip([0, *cuts], [*cuts, len(group)], strict=True):
        rows = slice(ends[first], ends[last])
        yield labels[rows], scores[rows], qid[rows], group[first:last]


@pytest.mark.parametrize("cuts", [[], [20], [1, 2, 3, 39], [10, 10, 30]])
@pytest.mark.parametrize("convention", ["fastrank", "xgboost", "letor"])
def test_result_is_that_of_one_evaluation(data, cuts, convention):
    labels, scores, qid, group = data
    options = {"convention": convention, "max_grade": 2, "empty": "skip"}
    by_id = StreamEvaluator(METRICS, n_jobs=2, **options)
    by_size = StreamEvaluator(METRICS, **options)
    for part_labels, part_scores, part_qid, part_group in batches(data, cuts):
        by_id.update(part_labels, part_scores, qid=part_qid)
        by_size.update(part_labels, part_scores, group=part_group)
    assert by_id.result() == evaluate(labels, scores, METRICS, qid=qid, **options)
    assert by_size.result() == evaluate(labels, scores, METRICS, group=group, **options)
    assert by_id.n_queries == by_size.n_queries == 40


def test_result_does_not_end_the_stream(data):
    stream = StreamEvaluator("ap")
    sizes = []
    for labels, scores, qid, _ in batches(data, [10, 20]):
        stream.update(labels, scores, qid=qid)
        sizes.append(stream.result().n_queries)
    assert sizes == [10, 20, 40]


def test_nothing_yet():
    stream = StreamEvaluator()
    assert stream.result() == evaluate([], [], group=[])
    stream.update([], [], qid=[])
    assert stream.n_queries == 0
    stream.update([1], [1], qid=["a"])
    assert stream.result().qid.tolist() == ["a"]


def test_other_forms_of_data():
    stream = StreamEvaluator("rr", convention="trec_eval")
    stream.update(RankingDataset(np.zeros((2, 1)), [1, 0], qid=["a", "a"], docid=["x", "y"]), [0, 0])
    stream.update(Qrels.from_dict({"b": {"x": 1}}), Run.from_dict({"b": {"x": 1.0}}))
    stream.update([1, 0], [0, 0], qid=["c", "c"], docid=["y", "x"])
    assert stream.result().qid.tolist() == ["a", "b", "c"]
    assert stream.result()["rr"].tolist() == [0.5, 1, 1]
    matrix = StreamEvaluator("rr")
    matrix.update([[1, 0], [0, 1]], [[2, 1], [2, 1]])
    matrix.update([1, 0], [2, 1])
    assert matrix.result().qid.tolist() == [0, 1, 2]
    assert matrix.result()["rr"].tolist() == [1, 0.5, 1]


def test_ids_of_different_kinds():
    stream = StreamEvaluator("rr")
    stream.update([1], [1], qid=["a"])
    stream.update([1], [1], qid=[7])
    assert stream.result().qid.tolist() == ["a", 7]


def test_query_in_two_batches():
    stream = StreamEvaluator("rr")
    stream.update([1, 0], [1, 2], qid=["a", "b"])
    with pytest.raises(
        ValueError, match=r"qid: expected whole queries, each in one batch, got 'b' again \(1 query in all"
    ):
        stream.update([1, 0], [1, 2], qid=["c", "b"])
    assert stream.result().qid.tolist() == ["a", "b"]  # as before
    stream.update([1], [1], qid=["c"])
    assert stream.n_queries == 3


def test_ids_in_every_batch_or_in_none():
    stream = StreamEvaluator("rr")
    stream.update([1], [1], qid=["a"])
    with pytest.raises(
        ValueError, match="qid: expected ids in every batch or in none, got none after batches with them"
    ):
        stream.update([1], [1])
    stream = StreamEvaluator("rr")
    stream.update([1], [1])
    with pytest.raises(ValueError, match="qid: expected ids in every batch or in none, got some after batches without"):
        stream.update([1], [1], qid=["a"])


def test_a_batch_that_raises_changes_nothing(data):
    stream = StreamEvaluator("ap", empty="error")
    stream.update([1], [1], qid=["a"])
    before = stream.result()
    for labels, scores in (([0], [1]), ([-1], [1]), ([1], [np.nan]), ([1, 2], [1])):
        with pytest.raises(ValueError):
            stream.update(labels, scores, qid=["b"] * len(labels))
        assert stream.result() == before
    stream.update([1], [1], qid=["b"])
    assert stream.n_queries == 2


def test_shards_are_merged(data):
    labels, scores, qid, group = data
    shards_by_id, shards_by_size = [], []
    for part_labels, part_scores, part_qid, part_group in batches(data, [5, 17]):
        for shards, options in ((shards_by_id, {"qid": part_qid}), (shards_by_size, {"group": part_group})):
            shard = StreamEvaluator(["ndcg@10", "map"])
            shard.update(part_labels, part_scores, **options)
            shards.append(pickle.loads(pickle.dumps(shard)))
    shards_by_id.insert(1, StreamEvaluator(["ndcg@10", "map"]))
    whole = functools.reduce(lambda one, other: one.merge(other), shards_by_id)
    assert whole.result() == evaluate(labels, scores, ["ndcg@10", "map"], qid=qid)
    whole = functools.reduce(lambda one, other: one.merge(other), shards_by_size)
    assert whole.result() == evaluate(labels, scores, ["ndcg@10", "map"], group=group)


def test_shards_that_do_not_fit():
    stream = StreamEvaluator("ap")
    stream.update([1], [1], qid=["a"])
    with pytest.raises(ValueError, match=r"other: expected the same measures \(ap\), got rr"):
        stream.merge(StreamEvaluator("rr"))
    with pytest.raises(
        ValueError, match=r"other: expected the same convention \(discount='log2'\), got discount='letor'"
    ):
        stream.merge(StreamEvaluator("ap", "letor"))
    with pytest.raises(ValueError, match="got 'a' again"):
        stream.merge(copy.deepcopy(stream))
    with pytest.raises(ValueError, match="other: expected another stream, got this one"):
        stream.merge(stream)
    with pytest.raises(TypeError, match="other: expected a StreamEvaluator, got dict"):
        stream.merge({})
    assert stream.n_queries == 1


def test_err_must_know_the_largest_grade():
    with pytest.raises(ValueError, match="max_grade: expected the largest grade there can be, for err in a stream"):
        StreamEvaluator("err@10")
    StreamEvaluator("err@10", convention="ranklib")
    StreamEvaluator("err@10", stop="linear")


def test_rules_are_checked_at_once():
    with pytest.raises(ValueError, match="metric: expected one of"):
        StreamEvaluator("nonsense")
    with pytest.raises(ValueError, match="ties: expected one of"):
        StreamEvaluator(ties="random")
    with pytest.raises(ValueError, match="n_jobs: expected a positive number"):
        StreamEvaluator(n_jobs=0)


def test_text():
    stream = StreamEvaluator(["ndcg@10", "map"], "letor")
    assert repr(stream) == "StreamEvaluator(0 queries, ndcg@10, ap, convention letor)"
