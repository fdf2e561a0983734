"""evaluate(): every measure of a ranking from one sort of each query, with what is needed to report them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from fastrank._lazy import lazy
from fastrank._validation import check_choice, plural
from fastrank.data._grouping import id_list
from fastrank.metrics._lists import Lists, make_lists
from fastrank.metrics._program import run_lists
from fastrank.metrics._statistics import bootstrap_interval, t_interval
from fastrank.metrics._tables import data_frame, latex_table, markdown_table, text_table
from fastrank.metrics.conventions import Convention, Overrides, resolve_convention, takes_convention
from fastrank.metrics.names import Metric, parse_metric, parse_metrics

DEFAULT_METRICS = ("ndcg@10", "ap", "rr", "p@10")


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """Measures of a ranking, query by query; made by `evaluate`. Immutable.

    `evaluation["ndcg@10"]`, in any spelling, is the array of one measure. Printing gives a small table: means,
    Student's intervals, and how many queries were empty and counted as what.

    Parameters
    ----------
    metrics : tuple of Metric
    qid : ndarray of shape (n_queries,)
        The queries, in order of first appearance; of Qrels ascending.
    values : ndarray of float64, shape (n_metrics, n_queries)
        NaN for an empty query that the convention skips, or marks with NaN.
    convention : Convention
    n_empty : mapping of str to int, optional
        Queries that were empty for a measure, by its name; those that are NaN where it is not given.

    Examples
    --------
    >>> evaluation = evaluate([0, 1, 2, 0, 0], [0.1, 0.3, 0.2, 0.5, 0.4], ["ndcg@10", "map"], qid=[1, 1, 1, 2, 2])
    >>> evaluation
    Evaluation(2 queries, ndcg@10 0.3984, ap 0.5000, convention fastrank)
    >>> evaluation["AP"].tolist(), evaluation.n_empty["ap"]
    ([1.0, 0.0], 1)
    """

    metrics: tuple[Metric, ...]
    qid: NDArray[Any]
    values: NDArray[np.float64]
    convention: Convention
    n_empty: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.values.shape != (len(self.metrics), len(self.qid)):
            raise ValueError(
                f"values: expected shape {(len(self.metrics), len(self.qid))}, a row per measure and a column per "
                f"query, got {self.values.shape}"
            )
        counted = {
            metric.name: int(self.n_empty[metric.name] if metric.name in self.n_empty else np.isnan(row).sum())
            for metric, row in zip(self.metrics, self.values, strict=True)
        }
        object.__setattr__(self, "n_empty", counted)
        self._freeze()

    def _freeze(self) -> None:
        """Make the arrays read-only, but not those of others that they may be."""
        for name in ("qid", "values"):
            array = getattr(self, name).view()
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    @property
    def n_queries(self) -> int:
        """Number of queries, empty ones included."""
        return len(self.qid)

    @lazy
    def mean(self) -> dict[str, float]:
        """Mean of each measure over the queries, by its name.

        Empty queries count as the convention says: with "skip" they are left out, with "nan" the mean is NaN. Without
        any query to count it is NaN.
        """
        return {metric.name: _mean(self._counted(row)) for row, metric in enumerate(self.metrics)}

    def _counted(self, row: int) -> NDArray[np.float64]:
        """The values of a measure that its mean is of."""
        values: NDArray[np.float64] = self.values[row]
        if self.convention.rule("empty", self.metrics[row].kind) != "skip":
            return values
        return values[~np.isnan(values)]

    def __getitem__(self, metric: str | Metric) -> NDArray[np.float64]:
        """Return a measure's value for each query, in any spelling of its name."""
        values: NDArray[np.float64] = self.values[self._row(metric)]
        return values

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the measures."""
        return (metric.name for metric in self.metrics)

    def __contains__(self, metric: str | Metric) -> bool:
        """Tell whether a measure is here, in any spelling."""
        return parse_metric(metric) in self.metrics

    def _row(self, metric: str | Metric) -> int:
        parsed = parse_metric(metric)
        if parsed not in self.metrics:
            raise KeyError(f"metric: expected one of {', '.join(self)}, got {metric!r}; evaluate it too")
        return self.metrics.index(parsed)

    def interval(
        self,
        metric: str | Metric,
        confidence: float = 0.95,
        *,
        method: str = "bootstrap",
        n_resamples: int = 10_000,
        random_state: int | np.random.Generator = 0,
    ) -> tuple[float, float]:
        """Return a confidence interval of a measure's mean over queries.

        Parameters
        ----------
        metric : str or Metric
        confidence : float, default=0.95
        method : {"bootstrap", "t"}, default="bootstrap"
            "bootstrap" draws queries with replacement and corrects for bias and skewness (BCa); "t" is Student's
            interval, which is all that is needed for many queries.
        n_resamples : int, default=10,000
        random_state : int or numpy Generator, default=0

        Returns
        -------
        (low, high) : tuple of float
            (NaN, NaN) where fewer than two queries count, or where the mean is NaN.

        Notes
        -----
        Cost of the bootstrap: about 5 ns times queries times resamples; of "t": one pass over the queries.
        """
        check_choice(method, ("bootstrap", "t"), name="method")
        values = self._counted(self._row(metric))
        if np.isnan(values).any():
            return math.nan, math.nan
        if method == "t":
            return t_interval(values, confidence)
        return bootstrap_interval(values, confidence, n_resamples, random_state)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain Python objects, ready for JSON where the query ids are."""
        return {
            "convention": self.convention.name,
            "n_queries": self.n_queries,
            "mean": dict(self.mean),
            "n_empty": dict(self.n_empty),
            "qid": id_list(self.qid),
            "values": {metric.name: row.tolist() for metric, row in zip(self.metrics, self.values, strict=True)},
        }

    def to_frame(self) -> Any:
        """Return a pandas DataFrame: a row per query, with its id as index, and a column per measure."""
        columns = {metric.name: row for metric, row in zip(self.metrics, self.values, strict=True)}
        return data_frame({"qid": self.qid, **columns}).set_index("qid")

    def to_markdown(self) -> str:
        """Return the table that is printed, in Markdown."""
        return markdown_table(*self._table())

    def to_latex(self) -> str:
        """Return the table that is printed, as a LaTeX tabular."""
        return latex_table(*self._table())

    def _table(self) -> tuple[list[str], list[list[Any]]]:
        rows: list[list[Any]] = []
        for metric in self.metrics:
            low, high = self.interval(metric, method="t")
            rule = self.convention.rule("empty", metric.kind)
            n_empty = self.n_empty[metric.name]
            counted = "" if n_empty == 0 else " skipped" if rule == "skip" else f" as {rule}"
            interval = None if math.isnan(low) else f"[{low:.4f}, {high:.4f}]"
            rows.append([metric.name, self.mean[metric.name], interval, f"{n_empty:,}{counted}"])
        return ["metric", "mean", "95 % interval", "empty"], rows

    def __str__(self) -> str:
        return f"{plural(self.n_queries, 'query')}, convention {self.convention.name}\n{text_table(*self._table())}"

    def __repr__(self) -> str:
        means = "".join(f", {name} {mean:.4f}" for name, mean in self.mean.items())
        return f"Evaluation({plural(self.n_queries, 'query')}{means}, convention {self.convention.name})"

    def __eq__(self, other: object) -> bool:
        """Tell whether measures, queries, values and convention are the same, bit by bit; NaN equals NaN."""
        if not isinstance(other, Evaluation):
            return NotImplemented
        return (
            self.metrics == other.metrics
            and self.convention == other.convention
            and self.n_empty == other.n_empty
            and np.array_equal(self.qid, other.qid)
            and np.array_equal(self.values, other.values, equal_nan=True)
        )

    __hash__ = None  # type: ignore[assignment]

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._freeze()  # pickle makes arrays writable


def _mean(values: NDArray[np.float64]) -> float:
    return float(np.mean(values)) if values.size else math.nan


@takes_convention
def evaluate(
    data: Any,
    scores: Any,
    metrics: str | Metric | Sequence[str | Metric] = DEFAULT_METRICS,
    *,
    qid: Any = None,
    group: Any = None,
    convention: str | Convention | None = None,
    docid: Any = None,
    n_jobs: int | None = None,
    **overrides: Unpack[Overrides],
) -> Evaluation:
    """Judge a ranking by several measures at once: each query is sorted once for all of them.

    Parameters
    ----------
    data : RankingDataset, array-like, or Qrels
        What is relevant: a data set; labels, as a vector with `qid` or `group`, or as a matrix with a row per query; or
        judgements read from a TREC file. Labels of NaN are unjudged documents.
    scores : array-like or Run
        A score for each document, higher is better, in the shape of the labels; with Qrels a Run.
    metrics : str, Metric or sequence of them, default=("ndcg@10", "ap", "rr", "p@10")
        Names in any tool's spelling: see `parse_metric`.
    {shared}

    Returns
    -------
    Evaluation

    Raises
    ------
    ValueError, TypeError
        For unknown measures or conventions, lengths that disagree, scores that are not finite, negative grades.

    Notes
    -----
    Cost: a sort of each query, less where cut-offs or few relevant documents allow; further measures cost little.
    Memory beyond input and output: O(longest list) per thread, where labels are int32, int64 or float64 and scores
    float32 or float64. Other types are copied and `qid` is grouped first; unjudged documents, grades above 31 or not
    whole, and gains that are functions take up to 25 bytes per document.

    No rows are no query with `qid` or `group`, and one empty query without. Weights of a data set are not used. Of
    Qrels and a Run the queries count that both have: to count those that the run lacks, as `trec_eval -c` does, and for
    its other options, pass `fastrank.data.trec.join(qrels, run, complete=True)` to `evaluate_lists`.

    Examples
    --------
    >>> labels, scores = [2, 0, 1, 0, 1, 0, 0], [0.9, 0.5, 0.7, 0.2, 0.4, 0.8, 0.1]
    >>> print(evaluate(labels, scores, ["ndcg@10", "map"], group=[3, 2, 2]))
    3 queries, convention fastrank
    metric     mean      95 % interval  empty
    ndcg@10  0.6667  [-0.7676, 2.1009]  1 as 0
    ap       0.6667  [-0.7676, 2.1009]  1 as 0
    """
    rules, chosen = resolve_convention(convention, overrides), parse_metrics(metrics)
    lists = make_lists(data, scores, qid, group, docid, convention=rules, n_jobs=n_jobs)
    return evaluate_lists(lists, chosen, rules, n_jobs)


def evaluate_lists(
    lists: Lists | tuple[Any, ...],
    metrics: str | Metric | Sequence[str | Metric] = DEFAULT_METRICS,
    convention: str | Convention | None = None,
    n_jobs: int | None = None,
) -> Evaluation:
    """Judge lists that are flat arrays already, such as the join of TREC judgements and a run.

    Parameters
    ----------
    lists : Joined, or tuple (qid, qptr, scores, grades, docid, missing_grades, missing_ptr, ...)
        `scores` may be None: rows are in rank order. Grades are int32 with -2**31, or float64 with NaN, for documents
        that are not judged; missing grades are those of judged documents that are not in the lists. Arrays are trusted.
    metrics, convention, n_jobs
        As in `evaluate`.

    Returns
    -------
    Evaluation
    """
    if not isinstance(lists, Lists):
        lists = Lists(*lists[:7])
    rules, chosen = resolve_convention(convention), parse_metrics(metrics)
    values, counts = run_lists(lists, chosen, rules, n_jobs)
    n_empty = {metric.name: int(count) for metric, count in zip(chosen, counts, strict=True)}
    return Evaluation(chosen, lists.qid, values, rules, n_empty)
