"""Whether one direction ranks every query perfectly, by how much, and the direction that does it best."""

from __future__ import annotations

import math
import warnings
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from fastrank._validation import check_count, check_vector, plural
from fastrank.data.dataset import RankingDataset, check_dataset
from fastrank.objectives._rows import rows_of

__all__ = ["Separation", "margin_of", "separating_direction"]

_RESOLUTION = 1e-8
"""Margins below this part of the longest row are not told from none."""

_TOLERANCE = 1e-6
"""The margin found is the largest up to this part of it."""

_GROWTH = 1e-9
_MAX_NEW_PAIRS = 200


class Separation(NamedTuple):
    """A direction of norm 1 that ranks every query perfectly, and its margin; None and 0 where there is none."""

    direction: NDArray[np.float64] | None
    margin: float


def margin_of(data: RankingDataset, w: ArrayLike) -> float:
    """Return what a vector keeps between documents of different grades: min u.(x_i - x_j), u = w / ||w||.

    The minimum is over all pairs with R_i > R_j of a query, and over all queries.

    Parameters
    ----------
    data : RankingDataset
    w : array-like of shape (n_features,)
        Any norm but 0.

    Returns
    -------
    float
        Above 0 where w ranks every query perfectly. inf where no query has two grades.

    Notes
    -----
    Cost O(rows * features), without a list of pairs: going down the grades of a query, the lowest score seen so far is
    held against the highest of the next grade.

    References
    ----------
    Chaudhuri and Tewari (2017), Eq. 21.

    Examples
    --------
    >>> data = RankingDataset([[0.0, 3.0], [2.0, 3.0], [5.0, 1.0]], [0, 1, 2], group=[3])
    >>> margin_of(data, [10.0, 0.0]), margin_of(data, [0.0, 1.0])
    (2.0, -2.0)
    """
    u = check_vector(w, check_dataset(data).n_features, name="w", per="one per feature")
    largest = float(np.abs(u).max(initial=0.0))
    if largest == 0.0:
        raise ValueError("w: expected a vector other than 0, which has no direction, got zeros only")
    runs = _Runs(data)
    u = u / largest  # the squares of very large or small numbers are out of range
    lowest, highest = runs.extremes(runs.scores(u / np.linalg.norm(u)))
    margin = np.inf
    run, last = data.plan.level_ptr[:-1], data.plan.level_ptr[1:] - 1
    run, last = run[run <= last], last[run <= last]
    seen = np.full(len(run), np.inf)
    while len(run):
        margin = min(margin, float((seen - highest[run]).min()))
        goes_on = run < last
        seen = np.minimum(seen, lowest[run])[goes_on]
        run, last = run[goes_on] + 1, last[goes_on]
    return margin


def separating_direction(data: RankingDataset, *, max_entries: int = 50_000_000) -> Separation:
    """Find the direction of norm 1 with the largest margin, or that there is none with a margin above 0.

    Solves min ||u|| subject to u.(x_i - x_j) >= 1 for R_i > R_j; the margin is 1 / ||u||.

    Parameters
    ----------
    data : RankingDataset
        Dense or sparse, rows in any order.
    max_entries : int, default=50_000_000
        The most numbers that the pairs in use may hold: features times pairs, 8 bytes each.

    Returns
    -------
    Separation
        Its margin is `margin_of` the direction, so it is never too large. `direction` is None where none exists, and
        where the largest margin is about 1e-7 of the largest norm of a row or less, at which no bound is worth having.
        Where no query has two grades, every direction will do: the first axis, and inf.

    Raises
    ------
    ValueError
        If more than `max_entries` are needed.

    Warns
    -----
    RuntimeWarning
        If the solver stops early, which features of very different sizes can bring about; the result is then what was
        found until then.

    Notes
    -----
    Only pairs of neighbouring grades matter, and of those only few bind. So pairs are added as they are needed: each
    pass over X computes the scores of u and finds, per query and pair of neighbouring grades, the lowest score of the
    upper against the highest of the lower; the worst of them join those that bind, and the small problem is solved
    anew, as non-negative least squares. As soon as the small problem has no solution, neither has the whole. Cost:
    O(rows * features) per pass, usually 5 to 30 passes, and memory for the pairs that bind; never all pairs.

    References
    ----------
    Chaudhuri and Tewari (2017), Eq. 21, for the margin. Lawson and Hanson (1974), chapter 23, for least distance
    programming by non-negative least squares.

    Examples
    --------
    >>> found = separating_direction(RankingDataset([[0.0, 0.0], [3.0, 4.0], [9.0, 9.0]], [0, 1, 2], group=[3]))
    >>> found.direction.round(6), round(found.margin, 6)
    (array([0.6, 0.8]), 5.0)
    >>> separating_direction(RankingDataset([[0.0], [1.0], [2.0]], [0, 1, 0], group=[3]))
    Separation(direction=None, margin=0.0)
    """
    max_entries = check_count(max_entries, name="max_entries")
    n_features = check_dataset(data).n_features
    runs = _Runs(data)
    if n_features == 0:
        return Separation(None, 0.0)
    if len(runs.upper) == 0:
        return Separation(np.eye(1, n_features)[0], np.inf)

    radius = math.sqrt(runs.matrix.largest_square(0, data.n_rows))
    pairs = np.empty((0, n_features))
    u, norm = np.zeros(n_features), 0.0
    best = Separation(None, 0.0)
    while radius > 0.0:
        scores = runs.scores(u)
        lowest, highest = runs.extremes(scores)
        gaps = lowest[runs.upper] - highest[runs.upper + 1]
        if norm > 0.0 and float(gaps.min()) / norm > best.margin:
            best = Separation(u / norm, float(gaps.min()) / norm)
        # 1 / norm is above every margin, since u is the best direction for some of the pairs
        if gaps.min() >= 1.0 - _TOLERANCE:
            break
        worst = np.argsort(gaps, kind="stable")[: min(_MAX_NEW_PAIRS, max(20, n_features))]
        worst = worst[gaps[worst] < 1.0 - 0.5 * _TOLERANCE]
        if (len(pairs) + len(worst)) * n_features > max_entries:
            raise ValueError(
                f"max_entries: expected at least {(len(pairs) + len(worst)) * n_features:,} for differences of "
                f"{plural(n_features, 'feature')}, got {max_entries:,}; raise it, or use fewer features or queries"
            )
        pairs = np.concatenate([pairs, runs.differences(data, runs.upper[worst], scores) / radius])
        try:
            solution, weights = _least_distance(pairs, 1.0 / (norm * radius) if norm > 0.0 else 1.0)
        except RuntimeError as error:
            warnings.warn(
                f"separating_direction: the solver stopped early ({error}); scale the features, for example with "
                "QueryScaler",
                RuntimeWarning,
                stacklevel=2,
            )
            break
        # with every pair that is added the norm grows, until rounding hides it
        if solution is None or np.linalg.norm(solution) <= norm * radius * (1.0 + _GROWTH):
            break
        pairs, u = pairs[weights > 0.0], solution / radius
        norm = float(np.linalg.norm(u))
    if best.direction is None:
        return best
    return best._replace(margin=margin_of(data, best.direction))


def _least_distance(pairs: NDArray[np.float64], guess: float) -> tuple[NDArray[np.float64] | None, NDArray[np.float64]]:
    """Solve min ||u|| subject to pairs @ u >= 1, near the margin 1 / ||u|| that is guessed; None where there is no u.

    The weights of pairs that bind are above 0.
    """
    target = np.zeros(pairs.shape[1] + 1)
    target[-1] = 1.0
    while True:
        matrix = np.concatenate([pairs.T / guess, np.ones((1, len(pairs)))])
        weights, _ = scipy.optimize.nnls(matrix, target, maxiter=100 * sum(pairs.shape))
        residual = target - matrix @ weights
        # residual[-1] = ||residual||^2 = margin^2 / (1 + margin^2), with the margin in units of the guess
        margin = math.sqrt(max(residual[-1], 0.0) / max(1.0 - residual[-1], _RESOLUTION))
        if margin > 0.01:
            return -residual[:-1] / (residual[-1] * guess), weights
        # a far smaller margin than guessed drowns in rounding: look again from near
        guess *= max(margin, 1e-3)
        if guess < _RESOLUTION:
            return None, weights


class _Runs:
    """The rows of each query by grade: a run is what has one grade, and runs go down the grades of a query."""

    def __init__(self, data: RankingDataset) -> None:
        plan = data.plan
        self.matrix = rows_of(data.grouped_X)
        self.rows = plan.by_grade + np.repeat(data.qptr[:-1], data.sizes)
        self.ends = plan.level_end + np.repeat(data.qptr[:-1], np.diff(plan.level_ptr))
        is_last = np.zeros(len(self.ends), dtype=bool)
        is_last[plan.level_ptr[1:][data.sizes > 0] - 1] = True
        self.upper = np.flatnonzero(~is_last)
        """Runs that have a lower grade after them."""

    def scores(self, w: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return X w, rows grouped by query."""
        scores = np.empty(self.matrix.n_rows)
        self.matrix.scores_into(w, 0, self.matrix.n_rows, scores)
        if not np.isfinite(scores).all():
            raise ValueError("X: expected features whose scores are finite, got NaN or inf; fill or rescale them")
        return scores

    def extremes(self, scores: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the lowest and the highest score of each run."""
        if len(self.ends) == 0:
            return np.empty(0), np.empty(0)
        starts = np.concatenate(([0], self.ends[:-1]))
        ordered = scores[self.rows]
        return np.minimum.reduceat(ordered, starts), np.maximum.reduceat(ordered, starts)

    def differences(self, data: RankingDataset, upper: NDArray[Any], scores: NDArray[np.float64]) -> NDArray[Any]:
        """Return, per run, its lowest document minus the highest of the run below, as dense float64 rows."""
        high, low = np.empty(len(upper), np.int64), np.empty(len(upper), np.int64)
        for position, run in enumerate(upper):
            first, middle, last = self.ends[run - 1] if run else 0, self.ends[run], self.ends[run + 1]
            above, below = self.rows[first:middle], self.rows[middle:last]
            high[position], low[position] = above[np.argmin(scores[above])], below[np.argmax(scores[below])]
        X = data.grouped_X
        return _dense(X[high]) - _dense(X[low])


def _dense(rows: Any) -> NDArray[np.float64]:
    return np.asarray(rows if isinstance(rows, np.ndarray) else rows.toarray(), dtype=np.float64)
