"""`python -m trainer check`: the whole report, and how the command ends."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from tests.trainer.preflight.checked_jobs import CONFIG, WORDS, checked, job, only
from tests.trainer.running import ROOT
from trainer.cli import load_spec, main
from trainer.preflight.check import CheckOptions, check
from trainer.preflight.render import render
from trainer.preflight.report import Report
from trainer.spec import JobSpec
from trainer.spec.path_rules import PathRules
from trainer.text.codec import train_tokenizer


@pytest.mark.slow
@pytest.mark.usefixtures("counted")
@pytest.mark.parametrize("example", sorted(ROOT.glob("examples/*.toml")), ids=lambda path: path.stem)
def test_every_example_passes(example: Path) -> None:
    report = check(load_spec(example))
    assert report.exit_status() == 0, report.errors()
    assert report.model is not None and report.memory is not None
    assert [stage.stage for stage in report.stages] == list(load_spec(example).stages)


@pytest.mark.usefixtures("counted")
def test_a_sound_job_has_nothing_to_complain_of(tmp_path: Path) -> None:
    report = checked(tmp_path)
    assert [finding.code for finding in report.findings if finding.level != "info"] == []
    demonstrations = next(dataset for dataset in report.datasets if dataset.name == "demonstrations")
    assert demonstrations.rows == 60 == demonstrations.train + demonstrations.held_out


def test_steps_and_tokens_by_hand(tmp_path: Path) -> None:
    report = checked(tmp_path, sft={"epochs": 3, "batch_size": 8}, ppo={"epochs": 2, "minibatches": 4, "eval_every": 1})
    sft, reward_model, ppo, evaluation = report.stages
    rows = {dataset.name: dataset for dataset in report.datasets}
    assert sft.steps == -(-3 * rows["demonstrations"].train // 8)
    lengths = rows["demonstrations"].lengths
    per_row = lengths["prompt"].mean + lengths["completion"].mean
    assert sft.tokens == pytest.approx(3 * rows["demonstrations"].train * per_row)
    assert reward_model.steps == -(-rows["pairs"].train // 8)
    assert (ppo.steps, ppo.optimizer_steps) == (2, 2 * 2 * 4)
    apart = checked(tmp_path, ppo={"epochs": 2, "minibatches": 4, "critic": {"epochs": 3, "minibatches": 2}})
    assert apart.stages[2].optimizer_steps == 2 * (2 * 4 + 3 * 2)
    pretrained = checked(
        tmp_path, ppo={"epochs": 2, "minibatches": 4, "critic": {"epochs": 3, "pretraining": {"iterations": 5}}}
    )
    most = pretrained.stages[2]
    # each of at most five steps of pretraining samples a batch and takes the critic's steps: three passes of four
    assert (most.steps, most.at_most, most.optimizer_steps) == (5 + 2, True, 2 * (2 * 4 + 3 * 4) + 5 * 3 * 4)
    assert (most.responses, most.tokens) == (5 * 8 + apart.stages[2].responses, apart.stages[2].tokens)
    assert "ppo, at most  " in render(pretrained) and not ppo.at_most
    # two batches; four held-out prompts for the policy before PPO, at step 0, and after each iteration
    assert ppo.responses == 2 * 8 + 4 * 4
    assert ppo.generated_max == ppo.responses * 40
    groups = {"estimator": "sequence", "baseline": "group_mean"}
    refilled = checked(
        tmp_path, ppo={"advantage": groups, "samples_per_prompt": 2, "rollout": {"refill": {"max_rounds": 3}}}
    ).stages[2]
    # each of two batches may be sampled three times over; the policy before PPO, step 0 and the last iteration
    assert (refilled.responses, refilled.generated_max) == (2 * 8 + 3 * 4, (2 * 3 * 8 + 3 * 4) * 40)
    assert ppo.generated == pytest.approx(ppo.responses * lengths["completion"].mean, abs=1)
    assert evaluation.responses == 3 * 4  # before, after, and the best checkpoint
    rewards = [{"type": "model"}, {"type": "regex", "pattern": "e", "weight": 0.0}]
    verified = checked(tmp_path, rewards=rewards, evaluation={"pass_at": {"k": [2], "samples": 6}})
    assert verified.stages[3].responses == 3 * 4 * (1 + 6)


@pytest.mark.parametrize(
    ("changes", "code", "where", "said"),
    [
        ({"ppo": {"max_new_tokens": 3}}, "responses_cut", "#/ppo/max_new_tokens", "64% of the demonstrations"),
        ({"ppo": {"batch_size": 128}}, "batch_too_large", "#/ppo/batch_size", "A batch takes 128 prompts"),
        ({"data": {"max_completion_tokens": 4}}, "completions_cut", "#/data/max_completion_tokens", "teach no EOS"),
        ({"evaluation": {"prompts": 128}}, "few_held_out", "#/data/eval_fraction", "uncertain by ±"),
        ({"data": {"max_prompt_tokens": 1}}, "nothing_left", "#/data/sft", "No demonstration is left"),
        ({"ppo": {"critic": {"train": "last_layers", "last_layers": 2}}}, "invalid_critic", "#/ppo/critic/last_layers",
         "more than the 1 layers of the critic"),
        ({"ppo": {"critic": {"train": "adapters", "adapters": {"target_modules": ["no"]}}}}, "invalid_critic",
         "#/ppo/critic/train", "target_modules"),
        ({"ppo": {"max_new_tokens": 125}}, "context", "#/ppo/max_new_tokens", "the model's context is 128"),
        ({"rewards": [{"type": "exact_match"}]}, "answers_missing", "#/data/prompts", "have no `answer`"),
        ({"rewards": [{"type": "lexicon", "path": "/no/such"}]}, "scorer", "#/rewards/0", "/no/such"),
        ({"rewards": [{"type": "plugin", "plugin": "nope"}]}, "scorer", "#/rewards/0", "no plug-in named 'nope'"),
        ({"evaluation": {"judge": "nope"}}, "scorer", "#/evaluation/judge", "no judge named 'nope'"),
        ({"ppo": {"stop": ["\n"]}}, "stops", "#/ppo/stop", 'These end a response: <|eos|> (1), "\\n".'),
        ({"ppo": {"stop": ["film was"]}}, "odd_stops", "#/ppo/stop", "40 of 60 demonstrations contain a stop string"),
        ({"rewards": [{"type": "http", "url": "http://x"}]}, "not_asked", "#/rewards/0", "http://x was not asked"),
        ({"rewards": [{"type": "model", "path": "/no/such"}]}, "invalid_model", "#/rewards/0/path", "no folder /no/such"),
        ({"rewards": [{"type": "model", "path": "some/model"}]}, "model_missing", "#/rewards/0/path", "hub's cache"),
    ],
)  # fmt: skip
def test_check_finds_every_expected_problem(
    tmp_path: Path, changes: dict[str, Any], code: str, where: str, said: str
) -> None:
    found = [finding for finding in checked(tmp_path, **changes).findings if finding.code == code]
    assert any(finding.where == where and said in finding.detail for finding in found), found


ABSENT: list[tuple[Any, ...]] = [
    ("owner/no-such-model", "the hub does not provide it", False, ("error", "model_missing")),
    ("owner/no-such-model", None, False, ("warning", "not_checked")),
    ("owner/no-such-model", "the hub does not provide it", True, ("warning", "not_checked")),
    ("/models/of/the/worker", None, True, ("warning", "not_checked")),
    ("/no/such/folder", None, False, ("error", "invalid_model")),
]


@pytest.mark.parametrize(("path", "why", "elsewhere", "expected"), ABSENT)
@pytest.mark.parametrize("pointer", ["#/model/path", "#/rewards/0/path"])
def test_missing_model_is_an_error_where_the_run_is_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, why: str, elsewhere: bool, expected: Any, pointer: str
) -> None:
    monkeypatch.setattr("trainer.preflight.own_model.why_unavailable", lambda name: why)
    changes = {"model": path} if pointer == "#/model/path" else {"rewards": [{"type": "model", "path": path}]}
    report = check(JobSpec.model_validate(job(tmp_path) | changes), CheckOptions(elsewhere=elsewhere))
    found = [(one.level, one.code) for one in report.findings if one.where == pointer]
    assert found == [expected]


def test_an_invalid_spec_is_a_report_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "spec.json").write_text(json.dumps(job(tmp_path, ppo={"stepz": 1}, sft={"epochs": 0})))
    assert main(["check", str(tmp_path / "spec.json"), "--json", "-"]) == 2
    report = Report.model_validate_json(capsys.readouterr().out)
    assert {finding.where for finding in report.errors()} == {"#/ppo/stepz", "#/sft/epochs"}


def test_check_report_json_holds_the_text_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "spec.json").write_text(json.dumps(job(tmp_path)))
    assert main(["check", str(tmp_path / "spec.json"), "--json", str(tmp_path / "report.json")]) == 0
    report = Report.model_validate_json((tmp_path / "report.json").read_text())
    said = capsys.readouterr().out
    assert report.model is not None and report.memory is not None and said.rstrip().endswith("Ready to run.")
    assert [phase.phase for phase in report.memory.phases] == [
        "sft", "reward_model", "ppo_rollout", "ppo_score", "ppo_update", "evaluation",
    ]  # fmt: skip
    assert all(f"\n{phase.phase} " in said for phase in report.memory.phases)


def test_check_pretrained_model_with_lora_and_without_weights(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    tokenizer = train_tokenizer([" ".join(WORDS)], 300)
    torch.manual_seed(0)
    sizes = CONFIG | {"max_position_embeddings": 128, "vocab_size": len(tokenizer)}
    LlamaForCausalLM(LlamaConfig(**sizes)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    raw = job(tmp_path) | {"model": {"path": str(folder), "lora": {"rank": 2, "target_modules": ["q_proj", "nope"]}}}
    report = check(JobSpec.model_validate(raw))
    assert only(report, "invalid_model").where == "#/model/lora/target_modules" and report.exit_status() == 4
    raw["model"] = {"path": str(folder), "lora": {"rank": 2, "target_modules": ["q_proj"]}}
    model = check(JobSpec.model_validate(raw)).model
    assert model is not None and model.trained_parameters == 2 * (16 + 16)
    (folder / "model.safetensors").unlink()
    report = check(JobSpec.model_validate(raw))
    assert "holds no weights as safetensors" in only(report, "no_weights").detail and report.exit_status() == 4
    assert report.memory is not None and report.memory == check(JobSpec.model_validate(raw)).memory


def test_check_confined_refuses_a_folder_outside(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, other = tmp_path / "run", tmp_path / "other"
    run.mkdir(), other.mkdir()
    (run / "local_paths.json").write_text(PathRules().model_dump_json(exclude={"own"}))
    raw = job(run, model={"path": str(other), "config": None, "tokenizer": None})
    (run / "spec.json").write_text(json.dumps(raw))
    status = main(["check", str(run / "spec.json"), "--local-paths", str(run / "local_paths.json")])
    assert status == 2 and "#/model/path" in capsys.readouterr().err
