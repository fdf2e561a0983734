"""A provider for ir_measures, named "fastrank": its measures, computed by our kernels.

Importing this module registers the provider; `use_by_default` puts it before the others, so that everything built on
ir_measures (PyTerrier's experiments among them) uses it where it can::

    import ir_measures
    from ir_measures import AP, RR, nDCG
    from fastrank.compat.ir_measures import fastrank, use_by_default

    fastrank.calc_aggregate([nDCG @ 10, AP(rel=2), RR @ 10], qrels, run)   # this provider
    use_by_default()
    ir_measures.calc_aggregate([nDCG @ 10, AP(rel=2), RR @ 10], qrels, run)   # and others for other measures

Values are those of the pytrec_eval provider: scores rounded to float32, equal ones by document id descending. RR with a
cut-off follows the same rule (the msmarco provider orders equal scores ascending), as do nDCG(dcg="exp-log2") and ERR,
which are otherwise defined as by gdeval, ERR with a highest grade of 4, but not rounded to five decimals.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastrank.compat._runs import Judgements
from fastrank.metrics._program import run_lists
from fastrank.metrics.conventions import resolve_convention
from fastrank.metrics.names import Metric

__all__ = ["FastrankEvaluator", "FastrankProvider", "fastrank", "use_by_default"]

_KINDS = {
    "nDCG": "ndcg",
    "AP": "ap",
    "RR": "rr",
    "P": "precision",
    "R": "recall",
    "Success": "success",
    "SetP": "precision",
    "SetR": "recall",
    "Rprec": "rprec",
    "Bpref": "bpref",
    "ERR": "err",
}
_GAINS = {"log2": "linear", "exp-log2": "exp2"}
_MAX_GRADE = 4  # gdeval's, for ERR

try:
    _tool: Any = importlib.import_module("ir_measures")
except ImportError:
    _tool = None


def _parameter(measure: Any, name: str) -> Any:
    """A measure's parameter, None where it is not given or there is none."""
    if name not in measure.SUPPORTED_PARAMS:
        return None
    value = measure[name]
    return None if value is _tool.providers.base.NOT_PROVIDED else value


def _metric(measure: Any) -> Metric:
    kind = _KINDS[measure.NAME]
    rel, dcg = _parameter(measure, "rel"), _parameter(measure, "dcg")
    if rel is not None and rel < 1:
        raise ValueError(f"rel: expected a grade of at least 1 in {measure}, got {rel}")
    return Metric(kind, _parameter(measure, "cutoff"), rel=rel, gain=None if dcg is None else _GAINS[dcg])


def _map_gains(qrels: Any, gains: dict[int, int] | None) -> Any:
    if gains is None:
        return qrels
    return {query: {doc: gains.get(grade, grade) for doc, grade in docs.items()} for query, docs in qrels.items()}


if _tool is not None:
    _measures, _base = _tool.measures, _tool.providers.base
    _Any, _Choices, _none = _base.Any, _base.Choices, _base.NOT_PROVIDED

    class FastrankEvaluator(_base.Evaluator):  # type: ignore[misc, name-defined]
        """Measures of any number of runs against the same judgements."""

        def __init__(self, measures: Iterable[Any], qrels: dict[str, dict[str, int]]) -> None:
            super().__init__(list(measures), set(qrels))
            # Measures that share what is judged and which documents are ranked share the sort.
            self._judgements: dict[Any, Judgements] = {}
            self._groups: dict[tuple[Any, bool], list[tuple[Any, Metric]]] = {}
            for measure in self.measures:
                if not fastrank.supports(measure):
                    raise ValueError(f"measures: expected some that the provider fastrank supports, got {measure}")
                gains = _parameter(measure, "gains")
                key = None if gains is None else tuple(sorted(gains.items()))
                if key not in self._judgements:
                    self._judgements[key] = Judgements(_map_gains(qrels, gains), "qrels")
                if measure.NAME == "ERR" and self._judgements[key].highest > _MAX_GRADE:
                    raise ValueError(
                        f"qrels: expected grades up to {_MAX_GRADE}, gdeval's highest, for {measure}, "
                        f"got {self._judgements[key].highest}"
                    )
                group = (key, bool(_parameter(measure, "judged_only")))
                self._groups.setdefault(group, []).append((measure, _metric(measure)))

            # only these see a difference between documents without a judgement and irrelevant ones
            self._keep_unjudged = any(
                judged_only or metric.kind == "bpref"
                for (_, judged_only), members in self._groups.items()
                for _, metric in members
            )

        def _values(self, run: Any) -> Iterator[tuple[list[str], list[Any], NDArray[np.float64]]]:
            """Queries, measures and values of each group."""
            docs = _tool.util.RunConverter(run).as_dict_of_dict()
            ranked = {}
            for (key, judged_only), members in self._groups.items():
                if key not in ranked:
                    ranked[key] = self._judgements[key].rank(docs, name="run", keep_unjudged=self._keep_unjudged)
                queries, lists = ranked[key]
                convention = resolve_convention(
                    "trec_eval", {"judged_only": judged_only, "max_grade": float(_MAX_GRADE)}
                )
                metrics = list(dict.fromkeys(metric for _, metric in members))
                values, _ = run_lists(lists, metrics, convention)
                rows = [metrics.index(metric) for _, metric in members]
                yield queries, [measure for measure, _ in members], values[rows]

        def _iter_calc(self, run: Any) -> Iterator[Any]:
            for queries, measures, values in self._values(run):
                for query, row in zip(queries, values.T.tolist(), strict=True):
                    for measure, value in zip(measures, row, strict=True):
                        yield _tool.Metric(query_id=query, measure=measure, value=value)

        def calc_aggregate(self, run: Any) -> dict[Any, float]:
            """Return the mean of each measure; judged queries that are not in the run count 0."""
            found = {}
            for queries, measures, values in self._values(run):
                n_missing = len(self.qrel_qids) - len(queries)
                for measure, row in zip(measures, values.tolist(), strict=True):
                    aggregate = measure.aggregator()
                    for value in row:
                        aggregate.add(value)
                    for _ in range(n_missing):
                        aggregate.add(measure.DEFAULT)
                    found[measure] = aggregate.result()
            return {measure: found[measure] for measure in self.measures}

    class FastrankProvider(_base.Provider):  # type: ignore[misc, name-defined]
        """Measures of ir_measures that fastrank computes."""

        NAME = "fastrank"
        SUPPORTED_MEASURES = (
            _measures._nDCG(cutoff=_Any(), dcg=_Choices("log2"), gains=_Any(), judged_only=_Any()),
            _measures._nDCG(cutoff=_Any(), dcg=_Choices("exp-log2"), gains=_Choices(_none), judged_only=_Any()),
            _measures._AP(cutoff=_Any(), rel=_Any(), judged_only=_Any()),
            _measures._RR(cutoff=_Any(), rel=_Any(), judged_only=_Any()),
            _measures._P(cutoff=_Any(), rel=_Any(), judged_only=_Any()),
            _measures._R(cutoff=_Any(), rel=_Any(), judged_only=_Any()),
            _measures._Success(cutoff=_Any(), rel=_Any(), judged_only=_Any()),
            _measures._SetP(rel=_Any(), relative=_Choices(False), judged_only=_Any()),
            _measures._SetR(rel=_Any()),
            _measures._Rprec(rel=_Any(), judged_only=_Any()),
            _measures._Bpref(rel=_Any()),
            _measures._ERR(cutoff=_Any()),
        )

        def _evaluator(self, measures: Iterable[Any], qrels: Any) -> FastrankEvaluator:
            return FastrankEvaluator(measures, _tool.util.QrelsConverter(qrels).as_dict_of_dict())

    fastrank = _base.register(FastrankProvider())
    """The provider, as it is registered with ir_measures."""


def use_by_default() -> None:
    """Put the provider before those that ir_measures tries by itself, for the measures that it has."""
    if _tool is None:
        raise _missing()
    pipeline = _tool.DefaultPipeline.providers
    if fastrank not in pipeline:
        # not before measures that the user defined
        pipeline.insert(pipeline.index(_tool.runtime) + 1 if _tool.runtime in pipeline else 0, fastrank)


def _missing() -> ImportError:
    return ImportError(
        "fastrank.compat.ir_measures: expected the package ir_measures, to which it adds a provider, got none; "
        "install it with `pip install ir_measures`"
    )


def __getattr__(name: str) -> Any:
    # Reached for names that the module lacks: all of them where there is no ir_measures.
    if _tool is None and name in __all__:
        raise _missing()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
