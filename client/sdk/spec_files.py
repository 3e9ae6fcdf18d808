"""Reads a spec from a file, merges it into a template, uploads the datasets that it names as files, and inserts their ids."""

import copy
import json
import math
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from client.errors import ClientError
from client.sdk import Client


def read_spec(path: Path) -> dict[str, Any]:
    """Read a TOML or JSON file. In TOML `{ null = true }` is null. The platform validates the spec."""
    try:
        text = path.read_text(encoding="utf-8")
        spec = _from_toml(text) if path.suffix == ".toml" else _from_json(text)
    except (OSError, ValueError) as error:
        raise ClientError(f"{path}: {error}") from error
    if not isinstance(spec, dict):
        raise ClientError(f"{path} must hold one object")
    return spec


def _from_toml(text: str) -> Any:
    from trainer.spec.nulls import with_nulls  # takes a second, which other commands need not wait

    return with_nulls(tomllib.loads(text, parse_float=_finite))


def _from_json(text: str) -> Any:
    """Raises ValueError also for NaN, a number out of range, and a name that stands twice, all of which `json` accepts."""
    return json.loads(text, parse_constant=_no_json, parse_float=_finite, object_pairs_hook=_unrepeated)


def _unrepeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(
            f"the name {next(name for name in names if names.count(name) > 1)!r} stands twice in one object"
        )
    return found


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text} is no finite number. Write a finite one, or null for none")
    return value


def changed_spec(file: Path | None, changes: Sequence[str]) -> dict[str, Any]:
    """The spec of a file, with `path=value` changes applied. A value is JSON, or else text.

    Raises ClientError for a change without `=`, and for one below a value that is no object.
    """
    return _with_changes(read_spec(file) if file is not None else {}, changes)


def changed_patch(file: Path | None, changes: Sequence[str]) -> dict[str, Any]:
    """The merge patch of a file, with `path=value` changes applied. Raises ClientError as `changed_spec`.

    Null in a JSON file restores a default (RFC 7396). `{ null = true }` in TOML and `path=null` set null.
    """
    from trainer.spec.nulls import as_patch  # takes a second, which other commands need not wait

    patch = read_spec(file) if file is not None else {}
    if file is not None and file.suffix == ".toml":
        patch = as_patch(patch)
    return _with_changes(patch, changes, as_patch)


def _with_changes(
    whole: dict[str, Any], changes: Sequence[str], written: Callable[[Any], Any] = lambda value: value
) -> dict[str, Any]:
    for change in changes:
        path, separator, text = change.partition("=")
        if not separator:
            raise ClientError(f"--set {change}: give a field and its value, as ppo.kl.coef=0.1")
        *sections, field = path.strip().split(".")
        place = whole
        for section in sections:
            place = place.setdefault(section, {})
            if not isinstance(place, dict):
                raise ClientError(f"--set {change}: {section} has a value that is no section")
        place[field] = written(_value(text.strip()))
    return whole


def _value(text: str) -> Any:
    try:
        return _from_json(text)
    except ValueError:
        return text


def _no_json(name: str) -> None:
    """Raises ValueError for NaN and Infinity, which are no JSON."""
    _finite(name)


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
    from trainer.spec.named_resources import named_paths, put

    try:
        named = named_paths(JobSpec.model_validate(spec))
    except ValidationError:
        return spec  # the platform reports the error
    model = spec["model"]
    whole = copy.deepcopy({**spec, "model": {"path": model} if isinstance(model, str) else model})
    for path in named:
        if (folder / path.value).exists():
            put(whole, path.pointer, str(folder / path.value))
    return whole


def _existing(path: Path) -> Path:
    if not path.is_file():
        raise ClientError(f"There is no file {path}. Name a file, or a dataset's id (ds_…).")
    return path
