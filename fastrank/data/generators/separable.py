"""Margin-separable queries: the simulation of Chaudhuri and Tewari (2017), as a stream and as a data set."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, overload

import numpy as np
import numpy.typing as npt

from fastrank._validation import check_bool, check_count, check_float_dtype, check_random_state, check_real
from fastrank.data.dataset import Query, RankingDataset
from fastrank.data.generators._common import BLOCK_ROWS, FloatArray, RandomState, dot


class SeparableStream(Iterator[Query]):
    """Yield queries that one unit-norm ranker separates with a margin, without end or up to a number.

    Every query satisfies, for the ranker u of the stream,

        u . (x_i - x_j) >= margin   whenever  R_i > R_j.

    Parameters
    ----------
    n_queries : int, optional
        The stream ends after this many queries; without it the stream does not end.
    n_docs, n_features : int
        Documents per query and features per document.
    n_grades : int
        Grades are 0, ..., n_grades - 1, drawn independently and uniformly for every document.
    margin : float
        The margin of the ranker.
    dtype : {float64, float32}
        Type of the features. The rows of a float32 stream are those of the float64 stream, drawn with slightly narrower
        bands and rounded; the margin holds for them as well, in whatever precision the scores are computed.
    random_state : int or numpy.random.Generator
        The seed. A generator is drawn from block by block as the stream is read.

    Attributes
    ----------
    ranker : ndarray of shape (n_features,), float64
        u, the unit-norm vector that separates every query of the stream.
    margin : float
        The margin of `ranker`.
    radius : float
        R_X, an upper bound of the Euclidean norm of every row.

    Raises
    ------
    ValueError
        If an argument is out of range, or the margin is too small to survive the rounding of `dtype`.
    TypeError
        If an argument is of the wrong kind.

    Notes
    -----
    How separability is induced: a document of grade g is drawn from the Gaussian of its grade. Its component along u is
    then squeezed into a band of width just under `margin` around (2 g - n_grades + 1) * margin, so that neighbouring
    bands are `margin` apart and a little more, which covers the rounding of the scores. Across u, every grade has its
    own random center, and all have one spread; the few rows whose part across u is longer than 1 are shortened to 1.
    The bands are the same for all queries, so the margin also holds between rows of different queries.

    Every row therefore has norm at most R_X = sqrt(1 + ((n_grades - 1/2) * margin)^2), the attribute `radius`, and the
    constant of the perceptron bounds is R_X^2 / margin^2. A query may happen to hold a single grade.

    Cost O(n_docs * n_features) per query; a block of about 2048 rows is held. Arrays of a yielded query are views of
    its block and are not used again by the stream.

    References
    ----------
    Chaudhuri and Tewari (2017), section 8 (simulated data set), Eq. 21.

    Examples
    --------
    >>> stream = SeparableStream(3, random_state=0)
    >>> [query.X.shape for query in stream]
    [(20, 20), (20, 20), (20, 20)]
    """

    def __init__(
        self,
        n_queries: int | None = None,
        *,
        n_docs: int = 20,
        n_features: int = 20,
        n_grades: int = 5,
        margin: float = 0.1,
        dtype: npt.DTypeLike = np.float64,
        random_state: RandomState,
    ) -> None:
        self._left = None if n_queries is None else check_count(n_queries, name="n_queries")
        self._n_docs = check_count(n_docs, name="n_docs")
        self._n_features = check_count(n_features, name="n_features")
        self._n_grades = check_count(n_grades, name="n_grades", least=2)
        self.margin = check_real(margin, name="margin", zero=False)
        self._dtype = check_float_dtype(dtype)
        self._rng = check_random_state(random_state)

        self.radius = float(np.hypot(1.0, (self._n_grades - 0.5) * self.margin))
        if self.radius > float(np.sqrt(np.finfo(self._dtype).max)):
            raise ValueError(
                f"margin: expected rows whose squared norms fit {self._dtype}, got {self.margin!r}; lower it"
            )
        # A dot product of d terms is off by at most about d * eps * |u| * |x|, whatever the order of its additions. The
        # bands keep this much more than the margin between them, so that the computed scores have the margin too.
        eps = float(np.finfo(self._dtype).eps)
        self._guard = 4.0 * (self._n_features + 4) * eps * self.radius
        if self._guard > 0.5 * self.margin:
            raise ValueError(
                f"margin: expected at least {2.0 * self._guard:.3g}, which {self._dtype} scores of {self._n_features} "
                f"features and {self._n_grades} grades can resolve, got {self.margin!r}; "
                "raise the margin, or use dtype=float64"
            )

        direction = self._rng.standard_normal(self._n_features)
        self.ranker: npt.NDArray[np.float64] = direction / np.linalg.norm(direction)
        self.ranker.setflags(write=False)
        centers = self._rng.standard_normal((self._n_grades, self._n_features))
        # Centers of norm about 0.3 and a spread of norm about 0.6 keep nearly all rows inside the unit ball, which is
        # enforced below.
        self._centers = centers * (0.3 / np.sqrt(self._n_features))
        self._spread = 0.6 / np.sqrt(self._n_features)

        self._block_queries = max(1, BLOCK_ROWS // self._n_docs)
        self._X: FloatArray = np.empty((0, self._n_features), dtype=self._dtype)
        self._y: npt.NDArray[np.int32] = np.empty(0, dtype=np.int32)
        self._row = 0
        self._n_yielded = 0

    def _draw_block(self) -> tuple[FloatArray, npt.NDArray[np.int32]]:
        rows = self._block_queries * self._n_docs
        y = self._rng.integers(0, self._n_grades, size=rows, dtype=np.int32)
        noise = self._rng.standard_normal((rows, self._n_features))
        u = self.ranker
        along = np.clip(dot(noise, u) / 3.0, -1.0, 1.0)
        along *= 0.5 * (self.margin - self._guard)
        along += (2.0 * y - (self._n_grades - 1)) * self.margin

        across = noise
        across *= self._spread
        across += self._centers[y]
        across -= np.multiply.outer(dot(across, u), u)
        norms = np.sqrt(np.einsum("ij,ij->i", across, across))
        across *= ((1.0 - self._guard / self.radius) / np.maximum(norms, 1.0))[:, np.newaxis]
        # A second projection removes what rounding left along u after the first.
        across -= np.multiply.outer(dot(across, u), u)
        across += np.multiply.outer(along, u)
        return across.astype(self._dtype, copy=False), y

    def __iter__(self) -> SeparableStream:
        """Return the stream itself."""
        return self

    def __next__(self) -> Query:
        """Return the next query; its arrays belong to the caller."""
        if self._left is not None and self._n_yielded >= self._left:
            raise StopIteration
        if self._row >= self._y.shape[0]:
            self._X, self._y = self._draw_block()
            self._row = 0
        rows = slice(self._row, self._row + self._n_docs)
        query = Query(self._n_yielded, self._X[rows], self._y[rows], None)
        self._row += self._n_docs
        self._n_yielded += 1
        return query

    def __repr__(self) -> str:
        """Say what the stream yields and how far it is."""
        total = "endless" if self._left is None else f"{self._left} queries"
        return (
            f"SeparableStream({total}, n_docs={self._n_docs}, n_features={self._n_features}, "
            f"n_grades={self._n_grades}, margin={self.margin:g}, yielded={self._n_yielded})"
        )


@overload
def make_separable(
    n_queries: int = ...,
    *,
    n_docs: int = ...,
    n_features: int = ...,
    n_grades: int = ...,
    margin: float = ...,
    dtype: npt.DTypeLike = ...,
    random_state: RandomState,
    return_ranker: Literal[False] = ...,
) -> RankingDataset: ...


@overload
def make_separable(
    n_queries: int = ...,
    *,
    n_docs: int = ...,
    n_features: int = ...,
    n_grades: int = ...,
    margin: float = ...,
    dtype: npt.DTypeLike = ...,
    random_state: RandomState,
    return_ranker: Literal[True],
) -> tuple[RankingDataset, npt.NDArray[np.float64]]: ...


def make_separable(
    n_queries: int = 1000,
    *,
    n_docs: int = 20,
    n_features: int = 20,
    n_grades: int = 5,
    margin: float = 0.1,
    dtype: npt.DTypeLike = np.float64,
    random_state: RandomState,
    return_ranker: bool = False,
) -> RankingDataset | tuple[RankingDataset, npt.NDArray[np.float64]]:
    """Make a data set that one unit-norm ranker u separates with a margin.

    For every query, u . (x_i - x_j) >= margin whenever R_i > R_j. The rows are the first `n_queries` queries of
    `SeparableStream` with the same arguments and seed; see there how separability is induced.

    Parameters
    ----------
    n_queries : int
        Number of queries.
    n_docs, n_features, n_grades, margin, dtype, random_state
        As in `SeparableStream`.
    return_ranker : bool
        Also return u.

    Returns
    -------
    dataset : RankingDataset
        n_queries * n_docs rows of norm at most R_X = sqrt(1 + ((n_grades - 1/2) * margin)^2).
    ranker : ndarray of shape (n_features,), float64
        The vector u, only with `return_ranker=True`.

    Raises
    ------
    ValueError, TypeError
        As `SeparableStream`.

    Notes
    -----
    Cost O(n_queries * n_docs * n_features).

    References
    ----------
    Chaudhuri and Tewari (2017), section 8 (simulated data set) and Eq. 21.
    """
    n_queries = check_count(n_queries, name="n_queries")
    return_ranker = check_bool(return_ranker, name="return_ranker")
    stream = SeparableStream(
        n_queries,
        n_docs=n_docs,
        n_features=n_features,
        n_grades=n_grades,
        margin=margin,
        dtype=dtype,
        random_state=random_state,
    )
    n_docs, n_features = stream._n_docs, stream._n_features
    n_rows = n_queries * n_docs
    X = np.empty((n_rows, n_features), dtype=stream._dtype)
    y = np.empty(n_rows, dtype=np.int32)
    for first in range(0, n_rows, stream._block_queries * n_docs):
        X_block, y_block = stream._draw_block()
        last = min(first + y_block.shape[0], n_rows)
        X[first:last] = X_block[: last - first]
        y[first:last] = y_block[: last - first]
    dataset = RankingDataset(X, y, qptr=np.arange(0, n_rows + 1, n_docs, dtype=np.int64))
    return (dataset, stream.ranker.copy()) if return_ranker else dataset
