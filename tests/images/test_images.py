"""The images themselves: contents, user, labels, bill of materials, sizes."""

import json
import subprocess
import tomllib

import pytest

from tests.compose.compose_file import FILLED_IN, ROOT, example, services
from tests.images.conftest import IMAGES, MARKS, Image

pytestmark = MARKS
each = pytest.mark.parametrize("name", IMAGES)
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
BASE_MEGABYTES = 270
"""A little more than the Debian base of these tests has."""
MOST_MEGABYTES = {"api": BASE_MEGABYTES + 450, "worker": BASE_MEGABYTES + 1600}


@each
def test_image_has_the_labels_of_oci(built: dict[str, Image], name: str) -> None:
    labels = json.loads(built[name].inspect("{{json .Labels}}"))
    found = {key.removeprefix("org.opencontainers.image."): value for key, value in labels.items()}
    assert found["version"] == VERSION
    assert found["licenses"] == "Apache-2.0"
    assert found["base.name"] == "python:3.11-slim"
    assert len(found["revision"]) == 40
    assert found["title"] == {"api": "Proximal", "worker": "Proximal worker"}[name]


@each
def test_image_runs_as_its_own_user_without_privileges(built: dict[str, Image], name: str) -> None:
    assert built[name].inspect("{{.User}}") == "10001:10001"
    status = built[name].run("cat", "/proc/self/status")
    fields = dict(line.split(":\t") for line in status.splitlines() if ":\t" in line)
    assert fields["Uid"].split() == ["10001"] * 4
    assert int(fields["CapEff"], 16) == int(fields["CapBnd"], 16) == 0


@each
def test_image_files_belong_to_root_except_the_volumes(built: dict[str, Image], name: str) -> None:
    """A hole in the platform must not let anyone change its programs."""
    # Folders that this user may not read end the search with an error, and are not its own.
    own = built[name].run("sh", "-c", "find / -xdev -path /proc -prune -o -user 10001 -print || true")
    found = {path for path in own.split() if not path.startswith("/home/proximal")}
    assert found <= {"/data", "/blobs", "/models"}
    assert {"/data", "/blobs"} <= found


@each
def test_image_health_check_is_that_of_its_service(built: dict[str, Image], name: str) -> None:
    (_, *in_image) = json.loads(built[name].inspect("{{json .HealthCheck.Test}}"))
    (_, *in_compose) = services(example() | FILLED_IN)[name]["healthcheck"]["test"]
    assert in_image == in_compose


@each
def test_image_lists_its_packages_in_its_bill(built: dict[str, Image], name: str) -> None:
    """CycloneDX; the same packages, at the same versions, as the image's own Python finds."""
    bill = json.loads(built[name].run("cat", "/opt/sbom/python.json"))
    assert bill["bomFormat"] == "CycloneDX"
    listed = {(part["name"].lower().replace("_", "-"), part["version"]) for part in bill["components"]}
    code = "from importlib.metadata import distributions as d; print(*(f'{x.name}={x.version}' for x in d()))"
    installed = {
        tuple(word.lower().replace("_", "-").split("=")) for word in built[name].run("python", "-c", code).split()
    }
    assert listed | {("proximal-rlhf", VERSION)} == installed
    assert len(installed) > 40


def test_dashboard_lists_its_packages_in_its_bill(built: dict[str, Image]) -> None:
    bill = json.loads(built["api"].run("cat", "/opt/sbom/dashboard.json"))
    assert bill["bomFormat"] == "CycloneDX"
    direct = json.loads((ROOT / "frontend" / "package.json").read_text())["dependencies"]
    listed = {f"{part.get('group', '')}/{part['name']}".strip("/"): part["version"] for part in bill["components"]}
    assert direct.items() <= listed.items()
    assert "vite" not in listed


@each
def test_image_has_no_tools_of_its_build(built: dict[str, Image], name: str) -> None:
    code = "import shutil; print([tool for tool in ('uv', 'gcc', 'node', 'npm', 'cyclonedx-py') if shutil.which(tool)])"
    assert built[name].run("python", "-c", code).strip() == "[]"


@each
def test_image_holds_no_settings_of_this_machine(built: dict[str, Image], name: str) -> None:
    """The package indexes reached the build as secrets."""
    for path in ("/etc/pip.conf", "/etc/uv/uv.toml", "/root/.npmrc"):
        with pytest.raises(AssertionError, match=r"No such file|Permission denied"):
            built[name].run("cat", path)
    history = subprocess.run(
        [*built[name].podman, "history", "--no-trunc", built[name].name], capture_output=True, text=True, check=True
    )
    assert "index-url" not in history.stdout


@each
def test_image_stays_within_its_size(built: dict[str, Image], name: str, figures: dict[str, float]) -> None:
    megabytes = int(built[name].inspect("{{.Size}}")) / 1e6
    figures[f"MB of {IMAGES[name]}"] = megabytes
    assert megabytes < MOST_MEGABYTES[name]
