"""Value pretraining: when it ends, what the critic learns meanwhile, and that PPO after it is the PPO of a run without it."""

import math
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.trainer.ppo.test_resume import ENCODED
from tests.trainer.ppo.tools import PROMPTS, cast_for, iterate, spec_of, weights_of
from tests.trainer.running import events_of, metrics_of
from tests.trainer.stage_tools import context_of, new_codec, respond_and_learn, session_in, stop_after, train_ppo
from trainer.errors import SpecError, Stopped
from trainer.events import Message, Metrics, StageStarted
from trainer.models.heads import ValueHead
from trainer.ppo.learners import Learners
from trainer.ppo.value_pretraining import ValuePretraining, pretraining_turn
from trainer.rollout.context import PPOModels
from trainer.spec import EvaluationSpec, PPOSpec, ValuePretrainingSpec
from trainer.stages.evaluation import HeldOut

NAN = math.nan


@pytest.mark.parametrize(
    ("series", "settings", "ending"),
    [
        ([-0.5, 0.1, 0.4, 0.62], {"explained_variance": 0.6}, "threshold"),
        ([-0.5, 0.1, 0.4, 0.6], {"explained_variance": 0.6}, "threshold"),
        ([0.7], {"explained_variance": 0.6}, "threshold"),
        ([0.1, 0.3, 0.2, 0.3], {"patience": 2}, "patience"),  # as high as the best is no rise
        ([0.1, 0.3, 0.2, 0.31, 0.2, 0.1], {"patience": 2}, "patience"),
        ([0.1, NAN, NAN], {"patience": 2}, "patience"),
        ([NAN, NAN], {"patience": 2, "explained_variance": 0.6}, "patience"),
        ([-3.0, -2.0, -1.0], {"iterations": 3}, "iterations"),
        ([0.5, 0.4], {"patience": 1, "iterations": 2}, "patience"),
        ([0.1, 0.9], {"iterations": 2, "explained_variance": 0.9}, "threshold"),
    ],
    ids=str,
)
def test_pretraining_ends_at_its_first_end(series: list[float], settings: dict[str, Any], ending: str) -> None:
    """By hand, on a series of explained variances: it ends at the last of them and not before."""
    spec, progress = (
        ValuePretrainingSpec.model_validate({"patience": 9, "iterations": 9} | settings),
        ValuePretraining(),
    )
    for value in series:
        assert progress.ending is None
        progress.add(value, spec)
    assert progress.ending == ending and progress.done == len(series)
    assert f"after {len(series)} iterations" in progress.explained(spec)
    assert progress.has_failed == (not any(value > 0 for value in series))


def test_pretraining_metrics_follow_the_series() -> None:
    spec, progress, found = ValuePretrainingSpec(), ValuePretraining(), []
    for value in (NAN, -0.5, 0.2, 0.1):
        progress.add(value, spec)
        found.append(progress.metrics())
    best, since = "pretraining/best_explained_var", "pretraining/since_best"
    assert found == [{since: 1.0}, {best: -0.5, since: 0.0}, {best: 0.2, since: 0.0}, {best: 0.2, since: 1.0}]
    assert ValuePretraining.from_json(asdict(progress)) == progress
    assert ValuePretraining.from_json(None) == ValuePretraining()


def test_pretraining_targets_are_monte_carlo_returns() -> None:
    """The sum of the rewards from each token on, whatever λ and the values, and a loss without a clip."""
    spec = spec_of(advantage={"gae_lambda": 0.3}, critic={"pretraining": {}, "value_clip_range": 1e-6})
    cast = cast_for(spec)
    experience = respond_and_learn(cast, PROMPTS, new_codec(), spec.while_pretraining, seed=3)
    mask_BR = experience.scored.batch.mask_BR
    to_go_BR = experience.rewards_BR.flip(1).cumsum(1).flip(1)
    torch.testing.assert_close(experience.returns_BR[mask_BR], to_go_BR[mask_BR], rtol=1e-5, atol=1e-5)
    _, learned, result = iterate(spec.while_pretraining, cast)
    assert learned.values_BR is not None
    errors = (learned.values_BR - learned.returns_BR)[learned.scored.batch.mask_BR]
    first = [entry["value_clipfrac"] for entry in result.history]
    assert first == [0.0] * 4 and float(errors.abs().max()) > 0.1  # nothing is clipped, although the errors are large


def test_pretraining_steps_have_peak_rates_and_own_orders() -> None:
    spec = spec_of(steps=9, lr_schedule="linear", warmup_ratio=0.5, critic={"pretraining": {}, "schedule": "cosine"})
    cast = cast_for(spec)
    learners, context = Learners.build(cast, spec), context_of(cast, spec)
    turns = [pretraining_turn(context, learners, ValuePretraining(done)) for done in (0, 1)]
    assert learners.critic is not None
    for turn in turns:
        assert turn.learners.critic is not None and turn.learners.critic.optimizer is learners.critic.optimizer
        assert [turn.learners.critic.lr(step) for step in (0, 8)] == [1e-2, 1e-2] and turn.iteration == 0
    assert learners.critic.lr(0) < 1e-2  # the schedule of PPO is as it was
    assert len({context.seed, *(turn.context.seed for turn in turns)}) == 3


def run(folder: Path, spec: PPOSpec, stop: int | None = None, cast: PPOModels | None = None) -> PPOModels:
    folder.mkdir(exist_ok=True)
    cast = cast_for(spec) if cast is None else cast
    held_out = HeldOut(ENCODED[:2], None, EvaluationSpec(prompts=2, keep_best=False))
    with session_in(folder) as session:
        stop_after(session, stop)
        train_ppo(session, spec, cast, ENCODED, held_out)
    return cast


COMMON: dict[str, Any] = {
    "steps": 3, "save_every": 50, "eval_every": 2, "max_new_tokens": 6, "self_test": False, "lr_schedule": "linear",
    "kl": {"controller": "linear", "coef": 0.2}, "log_samples": 0, "log_held_out": 0,
}  # fmt: skip


@pytest.mark.parametrize("kind", ["separate", "value_head"])
def test_pretraining_moves_the_critic_alone(tmp_path: Path, kind: str) -> None:
    spec = spec_of(**COMMON, critic={"kind": kind, "pretraining": {"iterations": 2}})
    fresh, cast = cast_for(spec), cast_for(spec)
    with pytest.raises(Stopped):
        run(tmp_path, spec, stop=2, cast=cast)
    assert torch.equal(weights_of(cast.policy), weights_of(fresh.policy))
    assert torch.equal(weights_of(cast.reference), weights_of(fresh.reference))
    ours, before = (weights_of(critic) for critic in (cast.critic, fresh.critic))
    assert ours.shape == before.shape and not torch.equal(ours, before)
    assert isinstance(cast.critic, ValueHead) == (kind == "value_head")


def test_ppo_after_pretraining_has_its_schedules_from_the_start(tmp_path: Path) -> None:
    """Two steps of pretraining, then three iterations with the rates and coefficients of a run without pretraining."""
    run(tmp_path / "with", spec_of(**COMMON, critic={"pretraining": {"iterations": 2}}))
    run(tmp_path / "without", spec_of(**COMMON))
    ours, theirs = metrics_of(tmp_path / "with"), metrics_of(tmp_path / "without")
    assert [step for _, step in ours] == [0, 1, 2, 3, 4, 5] and [step for _, step in theirs] == [0, 1, 2, 3]
    for step in (1, 2, 3):
        for name in ("lr", "critic_lr", "objective/kl_coef"):
            assert ours["ppo", step + 2][name] == theirs["ppo", step][name], (step, name)
    assert [ours["ppo", step]["critic_lr"] for step in (1, 2)] == [1e-2, 1e-2]
    assert [ours["ppo", step]["objective/kl_coef"] for step in (1, 2)] == [0.2, 0.2]
    assert [ours["ppo", step]["episode"] for step in (1, 5)] == [6, 30]
    assert [step for (_, step), values in ours.items() if "eval/kl" in values] == [0, 4, 5]
    assert [step for (_, step), values in ours.items() if "policy/approxkl_avg" in values] == [3, 4, 5]
    assert [step for (_, step), values in ours.items() if "pretraining/since_best" in values] == [1, 2]


def test_number_of_steps_is_known_from_the_end_of_pretraining(tmp_path: Path) -> None:
    """At most 8 + 3 steps. With a patience of one, it ends at the first value that is not a new highest one."""
    run(tmp_path, spec_of(**COMMON, critic={"pretraining": {"iterations": 8, "patience": 1}, "learning_rate": 0.5}))
    events = events_of(tmp_path)
    variances = [e.values["val/explained_var"] for e in events if isinstance(e, Metrics) and e.step]
    expected = next((n for n in range(2, 9) if variances[n - 1] <= max(variances[: n - 1])), 8)
    assert expected < 8  # else the test could not see an early end
    (started,) = [event for event in events if isinstance(event, StageStarted)]
    totals = [event.total_steps for event in events if isinstance(event, Metrics)]
    assert started.total_steps == 11 and totals == [11] * expected + [expected + 3] * 4
    (why,) = [event.text for event in events if isinstance(event, Message) and "pretrained" in event.text]
    assert f"after {expected} iterations" in why and "`ppo.critic.pretraining.patience`" in why


def test_checkpoint_beyond_the_last_step_is_refused(tmp_path: Path) -> None:
    critic = {"pretraining": {"iterations": 2}}
    with pytest.raises(Stopped):
        run(tmp_path, spec_of(**COMMON, critic=critic), stop=4)
    with pytest.raises(SpecError, match="the checkpoint of step 4 has 2 iterations after 2 steps of value pretraining"):
        run(tmp_path, spec_of(**COMMON | {"steps": 1}, critic=critic))
