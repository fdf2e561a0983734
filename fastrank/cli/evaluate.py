"""Evaluate a TREC run against judgements, printing trec_eval's lines.

Options and lines are trec_eval's, so that scripts need not change. Relevance is the gain, equal scores are ranked by
document id, descending, and a query without a relevant document counts 0.
"""

from __future__ import annotations

import argparse
import math
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fastrank._errors import DataFormatError
from fastrank._validation import check_count
from fastrank.data.letor import load_letor
from fastrank.data.letor._format import shown
from fastrank.data.trec import UNJUDGED, Joined, join, load_qrels, load_run

if TYPE_CHECKING:
    from fastrank.metrics import Metric

_CUTS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
_LEAST_MEAN = 1e-5  # what geometric means take a value of 0 for

_MEASURES: dict[str, str | tuple[str, tuple[int, ...]]] = {
    "runid": "",
    "num_q": "",
    "num_ret": "",
    "num_rel": "",
    "num_rel_ret": "",
    "map": "ap",
    "gm_map": "ap",
    "Rprec": "rprec",
    "bpref": "bpref",
    "recip_rank": "rr",
    "P": ("precision", _CUTS),
    "recall": ("recall", _CUTS),
    "gm_bpref": "bpref",
    "utility": "",
    "ndcg": "ndcg",
    "ndcg_cut": ("ndcg", _CUTS),
    "map_cut": ("ap", _CUTS),
    "success": ("success", (1, 5, 10)),
    "set_P": "",
    "set_relative_P": "",
    "set_recall": "",
    "set_map": "",
    "set_F": "",
    "num_nonrel_judged_ret": "",
}
"""trec_eval's measures that we have, in its order: of a kind, of a kind with these cut-offs, or of counts ("")."""

_OTHERS = (
    "iprec_at_recall", "relstring", "infAP", "Rprec_mult", "11pt_avg", "binG", "G", "ndcg_rel", "Rndcg", "relative_P",
    "rbp", "rbp_resid", "unj",
)  # fmt: skip
"""Those of all_trec that we lack."""

_NICKNAMES = {
    "official": ("runid", "num_q", "num_ret", "num_rel", "num_rel_ret", "map", "gm_map", "Rprec", "bpref", "recip_rank",
                 "P"),
    "set": ("runid", "num_q", "num_ret", "num_rel", "num_rel_ret", "utility", "set_P", "set_recall", "set_relative_P",
            "set_map", "set_F"),
    "all_trec": tuple(_MEASURES),
}  # fmt: skip
_SUMMED = ("num_ret", "num_rel", "num_rel_ret", "num_nonrel_judged_ret")
_ONLY_SUMMARY = ("runid", "num_q", "gm_map", "gm_bpref")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare trec_eval's options, and our own."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = (
        "measures, in the order of their lines:\n"
        f"{_wrapped(_MEASURES)}\n"
        "P, recall, ndcg_cut and map_cut take cut-offs, such as ndcg_cut.10,100, and have 5, 10, 15, 20, 30, 100,\n"
        "200, 500 and 1000 without; success has 1, 5 and 10. Other spellings and measures, such as ndcg@10 or err@20,\n"
        "are taken too. official, set and all_trec are sets of these; all_trec lacks trec_eval's\n"
        f"{_wrapped(_OTHERS)}"
    )
    parser.add_argument("judgements", help="qrels: `qid iter docno rel` a line, plain or gzip (- is standard input)")
    parser.add_argument(
        "results", help="run: `qid Q0 docno rank score tag` a line, plain or gzip (- is standard input)"
    )
    parser.add_argument(
        "-m", "--measure", action="append", metavar="MEASURE", help="print this measure (default: official; repeatable)"
    )
    parser.add_argument("-q", "--query_eval_wanted", action="store_true", help="print each query, then the summary")
    parser.add_argument("-n", "--nosummary", action="store_true", help="print no summary")
    parser.add_argument(
        "-c", "--complete_rel_info_wanted", action="store_true", help="count judged queries that the run lacks as 0"
    )
    parser.add_argument(
        "-l", "--level_for_rel", type=int, default=1, metavar="N", help="least grade that is relevant (default: 1)"
    )
    parser.add_argument(
        "-M", "--Max_retrieved_per_topic", type=int, metavar="N", help="look at the first N documents of a query"
    )
    parser.add_argument("-J", "--Judged_docs_only", action="store_true", help="take documents without judgement out")
    ours = parser.add_argument_group("not of trec_eval")
    ours.add_argument(
        "--score-dtype",
        choices=("float32", "float64"),
        default="float64",
        help="round scores first; float32 is what trec_eval 9 and pytrec_eval do (default: float64, as trec_eval 10)",
    )
    ours.add_argument("--jobs", type=int, default=-1, metavar="N", help="threads (default: -1, all CPUs)")
    ours.add_argument(
        "--letor",
        action="store_true",
        help="the files are LETOR text and scores, one a line; print a table of means with intervals",
    )
    ours.add_argument(
        "--convention", metavar="NAME", help="with --letor: how ties and the rest count (default: fastrank)"
    )


def _wrapped(names: Iterable[str]) -> str:
    return textwrap.fill(", ".join(names), 110, initial_indent="  ", subsequent_indent="  ")


def run(arguments: argparse.Namespace) -> None:
    """Print the lines."""
    if arguments.letor:
        _print_letor(arguments)
        return
    if arguments.convention is not None:
        raise ValueError("--convention: expected it with --letor only, got a TREC run, which counts as trec_eval does")
    measures = _requested(arguments.measure or ["official"])
    check_count(arguments.level_for_rel, name="-l", least=0)
    if arguments.Max_retrieved_per_topic is not None:
        check_count(arguments.Max_retrieved_per_topic, name="-M")
    judgements = load_qrels(_path(arguments.judgements), n_jobs=arguments.jobs)
    ranking = load_run(_path(arguments.results), n_jobs=arguments.jobs)
    joined = join(
        judgements,
        ranking,
        complete=arguments.complete_rel_info_wanted,
        max_docs=arguments.Max_retrieved_per_topic,
        judged_only=arguments.Judged_docs_only,
        score_dtype=arguments.score_dtype,
        n_jobs=arguments.jobs,
    )
    lines = _Lines(joined, ranking.tag, measures, arguments.level_for_rel, arguments.jobs)
    if arguments.query_eval_wanted:
        print("".join(lines.of_queries()), end="")
    if not arguments.nosummary:
        print("".join(lines.of_summary()), end="")


def _path(text: str) -> str:
    return "/dev/stdin" if text == "-" else text


Requested = list[tuple[str, "Metric | None"]]


def _requested(names: list[str]) -> Requested:
    """The lines to print, by name, with the measure that a line is of; None where it is of counts."""
    from fastrank.metrics import Metric, parse_metric  # here: other commands need not wait for it

    cuts: dict[str, set[int]] = {}
    own: dict[str, Metric] = {}
    for text in names:
        name, dot, parameters = text.partition(".")
        if name in _NICKNAMES and not dot:
            for measure in _NICKNAMES[name]:
                cuts.setdefault(measure, set())
        elif name in _MEASURES:
            cuts.setdefault(name, set()).update(_cuts(name, parameters) if dot else ())
        elif name in _OTHERS:
            raise ValueError(f"illegal measure {text!r}: trec_eval has it, fastrank does not; see fastrank evaluate -h")
        else:
            try:
                metric = parse_metric(text)
            except ValueError as error:
                raise ValueError(f"illegal measure {text!r} ({error}); see fastrank evaluate -h") from None
            family, _, cut = (metric.trec_name or "").rpartition("_")
            if metric.trec_name in _MEASURES:
                cuts.setdefault(metric.trec_name, set())
            elif family in _MEASURES:
                cuts.setdefault(family, set()).add(int(cut))
            else:
                own[metric.name] = metric
    found: Requested = []
    for name, of in _MEASURES.items():
        if name not in cuts:
            continue
        if isinstance(of, tuple):
            kind, usual = of
            found += [(f"{name}_{k}", Metric(kind, k)) for k in sorted(cuts[name] or usual)]
        else:
            found.append((name, Metric(of) if of else None))
    return found + list(own.items())


def _cuts(name: str, parameters: str) -> list[int]:
    if not isinstance(_MEASURES[name], tuple):
        raise ValueError(f"illegal measure '{name}.{parameters}': expected {name} without parameters")
    cuts = [int(part) if part.isdecimal() else 0 for part in parameters.split(",")]
    if min(cuts) < 1 or len(set(cuts)) < len(cuts):
        raise ValueError(
            f"illegal measure '{name}.{parameters}': expected different cut-offs of at least 1, such as {name}.5,10"
        )
    return cuts


class _Lines:
    """Values of the requested lines, and the lines."""

    def __init__(self, joined: Joined, tag: str, requested: Requested, level: int, n_jobs: int) -> None:
        from fastrank.metrics import evaluate_lists  # here: other commands need not wait for it
        from fastrank.metrics.conventions import resolve_convention

        self._qid = joined.qid.tolist()
        self._tag = tag
        metrics = list(dict.fromkeys(metric for _, metric in requested if metric is not None))
        if metrics:
            convention = resolve_convention("trec_eval", {"rel": level})
            evaluation = evaluate_lists(joined, metrics, convention, n_jobs)
        counts = _counts(joined, level) if any(metric is None for _, metric in requested) else {}
        self._values: dict[str, NDArray[Any]] = {
            name: evaluation[metric] if metric is not None else counts.get(name, np.zeros(0))
            for name, metric in requested
        }

    def of_queries(self) -> Iterator[str]:
        """Yield the lines of each query."""
        shown = {name: values.tolist() for name, values in self._values.items() if name not in _ONLY_SUMMARY}
        for query, qid in enumerate(self._qid):
            for name, values in shown.items():
                yield _line(name, qid, values[query])

    def of_summary(self) -> Iterator[str]:
        """Yield the lines of all queries together."""
        n = len(self._qid)
        for name, values in self._values.items():
            if name == "runid":
                yield f"{name:<22}\tall\t{self._tag}\n"
            elif name == "num_q":
                yield _line(name, "all", n)
            elif name in _SUMMED:
                yield _line(name, "all", int(values.sum()))
            elif name.startswith("gm_"):
                logarithms = [math.log(max(value, _LEAST_MEAN)) for value in values.tolist()]
                yield _line(name, "all", math.exp(_sum(logarithms) / n))
            else:
                yield _line(name, "all", _sum(values) / n)


def _line(name: str, qid: str, value: float) -> str:
    return f"{name:<22}\t{qid}\t{value:d}\n" if isinstance(value, int) else f"{name:<22}\t{qid}\t{value:6.4f}\n"


def _sum(values: Any) -> float:
    """Add one by one, as trec_eval does: the last bit may decide how a mean is rounded."""
    return float(np.cumsum(values)[-1])


def _counts(joined: Joined, level: int) -> dict[str, NDArray[Any]]:
    """What follows from how many documents are retrieved, relevant and judged."""

    def count(flags: NDArray[np.bool_], qptr: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.diff(np.concatenate(([0], np.cumsum(flags)))[qptr])

    is_relevant, is_judged = joined.grades >= level, joined.grades != UNJUDGED
    retrieved = np.diff(joined.qptr)
    found = count(is_relevant & is_judged, joined.qptr)
    relevant = found + count(joined.missing_grades >= level, joined.missing_ptr)
    precision, recall = _ratio(found, retrieved), _ratio(found, relevant)
    return {
        "num_ret": retrieved,
        "num_rel": relevant,
        "num_rel_ret": found,
        "num_nonrel_judged_ret": count(is_judged & ~is_relevant, joined.qptr),
        "utility": (2.0 * found - retrieved),
        "set_P": precision,
        "set_relative_P": _ratio(found, np.minimum(retrieved, relevant)),
        "set_recall": recall,
        "set_map": precision * recall,
        "set_F": _ratio(2 * precision * recall, precision + recall),
    }


def _ratio(part: NDArray[Any], whole: NDArray[Any]) -> NDArray[np.float64]:
    """Divide; nothing of nothing is 0."""
    ratio: NDArray[np.float64] = np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0)
    return ratio


def _print_letor(arguments: argparse.Namespace) -> None:
    from fastrank.metrics import evaluate  # here: other commands need not wait for it
    from fastrank.metrics.evaluation import DEFAULT_METRICS

    only_trec = ("query_eval_wanted", "nosummary", "complete_rel_info_wanted", "Judged_docs_only")
    for option in (*only_trec, "Max_retrieved_per_topic"):
        if getattr(arguments, option):
            raise ValueError(f"--{option}: expected it for TREC files only, got it with --letor")
    data = load_letor(_path(arguments.judgements), n_jobs=arguments.jobs)
    scores = _read_scores(_path(arguments.results))
    if len(scores) != data.n_rows:
        raise DataFormatError(
            f"expected {data.n_rows:,} scores, one per document of {arguments.judgements}, got {len(scores):,}",
            path=arguments.results,
        )
    overrides: dict[str, Any] = {} if arguments.level_for_rel == 1 else {"rel": arguments.level_for_rel}
    metrics = arguments.measure or DEFAULT_METRICS
    print(evaluate(data, scores, metrics, convention=arguments.convention, n_jobs=arguments.jobs, **overrides))


def _read_scores(path: str) -> NDArray[np.float64]:
    scores = []
    with Path(path).open("rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                scores.append(float(b"" if b"_" in line else line))  # Python reads 1_000 too
            except ValueError:
                raise DataFormatError(
                    f"expected one score a line, got {shown(line.strip())}; write numbers as 1, -0.5 or 2e-3",
                    path=path,
                    line=number,
                ) from None
    return np.array(scores)
