"""The responses of each iteration: sampled as it begins, or while the one before it was learnt from.

One step off (Noukhovitch et al. 2024, "Asynchronous RLHF"): the responses of iteration i + 1 come from the policy as it is
before the update of iteration i. What iteration they are for, what they are and how likely the sampler found each token is
part of every checkpoint, so that a resumed run learns from the same ones.
"""

import copy
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, nullcontext
from pathlib import Path

import torch
from torch import Tensor

from trainer.errors import ModelError
from trainer.models import Model
from trainer.models.heads import store_as_computed
from trainer.models.roles import Role
from trainer.randomness import batch_indices, generator
from trainer.rollout.batch import sample_mine
from trainer.rollout.context import PPOModels
from trainer.sampling import Response, uniforms
from trainer.session.checkpoint import STATE, load_optimizer
from trainer.spec import PPOSpec
from trainer.text.codec import Codec, TokenizedPrompt

PENDING = "pending_rollout"
"""The tensors' name in a checkpoint."""


class RolloutProducer:
    """Everything drawn is a function of (seed, iteration): which policy answers is all that `asynchronous` changes."""

    def __init__(
        self,
        spec: PPOSpec,
        actors: PPOModels,
        codec: Codec,
        prompts: Sequence[TokenizedPrompt],
        seed: int,
        device: torch.device,
    ) -> None:
        self._spec, self._actors, self._codec, self._prompts = spec, actors, codec, prompts
        self._seed, self._device = seed, device
        self._pending: tuple[int, list[Response]] | None = None
        self._waited = 0.0
        self._behind: Model | None = None
        self._thread = ThreadPoolExecutor(1, "rollout") if spec.rollout.asynchronous else None
        on_gpu = spec.rollout.asynchronous and device.type == "cuda"
        self._stream = torch.cuda.Stream(device) if on_gpu else None

    def rows(self, iteration: int) -> list[int]:
        """Which prompts the iteration's responses answer."""
        group = self._spec.samples_per_prompt
        drawn = batch_indices(len(self._prompts), self._spec.batch_size // group, iteration, self._seed, "order")
        return [row for row in drawn for _ in range(group)]

    def of(self, iteration: int) -> tuple[list[TokenizedPrompt], list[Response], float]:
        """The iteration's prompts and responses, and the seconds that they were waited for."""
        pending, self._pending = self._pending, None
        # after a roll-back, the ones that wait are of another iteration
        if pending is not None and pending[0] == iteration:
            return self._answered(iteration), pending[1], self._waited
        began = time.perf_counter()
        responses = self._gathered(self._sampled(self._actors.policy, iteration))
        return self._answered(iteration), responses, time.perf_counter() - began

    @contextmanager
    def ahead_of(self, iteration: int) -> Iterator[None]:
        """While inside, that iteration's responses are sampled, where they may be; after it, they wait.

        No other thread is at work before or after, so that nothing else need know of it.
        """
        if self._thread is None or iteration >= self._spec.steps:
            yield
            return
        behind, threads = self._policy_as_it_is(), torch.get_num_threads()
        share = max(1, threads // 2) if self._device.type == "cpu" else threads

        def sampled() -> list[Response]:
            # a new thread's first matrix products would go by MKL's own count, and so to other last bits than later ones
            torch.set_num_threads(share)
            if self._device.index is not None:  # and its device is the first one, whichever this process has
                torch.cuda.set_device(self._device)
            with nullcontext() if self._stream is None else torch.cuda.stream(self._stream):
                return self._sampled(behind, iteration)

        torch.set_num_threads(share)
        _let_wait(self._stream, self._current_stream())  # for the copy of the policy
        future: Future[list[Response]] = self._thread.submit(sampled)
        try:
            yield
        finally:
            began = time.perf_counter()
            wait([future])
            _let_wait(self._current_stream(), self._stream)  # or the next copy would overtake the last step
            self._waited = time.perf_counter() - began
            torch.set_num_threads(threads)
        self._pending = iteration, self._gathered(future.result())

    def _current_stream(self) -> torch.cuda.Stream | None:
        return None if self._stream is None else torch.cuda.current_stream(self._device)

    def state(self) -> dict[str, dict[str, Tensor]]:
        """What waits, as tensors."""
        if self._pending is None:
            return {}
        iteration, responses = self._pending
        said = [logprob for r in responses for logprob in r.logprobs or []]
        tensors = {
            "iteration": torch.tensor(iteration),
            "ids": torch.tensor([token for r in responses for token in r.ids]),
            "lengths": torch.tensor([len(r.ids) for r in responses]),
            "finished": torch.tensor([r.finished for r in responses]),
            "logprobs": torch.tensor(said, dtype=torch.float64),
        }
        return {PENDING: tensors}

    def restore(self, checkpoint: Path | None) -> None:
        """Put back what waited when the checkpoint was saved, if anything did."""
        if checkpoint is None or not (checkpoint / STATE / f"{PENDING}.safetensors").exists():
            return
        tensors = load_optimizer(checkpoint, PENDING)
        lengths: list[int] = tensors["lengths"].tolist()
        ids, logprobs = tensors["ids"].split(lengths), tensors["logprobs"].split(lengths)
        rows = zip(ids, tensors["finished"].tolist(), logprobs, strict=True)
        responses = [Response(own.tolist(), finished, said.tolist()) for own, finished, said in rows]
        self._pending = int(tensors["iteration"]), responses

    def _answered(self, iteration: int) -> list[TokenizedPrompt]:
        return [self._prompts[row] for row in self.rows(iteration)]

    def _sampled(self, model: Model, iteration: int) -> list[Response]:
        """This process's share of them."""
        spec, prompts = self._spec, self._answered(iteration)
        draws_BR = uniforms(generator(self._seed, "sampling", iteration), len(prompts), spec.max_new_tokens)
        world, sampler = self._actors.world, self._actors.sampler
        return sample_mine(
            model, prompts, self._codec, draws_BR, spec.temperature, self._device, world=world, sampler=sampler
        )

    def _gathered(self, own: list[Response]) -> list[Response]:
        world, total = self._actors.world, self._spec.batch_size
        return world.gather_objects(own, world.local_rows(total), total)

    @torch.no_grad()
    def _policy_as_it_is(self) -> Model:
        """A copy of the policy that no update touches, its linear layers in the type that they are computed in."""
        policy = self._actors.policy
        if self._behind is None:
            self._behind = _copied(policy)
        current = dict(policy.named_parameters(remove_duplicate=False))  # the copy's output layer is not tied
        for name, own in self._behind.named_parameters(remove_duplicate=False):
            own.copy_(current[name])
        return self._behind


def _let_wait(one: torch.cuda.Stream | None, other: torch.cuda.Stream | None) -> None:
    """What stream `one` is given from now on waits for what `other` was given so far. On one stream the kernels of both
    threads would run one after the other.

    No tensor needs `record_stream`, as none is let go while the other stream uses it: the copy of the policy stays, and
    what is sampled comes back as numbers.
    """
    if one is not None and other is not None:
        one.wait_stream(other)


def _copied(policy: Model) -> Model:
    if hasattr(policy, "run_inside"):
        raise ModelError("`ppo.rollout.asynchronous` needs the whole policy in each process: its weights are sharded.")
    behind = copy.deepcopy(policy).requires_grad_(False)
    dtype = getattr(policy, "compute_dtype", torch.float32)
    for weight in behind.parameters():
        weight.grad = None
    if isinstance(behind, Role):
        behind.store_as_computed(dtype)
        return behind
    return store_as_computed(behind, dtype)
