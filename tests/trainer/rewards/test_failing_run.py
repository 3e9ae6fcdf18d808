"""A whole run against an endpoint that stumbles, then breaks, then is mended."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.trainer.rewards.tools import Reply, says, serving
from tests.trainer.running import events_of, metrics_of, write_spec
from trainer.cli import main
from trainer.events import Message, RunFailed

STUMBLES, BREAKS = 3, 7
"""At which requests."""


class Endpoint:
    """Scores a response by its length, except where it is set to fail."""

    def __init__(self, failing: bool) -> None:
        self.failing, self.asked = failing, 0

    def __call__(self, question: dict[str, Any]) -> Reply:
        self.asked += 1
        if self.failing and self.asked == STUMBLES:
            return 503, b"busy"
        if self.failing and self.asked == BREAKS:
            return says({"scores": [float("nan") for _ in question["items"]]})
        return says({"scores": [len(item["response"]) / 20 for item in question["items"]]})


def run(folder: Path, url: str) -> int:
    rewards = [{"type": "http", "url": url, "name": "remote"}]
    spec = write_spec(folder, stages=["sft", "ppo", "evaluation"], sft={"epochs": 1}, rewards=rewards)
    return main(["run", str(spec), "--run-dir", str(folder / "run")])


@pytest.mark.slow
def test_failing_reward_fails_the_run_and_same_command_resumes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    endpoint = Endpoint(failing=True)
    with serving(endpoint) as server:
        assert run(tmp_path / "broken", server.url) == 8
        assert "Reward `remote` returned nan for response 1 of 16" in capsys.readouterr().err
        events = events_of(tmp_path / "broken" / "run")
        assert isinstance(events[-1], RunFailed) and (events[-1].code, events[-1].stage) == ("reward_failed", "ppo")
        told = [event.text for event in events if isinstance(event, Message) and event.level == "warning"]
        assert any("503 Service Unavailable: busy. Trying again in 0.5 s" in text for text in told)
        assert (tmp_path / "broken" / "run" / "checkpoints" / "ppo-000002").is_dir()
        endpoint.failing = False
        assert run(tmp_path / "broken", server.url) == 0
        assert run(tmp_path / "whole", server.url) == 0
    mended, whole = (_figures(tmp_path / name / "run") for name in ("broken", "whole"))
    assert mended == whole and ("evaluation", 1) in whole
    assert json.dumps(server.questions).count('"finished"') > 200


def _figures(run_dir: Path) -> dict[tuple[str, int], dict[str, float]]:
    """All that was measured, but for how often the endpoint failed."""
    return {
        at: {name: value for name, value in values.items() if not name.endswith("/error_rate")}
        for at, values in metrics_of(run_dir).items()
    }
