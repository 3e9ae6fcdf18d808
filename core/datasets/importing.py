"""Imports a file as a version of a dataset: while the request waits, or later in the data worker."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, BinaryIO

from sqlalchemy.orm import Session

from core import quotas, tasks
from core.blobs import BlobStore
from core.datasets import publish, versions
from core.datasets.row_store import RowsDraft, drafting
from core.db import check_storable
from core.errors import TooLarge
from core.models import DatasetVersion
from core.settings import Settings, get_settings
from data.convert import Converted, convert
from data.detect import detect
from data.errors import UnusableFile
from data.files.streams import Limits
from data.findings import BLOCKING
from data.plan import Plan, make_plan

IMPORT = "import"
"""The kind of the data task that imports later."""


_NO_ORIGIN = frozenset({"kind", "named", "lost", "examined"})
"""Parts of a plan that say nothing about the origin of the rows."""


class BadRows(StrEnum):
    """The treatment of a file in which some records cannot be used."""

    REFUSE = "refuse"
    """Nothing is stored."""
    REPORT = "report"
    """The others are stored, and blocked until the user decides."""
    LEAVE_OUT = "leave_out"
    """The others are stored and can be used."""


def limits_of(settings: Settings) -> Limits:
    """The bounds on a source file that the operator set."""
    return Limits(
        line_bytes=settings.max_line_bytes,
        ratio=settings.max_compression_ratio,
        expanded_bytes=settings.max_expanded_bytes,
        columns=settings.max_columns,
        depth=settings.max_depth,
    )


def request_limits_of(settings: Settings) -> Limits:
    """The bounds on a file that is read while its request waits."""
    limits = limits_of(settings)
    return replace(limits, expanded_bytes=min(limits.expanded_bytes, 4 * settings.max_request_upload_bytes))


@dataclass(frozen=True)
class Source:
    """A file to read, with its origin."""

    open_: Callable[[], BinaryIO]
    """Opens the file at its beginning; may be called several times."""
    filename: str
    upload_id: str | None = None
    url: str | None = None
    """Where the platform fetched it from."""

    def origin(self, plan: Plan) -> dict[str, Any]:
        """The `origin` of a version that is made from the file."""
        known = {"upload": self.upload_id, "url": self.url}
        read_as = {name: value for name, value in plan.as_json().items() if name not in _NO_ORIGIN}
        named = {name: value for name, value in known.items() if value is not None}
        return {"type": "upload", "filename": self.filename} | named | read_as


@dataclass(frozen=True)
class ReadingOptions:
    """The options for reading a file. None: the value is detected."""

    kind: str | None = None
    format: str | None = None
    mapping: dict[str, Any] | None = None
    encoding: str | None = None
    ignore: Sequence[str] = ()
    """Columns that are not used and not asked about."""

    def plan(self, source: Source, limits: Limits, scratch: Path) -> Plan:
        """Raises UnclearFormat, UnusableFile, UnusableMapping and InvalidOption, and InvalidRequest for text that cannot be stored."""
        check_storable({"mapping": self.mapping, "ignore": list(self.ignore)})
        detection = detect(source.open_, source.filename, limits, scratch, self.encoding)
        return make_plan(detection, self.format, self.kind, self.mapping, self.ignore)


@dataclass(frozen=True)
class Import:
    """A file to import, with the name and the options of the new dataset."""

    source: Source
    name: str
    reading: ReadingOptions
    bad_rows: BadRows


@dataclass(frozen=True)
class Imported:
    """Rows in a scratch folder, with the findings of the import."""

    draft: RowsDraft
    converted: Converted
    bad_rows: BadRows

    def fill(self, session: Session, blobs: BlobStore, version_id: str) -> DatasetVersion:
        """Publish the version with these rows. Returns it."""
        found = self.converted.findings
        undecided = self.bad_rows is BadRows.REPORT
        return publish.publish_version(
            session,
            blobs,
            version_id,
            self.draft,
            findings=found if undecided else publish.decided(found),
            left_out=self.converted.left_out,
            blocked=undecided and any(finding["severity"] == BLOCKING for finding in found),
        )


@contextmanager
def imported(
    source: Source,
    plan: Plan,
    bad_rows: BadRows,
    limits: Limits,
    scratch: Path,
    progress: Callable[[int], None] = lambda _: None,
) -> Iterator[Imported]:
    """Read the whole file. `progress` is called with the number of bytes read. Raises UnusableFile if it is refused."""
    with drafting(scratch) as out:
        converted = convert(source.open_, source.filename, plan, limits, out, progress, scratch)
        if bad_rows is BadRows.REFUSE:
            converted.refuse()
        yield Imported(out.finish(), converted, bad_rows)


def import_now(
    session: Session, blobs: BlobStore, owner_id: str, wanted: Import, limits: Limits, scratch: Path
) -> DatasetVersion:
    """Import a file at once. Returns the version of the new dataset.

    Raises UnusableFile, without storing anything, and TooLarge for a file that exceeds `limits` after decompression.
    """
    versions.checked_name(wanted.name)
    try:
        plan = wanted.reading.plan(wanted.source, limits, scratch)
        with imported(wanted.source, plan, wanted.bad_rows, limits, scratch) as found:
            version = _new(session, owner_id, wanted, plan)
            return found.fill(session, blobs, version.id)
    except UnusableFile as error:
        if "expands_too_far" not in [one.get("code") for one in error.extras.get("errors", [])]:
            raise
        advice = "Send it as an upload, in parts (POST /v1/uploads)."
        raise TooLarge(f"The decompressed file is too large for a single request. {advice}") from error


def import_later(session: Session, owner_id: str, wanted: Import, limits: Limits, scratch: Path) -> DatasetVersion:
    """Queue a data task that imports the file. Returns the importing version of the new dataset.

    The format is detected now. Raises QuotaExceeded, and the errors of `Reading.plan`.
    """
    quotas.check_open_imports(session, owner_id, get_settings())
    plan = wanted.reading.plan(wanted.source, limits, scratch)
    version = _new(session, owner_id, wanted, plan)
    filled = {"dataset": version.dataset_id, "version": version.id}
    read = {"upload": wanted.source.upload_id, "plan": plan.as_json(), "bad_rows": wanted.bad_rows.value}
    tasks.enqueue(session, owner_id, IMPORT, filled | read)
    return version


def _new(session: Session, owner_id: str, wanted: Import, plan: Plan) -> DatasetVersion:
    dataset = versions.new_dataset(session, owner_id, wanted.name, plan.kind)
    return versions.new_version(session, dataset, wanted.source.origin(plan))
