"""The processes of one run, and what they tell each other.

Experience is replicated, passes are split: every process holds the whole batch and the same weights, computes only its own
rows, and the rows' few numbers are exchanged. Everything here is called by all processes in the same order, from the main
thread. What is decided from what comes back is decided alike everywhere: each result is the same bits on every process.

With one process nothing is imported and nothing is done.
"""

import math
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

import torch
from torch import Tensor

from trainer.distributed.load_balancing import blocks, shares
from trainer.errors import Diverged, TrainerError

T = TypeVar("T")

_BUCKET = 32 << 20
"""Bytes summed in one message: large enough for the network, small enough for the first to be on its way early."""

_IN_FLIGHT = 3
"""Messages under way at a time, which bounds the memory of their copies."""


told_by_gradients: ContextVar[bool] = ContextVar("told_by_gradients", default=False)
"""Whether a loss that is not finite is left to be found in the sum of the gradients."""


class PeerGone(Exception):
    """Another process does not answer: it has ended, or its machine has. Not the cause of anything."""


class World:
    """`rank` of `size` processes; the one with rank 0, the main one, writes the run folder."""

    def __init__(self, rank: int = 0, size: int = 1, device: torch.device | None = None) -> None:
        self.rank = rank
        self.size = size
        self.sharded = False
        """Whether each process holds a slice of the models' weights, not all."""
        self.device = device
        """Where this process computes; None: not settled by the launch."""

    @property
    def is_main(self) -> bool:
        return self.rank == 0

    def mine(self, count: int) -> list[int]:
        """This process' block of `count` rows of which nothing is known."""
        return blocks(count, self.size)[self.rank]

    def share(self, lengths: Sequence[int]) -> list[int]:
        """This process' rows, of rows with these lengths; none where there are too few."""
        return shares(lengths, self.size)[self.rank]

    def gather_rows(self, mine: Tensor | None, rows: Sequence[int], total: int, device: torch.device) -> Tensor:
        """(total, …) all rows on `device`, of which `mine` are this process' `rows`; None where it has none. Bit for bit."""
        if self.size == 1 and mine is not None:
            return mine
        brought = self.everyones(None if mine is None else (list(rows), mine.cpu()))
        there = [found for found in brought if found is not None]
        order = torch.tensor([row for theirs, _ in there for row in theirs])
        whole = torch.cat([values for _, values in there])
        assert len(whole) == total  # everybody's share together
        return torch.empty_like(whole).index_copy_(0, order, whole).to(device)

    def gather_objects(self, mine: Sequence[T], rows: Sequence[int], total: int) -> list[T]:
        """All `total` objects in row order."""
        if self.size == 1:
            return list(mine)
        whole: dict[int, T] = {}
        for theirs in self.everyones(list(zip(rows, mine, strict=True))):
            whole.update(theirs)
        return [whole[row] for row in range(total)]

    def everyones(self, mine: T) -> list[T]:
        """What each process has brought, by rank."""
        if self.size == 1:
            return [mine]
        import torch.distributed as dist

        found: list[Any] = [None] * self.size
        _reaching(lambda: dist.all_gather_object(found, mine))
        return found

    def sum_numbers(self, values: Mapping[str, Tensor]) -> dict[str, float]:
        """Sums of single numbers by name; a process that computed nothing brings none. A GPU is read a single time."""
        sums: dict[str, float] = {}
        numbers = torch.stack([value.double() for value in values.values()]).tolist() if values else []
        for theirs in self.everyones(dict(zip(values, numbers, strict=True))):
            for name, value in theirs.items():
                sums[name] = sums.get(name, 0.0) + value
        return sums

    def sum_number(self, value: float) -> float:
        return value if self.size == 1 else math.fsum(self.everyones(value))

    def sum_tensors(self, tensors: Sequence[Tensor]) -> None:
        """Put the sum over all processes in the place of each, in fp32, in few messages."""
        if self.size == 1:
            return
        import torch.distributed as dist

        under_way: deque[tuple[list[Tensor], Tensor, Any]] = deque()

        def take_in() -> None:
            bucket, flat, message = under_way.popleft()
            _reaching(message.wait)
            parts = flat.split([tensor.numel() for tensor in bucket])
            for tensor, part in zip(bucket, parts, strict=True):
                tensor.copy_(part.view_as(tensor))

        for bucket in _buckets(tensors):
            flat = torch.cat([tensor.flatten().float() for tensor in bucket])
            under_way.append((bucket, flat, _reaching(lambda flat=flat: dist.all_reduce(flat, async_op=True))))  # type: ignore[misc]
            if len(under_way) > _IN_FLIGHT:
                take_in()
        while under_way:
            take_in()

    def sum_gradients(self, parameters: Sequence[torch.nn.Parameter]) -> None:
        """Sum the gradients. One that no process has stays None: the optimizer is to leave that parameter alone."""
        if self.size == 1:
            return
        parameters = [
            parameter for parameter in parameters if not hasattr(parameter, "full_tensor")
        ]  # a slice's is summed
        there = torch.tensor([parameter.grad is not None for parameter in parameters], dtype=torch.uint8)
        self._all_reduce(there, largest=True)
        found = [parameter for parameter, any_has in zip(parameters, there.tolist(), strict=True) if any_has]
        for parameter in found:
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter, dtype=parameter.grad_dtype)  # not always its own: float32
        self.sum_tensors([parameter.grad for parameter in found if parameter.grad is not None])

    def any(self, flag: bool) -> bool:
        """Whether it is so anywhere."""
        if self.size == 1:
            return flag
        said = torch.tensor([flag], dtype=torch.uint8)
        self._all_reduce(said, largest=True)
        return bool(said.item())

    def broadcast_object(self, value: T) -> T:
        """The main process' value."""
        if self.size == 1:
            return value
        import torch.distributed as dist

        held = [value]
        _reaching(lambda: dist.broadcast_object_list(held, src=0))
        return held[0]

    def from_main(self, work: Callable[[], T]) -> T:
        """What `work` gives on the main process, which alone does it; its trouble is everyone's."""
        if self.size == 1:
            return work()
        value, trouble = None, None
        if self.is_main:
            try:
                value = work()
            except (TrainerError, OSError) as error:
                trouble = error
        value, problem = self.broadcast_object((value, trouble))
        if problem is not None:
            raise problem
        return value  # type: ignore[return-value]  # `work` has given it

    @contextmanager
    def same_fate(self) -> Iterator[None]:
        """Around work on one's own rows: where a number of any process is not finite, all raise its Diverged."""
        if self.size == 1:
            yield
            return
        trouble: Diverged | None = None
        before = told_by_gradients.set(self.sharded)
        try:
            yield
        except Diverged as error:
            trouble = error
        finally:
            told_by_gradients.reset(before)
        if self.any(trouble is not None):
            raise next(error for error in self.everyones(trouble) if error is not None)

    def barrier(self) -> None:
        """Wait for everyone."""
        self.any(False)

    def _all_reduce(self, tensor: Tensor, largest: bool = False) -> None:
        import torch.distributed as dist

        operation = dist.ReduceOp.MAX if largest else dist.ReduceOp.SUM
        _reaching(lambda: dist.all_reduce(tensor, operation))


SINGLE = World()
"""A run of one process."""


def is_peer_gone(error: BaseException) -> bool:
    """Whether it only says that another process is gone: by the world, or by a collective inside of torch."""
    if isinstance(error, PeerGone):
        return True
    return isinstance(error, RuntimeError) and (
        isinstance(error, torch.distributed.DistError)
        or "Connection closed by peer" in str(error)
        or "gloo" in str(error)
    )


def _reaching(message: Callable[[], T]) -> T:
    try:
        return message()
    except RuntimeError as error:  # gloo and NCCL have no kind of their own for a peer that is gone
        raise PeerGone(str(error)) from error


def _buckets(tensors: Sequence[Tensor]) -> Iterator[list[Tensor]]:
    """In their order, those of one device together, each bucket at least a tensor and at most `_BUCKET` bytes in fp32."""
    bucket: list[Tensor] = []
    size = 0
    for tensor in tensors:
        if bucket and (size + 4 * tensor.numel() > _BUCKET or tensor.device != bucket[0].device):
            yield bucket
            bucket, size = [], 0
        bucket.append(tensor)
        size += 4 * tensor.numel()
    if bucket:
        yield bucket
