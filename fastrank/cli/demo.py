"""Make two data sets, write one as text, and show how fast it is read.

Everything happens in a temporary folder that is gone afterwards.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

import numpy as np

from fastrank._progress import Progress
from fastrank._threads import available_cpus
from fastrank._validation import check_count
from fastrank.data import RankingDataset, SeparableStream, load_letor, make_mslr_like, save_letor

T = TypeVar("T")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare size and seed."""
    parser.add_argument("--queries", type=int, default=200, metavar="N", help="queries of each data set (default: 200)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the generators (default: 0)")


def run(arguments: argparse.Namespace) -> None:
    """Print what is made and what it costs."""
    check_count(arguments.queries, name="--queries")
    check_count(arguments.seed, name="--seed", least=0)
    stream = SeparableStream(random_state=arguments.seed)
    queries = list(islice(stream, arguments.queries))
    X, y = np.concatenate([query.X for query in queries]), np.concatenate([query.y for query in queries])
    separable = RankingDataset(X, y, group=[len(query.y) for query in queries])
    print(f"separable stream   {separable!r}")
    print(f"                   one direction ranks every query perfectly, by a margin of {stream.margin:g}")
    mslr_like = make_mslr_like(arguments.queries, random_state=arguments.seed)
    print(f"MSLR-like          {mslr_like!r}")

    with TemporaryDirectory() as folder:
        text, binary = Path(folder, "train.txt"), Path(folder, "train")
        save_letor(mslr_like, text, progress=Progress("writing train.txt"))
        megabytes = text.stat().st_size / 1e6
        print(f"as LETOR text      {megabytes:.1f} MB")
        for n_jobs in sorted({1, available_cpus()}):
            loaded, seconds = _fastest(lambda n_jobs=n_jobs: load_letor(text, n_jobs=n_jobs))  # type: ignore[misc]
            same = "equal to what was written" if _same_features(loaded, mslr_like) else "DIFFERENT"
            threads = "1 thread " if n_jobs == 1 else f"{n_jobs} threads"
            print(f"  read, {threads}  {seconds * 1e3:8.1f} ms   {megabytes / seconds:6.0f} MB/s   {same}")
        loaded.save(binary)
        mapped, seconds = _fastest(lambda: RankingDataset.load(binary))
        same = "equal" if _same_features(mapped, mslr_like) else "DIFFERENT"
        print(f"  binary cache    {seconds * 1e3:8.1f} ms   memory-mapped, {same}")


def _same_features(one: RankingDataset, two: RankingDataset) -> bool:
    return np.array_equal(np.asarray(one.X), np.asarray(two.X))


def _fastest(task: Callable[[], T], repeats: int = 3) -> tuple[T, float]:
    """The result and the least time of a few runs."""
    best = float("inf")
    for _ in range(repeats):
        started = time.perf_counter()
        result = task()
        best = min(best, time.perf_counter() - started)
    return result, best
