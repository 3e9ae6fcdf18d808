"""The messages and exit statuses of `python -m trainer` for errors."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoModelForSequenceClassification, AutoTokenizer

from tests.trainer.running import ROOT, events_of, run, unexplained, write_spec
from trainer.cli import main
from trainer.events import Metrics, RunFailed
from trainer.run_folder import alone_in

SMALL = {"n_embd": 32, "n_layer": 1, "n_head": 4, "n_positions": 128, "rotary_dim": 8}


def complaint_of(capsys: pytest.CaptureFixture[str], spec: Path, run_dir: Path) -> tuple[int, str]:
    status = main(["run", str(spec), "--run-dir", str(run_dir)])
    return status, capsys.readouterr().err


def test_an_unknown_field_is_named_with_the_nearest_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, said = complaint_of(capsys, write_spec(tmp_path, ppo={"policy_loss": {"clip_rnge": 0.1}}), tmp_path / "run")
    assert status == 2
    assert "#/ppo/policy_loss/clip_rnge: unknown field 'clip_rnge'; did you mean 'clip_range'?" in said
    assert not (tmp_path / "run").exists()


def test_a_file_that_is_no_toml_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "spec.toml").write_text("name = \n")
    status, said = complaint_of(capsys, tmp_path / "spec.toml", tmp_path / "run")
    assert status == 2 and "line 1" in said


def test_command_spec_of_unknown_file_type_lists_the_types(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "spec.yaml").write_text("model: x")
    status, said = complaint_of(capsys, tmp_path / "spec.yaml", tmp_path / "run")
    assert status == 2 and "a spec is TOML or JSON" in said


def test_a_missing_dataset_fails_with_its_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, said = complaint_of(capsys, write_spec(tmp_path, data={"sft": "gone.jsonl"}), tmp_path / "run")
    assert status == 3 and "gone.jsonl: No such file" in said
    assert [e.code for e in events_of(tmp_path / "run") if isinstance(e, RunFailed)] == ["invalid_data"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"model": {"config": {"model_type": "llama", "hidden_size": 30, "num_attention_heads": 4}}},
            "`model.config` does not make a causal language model",
        ),
        ({"model": {"config": SMALL | {"model_type": "codegen"}}}, "codegen: transformers has no reward model"),
        pytest.param(
            {"runtime": {"device": "cuda"}},
            "no CUDA device is available here",
            marks=pytest.mark.skipif(torch.cuda.is_available(), reason="asks for a GPU where there is none"),
        ),
        ({"data": {"max_prompt_tokens": 120}, "ppo": {"max_new_tokens": 120}}, "the model's context is 128"),
        (
            {"model": {"config": None, "tokenizer": None, "path": "/no/such/folder"}},
            "There is no folder /no/such/folder on this machine",
        ),
    ],
)
def test_a_model_that_cannot_serve_is_refused_before_training(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], changes: dict[str, object], said: str
) -> None:
    status, complaint = complaint_of(capsys, write_spec(tmp_path, **changes), tmp_path / "run")
    assert status == 4 and said in complaint
    said_by = [type(event) for event in events_of(tmp_path / "run")]
    assert said_by[-1] is RunFailed and Metrics not in said_by


def test_an_unknown_judge_is_refused_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, said = complaint_of(capsys, write_spec(tmp_path, evaluation={"judge": "nobody"}), tmp_path / "run")
    assert status == 2 and "no judge named 'nobody' is installed here (installed: reviews" in said


@pytest.mark.slow
def test_command_not_finite_loss_fails_and_keeps_checkpoints(tmp_path: Path) -> None:
    status, said = run(write_spec(tmp_path, sft={"epochs": 1}, ppo={"kl": {"coef": 1e38}}), tmp_path)
    assert status == 5 and "is not finite" in said
    failed = events_of(tmp_path)[-1]
    assert isinstance(failed, RunFailed)
    assert (failed.code, failed.stage) == ("diverged", "ppo")
    for stage in ("sft", "reward_model"):
        assert (tmp_path / "checkpoints" / stage / "model.safetensors").exists()


def test_an_expired_lease_stops_the_run_without_saving(tmp_path: Path) -> None:
    lease = tmp_path / "lease"
    lease.write_text(str(time.time() - 1))
    status, _ = run(write_spec(tmp_path), tmp_path, "--lease", str(lease))
    assert status == 75
    assert events_of(tmp_path)[-1].reason == "lease_lost"  # type: ignore[union-attr]
    assert not list((tmp_path / "checkpoints").iterdir())


def test_command_run_documents_metrics_and_saves_loadable_models(tmp_path: Path) -> None:
    assert run(write_spec(tmp_path, sft={"epochs": 1}, evaluation={"judge": "reviews"}), tmp_path) == (0, "")
    assert unexplained(tmp_path) == set()
    for name in ("sft", "ppo", "ppo-000004", "ppo-best"):
        AutoModelForCausalLM.from_pretrained(tmp_path / "checkpoints" / name)
    scorer = AutoModelForSequenceClassification.from_pretrained(tmp_path / "checkpoints" / "reward_model")
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "checkpoints" / "reward_model")
    batch = tokenizer(["was it good ? yes .<|eos|>", "no .<|eos|>"], return_tensors="pt", padding=True)
    assert scorer(input_ids=batch.input_ids, attention_mask=batch.attention_mask).logits.shape == (2, 1)
    assert torch.isfinite(torch.tensor(scorer.config.score_bias)) and scorer.config.score_bias != 0


def test_the_schema_and_the_help_come_without_torch() -> None:
    probe = "import sys; from trainer.cli import main; main(['schema']); assert 'torch' not in sys.modules"
    printed = subprocess.run([sys.executable, "-c", probe], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    assert json.loads(printed)["title"] == "JobSpec"


def test_command_internal_error_is_an_event_and_a_traceback(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The event holds one sentence, and stderr holds the traceback."""
    monkeypatch.setattr("trainer.run.pipeline.run_data.load", lambda *_: 1 / 0)
    status, said = complaint_of(capsys, write_spec(tmp_path), tmp_path / "run")
    failed = events_of(tmp_path / "run")[-1]
    assert isinstance(failed, RunFailed) and failed.code == "internal_error"
    assert failed.message == "The trainer failed unexpectedly: ZeroDivisionError: division by zero"
    assert status == 1 and "Traceback" in said


def test_command_other_spec_on_run_folder_names_the_differences(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = write_spec(tmp_path, data={"sft": "gone.jsonl"}, evaluation={"judge": None})
    assert main(["run", str(first), "--run-dir", str(tmp_path / "run")]) == 3
    elsewhere = {"runtime": {"threads": 2}, "resources": {"labels": ["eu"]}}
    renamed = write_spec(tmp_path / "again", name="other name", data={"sft": "gone.jsonl"}, **elsewhere)
    assert main(["run", str(renamed), "--run-dir", str(tmp_path / "run")]) == 3
    other = write_spec(tmp_path / "other", seed=7, ppo={"kl": {"coef": 0.5}}, data={"sft": "gone.jsonl"})
    status, said = complaint_of(capsys, other, tmp_path / "run")
    assert status == 2 and "it differs at #/ppo/kl/coef, #/seed." in said


def test_command_completions_without_room_for_eos_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = write_spec(tmp_path, data={"max_completion_tokens": 2})
    status, said = complaint_of(capsys, spec, tmp_path / "run")
    assert status == 3 and "No demonstration with its EOS is left" in said


def test_a_run_folder_that_is_a_file_or_taken_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = write_spec(tmp_path)
    (tmp_path / "file").touch()
    status, said = complaint_of(capsys, spec, tmp_path / "file")
    assert status == 7 and "cannot be used as a run folder: File exists" in said
    (tmp_path / "run").mkdir()
    with alone_in(tmp_path / "run"):
        status, said = complaint_of(capsys, spec, tmp_path / "run")
    assert status == 14 and "Another process uses" in said


def test_a_lease_file_that_is_gone_has_ended(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["run", str(write_spec(tmp_path)), "--run-dir", str(tmp_path), "--lease", str(tmp_path / "gone")])
    assert status == 75 and events_of(tmp_path)[-1].reason == "lease_lost"  # type: ignore[union-attr]


@pytest.mark.slow
def test_command_closed_stdout_does_not_end_the_run(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "trainer", "run", str(write_spec(tmp_path)), "--run-dir", str(tmp_path / "run")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT)
    assert process.stdout is not None and process.stderr is not None
    assert any(line.startswith("sft (") for line in process.stdout)
    process.stdout.close()
    complaint = process.stderr.read()
    process.stderr.close()
    assert (process.wait(timeout=240), complaint) == (0, "")
