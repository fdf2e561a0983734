"""Data sets that break kernels, one generator for all tests.

`make(name)` gives a case of known grades and features for each name in `NAMES`; `layouts(X, folder)` gives a matrix
again in every memory layout that users have. Everything is seeded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from reference import grouping
from scipy import sparse

from fastrank.data.dataset import RankingDataset

Grades = list[NDArray[Any]]


class Case(NamedTuple):
    """Rows in the user's order; `qid` is None where queries are empty, which only list lengths can say."""

    name: str
    X: NDArray[np.float64]
    y: NDArray[Any]
    qid: NDArray[Any] | None
    group: list[int] | None

    def dataset(self, X: Any = None, **options: Any) -> RankingDataset:
        """The data set, with X in another layout if given."""
        return RankingDataset(self.X if X is None else X, self.y, qid=self.qid, group=self.group, **options)

    def rows(self) -> dict[Any, list[int]]:
        """Rows of each query, by the reference."""
        return grouping.rows_by_size(self.group) if self.qid is None else grouping.rows_by_id(self.qid.tolist())


def _graded(rng: np.random.Generator, sizes: list[int], n_grades: int = 5) -> Grades:
    return [rng.integers(0, n_grades, size) for size in sizes]


LISTS: dict[str, Callable[[np.random.Generator], Grades]] = {
    "no queries": lambda rng: [],
    "one empty query": lambda rng: _graded(rng, [0]),
    "only empty queries": lambda rng: _graded(rng, [0, 0, 0]),
    "empty queries between others": lambda rng: _graded(rng, [0, 4, 0, 0, 7, 1, 0]),
    "one document": lambda rng: [np.array([2])],
    "one irrelevant document": lambda rng: [np.array([0])],
    "lists of one": lambda rng: _graded(rng, [1] * 40, 2),
    "all tied": lambda rng: [np.full(size, 2) for size in (1, 2, 3, 17, 64)],
    "none relevant": lambda rng: [np.zeros(size, dtype=int) for size in (1, 2, 3, 17, 64)],
    "all relevant": lambda rng: [rng.integers(1, 4, size) for size in (1, 2, 3, 17, 64)],
    "one relevant": lambda rng: [(np.arange(size) == size // 2).astype(int) for size in (1, 2, 3, 17, 64)],
    "binary": lambda rng: _graded(rng, rng.integers(1, 30, 50).tolist(), 2),
    "graded": lambda rng: _graded(rng, rng.integers(1, 60, 60).tolist()),
    "a huge list among tiny ones": lambda rng: _graded(rng, [3, 1, 9000, 2, 1]),
    "many blocks": lambda rng: _graded(rng, rng.integers(1, 400, 70).tolist()),
    "gaps between grades": lambda rng: [rng.choice([0, 3, 31, 200, 1000], size) for size in (1, 5, 20, 50)],
    "more than 1024 grades": lambda rng: [rng.uniform(0, 4, size) for size in (1, 700, 2, 900, 5)],
    "real grades": lambda rng: [rng.choice([0.0, 0.25, 0.5, 1.5, 3.75], size) for size in (1, 5, 20, 50)],
    "tiny grades": lambda rng: [rng.choice([0.0, 1e-3, 2e-3], size) for size in (4, 9)],
    "shuffled rows": lambda rng: _graded(rng, rng.integers(1, 40, 40).tolist()),
    "interleaved rows": lambda rng: _graded(rng, [50] * 20),
    "shuffled rows in many blocks": lambda rng: _graded(rng, rng.integers(1, 400, 60).tolist()),
}
NAMES = tuple(LISTS)


def make(name: str, n_features: int = 3, seed: int = 5) -> Case:
    """The case of this name, the same at every call."""
    rng = np.random.default_rng([seed, NAMES.index(name)])
    lists = LISTS[name](rng)
    sizes = [len(grades) for grades in lists]
    y = np.concatenate([*lists, np.zeros(0, dtype=int)])
    X = features(rng, len(y), n_features, np.float64)
    if 0 in sizes or not sizes:
        return Case(name, X, y, None, sizes)
    qid = np.repeat(rng.permutation(10 * len(sizes))[: len(sizes)] - len(sizes), sizes)
    rows = np.arange(len(y))
    if name.startswith("shuffled"):
        rows = rng.permutation(len(y))
    elif name.startswith("interleaved"):
        rows = rows.reshape(len(sizes), -1).T.reshape(-1)
    return Case(name, X, y[rows], qid[rows], None)


def features(rng: np.random.Generator, n_rows: int, n_features: int, dtype: Any) -> NDArray[Any]:
    """Ordinary values, zeros of both signs, the largest and the least (subnormal) that the type has."""
    info = np.finfo(dtype)
    odd = np.array([0.0, -0.0, info.max, -info.max, info.smallest_subnormal, info.tiny, 1.0, -1.0], dtype=dtype)
    X = rng.standard_normal((n_rows, n_features)).astype(dtype)
    return np.where(rng.random(X.shape) < 0.3, rng.choice(odd, X.shape), X)


def layouts(X: NDArray[Any], folder: Path) -> Iterator[tuple[str, Any, bool]]:
    """Yield (name, the same values in another layout, whether a data set must use them without a copy)."""
    n_rows, n_features = X.shape
    yield "C order", np.array(X, order="C"), True
    read_only = np.array(X, order="C")
    read_only.flags.writeable = False
    yield "read-only", read_only, True
    if X.size:
        path = folder / f"{n_rows}-{n_features}-{X.dtype}.bin"
        X.tofile(path)
        yield "memory map", np.memmap(path, dtype=X.dtype, mode="r", shape=X.shape), True
    canonical = sparse.csr_array(X)
    yield "CSR", canonical, True
    yield "CSR matrix", sparse.csr_matrix(X), True
    frozen = sparse.csr_array(X)
    for part in (frozen.data, frozen.indices, frozen.indptr):
        part.flags.writeable = False
    yield "read-only CSR", frozen, True
    yield "CSR with unsorted indices and duplicates", _untidy(canonical), False
    yield "CSC", sparse.csc_array(X), False
    yield "COO", sparse.coo_array(X), False
    yield "Fortran order", np.array(X, order="F"), X.flags.f_contiguous
    strided = np.zeros((2 * n_rows, 3 * n_features), dtype=X.dtype)[::2, ::3]
    strided[:] = X
    yield "strided", strided, False
    yield "reversed", np.array(X[::-1, ::-1], order="C")[::-1, ::-1], False
    yield "big-endian", X.astype(X.dtype.newbyteorder(">")), False
    shifted = np.zeros(X.nbytes + 1, dtype=np.uint8)[1:].view(X.dtype).reshape(X.shape)
    shifted[:] = X
    yield "not aligned", shifted, False


def _untidy(csr: Any) -> Any:
    """Each value as two halves (or itself and zero, where it is too small or odd to halve), columns descending."""
    data, indices, indptr = [], [], [0]
    for row in range(csr.shape[0]):
        entries = range(csr.indptr[row + 1] - 1, csr.indptr[row] - 1, -1)
        for entry in entries:
            half = csr.data[entry] / csr.dtype.type(2)  # not 2: NumPy 1 would leave float32
            parts = (half, half) if half + half == csr.data[entry] else (csr.data[entry], 0 * half)
            data += parts
            indices += [csr.indices[entry]] * 2
        indptr.append(len(data))
    arrays = (np.array(data, csr.dtype), np.array(indices, np.int32), np.array(indptr, np.int32))
    return sparse.csr_array(arrays, shape=csr.shape)
