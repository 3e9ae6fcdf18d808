"""The manifest of a checkpoint folder: size and SHA-256 of each file, written with the folder and verified before use."""

import errno
import hashlib
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePosixPath
from typing import Any

NAME = "manifest.json"
STATE = "trainer_state"
"""The part of a checkpoint that only a resume needs. A copy of the model may lack it."""
_VERSION = 1
_LOADED = (".safetensors", ".json", ".jinja", ".model", ".txt", ".tiktoken")
"""Suffixes of the files that loaders of models, tokenizers and states look for."""
_NO_SUCH_FILE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG})
_THREADS = 4
"""Files that are hashed at once. Hashing releases the interpreter's lock."""


def write(folder: Path) -> None:
    """Hash every file of a complete folder, and write the manifest.

    It replaces a manifest by a new file, because the old one may be a hard link to that of another folder.
    """
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and path != folder / NAME)
    with ThreadPoolExecutor(_THREADS) as threads:
        sums = list(threads.map(_sha256, paths))
    files = [
        {"path": path.relative_to(folder).as_posix(), "bytes": path.stat().st_size, "sha256": found}
        for path, found in zip(paths, sums, strict=True)
    ]
    (folder / NAME).unlink(missing_ok=True)
    (folder / NAME).write_text(json.dumps({"version": _VERSION, "files": files}, indent=1), encoding="utf-8")


def exists(folder: Path) -> bool:
    """Whether a folder has a manifest. A model that no run has saved has none."""
    return (folder / NAME).is_file()


def damage(folder: Path, model_only: bool = False) -> str | None:
    """The first fault of a folder's content; None if every file is as it was written, and no loader finds another one.

    `model_only` leaves the state for a resume out. Raises OSError for a file that cannot be read, which does not mean that
    its content is wrong.
    """
    if not exists(folder):
        return f"{NAME} is missing"
    try:
        listed = read(folder)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        return f"{NAME} is not readable: {error}"
    wanted = [file for file in listed if not (model_only and _is_state(file["path"]))]
    with ThreadPoolExecutor(_THREADS) as threads:
        fault = next(filter(None, threads.map(lambda file: _fault(folder, file), wanted)), None)
    return fault or _addition(folder, {file["path"] for file in listed}, model_only)


def read(folder: Path) -> list[dict[str, Any]]:
    """The files that the manifest lists: `path`, `bytes`, `sha256`. Raises ValueError, KeyError or TypeError for a damaged one."""
    listed = json.loads((folder / NAME).read_text(encoding="utf-8"))["files"]
    return [
        {"path": _inside(str(file["path"])), "bytes": int(file["bytes"]), "sha256": str(file["sha256"])}
        for file in listed
    ]


def _inside(path: str) -> str:
    """The path. Raises ValueError for one that leads out of the folder."""
    pure = PurePosixPath(path)
    if not pure.parts or pure.is_absolute() or ".." in pure.parts or "\0" in path:
        raise ValueError(f"{path!r} is no file of the folder")
    return path


def _is_state(path: str) -> bool:
    return path.startswith(f"{STATE}/")


def _addition(folder: Path, listed: set[str], model_only: bool) -> str | None:
    """A file that was not saved with the folder and that a loader would read, such as a further part of the weights."""
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.suffix not in _LOADED or name in listed or name == NAME or path.name.startswith("."):
            continue
        if not (model_only and _is_state(name)):
            return f"{name} is not one of the files that were saved"
    return None


def _fault(folder: Path, file: dict[str, Any]) -> str | None:
    path = folder / file["path"]
    try:
        size = path.stat().st_size
        if size != file["bytes"]:
            return f"{file['path']} has {size} bytes instead of {file['bytes']}"
        sha256 = _sha256(path)
    except OSError as error:
        if error.errno not in _NO_SUCH_FILE:
            raise
        return f"{file['path']} is missing"
    if sha256 != file["sha256"]:
        return f"{file['path']} has the SHA-256 {sha256} instead of {file['sha256']}"
    return None


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
