"""The manifest of a checkpoint folder: size and SHA-256 of each file, written with the folder and verified before use."""

import hashlib
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

NAME = "manifest.json"
STATE = "trainer_state"
"""The part of a checkpoint that only a resume needs. A copy of the model may lack it."""
_VERSION = 1
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
    """Whether a folder has a manifest. Folders of older releases have none."""
    return (folder / NAME).is_file()


def damage(folder: Path, model_only: bool = False) -> str | None:
    """The first fault of a folder's content; None if every file is as it was written.

    `model_only` leaves the state for a resume out. A folder without a manifest is checked by the headers of its tensor
    files and by its numbers. Raises OSError for a file that cannot be read, which does not mean that its content is wrong.
    """
    if not exists(folder):
        return _fault_without_hashes(folder)
    try:
        listed = read(folder)
    except (ValueError, KeyError, TypeError) as error:
        return f"{NAME} is not readable: {error}"
    wanted = [file for file in listed if not (model_only and file["path"].startswith(f"{STATE}/"))]
    with ThreadPoolExecutor(_THREADS) as threads:
        return next(filter(None, threads.map(lambda file: _fault(folder, file), wanted)), None)


def read(folder: Path) -> list[dict[str, Any]]:
    """The files that the manifest lists: `path`, `bytes`, `sha256`. Raises ValueError, KeyError or TypeError for a damaged one."""
    listed = json.loads((folder / NAME).read_text(encoding="utf-8"))["files"]
    return [{"path": str(file["path"]), "bytes": int(file["bytes"]), "sha256": str(file["sha256"])} for file in listed]


def _fault(folder: Path, file: dict[str, Any]) -> str | None:
    path = folder / file["path"]
    try:
        size = path.stat().st_size
        if size != file["bytes"]:
            return f"{file['path']} has {size} bytes instead of {file['bytes']}"
        found = _sha256(path)
    except (FileNotFoundError, NotADirectoryError):
        return f"{file['path']} is missing"
    if found != file["sha256"]:
        return f"{file['path']} has the SHA-256 {found} instead of {file['sha256']}"
    return None


def _fault_without_hashes(folder: Path) -> str | None:
    """Truncated tensor files are found by their headers, and numbers that are not JSON."""
    numbers = folder / STATE / "state.json"
    try:
        for file in sorted(folder.rglob("*.safetensors")):
            with safe_open(file, "pt"):
                pass
        if (folder / STATE).is_dir():
            json.loads(numbers.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return f"{STATE}/{numbers.name} is missing"
    except (SafetensorError, ValueError) as error:
        return f"{error}"
    return None


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
