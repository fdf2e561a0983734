"""Names of measures: what `ndcg@10` means, and how every other tool spells it.

One parser reads all spellings. Letter case, underscores, hyphens and blanks inside a name do not matter; a cut-off is
written `@10`, `_10`, `.10`, `_cut_10`, `_at_10` or, as in CatBoost, `:top=10`; settings of one measure go into
brackets, as in ir_measures: `AP(rel=2)@100`.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from typing import Any, ClassVar

from fastrank._validation import check_choice, check_count, check_real

KINDS = ("dcg", "ndcg", "ap", "rr", "precision", "recall", "success", "wta", "err", "bpref", "rprec", "tau")
"""The measures."""

CUT_KINDS = frozenset({"dcg", "ndcg", "ap", "rr", "precision", "recall", "success", "err"})
"""Those that may stop at rank k."""

REL_KINDS = frozenset({"ap", "rr", "precision", "recall", "success", "bpref", "rprec"})
"""Those that divide documents into relevant ones and others, so that a threshold matters."""

GAIN_KINDS = frozenset({"dcg", "ndcg"})
"""Those that add up gains."""

_MAX_CUT = 2**31 - 1  # no list is longer

# What other tools and papers call them; case, underscores, hyphens and blanks are left out before looking up.
_OTHER_NAMES = {
    "dcg": "discountedcumulativegain dcgscore",
    "ndcg": "normalizeddcg normalizeddiscountedcumulativegain ndcgscore ndcgburges",
    "ap": "map averageprecision meanaverageprecision averageprecisionscore",
    "rr": "mrr reciprank reciprocalrank meanreciprocalrank",
    "precision": "p prec pre precisionat setp",
    "recall": "r recallat setr setrecall",
    "success": "hit hitrate",
    "wta": "winnertakesall winnertakeall",
    "err": "expectedreciprocalrank",
    "rprec": "rprecision",
    "tau": "taub kendalltau kendalltaub",
}
_KIND_OF = {name: kind for kind in KINDS for name in (kind, *_OTHER_NAMES.get(kind, "").split())}

# tool -> kind -> (spelling for the whole list, spelling with a cut-off); "" where the tool has none.
_SPELLINGS: dict[str, dict[str, tuple[str, str]]] = {
    "trec_eval": {
        "ndcg": ("ndcg", "ndcg_cut_{k}"),
        "ap": ("map", "map_cut_{k}"),
        "rr": ("recip_rank", ""),
        "precision": ("set_P", "P_{k}"),
        "recall": ("set_recall", "recall_{k}"),
        "success": ("", "success_{k}"),
        "bpref": ("bpref", ""),
        "rprec": ("Rprec", ""),
    },
    "ir_measures": {
        "ndcg": ("nDCG", "nDCG@{k}"),
        "ap": ("AP", "AP@{k}"),
        "rr": ("RR", "RR@{k}"),
        "precision": ("SetP", "P@{k}"),
        "recall": ("SetR", "R@{k}"),
        "success": ("", "Success@{k}"),
        "err": ("", "ERR@{k}"),
        "bpref": ("Bpref", ""),
        "rprec": ("Rprec", ""),
    },
    "ranx": {
        "ndcg": ("ndcg", "ndcg@{k}"),
        "ap": ("map", "map@{k}"),
        "rr": ("mrr", "mrr@{k}"),
        "precision": ("precision", "precision@{k}"),
        "recall": ("recall", "recall@{k}"),
        "success": ("hit_rate", "hit_rate@{k}"),
        "bpref": ("bpref", ""),
        "rprec": ("r-precision", ""),
    },
    "sklearn": {"dcg": ("dcg_score", ""), "ndcg": ("ndcg_score", ""), "ap": ("average_precision_score", "")},
    "lightgbm": {"ndcg": ("", "ndcg@{k}"), "ap": ("", "map@{k}")},
    "xgboost": {"ndcg": ("ndcg", "ndcg@{k}"), "ap": ("map", "map@{k}"), "precision": ("pre", "pre@{k}")},
    "catboost": {
        "dcg": ("DCG", "DCG:top={k}"),
        "ndcg": ("NDCG", "NDCG:top={k}"),
        "ap": ("MAP", "MAP:top={k}"),
        "rr": ("MRR", "MRR:top={k}"),
        "err": ("ERR", "ERR:top={k}"),
        "precision": ("PrecisionAt", "PrecisionAt:top={k}"),
        "recall": ("RecallAt", "RecallAt:top={k}"),
    },
    "ranklib": {
        "dcg": ("", "DCG@{k}"),
        "ndcg": ("", "NDCG@{k}"),
        "ap": ("MAP", ""),
        "rr": ("", "RR@{k}"),
        "precision": ("", "P@{k}"),
        "err": ("", "ERR@{k}"),
    },
    "torchmetrics": {
        "ndcg": ("RetrievalNormalizedDCG", ""),
        "ap": ("RetrievalMAP", ""),
        "rr": ("RetrievalMRR", ""),
        "precision": ("RetrievalPrecision", ""),
        "recall": ("RetrievalRecall", ""),
        "success": ("RetrievalHitRate", ""),
        "rprec": ("RetrievalRPrecision", ""),
    },
}

_SHORT_NAMES = {"precision": "p"}

_PATTERN = re.compile(
    r"(?P<name>[a-z][a-z_\- ]*?)"
    r"(?:\((?P<settings>[^()]*)\))?"
    r"(?:(?:@|_cut[_.@]|_at_|at|[_.])(?P<k>[0-9]+)|:(?P<catboost>.*))?"
)

# Settings that other tools write into a name, as (setting, value) -> (our field, our value).
_SETTINGS = {
    ("gain", "linear"): ("gain", "linear"),
    ("gain", "exp2"): ("gain", "exp2"),
    ("type", "base"): ("gain", "linear"),
    ("type", "exp"): ("gain", "exp2"),
    ("dcg", "log2"): ("gain", "linear"),
    ("dcg", "exp-log2"): ("gain", "exp2"),
    ("denominator", "logposition"): None,
}


@dataclass(frozen=True)
class Metric:
    """A measure of one ranked list: what is measured, and down to which rank.

    Parameters
    ----------
    kind : str
        One of "dcg", "ndcg", "ap", "rr", "precision", "recall", "success", "wta", "err", "bpref", "rprec", "tau".
    k : int or None, default=None
        Ranks that count; None is the whole list, unless the convention has a default cut-off for bare names.
    rel : float or None, default=None
        Grades from here on are relevant. None leaves it to the convention.
    gain : {"linear", "exp2"} or None, default=None
        Gain of (N)DCG. None leaves it to the convention.

    Examples
    --------
    >>> metric = parse_metric("ndcg_cut_10")
    >>> metric
    Metric('ndcg@10')
    >>> metric.kind, metric.k, metric.safe_name, metric.spellings["catboost"]
    ('ndcg', 10, 'ndcg_at_10', 'NDCG:top=10')
    """

    kind: str
    k: int | None = None
    rel: float | None = None
    gain: str | None = None

    greater_is_better: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_choice(self.kind, KINDS, name="kind")
        if self.k is not None:
            if self.kind not in CUT_KINDS:
                raise ValueError(f"k: expected None, as {self.kind} is of the whole list, got {self.k!r}")
            object.__setattr__(self, "k", _check_cut(self.k))
        if self.rel is not None:
            if self.kind not in REL_KINDS:
                raise ValueError(f"rel: expected None, as {self.kind} knows no relevant documents, got {self.rel!r}")
            object.__setattr__(self, "rel", check_real(self.rel, name="rel", zero=True))
        if self.gain is not None:
            if self.kind not in GAIN_KINDS:
                raise ValueError(f"gain: expected None, as {self.kind} has no gains, got {self.gain!r}")
            check_choice(self.gain, ("linear", "exp2"), name="gain")

    @property
    def name(self) -> str:
        """Our spelling, such as "ndcg@10", "ap", "p@5" or "ap(rel=2)@100"."""
        settings = self._settings("{}={}", ", ")
        cut = "" if self.k is None else f"@{self.k}"
        return _SHORT_NAMES.get(self.kind, self.kind) + (f"({settings})" if settings else "") + cut

    @property
    def safe_name(self) -> str:
        """The name in letters, digits and underscores only, such as "ndcg_at_10": for mlflow, columns, files."""
        settings = self._settings("{}_{}", "_").replace(".", "p").replace("-", "m").replace("+", "")
        cut = "" if self.k is None else f"at_{self.k}"
        return "_".join(part for part in (_SHORT_NAMES.get(self.kind, self.kind), settings, cut) if part)

    @property
    def trec_name(self) -> str | None:
        """trec_eval's spelling, such as "ndcg_cut_10", "map" or "P_5"; None where trec_eval has no such measure."""
        return self.spellings.get("trec_eval")

    @property
    def spellings(self) -> dict[str, str]:
        """What the tools that have it call this measure. `parse_metric` reads all of them.

        The same name is not always the same number: see `fastrank.metrics.CONVENTIONS`. A measure with settings of its
        own has only our name, that of ir_measures where it can say it, and a safe one for mlflow, the only spelling
        that `parse_metric` does not read back.
        """
        found = {"fastrank": self.name, "mlflow": self.safe_name}
        for tool, kinds in _SPELLINGS.items():
            bare, cut = kinds.get(self.kind, ("", ""))
            spelling = bare if self.k is None else cut.format(k=self.k)
            if spelling and self.rel is None and self.gain is None:
                found[tool] = spelling
            elif spelling and tool == "ir_measures" and self.gain is None:
                name, at, k = spelling.partition("@")
                found[tool] = f"{name}({self._settings('{}={}', ', ')}){at}{k}"
        return found

    def _settings(self, form: str, separator: str) -> str:
        settings = {"rel": None if self.rel is None else _exact(self.rel), "gain": self.gain}
        return separator.join(form.format(name, value) for name, value in settings.items() if value is not None)

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"Metric({self.name!r})"


def parse_metric(metric: str | Metric) -> Metric:
    """Return the measure that a name means, in any tool's spelling.

    Parameters
    ----------
    metric : str or Metric
        For example "ndcg@10", "nDCG@10", "ndcg_cut_10", "ndcg_at_10", "NDCG:top=10", "map", "AP(rel=2)@100",
        "recip_rank", "mrr@10", "P_5", "R@100", "hit_rate@1", "R-precision", "kendall_tau".

    Returns
    -------
    Metric
        A `Metric` is returned as it is.

    Raises
    ------
    ValueError
        For a name that no tool has, naming those that are close, and for a cut-off below 1.

    Examples
    --------
    >>> [parse_metric(name).name for name in ("MAP", "ndcg_cut.10", "P_5", "AP(rel=2)@100", "hit@1")]
    ['ap', 'ndcg@10', 'p@5', 'ap(rel=2)@100', 'success@1']
    """
    if isinstance(metric, Metric):
        return metric
    if not isinstance(metric, str):
        raise TypeError(f"metric: expected a name such as 'ndcg@10' or a Metric, got {metric!r}")
    text = metric.strip().lower()
    if text.endswith("-"):
        raise ValueError(f"metric: expected a name, got {metric!r}; for the final '-' of XGBoost pass empty=0")
    found = _PATTERN.fullmatch(text)
    if found is None:
        name, at, cut = text.partition("@")
        if at and _kind(name) is not None:
            raise ValueError(f"metric: expected a whole number of at least 1 after '@', got {cut!r} in {metric!r}")
        raise _unknown(metric, re.split(r"[^a-z_\- ]", text)[0])
    kind = _kind(found["name"])
    if kind is None:
        raise _unknown(metric, found["name"])
    settings: dict[str, Any] = {}
    if _compact(found["name"]) == "ndcgburges":  # ranx's name for the gain of Burges et al.
        settings["gain"] = "exp2"
    if found["k"] is not None:
        settings["k"] = int(found["k"])
    for setting in re.split(r"[,;]", found["settings"] or found["catboost"] or ""):
        if setting.strip():
            settings.update(_read_setting(setting, metric))
    if settings.get("k", 1) < 1:
        raise ValueError(f"metric: expected a cut-off of at least 1, got {settings['k']} in {metric!r}")
    try:
        return Metric(kind, **settings)
    except ValueError as error:
        raise ValueError(f"metric: cannot read {metric!r}: {error}") from None


def parse_metrics(metrics: Any) -> tuple[Metric, ...]:
    """Return measures from a name, a Metric, or a sequence of them; the same measure twice is one."""
    names = [metrics] if isinstance(metrics, (str, Metric)) else metrics
    try:
        found = tuple(dict.fromkeys(parse_metric(name) for name in names))
    except TypeError as error:
        if "metric:" in str(error):
            raise
        raise TypeError(f"metrics: expected a list of names such as ['ndcg@10', 'map'], got {metrics!r}") from None
    if not found:
        raise ValueError("metrics: expected at least one measure, got none; pass for example ['ndcg@10', 'map']")
    return found


def _check_cut(k: Any) -> int:
    cut = check_count(k, name="k")
    if cut > _MAX_CUT:
        raise ValueError(f"k: expected at most {_MAX_CUT:,}, got {cut}; None is the whole list")
    return cut


def _exact(number: float) -> str:
    """The number in few digits, but in as many as tell it from others: different measures have different names."""
    short = f"{number:g}"
    return short if float(short) == number else repr(number)


def _compact(name: str) -> str:
    return re.sub(r"[_\- ]", "", name)


def _kind(name: str) -> str | None:
    return _KIND_OF.get(_compact(name).removeprefix("retrieval"))


def _read_setting(setting: str, metric: str) -> dict[str, Any]:
    key, _, value = (part.strip().strip("'\"") for part in setting.partition("="))
    if key in ("rel", "top", "k"):
        try:
            return {"rel": float(value)} if key == "rel" else {"k": int(value)}
        except ValueError:
            raise ValueError(f"metric: expected a number after '{key}=', got {value!r} in {metric!r}") from None
    if (key, value) not in _SETTINGS:
        raise ValueError(
            f"metric: expected the settings rel=, top=, type=Base or type=Exp, got {setting.strip()!r} in {metric!r}; "
            "pass others as arguments, such as judged_only= or discount="
        )
    field = _SETTINGS[key, value]
    return {} if field is None else dict([field])


def _unknown(metric: str, name: str) -> ValueError:
    close = difflib.get_close_matches(_compact(name), _KIND_OF, n=3)
    hint = f"; did you mean {' or '.join(map(repr, dict.fromkeys(close)))}?" if close else ""
    kinds = ", ".join(_SHORT_NAMES.get(kind, kind) for kind in KINDS)
    return ValueError(f"metric: expected one of {kinds}, with a cut-off such as '@10', got {metric!r}{hint}")
