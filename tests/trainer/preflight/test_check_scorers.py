"""How `python -m trainer check` tries the rewards and judges of a job."""

import re
from pathlib import Path
from typing import Any

from tests.trainer.preflight.checked_jobs import PROMPTS, WORDS, checked, lines, only
from tests.trainer.rewards.tools import Reply, says, serving
from trainer.preflight.check import CheckOptions


def test_scorers_that_fail_end_a_check_as_they_end_a_run(tmp_path: Path) -> None:
    (tmp_path / "words.tsv").write_text("not a word list\n")
    listed = checked(tmp_path, rewards=[{"type": "lexicon", "path": str(tmp_path / "words.tsv")}])
    assert (only(listed, "scorer").area, listed.exit_status()) == ("data", 3)
    unknown = checked(tmp_path, rewards=[{"type": "plugin", "plugin": "nope"}])
    assert (only(unknown, "scorer").area, unknown.exit_status()) == ("spec", 2)


def test_check_unreachable_endpoint_is_reported_once_as_scorer(tmp_path: Path) -> None:
    rewards = [{"type": "http", "url": "http://127.0.0.1:9/", "timeout": 1}]
    found = only(checked(tmp_path, CheckOptions(ask_endpoints=True), rewards=rewards), "scorer")
    assert "failed once: " in found.detail and "raise `timeout` or `retries`. It was asked for" in found.detail
    assert found.detail.count("http://127.0.0.1:9/") == 1


def sums(question: dict[str, Any]) -> Reply:
    """A server of one task alone, as they are: any other prompt is a bad request."""
    scores = []
    for item in question["items"]:
        if not re.fullmatch(r"\d+ \+ \d+ =", item["prompt"]) or item["answer"] is None:
            return 400, b"not one of my sums"
        scores.append(float(item["response"].strip() == item["answer"]))
    return says({"scores": scores})


def test_check_endpoint_receives_data_of_the_job(tmp_path: Path) -> None:
    rows = [{"prompt": f"{n} + {n} =", "answer": 2 * n} for n in range(1, 40)]
    data = {"prompts": lines(tmp_path / "sums.jsonl", rows)}
    with serving(sums) as server:
        found = checked(
            tmp_path, CheckOptions(ask_endpoints=True), data=data, rewards=[{"type": "http", "url": server.url}]
        )
    assert not [finding for finding in found.findings if finding.code == "scorer"]
    ((item,),) = [question["items"] for question in server.questions]
    first = int(item["prompt"].split()[0])
    assert only(found, "asked").detail == (
        f'{server.url} gave 1 for the response "{2 * first}" to "{first} + {first} =".'
    )


def test_check_endpoint_gets_demonstration_and_judge_is_called(tmp_path: Path) -> None:
    rewards = [{"type": "http", "url": "", "protocol": "openrlhf"}]
    with serving(lambda question: says({"rewards": [0.25], "preferred": ["tie"]})) as server:
        rewards[0]["url"] = server.url
        judge = {"type": "http_judge", "url": server.url}
        found = checked(tmp_path, CheckOptions(ask_endpoints=True), rewards=rewards, evaluation={"judge": judge})
    demonstrations = {prompt: " ".join(WORDS[: 2 + n % 3]) for n, prompt in enumerate(PROMPTS)}
    (prompt,) = server.questions[0]["prompts"]
    assert server.questions[0]["query"] == [f"{prompt}{demonstrations[prompt]}<|eos|>"]
    shown = demonstrations[prompt]
    assert server.questions[1]["items"] == [{"prompt": prompt, "a": shown, "b": shown}]
    assert [f.where for f in found.findings if f.code == "asked"] == ["#/rewards/0", "#/evaluation/judge"]
