"""Other tools' measures of given scores, each from NumPy arrays to a mean or to a value per query.

Conversion from the arrays counts, as it does for us; every tool gets one thread and its quickest way in that we know.
`rules` are what `fastrank.evaluate` has to be told to compute the same figures.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import numpy as np
import workloads
from metric_workloads import Array, RankedLists

import fastrank as fr


@dataclass(frozen=True)
class Peer:
    """A tool: which measures it has, how to have them, and how ours are told to be the same."""

    module: str
    measure: Callable[[RankedLists, str], Any]
    """The mean over queries, or the values of all queries."""
    measures: tuple[str, ...]
    rules: Mapping[str, Any] = field(default_factory=dict)
    tolerance: float = 1e-9
    max_docs: Mapping[str, int] = field(default_factory=dict)
    """The longest list it takes, by measure."""
    is_defined: bool = True
    """Where scores are equal, its values are more than chance."""
    wants_positive: bool = False
    """It takes documents with scores of 0 and below for not relevant."""

    def is_installed(self) -> bool:
        return importlib.util.find_spec(self.module) is not None

    def supports(self, measure: str, lists: RankedLists) -> bool:
        return measure in self.measures and lists.longest <= self.max_docs.get(measure, lists.longest)

    def __call__(self, lists: RankedLists, measure: str) -> Any:
        return self.measure(lists, measure)

    def check(self, lists: RankedLists, measure: str) -> None:
        """Assert that the tool and we find the same, query by query where it tells."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # whatever a tool warns of is its own affair
            theirs = np.asarray(self(lists, measure))
        scores = lists.positive if self.wants_positive else lists.scores
        rules = dict(self.rules)
        if rules.get("convention") == "trec_eval":
            rules["docid"] = np.array(_names(lists.n_docs))
        found = fr.evaluate(lists.grades, scores, measure, group=lists.group, **rules)
        expected = found[measure] if theirs.ndim else found.mean[measure]
        np.testing.assert_allclose(theirs, expected, rtol=0, atol=self.tolerance, err_msg=f"{self.module} {measure}")


def _cut(measure: str) -> tuple[str, int | None]:
    kind, _, k = measure.partition("@")
    return kind, int(k) if k else None


def _names(n: int) -> list[str]:
    """Document ids that sort backwards as strings, so that trec_eval's order of equal scores is that of the rows."""
    return [f"d{number:08d}" for number in range(n, 0, -1)]


def numpy_loop(lists: RankedLists, measure: str, sort: Literal["stable", "quicksort"] = "stable") -> Array:
    """A plain loop over queries."""
    kind, k = _cut(measure)
    values = np.zeros(lists.n_queries)
    depth = min(k or lists.longest, lists.longest)
    discounts = 1 / np.log2(np.arange(2, depth + 2))
    ranks = np.arange(1, lists.longest + 1)
    grades = np.exp2(lists.grades) - 1 if kind == "ndcg" else lists.relevant
    start = 0
    for query, stop in enumerate(lists.ends.tolist()):
        labels = grades[start:stop]
        ranked = labels[np.argsort(-lists.scores[start:stop], kind=sort)][:k]
        if kind == "ndcg":
            ideal = np.sort(labels)[::-1][:k] @ discounts[: len(ranked)]
            values[query] = ranked @ discounts[: len(ranked)] / ideal if ideal else 0.0
        elif kind == "ap":
            places = np.flatnonzero(ranked)
            values[query] = np.mean(ranks[: len(places)] / (places + 1)) if len(places) else 0.0
        elif kind == "rr":
            place = int(ranked.argmax())
            values[query] = ranked[place] / (place + 1)
        else:
            values[query] = ranked.sum() / k
        start = stop
    return values


def numpy_unstable(lists: RankedLists, measure: str) -> Array:
    """The same with the sort that NumPy vectorises, which leaves the order of equal scores to chance."""
    return numpy_loop(lists, measure, "quicksort")


def _padded(lists: RankedLists) -> tuple[Array, Array]:
    """Labels and scores as matrices; lists are made equally long with documents of grade 0 below all others."""
    if lists.width:
        shape = (lists.n_queries, lists.width)
        return lists.grades.reshape(shape), lists.scores.reshape(shape)
    filled = np.arange(lists.longest) < lists.group[:, None]
    grades = np.zeros(filled.shape, dtype=lists.grades.dtype)
    scores = np.full(filled.shape, lists.scores.min() - 1)
    grades[filled], scores[filled] = lists.grades, lists.scores
    return grades, scores


def sklearn_ndcg(lists: RankedLists, measure: str, ignore_ties: bool = False) -> float:
    from sklearn.metrics import ndcg_score

    grades, scores = _padded(lists)
    return float(ndcg_score(grades, scores, k=_cut(measure)[1], ignore_ties=ignore_ties))


def sklearn_ignore_ties(lists: RankedLists, measure: str) -> float:
    return sklearn_ndcg(lists, measure, ignore_ties=True)


def sklearn_lrap(lists: RankedLists, measure: str) -> float:
    """Label ranking average precision: AP of each row, 1 where nothing is relevant."""
    from sklearn.metrics import label_ranking_average_precision_score

    grades, scores = _padded(RankedLists(lists.relevant, lists.scores, lists.group))
    return float(label_ranking_average_precision_score(grades, scores))


def xgboost(lists: RankedLists, measure: str) -> float:
    """An untrained booster, whose margins are the base margins. A bare name would mean a cut at 32."""
    import scipy.sparse
    import xgboost as xgb

    kind, k = _cut(measure)
    name = {"ndcg": "ndcg", "ap": "map", "p": "pre"}[kind] + f"@{k or lists.longest}"
    nothing = scipy.sparse.csr_matrix((lists.n_docs, 1), dtype=np.float32)
    labels = lists.grades if kind == "ndcg" else lists.relevant
    data = xgb.DMatrix(nothing, label=labels, base_margin=lists.scores, group=lists.group, nthread=1)
    params = {"objective": "rank:ndcg", "eval_metric": name, "nthread": 1, "verbosity": 0}
    return float(xgb.Booster(params, [data]).eval(data).rsplit(":", 1)[1])


def lightgbm(lists: RankedLists, measure: str) -> float:
    """A booster without trees, whose scores are the initial scores."""
    import lightgbm as lgb
    import scipy.sparse

    kind, k = _cut(measure)
    params = {
        "objective": "none",
        "metric": {"ndcg": "ndcg", "ap": "map"}[kind],
        "eval_at": [k or lists.longest],
        "verbosity": -1,
        "num_threads": 1,
        "feature_pre_filter": False,
    }
    nothing = scipy.sparse.csr_matrix((lists.n_docs, 1), dtype=np.float32)
    data = lgb.Dataset(nothing, label=lists.grades, group=lists.group, init_score=lists.scores, params=params)
    return float(lgb.Booster(params, data).eval_train()[0][2])


def ranx(lists: RankedLists, measure: str) -> float:
    """Its compiled functions take pairs of an id and a value: documents by score, relevant ones by grade."""
    import ranx as peer

    kind, k = _cut(measure)
    name = {"ndcg": "ndcg", "ap": "map", "rr": "mrr", "p": "precision"}[kind] + (f"@{k}" if k else "")
    if lists.width:
        grades, scores = _padded(lists)
        by_grade = np.argsort(-grades, axis=1, kind="stable")[:, : max(1, int((grades > 0).sum(axis=1).max()))]
        qrels: Any = np.stack((by_grade, np.take_along_axis(grades, by_grade, axis=1)), axis=2, dtype=np.float64)
        by_score = np.argsort(-scores, axis=1, kind="stable")
        run: Any = np.stack((by_score, np.take_along_axis(scores, by_score, axis=1)), axis=2)
    else:
        from numba.typed import List

        qrels, run, start = List(), List(), 0
        for stop in lists.ends.tolist():
            grades, scores = lists.grades[start:stop], lists.scores[start:stop]
            by_grade, by_score = (np.argsort(-values, kind="stable") for values in (grades, scores))
            by_grade = by_grade[: max(1, np.count_nonzero(grades))]
            qrels.append(np.stack((by_grade, grades[by_grade]), axis=1, dtype=np.float64))
            run.append(np.stack((by_score, scores[by_score]), axis=1))
            start = stop
    return float(peer.evaluate(qrels, run, name, threads=1))


def catboost(lists: RankedLists, measure: str) -> float:
    from catboost.utils import eval_metric

    kind, k = _cut(measure)
    name = {"ndcg": "NDCG", "ap": "MAP", "rr": "MRR", "p": "PrecisionAt"}[kind] + (f":top={k}" if k else "")
    group_id = np.repeat(np.arange(lists.n_queries), lists.group)
    return float(eval_metric(lists.grades, lists.scores, name, group_id=group_id, thread_count=1)[0])


def torchmetrics(lists: RankedLists, measure: str) -> float:
    import torch
    from torchmetrics import retrieval

    torch.set_num_threads(1)
    kind, k = _cut(measure)
    metric: Any = {
        "ndcg": retrieval.RetrievalNormalizedDCG,
        "ap": retrieval.RetrievalMAP,
        "rr": retrieval.RetrievalMRR,
        "p": retrieval.RetrievalPrecision,
    }[kind](top_k=k)
    target = torch.from_numpy(lists.grades if kind == "ndcg" else lists.relevant)
    indexes = torch.from_numpy(np.repeat(np.arange(lists.n_queries), lists.group))
    metric.update(torch.from_numpy(lists.positive), target.long(), indexes=indexes)
    return float(metric.compute())


def pytrec_eval(lists: RankedLists, measure: str) -> Array:
    """Its only input is dictionaries: {query: {document: value}}."""
    import pytrec_eval as peer

    name = {"ndcg@10": "ndcg_cut.10", "ap": "map", "rr": "recip_rank", "p@10": "P.10"}.get(measure, measure)
    names, grades, scores = _names(lists.n_docs), lists.grades.tolist(), lists.scores.tolist()
    qrels, run, start = {}, {}, 0
    for query, stop in enumerate(lists.ends.tolist()):
        docs = names[start:stop]
        qrels[str(query)] = dict(zip(docs, grades[start:stop], strict=True))
        run[str(query)] = dict(zip(docs, scores[start:stop], strict=True))
        start = stop
    found = peer.RelevanceEvaluator(qrels, {name}).evaluate(run)
    return np.array([found[str(query)][name.replace(".", "_")] for query in range(lists.n_queries)])


_NDCG = ("ndcg@10", "ndcg")
_ALL = (*_NDCG, "ap", "rr", "p@10")

PEERS = {
    "numpy loop": Peer("numpy", numpy_loop, _ALL),
    "numpy loop, unstable": Peer("numpy", numpy_unstable, _ALL, is_defined=False),
    "sklearn": Peer("sklearn", sklearn_ndcg, _NDCG, {"convention": "sklearn"}),
    "sklearn ignore_ties": Peer("sklearn", sklearn_ignore_ties, _NDCG, {"convention": "sklearn"}),
    "sklearn LRAP": Peer("sklearn", sklearn_lrap, ("ap",), {"convention": "sklearn", "empty": 1}),
    "xgboost": Peer("xgboost", xgboost, (*_NDCG, "ap", "p@10"), {"convention": "xgboost", "default_k": {}}),
    "lightgbm": Peer(
        "lightgbm", lightgbm, (*_NDCG, "ap"), {"convention": "lightgbm"}, max_docs=dict.fromkeys(_NDCG, 10_000)
    ),
    "ranx": Peer("ranx", ranx, _ALL, {"gain": "linear"}),
    "catboost": Peer("catboost", catboost, _ALL, {"convention": "catboost"}, tolerance=1e-5),
    "torchmetrics": Peer(
        "torchmetrics", torchmetrics, _ALL, {"convention": "torchmetrics"}, tolerance=1e-5, wants_positive=True
    ),
    "pytrec_eval": Peer("pytrec_eval", pytrec_eval, _ALL, {"convention": "trec_eval", "score_dtype": "float32"}),
}


def installed(names: Iterable[str] = PEERS) -> dict[str, Peer]:
    """The peers of this environment."""
    return {name: PEERS[name] for name in names if PEERS[name].is_installed()}


JJFIV_MEASURES = ("ndcg@10", "ndcg", "ap", "rr")

# Runs in jjfiv's environment, which has neither us nor this folder, so this text stands alone.
_MEASURE_JJFIV = """
import json, sys, time
import numpy as np
from fastrank import CDataset, CModel

folder, repeats = sys.argv[1], int(sys.argv[2])
grades, scores, group = (np.load(f"{folder}/{name}.npy") for name in ("grades", "scores", "group"))
found = {}
for measure in sys.argv[3:]:
    least = float("inf")
    for _ in range(repeats):
        started = time.process_time()
        qid = np.repeat(np.arange(len(group)), group)
        data = CDataset.from_numpy(scores.astype(np.float32)[:, None], grades.astype(np.float64), qid)
        values = data.evaluate(CModel.from_dict({"Linear": {"weights": [1.0]}}), measure)
        least = min(least, time.process_time() - started)
    found[measure] = {"cpu": least, "values": [values[str(query)] for query in range(len(group))]}
print(json.dumps(found))
"""


def jjfiv(lists: RankedLists, repeats: int) -> dict[str, float] | None:
    """CPU seconds of jjfiv's fastrank by measure, where its environment is there."""
    python = workloads.jjfiv_python()
    if python is None:
        return None
    with TemporaryDirectory() as folder:
        for name in ("grades", "scores", "group"):
            np.save(Path(folder, f"{name}.npy"), getattr(lists, name))
        command = [str(python), "-I", "-c", _MEASURE_JJFIV, folder, str(repeats), *JJFIV_MEASURES]
        found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    ours = fr.evaluate(
        lists.grades, lists.scores, JJFIV_MEASURES, group=lists.group, ties="worst", score_dtype="float32"
    )
    for measure, result in found.items():
        np.testing.assert_allclose(result["values"], ours[measure], rtol=0, atol=1e-5, err_msg=f"jjfiv {measure}")
    return {measure: result["cpu"] for measure, result in found.items()}
