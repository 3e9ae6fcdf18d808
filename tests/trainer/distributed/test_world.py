"""What processes tell each other, in two of them."""

import multiprocessing
import os
import socket
from collections.abc import Callable
from multiprocessing.connection import Connection

import pytest
import torch
from torch import nn

from trainer.distributed import World
from trainer.distributed.rendezvous import join
from trainer.errors import Diverged, StorageError


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


def _rows(world: World) -> object:
    mine = world.share([9, 1, 1])
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
        with world.same_fate():
            if world.rank == 1:
                raise Diverged("not finite here")
    except Diverged as error:
        said.append(str(error))
    try:
        world.from_main(lambda: _refuse())
    except StorageError as error:
        said.append(str(error))
    return said


def _refuse() -> None:
    raise StorageError("taken")


WORK: list[Callable[[World], object]] = [_gradients, _rows, _numbers, _trouble]


def _process(rank: int, port: int, answers: Connection) -> None:
    os.environ |= {
        "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2",
        "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
    }  # fmt: skip
    world = join("cpu")
    answers.send([work(world) for work in WORK])
    world.barrier()


@pytest.fixture(scope="module")
def answers() -> list[list[object]]:
    """What each process came to, by rank."""
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


def test_a_gradient_that_nobody_has_stays_none_and_all_others_are_summed(answers: list[list[object]]) -> None:
    assert answers[0][0] == answers[1][0] == [[1.0, 2.0], [3.0, 3.0], None, [1.0, 1.0 + 2**-20]]


def test_rows_come_back_in_order_whoever_had_them_and_one_row_is_enough(answers: list[list[object]]) -> None:
    assert answers[0][1] == answers[1][1] == ([0.0, 1.0, 2.0], True, [[1.0, 1.0]], [0, 1, 2])


def test_numbers_are_summed_by_name_and_a_flag_is_everyones(answers: list[list[object]]) -> None:
    assert answers[0][2] == answers[1][2] == ({"a": 1.5, "b": 2.0}, True, 0)


def test_what_is_not_finite_on_one_process_and_what_the_main_one_refuses_is_raised_by_all(
    answers: list[list[object]],
) -> None:
    assert answers[0][3] == answers[1][3] == ["not finite here", "taken"]
