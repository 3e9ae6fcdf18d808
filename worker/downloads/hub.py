"""Which file of a dataset on the hub is meant, where its address names only the dataset."""

import json
import re
from dataclasses import replace
from http.client import HTTPException
from typing import Any

from core.access.import_urls import HubFile, why_not
from core.errors import FetchFailed, ImportRefused
from core.settings import Settings
from worker.downloads.connection import ask

_DATA = re.compile(r"\.(jsonl|ndjson|json|csv|parquet)(\.(gz|zst))?$", re.IGNORECASE)
_TRAIN = re.compile(r"(^|[^a-z])train([^a-z]|$)", re.IGNORECASE)
_ABOUT = ("dataset_infos.json", "dataset_dict.json", "dataset_info.json", "state.json", "config.json")
"""Files that tell of the data, and are none."""
_LARGEST_LIST = 8 * 1024 * 1024
_NAMED = 20


def named_file(wanted: HubFile, settings: Settings) -> HubFile:
    """The file itself: the only one with data, or the only one for training. FetchFailed lists them where there are more."""
    if wanted.path:
        return wanted
    found = [path for path in _paths(wanted, settings) if _DATA.search(path) and path.rpartition("/")[2] not in _ABOUT]
    chosen = found if len(found) == 1 else [path for path in found if _TRAIN.search(path)]
    if not found:
        raise FetchFailed(f"The dataset {wanted.dataset} has no file that can be imported (JSONL, JSON, CSV, Parquet).")
    if len(chosen) != 1:
        revision = "" if wanted.revision == "main" else f"@{wanted.revision.replace('/', '%2F')}"
        base = f"hf://datasets/{wanted.dataset}{revision}/"
        listed = ", ".join(f"{base}{path}" for path in found[:_NAMED]) + (" and others" if len(found) > _NAMED else "")
        raise FetchFailed(f"The dataset {wanted.dataset} has {len(found)} files; name one of them: {listed}.")
    file = replace(wanted, path=chosen[0])
    if (reason := why_not(file, settings.import_urls)) is not None:
        raise ImportRefused(f"{reason[0].upper()}{reason[1:]}.", param="url")
    return file


def _paths(wanted: HubFile, settings: Settings) -> list[str]:
    try:
        with ask(wanted.tree_url, settings, {"Accept": "application/json"}) as answer:
            response = answer.response
            if response.status in (401, 403, 404):
                raise FetchFailed(
                    f"The hub has no public dataset {wanted.dataset} with the revision {wanted.revision}."
                )
            if response.status != 200:
                raise FetchFailed(f"The hub answered {response.status} {response.reason}.")
            if 'rel="next"' in response.getheader("Link", ""):
                base = f"hf://datasets/{wanted.dataset}"
                raise FetchFailed(
                    f"The dataset {wanted.dataset} has too many files to look through; name one: {base}/…."
                )
            text = response.read(_LARGEST_LIST)
        listed: Any = json.loads(text)
    except (OSError, HTTPException, ValueError) as error:
        raise FetchFailed(f"The hub did not tell which files {wanted.dataset} has: {error}.") from error
    items = [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []
    return sorted(str(item["path"]) for item in items if item.get("type") == "file" and "path" in item)
