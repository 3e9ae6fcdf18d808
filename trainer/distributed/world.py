"""The processes of one run, their collectives, and how rows are divided among them.

Experience is replicated and passes are split. Every process holds the whole batch and the same weights, computes its own
rows, and the few numbers of each row are exchanged. All processes call these functions in the same order, from the main
thread. Each result has the same bits on every process, so decisions that depend on it agree.

With one process nothing is imported, and each function returns at once.
"""

import math
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import pairwise
from typing import Any, TypeVar

import torch
from torch import Tensor

from trainer.errors import Diverged, TrainerError
from trainer.hangs import phase

T = TypeVar("T")

_BUCKET = 32 << 20
"""Bytes summed in one message: large enough for the network, small enough for the first to be sent early."""

_IN_FLIGHT = 3
"""Messages sent at a time, which bounds the memory of their copies."""


loss_check_deferred: ContextVar[bool] = ContextVar("loss_check_deferred", default=False)
"""Whether a non-finite loss is reported by the gradient check after the backward pass, not before it."""


class PeerGone(Exception):
    """A collective failed because another process or its machine has ended. It is never the cause of a failure."""


class World:
    """Process `rank` of `size`. The process with rank 0, the main process, writes the run folder."""

    def __init__(self, rank: int = 0, size: int = 1, device: torch.device | None = None) -> None:
        self.rank = rank
        self.size = size
        self.sharded = False
        """Whether each process holds only a slice of the models' weights."""
        self.device = device
        """The device of this process; None where the launch does not assign one."""

    @property
    def is_main(self) -> bool:
        return self.rank == 0

    def local_rows(self, count: int) -> list[int]:
        """This process' block of `count` rows, for rows of unknown length."""
        return contiguous_blocks(count, self.size)[self.rank]

    def balanced_rows(self, lengths: Sequence[int]) -> list[int]:
        """This process' rows of rows with these lengths, in order; empty where there are fewer rows than processes."""
        return balance(lengths, self.size)[self.rank]

    def gather_rows(self, local: Tensor | None, rows: Sequence[int], total: int, device: torch.device) -> Tensor:
        """(total, …) the rows of all processes on `device`, unchanged to the bit.

        `local`: the values of this process' `rows`, None where it has none.
        """
        if self.size == 1 and local is not None:
            return local
        gathered = self.all_gather_object(None if local is None else (list(rows), local.cpu()))
        blocks = [block for block in gathered if block is not None]
        order = torch.tensor([row for numbers, _ in blocks for row in numbers])
        whole = torch.cat([values for _, values in blocks])
        assert len(whole) == total  # every row belongs to exactly one process
        return torch.empty_like(whole).index_copy_(0, order, whole).to(device)

    def gather_objects(self, local: Sequence[T], rows: Sequence[int], total: int) -> list[T]:
        """The `total` objects of all processes in row order; `local` are those of this process' `rows`."""
        if self.size == 1:
            return list(local)
        whole: dict[int, T] = {}
        for theirs in self.all_gather_object(list(zip(rows, local, strict=True))):
            whole.update(theirs)
        return [whole[row] for row in range(total)]

    def all_gather_object(self, value: T) -> list[T]:
        """The value of each process, by rank."""
        if self.size == 1:
            return [value]
        import torch.distributed as dist

        gathered: list[Any] = [None] * self.size
        _reaching(lambda: dist.all_gather_object(gathered, value))
        return gathered

    def sum_numbers(self, values: Mapping[str, Tensor]) -> dict[str, float]:
        """Sums over the processes of scalar tensors by name. A process may lack names. A GPU is read once."""
        sums: dict[str, float] = {}
        numbers = torch.stack([value.double() for value in values.values()]).tolist() if values else []
        for theirs in self.all_gather_object(dict(zip(values, numbers, strict=True))):
            for name, value in theirs.items():
                sums[name] = sums.get(name, 0.0) + value
        return sums

    def sum_number(self, value: float) -> float:
        return value if self.size == 1 else math.fsum(self.all_gather_object(value))

    def sum_tensors(self, tensors: Sequence[Tensor]) -> None:
        """Replace each tensor by its sum over all processes. Sums are taken in fp32, in buckets of 32 MiB."""
        if self.size == 1:
            return
        import torch.distributed as dist

        pending: deque[tuple[list[Tensor], Tensor, Any]] = deque()

        def receive() -> None:
            bucket, flat, message = pending.popleft()
            _reaching(message.wait)
            parts = flat.split([tensor.numel() for tensor in bucket])
            for tensor, part in zip(bucket, parts, strict=True):
                tensor.copy_(part.view_as(tensor))

        for bucket in _buckets(tensors):
            flat = torch.cat([tensor.flatten().float() for tensor in bucket])
            pending.append((bucket, flat, _reaching(lambda flat=flat: dist.all_reduce(flat, async_op=True))))  # type: ignore[misc]
            if len(pending) > _IN_FLIGHT:
                receive()
        while pending:
            receive()

    def sum_gradients(self, parameters: Sequence[torch.nn.Parameter]) -> None:
        """Replace each gradient by its sum over all processes.

        A gradient that no process has stays None, so that the optimizer skips the parameter. FSDP has already summed the
        gradients of sharded parameters.
        """
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
                parameter.grad = torch.zeros_like(
                    parameter, dtype=parameter.grad_dtype
                )  # which may be float32 for bfloat16 weights
        self.sum_tensors([parameter.grad for parameter in found if parameter.grad is not None])

    def any(self, flag: bool) -> bool:
        """Whether the flag is set in any process."""
        if self.size == 1:
            return flag
        flags = torch.tensor([flag], dtype=torch.uint8)
        self._all_reduce(flags, largest=True)
        return bool(flags.item())

    def broadcast_object(self, value: T) -> T:
        """The main process' value."""
        if self.size == 1:
            return value
        import torch.distributed as dist

        held = [value]
        _reaching(lambda: dist.broadcast_object_list(held, src=0))
        return held[0]

    def from_main(self, work: Callable[[], T]) -> T:
        """The result of `work()`, which only the main process calls. Its TrainerError or OSError is raised in every process."""
        if self.size == 1:
            return work()
        value, error = None, None
        if self.is_main:
            try:
                value = work()
            except (TrainerError, OSError) as raised:
                error = raised
        value, problem = self.broadcast_object((value, error))
        if problem is not None:
            raise problem
        return value  # type: ignore[return-value]  # `work` has returned it

    @contextmanager
    def fail_together(self) -> Iterator[None]:
        """For work on a process' own rows: where one process raises Diverged inside, all processes raise it at the end."""
        if self.size == 1:
            yield
            return
        trouble: Diverged | None = None
        before = loss_check_deferred.set(self.sharded)
        try:
            yield
        except Diverged as error:
            trouble = error
        finally:
            loss_check_deferred.reset(before)
        if self.any(trouble is not None):
            raise next(error for error in self.all_gather_object(trouble) if error is not None)

    def barrier(self) -> None:
        """Wait for all processes."""
        self.any(False)

    def _all_reduce(self, tensor: Tensor, largest: bool = False) -> None:
        import torch.distributed as dist

        operation = dist.ReduceOp.MAX if largest else dist.ReduceOp.SUM
        _reaching(lambda: dist.all_reduce(tensor, operation))


SINGLE = World()
"""A run of one process."""


def is_peer_gone(error: BaseException) -> bool:
    """Whether the error means that another process has ended. Collectives inside torch raise errors of several kinds."""
    if isinstance(error, PeerGone):
        return True
    return isinstance(error, RuntimeError) and (
        isinstance(error, torch.distributed.DistError)
        or "Connection closed by peer" in str(error)
        or "gloo" in str(error)
    )


@phase("collective")
def _reaching(message: Callable[[], T]) -> T:
    try:
        return message()
    except RuntimeError as error:  # gloo and NCCL raise a plain RuntimeError for a peer that has ended
        raise PeerGone(str(error)) from error


def _buckets(tensors: Sequence[Tensor]) -> Iterator[list[Tensor]]:
    """The tensors in order, in groups on one device. A group has at least one tensor, and at most `_BUCKET` bytes in fp32."""
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


def balance(lengths: Sequence[int], processes: int) -> list[list[int]]:
    """Load balancing: the row numbers of each process, in ascending order, with about as many tokens for each.

    A pure function, so that each process computes the rows of all. The longest rows come first; each goes to the process
    with the fewest tokens so far (Graham 1969: at most 4/3 of the best split). With fewer rows than processes, some
    processes get none.
    """
    if processes == 1:
        return [list(range(len(lengths)))]
    rows: list[list[int]] = [[] for _ in range(processes)]
    tokens = [0] * processes
    for row in sorted(range(len(lengths)), key=lambda row: -lengths[row]):
        least = min(range(processes), key=lambda process: (tokens[process], len(rows[process])))
        rows[least].append(row)
        tokens[least] += lengths[row]
    return [sorted(own) for own in rows]


def contiguous_blocks(count: int, processes: int) -> list[list[int]]:
    """`count` rows cut into one block for each process. Sizes differ by at most one, and the larger blocks come first."""
    size, longer = divmod(count, processes)
    starts = [process * size + min(process, longer) for process in range(processes + 1)]
    return [list(range(first, end)) for first, end in pairwise(starts)]
