"""fastrank: fast, exactly defined ranking measures and the methods that optimize them directly.

>>> import fastrank as fr
>>> fr.RankingDataset([[0.2], [0.7]], [0, 1], qid=["a", "a"]).sizes.tolist()
[2]
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from fastrank._errors import DataFormatError
from fastrank._version import __version__

if TYPE_CHECKING:
    from fastrank import data
    from fastrank.data import (
        Query,
        QueryKFold,
        QueryScaler,
        RankingDataset,
        iter_letor,
        load_letor,
        load_letor_folds,
        save_letor,
        split_queries,
    )

__all__ = [
    "DataFormatError",
    "Query",
    "QueryKFold",
    "QueryScaler",
    "RankingDataset",
    "__version__",
    "data",
    "iter_letor",
    "load_letor",
    "load_letor_folds",
    "save_letor",
    "split_queries",
]

_MODULES = ("data",)


def __getattr__(name: str) -> Any:
    # Loaded when first asked for (PEP 562), so that `import fastrank` costs little more than `import numpy`.
    if name in _MODULES:
        return importlib.import_module(f"fastrank.{name}")
    if name in __all__:
        return getattr(importlib.import_module("fastrank.data"), name)
    raise AttributeError(f"module 'fastrank' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
