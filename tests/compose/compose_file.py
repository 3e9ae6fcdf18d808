"""docker-compose.yml as Compose reads it: anchors merged, variables filled in, values without a value taken from them."""

import re
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
COMPOSE, EXAMPLE = ROOT / "docker-compose.yml", ROOT / ".env.example"
FILLED_IN = {"POSTGRES_PASSWORD": "secret"}
"""The variable that a person must set in a copy of .env.example."""

_VARIABLE = re.compile(r"\$\{(?P<name>\w+)(?:(?P<how>:[-?])(?P<text>[^}]*))?\}")
_SETTING = re.compile(r"(?P<hash>#?)(?P<name>[A-Z][A-Z0-9_]*)=(?P<value>.*)")


class Missing(Exception):
    """Compose ends with an error because a required variable is missing."""


def example() -> dict[str, str]:
    """The variables that .env.example sets."""
    return {name: value for name, (value, shown) in _example_lines().items() if not shown}


def example_defaults() -> dict[str, str]:
    """The defaults that .env.example shows in comments."""
    return {name: value for name, (value, shown) in _example_lines().items() if shown}


def services(env: dict[str, str]) -> dict[str, Any]:
    """The services, as they would be started with this .env."""
    filled: dict[str, Any] = _fill(yaml.safe_load(COMPOSE.read_text()), env)["services"]
    for service in filled.values():
        given = service.get("environment", {})
        service["environment"] = {name: env.get(name) if value is None else value for name, value in given.items()}
    return filled


def variables() -> set[str]:
    """Every variable that docker-compose.yml takes from .env."""
    text = COMPOSE.read_text()
    inherited = {
        name
        for service in yaml.safe_load(text)["services"].values()
        for name, value in service.get("environment", {}).items()
        if value is None
    }
    return inherited | {match["name"] for match in _VARIABLE.finditer(text)}


def _example_lines() -> dict[str, tuple[str, bool]]:
    found = (_SETTING.fullmatch(line) for line in EXAMPLE.read_text().splitlines())
    return {match["name"]: (match["value"], bool(match["hash"])) for match in found if match}


def _fill(value: Any, env: dict[str, str]) -> Any:
    match value:
        case str():
            return _VARIABLE.sub(lambda match: _value(match, env), value)
        case list():
            return [_fill(item, env) for item in value]
        case dict():
            return {key: _fill(item, env) for key, item in value.items()}
    return value


def _value(match: re.Match[str], env: dict[str, str]) -> str:
    if given := env.get(match["name"]):
        return given
    if match["how"] == ":?":
        raise Missing(f"{match['name']}: {match['text']}")
    return match["text"] or ""
