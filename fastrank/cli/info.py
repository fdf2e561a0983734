"""Print version, compiler, CPU path, threads and extras."""

from __future__ import annotations

import argparse
import platform
import re
from importlib.metadata import PackageNotFoundError, requires, version

from fastrank._core import _cpu
from fastrank._threads import available_cpus
from fastrank._version import __version__


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Take no arguments."""


def run(arguments: argparse.Namespace) -> None:
    """Print one fact a line."""
    for name, value in facts().items():
        print(f"{name:<12}{value}")


def facts() -> dict[str, str]:
    """Return what a bug report should say about this installation."""
    levels = _cpu.supported_levels()
    found = {
        "fastrank": __version__,
        "python": f"{platform.python_version()} ({platform.system()} {platform.machine()})",
        "numpy": _installed("numpy") or "missing",
        "scipy": _installed("scipy") or "missing",
        "compiler": _cpu.COMPILER,
        "cpu path": f"{_cpu.LEVELS[_cpu.LEVEL]} (can run {', '.join(levels)}; FASTRANK_CPU forces one)",
        "threads": f"{available_cpus()} for n_jobs=-1, 1 by default",
    }
    for extra, packages in _extras().items():
        states = [f"{package} {_installed(package) or 'not installed'}" for package in packages]
        found[f"[{extra}]"] = ", ".join(states)
    return found


def _installed(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _extras() -> dict[str, list[str]]:
    """Packages by extra, as the metadata of this installation lists them."""
    try:
        requirements = requires("fastrank-ltr") or []
    except PackageNotFoundError:
        return {}
    extras: dict[str, list[str]] = {}
    for requirement in requirements:
        matched = re.match(r"([A-Za-z0-9._-]+).*extra\s*==\s*['\"](.+?)['\"]", requirement)
        if matched:
            extras.setdefault(matched[2], []).append(matched[1])
    return extras
