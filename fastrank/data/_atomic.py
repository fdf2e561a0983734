"""Files and folders that appear whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def atomic_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary file beside `path` that takes its place when the block ends without an error."""
    target = Path(path)
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
    os.close(handle)
    part = Path(name)
    try:
        yield part
        _sync(part)
        part.chmod(0o666 & ~_umask())  # mkstemp makes files that only their owner can read
        part.replace(target)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


@contextmanager
def atomic_folder(path: str | os.PathLike[str], *, overwrite: bool) -> Iterator[Path]:
    """Give a temporary folder beside `path` that takes its place when the block ends without an error."""
    target = Path(path)
    if target.exists() and not overwrite:
        raise FileExistsError(f"path: expected a new folder, got {target}, which exists; pass overwrite=True")
    part = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent))
    old: Path | None = None
    try:
        yield part
        for file in part.iterdir():
            _sync(file)
        part.chmod(0o777 & ~_umask())
        if target.exists():
            # A folder cannot be replaced in one step: the old one steps aside, and back if the new one cannot move in.
            old = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".old", dir=target.parent)) / target.name
            target.rename(old)
        part.rename(target)
    except BaseException:
        if old is not None and not target.exists():
            old.rename(target)
        shutil.rmtree(part, ignore_errors=True)
        raise
    finally:
        if old is not None:
            shutil.rmtree(old.parent, ignore_errors=True)


def _sync(file: Path) -> None:
    with file.open("rb") as stream:
        os.fsync(stream.fileno())


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
