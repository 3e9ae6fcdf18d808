"""Reads a spec from a file, merges it into a template, uploads the datasets that it names as files, and inserts their ids."""

import copy
import json
import math
import tomllib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from proximal.errors import ClientError
from proximal.sdk import Client
from proximal.sdk.nulls import as_patch, with_nulls
from proximal.sdk.spec_fields import DATASETS, PATHS


def read_spec(path: str | Path) -> dict[str, Any]:
    """Read a TOML or JSON file. In TOML `{ null = true }` is null. The platform validates the spec."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
        spec = _from_toml(text) if path.suffix == ".toml" else _from_json(text)
    except (OSError, ValueError) as error:
        raise ClientError(f"{path}: {error}") from error
    if not isinstance(spec, dict):
        raise ClientError(f"{path} must hold one object")
    return spec


def _from_toml(text: str) -> Any:
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
    spec = _with_whole_paths(spec, folder.resolve())
    data = dict(spec.get("data") or {})
    for role, kind in DATASETS.items():
        value = data.get(role)
        if isinstance(value, str) and not value.startswith("ds_"):
            data[role] = client.upload_dataset(_existing(folder / value), kind)["id"]
    return {**spec, "data": data}


def _with_whole_paths(spec: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Models and word lists are not uploaded: the worker reads them, on this machine or from a shared disk."""
    whole = copy.deepcopy(spec)
    if isinstance(whole.get("model"), str):
        whole["model"] = {"path": whole["model"]}
    for field in PATHS:
        *sections, last = field.split(".")
        for place in _places(whole, sections):
            value = place.get(last)
            if isinstance(value, str) and value and (folder / value).exists():
                place[last] = str(folder / value)
    return whole


def _places(value: Any, sections: Sequence[str]) -> Iterator[dict[str, Any]]:
    """The objects at a path. A section that is missing or of another type has none: the platform reports it."""
    if not sections:
        yield from [value] if isinstance(value, dict) else []
    elif sections[0] == "*":
        for item in value if isinstance(value, list) else []:
            yield from _places(item, sections[1:])
    elif isinstance(value, dict):
        yield from _places(value.get(sections[0]), sections[1:])


def _existing(path: Path) -> Path:
    if not path.is_file():
        raise ClientError(f"There is no file {path}. Name a file, or a dataset's id (ds_…).")
    return path
