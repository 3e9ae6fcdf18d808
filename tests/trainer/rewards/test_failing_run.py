"""A whole run against an endpoint that stumbles, then breaks, then is mended; and one whose endpoint loses some values."""

from pathlib import Path
from typing import Any

import pytest

from tests.trainer.rewards.tools import Reply, says, serving
from tests.trainer.running import events_of, metrics_of, unexplained, write_spec
from trainer.cli import main
from trainer.events import Message, RewardMissing, RunStopped, Samples

STUMBLES, BREAKS = 3, 6
"""At which requests."""


class Endpoint:
    """Scores a response by its length, except where it is set to fail: once, then for each response until it is mended."""

    def __init__(self, failing: bool) -> None:
        self.failing, self.asked = failing, 0

    def __call__(self, question: dict[str, Any]) -> Reply:
        self.asked += 1
        if self.failing and self.asked == STUMBLES:
            return 503, b"busy"
        if self.failing and self.asked >= BREAKS:
            return says({"scores": [float("nan") for _ in question["items"]]})
        return says({"scores": [len(item["response"]) / 20 for item in question["items"]]})


def run(folder: Path, url: str, max_missing: float = 0.05) -> int:
    rewards = [{"type": "http", "url": url, "name": "remote", "max_missing": max_missing}]
    spec = write_spec(folder, stages=["sft", "ppo", "evaluation"], sft={"epochs": 1}, rewards=rewards)
    return main(["run", str(spec), "--run-dir", str(folder / "run")])


@pytest.mark.slow
def test_failing_reward_pauses_the_run_and_same_command_resumes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    endpoint, folder = Endpoint(failing=True), tmp_path / "run"
    with serving(endpoint) as server:
        assert run(tmp_path, server.url) == 76
        assert "Reward `remote` returned nan for response 1 of" in capsys.readouterr().err
        events = events_of(folder)
        stopped = events[-1]
        assert isinstance(stopped, RunStopped) and (stopped.reason, stopped.stage) == ("rewards", "ppo")
        told = [event.text for event in events if isinstance(event, Message) and event.level == "warning"]
        assert any("503 Service Unavailable: busy. Trying again in 0.5 s" in text for text in told)
        missing = [event for event in events if isinstance(event, RewardMissing)]
        assert {event.reward for event in missing} == {"remote"} and missing[0].reason.startswith(
            "Reward `remote` returned nan"
        )
        # a reward that fails is no score: the step of the pause has none, and its policy is that of the step before
        last = metrics_of(folder)["ppo", stopped.step or 0]
        assert last["reward/remote/bad_output"] == last["reward/remote/missing"] == 16 and last["val/responses"] == 0
        assert "objective/scores" not in last and "reward/remote" not in last
        endpoint.failing = False
        assert run(tmp_path, server.url, max_missing=0.5) == 0  # the limit may be changed
    assert ("evaluation", 1) in metrics_of(folder) and unexplained(folder) == set()


@pytest.mark.slow
def test_run_with_some_missing_rewards_says_how_many(tmp_path: Path) -> None:
    """Every value that is there is used, and each that is not is counted: in metrics, events and completions."""

    def reply(question: dict[str, Any]) -> Reply:
        return says({"scores": [value(item["response"]) for item in question["items"]]})

    def value(text: str) -> object:
        return {"missing": "refusal", "reason": "unsafe"} if len(text) % 3 == 0 else len(text) / 20

    with serving(reply) as server:
        assert run(tmp_path, server.url, max_missing=1) == 0
    events = events_of(tmp_path / "run")
    rows = [(e.stage, e.step, row) for e in events if isinstance(e, Samples) for row in e.rows]
    for _, _, row in rows:
        assert (row.score is None) == (row.score_missing == "refusal") == (len(row.response) % 3 == 0)
    training = [e for e in events if isinstance(e, RewardMissing) and e.stage == "ppo" and not e.held_out]
    counted = sum(values.get("reward/remote/refusal", 0) for values in metrics_of(tmp_path / "run").values())
    assert sum(e.missing["refusal"] for e in training) == counted > 0
    figures = metrics_of(tmp_path / "run")["evaluation", 1]
    shown = [row for stage, _, row in rows if stage == "evaluation"]
    both = [row for row in shown if row.score is not None and row.reference_score is not None]
    assert figures["missing_after"] == sum(row.score is None for row in shown) > 0
    assert figures["missing_before"] == sum(row.reference_score is None for row in shown)
    assert figures["compared"] == len(both) < len(shown) and figures.get("best_compared", 1) < len(shown)
    scores = [row.score for row in shown if row.score is not None]
    assert figures["score_after"] == pytest.approx(sum(scores) / len(scores))
    assert unexplained(tmp_path / "run") == set()
