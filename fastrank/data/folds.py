"""Splits that never cut a query: k folds, fractions, and LETOR's Fold1..Fold5 folders."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from fastrank._errors import DataFormatError
from fastrank._validation import check_count, check_random_state, plural
from fastrank.data._grouping import group_by_qid
from fastrank.data.dataset import RankingDataset
from fastrank.data.letor import load_letor
from fastrank.data.letor.list_lengths import SIDE_FILE_ENDINGS


class Fold(NamedTuple):
    """One fold of a benchmark: its name and the three data sets."""

    name: str
    train: RankingDataset
    vali: RankingDataset
    test: RankingDataset


class QueryKFold:
    """Cut the queries into k folds of nearly equal numbers of queries.

    Follows scikit-learn's splitter protocol: `split(X, y, groups)` yields row numbers, so it fits `cross_validate` and
    `GridSearchCV`; `split_dataset` yields data sets.

    Parameters
    ----------
    n_splits : int, default=5
    random_state : int or numpy Generator, optional
        Draw the folds at random with this seed; without it they are consecutive queries in order of first appearance.

    Examples
    --------
    >>> folds = QueryKFold(2)
    >>> [test.tolist() for _, test in folds.split([[0], [1], [2], [3]], groups=["a", "b", "a", "c"])]
    [[0, 1, 2], [3]]
    """

    def __init__(self, n_splits: int = 5, *, random_state: Any = None) -> None:
        self.n_splits = check_count(n_splits, name="n_splits", least=2)
        if random_state is not None:
            check_random_state(random_state)
        self.random_state = random_state

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of folds."""
        return self.n_splits

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Yield the rows to train on and the rows to test on, both ascending; `groups` holds the qid of each row."""
        if groups is None:
            raise ValueError("groups: expected the query id of each row, got None; pass groups=qid")
        n_rows = len(groups)
        n_queries, order, qptr = _row_groups(groups, n_rows)
        for train, test in self._positions(n_queries):
            yield _rows_of(train, qptr, order), _rows_of(test, qptr, order)

    def split_dataset(self, dataset: RankingDataset) -> Iterator[tuple[RankingDataset, RankingDataset]]:
        """Yield the data set to train on and the one to test on."""
        for train, test in self._positions(dataset.n_queries):
            yield dataset[train], dataset[test]

    def _positions(self, n_queries: int) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        if n_queries < self.n_splits:
            raise ValueError(f"n_splits: expected at most {plural(n_queries, 'query')}, got {self.n_splits}")
        queries = np.arange(n_queries)
        drawn = queries
        if self.random_state is not None:
            drawn = check_random_state(self.random_state).permutation(n_queries)
        for test in np.array_split(drawn, self.n_splits):
            is_test = np.zeros(n_queries, dtype=bool)
            is_test[test] = True
            yield queries[~is_test], queries[is_test]


def split_queries(dataset: RankingDataset, fractions: Sequence[float], *, random_state: Any) -> list[RankingDataset]:
    """Cut a data set at random into parts with the given fractions of its queries.

    Parameters
    ----------
    dataset : RankingDataset
    fractions : sequence of float
        Positive, adding up to 1, e.g. (0.6, 0.2, 0.2).
    random_state : int or numpy Generator

    Returns
    -------
    list of RankingDataset
        Queries keep their order inside each part.
    """
    shares = np.asarray(fractions, dtype=np.float64)
    if shares.ndim != 1 or len(shares) == 0 or not (shares > 0).all() or abs(shares.sum() - 1) > 1e-9:
        raise ValueError(f"fractions: expected positive numbers that add up to 1, got {list(fractions)}")
    cuts = np.rint(np.cumsum(shares) * dataset.n_queries).astype(np.int64)[:-1]
    drawn = check_random_state(random_state).permutation(dataset.n_queries)
    parts = np.split(drawn, cuts)
    if any(len(part) == 0 for part in parts):
        raise ValueError(
            f"fractions: expected at least one query in each part, got none in part "
            f"{[len(part) for part in parts].index(0)} of {plural(dataset.n_queries, 'query')}"
        )
    return [dataset[np.sort(part)] for part in parts]


_ROLES = {
    "train": ("train", "trainingset", "training"),
    "vali": ("vali", "validationset", "validation", "valid"),
    "test": ("test", "testset"),
}


def load_letor_folds(root: str | os.PathLike[str], **options: Any) -> Iterator[Fold]:
    """Read LETOR's folds one after the other: Fold1, Fold2, ... with train, vali and test files.

    The files may be called as in LETOR 3 and 4 (`train.txt`, `vali.txt`, `test.txt`) or as in LETOR 2
    (`trainingset.txt`, ...), in any case, plain or gzip.

    Parameters
    ----------
    root : path-like
        The folder that holds Fold1, Fold2, ...
    **options
        For `load_letor`.

    Yields
    ------
    Fold
        Three data sets with the same number of features: the largest of the three, unless `n_features` is given.
    """
    folders = sorted(
        (entry for entry in Path(root).iterdir() if entry.is_dir() and entry.name[:4].lower() == "fold"),
        key=lambda folder: (len(folder.name), folder.name),
    )
    if not folders:
        raise DataFormatError("expected folders Fold1, Fold2, ..., got none", path=root)
    # Found before anything is read, so that a missing file does not cost a wait.
    files = [{role: _fold_file(folder, role) for role in _ROLES} for folder in folders]
    return (_load_fold(folder.name, paths, options) for folder, paths in zip(folders, files, strict=True))


def _load_fold(name: str, paths: dict[str, Path], options: dict[str, Any]) -> Fold:
    parts = [load_letor(paths[role], **options) for role in _ROLES]
    # A feature that is 0 in all of a file may not be written at all; the columns must agree all the same.
    width = max(part.n_features for part in parts)
    return Fold(name, *(part if part.n_features == width else _widened(part, width) for part in parts))


def _widened(dataset: RankingDataset, n_features: int) -> RankingDataset:
    X = dataset.X
    if not isinstance(X, np.ndarray):
        wide = scipy.sparse.csr_array((X.data, X.indices, X.indptr), shape=(dataset.n_rows, n_features))
        return dataset.with_X(wide)
    return dataset.with_X(np.pad(X, ((0, 0), (0, n_features - dataset.n_features))))


def _fold_file(folder: Path, role: str) -> Path:
    for entry in sorted(folder.iterdir()):
        is_text = entry.is_file() and entry.suffix not in SIDE_FILE_ENDINGS
        if is_text and entry.name.lower().split(".")[0] in _ROLES[role]:
            return entry
    raise DataFormatError(f"expected a {role} file ({', '.join(_ROLES[role])}), got none", path=folder)


def _row_groups(groups: Any, n_rows: int) -> tuple[int, NDArray[np.int64] | None, NDArray[np.int64]]:
    grouping = group_by_qid(groups, n_rows)
    return len(grouping.qid), grouping.order, grouping.qptr


def _rows_of(queries: NDArray[np.int64], qptr: NDArray[np.int64], order: NDArray[np.int64] | None) -> NDArray[np.int64]:
    chosen = np.zeros(len(qptr) - 1, dtype=bool)
    chosen[queries] = True
    rows = np.flatnonzero(np.repeat(chosen, np.diff(qptr)))
    return rows if order is None else np.sort(order[rows])
