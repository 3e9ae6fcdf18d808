"""The trial step: how far a learning rate moves the policy, before a run."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.trainer.run.tools import LENGTH, run, spec_of
from tests.trainer.running import events_of
from trainer.cli import main
from trainer.errors import SpecError, TrainerError
from trainer.events import Metrics
from trainer.preflight.report import Report, TrialReport, TrialStep
from trainer.run.trial_step import rate_for, trial_findings, trial_steps
from trainer.spec import JobSpec

GROUPS = {"estimator": "sequence", "baseline": "leave_one_out", "normalize": "none"}
ADAPTIVE = {"lr_schedule": "kl_adaptive", "warmup_ratio": 0.0, "steps": 1}


def spec_with(first: Path, **ppo: Any) -> JobSpec:
    return spec_of(["ppo"], model=str(first / "sft"), rewards=[LENGTH], ppo=ppo)


def trial(kl: float | None, rate: float = 1e-4) -> TrialReport:
    steps = [TrialStep(learning_rate=1e-5, kl=1e-5), TrialStep(learning_rate=rate, kl=kl)]
    return TrialReport(steps=steps, responses=8, rate=rate, target=0.03)


def test_trial_step_is_the_first_iteration_of_the_run(first: Path, tmp_path: Path) -> None:
    run(tmp_path, ["ppo"], model=str(first / "sft"), rewards=[LENGTH], ppo=ADAPTIVE)
    reported = [event.values for event in events_of(tmp_path) if isinstance(event, Metrics)]
    (moved,) = (values["policy/moved_kl"] for values in reported if "policy/moved_kl" in values)
    found = {step.learning_rate: step.kl for step in trial_steps(spec_with(first, **ADAPTIVE)).steps}
    assert found[1e-3] == moved
    assert list(found) == [1e-6, 1e-5, 1e-4, 1e-3, 1e-2]


def test_each_rate_of_a_trial_begins_with_the_same_weights(first: Path) -> None:
    low, high = (trial_steps(spec_with(first, learning_rate=rate)).steps for rate in (1e-7, 0.1))
    assert low[1:] == high[:5]


@pytest.mark.parametrize(
    "options",
    [
        {"critic": {"kind": "value_head"}},
        {"critic": {"pretraining": {"iterations": 2}}},
        {"rollout": {"asynchronous": True}},
        {
            "advantage": {"estimator": "sequence", "baseline": "leave_one_out", "normalize": "none"},
            "samples_per_prompt": 2,
        },
        {"samples_per_prompt": 2, "rollout": {"refill": {}}, "advantage": GROUPS},
    ],
    ids=lambda options: next(iter(options)),
)
def test_trial_step_of_other_parts_grows_with_the_rate(first: Path, options: dict[str, Any]) -> None:
    moved = [step.kl or 0.0 for step in trial_steps(spec_with(first, **options)).steps]
    assert 0 < moved[0] < moved[2] < moved[4]


def test_trial_step_names_a_refill_that_finds_no_difference(first: Path) -> None:
    same = {"type": "regex", "pattern": "never written"}
    ppo = {"samples_per_prompt": 2, "rollout": {"refill": {"max_rounds": 2}}, "advantage": GROUPS}
    with pytest.raises(TrainerError, match="no prompt whose responses differ"):
        trial_steps(spec_of(["ppo"], model=str(first / "sft"), rewards=[same], ppo=ppo))


def test_trial_step_includes_the_pretraining_mix(first: Path, tmp_path: Path) -> None:
    """Its gradient changes the step, as in the run."""
    (tmp_path / "texts.jsonl").write_text("".join(json.dumps({"text": f"the film was {n}"}) + "\n" for n in range(40)))
    data = {"pretraining": str(tmp_path / "texts.jsonl")}
    common = {"model": str(first / "sft"), "rewards": [LENGTH], "ppo": ADAPTIVE | {"ptx": {"coef": 1.0}}}
    run(tmp_path / "run", ["ppo"], data=data, **common)
    reported = [event.values for event in events_of(tmp_path / "run") if isinstance(event, Metrics)]
    (moved,) = (values["policy/moved_kl"] for values in reported if "policy/moved_kl" in values)
    found = {step.learning_rate: step.kl for step in trial_steps(spec_of(["ppo"], data=data, **common)).steps}
    assert found[1e-3] == moved


def test_memory_that_a_trial_step_lacks_is_a_finding_not_a_crash(
    first: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*parts: object, **options: object) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr("trainer.run.trial_step.update", fail)
    (tmp_path / "spec.json").write_text(spec_with(first).model_dump_json())
    assert main(["check", str(tmp_path / "spec.json"), "--trial-step"]) == 0
    assert "No trial step was taken. " in " ".join(capsys.readouterr().out.split())


def test_run_that_trains_its_model_first_has_no_trial_step() -> None:
    with pytest.raises(SpecError, match="depends on an earlier stage"):
        trial_steps(spec_of(["sft", "reward_model", "ppo"]))


def test_trial_step_states_the_stage_it_leaves_out(first: Path) -> None:
    spec = spec_of(["sft", "ppo"], model=str(first / "sft"), rewards=[LENGTH])
    found = trial_steps(spec)
    assert found.before == "sft"
    assert "trial_before_stage" in [finding.code for finding in trial_findings(spec, found)]


def test_check_reports_a_trial_step_in_text_and_json(
    first: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = spec_with(first, learning_rate=1e-7).model_dump_json()
    (tmp_path / "spec.json").write_text(spec)
    options = ["check", str(tmp_path / "spec.json"), "--trial-step", "--json"]
    assert main([*options, str(tmp_path / "report.json")]) == 0
    report = Report.model_validate_json((tmp_path / "report.json").read_text())
    assert report.trial is not None and report.trial.responses == 8
    assert "rate_too_low" in [finding.code for finding in report.findings]
    table = [line.split() for line in capsys.readouterr().out.partition("Trial step")[2].splitlines()]
    assert (table[1][0], table[1][2]) == ("1e-07", "ppo.learning_rate")


def test_rate_for_a_target_lies_on_the_line_of_logarithms() -> None:
    steps = [
        TrialStep(learning_rate=rate, kl=kl) for rate, kl in ((1e-5, 1e-5), (1e-4, 1e-3), (1e-3, 0.1), (1e-2, None))
    ]
    assert rate_for(0.01, steps) == pytest.approx(10**-3.5)
    assert rate_for(0.2, steps) is None
    assert rate_for(1e-6, steps) is None


@pytest.mark.parametrize(
    ("kl", "schedule", "code"),
    [
        (2e-4, "linear", "rate_too_low"),
        (2e-4, "kl_adaptive", "trial_step"),
        (0.03, "linear", "trial_step"),
        (0.31, "linear", "rate_too_high"),
        (0.31, "kl_adaptive", "rate_too_high"),
        (None, "linear", "rate_too_high"),
    ],
)
def test_trial_is_judged_by_the_target(kl: float | None, schedule: str, code: str) -> None:
    spec = spec_of(["sft", "reward_model", "ppo"], ppo={"learning_rate": 1e-4, "lr_schedule": schedule})
    assert [finding.code for finding in trial_findings(spec, trial(kl))] == [code]
