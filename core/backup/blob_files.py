"""The blobs that a snapshot of the database names, as files of a backup."""

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import psycopg

from core.backup.manifest import Note, StoredBlob
from core.blobs import BlobStore
from core.errors import NotFound
from core.uploads.parts import part_key

_PIECE = 1024 * 1024
_KNOWN = "known.jsonl"
_GIB = 2**30
_FOLDERS = {
    "contents": "SELECT sha256 FROM dataset_contents",
    "versions": "SELECT id FROM dataset_versions",
    "reports": "SELECT id FROM dataset_reports",
    "uploads": "SELECT id FROM uploads",
}
"""For each folder of the store, the column that has the next part of a blob's key."""


@dataclass(frozen=True)
class Named:
    """The blobs that a snapshot names."""

    required: Mapping[str, StoredBlob | None]
    """The keys that must exist, with their content where a row has it."""
    ids: Mapping[str, frozenset[str]]
    """For each folder, the names below it whose blobs belong to a row."""

    def keys(self, blobs: BlobStore) -> list[str]:
        """The required keys, and those of the store that belong to a row."""
        found = {key for folder, ids in self.ids.items() for key in blobs.list(folder) if key.split("/")[1] in ids}
        return sorted(found | self.required.keys())


def named_by(connection: psycopg.Connection) -> Named:
    """The blobs that the rows of a snapshot name."""
    required: dict[str, StoredBlob | None] = {}
    for key, size, sha256 in connection.execute("SELECT blob_key, bytes, sha256 FROM dataset_contents"):
        required[key] = StoredBlob(bytes=size, sha256=sha256)
    for prefix, files in connection.execute("SELECT blob_prefix, files FROM checkpoints"):
        for file in files:
            required[f"{prefix}/{file['path']}"] = StoredBlob(bytes=file["bytes"], sha256=file["sha256"])
    for upload_id, number in connection.execute("SELECT upload_id, number FROM upload_parts"):
        required[part_key(upload_id, number)] = None
    ids = {name: frozenset(row[0] for row in connection.execute(query)) for name, query in _FOLDERS.items()}
    return Named(required, ids)


@dataclass
class Copied:
    """The result of a pass over the blobs."""

    blobs: dict[str, StoredBlob] = field(default_factory=dict)
    missing: set[str] = field(default_factory=set)
    differing: list[str] = field(default_factory=list)


class BlobFiles:
    """The files of a backup's blobs. A blob that was copied before, and was not written since, is not read again."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[str, tuple[str, StoredBlob]] = {}
        self._read_known()

    def copy(self, blobs: BlobStore, named: Named, note: Note) -> Copied:
        """Copy the blobs that are not here yet. Blobs that are missing, or differ from their row, are in the result."""
        result, copied, size = Copied(), 0, 0
        with (self._folder / _KNOWN).open("a", encoding="utf-8") as journal:
            for key in named.keys(blobs):
                try:
                    stored, is_new = self._stored(blobs, key)
                except NotFound:
                    result.missing.update({key} & named.required.keys())
                    continue
                if is_new:
                    self._note_known(journal.write, key)
                    journal.flush()
                    copied, size = copied + 1, size + stored.bytes
                result.blobs[key] = stored
                expected = named.required.get(key)
                if expected is not None and expected != stored:
                    result.differing.append(key)
        note(f"{copied} blobs copied ({size / _GIB:.3g} GiB), {len(result.blobs) - copied} were here already")
        return result

    def keep_only(self, blobs: Mapping[str, StoredBlob]) -> None:
        """Remove the files that no blob of the manifest has, and those of an interrupted copy."""
        wanted = {blob.file for blob in blobs.values()}
        for path in (self._folder / "blobs").rglob("*"):
            if path.is_file() and path.relative_to(self._folder).as_posix() not in wanted:
                path.unlink()
        draft = self._folder / f"{_KNOWN}.draft"
        self._known = {key: known for key, known in self._known.items() if key in blobs}
        with draft.open("w", encoding="utf-8") as file:
            for key in self._known:
                self._note_known(file.write, key)
        draft.replace(self._folder / _KNOWN)

    def _stored(self, blobs: BlobStore, key: str) -> tuple[StoredBlob, bool]:
        """The blob, and whether it was copied just now. Raises NotFound."""
        size, stamp = blobs.stamp(key)
        if (known := self._known.get(key)) is not None and known[0] == stamp:
            path = self._folder / known[1].file
            if path.is_file() and path.stat().st_size == size:
                return known[1], False
        stored = self._copy(blobs, key)
        self._known[key] = stamp, stored
        return stored, True

    def _copy(self, blobs: BlobStore, key: str) -> StoredBlob:
        digest, size = hashlib.sha256(), 0
        draft = self._folder / "blobs" / "incoming"
        draft.parent.mkdir(exist_ok=True)
        with blobs.open(key) as source, draft.open("wb") as target:
            while piece := source.read(_PIECE):
                target.write(piece)
                digest.update(piece)
                size += len(piece)
            target.flush()
            os.fsync(target.fileno())
        stored = StoredBlob(bytes=size, sha256=digest.hexdigest())
        path = self._folder / stored.file
        path.parent.mkdir(exist_ok=True)
        draft.replace(path)
        return stored

    def _note_known(self, write: Callable[[str], object], key: str) -> None:
        stamp, blob = self._known[key]
        write(json.dumps({"key": key, "stamp": stamp, **blob.model_dump()}) + "\n")

    def _read_known(self) -> None:
        """Read the journal. The last line may be incomplete."""
        path = self._folder / _KNOWN
        for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else ():
            try:
                one = json.loads(line)
                self._known[one["key"]] = one["stamp"], StoredBlob(bytes=one["bytes"], sha256=one["sha256"])
            except (ValueError, KeyError):
                continue
