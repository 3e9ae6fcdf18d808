"""Files elsewhere, as pieces that come one after the other."""

from collections.abc import Iterator
from contextlib import contextmanager

from core.access.import_urls import BucketFile, HubFile, Place, ServerFile, WebFile
from core.settings import Settings
from worker.downloads.bucket import open_object
from worker.downloads.hub import named_file
from worker.downloads.server import open_file
from worker.downloads.source import Source
from worker.downloads.web import download

__all__ = ["Source", "opened"]


@contextmanager
def opened(wanted: Place, settings: Settings) -> Iterator[Source]:
    """The file that the address names. Raises FetchFailed, or ImportRefused where it leads to a place that is not allowed."""
    match wanted:
        case ServerFile():
            with open_file(wanted, settings) as source:
                yield source
        case BucketFile():
            yield open_object(wanted, settings)
        case HubFile():
            file = named_file(wanted, settings)
            with download(WebFile(file.web_url), settings) as source:
                yield Source(file.name, source.size, source.pieces)
        case WebFile():
            with download(wanted, settings) as source:
                yield source
