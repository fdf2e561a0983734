"""RankingDataset: what goes in comes back, in the user's order, without needless copies."""

import copy
import datetime
import os
import pickle
import signal
import threading
import time

import cases
import numpy as np
import pytest
from scipy import sparse

from fastrank.data import dataset as dataset_module
from fastrank.data._grouping import Grouping
from fastrank.data._strings import StringColumn
from fastrank.data.dataset import Query, RankingDataset

X3 = np.arange(6, dtype=np.float64).reshape(3, 2)


def dense(X):
    return X.toarray() if sparse.issparse(X) else np.asarray(X)


def small(**options):
    """Three queries b, a, c whose rows are mixed."""
    defaults = {
        "qid": ["b", "a", "b", "c", "a", "b"],
        "docid": [f"d{i}" for i in range(6)],
        "sample_weight": np.arange(6.0),
        "query_weight": [10.0, 20.0, 30.0],
        "feature_names": ["one", "two"],
    }
    X = np.arange(12, dtype=np.float32).reshape(6, 2)
    return RankingDataset(X, [0, 1, 2, 0, 1, 0], **(defaults | options))


def grouped():
    """The same with adjacent rows."""
    rows = [0, 2, 5, 1, 4, 3]
    shuffled = small()
    return RankingDataset(
        shuffled.X[rows],
        shuffled.y[rows],
        qid=shuffled.row_qid()[rows],
        docid=[f"d{i}" for i in rows],
        sample_weight=shuffled.sample_weight[rows],
        query_weight=shuffled.query_weight,
        feature_names=["one", "two"],
    )


def shared(a, b):
    if sparse.issparse(a):
        return all(np.shares_memory(getattr(a, part), getattr(b, part)) for part in ("data", "indices", "indptr"))
    return np.shares_memory(a, b)


def assert_same(one, two):
    np.testing.assert_array_equal(dense(one.X), dense(two.X), strict=True)
    np.testing.assert_array_equal(one.y, two.y, strict=True)
    np.testing.assert_array_equal(one.qptr, two.qptr, strict=True)
    assert one.qid.tolist() == two.qid.tolist()
    assert (one.order is None) == (two.order is None)
    if one.order is not None:
        np.testing.assert_array_equal(one.order, two.order)
    assert one.docid == two.docid
    assert one.feature_names == two.feature_names
    for name in ("sample_weight", "query_weight"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))


# ---------------------------------------------------------------- the user's order


@pytest.mark.parametrize("name", cases.NAMES)
def test_everything_comes_back_in_the_users_order(name):
    case = cases.make(name)
    data = case.dataset()
    rows = case.rows()
    assert len(data) == data.n_queries == len(rows)
    assert data.n_rows == len(case.y)
    assert data.n_features == case.X.shape[1]
    assert data.qid.tolist() == list(rows)
    assert data.sizes.tolist() == [len(members) for members in rows.values()]
    assert [data.rows_of(i).tolist() for i in range(len(data))] == list(rows.values())
    np.testing.assert_array_equal(data.X, case.X)
    np.testing.assert_array_equal(data.y, case.y)
    order = [row for members in rows.values() for row in members]
    np.testing.assert_array_equal(data.grouped_X, case.X[order])
    np.testing.assert_array_equal(data.grouped_y, case.y[order])
    if case.qid is not None:
        np.testing.assert_array_equal(data.row_qid(), case.qid)
    values = np.random.default_rng(1).standard_normal(len(case.y))
    np.testing.assert_array_equal(data.to_grouped(values), values[order])
    np.testing.assert_array_equal(data.to_rows(data.to_grouped(values)), values)
    np.testing.assert_array_equal(data.to_grouped(data.to_rows(values)), values)
    for query, (qid, members) in zip(data, rows.items(), strict=True):
        assert isinstance(query, Query)
        assert query.qid == qid
        assert query.docid is None
        np.testing.assert_array_equal(query.X, case.X[members])
        np.testing.assert_array_equal(query.y, case.y[members])


def test_queries_carry_their_documents():
    assert [(query.qid, list(query.docid)) for query in small()] == [
        ("b", ["d0", "d2", "d5"]),
        ("a", ["d1", "d4"]),
        ("c", ["d3"]),
    ]


def test_rows_of_tuples_come_back_as_tuples():
    ids = [(1, "x"), (0, "y"), (1, "x")]
    data = RankingDataset(X3, [0, 1, 2], qid=ids)
    assert data.row_qid().tolist() == ids
    assert data.position_of((0, "y")) == 1


def test_matrices_are_permuted_row_by_row():
    data = small()
    table = np.arange(18).reshape(6, 3)
    np.testing.assert_array_equal(data.to_rows(data.to_grouped(table)), table)


# ---------------------------------------------------------------- layouts: no needless copy, nothing changed


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["graded", "shuffled rows", "empty queries between others", "no queries"])
def test_every_layout_gives_the_same_data_set(tmp_path, dtype, name):
    case = cases.make(name)
    X = cases.features(np.random.default_rng(3), len(case.y), 4, dtype)
    order = [row for members in case.rows().values() for row in members]
    seen = 0
    for layout, given, no_copy in cases.layouts(X, tmp_path):
        before = copy.deepcopy(given)
        data = case.dataset(given)
        expected = dtype if layout != "big-endian" else np.float64
        assert data.X.dtype == expected, layout
        np.testing.assert_array_equal(dense(data.X), X, err_msg=layout)
        np.testing.assert_array_equal(dense(data.grouped_X), X[order], err_msg=layout)
        if no_copy and X.size:
            assert shared(data.X, given), layout
        if sparse.issparse(data.X):
            assert isinstance(data.X, sparse.csr_array)
            assert data.X.has_canonical_format, layout
            assert sparse.issparse(data.grouped_X)
        else:
            assert data.X.flags.c_contiguous, layout
            assert data.X.flags.aligned, layout
        if data.order is None:
            assert data.grouped_X is data.X
        np.testing.assert_array_equal(dense(given), dense(before), err_msg=layout)
        if sparse.issparse(given) and hasattr(given, "indices"):
            np.testing.assert_array_equal(given.indices, before.indices, err_msg=layout)
            np.testing.assert_array_equal(given.data, before.data, err_msg=layout)
        seen += 1
    assert seen >= 13


@pytest.mark.parametrize("dtype", ["i4", "u1", "?", "f2", "g"])
def test_other_numbers_become_floats(dtype):
    X = np.array([[0, 1], [1, 0], [1, 1]]).astype(dtype)
    data = RankingDataset(X, [0, 1, 2], qid=[1, 1, 2])
    assert data.X.dtype == (np.float32 if dtype == "f2" else np.float64)
    np.testing.assert_array_equal(data.X, X.astype(float))


def test_integer_csr_becomes_float64():
    data = RankingDataset(sparse.csr_matrix(np.eye(3, dtype=np.int32)), [0, 1, 2], qid=[1, 1, 2])
    assert data.X.dtype == np.float64
    np.testing.assert_array_equal(dense(data.X), np.eye(3))


def test_nothing_given_is_changed_or_frozen():
    X = np.arange(6.0).reshape(3, 2)
    given = {
        "X": X,
        "y": np.array([0.5, 1.0, 2.0]),
        "qptr": np.array([0, 1, 3]),
        "qid": np.array([4, 7, 7]),
        "sample_weight": np.array([1.0, 2.0, 3.0]),
        "query_weight": np.array([1.0, 2.0]),
        "docid": np.array(["a", "b", "c"]),
    }
    before = copy.deepcopy(given)
    data = RankingDataset(**given)
    data.plan.slam_weights("ndcg2017")
    for name, value in given.items():
        np.testing.assert_array_equal(value, before[name])
        assert value.flags.writeable, name
    assert not data.qptr.flags.writeable
    assert not data.qid.flags.writeable


def test_no_features_and_no_rows():
    assert RankingDataset(np.zeros((2, 0)), [0, 1], group=[2]).n_features == 0
    empty = RankingDataset(np.zeros((0, 4)), [], qid=[])
    assert (len(empty), empty.n_rows, empty.n_features) == (0, 0, 4)
    assert list(empty) == []
    assert empty.row_qid().tolist() == []


# ---------------------------------------------------------------- grades, weights, names, document ids


@pytest.mark.parametrize(
    ("y", "dtype"),
    [
        ([0, 1, 2], np.int32),
        (np.array([0, 1, 2], dtype=np.uint8), np.int32),
        ([0.0, 1.0, 2.0], np.int32),
        ([True, False, True], np.int32),
        ([0, 1, 2**31 - 1], np.int32),
        ([0.0, 0.5, 1.0], np.float64),
        ([0, 1, 2**31], np.float64),
        (np.array([[0], [1], [2]]), np.int32),
        (np.array([0, 1, 2])[::-1], np.int32),
        (np.array([0.5, 1, 2], dtype=">f4"), np.float64),
    ],
)
def test_grades_are_integers_where_they_can_be(y, dtype):
    data = RankingDataset(X3, y, group=[3])
    assert data.y.dtype == np.dtype(dtype)
    assert data.y.dtype.isnative
    np.testing.assert_array_equal(data.y, np.asarray(y, dtype=float).reshape(-1))


def test_query_weights_by_id_or_in_order():
    by_id = small(query_weight={"a": 2, "b": 1, "c": 3, "unused": 9})
    np.testing.assert_array_equal(by_id.query_weight, [1.0, 2.0, 3.0], strict=True)
    np.testing.assert_array_equal(small(query_weight=[1, 2, 3]).query_weight, [1.0, 2.0, 3.0], strict=True)
    day = np.datetime64("2020-01-01", "ns")
    dated = RankingDataset(X3, [0, 0, 0], qid=np.repeat(day, 3), query_weight={day: 7})
    assert dated.query_weight.tolist() == [7.0]


def test_weights_are_absent_unless_given():
    data = RankingDataset(X3, [0, 1, 2], group=[3])
    assert data.sample_weight is None
    assert data.query_weight is None
    assert data.docid is None
    assert data.feature_names is None


@pytest.mark.parametrize(
    ("docid", "kind"),
    [
        (["a", "b", "c"], StringColumn),
        (("a", "b", "c"), StringColumn),
        (StringColumn.from_strings(["a", "b", "c"]), StringColumn),
        (np.array(["a", "b", "c"], dtype=object), StringColumn),
        (np.array(["a", "b", "c"]), StringColumn),
        (np.array([b"a", b"b", b"c"]), np.ndarray),
        (np.array([3, 1, 2]), np.ndarray),
        ([1, 2, 3], np.ndarray),
        (["a", 1, None], np.ndarray),
        ([(1, 2), (3, 4), (5, 6)], np.ndarray),
    ],
    ids=str,
)
def test_document_ids_keep_their_values(docid, kind):
    data = RankingDataset(X3, [0, 1, 2], qid=[1, 2, 1], docid=docid)
    assert isinstance(data.docid, kind)
    assert list(data.docid) == list(docid)
    assert [list(query.docid) for query in data] == [[docid[0], docid[2]], [docid[1]]]


def test_positions_of_ids():
    data = small()
    assert [data.position_of(one) for one in "bac"] == [0, 1, 2]
    days = np.array(["2020-01-02", "2020-01-01"], dtype="M8[D]")
    dated = RankingDataset(X3[:2], [0, 0], qid=days)
    assert dated.position_of(days[1]) == 1
    assert [query.qid for query in dated] == list(days)
    with pytest.raises(KeyError, match=r"qid: expected one of the 3 queries, got 'z'"):
        data.position_of("z")


# ---------------------------------------------------------------- slicing


SELECTIONS = {
    "first": (0, [0]),
    "negative": (-1, [4]),
    "NumPy integer": (np.int32(2), [2]),
    "slice": (slice(1, 4), [1, 2, 3]),
    "open slice": (slice(None), [0, 1, 2, 3, 4]),
    "negative slice": (slice(-2, None), [3, 4]),
    "step": (slice(None, None, 2), [0, 2, 4]),
    "backwards": (slice(None, None, -1), [4, 3, 2, 1, 0]),
    "empty slice": (slice(3, 1), []),
    "beyond the end": (slice(3, 99), [3, 4]),
    "list": ([3, 0, -1], [3, 0, 4]),
    "empty list": ([], []),
    "unsigned": (np.array([1, 4], dtype=np.uint8), [1, 4]),
    "mask": (np.array([True, False, False, True, False]), [0, 3]),
    "list mask": ([False, True, False, False, True], [1, 4]),
    "empty mask": (np.zeros(5, dtype=bool), []),
}


@pytest.mark.parametrize("selection", SELECTIONS.values(), ids=SELECTIONS)
@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array], ids=["dense", "CSR"])
def test_selecting_queries(rng, selection, shuffled, make):
    index, expected = selection
    qid = np.repeat([30, 10, 50, 20, 40], [3, 1, 4, 2, 2])
    if shuffled:
        qid = rng.permutation(qid)
    X, y, weight = rng.standard_normal((12, 2)), rng.integers(0, 3, 12), rng.random(12)
    data = RankingDataset(
        make(X), y, qid=qid, sample_weight=weight, query_weight=np.arange(5), docid=[f"d{i}" for i in range(12)],
        feature_names=["a", "b"], allow_nan=True,
    )  # fmt: skip
    part = data[index]
    rows = [int(row) for query in expected for row in data.rows_of(query)]
    assert isinstance(part, RankingDataset)
    assert part.qid.tolist() == data.qid[expected].tolist()
    assert part.sizes.tolist() == data.sizes[expected].tolist()
    assert part.order is None
    np.testing.assert_array_equal(dense(part.X), X[rows])
    np.testing.assert_array_equal(part.y, y[rows])
    np.testing.assert_array_equal(part.sample_weight, weight[rows])
    np.testing.assert_array_equal(part.query_weight, np.arange(5.0)[expected])
    assert list(part.docid) == [f"d{row}" for row in rows]
    assert part.feature_names == ["a", "b"]
    assert part.allow_nan
    np.testing.assert_array_equal(part.row_qid(), qid[rows])


def test_slices_of_grouped_rows_share_memory():
    data = grouped()
    for part in (data[0], data[1:], data[:2], data[-1]):
        assert np.shares_memory(part.X, data.X)
        assert np.shares_memory(part.y, data.y)
        assert np.shares_memory(part.sample_weight, data.sample_weight)
        assert np.shares_memory(part.docid.data, data.docid.data)
    assert not np.shares_memory(data[[0, 1]].X, data.X)


def test_slices_around_empty_queries():
    data = RankingDataset(X3, [0, 1, 2], group=[0, 2, 0, 1, 0])
    assert data[1:4].sizes.tolist() == [2, 0, 1]
    assert data[[4, 3, 0]].sizes.tolist() == [0, 1, 0]
    assert data[0].n_rows == 0
    assert data[-1].n_rows == 0
    np.testing.assert_array_equal(data[[4, 3, 0]].X, X3[2:])


@pytest.mark.parametrize(
    ("index", "error", "message"),
    [
        (3, IndexError, r"^query: expected a position below 3, got 3$"),
        (-4, IndexError, r"^query: expected a position below 3, got -4$"),
        ([0, 3], IndexError, r"^queries: expected positions below 3, got 3$"),
        ([-4], IndexError, r"^queries: expected positions below 3, got -4$"),
        ([True, False], IndexError, r"^queries: expected a mask of 3 values, got 2$"),
        (
            [0, 0],
            ValueError,
            r"^queries: expected different positions, got one twice; a data set holds each query once$",
        ),
        ([0, -3], ValueError, r"^queries: expected different positions, got one twice"),
        ("b", TypeError, r"^queries: expected a position, a slice, a list of positions or a mask, got 'b'$"),
        (1.0, TypeError, r"^queries: expected a position"),
        ([0.5], TypeError, r"^queries: expected a position"),
        (True, TypeError, r"^queries: expected a position, .* got True$"),
    ],
)
def test_bad_selections(index, error, message):
    with pytest.raises(error, match=message):
        small()[index]


def test_rows_of_checks_its_position():
    assert small().rows_of(np.int64(-1)).tolist() == [3]
    with pytest.raises(IndexError, match=r"^query: expected a position below 3, got 3$"):
        small().rows_of(3)
    with pytest.raises(TypeError):
        small().rows_of(1.5)


# ---------------------------------------------------------------- concatenation


def test_parts_join_to_the_whole():
    whole = grouped()
    assert_same(RankingDataset.concatenate([whole[:1], whole[1:]]), whole)
    assert_same(RankingDataset.concatenate([whole]), whole)
    assert_same(RankingDataset.concatenate(iter([whole[0], whole[1], whole[2]])), whole)
    assert_same(RankingDataset.concatenate([whole[:0], whole]), whole)


def test_shuffled_members_keep_their_row_order():
    one, two = small(), small(qid=["x", "y", "x", "x", "z", "y"])
    both = RankingDataset.concatenate([one, two])
    np.testing.assert_array_equal(both.X, np.concatenate([one.X, two.X]), strict=True)
    assert both.row_qid().tolist() == one.row_qid().tolist() + two.row_qid().tolist()
    assert both.qid.tolist() == ["b", "a", "c", "x", "y", "z"]
    assert list(both.docid) == list(one.docid) + list(two.docid)
    np.testing.assert_array_equal(both.grouped_y, np.concatenate([one.grouped_y, two.grouped_y]))
    mixed = RankingDataset.concatenate([grouped(), two])
    np.testing.assert_array_equal(mixed.grouped_X, np.concatenate([grouped().X, two.grouped_X]))
    np.testing.assert_array_equal(mixed.order[:6], np.arange(6))


def test_keys_tell_equal_ids_apart():
    both = RankingDataset.concatenate([small(), small()], keys=["fold1", "fold2"])
    assert both.qid.tolist() == [(fold, one) for fold in ("fold1", "fold2") for one in "bac"]
    assert both.position_of(("fold2", "a")) == 4
    assert both.query_weight.tolist() == [10.0, 20.0, 30.0] * 2


def test_layouts_join():
    a = RankingDataset(np.eye(3, dtype=np.float32), [0, 1, 2], qid=[1, 1, 2])
    b = RankingDataset(2 * np.eye(3), [0.5, 1, 2], qid=["a", "a", "b"])
    c = RankingDataset(sparse.csr_array(3 * np.eye(3, dtype=np.float32)), [0, 1, 2], qid=[2**63, 5, 5])
    both = RankingDataset.concatenate([a, b])
    assert both.X.dtype == np.float64
    assert both.y.dtype == np.float64
    assert both.qid.tolist() == [1, 2, "a", "b"]
    mixed = RankingDataset.concatenate([a, c])
    assert isinstance(mixed.X, sparse.csr_array)
    assert mixed.X.dtype == np.float32
    assert mixed.qid.tolist() == [1, 2, 2**63, 5]
    np.testing.assert_array_equal(dense(mixed.X), np.concatenate([np.eye(3), 3 * np.eye(3)]))
    numbers = RankingDataset.concatenate([a, RankingDataset(X3[:, [0, 0, 0]], [0, 0, 0], group=[3], qid=[7, 7, 7])])
    assert numbers.qid.dtype == np.int64


def test_joining_keeps_whether_nan_is_allowed():
    holes = RankingDataset([[np.nan]], [1], qid=[2], allow_nan=True)
    plain = RankingDataset([[1.0]], [1], qid=[1])
    assert RankingDataset.concatenate([plain, holes]).allow_nan
    assert not RankingDataset.concatenate([plain]).allow_nan


def test_numpy_bools_become_bools():
    data = RankingDataset(X3, [0, 1, 2], group=[3], allow_nan=np.True_)
    assert data.allow_nan is True
    trusted = RankingDataset._trusted(X3, data.y, Grouping(data.qid, data.qptr, None), allow_nan=np.False_)
    assert trusted.allow_nan is False


@pytest.mark.parametrize(
    ("parts", "keys", "message"),
    [
        ([], None, r"^datasets: expected at least one data set, got none$"),
        (
            [small(), RankingDataset(X3[:, :1], [0, 0, 0], group=[3])],
            None,
            r"^datasets: expected the same features, got 2 features in data set 0 and 1 feature in data set 1$",
        ),
        (
            [small(), small(feature_names=["one", "other"])],
            None,
            r"^datasets: expected the same feature names, got others in data set 1 than in data set 0; set",
        ),
        (
            [small(), small()],
            None,
            r"^datasets: expected each query in one data set, got qid 'b' in data sets 0 and 1; pass keys=",
        ),
        ([small(), small()], ["a"], r"^keys: expected 2 keys \(one per data set\), got 1$"),
        ([small(), small()], ["a", "a"], r"^keys: expected different keys, got \['a', 'a'\]$"),
        (
            [small(), small(docid=None)],
            [1, 2],
            r"^datasets: expected docid in every data set or in none, got it in some$",
        ),
        ([small(sample_weight=None), small()], [1, 2], r"^datasets: expected sample_weight in every"),
        ([small(), small(query_weight=None)], [1, 2], r"^datasets: expected query_weight in every"),
    ],
)
def test_parts_that_do_not_join(parts, keys, message):
    with pytest.raises(ValueError, match=message):
        RankingDataset.concatenate(parts, keys=keys)


# ---------------------------------------------------------------- lazy parts, pickle, repr


def test_the_plan_is_built_when_asked_for_and_once(monkeypatch):
    built = []

    class Counting(dataset_module.QueryPlan):
        def __init__(self, *arguments):
            built.append(arguments)
            super().__init__(*arguments)

    monkeypatch.setattr(dataset_module, "QueryPlan", Counting)
    data = small()
    repr(data), data[0], list(data)
    assert built == []
    assert data.plan is data.plan
    assert len(built) == 1
    assert data.grouped_X is data.grouped_X
    assert data.grouped_y is data.grouped_y


@pytest.mark.parametrize("again", [lambda data: pickle.loads(pickle.dumps(data)), copy.copy, copy.deepcopy])
@pytest.mark.parametrize("make", [small, grouped, lambda: small()[1:]])
def test_copies_are_equal_and_leave_lazy_parts_behind(again, make):
    data = make()
    weights = data.plan.slam_weights("ndcg@2")
    data.position_of("a"), data.grouped_X
    other = again(data)
    assert_same(other, data)
    assert not {"plan", "grouped_X", "grouped_y", "_positions"} & set(vars(other))
    assert not other.qptr.flags.writeable
    assert not other.qid.flags.writeable
    np.testing.assert_array_equal(other.plan.slam_weights("ndcg@2"), weights)


def test_a_pickled_slice_is_small():
    data = RankingDataset(np.zeros((9000, 1)), np.zeros(9000), group=[1] * 9000, docid=["document" * 10] * 9000)
    assert len(pickle.dumps(data[5:7])) < 3000


def test_repr_says_what_it_is(tmp_path):
    assert repr(small()) == (
        "RankingDataset: 3 queries, 6 documents (1 to 3 a query, mean 2.0), 2 features (float32), grades 0 to 2, "
        "not grouped, document ids, row weights, query weights"
    )
    one = RankingDataset(sparse.csr_array(X3[:, :1]), [0, 0.5, 1], group=[3])
    assert repr(one) == "RankingDataset: 1 query, 3 documents (3 a query), 1 feature (CSR float64), grades 0 to 1"
    assert repr(one[:0]) == "RankingDataset: 0 queries, 0 documents, 1 feature (CSR float64)"
    X3.tofile(tmp_path / "X")
    mapped = RankingDataset(np.memmap(tmp_path / "X", dtype=float, mode="r", shape=(3, 2)), [0, 1, 1], group=[1, 2])
    assert "2 features (memory-mapped float64)" in repr(mapped)
    assert "memory-mapped" in repr(mapped[:1])
    long = RankingDataset(np.zeros((3001, 1)), np.zeros(3001), group=[1000, 2001])
    assert "(1,000 to 2,001 a query, mean 1,500.5)" in repr(long)


# ---------------------------------------------------------------- sentences


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (
            {},
            ValueError,
            r"^qid: expected the query of each row, got none of qid=, group= and qptr=; pass one id per row",
        ),
        ({"group": [3], "qptr": [0, 3]}, ValueError, r"^group, qptr: expected one of the two, got both$"),
        (
            {"qid": [1, 2]},
            ValueError,
            r"^qid: expected 3 ids \(one per row\), got 2; pass list lengths as group=$",
        ),
        ({"qid": [1, None, 2]}, ValueError, r"^qid: expected an id in every row, got None in row 1"),
        ({"qid": [1, 2, []]}, TypeError, r"^qid: expected hashable ids, got \[\] of type list in row 2$"),
        ({"qid": [1, 1, 1], "group": [2, 1]}, ValueError, r"^qid: expected each id in one group, .*splits a query"),
        ({"qid": [1, 2, 2], "qptr": [0, 2, 3]}, ValueError, r"^qid: expected one id per group, got 1 and 2 \(row 1\)"),
        ({"group": [2, 2]}, ValueError, r"^group: expected sizes that add up to the 3 rows, got 2 sizes that add"),
        ({"qptr": [0, 2]}, ValueError, r"^qptr: expected offsets from 0 to the number of rows \(3\), got 0 to 2$"),
        (
            {"qid": "query"},
            TypeError,
            r"^y, qid: expected arrays, got a column name, which needs X to be a data frame; X is a ndarray$",
        ),
        ({"y": "label", "group": [3]}, TypeError, r"^y, qid: expected arrays, got a column name"),
        (
            {"y": [0, 1], "group": [3]},
            ValueError,
            r"^y: expected 3 values \(one grade per row of X\), got 2; pass one for each$",
        ),
        ({"y": [0, -1, 2], "group": [3]}, ValueError, r"^y: expected grades of 0 .* got -1 in row 1; shift the grades"),
        ({"y": [0, 1, np.nan], "group": [3]}, ValueError, r"^y: expected finite values .* got nan at position 2$"),
        ({"y": [0, np.inf, 0], "group": [3]}, ValueError, r"^y: expected finite values .* got inf at position 1$"),
        (
            {"y": ["a", "b", "c"], "group": [3]},
            TypeError,
            r"^y: expected numbers \(one grade per row of X\), got dtype",
        ),
        (
            {"y": np.zeros((3, 2)), "group": [3]},
            ValueError,
            r"^y: expected a vector .* got an array of shape \(3, 2\)$",
        ),
        (
            {"X": [1.0, 2.0, 3.0], "group": [3]},
            ValueError,
            r"^X: expected a matrix .* shape \(3,\); use X.reshape\(-1, 1\)",
        ),
        ({"X": np.zeros((3, 1, 1)), "group": [3]}, ValueError, r"^X: expected a matrix .* of 3 dimensions and shape"),
        (
            {"X": [["a"], ["b"], ["c"]], "group": [3]},
            TypeError,
            r"^X: expected numbers .* got dtype <U1; convert or drop",
        ),
        ({"X": np.zeros((3, 1), complex), "group": [3]}, TypeError, r"^X: expected numbers .* got dtype complex128"),
        (
            {"feature_names": ["a"], "group": [3]},
            ValueError,
            r"^feature_names: expected 2 names \(one per column of X\), got 1$",
        ),
        (
            {"feature_names": ["a", "a"], "group": [3]},
            ValueError,
            r"^feature_names: expected different names, got 'a' twice$",
        ),
        ({"feature_names": "ab", "group": [3]}, TypeError, r"^feature_names: expected a list of names .* got 'ab'$"),
        (
            {"docid": ["a"], "group": [3]},
            ValueError,
            r"^docid: expected 3 document ids \(one per row of X\), got 1; pass them all$",
        ),
        ({"docid": "abc", "group": [3]}, ValueError, r"^docid: expected 3 document ids .* got 'abc'; pass them all$"),
        (
            {"docid": np.zeros((3, 2)), "group": [3]},
            ValueError,
            r"^docid: expected one document id per row .* \(3, 2\)$",
        ),
        (
            {"sample_weight": [1, 2], "group": [3]},
            ValueError,
            r"^sample_weight: expected 3 values \(one per row of X\), got 2; pass one for each$",
        ),
        (
            {"sample_weight": [1, -2, 0], "group": [3]},
            ValueError,
            r"^sample_weight: expected weights of 0 and above, got -2 at position 1$",
        ),
        (
            {"sample_weight": [1, np.nan, 0], "group": [3]},
            ValueError,
            r"^sample_weight: expected finite values .* got nan at position 1$",
        ),
        (
            {"query_weight": [1, 2], "group": [3]},
            ValueError,
            r"^query_weight: expected 1 values \(one per query\), got 2; pass one for each$",
        ),
        (
            {"query_weight": {"a": 1}, "qid": list("aba")},
            ValueError,
            r"^query_weight: expected a weight for every query, got none for 'b'$",
        ),
        ({"n_jobs": 0, "group": [3]}, ValueError, r"^n_jobs: expected a positive number of threads"),
        ({"n_jobs": "all", "group": [3]}, TypeError, r"^n_jobs: expected an integer or None, got 'all'$"),
    ],
)
def test_bad_input_gets_a_sentence(options, error, message):
    with pytest.raises(error, match=message):
        RankingDataset(**({"X": X3, "y": [0, 1, 2]} | options))


@pytest.mark.parametrize("make", [np.asarray, np.asfortranarray, sparse.csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_values_that_are_not_finite_are_found(make, dtype, n_jobs):
    n_rows = 40_000
    X = np.ones((n_rows, 7), dtype=dtype)
    for row, column in ((0, 0), (n_rows - 1, 6), (21_845, 3)):
        for value, mend in ((np.nan, "pass allow_nan=True"), (np.inf, "clip or drop"), (-np.inf, "clip or drop")):
            bad = X.copy()
            bad[row:, column] = value  # the first is named
            with pytest.raises(ValueError, match=rf"^X: expected .* got {value} in row {row}, column {column}; {mend}"):
                RankingDataset(make(bad), np.zeros(n_rows), group=[n_rows], n_jobs=n_jobs)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_nan_is_kept_where_allowed(make):
    X = np.array([[1.0, np.nan], [0.0, 2.0]])
    data = RankingDataset(make(X), [0, 1], group=[2], allow_nan=True)
    np.testing.assert_array_equal(dense(data.X), X)
    X[1, 1] = np.inf
    with pytest.raises(ValueError, match=r"^X: expected finite values, got inf in row 1, column 1; clip or drop"):
        RankingDataset(make(X), [0, 1], group=[2], allow_nan=True)


def test_broken_csr():
    good = sparse.csr_array(np.eye(3))
    for index, got in ((7, "0 to 7"), (-1, "-1 to 2")):
        bad = good.copy()
        bad.indices[1] = index
        with pytest.raises(ValueError, match=rf"^X: expected column indices from 0 to 2, got {got}; build the CSR"):
            RankingDataset(bad, [0, 0, 0], group=[3])
    bad = good.copy()
    bad.indptr[:] = [0, 3, 1, 3]
    with pytest.raises(ValueError, match=r"^X: expected a CSR matrix whose indptr never decreases"):
        RankingDataset(bad, [0, 0, 0], group=[3])


def test_ids_may_be_dates_of_python():
    days = [datetime.date(2020, 1, 2), datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)]
    assert RankingDataset(X3, [0, 1, 2], qid=days).position_of(days[1]) == 1


def test_frame_columns_for_document_ids_and_weights():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"f": [1.0, 2.0], "q": ["a", "a"], "label": [0, 1], "doc": ["x", "y"], "w": [0.5, 2.0]})
    data = RankingDataset(frame, "label", qid="q", docid="doc", sample_weight="w")
    assert data.feature_names == ["f"]
    assert list(data.docid) == ["x", "y"]
    assert data.sample_weight.tolist() == [0.5, 2.0]


def test_lazy_frame_is_told_to_collect():
    polars = pytest.importorskip("polars")
    with pytest.raises(TypeError, match=r"call X.collect\(\) first"):
        RankingDataset(polars.LazyFrame({"f": [1.0], "q": [1]}), "f", qid="q")


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"X": [[1.0], [1.0, 2.0]]}, ValueError, "X: expected rows of the same length"),
        ({"X": np.ma.masked_array([[1.0], [2.0]], [[True], [False]])}, TypeError, "X: .* got a masked array"),
        ({"docid": 5}, TypeError, "docid: expected a sequence of document ids"),
        ({"feature_names": 5}, TypeError, "feature_names: expected a list of names"),
        ({"qid": {1, 2}}, TypeError, "qid: expected a sequence with one query id"),
        ({"qid": {1: 2, 3: 4}}, TypeError, "qid: expected a sequence with one query id"),
    ],
)
def test_unusual_input_gets_a_sentence_too(options, error, message):
    arguments = {"X": [[1.0], [2.0]], "y": [0, 1], "qid": [1, 1], **options}
    with pytest.raises(error, match=message):
        RankingDataset(arguments.pop("X"), arguments.pop("y"), **arguments)


def test_real_grades_are_not_the_callers_array():
    y = np.array([0.5, 1.5])
    data = RankingDataset([[1.0], [2.0]], y, group=[2])
    y[0] = 9.0
    assert data.y.tolist() == [0.5, 1.5]


def test_other_features_keep_the_plan():
    data = RankingDataset([[1.0], [2.0]], [0, 1], group=[2])
    plan = data.plan
    assert data.with_X([[3.0, 4.0], [5.0, 6.0]]).plan is plan


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
def test_fork_while_a_plan_is_being_built():
    rng = np.random.default_rng(0)
    large = RankingDataset(np.zeros((2_000_000, 1)), rng.random(2_000_000), group=[2_000_000])
    small = RankingDataset([[1.0]], [1], group=[1])
    building = threading.Thread(target=lambda: large.plan)
    building.start()
    time.sleep(0.02)
    child = os.fork()
    if child == 0:
        signal.alarm(20)  # a child that waits for ever is killed
        os._exit(0 if small.plan.ideal_dcg().tolist() == [1.0] else 1)
    building.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
