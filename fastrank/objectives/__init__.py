"""The objectives room: X enters here."""

from fastrank.objectives.linear import LinearObjective

__all__ = ["LinearObjective"]
