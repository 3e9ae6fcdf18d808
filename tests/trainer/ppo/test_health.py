"""The actions of the health rules in PPO's loop: warn, pause, stop, roll back, skip, and keep the best checkpoint."""

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.trainer.run.tools import crashing
from tests.trainer.running import events_of, metrics_of
from tests.trainer.stage_tools import four_models, stop_after, train_ppo
from trainer.errors import Diverged, Paused, Stopped, Unhealthy
from trainer.events import (
    CheckpointSaved,
    Curve,
    CurvePoint,
    EventLog,
    Health,
    RolledBack,
    RunStopped,
    Samples,
    StageFinished,
)
from trainer.health import Monitor
from trainer.models import load_policy, load_reward_model
from trainer.ppo.health import RolledBackError
from trainer.ppo.state import PPOState, RunHistory
from trainer.rewards.base import RewardInput, Rewards, WeightedReward
from trainer.rollout.context import PPOModels
from trainer.run_folder import claim
from trainer.session.checkpoint import load_numbers
from trainer.session.session import Session
from trainer.spec import HealthSpec, JobSpec, PPOSpec
from trainer.stages.evaluation import HeldOut
from trainer.text.codec import TokenizedPrompt

PROMPTS = [TokenizedPrompt(f"prompt {n}", [3 + n] * (1 + n % 3)) for n in range(6)]
PPO = {
    "steps": 6, "batch_size": 4, "epochs": 1, "minibatches": 2, "max_new_tokens": 5, "learning_rate": 1e-3,
    "lr_schedule": "constant", "warmup_ratio": 0, "eval_every": 2, "save_every": 2, "self_test": False, "log_samples": 2,
}  # fmt: skip
ALWAYS = {"limit": -1000.0}  # every KL is above it


class OnceHuge:
    """Scores by length; in one call, so high that its square overflows."""

    def __init__(self, when: int | None) -> None:
        self.call, self.when = 0, when

    def score(self, answers: Sequence[RewardInput]) -> list[float]:
        self.call += 1
        return [1e38 if self.call == self.when else float(len(answer.response_ids)) for answer in answers]


class OneMoreEachTime:
    """A judge by whom the policy as it began ties, and wins one prompt more at each later evaluation."""

    def __init__(self) -> None:
        self.call = 0

    def points(self, before: Sequence[RewardInput], after: Sequence[RewardInput]) -> list[float]:
        raise AssertionError("scores decide where there are some")

    def scores(self, answers: Sequence[RewardInput]) -> list[float]:
        self.call += 1
        return [float(self.call > 2 + row) for row in range(len(answers))]


def actors_for(session: Session, huge_at: int | None) -> PPOModels:
    """The models at the start, or those of the newest checkpoint."""
    actors = replace(four_models(), rewards=Rewards([WeightedReward("r", 1.0, OnceHuge(huge_at))]))
    if newest := session.checkpoints.newest("ppo"):
        critic = load_reward_model(newest[0] / "trainer_state" / "critic")
        return replace(actors, policy=load_policy(newest[0]), critic=critic)
    return actors


def run(
    folder: Path, stop_at: int | None = None, huge_at: int | None = None, rising: bool = False, **changes: Any
) -> Path:
    """Train to the end, or until something is raised."""
    folder.mkdir(exist_ok=True)
    spec = {"model": "unused", "data": {"preferences": "unused"}, "health": {}, **changes}
    spec["ppo"] = {**PPO, **spec.get("ppo", {})}
    log = EventLog(folder / "events.jsonl")
    try:
        session = Session(JobSpec.model_validate(spec), folder, log)
        stop_after(session, stop_at)
        while session.checkpoints.result("ppo") is None:
            actors = actors_for(session, huge_at)
            held_out = HeldOut(PROMPTS[:4], OneMoreEachTime() if rising else None, session.spec.evaluation)
            try:
                train_ppo(session, session.spec.ppo, actors, PROMPTS, held_out)
            except RolledBackError:
                continue
        return folder
    finally:
        log.close()


def told(folder: Path) -> list[tuple[str, int, str]]:
    return [(event.rule, event.step, event.action) for event in events_of(folder) if isinstance(event, Health)]


def bests(folder: Path) -> list[int]:
    return [event.step for event in events_of(folder) if isinstance(event, CheckpointSaved) and event.best]


def weights(folder: Path) -> bytes:
    return (folder / "checkpoints" / "ppo" / "model.safetensors").read_bytes()


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run(tmp_path_factory.mktemp("plain"))


def test_a_warning_is_an_event_and_changes_nothing(tmp_path: Path, plain: Path) -> None:
    run(tmp_path, health={"kl_blow_up": {**ALWAYS, "patience": 3}})
    assert told(tmp_path) == [("kl_blow_up", 3, "warn")] and told(plain) == []
    assert weights(tmp_path) == weights(plain)


def test_health_pause_saves_and_resume_gives_the_same_weights(tmp_path: Path, plain: Path) -> None:
    health = {"kl_blow_up": {**ALWAYS, "action": "pause", "patience": 3}}
    with pytest.raises(Paused, match="Paused in stage ppo after step 3: `objective/kl` is"):
        run(tmp_path, health=health)
    last = events_of(tmp_path)[-1]
    assert isinstance(last, RunStopped) and (last.reason, last.step) == ("health", 3)
    run(tmp_path, health=health)
    assert told(tmp_path) == [("kl_blow_up", 3, "pause")]  # and not again, though the KL is where it was
    assert weights(tmp_path) == weights(plain)


def test_a_rule_that_stopped_it_may_be_changed_to_go_on(tmp_path: Path) -> None:
    spec = {"model": "unused", "data": {"preferences": "unused"}}
    claim(JobSpec.model_validate(spec | {"health": {"kl_blow_up": {"action": "stop"}}}), tmp_path)
    claim(JobSpec.model_validate(spec | {"health": {"enabled": False}}), tmp_path)


def test_health_pause_at_last_step_resumes_to_the_same_weights(tmp_path: Path, plain: Path) -> None:
    health = {"kl_blow_up": {**ALWAYS, "action": "pause", "patience": 6}}
    with pytest.raises(Paused):
        run(tmp_path, health=health)
    assert weights(run(tmp_path, health=health)) == weights(plain)


def test_health_stop_saves_and_reports_the_reason(tmp_path: Path) -> None:
    with pytest.raises(Unhealthy, match=r"after step 1; the run is saved. .* Raise `ppo.kl.coef`"):
        run(tmp_path, health={"kl_blow_up": {**ALWAYS, "action": "stop"}})
    assert (tmp_path / "checkpoints" / "ppo-000001" / "trainer_state").is_dir()


ROLL_BACK = {"kl_blow_up": {**ALWAYS, "action": "roll_back", "patience": 2}}


def test_roll_back_halves_the_rates_and_steps_keep_counting(tmp_path: Path) -> None:
    """Each roll back starts from the best checkpoint, and the fourth one fails the run."""
    with pytest.raises(Unhealthy, match="It has been rolled back 3 times already"):
        run(tmp_path, health=ROLL_BACK, ppo={"steps": 9})
    backs = [event for event in events_of(tmp_path) if isinstance(event, RolledBack)]
    assert [(event.step, event.learning_rate_factor) for event in backs] == [(2, 0.5), (4, 0.25), (6, 0.125)]
    assert told(tmp_path) == [("kl_blow_up", step, "roll_back") for step in (2, 4, 6, 8)]
    metrics = metrics_of(tmp_path)
    rates = [metrics["ppo", step]["lr"] for step in range(1, 9)]
    assert rates == pytest.approx([1e-3, 1e-3, 5e-4, 5e-4, 2.5e-4, 2.5e-4, 1.25e-4, 1.25e-4])
    assert metrics["ppo", 3]["critic_lr"] == pytest.approx(0.5e-5)


def test_roll_back_restores_the_complete_best_checkpoint(tmp_path: Path) -> None:
    with pytest.raises(Stopped):
        run(tmp_path, health=ROLL_BACK, stop_at=3)
    (back,) = [event for event in events_of(tmp_path) if isinstance(event, RolledBack)]
    saved, best = (tmp_path / "checkpoints" / name for name in ("ppo-000002", "ppo-best"))
    for name in ("model.safetensors", "trainer_state/policy_optimizer.safetensors", "trainer_state/critic/config.json"):
        assert (saved / name).read_bytes() == (best / name).read_bytes()
    assert (load_numbers(saved)["step"], load_numbers(best)["step"]) == (2, back.to_step)
    assert load_numbers(saved)["state"] == load_numbers(best)["state"]
    assert load_numbers(saved)["history"]["rate_factor"] == 0.5


def test_roll_back_target_is_not_the_step_that_triggered_it(tmp_path: Path) -> None:
    with pytest.raises(Stopped):
        run(
            tmp_path,
            stop_at=3,
            rising=True,
            health=ROLL_BACK,
            ppo={"eval_every": 1, "save_every": 1, "log_samples": 0},
            checkpoints={"keep_last": 9},
        )
    rates = [metrics_of(tmp_path)["ppo", step]["eval/win_rate"] for step in range(3)]
    assert rates == [0.5, 0.625, 0.75]  # step 2, at which the rule fires, is the best to look at
    (back,) = [event for event in events_of(tmp_path) if isinstance(event, RolledBack)]
    assert (back.step, back.to_step) == (2, 1) and bests(tmp_path) == [0, 1]
    before, after = (tmp_path / "checkpoints" / f"ppo-00000{step}" / "model.safetensors" for step in (1, 2))
    assert before.read_bytes() == after.read_bytes()


def test_roll_back_target_is_no_best_of_lost_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The best checkpoint is that of step 3, which is lost: the run goes on from step 2, and a rule fires at 3."""
    options: dict[str, Any] = {"rising": True, "ppo": {"eval_every": 1, "log_samples": 0}}
    never = {"kl_blow_up": {**ROLL_BACK["kl_blow_up"], "limit": 1e6}}
    with crashing(monkeypatch, "ppo", 4):
        run(tmp_path, health=never, **options)
    assert bests(tmp_path)[-1] == 3
    with pytest.raises(Stopped):
        run(tmp_path, health={"kl_blow_up": {**ROLL_BACK["kl_blow_up"], "patience": 1}}, stop_at=3, **options)
    (back,) = [event for event in events_of(tmp_path) if isinstance(event, RolledBack)]
    assert (back.step, back.to_step) == (3, 2)


def test_roll_back_target_is_no_step_with_skipped_minibatches(tmp_path: Path) -> None:
    options: dict[str, Any] = {"rising": True, "huge_at": 4, "ppo": {"log_samples": 0}}
    run(tmp_path / "back", health={"not_finite": {"action": "roll_back"}}, **options)
    (back,) = [event for event in events_of(tmp_path / "back") if isinstance(event, RolledBack)]
    assert (back.step, back.to_step) == (2, 0)
    run(tmp_path / "on", health={"not_finite": {"action": "warn"}}, **options)
    assert metrics_of(tmp_path / "on")["ppo", 2]["eval/win_rate"] == 0.625 and bests(tmp_path / "on") == [0, 4, 6]


def test_roll_back_run_stopped_at_any_step_resumes_to_same_bits(tmp_path: Path) -> None:
    """`keep_best` off: what a rule may go back to is kept all the same."""
    rule = {"kl_blow_up": {**ROLL_BACK["kl_blow_up"], "patience": 3}}
    options = {"health": rule, "evaluation": {"keep_best": False}}
    whole = run(tmp_path / "whole", **options)
    for stop_at in (1, 3, 5):
        with pytest.raises(Stopped):
            run(tmp_path / "parts", stop_at=stop_at, **options)
    run(tmp_path / "parts", **options)
    assert weights(tmp_path / "parts") == weights(whole)
    assert metrics_of(tmp_path / "parts") == metrics_of(whole)
    assert told(tmp_path / "parts") == told(whole) == [("kl_blow_up", step, "roll_back") for step in (3, 6)]


def test_roll_back_without_best_checkpoint_uses_the_newest(tmp_path: Path) -> None:
    with pytest.raises(Stopped):
        run(tmp_path, health=ROLL_BACK, stop_at=1)
    shutil.rmtree(tmp_path / "checkpoints" / "ppo-best")
    with pytest.raises(Stopped):
        run(tmp_path, health=ROLL_BACK, stop_at=2)
    (back,) = [event for event in events_of(tmp_path) if isinstance(event, RolledBack)]
    assert (back.step, back.to_step) == (2, 1)


def test_keep_best_off_saves_no_best_checkpoint(tmp_path: Path) -> None:
    run(tmp_path, evaluation={"keep_best": False}, ppo={"steps": 2})
    assert not (tmp_path / "checkpoints" / "ppo-best").exists()
    (summary,) = [event.summary for event in events_of(tmp_path) if isinstance(event, StageFinished)]
    assert "best_step" not in summary


def test_not_finite_score_fails_the_run_before_the_step(tmp_path: Path) -> None:
    with pytest.raises(Diverged, match="not finite"):
        run(tmp_path, huge_at=4)  # two calls for the first evaluation, then one an iteration
    assert told(tmp_path) == [("not_finite", 2, "stop")]


def test_or_its_steps_are_left_out_and_counted(tmp_path: Path) -> None:
    run(
        tmp_path,
        huge_at=4,
        health={"not_finite": {"action": "warn"}},
        ppo={"save_every": 1},
        checkpoints={"keep_last": 9},
    )
    metrics = metrics_of(tmp_path)
    assert "health/skipped_steps" not in metrics["ppo", 1]
    assert [metrics["ppo", step]["health/skipped_steps"] for step in (2, 3, 6)] == [2, 2, 2]
    assert told(tmp_path) == [("not_finite", 2, "warn")]
    saved = [(tmp_path / "checkpoints" / f"ppo-00000{n}" / "model.safetensors").read_bytes() for n in (1, 2, 3)]
    assert saved[0] == saved[1] != saved[2]
    assert "policy/approxkl_avg" not in metrics["ppo", 2] and "policy/approxkl_avg" in metrics["ppo", 3]


def test_not_finite_limit_allows_skipped_steps(tmp_path: Path) -> None:
    with pytest.raises(Diverged):
        run(tmp_path, huge_at=4, health={"not_finite": {"limit": 1}})
    run(tmp_path / "more", huge_at=4, health={"not_finite": {"limit": 2}})
    assert told(tmp_path / "more") == []


def test_not_finite_score_with_roll_back_action_rolls_back(tmp_path: Path) -> None:
    run(tmp_path, huge_at=4, health={"not_finite": {"action": "roll_back"}})
    assert told(tmp_path) == [("not_finite", 2, "roll_back")]
    assert [event.step for event in events_of(tmp_path) if isinstance(event, RolledBack)] == [2]


def test_the_best_is_kept_and_the_curve_drawn(plain: Path) -> None:
    metrics = metrics_of(plain)
    rates = {step: values["eval/win_rate"] for (_, step), values in metrics.items() if "eval/win_rate" in values}
    figures = {step: metrics["ppo", step] for step in rates}
    best = max(rates, key=lambda step: (rates[step], figures[step]["eval/score"], -figures[step]["eval/kl"], -step))
    events = events_of(plain)
    saved = [event for event in events if isinstance(event, CheckpointSaved) and event.best]
    assert [event.path for event in saved] == ["checkpoints/ppo-best"] * len(saved)
    assert (saved[-1].step, saved[-1].metrics["win_rate"]) == (best, rates[best])
    (summary,) = [event.summary for event in events if isinstance(event, StageFinished)]
    assert (summary["best_step"], summary["selection_win_rate"]) == (best, rates[best])
    assert not any(name.startswith("best_") and name != "best_step" for name in summary)
    assert figures[max(rates)]["eval/best_step"] == best and figures[0]["eval/best_step"] == 0
    assert all("eval/best_step" not in values for (_, step), values in metrics.items() if step not in rates)
    first, last = (metrics["ppo", step]["policy/entropy_avg"] for step in (1, 6))
    assert summary["entropy_kept"] == pytest.approx(last / first)
    (curve,) = [event for event in events if isinstance(event, Curve)]
    assert [(point.step, point.win_rate) for point in curve.points] == list(rates.items())
    assert curve.points[-1].sqrt_kl == metrics["ppo", 6]["eval/sqrt_kl"]


def test_held_out_completions_are_logged_at_evaluations(plain: Path) -> None:
    shown = {event.step: event.rows for event in events_of(plain) if isinstance(event, Samples)}
    held_out = {step: [row for row in rows if row.held_out] for step, rows in shown.items()}
    evaluated = {step for (_, step), values in metrics_of(plain).items() if "eval/win_rate" in values}
    assert {step for step, rows in held_out.items() if rows} == evaluated and 0 in evaluated
    (prompts, references) = (
        {tuple(getattr(row, name) for row in held_out[step]) for step in evaluated} for name in ("prompt", "reference")
    )
    assert len(prompts) == len(references) == 1
    assert [row.prompt for row in held_out[0]] == [prompt.prompt for prompt in PROMPTS[:4]]


def test_the_curve_and_the_best_survive_a_stop(tmp_path: Path, plain: Path) -> None:
    for stop_at in (2, 5):
        with pytest.raises(Stopped):
            run(tmp_path, stop_at=stop_at)
    run(tmp_path)
    curves, summaries = [], []
    for folder in (tmp_path, plain):
        events = events_of(folder)
        curves.append([event.points for event in events if isinstance(event, Curve)])
        summaries.append([event.summary for event in events if isinstance(event, StageFinished)])
    assert curves[0] == curves[1] and summaries[0] == summaries[1]
    assert weights(tmp_path) == weights(plain)


def test_kl_not_finite_leaves_coefficient() -> None:
    spec = PPOSpec.model_validate({"kl": {"controller": "adaptive"}})
    state = PPOState.initial(spec, Monitor(HealthSpec(), spec))
    state.adapt(spec, 0, float("nan"), None)
    assert state.kl_coef.value == spec.kl.coef


def test_history_not_finite_evaluation_keeps_its_finite_values() -> None:
    history = RunHistory(Monitor(HealthSpec(), PPOSpec()))
    values = {"eval/win_rate": 0.6, "eval/kl": float("nan"), "eval/sqrt_kl": 0.0, "eval/score": float("inf")}
    assert history.add(10, values)
    assert history.curve == [CurvePoint(step=10, sqrt_kl=0.0, win_rate=0.6)] and history.best == {"win_rate": 0.6}
