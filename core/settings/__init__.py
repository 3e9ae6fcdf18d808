"""All settings of the platform. Only this package reads the environment."""

from core.settings.joining import environment_of_a_new_worker
from core.settings.kubernetes import KubernetesSettings
from core.settings.platform import Settings
from core.settings.reading import (
    LocalSettings,
    MachineSettings,
    get_kubernetes_settings,
    get_machine_settings,
    get_settings,
    get_slurm_settings,
)
from core.settings.slurm import SlurmSettings

__all__ = [
    "KubernetesSettings",
    "LocalSettings",
    "MachineSettings",
    "Settings",
    "SlurmSettings",
    "environment_of_a_new_worker",
    "get_kubernetes_settings",
    "get_machine_settings",
    "get_settings",
    "get_slurm_settings",
]
