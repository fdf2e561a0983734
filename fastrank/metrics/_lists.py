"""Ranked lists: labels and scores of all queries as flat arrays, whatever they came as.

Nothing here reads the rows where it can be helped: values that are not finite or not whole are found by the kernel,
which reads them anyway.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fastrank._core import _cpu, _metrics
from fastrank._validation import plural
from fastrank.data._grouping import Grouping, check_qid_in_groups, group_by_qid, group_by_sizes, id_list, query_numbers
from fastrank.data._strings import StringColumn
from fastrank.data.dataset import RankingDataset
from fastrank.data.trec import Qrels, Run, join
from fastrank.metrics.conventions import Convention
from fastrank.metrics.names import KINDS

_MAX_INTEGER = 2**53

UNJUDGED = -(2**31)
"""The grade of a document without a judgement, where grades are integers; NaN where they are real."""


class Lists(NamedTuple):
    """Documents of all queries, the rows of each query adjacent.

    Query q has the rows qptr[q] to qptr[q + 1] - 1. `scores` is None where rows are in rank order. `missing_grades` are
    grades of judged documents that are in no row: query q has missing_ptr[q] to missing_ptr[q + 1] - 1 of them.
    `rows` says which row of the user's each row is, None: the same. `width` is the number of columns where the user's
    labels are a matrix with a row per query.
    """

    qid: NDArray[Any]
    qptr: NDArray[np.int64]
    scores: NDArray[Any] | None
    grades: NDArray[Any]
    docid: Any = None
    missing_grades: NDArray[np.int32] | None = None
    missing_ptr: NDArray[np.int64] | None = None
    rows: NDArray[np.int64] | None = None
    width: int | None = None

    def place(self, row: int) -> str:
        """Name a row as the user knows it."""
        query = int(np.searchsorted(self.qptr, row, side="right")) - 1
        users_row = row if self.rows is None else int(self.rows[row])
        if self.width is not None:
            return f"row {users_row // self.width}, column {users_row % self.width}"
        return f"row {users_row} (query {id_list(self.qid[query : query + 1])[0]!r})"

    def longest(self) -> int:
        """Documents of the longest list, those that are missing from it included."""
        return _metrics.longest_list(self.qptr, self.missing_ptr)


def make_lists(
    data: Any,
    scores: Any,
    qid: Any = None,
    group: Any = None,
    docid: Any = None,
    *,
    convention: Convention,
    names: tuple[str, str] = ("data", "scores"),
    n_jobs: int | None = None,
) -> Lists:
    """Return the lists of a data set, of labels (a vector with qid or group, or a row per query), or of judgements.

    `names` are the caller's names of the first two arguments.
    """
    width = None
    if isinstance(data, Mapping):
        raise TypeError(
            f"{names[0]}: expected a data set, labels or Qrels, got a {type(data).__name__}; for "
            "{query: {document: relevance}} pass Qrels.from_dict(...), and Run.from_dict(...) as " + names[1]
        )
    if isinstance(data, Qrels):
        if qid is not None or group is not None or docid is not None:
            raise ValueError("qid, group, docid: expected none of them with Qrels, which have their own, got one")
        return _lists_of_run(data, scores, convention, n_jobs)
    if isinstance(data, RankingDataset):
        if qid is not None or group is not None:
            raise ValueError("qid, group: expected neither with a RankingDataset, which has its own, got one")
        labels, groups = data.y, Grouping(data.qid, data.qptr, data.order)
        docid = data.docid if docid is None else docid
        values = _column(_numbers(scores, names[1]))
        _check_shape(values, labels.shape, names[1], "one score per row of the data set")
    else:
        labels, values = _numbers(data, names[0]), _numbers(scores, names[1])
        if qid is not None or group is not None:
            labels, values = _column(labels), _column(values)
        _check_shape(values, labels.shape, names[1], f"the shape of {names[0]}")
        groups = _group(labels.shape, qid, group, names[0])
        width = labels.shape[1] if labels.ndim == 2 else None
    columns = _scores(values, names[1]), _grades(labels), _docids(docid, labels)
    lists = Lists(groups.qid, groups.qptr, *columns, rows=groups.order, width=width)
    return lists if groups.order is None else take_rows(lists, groups.order)


def _lists_of_run(qrels: Qrels, run: Run, convention: Convention, n_jobs: int | None) -> Lists:
    """Join judgements and a run. Rows are in trec_eval's order, which is the order of rows for ties="index" too."""
    joined = join(qrels, run, score_dtype=convention.score_dtype, n_jobs=n_jobs)
    lists = Lists(*joined[:7])
    if {convention.rule("ties", kind) for kind in KINDS} <= {"docid", "index"}:
        return lists
    # The scores in that order, to see ties: those of each query of the run, sorted.
    place = {one: number for number, one in enumerate(run.qid.tolist())}
    first_row = run.qptr[[place[one] for one in lists.qid.tolist()]]
    sizes = np.diff(lists.qptr)
    scores = round_scores(run.score, convention.score_dtype)[
        np.arange(lists.qptr[-1]) + np.repeat(first_row - lists.qptr[:-1], sizes)
    ]
    if not np.isfinite(scores).all():  # which a run may have
        scores = np.unique(scores, return_inverse=True)[1].reshape(-1).astype(np.float64)
    ranked = scores[_rank(scores, lists.qptr)]
    return lists._replace(scores=ranked, docid=-np.arange(len(ranked)))


def take_rows(lists: Lists, rows: NDArray[np.int64]) -> Lists:
    """Select or reorder rows; `qptr` and `rows` stay, and are the caller's to set."""
    return lists._replace(
        scores=None if lists.scores is None else lists.scores[rows],
        grades=lists.grades[rows],
        docid=None if lists.docid is None else lists.docid[rows],
    )


def is_unjudged(grades: NDArray[Any]) -> NDArray[np.bool_]:
    """Tell which documents have no judgement."""
    unjudged: NDArray[np.bool_] = np.isnan(grades) if grades.dtype.kind == "f" else grades == UNJUDGED
    return unjudged


def drop_unjudged(lists: Lists) -> Lists:
    """Take documents without a judgement out of the lists."""
    judged = ~is_unjudged(lists.grades)
    if judged.all():
        return lists
    kept = np.flatnonzero(judged)
    qptr = np.concatenate(([0], np.cumsum(judged)))[lists.qptr]
    users_rows = kept if lists.rows is None else lists.rows[kept]
    return take_rows(lists, kept)._replace(qptr=qptr.astype(np.int64), rows=users_rows)


def round_scores(scores: NDArray[Any], dtype: str | None) -> NDArray[Any]:
    """Round scores to a type; those beyond its range become infinite, which the kernel reports."""
    with np.errstate(over="ignore"):
        return scores if dtype is None else scores.astype(dtype, copy=False)


def rank_by_docid(lists: Lists) -> Lists:
    """Put rows in rank order: scores descending, equal scores by document id descending (as trec_eval does).

    Strings are compared by their characters, numbers by their values. Only rows with equal scores are sorted by id.
    """
    if lists.scores is None:
        return lists
    if lists.docid is None:
        raise ValueError(
            "docid: expected document ids, by which ties='docid' orders equal scores, got none; pass docid=, "
            "or another rule for ties="
        )
    finite = np.isfinite(lists.scores)
    if not finite.all():
        raise score_error(lists, lists.scores, int(np.argmin(finite)))
    order = _rank(lists.scores, lists.qptr)
    ranked = lists.scores[order]
    ties_with_next = ranked[1:] == ranked[:-1]
    firsts = lists.qptr[1:-1]
    ties_with_next[firsts[(firsts > 0) & (firsts < len(order))] - 1] = False  # another query
    if ties_with_next.any():
        is_tied = np.zeros(len(order), dtype=bool)
        is_tied[1:] = ties_with_next
        block = np.cumsum(~is_tied)  # numbered by the first row of each block of equal scores
        is_tied[:-1] |= ties_with_next
        tied = order[is_tied]
        order[is_tied] = tied[np.lexsort((-_id_ranks(lists.docid[tied]), block[is_tied]))]
    users_rows = order if lists.rows is None else lists.rows[order]
    return take_rows(lists, order)._replace(scores=None, rows=users_rows)


def _rank(scores: NDArray[Any], qptr: NDArray[np.int64]) -> NDArray[np.int64]:
    """Rows by score, highest first in each query, equal scores in row order."""
    positions = np.empty(len(scores), dtype=np.int32)
    _metrics.rank_into(scores, qptr, 0, len(qptr) - 1, _cpu.LEVEL, positions)
    order = np.repeat(qptr[:-1], np.diff(qptr))
    order += positions
    return order


def _id_ranks(docid: Any) -> NDArray[np.int64]:
    """Where each id stands among all of them, ascending."""
    try:
        ranks: NDArray[np.int64] = np.unique(np.asarray(docid), return_inverse=True)[1]
    except TypeError:
        raise TypeError("docid: expected ids that can be ordered, all strings or all numbers, got a mixture") from None
    return ranks.reshape(-1)


def score_error(lists: Lists, scores: NDArray[Any], row: int) -> ValueError:
    """Return the sentence for a score that is not finite."""
    return ValueError(
        f"scores: expected finite {scores.dtype} values, got {scores[row]} in {lists.place(row)}; mend or drop such "
        "documents first"
    )


def _group(shape: tuple[int, ...], qid: Any, group: Any, name: str) -> Grouping:
    has_groups = qid is not None or group is not None
    if len(shape) == 2:
        if has_groups:
            raise ValueError(
                f"qid, group: expected neither where {name} is a matrix with a row per query, got one; pass vectors"
            )
        return _group_by_shape(*shape)
    if len(shape) != 1:
        raise ValueError(f"{name}: expected a vector of labels, or a matrix with a row per query, got shape {shape}")
    if not has_groups:
        return _group_by_shape(1, shape[0])
    if group is None:
        return group_by_qid(qid, shape[0])
    groups = group_by_sizes(group, shape[0])
    return groups if qid is None else check_qid_in_groups(qid, groups, shape[0])


def _group_by_shape(n_queries: int, n_docs: int) -> Grouping:
    return Grouping(query_numbers(n_queries), np.arange(n_queries + 1, dtype=np.int64) * n_docs, None)


def _numbers(values: ArrayLike, name: str) -> NDArray[Any]:
    if np.ma.isMaskedArray(values) and np.ma.getmaskarray(values).any():
        raise TypeError(f"{name}: expected plain values, got a masked array; fill it, unjudged documents with NaN")
    try:
        array = np.asarray(values)
        if array.dtype.kind == "O":
            array = array.astype(np.float64)
    except (ValueError, TypeError) as error:
        raise TypeError(f"{name}: expected numbers, one per document, got what NumPy cannot read ({error})") from None
    if array.dtype.kind not in "fiub":
        raise TypeError(f"{name}: expected numbers, one per document, got dtype {array.dtype}")
    return array


def _column(array: NDArray[Any]) -> NDArray[Any]:
    """A matrix of one column, as data frames give it, as a vector."""
    return array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array


def _check_shape(array: NDArray[Any], shape: tuple[int, ...], name: str, per: str) -> None:
    if array.shape == shape:
        return
    if array.ndim == len(shape) == 1:
        raise ValueError(f"{name}: expected {plural(shape[0], 'value')} ({per}), got {array.shape[0]:,}")
    raise ValueError(f"{name}: expected shape {shape} ({per}), got {array.shape}")


def _scores(values: NDArray[Any], name: str) -> NDArray[Any]:
    if values.dtype.kind in "iu" and values.dtype.itemsize == 8:
        largest = max(int(values.max(initial=0)), -int(values.min(initial=0)))
        if largest > _MAX_INTEGER:
            raise ValueError(
                f"{name}: expected integers of at most 2^53 in size, which float64 can tell apart, got {largest}; "
                "subtract a constant, or pass floating-point scores"
            )
    dtype = np.float32 if values.dtype in (np.float16, np.float32) else np.float64
    return np.require(values.reshape(-1), dtype=dtype, requirements=["C_CONTIGUOUS", "ALIGNED"])


def _grades(values: NDArray[Any]) -> NDArray[Any]:
    """Labels in one of the types that the kernel reads; without a copy in the ordinary case."""
    if values.dtype.kind == "f" or values.dtype == np.uint64:
        dtype: type = np.float64
    else:
        dtype = np.int64 if values.dtype.itemsize > 4 or values.dtype == np.uint32 else np.int32
    return np.require(values.reshape(-1), dtype=dtype, requirements=["C_CONTIGUOUS", "ALIGNED"])


def _docids(docid: Any, labels: NDArray[Any]) -> Any:
    ids: Any = docid
    if docid is None or isinstance(docid, StringColumn):
        pass
    elif isinstance(docid, (str, bytes)) or not hasattr(docid, "__len__"):
        raise TypeError(f"docid: expected a document id per label, got {docid!r}")
    else:
        ids = np.asarray(docid).reshape(-1)
    if ids is not None and len(ids) != labels.size:
        raise ValueError(f"docid: expected {plural(labels.size, 'document id')} (one per label), got {len(ids):,}")
    return ids
