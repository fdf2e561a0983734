"""From measures and a convention to kernel programs, run over the lists on any number of threads."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastrank._core import _cpu, _metrics, _plan
from fastrank._threads import query_blocks, resolve_n_jobs, run_blocks
from fastrank._validation import plural
from fastrank.data._grouping import id_list
from fastrank.metrics._grades import exact_coding, gains, hopeful_coding, stops
from fastrank.metrics._lists import Lists, drop_unjudged, rank_by_docid, round_scores, score_error
from fastrank.metrics.conventions import Convention, check_nonnegative
from fastrank.metrics.names import GAIN_KINDS, Metric

_ROWS_PER_BLOCK = 65536
_MAX_TERM = 2.0**1000  # the sum of 2^23 of them is still finite
_SHORT_TABLE = 4096  # discounts that are cheaper to have than to know the longest list


class Rules(NamedTuple):
    """What the measures of one program have in common."""

    ties: str
    rel: float | None
    gain: str | None  # a measure's own; None: the convention's


class Measure(NamedTuple):
    """One row of a program."""

    kind: str
    cut: int
    flags: int
    fill: float


def run_lists(
    lists: Lists, metrics: Sequence[Metric], convention: Convention, n_jobs: int | None = None
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the values, shape (n_metrics, n_queries), and for each measure the number of empty queries.

    Queries are independent: values have the same bits for any number of threads.
    """
    n_threads = resolve_n_jobs(n_jobs)
    if convention.judged_only:
        lists = drop_unjudged(lists)
    if lists.scores is not None:
        lists = lists._replace(scores=round_scores(lists.scores, convention.score_dtype))
    values = np.empty((len(metrics), len(lists.qid)))
    n_empty = np.zeros(len(metrics), dtype=np.int64)
    runs: dict[bool, _Run] = {}
    for rules, places in _by_rules(metrics, convention).items():
        by_docid = rules.ties == "docid"
        if by_docid not in runs:
            runs[by_docid] = _Run(rank_by_docid(lists) if by_docid else lists, metrics, convention, n_threads)
        out = values if len(places) == len(metrics) else np.empty((len(places), len(lists.qid)))
        n_empty[places] = runs[by_docid].fill([metrics[place] for place in places], rules, out)
        if out is not values:
            values[places] = out
    for metric, row, count in zip(metrics, values, n_empty, strict=True):
        if count and convention.rule("empty", metric.kind) == "error":
            first = int(np.argmax(np.isnan(row)))
            raise ValueError(
                f"{metric.name}: expected no empty query, got {plural(int(count), 'query')}, the first of them "
                f"{id_list(lists.qid[first : first + 1])[0]!r}; drop them, or pass empty=0, 1, 'skip' or 'nan'"
            )
    return values, n_empty


def _by_rules(metrics: Sequence[Metric], convention: Convention) -> dict[Rules, list[int]]:
    """Places of the measures that can share a program. Ordinarily that is all of them."""
    groups: dict[Rules, list[int]] = {}
    for place, metric in enumerate(metrics):
        # ERR and WTA know grades, not relevant documents: any grade above 0 will do
        rel = None if metric.kind in ("err", "wta") else convention.rel if metric.rel is None else metric.rel
        groups.setdefault(Rules(convention.rule("ties", metric.kind), rel, metric.gain), []).append(place)
    return groups


class _Run:
    """Passes of the kernel over lists in one order: with hopeful codes first, exact ones once they failed."""

    def __init__(self, lists: Lists, metrics: Sequence[Metric], convention: Convention, n_threads: int) -> None:
        self._lists, self._convention, self._n_threads = lists, convention, n_threads
        self._kinds = {metric.kind for metric in metrics}
        self._coding = hopeful_coding(lists, self._kinds, convention)
        if n_threads == 1:
            self._blocks = [(0, len(lists.qid))]
        else:
            # queries are independent, so that the cut may depend on the number of threads
            self._blocks = query_blocks(lists.qptr, max(_ROWS_PER_BLOCK, int(lists.qptr[-1]) // (2 * n_threads)))

    def fill(self, metrics: Sequence[Metric], rules: Rules, out: NDArray[np.float64]) -> NDArray[np.int64]:
        """Write the values of measures that share rules; return how many queries were empty for each."""
        measures = [_measure(metric, self._convention) for metric in metrics]
        if self._convention.ap_norm == "found":
            found = [i for i, measure in enumerate(measures) if measure.kind == "ap" and measure.cut]
            if found:
                return self._fill_found(measures, found, rules, out)
        return self._fill(measures, rules, out)

    def _fill_found(
        self, measures: list[Measure], found: list[int], rules: Rules, out: NDArray[np.float64]
    ) -> NDArray[np.int64]:
        """AP over the relevant documents found is AP over all of them, divided by recall."""
        if rules.ties in ("mean", "threshold"):
            raise ValueError(
                f"ties: expected 'index', 'worst', 'best' or 'docid' for ap@k with ap_norm='found', got {rules.ties!r}"
            )
        recalls = [Measure("recall", measures[i].cut, 0, 0.0) for i in found]
        values = np.empty((len(measures) + len(recalls), out.shape[1]))
        n_empty = self._fill([*measures, *recalls], rules, values)
        out[:] = values[: len(measures)]
        for i, recall in zip(found, values[len(measures) :], strict=True):
            np.divide(out[i], recall, out=out[i], where=recall > 0)
        return n_empty[: len(measures)]

    def _fill(self, measures: list[Measure], rules: Rules, out: NDArray[np.float64]) -> NDArray[np.int64]:
        while True:
            program = self._program(measures, rules)
            results = run_blocks(functools.partial(self._call, program, out), self._blocks, self._n_threads)
            refused = [row for row, _ in results if row >= 0]
            if not refused:
                total: NDArray[np.int64] = np.array([n_empty for _, n_empty in results], dtype=np.int64).sum(axis=0)
                return total
            self._look_closer(min(refused))

    def _call(
        self, program: _metrics.Program, out: NDArray[np.float64], first: int, last: int
    ) -> tuple[int, list[int]]:
        lists, coding = self._lists, self._coding
        return program.run(
            lists.scores,
            coding.codes,
            lists.qptr,
            first,
            last,
            coding.missing,
            lists.missing_ptr,
            _cpu.LEVEL,
            _metrics.PATHS["auto"],
            out,
        )

    def _look_closer(self, row: int) -> None:
        """The kernel refused a row: a score that is not finite is a mistake, a label may need a code of its own."""
        scores = self._lists.scores
        if scores is not None and not np.isfinite(scores[row]):
            raise score_error(self._lists, scores, row)
        if not self._coding.is_hopeful:
            raise RuntimeError(f"expected the kernel to accept {self._lists.place(row)}; please report this")
        self._coding = exact_coding(self._lists, self._kinds)

    def _program(self, measures: list[Measure], rules: Rules) -> _metrics.Program:
        lists, convention, coding = self._lists, self._convention, self._coding
        kinds, cuts, flags, fills = zip(*measures, strict=True)
        zeros = gain_of = np.zeros_like(coding.levels)
        discounts = discount_table(convention.discount, _reach(measures, lists))
        if not GAIN_KINDS.isdisjoint(kinds):
            gain_of = gains(lists, coding.levels, rules.gain or convention.gain)
            _check_summable(gain_of, discounts)
        return _metrics.Program(
            np.array([_metrics.KINDS[kind] for kind in kinds], dtype=np.int32),
            np.array(cuts, dtype=np.int64),
            np.array(flags, dtype=np.int32),
            np.array(fills, dtype=np.float64),
            coding.by_code(gain_of),
            coding.by_code(stops(lists, coding.levels, convention) if "err" in kinds else zeros),
            coding.first_judged,
            coding.first_relevant(rules.rel),
            discounts,
            _metrics.TIES["index" if rules.ties == "docid" else rules.ties],
        )


def _measure(metric: Metric, convention: Convention) -> Measure:
    kind, empty, short = metric.kind, convention.rule("empty", metric.kind), convention.rule("short", metric.kind)
    is_least = (kind == "ap" and convention.ap_norm == "min") or (kind == "precision" and short == "shrink")
    return Measure(
        kind,
        metric.k or convention.default_k.get(kind, 0),
        _metrics.NORM_MIN * is_least + _metrics.SHORT_ZERO * (short == "zero"),
        np.nan if isinstance(empty, str) else float(empty),
    )


def _reach(measures: list[Measure], lists: Lists) -> int:
    """How many ranks need a discount."""
    cuts = [measure.cut for measure in measures if measure.kind in GAIN_KINDS]
    if not cuts:
        return 0
    return max(cuts) if min(cuts) > 0 and max(cuts) <= _SHORT_TABLE else lists.longest()


def _check_summable(gain_of: NDArray[np.float64], discounts: NDArray[np.float64]) -> None:
    """Refuse gains whose sum might be infinite."""
    gain, discount = float(gain_of.max(initial=0.0)), float(discounts.max(initial=0.0))
    if gain * discount > _MAX_TERM:
        raise ValueError(
            f"gain: expected gains that, times a discount, are at most 2^1000, so that their sum is finite, got "
            f"{gain:g} times {discount:g}; rescale the grades, or pass another gain="
        )


def discount_table(discount: Any, size: int) -> NDArray[np.float64]:
    """Return the weights of ranks 1 to `size`."""
    if discount == "log2":
        return _log2_discounts(1 << max(size - 1, 1).bit_length())[:size]
    if discount == "letor":
        return np.concatenate(([1.0], _log2_discounts(1 << size.bit_length())))[:size]
    if callable(discount):
        table = check_nonnegative(discount(np.arange(1.0, size + 1)), "discount")
        if table.shape != (size,):
            raise ValueError(
                f"discount: expected a function that returns a value for each of {size} ranks, got shape {table.shape}"
            )
    else:
        table = np.array(discount)
        if len(table) < size:
            raise ValueError(
                f"discount: expected a value for each of {size} ranks, got {len(table)}; add zeros for ranks that do "
                "not count"
            )
    if (np.diff(table) > 0).any():
        rank = int(np.argmax(np.diff(table) > 0)) + 1
        raise ValueError(
            f"discount: expected values that never rise, as the ideal order puts the best first, got {table[rank]:g} "
            f"after {table[rank - 1]:g} at rank {rank}"
        )
    return np.ascontiguousarray(table)


@functools.lru_cache(maxsize=32)
def _log2_discounts(size: int) -> NDArray[np.float64]:
    """1 / log2(1 + rank), read-only. Asked for in powers of two: these logarithms are exact, and not free."""
    table = np.empty(size)
    _plan.discounts_into(table)
    table.flags.writeable = False
    return table
