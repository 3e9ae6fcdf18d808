"""The compose file is valid for Compose and complete for the platform."""

import json
from importlib.resources import files
from typing import Any

import jsonschema
import pytest
import yaml
from sqlalchemy.engine import make_url

from core.settings import KubernetesSettings, Settings, SlurmSettings
from tests.compose.compose_file import COMPOSE, FILLED_IN, Missing, example, example_defaults, services, variables
from trainer.spec.tracking import TrackingSpec

OF_COMPOSE = {"COMPOSE_PROFILES"}
ONE_SHOT = {"migrate"}
WORKERS = ("worker", "worker-gpu", "data-worker", "data-worker-gpu")
OURS = ("migrate", "api", "sweeper", *WORKERS)


@pytest.fixture
def schema() -> dict[str, Any]:
    """The compose specification's own, as the package check-jsonschema carries it."""
    text = (files("check_jsonschema") / "builtin_schemas" / "vendor" / "compose-spec.json").read_text()
    found: dict[str, Any] = json.loads(text)
    return found


@pytest.fixture
def started() -> dict[str, Any]:
    return services(example() | FILLED_IN)


def test_compose_file_matches_the_schema(schema: dict[str, Any]) -> None:
    jsonschema.Draft202012Validator(schema).validate(yaml.safe_load(COMPOSE.read_text()))


def test_compose_schema_refuses_a_misspelt_key(schema: dict[str, Any]) -> None:
    document = yaml.safe_load(COMPOSE.read_text())
    document["services"]["api"]["helthcheck"] = document["services"]["api"].pop("healthcheck")
    with pytest.raises(jsonschema.ValidationError, match="helthcheck"):
        jsonschema.Draft202012Validator(schema).validate(document)


def test_without_a_password_nothing_starts() -> None:
    with pytest.raises(Missing, match="POSTGRES_PASSWORD"):
        services(example())


def test_compose_variables_are_exactly_those_of_the_example() -> None:
    assert variables() | OF_COMPOSE == example().keys() | example_defaults().keys()


def test_compose_passes_every_operator_setting_on(started: dict[str, Any]) -> None:
    names = {"DATABASE_URL", "REDIS_URL"} | {f"PROXIMAL_{name.upper()}" for name in Settings.model_fields}
    names -= {"PROXIMAL_DATABASE_URL", "PROXIMAL_REDIS_URL", "PROXIMAL_DASHBOARD_DIR"}
    names -= {"PROXIMAL_CUDA_VISIBLE_DEVICES"}  # the engine sets it, to what it has given the container
    for launcher in (SlurmSettings, KubernetesSettings):
        names -= {
            f"PROXIMAL_{name.upper()}" for name in launcher.model_fields
        }  # launchers that Docker Compose does not use
    for service in OURS:
        assert names <= started[service]["environment"].keys(), service


def test_the_example_shows_the_true_defaults() -> None:
    shown = {name: value for name, value in example_defaults().items() if name.startswith("PROXIMAL_")}
    for name in ("PROXIMAL_BIND", "PROXIMAL_PORT"):  # of the compose file itself
        del shown[name]
    for name, value in shown.items():
        default = Settings.model_fields[name.removeprefix("PROXIMAL_").lower()].default
        assert value == ("" if default in (None, [], TrackingSpec()) else str(default)) or float(value) == default, name


def test_the_database_address_is_that_of_the_postgres_service(started: dict[str, Any]) -> None:
    server = started["postgres"]["environment"]
    for name in OURS:
        url = make_url(started[name]["environment"]["DATABASE_URL"])
        assert (url.host, url.username) == ("postgres", server["POSTGRES_USER"])
        assert (url.database, url.password) == (server["POSTGRES_DB"], server["POSTGRES_PASSWORD"])


def test_compose_services_have_health_checks_and_restart(started: dict[str, Any]) -> None:
    for name, service in started.items():
        if name not in ONE_SHOT:
            assert service["healthcheck"]["test"], name
            assert service["restart"] == "unless-stopped", name


def test_compose_services_start_after_their_dependencies(started: dict[str, Any]) -> None:
    for name in ("api", "sweeper", *WORKERS):
        needs = {other: how["condition"] for other, how in started[name]["depends_on"].items()}
        assert needs == {
            "migrate": "service_completed_successfully",
            "postgres": "service_healthy",
            "redis": "service_healthy",
        }


def test_api_sweeper_and_workers_share_the_blobs(started: dict[str, Any]) -> None:
    for name in ("api", "sweeper", *WORKERS):
        assert "blobs:/blobs" in started[name]["volumes"]
        assert started[name]["environment"]["PROXIMAL_BLOB_URL"] == "file:///blobs"


def test_compose_containers_of_ours_are_read_only(started: dict[str, Any]) -> None:
    """Each place that a process writes to is a volume, or /tmp. A tmpfs elsewhere would belong to root."""
    for name in OURS:
        assert started[name]["read_only"] is True
        assert started[name]["tmpfs"] == ["/tmp"]
        mounted = {"/tmp"} | {volume.split(":")[1] for volume in started[name].get("volumes", [])}
        written = {started[name]["environment"]["PROXIMAL_DATA_DIR"], "/blobs"}
        assert name == "migrate" or written <= mounted, name


def test_compose_worker_stop_period_covers_a_checkpoint(started: dict[str, Any]) -> None:
    minutes = int(started["worker"]["stop_grace_period"].removesuffix("m"))
    assert minutes * 60 > 2 * Settings.model_fields["stop_seconds"].default


def test_compose_only_gpu_workers_reserve_a_gpu(started: dict[str, Any]) -> None:
    asking = {name for name, service in started.items() if "deploy" in service}
    assert asking == {"worker-gpu", "data-worker-gpu"}
    for name in asking:
        (device,) = started[name]["deploy"]["resources"]["reservations"]["devices"]
        assert device["capabilities"] == ["gpu"]


def test_only_the_api_is_published_and_only_to_this_machine(started: dict[str, Any]) -> None:
    assert {name: service["ports"] for name, service in started.items() if "ports" in service} == {
        "api": ["127.0.0.1:8000:8000"]
    }
