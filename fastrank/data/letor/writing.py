"""Writing a data set as text."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

from fastrank._core import _letor
from fastrank._progress import Progress
from fastrank._validation import check_choice, check_count, plural
from fastrank.data._atomic import atomic_file
from fastrank.data.dataset import RankingDataset
from fastrank.data.letor._format import is_id

_MOST_FEATURES = 2**31 - 2


def save_letor(
    dataset: RankingDataset,
    path: str | os.PathLike[str],
    *,
    index_base: int = 1,
    decimals: int | None = None,
    progress: bool | Progress = False,
) -> None:
    """Write a data set as LETOR / SVMlight text, gzip where the name ends in `.gz`.

    Parameters
    ----------
    dataset : RankingDataset
        Rows are written in the user's order. A dense X writes every feature, a sparse one its stored entries.
    path : path-like
        The file appears when it is whole.
    index_base : {0, 1}, default=1
    decimals : int from 0 to 15, optional
        Decimals of every value; by default the shortest text that `load_letor` reads back as the same value.
    progress : bool, default=False
        Show a progress bar.

    Raises
    ------
    ValueError
        For what the format cannot hold: no rows, queries without rows, more than 2^31 - 2 features, an empty qid, and
        ids with white space, control characters or `#`.
    """
    check_choice(index_base, (0, 1), name="index_base")
    if decimals is not None and not 0 <= check_count(decimals, name="decimals", least=0) <= 15:
        raise ValueError(f"decimals: expected 0 to 15, or None for exact values, got {decimals}")
    _check_can_be_text(dataset)
    qids = [_written_id(one, "qid") for one in dataset.row_qid().tolist()]
    docids = None if dataset.docid is None else [_written_comment(one) for one in dataset.docid]
    grades = [repr(grade).removesuffix(".0") for grade in dataset.y.tolist()]
    X = dataset.X
    widest = dataset.n_features if isinstance(X, np.ndarray) else int(np.diff(X.indptr).max(initial=0))
    buffer = bytearray(max(1, widest) * (2 + 20 + _letor.LONGEST_NUMBER))
    bar = progress if isinstance(progress, Progress) else Progress(f"writing {Path(path).name}", enabled=progress)
    digits = -1 if decimals is None else decimals
    with bar, atomic_file(path) as part, _open_for_writing(part, os.fspath(path).endswith(".gz")) as stream:
        for row in range(dataset.n_rows):
            stream.write(f"{grades[row]} qid:{qids[row]}".encode())
            if isinstance(X, np.ndarray):
                size = _letor.format_row_into(X[row], None, index_base, digits, buffer)
            else:
                entries = slice(X.indptr[row], X.indptr[row + 1])
                columns = X.indices[entries].astype(np.int32, copy=False)
                size = _letor.format_row_into(X.data[entries], columns, index_base, digits, buffer)
            stream.write(memoryview(buffer)[:size])
            stream.write(b"\n" if docids is None else f"{docids[row]}\n".encode())
            if row % 1024 == 0:
                bar.update(row / dataset.n_rows)


def _check_can_be_text(dataset: RankingDataset) -> None:
    if dataset.n_rows == 0:
        raise ValueError(
            "dataset: expected at least one row, got none, which LETOR text cannot tell from an empty file; save the "
            "data set as a binary cache"
        )
    empty = dataset.sizes == 0
    if empty.any():
        raise ValueError(
            f"dataset: expected rows in every query, got {plural(int(empty.sum()), 'query')} without, the first is "
            f"query {int(np.argmax(empty))}; LETOR text cannot hold them: drop them with dataset[dataset.sizes > 0], "
            "or save the data set as a binary cache"
        )
    if dataset.n_features > _MOST_FEATURES:
        raise ValueError(
            f"dataset: expected at most {_MOST_FEATURES:,} features, as load_letor reads, got {dataset.n_features:,}; "
            "save the data set as a binary cache"
        )


def _written_id(value: Any, name: str) -> str:
    text = str(value)
    if not is_id(text):
        raise ValueError(
            f"{name}: expected ids that LETOR text can hold (not empty, no white space, no '#', no controls), got "
            f"{value!r}; rename such ids, or save the data set as a binary cache"
        )
    return text


def _written_comment(docid: Any) -> str:
    return "" if docid == "" else f" #docid = {_written_id(docid, 'docid')}"


@contextmanager
def _open_for_writing(path: Path, compress: bool) -> Iterator[IO[bytes]]:
    with path.open("wb", buffering=1 << 20) as file:
        if not compress:
            yield file
            return
        # Neither time nor the name of the temporary file: the same data give the same bytes.
        with gzip.GzipFile("", "wb", compresslevel=6, fileobj=file, mtime=0) as packed:
            yield packed  # type: ignore[misc]
