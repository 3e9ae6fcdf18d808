"""Operations and bytes of a model small enough to be counted by hand."""

from benchmarks.ppo.floors import Batch, body_parameters, decode_bytes, head, iteration, parameters, pass_over
from benchmarks.ppo.sizes import SIZES, Shape

TINY = Shape(hidden=2, layers=1, heads=1, ffn=3)
"""Queries, keys, values, output: 4 · 2·2 = 16 weights. Gate, up, down: 3 · 2·3 = 18. Together 34."""


def test_weights_are_counted() -> None:
    assert body_parameters(TINY) == 34
    # an embedding of 5 · 2, which is the output layer too, and three norms of 2
    assert parameters(TINY, vocab=5) == 34 + 10 + 6


def test_fewer_key_value_heads_have_fewer_weights() -> None:
    shared = Shape(hidden=4, layers=1, heads=2, ffn=1, kv_heads=1)
    # queries and output 4·4 each, keys and values 4·2 each, feed-forward 3 · 4·1
    assert body_parameters(shared) == 16 + 16 + 8 + 8 + 12


def test_pass_over_is_two_operations_per_weight_plus_attention() -> None:
    # 3 tokens: 2 · 34 · 3 = 204; they look at 1 + 2 + 3 = 6 positions, at 4 · 2 operations each: 48
    assert pass_over(TINY, tokens=3) == 204 + 48
    assert head(TINY, vocab=5, tokens=2) == 2 * 2 * 5 * 2


def test_an_iteration_of_one_response() -> None:
    # prompt 2, response 2: 3 tokens go through the policy (252), 2 through its head (40).
    # 4 tokens go through the reward model (2 · 34 · 4 = 272, and 10 positions · 8 = 80).
    found = iteration(TINY, 5, Batch(responses=1, prompt=2, response=2), epochs=2)
    assert found.rollout == 292
    assert found.score == 292 + 252 + 352
    assert found.train == 2 * 3 * (292 + 252)
    assert iteration(TINY, 5, Batch(7, 2, 2), epochs=2).train == 7 * found.train


def test_frozen_weights_have_no_gradient_of_their_own() -> None:
    batch = Batch(responses=1, prompt=2, response=2)
    assert iteration(TINY, 5, batch, epochs=1, adapters=True).train == 2 * (292 + 252)


def test_decode_bytes_counts_weights_and_cache_of_every_step() -> None:
    # 2 steps of (34 + 5·2) weights; the cache: keys and values of 2 numbers for 2 and for 3 positions, in 3 rows
    assert decode_bytes(TINY, 5, Batch(responses=3, prompt=2, response=2)) == 4 * (2 * 44 + 3 * 4 * (2 + 3))


def test_sizes_have_the_parameter_count_of_their_names() -> None:
    found = {name: parameters(size.shape, size.shape.vocab or 555) for name, size in SIZES.items()}
    for name, millions in {"demo": 0.473, "3m": 3.35, "28m": 27.6, "0.5b": 494, "7b-lora": 6738}.items():
        assert abs(found[name] / 1e6 - millions) < 0.01 * millions, name
