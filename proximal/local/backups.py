"""`proximal backup` and `proximal restore` on the platform of a data folder, or of DATABASE_URL."""

import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy.exc import OperationalError

from core.backup.making import back_up
from core.backup.manifest import Manifest as Manifest  # the commands print it
from core.backup.manifest import read_manifest, verify
from core.backup.restoring import restore as restore_into
from core.blobs import blob_store
from core.db import engine_for
from core.embedded.server import EmbeddedServerError
from core.errors import PlatformError, StoreFailed
from core.settings import LocalSettings, get_settings
from proximal.data_folder import Running, UpError
from proximal.local.blob_check import platform_settings
from proximal.local.options import Options
from proximal.local.services import postgres

Note = Callable[[str], None]


def backup(options: Options, target: Path, note: Note) -> Manifest:
    """Back the platform up, whether or not it runs. Raises UpError."""
    with _errors_for_people():
        if LocalSettings().database_url or options.folder.running():
            return _back_up(options, target, note)
        if not options.folder.postgres.exists():
            raise UpError(f"{options.folder.path} has no database. Choose a data folder with --data-dir.")
        with _own_database(options):
            return _back_up(options, target, note)


def check(source: Path, note: Note) -> Manifest:
    """Verify a backup without restoring it. Raises UpError."""
    with _errors_for_people():
        manifest = read_manifest(source)
        verify(source, manifest, note)
    return manifest


def restore(options: Options, source: Path, note: Note) -> tuple[Manifest, int]:
    """Restore a backup into an empty platform that does not run. Returns its manifest and the number of paused jobs. Raises UpError."""
    logging.getLogger("core.live").setLevel(logging.ERROR)  # no Redis runs that could announce the pauses
    with _errors_for_people():
        if LocalSettings().database_url:
            return _restore(options, source, note)
        read_manifest(source)  # before a database is made
        with _own_database(options):
            return _restore(options, source, note)


def _back_up(options: Options, target: Path, note: Note) -> Manifest:
    settings = platform_settings(options)
    return back_up(settings.database_url, blob_store(settings), target.absolute(), note)


def _restore(options: Options, source: Path, note: Note) -> tuple[Manifest, int]:
    settings = platform_settings(options)
    return restore_into(source.absolute(), settings.database_url, blob_store(settings), note)


@contextmanager
def _own_database(options: Options) -> Iterator[None]:
    """The embedded database of a data folder whose platform does not run. The folder is locked meanwhile."""
    with options.folder.hold(Running(os.getpid(), "no address, because it is backed up or restored")):
        database = postgres(options.folder)
        server = database.start()
        try:
            yield
        finally:
            engine_for(get_settings().database_url).dispose()
            database.stop(server)


@contextmanager
def _errors_for_people() -> Iterator[None]:
    try:
        yield
    except StoreFailed as error:
        raise UpError(error.detail) from error
    except OperationalError as error:
        raise UpError(f"The database does not respond: {error.orig}") from error
    except (PlatformError, EmbeddedServerError) as error:
        raise UpError(str(error)) from error
    except OSError as error:
        raise UpError(f"{error.filename or 'A file'}: {error.strerror or error}") from error
