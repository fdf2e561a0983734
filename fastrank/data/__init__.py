"""The data room: data sets, readers and writers, the binary cache, generators, folds and scalers."""

from fastrank.data.adversary import MinimaxAdversary
from fastrank.data.dataset import Query, RankingDataset
from fastrank.data.folds import Fold, QueryKFold, load_letor_folds, split_queries
from fastrank.data.generators import (
    SeparableStream,
    make_gov_like,
    make_mslr_like,
    make_separable,
    make_two_gaussians,
)
from fastrank.data.letor import iter_letor, load_group, load_letor, save_letor
from fastrank.data.plan import QueryPlan
from fastrank.data.scaler import QueryScaler
from fastrank.data.trec import Qrels, Run, load_qrels, load_run

__all__ = [
    "Fold",
    "MinimaxAdversary",
    "Qrels",
    "Query",
    "QueryKFold",
    "QueryPlan",
    "QueryScaler",
    "RankingDataset",
    "Run",
    "SeparableStream",
    "iter_letor",
    "load_group",
    "load_letor",
    "load_letor_folds",
    "load_qrels",
    "load_run",
    "make_gov_like",
    "make_mslr_like",
    "make_separable",
    "make_two_gaussians",
    "save_letor",
    "split_queries",
]
