"""The trial step: how far a learning rate moves the policy, before a run."""

from pathlib import Path
from typing import Any

import pytest

from tests.trainer.run.tools import LENGTH, run, spec_of
from tests.trainer.running import events_of
from trainer.cli import main
from trainer.errors import SpecError
from trainer.events import Metrics
from trainer.preflight.report import Report, TrialReport, TrialStep
from trainer.run.trial_step import rate_for, trial_findings, trial_steps
from trainer.spec import JobSpec

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
    ],
    ids=lambda options: next(iter(options)),
)
def test_trial_step_of_other_parts_grows_with_the_rate(first: Path, options: dict[str, Any]) -> None:
    moved = [step.kl or 0.0 for step in trial_steps(spec_with(first, **options)).steps]
    assert 0 < moved[0] < moved[2] < moved[4]


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
