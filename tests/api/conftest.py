"""The real application on the real database, called as a program calls it (with a key) unless stated otherwise."""

from collections.abc import Iterator

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy.orm import Session

from core.access import keys
from core.models import ApiKey, Dataset
from core.settings import Settings
from tests.api.serving import application
from tests.core.factories import make_dataset


@pytest.fixture
def app(settings: Settings) -> FastAPI:
    """A fresh application with the settings of this test, which are also in the environment."""
    return application(settings)


@pytest.fixture
def owner(session: Session) -> tuple[ApiKey, str]:
    """A key and its text."""
    made = keys.create_key(session, "tester")
    session.commit()
    return made


@pytest.fixture
def anonymous(app: FastAPI) -> Iterator[TestClient]:
    with TestClient(app) as client:
        yield client


@pytest.fixture
def client(app: FastAPI, owner: tuple[ApiKey, str]) -> Iterator[TestClient]:
    with TestClient(app, headers={"Authorization": f"Bearer {owner[1]}"}) as client:
        yield client


@pytest.fixture
def dataset(session: Session, owner: tuple[ApiKey, str]) -> Dataset:
    made = make_dataset(session, owner[0].owner_id)
    session.commit()
    return made


@pytest.fixture
def body(dataset: Dataset) -> dict[str, object]:
    """The smallest complete job."""
    return {"model": "some/model", "data": {"preferences": dataset.id}, "ppo": {}}
