"""The join of judgements and a run: grades in rank order."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastrank._core import _cpu, _metrics, _trec
from fastrank._threads import query_blocks, resolve_n_jobs, run_blocks
from fastrank._validation import check_bool, check_count, check_float_dtype
from fastrank.data._strings import text_array
from fastrank.data.trec.pairs import ROWS_PER_BLOCK, Qrels, Run

UNJUDGED = _trec.UNJUDGED
"""The grade of a document without a judgement: -2**31."""


class Joined(NamedTuple):
    """Judged lists in rank order, one per query; made by `join`.

    `fastrank.metrics.evaluate_lists` takes it as it is.
    """

    qid: NDArray[Any]
    """The queries, ascending by the bytes of their ids, as trec_eval prints them."""
    qptr: NDArray[np.int64]
    """Query q has the documents qptr[q] to qptr[q + 1] - 1, the first rank first."""
    scores: None
    """None: documents are in rank order."""
    grades: NDArray[np.int32]
    """Relevance of each document, or UNJUDGED."""
    docid: None
    missing_grades: NDArray[np.int32]
    """Relevance of judged documents that are not in the lists; query q has those from missing_ptr[q] on."""
    missing_ptr: NDArray[np.int64]
    only_in_run: NDArray[Any]
    """Queries of the run without judgements, which are left out."""
    only_in_qrels: NDArray[Any]
    """Judged queries that the run lacks: left out, or with an empty list where the join is complete."""


def join(
    qrels: Qrels,
    run: Run,
    *,
    complete: bool = False,
    max_docs: int | None = None,
    judged_only: bool = False,
    score_dtype: Any = None,
    n_jobs: int | None = None,
) -> Joined:
    """Rank the documents of a run and look up their judgements, exactly as trec_eval does.

    Documents are ranked by descending score; equal scores by the bytes of their ids, also descending. Ranks that a file
    gives play no role.

    Parameters
    ----------
    qrels : Qrels
    run : Run
    complete : bool, default=False
        Give queries that have judgements but are not in the run an empty list (option -c of trec_eval); else they are
        left out. Queries of the run without judgements are always left out.
    max_docs : int, optional
        Keep so many documents of each query (-M).
    judged_only : bool, default=False
        Take documents without judgement out of the lists (-J), after `max_docs`.
    score_dtype : float32 or float64, optional
        Round scores first: float32 is what trec_eval up to version 9 and pytrec_eval do, so that more of them are
        equal.
    n_jobs : int or None, default=None
        Threads; None is 1, -1 all CPUs. The result does not depend on it.

    Returns
    -------
    Joined

    Raises
    ------
    ValueError
        Where no query has both judgements and documents, and `complete` is not set.

    Notes
    -----
    Cost: a sort of each query of the run, and one probe of a hash table per document. Memory: 8 bytes per document.

    Examples
    --------
    >>> qrels = Qrels.from_dict({"q1": {"a": 1, "b": 0, "c": 2}, "q2": {"a": 1}})
    >>> run = Run.from_dict({"q1": {"a": 0.5, "c": 0.5, "x": 0.9}, "q3": {"a": 1.0}})
    >>> joined = join(qrels, run)
    >>> joined.grades.tolist() == [UNJUDGED, 2, 1], joined.missing_grades.tolist()
    (True, [0])
    >>> joined.qid.tolist(), joined.only_in_run.tolist(), joined.only_in_qrels.tolist()
    (['q1'], ['q3'], ['q2'])
    """
    for name, value, kind in (("qrels", qrels, Qrels), ("run", run, Run)):
        if not isinstance(value, kind):
            raise TypeError(
                f"{name}: expected {kind.__name__}, got {type(value).__name__}; read it with load_{name}, or make it "
                f"with {kind.__name__}.from_dict or .from_frame"
            )
    complete, judged_only = check_bool(complete, name="complete"), check_bool(judged_only, name="judged_only")
    dtype = np.float64 if score_dtype is None else check_float_dtype(score_dtype, name="score_dtype")
    most = None if max_docs is None else check_count(max_docs, name="max_docs")
    n_threads = resolve_n_jobs(n_jobs)

    run_ids, judged_ids = run.qid.tolist(), qrels.qid.tolist()
    place_in_run = {qid: place for place, qid in enumerate(run_ids)}
    pairs = sorted((qid, place, place_in_run.pop(qid, -1)) for place, qid in enumerate(judged_ids))
    only_in_run, only_in_qrels = list(place_in_run), [qid for qid, _, place in pairs if place < 0]
    if not complete:
        pairs = [pair for pair in pairs if pair[2] >= 0]
        if not pairs:
            raise ValueError(
                "run: expected queries that have judgements, got none: "
                f"the run has {_few(run_ids)}, the judgements have {_few(judged_ids)}; are these files of the same "
                "queries?"
            )
    judged_query = np.array([place for _, place, _ in pairs], dtype=np.int64)
    ranked_query = np.array([place for _, _, place in pairs], dtype=np.int64)

    sizes = np.where(ranked_query < 0, 0, np.diff(run.qptr, append=run.qptr[-1:])[ranked_query])
    list_ptr = _offsets(sizes if most is None else np.minimum(sizes, most))
    missing_ptr = _offsets(np.diff(qrels.qptr)[judged_query])
    order = _rank(run, ranked_query, dtype, n_threads)
    grades, missing = np.empty(list_ptr[-1], dtype=np.int32), np.empty(missing_ptr[-1], dtype=np.int32)
    slots_of_all = _trec.count_slots(qrels.qptr, 0, qrels.n_queries)

    def look_up(first: int, last: int) -> None:
        _trec.join_into(
            qrels.docid.data,
            qrels.docid.offsets,
            qrels._hashes,
            qrels.qptr,
            qrels.relevance,
            run.docid.data,
            run.docid.offsets,
            run._hashes,
            run.qptr,
            order,
            judged_query,
            ranked_query,
            first,
            last,
            list_ptr,
            missing_ptr,
            np.empty(slots_of_all, dtype=np.int32),
            grades,
            missing,
        )

    run_blocks(look_up, query_blocks(list_ptr + missing_ptr, ROWS_PER_BLOCK), n_threads)
    missing, missing_ptr = _without_unjudged(missing, missing_ptr)
    if judged_only:
        grades, list_ptr = _without_unjudged(grades, list_ptr)
    return Joined(
        text_array([qid for qid, _, _ in pairs]),
        list_ptr,
        None,
        grades,
        None,
        missing,
        missing_ptr,
        text_array(only_in_run),
        text_array(only_in_qrels),
    )


def _rank(run: Run, wanted: NDArray[np.int64], dtype: Any, n_threads: int) -> NDArray[np.int32]:
    """Positions inside each query of the run by score and id, both descending; only of queries that are wanted."""
    with np.errstate(over="ignore"):
        scores = run.score.astype(dtype, copy=False).astype(np.float64, copy=False)
    if not np.isfinite(scores).all():
        scores = np.unique(scores, return_inverse=True)[1].astype(np.float64).reshape(-1)  # the same order and ties
    order = np.empty(len(run), dtype=np.int32)
    is_wanted = np.zeros(run.n_queries, dtype=bool)
    is_wanted[wanted[wanted >= 0]] = True

    def rank(first: int, last: int) -> None:
        if not is_wanted[first:last].any():
            return
        _metrics.rank_into(scores, run.qptr, first, last, _cpu.LEVEL, order)
        work = np.empty(int(np.diff(run.qptr[first : last + 1]).max()), dtype=np.int32)
        _trec.order_ties_into(run.docid.data, run.docid.offsets, run.qptr, scores, first, last, work, order)

    run_blocks(rank, query_blocks(run.qptr, ROWS_PER_BLOCK), n_threads)
    return order


def _offsets(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))


def _without_unjudged(
    grades: NDArray[np.int32], qptr: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    judged = grades != UNJUDGED
    return grades[judged], _offsets(judged)[qptr]


def _few(ids: Iterable[str]) -> str:
    shown = list(ids)
    return ", ".join(map(repr, shown[:3])) + (", ..." if len(shown) > 3 else "") if shown else "none"
