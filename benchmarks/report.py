"""Print speed and memory as ratios, each table from one run.

python benchmarks/report.py [reading] [grouping] [metrics] [metrics-ties] [metrics-trec] [losses] [objective] [online]
                            [dispatch] [import]

Contenders are interleaved and the least of several runs counts, because machines are noisy. Whatever is timed has been
checked for equality first. Reading is measured in a fresh process each time: CPU seconds and wall seconds around the
call, and how far it raised the peak of resident memory. Measures are whole calls from NumPy arrays, dictionaries or
files to values, in CPU time; "~" marks peers that were too slow for all queries: time of the first ones, scaled.
Objectives and epochs are multiples of one pass over the features with our own dot.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

# Runs in a process of its own; jjfiv's environment has neither us nor workloads.py, so this text stands alone.
_MEASURE_READ = """
import json, sys, time
name, path, folder = sys.argv[1:]

def memory(field):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith(field))

if name == "jjfiv":
    from fastrank import CDataset
    read = CDataset.open_ranksvm
    shape = lambda data: (data.num_instances(), data.num_features())
else:
    sys.path.insert(0, folder)
    import workloads
    read = workloads.readers()[name]
    shape = workloads.shape_of
    if name.startswith("ours"):
        import fastrank.data.letor
    elif name.startswith("sklearn"):
        import sklearn.datasets
    else:
        __import__(name)
        if name == "lightgbm":
            workloads.without_qids(path)
before = memory("VmRSS")
cpu, wall = time.process_time(), time.perf_counter()
data = read(path)
cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
peak = memory("VmHWM") - before
arrays = 0
if name.startswith("ours"):
    arrays = data.X.nbytes + data.y.nbytes + data.qptr.nbytes + data.qid.nbytes
    if data.docid is not None:
        arrays += data.docid.data.nbytes + data.docid.offsets.nbytes
print(json.dumps({"cpu": cpu, "wall": wall, "peak": peak, "arrays": arrays, "shape": list(shape(data))}))
"""


def interleaved(
    contenders: dict[str, Callable[[], Any]],
    repeats: int,
    clock: Callable[[], float] = time.perf_counter,
    patience: float = float("inf"),
) -> dict[str, float]:
    """The least seconds of each contender, taking turns; those that take longer than `patience` run twice only."""
    least = dict.fromkeys(contenders, float("inf"))
    for repeat in range(repeats):
        for name, task in contenders.items():
            if repeat >= 2 and least[name] > patience:
                continue
            started = clock()
            task()
            least[name] = min(least[name], clock() - started)
    return least


def cpu_seconds() -> float:
    """CPU time of this process, all its threads, and the processes that it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def report_reading(options: argparse.Namespace) -> None:
    """LETOR text to dense float32, us and peers."""
    import workloads

    if options.install_peers and workloads.jjfiv_python() is None:
        workloads.install_jjfiv()
    names = [*workloads.readers(), *(["jjfiv"] if workloads.jjfiv_python() else [])]
    with TemporaryDirectory() as folder:
        files = [workloads.generated_text(Path(folder), options.megabytes)]
        mq2007 = workloads.mq2007_text(Path(folder))
        if mq2007 is not None:
            files.insert(0, mq2007)
        for path in files:
            megabytes = path.stat().st_size / 1e6
            chosen = names
            if megabytes > 100:
                print("sklearn with query_id=True is left out of the large file: its time is quadratic in rows")
                chosen = [name for name in names if name != "sklearn-qid"]
            ours = workloads.read_ours(path, 1)
            for name in chosen:
                if name in workloads.readers() and megabytes < 100:
                    assert workloads.same_values(ours, workloads.readers()[name](path)), name
            rows = ours.n_rows
            del ours
            best: dict[str, dict[str, float]] = {}
            for repeat in range(options.repeats):
                for name in chosen:
                    if repeat >= 2 and best[name]["wall"] > 5:
                        continue  # slow peers need no more runs to be known as slow
                    # neither the source tree in this folder nor, for jjfiv, our fastrank may get in the way
                    python = [workloads.python_of(name), "-I" if name == "jjfiv" else "-P"]
                    command = [*python, "-c", _MEASURE_READ, name, str(path), str(Path(__file__).parent)]
                    found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
                    assert found["shape"][0] == rows, (name, found)
                    kept = best.setdefault(name, found)
                    for key in ("cpu", "wall", "peak"):
                        kept[key] = min(kept[key], found[key])
            peer = min(best[name]["cpu"] for name in best if not name.startswith("ours"))
            print(f"\n{path.name}: {megabytes:.0f} MB, {rows:,} rows; least of {options.repeats} runs")
            print(f"{'reader':<14}{'CPU s':>9}{'MB/CPU s':>10}{'x best peer':>13}", end="")
            print(f"{'wall s':>9}{'peak MB':>9}{'x arrays':>10}")
            for name, row in best.items():
                memory = f"{row['peak'] / row['arrays']:10.2f}" if row["arrays"] else f"{'':>10}"
                print(
                    f"{name:<14}{row['cpu']:9.3f}{megabytes / row['cpu']:10.0f}{peer / row['cpu']:13.2f}"
                    f"{row['wall']:9.3f}{row['peak'] / 1e6:9.0f}{memory}"
                )
            print(f"two threads: {best['ours-1']['wall'] / best['ours-2']['wall']:.2f}x the speed of one")


def report_grouping(options: argparse.Namespace) -> None:
    """Rows with shuffled integer qids, against one stable argsort."""
    import numpy as np
    import workloads

    from fastrank.data._grouping import group_by_qid

    print(f"{'rows':>12}{'queries':>12}{'group ms':>10}{'argsort ms':>12}{'ratio':>8}   (at most 2)")
    for n_rows, n_queries in ((1_000_000, 10_000), (10_000_000, 1_000), (10_000_000, 100_000), (10_000_000, 5_000_000)):
        qid = workloads.shuffled_qids(n_rows, n_queries)
        groups = group_by_qid(qid, n_rows)
        # the same groups, and inside each the same row order, as a stable sort of first-appearance codes
        assert groups.order is not None
        assert np.array_equal(qid[groups.order], np.repeat(groups.qid, np.diff(groups.qptr)))
        contenders = {
            "group": partial(group_by_qid, qid, n_rows),
            "argsort": partial(np.argsort, qid, kind="stable"),
        }
        least = interleaved(contenders, options.repeats)
        ours, theirs = least["group"] * 1e3, least["argsort"] * 1e3
        print(f"{n_rows:12,}{n_queries:12,}{ours:10.1f}{theirs:12.1f}{ours / theirs:8.2f}")


def report_metrics(options: argparse.Namespace) -> None:
    """Measures of scores in NumPy arrays, us and peers: one thread, CPU time of the whole call."""
    import metric_peers
    import metric_workloads
    import workloads

    if options.install_peers and workloads.jjfiv_python() is None:
        workloads.install_jjfiv()
    absent = sorted({peer.module for peer in metric_peers.PEERS.values() if not peer.is_installed()})
    if workloads.jjfiv_python() is None:
        absent.append("jjfiv's fastrank (--install-peers)")
    if absent:
        print("left out, because not installed: " + ", ".join(absent))
    for name in options.workloads:
        lists = metric_workloads.WORKLOADS[name]()
        print(f"\n{name}: {lists.n_queries:,} queries, {lists.n_docs:,} documents; CPU ms, least of {options.repeats}")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _print_metrics(lists, options)


def _print_metrics(lists: Any, options: argparse.Namespace) -> None:
    import metric_peers
    from metric_workloads import MEASURES, ours, ours_together, packed_keys, read_once, sort_keys

    columns = [*MEASURES, "all five"]
    print(f"{'':<26}" + "".join(f"{column:>11}" for column in columns))
    theirs: dict[str, dict[str, tuple[float, bool]]] = {}
    own = dict.fromkeys(columns, float("inf"))
    for measure in MEASURES:
        contenders: dict[str, Callable[[], Any]] = {"ours": partial(ours, lists, measure)}
        scale = {}
        for name, peer in metric_peers.installed().items():
            if peer.supports(measure, lists):
                part = _affordable(partial(peer, measure=measure), lists, options.seconds)
                peer.check(part, measure)
                contenders[name] = partial(peer, part, measure)
                scale[name] = lists.n_docs / part.n_docs
        least = interleaved(contenders, options.repeats, time.process_time, patience=4 * options.seconds)
        own[measure] = least["ours"]
        for name, factor in scale.items():
            theirs.setdefault(name, {})[measure] = (least[name] * factor, factor > 1)
    part = lists.first(max(1, 300_000 * lists.n_queries // lists.n_docs))
    for measure, seconds in (metric_peers.jjfiv(part, options.repeats) or {}).items():
        theirs.setdefault("jjfiv", {})[measure] = (seconds * lists.n_docs / part.n_docs, part is not lists)

    calls = {measure: partial(ours, lists, measure) for measure in MEASURES}
    calls["all five"] = partial(ours_together, lists)
    keys = packed_keys(lists)
    floors = {"read once": partial(read_once, lists), "sort": partial(sort_keys, keys)}
    again = interleaved({**calls, **floors}, 3 * options.repeats, time.process_time)
    own = {column: min(seconds, again[column]) for column, seconds in own.items()}
    pairs = {(column, n_jobs): partial(call, n_jobs=n_jobs) for column, call in calls.items() for n_jobs in (1, 2)}
    wall = interleaved(pairs, 3 * options.repeats)

    def row(title: str, cells: dict[str, str]) -> None:
        print(f"{title:<26}" + "".join(f"{cells.get(column, ''):>11}" for column in columns).rstrip())

    row("fastrank", {column: _milliseconds(seconds) for column, seconds in own.items()})
    for name, found in theirs.items():
        row(name, {measure: "~" * is_scaled + _milliseconds(s) for measure, (s, is_scaled) in found.items()})
    defined = [name for name in theirs if name not in metric_peers.PEERS or metric_peers.PEERS[name].is_defined]
    for title, names in (("best peer / fastrank", defined), ("unstable too", list(theirs))):
        best = {one: min(theirs[name][one][0] for name in names if one in theirs[name]) for one in MEASURES}
        row(title, {measure: f"{best[measure] / own[measure]:.1f}x" for measure in MEASURES})
    row("two threads, wall", {column: f"{wall[column, 1] / wall[column, 2]:.2f}x" for column in columns})
    row("ns per document", {column: f"{seconds / lists.n_docs * 1e9:.2f}" for column, seconds in own.items()})
    per_document = {name: f"{again[name] / lists.n_docs * 1e9:.2f}" for name in floors}
    dearest = max(own[measure] for measure in MEASURES)
    print(f"all five / the dearest: {own['all five'] / dearest:.2f}", end="; ")
    print(f"ns per document of NumPy: one read of the arrays {per_document['read once']}", end=", ")
    print(f"sort of packed keys in matrices of equal lists {per_document['sort']}")
    print(f"load average {os.getloadavg()[0]:.1f}; with other work on the machine the row of two threads means little")


def _affordable(call: Callable[[Any], Any], lists: Any, seconds: float) -> Any:
    """As many of the first queries as take about so long, all of them if they can."""
    n_queries = max(1, lists.n_queries // 100)
    call(lists.first(n_queries))  # imports, compiles
    while True:
        part = lists.first(n_queries)
        started = time.process_time()
        call(part)
        took = time.process_time() - started
        if part is lists or took > seconds / 2:
            return part
        n_queries = max(n_queries + 1, int(n_queries * min(10, seconds / took)))


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:,.{2 if seconds < 0.01 else 1 if seconds < 0.1 else 0}f}"


def report_metrics_ties(options: argparse.Namespace) -> None:
    """What tied scores cost: lists that differ in their ties alone, as multiples of those without."""
    import metric_workloads
    import numpy as np

    lists = metric_workloads.mslr_like()
    scores = {
        "no ties": lists.scores,
        "two decimals": np.round(lists.scores, 2),
        "quarters": np.round(lists.scores * 4) / 4,
        "constant": np.zeros(lists.n_docs),
    }
    print(f"{'CPU ms, x no ties':<20}" + "".join(f"{name:>20}" for name in scores))
    for measure in metric_workloads.MEASURES:
        contenders = {
            name: partial(metric_workloads.ours, metric_workloads.RankedLists(lists.grades, tied, lists.group), measure)
            for name, tied in scores.items()
        }
        least = interleaved(contenders, options.repeats, time.process_time)
        cells = (f"{least[name] * 1e3:12.2f} {least[name] / least['no ties']:6.1f}x" for name in scores)
        print(f"{measure:<20}" + "".join(cells))


def report_metrics_trec(options: argparse.Namespace) -> None:
    """Five measures of TREC dictionaries and files, us and peers: one thread, CPU time."""
    import metric_workloads

    qrels, run = metric_workloads.trec_dicts()
    n_docs = sum(map(len, run.values()))
    print(f"{len(run):,} queries, {n_docs:,} documents; five measures; CPU ms, least of {options.repeats}")
    with TemporaryDirectory() as folder:
        _print_trec_dicts(qrels, run, options.repeats)
        _print_trec_files(*metric_workloads.write_trec(qrels, run, Path(folder)), options.repeats)


def _print_trec_dicts(qrels: Any, run: Any, repeats: int) -> None:
    from metric_workloads import TREC_MEASURES

    from fastrank.compat import pytrec_eval as ours

    evaluators = {"fastrank.compat.pytrec_eval": ours.RelevanceEvaluator}
    try:
        import pytrec_eval
    except ImportError:
        print("left out, because not installed: pytrec_eval")
    else:
        evaluators["pytrec_eval"] = pytrec_eval.RelevanceEvaluator
    ready = {name: make(qrels, set(TREC_MEASURES)) for name, make in evaluators.items()}
    values = [evaluator.evaluate(run) for evaluator in ready.values()]
    _assert_same_values(values[0], values[-1])

    def anew(make: Callable[..., Any]) -> Any:
        return make(qrels, set(TREC_MEASURES)).evaluate(run)

    whole = interleaved({name: partial(anew, make) for name, make in evaluators.items()}, repeats, cpu_seconds)
    only = {name: partial(evaluator.evaluate, run) for name, evaluator in ready.items()}
    again = interleaved(only, repeats, cpu_seconds)
    _print_ratios("dictionaries: constructor and evaluate", whole)
    _print_ratios("dictionaries: evaluate", again)


def _assert_same_values(ours: dict[str, dict[str, float]], theirs: dict[str, dict[str, float]]) -> None:
    assert ours.keys() == theirs.keys()
    for qid, values in theirs.items():
        assert ours[qid].keys() == values.keys(), qid
        assert all(abs(ours[qid][name] - value) < 1e-12 for name, value in values.items()), qid


def _print_trec_files(qrels: Path, run: Path, repeats: int) -> None:
    from metric_workloads import TREC_MEASURES

    import fastrank as fr

    def in_process() -> Any:
        return fr.evaluate(fr.load_qrels(qrels), fr.load_run(run), TREC_MEASURES, convention="trec_eval")

    def theirs() -> Any:
        import pytrec_eval

        with open(qrels) as judgements, open(run) as ranking:
            evaluator = pytrec_eval.RelevanceEvaluator(pytrec_eval.parse_qrel(judgements), set(TREC_MEASURES))
            return evaluator.evaluate(pytrec_eval.parse_run(ranking))

    def program(*command: str) -> str:
        measures = [part for name in TREC_MEASURES for part in ("-m", name)]
        command = (*command, *measures, "-q", str(qrels), str(run))
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    contenders: dict[str, Callable[[], Any]] = {
        "fastrank": in_process,
        "fastrank evaluate (process)": partial(program, sys.executable, "-P", "-m", "fastrank", "evaluate"),
    }
    found = in_process()
    try:
        expected = theirs()
    except ImportError:
        pass
    else:
        contenders["pytrec_eval"] = theirs
        for metric in found.metrics:
            name = metric.trec_name
            for qid, value in zip(found.qid.tolist(), found[metric].tolist(), strict=True):
                assert abs(expected[qid][name] - value) < 1e-12, (qid, name)
    if shutil.which("trec_eval"):
        contenders["trec_eval (process)"] = partial(program, "trec_eval")
        assert sorted(contenders["trec_eval (process)"]().splitlines()) == sorted(
            contenders["fastrank evaluate (process)"]().splitlines()
        )
    else:
        print("left out, because not on the PATH: trec_eval")
    _print_ratios(f"files, {run.stat().st_size / 1e6:.0f} MB", interleaved(contenders, repeats, cpu_seconds))


def _print_ratios(title: str, least: dict[str, float]) -> None:
    """CPU ms of each contender, and how many times that of the first, which is us."""
    print(title)
    for name, seconds in least.items():
        print(f"  {name:<30}{_milliseconds(seconds):>9}{seconds / next(iter(least.values())):9.1f}x")


def report_losses(options: argparse.Namespace) -> None:
    """Value and gradient in score space: ns per document by length of list, and how the time of a list grows."""
    import loss_peers
    import metric_workloads
    import numpy as np
    from loss_workloads import LENGTHS, LOSSES, ScoreSpace, equal_lists

    spaces = {"mslr-like": ScoreSpace(metric_workloads.mslr_like())}
    spaces |= {f"m = {length:,}": ScoreSpace(equal_lists(length)) for length in LENGTHS}
    if not loss_peers.HAS_TORCH:
        print("left out, because not installed: torch")
    cost: dict[str, dict[str, float]] = {}
    for column, space in spaces.items():
        scores, loop = space.lists.scores, loss_peers.NumpySlam(space.plan)
        contenders: dict[str, Callable[[], Any]] = {name: space.kernel(loss) for name, loss in LOSSES.items()}
        loss_peers.assert_same(loop(scores), contenders["Slam ndcg2017"]())
        contenders |= {f"{name}, call": partial(space.call, loss) for name, loss in LOSSES.items()}
        for name in LOSSES:
            assert all(map(np.array_equal, contenders[name](), contenders[f"{name}, call"]())), name
        contenders["numpy loop"] = partial(loop, scores)
        if loss_peers.HAS_TORCH and space.lists.width:
            for dtype, n_batch in (("float64", 1), ("float64", 10), ("float64", 1000), ("float32", 1000)):
                torch = loss_peers.torch_listnet(space.lists, dtype, n_batch)
                tolerance = 1e-9 if dtype == "float64" else 1e-4
                loss_peers.assert_same([torch()], [contenders["ListNet"]()[1]], tolerance)
                contenders[f"torch {dtype}, {n_batch:,} at once"] = torch
        least = interleaved(contenders, 3 * options.repeats, time.process_time, patience=0.1)
        for name, seconds in least.items():
            cost.setdefault(name, {})[column] = seconds / space.lists.n_docs * 1e9

    def row(title: str, cells: dict[str, str], *more: str) -> None:
        columns = "".join(f"{cells.get(column, ''):>12}" for column in spaces)
        print(f"{title:<36}{columns}{'  '.join(more)}".rstrip())

    print(f"value and gradient, ns per document, one thread, CPU; least of {3 * options.repeats}")
    row("", {column: column for column in spaces}, f"{'exponent':>10}", "target")
    for name, found in cost.items():
        per_list = [np.log(found[f"m = {length:,}"] * length) for length in LENGTHS]
        exponent = f"{np.polyfit(np.log(LENGTHS), per_list, 1)[0]:10.2f}"
        target = "at most 3" if name in ("Slam ndcg2017", "Slam ndcg@10") else ""
        row(name, {column: f"{found[column]:.2f}" for column in found}, exponent, target)
    for name in ("numpy loop", *(name for name in cost if name.startswith("torch"))):
        ours = "ListNet" if name.startswith("torch") else "Slam ndcg2017"
        ratios = {column: f"{ns / cost[ours][column]:.1f}x" for column, ns in cost[name].items()}
        target = {"numpy loop": "mslr-like at least 20", "torch float64, 1 at once": "m to 1,000 at least 5"}.get(
            name, ""
        )
        row(f"{name} / ours", ratios, " " * 10, target)


def report_objective(options: argparse.Namespace) -> None:
    """Value and gradient in w on an MSLR-like set, as multiples of one pass over X, and the memory they take."""
    import loss_peers
    import loss_workloads
    from loss_workloads import LOSSES

    task = loss_workloads.mslr_like()
    kernels: dict[str, Callable[[], Any]] = {"Xw, the floor": task.floor()}
    calls: dict[str, Callable[[], Any]] = {}
    threads = {("Xw, the floor", n_jobs): task.floor(n_jobs) for n_jobs in (1, 2)}
    for name, loss in LOSSES.items():
        kernels[name] = task.kernel(loss)
        calls[name] = partial(task.objective(loss).value_and_grad, task.w)
        for contender in (kernels[name], calls[name]):
            loss_peers.assert_same(contender(), task.in_two_passes(loss))
        threads |= {(name, n): partial(task.objective(loss, n).value_and_grad, task.w) for n in (1, 2)}
    loop = loss_peers.NumpySlam(task.dataset.plan)
    for dtype, tolerance in (("float64", 1e-9), ("float32", 1e-3)):
        peer = partial(loss_peers.numpy_objective, task.dataset, loop, task.w, dtype)
        loss_peers.assert_same(peer(), calls["Slam ndcg2017"](), tolerance)
        calls[f"numpy loop, {dtype}"] = peer
    targets = dict.fromkeys(("Slam ndcg2017", "Slam ndcg@10"), 2.0) | {"ListNet": 2.5, "RankSVM": 4.0}
    print(f"{task.dataset}")
    _print_multiples("value and gradient", kernels, calls, targets, options.repeats)
    wall = interleaved(threads, 3 * options.repeats)
    print("two threads, wall, at least 1.8: ", end="")
    print(", ".join(f"{name} {wall[name, 1] / wall[name, 2]:.2f}x" for name, n_jobs in threads if n_jobs == 2))
    print(f"load average {os.getloadavg()[0]:.1f}; with other work on the machine the line of two threads means little")
    print(
        f"MB that an evaluation allocates (adds to the resident {task.dataset.X.nbytes / 1e6:,.0f} MB of X): ", end=""
    )
    print(", ".join(f"{name} {_peak_megabytes(calls[name])}" for name in LOSSES))


def report_online(options: argparse.Namespace) -> None:
    """Epochs of the perceptrons on an MSLR-like set, as multiples of one pass over X."""
    import loss_peers
    import loss_workloads
    from loss_workloads import LOSSES, RATE, Epoch

    import fastrank as fr

    for task, target in ((loss_workloads.all_mistakes(), 2.0), (loss_workloads.few_mistakes(), 1.3)):
        kernels: dict[str, Callable[[], Any]] = {"Xw, the floor": task.floor()}
        calls: dict[str, Callable[[], Any]] = {}
        for name in ("Slam ndcg2017", "Slam ndcg@10", "MaxPair"):
            kernels[name] = Epoch(task, LOSSES[name])
            assert Epoch.mistakes(kernels[name]()) == task.n_mistakes, name
            learner = loss_workloads.perceptron(task, LOSSES[name])
            before = learner.history_.n_mistakes
            assert learner.partial_fit(task.dataset).history_.n_mistakes - before == task.n_mistakes, name
            calls[name] = partial(learner.partial_fit, task.dataset)
        peer = loss_peers.NumpyPerceptron(task.dataset, RATE)
        assert peer(task.w)[1] == task.n_mistakes
        calls["numpy loop"] = partial(peer, task.w)
        calls["OnlineRanker ListNet"] = partial(
            fr.OnlineRanker(LOSSES["ListNet"], learning_rate=RATE).partial_fit, task.dataset
        )
        targets = dict.fromkeys(("Slam ndcg2017", "Slam ndcg@10", "MaxPair"), target)
        title = f"{task.n_mistakes:,} mistakes in {task.dataset.n_queries:,} rounds"
        _print_multiples(title, kernels, calls, targets, options.repeats)


def _print_multiples(
    title: str,
    kernels: dict[str, Callable[[], Any]],
    calls: dict[str, Callable[[], Any]],
    targets: dict[str, float],
    repeats: int,
) -> None:
    """CPU ms of each kernel and each call, and how many times that of the first kernel, which is the floor."""
    contenders = {("kernel", name): task for name, task in kernels.items()}
    contenders |= {("call", name): task for name, task in calls.items()}
    least = interleaved(contenders, 3 * repeats, time.process_time, patience=1)
    floor = least["kernel", next(iter(kernels))]
    print(f"{title:<38}{'kernel ms':>10}{'x floor':>9}{'call ms':>10}{'x floor':>9}", end="")
    print(f"   one thread, CPU; least of {3 * repeats}")
    for name in dict.fromkeys((*kernels, *calls)):
        took = [least.get((kind, name)) for kind in ("kernel", "call")]
        cells = (f"{s * 1e3:10.1f}{s / floor:8.2f}x" if s is not None else f"{'':19}" for s in took)
        target = f"at most {targets[name]}" if name in targets else ""
        print(f"{name:<38}{''.join(cells)}   {target}".rstrip())


def _peak_megabytes(task: Callable[[], Any]) -> str:
    """How far a call raises what Python and NumPy have allocated, and the memory that is resident, kernels included."""
    import tracemalloc

    def resident(field: str) -> int:
        status = Path("/proc/self/status").read_text()
        return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith(field))

    Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
    before = resident("VmRSS")
    task()
    grown = resident("VmHWM") - before
    tracemalloc.start()
    task()
    allocated = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return f"{allocated / 1e6:.2f} ({grown / 1e6:.2f})"


def report_dispatch(options: argparse.Namespace) -> None:
    """Each dispatched kernel at each CPU level, on a block that fits the second-level cache."""
    import loss_workloads
    import metric_workloads
    import numpy as np

    from fastrank._core import _cpu

    levels = range(len(_cpu.supported_levels()))
    print(f"{'kernel':<30}" + "".join(f"{name:>12}" for name in _cpu.supported_levels()) + "   times the baseline")
    kernels: dict[str, Callable[[int], Any]] = {}
    for dtype in ("float32", "float64"):
        X = np.random.default_rng(3).normal(size=(1000, 136)).astype(dtype)
        kernels |= {f"{name} {dtype}": kernel for name, kernel in _column_kernels(X).items()}
    kernels |= metric_workloads.kernels() | loss_workloads.kernels()
    for name, kernel in kernels.items():
        results = [kernel(level).copy() for level in levels]
        assert all(np.array_equal(result, results[0]) for result in results), name
        contenders = {str(level): partial(_fifty_times, kernel, level) for level in levels}
        least = interleaved(contenders, options.repeats * 3, time.process_time)
        speeds = "".join(f"{least['0'] / least[str(level)]:12.2f}" for level in levels)
        print(f"{name:<30}{speeds}")


def _column_kernels(X: Any) -> dict[str, Callable[[int], Any]]:
    """The dispatched kernels on X, each as a function of the level that returns what it computed."""
    import numpy as np

    from fastrank._core import _columns

    n_rows, n_columns = X.shape
    out, statistics = np.zeros_like(X), np.zeros((_columns.N_STATISTICS, n_columns))
    zero, three = np.zeros(n_columns), np.full(n_columns, 3.0)
    qptr, work = np.arange(0, n_rows + 1, 100), np.empty((_columns.N_STATISTICS + 3, n_columns))

    def nonfinite(level: int) -> Any:
        return np.array(_columns.has_nonfinite(X, 0, n_rows, False, level))

    def column_statistics(level: int) -> Any:
        _columns.statistics_into(X, 0, n_rows, zero, level, statistics)
        return statistics

    def scale(level: int) -> Any:
        _columns.scale_into(X, 0, n_rows, zero, three, level, out)
        return out

    def scale_queries(level: int) -> Any:
        _columns.scale_queries_into(X, qptr, 0, len(qptr) - 1, 0, level, work, out)
        return out

    return {kernel.__name__: kernel for kernel in (nonfinite, column_statistics, scale, scale_queries)}


def _fifty_times(kernel: Callable[[int], Any], level: int) -> None:
    for _ in range(50):
        kernel(level)


def report_import(options: argparse.Namespace) -> None:
    """What `import fastrank` adds to `import numpy`."""

    def seconds(module: str) -> float:
        code = f"import time; t = time.perf_counter(); import {module}; print(time.perf_counter() - t)"
        return float(
            subprocess.run([sys.executable, "-P", "-c", code], check=True, capture_output=True, text=True).stdout
        )

    least = {"numpy": float("inf"), "numpy, fastrank": float("inf"), "numpy, fastrank.data": float("inf")}
    for _ in range(options.repeats * 2):
        for module in least:
            least[module] = min(least[module], seconds(module))
    for module, took in least.items():
        print(f"import {module:<22}{took * 1e3:7.1f} ms   +{(took - least['numpy']) * 1e3:6.1f} ms")


def main() -> None:
    reports = {
        "reading": report_reading,
        "grouping": report_grouping,
        "metrics": report_metrics,
        "metrics-ties": report_metrics_ties,
        "metrics-trec": report_metrics_trec,
        "losses": report_losses,
        "objective": report_objective,
        "online": report_online,
        "dispatch": report_dispatch,
        "import": report_import,
    }
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", choices=[*reports, []], help="which tables (default: all)")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--megabytes", type=int, default=800, help="size of the generated text file")
    kinds = ("mslr-like", "sparse", "long", "tiny")
    parser.add_argument("--workloads", nargs="*", choices=kinds, default=kinds, help="lists of metrics (default: all)")
    parser.add_argument("--seconds", type=float, default=0.25, help="time of a peer's measure; more queries are scaled")
    parser.add_argument("--install-peers", action="store_true", help="make an environment for jjfiv's fastrank")
    options = parser.parse_args()
    # Read when NumPy and others are imported, which is later. Threads that wait in a loop count as CPU time, and not
    # only that of the tool whose they are.
    os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"))
    sys.path.insert(0, str(Path(__file__).parent))
    for name in options.tables or reports:
        print(f"== {name}")
        reports[name](options)
        print()


if __name__ == "__main__":
    main()
