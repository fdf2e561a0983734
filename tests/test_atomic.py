from __future__ import annotations

import os
import stat

import pytest

from fastrank.data._atomic import atomic_file


def test_link_keeps_pointing_at_the_file_that_is_replaced(tmp_path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with atomic_file(tmp_path / "link") as part:
        part.write_text("new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_pipe_is_written_to_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with atomic_file(tmp_path / "pipe") as part:
        assert part.is_fifo()
    assert (tmp_path / "pipe").is_fifo()


def test_new_file_has_the_permissions_of_any_other(tmp_path):
    (tmp_path / "other").write_text("")
    with atomic_file(tmp_path / "new") as part:
        part.write_text("x")
    modes = {stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("other", "new")}
    assert len(modes) == 1


def test_failure_leaves_the_old_file_and_nothing_else(tmp_path):
    (tmp_path / "file").write_text("old")

    def fail() -> None:
        with atomic_file(tmp_path / "file") as part:
            part.write_text("half")
            raise RuntimeError("interrupted")

    with pytest.raises(RuntimeError, match="interrupted"):
        fail()
    assert (tmp_path / "file").read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]
