"""Files and folders that appear whole or not at all."""

from __future__ import annotations

import csv
import os
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def atomic_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary file beside `path` that takes its place when the block ends without an error.

    A link is followed: the file it names is replaced. A device or pipe cannot be replaced and is given as it is.
    """
    target = _resolved(path)
    if target.exists() and not target.is_file():
        yield target
        return
    part = _beside(target, "part")
    try:
        yield part
        _sync(part)
        part.replace(target)
        _sync(target.parent)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def write_csv(path: str | os.PathLike[str], columns: Mapping[str, Iterable[Any]]) -> None:
    """Write columns of one length: a line of names, then a line per entry. Python's floats read back exactly."""
    with atomic_file(path) as part, part.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


@contextmanager
def atomic_folder(path: str | os.PathLike[str], *, may_replace: Callable[[Path], bool]) -> Iterator[Path]:
    """Give a temporary folder beside `path` that takes its place when the block ends without an error.

    What is at `path` is replaced only where `may_replace` says so, and asked again at the end: it may have appeared
    meanwhile.
    """
    target = _resolved(path)
    _check_place(target, may_replace)
    part = _beside(target, "part")
    part.mkdir()
    old = _beside(target, "old")
    try:
        yield part
        for file in part.iterdir():
            _sync(file)
        _sync(part)
        _check_place(target, may_replace)
        # A folder cannot be replaced in one step: the old one steps aside, and back if the new one cannot move in.
        if target.exists():
            target.rename(old)
        part.rename(target)
        _sync(target.parent)
    except BaseException:
        if old.exists() and not target.exists():
            old.rename(target)
        shutil.rmtree(part, ignore_errors=True)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _resolved(path: str | os.PathLike[str]) -> Path:
    target = Path(path).resolve()
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"path: expected a folder to write to, got {target.parent}: nothing there; make it first"
        )
    return target


def _check_place(target: Path, may_replace: Callable[[Path], bool]) -> None:
    if target.exists() and not may_replace(target):
        raise FileExistsError(
            f"path: expected a new folder, or overwrite=True and a binary cache to replace, got {target}, which exists"
        )


def _beside(target: Path, ending: str) -> Path:
    """A new name in the same folder, so that a rename stays on one file system. Not mkstemp: it ignores the umask."""
    return target.with_name(f".{target.name}.{secrets.token_hex(6)}.{ending}")


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
