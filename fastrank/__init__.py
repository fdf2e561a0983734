"""fastrank: fast, exactly defined ranking measures and the methods that optimize them directly.

>>> import fastrank as fr
>>> fr.evaluate([0, 2, 1, 0], [0.1, 0.9, 0.3, 0.7], ["ndcg@10", "map"], qid=["a", "a", "b", "b"])
Evaluation(2 queries, ndcg@10 0.8155, ap 0.7500, convention fastrank)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from fastrank._errors import DataFormatError

if TYPE_CHECKING:
    from fastrank import bounds, data, experiments, learners, losses, metrics, objectives
    from fastrank._version import __version__
    from fastrank.data import (
        Qrels,
        Query,
        QueryKFold,
        QueryScaler,
        RankingDataset,
        Run,
        iter_letor,
        load_letor,
        load_letor_folds,
        load_qrels,
        load_run,
        save_letor,
        split_queries,
    )
    from fastrank.learners import BinaryPerceptron, OnlineRanker, RankingPerceptron
    from fastrank.metrics import Comparison, Convention, Evaluation, Metric, StreamEvaluator, compare, evaluate

__all__ = [
    "BinaryPerceptron",
    "Comparison",
    "Convention",
    "DataFormatError",
    "Evaluation",
    "Metric",
    "OnlineRanker",
    "Qrels",
    "Query",
    "QueryKFold",
    "QueryScaler",
    "RankingDataset",
    "RankingPerceptron",
    "Run",
    "StreamEvaluator",
    "__version__",
    "bounds",
    "compare",
    "data",
    "evaluate",
    "experiments",
    "iter_letor",
    "learners",
    "load_letor",
    "load_letor_folds",
    "load_qrels",
    "load_run",
    "losses",
    "metrics",
    "objectives",
    "save_letor",
    "split_queries",
]

_ROOMS = ("data", "metrics", "losses", "objectives", "bounds", "learners", "experiments")
_FACES = ("data", "metrics", "learners")  # rooms whose classes and functions are found here, too


def __getattr__(name: str) -> Any:
    # Loaded when first asked for (PEP 562), so that `import fastrank` costs little more than `import numpy`.
    if name == "__version__":
        return importlib.import_module("fastrank._version").__version__
    if name in _ROOMS:
        return importlib.import_module(f"fastrank.{name}")
    if name in __all__:
        for room in _FACES:
            module = importlib.import_module(f"fastrank.{room}")
            if name in module.__all__:
                return getattr(module, name)
    raise AttributeError(f"module 'fastrank' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
