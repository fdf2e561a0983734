"""What every experiment returns: a table to read, columns to keep and, where there is a curve, its picture."""

from __future__ import annotations

import importlib
import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from fastrank.data._atomic import atomic_file, write_csv


class Result(ABC):
    """What an experiment found.

    Attributes
    ----------
    name : str
        The experiment, as `fastrank reproduce` calls it; its files are called so too.
    has_picture : bool
        Whether there is something to `plot`.
    """

    name: ClassVar[str]
    has_picture: ClassVar[bool] = False

    @abstractmethod
    def table(self) -> str:
        """Return what was found as text, a few lines long."""

    @abstractmethod
    def columns(self) -> Mapping[str, Sequence[Any]]:
        """Return all figures by column, columns of one length."""

    def draw(self, axes: Any) -> None:
        """Draw the curves onto matplotlib axes."""
        raise NotImplementedError(f"plot: expected an experiment with a curve, got {self.name}, which is a table")

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the columns as CSV: a line of names, then a line per entry, floats so that they read back exactly.

        Parameters
        ----------
        path : path
            Appears whole or not at all.
        """
        write_csv(path, self.columns())

    def plot(self, path: str | os.PathLike[str] | None = None) -> Any:
        """Draw the curves.

        Parameters
        ----------
        path : path, optional
            Also write the picture there, as PNG.

        Returns
        -------
        matplotlib.figure.Figure
            One that no window shows; notebooks do.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        try:
            matplotlib_figure = importlib.import_module("matplotlib.figure")
        except ImportError:
            raise ImportError(
                "plot: expected matplotlib to be installed; pip install 'fastrank-ltr[plot]', or use to_csv()"
            ) from None
        # A Figure without pyplot draws with Agg, and leaves no global state.
        figure = matplotlib_figure.Figure(figsize=(7.0, 4.5), layout="constrained")
        self.draw(figure.add_subplot())
        if path is not None:
            with atomic_file(path) as part:
                figure.savefig(part, format="png", dpi=150)
        return figure

    def save(self, folder: str | os.PathLike[str]) -> list[str]:
        """Write `name`.csv and, where there is a curve and matplotlib, `name`.png into a folder.

        Returns
        -------
        list of str
            A line for each file: what was written, or what to install for it.
        """
        table, picture = Path(folder, f"{self.name}.csv"), Path(folder, f"{self.name}.png")
        self.to_csv(table)
        said = [f"wrote {table}"]
        if self.has_picture:
            try:
                self.plot(picture)
                said.append(f"wrote {picture}")
            except ImportError:
                said.append(f"no {picture}: matplotlib is not installed; pip install 'fastrank-ltr[plot]'")
        return said
