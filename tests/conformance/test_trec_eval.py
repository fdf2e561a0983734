"""convention="trec_eval" beside trec_eval itself, through pytrec_eval, which rounds scores to float32 first."""

from __future__ import annotations

import numpy as np
import pytest

import fastrank as fr
from conformance import tools
from conformance.cases import adversarial

CUTS = (1, 2, 3, 5, 10, 1000)
ATOL = 1e-12  # both sum in float64, in another order

OURS = [
    *("ndcg", "ap", "rr", "bpref", "rprec"),
    *tools.at(CUTS, "ndcg", "ap", "p", "recall", "success"),
]
THEIRS = [
    *("ndcg", "map", "recip_rank", "bpref", "Rprec"),
    *(f"{kind}_{k}" for kind in ("ndcg_cut", "map_cut", "P", "recall", "success") for k in CUTS),
]
CUT_LIST = ",".join(map(str, CUTS))
ASKED = [
    *("ndcg", "map", "recip_rank", "bpref", "Rprec"),
    *(f"{kind}.{CUT_LIST}" for kind in ("ndcg_cut", "map_cut", "P", "recall", "success")),
]


@pytest.fixture(scope="module", autouse=True)
def _pytrec_eval():
    tools.installed("pytrec_eval")


def test_each_query_of_arrays():
    # Everything judged and retrieved. Ids like d9 and d10, whose order is not that of the rows.
    batch = adversarial(4)
    qid = np.repeat([f"q{i}" for i in range(len(batch.group))], batch.group)
    docid = [f"d{row * 7 % 1013}" for row in range(len(qid))]  # distinct inside a query
    qrels: dict[str, dict[str, int]] = {}
    run: dict[str, dict[str, float]] = {}
    for q, d, grade, score in zip(qid.tolist(), docid, batch.grades.tolist(), batch.scores.tolist(), strict=True):
        qrels.setdefault(q, {})[d] = grade
        run.setdefault(q, {})[d] = score
    found = tools.trec_eval(qrels, run, ASKED)
    theirs = np.array([[found[f"q{i}"][name] for i in range(len(batch.group))] for name in THEIRS])
    ours = fr.evaluate(
        batch.grades, batch.scores, OURS, qid=qid, docid=docid, convention="trec_eval", score_dtype="float32"
    )
    tools.assert_same(ours.values, theirs, OURS, batch.labels, atol=ATOL)


def drawn_pool(rng: np.random.Generator, n_queries: int) -> tuple[dict, dict]:
    """Qrels and a run with all that real ones have.

    Judged documents that are not retrieved, retrieved ones that are not judged, negative grades, ties, queries without
    relevant documents, and queries that only one of the two knows.
    """
    qrels: dict[str, dict[str, int]] = {}
    run: dict[str, dict[str, float]] = {}
    for q in range(n_queries):
        n = int(rng.integers(1, 40))
        names = [f"d{i}" for i in rng.permutation(60)[:n]]
        top = int(rng.integers(0, 4))
        judged = {name: int(rng.integers(-1, top + 1)) for name in names if rng.random() < 0.7}
        retrieved = {name: float(rng.integers(-3, 4)) / 2 for name in names if rng.random() < 0.7}
        if judged and q % 11:
            qrels[f"q{q}"] = judged
        if retrieved and q % 13:
            run[f"q{q}"] = retrieved
    return qrels, run


@pytest.mark.parametrize("seed", range(3))
def test_each_query_of_qrels_and_run(seed):
    qrels, run = drawn_pool(np.random.default_rng(seed), 150)
    found = tools.trec_eval(qrels, run, ASKED)
    ours = fr.evaluate(fr.Qrels.from_dict(qrels), fr.Run.from_dict(run), OURS, convention="trec_eval")
    names = [str(q) for q in ours.qid]
    assert sorted(names) == sorted(found)
    theirs = np.array([[found[q][name] for q in names] for name in THEIRS])
    tools.assert_same(ours.values, theirs, OURS, names, atol=ATOL)
