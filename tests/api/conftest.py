"""The real application on the real database, called as a program calls it (with a key) unless said otherwise."""

from collections.abc import Iterator

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy.orm import Session

from api.app import create_app
from api.dashboard import Dashboard
from api.live.hub import Hub
from core.access import keys
from core.models import ApiKey, Dataset
from core.settings import Settings
from core.uploads.checksums import RunningDigests
from tests.core.factories import make_dataset


@pytest.fixture(scope="session")
def _built() -> FastAPI:
    """Built once: putting all routes together takes longer than most of these tests."""
    return create_app()


@pytest.fixture
def app(_built: FastAPI, settings: Settings) -> FastAPI:
    """A fresh application with the settings of this test, which are also in the environment."""
    _built.state.settings = settings
    _built.state.hub = Hub(settings)
    _built.state.digests = RunningDigests()
    _built.router.default = Dashboard(settings.dashboard_dir)
    return _built


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
    made = make_dataset(session, owner[0].id)
    session.commit()
    return made


@pytest.fixture
def body(dataset: Dataset) -> dict[str, object]:
    """The smallest complete job."""
    return {"model": "some/model", "data": {"preferences": dataset.id}, "ppo": {}}
