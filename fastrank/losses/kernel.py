"""KernelLoss: a compiled loss of one's own."""

from __future__ import annotations

from dataclasses import dataclass

from fastrank._core._loss import Loss
from fastrank.data.plan import QueryPlan
from fastrank.losses._base import ScoreLoss
from fastrank.losses._inputs import Weights


@dataclass(frozen=True, repr=False)
class KernelLoss(ScoreLoss):
    """A loss from its kernel, which may be compiled in another project.

    Parameters
    ----------
    core : fastrank._core._loss.Loss
        An object of a Cython class that cimports `Loss` from `fastrank._core._loss` and implements `evaluate`: scores
        and grades of one query in, the loss out, its derivatives written.

    Notes
    -----
    Equal where it is the same object; pickles if the object does. It has no row weights: what depends on rows is the
    kernel's own affair. Where a kernel needs the grades of a data set, subclass `ScoreLoss` and make it in `kernel`.

    Examples
    --------
    >>> from fastrank._core._losses import MaxPairLoss
    >>> KernelLoss(MaxPairLoss(None, 1.0)).value([0.5, 2.0, 1.0], [2, 0, 1]).tolist()
    [2.5]
    """

    core: Loss

    def __post_init__(self) -> None:
        if not isinstance(self.core, Loss):
            raise TypeError(
                "core: expected an object of a class that extends fastrank._core._loss.Loss, got "
                f"{self.core!r} of type {type(self.core).__name__}"
            )

    @property
    def formula(self) -> str:
        """The first line of the kernel's documentation."""
        return (type(self.core).__doc__ or "a kernel without documentation").strip().splitlines()[0]

    def kernel(self, plan: QueryPlan, sample_weight: Weights = None) -> Loss:
        """Return the kernel."""
        if sample_weight is not None:
            raise ValueError(
                "sample_weight: expected None with a KernelLoss, whose kernel knows no row weights, got weights; "
                "weigh queries, or subclass ScoreLoss"
            )
        return self.core

    def _arguments(self) -> str:
        return type(self.core).__name__
