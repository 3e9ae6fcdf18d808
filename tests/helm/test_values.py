"""The values reach the settings of the platform, and the guide and the schema agree with them."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from core.settings import Settings, get_settings
from tests.helm.chart import CHART, MINIMAL, ROOT, Renderer, merged, value_paths
from tests.helm.value_sets import VALUE_SETS

GUIDE = ROOT / "docs" / "how-to" / "use-helm.md"
NOT_IN_A_CLUSTER = {
    "PROXIMAL_DASHBOARD_DIR",  # the image sets it
    "CUDA_VISIBLE_DEVICES",  # the device plugin sets it
    "PROXIMAL_MACHINES",
    "PROXIMAL_RENDEZVOUS",
    "PROXIMAL_KUBERNETES_CONTEXT",  # for workers outside the cluster
    "PROXIMAL_KUBERNETES_CLAIM_FOLDER",
    "PROXIMAL_KUBERNETES_MODELS_PATH",
}
OF_LIBRARIES = {"HF_HOME", "HF_TOKEN"}


@pytest.fixture
def schema() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((CHART / "values.schema.json").read_text())
    return found


def variables() -> dict[str, bool]:
    """Each variable of the settings, and whether it is required."""
    found = {}
    for name, field in Settings.model_fields.items():
        alias = field.validation_alias
        found[alias.choices[0] if alias else f"PROXIMAL_{name.upper()}"] = field.is_required()
    return found


def listed(schema: dict[str, Any]) -> set[str]:
    """The variables that the values may have."""
    sections = schema["properties"]
    maps = (
        sections["settings"],
        sections["secrets"]["properties"]["values"],
        sections["worker"]["properties"]["kubernetes"],
    )
    return {name for one in maps for name in one["properties"]} - OF_LIBRARIES


@pytest.mark.parametrize("name", VALUE_SETS)
def test_every_variable_is_a_setting(helm: Renderer, name: str) -> None:
    release = helm.render(VALUE_SETS[name])
    required = {variable for variable, is_required in variables().items() if is_required}
    assert required == {"DATABASE_URL", "REDIS_URL"}
    for container in release.containers().values():
        names = [entry["name"] for entry in container["env"]]
        assert len(names) == len(set(names))
        assert set(names) - OF_LIBRARIES <= variables().keys()
        assert required <= set(names)


def test_every_setting_has_a_place_in_the_values(helm: Renderer, schema: dict[str, Any]) -> None:
    rendered = [
        helm.render(merged(VALUE_SETS["an ingress"], {"worker": {"labels": ["a100"]}})),
        helm.render(VALUE_SETS["Jobs"]),
    ]
    containers = [container for release in rendered for container in release.containers().values()]
    set_by_the_chart = {entry["name"] for container in containers for entry in container["env"]} - OF_LIBRARIES
    of_slurm = {name for name in variables() if name.startswith("PROXIMAL_SLURM_")}
    assert listed(schema) | set_by_the_chart | NOT_IN_A_CLUSTER == variables().keys() - of_slurm
    changed = {"PROXIMAL_KUBERNETES_IMAGE", *VALUE_SETS["Jobs"]["worker"]["kubernetes"]}
    assert listed(schema) & (set_by_the_chart | NOT_IN_A_CLUSTER) == changed


def test_no_secret_may_be_a_setting(schema: dict[str, Any]) -> None:
    plain = schema["properties"]["settings"]["properties"]
    assert [name for name in plain if re.search("SECRET|KEY_ID|TOKEN$|DATABASE_URL|REDIS_URL", name)] == []


def settings_of(environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Settings:
    for name in variables():
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    get_settings.cache_clear()
    return get_settings()


def test_processes_accept_their_environment(helm: Renderer, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in set(VALUE_SETS) - {"secrets by name", "hostile texts"}:
        release = helm.render(VALUE_SETS[name])
        for component in release.containers():
            settings_of(release.environment(component), monkeypatch)


def test_settings_arrive_in_the_processes(helm: Renderer, monkeypatch: pytest.MonkeyPatch) -> None:
    own = {
        "PROXIMAL_MAX_UPLOAD_BYTES": 137438953472,
        "PROXIMAL_PREEMPT_AFTER_MINUTES": 0,
        "PROXIMAL_REFUSE_UNFIT_JOBS": True,
        "PROXIMAL_WHEN_QUOTA_EXCEEDED": "refuse",
        "PROXIMAL_REWARD_URLS": "https://rewards.example/v1 http://10.0.0.7/",
        "PROXIMAL_TRACKING": '{"wandb": {"project": "$rlhf"}}',
    }
    ours = merged(VALUE_SETS["a bucket"], merged(VALUE_SETS["an ingress"], {"settings": own}))
    settings = settings_of(helm.render(ours).environment("api"), monkeypatch)
    assert settings.max_upload_bytes == 137438953472 and settings.preempt_after_minutes == 0
    assert settings.refuse_unfit_jobs is True and settings.blob_redirects is False
    assert settings.when_quota_exceeded == "refuse"
    assert settings.tracking.wandb and settings.tracking.wandb.project == "$rlhf"
    assert settings.blob_bucket == ("models", "proximal")
    assert settings.blob_secret_access_key and settings.blob_secret_access_key.get_secret_value() == "hidden"
    assert settings.hosts[:3] == ["rlhf.example.org", "proximal.internal", "demo-proximal-api"]
    assert settings.trusted_proxies == ["10.244.0.0/16", "fd00::/8"]


def test_a_folder_of_blobs_is_the_mounted_one(helm: Renderer, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = settings_of(helm.render({}).environment("worker"), monkeypatch)
    assert (str(settings.blob_dir), str(settings.data_dir)) == ("/blobs", "/data")
    assert settings.stop_seconds == 60 and settings.launcher == "local"


def schema_paths(schema: dict[str, Any], section: dict[str, Any], path: str = "") -> Iterator[str]:
    for name, value in section.get("properties", {}).items():
        yield f"{path}{name}"
        found = schema["definitions"][value["$ref"].rpartition("/")[2]] if "$ref" in value else value
        if name not in ("settings", "scheduling", "values", "kubernetes"):
            yield from schema_paths(schema, found, f"{path}{name}.")


def test_the_schema_has_exactly_the_values(schema: dict[str, Any]) -> None:
    defaults = set(value_paths(yaml.safe_load((CHART / "values.yaml").read_text())))
    known = {path for path in schema_paths(schema, schema) if path != "global"}
    assert {path for path in known - defaults if not re.search(r"resources\.(requests|limits)$", path)} == set()
    assert defaults - known == set()


def test_every_value_has_a_meaning_in_the_guide() -> None:
    text = GUIDE.read_text()
    described = set(re.findall(r"^\| `([\w.]+)` \|", text.partition("<!-- values:")[2], re.MULTILINE))
    defaults = set(value_paths(yaml.safe_load((CHART / "values.yaml").read_text())))
    groups = {path.rpartition(".")[0] for path in described}
    groups |= {group.rpartition(".")[0] for group in groups}
    inner = {path for path in defaults if path.rpartition(".")[0] in described}
    assert defaults - described - groups - inner == set()


def examples() -> list[dict[str, Any]]:
    """The values in the guide: files in YAML, and options of commands."""
    text = GUIDE.read_text()
    files = [yaml.safe_load(block) for block in re.findall(r"^```yaml\n(.*?)^```", text, re.MULTILINE | re.DOTALL)]
    options: dict[str, Any] = {}
    for path, value in re.findall(r"--set ([\w.]+)=([^\s`]+)", text):
        *sections, name = path.split(".")
        inner = options
        for section in sections:
            inner = inner.setdefault(section, {})
        inner[name] = yaml.safe_load(value)
    return [*files, options]


def test_values_in_the_guide_render(helm: Renderer) -> None:
    shown = examples()
    assert len(shown) > 5
    for values in shown:
        names_addresses = values.get("database", {}).get("existingSecret") is not None
        minimal = {name: value for name, value in MINIMAL.items() if name == "images" or not names_addresses}
        assert helm.render(values, minimal).objects
