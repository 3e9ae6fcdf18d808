"""Finds the file to import when an address names only a dataset of the hub."""

import json
import re
from dataclasses import replace
from http.client import HTTPException
from typing import Any

from core.access.import_urls import HubFile, import_refusal
from core.errors import FetchFailed, ImportRefused
from core.settings import Settings
from worker.downloads.connection import http_get

_DATA = re.compile(r"\.(jsonl|ndjson|json|csv|parquet)(\.(gz|zst))?$", re.IGNORECASE)
_TRAIN = re.compile(r"(^|[^a-z])train([^a-z]|$)", re.IGNORECASE)
_METADATA = ("dataset_infos.json", "dataset_dict.json", "dataset_info.json", "state.json", "config.json")
"""Files that look like data by their ending, but describe it."""
_LARGEST_LISTING = 8 * 1024 * 1024
_MOST_LISTED = 20


def find_hub_file(wanted: HubFile, settings: Settings) -> HubFile:
    """The only data file of the dataset, or the only one whose name contains `train`.

    Raises FetchFailed, which lists the files when several match, and ImportRefused.
    """
    if wanted.path:
        return wanted
    matching = [
        path for path in _paths(wanted, settings) if _DATA.search(path) and path.rpartition("/")[2] not in _METADATA
    ]
    chosen = matching if len(matching) == 1 else [path for path in matching if _TRAIN.search(path)]
    if not matching:
        raise FetchFailed(f"The dataset {wanted.dataset} has no file that can be imported (JSONL, JSON, CSV, Parquet).")
    if len(chosen) != 1:
        revision = "" if wanted.revision == "main" else f"@{wanted.revision.replace('/', '%2F')}"
        base = f"hf://datasets/{wanted.dataset}{revision}/"
        more = " and others" if len(matching) > _MOST_LISTED else ""
        listed = ", ".join(f"{base}{path}" for path in matching[:_MOST_LISTED]) + more
        raise FetchFailed(f"The dataset {wanted.dataset} has {len(matching)} files. Name one of them: {listed}.")
    file = replace(wanted, path=chosen[0])
    if (reason := import_refusal(file, settings.import_urls)) is not None:
        raise ImportRefused(f"{reason[0].upper()}{reason[1:]}.", param="url")
    return file


def _paths(wanted: HubFile, settings: Settings) -> list[str]:
    try:
        with http_get(wanted.tree_url, settings, {"Accept": "application/json"}) as opened:
            response = opened.response
            if response.status in (401, 403, 404):
                raise FetchFailed(
                    f"The hub has no public dataset {wanted.dataset} with the revision {wanted.revision}."
                )
            if response.status != 200:
                raise FetchFailed(f"The hub returned {response.status} {response.reason}.")
            if 'rel="next"' in response.getheader("Link", ""):
                base = f"hf://datasets/{wanted.dataset}"
                raise FetchFailed(f"The dataset {wanted.dataset} has too many files to list. Name one: {base}/….")
            text = response.read(_LARGEST_LISTING)
        listed: Any = json.loads(text)
    except (OSError, HTTPException, ValueError) as error:
        raise FetchFailed(f"The hub did not list the files of {wanted.dataset}: {error}.") from error
    items = [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []
    return sorted(str(item["path"]) for item in items if item.get("type") == "file" and "path" in item)
