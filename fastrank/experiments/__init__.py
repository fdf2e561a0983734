"""The papers' experiments, one module each: what it shows in its first line, `add_arguments(parser)` and `run(...)`.

The options that `add_arguments` declares are the arguments of `run`, under the same names; `run` returns a `Result`.
A new experiment is one file here and its name in `EXPERIMENTS`; `fastrank reproduce NAME` then runs it.
"""

from __future__ import annotations

import importlib
from types import ModuleType

from fastrank._validation import check_choice
from fastrank.experiments._result import Result

__all__ = ["EXPERIMENTS", "Result", "experiment"]

EXPERIMENTS = ("perceptron-simulation", "minimax", "online-letor")
"""Names of the experiments, as `fastrank reproduce` takes them."""


def experiment(name: str) -> ModuleType:
    """Return the module of an experiment.

    Parameters
    ----------
    name : str
        One of `EXPERIMENTS`.

    Returns
    -------
    module
        With `run(...) -> Result` and `add_arguments(parser)`.

    Examples
    --------
    >>> experiment("minimax").__name__
    'fastrank.experiments.minimax'
    """
    check_choice(name, EXPERIMENTS, name="name")
    return importlib.import_module(f"fastrank.experiments.{name.replace('-', '_')}")
