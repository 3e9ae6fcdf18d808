"""The decoding step as CUDA graphs: its kernels are launched once and then replayed, which spares the processor's time for
every launch. That is most of a step's time where a batch is small or a model's layers are.

A graph runs over fixed memory, so a step here always reads all columns of the cache, the unused ones masked, for one of a
few numbers of rows. Graphs live as long as one batch of responses: the weights that autocast has cast for it do too.

Shapes: B rows of a bucket, W columns, V vocabulary.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from weakref import WeakSet

import torch
from torch import Tensor

from trainer.models import Model
from trainer.sampling.decoding import Progress, Step, eager, takes_ready_masks

_REFUSED: WeakSet[Any] = WeakSet()
"""Models of which no graph could be captured."""
_WARM_UP = 2
"""Runs before a capture, in which kernels are chosen and work spaces are made."""


def buckets(rows: int) -> list[int]:
    """Numbers of rows that are captured: halves of the batch, the smallest first, so that no step computes more than about
    twice its live rows."""
    found = [rows]
    while found[-1] > 8:
        found.append((found[-1] + 1) // 2)
    return found[::-1]


@dataclass(frozen=True)
class Inputs:
    """Where every graph reads from; each takes its first rows."""

    tokens_B1: Tensor
    positions_B1: Tensor
    mask_BW: Tensor
    column: Tensor

    @classmethod
    def of(cls, progress: Progress) -> "Inputs":
        device, rows = progress.draws_BR.device, len(progress.number_B)
        return cls(
            torch.zeros(rows, 1, dtype=torch.long, device=device),
            torch.zeros(rows, 1, dtype=torch.long, device=device),
            torch.zeros_like(progress.mask_BW),
            torch.zeros(1, dtype=torch.long, device=device),
        )

    def take(self, progress: Progress, tokens_B: Tensor, rows: int) -> None:
        """What this step is about: of the live rows, and of those up to `rows` whatever they left, which nobody reads."""
        window, live = progress.cache.window, len(tokens_B)
        self.tokens_B1[:live, 0].copy_(tokens_B)
        torch.sub(window.at, progress.starts_B[:rows, None], out=self.positions_B1[:rows])
        self.mask_BW[:rows, : window.at + 1].copy_(progress.mask_BW[:rows, : window.at + 1])
        self.column.fill_(window.at)


def fixed(
    model: Model, progress: Progress, capture: Callable[[Callable[[], Tensor]], Callable[[], Tensor]] = lambda run: run
) -> Step:
    """A step over fixed memory; `capture` turns a computation over it into one that can be repeated."""
    window, inputs, sizes = progress.cache.window, Inputs.of(progress), buckets(len(progress.number_B))
    captured: dict[int, Callable[[], Tensor]] = {}

    def forward(rows: int) -> Tensor:
        live, window.live, window.column = window.live, rows, inputs.column
        try:
            logits: Tensor = model(
                input_ids=inputs.tokens_B1[:rows],
                attention_mask=inputs.mask_BW[:rows, None, None],
                position_ids=inputs.positions_B1[:rows],
                past_key_values=progress.cache,
                use_cache=True,
                logits_to_keep=1,
            ).logits[:, -1]
        finally:
            window.live, window.column = live, None
        return logits

    def step(tokens_B: Tensor) -> Tensor:
        rows = next(size for size in sizes if size >= window.live)
        inputs.take(progress, tokens_B, rows)
        if rows not in captured:
            captured[rows] = capture(lambda: forward(rows))
        return captured[rows]()[: window.live]

    return step


def captured_on_cuda(run: Callable[[], Tensor]) -> Callable[[], Tensor]:
    """A graph of `run`, which writes to the same memory whenever it is replayed. Raises RuntimeError for what cannot be
    captured, as where a layer reads a number back from the device."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(_WARM_UP):
            run()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):  # another thread may be training meanwhile
        logits = run()

    def replay() -> Tensor:
        graph.replay()
        return logits

    return replay


def stepper(decode: str, notify: Callable[[str], None]) -> Callable[[Model, Progress], Step]:
    """How `ppo.rollout.decode` takes its steps. Where graphs cannot be had, it says so once and goes on without."""

    def choose(model: Model, progress: Progress) -> Step:
        on_cuda = progress.draws_BR.device.type == "cuda"
        if decode == "eager" or not on_cuda or not takes_ready_masks(model, progress.cache) or model in _REFUSED:
            return eager(model, progress)
        graphs, plain = fixed(model, progress, captured_on_cuda), eager(model, progress)

        def step(tokens_B: Tensor) -> Tensor:
            if model in _REFUSED:
                return plain(tokens_B)
            try:
                return graphs(tokens_B)
            except RuntimeError as error:
                _REFUSED.add(model)
                notify(f"Decoding goes on without CUDA graphs: {error}")
                return plain(tokens_B)

        return step

    return choose
