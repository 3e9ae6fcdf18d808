"""The check of all stored files for `proximal doctor --blobs`."""

import os
from collections.abc import Callable, Iterator

from sqlalchemy.exc import OperationalError

from core.blobs import NOT_MOUNTED, blob_store
from core.errors import StoreFailed
from core.jobs.checkpoints.blob_audit import audit
from core.settings import LocalSettings, Settings, get_settings
from proximal.local.options import Options
from proximal.local.services import postgres, redis

_GIB = 2**30
_STEPS = 20
"""Lines of progress."""


def platform_settings(options: Options) -> Settings:
    """The settings of the platform, from now on those of this process: a recorded damage is announced through Redis."""
    given, folder = LocalSettings(), options.folder
    os.environ["DATABASE_URL"] = given.database_url or postgres(folder).url
    os.environ["REDIS_URL"] = given.redis_url or redis(folder).url
    os.environ["PROXIMAL_DATA_DIR"] = str(folder.path)
    get_settings.cache_clear()
    return get_settings()


def check_blobs(options: Options, note: Callable[[str], None]) -> Iterator[tuple[str, bool, str]]:
    """The name, the result and a description of each check: one for each damaged file, then one for all."""
    blobs, url = blob_store(platform_settings(options)), get_settings().database_url
    shown = -1

    def progress(done: int, total: int) -> None:
        nonlocal shown
        step = _STEPS * done // max(total, 1)
        if step > shown:
            shown = step
            note(f"{done / _GIB:.3g} of {total / _GIB:.3g} GiB are checked")

    try:
        blobs.check()
        if blobs.is_empty():
            yield "blobs", False, NOT_MOUNTED
            return
        found = audit(blobs, url, progress)
    except StoreFailed as error:
        yield "blobs", False, error.detail
        return
    except OperationalError:
        yield (
            "blobs",
            False,
            "The database does not respond. Start the platform with `proximal up`, then repeat the command.",
        )
        return
    for one in found.faults:
        used = f" Used by {', '.join(one.used_by)}." if one.used_by else ""
        yield "damaged" if one.damaged else "unreadable", False, f"{one.of}: {one.fault}.{used}"
    for restored in found.restored:
        yield "restored", True, f"{restored} is good again"
    yield (
        "blobs",
        not found.faults,
        f"{found.checked} checked, {found.bytes / _GIB:.3g} GiB, {len(found.faults)} faults",
    )
