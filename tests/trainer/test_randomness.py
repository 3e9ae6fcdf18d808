from itertools import pairwise

from trainer.randomness import batch_indices, derive_seed, generator


def stream(count: int, batch_size: int, steps: int, seed: int = 0, purpose: str = "order") -> list[int]:
    return [index for step in range(steps) for index in batch_indices(count, batch_size, step, seed, purpose)]


def test_batches_run_through_whole_passes_across_their_borders() -> None:
    indices = stream(count=7, batch_size=3, steps=14)  # 42 = 6 passes over 7 items, in batches of 3
    passes = [indices[first : first + 7] for first in range(0, 42, 7)]
    assert all(sorted(order) == [0, 1, 2, 3, 4, 5, 6] for order in passes)


def test_shuffle_gives_every_pass_a_new_order() -> None:
    passes = [batch_indices(20, 20, epoch, seed=0, purpose="order") for epoch in range(5)]
    assert all(order != sorted(order) for order in passes)
    assert all(before != after for before, after in pairwise(passes))


def test_batch_larger_than_the_data_wraps_around() -> None:
    assert sorted(batch_indices(2, 5, 0, seed=0, purpose="order")) in ([0, 0, 0, 1, 1], [0, 0, 1, 1, 1])


def test_after_the_last_epoch_only_the_remainder_is_left() -> None:
    batches = [batch_indices(7, 4, step, seed=0, purpose="order", epochs=2) for step in range(4)]
    assert [len(batch) for batch in batches] == [4, 4, 4, 2]
    assert sorted(index for batch in batches for index in batch) == sorted([0, 1, 2, 3, 4, 5, 6] * 2)


def test_seed_and_purpose_decide_the_order_and_nothing_else_does() -> None:
    first = stream(20, 5, 4)
    assert first == stream(20, 5, 4) == stream(20, 4, 5)
    assert len({tuple(order) for order in (first, stream(20, 5, 4, seed=1), stream(20, 5, 4, purpose="other"))}) == 3


def test_every_purpose_has_a_separate_seed() -> None:
    purposes = [(), ("sft",), ("ppo",), ("ppo", 1), ("ppo", 2), ("ppo", 1, 2), ("ppo", 12)]
    seeds = [derive_seed(seed, *purpose) for seed in (0, 1) for purpose in purposes]
    assert len(set(seeds)) == len(seeds) == 14
    assert all(0 <= seed < 2**63 for seed in seeds)
    draws = [float(generator(0, *purpose).initial_seed()) for purpose in purposes]
    assert len(set(draws)) == 7


def test_derived_seed_is_the_same_in_every_release() -> None:
    """A run that is resumed after an update draws the same. `printf 0/ppo | b2sum -l 64`: c625946422709581, halved."""
    assert derive_seed(0, "ppo") == 0x6312CA3211384AC0
