"""Data frames of pandas, polars and pyarrow, without importing any of them.

All three give their column names, a column by name, and that column as a NumPy array; that is all we ask.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def is_frame(X: Any) -> bool:
    """Tell whether X has named columns to choose from."""
    return hasattr(X, "column_names") or (hasattr(X, "columns") and hasattr(X, "to_numpy"))


def column_names(frame: Any) -> list[str]:
    """Names of the columns, in order."""
    return [str(name) for name in getattr(frame, "column_names", None) or frame.columns]


def take_column(frame: Any, name: Any, argument: str) -> NDArray[Any]:
    """One column as an array; `argument` is the parameter that named it."""
    names = column_names(frame)
    if str(name) not in names:
        raise ValueError(f"{argument}: expected the name of a column of X ({', '.join(names[:12])}), got {name!r}")
    return np.asarray(frame[name].to_numpy())


def feature_matrix(frame: Any, without: set[str]) -> tuple[NDArray[Any], list[str]]:
    """The columns that are not in `without`, side by side, and their names.

    float32 when all of them are float32, else float64. One copy: frames are stored by column.
    """
    raw_names = list(getattr(frame, "column_names", None) or frame.columns)
    kept = [name for name in raw_names if str(name) not in without]
    columns = [np.asarray(frame[name].to_numpy()) for name in kept]
    for name, column in zip(kept, columns, strict=True):
        if column.dtype.kind not in "fiub":
            raise TypeError(
                f"X: expected numeric feature columns, got column {name!r} of dtype {column.dtype}; "
                "encode it, or drop it from the frame"
            )
    single = bool(columns) and all(column.dtype == np.float32 for column in columns)
    X = np.empty((len(frame), len(kept)), dtype=np.float32 if single else np.float64)
    for j, column in enumerate(columns):
        X[:, j] = column
    return X, [str(name) for name in kept]
