"""`fastrank evaluate`: trec_eval's own expected outputs, line by line, and what it says of mistakes."""

from __future__ import annotations

import gzip
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from fastrank.cli import main

OURS = re.compile(
    r"(runid|num_q|num_ret|num_rel|num_rel_ret|map|gm_map|Rprec|bpref|recip_rank|P_\d+|recall_\d+|gm_bpref|utility|ndcg"
    r"|ndcg_cut_\d+|map_cut_\d+|success_\d+|set_P|set_relative_P|set_recall|set_map|set_F|num_nonrel_judged_ret) *\t"
)
"""Lines of trec_eval's outputs that are of measures we have."""

# expected output, how many of its lines are ours, how many it has, and the command
OUTPUTS = [
    ("out.test", 19, 30, "qrels.test results.test"),
    ("out.test", 19, 30, "-m official qrels.test.with-comments results.test"),
    ("out.comment.test", 19, 30, "qrels.comment.test results.comment.test"),
    ("out.test.a", 58, 99, "-m all_trec qrels.test results.test"),
    ("out.test.aq", 220, 387, "-m all_trec -q qrels.test results.test"),
    ("out.test.aqc", 220, 387, "-m all_trec -q -c qrels.test results.trunc"),
    ("out.test.aqcM", 220, 387, "-m all_trec -q -c -M100 qrels.test results.trunc"),
    ("out.test.aql", 220, 387, "-m all_trec -q -l2 qrels.rel_level results.test"),
]


def evaluate(capsys, *arguments: str) -> str:
    """What the command prints; it must not complain."""
    assert main(["evaluate", *map(str, arguments)]) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    return shown.out


def refuse(capsys, *arguments: str) -> str:
    """What the command complains of; it must print nothing else."""
    assert main(["evaluate", *map(str, arguments)]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("fastrank: ")
    assert "Traceback" not in shown.err
    return shown.err.removeprefix("fastrank: ")


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize(("output", "n_ours", "n_all", "command"), OUTPUTS)
def test_lines_are_those_of_trec_eval(output, n_ours, n_all, command, jobs, data_room, capsys, monkeypatch):
    monkeypatch.chdir(data_room / "trec_eval")
    expected = (data_room / "trec_eval" / output).read_text().splitlines(keepends=True)
    ours = [line for line in expected if OURS.match(line)]
    assert (len(ours), len(expected)) == (n_ours, n_all)
    assert evaluate(capsys, "--jobs", str(jobs), *command.split()) == "".join(ours)


@pytest.fixture
def files(tmp_path):
    qrels, run = tmp_path / "qrels", tmp_path / "run"
    qrels.write_text("1 0 a 1\n1 0 b 0\n1 0 c 2\n10 0 a 1\n9 0 a 3\n")
    run.write_text("1 Q0 a 1 5 x\n1 Q0 u 2 4.5 x\n1 Q0 c 3 4 x\n10 Q0 b 1 1 x\n2 Q0 a 1 1 tag extra\n")
    return str(qrels), str(run)


def test_measures_by_hand(files, capsys):
    assert evaluate(capsys, "-q", "-m", "P.2,1", "-m", "recip_rank", "-m", "num_q", *files) == (
        "recip_rank            \t1\t1.0000\n"
        "P_1                   \t1\t1.0000\n"
        "P_2                   \t1\t0.5000\n"
        "recip_rank            \t10\t0.0000\n"
        "P_1                   \t10\t0.0000\n"
        "P_2                   \t10\t0.0000\n"
        "num_q                 \tall\t2\n"
        "recip_rank            \tall\t0.5000\n"
        "P_1                   \tall\t0.5000\n"
        "P_2                   \tall\t0.2500\n"
    )
    ndcg = (1 + 2 / np.log2(4)) / (2 + 1 / np.log2(3))
    assert evaluate(capsys, "-m", "ndcg", *files) == f"ndcg                  \tall\t{ndcg / 2:.4f}\n"
    assert evaluate(capsys, "-c", "-m", "ndcg", *files) == f"ndcg                  \tall\t{ndcg / 3:.4f}\n"


def test_options(files, capsys):
    num_rel_ret = ["-m", "num_rel_ret"]
    assert evaluate(capsys, *num_rel_ret, *files).endswith("\t2\n")
    assert evaluate(capsys, *num_rel_ret, "-l", "2", *files).endswith("\t1\n")
    assert evaluate(capsys, *num_rel_ret, "--Max_retrieved_per_topic", "2", *files).endswith("\t1\n")
    assert evaluate(capsys, "-m", "num_ret", *files).endswith("\t4\n")
    assert evaluate(capsys, "-m", "num_ret", "-J", *files).endswith("\t2\n")
    assert evaluate(capsys, "-m", "num_q", "-c", *files).endswith("\t3\n")
    assert evaluate(capsys, "-n", *files) == ""
    assert evaluate(capsys, "-n", "-q", "-m", "num_rel", *files).split() == ["num_rel", "1", "2", "num_rel", "10", "1"]
    assert evaluate(capsys, "-m", "runid", *files) == "runid                 \tall\ttag\n"


def test_scores_as_trec_eval_9_has_them(tmp_path, capsys):
    (tmp_path / "qrels").write_text("q 0 a 1\n")
    (tmp_path / "run").write_text("q Q0 a 1 1.000000001 t\nq Q0 b 2 1 t\n")
    command = ["-m", "recip_rank", str(tmp_path / "qrels"), str(tmp_path / "run")]
    assert evaluate(capsys, *command).endswith("\t1.0000\n")
    assert evaluate(capsys, "--score-dtype", "float32", *command).endswith("\t0.5000\n")


def test_other_spellings_are_taken(files, capsys):
    expected = evaluate(capsys, "-m", "ndcg_cut.10", "-m", "P.5", "-m", "map", *files)
    assert expected.split()[::3] == ["map", "P_5", "ndcg_cut_10"]
    assert evaluate(capsys, "-m", "nDCG@10", "-m", "P_5", "-m", "AP", *files) == expected
    assert evaluate(capsys, "-m", "P.5", "-m", "P.10", *files).split()[::3] == ["P_5", "P_10"]
    assert evaluate(capsys, "-m", "official", "-m", "P.7", *files).split()[-3:-1] == ["P_7", "all"]
    assert evaluate(capsys, "-m", "rr@1", "-m", "err@20", *files).split()[::3] == ["rr@1", "err@20"]


def test_standard_input_and_gzip(files, tmp_path):
    packed = tmp_path / "qrels.gz"
    packed.write_bytes(gzip.compress(Path(files[0]).read_bytes()))
    command = [sys.executable, "-P", "-m", "fastrank", "evaluate", "-m", "recip_rank", str(packed), "-"]
    with Path(files[1]).open("rb") as run:
        found = subprocess.run(command, stdin=run, capture_output=True, text=True, check=True)
    assert found.stdout == "recip_rank            \tall\t0.5000\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-m", "nonsense"], "illegal measure 'nonsense' (metric: expected one of dcg, ndcg, "),
        (["-m", "infAP"], "illegal measure 'infAP': trec_eval has it, fastrank does not; see"),
        (["-m", "relstring.20"], "illegal measure 'relstring.20': trec_eval has it"),
        (["-m", "map.5"], "illegal measure 'map.5': expected map without parameters"),
        (["-m", "P.5,5"], "illegal measure 'P.5,5': expected different cut-offs of at least 1, such as P.5,10"),
        (["-m", "P.0"], "illegal measure 'P.0': expected different cut-offs of at least 1"),
        (["-m", "P.-3"], "illegal measure 'P.-3': expected different cut-offs of at least 1"),
        (["-m", "P."], "illegal measure 'P.': expected different cut-offs of at least 1"),
        (["-m", "P.five"], "illegal measure 'P.five': expected different cut-offs of at least 1"),
        (["-M", "0"], "-M: expected an integer of at least 1, got 0"),
        (["-l", "-1"], "-l: expected an integer of at least 0, got -1"),
        (["--convention", "letor"], "--convention: expected it with --letor only"),
    ],
)
def test_wrong_arguments_are_one_sentence(arguments, said, files, capsys):
    assert refuse(capsys, *arguments, *files).startswith(said)


def test_wrong_files_are_one_sentence(files, tmp_path, capsys):
    qrels, run = files
    assert "No such file" in refuse(capsys, qrels, str(tmp_path / "none"))
    assert f"{qrels}:1: expected 6 columns" in refuse(capsys, qrels, qrels)
    assert f"{run}:1: expected 4 columns" in refuse(capsys, run, run)
    other = tmp_path / "other"
    other.write_text("77 Q0 a 1 1 t\n")
    assert "expected queries that have judgements, got none: the run has '77'" in refuse(capsys, qrels, other)
    assert evaluate(capsys, "-c", "-m", "map", qrels, other) == "map                   \tall\t0.0000\n"


def test_unknown_options(files, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["evaluate", "-x", *files])
    assert stopped.value.code == 2
    assert "unrecognized arguments: -x" in capsys.readouterr().err


def test_help_names_the_measures(capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["evaluate", "-h"])
    assert stopped.value.code == 0
    shown = capsys.readouterr().out
    for name in ("runid", "ndcg_cut", "set_F", "iprec_at_recall", "rbp_resid"):
        assert name in shown


@pytest.fixture
def letor(tmp_path):
    data, scores = tmp_path / "test.txt", tmp_path / "scores.txt"
    data.write_text("2 qid:a 1:1\n0 qid:a 1:2\n1 qid:b 1:3\n0 qid:b 1:4\n")
    scores.write_text("1.5\n0.5\n 0.25\n0.75\n")
    return data, scores


def test_letor_files_give_a_table(letor, capsys):
    shown = evaluate(capsys, "--letor", "-m", "ndcg@10", "-m", "p@1", "--convention", "letor", *letor)
    assert re.match(r"2 queries, convention .?letor.?\nmetric ", shown)
    assert re.search(r"^ndcg@10 +0\.0000 ", shown, re.MULTILINE)  # two documents: fewer than 10
    assert re.search(r"^p@1 +0\.5000 ", shown, re.MULTILINE)
    assert re.search(r"^ndcg@10 +0\.8155 ", evaluate(capsys, "--letor", *letor), re.MULTILINE)
    assert re.search(r"^ap +0\.5000 ", evaluate(capsys, "--letor", "-l2", "-m", "ap", *letor), re.MULTILINE)


def test_letor_mistakes(letor, capsys):
    data, scores = letor
    assert "--query_eval_wanted: expected it for TREC files only" in refuse(capsys, "--letor", "-q", *letor)
    assert "--Max_retrieved_per_topic: expected it" in refuse(capsys, "--letor", "-M5", *letor)
    scores.write_text("1\n2\n")
    assert f"{scores}: expected 4 scores, one per document of {data}, got 2" in refuse(capsys, "--letor", *letor)
    for wrong in ("x 2", "1_000"):
        scores.write_text(f"1\n{wrong}\n")
        assert f"{scores}:2: expected one score a line, got '{wrong}'" in refuse(capsys, "--letor", *letor)
