"""The client's types and methods are written by hand: they must not drift from the API."""

import inspect
from typing import Any, get_type_hints

import pytest

from api.app import create_app
from client.sdk import Client, types

SCHEMA: dict[str, Any] = create_app().openapi()
SHAPES = {
    name: shape for name, shape in inspect.getmembers(types, inspect.isclass) if hasattr(shape, "__required_keys__")
}
# The dashboard's own; a program sends its key with every request.
NOT_FOR_PROGRAMS = {"sign_in", "sign_out"}


def operations() -> set[str]:
    return {operation["operationId"] for path in SCHEMA["paths"].values() for operation in path.values()}


@pytest.mark.parametrize("name", SHAPES)
def test_a_shape_has_the_fields_that_the_api_answers(name: str) -> None:
    assert set(get_type_hints(SHAPES[name])) == set(SCHEMA["components"]["schemas"][name]["properties"])


def test_every_operation_has_a_method() -> None:
    methods = {name for name, _ in inspect.getmembers(Client, inspect.isfunction) if not name.startswith("_")}
    assert operations() - methods == NOT_FOR_PROGRAMS
