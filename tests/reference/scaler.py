"""QueryScaler by its definition: one feature of one query at a time, exact sums, then one rounding."""

from __future__ import annotations

import math

import numpy as np


def scale_values(values: list[float], method: str) -> list[float]:
    """Scale the values of one feature among themselves; NaN is left out and stays."""
    known = [value for value in values if not math.isnan(value)]
    if not known:
        return values
    offset, divisor = 0.0, 1.0
    if method == "minmax":
        offset, divisor = min(known), max(known) - min(known)
    elif method == "zscore":
        offset = math.fsum(known) / len(known)
        divisor = math.sqrt(math.fsum((value - offset) ** 2 for value in known) / len(known))
        if min(known) == max(known):
            offset, divisor = min(known), 0.0
    elif method == "sum":
        divisor = math.fsum(abs(value) for value in known)
    divisor = divisor if divisor > 0 else 1.0
    return [(value - offset) / divisor for value in values]


def scale(X: np.ndarray, groups: list[list[int]], method: str) -> np.ndarray:
    """Scale the rows of each group among themselves, in float64."""
    out = np.array(X, dtype=np.float64)
    for rows in groups:
        for column in range(X.shape[1]):
            out[rows, column] = scale_values([float(X[row, column]) for row in rows], method)
    return out
