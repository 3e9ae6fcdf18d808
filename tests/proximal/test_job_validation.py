"""`proximal jobs validate`, with the data worker of a local platform."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from rich.console import Console
from typer.testing import CliRunner

from proximal import cli
from proximal.commands.job_validation import Blocked, _parts
from proximal.errors import ApiError
from tests.proximal.conftest import Up

Run = Callable[..., Result]
MODEL = {"model_type": "llama", "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 1}
STAGE = {"stage": "ppo", "steps": 8, "optimizer_steps": 128, "tokens": 1234}
TIME = {"stage": "ppo", "steps": 8, "seconds_per_step": 500.0, "seconds": 4000.0, "jobs": ["job_a", "job_b"]}
MEMORY = {"device": "cuda", "processes": 1, "available": 24 * 2**30, "runtime": 0, "suggestions": []}
PHASE = {"phase": "ppo_update", "low": 2**30, "expected": 3 * 2**29, "high": 2**31, "parts": {}}
FINDING = {"severity": "warning", "pointer": "#/ppo", "detail": "It hardly fits.", "advice": "See [the] suggestions."}


@pytest.fixture
def run(up: Up, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("PROXIMAL_DATA_DIR", str(up.folder))

    def run(*arguments: str) -> Result:
        result = CliRunner().invoke(cli.app, arguments, env={"COLUMNS": "200"}, catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result

    return run


@pytest.mark.slow
def test_validate_blocked_job_fails_and_submit_needs_force(run: Run, tmp_path: Path) -> None:
    """SFT from one demonstration whose prompt is longer than allowed: no row is left."""
    (tmp_path / "sft.jsonl").write_text(json.dumps({"prompt": "why " * 40, "completion": "so"}) + "\n")
    spec = {
        "model": {"config": MODEL | {"num_attention_heads": 2}, "tokenizer": {"vocab_size": 300}},
        "data": {"sft": "sft.jsonl", "max_prompt_tokens": 4},
        "stages": ["sft"],
        "sft": {"batch_size": 1},
    }
    file = tmp_path / "spec.json"
    file.write_text(json.dumps(spec))
    with pytest.raises(Blocked, match="the platform refuses this job"):
        run("jobs", "validate", str(file))
    with pytest.raises(ApiError, match="the run would fail") as refusal:
        run("jobs", "submit", str(file))
    assert refusal.value.code == "blocked_by_validation" and "#/" in str(refusal.value)
    assert run("jobs", "submit", str(file), "--force").stdout.startswith("job_")
    run("templates", "create", "long prompts", str(file))
    with pytest.raises(Blocked, match="the platform refuses this job"):
        run("jobs", "validate", "--template", "long prompts")
    changed = ("--template", "long prompts", "--set", "data.max_prompt_tokens=400", "--output", "json")
    assert json.loads(run("jobs", "validate", *changed).stdout)["result"]["findings"] == []


def printed(validation: dict[str, Any]) -> str:
    console = Console(width=160, file=io.StringIO())
    for part in _parts(validation):
        console.print(part)
    return console.file.getvalue()  # type: ignore[attr-defined]


def test_validation_is_printed_with_times_memory_and_findings() -> None:
    """8 steps of 500 s on two GPUs: 66 min 40 s, 2.22 GPU-hours."""
    time = {"seconds": 4000.0, "gpu_hours": 2 * 4000 / 3600, "device": "cuda", "stages": [TIME], "reason": None}
    result = {"stages": [STAGE], "memory": MEMORY | {"phases": [PHASE]}, "findings": [FINDING]}
    text = printed({"result": result, "time": time})
    assert "Expected time: 1 h 06 min, 2.22 GPU-hours, by 2 earlier runs on cuda." in text
    assert "Memory of each process in GiB. Available on cuda: 24 GiB." in text
    assert "warning  #/ppo: It hardly fits. See [the]" in text
    (row,) = [line for line in text.splitlines() if "ppo_update" in line]
    assert [cell.strip() for cell in row.strip("│").split("│")] == ["ppo_update", "1", "1.5", "2"]


def test_validation_without_figures_is_printed_with_the_reason() -> None:
    time = {"seconds": None, "gpu_hours": None, "device": None, "stages": [], "reason": "No run."}
    text = printed({"result": {"stages": [], "memory": None, "findings": []}, "time": time})
    assert text.splitlines() == ["Expected time: unknown. No run.", "No findings."]
