"""Locks a run folder, and refuses a spec or data other than those that the folder belongs to."""

import fcntl
import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from trainer.errors import RunFolderInUse, SpecError, StorageError
from trainer.spec import DATASETS, JobSpec
from trainer.spec.named_resources import named_paths, put


@contextmanager
def alone_in(run_dir: Path) -> Iterator[None]:
    """Hold the lock of the run folder while inside. Raises RunFolderInUse if another process holds it."""
    with (run_dir / ".lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise RunFolderInUse(
                f"Another process uses {run_dir}. Wait for it, or choose another --run-dir."
            ) from error
        yield


def claim(spec: JobSpec, run_dir: Path) -> None:
    """Write the identity of the run to its folder.

    Raises SpecError if the folder belongs to another run, and StorageError if the identity is damaged.
    """
    path = run_dir / "identity.json"
    ours = _identity(spec)
    if not path.exists():
        draft = path.with_suffix(".new")
        draft.write_text(json.dumps(ours, indent=2))
        draft.replace(path)
        return
    try:
        before = json.loads(path.read_text())
    except ValueError as error:
        raise StorageError(
            f"{path} is damaged: {error}. Delete it only if {run_dir} belongs to this spec and data. The same command then "
            "writes it anew."
        ) from error
    changed = sorted(_differences("#", before, ours))
    if changed:
        raise SpecError(
            f"{run_dir} holds a run of another spec; it differs at {', '.join(changed)}. Choose another --run-dir."
        )


def _identity(spec: JobSpec) -> dict[str, Any]:
    """The fields of the spec that determine the result.

    A path is replaced by a hash of its content, because a file or a folder may be moved. The health rules and `max_missing`
    are left out, so that a user can change the limit that paused or stopped the run and resume.
    """
    identity = spec.model_dump(
        mode="json", exclude={"name", "runtime", "resources", "checkpoints", "health", "hang", "tracking"}
    )
    for scorer in (
        *identity["rewards"],
        identity["evaluation"]["judge"],
        (identity["ppo"]["online"] or {}).get("label_by"),
    ):
        if isinstance(scorer, dict):
            scorer.pop("max_missing", None)
    for name in DATASETS:
        if identity["data"][name] is not None:
            identity["data"][name] = _sha256(Path(identity["data"][name]))
    for named in named_paths(spec):
        path = Path(named.value)
        if path.is_dir() or not named.is_model:
            put(identity, named.pointer, _fingerprint(path) if path.is_dir() else _sha256(path))
    return identity


def _sha256(path: Path) -> str:
    if not path.is_file():
        return "absent"
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


_SAMPLE = 1 << 20


def _fingerprint(folder: Path) -> str:
    """A SHA-256 of a model folder: its files' names and sizes, and the first and last MiB of each.

    Reading all weights would take minutes at every start. Further training changes weights everywhere.
    """
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.iterdir() if path.is_file()):
        size = path.stat().st_size
        digest.update(f"{path.name}\0{size}\0".encode())
        with path.open("rb") as file:
            digest.update(file.read(_SAMPLE))
            file.seek(max(0, size - _SAMPLE))
            digest.update(file.read(_SAMPLE))
    return digest.hexdigest()


def _differences(pointer: str, old: Any, new: Any) -> Iterator[str]:
    if isinstance(old, dict) and isinstance(new, dict):
        for key in old.keys() | new.keys():
            yield from _differences(f"{pointer}/{key}", old.get(key), new.get(key))
    elif old != new:
        yield pointer
