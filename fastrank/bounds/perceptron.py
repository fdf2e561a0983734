r"""What online ranking cannot lose: the bounds on the cumulative loss of the perceptrons, as functions of numbers.

The learner plays w_1 = 0, w_{t+1} = w_t - eta z_t, z_t a subgradient of f_t at w_t, and f_t is the surrogate phi of
round t where the ranking was wrong, else 0. For any comparator u write U = ||u|| and F >= sum_t f_t(u). Two facts carry
everything here:

- **regret** (Zinkevich 2003): sum f_t(w_t) <= F + U^2 / (2 eta) + (eta / 2) sum ||z_t||^2;
- **self-bounding**: ||z_t||^2 <= A f_t(w_t), with a constant A that depends on the surrogate.

All theorems of the papers are these two put together, so there is one function for all of them and one constant for
each surrogate. P0 is Chaudhuri and Tewari (2014), P3 is Chaudhuri and Tewari (2017):

==============================  ==================================  =============================================
theorem                         function                            constant A (times 1 / margin of the hinge)
==============================  ==================================  =============================================
P3 Theorem 1 (classification)   `best_rate_bound`, `relaxed_bound`  `classification_constant`: R^2
P3 Theorem 6 (SLAM)             `best_rate_bound`, `relaxed_bound`  `slam_constant`: 4 |supp v| (sum v) v_max R^2;
                                                                    as printed `slam_constant_paper`: 4 m v_max R^2
P3 Theorem 8 (SLAM at k)        `best_rate_bound`, `relaxed_bound`  the same, with k instead of m
P3 Theorem 10 (max-pair)        `best_rate_bound`, `relaxed_bound`  `max_pair_constant`: 4 R^2
any of them at a given rate     `fixed_rate_bound`                  as above
P0 Theorem 5, Corollary 7       `theorem5_bound`                    as P3 Theorem 6 and 8
P0 Corollary 6, P3 Corollaries  `margin_bound`                      as above, at hinge margin 1
2, 7, 11
regret alone, after the run     `a_posteriori_bound`                none: uses sum ||z_t||^2 itself
regret, rates that vary         `regret_bound`                      none
P3 Theorem 9 (lower bound)      `minimax_lower_bound`               none
==============================  ==================================  =============================================

They bound sum f_t(w_t). With phi >= 1 - measure at hinge margin 1 that is a bound on the measure's cumulative loss; a
hinge of margin D has phi_D(s) = D phi_1(s / D), hence 1 - measure <= phi_D / D and ||z||^2 <= (A / D) phi_D: pass the
margin to the constant, and divide the bound by it.

The papers' errors that these functions do not repeat: P0 Theorem 5 is false at rate 1 and true at 1 / A (the SLAM
perceptron depends on its rate); P3 Theorem 6 lacks v_max under its first root; P3 Theorems 1, 6, 8 and 10 take the best
rate in hindsight, of a run that the rate itself decides: here the rate is fixed before, from F over all rounds. The
classification and the max-pair perceptron make the same mistakes at every rate, so for them F over the mistake rounds
is enough and the best rate is always the one that was used.
"""

from __future__ import annotations

import math
from typing import Any

from fastrank._validation import check_count, check_real
from fastrank.data.adversary import MinimaxAdversary

__all__ = [
    "a_posteriori_bound",
    "any_rate_bound",
    "best_rate",
    "best_rate_bound",
    "classification_constant",
    "fixed_rate_bound",
    "margin_bound",
    "max_pair_constant",
    "minimax_lower_bound",
    "regret_bound",
    "relaxed_bound",
    "slam_constant",
    "slam_constant_paper",
    "theorem5_bound",
]


def classification_constant(radius: float) -> float:
    """Return A = R^2 of the hinge loss max(0, 1 - y x.w) on mistake rounds.

    z = -y x and the loss is at least 1 where y x.w <= 0, so ||z||^2 <= R^2 <= R^2 f.

    Parameters
    ----------
    radius : float
        R, at least the norm of every x.

    References
    ----------
    Chaudhuri and Tewari (2017), Theorem 1.

    Examples
    --------
    >>> classification_constant(2.0)
    4.0
    """
    return _radius(radius, "Theorem 1") ** 2


def max_pair_constant(radius: float, margin: float = 1.0) -> float:
    """Return A = 4 R^2 / margin of the max-pair surrogate max(0, max over R_i > R_j of margin + s_j - s_i).

    z is the difference of two documents, so ||z||^2 <= 4 R^2, and the surrogate is at least `margin` on a mistake
    round.

    Parameters
    ----------
    radius : float
        R, at least the norm of every document.
    margin : float, default=1.0
        The margin of the hinge.

    References
    ----------
    Chaudhuri and Tewari (2017), proof of Theorem 10, with the margin added.

    Examples
    --------
    >>> max_pair_constant(2.0), max_pair_constant(2.0, margin=0.5)
    (16.0, 32.0)
    """
    return 4.0 * _radius(radius, "Theorem 10") ** 2 / _hinge(margin)


def slam_constant(radius: float, statistics_constant: float, margin: float = 1.0) -> float:
    """Return A = 4 |supp v| (sum v) v_max R^2 / margin of the SLAM surrogate sum v_i max(0, margin + s_k(i) - s_i).

    ||z|| <= 2 R sum v, and a mistake round has a document i with v_i > 0 whose hinge is at least `margin`, so
    sum v <= |supp v| v_max v_i <= |supp v| v_max f / margin.

    Parameters
    ----------
    radius : float
        R, at least the norm of every document.
    statistics_constant : float
        The largest |supp v| (sum v) v_max of a query, where v_max is the ratio of the largest to the smallest positive
        weight: `Slam.weight_statistics(plan).constant`.
    margin : float, default=1.0
        The margin of the hinge.

    Notes
    -----
    Never above the constant of the papers, `slam_constant_paper`, since |supp v| <= m and sum v <= 1.

    References
    ----------
    Chaudhuri and Tewari (2014), Proposition 4 (whose last display has an m too many); Chaudhuri and Tewari (2017),
    Lemma 5. Both assume a pair that is strictly inverted; a tie, as at w = 0, is a mistake too, and its hinge is the
    margin exactly.

    Examples
    --------
    Lists with 2 relevant documents and weights (1/2, 1/2), the AP weights of P3:

    >>> slam_constant(1.0, 2 * 1.0 * 1.0)
    8.0
    """
    constant = check_real(statistics_constant, name="statistics_constant", zero=True)
    return 4.0 * constant * _radius(radius, "Lemma 5") ** 2 / _hinge(margin)


def slam_constant_paper(radius: float, n_docs_or_k: int, v_max: float, margin: float = 1.0) -> float:
    """Return the papers' constant of the SLAM surrogate, A = 4 m v_max R^2 / margin, or with k for m at a cut-off.

    Parameters
    ----------
    radius : float
        R, at least the norm of every document.
    n_docs_or_k : int
        m, the longest list; the cut-off k for the weights of NDCG@k.
    v_max : float
        The largest ratio of two positive weights of a query, at least 1.
    margin : float, default=1.0
        The margin of the hinge.

    References
    ----------
    Chaudhuri and Tewari (2014), Proposition 4 and Corollary 7; Chaudhuri and Tewari (2017), Lemma 5 and Theorem 8.

    Examples
    --------
    >>> slam_constant_paper(1.0, 10, 1.0)
    40.0
    """
    ratio = check_real(v_max, name="v_max", zero=False)
    if ratio < 1.0:
        raise ValueError(
            f"v_max: expected at least 1 (Chaudhuri and Tewari 2017, Lemma 5: the largest ratio of two positive "
            f"weights), got {ratio:g}; "
            "pass largest / smallest positive weight"
        )
    return slam_constant(radius, check_count(n_docs_or_k, name="n_docs_or_k") * ratio, margin)


def fixed_rate_bound(surrogate_sum: float, norm: float, constant: float, rate: float) -> float:
    """Bound sum f_t(w_t) at a rate eta chosen before the run: (F + U^2 / (2 eta)) / (1 - eta A / 2), if eta < 2 / A.

    Parameters
    ----------
    surrogate_sum : float
        F, at least the sum of f_t(u): the comparator's surrogate over the mistake rounds, or over all rounds.
    norm : float
        U = ||u||, its norm.
    constant : float
        A of self-bounding.
    rate : float
        eta, the learning rate.

    Returns
    -------
    float
        inf where eta >= 2 / A: there the theorem says nothing.

    References
    ----------
    Chaudhuri and Tewari (2017), Theorems 1, 6, 8 and 10 before the rate is optimised. The papers choose the rate from
    the learner's own loss, which is not known before and which for SLAM depends on the rate.

    Examples
    --------
    >>> fixed_rate_bound(0.0, 2.0, 8.0, 1 / 8)
    32.0
    >>> fixed_rate_bound(0.0, 2.0, 8.0, 1.0)
    inf
    """
    F, U, A = _comparator(surrogate_sum, norm, constant)
    eta = _rate(rate)
    slack = 1.0 - 0.5 * eta * A
    return (F + U * U / (2.0 * eta)) / slack if slack > 0.0 else math.inf


def best_rate(surrogate_sum: float, norm: float, constant: float) -> float:
    """Return the learning rate that makes `fixed_rate_bound` least.

    With B = A U^2: eta = 2 y / A, y = (sqrt(B^2 / 4 + F B) - B / 2) / (2 F), and 1 / A where F = 0.

    Parameters
    ----------
    surrogate_sum, norm, constant : float
        F, U and A as in `fixed_rate_bound`. F is over *all* rounds where the run depends on the rate (SLAM): which
        rounds are mistakes is not known when the rate is chosen.

    Returns
    -------
    float
        In (0, 1 / A]; 0 for U = 0 < F, where the bound falls towards F as the rate falls to 0; inf where A = 0.

    Examples
    --------
    >>> best_rate(0.0, 2.0, 8.0)
    0.125
    >>> rate = best_rate(5.0, 2.0, 8.0)
    >>> round(rate, 4), round(fixed_rate_bound(5.0, 2.0, 8.0, rate), 3), round(best_rate_bound(5.0, 2.0, 8.0), 3)
    (0.1099, 41.396, 41.396)
    """
    F, U, A = _comparator(surrogate_sum, norm, constant)
    if A == 0.0:
        return math.inf
    if F == 0.0:
        return 1.0 / A
    # 2 y = (root - B / 2) / F = B / (root + B / 2): no difference of nearly equal numbers
    B = A * U * U
    root = math.sqrt(B) * math.sqrt(0.25 * B + F)
    return B / (root + 0.5 * B) / A if B > 0.0 else 0.0


def best_rate_bound(surrogate_sum: float, norm: float, constant: float) -> float:
    """Bound sum f_t(w_t) at the best rate: F + B / 2 + sqrt(B^2 / 4 + F B), B = A U^2.

    Parameters
    ----------
    surrogate_sum, norm, constant : float
        F, U and A as in `best_rate`.

    References
    ----------
    Chaudhuri and Tewari (2017), Theorems 1, 6, 8 and 10 (Eq. 5, 19, 22, 30), which print the larger `relaxed_bound`.

    Examples
    --------
    >>> best_rate_bound(0.0, 3.0, 4.0), best_rate_bound(7.0, 0.0, 4.0)
    (36.0, 7.0)
    """
    F, U, A = _comparator(surrogate_sum, norm, constant)
    B = A * U * U
    return F + 0.5 * B + math.sqrt(B) * math.sqrt(0.25 * B + F)


def relaxed_bound(surrogate_sum: float, norm: float, constant: float) -> float:
    """Bound sum f_t(w_t) at the best rate in the form the paper prints: F + sqrt(A) U sqrt(F) + A U^2.

    Parameters
    ----------
    surrogate_sum, norm, constant : float
        F, U and A as in `best_rate`.

    References
    ----------
    Chaudhuri and Tewari (2017), Eq. 5, 19, 22, 30. Eq. 19 (Theorem 6) lacks v_max under its first root, which Eq. 22
    has.

    Examples
    --------
    >>> relaxed_bound(4.0, 3.0, 4.0), round(best_rate_bound(4.0, 3.0, 4.0), 2)
    (52.0, 43.63)
    """
    F, U, A = _comparator(surrogate_sum, norm, constant)
    return F + math.sqrt(A) * U * math.sqrt(F) + A * U * U


def theorem5_bound(surrogate_sum: float, norm: float, constant: float) -> float:
    """Bound sum f_t(w_t) at the rate 1 / A: 2 F + A U^2.

    Parameters
    ----------
    surrogate_sum, norm, constant : float
        F over the mistake rounds, U and A as in `fixed_rate_bound`. Any constant above A is one too, so at a smaller
        rate eta < 1 / A pass 1 / eta.

    References
    ----------
    Chaudhuri and Tewari (2014), Theorem 5 (Eq. 17) and Corollary 7 (Eq. 19). The paper claims it for rate 1, at which
    it is false.

    Examples
    --------
    >>> theorem5_bound(4.0, 3.0, 4.0), fixed_rate_bound(4.0, 3.0, 4.0, 1 / 4)
    (44.0, 44.0)
    """
    F, U, A = _comparator(surrogate_sum, norm, constant)
    return 2.0 * F + A * U * U


def margin_bound(constant: float, gamma: float) -> float:
    """Bound the cumulative loss of separable rounds: A / gamma^2, however many rounds there are.

    u = D u* / gamma has F = 0 for a hinge of margin D. The bound on the surrogate is (A / D) (D / gamma)^2, and divided
    by D it no longer depends on D.

    Parameters
    ----------
    constant : float
        A at hinge margin 1: `max_pair_constant(R)` gives 4 R^2 / gamma^2, `slam_constant_paper(R, k, v_max)` gives
        4 k v_max R^2 / gamma^2.
    gamma : float
        What a unit vector u* keeps between documents of different grades of a query: `bounds.separation.margin_of`.

    Notes
    -----
    Holds at the rate D / A (1 / A at hinge margin 1), and at every rate for the classification and the max-pair
    perceptron. For those two the number of mistakes is below it too.

    References
    ----------
    Chaudhuri and Tewari (2014), Corollaries 6 and 7; Chaudhuri and Tewari (2017), Corollaries 2, 7 and 11. The norm of
    u* / gamma is 1 / gamma, not 1 / gamma^2 as printed after Eq. 7.

    Examples
    --------
    >>> margin_bound(max_pair_constant(1.0), 0.5)
    16.0
    """
    A = check_real(constant, name="constant", zero=True)
    if isinstance(gamma, float) and gamma == math.inf:
        return 0.0  # no two documents of different grades anywhere
    margin = _positive(gamma, "gamma", _SEPARABLE, "use best_rate_bound where nothing separates the rounds")
    return A / (margin * margin)


def a_posteriori_bound(surrogate_sum: float, norm: float, rate: float, square_sum: float) -> float:
    """Bound sum f_t(w_t) after the run, by its own gradients: F + U^2 / (2 eta) + (eta / 2) sum ||z_t||^2.

    Parameters
    ----------
    surrogate_sum : float
        F, the comparator's surrogate over the mistake rounds of this very run (over all rounds where every round is an
        update).
    norm : float
        U, its norm.
    rate : float
        eta, the same in every round.
    square_sum : float
        The sum of ||z_t||^2.

    Notes
    -----
    Needs convexity only, no constant A and no bound on the rate. With a projection onto a ball it holds for every u in
    that ball.

    References
    ----------
    Zinkevich (2003); Chaudhuri and Tewari (2014), Eq. 15; Chaudhuri and Tewari (2017), Eq. 17.

    Examples
    --------
    >>> a_posteriori_bound(1.0, 2.0, 0.5, 8.0)
    7.0
    """
    F, U, Q = _comparator(surrogate_sum, norm, square_sum, name="square_sum")
    eta = _rate(rate)
    return F + U * U / (2.0 * eta) + 0.5 * eta * Q


def any_rate_bound(surrogate_sum: float, norm: float, square_sum: float) -> float:
    """Bound sum f_t(w_t) after a run that is the same at every rate: F + U sqrt(sum ||z_t||^2).

    `a_posteriori_bound` at its best rate, U / sqrt(sum ||z_t||^2). The classification and the max-pair perceptron,
    started at 0 and without a projection, have the same mistakes and the same z_t at every rate, so that their loss is
    below it whatever the rate was.

    Parameters
    ----------
    surrogate_sum, norm, square_sum : float
        As in `a_posteriori_bound`.

    References
    ----------
    Chaudhuri and Tewari (2017), the rate of Theorem 1, with the root over the number of mistakes that is not printed.

    Examples
    --------
    >>> any_rate_bound(1.0, 2.0, 9.0), a_posteriori_bound(1.0, 2.0, 2.0 / 3.0, 9.0)
    (7.0, 7.0)
    """
    F, U, Q = _comparator(surrogate_sum, norm, square_sum, name="square_sum")
    return F + U * math.sqrt(Q)


def regret_bound(surrogate_sum: float, distance: float, last_rate: float, rate_square_sum: float) -> float:
    """Bound sum f_t(w_t) where the rate never rises: F + D^2 / (2 eta_T) + (1 / 2) sum eta_t ||z_t||^2.

    Parameters
    ----------
    surrogate_sum : float
        F, the comparator's surrogate over the rounds.
    distance : float
        D, at least ||w_t - u|| in every round: W + U with a projection onto the ball of radius W.
    last_rate : float
        eta_T, the rate of the last round, the smallest.
    rate_square_sum : float
        The sum of eta_t ||z_t||^2.

    References
    ----------
    Zinkevich (2003), Theorem 1.

    Examples
    --------
    >>> regret_bound(1.0, 2.0, 0.5, 4.0)
    7.0
    """
    F, D, Q = _comparator(surrogate_sum, distance, rate_square_sum, name="rate_square_sum", norm_name="distance")
    return F + D * D / (2.0 * _rate(last_rate)) + 0.5 * Q


def minimax_lower_bound(radius: float, margin: float, metric: str = "ndcg", *, ties: str = "worst") -> float:
    """Return what every deterministic online ranker loses on some rounds that a margin separates.

    (floor(R^2 / gamma^2) - 1) rounds, times the least loss of a round: 1/2 for AP, 1 - 1/log2(3) for NDCG. The rounds
    are those of `data.adversary.MinimaxAdversary`; `bounds.minimax.play` plays them.

    Parameters
    ----------
    radius : float
        R, the norm of the documents.
    margin : float
        gamma, at most R / sqrt(2), so that there is a round.
    metric : str, default="ndcg"
        As in `MinimaxAdversary.loss_per_round_lower_bound`.
    ties : {"worst", "index", "mean", "best"}
        How the measure ranks equal scores.

    References
    ----------
    Chaudhuri and Tewari (2017), Theorem 9, which states the order Omega(R^2 / gamma^2); the constants are those of its
    proof. The max-pair perceptron loses at most 4 R^2 / gamma^2 (Corollary 11), so the two are optimal up to a
    constant.

    Examples
    --------
    >>> minimax_lower_bound(1.0, 0.1, "ap"), margin_bound(max_pair_constant(1.0), 0.1)
    (49.5, 399.99999999999994)
    """
    game = MinimaxAdversary(margin, radius=radius)
    return game.n_rounds * game.loss_per_round_lower_bound(metric, ties=ties)


_SEPARABLE = "Chaudhuri and Tewari 2017, Corollary 7: one direction ranks every round with this margin"


def _comparator(
    surrogate_sum: Any, norm: Any, third: Any, *, name: str = "constant", norm_name: str = "norm"
) -> tuple[float, float, float]:
    return (
        check_real(surrogate_sum, name="surrogate_sum", zero=True),
        check_real(norm, name=norm_name, zero=True),
        check_real(third, name=name, zero=True),
    )


def _positive(value: Any, name: str, condition: str, mend: str) -> float:
    try:
        return check_real(value, name=name, zero=False)
    except ValueError:
        raise ValueError(
            f"{name}: expected a finite number greater than 0 ({condition}), got {value!r}; {mend}"
        ) from None


def _radius(value: Any, theorem: str) -> float:
    try:
        return check_real(value, name="radius", zero=True)
    except ValueError:
        raise ValueError(
            f"radius: expected a finite number of at least 0 (Chaudhuri and Tewari 2017, {theorem}: no document is "
            f"longer), got {value!r}; "
            "pass the largest norm of a row of X"
        ) from None


def _hinge(value: Any) -> float:
    return _positive(value, "margin", "the hinge max(0, margin + s_j - s_i)", "pass the margin of the loss")


def _rate(value: Any) -> float:
    return _positive(value, "rate", "w moves by rate times z", "pass the learning rate of the run")
