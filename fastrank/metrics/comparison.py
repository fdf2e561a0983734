"""Compare systems query by query with a baseline: tests, corrections, intervals and effect sizes."""

from __future__ import annotations

import dataclasses
import importlib
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastrank._validation import check_choice, check_count, check_real, plural
from fastrank.data._grouping import id_list
from fastrank.metrics._statistics import (
    benjamini_hochberg,
    bootstrap_intervals,
    check_confidence,
    cohens_dz,
    difference_steps,
    draw_seed,
    hedges_correction,
    holm,
    randomisation_test,
    rank_biserial,
    sign_test,
    t_interval,
    t_test,
    wilcoxon_test,
)
from fastrank.metrics._tables import data_frame, latex_table, markdown_table, text_table
from fastrank.metrics.conventions import first_difference
from fastrank.metrics.evaluation import Evaluation
from fastrank.metrics.names import Metric, parse_metric, parse_metrics

TESTS = ("t", "wilcoxon", "sign", "randomisation")
_TEST_NAMES = {
    "t": "paired t-test",
    "wilcoxon": "Wilcoxon signed-rank test",
    "sign": "sign test",
    "randomisation": "randomisation test",
}
_CORRECTIONS = {"holm": "Holm", "bh": "Benjamini-Hochberg"}
_MARKS = ((0.001, "***"), (0.01, "**"), (0.05, "*"))


class Differences(NamedTuple):
    """One measure of two systems, query by query: arrays of the same length, in the baseline's order of queries."""

    qid: NDArray[Any]
    baseline: NDArray[np.float64]
    system: NDArray[np.float64]
    difference: NDArray[np.float64]


@dataclasses.dataclass(frozen=True)
class PairedResult:
    """What one system's difference from the baseline amounts to, for one measure.

    Attributes
    ----------
    system, metric : str
    n_queries : int
        Pairs that count.
    n_left_out : int
        Queries for which the measure is NaN (an empty query that is skipped) in either system.
    mean, baseline_mean, difference : float
        Means over the pairs that count; difference = mean - baseline_mean.
    relative_difference : float
        difference / |baseline_mean|; NaN if that is 0.
    low, high : float
        Confidence interval of the difference.
    cohens_dz : float
        Mean of the differences divided by their standard deviation.
    hedges_g : float
        The same, with the bias of small samples taken out.
    rank_biserial : float
        (R+ - R-) / (R+ + R-) of the signed ranks: from -1, all queries lose, to 1, all win.
    wins, ties, losses : int
        Queries above, equal to and below the baseline.
    p, p_corrected : dict of str to float
        By test: "t", "wilcoxon", "sign", "randomisation". Two-sided.
    """

    system: str
    metric: str
    n_queries: int
    n_left_out: int
    mean: float
    baseline_mean: float
    difference: float
    relative_difference: float
    low: float
    high: float
    cohens_dz: float
    hedges_g: float
    rank_biserial: float
    wins: int
    ties: int
    losses: int
    p: dict[str, float]
    p_corrected: dict[str, float]

    def to_dict(self) -> dict[str, Any]:
        """Return one flat dictionary, with p_t, p_wilcoxon, ..., p_t_corrected, ... for the tests."""
        flat = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)[:-2]}
        flat |= {f"p_{test}": self.p[test] for test in TESTS}
        return flat | {f"p_{test}_corrected": self.p_corrected[test] for test in TESTS}


class Comparison:
    """Systems compared with a baseline; made by `compare`.

    `comparison["system", "ndcg@10"]` is a `PairedResult`; iterating gives all of them, measure by measure.

    Attributes
    ----------
    baseline : str
    systems : tuple of str
        All but the baseline.
    metrics : tuple of Metric
    n_queries : int
    correction : {"holm", "bh"} or None
    test : str
        The test whose corrected p is printed and marked.
    confidence : float
    results : tuple of PairedResult
    """

    def __init__(
        self,
        results: Iterable[PairedResult],
        *,
        baseline: str,
        metrics: tuple[Metric, ...],
        qid: NDArray[Any],
        values: Mapping[str, NDArray[np.float64]],
        correction: str | None,
        test: str,
        confidence: float,
    ) -> None:
        self.results = tuple(results)
        self.baseline = baseline
        self.systems = tuple(name for name in values if name != baseline)
        self.metrics = metrics
        self.n_queries = len(qid)
        self.correction = correction
        self.test = test
        self.confidence = confidence
        self._qid = qid
        self._values = dict(values)
        self._by_name = {(result.system, result.metric): result for result in self.results}

    def __getitem__(self, key: tuple[str, str | Metric]) -> PairedResult:
        if not isinstance(key, tuple) or len(key) != 2:
            raise TypeError(f"comparison[...]: expected a system and a measure, got {key!r}")
        system, metric = key
        return self._by_name[self._check_system(system), self.metrics[self._metric_row(metric)].name]

    def __iter__(self) -> Iterator[PairedResult]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    def differences(self, system: str, metric: str | Metric) -> Differences:
        """Return the values of the baseline and of a system for each query, and what the system gains.

        NaN where the measure leaves a query out.
        """
        row = self._metric_row(metric)
        baseline = self._values[self.baseline][row]
        values = self._values[self._check_system(system)][row]
        return Differences(self._qid, baseline, values, values - baseline)

    @property
    def caption(self) -> str:
        """One sentence: the baseline, the queries, the test, the correction, and what the marks mean."""
        corrected = (
            "not corrected"
            if self.correction is None
            else f"{_CORRECTIONS[self.correction]} correction over {plural(len(self.results), 'comparison')}"
        )
        marks = ", ".join(f"{mark} p < {level:g}" for level, mark in reversed(_MARKS))
        return (
            f"Compared with {self.baseline} over {plural(self.n_queries, 'query')}; "
            f"{_TEST_NAMES[self.test]}, {corrected}; {marks}."
        )

    def __str__(self) -> str:
        headers = [
            "metric",
            "system",
            "mean",
            "difference",
            "",
            f"{100 * self.confidence:g} % interval",
            "relative",
            "win/tie/loss",
            "p",
        ]
        rows: list[list[Any]] = []
        for metric in self.metrics:
            results = [self._by_name[system, metric.name] for system in self.systems]
            # The mean of the queries that count in the first comparison: in all of them, as a rule.
            rows.append([metric.name, self.baseline, results[0].baseline_mean, *[None] * 6])
            rows += [self._text_row(result) for result in results]
        lines = [self.caption, "", text_table(headers, rows)]
        left_out = {result.metric: result.n_left_out for result in self.results if result.n_left_out}
        if left_out:
            counts = ", ".join(f"{name} {plural(n, 'query')}" for name, n in left_out.items())
            lines += ["", f"Left out, because the measure has no value there: {counts}."]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return (
            f"Comparison(baseline={self.baseline!r}, systems={list(self.systems)}, "
            f"metrics={[metric.name for metric in self.metrics]}, n_queries={self.n_queries})"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the settings, and the results as a list of flat dictionaries, fit for JSON but for NaN."""
        return {
            "baseline": self.baseline,
            "n_queries": self.n_queries,
            "correction": self.correction,
            "confidence": self.confidence,
            "results": [result.to_dict() for result in self.results],
        }

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with a row per measure and system, and the columns of `PairedResult.to_dict`."""
        rows = [result.to_dict() for result in self.results]
        return data_frame({name: [row[name] for row in rows] for name in rows[0]})

    def to_markdown(self, *, digits: int | None = None, percent: bool = False) -> str:
        """Return a table with a row per system and a column per measure: means with marks of significance.

        Parameters
        ----------
        digits : int, optional
            Decimals; without it 4, or 2 with `percent`.
        percent : bool, default=False
            Write 100 times the value.
        """
        return markdown_table(*self._means(digits, percent))

    def to_latex(self, *, digits: int | None = None, percent: bool = False, booktabs: bool = False) -> str:
        """Return the table of `to_markdown` as a LaTeX tabular; `booktabs` for the rules of that package.

        `caption` says what the marks mean.
        """
        return latex_table(*self._means(digits, percent), booktabs=booktabs)

    def plot(self, system: str | None = None, metric: str | Metric | None = None, *, ax: Any = None) -> Any:
        """Draw the differences from the baseline, a bar per query, largest first; needs matplotlib.

        Parameters
        ----------
        system : str, optional
            Without it the first.
        metric : str or Metric, optional
            Without it the first.
        ax : matplotlib Axes, optional
            Where to draw; without it a new figure.

        Returns
        -------
        matplotlib Axes
        """
        system = self.systems[0] if system is None else system
        name = self.metrics[0 if metric is None else self._metric_row(metric)].name
        difference = self.differences(system, name).difference
        if ax is None:
            try:
                pyplot = importlib.import_module("matplotlib.pyplot")
            except ImportError:
                raise ImportError(
                    "plot: expected matplotlib to be installed; pip install 'fastrank-ltr[plot]'"
                ) from None
            ax = pyplot.subplots()[1]
        ordered = np.sort(difference[~np.isnan(difference)])[::-1]
        ax.bar(np.arange(1, len(ordered) + 1), ordered, width=1.0)
        ax.axhline(0.0, color="black", linewidth=0.8)
        ax.set_xlabel("queries, by difference")
        ax.set_ylabel(f"{name}: {system} - {self.baseline}")
        return ax

    def _check_system(self, system: str) -> str:
        return str(check_choice(system, self.systems, name="system"))

    def _metric_row(self, metric: str | Metric) -> int:
        wanted = parse_metric(metric)
        if wanted not in self.metrics:
            raise ValueError(f"metric: expected one of {_names(self.metrics)}, got {wanted.name!r}")
        return self.metrics.index(wanted)

    def _mark(self, result: PairedResult) -> str:
        p = result.p_corrected[self.test]
        return next((mark for level, mark in _MARKS if p < level), "")

    def _text_row(self, result: PairedResult) -> list[Any]:
        p = result.p_corrected[self.test]
        return [
            None,
            result.system,
            result.mean,
            f"{result.difference:+.4f}",
            self._mark(result),
            None if math.isnan(result.low) else f"[{result.low:+.4f}, {result.high:+.4f}]",
            None if math.isnan(result.relative_difference) else f"{100 * result.relative_difference:+.1f} %",
            f"{result.wins}/{result.ties}/{result.losses}",
            "< 0.0001" if p < 0.0001 else p,
        ]

    def _means(self, digits: int | None, percent: bool) -> tuple[list[str], list[list[str]]]:
        factor = 100 if percent else 1
        decimals = (2 if percent else 4) if digits is None else check_count(digits, name="digits", least=0)
        results = [self._by_name[self.systems[0], metric.name] for metric in self.metrics]
        rows = [[self.baseline, *(f"{factor * result.baseline_mean:.{decimals}f}" for result in results)]]
        for system in self.systems:
            results = [self._by_name[system, metric.name] for metric in self.metrics]
            cells = (f"{factor * result.mean:.{decimals}f}{self._mark(result)}" for result in results)
            rows.append([system, *cells])
        return ["system", *(metric.name for metric in self.metrics)], rows


def compare(
    evaluations: Mapping[str, Evaluation],
    baseline: str | None = None,
    metrics: str | Metric | Iterable[str | Metric] | None = None,
    *,
    correction: str | None = "holm",
    test: str = "randomisation",
    confidence: float = 0.95,
    interval: str = "bootstrap",
    tie_tolerance: float = 0.0,
    random_state: Any = 0,
    n_resamples: int = 10_000,
) -> Comparison:
    """Compare systems with a baseline, query by query.

    Parameters
    ----------
    evaluations : mapping of str to Evaluation
        Two or more systems by name, evaluated on the same queries (in any order: they are matched by qid) by the same
        measures and convention.
    baseline : str, optional
        The system that the others are compared with; without it the first.
    metrics : str, Metric or iterable of them, optional
        Measures to compare by; without it all, and every evaluation must have the same.
    correction : {"holm", "bh"} or None, default="holm"
        For many comparisons: Holm bounds the chance of any false discovery, Benjamini-Hochberg the expected share of
        false ones among the discoveries. The family is all systems times all measures of this call, for each test
        on its own.
    test : {"randomisation", "t", "wilcoxon", "sign"}, default="randomisation"
        The test whose corrected p tables show and mark. All four are computed.
    confidence : float, default=0.95
    interval : {"bootstrap", "t"}, default="bootstrap"
        Interval of the mean difference: BCa bootstrap from resamples that all systems and measures share, or
        Student's.
    tie_tolerance : float, default=0.0
        Differences up to this size are ties: for win/tie/loss, for the sign test and for Wilcoxon's, which both leave
        ties out, and for the rank-biserial correlation. Rounding, up to 1e-12 of the largest value, never breaks a tie.
    random_state : int or numpy Generator, default=0
    n_resamples : int, default=10,000
        For the bootstrap and the randomisation test.

    Returns
    -------
    Comparison

    Notes
    -----
    A query whose value is NaN in either system is left out of that comparison, and counted. With fewer than two
    queries left, p, intervals and d are NaN. Systems with equal values have p = 1 in every test. A result does not
    depend on which other systems or measures are in the call, but for its corrected p.

    Cost with 10,000 queries and resamples: about 0.03 s for each randomisation test, 0.1 s for each bootstrap
    interval; both grow with the queries. For a million queries, interval="t" and a smaller n_resamples will do.

    References
    ----------
    M. Smucker, J. Allan and B. Carterette, "A comparison of statistical significance tests for information retrieval
    evaluation", CIKM 2007. S. Holm, "A simple sequentially rejective multiple test procedure", Scand. J. Statist. 6,
    1979. Y. Benjamini and Y. Hochberg, "Controlling the false discovery rate", J. R. Statist. Soc. B 57, 1995.
    D. Kerby, "The simple difference formula", Comprehensive Psychology 3, 2014 (rank-biserial correlation).

    Examples
    --------
    >>> from fastrank.metrics.evaluation import evaluate
    >>> y, qid = [1, 0, 0, 1, 0, 1, 0, 0], [1, 1, 2, 2, 3, 3, 4, 4]
    >>> base = evaluate(y, [2, 1, 2, 1, 2, 1, 2, 1], "rr", qid=qid)
    >>> mine = evaluate(y, [2, 1, 1, 2, 1, 2, 2, 1], "rr", qid=qid)
    >>> comparison = compare({"base": base, "mine": mine})
    >>> found = comparison["mine", "rr"]
    >>> found.difference, (found.wins, found.ties, found.losses), found.p["randomisation"]
    (0.25, (2, 2, 0), 0.5)
    >>> comparison.differences("mine", "rr").difference.tolist()
    [0.0, 0.5, 0.5, 0.0]
    """
    if correction is not None:
        check_choice(correction, tuple(_CORRECTIONS), name="correction")
    check_choice(test, TESTS, name="test")
    level = check_confidence(confidence)
    check_choice(interval, ("bootstrap", "t"), name="interval")
    tolerance = check_real(tie_tolerance, name="tie_tolerance", zero=True)
    count = check_count(n_resamples, name="n_resamples")
    seed = draw_seed(random_state)

    base = _check_evaluations(evaluations, baseline)
    chosen = _check_metrics(evaluations, metrics)
    _check_conventions(evaluations, base)
    qid = np.asarray(evaluations[base].qid)
    values = {name: _aligned(evaluations, base, name, chosen) for name in evaluations}

    pairs = [
        _pair(name, metric.name, values[name][row], values[base][row], tolerance)
        for row, metric in enumerate(chosen)
        for name in values
        if name != base
    ]
    differences = np.array([pair.difference for pair in pairs])
    if interval == "bootstrap":
        bounds = bootstrap_intervals(differences, level, count, seed)
    else:
        bounds = np.array([t_interval(difference, level) for difference in differences])
    results = [
        _paired_result(pair, (float(low), float(high)), count, seed)
        for pair, (low, high) in zip(pairs, bounds, strict=True)
    ]
    return Comparison(
        _corrected(results, correction),
        baseline=base,
        metrics=chosen,
        qid=qid,
        values=values,
        correction=correction,
        test=test,
        confidence=level,
    )


class _Pair(NamedTuple):
    system: str
    metric: str
    values: NDArray[np.float64]
    baseline: NDArray[np.float64]
    counts: NDArray[np.bool_]  # queries with a value in both
    steps: NDArray[np.int64]  # of these only
    told_apart: NDArray[np.int64]  # the steps, 0 up to the tie tolerance
    difference: NDArray[np.float64]  # of all queries, NaN where one is missing


def _pair(
    system: str, metric: str, values: NDArray[np.float64], baseline: NDArray[np.float64], tolerance: float
) -> _Pair:
    difference = values - baseline
    counts = ~np.isnan(difference)
    steps = difference_steps(values[counts], baseline[counts])
    told_apart = difference_steps(values[counts], baseline[counts], tolerance) if tolerance else steps
    difference[counts] = np.where(steps == 0, 0.0, difference[counts])  # what rounding left is no difference
    return _Pair(system, metric, values, baseline, counts, steps, told_apart, difference)


def _paired_result(pair: _Pair, bounds: tuple[float, float], n_resamples: int, seed: int) -> PairedResult:
    difference, steps, told_apart = pair.difference[pair.counts], pair.steps, pair.told_apart
    n = len(steps)
    mean, baseline_mean, gain = (
        float(np.mean(x)) if n else math.nan for x in (pair.values[pair.counts], pair.baseline[pair.counts], difference)
    )
    d = cohens_dz(difference)
    return PairedResult(
        system=pair.system,
        metric=pair.metric,
        n_queries=n,
        n_left_out=len(pair.counts) - n,
        mean=mean,
        baseline_mean=baseline_mean,
        difference=gain,
        relative_difference=math.nan if baseline_mean == 0 else gain / abs(baseline_mean),
        low=bounds[0],
        high=bounds[1],
        cohens_dz=d,
        hedges_g=d if math.isinf(d) else d * hedges_correction(n),
        rank_biserial=rank_biserial(told_apart),
        wins=int(np.count_nonzero(told_apart > 0)),
        ties=int(np.count_nonzero(told_apart == 0)),
        losses=int(np.count_nonzero(told_apart < 0)),
        p={
            "t": t_test(difference),
            "wilcoxon": wilcoxon_test(told_apart),
            "sign": sign_test(told_apart),
            "randomisation": randomisation_test(steps, n_resamples, seed),
        },
        p_corrected={},
    )


def _corrected(results: list[PairedResult], correction: str | None) -> list[PairedResult]:
    raw = {test: np.array([result.p[test] for result in results]) for test in TESTS}
    adjust = None if correction is None else {"holm": holm, "bh": benjamini_hochberg}[correction]
    adjusted = raw if adjust is None else {test: adjust(p) for test, p in raw.items()}
    return [
        dataclasses.replace(result, p_corrected={test: float(adjusted[test][row]) for test in TESTS})
        for row, result in enumerate(results)
    ]


def _check_evaluations(evaluations: Mapping[str, Evaluation], baseline: str | None) -> str:
    """Return the name of the baseline."""
    if not isinstance(evaluations, Mapping):
        raise TypeError(
            'evaluations: expected a mapping of names to evaluations, such as {"bm25": ..., "mine": ...}, '
            f"got {type(evaluations).__name__}"
        )
    for name, evaluation in evaluations.items():
        if not isinstance(name, str):
            raise TypeError(f"evaluations: expected names of systems as strings, got {name!r}; pass str(name)")
        if not isinstance(evaluation, Evaluation):
            raise TypeError(
                f"evaluations: expected the result of evaluate() for {name!r}, got {type(evaluation).__name__}"
            )
    if len(evaluations) < 2:
        raise ValueError(f"evaluations: expected two systems or more, got {len(evaluations)}; nothing to compare")
    if baseline is None:
        return next(iter(evaluations))
    return str(check_choice(baseline, tuple(evaluations), name="baseline"))


def _check_metrics(
    evaluations: Mapping[str, Evaluation], metrics: str | Metric | Iterable[str | Metric] | None
) -> tuple[Metric, ...]:
    if metrics is None:
        chosen = tuple(dict.fromkeys(metric for one in evaluations.values() for metric in one.metrics))
    else:
        chosen = parse_metrics(metrics)
    for name, evaluation in evaluations.items():
        for metric in chosen:
            if metric not in evaluation.metrics:
                raise ValueError(
                    f"metrics: expected {metric.name!r} in every evaluation, got only {_names(evaluation.metrics)} in "
                    f"{name!r}; evaluate it there too, or choose with metrics=[...]"
                )
    return chosen


def _check_conventions(evaluations: Mapping[str, Evaluation], base: str) -> None:
    first = evaluations[base].convention
    for name, evaluation in evaluations.items():
        field = first_difference(first, evaluation.convention)
        if field is not None:
            ours, theirs = getattr(first, field), getattr(evaluation.convention, field)
            raise ValueError(
                f"evaluations: expected one convention for all systems, got {field}={ours!r} in {base!r} and "
                f"{field}={theirs!r} in {name!r}; evaluate both the same way"
            )


def _aligned(
    evaluations: Mapping[str, Evaluation], base: str, name: str, metrics: tuple[Metric, ...]
) -> NDArray[np.float64]:
    """The values of the measures chosen, a row each, with the queries in the baseline's order."""
    evaluation = evaluations[name]
    rows = [evaluation.metrics.index(metric) for metric in metrics]
    values = np.asarray(evaluation.values, dtype=np.float64)[rows]
    ours, theirs = np.asarray(evaluations[base].qid), np.asarray(evaluation.qid)
    if name == base or (ours.dtype == theirs.dtype and np.array_equal(ours, theirs)):
        return values
    wanted = id_list(ours)
    position = {qid: number for number, qid in enumerate(id_list(theirs))}
    known = set(wanted)
    for has, lacks, missing in (
        (base, name, [qid for qid in wanted if qid not in position]),
        (name, base, [qid for qid in position if qid not in known]),
    ):
        if missing:
            others = f" and {plural(len(missing) - 1, 'query')} more" if len(missing) > 1 else ""
            raise ValueError(
                f"evaluations: expected the same queries in all systems, got {missing[0]!r}{others} in {has!r} but "
                f"not in {lacks!r}; evaluate both on the same queries"
            )
    return values[:, [position[qid] for qid in wanted]]


def _names(metrics: Iterable[Metric]) -> str:
    return ", ".join(metric.name for metric in metrics)
