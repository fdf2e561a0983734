"""LETOR / SVMlight text read line by line, as the format is defined. Slow, and obviously right."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

BLANKS = b" \t\r"
NUMBER = re.compile(rb"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
MISSING = re.compile(rb"[+-]?(null|nan)", re.IGNORECASE)
INFINITE = re.compile(rb"[+-]?(inf|infinity)", re.IGNORECASE)
LARGEST_INDEX = 2**31 - 2


class MistakeError(ValueError):
    """What is wrong (a name), and on which 1-based line."""

    def __init__(self, kind: str, line: int | None = None) -> None:
        super().__init__(f"{kind} on line {line}")
        self.kind, self.line = kind, line


class Table(NamedTuple):
    """One entry per row. `qid` is None where the lines have none; a row without comment has the docid ''."""

    X: NDArray[Any]
    y: NDArray[np.float64]
    qid: list[str] | None
    docid: list[str]
    line: list[int]


def read(
    data: bytes,
    *,
    dtype: Any = np.float64,
    n_features: int | None = None,
    index_base: int = 1,
    missing: str | float = "error",
    comments: str | None = "docid",
    with_qid: bool = True,
) -> Table:
    """Read the bytes of a file.

    Raises
    ------
    MistakeError
        For the first line that is not `grade qid:ID index:value ... # comment`; without a line where there is no row.
    """
    rows: list[dict[int, float]] = []
    y: list[float] = []
    qid: list[str] = []
    docid: list[str] = []
    lines: list[int] = []
    for number, line in enumerate(data.split(b"\n"), start=1):
        body, _, comment = line.partition(b"#")
        tokens = [token for token in re.split(b"[ \t\r]", body) if token]
        if not tokens:
            continue
        try:
            y.append(_grade(tokens.pop(0)))
            if with_qid:
                qid.append(_qid(tokens))
            rows.append(_features(tokens, np.dtype(dtype), n_features, index_base, missing))
            docid.append("" if comments is None else _docid(comment.strip(BLANKS), comments))
        except MistakeError as mistake:
            raise MistakeError(mistake.kind, number) from None
        lines.append(number)
    if not rows:
        raise MistakeError("no_rows")
    width = max((index + 1 - index_base for row in rows for index in row), default=0)
    X = np.zeros((len(rows), width if n_features is None else n_features), dtype=dtype)
    for i, row in enumerate(rows):
        for index, value in row.items():
            X[i, index - index_base] = value
    return Table(X, np.array(y), qid if with_qid else None, docid, lines)


def ids(texts: list[str]) -> list[Any]:
    """Ids as a data set has them: integers where all are written as integers are, else the texts."""
    return [int(text) for text in texts] if all(map(is_integer, texts)) else texts


def is_integer(text: str) -> bool:
    """Tell whether a text is how an int64 is written."""
    return re.fullmatch(r"0|-?[1-9][0-9]{0,18}", text) is not None and -(2**63) <= int(text) < 2**63


def _grade(text: bytes) -> float:
    if MISSING.fullmatch(text) or INFINITE.fullmatch(text):
        raise MistakeError("infinite_grade")
    if not NUMBER.fullmatch(text):
        raise MistakeError("bad_grade")
    grade = float(text)
    if np.isinf(grade):
        raise MistakeError("infinite_grade")
    if grade < 0:
        raise MistakeError("negative_grade")
    return grade


def _qid(tokens: list[bytes]) -> str:
    if not tokens or not tokens[0].startswith(b"qid:"):
        raise MistakeError("no_qid")
    text = tokens.pop(0).removeprefix(b"qid:")
    if not text:
        raise MistakeError("empty_qid")
    decoded = _decoded(text)
    if any(character.isspace() or ord(character) < 32 or ord(character) == 127 for character in decoded):
        raise MistakeError("bad_qid")
    return decoded


def _decoded(text: bytes) -> str:
    try:
        decoded = text.decode("utf-8")
    except UnicodeDecodeError:
        raise MistakeError("not_utf8") from None
    if "\0" in decoded:
        raise MistakeError("not_utf8")
    return decoded


def _docid(comment: bytes, comments: str) -> str:
    named = re.match(rb"docid[ \t\r]*=[ \t\r]*([^ \t\r]*)", comment)
    return _decoded(named[1] if named and comments == "docid" else comment)


def _features(
    tokens: list[bytes], dtype: np.dtype[Any], n_features: int | None, index_base: int, missing: str | float
) -> dict[int, float]:
    row: dict[int, float] = {}
    last = -1
    for token in tokens:
        digits = re.match(rb"[0-9]*", token)[0]  # type: ignore[index]
        index = LARGEST_INDEX + 1 if len(digits.lstrip(b"0")) > 10 else int(digits or b"0")
        if index > LARGEST_INDEX:
            raise MistakeError("bad_index")
        if not digits or token[len(digits) : len(digits) + 1] != b":":
            raise MistakeError("late_qid" if token.startswith(b"qid:") else "bad_token")
        if index < index_base:
            raise MistakeError("bad_index")
        if index <= last:
            raise MistakeError("duplicate" if index == last else "unordered")
        row[index] = _value(token[len(digits) + 1 :], dtype, missing)
        if n_features is not None and index - index_base >= n_features:
            raise MistakeError("bad_index")
        last = index
    return row


def _value(text: bytes, dtype: np.dtype[Any], missing: str | float) -> float:
    if MISSING.fullmatch(text):
        if missing == "error":
            raise MistakeError("missing")
        return float(missing)
    if INFINITE.fullmatch(text):
        raise MistakeError("infinite")
    if not NUMBER.fullmatch(text):
        raise MistakeError("bad_number")
    with np.errstate(over="ignore"):
        value = dtype.type(float(text))
    if np.isinf(value):
        raise MistakeError("infinite")
    return float(value)
