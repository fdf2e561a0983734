"""The certificate of an online run: what it lost, next to what theory says it could lose at most."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from scipy.optimize import minimize_scalar

from fastrank._validation import check_choice, check_count, check_real, plural
from fastrank.bounds import perceptron

__all__ = ["Bound", "Certificate", "Comparator", "certify_rounds"]

Kind = Literal["slam", "max_pair", "classification", "regret"]

_ROUNDING = 1e-9
"""Sums of many rounds are compared up to this part of them."""

_SCALES = 1e-6
"""The search for a scale ends this far below the largest one that could help."""

_LARGEST = 1e100
"""Longer vectors are of no use."""

_BETTER = 0.99
"""A comparator that is worth its name has a regret bound below this part of the zero vector's."""


@dataclass(frozen=True)
class Comparator:
    """A vector u that a run may be compared with, at any scale c > 0.

    Parameters
    ----------
    name : str
        How it was found, such as "final weights".
    norm : float
        ||u||.
    surrogate_sums : callable
        Maps a scale c >= 0 to two sums of the surrogate of c u: over all rounds, and over the rounds in which the
        learner took a step (the mistake rounds of a perceptron). A query that was shown twice counts twice.
    margin : float, optional
        The margin of u / ||u||, above 0, where it separates every round (`margin_of`). The scale is then
        hinge / (margin ||u||), at which both sums are 0 without a call.
    scale : float, optional
        The only scale to try: 1 takes u as it is. Without it and without a margin the best scale is searched.
    """

    name: str
    norm: float
    surrogate_sums: Callable[[float], tuple[float, float]]
    margin: float | None = None
    scale: float | None = None


@dataclass(frozen=True)
class Bound:
    """One guarantee.

    Attributes
    ----------
    name : str
        What it is in a few words.
    source : str
        The theorem.
    value : float
        The cumulative loss is at most this; inf where there is no such number.
    paper_value : float or None
        The same formula with the constant of the papers; None where no constant enters.
    applies : bool
        Whether the theorem's conditions hold for this run.
    reason : str
        If not, what it needs; else empty.
    vacuous : bool
        Whether it says nothing: no less than the rounds can lose, or, for the regret of the run, no less than what the
        zero vector gives, which loses at every mistake.
    comparator : str
        The vector u that makes it least.
    norm : float
        ||u||.
    surrogate : float
        F, what u loses in the surrogate: over all rounds, and for the regret of the run over those with a step.
    """

    name: str
    source: str
    value: float
    paper_value: float | None
    applies: bool
    reason: str
    vacuous: bool
    comparator: str
    norm: float
    surrogate: float


@dataclass(frozen=True)
class Certificate:
    """What an online learner lost, and the theorems that say it could not lose more.

    Attributes
    ----------
    kind : {"slam", "max_pair", "classification", "regret"}
        Which surrogate was learnt from, and so which theorems apply.
    metric : str
        The measure. Equal scores count in the worst order.
    n_rounds, n_mistakes, n_updates : int
        Queries shown, those not ranked perfectly, those that moved w.
    observed_loss : float
        Sum of 1 - metric over the rounds.
    surrogate_sum, square_sum : float
        Sums of f_t(w_t) and of ||z_t||^2.
    rate : float or None
        The learning rate; None where it varied.
    radius : float
        R_X, the largest norm of a document.
    constant, paper_constant : float or None
        A of self-bounding, ||z_t||^2 <= A f_t(w_t), and the papers' larger one; None for kind "regret".
    bound_scale : float or None
        1 - metric <= bound_scale * surrogate; None where the surrogate bounds no measure: then the guarantees are about
        the surrogate.
    ball : float
        The radius of the ball that w was kept in; inf without one.
    comparator : str
        The vector u for which the regret of the run is guaranteed to be least, by where it came from.
    comparator_norm, comparator_surrogate, comparator_surrogate_steps : float
        Its norm, and its surrogate over all rounds and over the rounds with a step.
    margin : float or None
        The margin of the separating direction, if one is known.
    worst_loss : float
        What is certain without any theorem: no ranker loses more in these rounds.
    bounds : tuple of Bound
        The guarantees. First the regret of this run (a posteriori): it uses the run's own gradients, and what the
        comparator loses in the rounds with a step. Then those of the theorems (a priori): they use the constant A, and
        what the comparator loses in all rounds, so that they are known before the run.

    Notes
    -----
    `print(certificate)` gives a table.
    """

    kind: Kind
    metric: str
    n_rounds: int
    n_mistakes: int
    n_updates: int
    observed_loss: float
    surrogate_sum: float
    square_sum: float
    rate: float | None
    radius: float
    constant: float | None
    paper_constant: float | None
    bound_scale: float | None
    ball: float
    comparator: str
    comparator_norm: float
    comparator_surrogate: float
    comparator_surrogate_steps: float
    margin: float | None
    worst_loss: float
    bounds: tuple[Bound, ...]

    @property
    def mean_loss(self) -> float:
        """The loss of an average round."""
        return self.observed_loss / self.n_rounds if self.n_rounds else 0.0

    @property
    def observed(self) -> float:
        """What the bounds are about: the measure's loss, or the surrogate's where that bounds no measure."""
        return self.surrogate_sum if self.bound_scale is None else self.observed_loss

    @property
    def holds(self) -> bool:
        """Whether what was observed is within every bound that applies; else a theorem is false, or there is a bug."""
        return all(self._within(bound) for bound in self.bounds if bound.applies)

    def _within(self, bound: Bound) -> bool:
        return self.observed <= bound.value * (1.0 + _ROUNDING) + _ROUNDING

    @property
    def tightest(self) -> Bound | None:
        """The smallest bound that applies, of those that say something if any does; None where none applies."""
        return min(
            (bound for bound in self.bounds if bound.applies),
            key=lambda bound: (bound.vacuous, bound.value),
            default=None,
        )

    @property
    def guaranteed(self) -> float:
        """The value of the tightest bound; inf where none applies."""
        return math.inf if self.tightest is None else self.tightest.value

    @property
    def vacuous(self) -> bool:
        """Whether no bound says more than what is certain anyway."""
        return self.tightest is None or self.tightest.vacuous

    def __str__(self) -> str:
        return "\n".join([self._headline(), "", *self._table(), "", *self._facts()])

    def _headline(self) -> str:
        rounds, mistakes = plural(self.n_rounds, "round"), plural(self.n_mistakes, "mistake")
        if self.kind == "classification":
            lost = f"{mistakes} in {rounds}"
        elif self.bound_scale is None:
            lost = (
                f"Lost {_number(self.observed_loss)} of {self.n_rounds:,} {self.metric.upper()} points; the surrogate, "
                f"which bounds no measure, lost {_number(self.surrogate_sum)}"
            )
        else:
            lost = f"Lost {_number(self.observed_loss)} of {self.n_rounds:,} {self.metric.upper()} points"
            lost += f" ({_number(self.mean_loss)} a round, {mistakes})"
        if self.tightest is None:
            return f"{lost}; no guarantee applies."
        guarantee = f"{lost}; guaranteed at most {_number(self.guaranteed)}"
        if not self.holds:
            return f"{guarantee}. The guarantee is BROKEN, which must not happen."
        if not self.vacuous:
            return f"{guarantee}."
        if self.guaranteed >= _BETTER * self.worst_loss:
            return f"{guarantee}, which says nothing: these rounds cannot lose more than {_number(self.worst_loss)}."
        return f"{guarantee}, which says nothing: the zero vector gives as much."

    def _verdict(self, bound: Bound) -> str:
        if not bound.applies:
            return "does not apply"
        if not self._within(bound):
            return "BROKEN"
        return "says nothing" if bound.vacuous else "holds"

    def _table(self) -> list[str]:
        rows = [("guarantee", "theorem", "at most", "paper's constant", "", "compared with")]
        for bound in self.bounds:
            name = f"{bound.comparator}: norm {_number(bound.norm)}, loses {_number(bound.surrogate)}"
            rows.append(
                (
                    bound.name,
                    bound.source,
                    _number(bound.value),
                    "" if bound.paper_value is None else _number(bound.paper_value),
                    self._verdict(bound),
                    name if bound.comparator else "",
                )
            )
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = []
        for row in rows:
            cells = [
                cell.rjust(width) if column in (2, 3) else cell.ljust(width)
                for column, (cell, width) in enumerate(zip(row, widths, strict=True))
            ]
            lines.append("  ".join(cells).rstrip())
        missing = [f"{bound.name}: {bound.reason}" for bound in self.bounds if not bound.applies]
        return [*lines, *([""] if missing else []), *missing]

    def _facts(self) -> list[str]:
        rate = "varied" if self.rate is None else f"{self.rate:.6g}"
        facts = [f"largest norm of a document R = {_number(self.radius)}", f"learning rate {rate}"]
        if self.constant is not None:
            facts.insert(1, f"constant A = {_number(self.constant)}")
        if self.margin is not None:
            facts.append(f"margin of the separating direction {_number(self.margin)}")
        if self.ball < math.inf:
            facts.append(f"w kept in a ball of radius {_number(self.ball)}")
        sums = (
            f"surrogate of the learner {_number(self.surrogate_sum)}; squared gradients {_number(self.square_sum)}; "
            f"{plural(self.n_updates, 'update')}"
        )
        return ["; ".join(facts), sums, "theorems: Chaudhuri and Tewari, 2014 and 2017, with their errors mended"]


def certify_rounds(
    *,
    kind: Kind,
    metric_name: str,
    n_rounds: int,
    n_mistakes: int,
    n_updates: int,
    observed_loss: float,
    surrogate_sum: float,
    square_sum: float,
    rate: float | None,
    radius: float,
    constant: float | None,
    paper_constant: float | None,
    bound_scale: float | None,
    candidates: Sequence[Comparator],
    ball: float = math.inf,
    last_rate: float | None = None,
    rate_square_sum: float | None = None,
) -> Certificate:
    """Put the sums that an online run collected next to the bounds on them.

    Parameters
    ----------
    kind : {"slam", "max_pair", "classification", "regret"}
        The surrogate of a perceptron that steps on mistake rounds only, or "regret" for gradient steps on any convex
        loss, for which there is only the regret of the run.
    metric_name : str
        The measure, as printed.
    n_rounds, n_mistakes, n_updates : int
        Queries shown, those with a loss, those that moved w.
    observed_loss : float
        Sum of 1 - metric over the rounds, ties in the worst order.
    surrogate_sum, square_sum : float
        Sums of f_t(w_t) and ||z_t||^2 over the rounds with a step, as `_core._online.run_rounds` collects them.
    rate : float or None
        The learning rate; None if it varied.
    radius : float
        R_X, the largest norm of a document shown.
    constant, paper_constant : float or None
        A at the hinge margin of the surrogate, from `bounds.perceptron`; None for kind "regret".
    bound_scale : float or None
        1 - metric <= bound_scale * surrogate: 1 / hinge margin. None, for kind "regret" only: the surrogate bounds no
        measure.
    candidates : sequence of Comparator
        At least one. Every bound takes the best of them, and of the zero vector.
    ball : float, default=inf
        The radius of the ball that w was projected onto; comparators outside of it are not used.
    last_rate, rate_square_sum : float, optional
        For rates that varied without ever rising, in a ball: the last rate and the sum of rate_t ||z_t||^2.

    Returns
    -------
    Certificate

    Raises
    ------
    ValueError, TypeError
        For numbers out of range and for sums without a candidate.

    Notes
    -----
    The run started at w = 0. A candidate without a scale costs about 40 calls of its `surrogate_sums`, which had better
    compute the scores of u once: one search finds the scale at which the regret of the run is least, another the same
    for the theorem, and every bound takes the best of all scales tried. The bounds are convex functions of the scale,
    and the searches depend on nothing but their values.

    The perceptrons of kind "max_pair" and "classification" have the same mistakes at every rate, so without a ball
    their bounds at the best rate apply whatever the rate was. SLAM's do not, and the certificate says which rate they
    need.

    Examples
    --------
    A max-pair perceptron that made 4 mistakes in 500 rounds, which a direction separates with margin 0.5:

    >>> u = Comparator("separating direction", 1.0, lambda c: (500 * max(0.0, 1.0 - c / 2), 4 * max(0.0, 1.0 - c / 2)),
    ...                margin=0.5)
    >>> certificate = certify_rounds(
    ...     kind="max_pair", metric_name="ndcg@10", n_rounds=500, n_mistakes=4, n_updates=4, observed_loss=1.25,
    ...     surrogate_sum=4.5, square_sum=9.0, rate=1.0, radius=1.0, constant=4.0, paper_constant=4.0, bound_scale=1.0,
    ...     candidates=[u],
    ... )
    >>> print(str(certificate).splitlines()[0])
    Lost 1.25 of 500 NDCG@10 points (0.0025 a round, 4 mistakes); guaranteed at most 16.
    >>> certificate.holds, certificate.tightest.source
    (True, '2017, Theorem 10')
    """
    n_rounds = check_count(n_rounds, name="n_rounds", least=0)
    hinge_needed = check_choice(kind, ("slam", "max_pair", "classification", "regret"), name="kind") != "regret"
    run = _Run(
        kind=kind,
        at_cutoff="@" in metric_name,
        surrogate_sum=check_real(surrogate_sum, name="surrogate_sum", zero=True),
        square_sum=check_real(square_sum, name="square_sum", zero=True),
        rate=_optional(rate, "rate"),
        constant=check_real(constant, name="constant", zero=True) if hinge_needed else 0.0,
        paper_constant=check_real(paper_constant, name="paper_constant", zero=True) if hinge_needed else 0.0,
        hinge=1.0 / check_real(bound_scale, name="bound_scale", zero=False)
        if hinge_needed or bound_scale is not None
        else None,
        ball=math.inf if ball == math.inf else check_real(ball, name="ball", zero=False),
        last_rate=_optional(last_rate, "last_rate"),
        rate_square_sum=_optional(rate_square_sum, "rate_square_sum", zero=True),
    )
    if not candidates:
        raise ValueError("candidates: expected at least one vector to compare the run with, got none")
    zero = _Point.of("the zero vector", 0.0, candidates[0].surrogate_sums(0.0))
    tried = [point for candidate in candidates for point in _try(run, candidate, zero)]
    best = min([zero, *tried], key=run.regret)
    # the zero vector ties all documents, and the surrogate of a tie bounds the loss of the worst order
    worst_loss = math.inf if run.hinge is None else min(n_rounds, zero.all_rounds / run.hinge)
    return Certificate(
        kind=kind,
        metric=metric_name,
        n_rounds=n_rounds,
        n_mistakes=check_count(n_mistakes, name="n_mistakes", least=0),
        n_updates=check_count(n_updates, name="n_updates", least=0),
        observed_loss=check_real(observed_loss, name="observed_loss", zero=True),
        surrogate_sum=run.surrogate_sum,
        square_sum=run.square_sum,
        rate=run.rate,
        radius=check_real(radius, name="radius", zero=True),
        constant=run.constant if hinge_needed else None,
        paper_constant=run.paper_constant if hinge_needed else None,
        bound_scale=bound_scale,
        ball=run.ball,
        comparator=best.name,
        comparator_norm=best.norm,
        comparator_surrogate=best.all_rounds,
        comparator_surrogate_steps=best.step_rounds,
        margin=max((point.margin for point in tried if point.margin), default=None),
        worst_loss=worst_loss,
        bounds=tuple(_bounds(run, zero, tried, worst_loss)),
    )


class _Point(NamedTuple):
    """A comparator at one scale: its norm, its surrogate over all rounds and over those with a step, its margin."""

    name: str
    norm: float
    all_rounds: float
    step_rounds: float
    margin: float | None = None

    @staticmethod
    def of(name: str, norm: float, sums: tuple[float, float]) -> _Point:
        return _Point(name, norm, *(check_real(value, name=f"surrogate_sums of {name}", zero=True) for value in sums))


@dataclass(frozen=True)
class _Run:
    """The sums of a run that enter the bounds."""

    kind: Kind
    at_cutoff: bool
    surrogate_sum: float
    square_sum: float
    rate: float | None
    constant: float
    paper_constant: float
    hinge: float | None
    ball: float
    last_rate: float | None
    rate_square_sum: float | None

    @property
    def any_rate(self) -> bool:
        """Whether the run would have been the same at every rate."""
        return self.kind in ("max_pair", "classification") and self.rate is not None and self.ball == math.inf

    def regret(self, point: _Point) -> float:
        """Bound the surrogate by the regret of this very run; inf where no theorem does."""
        if self.any_rate:
            return perceptron.any_rate_bound(point.step_rounds, point.norm, self.square_sum)
        if self.rate is not None:
            return perceptron.a_posteriori_bound(point.step_rounds, point.norm, self.rate, self.square_sum)
        if self.ball < math.inf and self.last_rate is not None and self.rate_square_sum is not None:
            distance = self.ball + point.norm
            return perceptron.regret_bound(point.step_rounds, distance, self.last_rate, self.rate_square_sum)
        return math.inf

    def theorem(self, point: _Point) -> float:
        """Bound the surrogate by what is known before the run, at the rate used where a theorem allows it."""
        if self.kind == "regret":
            return math.inf
        if not self.any_rate and self.rate is not None and self.rate * self.constant < 2.0:
            return perceptron.fixed_rate_bound(point.all_rounds, point.norm, self.constant, self.rate)
        return perceptron.best_rate_bound(point.all_rounds, point.norm, self.constant)

    def reach(self, bound: Callable[[_Point], float], zero: _Point) -> float:
        """Return a norm beyond which no comparator can beat the zero vector; 0 where the norm decides nothing."""
        worst = bound(zero)
        free = zero._replace(all_rounds=0.0, step_rounds=0.0)
        if worst == math.inf or bound(free) >= worst or bound(free._replace(norm=_LARGEST)) < worst:
            return 0.0
        # bounds grow at least like the norm: up to where even a comparator that loses nothing is no better
        norm = 1.0
        while bound(free._replace(norm=norm)) > worst:
            norm *= 0.5
        while bound(free._replace(norm=norm)) < worst:
            norm *= 2.0
        return min(norm, self.ball)


def _optional(value: float | None, name: str, *, zero: bool = False) -> float | None:
    return None if value is None else check_real(value, name=name, zero=zero)


def _try(run: _Run, candidate: Comparator, zero: _Point) -> list[_Point]:
    """Return the comparator at the scales that are worth trying."""
    norm = check_real(candidate.norm, name=f"norm of {candidate.name}", zero=True)
    found: list[_Point] = []

    def at(scale: float) -> _Point:
        found.append(_Point.of(candidate.name, scale * norm, candidate.surrogate_sums(scale)))
        return found[-1]

    if candidate.margin is not None and run.hinge is not None:
        if not candidate.margin > 0.0:
            raise ValueError(
                f"margin of {candidate.name}: expected a margin above 0 or None, got {candidate.margin!r}; pass None "
                "for a vector that does not separate the rounds"
            )
        found.append(_Point(candidate.name, run.hinge / candidate.margin, 0.0, 0.0, candidate.margin))
    if candidate.scale is not None:
        at(check_real(candidate.scale, name=f"scale of {candidate.name}", zero=True))
    elif norm > 0.0:
        for bound in (run.regret, run.theorem):
            reach = run.reach(bound, zero)
            if reach > 0.0:
                top = math.log(reach / norm)
                minimize_scalar(
                    lambda log_scale, bound=bound: bound(at(math.exp(log_scale))),
                    bounds=(top + math.log(_SCALES), top),
                    method="bounded",
                    options={"xatol": 0.02, "maxiter": 30},
                )
    if not found:
        at(1.0)
    return [point for point in found if point.norm <= min(run.ball * (1.0 + _ROUNDING), _LARGEST)]


_THEOREMS = {
    "slam": ("2017, Theorem 6", "2014, Theorem 5", "2017, Corollary 7"),
    "slam at k": ("2017, Theorem 8", "2014, Corollary 7", "2017, Eq. 23"),
    "max_pair": ("2017, Theorem 10", "", "2017, Corollary 11"),
    "classification": ("2017, Theorem 1", "", "2017, Corollary 2"),
}
"""By surrogate: the bound at the best rate, the one at rate 1 / A, the one for separable rounds."""


def _bounds(run: _Run, zero: _Point, tried: list[_Point], worst_loss: float) -> Iterator[Bound]:
    hinge = run.hinge or 1.0

    best = min([zero, *tried], key=run.regret)
    value = run.regret(best) / hinge
    yield Bound(
        "regret of this run",
        "2017, Eq. 17",
        value,
        None,
        value < math.inf,
        "" if value < math.inf else "the rate varied: needs a ball that w is kept in",
        value >= _BETTER * min(worst_loss, run.regret(zero) / hinge),
        best.name,
        best.norm,
        best.step_rounds,
    )
    if run.kind == "regret":
        return

    nothing = _Point("", math.inf, math.inf, math.inf)

    def theorem(
        name: str,
        source: str,
        formula: Callable[[float, float, float], float],
        reason: str,
        points: list[_Point] = tried,
        constant: float = run.constant,
    ) -> Bound:
        def bound(point: _Point, constant: float) -> float:
            return formula(point.all_rounds, point.norm, constant) / hinge

        point = min(points, key=lambda point: bound(point, constant), default=nothing)
        value, paper = (bound(point, A) if points else math.inf for A in (constant, max(constant, run.paper_constant)))
        point = point if value < math.inf else nothing
        return Bound(
            name,
            source,
            value,
            paper,
            not reason,
            reason,
            value >= _BETTER * worst_loss,
            point.name,
            point.norm,
            point.all_rounds,
        )

    A, rate = run.constant, run.rate
    best_source, rate_source, margin_source = _THEOREMS[run.kind + " at k" * (run.kind == "slam" and run.at_cutoff)]
    # A is the caller's word, which the run cannot prove but disprove
    broken = ""
    if run.square_sum > A * run.surrogate_sum * (1.0 + _ROUNDING):
        ratio = run.square_sum / run.surrogate_sum if run.surrogate_sum else math.inf
        broken = f"needs squared gradients of at most A = {A:.6g} times the surrogate, those of the run are {ratio:.6g}"
    elif not tried:
        broken = "needs a comparator inside of the ball"
    elif rate is None:
        broken = "needs one rate for all rounds"

    wish, at_best, limit, in_effect = "", tried, "", A
    if not run.any_rate and rate is not None:
        used = f"the run used {rate:.6g}"
        useless = f"needs a rate below 2 / A = {2.0 / A:.6g}, {used}" if rate * A >= 2.0 else ""
        limit = f"needs a rate of at most 1 / A = {1.0 / A:.6g}, {used}" if rate * A > 1.0 + 1e-12 else ""
        # every constant above A is one too, and 1 / rate is the one whose rate was used
        in_effect = A if limit else max(A, 1.0 / rate)

        def at_rate(F: float, U: float, A: float) -> float:
            return perceptron.fixed_rate_bound(F, U, A, rate)

        yield theorem("at the rate used", best_source, at_rate, broken or useless)

        def best_rate(point: _Point) -> float:
            return perceptron.best_rate(point.all_rounds, point.norm, A)

        at_best = [point for point in tried if math.isclose(rate, best_rate(point), rel_tol=1e-6)]
        if not at_best and tried:
            at_best = [min(tried, key=lambda point: perceptron.best_rate_bound(point.all_rounds, point.norm, A))]
            wish = f"needs the rate {best_rate(at_best[0]):.6g}, {used}"
            if perceptron.best_rate_bound(at_best[0].all_rounds, at_best[0].norm, A) >= _BETTER * worst_loss * hinge:
                wish = "says nothing at any rate"
    yield theorem("at the best rate", best_source, perceptron.best_rate_bound, broken or wish, at_best)
    yield theorem("the same as printed", best_source, perceptron.relaxed_bound, broken or wish, at_best)
    if rate_source:
        source, formula = rate_source, perceptron.theorem5_bound
        yield theorem("at rate 1 / A", source, formula, broken or limit, constant=in_effect)

    def by_margin(F: float, U: float, A: float) -> float:
        # the margin is hinge / U
        return hinge * perceptron.margin_bound(A * hinge, hinge / U if U > 0.0 else math.inf)

    separating = [point for point in tried if point.margin]
    reason = "" if separating else "needs a direction that ranks every round perfectly; none is known"
    yield theorem("separable rounds", margin_source, by_margin, reason or broken or limit, separating, in_effect)


def _number(value: float) -> str:
    if not math.isfinite(value):
        return "no limit"
    return f"{value:,.0f}" if 1e3 <= abs(value) < 1e12 else f"{value:.4g}"
