"""TREC judgements and runs, line by line, and their join by dictionaries. Slow, and obviously right."""

from __future__ import annotations

import re
from typing import NamedTuple

UNJUDGED = -(2**31)
NUMBER = re.compile(rb"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
INFINITE = re.compile(rb"[+-]?(inf|infinity)", re.IGNORECASE)
COLUMNS = {False: 4, True: 6}


class MistakeError(ValueError):
    """What is wrong (a name), on which 1-based line, and on which line before a document was that comes twice."""

    def __init__(self, kind: str, line: int | None = None, earlier: int | None = None) -> None:
        super().__init__(f"{kind} on line {line}")
        self.kind, self.line, self.earlier = kind, line, earlier


class Table(NamedTuple):
    """`pairs[qid][docid]` is a relevance or a score; queries and documents in order of first appearance."""

    pairs: dict[str, dict[str, float]]
    tag: str


def read(data: bytes, *, is_run: bool) -> Table:
    """Read the bytes of a file.

    Raises
    ------
    MistakeError
        For the first line that is not of the format; then for the first document that its query has already.
    """
    if data.startswith(b"\xef\xbb\xbf"):
        raise MistakeError("byte order mark", 1)
    rows = []
    tag = ""
    for number, line in enumerate(data.split(b"\n"), start=1):
        tokens = [token for token in re.split(rb"[ \t\r]", line) if token]
        if not tokens or tokens[0].startswith(b"#"):
            continue
        try:
            rows.append((number, *_row(tokens, is_run)))
        except UnicodeDecodeError:
            raise MistakeError("not_utf8", number) from None
        except MistakeError as mistake:
            raise MistakeError(mistake.kind, number) from None
        tag = tokens[5].decode(errors="replace") if is_run else ""
    if not rows:
        raise MistakeError("no_rows")
    pairs: dict[str, dict[str, float]] = {}
    lines: dict[tuple[str, str], int] = {}
    for number, qid, docid, value in rows:
        if (qid, docid) in lines:
            raise MistakeError("twice", number, lines[qid, docid])
        lines[qid, docid] = number
        pairs.setdefault(qid, {})[docid] = value
    return Table(pairs, tag)


def _row(tokens: list[bytes], is_run: bool) -> tuple[str, str, float]:
    n_columns = COLUMNS[is_run]
    value_column = 4 if is_run else 3
    for column, token in enumerate(tokens[:n_columns]):
        if column != value_column and any(byte < 0x20 for byte in token):
            raise MistakeError("control")
    if len(tokens) < n_columns:
        raise MistakeError("short")
    if len(tokens) > n_columns and not is_run:
        raise MistakeError("long")
    text = tokens[value_column]
    if not (NUMBER.fullmatch(text) or (is_run and INFINITE.fullmatch(text))):
        raise MistakeError("bad number")
    value = float(text)
    if not is_run and not (abs(value) < 2**31 and value == int(value)):
        raise MistakeError("bad number")
    return tokens[0].decode(), tokens[2].decode(), value if is_run else int(value)


class Joined(NamedTuple):
    """Per query, ascending by id: grades in rank order, and the grades of judged documents that are not in the list."""

    grades: dict[str, list[int]]
    missing: dict[str, list[int]]
    only_in_run: list[str]
    only_in_qrels: list[str]


def join(
    qrels: dict[str, dict[str, int]],
    run: dict[str, dict[str, float]],
    *,
    complete: bool = False,
    max_docs: int | None = None,
    judged_only: bool = False,
) -> Joined:
    """Rank by (score, id), both descending; a negative relevance is no judgement."""
    grades, missing = {}, {}
    for qid in sorted(qrels, key=str.encode):
        if qid not in run and not complete:
            continue
        scores = run.get(qid, {})
        ranked = sorted(scores, key=lambda docid: (scores[docid], docid.encode()), reverse=True)[:max_docs]
        judged = {docid: relevance for docid, relevance in qrels[qid].items() if relevance >= 0}
        grades[qid] = [judged.get(docid, UNJUDGED) for docid in ranked if docid in judged or not judged_only]
        missing[qid] = [relevance for docid, relevance in judged.items() if docid not in ranked]
    return Joined(
        grades,
        missing,
        [qid for qid in run if qid not in qrels],
        [qid for qid in sorted(qrels, key=str.encode) if qid not in run],
    )
