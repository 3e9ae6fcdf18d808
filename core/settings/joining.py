"""The settings that a worker which joins takes over from the API."""

import os

from pydantic import AliasChoices

from core.settings.kubernetes import KubernetesSettings
from core.settings.platform import Settings
from core.settings.slurm import SlurmSettings

_OF_ONE_MACHINE = frozenset(
    {
        *SlurmSettings.model_fields,
        *KubernetesSettings.model_fields,
        "data_dir",
        "data_slots",
        "trainer_memory_gib",
        "processes",
        "worker_name",
        "labels",
        "cuda_visible_devices",
        "machines",
        "rendezvous",
        "local_models",
        "hosts",
        "trusted_proxies",
        "dashboard_dir",
        "join_minutes",
        "join_database_url",
        "join_redis_url",
        "join_blob_url",
    }
)
"""Settings that a worker which joins does not take over: each machine has its own, or only the API reads them."""


def environment_of_a_new_worker(settings: Settings) -> dict[str, str]:
    """The environment variables that a worker on another machine shares with this process, with the secrets in them."""
    shared = {}
    for name, field in Settings.model_fields.items():
        alias = field.validation_alias
        names = alias.choices if isinstance(alias, AliasChoices) else [f"PROXIMAL_{name}"]
        variable = next((str(one).upper() for one in names if str(one).upper() in os.environ), None)
        unused = name.startswith("blob_") and settings.blob_bucket is None
        if variable is not None and name not in _OF_ONE_MACHINE and not unused:
            shared[variable] = os.environ[variable]
    shared["DATABASE_URL"] = settings.join_database_url or settings.database_url
    shared["REDIS_URL"] = settings.join_redis_url or settings.redis_url
    shared["PROXIMAL_BLOB_URL"] = settings.join_blob_url or settings.blob_url or settings.blob_dir.as_uri()
    return shared
