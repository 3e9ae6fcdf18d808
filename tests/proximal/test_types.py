"""The SDK against the API's schema: a method for each operation, which returns the operation's type."""

import inspect
import json
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

from api.openapi import followed
from proximal.sdk import AsyncClient, Client, types

SCHEMA: dict[str, Any] = json.loads((Path(__file__).parents[2] / "frontend" / "openapi.json").read_text())
OPERATIONS = {operation["operationId"]: operation for path in SCHEMA["paths"].values() for operation in path.values()}

# Only the dashboard signs in and out; a program sends its key with every request.
NOT_FOR_PROGRAMS = {"sign_in", "sign_out"}
# The SDK reads the log page by page, under another name.
RENAMED = {"get_job_log"}
# Methods that write a file, or return another form than the response.
NO_JSON = {"download_checkpoint", "download_checkpoint_file", "export_dataset", "stream_job_events", "stream_events"}
NO_JSON |= {"export_audit_log"}
# A program that waits without blocking has no use for these, or runs them in a thread by itself.
BLOCKING = {
    "finished_validation",
    "put_upload_part",
    "sample_dataset_rows",
    "upload_file",
    "wait_for_dataset",
    "wait_for_upload",
}


def returned(operation: dict[str, Any]) -> str | None:
    """Name of the schema of a successful response; None without a body."""
    success = next(
        followed(SCHEMA, response) for status, response in operation["responses"].items() if status.startswith("2")
    )
    if "content" not in success:
        return None
    schema = success["content"]["application/json"]["schema"]
    return str(schema["$ref"].rpartition("/")[2]) if "$ref" in schema else "dict"


def item_type(schema: str) -> str:
    name: str = SCHEMA["components"]["schemas"][schema]["properties"]["data"]["items"]["$ref"].rpartition("/")[2]
    return name


def methods(client: type) -> set[str]:
    return {name for name, _ in inspect.getmembers(client, inspect.isfunction) if not name.startswith("_")}


def test_sdk_has_a_method_for_every_operation() -> None:
    assert set(OPERATIONS) - methods(Client) == NOT_FOR_PROGRAMS | RENAMED


def test_async_client_has_the_methods_of_the_client() -> None:
    assert methods(Client) - methods(AsyncClient) == BLOCKING
    assert methods(AsyncClient) - methods(Client) == set()


@pytest.mark.parametrize("name", sorted(set(OPERATIONS) - NOT_FOR_PROGRAMS - RENAMED - NO_JSON))
def test_method_returns_the_type_of_its_operation(name: str) -> None:
    hint = get_type_hints(getattr(Client, name))["return"]
    schema = returned(OPERATIONS[name])
    if schema is None:
        assert hint is type(None)
    elif schema.endswith("List"):
        assert get_args(hint) == (getattr(types, item_type(schema)),)
    else:
        assert hint == getattr(types, schema, None) or schema == "dict"
