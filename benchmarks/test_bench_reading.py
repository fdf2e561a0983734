"""LETOR text to arrays, us and every peer that is installed."""

from __future__ import annotations

from pathlib import Path

import pytest
import workloads

READERS = workloads.readers()


@pytest.fixture(scope="module", params=["mq2007", "generated"])
def text(request: pytest.FixtureRequest, folder: Path, is_smoke: bool) -> Path:
    if request.param == "generated":
        return workloads.generated_text(folder, 2 if is_smoke else 100)
    path = workloads.mq2007_text(folder)
    if path is None:
        pytest.skip("no real data; set FASTRANK_DATA to the folder that holds letor4-mq2007")
    return path


@pytest.mark.benchmark(group="read LETOR text")
@pytest.mark.filterwarnings("ignore::UserWarning")  # XGBoost deprecates text input
@pytest.mark.parametrize("reader", READERS)
def test_bench_reading(benchmark, text: Path, reader: str) -> None:
    read = READERS[reader]
    ours = workloads.read_ours(text, 1)
    assert workloads.same_values(ours, read(text))
    benchmark.extra_info.update(megabytes=text.stat().st_size / 1e6, n_rows=ours.n_rows)
    benchmark.pedantic(read, args=(text,), rounds=5, warmup_rounds=0)


@pytest.mark.benchmark(group="open binary cache")
@pytest.mark.parametrize("mmap", [True, False])
def test_bench_cache(benchmark, text: Path, folder: Path, mmap: bool) -> None:
    import fastrank as fr

    path = folder / f"{text.stem}.cache"
    ours = workloads.read_ours(text, 1)
    ours.save(path, overwrite=True)
    assert (fr.RankingDataset.load(path, mmap=mmap).X == ours.X).all()
    benchmark(fr.RankingDataset.load, path, mmap=mmap)
