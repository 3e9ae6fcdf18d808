"""Two models at once: the same bits as in turn, and trouble that surfaces where the work was asked for."""

import threading
from pathlib import Path

import pytest
import torch

from tests import tolerance
from tests.trainer.stage_tools import four_models, new_codec, respond_and_learn
from trainer.errors import Diverged
from trainer.models.concurrent import IN_TURN, Pair, choose
from trainer.ppo.learners import Learners
from trainer.ppo.minibatch import Coefficients, Minibatch
from trainer.ppo.update import update
from trainer.spec import PPOSpec

SPEC = PPOSpec(batch_size=4, minibatches=2, epochs=2, steps=4, max_new_tokens=6, learning_rate=1e-2)
FITS = {"fits": True, "parameters": 500_000, "threads": 1, "cores": 2}


def learned(pair: Pair) -> list[torch.Tensor]:
    """All weights after an update, with one thread for each model."""
    actors = four_models()
    experience = respond_and_learn(actors, [[5, 6], [7], [8, 9, 10], [11]], new_codec(), SPEC, seed=1)
    learners = Learners(
        *(vars(Learners.of(actors, SPEC))[name] for name in ("policy", "critic", "value_head")), pair=pair
    )
    update(experience, learners, SPEC, 0, 0, Coefficients(0.05, 0.0))
    assert actors.critic is not None
    return [*actors.policy.parameters(), *actors.critic.parameters()]


def test_an_update_comes_to_the_same_bits() -> None:
    with Pair(threads=1) as pair:
        together = learned(pair)
    assert all(torch.equal(one, other) for one, other in zip(together, learned(IN_TURN), strict=True))


def test_they_run_at_the_same_time_each_with_its_threads_and_the_callers_gradient_mode() -> None:
    meeting = threading.Barrier(2, timeout=30)  # passed by two who wait at once, or not at all

    def look() -> tuple[int, bool]:
        meeting.wait()
        return torch.get_num_threads(), torch.is_grad_enabled()

    before = torch.get_num_threads()
    with Pair(threads=2) as pair:
        assert pair(look, look) == ((2, True), (2, True))
        with torch.no_grad():
            assert pair(look, look) == ((2, False), (2, False))
        assert torch.get_num_threads() == before


def test_an_error_beside_is_raised_here_and_the_first_ones_goes_before() -> None:
    def fail(what: str) -> None:
        raise Diverged(what)

    with Pair(threads=1) as pair:
        with pytest.raises(Diverged, match="critic"):
            pair(lambda: 1, lambda: fail("critic"))
        with pytest.raises(Diverged, match="policy"):
            pair(lambda: fail("policy"), lambda: fail("critic"))
        assert pair(lambda: 1, lambda: 2) == (1, 2)


def test_no_thread_is_left_behind() -> None:
    with Pair(threads=1) as pair:
        pair(lambda: 1, lambda: 2)
        assert any(thread.name.startswith("beside") for thread in threading.enumerate())
    assert not any(thread.name.startswith("beside") for thread in threading.enumerate())


@pytest.mark.parametrize(
    ("setting", "changes", "threads"),
    [
        ("auto", {}, 1),
        ("auto", {"threads": 4, "cores": 4}, 2),
        ("auto", {"cores": 1}, None),
        ("auto", {"parameters": 50_000_000}, None),
        ("auto", {"fits": False}, None),
        (True, {"parameters": 50_000_000, "threads": 2}, 1),
        (True, {"fits": False}, None),
        (False, {}, None),
    ],
)
def test_where_it_pays(tmp_path: Path, setting: bool, changes: dict[str, int], threads: int | None) -> None:
    assert choose(setting, **(FITS | changes), memory=tmp_path / "m").threads == threads


def test_a_resumed_run_keeps_what_it_had(tmp_path: Path) -> None:
    assert choose("auto", **FITS, memory=tmp_path / "m").threads == 1
    assert choose("auto", **(FITS | {"cores": 1}), memory=tmp_path / "m").threads == 1


def test_micro_batches_by_tokens_change_neither_gradient_nor_order() -> None:
    actors = four_models()
    experience = respond_and_learn(actors, [[5, 6], [7], [8, 9, 10], [11]], new_codec(), SPEC, seed=1)
    rows = [2, 0, 3, 1]

    def accumulated(**changes: int) -> tuple[list[torch.Tensor], torch.Tensor]:
        spec = SPEC.model_copy(update=changes)
        learners = Learners.of(actors, spec)
        figures, tokens = Minibatch.of(experience, rows, spec, Coefficients(0.05, 0.0)).accumulate(learners, False)
        gradients = [p.grad.clone() for p in learners.policy.parameters]
        learners.forget()
        return [*gradients, torch.tensor(list(figures.values()))], tokens.clipped_BR

    with torch.no_grad():
        actors.policy.lm_head.weight.mul_(1.5)  # so that some ratios are clipped
    (whole, clipped), (parts, clipped_in_parts) = accumulated(), accumulated(micro_batch_tokens=9)
    assert clipped.any() and torch.equal(clipped, clipped_in_parts)
    for one, other in zip(whole, parts, strict=True):
        torch.testing.assert_close(one, other, **tolerance.outputs())
