"""The API in the process of the test: it stores what the data worker then works on."""

from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient

from core.access.keys import create_key
from core.db import session_scope
from core.settings import Settings
from tests.api.serving import application


@pytest.fixture
def client(settings: Settings) -> Iterator[TestClient]:
    with session_scope() as session:
        _, key = create_key(session, "tester")
    with TestClient(application(settings), headers={"Authorization": f"Bearer {key}"}) as client:
        yield client
