"""The objects that the chart makes of some values."""

import base64
import json
import re
import subprocess
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
CHART = ROOT / "examples" / "helm" / "proximal"
MINIMAL: dict[str, Any] = {
    "images": {
        "api": {"repository": "registry.example/proximal"},
        "worker": {"repository": "registry.example/proximal-worker"},
    },
    "database": {"url": "postgresql://proximal:hidden@postgres.example:5432/proximal"},
    "redis": {"url": "redis://:hidden@redis.example:6379/0"},
}
"""The values that a person must set."""

Values = dict[str, Any]
_FREE = {"annotations", "podAnnotations", "requests", "limits"}


class Refused(Exception):
    """Helm does not render these values."""


@dataclass(frozen=True)
class Release:
    """The objects that Helm would send to a cluster, and its text for the terminal."""

    objects: list[dict[str, Any]]
    notes: str

    def named(self, kind: str, name: str) -> dict[str, Any]:
        """The one object of this kind whose name is that of the release with `-name`, or without one if `name` is empty."""
        whole = f"demo-proximal-{name}" if name else "demo-proximal"
        (found,) = [one for one in self.of_kind(kind) if one["metadata"]["name"] == whole]
        return found

    def of_kind(self, kind: str) -> list[dict[str, Any]]:
        return [one for one in self.objects if one["kind"] == kind]

    def pods(self) -> dict[str, dict[str, Any]]:
        """The template of each pod, by its component."""
        templates = [one["spec"]["template"] for one in self.objects if "template" in one.get("spec", {})]
        return {one["metadata"]["labels"]["app.kubernetes.io/component"]: one for one in templates}

    def containers(self) -> dict[str, dict[str, Any]]:
        """The one container of each pod, by its component."""
        return {name: one for name, pod in self.pods().items() for one in pod["spec"]["containers"]}

    def environment(self, component: str) -> dict[str, str]:
        """The variables of a container as its process reads them, those of the chart's own Secrets included."""
        secrets = {one["metadata"]["name"]: one["data"] for one in self.of_kind("Secret")}
        found = {}
        for entry in self.containers()[component]["env"]:
            if "value" in entry:
                found[entry["name"]] = expanded(entry["value"])
            elif "secretKeyRef" in entry["valueFrom"]:
                source = entry["valueFrom"]["secretKeyRef"]
                if source["name"] in secrets:
                    found[entry["name"]] = base64.b64decode(secrets[source["name"]][source["key"]]).decode()
        return found


class Renderer:
    """Renders the chart in the process of tests/helm/renderer.py."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def render(self, values: Values, minimal: Values = MINIMAL) -> Release:
        """The release of `values`, with those of `minimal` where they are left out. Raises Refused."""
        response = self._request({"values": merged(minimal, values), "name": "demo", "namespace": "rlhf"})
        if "error" in response:
            raise Refused(response["error"])
        notes = {name: text for name, text in response["files"].items() if name.endswith("NOTES.txt")}
        texts = [text for name, text in sorted(response["files"].items()) if name not in notes]
        objects = [one for text in texts for one in yaml.load_all(text, Loader=yaml.CSafeLoader) if one]
        return Release(objects, *notes.values())

    def lint(self) -> list[dict[str, Any]]:
        """The findings of `helm lint --strict`."""
        return self._request({"values": MINIMAL, "lint": True})["messages"]

    def _request(self, request: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())


def merged(values: Values, more: Values) -> Values:
    """Values as Helm merges several files of them: the later one wins, key by key."""
    result = deepcopy(values)
    for name, value in more.items():
        both = isinstance(value, dict) and isinstance(result.get(name), dict)
        result[name] = merged(result[name], value) if both else value
    return result


def value_paths(values: Values, path: str = "") -> Iterator[str]:
    """The dotted path of each value and each section, without the keys that belong to Kubernetes or to a user."""
    for name, value in values.items():
        yield f"{path}{name}"
        if isinstance(value, dict) and name not in _FREE:
            yield from value_paths(value, f"{path}{name}.")


def expanded(value: str) -> str:
    """A value of `env` as the kubelet hands it on: `$$` is `$`. Raises AssertionError if it would insert a variable."""

    def replace(match: re.Match[str]) -> str:
        assert match[0] == "$$", f"{match[0]} inserts a variable"
        return "$"

    return re.sub(r"\$\$|\$\([^)]*\)", replace, value)
