"""LETOR's published figures, recomputed from the baselines' own test scores under convention="letor"."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

import fastrank as fr

FOLDERS = {
    "OHSUMED": "letor3-ohsumed/QueryLevelNorm",
    "Mq2007": "letor4-mq2007",
    "Mq2008": "letor4-mq2008",
}
# Which of the two published tables the score files belong to: that of the model tuned by MAP or by NDCG. Where both
# tunings chose the same model the tables are equal.
TABLES = {"AdaRank": "MAP", "ListNet": "NDCG", "RankBoost": "NDCG", "RankNet": "NDCG", "svm_rank": "NDCG"}
METRICS = [*(f"ndcg@{k}" for k in range(1, 11)), *(f"p@{k}" for k in range(1, 11)), "ap"]
COLUMNS = [*(f"NDCG@{k}" for k in range(1, 11)), *(f"P@{k}" for k in range(1, 11)), "MAP"]
TOLERANCE = 1e-4  # the tables print four decimals


def published(path: Path) -> dict[str, dict[str, float]]:
    """The figures of the test folds: fold to column to value."""
    figures: dict[str, dict[str, float]] = {}
    section = ""
    columns: list[str] = []
    with gzip.open(path, "rt") as lines:
        for line in lines:
            cells = line.split()
            if line.lower().startswith("performance"):
                section = line.lower()
            elif cells and "test" in section:
                if cells[0] == "Folds":
                    columns = cells[1:]
                else:
                    figures.setdefault(cells[0], {}).update(zip(columns, map(float, cells[1:]), strict=True))
    return figures


class Baseline(NamedTuple):
    """One test fold: the grades, the scores of one algorithm in the same order, and the published figures."""

    title: str
    grades: NDArray[Any]
    sizes: NDArray[np.int64]
    scores: NDArray[np.float64]
    figures: dict[str, float]


@pytest.fixture(scope="module")
def baselines(data_room) -> list[Baseline]:
    """Every algorithm on every test fold."""
    root = data_room / "letor-baseline-scores"
    found = []
    for name, folder in FOLDERS.items():
        for fold in (f"Fold{number}" for number in range(1, 6)):
            (path,) = (data_room / folder / fold).glob("test*")
            data = fr.load_letor(path)
            for algorithm, table in TABLES.items():
                (path,) = (root / algorithm / name / fold).iterdir()
                with gzip.open(path, "rt") as lines:
                    scores = np.array([float(line) for line in lines])
                figures = published(root / algorithm / "eval" / f"{table}_{name}_{algorithm}.gz")
                found.append(Baseline(f"{algorithm} {name} {fold}", data.y, data.sizes, scores, figures[fold]))
    return found


def test_all_published_figures(baselines):
    compared = 0
    wrong = []
    for title, grades, sizes, scores, figures in baselines:
        ours = fr.evaluate(grades, scores, METRICS, group=sizes, convention="letor").mean
        for metric, column in zip(METRICS, COLUMNS, strict=True):
            compared += 1
            if not abs(ours[metric] - figures[column]) <= TOLERANCE:
                wrong.append(f"{title} {column}: ours {ours[metric]:.5f}, published {figures[column]}")
    assert not wrong, f"{len(wrong)} of {compared} figures differ:\n" + "\n".join(wrong[:10])
    # 5 algorithms, 3 data sets, 5 folds, and 10 NDCG, 10 precisions and MAP of each.
    assert compared == 1575


def test_mean_ndcg(baselines):
    # LETOR's MeanNDCG is, for each query, the mean of NDCG@i over all positions i of its list.
    for title, grades, sizes, scores, figures in baselines:
        cuts = np.arange(1, sizes.max() + 1)
        ours = fr.evaluate(grades, scores, [f"ndcg@{k}" for k in cuts], group=sizes, convention="letor")
        mean = np.mean(np.sum(ours.values, axis=0, where=cuts[:, None] <= sizes) / sizes)
        assert abs(mean - figures["MeanNDCG"]) <= TOLERANCE, title
    assert len(baselines) == 75


@pytest.mark.parametrize(
    "change", [{"discount": "log2"}, {"gain": "linear"}, {"empty": 1}, {"short": "keep"}, {"ties": "worst"}, {"rel": 2}]
)
def test_every_choice_of_the_convention_matters(baselines, change):
    # On MQ2008, whose lists are short and often without relevant documents.
    far = 0.0
    for title, grades, sizes, scores, figures in baselines:
        if "Mq2008" in title:
            ours = fr.evaluate(grades, scores, METRICS, group=sizes, convention="letor", **change).mean
            differences = [ours[metric] - figures[column] for metric, column in zip(METRICS, COLUMNS, strict=True)]
            far = max(far, float(np.max(np.abs(differences))))
    assert far > 10 * TOLERANCE
