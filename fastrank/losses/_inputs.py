"""From what users pass to a loss to what its kernel takes: rows grouped, scores finite, grades in a plan."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastrank._core import _columns, _cpu
from fastrank._validation import check_weights
from fastrank.data.dataset import RankingDataset
from fastrank.data.plan import QueryPlan
from fastrank.data.trec import Qrels
from fastrank.metrics._lists import Lists, make_lists, score_error
from fastrank.metrics.conventions import resolve_convention

Weights = NDArray[np.float64] | None


class Inputs(NamedTuple):
    """Scores in grouped order, the plan of their grades, and the weights of rows (grouped) and queries."""

    scores: NDArray[np.float64]
    plan: QueryPlan
    sample_weight: Weights
    query_weight: Weights
    lists: Lists

    def to_users(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Bring one value per row into the order and the shape of the user's grades."""
        lists = self.lists
        if lists.rows is not None:
            grouped, values = values, np.empty_like(values)
            values[lists.rows] = grouped
        return values if lists.width is None else values.reshape(len(lists.qid), lists.width)


def from_dataset(scores: Any, data: RankingDataset) -> Inputs:
    """Take scores of a data set. What depends on its grades is there already, its row weights included."""
    # As one list: rows stay where they are, and labels and document ids are not gathered.
    given = _lists(scores, data.y, group=[data.n_rows]).scores
    lists = Lists(data.qid, data.qptr, data.to_grouped(given), data.y, rows=data.order)  # type: ignore[arg-type]
    return Inputs(_finite(lists), data.plan, None, data.query_weight, lists)


def from_grades(
    scores: Any, y: Any, qid: Any, group: Any, sample_weight: Any, query_weight: Any, n_threads: int
) -> Inputs:
    """Take scores and grades as vectors with qid or group, or as matrices with a row per query."""
    if isinstance(y, Qrels):
        raise TypeError("y: expected grades or a RankingDataset, got Qrels; a loss needs a grade for every score")
    lists = _lists(scores, y, qid, group)
    grades = lists.grades
    is_grade = (grades >= 0) & (grades < np.inf)
    if not is_grade.all():
        row = int(np.argmin(is_grade))
        raise ValueError(
            f"y: expected finite grades of 0 (not relevant) and above, got {grades[row]:g} in {lists.place(row)}; "
            "shift the grades, or drop unjudged documents"
        )
    if lists.width is not None and sample_weight is not None:
        sample_weight = np.reshape(sample_weight, -1)
    by_row = check_weights(sample_weight, len(grades), name="sample_weight", per="one per score")
    if by_row is not None and lists.rows is not None:
        by_row = by_row[lists.rows]
    by_query = check_weights(query_weight, len(lists.qid), name="query_weight", per="one per query")
    return Inputs(_finite(lists), QueryPlan(grades, lists.qptr, n_threads), by_row, by_query, lists)


def _lists(scores: Any, y: Any, qid: Any = None, group: Any = None) -> Lists:
    return make_lists(y, scores, qid, group, convention=resolve_convention(None), names=("y", "scores"))


def _finite(lists: Lists) -> NDArray[np.float64]:
    """The scores as float64, all finite."""
    given: NDArray[Any] = lists.scores  # type: ignore[assignment]
    scores = np.ascontiguousarray(given, dtype=np.float64)
    if _columns.has_nonfinite(scores.reshape(-1, 1), 0, len(scores), False, _cpu.LEVEL):
        raise score_error(lists, given, int(np.argmin(np.isfinite(given))))
    return scores
