"""Generated ranking data with known properties, each drawn from an explicit seed.

Four laws: margin-separable queries (as a data set and as a stream), an MSLR-like set, a .gov-like set and the two
Gaussians of a small simulation. Equal arguments and an equal integer seed give equal rows.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterator
from typing import Any, Literal, TypeAlias, overload

import numpy as np
import numpy.typing as npt

from fastrank._validation import check_count
from fastrank.data.dataset import Query, RankingDataset

__all__ = [
    "SeparableStream",
    "make_gov_like",
    "make_mslr_like",
    "make_separable",
    "make_two_gaussians",
    "separable_stream",
]

RandomState: TypeAlias = int | np.random.Generator
FloatArray: TypeAlias = npt.NDArray[np.floating[Any]]

# Rows handled at once. The scratch arrays of a block then stay in the second-level cache.
_BLOCK_ROWS = 2048

_MAX_LIST_LENGTH = 900
_MEAN_LIST_LENGTH = 120.0
_LOG_LENGTH_SD = 0.6
_MSLR_GRADE_SHARES = (0.52, 0.32, 0.13, 0.02, 0.01)


def _check_real(name: str, value: Any, *, zero: bool) -> float:
    wanted = "a finite number of at least 0" if zero else "a finite number greater than 0"
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name}: expected {wanted}, got {value!r}")
    number = float(value)
    if not np.isfinite(number) or number < 0.0 or (number == 0.0 and not zero):
        raise ValueError(f"{name}: expected {wanted}, got {value!r}")
    return number


def _check_bool(name: str, value: Any) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name}: expected True or False, got {value!r}")
    return bool(value)


def _check_float_dtype(dtype: npt.DTypeLike) -> np.dtype[Any]:
    try:
        found = np.dtype(dtype)
    except TypeError:
        raise TypeError(f"dtype: expected float32 or float64, got {dtype!r}") from None
    if dtype is None or found not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise ValueError(f"dtype: expected float32 or float64, got {dtype!r}")
    return found


def _check_random_state(random_state: Any) -> np.random.Generator:
    if isinstance(random_state, np.random.Generator):
        return random_state
    try:
        seed = check_count(random_state, name="random_state", least=0)
    except TypeError:
        raise TypeError(
            "random_state: expected an integer seed or a numpy.random.Generator, "
            f"got {random_state!r}; pass for example random_state=0"
        ) from None
    return np.random.default_rng(seed)


def _dot(X: FloatArray, w: FloatArray) -> FloatArray:
    # Not X @ w: a threaded BLAS may add in another order, and a seed would no longer fix the last bits.
    out: FloatArray = np.einsum("ij,j->i", X, w)
    return out


class SeparableStream(Iterator[Query]):
    """Yield margin-separable queries one after the other, without end or up to a number.

    Made by `separable_stream`, which see for the law and the parameters.

    Attributes
    ----------
    ranker : ndarray of shape (n_features,), float64
        The unit-norm vector that separates every query of the stream.
    margin : float
        The margin of `ranker`.
    radius : float
        R_X, an upper bound of the Euclidean norm of every row.
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
        """Check the arguments, then draw the ranker and the centers of the grades."""
        self._left = None if n_queries is None else check_count(n_queries, name="n_queries")
        self._n_docs = check_count(n_docs, name="n_docs")
        self._n_features = check_count(n_features, name="n_features")
        self._n_grades = check_count(n_grades, name="n_grades", least=2)
        self.margin = _check_real("margin", margin, zero=False)
        self._dtype = _check_float_dtype(dtype)
        self._rng = _check_random_state(random_state)

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

        self._block_queries = max(1, _BLOCK_ROWS // self._n_docs)
        self._X: FloatArray = np.empty((0, self._n_features), dtype=self._dtype)
        self._y: npt.NDArray[np.int32] = np.empty(0, dtype=np.int32)
        self._row = 0
        self._n_yielded = 0

    def _draw_block(self) -> tuple[FloatArray, npt.NDArray[np.int32]]:
        rows = self._block_queries * self._n_docs
        y = self._rng.integers(0, self._n_grades, size=rows, dtype=np.int32)
        noise = self._rng.standard_normal((rows, self._n_features))
        u = self.ranker
        along = np.clip(_dot(noise, u) / 3.0, -1.0, 1.0)
        along *= 0.5 * (self.margin - self._guard)
        along += (2.0 * y - (self._n_grades - 1)) * self.margin

        across = noise
        across *= self._spread
        across += self._centers[y]
        across -= np.multiply.outer(_dot(across, u), u)
        norms = np.sqrt(np.einsum("ij,ij->i", across, across))
        across *= ((1.0 - self._guard / self.radius) / np.maximum(norms, 1.0))[:, np.newaxis]
        # A second projection removes what rounding left along u after the first.
        across -= np.multiply.outer(_dot(across, u), u)
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


def separable_stream(
    n_queries: int | None = None,
    *,
    n_docs: int = 20,
    n_features: int = 20,
    n_grades: int = 5,
    margin: float = 0.1,
    dtype: npt.DTypeLike = np.float64,
    random_state: RandomState,
) -> SeparableStream:
    """Return an iterator of queries that one unit-norm ranker separates with a margin.

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

    Returns
    -------
    SeparableStream
        Iterator of `Query` (qid 0, 1, ...) with attributes `ranker`, `margin` and `radius`.

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
    """
    return SeparableStream(
        n_queries,
        n_docs=n_docs,
        n_features=n_features,
        n_grades=n_grades,
        margin=margin,
        dtype=dtype,
        random_state=random_state,
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
    `separable_stream` with the same arguments and seed; see there how separability is induced.

    Parameters
    ----------
    n_queries : int
        Number of queries.
    n_docs, n_features, n_grades, margin, dtype, random_state
        As in `separable_stream`.
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
        As `separable_stream`.

    Notes
    -----
    Cost O(n_queries * n_docs * n_features).

    References
    ----------
    Chaudhuri and Tewari (2017), section 8 (simulated data set) and Eq. 21.
    """
    n_queries = check_count(n_queries, name="n_queries")
    return_ranker = _check_bool("return_ranker", return_ranker)
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


@overload
def make_mslr_like(
    n_queries: int = ...,
    *,
    n_features: int = ...,
    noise: float = ...,
    dtype: npt.DTypeLike = ...,
    random_state: RandomState,
    return_ranker: Literal[False] = ...,
) -> RankingDataset: ...


@overload
def make_mslr_like(
    n_queries: int = ...,
    *,
    n_features: int = ...,
    noise: float = ...,
    dtype: npt.DTypeLike = ...,
    random_state: RandomState,
    return_ranker: Literal[True],
) -> tuple[RankingDataset, npt.NDArray[np.float64]]: ...


def make_mslr_like(
    n_queries: int = 1000,
    *,
    n_features: int = 136,
    noise: float = 1.5,
    dtype: npt.DTypeLike = np.float32,
    random_state: RandomState,
    return_ranker: bool = False,
) -> RankingDataset | tuple[RankingDataset, npt.NDArray[np.float64]]:
    """Make a noisy data set that looks like MSLR-WEB: ragged lists, five grades, features of mixed kinds.

    Grades cut a latent relevance at its quantiles,

        latent = w . T(x) + noise * N(0, 1),   T(x) = sign(x) * log(1 + |x|)  entry by entry,

    where w is scaled so that w . T(x) has unit variance over the rows.

    Parameters
    ----------
    n_queries : int
        Number of queries.
    n_features : int
        Number of features.
    noise : float
        Standard deviation of the noise relative to that of the noise-free relevance; 0 makes grades a function of x.
    dtype : {float32, float64}
        Type of the features; the values are the same.
    random_state : int or numpy.random.Generator
        The seed.
    return_ranker : bool
        Also return w.

    Returns
    -------
    dataset : RankingDataset
        List lengths are lognormal, clipped to 1..900, with mean about 120. Grades 0 to 4 have shares 52, 32, 13, 2 and
        1 % of all rows.
    ranker : ndarray of shape (n_features,), float64
        The vector w, only with `return_ranker=True`; it scores transformed rows T(x).

    Raises
    ------
    ValueError
        If an argument is out of range.
    TypeError
        If an argument is of the wrong kind.

    Notes
    -----
    The columns come in five blocks: 40 % counts (integers, many zeros, tail index 2), 15 % heavy-tailed values (from
    none to most of them zero, tail index 1), 25 % ratios in 0..1 with mass on 0 and 1, 10 % negative values like log
    probabilities, 10 % values that are constant within a query. A number per document enters the first four blocks
    and a number per query the first two, so that their columns are correlated.

    The law of a row depends on the ranker, so a training and a test set that belong together are the parts of one call.
    Cost O(rows * n_features); peak memory is the result plus a few numbers per row and a block of about 2048 rows.
    """
    n_queries = check_count(n_queries, name="n_queries")
    n_features = check_count(n_features, name="n_features")
    noise = _check_real("noise", noise, zero=True)
    out_dtype = _check_float_dtype(dtype)
    return_ranker = _check_bool("return_ranker", return_ranker)
    rng = _check_random_state(random_state)

    sizes = rng.lognormal(np.log(_MEAN_LIST_LENGTH) - 0.5 * _LOG_LENGTH_SD**2, _LOG_LENGTH_SD, n_queries)
    qptr = np.zeros(n_queries + 1, dtype=np.int64)
    np.cumsum(np.clip(np.rint(sizes), 1, _MAX_LIST_LENGTH).astype(np.int64), out=qptr[1:])
    n_rows = int(qptr[-1])
    columns = _MslrColumns(n_features, rng)

    X = np.empty((n_rows, n_features), dtype=out_dtype)
    relevance = np.empty(n_rows, dtype=np.float64)
    buffer = np.empty((_BLOCK_ROWS + _MAX_LIST_LENGTH, n_features), dtype=np.float32)
    first_query = 0
    while first_query < n_queries:
        # As many whole queries as bring the block to _BLOCK_ROWS rows; it overshoots by less than one list.
        last_query = int(np.searchsorted(qptr, min(qptr[first_query] + _BLOCK_ROWS, n_rows)))
        rows = slice(int(qptr[first_query]), int(qptr[last_query]))
        scratch = buffer[: rows.stop - rows.start]
        block = X[rows] if out_dtype == np.float32 else np.empty_like(scratch)
        columns.fill(block, np.diff(qptr[first_query : last_query + 1]), rng, scratch)
        relevance[rows] = columns.relevance(block, scratch)
        if out_dtype != np.float32:
            X[rows] = block
        first_query = last_query

    scale = float(relevance.std()) or 1.0
    relevance /= scale
    if noise > 0.0:
        relevance += noise * rng.standard_normal(n_rows)
    cuts = np.quantile(relevance, np.cumsum(_MSLR_GRADE_SHARES)[:-1])
    y = np.searchsorted(cuts, relevance, side="left").astype(np.int32)
    dataset = RankingDataset(X, y, qptr=qptr)
    return (dataset, columns.weights.astype(np.float64) / scale) if return_ranker else dataset


class _MslrColumns:
    """The parameters of every column of an MSLR-like set, and how a block of rows is drawn from them.

    Values are made from uniforms by correctly rounded operations only (+, *, /, sqrt, floor), so that a seed gives the
    same features on every machine.
    """

    _SHARES = (0.40, 0.15, 0.25, 0.10, 0.10)

    def __init__(self, n_features: int, rng: np.random.Generator) -> None:
        ends = np.rint(np.cumsum(self._SHARES) * n_features).astype(int)
        ends[-1] = n_features
        self.counts, self.heavy, self.ratios, self.negative, self.constant = (
            slice(int(a), int(b)) for a, b in zip((0, *ends[:-1]), ends, strict=True)
        )
        shape = rng.random((3, n_features))
        a, b = shape[0], shape[1]
        # Scales are log-uniform: medians of MSLR's columns range from 0 to tens of thousands. Three digits are kept, so
        # that the last bit of a power cannot make the features differ between machines.
        scale = np.empty(n_features)
        scale[self.counts] = 0.3 * 300.0 ** a[self.counts]
        scale[self.heavy] = 0.1 * 1e4 ** a[self.heavy]
        scale[self.ratios] = 1.0 + a[self.ratios]
        scale[self.negative] = 10.0 * 5.0 ** a[self.negative]
        scale[self.constant] = 10.0 * 5.0 ** a[self.constant]
        self.scale = np.round(scale, 3).astype(np.float32)
        shift = np.zeros(n_features)
        shift[self.heavy] = 2.0 * b[self.heavy]
        shift[self.ratios] = 0.9 * b[self.ratios] * scale[self.ratios]
        self.shift = np.round(shift, 3).astype(np.float32)

        # Weights are per unit of the column's usual spread after T; most favour the document, some speak against it.
        spread = np.log1p(scale)
        spread[self.ratios] = 0.25
        spread[self.negative] = 0.5
        weights = (rng.standard_normal(n_features) + 0.3) / spread
        # What is constant within a query cannot order it; it only makes some queries richer than others.
        weights[self.constant] *= 0.5
        self.weights = weights.astype(np.float32)

    def fill(
        self, block: FloatArray, sizes: npt.NDArray[np.int64], rng: np.random.Generator, scratch: FloatArray
    ) -> None:
        """Overwrite `block` (float32, C-ordered) with the rows of queries of these sizes."""
        n_constant = self.constant.stop - self.constant.start
        per_query = rng.random((sizes.shape[0], 1 + n_constant), dtype=np.float32)
        per_row = rng.random((block.shape[0], 1), dtype=np.float32)
        rng.random(dtype=np.float32, out=block)
        query_factor = np.repeat(np.float32(0.5) + per_query[:, :1], sizes, axis=0)
        factor = (np.float32(0.4) + np.float32(1.2) * per_row) * query_factor

        # odds = U / (1 - U) has P(odds > x) = 1 / (1 + x). U is a multiple of 2^-24 below 1, so 1 - U is never 0.
        odds, rest = block[:, : self.heavy.stop], scratch[:, : self.heavy.stop]
        np.subtract(np.float32(1.0), odds, out=rest)
        odds /= rest
        counts = block[:, self.counts]
        np.sqrt(counts, out=counts)
        counts *= factor
        counts *= self.scale[self.counts]
        np.floor(counts, out=counts)

        heavy = block[:, self.heavy]
        heavy *= factor
        heavy -= self.shift[self.heavy]
        np.maximum(heavy, np.float32(0.0), out=heavy)
        heavy *= self.scale[self.heavy]

        ratios = block[:, self.ratios]
        ratios += np.float32(0.5) * (per_row - np.float32(0.5))
        ratios *= self.scale[self.ratios]
        ratios -= self.shift[self.ratios]
        np.clip(ratios, np.float32(0.0), np.float32(1.0), out=ratios)

        negative = block[:, self.negative]
        negative -= np.float32(1.5) + np.float32(0.5) * (np.float32(1.0) - per_row)
        negative *= self.scale[self.negative]

        block[:, self.constant] = np.repeat(per_query[:, 1:] * self.scale[self.constant], sizes, axis=0)

    def relevance(self, block: FloatArray, scratch: FloatArray) -> FloatArray:
        """Return w . T(x) of every row of `block`."""
        np.abs(block, out=scratch)
        scratch += np.float32(1.0)
        np.log(scratch, out=scratch)
        np.copysign(scratch, block, out=scratch)
        return _dot(scratch, self.weights)


def make_gov_like(
    n_queries: int = 50,
    *,
    n_docs: int = 1000,
    n_features: int = 64,
    random_state: RandomState,
) -> RankingDataset:
    """Make a data set like the .gov collections of LETOR: long lists with very few relevant documents.

    The number r of relevant documents of a query is uniform on the integers from 0.1 % to 1.5 % of `n_docs`, and at
    least 1. The r documents with the largest w . x + N(0, 0.5^2) are relevant, where w is one random vector for all
    queries and w . x is scaled to unit variance in each.

    Parameters
    ----------
    n_queries : int
        Number of queries.
    n_docs : int
        Documents per query, at least 2.
    n_features : int
        Number of features.
    random_state : int or numpy.random.Generator
        The seed.

    Returns
    -------
    RankingDataset
        Binary grades; float64 features scaled to 0..1 per query, as LETOR ships them. Columns differ in their share of
        zeros.

    Raises
    ------
    ValueError
        If an argument is out of range.
    TypeError
        If an argument is of the wrong kind.

    Notes
    -----
    With fewer than 67 documents 1.5 % is less than one, so every query has exactly one relevant document.
    Cost O(n_queries * n_docs * (n_features + log(n_docs))).
    """
    n_queries = check_count(n_queries, name="n_queries")
    n_docs = check_count(n_docs, name="n_docs", least=2)
    n_features = check_count(n_features, name="n_features")
    rng = _check_random_state(random_state)

    few = -(-n_docs // 1000)
    many = max(few, 15 * n_docs // 1000)
    n_relevant = rng.integers(few, many + 1, size=n_queries)
    zero_share = 0.9 * rng.random(n_features)
    weights = rng.standard_normal(n_features) + 0.5
    X = np.empty((n_queries * n_docs, n_features))
    y = np.zeros(n_queries * n_docs, dtype=np.int32)
    for query in range(n_queries):
        rows = slice(query * n_docs, (query + 1) * n_docs)
        block = X[rows]
        rng.random(out=block)
        block -= zero_share
        np.maximum(block, 0.0, out=block)
        # Division by what is left to 1 bends the uniform values into a tail before they are scaled to 0..1.
        block /= 1.05 - zero_share - block
        low = block.min(axis=0)
        extent = block.max(axis=0) - low
        extent[extent == 0.0] = 1.0
        block -= low
        block /= extent
        relevance = _dot(block, weights)
        relevance /= float(relevance.std()) or 1.0
        relevance += 0.5 * rng.standard_normal(n_docs)
        y[rows.start + np.argsort(-relevance, kind="stable")[: n_relevant[query]]] = 1
    return RankingDataset(X, y, qptr=np.arange(0, n_queries * n_docs + 1, n_docs, dtype=np.int64))


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
    deviations = np.sqrt([_check_real(f"variances[{i}]", value, zero=True) for i, value in enumerate(pair)])
    rng = _check_random_state(random_state)

    y = rng.permutation(np.repeat(np.array([1, 0], dtype=np.int32), [n_relevant, n_irrelevant]))
    X = rng.standard_normal((y.shape[0], 2)) * deviations + (2.0 * y - 1.0)[:, np.newaxis]
    return RankingDataset(X, y, qptr=np.array([0, y.shape[0]], dtype=np.int64))
