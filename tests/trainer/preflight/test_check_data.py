"""Findings of `python -m trainer check` about the data of a job."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.trainer.preflight.checked_jobs import PROMPTS, WORDS, checked, job, lines, only
from trainer.cli import main


def test_check_separate_evaluation_prompts_are_counted(tmp_path: Path) -> None:
    rows = [{"prompt": prompt} for prompt in [*PROMPTS, *PROMPTS[:3]]]
    own = lines(tmp_path / "own.jsonl", [{"prompt": PROMPTS[59]}, *({"prompt": f"new {n}"} for n in range(39))])
    report = checked(tmp_path, data={"prompts": lines(tmp_path / "asked.jsonl", rows), "evaluation_prompts": own})
    assert only(report, "repeated_prompts").detail.startswith("3 of 62 prompts to train on repeat an earlier row")
    assert only(report, "shared_prompts").detail == (
        "No stage trains on 1 demonstrations, 1 pairs, 1 prompts: their prompt is in `data.evaluation_prompts`."
    )
    assert only(report, "held_out").detail == "The first 4 of the 40 prompts in `data.evaluation_prompts` are used."
    (prompts,) = [dataset for dataset in report.datasets if dataset.name == "prompts"]
    assert (prompts.train, prompts.held_out) == (62, 40)


def test_check_finds_lost_roles_missing_margins_and_empty_files(tmp_path: Path) -> None:
    talk = [{"role": "user", "content": "the"}, {"role": "assistant", "content": "a"}, {"role": "user", "content": "b"}]
    talks = lines(tmp_path / "talks.jsonl", [{"prompt": talk}, *({"prompt": prompt} for prompt in PROMPTS)])
    found = checked(tmp_path, data={"prompts": talks}, reward_model={"margin": True})
    assert "their roles are lost" in only(found, "no_chat_template").detail
    assert "no row" in only(found, "no_margins").detail
    assert not [finding for finding in found.findings if finding.code == "response_length"]
    empty = checked(tmp_path, data={"prompts": lines(tmp_path / "none.jsonl", [])})
    assert empty.exit_status() == 3 and "the file is empty" in only(empty, "invalid_row").detail


def test_check_counts_left_out_rows_by_reason(tmp_path: Path) -> None:
    long = " ".join(WORDS * 20)
    pairs = [{"prompt": prompt, "chosen": "good film", "rejected": "bad film"} for prompt in PROMPTS]
    pairs += [{"prompt": "same", "chosen": "film", "rejected": "film"}] * 2
    pairs += [{"prompt": "long side", "chosen": long, "rejected": "film"}] * 3
    pairs += [{"prompt": long, "chosen": "good film", "rejected": "film"}] * 4
    data = {"preferences": lines(tmp_path / "more.jsonl", pairs), "max_prompt_tokens": 64, "max_completion_tokens": 64}
    report = checked(tmp_path, data=job(tmp_path)["data"] | data)
    (dataset,) = [dataset for dataset in report.datasets if dataset.name == "pairs"]
    assert dataset.left_out == {"same tokens on both sides": 2, "completion too long": 3, "prompt too long": 4}
    assert dataset.rows - dataset.train - dataset.held_out == 9


def test_check_finds_contradictions_and_repeated_demonstrations(tmp_path: Path) -> None:
    pairs = [{"prompt": p, "a": "good", "b": "bad", "label": label} for p in PROMPTS for label in ("a", "b", "a")]
    shown = [{"prompt": prompt, "completion": "good"} for prompt in PROMPTS] * 2
    data = {"preferences": lines(tmp_path / "torn.jsonl", pairs), "sft": lines(tmp_path / "twice.jsonl", shown)}
    report = checked(tmp_path, data=job(tmp_path)["data"] | data)
    trained_on = next(dataset.train for dataset in report.datasets if dataset.name == "demonstrations") // 2
    assert only(report, "contradictions").detail.startswith(f"{trained_on} pairs")
    assert only(report, "repeated_demonstrations").detail.startswith(f"{trained_on} demonstrations")


def test_every_broken_row_and_file_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    raw = job(tmp_path)
    lines(tmp_path / "sft.jsonl", ['{"prompt": "x"}', "{", '{"prompt": "y", "completion": "z"}'])
    raw["data"]["prompts"] = str(tmp_path / "gone.jsonl")
    (tmp_path / "spec.json").write_text(json.dumps(raw))
    assert main(["check", str(tmp_path / "spec.json")]) == 3
    said = " ".join(capsys.readouterr().out.split())
    assert "sft.jsonl, line 1: The field 'completion' is missing" in said
    assert "sft.jsonl, line 2" in said and "gone.jsonl: No such file" in said
    assert said.endswith("This run would not start: 3 errors.")


def thumbs_in(folder: Path, ups: int) -> dict[str, Any]:
    """Rows of which `ups` in ten have a thumb up."""
    rows = [
        {"prompt": prompt, "completion": WORDS[n % 8], "thumb": "up" if n % 10 < ups else "down"}
        for n, prompt in enumerate(PROMPTS)
    ]
    return {"thumbs": lines(folder / "thumbs.jsonl", rows)}


def test_check_thumbs_are_planned_with_their_balance(tmp_path: Path) -> None:
    report = checked(
        tmp_path, data=thumbs_in(tmp_path, 5), stages=["sft", "reward_model", "kto", "evaluation"],
        reward_model={"loss": "pointwise"}, kto={"batch_size": 8},
    )  # fmt: skip
    assert report.exit_status() == 0
    counted = next(one for one in report.datasets if one.name == "thumbs")
    assert counted.rows == 60 and counted.train + counted.held_out == 60
    steps = {stage.stage: stage.steps for stage in report.stages}
    assert steps["kto"] == steps["reward_model"] == -(-counted.train // 8)
    found = only(report, "thumbs").detail
    assert f"of the {counted.train} thumbs that are trained on are up" in found
    assert {phase.phase for phase in report.memory.phases} >= {"reward_model", "kto"}  # type: ignore[union-attr]


def test_check_unbalanced_thumbs_suggest_kto_weights(tmp_path: Path) -> None:
    asked: dict[str, Any] = {"data": thumbs_in(tmp_path, 9), "stages": ["sft", "kto"], "kto": {"batch_size": 8}}
    report = checked(tmp_path, **asked)
    assert "are up" in only(report, "unbalanced_thumbs").detail
    weights = only(report, "unbalanced_weights")
    assert weights.where == "#/kto/undesirable_weight" and weights.fix is not None
    advised = float(weights.fix.split()[3])
    asked["kto"] |= {"undesirable_weight": advised}
    assert not [found for found in checked(tmp_path, **asked).findings if found.code == "unbalanced_weights"]


def test_thumbs_that_are_all_up_end_the_check(tmp_path: Path) -> None:
    report = checked(tmp_path, data=thumbs_in(tmp_path, 10), stages=["sft", "kto"])
    assert any("every thumb that is trained on is up" in found.detail for found in report.errors())


def test_every_row_of_thumbs_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    rows = [{"prompt": "p", "completion": "x", "thumb": "up"}, {"prompt": "p", "completion": "x", "thumb": "?"}]
    path = lines(tmp_path / "thumbs.jsonl", [*rows, rows[1]])
    found = checked(tmp_path, data={"thumbs": path}, stages=["sft", "kto"]).errors()
    assert [(one.code, one.where) for one in found] == [("invalid_row", f"{path}, line {n}") for n in (2, 3)]


@pytest.mark.parametrize(("loss", "unused"), [("pairwise", "data.thumbs"), ("pointwise", "data.preferences")])
def test_check_reward_loss_reports_unused_pairs_or_thumbs(tmp_path: Path, loss: str, unused: str) -> None:
    """With both kinds of data the loss uses one. The other is reported unless a stage uses it."""
    data = thumbs_in(tmp_path, 5)
    report = checked(tmp_path, data=data, stages=["sft", "reward_model"], reward_model={"loss": loss})
    assert f"`{unused}`" in only(report, "unused_data").detail.split(":")[0]
    both = checked(tmp_path, data=data, stages=["sft", "reward_model", "dpo", "kto"], reward_model={"loss": loss})
    assert not [found for found in both.findings if found.code == "unused_data"]


def steps_in(folder: Path, bad: int) -> dict[str, Any]:
    """Solutions of two steps, of which the second one is bad in `bad` of ten."""
    rows = [
        {"prompt": prompt, "steps": [WORDS[n % 8], "so"], "labels": [True, n % 10 >= bad]}
        for n, prompt in enumerate(PROMPTS)
    ]
    return {"steps": lines(folder / "steps.jsonl", rows)}


def test_check_steps_are_planned_and_fit_into_memory(tmp_path: Path) -> None:
    report = checked(
        tmp_path, data=steps_in(tmp_path, 5), stages=["sft", "reward_model", "ppo"],
        reward_model={"loss": "stepwise", "batch_size": 8},
    )  # fmt: skip
    assert report.exit_status() == 0
    counted = next(one for one in report.datasets if one.name == "solutions")
    assert counted.rows == 60 and counted.train + counted.held_out == 60
    steps = {stage.stage: stage.steps for stage in report.stages}
    assert steps["reward_model"] == -(-counted.train // 8)
    found = only(report, "steps_seen").detail
    assert f"The {counted.train} solutions have {2 * counted.train} labelled steps" in found
    assert "reward_model" in {phase.phase for phase in report.memory.phases}  # type: ignore[union-attr]


def test_steps_with_one_label_end_the_check(tmp_path: Path) -> None:
    report = checked(
        tmp_path, data=steps_in(tmp_path, 0), stages=["sft", "reward_model"], reward_model={"loss": "stepwise"}
    )
    assert "Every step that is trained on is good" in only(report, "one_step_label_only").detail


def test_a_delimiter_inside_a_step_is_reported_with_a_fix(tmp_path: Path) -> None:
    rows = [{"prompt": prompt, "steps": ["a\nb", "c"], "labels": [True, False]} for prompt in PROMPTS]
    data = {"steps": lines(tmp_path / "steps.jsonl", rows)}
    report = checked(tmp_path, data=data, stages=["sft", "reward_model"], reward_model={"loss": "stepwise"})
    assert (
        only(report, "left_out").fix
        == "Set `reward_model.step_delimiter` to a text that no step holds, such as two line breaks."
    )
    assert "No solution is left" in only(report, "nothing_left").detail


def test_check_names_steps_that_no_stage_reads(tmp_path: Path) -> None:
    report = checked(tmp_path, data=steps_in(tmp_path, 5), stages=["sft", "reward_model"])
    assert '`reward_model.loss` is "pairwise"' in only(report, "unused_data").detail


def test_completions_with_both_thumbs_are_counted(tmp_path: Path) -> None:
    rows = [{"prompt": prompt, "completion": "good", "thumb": thumb} for prompt in PROMPTS for thumb in ("up", "down")]
    report = checked(tmp_path, data={"thumbs": lines(tmp_path / "thumbs.jsonl", rows)}, stages=["sft", "kto"])
    counted = next(one for one in report.datasets if one.name == "thumbs")
    assert only(report, "contradictions").detail.startswith(f"{counted.train // 2} completions have both")
