"""Makes a backup while the platform runs."""

import fcntl
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

from core.backup.blob_files import BlobFiles, Copied, named_by
from core.backup.manifest import BackupError, Manifest, Note, has_manifest, write_manifest
from core.backup.tables import snapshot, write_tables
from core.blobs import NOT_MOUNTED, BlobStore

_PASSES = 3
"""Snapshots that are tried if blobs are deleted between a snapshot and the copy of its blobs."""
_LOCK = "backup.lock"


def back_up(database_url: str, blobs: BlobStore, folder: Path, note: Note) -> Manifest:
    """Write a backup to a folder, or bring the backup in the folder up to date. Returns its manifest. Raises BackupError.

    The blobs are copied before the snapshot as well, so that little is left to copy after it. A blob that was deleted in that
    time belongs to a row that is gone, too: a new snapshot does not name it. An earlier backup in the folder counts until the
    new manifest replaces its own.
    """
    with _held(folder):
        files = BlobFiles(folder)
        with snapshot(database_url) as connection:
            named = named_by(connection)
        if named.required and blobs.is_empty():
            raise BackupError(NOT_MOUNTED)
        note("Copying the blobs")
        files.copy(blobs, named, note)
        manifest = _consistent(database_url, blobs, folder, files, note)
        write_manifest(folder, manifest)
        files.keep_only(manifest.blobs)
        _remove_other_tables(folder, manifest)
    return manifest


def _consistent(database_url: str, blobs: BlobStore, folder: Path, files: BlobFiles, note: Note) -> Manifest:
    """The manifest of a snapshot whose blobs were copied. A blob that two snapshots in a row miss was lost before."""
    missing: set[str] = set()
    for number in range(_PASSES):
        place = f"tables/{number}.draft"
        shutil.rmtree(folder / place, ignore_errors=True)
        note("Writing the tables of one snapshot")
        with snapshot(database_url) as connection:
            found = connection.execute("SELECT version_num, now() FROM alembic_version").fetchone()
            if found is None:
                raise BackupError("The database has no schema. Run `python -m core migrate`.")
            revision, at = found
            tables = write_tables(connection, folder, place)
            named = named_by(connection)
        copied = files.copy(blobs, named, note)
        if copied.missing <= missing:
            break
        missing = copied.missing
    final = f"tables/{at:%Y%m%dT%H%M%S%f}"
    (folder / place).rename(folder / final)
    tables = {name: one.model_copy(update={"file": f"{final}/{Path(one.file).name}"}) for name, one in tables.items()}
    return Manifest(
        version=version("proximal-rlhf"),
        revision=revision,
        created_at=at.isoformat(),
        tables=tables,
        blobs=copied.blobs,
        faults=_faults(copied),
    )


def _faults(copied: Copied) -> list[str]:
    missing = [f"{key} is missing in the blob store" for key in sorted(copied.missing)]
    return [*missing, *(f"{key} differs from what was stored" for key in copied.differing)]


def _remove_other_tables(folder: Path, manifest: Manifest) -> None:
    used = {Path(table.file).parent.name for table in manifest.tables.values()}
    for path in (folder / "tables").iterdir():
        if path.name not in used:
            shutil.rmtree(path)


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    """The folder for the time of one backup. Raises BackupError for a folder of something else, and during another backup."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    others = next((path.name for path in folder.iterdir()), None)
    if others is not None and not has_manifest(folder) and not (folder / _LOCK).exists():
        raise BackupError(f"{folder} holds other files, such as {others}. Choose an empty folder, or one of a backup.")
    with (folder / _LOCK).open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise BackupError(f"Another backup is being written to {folder}.") from error
        yield
