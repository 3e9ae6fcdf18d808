"""The settings of the platform: `docs/reference/settings.md`, and the part of `.env.example` that shows their defaults."""

import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import AliasChoices, BaseModel
from pydantic_core import PydanticUndefined

from core.settings import KubernetesSettings, Settings, SlurmSettings

ROOT = Path(__file__).parents[2]
INTRODUCTION = """\
# Settings

<!-- Written by docs/generate from core/settings: change it there, then run `make reference`. -->

The API, the workers and `python -m core` read these environment variables when they start. [`.env.example`](../../.env.example)
lists those that Docker Compose passes on. `python -m worker join` reads `PROXIMAL_DATA_DIR`, `PROXIMAL_STOP_SECONDS` and
`PROXIMAL_MACHINE_RANK`, the number of the machine from 1. A value that is not valid ends the process with the name of the setting.
"""
SET_BY_COMPOSE = ("database_url", "redis_url", "data_dir", "cuda_visible_devices", "dashboard_dir")
"""Settings that docker-compose.yml or the images decide, so that `.env` cannot change them."""
OF_CLUSTERS = tuple({**SlurmSettings.model_fields, **KubernetesSettings.model_fields})
"""Settings of the launchers for clusters, which Docker Compose does not use."""
BEGIN = "# Settings of the platform: written by docs/generate from core/settings.\n"


def settings_page() -> str:
    parts = [INTRODUCTION]
    for variable, default, description in _settings():
        parts.append(f"## `{variable}`\n\n{_shown(default)}\n\n{description}\n")
    return "\n".join(parts)


def env_example(text: str) -> str:
    """The file with a new last part. The part before it describes the variables of Docker Compose itself."""
    kept, _, _ = text.partition(BEGIN)
    lines = [
        f"{textwrap.fill(description, 120, initial_indent='# ', subsequent_indent='# ')}\n#{variable}={_plain(default)}\n"
        for variable, default, description in _settings(without=(*SET_BY_COMPOSE, *OF_CLUSTERS))
    ]
    return "\n".join([kept + BEGIN.rstrip(), *lines])


def _settings(without: tuple[str, ...] = ()) -> Iterator[tuple[str, Any, str]]:
    """The variable, the default and the description of each setting."""
    fields = Settings.model_fields
    own = [name for name in fields if name not in OF_CLUSTERS]  # inherited ones would come first
    for name, field in ((name, fields[name]) for name in (*own, *OF_CLUSTERS)):
        alias = field.validation_alias
        variable = str(alias.choices[0]) if isinstance(alias, AliasChoices) else f"PROXIMAL_{name.upper()}"
        if name not in without:
            yield variable, field.default, field.description or ""


def _shown(default: Any) -> str:
    if default is PydanticUndefined:
        return "**Required.**"
    if isinstance(default, Path) and default.is_relative_to(ROOT):
        return f"Default: `{default.relative_to(ROOT).as_posix()}` beside the code."
    if isinstance(default, BaseModel):
        return "Default: empty."
    if default is None:
        return "Default: left out."
    if isinstance(default, int) and default >= 1024**2:
        return f"Default: `{default}` ({_binary_size(default)})."
    return f"Default: `{default}`." if default not in ("", []) else "Default: empty."


def _binary_size(count: int) -> str:
    """A number of bytes in GiB or MiB."""
    return f"{count // 1024**3} GiB" if count % 1024**3 == 0 else f"{count // 1024**2} MiB"


def _plain(default: Any) -> str:
    """A default as the value of a variable."""
    return "" if default is None or default == [] or isinstance(default, BaseModel) else str(default)
