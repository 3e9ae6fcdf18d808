"""The responses of each iteration: sampled when the iteration begins, or during an update before it.

With `ppo.rollout.asynchronous`, training is off policy (Noukhovitch et al. 2024, "Asynchronous RLHF"). The responses of
iteration i + k, k = `ppo.rollout.staleness`, come from the policy as it was before the update of iteration i. Those of the first k iterations
come from the first policy. So no response is used that is older than k steps. A checkpoint holds the batches that wait, with the
step of their policy and the sampler's log-probabilities, so that a resumed run learns from the same ones.
"""

import copy
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from trainer.errors import ModelError
from trainer.hangs import phase
from trainer.models import Model
from trainer.models.heads import store_as_computed
from trainer.models.roles import Role
from trainer.randomness import generator, stream_indices
from trainer.rewards.base import Scores
from trainer.rollout.batch import sample_local_rows, sample_responses, to_answers
from trainer.rollout.context import PPOContext
from trainer.rollout.curriculum import Curriculum
from trainer.rollout.refill import FurtherDraws, Refill, Round, refill
from trainer.sampling import Response, uniforms
from trainer.session.checkpoint import load_optimizer
from trainer.session.manifest import STATE
from trainer.text.codec import TokenizedPrompt

PENDING = "pending_rollout"
"""Name of the waiting responses' tensors in a checkpoint."""


@dataclass(frozen=True)
class WaitingBatch:
    """The responses of a later iteration, sampled ahead."""

    policy_step: int
    """Steps of the stage that the sampling policy had taken."""
    responses: list[Response]


@dataclass(frozen=True)
class Rollout:
    """The prompts and responses of one iteration."""

    rows: list[int]
    """Index of each prompt among the training prompts; `samples_per_prompt` equal ones stand side by side."""
    prompts: list[TokenizedPrompt]
    responses: list[Response]
    seconds: float
    """How long the loop waited for responses."""
    iteration: int
    policy_step: int | None = None
    """Steps of the stage that the sampling policy had taken; None without `asynchronous`: as many as the policy that learns."""
    refill: Refill | None = None
    """All that was sampled, and its rewards; None without `ppo.rollout.refill`."""

    @property
    def rewards(self) -> Scores | None:
        """The rewards of the responses, if they were needed to choose them."""
        return None if self.refill is None else self.refill.rewards.select(self.refill.places)

    @property
    def has_idle_responses(self) -> bool:
        """Whether the batch has responses that nothing is learned from, because no further prompts were found for it."""
        return self.refill is not None and self.refill.shortfall > 0

    @property
    def age(self) -> int:
        """Steps of the stage since the sampling policy."""
        return 0 if self.policy_step is None else self.iteration - self.policy_step

    @property
    def metrics(self) -> dict[str, float]:
        waited = {"time/rollout": self.seconds}
        return waited if self.policy_step is None else waited | {"rollout/staleness": self.age}


class RolloutProducer:
    """Samples the responses of each iteration. Every draw is a function of the seed and the iteration.

    `ppo.rollout.asynchronous` therefore changes only which weights of the policy sample.
    """

    def __init__(
        self, context: PPOContext, prompts: Sequence[TokenizedPrompt], further: FurtherDraws | None = None
    ) -> None:
        """`further`: the draws of the refills so far, to which `take` adds."""
        self._context, self._prompts = context, prompts
        self._further = FurtherDraws() if further is None else further
        chosen = context.spec.curriculum
        self.curriculum = None if chosen is None else Curriculum(chosen, prompts, context.seed)
        """The measured difficulty of the prompts, if they are drawn by it."""
        self._waiting = dict[int, WaitingBatch]()
        """Batches sampled ahead, by their iteration."""
        self._waited = 0.0
        self._behind: Model | None = None
        self._bound = context.spec.rollout.staleness_bound
        asynchronous = self._bound > 0
        self._thread = ThreadPoolExecutor(1, "rollout") if asynchronous else None
        on_gpu = asynchronous and context.device.type == "cuda"
        self._stream = torch.cuda.Stream(context.device) if on_gpu else None

    def take(self, iteration: int, between_rounds: Callable[[], None] = lambda: None) -> Rollout:
        """Return the iteration's rollout: the responses sampled ahead, if any, else fresh ones of the current policy.

        With `ppo.rollout.refill` it samples and scores until the batch is full, and calls `between_rounds` before each
        further round. The run can stop there: nothing has changed yet. Raises RewardError as `score` does.
        """
        if self._context.spec.rollout.refill is None:
            return self._taken(iteration)
        return self._refilled(iteration, between_rounds)

    @phase("rollout")
    def _taken(self, iteration: int) -> Rollout:
        rows = self._rows(iteration)
        prompts = [self._prompts[row] for row in rows]
        batch, seconds = self._waiting.pop(iteration, None), self._waited
        if batch is None:
            began = time.perf_counter()
            batch = WaitingBatch(iteration, self._gathered(self._sampled(self._context.models.policy, iteration)))
            seconds = time.perf_counter() - began
        policy_step = batch.policy_step if self._bound else None
        return Rollout(rows, prompts, batch.responses, seconds, iteration, policy_step)

    def _refilled(self, iteration: int, between_rounds: Callable[[], None]) -> Rollout:
        began, spec = time.perf_counter(), self._context.spec
        assert spec.rollout.refill is not None  # the caller has looked
        prompts = spec.batch_size // spec.samples_per_prompt

        def sample(number: int, first: int, count: int) -> Round:
            rows = self._rows(iteration, first, count)
            asked, models = [self._prompts[row] for row in rows], self._context.models
            draws = generator(self._context.seed, "sampling", iteration, *([number] if number else []))
            draws_BR = uniforms(draws, len(rows), spec.max_new_tokens)
            responses = sample_responses(self._context, asked, draws_BR)
            return Round(rows, responses, models.rewards.score(to_answers(asked, responses, self._context.codec)))

        found = refill(sample, prompts, spec.samples_per_prompt, spec.rollout.refill, between_rounds)
        if self.curriculum is None:
            self._further.prompts += found.drawn - prompts
        self._further.responses += len(found.rows) - spec.batch_size
        rows, seconds = [found.rows[place] for place in found.places], time.perf_counter() - began
        responses = [found.responses[place] for place in found.places]
        return Rollout(rows, [self._prompts[row] for row in rows], responses, seconds, iteration, refill=found)

    @contextmanager
    def sample_ahead(self, iteration: int, total: int) -> Iterator[None]:
        """With `asynchronous`, sample in a thread while the body runs, by the policy as it is before the update of `iteration`.

        Afterwards a batch waits for each of the next `staleness` iterations, of `total`. The thread is idle before and after,
        so no other code has to consider it.
        """
        end = min(iteration + self._bound + 1, total)
        missing = [ahead for ahead in range(iteration + 1, end) if ahead not in self._waiting]
        if self._thread is None or not missing:
            self._waited = 0.0
            yield
            return
        behind, threads = self._copy_of_policy(), torch.get_num_threads()
        device = self._context.device
        share = max(1, threads // 2) if device.type == "cpu" else threads

        def sampled(ahead: int) -> list[Response]:
            # without it, MKL's own thread count would change the last bits of this thread's first matrix products
            torch.set_num_threads(share)
            if device.index is not None:  # a new thread begins on the first device
                torch.cuda.set_device(device)
            with nullcontext() if self._stream is None else torch.cuda.stream(self._stream):
                return self._sampled(behind, ahead)

        torch.set_num_threads(share)
        _wait_for(self._stream, self._current_stream())  # for the copy of the policy
        futures: list[Future[list[Response]]] = [self._thread.submit(sampled, ahead) for ahead in missing]
        try:
            yield
        finally:
            began = time.perf_counter()
            for future in futures:  # a batch is a phase, so that several do not look like one that hangs
                with phase("rollout"):
                    wait([future])
            _wait_for(self._current_stream(), self._stream)  # else the next copy could overtake the last step
            self._waited = time.perf_counter() - began
            torch.set_num_threads(threads)
        for ahead, future in zip(missing, futures, strict=True):
            with phase("rollout"):
                self._waiting[ahead] = WaitingBatch(iteration, self._gathered(future.result()))

    def state(self) -> dict[str, dict[str, Tensor]]:
        """Return the measured difficulty and the waiting responses as tensors, for a checkpoint; {} without either."""
        measured = {} if self.curriculum is None else self.curriculum.state()
        return measured | self._waiting_tensors()

    def _waiting_tensors(self) -> dict[str, dict[str, Tensor]]:
        if not self._waiting:
            return {}
        iterations = sorted(self._waiting)
        batches = [self._waiting[iteration] for iteration in iterations]
        responses = [response for batch in batches for response in batch.responses]
        logprobs = [logprob for r in responses for logprob in r.logprobs or []]
        tensors = {
            "iteration": torch.tensor(iterations),
            "policy_step": torch.tensor([batch.policy_step for batch in batches]),
            "ids": torch.tensor([token for r in responses for token in r.ids]),
            "lengths": torch.tensor([len(r.ids) for r in responses]),
            "finished": torch.tensor([r.finished for r in responses]),
            "logprobs": torch.tensor(logprobs, dtype=torch.float64),
        }
        return {PENDING: tensors}

    def restore(self, checkpoint: Path | None, step: int) -> int:
        """Restore the measured difficulty, and the batches that waited when the checkpoint of `step` was saved. Return how many of them were too old.

        Those are dropped and sampled anew: a branch of a run may have a lower bound. After a roll-back all are dropped,
        because they belong to the steps that it undid.
        The measured difficulty is then that of the policy that the run goes back to.
        """
        if self.curriculum is not None:
            self.curriculum.restore(checkpoint)
        if checkpoint is None or not (checkpoint / STATE / f"{PENDING}.safetensors").exists():
            return 0
        waiting = _batches(load_optimizer(checkpoint, PENDING))
        if min(waiting) != step:  # after a roll-back the steps keep on counting
            return 0
        self._waiting = {at: batch for at, batch in waiting.items() if at - batch.policy_step <= self._bound}
        return len(waiting) - len(self._waiting)

    def _rows(self, iteration: int, first: int = 0, count: int | None = None) -> list[int]:
        """`count` prompts (None: a batch) after the `first` ones of the iteration, each once for every response to it."""
        group = self._context.spec.samples_per_prompt
        batch = self._context.spec.batch_size // group
        count = batch if count is None else count
        if self.curriculum is not None:
            drawn = self.curriculum.drawn(iteration, first, count)
        else:
            start = iteration * batch + self._further.prompts + first
            drawn = stream_indices(len(self._prompts), start, start + count, self._context.seed, "order")
        return [row for row in drawn for _ in range(group)]

    def measure(self, rollout: Rollout, rewards: Scores) -> dict[str, float]:
        """Add the scores of an iteration to the measured difficulty of its prompts. Return the metrics; {} without a curriculum.

        `rewards` are those of the batch. With `ppo.rollout.refill` all that was sampled counts.
        """
        if self.curriculum is None:
            return {}
        rows, sampled = (
            (rollout.rows, rewards) if rollout.refill is None else (rollout.refill.rows, rollout.refill.rewards)
        )
        self.curriculum.add(rows, sampled.totals)
        return self.curriculum.metrics(rows)

    def _sampled(self, model: Model, iteration: int) -> list[Response]:
        """This process's part of the iteration's responses."""
        prompts = [self._prompts[row] for row in self._rows(iteration)]
        draws = generator(self._context.seed, "sampling", iteration)
        draws_BR = uniforms(draws, len(prompts), self._context.spec.max_new_tokens)
        return sample_local_rows(self._context, prompts, draws_BR, model)

    def _gathered(self, own: list[Response]) -> list[Response]:
        world, total = self._context.world, self._context.spec.batch_size
        return world.gather_objects(own, world.local_rows(total), total)

    def _current_stream(self) -> torch.cuda.Stream | None:
        return None if self._stream is None else torch.cuda.current_stream(self._context.device)

    @torch.no_grad()
    def _copy_of_policy(self) -> Model:
        """A copy of the current policy that no update changes, its linear layers in the type they are computed in."""
        policy = self._context.models.policy
        if self._behind is None:
            self._behind = _copied(policy)
        current = dict(policy.named_parameters(remove_duplicate=False))  # the copy's output layer is not tied
        for name, own in self._behind.named_parameters(remove_duplicate=False):
            own.copy_(current[name])
        return self._behind


def _batches(tensors: dict[str, Tensor]) -> dict[int, WaitingBatch]:
    """The batches that `RolloutProducer.state` stored, by their iteration."""
    iterations: list[int] = tensors["iteration"].flatten().tolist()
    # an earlier release stored one batch, sampled one step before
    steps = tensors.get("policy_step", tensors["iteration"].flatten() - 1).tolist()
    lengths: list[int] = tensors["lengths"].tolist()
    ids, logprobs = tensors["ids"].split(lengths), tensors["logprobs"].split(lengths)
    rows = zip(ids, tensors["finished"].tolist(), logprobs, strict=True)
    responses = [Response(own.tolist(), finished, by.tolist()) for own, finished, by in rows]
    size = len(responses) // len(iterations)
    parts = [responses[first : first + size] for first in range(0, len(responses), size)]
    return {at: WaitingBatch(*batch) for at, *batch in zip(iterations, steps, parts, strict=True)}


def _wait_for(one: torch.cuda.Stream | None, other: torch.cuda.Stream | None) -> None:
    """Make future work on stream `one` wait for the work queued on `other`; without streams, do nothing.

    On one shared stream the kernels of the two threads would run one after the other. No tensor needs `record_stream`,
    because none is freed while the other stream uses it: the copy of the policy stays, and responses are plain numbers.
    """
    if one is not None and other is not None:
        one.wait_stream(other)


def _copied(policy: Model) -> Model:
    """Raises ModelError for a sharded policy."""
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
