r"""One way to write a table: plain text, Markdown, LaTeX, or a pandas DataFrame.

Cells are strings, numbers or None: whole numbers are written with thousands separators, others with `digits` decimals,
None as nothing. A column that holds only numbers (or text made of them, such as intervals) is aligned to the right.
"""

from __future__ import annotations

import importlib
import numbers
import re
from collections.abc import Mapping, Sequence
from typing import Any

_NUMERIC = re.compile(r"(?:[-+\d\s.,;:/%±\[\]()*<>=eE]|nan|inf)+")
_MARKDOWN = re.compile(r"([\\|*_`~<])")
_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "_": r"\_",
    "%": r"\%",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
}


def text_table(headers: Sequence[str], rows: Sequence[Sequence[Any]], *, digits: int = 4) -> str:
    """Write a table in plain text: a line of headers, then a line per row, columns two spaces apart.

    Parameters
    ----------
    headers : sequence of str
    rows : sequence of sequences
        Cells (str, number or None), as many per row as there are headers.
    digits : int, default=4
        Decimals of numbers that are not integers.

    Returns
    -------
    str
        Lines without trailing blanks, the last one without a line end.

    Examples
    --------
    >>> print(text_table(["metric", "mean", "queries"], [["ndcg@10", 0.41237, 1200], ["ap", -0.3, 7]]))
    metric      mean  queries
    ndcg@10   0.4124    1,200
    ap       -0.3000        7
    """
    lines, right = _layout(headers, rows, digits)
    return "\n".join("  ".join(line).rstrip() for line in _padded(lines, right))


def markdown_table(headers: Sequence[str], rows: Sequence[Sequence[Any]], *, digits: int = 4) -> str:
    r"""Write a table in GitHub's Markdown; characters that mean something there are escaped.

    Parameters and result are those of `text_table`.

    Examples
    --------
    >>> print(markdown_table(["system", "ndcg@10"], [["bm25", 0.41237], ["a|b", "0.4300**"]]))
    | system |    ndcg@10 |
    | :----- | ---------: |
    | bm25   |     0.4124 |
    | a\|b   | 0.4300\*\* |
    """
    lines, right = _layout(headers, rows, digits)
    head, *body = _padded([[_MARKDOWN.sub(r"\\\1", cell) for cell in line] for line in lines], right, least=3)
    rule = [
        "-" * (len(cell) - 1) + ":" if is_right else ":" + "-" * (len(cell) - 1)
        for cell, is_right in zip(head, right, strict=True)
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, rule, *body))


def latex_table(
    headers: Sequence[str], rows: Sequence[Sequence[Any]], *, digits: int = 4, booktabs: bool = False
) -> str:
    r"""Write a LaTeX `tabular` with horizontal lines; special characters are escaped, and a minus is a minus.

    Parameters
    ----------
    headers, rows, digits
        As in `text_table`.
    booktabs : bool, default=False
        Use the rules of the package booktabs, which the document must load; without it plain LaTeX will do.

    Examples
    --------
    >>> print(latex_table(["system", "change"], [["my_run", "-3.1 %"]]))
    \begin{tabular}{lr}
    \hline
    system & change \\
    \hline
    my\_run & $-$3.1 \% \\
    \hline
    \end{tabular}
    """
    lines, right = _layout(headers, rows, digits)
    written = [" & ".join(map(_latex_cell, line)) + r" \\" for line in lines]
    # A line break takes a star or a bracket after it for its own.
    written = ["{}" + line if line.startswith(("[", "*")) else line for line in written]
    top, middle, bottom = (r"\toprule", r"\midrule", r"\bottomrule") if booktabs else (r"\hline",) * 3
    columns = "".join("r" if is_right else "l" for is_right in right)
    return "\n".join(
        [rf"\begin{{tabular}}{{{columns}}}", top, written[0], middle, *written[1:], bottom, r"\end{tabular}"]
    )


def data_frame(columns: Mapping[str, Any]) -> Any:
    """Return the columns as a pandas DataFrame, or say what to install."""
    try:
        pandas = importlib.import_module("pandas")
    except ImportError:
        raise ImportError(
            "to_frame: expected pandas to be installed; pip install 'fastrank-ltr[frames]', or use to_dict()"
        ) from None
    return pandas.DataFrame(dict(columns))


def _layout(headers: Sequence[str], rows: Sequence[Sequence[Any]], digits: int) -> tuple[list[list[str]], list[bool]]:
    """The cells as text, headers first, and which columns go to the right."""
    for number, row in enumerate(rows):
        if len(row) != len(headers):
            raise ValueError(f"rows: expected {len(headers)} cells (one per header), got {len(row)} in row {number}")
    body = [[_text(cell, digits) for cell in row] for row in rows]
    right = [_is_numeric([row[column] for row in body]) for column in range(len(headers))]
    return [[_text(header, digits) for header in headers], *body], right


def _text(cell: Any, digits: int) -> str:
    if cell is None:
        return ""
    if isinstance(cell, bool) or not isinstance(cell, numbers.Real):
        return " ".join(str(cell).split())  # a line end would end the row
    return f"{cell:,}" if isinstance(cell, numbers.Integral) else f"{float(cell):.{digits}f}"


def _is_numeric(cells: list[str]) -> bool:
    filled = [cell for cell in cells if cell]
    return bool(filled) and all(_NUMERIC.fullmatch(cell) for cell in filled)


def _padded(lines: list[list[str]], right: list[bool], least: int = 0) -> list[list[str]]:
    widths = [max(least, *map(len, column)) for column in zip(*lines, strict=True)]
    return [
        [
            cell.rjust(width) if is_right else cell.ljust(width)
            for cell, width, is_right in zip(line, widths, right, strict=True)
        ]
        for line in lines
    ]


def _latex_cell(cell: str) -> str:
    escaped = "".join(_LATEX.get(letter, letter) for letter in cell)
    return escaped.replace("-", "$-$") if _NUMERIC.fullmatch(cell) else escaped
