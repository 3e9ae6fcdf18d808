"""The Helm chart: the settings in its schema of values, and the table of values in the guide."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import yaml
from pydantic import AliasChoices, SecretStr
from pydantic.fields import FieldInfo
from tables import between

from core.settings import Settings

CHART = Path(__file__).parents[2] / "examples" / "helm" / "proximal"
SET_BY_THE_CHART = {
    "database_url",
    "redis_url",
    "data_dir",
    "blob_url",
    "stop_seconds",
    "worker_name",
    "labels",
    "hosts",
    "trusted_proxies",
    "launcher",
    "dashboard_dir",  # the image sets it
    "cuda_visible_devices",  # the device plugin sets it
    "machines",  # a group of machines needs addresses that are known beforehand
    "rendezvous",
}
"""Settings that have values of their own, or none in a cluster."""
OF_SLURM = "slurm_"
OF_KUBERNETES = "kubernetes_"
SET_BY_THE_LAUNCHER = {
    "kubernetes_namespace",
    "kubernetes_context",
    "kubernetes_claim",
    "kubernetes_claim_folder",
    "kubernetes_models_claim",
    "kubernetes_models_path",
    "kubernetes_pull_secrets",
    "kubernetes_secrets",
    "kubernetes_service_account",
    "kubernetes_user",
}
"""Settings of the launcher that the chart derives from other values, or that are for workers outside a cluster."""
SECRET = {"s3_access_key_id", "join_database_url", "join_redis_url"}
"""Settings that belong into a Secret although their type is not SecretStr: addresses with passwords, and half of a key."""
OF_LIBRARIES = ("HF_TOKEN",)
"""Secret variables that a library of the trainer reads."""
_COMMENT = re.compile(r" *# (.*)")
_VALUE = re.compile(r"(?P<indent> *)(?P<name>[\w./-]+):(?: (?P<value>.*))?")


def values_schema(text: str) -> str:
    """The schema with every setting that an operator may change. The rest of the file is kept."""
    schema = json.loads(text)
    sections = schema["properties"]
    reference = {"$ref": "#/definitions/secretVariable"}
    rows = list(_settings())
    plain = [
        (variable, kind) for name, variable, kind, secret in rows if not secret and not name.startswith(OF_KUBERNETES)
    ]
    secret = {variable: reference for _, variable, _, secret in rows if secret}
    sections["settings"]["properties"] = dict(plain)
    sections["secrets"]["properties"]["values"]["properties"] = secret | dict.fromkeys(OF_LIBRARIES, reference)
    of_launcher = {variable: kind for name, variable, kind, _ in rows if name.startswith(OF_KUBERNETES)}
    sections["worker"]["properties"]["kubernetes"]["properties"] = of_launcher
    lines = json.dumps(schema, indent=2)
    return re.sub(r"\{\s+(\"\$ref\": \"[^\"]+\")\s+\}", r"{\1}", lines) + "\n"


def values_table(text: str) -> str:
    """The guide with the name, the default and the comment of every value."""
    rows = [f"| `{name}` | {_shown(default)} | {meaning} |" for name, default, meaning in chart_values()]
    return between("values", "\n".join(["| value | default | meaning |", "|---|---|---|", *rows]) + "\n", text)


def chart_values() -> Iterator[tuple[str, Any, str]]:
    """The dotted name, the default and the comment of each value that has a comment."""
    defaults = yaml.safe_load((CHART / "values.yaml").read_text())
    comment: list[str] = []
    path: list[str] = []
    for line in (CHART / "values.yaml").read_text().splitlines():
        if found := _COMMENT.fullmatch(line):
            comment.append(found[1])
        elif found := _VALUE.fullmatch(line):
            path = [*path[: len(found["indent"]) // 2], found["name"]]
            if comment:
                yield ".".join(path), _at(defaults, path), " ".join(comment)
            comment = []
        else:
            comment = []


def _at(values: Any, path: list[str]) -> Any:
    for name in path:
        values = values[name]
    return values


def _shown(default: Any) -> str:
    if default in ("", [], {}):
        return "empty"
    if isinstance(default, dict):
        default = json.dumps(default) if len(json.dumps(default)) < 100 else "see `values.yaml`"
    return (
        default
        if str(default).startswith("see")
        else f"`{json.dumps(default) if isinstance(default, bool) else default}`"
    )


def _settings() -> Iterator[tuple[str, str, dict[str, Any], bool]]:
    """The name, the variable, the schema of the value and whether it is secret, of each setting that an operator may change."""
    for name, field in Settings.model_fields.items():
        if name not in SET_BY_THE_CHART | SET_BY_THE_LAUNCHER and not name.startswith(OF_SLURM):
            kinds = set(_kinds(field.annotation))
            yield name, _variable(name, field), _schema(kinds), SecretStr in kinds or name in SECRET


def _variable(name: str, field: FieldInfo) -> str:
    """The environment variable of a setting. With several, the first."""
    alias = field.validation_alias
    return str(alias.choices[0]) if isinstance(alias, AliasChoices) else f"PROXIMAL_{name.upper()}"


def _kinds(annotation: Any) -> Iterator[Any]:
    """The types of a setting's value, without what is around them; the values of a Literal."""
    if get_origin(annotation) in (Union, UnionType, Annotated):
        for part in get_args(annotation)[: 1 if get_origin(annotation) is Annotated else None]:
            yield from _kinds(part)
    elif get_origin(annotation) is Literal:
        yield from get_args(annotation)
    else:
        yield annotation


def _schema(kinds: set[Any]) -> dict[str, Any]:
    """The schema of a value in values.yaml, which becomes the text of a variable."""
    kinds = kinds - {type(None)}
    if kinds and all(isinstance(kind, str) for kind in kinds):
        return {"enum": sorted(kinds)}
    if kinds == {bool}:
        return {"$ref": "#/definitions/switch"}
    return {"$ref": f"#/definitions/{'number' if kinds <= {int, float} else 'text'}"}
