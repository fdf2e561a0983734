from __future__ import annotations

import csv
import subprocess
import sys

import pytest

from fastrank.cli import main

SIMULATION = ["reproduce", "perceptron-simulation", "--queries", "300", "--tuning-queries", "50"]


def test_simulation_prints_and_writes(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    folder = tmp_path / "some" / "where"
    assert main([*SIMULATION, "--seed", "2", "--margin", "0.2", "--output", str(folder)]) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    assert shown.out.startswith("300 rounds of SeparableStream: margin 0.2, no document longer than 1.345, seed 2\n")
    assert "within the bound" in shown.out
    assert shown.out.endswith(f"wrote {folder}/perceptron-simulation.csv\nwrote {folder}/perceptron-simulation.png\n")
    assert sorted(path.name for path in folder.iterdir()) == ["perceptron-simulation.csv", "perceptron-simulation.png"]
    with (folder / "perceptron-simulation.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["learner"] for row in rows} == {
        "SLAM perceptron, rate 1/A",
        "SLAM perceptron, best rate",
        "max-pair perceptron",
        "online ListNet, best rate",
    }
    assert rows[-1]["round"] == "300"
    assert float(rows[-1]["average ndcg@10"]) == pytest.approx(1 - float(rows[-1]["cumulative_loss"]) / 300)


def test_simulation_without_matplotlib(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    monkeypatch.chdir(tmp_path)
    assert main(SIMULATION) == 0
    shown = capsys.readouterr().out
    assert "no perceptron-simulation.png: matplotlib is not installed; pip install 'fastrank-ltr[plot]'" in shown
    assert [path.name for path in tmp_path.iterdir()] == ["perceptron-simulation.csv"]


def test_minimax(tmp_path, capsys):
    assert main(["reproduce", "minimax", "--margin", "0.3", "--metric", "ap", "--output", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("10 rounds, margin 0.3")
    assert "max-pair perceptron" in shown
    assert (tmp_path / "minimax.csv").is_file()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["perceptron-simulation", "--queries", "0"], "queries: expected an integer of at least 1, got 0"),
        (["perceptron-simulation", "--seed", "-1"], "seed: expected an integer of at least 0, got -1"),
        (["perceptron-simulation", "--margin", "-0.1"], "margin: expected a finite number greater than 0, got -0.1"),
        (["perceptron-simulation", "--margin", "1e-15"], "margin: expected at least"),
        (["minimax", "--margin", "1"], "margin: expected at most 0.707107 for one round"),
        (["minimax", "--metric", "bleu"], "metric: expected one of 'ndcg@10', 'ndcg', 'ap', got 'bleu'"),
    ],
)
def test_wrong_arguments_are_sentences(arguments, said, tmp_path, capsys):
    folder = tmp_path / "out"
    assert main(["reproduce", *arguments, "--output", str(folder)]) == 2
    shown = capsys.readouterr()
    assert f"fastrank: {said}" in shown.err
    assert "Traceback" not in shown.err
    assert shown.out == ""
    assert not folder.exists()


def test_output_that_is_a_file(tmp_path, capsys):
    file = tmp_path / "file"
    file.write_text("")
    assert main([*SIMULATION, "--output", str(file)]) == 2
    shown = capsys.readouterr()
    assert f"--output: expected a folder, got {file}, which is a file" in shown.err
    assert shown.out == ""  # before any work


@pytest.mark.parametrize("arguments", [[], ["figure-1"], ["minimax", "--queries", "3"]])
def test_unknown_names_and_options(arguments, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["reproduce", *arguments])
    assert stopped.value.code == 2
    assert "usage: fastrank" in capsys.readouterr().err


def test_other_commands_do_not_wait_for_learners():
    code = "import sys; from fastrank.cli import build_parser; build_parser(); print(' '.join(sys.modules))"
    found = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    loaded = found.stdout.split()
    assert "fastrank.experiments.perceptron_simulation" in loaded
    assert not {"fastrank.learners", "scipy.optimize", "matplotlib"} & set(loaded)
