"""TREC judgements (qrels) and runs: readers, dictionaries and frames, and the join that measures need.

Files are parsed in C, documents are matched by hashing their ids, and no Python object is made per row.
"""

from fastrank.data.trec.joining import UNJUDGED, Joined, join
from fastrank.data.trec.pairs import Qrels, Run
from fastrank.data.trec.reading import load_qrels, load_run

__all__ = ["UNJUDGED", "Joined", "Qrels", "Run", "join", "load_qrels", "load_run"]
