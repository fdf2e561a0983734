"""How a file is to be read, and what to say of one that is not of the format."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from fastrank._core import _letor
from fastrank._errors import DataFormatError
from fastrank._validation import check_bool, check_choice, check_count, check_float_dtype

_ANY_COLUMN = 2**31 - 1
_NOT_IN_IDS = re.compile(r"[\s#\x00-\x1f\x7f]")
_OTHER_FILES = {
    b"\xef\xbb\xbf": "save the file without a byte order mark",
    b"\xff\xfe": "convert the file from UTF-16 to UTF-8",
    b"\xfe\xff": "convert the file from UTF-16 to UTF-8",
    b"BZh": "unpack the file, which bzip2 packed; only gzip is read as it is",
    b"\xfd7zXZ": "unpack the file, which xz packed; only gzip is read as it is",
    b"\x28\xb5\x2f\xfd": "unpack the file, which zstd packed; only gzip is read as it is",
    b"PK\x03\x04": "unpack the zip archive; only gzip is read as it is",
}
"""How files start that are not LETOR text, and what to do about it."""


@dataclass(frozen=True)
class LetorFormat:
    """How a file is to be read."""

    dtype: np.dtype[Any]
    sparse: bool
    index_base: int
    allow_missing: bool
    missing: float
    comments: int
    n_columns: int
    fixed_columns: bool
    with_qid: bool = True
    by_query: bool = False

    @classmethod
    def check(
        cls,
        n_features: int | None,
        dtype: DTypeLike,
        sparse: bool,
        index_base: int,
        missing: str | float,
        comments: str | None,
    ) -> LetorFormat:
        """Make the format of a reader's arguments."""
        kind = check_float_dtype(dtype)
        sparse = check_bool(sparse, name="sparse")
        check_choice(index_base, (0, 1), name="index_base")
        check_choice(comments, tuple(_letor.COMMENTS), name="comments")
        if isinstance(missing, str):
            check_choice(missing, ("error", "nan"), name="missing")
        elif isinstance(missing, bool) or not isinstance(missing, (int, float, np.integer, np.floating)):
            raise TypeError(f"missing: expected 'error', 'nan' or a number, got {missing!r}")
        elif not abs(missing) <= float(np.finfo(kind).max):
            raise ValueError(f"missing: expected 'error', 'nan' or a finite {kind}, got {missing!r}")
        if n_features is not None:
            n_features = check_count(n_features, name="n_features", least=0)
            if n_features > _ANY_COLUMN:
                raise ValueError(f"n_features: expected at most {_ANY_COLUMN:,} (2^31 - 1), got {n_features:,}")
        unknown = _ANY_COLUMN if sparse else 0
        return cls(
            dtype=kind,
            sparse=sparse,
            index_base=index_base,
            allow_missing=missing != "error",
            missing=float("nan") if missing in ("nan", "error") else float(missing),
            comments=_letor.COMMENTS[comments],
            n_columns=unknown if n_features is None else n_features,
            fixed_columns=n_features is not None,
        )


def is_id(text: str) -> bool:
    """Tell whether a text can stand as an id: not empty, and without white space of any script, '#' and controls."""
    return bool(text) and _NOT_IN_IDS.search(text) is None


def shown(text: bytes) -> str:
    """Text of a file for a message: short, and with bytes that are not printable ASCII escaped."""
    return repr(text[:60])[1:] + ("..." if len(text) > 60 else "")


def mistake(path: str, line: int, status: str, text: bytes, format_: LetorFormat) -> DataFormatError:
    got = shown(text) if text else "the end of the line"
    index = text.split(b":")[0]
    last = format_.index_base + format_.n_columns - 1
    beyond = format_.fixed_columns and index.isdigit() and len(index) <= 10 and int(index) > last
    message = {
        "bad_grade": f"expected the line to start with a grade (a number, such as 0 or 2), got {got}; "
        + next(
            (mend for start, mend in _OTHER_FILES.items() if line == 1 and text.startswith(start)),
            "put '#' before lines that are not documents",
        ),
        "negative_grade": f"expected a grade of 0 (not relevant) or above, got {got}; shift the grades, or drop "
        "unjudged lines",
        "infinite_grade": f"expected a finite grade, got {got}; drop lines without a judgement",
        "no_qid": f"expected qid:ID behind the grade, got {got}; add the query ids, or "
        + (
            "read the file with load_letor, which takes list lengths"
            if format_.by_query
            else "pass list lengths as group="
        ),
        "empty_qid": f"expected an id directly behind 'qid:', got {got}; add the query id",
        "bad_qid": f"expected an id without white space and control characters behind 'qid:', got {got}; write spaces "
        "between the parts of a line, and rename such ids",
        "late_qid": f"expected index:value, got {got}; the qid stands once, directly behind the grade, on every line "
        "or on none",
        "bad_token": f"expected index:value with an integer index, got {got}; put '#' before a comment",
        "bad_index": f"expected feature indices up to {last}, as n_features or the first lines say, got {got}; pass a "
        "larger n_features="
        if beyond
        else f"expected a feature index of {format_.index_base} or above (and below 2^31 - 1), got {got}"
        + ("; pass index_base=0 for files that count features from 0" if index == b"0" else "; number the features"),
        "unordered": f"expected ascending feature indices, got {got} behind a larger index; sort the features of the "
        "line",
        "duplicate": f"expected each feature once, got {got} behind the same index; remove one of them",
        "bad_number": f"expected index:number, got {got}; write numbers as 1, -0.5 or 2e-3",
        "missing": f"expected a number, got the missing value {got}; pass missing='nan' to keep it as NaN, or the "
        "number to put in its place",
        "infinite": f"expected a finite {format_.dtype}, got {got}; clip or drop such values"
        + (", or pass dtype='float64' if it is only too large for float32" if format_.dtype == np.float32 else ""),
        "not_utf8": f"expected ids and comments in UTF-8 without NUL bytes, got {got}; convert the file to UTF-8, or "
        "pass comments=None if only the comment is at fault",
    }[status]
    return DataFormatError(message, path=path, line=line)


def no_rows(path: str) -> DataFormatError:
    return DataFormatError(
        "expected at least one line `grade qid:ID index:value ...`, got an empty file or only comments; is this the "
        "right file?",
        path=path,
    )
