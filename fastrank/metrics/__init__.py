"""The metrics room: every ranking measure under every tool's convention, one sort per query.

Our default, convention="fastrank": gain 2^grade - 1, discount 1 / log2(1 + rank), relevant is a grade above 0, a query
without a relevant document counts 0, AP divides by all relevant documents, P@k by k. Documents with equal scores count
as the mean over all their orders: no value depends on the order of the rows, and a constant scorer gets what chance
gets and cannot win. What other tools do instead is a name away, `convention="lightgbm"`; the table is in
`fastrank.metrics.conventions`.
"""

from fastrank.metrics.comparison import Comparison, compare
from fastrank.metrics.conventions import CONVENTIONS, Convention
from fastrank.metrics.evaluation import Evaluation, evaluate, evaluate_lists
from fastrank.metrics.functions import (
    ap,
    bpref,
    dcg,
    err,
    kendall_tau,
    ndcg,
    precision,
    r_precision,
    recall,
    rr,
    success,
    wta,
)
from fastrank.metrics.names import Metric, parse_metric
from fastrank.metrics.stream import StreamEvaluator

__all__ = [
    "CONVENTIONS",
    "Comparison",
    "Convention",
    "Evaluation",
    "Metric",
    "StreamEvaluator",
    "ap",
    "bpref",
    "compare",
    "dcg",
    "err",
    "evaluate",
    "evaluate_lists",
    "kendall_tau",
    "ndcg",
    "parse_metric",
    "precision",
    "r_precision",
    "recall",
    "rr",
    "success",
    "wta",
]
