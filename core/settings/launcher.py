"""The setting that chooses a launcher, which the settings of every launcher inherit."""

from typing import Literal

from pydantic_settings import BaseSettings, SettingsConfigDict

LauncherName = Literal["local", "slurm", "kubernetes"]


class LauncherSettings(BaseSettings):
    """Where a worker runs its trainers. `proximal doctor` reads it too, and needs no others."""

    model_config = SettingsConfigDict(
        env_prefix="PROXIMAL_", frozen=True, extra="ignore", use_attribute_docstrings=True, populate_by_name=True
    )

    launcher: LauncherName = "local"
    """Where this worker runs its trainers. `local`: as processes of its machine. `slurm`: as batch jobs of a Slurm cluster, where `sbatch` works on the worker's machine and all nodes have the data folder. `kubernetes`: as Jobs of a namespace, whose pods mount the data folder from a claim. Each worker has its own."""
