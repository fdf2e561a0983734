"""One query of two Gaussians: the simulation of Xu et al., section 4.3."""

from __future__ import annotations

import numpy as np

from fastrank._validation import check_count, check_random_state, check_real
from fastrank.data.dataset import RankingDataset
from fastrank.data.generators._common import RandomState


def make_two_gaussians(
    *,
    n_relevant: int = 7,
    n_irrelevant: int = 14,
    variances: tuple[float, float] = (0.2, 0.2),
    random_state: RandomState,
) -> RankingDataset:
    """Make one query in the plane: relevant documents around (1, 1), irrelevant ones around (-1, -1).

    Both classes are Gaussian with covariance diag(variances).

    Parameters
    ----------
    n_relevant, n_irrelevant : int
        Documents of grade 1 and of grade 0.
    variances : pair of float
        Variances of the two features. (0.2, 0.2) is the simulation's first data set, (0.2, 1.3) its second, in which
        the classes overlap.
    random_state : int or numpy.random.Generator
        The seed.

    Returns
    -------
    RankingDataset
        One query of two float64 features, rows in random order: a ranker that ties all documents gains nothing from
        their order.

    Raises
    ------
    ValueError
        If an argument is out of range.
    TypeError
        If an argument is of the wrong kind.

    Notes
    -----
    Cost O(n_relevant + n_irrelevant).

    References
    ----------
    Xu, Li, Liu, Peng, Lu and Ma, "Direct optimization of evaluation measures in learning to rank", section 4.3.
    """
    n_relevant = check_count(n_relevant, name="n_relevant", least=0)
    n_irrelevant = check_count(n_irrelevant, name="n_irrelevant", least=0)
    if n_relevant + n_irrelevant == 0:
        raise ValueError("n_relevant, n_irrelevant: expected at least one document, got 0 and 0; raise one of them")
    try:
        pair = list(variances)
    except TypeError:
        raise TypeError(f"variances: expected a pair of numbers, got {variances!r}") from None
    if len(pair) != 2:
        raise ValueError(f"variances: expected a pair of numbers, got {len(pair)} of them")
    deviations = np.sqrt([check_real(value, name=f"variances[{i}]", zero=True) for i, value in enumerate(pair)])
    rng = check_random_state(random_state)

    y = rng.permutation(np.repeat(np.array([1, 0], dtype=np.int32), [n_relevant, n_irrelevant]))
    X = rng.standard_normal((y.shape[0], 2)) * deviations + (2.0 * y - 1.0)[:, np.newaxis]
    return RankingDataset(X, y, qptr=np.array([0, y.shape[0]], dtype=np.int64))
