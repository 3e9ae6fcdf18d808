"""The decoding step as CUDA graphs: its kernels are captured once and replayed, which saves the time of launching them.

Launches take most of a step's time if the batch or the layers are small. A graph runs over fixed memory. A step therefore
reads one of a few numbers of rows and columns of the cache, and unused ones are masked. The graphs of a model and their
cache are kept for the next batch of responses if they take a small share of the device's memory. They are captured again
when the weights have moved to other addresses.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn
from transformers.pytorch_utils import Conv1D

from trainer.distributed.sharding import is_sharded
from trainer.models import Model
from trainer.models.heads import Float32Output, underlying
from trainer.sampling.cache import InPlaceCache, InPlaceLayer
from trainer.sampling.decoding import Progress, Step, eager, takes_ready_masks
from trainer.sampling.direct import steps as direct_steps

_COLUMNS = 256
"""Columns per bucket. A capture takes as long as about twenty steps; unused columns cost a few percent of a step."""
_ALIGNED = 8
"""Numbers per row of a mask. The kernels copy a mask with other row starts, in every layer."""
_WIDTHS = 64
"""The width of a kept cache is a multiple, because the longest prompt of the next batch may be a few tokens longer."""
KEPT_SHARE = 1 / 16
"""Share of the device's memory. A larger cache is freed after each batch, and the graphs with it."""
_LONGEST_PAUSE = 64
"""Maximum of batches without another try after captures that ran out of memory."""


def buckets(rows: int) -> list[int]:
    """The numbers of rows that are captured, smallest first: halves of the batch. A step computes at most about twice its
    live rows."""
    sizes = [rows]
    while sizes[-1] > 8:
        sizes.append((sizes[-1] + 1) // 2)
    return sizes[::-1]


@dataclass(frozen=True)
class Inputs:
    """The memory that every graph reads its inputs from; each takes its first rows."""

    tokens_B1: Tensor
    positions_B1: Tensor
    mask_B11W: Tensor
    """Added to the attention scores, in their type. A boolean mask would be converted to this in every layer."""
    column: Tensor

    @classmethod
    def over(cls, cache: InPlaceCache, device: torch.device) -> "Inputs":
        """For all rows and columns of a cache that has been allocated."""
        rows, first = cache.window.rows, cache.layers[0]
        assert isinstance(first, InPlaceLayer)  # the cache has no others
        aligned = -(-cache.window.width // _ALIGNED) * _ALIGNED
        return cls(
            torch.zeros(rows, 1, dtype=torch.long, device=device),
            torch.zeros(rows, 1, dtype=torch.long, device=device),
            torch.empty((rows, 1, 1, aligned), dtype=first.values.dtype, device=device),
            torch.zeros(1, dtype=torch.long, device=device),
        )

    def begin(self) -> None:
        """Prepare for a batch. A row that the batch does not have attends to one column, because the softmax over none is NaN,
        which would stay in the cache."""
        self.mask_B11W.fill_(-torch.inf)
        self.mask_B11W[..., 0] = 0.0

    def take(self, progress: Progress, tokens_B: Tensor, rows: int) -> None:
        """Set the inputs of a step for the live rows. Rows from there up to `rows` keep stale inputs; no result of theirs is read."""
        window, live, rows = progress.cache.window, len(tokens_B), min(rows, len(progress.number_B))
        self.tokens_B1[:live, 0].copy_(tokens_B)
        torch.sub(window.at, progress.starts_B[:rows, None], out=self.positions_B1[:rows])
        seen_BW = progress.mask_BW[:rows, : window.at + 1]
        self.mask_B11W[:rows, 0, 0, : window.at + 1].fill_(0.0).masked_fill_(~seen_BW, -torch.inf)
        self.column.fill_(window.at)


class Casts:
    """Copies of float32 weights of linear layers in the type that autocast multiplies them in.

    Autocast frees its own copies after each batch, and a graph would still read their memory.
    """

    def __init__(self, model: Model, dtype: torch.dtype) -> None:
        trained = {
            id(weight) for weight in model.parameters() if weight.requires_grad and weight.dtype == torch.float32
        }
        self._places = [
            (module, name, weight, weight.detach().to(dtype))
            for module in underlying(model).modules()
            for name, weight in (module._parameters.items() if _is_cast(module) else ())
            if id(weight) in trained and weight is not None
        ]

    def nbytes(self) -> int:
        return sum(cast.nbytes for *_, cast in self._places)

    @torch.no_grad()
    def refresh(self) -> None:
        """Copy the current weights."""
        for _, _, weight, cast in self._places:
            cast.copy_(weight)

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """While inside, the layers compute with the copies. The weights themselves do not change."""
        for module, name, _, cast in self._places:
            module._parameters[name] = cast
        try:
            yield
        finally:
            for module, name, weight, _ in self._places:
                module._parameters[name] = weight


def _is_cast(module: nn.Module) -> bool:
    """Whether autocast multiplies in its own type in this layer. An output layer in float32 keeps its weights."""
    return isinstance(module, nn.Linear | Conv1D) and not isinstance(module, Float32Output)


Repeat = Callable[[], Tensor]
Capture = Callable[[Repeat], Repeat]
"""Turns a computation over fixed memory into one that can be replayed."""


@dataclass
class Kept:
    """The cache and inputs of one model's graphs, and the graphs by their numbers of rows and columns."""

    cache: InPlaceCache
    captured: dict[tuple[int, int], Repeat] = field(default_factory=dict)
    inputs: Inputs | None = None
    weights: tuple[int, ...] = ()
    """The addresses at which the graphs read the model's weights."""
    casts: Casts | None = None
    """Copies of weights that are trained under autocast."""
    _pool: Any = None

    def pool(self, device: torch.device) -> Any:
        """The handle of the memory pool that the graphs of this cache share.

        torch frees a pool with its last graph, and its allocator asserts at a later capture with the same handle. So a capture
        without living graphs gets a new handle. The handle is never shared with the graphs of another cache.
        """
        if not self.captured:
            with torch.cuda.device(device):
                self._pool = torch.cuda.graph_pool_handle()
        return self._pool

    def nbytes(self) -> int:
        layers = [layer for layer in self.cache.layers if isinstance(layer, InPlaceLayer) and layer.is_initialized]
        of_cache = sum(kept.nbytes for layer in layers for kept in (layer.keys, layer.values))
        return of_cache + (self.casts.nbytes() if self.casts else 0)

    def begin(self, model: Model, device: torch.device) -> None:
        """Prepare for the first step of a batch, after its prompts were read into the cache."""
        now = _addresses(model)
        if now != self.weights:
            self.captured.clear()
            self.weights, self.casts = now, None
        if torch.is_autocast_enabled(device.type):
            self.casts = self.casts or Casts(model, torch.get_autocast_dtype(device.type))
            self.casts.refresh()
        self.inputs = self.inputs or Inputs.over(self.cache, device)
        self.inputs.begin()


@dataclass
class CaptureFailures:
    """Failed captures of one model."""

    never: bool = False
    """The model cannot be captured in any shape."""
    smallest: tuple[int, int] | None = None
    """Rows and columns of the smallest capture that ran out of memory. Larger ones are not tried during the pause."""
    pause: int = 0
    """Batches of responses until they are tried again."""
    failures: int = 0

    def next_batch(self) -> None:
        self.pause = max(0, self.pause - 1)
        if self.pause == 0:
            self.smallest = None

    def out_of_memory(self, rows: int, columns: int) -> None:
        if self.smallest is None or rows * columns < self.smallest[0] * self.smallest[1]:
            self.smallest = rows, columns
        self.failures += 1
        self.pause = min(2**self.failures, _LONGEST_PAUSE)

    def allows(self, rows: int, columns: int) -> bool:
        smaller = self.smallest is None or rows * columns < self.smallest[0] * self.smallest[1]
        return smaller and not self.never


_KEPT: WeakKeyDictionary[Any, Kept] = WeakKeyDictionary()
_FAILURES: WeakKeyDictionary[Any, CaptureFailures] = WeakKeyDictionary()


class FixedSteps:
    """Steps over fixed memory for one batch of responses, after `Kept.begin`."""

    def __init__(self, model: Model, progress: Progress, capture: Capture, kept: Kept) -> None:
        self._model, self._progress, self._capture, self._kept = model, progress, capture, kept
        self._sizes = buckets(progress.cache.window.rows)

    def shape(self) -> tuple[int, int]:
        """Rows and columns of the next step."""
        window = self._progress.cache.window
        rows = next(size for size in self._sizes if size >= window.live)
        return rows, min(window.width, -(-(window.at + 1) // _COLUMNS) * _COLUMNS)

    def captured(self, shape: tuple[int, int]) -> bool:
        return shape in self._kept.captured

    def __call__(self, tokens_B: Tensor) -> Tensor:
        shape, captured = self.shape(), self._kept.captured
        assert self._kept.inputs is not None  # made as the batch began
        self._kept.inputs.take(self._progress, tokens_B, shape[0])
        if shape not in captured:
            captured[shape] = self._capture(partial(self._forward, *shape))
        return captured[shape]()[: len(tokens_B)]

    def _forward(self, rows: int, columns: int) -> Tensor:
        window, inputs = self._progress.cache.window, self._kept.inputs
        assert inputs is not None
        live, window.live, window.column, window.columns = window.live, rows, inputs.column, columns
        try:
            with self._kept.casts.in_place() if self._kept.casts else nullcontext():
                logits: Tensor = self._model(
                    input_ids=inputs.tokens_B1[:rows],
                    attention_mask=inputs.mask_B11W[:rows, ..., :columns],
                    position_ids=inputs.positions_B1[:rows],
                    past_key_values=self._progress.cache,
                    use_cache=True,
                    logits_to_keep=1,
                ).logits[:, -1]
        finally:
            window.live, window.column = live, None
        return logits


def captured_on_cuda(device: torch.device, kept: Kept, run: Repeat) -> Repeat:
    """Return a graph of `run`, which writes to the same memory at each replay.

    All graphs of a cache share one pool of memory, because they are replayed one after the other and their results are read
    before the next replay. Raises torch.OutOfMemoryError, and RuntimeError if `run` cannot be captured, for example because a layer
    reads a number back from the device.
    """
    before, side = torch.cuda.current_stream(device), _side(device)
    # a new thread begins on the first device, and a failed capture does not restore the previous stream
    with torch.cuda.device(device), torch.cuda.stream(before):
        side.wait_stream(before)
        with torch.cuda.stream(side):
            run()  # chooses kernels and allocates work spaces
        before.wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.stream(side):
            logits = _recorded(graph, kept.pool(device), run)
        before.wait_stream(side)

    def replay() -> Tensor:
        graph.replay()
        return logits

    return replay


def _recorded(graph: Any, pool: Any, run: Repeat) -> Tensor:
    """Capture `run`. `torch.cuda.graph` would empty the allocator's cache first, and the next phase would wait for the
    driver to allocate that memory again."""
    graph.capture_begin(pool=pool, capture_error_mode="thread_local")  # another thread may be training meanwhile
    try:
        logits = run()
    except BaseException:
        with suppress(RuntimeError):  # the capture may have been lost with the error
            graph.capture_end()
        raise
    graph.capture_end()
    return logits


@cache
def _side(device: torch.device) -> torch.cuda.Stream:
    """One stream for all captures, because cuBLAS keeps a work space for every stream."""
    return torch.cuda.Stream(device)


class GraphDecoding:
    """The cache and the steps of each batch by `ppo.rollout.decode`, with CUDA graphs where they can be captured.

    A model that cannot be captured is decoded without graphs, and so is a shape for which memory is short. Smaller shapes
    are still captured, and that shape is tried again after a pause of some batches. `notify` receives one warning.
    """

    def __init__(
        self, decode: str, notify: Callable[[str], None], capture: Callable[[torch.device], Capture] | None = None
    ) -> None:
        """`capture` replaces `captured_on_cuda`, for tests on another device."""
        self._decode, self._notify, self._capture = decode, notify, capture

    def cache(self, model: Model, rows: int, width: int, device: torch.device) -> InPlaceCache:
        """Return the cache that the model's graphs run over, if it has at least so many rows and columns; else a new one."""
        if not self._captures(model, device):
            return InPlaceCache(model, rows, width)
        kept = _KEPT.get(model)
        if kept is None or rows > kept.cache.window.rows or width > kept.cache.window.width:
            kept = Kept(InPlaceCache(model, *_room(kept, rows, -(-width // _WIDTHS) * _WIDTHS, device)))
            _KEPT[model] = kept
        kept.cache.window.begin()
        return kept.cache

    def step(self, model: Model, progress: Progress) -> Step:
        device = progress.draws_BR.device
        plain = eager(model, progress) if self._decode == "eager" else direct_steps(model, progress)
        if not self._captures(model, device) or not takes_ready_masks(model, progress.cache):
            _KEPT.pop(model, None)
            return plain
        failures = _FAILURES.setdefault(model, CaptureFailures())
        failures.next_batch()
        kept = self._kept(model, progress)
        capture = partial(captured_on_cuda, device, kept) if self._capture is None else self._capture(device)
        graphs = FixedSteps(model, progress, capture, kept)
        torch.clear_autocast_cache()  # the casts of reading the prompts, which the graphs do not use

        def step(tokens_B: Tensor) -> Tensor:
            shape = graphs.shape()
            if not graphs.captured(shape) and not failures.allows(*shape):
                return plain(tokens_B)
            try:
                return graphs(tokens_B)
            except RuntimeError as error:
                self._note(error, failures, shape)
                return plain(tokens_B)

        return step

    def _captures(self, model: Model, device: torch.device) -> bool:
        if self._decode == "eager" or (device.type != "cuda" and self._capture is None):
            return False
        known = _FAILURES.get(model)
        # a gathered model's weights have other addresses each time, and its layers' hooks use other streams
        return not is_sharded(model) and not (known is not None and known.never)

    def _kept(self, model: Model, progress: Progress) -> Kept:
        """The graphs are kept for this batch only if they take too much memory, or if only autocast can cast some weights."""
        device, kept = progress.draws_BR.device, _KEPT.get(model)
        if kept is None or kept.cache is not progress.cache:
            kept = Kept(progress.cache)
        kept.begin(model, device)
        if _KEPT.get(model) is kept and (_is_cast_anew(model, device) or kept.nbytes() > KEPT_SHARE * _memory(device)):
            del _KEPT[model]
        return kept

    def _note(self, error: RuntimeError, failures: CaptureFailures, shape: tuple[int, int]) -> None:
        if isinstance(error, torch.OutOfMemoryError):
            rows, columns = shape
            if not failures.failures:
                self._notify(
                    f"Decoding goes on without a CUDA graph of {rows} rows and {columns} columns, because memory is short. "
                    "Later iterations try it again."
                )
            failures.out_of_memory(rows, columns)
            return
        failures.never = True
        self._notify(f"Decoding goes on without CUDA graphs: {error}")


def _addresses(model: Model) -> tuple[int, ...]:
    """The addresses of the weights, including those of a role's backbone."""
    return tuple(weight.data_ptr() for part in (model, underlying(model)) for weight in part.parameters())


def _is_cast_anew(model: Model, device: torch.device) -> bool:
    """Whether autocast casts trained matrices outside linear layers. It frees those copies after each batch."""
    if not torch.is_autocast_enabled(device.type):
        return False
    trained = {id(weight) for weight in model.parameters() if weight.requires_grad and weight.dtype == torch.float32}
    return any(
        id(weight) in trained and weight.ndim > 1
        for module in underlying(model).modules()
        if not isinstance(module, nn.Linear | Conv1D | nn.Embedding)
        for weight in module.parameters(recurse=False)
    )


def _room(before: Kept | None, rows: int, width: int, device: torch.device) -> tuple[int, int]:
    """Rows and columns of a new cache: the maximum of the batch's and the previous cache's, so that both keep their graphs.

    If such a cache would be too large to keep, they are the batch's.
    """
    if before is None:
        return rows, width
    window = before.cache.window
    both = max(rows, window.rows), max(width, window.width)
    size = before.nbytes() * both[0] * both[1] / (window.rows * window.width)
    return both if size <= KEPT_SHARE * _memory(device) else (rows, width)


def _memory(device: torch.device) -> float:
    return torch.cuda.get_device_properties(device).total_memory if device.type == "cuda" else float("inf")
