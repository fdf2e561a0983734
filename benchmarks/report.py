"""Print speed and memory as ratios, each table from one run.

python benchmarks/report.py [reading] [grouping] [dispatch] [import]

Contenders are interleaved and the least of several runs counts, because machines are noisy. Whatever is timed has been
checked for equality first. Reading is measured in a fresh process each time: CPU seconds and wall seconds around the
call, and how far it raised the peak of resident memory.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
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


def interleaved(contenders: dict[str, Callable[[], Any]], repeats: int) -> dict[str, float]:
    """The least wall seconds of each contender, taking turns."""
    least = dict.fromkeys(contenders, float("inf"))
    for _ in range(repeats):
        for name, task in contenders.items():
            started = time.perf_counter()
            task()
            least[name] = min(least[name], time.perf_counter() - started)
    return least


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


def report_dispatch(options: argparse.Namespace) -> None:
    """Each dispatched kernel at each CPU level, on a block that fits the second-level cache."""
    import numpy as np

    from fastrank._core import _cpu

    levels = range(len(_cpu.supported_levels()))
    print(f"{'kernel':<30}" + "".join(f"{name:>12}" for name in _cpu.supported_levels()) + "   times the baseline")
    for dtype in ("float32", "float64"):
        X = np.random.default_rng(3).normal(size=(1000, 136)).astype(dtype)
        for name, kernel in _column_kernels(X).items():
            results = [kernel(level).copy() for level in levels]
            assert all(np.array_equal(result, results[0]) for result in results), name
            contenders = {str(level): partial(_fifty_times, kernel, level) for level in levels}
            least = interleaved(contenders, options.repeats * 3)
            speeds = "".join(f"{least['0'] / least[str(level)]:12.2f}" for level in levels)
            print(f"{name + ' ' + dtype:<30}{speeds}")


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
        "dispatch": report_dispatch,
        "import": report_import,
    }
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", choices=[*reports, []], help="which tables (default: all)")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--megabytes", type=int, default=800, help="size of the generated text file")
    parser.add_argument("--install-peers", action="store_true", help="make an environment for jjfiv's fastrank")
    options = parser.parse_args()
    sys.path.insert(0, str(Path(__file__).parent))
    for name in options.tables or reports:
        print(f"== {name}")
        reports[name](options)
        print()


if __name__ == "__main__":
    main()
