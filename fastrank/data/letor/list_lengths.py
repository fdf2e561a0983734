"""List lengths for files without qid: LightGBM's side files."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fastrank._errors import DataFormatError
from fastrank.data._text import TextReader
from fastrank.data.letor._format import LetorFormat, shown

SIDE_FILE_ENDINGS = (".query", ".group")
"""LightGBM's names for the file of list lengths that lies beside a data file."""


def load_group(path: str | os.PathLike[str]) -> NDArray[np.int64]:
    """Read LightGBM's side file of list lengths: one integer a line, plain or gzip."""
    with TextReader(path) as reader:
        lines = []
        while (batch := reader.next_batch()) is not None:
            for block in batch.blocks:
                lines += bytes(batch.buffer[block.start : block.stop]).split(b"\n")[:-1]
    sizes = []
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if text and not (text.isdigit() and len(text) < 19):
            raise DataFormatError(
                f"expected the number of rows of one query, got {shown(text)}; write one integer a line",
                path=reader.path,
                line=number,
            )
        if text:
            sizes.append(int(text))
    return np.array(sizes, dtype=np.int64)


def list_lengths(
    path: str, format_: LetorFormat, group: str | os.PathLike[str] | ArrayLike | None
) -> tuple[NDArray[np.int64] | None, str]:
    """List lengths given, or those of a side file where the lines have no qid; and the file they come from."""
    if group is None and not format_.with_qid:
        group = side_file(path)
    if isinstance(group, (str, os.PathLike)):
        return load_group(group), os.fspath(group)
    return None if group is None else np.asarray(group), path


def side_file(path: str) -> str | None:
    """Return the side file that lies beside a data file, if there is one."""
    return next((path + ending for ending in SIDE_FILE_ENDINGS if Path(path + ending).exists()), None)
