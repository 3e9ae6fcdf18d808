"""The number of CPU threads, and two models that learn at once."""

import threading
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

import pytest
import torch
from torch import Tensor

from tests.trainer.stage_tools import context_of, four_models, new_codec, respond_and_learn, session_in
from tests.trainer.tiny_models import llama
from trainer.distributed import cpu_threads
from trainer.distributed.cpu_threads import (
    SEQUENTIAL,
    Pace,
    PacedExecutor,
    PairedExecutor,
    choose_halves,
    choose_pairing,
    choose_threads,
)
from trainer.errors import Diverged
from trainer.models import Model, compute_in
from trainer.optim.halves import accumulate_halves
from trainer.ppo.kl import KLCoefficients
from trainer.ppo.learners import Learners
from trainer.ppo.update import update
from trainer.run import pipeline
from trainer.spec import JobSpec, PPOSpec
from trainer.stages import sft
from trainer.stages.tokenized_rows import TokenizedDemonstration

SPEC = PPOSpec(batch_size=4, minibatches=2, epochs=2, steps=4, max_new_tokens=6, learning_rate=1e-2)
SEPARATE = {"separate": True, "parameters": 500_000, "threads": 1, "cores": 2}


def learned(pair: PairedExecutor) -> list[torch.Tensor]:
    """All weights after an update, with one thread for each model."""
    actors = four_models()
    experience = respond_and_learn(actors, [[5, 6], [7], [8, 9, 10], [11]], new_codec(), SPEC, seed=1)
    learners = Learners(
        *(vars(Learners.build(actors, SPEC))[name] for name in ("policy", "critic", "value_head")), pair=pair
    )
    update(context_of(actors, SPEC), experience, learners, KLCoefficients(0.05, 0.0), 0)
    assert actors.critic is not None
    return [*actors.policy.parameters(), *actors.critic.parameters()]


def test_paired_update_gives_the_same_bits_as_in_turn() -> None:
    with PairedExecutor(threads=1) as pair:
        together = learned(pair)
    assert all(torch.equal(one, other) for one, other in zip(together, learned(SEQUENTIAL), strict=True))


def test_paired_calls_keep_threads_and_gradient_mode() -> None:
    meeting = threading.Barrier(2, timeout=30)  # passed by two who wait at once, or not at all

    def look() -> tuple[int, bool]:
        meeting.wait()
        return torch.get_num_threads(), torch.is_grad_enabled()

    before = torch.get_num_threads()
    with PairedExecutor(threads=2) as pair:
        assert pair(look, look) == ((2, True), (2, True))
        with torch.no_grad():
            assert pair(look, look) == ((2, False), (2, False))
        assert torch.get_num_threads() == before


def test_paired_error_is_raised_and_the_first_wins() -> None:
    def fail(what: str) -> None:
        raise Diverged(what)

    with PairedExecutor(threads=1) as pair:
        with pytest.raises(Diverged, match="critic"):
            pair(lambda: 1, lambda: fail("critic"))
        with pytest.raises(Diverged, match="policy"):
            pair(lambda: fail("policy"), lambda: fail("critic"))
        assert pair(lambda: 1, lambda: 2) == (1, 2)


def test_paired_executor_leaves_no_thread_behind() -> None:
    with PairedExecutor(threads=1) as pair:
        pair(lambda: 1, lambda: 2)
        assert any(thread.name.startswith("paired") for thread in threading.enumerate())
    assert not any(thread.name.startswith("paired") for thread in threading.enumerate())


@pytest.mark.parametrize(
    ("setting", "changes", "threads"),
    [
        ("auto", {}, 1),
        ("auto", {"threads": 4, "cores": 4}, 2),
        ("auto", {"cores": 1}, None),
        ("auto", {"parameters": 50_000_000}, None),
        ("auto", {"separate": False}, None),
        (True, {"parameters": 50_000_000, "threads": 2}, 1),
        (True, {"separate": False}, None),
        (False, {}, None),
    ],
)
def test_choose_pairing_by_size_and_cores(
    tmp_path: Path, setting: bool, changes: dict[str, int], threads: int | None
) -> None:
    assert choose_pairing(setting, **(SEPARATE | changes), record=tmp_path / "r").threads == threads


def test_choose_pairing_keeps_the_recorded_choice(tmp_path: Path) -> None:
    assert choose_pairing("auto", **SEPARATE, record=tmp_path / "r").threads == 1
    assert choose_pairing("auto", **(SEPARATE | {"cores": 1}), record=tmp_path / "r").threads == 1


@pytest.mark.parametrize(
    ("setting", "changes", "threads"),
    [
        ("auto", {}, 1),
        ("auto", {"cores": 1}, None),
        ("auto", {"parameters": 10**6}, None),
        ("auto", {"alone": False}, None),
        (2, {}, None),
    ],
)
def test_choose_halves_by_size_and_cores(
    tmp_path: Path, setting: int | Literal["auto"], changes: dict[str, int], threads: int | None
) -> None:
    small: dict[str, Any] = {"alone": True, "parameters": 10**6 - 1, "cores": 2}
    assert choose_halves(setting, **(small | changes), record=tmp_path / "r").threads == threads


@pytest.mark.parametrize(("lora", "threads"), [({"rank": 2}, None), (None, 1)])
@pytest.mark.usefixtures("two_cores")
def test_halves_are_not_computed_at_once_with_adapters(
    tmp_path: Path, lora: dict[str, int] | None, threads: int | None
) -> None:
    """The active adapter is a state of the backbone. One thread would switch it off while the other one computes."""
    spec = {"model": {"path": "unused", "lora": lora}, "data": {"preferences": "unused"}, "ppo": {}}
    with session_in(tmp_path) as session:
        session.spec = JobSpec.model_validate(spec)
        job: Any = SimpleNamespace(session=session, parameters=9)
        assert pipeline._halves(job).threads == threads


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_sft_halves_have_the_same_bits_at_once_and_in_turn(dtype: torch.dtype) -> None:
    """Autocast keeps the casts of weights for all threads."""
    examples = [TokenizedDemonstration([3, 4, 5], [6] * (4 + row)) for row in range(8)]
    found = []
    with PacedExecutor() as pair:
        for _ in range(12):
            model = compute_in(llama(), dtype)
            sft.accumulate(model, examples, new_codec(), None, torch.device("cpu"), pair=pair)
            found.append(torch.cat([w.grad.flatten() for w in model.parameters() if w.grad is not None]))
    assert all(torch.equal(found[0], other) for other in found)


def test_choose_halves_keeps_the_recorded_choice(tmp_path: Path) -> None:
    chosen = [choose_halves("auto", alone=True, parameters=9, cores=n, record=tmp_path / "r") for n in (1, 2)]
    assert [pair.threads for pair in chosen] == [None, None]


def test_pace_tries_both_ways_and_keeps_the_faster_one() -> None:
    pace, ways = Pace(), []
    for _ in range(100):
        ways.append(pace.at_once())
        # at once 2 s on the quiet machine of the first fifty calls and 4 s after; in turn 3 s
        pace.took((2.0 if len(ways) <= 50 else 4.0) if ways[-1] else 3.0)
    trial = [True] * 3 + [False] * 3
    assert ways == trial + [True] * 44 + trial + [False] * 44


def test_pace_is_not_led_by_one_slow_call() -> None:
    pace = Pace()
    for seconds in (9.0, 2.0, 9.0, 3.0, 3.0, 3.0):
        pace.took(seconds)
    assert pace.at_once()


def _sines(model: Model, factor: float) -> tuple[Tensor, int]:
    return torch.stack([(weight * factor).sin().sum() for weight in model.parameters()]).sum(), 0


def test_paced_halves_have_the_same_bits_either_way() -> None:
    """The first six steps try both ways."""
    found = []
    with PacedExecutor() as pair:
        for _ in range(6):
            model = four_models().policy
            accumulate_halves(pair, model, partial(_sines, model, 2.0), partial(_sines, model, 3.0))
            found.append(torch.cat([w.grad.flatten() for w in model.parameters() if w.grad is not None]))
    assert all(torch.equal(found[0], other) for other in found)


@pytest.fixture
def two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu_threads, "available_cores", lambda: 2)


@pytest.mark.usefixtures("two_cores")
@pytest.mark.parametrize(
    ("setting", "parameters", "threads"), [(3, 10**7, 3), (3, 10, 3), ("auto", 10**6, 2), ("auto", 10**6 - 1, 1)]
)
def test_choose_threads_by_setting_and_size(
    tmp_path: Path, setting: int | Literal["auto"], parameters: int, threads: int
) -> None:
    assert choose_threads(setting, parameters, tmp_path / "threads") == threads


@pytest.mark.usefixtures("two_cores")
def test_choose_threads_keeps_the_recorded_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert choose_threads("auto", 10**7, tmp_path / "threads") == 2
    monkeypatch.setattr(cpu_threads, "available_cores", lambda: 4)
    assert choose_threads("auto", 10**7, tmp_path / "threads") == 2
