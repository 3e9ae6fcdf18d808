"""The pages that are written from the code, each with the function that makes its new text from its old one."""

from collections.abc import Callable
from pathlib import Path

from commands_page import commands_page
from events_page import events_page
from helm_pages import CHART, values_schema, values_table
from metrics_page import metrics_page
from permissions_page import permissions_page
from rest_page import rest_page
from settings_page import env_example, settings_page
from spec_page import spec_page
from tables import formats_page, readme

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs" / "reference"
SPEC, METRICS, FORMATS = REFERENCE / "spec.md", REFERENCE / "metrics.md", REFERENCE / "formats.md"
REST, EVENTS, COMMANDS = REFERENCE / "rest.md", REFERENCE / "events.md", REFERENCE / "commands.md"
SETTINGS, ENV_EXAMPLE = REFERENCE / "settings.md", ROOT / ".env.example"
README = ROOT / "README.md"
PERMISSIONS = ROOT / "docs" / "explanation" / "permissions.md"
VALUES_SCHEMA, HELM = CHART / "values.schema.json", ROOT / "docs" / "how-to" / "use-helm.md"
PAGES: dict[Path, Callable[[str], str]] = {
    SPEC: lambda _: spec_page(),
    METRICS: lambda _: metrics_page(),
    REST: lambda _: rest_page(),
    EVENTS: lambda _: events_page(),
    COMMANDS: lambda _: commands_page(),
    FORMATS: formats_page,
    SETTINGS: lambda _: settings_page(),
    ENV_EXAMPLE: env_example,
    README: readme,
    PERMISSIONS: permissions_page,
    VALUES_SCHEMA: values_schema,
    HELM: values_table,
}
