from __future__ import annotations

import json
import os
import zlib
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import fastrank as fr
from fastrank.data import cache


def make(kind: str = "dense") -> fr.RankingDataset:
    rng = np.random.default_rng(5)
    X = np.where(rng.random((60, 4)) < 0.4, 0.0, rng.normal(size=(60, 4))).astype(np.float32)
    return fr.RankingDataset(
        sparse.csr_array(X) if kind == "csr" else X,
        rng.integers(0, 3, 60) / (2 if kind == "real grades" else 1),
        qid=rng.integers(0, 8, 60) if kind != "strings" else [f"frage-{i % 7}-é" for i in range(60)],
        docid=[f"d{i}" * (i % 3) for i in range(60)],
        feature_names=["a", "b", "c", "d"],
        sample_weight=rng.random(60),
        query_weight=rng.random(8 if kind != "strings" else 7),
    )


def assert_same(one: fr.RankingDataset, two: fr.RankingDataset) -> None:
    for X, Z in [(one.X, two.X)]:
        assert X.dtype == Z.dtype
        assert np.array_equal(X.toarray() if sparse.issparse(X) else X, Z.toarray() if sparse.issparse(Z) else Z)
    assert one.y.dtype == two.y.dtype
    for name in ("y", "qid", "qptr", "sample_weight", "query_weight"):
        assert np.array_equal(getattr(one, name), getattr(two, name)), name
    assert np.array_equal(one.row_qid(), two.row_qid())
    assert list(one.docid) == list(two.docid)
    assert one.feature_names == two.feature_names
    assert one.allow_nan == two.allow_nan


@pytest.mark.parametrize("mmap", [True, False])
@pytest.mark.parametrize("kind", ["dense", "csr", "strings", "real grades"])
def test_round_trip(tmp_path, kind, mmap):
    data = make(kind)
    data.save(tmp_path / "c")
    again = fr.RankingDataset.load(tmp_path / "c", mmap=mmap)
    assert_same(data, again)
    assert ("memory-mapped" in repr(again)) == (mmap and kind != "csr")


def test_round_trip_of_a_slice_stores_only_its_documents(tmp_path):
    data = make()[2:4]
    data.save(tmp_path / "c")
    assert_same(data, fr.RankingDataset.load(tmp_path / "c"))
    stored = np.load(tmp_path / "c" / "docid_data.npy")
    assert len(stored) == sum(len(one) for one in data.docid)


def test_empty_data_set(tmp_path):
    fr.RankingDataset(np.empty((0, 3)), [], group=[]).save(tmp_path / "c")
    assert fr.RankingDataset.load(tmp_path / "c").n_rows == 0


def test_missing_values_survive(tmp_path):
    data = fr.RankingDataset([[np.nan], [1.0]], [0, 1], group=[2], allow_nan=True)
    data.save(tmp_path / "c")
    again = fr.RankingDataset.load(tmp_path / "c")
    assert np.isnan(again.X[0, 0])
    assert again.allow_nan


def test_existing_path_is_kept_unless_asked(tmp_path):
    data = make()
    data.save(tmp_path / "c")
    with pytest.raises(FileExistsError, match="expected a new folder.*which exists"):
        data[:2].save(tmp_path / "c")
    assert_same(data, fr.RankingDataset.load(tmp_path / "c"))
    data[:2].save(tmp_path / "c", overwrite=True)
    assert fr.RankingDataset.load(tmp_path / "c").n_queries == 2
    assert [entry.name for entry in tmp_path.iterdir()] == ["c"]


def test_overwrite_spares_what_is_not_a_cache(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    with pytest.raises(FileExistsError, match="a binary cache to replace, got .*mine"):
        make().save(tmp_path / "mine", overwrite=True)
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "years of work"


@pytest.mark.parametrize("existing", [True, False])
def test_failed_write_leaves_nothing(tmp_path, monkeypatch, existing):
    data = make()
    if existing:
        data.save(tmp_path / "c")
    calls = []

    def full_disk(chunk, crc=0):
        calls.append(len(chunk))
        if len(calls) > 6:
            raise OSError(28, "No space left on device")
        return zlib.crc32(b"", crc)

    monkeypatch.setattr(cache.zlib, "crc32", full_disk)
    with pytest.raises(OSError, match="No space"):
        data[:1].save(tmp_path / "c", overwrite=True)
    monkeypatch.undo()
    assert [entry.name for entry in tmp_path.iterdir()] == (["c"] if existing else [])
    if existing:
        assert_same(data, fr.RankingDataset.load(tmp_path / "c"))


def test_ids_that_are_neither_numbers_nor_strings(tmp_path):
    data = fr.RankingDataset([[1.0]], [1], qid=[("a", 1)])
    with pytest.raises(TypeError, match="qid: expected ids that are numbers or strings, got"):
        data.save(tmp_path / "c")
    assert not (tmp_path / "c").exists()


def rewrite_manifest(folder: Path, **changes: object) -> None:
    path = folder / cache.MANIFEST
    content = json.loads(path.read_text())
    del content["crc32"]
    content.update(changes)
    path.write_text(json.dumps({**content, "crc32": cache._crc_of(content)}))


@pytest.mark.parametrize("name", ["X", "y", "qptr", "qid", "docid_data", "order"])
def test_cut_off_array(tmp_path, name):
    make().save(tmp_path / "c")
    file = tmp_path / "c" / f"{name}.npy"
    os.truncate(file, file.stat().st_size - 1)
    with pytest.raises(fr.DataFormatError, match=rf"{name}.npy: expected [\d,]+ bytes, got [\d,]+: the"):
        fr.RankingDataset.load(tmp_path / "c")
    file.unlink()
    with pytest.raises(fr.DataFormatError, match="got no such file"):
        fr.RankingDataset.load(tmp_path / "c")


def test_manifest_cut_at_every_byte(tmp_path):
    make().save(tmp_path / "c")
    path = tmp_path / "c" / cache.MANIFEST
    whole = path.read_bytes()
    for size in range(0, len(whole), 7):
        path.write_bytes(whole[:size])
        with pytest.raises(fr.DataFormatError, match="damaged or cut off"):
            fr.RankingDataset.load(tmp_path / "c")


def test_changed_bytes_are_found_by_the_checksum(tmp_path):
    make().save(tmp_path / "c")
    file = tmp_path / "c" / "X.npy"
    content = bytearray(file.read_bytes())
    content[-5] ^= 1
    file.write_bytes(content)
    fr.RankingDataset.load(tmp_path / "c")  # mapped: not read, so not checked
    for options in ({"mmap": False}, {"verify": True}):
        with pytest.raises(fr.DataFormatError, match="agree with their checksum"):
            fr.RankingDataset.load(tmp_path / "c", **options)


def test_changed_manifest(tmp_path):
    make().save(tmp_path / "c")
    path = tmp_path / "c" / cache.MANIFEST
    path.write_text(path.read_text().replace('"n_features": 4', '"n_features": 5'))
    with pytest.raises(fr.DataFormatError, match="manifest that agrees with its checksum"):
        fr.RankingDataset.load(tmp_path / "c")


def test_newer_version(tmp_path):
    make().save(tmp_path / "c")
    rewrite_manifest(tmp_path / "c", version=cache.FORMAT_VERSION + 1, written_by="9.9")
    with pytest.raises(fr.DataFormatError, match=r"version 1 or older, got version 2, written by fastrank 9"):
        fr.RankingDataset.load(tmp_path / "c")


def test_not_a_cache(tmp_path):
    with pytest.raises(fr.DataFormatError, match="got nothing"):
        fr.RankingDataset.load(tmp_path / "absent")
    with pytest.raises(fr.DataFormatError, match="got a folder without it"):
        fr.RankingDataset.load(tmp_path)
    (tmp_path / "file").write_text("x")
    with pytest.raises(fr.DataFormatError, match="got a file"):
        fr.RankingDataset.load(tmp_path / "file")
    make().save(tmp_path / "c")
    rewrite_manifest(tmp_path / "c", format="something-else")
    with pytest.raises(fr.DataFormatError, match="expected the format 'fastrank-dataset'"):
        fr.RankingDataset.load(tmp_path / "c")


def test_type_that_disagrees_with_the_manifest(tmp_path):
    make().save(tmp_path / "c")
    X = np.load(tmp_path / "c" / "X.npy")
    np.save(tmp_path / "c" / "X.npy", X.view(np.int32))
    with pytest.raises(fr.DataFormatError, match=r"expected <f4 of shape \[60, 4\], got <i4"):
        fr.RankingDataset.load(tmp_path / "c")


@pytest.mark.parametrize("name", ["qptr", "y", "order", "qid", "sample_weight"])
def test_what_kernels_trust_is_checked_even_when_mapped(tmp_path, name):
    make().save(tmp_path / "c")
    file = tmp_path / "c" / f"{name}.npy"
    content = bytearray(file.read_bytes())
    content[-3] ^= 0x40
    file.write_bytes(content)
    with pytest.raises(fr.DataFormatError, match="agree with their checksum"):
        fr.RankingDataset.load(tmp_path / "c")


@pytest.mark.parametrize("overwrite", [True, False])
def test_what_appears_meanwhile_is_kept(tmp_path, overwrite):
    class Meddler:
        def update(self, fraction: float) -> None:
            (tmp_path / "c").mkdir(exist_ok=True)
            (tmp_path / "c" / "precious.txt").write_text("mine")

    with pytest.raises(FileExistsError, match="which exists"):
        make().save(tmp_path / "c", overwrite=overwrite, progress=Meddler())
    assert [entry.name for entry in tmp_path.rglob("*")] == ["c", "precious.txt"]


def test_missing_parent_folder(tmp_path):
    with pytest.raises(FileNotFoundError, match="expected a folder to write to, got .*nowhere: nothing there; make it"):
        make().save(tmp_path / "nowhere" / "c")


@pytest.mark.parametrize("qid", [[1.5, 2.5], [True, False]])
def test_ids_of_every_numeric_kind(tmp_path, qid):
    data = fr.RankingDataset([[1.0], [2.0]], [0, 1], qid=qid)
    data.save(tmp_path / "c")
    assert fr.RankingDataset.load(tmp_path / "c").qid.tolist() == qid


def test_one_long_id_costs_its_own_bytes(tmp_path):
    qid = np.array(["x" * 1_000_000, *(f"q{i}" for i in range(2000))], dtype=object)
    data = fr.RankingDataset(np.zeros((len(qid), 1)), np.zeros(len(qid)), qid=qid)
    data.save(tmp_path / "c")
    assert sum(file.stat().st_size for file in (tmp_path / "c").iterdir()) < 2_000_000
    assert fr.RankingDataset.load(tmp_path / "c").qid.tolist() == qid.tolist()
