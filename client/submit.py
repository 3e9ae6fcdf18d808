"""A spec from a file: the datasets that it names as files are uploaded, and their ids put in their place."""

import json
import tomllib
from pathlib import Path
from typing import Any

from client.errors import ClientError
from client.sdk import Client
from trainer.spec import DATASETS


def read_spec(path: Path) -> dict[str, Any]:
    """TOML or JSON, unchecked: the platform does that, and says it better."""
    try:
        text = path.read_text(encoding="utf-8")
        spec = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    except (OSError, ValueError) as error:
        raise ClientError(f"{path}: {error}") from error
    if not isinstance(spec, dict):
        raise ClientError(f"{path} must hold one object")
    return spec


def with_uploads(client: Client, spec: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The same spec with ids for file names, which are relative to `folder`."""
    data = dict(spec.get("data") or {})
    for role in DATASETS:
        value = data.get(role)
        if isinstance(value, str) and not value.startswith("ds_"):
            data[role] = client.upload_dataset(_existing(folder / value), role)["id"]
    return {**spec, "data": data}


def _existing(path: Path) -> Path:
    if not path.is_file():
        raise ClientError(f"There is no file {path}. Name a file, or a dataset's id (ds_…).")
    return path
