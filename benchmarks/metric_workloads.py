"""Seeded ranked lists for the measures, the same kind of thing as TREC dictionaries and files, and floors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

import fastrank as fr
from fastrank._core import _metrics
from fastrank.metrics._program import discount_table

MEASURES = ("ndcg@10", "ndcg", "ap", "rr", "p@10")

TREC_MEASURES = ("ndcg_cut.10", "ndcg", "map", "recip_rank", "P.10")
"""The same in trec_eval's spelling."""

_GRADE_SHARES = (0.52, 0.32, 0.13, 0.02, 0.01)

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class RankedLists:
    """Lists of documents as a user has them: NumPy arrays, and the length of each list.

    What some tools want instead of them, and is not theirs to pay for, is made once: labels of 0 and 1, scores above 0.
    """

    grades: Array
    scores: Array
    group: Array

    @property
    def n_queries(self) -> int:
        return len(self.group)

    @property
    def n_docs(self) -> int:
        return len(self.grades)

    @cached_property
    def longest(self) -> int:
        return int(self.group.max())

    @cached_property
    def width(self) -> int | None:
        """The length of all lists, None where they differ."""
        return self.longest if self.longest == self.group.min() else None

    @cached_property
    def ends(self) -> Array:
        return np.cumsum(self.group)

    @cached_property
    def qptr(self) -> Array:
        return np.append(0, self.ends)

    @cached_property
    def relevant(self) -> Array:
        """Labels of 0 and 1."""
        return (self.grades > 0).astype(np.int32)

    @cached_property
    def positive(self) -> Array:
        """Scores that are all above 0."""
        return self.scores - (self.scores.min() - 1)

    def first(self, n_queries: int) -> RankedLists:
        """The first queries."""
        if n_queries >= self.n_queries:
            return self
        n_docs = int(self.group[:n_queries].sum())
        return RankedLists(self.grades[:n_docs], self.scores[:n_docs], self.group[:n_queries])


def _graded(seed: int, group: Array) -> RankedLists:
    """Five grades with the shares of MSLR-WEB, independent of the scores; no two scores are equal."""
    rng = np.random.default_rng(seed)
    n_docs = int(group.sum())
    grades = rng.choice(len(_GRADE_SHARES), n_docs, p=_GRADE_SHARES).astype(np.int32)
    return RankedLists(grades, rng.normal(size=n_docs), group)


def mslr_like(n_queries: int = 10_000) -> RankedLists:
    """Ragged: lognormal lengths, about 120 documents in the mean, at most 900."""
    lengths = np.random.default_rng(1).lognormal(np.log(120) - 0.18, 0.6, n_queries)
    return _graded(1, np.clip(np.rint(lengths), 1, 900).astype(np.int64))


def sparse(n_queries: int = 1_000, n_docs: int = 1_000) -> RankedLists:
    """Binary labels, one document in a hundred is relevant."""
    rng = np.random.default_rng(2)
    grades = (rng.random(n_queries * n_docs) < 0.01).astype(np.int32)
    return RankedLists(grades, rng.normal(size=grades.size), np.full(n_queries, n_docs))


def long(n_queries: int = 50, n_docs: int = 100_000) -> RankedLists:
    return _graded(3, np.full(n_queries, n_docs))


def tiny(n_queries: int = 1_000_000, n_docs: int = 5) -> RankedLists:
    return _graded(4, np.full(n_queries, n_docs))


WORKLOADS: dict[str, Callable[[], RankedLists]] = {"mslr-like": mslr_like, "sparse": sparse, "long": long, "tiny": tiny}

SMALL: dict[str, Callable[[], RankedLists]] = {
    "mslr-like": partial(mslr_like, 20),
    "sparse": partial(sparse, 10, 200),
    "long": partial(long, 2, 3_000),
    "tiny": partial(tiny, 100),
}
"""The same kinds of lists where nothing is timed."""


def ours(lists: RankedLists, measure: str, n_jobs: int = 1) -> Array:
    """One measure as a user asks for it: a value per query."""
    kind, _, k = measure.partition("@")
    function: Callable[..., Array] = getattr(fr.metrics, {"p": "precision"}.get(kind, kind))
    cut = {"k": int(k)} if k else {}
    return function(lists.grades, lists.scores, group=lists.group, n_jobs=n_jobs, **cut)


def ours_together(lists: RankedLists, n_jobs: int = 1) -> Any:
    """All measures at once."""
    return fr.evaluate(lists.grades, lists.scores, MEASURES, group=lists.group, n_jobs=n_jobs)


def read_once(lists: RankedLists) -> float:
    """What any measure costs at least: one look at each score and each label."""
    return float(lists.scores.sum() + lists.grades.sum())


def packed_keys(lists: RankedLists) -> list[Array]:
    """Scores as integers of the same order with the row in the low bits: a matrix for each length of lists."""
    bits = lists.scores.view(np.int64)
    keys = bits ^ ((bits >> 63) & np.int64(2**63 - 1))
    starts = lists.ends - lists.group
    place = np.arange(lists.n_docs) - np.repeat(starts, lists.group)
    low = (1 << (lists.longest - 1).bit_length()) - 1
    keys = (keys & ~np.int64(low)) | place
    lengths = [lists.longest] if lists.width else np.unique(lists.group).tolist()
    return [keys[starts[lists.group == length][:, None] + np.arange(length)] for length in lengths]


def sort_keys(matrices: list[Array]) -> list[Array]:
    """The floor of measures that need the whole order: NumPy's vectorised sort of packed keys, nothing else."""
    return [np.sort(keys, axis=1) for keys in matrices]


def kernels(n_queries: int = 100) -> dict[str, Callable[[int], Array]]:
    """The kernels behind the measures, and the sort, as functions of the CPU level that return what they computed."""
    lists = mslr_like(n_queries)
    found = {f"{measure} float64": partial(_run_program, lists, _program(lists, measure)) for measure in MEASURES}
    for dtype in ("float32", "float64"):
        found[f"rank {dtype}"] = partial(_rank, lists.scores.astype(dtype), lists.qptr)
    return found


def _program(lists: RankedLists, measure: str) -> _metrics.Program:
    metric = fr.metrics.parse_metric(measure)
    gains = np.exp2(np.arange(32.0)) - 1
    return _metrics.Program(
        np.array([_metrics.KINDS[metric.kind]], dtype=np.int32),
        np.array([metric.k or 0]),
        np.zeros(1, dtype=np.int32),
        np.zeros(1),
        gains,
        np.zeros_like(gains),
        0,
        1,
        discount_table("log2", lists.longest),
        _metrics.TIES["mean"],
    )


def _run_program(lists: RankedLists, program: _metrics.Program, level: int) -> Array:
    values = np.empty((1, lists.n_queries))
    path = _metrics.PATHS["auto"]
    program.run(lists.scores, lists.grades, lists.qptr, 0, lists.n_queries, None, None, level, path, values)
    return values


def _rank(scores: Array, qptr: Array, level: int) -> Array:
    order = np.empty(len(scores), dtype=np.int32)
    _metrics.rank_into(scores, qptr, 0, len(qptr) - 1, level, order)
    return order


Qrels = dict[str, dict[str, int]]
Run = dict[str, dict[str, float]]


def trec_dicts(n_queries: int = 1_000, n_docs: int = 1_000, n_judged: int = 100) -> tuple[Qrels, Run]:
    """Judgements and a run, {query: {document: value}}: most judged documents are retrieved, few scores are equal."""
    rng = np.random.default_rng(5)
    qrels, run = {}, {}
    for query in range(n_queries):
        numbers = rng.choice(10_000_000, n_docs + n_judged // 4, replace=False)
        names = [f"DOC-{number:07d}" for number in numbers]
        judged = rng.choice(len(names), n_judged, replace=False)
        grades = rng.choice(len(_GRADE_SHARES), n_judged, p=_GRADE_SHARES).tolist()
        scores = np.sort(rng.gamma(4.0, 3.0, n_docs).round(4))[::-1].tolist()
        qid = str(query + 301)
        qrels[qid] = {names[place]: grade for place, grade in zip(judged.tolist(), grades, strict=True)}
        run[qid] = dict(zip(names, scores, strict=False))
    return qrels, run


def write_trec(qrels: Qrels, run: Run, folder: Path) -> tuple[Path, Path]:
    """The same as files in TREC's formats."""
    judgements, ranking = folder / "qrels", folder / "run"
    with open(judgements, "w") as stream:
        for qid, grades in qrels.items():
            stream.writelines(f"{qid} 0 {docid} {grade}\n" for docid, grade in grades.items())
    with open(ranking, "w") as stream:
        for qid, scores in run.items():
            ranked = enumerate(scores.items(), 1)
            stream.writelines(f"{qid} Q0 {docid} {rank} {score} fastrank\n" for rank, (docid, score) in ranked)
    return judgements, ranking
