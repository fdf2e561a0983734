"""One function per tool: the tool's own figures for given grades and scores, under our names.

Each takes grouped rows and returns the mean over the queries, which is all that most of these tools tell; `each_query`
calls it once per query. Tools are imported inside, because they are heavy and optional.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from conformance.cases import Batch

Means = Mapping[str, float]


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Whatever a tool warns of is its own affair."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def each_query(tool: Callable[..., Means], batch: Batch, metrics: Sequence[str], **options: Any) -> NDArray[np.float64]:
    """The tool's value of every metric for every query, from one call per query: shape (n_metrics, n_queries)."""
    values = np.empty((len(metrics), len(batch.group)))
    for column, query in enumerate(batch.queries()):
        means = tool(query.grades, query.scores, np.array([len(query.grades)]), metrics, **options)
        values[:, column] = [means[name] for name in metrics]
    return values


def assert_same(ours: NDArray[np.float64], theirs: NDArray[np.float64], metrics, labels, *, atol: float) -> None:
    """Every value within atol, else the first disagreements by name."""
    assert ours.shape == theirs.shape == (len(metrics), len(labels))
    wrong = np.argwhere(~(np.abs(ours - theirs) <= atol))
    shown = [f"{metrics[i]} of {labels[j]!r}: ours {ours[i, j]!r}, theirs {theirs[i, j]!r}" for i, j in wrong[:8]]
    assert not shown, f"{len(wrong)} of {ours.size} values differ by more than {atol}:\n" + "\n".join(shown)


def assert_same_means(ours: Means, theirs: Means, metrics: Sequence[str], *, atol: float) -> None:
    """The means of these metrics within atol."""
    wrong = [name for name in metrics if not abs(ours[name] - theirs[name]) <= atol]
    assert not wrong, "\n".join(f"mean {name}: ours {ours[name]!r}, theirs {theirs[name]!r}" for name in wrong)


def at(cuts: Sequence[int], *kinds: str) -> list[str]:
    """The names of these measures at these cut-offs."""
    return [f"{kind}@{k}" for kind in kinds for k in cuts]


def installed(name: str) -> None:
    """Skip the module where the tool is not installed. Importing it may warn, which is its own affair."""
    with quiet():
        pytest.importorskip(name)


def _cut(name: str) -> tuple[str, int | None]:
    kind, _, k = name.partition("@")
    return kind, int(k) if k else None


def lightgbm(grades, scores, group, metrics: Sequence[str], **params: Any) -> Means:
    """LightGBM evaluates a booster without trees, whose scores are the initial scores: exactly ours, in float64."""
    with quiet():
        import lightgbm as lgb

        theirs = {"ndcg": "ndcg", "ap": "map"}
        asked = {_cut(name) for name in metrics}
        params = {
            "objective": "none",
            "metric": sorted({theirs[kind] for kind, _ in asked}),
            "eval_at": sorted({k for _, k in asked}),
            "verbosity": -1,
            "num_threads": 1,
            "feature_pre_filter": False,
            **params,
        }
        rows = np.arange(len(grades), dtype=np.float64)[:, None]
        data = lgb.Dataset(rows, label=grades, group=group, init_score=scores, params=params)
        found = {name: value for _, name, value, _ in lgb.Booster(params, data).eval_train()}
    return {f"{kind}@{k}": float(found[f"{theirs[kind]}@{k}"]) for kind, k in asked}


def xgboost(grades, scores, group, metrics: Sequence[str], *, suffix: str = "", **params: Any) -> Means:
    """XGBoost evaluates an untrained booster, whose margins are the base margins, rounded to float32.

    With the suffix "-", a query without relevant documents counts 0 and not 1.
    """
    theirs = {"ndcg": "ndcg", "ap": "map", "p": "pre"}
    with quiet():
        import xgboost as xgb

        names = [theirs[kind] + (f"@{k}" if k else "") + suffix for kind, k in map(_cut, metrics)]
        rows = np.zeros((len(grades), 1), dtype=np.float32)
        data = xgb.DMatrix(rows, label=grades, base_margin=scores, nthread=1)
        data.set_group(group)
        booster = xgb.Booster(
            {"objective": "rank:ndcg", "eval_metric": names, "nthread": 1, "verbosity": 0, **params}, [data]
        )
        line = booster.eval(data, "e")
    found = dict(cell.removeprefix("e-").rsplit(":", 1) for cell in line.split("\t")[1:])
    return {name: float(found[their]) for name, their in zip(metrics, names, strict=True)}


def catboost(grades, scores, group, metrics: Sequence[str], *, options: str = "") -> Means:
    """catboost.utils.eval_metric, with `options` such as "type=Exp" added to every metric."""
    theirs = {
        "ndcg": "NDCG",
        "dcg": "DCG",
        "ap": "MAP",
        "rr": "MRR",
        "err": "ERR",
        "p": "PrecisionAt",
        "recall": "RecallAt",
    }
    found = {}
    with quiet():
        from catboost.utils import eval_metric

        group_id = np.repeat(np.arange(len(group)), group)
        for name in metrics:
            kind, k = _cut(name)
            asked = [] if k is None else [f"top={k}"]
            asked += [options] if options else []
            their = theirs[kind] + (":" + ";".join(asked) if asked else "")
            (found[name],) = eval_metric(
                np.asarray(grades, dtype=np.float64), np.asarray(scores, dtype=np.float64), their, group_id=group_id
            )
    return found


def torchmetrics(grades, scores, group, metrics: Sequence[str], *, empty: str = "neg", **options: Any) -> Means:
    """The classes of torchmetrics.retrieval, in float32."""
    with quiet():
        import torch
        import torchmetrics.retrieval as retrieval

        theirs = {
            "ndcg": retrieval.RetrievalNormalizedDCG,
            "ap": retrieval.RetrievalMAP,
            "rr": retrieval.RetrievalMRR,
            "p": retrieval.RetrievalPrecision,
            "recall": retrieval.RetrievalRecall,
            "success": retrieval.RetrievalHitRate,
            "rprec": retrieval.RetrievalRPrecision,
        }
        indexes = torch.from_numpy(np.repeat(np.arange(len(group)), group))
        target = torch.from_numpy(np.asarray(grades, dtype=np.int64))
        preds = torch.from_numpy(np.asarray(scores, dtype=np.float64))
        found = {}
        for name in metrics:
            kind, k = _cut(name)
            cut = {} if k is None else {"top_k": k}
            metric = theirs[kind](empty_target_action=empty, **cut, **(options if kind == "p" else {}))
            found[name] = float(metric(preds, target, indexes=indexes))
    return found


def sklearn(grades, scores, group, metrics: Sequence[str]) -> Means:
    """scikit-learn's ranking metrics; "ap" is average_precision_score, "lrap" its ranking form."""
    found = {}
    ends = np.cumsum(group)
    rows = [(grades[end - size : end], scores[end - size : end]) for size, end in zip(group, ends, strict=True)]
    with quiet():
        from sklearn.metrics import (
            average_precision_score,
            dcg_score,
            label_ranking_average_precision_score,
            ndcg_score,
        )

        for name in metrics:
            kind, k = _cut(name)
            of_query: dict[str, Callable[[Any, Any], float]] = {
                "ndcg": lambda y, s, k=k: ndcg_score([y], [s], k=k),
                "dcg": lambda y, s, k=k: dcg_score([y], [s], k=k),
                "ap": lambda y, s: average_precision_score(y, s),
                "lrap": lambda y, s: label_ranking_average_precision_score([y], [s]),
            }
            found[name] = float(np.mean([of_query[kind](y, s) for y, s in rows]))
    return found


def trec_eval(qrels: dict, run: dict, metrics: Sequence[str]) -> dict[str, dict[str, float]]:
    """trec_eval's figures for every query, through pytrec_eval; `metrics` in its spelling, such as "ndcg_cut.10"."""
    with quiet():
        import pytrec_eval

        return pytrec_eval.RelevanceEvaluator(qrels, set(metrics)).evaluate(run)
