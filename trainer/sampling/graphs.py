"""The decoding step as CUDA graphs: its kernels are launched once and then replayed, which spares the processor's time for
every launch. That is most of a step's time where a batch is small or a model's layers are.

A graph runs over fixed memory, so a step here reads one of a few numbers of rows and of columns of the cache, the unused
ones masked. Graphs live as long as one batch of responses: the weights that autocast has cast for it do too.

Shapes: B rows of a bucket, W columns, V vocabulary.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any
from weakref import WeakSet

import torch
from torch import Tensor

from trainer.models import Model
from trainer.parallel.steps import is_sharded
from trainer.sampling.cache import InPlaceLayer
from trainer.sampling.decoding import Progress, Step, eager, takes_ready_masks

_REFUSED: WeakSet[Any] = WeakSet()
"""Models of which no graph could be captured."""
_COLUMNS = 256
"""A capture costs about as much time as twenty steps; the columns that a step reads in vain, a few percent of its own."""
_ALIGNED = 8
"""Numbers: the kernels copy a mask in which rows begin elsewhere, in every layer."""


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
    mask_B11W: Tensor
    """To be added to the scores, in their type: a mask of truth values would be made into this one in every layer."""
    column: Tensor

    @classmethod
    def of(cls, progress: Progress) -> "Inputs":
        device, (rows, width) = progress.draws_BR.device, progress.mask_BW.shape
        first = progress.cache.layers[0]
        assert isinstance(first, InPlaceLayer)  # the cache has no others
        aligned = -(-width // _ALIGNED) * _ALIGNED
        return cls(
            torch.zeros(rows, 1, dtype=torch.long, device=device),
            torch.zeros(rows, 1, dtype=torch.long, device=device),
            torch.full((rows, 1, 1, aligned), -torch.inf, dtype=first.values.dtype, device=device),
            torch.zeros(1, dtype=torch.long, device=device),
        )

    def take(self, progress: Progress, tokens_B: Tensor, rows: int) -> None:
        """What this step is about: of the live rows, and of those up to `rows` whatever they left, which nobody reads."""
        window, live = progress.cache.window, len(tokens_B)
        self.tokens_B1[:live, 0].copy_(tokens_B)
        torch.sub(window.at, progress.starts_B[:rows, None], out=self.positions_B1[:rows])
        seen_BW = progress.mask_BW[:rows, : window.at + 1]
        self.mask_B11W[:rows, 0, 0, : window.at + 1].fill_(0.0).masked_fill_(~seen_BW, -torch.inf)
        self.column.fill_(window.at)


def fixed(
    model: Model, progress: Progress, capture: Callable[[Callable[[], Tensor]], Callable[[], Tensor]] = lambda run: run
) -> Step:
    """A step over fixed memory; `capture` turns a computation over it into one that can be repeated."""
    window, inputs, sizes = progress.cache.window, Inputs.of(progress), buckets(len(progress.number_B))
    captured: dict[tuple[int, int], Callable[[], Tensor]] = {}

    def forward(rows: int, columns: int) -> Tensor:
        live, window.live, window.column, window.columns = window.live, rows, inputs.column, columns
        try:
            logits: Tensor = model(
                input_ids=inputs.tokens_B1[:rows],
                attention_mask=inputs.mask_B11W[:rows, ..., :columns],
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
        columns = min(window.width, -(-(window.at + 1) // _COLUMNS) * _COLUMNS)
        inputs.take(progress, tokens_B, rows)
        if (rows, columns) not in captured:
            captured[rows, columns] = capture(lambda: forward(rows, columns))
        return captured[rows, columns]()[: window.live]

    return step


def captured_on_cuda(device: torch.device, run: Callable[[], Tensor]) -> Callable[[], Tensor]:
    """A graph of `run`, which writes to the same memory whenever it is replayed. Raises RuntimeError for what cannot be
    captured, as where a layer reads a number back from the device."""
    before, side = torch.cuda.current_stream(device), _side(device)
    # a thread of its own begins on the first device, and a capture that fails does not go back to the stream before it
    with torch.cuda.device(device), torch.cuda.stream(before):
        side.wait_stream(before)
        with torch.cuda.stream(side):
            run()  # kernels are chosen and work spaces made
        before.wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        # another thread may be training meanwhile
        with torch.cuda.graph(graph, stream=side, capture_error_mode="thread_local"):
            logits = run()

    def replay() -> Tensor:
        graph.replay()
        return logits

    return replay


@cache
def _side(device: torch.device) -> torch.cuda.Stream:
    """One for all captures: cuBLAS keeps a work space for every stream that it has seen."""
    return torch.cuda.Stream(device)


def stepper(decode: str, notify: Callable[[str], None]) -> Callable[[Model, Progress], Step]:
    """How `ppo.rollout.decode` takes its steps. Where graphs cannot be had, it says so once and goes on without."""

    def choose(model: Model, progress: Progress) -> Step:
        on_cuda = progress.draws_BR.device.type == "cuda"
        # a gathered model's weights lie elsewhere the next time, and its layers' hooks bring in streams of their own
        plainly = decode == "eager" or not on_cuda or is_sharded(model) or model in _REFUSED
        if plainly or not takes_ready_masks(model, progress.cache):
            return eager(model, progress)
        capture = partial(captured_on_cuda, progress.draws_BR.device)
        graphs, plain = fixed(model, progress, capture), eager(model, progress)

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
