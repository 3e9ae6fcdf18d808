"""Who computes which rows."""

import random

import pytest

from trainer.distributed import SINGLE, World
from trainer.distributed.load_balancing import blocks, shares


def test_the_longest_row_is_one_process_share_and_the_rest_the_others() -> None:
    assert shares([10, 2, 3, 4], 2) == [[0], [1, 2, 3]]
    assert shares([5, 5, 5, 5], 2) == [[0, 2], [1, 3]]
    assert shares([7], 3) == [[0], [], []]


@pytest.mark.parametrize("processes", [1, 2, 3, 8])
def test_every_row_is_somebodys_and_nobody_has_a_third_more_than_the_best_split_could_give(processes: int) -> None:
    draw = random.Random(processes)
    for count in range(12):
        lengths = [draw.randint(1, 60) for _ in range(count)]
        split = shares(lengths, processes)
        assert len(split) == processes and sorted(row for own in split for row in own) == list(range(count))
        assert all(own == sorted(own) for own in split)
        least = max([*lengths, sum(lengths) / processes])
        best = max(least, sum(sorted(lengths, reverse=True)[processes - 1 : processes + 1]) if count > processes else 0)
        assert max(sum(lengths[row] for row in own) for own in split) <= 4 / 3 * best + 1e-9


def test_blocks_are_in_order_and_as_even_as_can_be() -> None:
    assert blocks(5, 2) == [[0, 1, 2], [3, 4]] and blocks(1, 2) == [[0], []] and blocks(0, 2) == [[], []]


def test_one_process_has_everything_and_asks_nobody() -> None:
    world = World()
    assert world.is_main and world.mine(3) == [0, 1, 2] == world.share([9, 1, 5]) and SINGLE.size == 1
    assert world.any(True) and not world.any(False) and world.from_main(lambda: 7) == 7
