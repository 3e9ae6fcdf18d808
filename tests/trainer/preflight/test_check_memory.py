"""The estimate of memory in the report of `python -m trainer check`."""

import json
from pathlib import Path
from typing import Any

import pytest
from transformers import LlamaConfig

from tests.trainer.preflight.checked_jobs import WORDS, checked, job, only
from trainer.cli import main
from trainer.preflight.check import CheckOptions, check
from trainer.preflight.render import show_bytes
from trainer.spec import JobSpec
from trainer.text.codec import train_tokenizer


def test_check_little_memory_is_error_with_effective_suggestions(tmp_path: Path) -> None:
    large: dict[str, Any] = {"sft": {"batch_size": 48}, "reward_model": {"batch_size": 48}}
    report = checked(tmp_path, **large)
    assert report.memory is not None and report.memory.suggestions == []
    room = report.memory.runtime + max(phase.low for phase in report.memory.phases) // 2
    small = checked(tmp_path, CheckOptions(device_memory=room), **large)
    assert small.exit_status() == 6 and only(small, "no_room").level == "error"
    assert small.memory is not None
    suggestions = small.memory.suggestions
    assert suggestions[0].where.endswith("micro_batch_size") and suggestions[-1].fits
    peaks = [small.memory.peak().expected, *(suggestion.expected for suggestion in suggestions)]
    assert peaks == sorted(peaks, reverse=True) and peaks[-1] <= room - report.memory.runtime


@pytest.mark.parametrize(("text", "status"), [("24GiB", 0), ("80 GB", 0), ("512m", 0), ("much", 2), ("-1", 2)])
def test_amounts_of_memory(tmp_path: Path, text: str, status: int, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "spec.json").write_text(json.dumps(job(tmp_path)))
    assert main(["check", str(tmp_path / "spec.json"), f"--device-memory={text}"]) == status
    assert ("is no amount of memory" in capsys.readouterr().err) == (status == 2)


def test_check_says_that_sampling_gathers_a_sharded_policy(tmp_path: Path) -> None:
    sharded = {"runtime": {"sharding": "fsdp"}, "resources": {"processes": 2}}
    report = checked(tmp_path, CheckOptions(elsewhere=True), **sharded)
    assert report.model is not None
    whole = show_bytes(4 * report.model.parameters)
    assert f"each process gathers the whole policy: {whole} besides" in only(report, "sampling_gathers").detail
    codes = {finding.code for finding in checked(tmp_path, CheckOptions(elsewhere=True)).findings}
    assert "sampling_gathers" not in codes


@pytest.mark.slow
def test_check_estimates_gpu_memory_from_the_config_alone(tmp_path: Path) -> None:
    """A Llama of 7 billion parameters of which nothing has been downloaded but the small files, on no GPU."""
    folder = tmp_path / "model"
    tokenizer = train_tokenizer([" ".join(WORDS)], 300)
    LlamaConfig(vocab_size=32_000).save_pretrained(folder)  # the sizes of Llama-7B are its defaults
    tokenizer.save_pretrained(folder)
    ppo = {"steps": 2, "batch_size": 8, "max_new_tokens": 40, "critic": {"kind": "value_head"}}
    raw = job(tmp_path, stages=["ppo"], ppo=ppo, rewards=[])
    raw |= {"model": {"path": str(folder), "dtype": "bfloat16", "lora": {}, "gradient_checkpointing": True}}
    raw |= {"rewards": [{"type": "length", "target": 10}], "runtime": {"device": "cuda"}}
    report = check(JobSpec.model_validate(raw), CheckOptions(device_memory=24 * 2**30))
    assert report.errors() == [] and report.model is not None and report.model.parameters == 6_738_415_616
    assert report.memory is not None and report.memory.available == 24 * 2**30
    weights = report.memory.peak().parts["weights"]
    assert 2 * 6_738_415_616 < weights < 2.05 * 6_738_415_616 and report.memory.peak().expected < 16 * 2**30
    assert {"no_weights", "not_checked"} & {found.code for found in report.findings}


def test_check_for_another_machine_compares_no_memory(tmp_path: Path) -> None:
    """The machine of the test has no 1 EiB, and most have no GPU."""
    report = checked(tmp_path, CheckOptions(elsewhere=True), runtime={"device": "cuda"})
    assert report.errors() == [] and report.memory is not None
    assert (report.memory.device, report.memory.available, report.memory.suggestions) == ("cuda", None, [])
