"""The measures of a round, under the tie rule that decides and certifies: the worst order."""

from __future__ import annotations

import dataclasses

import numpy as np

from fastrank._core import _metrics
from fastrank.data.plan import QueryPlan
from fastrank.metrics.names import Metric, parse_metric

RECORDED = (Metric("ndcg", 10), Metric("ap"))
"""What the papers plot, recorded beside the measure that decides."""


def check_metric(metric: str | Metric) -> Metric:
    """Return NDCG, NDCG@k or AP, with the gains and grades of the bounds: 2^grade - 1, relevant above 0."""
    found = parse_metric(metric)
    if found.gain == "exp2":
        found = dataclasses.replace(found, gain=None)
    known = found.kind == "ndcg" or (found.kind == "ap" and found.k is None)
    if not known or found.rel is not None or found.gain is not None:
        raise ValueError(
            f"metric: expected 'ndcg', 'ndcg@k' or 'ap', with gain 2^grade - 1 and grades above 0 relevant, got "
            f"{found.name!r}"
        )
    return found


def recorded_metrics(metric: Metric) -> tuple[Metric, ...]:
    """Return the measure that decides, and after it the ones that are recorded anyway."""
    return tuple(dict.fromkeys((metric, *RECORDED)))


def measure_program(plan: QueryPlan, metrics: tuple[Metric, ...]) -> _metrics.Program:
    """Return the kernel program that measures one list after the other; grades are coded as in `plan.levels`.

    A query without a relevant document counts 1: nothing can be lost there.
    """
    n_metrics = len(metrics)
    return _metrics.Program(
        np.array([_metrics.KINDS[metric.kind] for metric in metrics], dtype=np.int32),
        np.array([metric.k or 0 for metric in metrics], dtype=np.int64),
        np.zeros(n_metrics, dtype=np.int32),
        np.ones(n_metrics),
        plan.level_gain,
        np.zeros_like(plan.level_gain),
        0,
        int(np.searchsorted(plan.grades, 0.0, side="right")),
        plan.discounts,
        _metrics.TIES["worst"],
    )
