"""Reads a spec from a file, merges it into a template, uploads the datasets that it names as files, and inserts their ids."""

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from client.errors import ClientError
from client.sdk import Client


def read_spec(path: Path) -> dict[str, Any]:
    """Read a TOML or JSON file. The platform validates the spec."""
    try:
        text = path.read_text(encoding="utf-8")
        spec = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    except (OSError, ValueError) as error:
        raise ClientError(f"{path}: {error}") from error
    if not isinstance(spec, dict):
        raise ClientError(f"{path} must hold one object")
    return spec


def merge_patch(spec: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """The spec of a template, changed by a merge patch (RFC 7396), as the platform merges it for a submission."""
    merged = dict(spec)
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        elif isinstance(value, Mapping):
            inside = merged.get(name)
            merged[name] = merge_patch(inside if isinstance(inside, Mapping) else {}, value)
        else:
            merged[name] = value
    return merged


def with_uploads(client: Client, spec: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The spec with dataset ids in place of file names, and absolute paths for models. Names are relative to `folder`."""
    from trainer.spec import DATASETS  # takes a second, which other commands need not wait

    spec = _with_whole_paths(spec, folder.resolve())
    data = dict(spec.get("data") or {})
    for role, kind in DATASETS.items():
        value = data.get(role)
        if isinstance(value, str) and not value.startswith("ds_"):
            data[role] = client.upload_dataset(_existing(folder / value), kind)["id"]
    return {**spec, "data": data}


def _with_whole_paths(spec: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Models and word lists are not uploaded: the worker reads them, on this machine or from a shared disk."""
    from pydantic import ValidationError

    from trainer.spec import JobSpec
    from trainer.spec.named_resources import named_paths, with_paths

    try:
        named = named_paths(JobSpec.model_validate(spec))
    except ValidationError:
        return spec  # the platform reports the error
    found = {path.at: str(folder / path.value) for path in named if (folder / path.value).exists()}
    return with_paths(JobSpec.model_validate(spec), found).model_dump(mode="json") if found else spec


def _existing(path: Path) -> Path:
    if not path.is_file():
        raise ClientError(f"There is no file {path}. Name a file, or a dataset's id (ds_…).")
    return path
