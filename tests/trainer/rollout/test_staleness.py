"""Rollouts of several steps before: by which policy they are, also after kills, branches and roll-backs."""

import random
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from tests.trainer.ppo.tools import PROMPTS, cast_for, spec_of
from tests.trainer.running import events_of, metrics_of
from tests.trainer.stage_tools import context_of, session_in, stop_after, train_ppo
from tests.trainer.tiny_models import llama
from trainer.errors import Stopped
from trainer.events import Message, Samples
from trainer.models import Model, load_policy
from trainer.rollout.context import PPOModels
from trainer.rollout.producer import Rollout, RolloutProducer
from trainer.spec import EvaluationSpec
from trainer.stages.evaluation import HeldOut
from trainer.text.codec import TokenizedPrompt

ENCODED = [TokenizedPrompt(f"prompt {n}", ids) for n, ids in enumerate(PROMPTS)]
STEPS = 9
Drawn = list[tuple[list[int], list[float] | None]]


def producer_of(cast: PPOModels, staleness: int, seed: int = 5) -> RolloutProducer:
    spec = spec_of(steps=STEPS, max_new_tokens=3, rollout={"staleness": staleness})
    return RolloutProducer(context_of(cast, spec, seed=seed), ENCODED)


def drawn(rollout: Rollout) -> Drawn:
    return [(response.ids, response.logprobs) for response in rollout.responses]


def are_same(found: Drawn, expected: Drawn) -> bool:
    """Equal tokens, with log-probabilities that differ by rounding at most: those of another policy are far off."""
    own, theirs = ([logprob for _, logprobs in drawn for logprob in logprobs or []] for drawn in (found, expected))
    return [ids for ids, _ in found] == [ids for ids, _ in expected] and own == pytest.approx(theirs, abs=1e-4)


@cache
def first_policy() -> Model:
    return llama(0)


@cache
def cast() -> PPOModels:
    """Its policy is what the present test makes of it."""
    return cast_for(spec_of())


def become(policy: Model, number: int) -> None:
    """Policy `number` of an endless series without two equal ones."""
    source = dict(first_policy().named_parameters())
    noise = torch.Generator().manual_seed(number)
    with torch.no_grad():
        for name, weight in policy.named_parameters():
            weight.copy_(source[name] + torch.randn(weight.shape, generator=noise) * (number > 0))


@cache
def expected(number: int, iteration: int) -> Drawn:
    """The responses of policy `number` to the prompts of an iteration, sampled without any queue."""
    become(cast().policy, number)
    return drawn(producer_of(cast(), 0).take(iteration))


class Run:
    """A run without updates: its policy becomes the next one of the series at each step. Checkpoints are files."""

    def __init__(self, folder: Path, bound: int) -> None:
        self.folder, self.cast, self.bound = folder, replace(cast(), policy=llama(0)), bound
        self.step, self.newest, self.policies = 0, 0, [0]
        """`policies`: the policy before each step."""
        self.producer = producer_of(self.cast, bound)
        self.saved: tuple[int, int, list[int]] = (0, 0, [0])
        self.checkpoint = self._file()

    def take_a_step(self) -> int:
        """Take a step, check the responses that it learned from, and return their age."""
        rollout = self.producer.take(self.step)
        made = self.step if rollout.policy_step is None else rollout.policy_step
        assert are_same(drawn(rollout), expected(self.policies[made], self.step))
        with self.producer.sample_ahead(self.step, STEPS):
            self.newest += 1
            become(self.cast.policy, self.newest)
        self.step += 1
        self.policies.append(self.newest)
        return self.step - 1 - made

    def save(self) -> None:
        self.saved = (self.step, self.step, list(self.policies))
        self.checkpoint = self._file()

    def resume(self, bound: int | None = None) -> None:
        """A new process with the newest checkpoint, of a branch with another bound if one is given."""
        self.bound = self.bound if bound is None else bound
        self.step, _, policies = self.saved
        self.policies = list(policies)
        become(self.cast.policy, self.policies[-1])
        self.producer = producer_of(self.cast, self.bound)
        self.producer.restore(self.checkpoint, self.step)

    def roll_back(self) -> None:
        """The checkpoint becomes that of the present step, as trainer/ppo/health.py makes it. The steps keep on counting."""
        kept = self.policies[: self.saved[1]]
        self.saved = (self.step, self.saved[1], [*kept, *[self.saved[2][-1]] * (self.step + 1 - len(kept))])
        self.resume()

    def _file(self) -> Path:
        path = self.folder / f"{self.step}-{self.newest}"
        (path / "trainer_state").mkdir(parents=True, exist_ok=True)
        for name, tensors in self.producer.state().items():
            save_file(tensors, path / "trainer_state" / f"{name}.safetensors")
        return path


@pytest.mark.parametrize("bound", [1, 4])
def test_calm_run_learns_from_the_policy_of_k_steps_before(tmp_path: Path, bound: int) -> None:
    run = Run(tmp_path, bound)
    assert [run.take_a_step() for _ in range(STEPS)] == [min(step, bound) for step in range(STEPS)]
    assert run.producer.state() == {}


@pytest.mark.parametrize("seed", range(4))
def test_no_response_is_older_than_the_bound_in_any_history(tmp_path: Path, seed: int) -> None:
    """Kills, branches with another bound, and roll-backs at random. Each batch is by the policy of its recorded step."""
    chance = random.Random(seed)
    run, ages, events = Run(tmp_path, chance.randint(1, 4)), [], 0
    while run.step < STEPS:
        age = run.take_a_step()
        assert 0 <= age <= run.bound
        ages.append(age)
        if chance.random() < 0.4:
            run.save()
        if events < 6 and chance.random() < 0.5:
            events += 1
            match chance.choice(["kill", "branch", "roll back"]):
                case "kill":
                    run.resume()
                case "branch":
                    run.resume(chance.randint(0, 4))
                case "roll back" if run.saved[0] < run.step:
                    run.roll_back()
    assert events and max(ages) > 0


def test_resumed_queue_is_the_same_at_every_step(tmp_path: Path) -> None:
    calm, killed = Run(tmp_path / "calm", 3), Run(tmp_path / "killed", 3)
    for _ in range(STEPS):
        assert calm.take_a_step() == killed.take_a_step()
        ours, theirs = calm.producer.state(), killed.producer.state()
        killed.save()
        killed.resume()
        assert_equal(ours, killed.producer.state())
        assert_equal(ours, theirs)


def assert_equal(one: dict[str, dict[str, Any]], other: dict[str, dict[str, Any]]) -> None:
    assert one.keys() == other.keys()
    for name, tensors in one.items():
        assert tensors.keys() == other[name].keys()
        assert all(torch.equal(value, other[name][key]) for key, value in tensors.items())


def test_lower_bound_drops_only_the_batches_that_are_too_old(tmp_path: Path) -> None:
    run = Run(tmp_path, 3)
    run.take_a_step()  # the first policy sampled batches 1, 2 and 3
    run.save()
    assert producer_of(run.cast, 2).restore(run.checkpoint, 1) == 1
    assert producer_of(run.cast, 1).restore(run.checkpoint, 1) == 2
    assert producer_of(run.cast, 0).restore(run.checkpoint, 1) == 3
    run.resume(bound=1)
    assert [run.take_a_step() for _ in range(3)] == [1, 1, 1]


def test_after_a_roll_back_no_batch_of_the_checkpoint_waits(tmp_path: Path) -> None:
    """Also none for a step that is still to come: it was sampled for a policy that has learned from undone steps."""
    run = Run(tmp_path, 3)
    run.take_a_step()
    run.save()
    for step, waiting in ((1, True), (2, False), (4, False)):
        producer = producer_of(run.cast, 3)
        assert producer.restore(run.checkpoint, step) == 0
        assert bool(producer.state()) == waiting


def test_checkpoint_of_an_earlier_release_is_one_step_old(tmp_path: Path) -> None:
    """It held one batch, and the iteration as a single number."""
    run = Run(tmp_path, 1)
    run.take_a_step()
    ((name, tensors),) = run.producer.state().items()
    old = {key: value for key, value in tensors.items() if key != "policy_step"} | {"iteration": torch.tensor(1)}
    (tmp_path / "old" / "trainer_state").mkdir(parents=True)
    save_file(old, tmp_path / "old" / "trainer_state" / f"{name}.safetensors")
    run.producer = producer_of(run.cast, 1)
    assert run.producer.restore(tmp_path / "old", 1) == 0
    assert run.take_a_step() == 1


def trained(folder: Path, staleness: int, stop: int | None = None, **changes: Any) -> dict[int, Drawn]:
    """Run or resume a stage of five steps, and return the responses that each iteration learned from."""
    rollout = {"staleness": staleness} | changes.pop("rollout", {})
    spec = spec_of(
        **{"steps": 5, "save_every": 1, "self_test": False, "max_new_tokens": 3, "epochs": 1} | changes, rollout=rollout
    )
    learned: dict[int, Drawn] = {}
    with pytest.MonkeyPatch.context() as patch, session_in(folder) as session:
        take = RolloutProducer.take

        def watched(self: RolloutProducer, iteration: int, between: Callable[[], None]) -> Rollout:
            rollout = take(self, iteration, between)
            learned[iteration] = drawn(rollout)
            return rollout

        patch.setattr(RolloutProducer, "take", watched)
        session.checkpoints.keep_last = 9
        stop_after(session, stop)
        newest = session.checkpoints.newest("ppo")
        policy = llama(0) if newest is None else load_policy(newest[0])
        try:
            train_ppo(
                session,
                spec,
                replace(cast(), policy=policy, critic=None),
                ENCODED,
                HeldOut(ENCODED[:2], None, EvaluationSpec(prompts=2, keep_best=False)),
            )
        except Stopped:
            assert stop is not None
    return learned


REINFORCE = {"advantage": {"estimator": "sequence", "normalize": "none"}}


def test_training_at_staleness_2_uses_the_policy_of_step_t_2(tmp_path: Path) -> None:
    """Read from the checkpoints: each policy is loaded and samples anew what iteration t learned from."""
    learned = trained(tmp_path, 2, log_samples=2, **REINFORCE)
    policies = [llama(0), *(load_policy(tmp_path / "checkpoints" / f"ppo-00000{step}") for step in (1, 2))]
    with session_in(tmp_path) as session:
        seed = session.seed("ppo")
    for iteration, policy in zip(range(5), [policies[0], *policies[:1] * 2, *policies[1:]], strict=True):
        other = producer_of(replace(cast(), policy=policy), 0, seed)
        assert are_same(learned[iteration], drawn(other.take(iteration))), iteration
    metrics = metrics_of(tmp_path)
    assert [metrics["ppo", step]["rollout/staleness"] for step in range(1, 6)] == [0, 1, 2, 2, 2]
    assert all(0 < metrics["ppo", step]["sampling/effective_sample_size"] <= 1 for step in range(1, 6))
    assert warnings_of(tmp_path) == []  # corrected by default
    logged = [event for event in events_of(tmp_path) if isinstance(event, Samples) and event.step]
    own = [[row.policy_step for row in event.rows if not row.held_out] for event in logged]
    assert own == [[0, 0], [0, 0], [0, 0], [1, 1], [2, 2]]


def test_branch_with_a_lower_bound_reports_what_it_drops(tmp_path: Path) -> None:
    trained(tmp_path, 3, stop=2, **REINFORCE)
    trained(tmp_path, 1, **REINFORCE)
    (dropped,) = [e.text for e in events_of(tmp_path) if isinstance(e, Message) and "dropped" in e.text]
    assert dropped.startswith("3 of the batches that waited at step 2") and "`ppo.rollout.staleness`" in dropped
    assert [metrics_of(tmp_path)["ppo", step]["rollout/staleness"] for step in (3, 4, 5)] == [0, 1, 1]


def warnings_of(folder: Path) -> list[str]:
    return [e.text for e in events_of(folder) if isinstance(e, Message) and e.level == "warning"]


def test_uncorrected_older_responses_are_warned_of(tmp_path: Path) -> None:
    trained(tmp_path, 2, steps=3, rollout={"correction": {"kind": "none"}}, **REINFORCE)
    (warning,) = warnings_of(tmp_path)
    assert "up to 2 steps old" in warning


def test_synchronous_run_reports_no_age(tmp_path: Path) -> None:
    trained(tmp_path, 0, steps=1, log_samples=1, **REINFORCE)
    assert "rollout/staleness" not in metrics_of(tmp_path)["ppo", 1]
    rows = [row for event in events_of(tmp_path) if isinstance(event, Samples) for row in event.rows]
    assert rows and all(row.policy_step is None for row in rows)
