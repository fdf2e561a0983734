"""Run an experiment of the papers: print its table, write its figures as CSV and its curve as PNG."""

from __future__ import annotations

import argparse
from pathlib import Path

from fastrank._progress import Progress
from fastrank.experiments import EXPERIMENTS, experiment


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare a command for every experiment."""
    commands = parser.add_subparsers(title="experiments", metavar="NAME", dest="experiment", required=True)
    for name in EXPERIMENTS:
        module = experiment(name)
        summary = (module.__doc__ or "").strip().splitlines()[0]
        command = commands.add_parser(name, help=summary, description=summary)
        module.add_arguments(command)
        command.add_argument(
            "--output", type=Path, default=Path(), metavar="FOLDER", help="folder to write to (default: this one)"
        )


def run(arguments: argparse.Namespace) -> None:
    """Run it, with a progress bar on a terminal."""
    options = {name: value for name, value in vars(arguments).items() if name not in ("run", "experiment", "output")}
    folder = arguments.output
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(f"--output: expected a folder, got {folder}, which is a file")
    with Progress(arguments.experiment) as progress:
        result = experiment(arguments.experiment).run(**options, progress=progress)
    print(result.table())
    folder.mkdir(parents=True, exist_ok=True)
    print("\n".join(result.save(folder)))
