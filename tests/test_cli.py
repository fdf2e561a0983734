from __future__ import annotations

import os
import re
import subprocess
import sys

import numpy as np
import pytest

import fastrank as fr
from fastrank.cli import main


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "train.txt"
    path.write_text("2 qid:a 1:0.125 3:-2 #docid = x\n0 qid:a 2:1e-3 #docid = y\n1 qid:b 1:7 #docid = z\n")
    return path


def test_info_says_what_a_bug_report_needs(capsys):
    assert main(["info"]) == 0
    shown = capsys.readouterr().out
    for name in ("fastrank", "python", "numpy", "scipy", "compiler", "cpu path", "threads"):
        assert re.search(rf"^{name} ", shown, re.MULTILINE), name
    assert re.search(r"cpu path +(baseline|x86-64-v\d)", shown)
    if fr.__version__ != "0+unknown":
        assert re.search(r"^\[plot\] +matplotlib ", shown, re.MULTILINE)


def test_demo_reads_back_what_it_wrote(capsys):
    assert main(["demo", "--queries", "12", "--seed", "3"]) == 0
    shown = capsys.readouterr().out
    assert "separable stream   RankingDataset: 12 queries, 240 documents" in shown
    assert "MSLR-like          RankingDataset: 12 queries" in shown
    assert re.search(r"read, 1 thread +[\d.]+ ms +\d+ MB/s +equal to what was written", shown)
    assert "DIFFERENT" not in shown


def test_convert_there_and_back(text, tmp_path, capsys):
    assert main(["convert", str(text), str(tmp_path / "cache")]) == 0
    assert "RankingDataset: 2 queries, 3 documents" in capsys.readouterr().out
    assert main(["convert", str(tmp_path / "cache"), str(tmp_path / "back.txt.gz"), "--quiet"]) == 0
    assert capsys.readouterr().out == ""
    one, two = fr.load_letor(text), fr.load_letor(tmp_path / "back.txt.gz")
    assert np.array_equal(one.X, two.X)
    assert np.array_equal(one.row_qid(), two.row_qid())
    assert list(one.docid) == list(two.docid)


def test_convert_options_reach_the_reader(tmp_path):
    source = tmp_path / "t.txt"
    source.write_text("1 qid:1 0:NULL 2:0.1\n")
    options = ["--index-base", "0", "--missing", "-1", "--float64", "--features", "5", "--sparse"]
    assert main(["convert", str(source), str(tmp_path / "c"), *options]) == 0
    data = fr.RankingDataset.load(tmp_path / "c")
    assert data.X.toarray().tolist() == [[-1.0, 0.0, 0.1, 0.0, 0.0]]


def test_convert_refuses_to_replace(text, tmp_path, capsys):
    (tmp_path / "cache").mkdir()
    assert main(["convert", str(text), str(tmp_path / "cache")]) == 2
    assert "which exists; pass --overwrite" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "said"),
    [(None, "nothing there"), ("1 1:0.5\n", "train.txt:1: expected qid:ID"), ("", "empty file")],
)
def test_mistakes_are_one_sentence_and_exit_code_2(text, tmp_path, capsys, content, said):
    if content is None:
        text.unlink()
    else:
        text.write_text(content)
    assert main(["convert", str(text), str(tmp_path / "out")]) == 2
    shown = capsys.readouterr()
    assert said in shown.err
    assert "Traceback" not in shown.err
    assert not (tmp_path / "out").exists()


def test_bad_missing_value(text, tmp_path, capsys):
    assert main(["convert", str(text), str(tmp_path / "out"), "--missing", "maybe"]) == 2
    assert "--missing: expected error, nan or a number, got 'maybe'" in capsys.readouterr().err


def test_interrupt_leaves_nothing(text, tmp_path, monkeypatch, capsys):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("fastrank.cli.convert.cache.save", interrupted)
    assert main(["convert", str(text), str(tmp_path / "out")]) == 130
    assert "interrupted" in capsys.readouterr().err


def test_command_runs_as_a_module():
    found = subprocess.run(
        [sys.executable, "-P", "-m", "fastrank", "--version"], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == f"fastrank {fr.__version__}"


def test_closed_pipe_is_not_an_error():
    script = f"{sys.executable} -P -m fastrank info | head -c 1; exit ${{PIPESTATUS[0]}}"
    found = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert found.returncode == 0
    assert "Traceback" not in found.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["demo", "--queries", "0"], "--queries: expected an integer of at least 1, got 0"),
        (["demo", "--seed", "-1"], "--seed: expected an integer of at least 0, got -1"),
    ],
)
def test_demo_arguments(arguments, said, capsys):
    assert main(arguments) == 2
    assert said in capsys.readouterr().err


def test_convert_onto_itself_and_into_nowhere(text, tmp_path, capsys):
    assert main(["convert", str(text), str(text), "--overwrite"]) == 2
    assert "expected a destination other than the source" in capsys.readouterr().err
    assert main(["convert", str(text), str(tmp_path / "nowhere" / "c")]) == 2
    assert "expected a folder to write to" in capsys.readouterr().err


def test_unknown_cpu_level_is_a_sentence_too():
    command = [sys.executable, "-P", "-m", "fastrank", "info"]
    environment = {**os.environ, "FASTRANK_CPU": "pentium"}
    found = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert found.returncode == 2
    assert found.stderr.startswith("fastrank: FASTRANK_CPU: expected auto")
