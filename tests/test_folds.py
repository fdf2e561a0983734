from __future__ import annotations

import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastrank as fr


def make(n_queries: int = 23, seed: int = 0) -> fr.RankingDataset:
    rng = np.random.default_rng(seed)
    qid = rng.permutation(np.repeat(np.arange(n_queries), rng.integers(1, 9, n_queries)))
    return fr.RankingDataset(rng.normal(size=(len(qid), 2)), rng.integers(0, 3, len(qid)), qid=qid)


@given(
    qid=st.lists(st.integers(0, 12), min_size=1, max_size=80), n_splits=st.integers(2, 5), seed=st.none() | st.just(3)
)
def test_folds_partition_the_rows_and_never_cut_a_query(qid, n_splits, seed):
    folds = fr.QueryKFold(n_splits, random_state=seed)
    if len(set(qid)) < n_splits:
        with pytest.raises(ValueError, match="n_splits: expected at most"):
            list(folds.split(None, groups=qid))
        return
    tested = []
    for train, test in folds.split(None, groups=qid):
        assert sorted([*train, *test]) == list(range(len(qid)))
        assert {qid[row] for row in train}.isdisjoint({qid[row] for row in test})
        tested += test.tolist()
    assert sorted(tested) == list(range(len(qid)))


def test_dataset_folds_are_the_row_folds():
    data = make()
    folds = fr.QueryKFold(4, random_state=1)
    for (train, test), (train_rows, test_rows) in zip(
        folds.split_dataset(data), folds.split(data.X, groups=data.row_qid()), strict=True
    ):
        assert sorted(map(tuple, train.X)) == sorted(map(tuple, data.X[train_rows]))
        assert sorted(map(tuple, test.X)) == sorted(map(tuple, data.X[test_rows]))
        assert set(train.qid).isdisjoint(test.qid)


def test_folds_follow_the_seed():
    data = make()

    def tested(seed: int) -> list[list[int]]:
        return [test.qid.tolist() for _, test in fr.QueryKFold(3, random_state=seed).split_dataset(data)]

    assert tested(1) == tested(1)
    assert tested(1) != tested(2)
    assert fr.QueryKFold(3, random_state=1).get_n_splits() == 3


def test_fold_arguments():
    with pytest.raises(TypeError, match="random_state: expected an integer seed"):
        fr.QueryKFold(3, random_state="lucky")
    with pytest.raises(ValueError, match="n_splits: expected an integer of at least 2, got 1"):
        fr.QueryKFold(1)
    with pytest.raises(ValueError, match="groups: expected the query id of each row"):
        next(fr.QueryKFold(2).split([[1], [2]]))


def test_split_queries_takes_the_fractions():
    data = make(50)
    parts = fr.split_queries(data, (0.6, 0.2, 0.2), random_state=9)
    assert [part.n_queries for part in parts] == [30, 10, 10]
    assert sorted(one for part in parts for one in part.qid.tolist()) == list(range(50))
    again = fr.split_queries(data, (0.6, 0.2, 0.2), random_state=9)
    assert [part.qid.tolist() for part in parts] == [part.qid.tolist() for part in again]


def test_split_queries_arguments():
    with pytest.raises(ValueError, match=r"fractions: expected positive numbers that add up to 1, got \[0.5, 0.6\]"):
        fr.split_queries(make(), (0.5, 0.6), random_state=0)
    with pytest.raises(ValueError, match="at least one query in each part, got none in part 1 of 2 queries"):
        fr.split_queries(make(2), (0.9, 0.05, 0.05), random_state=0)
    with pytest.raises(TypeError, match="random_state: expected an integer seed"):
        fr.split_queries(make(), (0.5, 0.5), random_state=None)


@pytest.mark.parametrize(
    ("names", "n_features"),
    [
        (("train.txt", "vali.txt", "test.txt"), 2),
        (("trainingset.txt.gz", "ValidationSet.TXT", "TESTSET.txt.gz"), 2),
    ],
)
def test_letor_layout(tmp_path, names, n_features):
    for number in (1, 2, 10):
        folder = tmp_path / f"Fold{number}"
        folder.mkdir()
        for role, name in enumerate(names):
            text = f"{role} qid:{number} 1:{role} 2:0.5\n".encode()
            (folder / name).write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    folds = list(fr.load_letor_folds(tmp_path, dtype="float64"))
    assert [fold.name for fold in folds] == ["Fold1", "Fold2", "Fold10"]
    for fold in folds:
        assert [int(part.y[0]) for part in fold[1:]] == [0, 1, 2]
        assert fold.train.X.dtype == np.float64
        assert fold.train.n_features == n_features


def test_letor_layout_mistakes(tmp_path):
    with pytest.raises(fr.DataFormatError, match="expected folders Fold1, Fold2"):
        fr.load_letor_folds(tmp_path)
    (tmp_path / "Fold1").mkdir()
    (tmp_path / "Fold1" / "train.txt").write_text("1 qid:1 1:1\n")
    with pytest.raises(fr.DataFormatError, match="Fold1: expected a vali file"):
        fr.load_letor_folds(tmp_path)


@pytest.mark.parametrize(("name", "rows", "queries"), [("letor4-mq2008", 15_211, 784), ("letor2-ohsumed", 16_140, 106)])
def test_real_folds_rotate_the_same_queries(data_room, name, rows, queries):
    folds = list(fr.load_letor_folds(data_room / name))
    assert len(folds) == 5
    for fold in folds:
        parts = [fold.train, fold.vali, fold.test]
        assert sum(part.n_rows for part in parts) == rows
        assert len({one for part in parts for one in part.qid.tolist()}) == queries
    assert sum(fold.test.n_queries for fold in folds) == queries


def test_letor_layout_takes_text_files_only_and_one_width(tmp_path):
    folder = tmp_path / "Fold1"
    (folder / "train.cache").mkdir(parents=True)  # what `fastrank convert train.txt train.cache` leaves
    (folder / "train.query").write_text("1\n")
    for name, largest in (("train", 5), ("vali", 4), ("test", 6)):
        (folder / f"{name}.txt").write_text(f"1 qid:1 1:0.5 {largest}:2\n")
    for options in ({}, {"sparse": True}):
        (fold,) = fr.load_letor_folds(tmp_path, **options)
        assert [part.n_features for part in fold[1:]] == [6, 6, 6]
        vali = fold.vali.X.toarray() if options else fold.vali.X
        assert vali.tolist() == [[0.5, 0, 0, 2, 0, 0]]
    (fold,) = fr.load_letor_folds(tmp_path, n_features=9)
    assert {part.n_features for part in fold[1:]} == {9}
