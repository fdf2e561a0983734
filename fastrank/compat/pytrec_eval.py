"""pytrec_eval's interface: dictionaries in, dictionaries out, the same keys and values.

>>> from fastrank.compat import pytrec_eval
>>> qrel = {"q1": {"d1": 1, "d2": 0, "d3": 2}}
>>> evaluator = pytrec_eval.RelevanceEvaluator(qrel, {"map", "ndcg_cut.5", "recip_rank"})
>>> results = evaluator.evaluate({"q1": {"d1": 0.5, "d2": 2.0, "d9": 1.0}})
>>> {measure: round(value, 4) for measure, value in results["q1"].items()}
{'map': 0.1667, 'recip_rank': 0.3333, 'ndcg_cut_5': 0.19}

Scores are rounded to float32 and equal ones ranked by document id, descending, as pytrec_eval does. What differs:

- What pytrec_eval's C code cannot bear (queries with only negative grades, documents with a lone surrogate or NUL, a
  cut-off of 0) is evaluated, or refused in a sentence. NaN scores are refused. iprec_at_recall and 11pt_avg of an empty
  list are 0, not NaN.
- Scores may be any real number (NumPy scalars too), grades any whole one, and both levels any mapping.
- A parameter of a measure that takes none, such as "recip_rank.10", is refused; pytrec_eval ignores it.
- G, Rndcg, Rprec_mult, binG, infAP, ndcg_rel, relstring and the nickname "all_trec" are not here.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastrank._core import _dicts
from fastrank._validation import check_count
from fastrank.compat._runs import Judgements
from fastrank.metrics._lists import UNJUDGED, Lists, drop_unjudged
from fastrank.metrics._program import run_lists
from fastrank.metrics.conventions import Convention, resolve_convention
from fastrank.metrics.names import Metric

__all__ = [
    "RelevanceEvaluator",
    "compute_aggregated_measure",
    "parse_qrel",
    "parse_run",
    "supported_measures",
    "supported_nicknames",
]

PerQuery = NDArray[np.float64]

_CUTOFFS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
_LEVELS = tuple(level / 10 for level in range(11))
_LEAST_MEAN = 1e-5  # a geometric mean takes values below for this one


class _Counts:
    """Numbers of documents per query, and the kernel's values, for measures that are made of them."""

    def __init__(self, lists: Lists, values: Mapping[Metric, PerQuery], level: int) -> None:
        self._lists, self._level = lists, level
        self.values = values

    def _per_query(self, rows: NDArray[np.bool_], qptr: NDArray[np.int64]) -> PerQuery:
        before = np.concatenate(([0], np.cumsum(rows)))
        return np.diff(before[qptr]).astype(np.float64)

    @property
    def retrieved(self) -> PerQuery:
        return np.diff(self._lists.qptr).astype(np.float64)

    @property
    def relevant_retrieved(self) -> PerQuery:
        return self._per_query(self._lists.grades >= self._level, self._lists.qptr)

    @property
    def relevant(self) -> PerQuery:
        missing, missing_ptr = np.asarray(self._lists.missing_grades), np.asarray(self._lists.missing_ptr)
        return self.relevant_retrieved + self._per_query(missing >= self._level, missing_ptr)

    @property
    def nonrelevant_retrieved(self) -> PerQuery:
        grades = self._lists.grades
        return self._per_query((grades < self._level) & (grades != UNJUDGED), self._lists.qptr)

    def interpolated(self, recall: float) -> PerQuery:
        """The highest precision at ranks where this part of the relevant documents, rounded up, has been seen."""
        found = np.zeros(len(self._lists.qptr) - 1)
        for query, n_relevant in enumerate(self.relevant):
            grades = self._lists.grades[self._lists.qptr[query] : self._lists.qptr[query + 1]]
            ranks = np.flatnonzero(grades >= self._level) + 1
            precisions = np.arange(1, len(ranks) + 1) / ranks
            seen = max(int(recall * n_relevant + 0.9), 1)
            found[query] = precisions[seen - 1 :].max(initial=0.0)
        return found


class _Measure(NamedTuple):
    """How a measure of trec_eval is computed, for each of its parameters."""

    compute: Callable[[_Counts, Any], PerQuery]
    kernel: Callable[[Any], Metric] | None = None
    """The kernel's measure that it needs."""
    parameters: tuple[Any, ...] = ()
    """The default ones; none: the measure takes none."""
    read: Callable[[str], Any] = int
    key: str = "{name}_{parameter}"


def _from_kernel(kind: str) -> _Measure:
    return _Measure(lambda counts, _: counts.values[Metric(kind)], lambda _: Metric(kind))


def _from_kernel_at(kind: str, cutoffs: tuple[int, ...] = _CUTOFFS) -> _Measure:
    return _Measure(lambda counts, k: counts.values[Metric(kind, k)], lambda k: Metric(kind, k), cutoffs)


def _geometric(kind: str) -> _Measure:
    return _Measure(
        lambda counts, _: np.log(np.maximum(counts.values[Metric(kind)], _LEAST_MEAN)), lambda _: Metric(kind)
    )


def _divide(values: PerQuery, by: PerQuery) -> PerQuery:
    return np.divide(values, by, out=np.zeros_like(values), where=by > 0)


def _f_measure(counts: _Counts, weight: float) -> PerQuery:
    found = counts.relevant_retrieved
    precision, recall = _divide(found, counts.retrieved), _divide(found, counts.relevant)
    return _divide((weight + 1) * precision * recall, recall + weight * precision)


# In trec_eval's order, which is that of the results.
_MEASURES: dict[str, _Measure] = {
    "runid": _Measure(lambda counts, _: np.zeros_like(counts.retrieved)),
    "num_q": _Measure(lambda counts, _: np.ones_like(counts.retrieved)),
    "num_ret": _Measure(lambda counts, _: counts.retrieved),
    "num_rel": _Measure(lambda counts, _: counts.relevant),
    "num_rel_ret": _Measure(lambda counts, _: counts.relevant_retrieved),
    "map": _from_kernel("ap"),
    "gm_map": _geometric("ap"),
    "Rprec": _from_kernel("rprec"),
    "bpref": _from_kernel("bpref"),
    "recip_rank": _from_kernel("rr"),
    "iprec_at_recall": _Measure(
        lambda counts, recall: counts.interpolated(recall),
        parameters=_LEVELS,
        read=float,
        key="{name}_{parameter:.2f}",
    ),
    "P": _from_kernel_at("precision"),
    "recall": _from_kernel_at("recall"),
    "gm_bpref": _geometric("bpref"),
    "utility": _Measure(lambda counts, _: 2 * counts.relevant_retrieved - counts.retrieved),
    "11pt_avg": _Measure(lambda counts, _: np.mean([counts.interpolated(level) for level in _LEVELS], axis=0)),
    "ndcg": _from_kernel("ndcg"),
    "ndcg_cut": _from_kernel_at("ndcg"),
    "map_cut": _from_kernel_at("ap"),
    "relative_P": _Measure(
        lambda counts, k: _divide(counts.values[Metric("precision", k)] * k, np.minimum(counts.relevant, k)),
        lambda k: Metric("precision", k),
        _CUTOFFS,
    ),
    "success": _from_kernel_at("success", (1, 5, 10)),
    "set_P": _Measure(lambda counts, _: _divide(counts.relevant_retrieved, counts.retrieved)),
    "set_relative_P": _Measure(
        lambda counts, _: _divide(counts.relevant_retrieved, np.minimum(counts.retrieved, counts.relevant))
    ),
    "set_recall": _Measure(lambda counts, _: _divide(counts.relevant_retrieved, counts.relevant)),
    "set_map": _Measure(lambda counts, _: _divide(counts.relevant_retrieved**2, counts.retrieved * counts.relevant)),
    "set_F": _Measure(_f_measure, parameters=(1.0,), read=float, key="{name}"),
    "num_nonrel_judged_ret": _Measure(lambda counts, _: counts.nonrelevant_retrieved),
}

supported_measures: set[str] = set(_MEASURES)
"""Measures that `RelevanceEvaluator` computes; those with a parameter also as "P.5", "P_5" or "P.5,10"."""

supported_nicknames: dict[str, set[str]] = {
    "official": {
        *("P", "Rprec", "bpref", "gm_map", "iprec_at_recall", "map", "num_q", "num_rel", "num_rel_ret", "num_ret"),
        *("recip_rank", "runid"),
    },
    "set": {
        *("num_q", "num_rel", "num_rel_ret", "num_ret", "runid", "set_F", "set_P", "set_map", "set_recall"),
        *("set_relative_P", "utility"),
    },
}
"""Names for several measures at once."""

_NEED_UNJUDGED = frozenset({"bpref", "gm_bpref", "num_nonrel_judged_ret"})


class RelevanceEvaluator:
    """Evaluate runs against judgements, as trec_eval does.

    Parameters
    ----------
    query_relevance : mapping
        {query: {document: grade}}. Read once, here: later changes do not matter. Queries without documents are left
        out; documents with negative grades count as unjudged.
    measures : iterable of str
        Such as {"map", "ndcg_cut.10", "P_5,10"}; see `supported_measures` and `supported_nicknames`.
    relevance_level : int, default=1
        Documents of at least this grade are relevant; NDCG does not ask.
    judged_docs_only_flag : bool, default=False
        Take documents without a judgement out of the runs first.

    Notes
    -----
    Cost of `evaluate`: one pass over the run, a hash look-up and a part of a sort per document. Objects may be shared
    by threads.

    Examples
    --------
    >>> evaluator = RelevanceEvaluator({"q1": {"d1": 1}, "q2": {"d1": 1}}, {"P.1,5", "Rprec"})
    >>> evaluator.evaluate({"q1": {"d1": 2.0, "d2": 1.0}, "unknown": {}})
    {'q1': {'Rprec': 1.0, 'P_1': 1.0, 'P_5': 0.2}}
    """

    def __init__(
        self,
        query_relevance: Mapping[str, Mapping[str, int]],
        measures: Iterable[str],
        relevance_level: int = 1,
        judged_docs_only_flag: bool = False,
    ) -> None:
        wanted = _read_measures(measures)
        self._level = check_count(relevance_level, name="relevance_level")
        self._is_judged_only = bool(judged_docs_only_flag)
        self._columns = [
            (_key(name, parameter), _MEASURES[name], parameter)
            for name, parameters in wanted.items()
            for parameter in parameters
        ]
        kernels = (measure.kernel(parameter) for _, measure, parameter in self._columns if measure.kernel is not None)
        self._metrics = tuple(dict.fromkeys(kernels))
        self._keep_unjudged = self._is_judged_only or not _NEED_UNJUDGED.isdisjoint(wanted)
        self._convention: Convention = resolve_convention("trec_eval", {"rel": self._level})
        self._judgements = Judgements(query_relevance, "query_relevance")

    def evaluate(self, scores: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
        """Return {query: {measure: value}} for the queries of the run that are judged, in the order of the run.

        Parameters
        ----------
        scores : mapping
            {query: {document: score}}. A query without documents counts 0; one that is not here is not in the result.

        Raises
        ------
        TypeError
            For ids that are not strings, or scores that are not numbers.
        ValueError
            For scores that are NaN.
        """
        queries, lists = self._judgements.rank(scores, name="scores", keep_unjudged=self._keep_unjudged)
        if self._is_judged_only:
            lists = drop_unjudged(lists)
        values: dict[Metric, PerQuery] = {}
        if self._metrics:
            found, _ = run_lists(lists, self._metrics, self._convention)
            values = dict(zip(self._metrics, found, strict=True))
        counts = _Counts(lists, values, self._level)
        columns = [measure.compute(counts, parameter) for _, measure, parameter in self._columns]
        keys = [key for key, _, _ in self._columns]
        return _dicts.results(queries, keys, np.array(columns, dtype=np.float64).reshape(len(keys), len(queries)))


def _key(name: str, parameter: Any) -> str:
    return name if parameter is None else _MEASURES[name].key.format(name=name, parameter=parameter)


def _read_measures(measures: Iterable[str]) -> dict[str, list[Any]]:
    """Return parameters by measure (one None for a measure without), in trec_eval's order."""
    if isinstance(measures, (str, bytes)) or not isinstance(measures, Iterable):
        raise TypeError(f"measures: expected a set of names such as {{'map', 'ndcg_cut.10'}}, got {measures!r}")
    given: dict[str, set[Any]] = {}
    for measure in measures:
        if not isinstance(measure, str):
            raise TypeError(f"measures: expected names such as 'map' or 'P.10', got {measure!r}")
        for name in supported_nicknames.get(measure, (measure,)):
            base, parameters = _read_measure(name)
            given.setdefault(base, set()).update(parameters)
    return {
        name: sorted(given[name]) or list(_MEASURES[name].parameters) or [None] for name in _MEASURES if name in given
    }


def _read_measure(text: str) -> tuple[str, list[Any]]:
    if text in _MEASURES:
        return text, []
    parts = re.fullmatch(r"(?P<name>\w+?)[._](?P<parameters>[0-9][0-9.,]*)", text)
    measure = _MEASURES.get(parts["name"]) if parts else None
    if parts is None or measure is None:
        raise ValueError(
            f"measures: expected some of {', '.join(_MEASURES)}, or the nicknames "
            f"{' and '.join(supported_nicknames)}, got {text!r}"
        )
    name = parts["name"]
    if not measure.parameters:
        raise ValueError(f"measures: expected {name!r}, which takes no parameter, got {text!r}")
    wanted = "numbers" if measure.read is float else "whole numbers of at least 1"
    try:
        parameters = [measure.read(parameter) for parameter in parts["parameters"].split(",")]
    except ValueError:
        raise ValueError(f"measures: expected {wanted} after {name!r}, separated by commas, got {text!r}") from None
    if measure.read is int and min(parameters) < 1:
        raise ValueError(f"measures: expected {wanted} after {name!r}, got {text!r}")
    # trec_eval takes the first weight of an F-measure
    return name, parameters[:1] if measure.key == "{name}" else parameters


def compute_aggregated_measure(measure: str, values: Iterable[float]) -> float:
    """Return one number for the values of all queries.

    That is their sum for measures whose names start with "num_", exp(mean) for those with "gm_", else their mean.

    Examples
    --------
    >>> compute_aggregated_measure("map", [0.5, 1.0]), compute_aggregated_measure("num_rel", [3.0, 4.0])
    (0.75, 7.0)
    """
    numbers = np.asarray(list(values), dtype=np.float64)
    if measure.startswith("num_"):
        return float(np.sum(numbers))
    if numbers.size == 0:
        raise ValueError(f"values: expected at least one value of {measure}, got none")
    return math.exp(np.sum(numbers) / len(numbers)) if measure.startswith("gm_") else float(np.mean(numbers))


def parse_run(f_run: Iterable[str]) -> dict[str, dict[str, float]]:
    """Return {query: {document: score}} from the lines of a TREC run, `query Q0 document rank score tag`.

    `fastrank.data.load_run` reads files faster.

    Examples
    --------
    >>> parse_run(["q1 Q0 d1 1 2.5 mine", "q1 Q0 d2 2 1 mine"])["q1"]
    {'d1': 2.5, 'd2': 1.0}
    """
    return _parse(f_run, "query Q0 document rank score tag", 4, float)


def parse_qrel(f_qrel: Iterable[str]) -> dict[str, dict[str, int]]:
    """Return {query: {document: grade}} from the lines of TREC judgements, `query 0 document grade`.

    `fastrank.data.load_qrels` reads files faster.

    Examples
    --------
    >>> parse_qrel(["q1 0 d1 1", "q1 0 d2 0"])["q1"]
    {'d1': 1, 'd2': 0}
    """
    return _parse(f_qrel, "query 0 document grade", 3, int)


def _parse(lines: Iterable[str], form: str, column: int, number: Callable[[str], Any]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = defaultdict(dict)
    n_columns = len(form.split())
    for place, line in enumerate(lines, 1):
        fields = line.split()
        try:
            value = number(fields[column])
            query, doc = fields[0], fields[2]
        except (IndexError, ValueError):
            fields = []
        if len(fields) != n_columns:
            raise ValueError(f"line {place}: expected {form!r}, got {line.rstrip()!r}")
        docs = found[query]
        if doc in docs:
            raise ValueError(f"line {place}: expected each document once for query {query!r}, got {doc!r} twice")
        docs[doc] = value
    return found
