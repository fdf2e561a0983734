"""Convert between LETOR / SVMlight text and the binary cache.

A folder that `RankingDataset.save` wrote becomes text, a text file becomes such a folder.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from fastrank._progress import Progress
from fastrank.data import cache
from fastrank.data.dataset import RankingDataset
from fastrank.data.letor import load_letor, save_letor


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare source, destination and how to read and write."""
    parser.add_argument("source", type=Path, help="text file (plain or gzip), or folder of a binary cache")
    parser.add_argument("destination", type=Path, help="folder for the cache, or text file (gzip if it ends in .gz)")
    parser.add_argument("--overwrite", action="store_true", help="replace the destination if it exists")
    parser.add_argument("--jobs", type=int, default=-1, metavar="N", help="threads (default: -1, all CPUs)")
    parser.add_argument("--quiet", action="store_true", help="no progress bar, no summary")
    reading = parser.add_argument_group("reading text")
    reading.add_argument("--sparse", action="store_true", help="read into CSR")
    reading.add_argument("--float64", action="store_true", help="keep values as float64 (default: float32)")
    reading.add_argument("--features", type=int, metavar="N", help="number of features (default: the largest index)")
    reading.add_argument("--missing", default="error", metavar="VALUE", help="error, nan, or the number for NULL")
    reading.add_argument("--group", type=Path, metavar="FILE", help="side file of list lengths, for lines without qid")
    writing = parser.add_argument_group("writing text")
    writing.add_argument("--decimals", type=int, metavar="N", help="decimals of each value (default: exact)")
    parser.add_argument("--index-base", type=int, choices=(0, 1), default=1, help="index of the first feature in text")


def run(arguments: argparse.Namespace) -> None:
    """Convert, with a progress bar on a terminal."""
    source, destination = arguments.source, arguments.destination
    if destination.resolve() == source.resolve():
        raise ValueError(f"expected a destination other than the source, got {source} for both")
    if not destination.parent.is_dir():
        raise FileNotFoundError(
            f"expected a folder to write to, got {destination.parent}, which is none; make it first"
        )
    if destination.exists() and not arguments.overwrite:
        raise FileExistsError(f"expected a new destination, got {destination}, which exists; pass --overwrite")
    if not source.exists():
        raise FileNotFoundError(f"expected a text file or the folder of a binary cache, got {source}: nothing there")
    enabled = False if arguments.quiet else None
    if source.is_dir():
        dataset = RankingDataset.load(source, verify=True)
        bar = Progress(f"writing {destination.name}", enabled=enabled)
        save_letor(dataset, destination, index_base=arguments.index_base, decimals=arguments.decimals, progress=bar)
    else:
        dataset = load_letor(
            source,
            n_features=arguments.features,
            dtype="float64" if arguments.float64 else "float32",
            sparse=arguments.sparse,
            index_base=arguments.index_base,
            missing=_missing(arguments.missing),
            group=arguments.group,
            n_jobs=arguments.jobs,
            progress=Progress(f"reading {source.name}", enabled=enabled),
        )
        with Progress(f"writing {destination.name}", enabled=enabled) as bar:
            cache.save(dataset, destination, overwrite=arguments.overwrite, progress=bar)
    if not arguments.quiet:
        print(f"{destination}: {dataset!r}")


def _missing(text: str) -> str | float:
    if text in ("error", "nan"):
        return text
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"--missing: expected error, nan or a number, got {text!r}") from None
