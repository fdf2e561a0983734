"""Long ids, and writing LETOR text that reads back the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from letor_helpers import (
    ADVERSARIAL,
    DTYPES,
    a_dataset,
    write,
)
from scipy import sparse as sp

from fastrank._core import _letor
from fastrank.data.dataset import RankingDataset
from fastrank.data.letor import load_letor, save_letor

# Long ids.


def test_reader_one_very_long_qid_among_many(tmp_path):
    ids = [f"q{i}" for i in range(20_000)]
    ids[7] = "x" * 1_000_000
    path = write(tmp_path, "".join(f"1 qid:{one} 1:1\n0 qid:{one} 1:2\n" for one in ids).encode())
    data = load_letor(path)
    assert data.qid.dtype == object
    assert data.qid.tolist() == ids
    path = write(tmp_path, path.read_bytes() + b"1 qid:q3 1:3\n")
    data = load_letor(path)
    assert data.qid.tolist() == ids
    assert data.sizes[3] == 3
    assert load_letor(write(tmp_path, ADVERSARIAL["qid of many digits"])).qid.dtype.kind == "U"


# Writing.


def assert_round_trip(
    data: RankingDataset, path: Path, *, decimals: int | None = None, **options: Any
) -> RankingDataset:
    save_letor(data, path, decimals=decimals, index_base=options.get("index_base", 1))
    back = load_letor(path, dtype=data.X.dtype, n_features=data.n_features, sparse=sp.issparse(data.X), **options)
    assert back.y.tolist() == data.y.tolist()
    assert [str(one) for one in back.row_qid().tolist()] == [str(one) for one in data.row_qid().tolist()]
    assert (back.docid is None) == (data.docid is None)
    assert back.docid is None or list(back.docid) == [str(one) for one in data.docid]
    if decimals is None:
        one, two = (X.toarray() if sp.issparse(X) else X for X in (data.X, back.X))
        assert np.array_equal(one, two, equal_nan=True)
        if not sp.issparse(data.X):
            assert (np.signbit(one) == np.signbit(two)).all()
    return back


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("name", ["out.txt", "out.txt.gz"])
@pytest.mark.parametrize("index_base", [0, 1])
def test_save_and_load_gives_the_same_bits(dtype, sparse, name, index_base, rng, tmp_path):
    path = tmp_path / name
    assert_round_trip(a_dataset(rng, dtype, sparse=sparse), path, index_base=index_base)
    assert (path.read_bytes()[:2] == b"\x1f\x8b") == name.endswith(".gz")
    assert [file.name for file in tmp_path.iterdir()] == [name]


@settings(max_examples=50, deadline=None)
@given(values=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=8))
def test_save_and_load_any_doubles(folder, values):
    data = RankingDataset(np.array([values]), [1], qid=[1])
    assert_round_trip(data, folder / "out.txt")


@pytest.mark.parametrize("sparse", [False, True])
def test_save_and_load_with_decimals(sparse, rng, tmp_path):
    data = a_dataset(rng, np.float64, sparse=sparse)
    back = assert_round_trip(data, tmp_path / "out.txt", decimals=6)
    one, two = (X.toarray() if sparse else X for X in (data.X, back.X))
    assert np.abs(one - two).max() <= 0.5e-6 * (1 + 1e-6)
    assert np.abs(one - two).max() > 0
    again = assert_round_trip(back, tmp_path / "again.txt", decimals=6)
    assert np.array_equal(again.X.toarray() if sparse else again.X, two)


def test_save_text_by_hand(tmp_path):
    data = RankingDataset([[0.5, 0, -2], [1e-7, 3, 4]], [2, 0], qid=["b", "a"], docid=["x", ""])
    save_letor(data, tmp_path / "out.txt")
    assert (tmp_path / "out.txt").read_text() == "2 qid:b 1:0.5 2:0 3:-2 #docid = x\n0 qid:a 1:0.0000001 2:3 3:4\n"
    save_letor(data, tmp_path / "out.txt", decimals=2, index_base=0)
    assert (
        tmp_path / "out.txt"
    ).read_text() == "2 qid:b 0:0.50 1:0.00 2:-2.00 #docid = x\n0 qid:a 0:0.00 1:3.00 2:4.00\n"


@pytest.mark.parametrize(
    "grades",
    [[1234567, 2147483647], [0.5, 1 / 3], [1e300, 1e-300], [3e9, 0.1 + 0.2], [12345678.5, 0], [2**53 + 2.0, 1]],
)
def test_save_and_load_grades(grades, tmp_path):
    back = assert_round_trip(RankingDataset([[1.0], [2.0]], grades, qid=[1, 1]), tmp_path / "out.txt")
    assert back.y.tolist() == grades


@pytest.mark.parametrize("qid", [["a", "b"], ["007", "7"], [3, -4], [2.5, 1.0], ["é", "日"], ["9" * 30, "1"]])
def test_save_and_load_qids(qid, tmp_path):
    back = assert_round_trip(RankingDataset([[1.0], [2.0]], [1, 0], qid=qid), tmp_path / "out.txt")
    assert back.n_queries == 2


@pytest.mark.parametrize("docid", [["", "x"], ["x", ""], ["docid", "="], ["é", "日"], ["a=b", "docid=3"]])
def test_save_and_load_docids(docid, tmp_path):
    assert_round_trip(RankingDataset([[1.0], [2.0]], [1, 0], qid=[1, 1], docid=docid), tmp_path / "out.txt")


@pytest.mark.parametrize("sparse", [False, True])
def test_save_and_load_missing_values(sparse, tmp_path):
    X = np.array([[np.nan, 1], [2, np.nan]])
    data = RankingDataset(sp.csr_array(X) if sparse else X, [1, 0], qid=[1, 1], allow_nan=True)
    assert_round_trip(data, tmp_path / "out.txt", missing="nan")


def test_save_without_features_or_entries(tmp_path):
    assert_round_trip(RankingDataset(np.zeros((2, 0)), [1, 0], qid=[1, 1]), tmp_path / "out.txt")
    assert_round_trip(RankingDataset(sp.csr_array((2, 3)), [1, 0], qid=[1, 1]), tmp_path / "out.txt")


def test_save_same_data_same_bytes(rng, tmp_path):
    data = a_dataset(rng)
    for name in ("a.gz", "b.gz"):
        save_letor(data, tmp_path / name)
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()


def test_save_what_the_format_cannot_hold(tmp_path):
    data = RankingDataset(np.ones((3, 1)), [1, 0, 1], group=[2, 0, 1, 0])
    with pytest.raises(
        ValueError, match=r"every query, got 2 queries without, the first is query 1; .*sizes > 0\], or"
    ):
        save_letor(data, tmp_path / "out.txt")
    save_letor(data[data.sizes > 0], tmp_path / "out.txt")
    assert load_letor(tmp_path / "out.txt").sizes.tolist() == [2, 1]
    (tmp_path / "out.txt").unlink()
    with pytest.raises(ValueError, match=r"dataset: expected at least one row, got none, .*; save the"):
        save_letor(RankingDataset(np.ones((0, 1)), [], qid=[]), tmp_path / "out.txt")
    entry = sp.csr_array(([1.0], ([0], [2**31 - 3])), shape=(1, 2**31 - 2))
    save_letor(RankingDataset(entry, [1], qid=[1]), tmp_path / "out.txt")
    assert load_letor(tmp_path / "out.txt", sparse=True).X.shape == (1, 2**31 - 2)
    (tmp_path / "out.txt").unlink()
    entry = sp.csr_array(([1.0], ([0], [2**32])), shape=(1, 2**32 + 1))
    with pytest.raises(
        ValueError, match="expected at most 2,147,483,646 features, as load_letor reads, got 4,294,967,297"
    ):
        save_letor(RankingDataset(entry, [1], qid=[1]), tmp_path / "out.txt")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["a b", "a#b", "a\tb", "a\nb", "a\0b", "\u2003", "a\x01", "\x7f"])
@pytest.mark.parametrize("name", ["qid", "docid"])
def test_save_id_that_the_format_cannot_hold(name, text, tmp_path):
    ids = {"qid": [1, 1], "docid": ["x", "y"]} | {name: ["x", text]}
    with pytest.raises(ValueError, match=f"{name}: expected ids that LETOR text can hold .*; rename such ids, or save"):
        save_letor(RankingDataset([[1.0], [2.0]], [1, 0], **ids), tmp_path / "out.txt")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("decimals", [-1, 16])
def test_save_decimals_that_make_no_sense(decimals, rng, tmp_path):
    with pytest.raises(ValueError, match="decimals: expected"):
        save_letor(a_dataset(rng), tmp_path / "out.txt", decimals=decimals)


@pytest.mark.parametrize("name", ["out.txt", "out.txt.gz"])
@pytest.mark.parametrize("exists", [False, True])
@pytest.mark.parametrize("failing", ["row", "sync", "replace", "interrupt"])
def test_save_that_fails_leaves_nothing_half_written(name, exists, failing, rng, tmp_path):
    data = a_dataset(rng)
    path = tmp_path / name
    if exists:
        path.write_bytes(b"old")
    error = KeyboardInterrupt() if failing == "interrupt" else OSError("No space left on device")
    if failing in ("row", "interrupt"):
        results = [_letor.format_row_into(data.X[0], None, 1, -1, bytearray(1000))] * 20
        failure = mock.patch.object(_letor, "format_row_into", side_effect=[*results, error])
    else:
        failure = (
            mock.patch("os.fsync", side_effect=error)
            if failing == "sync"
            else mock.patch.object(Path, "replace", side_effect=error)
        )
    with failure, pytest.raises(type(error)):
        save_letor(data, path)
    assert [file.name for file in tmp_path.iterdir()] == ([name] if exists else [])
    assert not exists or path.read_bytes() == b"old"


def test_save_into_a_folder_that_is_not_there(rng, tmp_path):
    with pytest.raises(FileNotFoundError):
        save_letor(a_dataset(rng), tmp_path / "absent" / "out.txt")
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError):
        save_letor(a_dataset(rng), tmp_path / "folder")
    assert [file.name for file in tmp_path.iterdir()] == ["folder"]


def test_save_leaves_the_data_set_as_it_is(rng, tmp_path):
    data = a_dataset(rng)
    X, y = data.X.copy(), data.y.copy()
    data.X.flags.writeable = False
    save_letor(data, tmp_path / "out.txt")
    assert data.X.tobytes() == X.tobytes()
    assert data.y.tobytes() == y.tobytes()


def test_save_permissions_are_those_of_a_new_file(rng, tmp_path):
    save_letor(a_dataset(rng), tmp_path / "out.txt")
    other = write(tmp_path, b"", "other")
    assert (tmp_path / "out.txt").stat().st_mode == other.stat().st_mode
