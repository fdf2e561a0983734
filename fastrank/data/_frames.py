"""Data frames of pandas, polars and pyarrow, without importing any of them.

All three give their column names, a column by name, and that column as a NumPy array; that is all we ask.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def is_frame(X: Any) -> bool:
    """Tell whether X has named columns to choose from."""
    return hasattr(X, "column_names") or (hasattr(X, "to_numpy") and hasattr(X, "columns"))


def _columns(frame: Any) -> dict[str, Any]:
    """The frame's own labels (pandas has some that are no strings) by name, in order."""
    labels = list(frame.column_names if hasattr(frame, "column_names") else frame.columns)
    columns = {str(label): label for label in labels}
    if len(columns) < len(labels):
        names = [str(label) for label in labels]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"X: expected a frame whose columns have different names, got {twice!r} twice; rename one")
    return columns


def split_frame(frame: Any, **arguments: Any) -> tuple[NDArray[Any], list[str], dict[str, Any]]:
    """Take the columns that arguments name out of the frame.

    Returns the other columns as a matrix, their names, and the arguments with names replaced by columns.
    """
    names = {argument: value for argument, value in arguments.items() if isinstance(value, str)}
    columns = {argument: _take_column(frame, name, argument) for argument, name in names.items()}
    X, features = _feature_matrix(frame, set(names.values()))
    return X, features, {**arguments, **columns}


def _take_column(frame: Any, name: str, argument: str) -> NDArray[Any]:
    """One column as an array; `argument` is the parameter that named it."""
    columns = _columns(frame)
    if name not in columns:
        shown = ", ".join([*columns][:12])
        raise ValueError(f"{argument}: expected the name of a column of X ({shown}), got {name!r}")
    return np.asarray(frame[columns[name]])


def _feature_matrix(frame: Any, without: set[str]) -> tuple[NDArray[Any], list[str]]:
    """The columns that are not in `without`, side by side, and their names.

    float32 when all of them are float32, else float64. One copy: frames are stored by column.
    """
    columns = {name: np.asarray(frame[label]) for name, label in _columns(frame).items() if name not in without}
    for name, column in columns.items():
        if column.dtype.kind not in "fiub":
            raise TypeError(
                f"X: expected numeric feature columns, got column {name!r} of dtype {column.dtype}; "
                "encode it, or drop it from the frame"
            )
    single = bool(columns) and all(column.dtype == np.float32 for column in columns.values())
    X = np.empty((len(frame), len(columns)), dtype=np.float32 if single else np.float64)
    for j, column in enumerate(columns.values()):
        X[:, j] = column
    return X, list(columns)
