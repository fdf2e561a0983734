"""What all learners share: parameters, data in either form, and linear scores."""

from __future__ import annotations

import inspect
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fastrank._threads import resolve_n_jobs, row_blocks, run_blocks
from fastrank._validation import check_matrix, check_vector, plural
from fastrank.data.dataset import RankingDataset
from fastrank.losses._base import ScoreLoss
from fastrank.objectives._rows import rows_of


class NotFittedError(ValueError, AttributeError):
    """A model was asked for what only a fitted one has."""


class Estimator:
    """Parameters as scikit-learn has them: `__init__` stores its arguments as they are, and `fit` checks them."""

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        parameters = inspect.signature(cls.__init__).parameters
        return {name: parameter.default for name, parameter in parameters.items() if name != "self"}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name. `deep` is there for scikit-learn: no parameter is an estimator itself."""
        return {name: getattr(self, name) for name in self._defaults()}

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name; a fitted model keeps what it has learned.

        Raises
        ------
        ValueError
            For a name that is not one of them; then none is set.
        """
        known = self._defaults()
        for name in params:
            if name not in known:
                raise ValueError(f"set_params: expected some of {', '.join(known)}, got {name!r}")
        vars(self).update(params)
        return self

    def __repr__(self) -> str:
        changed = [
            f"{name}={_short(value)}"
            for (name, default), value in zip(self._defaults().items(), self.get_params().values(), strict=True)
            if not (value is default or (type(value) is type(default) and bool(value == default)))
        ]
        return f"{type(self).__name__}({', '.join(changed)})"


def _short(value: Any) -> str:
    """A loss is written as its constructor; its repr has the formula too."""
    return str(value) if isinstance(value, ScoreLoss) else repr(value)


def as_dataset(
    X: Any,
    y: Any = None,
    *,
    qid: Any = None,
    group: Any = None,
    sample_weight: Any = None,
    query_weight: Any = None,
    n_jobs: int | None = None,
) -> RankingDataset:
    """Return the data set that was given, or the one that the arrays make; at least one row and one feature.

    Raises
    ------
    ValueError, TypeError
        For arrays beside a data set, for missing values, which linear scores cannot have, and as `RankingDataset`.
    """
    if isinstance(X, RankingDataset):
        given = {"y": y, "qid": qid, "group": group, "sample_weight": sample_weight, "query_weight": query_weight}
        for name, value in given.items():
            if value is not None:
                raise ValueError(f"{name}: expected None with a RankingDataset, which has its own, got a value")
        data = X
        if data.allow_nan:
            check_matrix(data.X, n_threads=resolve_n_jobs(n_jobs))
    elif y is None:
        raise ValueError("y: expected the grades of the rows of X, got none; pass y and qid, or a RankingDataset")
    else:
        data = RankingDataset(
            X, y, qid=qid, group=group, sample_weight=sample_weight, query_weight=query_weight, n_jobs=n_jobs
        )
    if data.n_rows == 0 or data.n_features == 0:
        raise ValueError(
            f"X: expected at least one document with one feature, got {plural(data.n_rows, 'row')} and "
            f"{plural(data.n_features, 'feature')}"
        )
    return data


class LinearModel(Estimator):
    """A model whose score is w . x.

    Attributes
    ----------
    coef_ : ndarray of float64, shape (n_features_in_,)
        w.
    n_features_in_ : int
        Features of the data learned from.
    """

    def _weights(self) -> NDArray[np.float64]:
        if not hasattr(self, "coef_"):
            raise not_fitted(self)
        w: NDArray[np.float64] = self.coef_
        return w

    def _linear_scores(self, X: Any) -> NDArray[np.float64]:
        """X w in float64, rows as given; of a data set too."""
        w, n_threads = self._weights(), resolve_n_jobs(getattr(self, "n_jobs", None))
        if isinstance(X, RankingDataset) and not X.allow_nan:
            matrix = X.X
        else:
            matrix = check_matrix(X.X if isinstance(X, RankingDataset) else X, n_threads=n_threads)
        check_width(matrix.shape[1], len(w))
        scores = np.empty(matrix.shape[0])
        if len(scores):
            rows = rows_of(matrix)

            def score(first: int, last: int) -> None:
                rows.scores_into(w, first, last, scores)

            run_blocks(score, row_blocks(len(scores)), n_threads)
        return scores


class RankingModel(LinearModel):
    """A linear model that ranks the documents of a query by their scores."""

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return the score w . x of each row, higher is better; queries play no part in it.

        Parameters
        ----------
        X : RankingDataset, array, CSR matrix or data frame, shape (n_rows, n_features_in_)

        Returns
        -------
        ndarray of float64, shape (n_rows,)
            In the order of the rows.

        Raises
        ------
        ValueError, TypeError
            For a model that is not fitted, another number of features, and values that are not finite.
        """
        return self._linear_scores(X)


def check_width(n_features: int, expected: int) -> None:
    """Refuse data of another width than a model has."""
    if n_features != expected:
        raise ValueError(f"X: expected {plural(expected, 'feature')}, as in the data learned from, got {n_features:,}")


def check_comparator(comparator: ArrayLike, n_features: int | None = None) -> NDArray[np.float64]:
    """Return a vector other than 0, one entry per feature."""
    size = np.size(comparator) if n_features is None else n_features
    u = check_vector(comparator, size, name="comparator", per="one per feature")
    if not u.any():
        raise ValueError("comparator: expected a vector other than 0, got zeros only")
    return u


def not_fitted(model: object) -> NotFittedError:
    """Return the error of a model that has learned nothing yet."""
    return NotFittedError(f"{type(model).__name__}: expected a fitted model, got one that is not; call fit first")
