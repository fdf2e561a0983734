"""Conventions: the choices on which tools that print the same name differ, as one object with a name.

============  ======  ========  ===================  ==================  ===========  =======  ========  ====
convention    gain    discount  ties                 empty query counts  short list   ap_norm  scores    bare
============  ======  ========  ===================  ==================  ===========  =======  ========  ====
fastrank      exp2    log2      mean                 0                   keep         R        as given  all
letor         exp2    letor     index                0                   ndcg@k is 0  R        as given  all
trec_eval     linear  log2      docid                0                   keep         R        as given  all
sklearn       linear  log2      mean; ap: threshold  0                   keep         R        as given  all
lightgbm      exp2    log2      index                1                   keep         min      as given
xgboost       exp2    log2      index                0; ndcg, ap: 1      p@k shrinks  min      float32   @32
catboost      linear  log2      worst                0; ndcg, recall: 1  p@k shrinks  min      as given  all
ranklib       exp2    log2      index                0                   p@k shrinks  R        as given  @10
torchmetrics  linear  log2      mean; ap: index      0                   keep         found    float32   all
============  ======  ========  ===================  ==================  ===========  =======  ========  ====

gain
    "exp2" is 2^grade - 1, "linear" the grade itself.
discount
    "log2" is 1 / log2(1 + rank); "letor" is 1, 1, then 1 / log2(rank), as LETOR's evaluation scripts have it.
ties
    Documents with equal scores: "index" keeps the order of the rows; "worst" and "best" put the lowest or the highest
    grade first; "mean" is the expected value over all orders of the tied documents; "docid" puts the higher document id
    first; "threshold" counts every document of a tied block at the rank where the block ends (average precision as
    scikit-learn has it; other measures as "worst").
empty
    The value of a query without a relevant document (for NDCG: whose ideal DCG is 0; for ERR: where no document can
    satisfy; for Kendall's tau: where it is undefined): 0, 1, "skip" (NaN, not in the mean), "nan" (the mean is NaN too)
    or "error".
short
    A list with fewer than k documents: "keep" counts what is there; "zero" makes the measure 0; "shrink" divides
    precision by the length of the list instead of k.
ap_norm
    AP@k divides by "R", the number of relevant documents, by "min", the lesser of that and k, or by "found", the number
    of relevant documents among the first k.
bare
    The cut-off of a name without one. In LightGBM a bare name means five values, `eval_at`: name the cut-offs.

Relevant are grades above 0; with `rel=x` grades of at least x. LightGBM and CatBoost ask for more than 0.5, which
differs only for grades that are not whole. ERR's chance that a document satisfies is (2^grade - 1) / 2^max_grade;
RankLib takes max_grade 4, CatBoost the grade itself.

Not imitated: limits (LightGBM: 10,000 documents, 31 grades; XGBoost: binary labels for map and pre; scikit-learn: at
least two documents), torchmetrics' habit to count documents with scores of 0 and below as not relevant, the order in
which it breaks ties (that of `torch.topk`, which is not stable), RankLib's MAP@k (it ignores k), XGBoost's final "-"
(pass `empty=0`).
"""

from __future__ import annotations

import difflib
import inspect
import numbers
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any, ParamSpec, TypeAlias, TypedDict, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from fastrank._validation import check_bool, check_choice, check_count, check_real
from fastrank.metrics.names import CUT_KINDS, KINDS

P = ParamSpec("P")
R = TypeVar("R")

Table: TypeAlias = "str | Sequence[float] | Callable[[Any], ArrayLike]"
"""A named formula, values by grade (or by rank), or a function of grades (or ranks)."""

TIES = ("index", "worst", "best", "mean", "docid", "threshold")
EMPTY = (0, 1, "skip", "nan", "error")
SHORT = ("keep", "zero", "shrink")
AP_NORMS = ("R", "min", "found")

_MAX_SHOWN = 8  # entries of a table that a convention's name may have


@dataclass(frozen=True)
class Convention:
    """Everything that a measure's name leaves open.

    `ties`, `empty` and `short` may be mappings from a kind of measure ("ndcg", "ap", ...) to its rule; kinds that a
    mapping leaves out take the field's default.

    Parameters
    ----------
    name : str, default="custom"
    gain : {"exp2", "linear"}, sequence or callable, default="exp2"
        Gain of DCG and NDCG: a formula, gains of the grades 0, 1, 2, ..., or a function of an array of grades.
    discount : {"log2", "letor"}, sequence or callable, default="log2"
        Weight of each rank: a formula, weights of ranks 1, 2, 3, ..., or a function of an array of ranks.
    ties : {"mean", "index", "worst", "best", "docid", "threshold"} or mapping, default="mean"
    empty : {0, 1, "skip", "nan", "error"} or mapping, default=0
    short : {"keep", "zero", "shrink"} or mapping, default="keep"
    ap_norm : {"R", "min", "found"}, default="R"
    rel : float or None, default=None
        Grades from here on are relevant; None: grades above 0.
    judged_only : bool, default=False
        Take documents without a judgement (NaN labels) out of the list before it is ranked.
    score_dtype : {"float32", "float64"} or None, default=None
        Round scores first, which may make ties. None: as they are given.
    default_k : mapping from kind to int, default={}
        Cut-offs of bare names.
    stop : {"exp2", "linear"}, sequence or callable, default="exp2"
        ERR's chance that a document of some grade satisfies the user.
    max_grade : float or None, default=None
        The largest grade there can be, for stop="exp2". None: the largest of the data.

    Examples
    --------
    >>> mine = Convention("mine", gain="linear", ties="worst", empty={"ndcg": "skip"})
    >>> mine.rule("empty", "ndcg"), mine.rule("empty", "ap")
    ('skip', 0)
    """

    name: str = "custom"
    gain: Table = "exp2"
    discount: Table = "log2"
    ties: str | Mapping[str, str] = "mean"
    empty: float | str | Mapping[str, float | str] = 0
    short: str | Mapping[str, str] = "keep"
    ap_norm: str = "R"
    rel: float | None = None
    judged_only: bool = False
    score_dtype: str | None = None
    default_k: Mapping[str, int] = field(default_factory=dict)
    stop: Table = "exp2"
    max_grade: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise TypeError(f"name: expected a string, got {self.name!r}")
        checked = {
            "gain": _check_table(self.gain, ("exp2", "linear"), "gain"),
            "discount": _check_table(self.discount, ("log2", "letor"), "discount"),
            "stop": _check_table(self.stop, ("exp2", "linear"), "stop"),
            "ties": _check_rules(self.ties, TIES, "ties"),
            "empty": _check_rules(self.empty, EMPTY, "empty"),
            "short": _check_rules(self.short, SHORT, "short"),
            "ap_norm": check_choice(self.ap_norm, AP_NORMS, name="ap_norm"),
            "rel": None if self.rel is None else check_real(self.rel, name="rel", zero=True),
            "judged_only": check_bool(self.judged_only, name="judged_only"),
            "score_dtype": _check_score_dtype(self.score_dtype),
            "default_k": _check_default_k(self.default_k),
            "max_grade": None if self.max_grade is None else check_real(self.max_grade, name="max_grade", zero=True),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, MappingProxyType(value) if isinstance(value, dict) else value)

    def rule(self, field_name: str, kind: str) -> Any:
        """Return the value of `ties`, `empty` or `short` for one kind of measure."""
        value = getattr(self, field_name)
        return value.get(kind, _DEFAULTS[field_name]) if isinstance(value, Mapping) else value

    def __hash__(self) -> int:
        # mappings have no hash; equal conventions have equal names
        return hash(self.name)

    def __reduce__(self) -> tuple[object, ...]:
        # read-only mappings do not pickle
        values = (getattr(self, one.name) for one in fields(self))
        return Convention, tuple(dict(value) if isinstance(value, Mapping) else value for value in values)


_DEFAULTS = {one.name: one.default for one in fields(Convention)}


class Overrides(TypedDict, total=False):
    """Fields of a `Convention` that every function takes as keywords; None leaves the convention's own."""

    gain: Table | None
    discount: Table | None
    ties: str | Mapping[str, str] | None
    empty: float | str | Mapping[str, float | str] | None
    short: str | Mapping[str, str] | None
    ap_norm: str | None
    rel: float | None
    judged_only: bool | None
    score_dtype: str | None
    default_k: Mapping[str, int] | None
    stop: Table | None
    max_grade: float | None


def resolve_convention(convention: str | Convention | None, overrides: Overrides | None = None) -> Convention:
    """Return the convention of this name (None: "fastrank"), with the fields that overrides give.

    Examples
    --------
    >>> resolve_convention("letor", {"ties": "worst"}).name
    "letor, ties='worst'"
    """
    if isinstance(convention, Convention):
        found = convention
    elif convention is None or (isinstance(convention, str) and convention in CONVENTIONS):
        found = CONVENTIONS["fastrank" if convention is None else convention]
    else:
        raise ValueError(
            f"convention: expected one of {', '.join(map(repr, CONVENTIONS))} or a Convention, "
            f"got {convention!r}{_suggestion(convention, CONVENTIONS)}"
        )
    unknown = [name for name in overrides or () if name not in Overrides.__annotations__]
    if unknown:
        raise TypeError(
            f"{unknown[0]}: expected a field of the convention ({', '.join(Overrides.__annotations__)}), "
            f"got {unknown[0]!r}{_suggestion(unknown[0], Overrides.__annotations__)}"
        )
    given: dict[str, Any] = {name: value for name, value in (overrides or {}).items() if value is not None}
    if not given:
        return found
    changed = replace(found, **given)
    differing = [name for name in given if getattr(changed, name) != getattr(found, name)]
    notes = [f"{name}={_brief(getattr(changed, name))}" for name in differing]
    return replace(changed, name=", ".join([found.name, *notes]))


_PARAMETERS = """\
    qid : array-like of shape (n_rows,), optional
        The query of each row: any hashable ids, in any order. Without `qid` and `group` a vector is one query.
    group : array-like of int, optional
        Number of rows of each query, rows being adjacent.
    convention : str or Convention, default="fastrank"
        How ties, empty queries and the rest count: "fastrank", "letor", "trec_eval", "sklearn", "lightgbm", "xgboost",
        "catboost", "ranklib", "torchmetrics"; see `CONVENTIONS`.
    gain, discount, ties, empty, short, ap_norm, rel, judged_only, score_dtype, default_k, stop, max_grade : optional
        Fields of the convention to change; see `Convention`.
    docid : sequence, optional
        A document id per row, for ties="docid"; a data set's own are taken without it.
    n_jobs : int or None, default=None
        Threads; None is 1, -1 all CPUs. Values have the same bits for any number.
"""


def takes_convention(function: Callable[P, R]) -> Callable[P, R]:
    """Complete a function with `**overrides`: their names in its signature, `{shared}` parameters in its docstring."""
    if function.__doc__ is not None:
        function.__doc__ = function.__doc__.replace("    {shared}\n", _PARAMETERS)
    signature = inspect.signature(function)
    parameters = [one for one in signature.parameters.values() if one.kind is not inspect.Parameter.VAR_KEYWORD]
    place = next(i for i, one in enumerate(parameters) if one.name == "convention") + 1
    parameters[place:place] = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=hint.__forward_arg__)
        for name, hint in Overrides.__annotations__.items()
    ]
    function.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return function


def _brief(value: Any) -> str:
    if callable(value):
        return getattr(value, "__name__", "a function")
    if isinstance(value, tuple) and len(value) > _MAX_SHOWN:
        return f"a table of {len(value)}"
    return repr(dict(value) if isinstance(value, Mapping) else value)


def first_difference(ours: Convention, theirs: Convention) -> str | None:
    """Return the first field on which two conventions differ, None where they agree; names are only labels."""
    for one in fields(Convention):
        if one.name != "name" and getattr(ours, one.name) != getattr(theirs, one.name):
            return one.name
    return None


def _suggestion(name: Any, known: Any) -> str:
    close = difflib.get_close_matches(str(name).lower(), known, n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def _check_table(value: Any, names: tuple[str, ...], name: str) -> Table:
    """Return a formula's name, a function, or a tuple of finite numbers of 0 and above."""
    if callable(value):
        return value  # type: ignore[no-any-return]
    if isinstance(value, str):
        return str(check_choice(value, names, name=name))
    table = np.asarray(value)
    if table.ndim != 1 or table.dtype.kind not in "iuf" or table.size == 0:
        shown = ", ".join(map(repr, names))
        raise TypeError(f"{name}: expected one of {shown}, a list of numbers or a function, got {value!r}")
    return tuple(check_nonnegative(table, name).tolist())


def check_nonnegative(values: ArrayLike, name: str) -> Any:
    """Return the values as float64 if they are finite and not negative."""
    try:
        table = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name}: expected numbers, got {values!r}") from None
    bad = ~(np.isfinite(table) & (table >= 0))
    if bad.any():
        raise ValueError(
            f"{name}: expected finite values of 0 and above, got {table[bad][0]:g} at position {int(np.argmax(bad))}"
        )
    return table


def _check_rules(value: Any, choices: tuple[Any, ...], name: str) -> Any:
    if isinstance(value, Mapping):
        return {
            _check_kind(kind, name): _check_rule(rule, choices, f"{name}[{kind!r}]") for kind, rule in value.items()
        }
    return _check_rule(value, choices, name)


def _check_rule(value: Any, choices: tuple[Any, ...], name: str) -> Any:
    if isinstance(value, bool) or not isinstance(value, (str, numbers.Real)):
        shown = ", ".join(map(repr, choices))
        raise TypeError(f"{name}: expected one of {shown}, or a mapping from kinds of measures to these, got {value!r}")
    chosen = check_choice(value, choices, name=name)
    return chosen if isinstance(chosen, str) else int(chosen)


def _check_kind(kind: Any, name: str) -> str:
    if kind not in KINDS:
        raise ValueError(
            f"{name}: expected kinds of measures ({', '.join(KINDS)}), got {kind!r}{_suggestion(kind, KINDS)}"
        )
    return str(kind)


def _check_score_dtype(value: Any) -> str | None:
    if value is None:
        return None
    try:
        found = str(np.dtype(value))
    except TypeError:
        found = ""
    if found not in ("float32", "float64"):
        raise ValueError(f"score_dtype: expected 'float32', 'float64' or None, got {value!r}")
    return found


def _check_default_k(value: Any) -> dict[str, int]:
    if not isinstance(value, Mapping):
        raise TypeError(f"default_k: expected a mapping such as {{'ndcg': 10}}, got {value!r}")
    for kind in value:
        if _check_kind(kind, "default_k") not in CUT_KINDS:
            raise ValueError(f"default_k: expected measures that have a cut-off, got {kind!r}")
    return {kind: check_count(k, name=f"default_k[{kind!r}]") for kind, k in value.items()}


_ABOVE_HALF = float(np.nextafter(np.float32(0.5), np.float32(1)))
"""The least float32 above 0.5: these tools keep labels in that type."""

CONVENTIONS: Mapping[str, Convention] = MappingProxyType(
    {
        convention.name: convention
        for convention in (
            Convention("fastrank"),
            Convention("letor", discount="letor", ties="index", short={"ndcg": "zero"}),
            Convention("trec_eval", gain="linear", ties="docid", rel=1),
            Convention("sklearn", gain="linear", ties={"ap": "threshold"}),
            Convention("lightgbm", ties="index", empty=1, ap_norm="min", rel=_ABOVE_HALF),
            Convention(
                "xgboost",
                ties="index",
                empty={"ndcg": 1, "ap": 1},
                short={"precision": "shrink"},
                ap_norm="min",
                score_dtype="float32",
                default_k={"ndcg": 32, "ap": 32, "precision": 32},
            ),
            Convention(
                "catboost",
                gain="linear",
                ties="worst",
                empty={"ndcg": 1, "recall": 1},
                short={"precision": "shrink"},
                ap_norm="min",
                rel=_ABOVE_HALF,
                stop="linear",
            ),
            Convention(
                "ranklib",
                ties="index",
                short={"precision": "shrink"},
                default_k={"dcg": 10, "ndcg": 10, "precision": 10, "err": 10},
                max_grade=4,
            ),
            Convention("torchmetrics", gain="linear", ties={"ap": "index"}, ap_norm="found", score_dtype="float32"),
        )
    }
)
"""The bundles by name. "fastrank" is the default."""
