"""A run folder belongs to one spec and one data: whoever comes with others is refused, not given the old run's result."""

import fcntl
import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from trainer.errors import SpecError, StorageError
from trainer.spec import DATASETS, JobSpec
from trainer.spec.named_resources import named_paths, put


@contextmanager
def alone_in(run_dir: Path) -> Iterator[None]:
    """Hold the run folder while inside. Raises StorageError while another process does."""
    with (run_dir / ".lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise StorageError(
                f"Another process is at work in {run_dir}. Wait for it, or choose another --run-dir."
            ) from error
        yield


def claim(spec: JobSpec, run_dir: Path) -> None:
    """Write down what this run learns from, or raise SpecError if the folder holds another run's work."""
    path = run_dir / "identity.json"
    ours = _identity(spec)
    if not path.exists():
        draft = path.with_suffix(".new")
        draft.write_text(json.dumps(ours, indent=2))
        draft.replace(path)
        return
    changed = sorted(_differences("#", json.loads(path.read_text()), ours))
    if changed:
        raise SpecError(
            f"{run_dir} holds a run of another spec; it differs at {', '.join(changed)}. Choose another --run-dir."
        )


def _identity(spec: JobSpec) -> dict[str, Any]:
    """What decides the result: the spec less name and machine, with contents for paths: a file or a folder may move.

    Less the health rules too: whoever was paused or stopped by one may change it and go on.
    """
    identity = spec.model_dump(mode="json", exclude={"name", "runtime", "resources", "checkpoints", "health"})
    for name in DATASETS:
        if identity["data"][name] is not None:
            identity["data"][name] = _sha256(Path(identity["data"][name]))
    for named in named_paths(spec):
        path = Path(named.value)
        if path.is_dir() or named.kind == "file":
            put(identity, named.pointer, _fingerprint(path) if path.is_dir() else _sha256(path))
    return identity


def _sha256(path: Path) -> str:
    if not path.is_file():
        return "absent"
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


_SAMPLE = 1 << 20


def _fingerprint(folder: Path) -> str:
    """Of a model's folder: its files' names and sizes, and each one's first and last MiB. Reading all of the weights would
    take minutes at every start; weights that were trained further differ all over."""
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
