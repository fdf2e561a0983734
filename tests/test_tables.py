from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastrank.metrics._tables import data_frame, latex_table, markdown_table, text_table

HEADERS = ["system", "ndcg@10", "queries"]
ROWS = [["bm25", 0.41236, 12000], ["my_run|x", np.float32(-0.5), np.int64(7)], ["", None, None]]


def test_text_aligns_numbers_to_the_right():
    assert text_table(HEADERS, ROWS) == (
        "system    ndcg@10  queries\nbm25       0.4124   12,000\nmy_run|x  -0.5000        7\n"
    )


def test_text_without_rows_is_the_headers():
    assert text_table(["a", "bc"], []) == "a  bc"
    assert markdown_table(["a", "bc"], []) == "| a   | bc  |\n| :-- | :-- |"


def test_digits_and_special_values():
    table = text_table(["x"], [[0.123456], [np.nan], [np.inf], [1.0]], digits=2)
    assert table.splitlines() == ["   x", "0.12", " nan", " inf", "1.00"]


def test_text_made_of_numbers_is_aligned_like_numbers():
    lines = text_table(["95 % interval", "w/t/l"], [["[-0.1, +0.2]", "1/2/3"], ["[0, 1]", "10/20/30"]]).splitlines()
    assert lines[1:] == [" [-0.1, +0.2]     1/2/3", "       [0, 1]  10/20/30"]


def test_line_ends_in_cells_do_not_cut_a_row():
    assert len(text_table(["a\nb"], [["c\n\td"]]).splitlines()) == 2
    assert len(markdown_table(["a\nb"], [["c\n\td"]]).splitlines()) == 3


def test_markdown_escapes():
    lines = markdown_table(["a|b", "p"], [["*x*_`~<b>\\", "0.04**"]]).splitlines()
    assert lines[0].startswith(r"| a\|b ")
    assert lines[2] == r"| \*x\*\_\`\~\<b>\\ | 0.04\*\* |"
    assert [line.count("|") - line.count(r"\|") for line in lines] == [3, 3, 3]
    assert {len(line) for line in lines} == {len(lines[0])}


def test_markdown_rule_tells_the_alignment():
    rule = markdown_table(HEADERS, ROWS).splitlines()[1]
    assert rule == "| :--------- | ------: | ------: |"


def test_latex_escapes_and_aligns():
    table = latex_table(["a_b & c", "#"], [[r"100% {x}~^\$", -1.5]])
    assert table == "\n".join(
        [
            r"\begin{tabular}{lr}",
            r"\hline",
            r"a\_b \& c & \# \\",
            r"\hline",
            r"100\% \{x\}\textasciitilde{}\textasciicircum{}\textbackslash{}\$ & $-$1.5000 \\",
            r"\hline",
            r"\end{tabular}",
        ]
    )


def test_latex_with_booktabs():
    lines = latex_table(["a"], [["b"]], booktabs=True).splitlines()
    assert [lines[1], lines[3], lines[5]] == [r"\toprule", r"\midrule", r"\bottomrule"]


@pytest.mark.parametrize("cell", ["[0, 1]", "*"])
def test_latex_line_break_does_not_swallow_the_next_cell(cell):
    # \\[0, 1] would ask for vertical space, \\* forbid a page break.
    assert latex_table(["a"], [[cell]]).splitlines()[4] == "{}" + cell + r" \\"


def test_minus_in_a_name_stays_a_hyphen():
    assert "ColBERT-v2 &" in latex_table(["system", "x"], [["ColBERT-v2", -1]])


@given(st.text(alphabet="\\{}$&#_%~^<>|[]*-+ab01 \n", max_size=12))
def test_latex_cells_leave_no_special_character_bare(cell):
    row = latex_table(["x"], [[cell]]).splitlines()[4].removesuffix(r" \\").removeprefix("{}")
    # Removing what is a legal way to write a character leaves letters that mean themselves.
    for written in (r"\textbackslash{}", r"\textasciitilde{}", r"\textasciicircum{}", r"\textless{}"):
        row = row.replace(written, "")
    for written in (r"\textgreater{}", r"\textbar{}", "$-$", r"\{", r"\}", r"\$", r"\&", r"\#", r"\_", r"\%"):
        row = row.replace(written, "")
    assert not set(row) & set("\\{}$&#_%~^<>|")


@pytest.mark.parametrize("write", [text_table, markdown_table, latex_table])
def test_rows_of_the_wrong_length(write):
    with pytest.raises(ValueError, match=r"rows: expected 3 cells \(one per header\), got 2 in row 1"):
        write(HEADERS, [["a", 1, 2], ["b", 1]])


def test_data_frame_keeps_order():
    pytest.importorskip("pandas")
    frame = data_frame({"b": [1, 2], "a": ["x", "y"]})
    assert list(frame.columns) == ["b", "a"]
    assert frame["b"].tolist() == [1, 2]


def test_data_frame_without_pandas(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"fastrank-ltr\[frames\]"):
        data_frame({"a": [1]})
