"""The command line: one module per command, each with `add_arguments(parser)` and `run(arguments)`."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence

from fastrank._version import __version__

_COMMANDS = ("info", "demo", "convert", "evaluate", "reproduce")


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    parser = argparse.ArgumentParser(prog="fastrank", description="Fast, exactly defined ranking.")
    parser.add_argument("--version", action="version", version=f"fastrank {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name in _COMMANDS:
        module = importlib.import_module(f"fastrank.cli.{name}")
        summary = (module.__doc__ or "").strip().splitlines()[0]
        command = commands.add_parser(name, help=summary, description=summary)
        module.add_arguments(command)
        command.set_defaults(run=module.run)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; 0 when it did what was asked, 2 for wrong usage or input, 130 when interrupted."""
    try:
        # The commands are imported here: what a wrong FASTRANK_CPU makes of that is a sentence too.
        parsed = build_parser().parse_args(arguments)
        parsed.run(parsed)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader of our output has left; it must not hear of it again when Python closes the stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (ValueError, TypeError, OSError, MemoryError) as error:
        print(f"fastrank: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("fastrank: interrupted; nothing was left half written", file=sys.stderr)
        return 130
    return 0
