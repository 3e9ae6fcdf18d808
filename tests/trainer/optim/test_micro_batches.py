import pytest

from trainer.optim.micro_batches import BatchLimits, limits, micro_batches, pair_limits, pairs_at_once
from trainer.spec import RewardModelSpec


def test_micro_batches_within_limits_are_one_in_given_order() -> None:
    assert micro_batches([5, 2, 9], None, None) == micro_batches([5, 2, 9], 3, 27) == [[0, 1, 2]]
    assert micro_batches([], 1, 1) == []


def test_rows_of_like_length_go_together() -> None:
    assert micro_batches([5, 2, 9, 2, 6], 2, None) == [[1, 3], [0, 4], [2]]


def test_micro_batches_count_padded_tokens_and_isolate_long_rows() -> None:
    """Rows of 2, 2 and 3 make 9 with padding, beside one of 4 they would make 16; 9 and 30 stand alone."""
    assert micro_batches([3, 2, 9, 2, 30, 4], None, 10) == [[1, 3, 0], [5], [2], [4]]


def test_micro_batch_may_hold_exactly_its_tokens() -> None:
    assert micro_batches([3, 3, 3], None, 6) == [[0, 1], [2]]


def test_both_limits_hold() -> None:
    assert micro_batches([1, 1, 1, 4, 4], 2, 6) == [[0, 1], [2], [3], [4]]


def test_a_number_alone_limits_the_rows() -> None:
    assert (
        limits(2) == BatchLimits(rows=2) and limits(None) == BatchLimits() and limits(BatchLimits(None, 7)).tokens == 7
    )


@pytest.mark.parametrize(("sequences", "pairs"), [(None, 8), (6, 3), (5, 2), (1, 1)])
def test_pair_counts_as_two_sequences(sequences: int | None, pairs: int) -> None:
    spec = RewardModelSpec(batch_size=8, micro_batch_size=sequences, micro_batch_tokens=40)
    assert pairs_at_once(spec) == pairs
    assert pair_limits(spec) == BatchLimits(pairs, 40)
