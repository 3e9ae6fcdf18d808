"""The collective operations of `World`, in two processes."""

import math
import multiprocessing
import os
import random
import socket
import tempfile
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from torch import nn

from tests.waiting import eventually
from trainer.distributed import SINGLE, World
from trainer.distributed.rendezvous import init_distributed, peer_monitor
from trainer.distributed.world import balance, contiguous_blocks
from trainer.errors import Diverged, StorageError
from trainer.hangs import Finding, Floors, HangWatch, PeerPlaces, phase
from trainer.hangs import watch as watch_module
from trainer.models.heads import compute_in
from trainer.optim.learner import Learner
from trainer.optim.loss_scale import backward
from trainer.spec import OptimizerSpec


def _gradients(world: World) -> object:
    """The first weight has a gradient on one process, as has the last, whose gradient is wider; the second on both, the
    third on none."""
    weights = [nn.Parameter(torch.zeros(2, dtype=dtype)) for dtype in [torch.float32] * 3 + [torch.bfloat16]]
    weights[3].grad_dtype = torch.float32
    if world.rank == 1:
        weights[0].grad = torch.tensor([1.0, 2.0])
        weights[3].grad = torch.tensor([1.0, 1.0 + 2**-20])
    weights[1].grad = torch.full((2,), float(world.rank + 1))
    world.sum_gradients(weights)
    return [None if weight.grad is None else weight.grad.tolist() for weight in weights]


def _overflow(world: World) -> object:
    """The gradient of the second process alone overflows at first; both then take the same step."""
    model = compute_in(nn.Linear(1, 1, bias=False), torch.float16)
    nn.init.zeros_(model.weight)
    spec = OptimizerSpec.model_validate({"learning_rate": 0.1, "lr_schedule": "constant", "warmup_ratio": 0})
    learner, found = Learner(model, spec, 10, world=world), list[object]()
    for _ in range(2):
        with torch.autocast("cpu", dtype=torch.float16):
            output = model(torch.ones(1, 1))
        backward((1.5 if world.rank == 1 else 0.25) * output.float().sum(), model)
        found.append((learner.update(0), learner.scale_metrics, round(model.weight.item(), 6)))
    return found


def _rows(world: World) -> object:
    mine = world.balanced_rows([9, 1, 1])
    own = torch.tensor([[row, float("nan")] for row in mine]) if mine else None
    gathered = world.gather_rows(own, mine, 3, torch.device("cpu"))
    alone = world.gather_rows(
        torch.ones(1, 2) if world.is_main else None, [0] if world.is_main else [], 1, torch.device("cpu")
    )
    return (
        gathered[:, 0].tolist(),
        gathered[:, 1].isnan().all().item(),
        alone.tolist(),
        world.gather_objects(mine, mine, 3),
    )


def _numbers(world: World) -> object:
    sums = world.sum_numbers(
        {"a": torch.tensor(0.5)} if world.is_main else {"a": torch.tensor(1.0), "b": torch.tensor(2.0)}
    )
    return (
        sums,
        world.any(world.rank == 1),
        world.broadcast_object(world.rank),
    )


def _trouble(world: World) -> object:
    said = []
    try:
        with world.fail_together():
            if world.rank == 1:
                raise Diverged("not finite here")
    except Diverged as error:
        said.append(str(error))
    try:
        world.from_main(lambda: _refuse())
    except StorageError as error:
        said.append(str(error))
    return said


class _Findings:
    """A session that writes what hangs to a file, and so ends the hang."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def position(self) -> tuple[str | None, int]:
        return "ppo", 3

    def hangs_in(self, finding: Finding) -> None:
        self._file.write_text(finding.text)


def _hang(world: World) -> object:
    """The second process hangs in a reward while the first one waits for it in a collective. A tick is a hundredth second."""
    folder = Path(world.broadcast_object(tempfile.mkdtemp()))
    watch_module._TICK_SECONDS = 0.01
    watch, named = HangWatch(Floors(first=5, later=5)), folder / "named"
    watch.peers = PeerPlaces(folder, "launch", world.rank, 2, {})
    with watch.watching(_Findings(named)), phase("score"):
        if world.rank == 1:
            with phase("reward"):
                eventually(named.exists)
        world.barrier()
    return named.read_text()


def _end_of_run(world: World) -> object:
    folder = Path(world.broadcast_object(tempfile.mkdtemp()))
    before = dist.is_initialized()
    with peer_monitor(folder, world):
        pass
    return before, dist.is_initialized()


def _refuse() -> None:
    raise StorageError("taken")


WORK: list[Callable[[World], object]] = [_gradients, _rows, _numbers, _trouble, _hang, _overflow, _end_of_run]


def _process(rank: int, port: int, answers: Connection) -> None:
    os.environ |= {
        "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2",
        "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
    }  # fmt: skip
    world = init_distributed("cpu")
    answers.send([work(world) for work in WORK])


@pytest.fixture(scope="module")
def answers() -> list[list[object]]:
    """Run two processes, and return the result of each by rank."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    context = multiprocessing.get_context("forkserver")
    pipes = [context.Pipe() for _ in range(2)]
    processes = [context.Process(target=_process, args=(rank, port, pipes[rank][1])) for rank in range(2)]
    for process in processes:
        process.start()
    try:
        assert all(pipe.poll(120) for pipe, _ in pipes)
        return [pipe.recv() for pipe, _ in pipes]
    finally:
        for process in processes:
            process.join(30)
            process.kill()


def test_world_sum_gradients_keeps_none_only_if_absent_on_all(answers: list[list[object]]) -> None:
    assert answers[0][0] == answers[1][0] == [[1.0, 2.0], [3.0, 3.0], None, [1.0, 1.0 + 2**-20]]


def test_world_gathered_rows_keep_order_also_for_a_single_row(answers: list[list[object]]) -> None:
    assert answers[0][1] == answers[1][1] == ([0.0, 1.0, 2.0], True, [[1.0, 1.0]], [0, 1, 2])


def test_numbers_are_summed_by_name_and_a_flag_is_everyones(answers: list[list[object]]) -> None:
    assert answers[0][2] == answers[1][2] == ({"a": 1.5, "b": 2.0}, True, 0)


def test_world_error_on_one_process_is_raised_on_all(
    answers: list[list[object]],
) -> None:
    assert answers[0][3] == answers[1][3] == ["not finite here", "taken"]


# Who computes which rows.
def test_world_agrees_on_a_step_that_overflows_in_one(answers: list[list[object]]) -> None:
    """1.5 · 65536 is above 65504, and 0.25 · 65536 is not. Adam's first step has the length of the rate."""
    halved = {"loss_scale": 32768.0, "overflows": 1.0}
    assert [answer[5] for answer in answers] == [[(math.inf, halved, 0.0), (1.75, halved, -0.1)]] * 2


def test_balance_longest_row_and_the_rest_get_separate_processes() -> None:
    assert balance([10, 2, 3, 4], 2) == [[0], [1, 2, 3]]
    assert balance([5, 5, 5, 5], 2) == [[0, 2], [1, 3]]
    assert balance([7], 3) == [[0], [], []]


@pytest.mark.parametrize("processes", [1, 2, 3, 8])
def test_balance_assigns_every_row_within_4_3_of_the_optimum(processes: int) -> None:
    """No process gets more than a third above the lower bound of the best split."""
    draw = random.Random(processes)
    for count in range(12):
        lengths = [draw.randint(1, 60) for _ in range(count)]
        split = balance(lengths, processes)
        assert len(split) == processes and sorted(row for own in split for row in own) == list(range(count))
        assert all(own == sorted(own) for own in split)
        least = max([*lengths, sum(lengths) / processes])
        best = max(least, sum(sorted(lengths, reverse=True)[processes - 1 : processes + 1]) if count > processes else 0)
        assert max(sum(lengths[row] for row in own) for own in split) <= 4 / 3 * best + 1e-9


def test_blocks_are_in_order_and_as_even_as_can_be() -> None:
    assert (
        contiguous_blocks(5, 2) == [[0, 1, 2], [3, 4]]
        and contiguous_blocks(1, 2) == [[0], []]
        and contiguous_blocks(0, 2) == [[], []]
    )


def test_world_of_one_process_holds_all_rows_without_messages() -> None:
    world = World()
    assert world.is_main and world.local_rows(3) == [0, 1, 2] == world.balanced_rows([9, 1, 5]) and SINGLE.size == 1
    assert world.any(True) and not world.any(False) and world.from_main(lambda: 7) == 7


def test_process_group_is_closed_at_the_end_of_a_run(answers: list[list[object]]) -> None:
    """With an open one, about one process in six aborted at its exit with status -6, after a run that had finished."""
    assert [answer[6] for answer in answers] == [(True, False), (True, False)]


def test_a_process_that_is_behind_in_a_collective_is_named(answers: list[list[object]]) -> None:
    text = str(answers[0][4])
    assert text == answers[1][4]
    assert text.startswith("Process 1 has been in the phase reward (in score) for ")
    assert "Process 0 has waited in the phase collective (in score)" in text
