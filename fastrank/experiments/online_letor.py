"""Ranking perceptrons and online ListNet on a folder of LETOR folds: one epoch with defaults, measured on test files.

Learners see the training file of each fold once, in an order drawn by the seed; nothing is tuned, so that validation
files are not used. The perceptrons appear with their last weights, as in the papers, and with the mean of all weights.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fastrank._progress import Progress
from fastrank._validation import check_count, plural
from fastrank.data import load_letor_folds
from fastrank.experiments._result import Result
from fastrank.metrics import evaluate
from fastrank.metrics._tables import text_table

__all__ = ["OnlineLetor", "run"]

_METRICS = ("ndcg@10", "ap")


@dataclass(frozen=True)
class OnlineLetor(Result):
    """Test figures of each learner.

    Attributes
    ----------
    folder : str
        Where the folds are.
    values : dict of str to ndarray, shape (n_seeds, n_folds, 2)
        By learner: NDCG@10 and AP, means over the test queries of a fold.
    """

    name: ClassVar[str] = "online-letor"

    folder: str
    values: dict[str, NDArray[np.float64]]

    def table(self) -> str:
        """Return the means over folds and seeds, and how much seeds differ."""
        n_seeds, n_folds, _ = next(iter(self.values.values())).shape
        rows = []
        for name, values in self.values.items():
            by_seed = values.mean(axis=1)
            spread = float(by_seed[:, 0].std(ddof=1)) if n_seeds > 1 else None
            rows.append([name, *by_seed.mean(axis=0).tolist(), spread])
        title = f"{self.folder}: {plural(n_folds, 'fold')}, one epoch, defaults, {plural(n_seeds, 'seed')}"
        headers = ["learner", "NDCG@10", "MAP", "sd of NDCG@10 over seeds"]
        return f"{title}\n\n{text_table(headers, rows, digits=4)}"

    def columns(self) -> Mapping[str, Sequence[Any]]:
        """Return a line per learner, seed and fold."""
        columns: dict[str, list[Any]] = {name: [] for name in ("learner", "seed", "fold", *_METRICS)}
        for name, values in self.values.items():
            for (seed, fold), figures in zip(np.ndindex(values.shape[:2]), values.reshape(-1, 2).tolist(), strict=True):
                for column, value in zip(columns, (name, seed, fold + 1, *figures), strict=True):
                    columns[column].append(value)
        return columns


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the folder and the number of seeds."""
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="folder that holds Fold1, Fold2, ...")
    parser.add_argument("--seeds", type=int, default=10, metavar="N", help="orders of the queries (default: 10)")


def run(folder: str | os.PathLike[str], *, seeds: int = 10, progress: Progress | None = None) -> OnlineLetor:
    """Train each learner on each fold, once per seed.

    Parameters
    ----------
    folder : path
        Holds Fold1, Fold2, ..., each with a training, a validation and a test file.
    seeds : int, default=10
        Orders of the training queries: seeds 0, 1, ...
    progress : Progress, optional
        A bar to move.

    Returns
    -------
    OnlineLetor
    """
    from fastrank.learners import OnlineRanker, RankingPerceptron  # here: the command line need not wait for them
    from fastrank.losses import ListNet, MaxPair, Slam

    check_count(seeds, name="seeds")
    learners: dict[str, RankingPerceptron | OnlineRanker] = {
        "SLAM perceptron": RankingPerceptron(Slam("ndcg@10")),
        "SLAM perceptron, averaged": RankingPerceptron(Slam("ndcg@10"), average=True),
        "max-pair perceptron": RankingPerceptron(MaxPair()),
        "max-pair perceptron, averaged": RankingPerceptron(MaxPair(), average=True),
        "online ListNet, averaged": OnlineRanker(ListNet()),
    }
    folds = list(load_letor_folds(folder))
    values = {name: np.empty((seeds, len(folds), len(_METRICS))) for name in learners}
    for number, fold in enumerate(folds):
        for seed in range(seeds):
            for name, learner in learners.items():
                learner.set_params(random_state=seed).fit(fold.train)
                found = evaluate(fold.test, learner.predict(fold.test), list(_METRICS)).mean
                values[name][seed, number] = [found[metric] for metric in _METRICS]
            if progress is not None:
                progress.update((number * seeds + seed + 1) / (len(folds) * seeds))
    return OnlineLetor(os.fspath(folder), values)
