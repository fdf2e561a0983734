"""Data sets from pandas, polars and pyarrow frames."""

import datetime

import numpy as np
import pytest

from fastrank.data._strings import StringColumn
from fastrank.data.dataset import RankingDataset

COLUMNS = {
    "query": [7, 3, 7, 7],
    "label": [0, 1, 2, 0],
    "bm25": [0.5, 1.5, 2.5, 3.5],
    "clicks": [1, 0, 3, 2],
    "fresh": [True, False, True, True],
}
EXPECTED = np.array([[0.5, 1, 1], [1.5, 0, 0], [2.5, 3, 1], [3.5, 2, 1]])


def pandas_frame(columns):
    return pytest.importorskip("pandas").DataFrame(columns)


def polars_frame(columns):
    return pytest.importorskip("polars").DataFrame(columns)


def arrow_table(columns):
    return pytest.importorskip("pyarrow").table(columns)


def arrow_batch(columns):
    return pytest.importorskip("pyarrow").record_batch(columns)


def arrow_chunks(columns):
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table(columns)
    return pyarrow.concat_tables([table.slice(0, 1), table.slice(1)])


every_frame = pytest.mark.parametrize(
    "frame", [pandas_frame, polars_frame, arrow_table, arrow_batch, arrow_chunks], ids=lambda make: make.__name__
)


@every_frame
def test_columns_by_name(frame):
    data = RankingDataset(frame(COLUMNS), "label", qid="query")
    np.testing.assert_array_equal(data.X, EXPECTED, strict=True)
    assert data.X.flags.c_contiguous
    np.testing.assert_array_equal(data.y, np.array([0, 1, 2, 0], dtype=np.int32), strict=True)
    assert data.feature_names == ["bm25", "clicks", "fresh"]
    assert data.qid.tolist() == [7, 3]
    assert data.row_qid().tolist() == [7, 3, 7, 7]


@every_frame
def test_arrays_and_columns_may_be_mixed(frame):
    features = {name: COLUMNS[name] for name in ("bm25", "clicks", "fresh")}
    for y, qid, table in (
        (COLUMNS["label"], "query", features | {"query": COLUMNS["query"]}),
        ("label", COLUMNS["query"], {"label": COLUMNS["label"]} | features),
        (COLUMNS["label"], np.array(COLUMNS["query"]), features),
    ):
        data = RankingDataset(frame(table), y, qid=qid)
        np.testing.assert_array_equal(data.X, EXPECTED)
        assert data.row_qid().tolist() == COLUMNS["query"]
        assert data.feature_names == ["bm25", "clicks", "fresh"]
    by_size = RankingDataset(frame(features), COLUMNS["label"], group=[1, 3])
    assert by_size.sizes.tolist() == [1, 3]


@every_frame
def test_columns_themselves_as_arguments(frame):
    table = frame(COLUMNS | {"document": ["d1", "d2", "d3", "d4"], "weight": [1.0, 2.0, 3.0, 4.0]})
    data = RankingDataset(
        EXPECTED, table["label"], qid=table["query"], docid=table["document"], sample_weight=table["weight"]
    )
    assert data.row_qid().tolist() == COLUMNS["query"]
    assert isinstance(data.docid, StringColumn)
    assert list(data.docid) == ["d1", "d2", "d3", "d4"]
    assert data.sample_weight.tolist() == [1.0, 2.0, 3.0, 4.0]


@every_frame
@pytest.mark.parametrize(
    "ids",
    [["b", "a", "b", "c"], [datetime.date(2020, 1, day) for day in (2, 1, 2, 3)], [2.5, 1.5, 2.5, 3.5]],
    ids=["strings", "dates", "floats"],
)
def test_ids_of_other_kinds(frame, ids):
    data = RankingDataset(frame({"query": ids, "a": [0.0, 1.0, 2.0, 3.0]}), [0, 0, 0, 0], qid="query")
    assert data.n_queries == 3
    assert data.sizes.tolist() == [2, 1, 1]
    assert [data.rows_of(i).tolist() for i in range(3)] == [[0, 2], [1], [3]]
    if isinstance(ids[0], str):
        assert data.row_qid().tolist() == ids


@every_frame
def test_float32_columns_stay_float32(frame):
    single = {name: np.array([1, 2, 3], dtype=np.float32) for name in "ab"}
    assert RankingDataset(frame(single), [0, 0, 0], group=[3]).X.dtype == np.float32
    mixed = RankingDataset(frame(single | {"c": np.array([1.0, 2.0, 1e300])}), [0, 0, 0], group=[3])
    assert mixed.X.dtype == np.float64
    assert mixed.X[2].tolist() == [3.0, 3.0, 1e300]


@every_frame
def test_own_feature_names_win(frame):
    data = RankingDataset(frame(COLUMNS), "label", qid="query", feature_names=["x", "y", "z"])
    assert data.feature_names == ["x", "y", "z"]


@every_frame
def test_frames_without_features_or_rows(frame):
    nothing = RankingDataset(frame({"query": [1, 2], "label": [0, 1]}), "label", qid="query")
    assert nothing.X.shape == (2, 0)
    assert nothing.feature_names == []
    empty = {"query": np.zeros(0, dtype=np.int64), "label": np.zeros(0), "a": np.zeros(0)}
    assert RankingDataset(frame(empty), "label", qid="query").X.shape == (0, 1)


@every_frame
def test_missing_values(frame):
    holes = frame({"query": [1, 1, 2], "a": [0.5, 1.5, 2.5], "b": [1.0, None, 3.0]})
    with pytest.raises(
        ValueError, match=r"^X: expected finite values, got nan in row 1, column 1; pass allow_nan=True"
    ):
        RankingDataset(holes, [0, 1, 2], qid="query")
    data = RankingDataset(holes, [0, 1, 2], qid="query", allow_nan=True)
    np.testing.assert_array_equal(data.X, [[0.5, 1], [1.5, np.nan], [2.5, 3]])
    for ids in ([1, None, 2], ["a", None, "b"]):
        with pytest.raises(ValueError, match=r"^qid: expected an id in every row, got .* in row 1; drop or fill"):
            RankingDataset(frame({"query": ids, "a": [0.0, 1.0, 2.0]}), [0, 1, 2], qid="query")
    with pytest.raises(ValueError, match=r"^y: expected finite values .* got nan at position 1$"):
        RankingDataset(frame({"label": [1.0, None, 2.0], "a": [0.0, 1.0, 2.0]}), "label", group=[3])


@every_frame
def test_sentences(frame):
    table = frame(COLUMNS)
    names = r"query, label, bm25, clicks, fresh"
    with pytest.raises(ValueError, match=rf"^qid: expected the name of a column of X \({names}\), got 'qry'$"):
        RankingDataset(table, "label", qid="qry")
    with pytest.raises(ValueError, match=rf"^y: expected the name of a column of X \({names}\), got 'grade'$"):
        RankingDataset(table, "grade", qid="query")
    text = frame(COLUMNS | {"url": ["a", "b", "c", "d"]})
    message = (
        r"^X: expected numeric feature columns, got column 'url' of dtype .*; encode it, or drop it from the frame$"
    )
    with pytest.raises(TypeError, match=message):
        RankingDataset(text, "label", qid="query")


def test_pandas_labels_that_are_not_strings():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(np.arange(12.0).reshape(3, 4), columns=[0, 1, ("a", 2), "query"])
    data = RankingDataset(frame, "1", qid="query")
    assert data.feature_names == ["0", "('a', 2)"]
    assert data.y.tolist() == [1, 5, 9]
    np.testing.assert_array_equal(data.X, [[0, 2], [4, 6], [8, 10]])


def test_pandas_labels_twice():
    pandas = pytest.importorskip("pandas")
    for labels in (["a", "a", "q"], [1, "1", "q"]):
        frame = pandas.DataFrame(np.ones((2, 3)), columns=labels)
        message = rf"^X: expected a frame whose columns have different names, got '{labels[0]}' twice; rename one$"
        with pytest.raises(ValueError, match=message):
            RankingDataset(frame, [0, 1], qid="q")


def test_pandas_types_of_its_own():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {
            "query": pandas.Categorical(["x", "y", "x"]),
            "whole": pandas.array([1, 2, 3], dtype="Int64"),
            "real": pandas.array([0.5, 1.5, 2.5], dtype="Float64"),
            "sparse": pandas.arrays.SparseArray([0.0, 0.0, 4.0]),
        },
        index=[30, 10, 20],
    )
    data = RankingDataset(frame, pandas.Series([0, 1, 2], index=[5, 6, 7]), qid="query")
    assert data.row_qid().tolist() == ["x", "y", "x"]
    np.testing.assert_array_equal(data.X, [[1, 0.5, 0], [2, 1.5, 0], [3, 2.5, 4]])
    assert data.y.tolist() == [0, 1, 2]


def test_the_frame_is_not_changed():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(COLUMNS)
    before = frame.copy(deep=True)
    RankingDataset(frame, "label", qid="query").X[:] = -1
    pandas.testing.assert_frame_equal(frame, before)
