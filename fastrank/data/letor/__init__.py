"""LETOR / SVMlight text: `grade qid:ID 1:v 2:v ... # comment`, read whole, read query by query, and written."""

from fastrank.data.letor.list_lengths import load_group
from fastrank.data.letor.reading import load_letor
from fastrank.data.letor.streaming import iter_letor
from fastrank.data.letor.writing import save_letor

__all__ = ["iter_letor", "load_group", "load_letor", "save_letor"]
