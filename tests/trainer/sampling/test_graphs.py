"""The computation of a captured step without a capture, which needs no GPU, and the rules for capturing graphs again."""

import copy
from collections.abc import Callable
from contextlib import nullcontext
from functools import cache
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from tests.trainer.sampling.test_in_place import PROMPTS, qwen, windowed
from tests.trainer.stage_tools import CPU
from tests.trainer.tiny_models import gpt2, llama
from trainer.models import Model, compute_in
from trainer.sampling import Response, SamplingOptions, graphs, sample_with, uniforms
from trainer.sampling.cache import InPlaceCache
from trainer.sampling.decoding import EagerDecoding, Progress, Step, eager, takes_ready_masks
from trainer.sampling.graphs import FixedSteps, GraphDecoding, Kept, buckets
from trainer.text.stops import Stops

Run = Callable[[], Tensor]


class Captures:
    """Stands for the CUDA side: every capture is one number of `shapes`, and one that `fails` names raises what it holds."""

    def __init__(self) -> None:
        self.shapes: list[tuple[int, int]] = []
        self.fails: Callable[[int, int], Exception | None] = lambda rows, columns: None

    def on(self, device: torch.device) -> Callable[[Any], Run]:
        return self

    def __call__(self, run: Any) -> Run:
        error = self.fails(*run.args)
        if error is not None:
            raise error
        self.shapes.append(run.args)
        captured: Run = run
        return captured


def fake_cuda(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record the calls to CUDA from now on, as text."""
    asked: list[str] = []
    pools = iter(["the pool", "another pool", "a third pool"])

    class Stream:
        def __init__(self, name: str) -> None:
            self.name = name

        def wait_stream(self, other: "Stream") -> None:
            asked.append(f"{self.name} waits for {other.name}")

    class Graph:
        def capture_begin(self, pool: object, capture_error_mode: str) -> None:
            asked.append(f"begin in {pool}, {capture_error_mode}")

        def capture_end(self) -> None:
            asked.append("end")

        def replay(self) -> None:
            asked.append("replay")

    fakes = {
        "current_stream": lambda device: Stream("current"), "Stream": lambda device: Stream("side"), "stream": nullcontext,
        "device": nullcontext, "CUDAGraph": Graph, "graph_pool_handle": lambda: next(pools),
    }  # fmt: skip
    for name, fake in fakes.items():
        monkeypatch.setattr(torch.cuda, name, fake)
    monkeypatch.setattr(graphs, "_side", cache(graphs._side.__wrapped__))
    return asked


def sampled(
    model: Model, captures: Captures | None, prompts: list[list[int]], told: list[str] | None = None, tokens: int = 24
) -> list[Response]:
    draws = uniforms(torch.Generator().manual_seed(7), len(prompts), tokens)
    options = SamplingOptions(Stops((1,)), 0, 0.8, CPU)
    if captures is None:
        return sample_with(model, prompts, draws, options)
    decoding = GraphDecoding("auto", (told if told is not None else []).append, captures.on)
    return sample_with(model, prompts, draws, options, decoding=decoding)


def test_each_bucket_is_half_the_next_down_to_8_rows() -> None:
    assert buckets(64) == [8, 16, 32, 64]
    assert buckets(37) == [5, 10, 19, 37]
    assert buckets(1) == [1] and buckets(8) == [8]


@pytest.mark.parametrize("make", [llama, gpt2, qwen])
def test_a_step_over_fixed_memory_draws_the_same_tokens(monkeypatch: pytest.MonkeyPatch, make: Any) -> None:
    monkeypatch.setattr(graphs, "_COLUMNS", 12)
    prompts, captures = PROMPTS * 3, Captures()
    plain = sampled(make(), None, prompts)
    assert sampled(make(), captures, prompts) == plain
    # rows have left, so smaller steps were captured; the others went on, so wider ones
    assert len(captures.shapes) > 3 and len({len(r.ids) for r in plain}) > 1


def test_graphs_are_reused_by_later_batches_and_follow_weights() -> None:
    model, captures = llama(), Captures()
    first = sampled(model, captures, PROMPTS * 3)
    shapes = list(captures.shapes)
    assert shapes and first == sampled(llama(), None, PROMPTS * 3)
    with torch.no_grad():
        for weight in model.parameters():  # in place, as an optimizer's step
            weight.mul_(1.1)
    second = sampled(model, captures, PROMPTS * 3)
    assert captures.shapes == shapes and second == sampled(copy.deepcopy(model), None, PROMPTS * 3) != first
    # a smaller batch of shorter prompts runs over the same memory, beside what the rows before left there
    few = [[8], [9, 10], [8]]
    assert sampled(model, captures, few, tokens=9) == sampled(copy.deepcopy(model), None, few, tokens=9)
    assert set(captures.shapes[len(shapes) :]) <= {(buckets(21)[0], 64)} and len(captures.shapes) <= len(shapes) + 1


def test_graphs_of_moved_weights_are_captured_again() -> None:
    model, captures = llama(), Captures()
    sampled(model, captures, PROMPTS)
    before = len(captures.shapes)
    weight = model.lm_head.weight
    weight.data = weight.data.clone() * 1.5
    assert sampled(model, captures, PROMPTS) == sampled(copy.deepcopy(model), None, PROMPTS)
    assert len(captures.shapes) == 2 * before


def test_graphs_longer_batch_gets_a_separate_cache() -> None:
    model, captures = llama(), Captures()
    sampled(model, captures, PROMPTS, tokens=4)
    long = [[3] * 50, [4] * 45]
    assert sampled(model, captures, long, tokens=14) == sampled(llama(), None, long, tokens=14)
    assert {columns for _, columns in captures.shapes} == {64}
    monster = [[3] * 60]
    assert sampled(model, captures, monster, tokens=5) == sampled(llama(), None, monster, tokens=5)


def test_graphs_cache_above_device_share_is_freed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graphs, "_memory", lambda device: 1000.0)
    model, captures = llama(), Captures()
    assert sampled(model, captures, PROMPTS) == sampled(model, captures, PROMPTS) == sampled(llama(), None, PROMPTS)
    assert len(captures.shapes) == 2 * len(set(captures.shapes)) and model not in graphs._KEPT


@pytest.mark.parametrize(("room", "second"), [(3.0, (16, 128)), (1.5, (1, 128))])
def test_graphs_joint_cache_of_two_shapes_only_if_it_can_be_kept(
    room: float, second: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """16 rows of 64 columns, then 1 of 128: one for both is twice the first. `room` is what may be kept, as a multiple."""
    made: list[tuple[int, int]] = []

    def noted(model: Model, rows: int, width: int) -> InPlaceCache:
        made.append((rows, width))
        return InPlaceCache(model, rows, width)

    model, captures, long = llama(), Captures(), [[3] * 90]
    monkeypatch.setattr(graphs, "InPlaceCache", noted)
    sampled(model, captures, [[3] * 20] * 16)
    memory = room * graphs._KEPT[model].nbytes() / graphs.KEPT_SHARE
    monkeypatch.setattr(graphs, "_memory", lambda device: memory)
    assert sampled(model, captures, long) == sampled(model, None, long)
    assert made == [(16, 64), second]


@pytest.mark.parametrize("make", [llama, gpt2])
@pytest.mark.parametrize("trained", [True, False])
def test_under_autocast_graphs_are_kept_and_follow_the_weights(make: Any, trained: bool) -> None:
    """The fake capture computes anew at every step, so it would show a cast that is of the weights before."""
    model, captures = compute_in(make(), torch.bfloat16).requires_grad_(trained), Captures()
    before = sampled(model, captures, PROMPTS)
    shapes = list(captures.shapes)
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(1.5)
    after = sampled(model, captures, PROMPTS)
    assert captures.shapes == shapes and after == sampled(copy.deepcopy(model), Captures(), PROMPTS) != before
    assert all(weight.dtype == torch.float32 and weight.requires_grad == trained for weight in model.parameters())


def test_graphs_capture_casts_no_linear_weight() -> None:
    """A graph that reads autocast's own casts would read freed memory in the next batch."""

    class Casts(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if func is torch.ops.aten._to_copy.default and args[0].data_ptr() in weights:
                cast.append(weights[args[0].data_ptr()])
            return func(*args, **(kwargs or {}))

    class Watched(Captures):
        def __call__(self, run: Any) -> Run:
            torch.clear_autocast_cache()
            with Casts():
                run()
            return super().__call__(run)

    model, cast = compute_in(llama(), torch.bfloat16), list[str]()
    weights = {weight.data_ptr(): name for name, weight in model.named_parameters() if weight.ndim > 1}
    sampled(model, Watched(), PROMPTS)
    assert cast == []


def test_graphs_with_autocast_only_matrices_last_one_batch() -> None:
    class Scaled(torch.nn.Module):
        def __init__(self, inner: torch.nn.Module) -> None:
            super().__init__()
            self.inner, self.matrix = inner, torch.nn.Parameter(torch.eye(16))

        def forward(self, x: Tensor) -> Tensor:
            out: Tensor = self.inner(x) @ self.matrix
            return out

    model, captures = llama(), Captures()
    model.model.layers[0].mlp = Scaled(model.model.layers[0].mlp)
    compute_in(model, torch.bfloat16)
    sampled(model, captures, PROMPTS)
    sampled(model, captures, PROMPTS)
    assert len(captures.shapes) == 2 * len(set(captures.shapes))


def test_graphs_out_of_memory_shape_is_retried_after_a_pause() -> None:
    """Smaller shapes are captured at once."""
    model, captures, told = llama(), Captures(), list[str]()
    captures.fails = lambda rows, columns: torch.OutOfMemoryError("no memory") if rows > 11 else None
    plain, tries = sampled(llama(), None, PROMPTS * 3), list[int]()
    fails = captures.fails

    def counted(rows: int, columns: int) -> Exception | None:
        error = fails(rows, columns)
        tries.append(rows) if error else None
        return error

    captures.fails = counted
    batches = []
    for _ in range(9):
        assert sampled(model, captures, PROMPTS * 3, told) == plain
        batches.append(len(tries))
    # 21 rows are tried in batches 1, 3 (two later) and 7 (four later), and not again within a batch
    assert batches == [1, 1, 2, 2, 2, 2, 3, 3, 3] and set(tries) == {21}
    assert {rows for rows, _ in captures.shapes} == {6, 11}
    assert len(told) == 1 and "21 rows" in told[0]
    captures.fails = lambda rows, columns: None
    for _ in range(6):
        assert sampled(model, captures, PROMPTS * 3, told) == plain
    assert 21 in {rows for rows, _ in captures.shapes} and len(told) == 1


def test_a_model_that_cannot_be_captured_is_not_tried_again() -> None:
    model, captures, told = llama(), Captures(), list[str]()
    captures.fails = lambda rows, columns: RuntimeError("a layer reads a number back")
    for _ in range(3):
        assert sampled(model, captures, PROMPTS, told) == sampled(llama(), None, PROMPTS)
    assert captures.shapes == [] and told == ["Decoding goes on without CUDA graphs: a layer reads a number back"]


def test_captures_share_one_pool_and_leave_the_allocator_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A capture is warmed up and recorded on one side stream, which waits for the current one and is waited for."""
    asked = fake_cuda(monkeypatch)
    monkeypatch.setattr(torch.cuda, "empty_cache", pytest.fail)

    def run() -> Tensor:
        asked.append("run")
        return torch.tensor([3.0])

    def broken() -> Tensor:
        if asked[-1].startswith("begin"):
            raise torch.OutOfMemoryError("no memory")
        return torch.zeros(1)

    device = torch.device("cuda", 0)
    kept = graphs.Kept(InPlaceCache(llama(), 1, 8))
    replay = kept.captured[1, 8] = graphs.captured_on_cuda(device, kept, run)
    waits = ["side waits for current", "run", "current waits for side"]
    once = [*waits, "begin in the pool, thread_local", "run", "end", "current waits for side"]
    assert asked == once and replay().tolist() == [3.0] and asked == [*once, "replay"]
    asked.clear()
    with pytest.raises(torch.OutOfMemoryError):
        graphs.captured_on_cuda(device, kept, broken)
    assert asked[-2:] == ["begin in the pool, thread_local", "end"]


def test_a_pool_without_living_graphs_is_not_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """An offload or a roll-back changes the addresses of the weights, so all graphs are dropped."""
    asked, device = fake_cuda(monkeypatch), torch.device("cuda", 0)
    kept, other = (graphs.Kept(InPlaceCache(llama(), 1, 8)) for _ in range(2))

    def pool_of_a_capture(of: graphs.Kept) -> str:
        asked.clear()
        of.captured[1, len(of.captured)] = graphs.captured_on_cuda(device, of, lambda: torch.zeros(1))
        return next(one for one in asked if one.startswith("begin"))

    first = pool_of_a_capture(kept)
    assert pool_of_a_capture(kept) == first != pool_of_a_capture(other)
    kept.captured.clear()
    assert pool_of_a_capture(kept) == "begin in a third pool, thread_local"


@pytest.mark.skipif(not torch.cuda.is_available(), reason="captures real graphs, which needs a GPU")
def test_graphs_on_a_gpu_are_captured_again_after_all_are_gone() -> None:
    """An allocator that still knew the pool of the lost graphs would fail the next capture, and decoding would stay eager."""
    device, told = torch.device("cuda", 0), list[str]()
    model, draws = llama().to(device), uniforms(torch.Generator().manual_seed(7), len(PROMPTS), 24)
    decoding = GraphDecoding("auto", told.append)
    for _ in range(3):
        sample_with(model, PROMPTS, draws, SamplingOptions(Stops((1,)), 0, 0.8, device), decoding=decoding)
        for weight in model.parameters():  # new addresses, as after an offload or a roll-back
            weight.data = weight.data.clone()
    assert told == []


@pytest.mark.parametrize("make", [llama, gpt2, qwen])
def test_graphs_fixed_step_under_autocast_is_close_to_eager(make: Any) -> None:
    said: list[tuple[torch.Tensor, torch.Tensor]] = []

    class Both(EagerDecoding):
        def step(self, model: Model, progress: Progress) -> Step:
            kept = Kept(progress.cache)
            kept.begin(model, CPU)
            ours, plain = FixedSteps(model, progress, lambda run: run, kept), eager(model, progress)

            def both(tokens_B: torch.Tensor) -> torch.Tensor:
                said.append((ours(tokens_B), plain(tokens_B)))
                return said[-1][1]

            return both

    draws = uniforms(torch.Generator().manual_seed(7), len(PROMPTS), 12)
    model, options = compute_in(make(), torch.bfloat16), SamplingOptions(Stops((1,)), 0, 0.8, CPU)
    sample_with(model, PROMPTS, draws, options, decoding=Both())
    assert len(said) == 11
    for ours, plain in said:
        assert ours.dtype == plain.dtype == torch.bfloat16
        assert ((ours - plain).float().norm() / plain.float().norm()).item() < 0.02


def test_decoding_without_gpu_or_with_windows_has_no_graphs() -> None:
    draws = torch.zeros(2, 4)
    for model in (llama(), windowed()):
        progress = Progress.begin(model, [[2], [3, 4]], draws, SamplingOptions(Stops((1,)), 0, 1.0, CPU))
        assert takes_ready_masks(model, progress.cache) == (model.config.model_type == "llama")
        step = GraphDecoding("auto", pytest.fail).step(model, progress)
        assert step.__qualname__.startswith("direct" if model.config.model_type == "llama" else "eager")
