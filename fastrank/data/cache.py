"""The binary cache: a data set as a folder of .npy files, which a second load maps instead of reading.

`fastrank.json` names the format, its version and every array with type, shape, size and CRC-32; it carries a CRC-32 of
its own. The folder is written beside its place and moved there when it is whole. Nothing is pickled.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy
from numpy.typing import NDArray

from fastrank._errors import DataFormatError
from fastrank._version import __version__
from fastrank.data._atomic import atomic_folder
from fastrank.data._grouping import Grouping
from fastrank.data._strings import StringColumn, text_array
from fastrank.data.dataset import DocIds, RankingDataset

if TYPE_CHECKING:
    from fastrank._progress import Progress

FORMAT = "fastrank-dataset"
FORMAT_VERSION = 1
MANIFEST = "fastrank.json"
_CHUNK = 16 << 20
_UNREAD = ("X", "X_data", "X_indices", "docid", "docid_data")
"""Arrays that a load with mmap=True does not read."""


def save(
    dataset: RankingDataset,
    path: str | os.PathLike[str],
    *,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> None:
    """Write a data set into a new folder.

    Parameters
    ----------
    dataset : RankingDataset
    path : path-like
    overwrite : bool, default=False
        Replace a cache that is there already; anything else at `path` is left alone.
    progress : Progress, optional

    Raises
    ------
    FileExistsError
        Where something is at `path` and may not be replaced.
    TypeError
        For query or document ids that are neither numbers nor strings.
    """
    arrays = _arrays_of(dataset)
    total = sum(array.nbytes for array in arrays.values()) or 1
    written = 0
    entries: dict[str, Any] = {}
    with atomic_folder(path, may_replace=lambda place: overwrite and (place / MANIFEST).is_file()) as folder:
        for name, array in arrays.items():
            crc, size = 0, 0
            with open(folder / f"{name}.npy", "wb") as stream:
                for chunk in _npy_chunks(array):
                    stream.write(chunk)
                    crc = zlib.crc32(chunk, crc)
                    size += len(chunk)
                    if progress is not None:
                        progress.update((written + size) / total)
            written += array.nbytes
            entries[name] = {"dtype": array.dtype.str, "shape": list(array.shape), "bytes": size, "crc32": crc}
        content = {
            "format": FORMAT,
            "version": FORMAT_VERSION,
            "written_by": __version__,
            "n_features": dataset.n_features,
            "feature_names": dataset.feature_names,
            "allow_nan": dataset.allow_nan,
            "arrays": entries,
        }
        (folder / MANIFEST).write_text(json.dumps({**content, "crc32": _crc_of(content)}, indent=1), encoding="utf-8")


def load(path: str | os.PathLike[str], *, mmap: bool = True, verify: bool | None = None) -> RankingDataset:
    """Open a data set that `save` wrote.

    Parameters
    ----------
    path : path-like
    mmap : bool, default=True
        Map the arrays instead of reading them: opening costs nothing, and pages come in when they are used.
    verify : bool, optional
        Check the CRC-32 of features and document ids too, which reads all of them. By default only where they are read
        anyway (`mmap=False`). Everything else is always checked: manifest, sizes, types, grades, offsets and ids.

    Raises
    ------
    DataFormatError
        For a folder that is not a cache, is damaged or cut off, or was written by a newer version.
    """
    folder = Path(path)
    content = _read_manifest(folder)
    verify = not mmap if verify is None else verify
    arrays = {name: _open_array(folder, name, entry, mmap, verify) for name, entry in content["arrays"].items()}
    for name in ("y", "qptr"):
        if name not in arrays:
            raise DataFormatError(f"expected the array {name}, got none; write the cache again", path=folder / MANIFEST)
    X: Any
    if "X" in arrays:
        X = arrays["X"]
    else:
        parts = (arrays["X_data"], arrays["X_indices"], arrays["X_indptr"])
        X = scipy.sparse.csr_array(parts, shape=(len(arrays["y"]), content["n_features"]))
    qid: Any = arrays.get("qid")
    if "qid_data" in arrays:
        qid = text_array(list(StringColumn(arrays["qid_data"], arrays["qid_offsets"])))
    docid: Any = arrays.get("docid")
    if "docid_data" in arrays:
        docid = StringColumn(arrays["docid_data"], arrays["docid_offsets"])
    return RankingDataset._trusted(
        X,
        arrays["y"],
        Grouping(np.array(qid), np.array(arrays["qptr"]), arrays.get("order")),
        docid=docid,
        feature_names=content["feature_names"],
        sample_weight=arrays.get("sample_weight"),
        query_weight=arrays.get("query_weight"),
        allow_nan=content["allow_nan"],
    )


def _arrays_of(dataset: RankingDataset) -> dict[str, NDArray[Any]]:
    arrays: dict[str, NDArray[Any] | None] = {
        "y": dataset.y,
        "qptr": dataset.qptr,
        "order": dataset.order,
        "sample_weight": dataset.sample_weight,
        "query_weight": dataset.query_weight,
    }
    if isinstance(dataset.X, np.ndarray):
        arrays["X"] = dataset.X
    else:
        arrays |= {"X_data": dataset.X.data, "X_indices": dataset.X.indices, "X_indptr": dataset.X.indptr}
    arrays |= _id_arrays(dataset.qid, "qid")
    if dataset.docid is not None:
        arrays |= _id_arrays(dataset.docid, "docid")
    return {name: np.ascontiguousarray(array) for name, array in arrays.items() if array is not None}


def _id_arrays(ids: DocIds, name: str) -> dict[str, NDArray[Any]]:
    """Strings as bytes and offsets, numbers as they are."""
    if isinstance(ids, np.ndarray) and (ids.dtype.kind == "U" or all(isinstance(one, str) for one in ids)) and len(ids):
        ids = StringColumn.from_strings(ids.tolist())
    if isinstance(ids, StringColumn):
        ids = StringColumn.concatenate([ids])  # only the bytes of these rows, where the column is a slice
        return {f"{name}_data": ids.data, f"{name}_offsets": ids.offsets}
    if ids.dtype.kind not in "iufbSM":
        raise TypeError(
            f"{name}: expected ids that are numbers or strings, got {ids[0]!r} of type {type(ids[0]).__name__}; "
            "convert them with str() first"
        )
    return {name: ids}


def _npy_chunks(array: NDArray[Any]) -> Iterator[bytes | memoryview]:
    """The bytes of the .npy file of a C-ordered array."""
    header = BytesIO()
    np.lib.format.write_array_header_1_0(header, np.lib.format.header_data_from_array_1_0(array))
    yield header.getvalue()
    data = memoryview(array.reshape(-1).view(np.uint8).data) if array.size else memoryview(b"")
    for start in range(0, len(data), _CHUNK):
        yield data[start : start + _CHUNK]


def _crc_of(content: dict[str, Any]) -> int:
    return zlib.crc32(json.dumps(content, sort_keys=True, separators=(",", ":")).encode())


def _read_manifest(folder: Path) -> dict[str, Any]:
    path = folder / MANIFEST
    if not folder.is_dir() or not path.is_file():
        raise DataFormatError(
            f"expected a folder with {MANIFEST}, as dataset.save writes it, got "
            + ("a folder without it" if folder.is_dir() else "a file" if folder.exists() else "nothing"),
            path=folder,
        )
    try:
        content = json.loads(path.read_bytes())
        crc = content.pop("crc32")
        kind, version = content["format"], content["version"]
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        raise DataFormatError(
            f"expected the manifest of a cache, got text that is damaged or cut off ({error}); write the cache again",
            path=path,
        ) from error
    if kind != FORMAT:
        raise DataFormatError(f"expected the format {FORMAT!r}, got {kind!r}", path=path)
    if not isinstance(version, int) or version > FORMAT_VERSION:
        raise DataFormatError(
            f"expected a cache of version {FORMAT_VERSION} or older, got version {version}, written by fastrank "
            f"{content.get('written_by')}; upgrade fastrank, or write the cache again with this one",
            path=path,
        )
    if crc != _crc_of(content):
        raise DataFormatError(
            "expected a manifest that agrees with its checksum, got a changed one; write the cache again", path=path
        )
    return dict(content)


def _open_array(folder: Path, name: str, entry: dict[str, Any], mmap: bool, verify: bool) -> NDArray[Any]:
    path = folder / f"{name}.npy"
    size = path.stat().st_size if path.is_file() else None
    if size != entry["bytes"]:
        got = "no such file" if size is None else f"{size:,}"
        raise DataFormatError(
            f"expected {entry['bytes']:,} bytes, got {got}: the cache is cut off or was changed; write it again",
            path=path,
        )
    # Kernels trust offsets and grades, which are small; features and texts are only numbers and bytes to them.
    if (verify or name not in _UNREAD) and _crc_of_file(path) != entry["crc32"]:
        raise DataFormatError(
            "expected bytes that agree with their checksum, got others; write the cache again", path=path
        )
    empty = 0 in entry["shape"]  # nothing to map
    try:
        array: NDArray[Any] = np.load(path, mmap_mode="r" if mmap and not empty else None, allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise DataFormatError(f"expected a .npy file, got {error}; write the cache again", path=path) from error
    if array.dtype.str != entry["dtype"] or list(array.shape) != entry["shape"]:
        raise DataFormatError(
            f"expected {entry['dtype']} of shape {entry['shape']}, got {array.dtype.str} of shape {list(array.shape)}; "
            "write the cache again",
            path=path,
        )
    return array


def _crc_of_file(path: Path) -> int:
    crc = 0
    with open(path, "rb") as stream:
        while chunk := stream.read(_CHUNK):
            crc = zlib.crc32(chunk, crc)
    return crc
