"""Reads the settings of a process from its environment, and those of processes that need few."""

from functools import lru_cache
from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import AliasChoices, Field, ValidationError
from pydantic_settings import BaseSettings

from core.errors import SettingsError
from core.settings.kubernetes import KubernetesSettings
from core.settings.platform import Settings
from core.settings.slurm import SlurmSettings
from core.settings.values import Folders, Seconds

SettingsClass = TypeVar("SettingsClass", bound=BaseSettings)


class LocalSettings(BaseSettings):
    """The settings that `proximal up` reads before it starts servers. An address that is set replaces an embedded server."""

    model_config = Settings.model_config

    database_url: Annotated[str | None, Field(validation_alias=AliasChoices("DATABASE_URL", "database_url"))] = None
    """Address of a PostgreSQL server. None: an embedded server runs in the data folder."""
    redis_url: Annotated[str | None, Field(validation_alias=AliasChoices("REDIS_URL", "redis_url"))] = None
    """Address of a Redis server. None: an embedded server runs in the data folder."""
    data_dir: Path = Path(".proximal")
    """Folder for the data of this machine."""
    local_models: Folders = []
    """Folders from which jobs may read models, in addition to the folder that `proximal up` creates."""


class MachineSettings(BaseSettings):
    """The settings of `python -m worker join`, which needs neither database nor Redis."""

    model_config = Settings.model_config

    data_dir: Path
    """Data folder of the worker that it joins, on shared storage."""
    machine_rank: Annotated[int, Field(ge=1)]
    """Number of this machine, from 1. The worker's machine is 0."""
    trainer_memory_gib: Annotated[float, Field(ge=0)] | None = None
    """The setting of the same name of the worker, in GiB, for this machine."""
    stop_seconds: Seconds = 60
    """The setting of the same name of the worker, in seconds."""


@lru_cache(maxsize=1)
def get_settings() -> Settings:
    """The settings of this process. Raises SettingsError. No module calls it at import time."""
    return _read(Settings)


def get_slurm_settings() -> SlurmSettings:
    """The settings of a worker for Slurm, without those of the platform. Raises SettingsError."""
    return _read(SlurmSettings)


def get_kubernetes_settings() -> KubernetesSettings:
    """The settings of a worker for Kubernetes, without those of the platform. Raises SettingsError."""
    return _read(KubernetesSettings)


def get_machine_settings() -> MachineSettings:
    """The settings of a machine that joins a worker. Raises SettingsError."""
    return _read(MachineSettings)


def _read(kind: type[SettingsClass]) -> SettingsClass:
    try:
        return kind()
    except ValidationError as error:
        lines = [f"  {'.'.join(str(part) for part in item['loc'])}: {item['msg']}" for item in error.errors()]
        raise SettingsError("The settings are not valid:\n" + "\n".join(lines)) from error
