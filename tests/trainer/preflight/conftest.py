"""The checks of this folder take the passes by a formula, unless a test needs the counts."""

import pytest

from tests.trainer.preflight.checked_jobs import ByFormula


@pytest.fixture
def counted() -> None:
    """For tests that need the counted passes."""


@pytest.fixture(autouse=True)
def _by_formula(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Count no pass. Other files test the counts."""
    if "counted" not in request.fixturenames:
        monkeypatch.setattr("trainer.preflight.check.Passes", ByFormula)


@pytest.fixture(autouse=True)
def _no_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    """No check asks the hub. It has none of the models that a check does not find."""
    monkeypatch.setattr("trainer.preflight.own_model.why_unavailable", lambda name: "the hub does not provide it")
