"""Evaluation of data that come in batches: from files, generators, or shards on other machines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from fastrank._threads import resolve_n_jobs
from fastrank._validation import plural
from fastrank.data._grouping import id_list
from fastrank.data.dataset import RankingDataset
from fastrank.data.trec import Qrels
from fastrank.metrics._lists import make_lists
from fastrank.metrics._program import run_lists
from fastrank.metrics.conventions import Convention, Overrides, first_difference, resolve_convention
from fastrank.metrics.evaluation import DEFAULT_METRICS, Evaluation
from fastrank.metrics.names import Metric, parse_metrics


class StreamEvaluator:
    """Judge batches of whole queries one after the other; the result is that of `evaluate` on all of them at once.

    Only the values are kept, 8 bytes per query and measure, and the query ids.

    Parameters
    ----------
    metrics : str, Metric or sequence of them, default=("ndcg@10", "ap", "rr", "p@10")
    convention : str or Convention, default="fastrank"
    n_jobs : int or None, default=None
        Threads for each batch.
    **overrides
        Fields of the convention to change; see `Convention`. "err" needs `max_grade`, as later batches may have higher
        grades.

    Notes
    -----
    Without `qid` queries are numbered 0, 1, 2, ... over all batches; a stream has ids in every batch or in none. A
    batch that raises leaves the stream as it was. Pickles, so that shards may be judged in other processes and merged.

    Examples
    --------
    >>> stream = StreamEvaluator(["ndcg@10", "map"])
    >>> stream.update([1, 0], [0.4, 0.6], qid=["a", "a"])
    >>> stream.update([2, 0], [0.9, 0.1], qid=["b", "b"])
    >>> stream.result().mean["ap"]
    0.75
    """

    def __init__(
        self,
        metrics: str | Metric | Sequence[str | Metric] = DEFAULT_METRICS,
        convention: str | Convention | None = None,
        *,
        n_jobs: int | None = None,
        **overrides: Unpack[Overrides],
    ) -> None:
        self.metrics = parse_metrics(metrics)
        self.convention = resolve_convention(convention, overrides)
        is_err = any(metric.kind == "err" for metric in self.metrics)
        if is_err and self.convention.stop == "exp2" and self.convention.max_grade is None:
            raise ValueError("max_grade: expected the largest grade there can be, for err in a stream, got None")
        self._n_jobs = resolve_n_jobs(n_jobs)
        self._values: list[NDArray[np.float64]] = []
        self._qid: list[NDArray[Any]] = []
        self._n_empty = np.zeros(len(self.metrics), dtype=np.int64)
        self._seen: set[Any] = set()
        self._n_queries = 0

    @property
    def n_queries(self) -> int:
        """Queries seen so far."""
        return self._n_queries

    def update(self, data: Any, scores: Any, *, qid: Any = None, group: Any = None, docid: Any = None) -> None:
        """Judge a batch of whole queries.

        Parameters
        ----------
        data, scores, qid, group, docid
            As in `evaluate`.

        Raises
        ------
        ValueError
            For a query that an earlier batch had, and what `evaluate` raises.
        """
        lists = make_lists(data, scores, qid, group, docid, convention=self.convention, n_jobs=self._n_jobs)
        has_ids = qid is not None or isinstance(data, (RankingDataset, Qrels))
        self._check_new(lists.qid, has_ids)
        values, n_empty = run_lists(lists, self.metrics, self.convention, self._n_jobs)
        self._append(lists.qid, has_ids, values, n_empty)

    def merge(self, other: StreamEvaluator) -> StreamEvaluator:
        """Add what another stream with the same measures and convention has seen, after our own; return self.

        Raises
        ------
        ValueError
            For other measures or conventions, and for queries that both have seen.
        """
        if not isinstance(other, StreamEvaluator):
            raise TypeError(f"other: expected a StreamEvaluator, got {type(other).__name__}")
        if other is self:
            raise ValueError("other: expected another stream, got this one; its queries would count twice")
        if self.metrics != other.metrics:
            ours, theirs = (", ".join(metric.name for metric in one.metrics) for one in (self, other))
            raise ValueError(f"other: expected the same measures ({ours}), got {theirs}")
        field = first_difference(self.convention, other.convention)
        if field is not None:
            ours, theirs = (f"{field}={getattr(one.convention, field)!r}" for one in (self, other))
            raise ValueError(f"other: expected the same convention ({ours}), got {theirs}")
        if other.n_queries:
            qid, has_ids = _join(other._qid), bool(other._seen)
            self._check_new(qid, has_ids)
            self._append(qid, has_ids, np.concatenate(other._values, axis=1), other._n_empty)
        return self

    def result(self) -> Evaluation:
        """Return the evaluation of all batches so far; more may follow."""
        values = np.concatenate([np.empty((len(self.metrics), 0)), *self._values], axis=1)
        n_empty = {metric.name: int(count) for metric, count in zip(self.metrics, self._n_empty, strict=True)}
        return Evaluation(self.metrics, _join(self._qid), values, self.convention, n_empty)

    def _check_new(self, qid: NDArray[Any], has_ids: bool) -> None:
        if len(qid) and self._n_queries and has_ids != bool(self._seen):
            raise ValueError(
                "qid: expected ids in every batch or in none, got "
                + ("some after batches without" if has_ids else "none after batches with them")
            )
        if has_ids and not self._seen.isdisjoint(ids := id_list(qid)):
            repeated = [one for one in ids if one in self._seen]
            raise ValueError(
                f"qid: expected whole queries, each in one batch, got {repeated[0]!r} again "
                f"({plural(len(repeated), 'query')} in all); put the rows of a query into one batch"
            )

    def _append(
        self, qid: NDArray[Any], has_ids: bool, values: NDArray[np.float64], n_empty: NDArray[np.int64]
    ) -> None:
        if has_ids:
            self._seen.update(id_list(qid))
        else:
            qid = np.arange(self._n_queries, self._n_queries + len(qid))
        self._qid.append(qid)
        self._values.append(values)
        self._n_empty = self._n_empty + n_empty
        self._n_queries += len(qid)

    def __repr__(self) -> str:
        names = ", ".join(metric.name for metric in self.metrics)
        return f"StreamEvaluator({plural(self.n_queries, 'query')}, {names}, convention {self.convention.name})"


def _join(parts: list[NDArray[Any]]) -> NDArray[Any]:
    """Ids of all batches in one array; different kinds stay Python objects."""
    parts = [part for part in parts if len(part)]
    if not parts:
        return np.zeros(0, dtype=np.int64)
    if len({part.dtype.kind for part in parts}) > 1:
        parts = [part.astype(object) for part in parts]
    return np.concatenate(parts)
