"""Seeded workloads and peers, shared by the pytest-benchmark files and by report.py."""

from __future__ import annotations

import gzip
import importlib.util
import os
import sys
import venv
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import fastrank as fr
from fastrank.data import make_mslr_like

HISTORY = Path(__file__).resolve().parent.parent / ".benchmarks"
"""Kept out of git, like pytest-benchmark's own history."""

JJFIV = "fastrank==0.8.0"
"""The Rust library of the same import name: it cannot share an environment with us, so it gets its own."""


def data_room() -> Path | None:
    """The folder of real data, where there is one."""
    root = Path(os.environ.get("FASTRANK_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data")
    return root if root.is_dir() else None


def mq2007_text(folder: Path) -> Path | None:
    """LETOR 4.0 MQ2007, fold 1, the training file as plain text: 26 MB, 42,158 rows, 46 features."""
    room = data_room()
    if room is None:
        return None
    path = folder / "mq2007.txt"
    if not path.exists():
        path.write_bytes(gzip.decompress((room / "letor4-mq2007" / "Fold1" / "train.txt.gz").read_bytes()))
    return path


def generated_text(folder: Path, megabytes: int) -> Path:
    """About this many MB of LETOR text: an MSLR-like set, 136 features with six decimals as in LETOR's files."""
    path = folder / f"mslr-like-{megabytes}mb.txt"
    if not path.exists():
        # The same 100 queries with new ids are enough variety for a reader: 1100..1199, 2100..2199, and so on.
        queries = make_mslr_like(100, random_state=1)
        queries = fr.RankingDataset(queries.X, queries.y, qid=queries.row_qid() + 100)
        piece = folder / "piece.txt"
        fr.save_letor(queries, piece, decimals=6)
        lines = piece.read_bytes().split(b"\n")[:-1]
        piece.unlink()
        part = folder / "part.txt"
        with open(part, "wb") as stream:
            copy = 0
            while stream.tell() < megabytes * 1_000_000:
                copy += 1
                stream.writelines(line.replace(b"qid:", b"qid:%d" % copy, 1) + b"\n" for line in lines)
        part.rename(path)
    return path


def shuffled_qids(n_rows: int, n_queries: int) -> np.ndarray[Any, Any]:
    """Integer query ids in no order, each query with about the same number of rows."""
    return np.random.default_rng(7).integers(0, n_queries, n_rows) * 3 + 11


def read_ours(path: Path, n_jobs: int) -> Any:
    return fr.load_letor(path, n_jobs=n_jobs)


def read_sklearn(path: Path, query_id: bool) -> Any:
    from sklearn.datasets import load_svmlight_file

    return load_svmlight_file(str(path), dtype=np.float32, query_id=query_id)


def read_xgboost(path: Path) -> Any:
    import xgboost

    return xgboost.DMatrix(f"{path}?format=libsvm", nthread=1)


def read_lightgbm(path: Path) -> Any:
    """Read and bin, which LightGBM does in one go."""
    import lightgbm

    params = {"verbosity": -1, "num_threads": 1}
    return lightgbm.Dataset(str(without_qids(path)), params=params).construct()


def without_qids(path: str | Path) -> Path:
    """A copy of the file that LightGBM can read: no qid, no comment."""
    path = Path(path)
    plain = path.with_suffix(".plain")
    if not plain.exists():
        part = path.with_suffix(".part")
        with open(path, "rb") as source, open(part, "wb") as target:
            for line in source:
                grade, _, features = line.split(b" ", 2)
                target.write(grade + b" " + features.split(b"#")[0].rstrip() + b"\n")
        part.rename(plain)
    return plain


def readers() -> dict[str, Callable[[Path], Any]]:
    """What can read LETOR text in this environment, by name."""
    found: dict[str, Callable[[Path], Any]] = {
        "ours-1": partial(read_ours, n_jobs=1),
        "ours-2": partial(read_ours, n_jobs=2),
    }
    if importlib.util.find_spec("sklearn"):
        found["sklearn"] = partial(read_sklearn, query_id=False)
        found["sklearn-qid"] = partial(read_sklearn, query_id=True)
    if importlib.util.find_spec("xgboost"):
        found["xgboost"] = read_xgboost
    if importlib.util.find_spec("lightgbm"):
        found["lightgbm"] = read_lightgbm
    return found


def shape_of(read: Any) -> tuple[int, int]:
    """Rows and features of whatever a reader returned."""
    if isinstance(read, fr.RankingDataset):
        return read.n_rows, read.n_features
    if isinstance(read, tuple):
        return read[0].shape
    rows = read.num_row() if hasattr(read, "num_row") else read.num_data()
    columns = read.num_col() if hasattr(read, "num_col") else read.num_feature()
    return rows, columns


def same_values(ours: fr.RankingDataset, read: Any) -> bool:
    """Whether a peer read the same numbers."""
    if isinstance(read, tuple):
        return np.array_equal(read[0].toarray(), ours.X) and np.array_equal(read[1], ours.y)
    if isinstance(read, fr.RankingDataset):
        return np.array_equal(read.X, ours.X) and np.array_equal(read.row_qid(), ours.row_qid())
    if hasattr(read, "num_col"):
        # XGBoost numbers columns as the file does, so column 0 is empty; and it rounds to within a few ulps only.
        return np.allclose(read.get_data().toarray()[:, -ours.n_features :], ours.X, rtol=1e-6)
    return shape_of(read)[0] == ours.n_rows  # LightGBM keeps only bins


def jjfiv_python() -> Path | None:
    """The interpreter of the environment that holds jjfiv's fastrank, if `install_jjfiv` has made it."""
    python = HISTORY / "jjfiv" / "bin" / "python"
    return python if python.exists() else None


def install_jjfiv() -> None:
    """Make that environment."""
    import subprocess

    venv.create(HISTORY / "jjfiv", with_pip=True)
    subprocess.run([HISTORY / "jjfiv" / "bin" / "python", "-m", "pip", "install", "-q", JJFIV], check=True)


def python_of(reader: str) -> str:
    """The interpreter a reader runs in."""
    return str(jjfiv_python()) if reader == "jjfiv" else sys.executable
