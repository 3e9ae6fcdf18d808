"""One batch of responses: sampled, scored, and compared with the reference policy.

π_old is the policy right before its update, by the trainer's own forward pass. μ is the sampler. It may round differently
(vLLM), or be one step behind (`ppo.rollout.asynchronous`).
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import torch
from torch import Tensor

from trainer.distributed import SINGLE, World
from trainer.hangs import phase
from trainer.models import Model, present
from trainer.models.rounding import HARMLESS
from trainer.models.sequences import Batch, completion_logprobs, on_device
from trainer.optim.micro_batches import AtOnce, BatchLimits, limits
from trainer.rewards.base import RewardInput, Scores
from trainer.rollout.context import PPOContext
from trainer.rollout.correction import Correction, beyond_rounding, correction_for
from trainer.rollout.shaping import missing_eos
from trainer.sampling import Response
from trainer.spec import ShapingSpec
from trainer.text.codec import Codec, TokenizedPrompt

T = TypeVar("T")


@dataclass(frozen=True)
class ScoredBatch:
    """Responses with their scores and their log-probabilities. Everything per token is 0 outside the mask."""

    batch: Batch
    responses: list[Response]
    answers: list[RewardInput]
    """The same responses as text, in the form that rewards and judges read."""
    old_logprobs_BR: Tensor | None
    """log π_old; None until the update's own forward pass has computed it. See `logprobs_BR`."""
    reference_logprobs_BR: Tensor
    initial_logprobs_BR: Tensor | None
    """Under the policy as the stage started; None if that is the reference."""
    rewards: Scores
    scores_B: Tensor
    """The weighted sum of the rewards, with the rule for a missing EOS applied; NaN for a response without a total."""
    seconds: dict[str, float]
    sampler_logprobs_BR: Tensor | None = None
    """log μ; None if the sampler does not report it or if it is `logprobs_BR` itself."""
    correction: Correction | None = None
    """How the policy loss corrects for μ; None: not at all."""
    rounding: float = HARMLESS.mean
    """|log π_old − log μ| of a token that rounding explains."""
    rows: Sequence[int] | None = None
    """Places of the responses in the batch as it was sampled; None: they are all of it."""

    def of(self, values: Sequence[T]) -> Sequence[T]:
        """The values of these responses, out of those of the batch as it was sampled."""
        return values if self.rows is None else [values[row] for row in self.rows]

    def select(self, rows: Sequence[int]) -> "ScoredBatch":
        """These rows of a batch that holds all responses, cut to the longest of them. At least one row."""
        assert self.rows is None
        if len(rows) == len(self.batch):
            return self
        batch = self.batch.select(rows)
        rows_B, width = on_device(rows, self.scores_B.device), batch.mask_BR.shape[1]

        def cut(values_BR: Tensor | None) -> Tensor | None:
            return None if values_BR is None else values_BR[rows_B, :width]

        return replace(
            self,
            batch=batch,
            responses=[self.responses[row] for row in rows],
            answers=[self.answers[row] for row in rows] if self.answers else [],
            old_logprobs_BR=cut(self.old_logprobs_BR),
            reference_logprobs_BR=self.reference_logprobs_BR[rows_B, :width],
            initial_logprobs_BR=cut(self.initial_logprobs_BR),
            rewards=self.rewards.select(rows),
            scores_B=self.scores_B[rows_B],
            sampler_logprobs_BR=cut(self.sampler_logprobs_BR),
            rows=list(rows),
        )

    @property
    def logprobs_BR(self) -> Tensor:
        """log π_old at the sampling temperature: from a training forward pass or, with `ppo.rollout.logprobs` = "sampler",
        from the sampler. Available after the update, or earlier if the spec asks for a pass before it."""
        assert self.old_logprobs_BR is not None
        return self.old_logprobs_BR

    @property
    def sampler_gap_BR(self) -> Tensor | None:
        """log π_old − log μ of each token; None if the sampler's log-probabilities are unknown or π_old's."""
        return None if self.sampler_logprobs_BR is None else self.logprobs_BR - self.sampler_logprobs_BR

    @property
    def kl_BR(self) -> Tensor:
        """k1 estimate of KL(π ‖ π_ref) at each token."""
        return self.logprobs_BR - self.reference_logprobs_BR

    @property
    def finished_B(self) -> Tensor:
        """(B,) True for a response that ended with a stop, False for one that the length limit cut off."""
        return torch.tensor(
            [response.finished for response in self.responses], device=self.reference_logprobs_BR.device
        )

    @property
    def ends_B(self) -> Tensor:
        """(B,) the unshaped part of the weighted sum that the last token earns: all rewards that are not per token."""
        dense = self.rewards.dense
        return self.totals_B if dense is None else self.reference_logprobs_BR.new_tensor(dense.ends)

    @property
    def tokens_BR(self) -> Tensor | None:
        """(B, R) the unshaped weighted sum of the rewards per token; None if no reward is per token."""
        dense, width = self.rewards.dense, self.batch.mask_BR.shape[1]
        if dense is None:
            return None
        return self.reference_logprobs_BR.new_tensor([own + [0.0] * (width - len(own)) for own in dense.tokens])

    @property
    def totals_B(self) -> Tensor:
        """(B,) the unshaped weighted sum of all rewards."""
        return self.reference_logprobs_BR.new_tensor(self.rewards.numbers)

    def kl_per_response(self) -> Tensor:
        """(B,) the k1 estimate summed over each response, in nats."""
        return torch.where(self.batch.mask_BR, self.kl_BR, torch.zeros_like(self.kl_BR)).sum(1)


@torch.no_grad()
def sample_and_score(
    context: PPOContext, prompts: Sequence[TokenizedPrompt], draws_BR: Tensor, temperature: float | None = None
) -> ScoredBatch:
    """Sample one response of the policy per prompt and score it. See `sample_responses` and `score`."""
    responses = sample_responses(context, prompts, draws_BR, temperature=temperature)
    return score(context, prompts, responses, temperature)


@phase("rollout")
@torch.no_grad()
def sample_responses(
    context: PPOContext,
    prompts: Sequence[TokenizedPrompt],
    draws_BR: Tensor,
    model: Model | None = None,
    temperature: float | None = None,
) -> list[Response]:
    """Return one response to each prompt, sampled by `model` (None: the policy) at `temperature` (None: PPO's).

    `draws_BR` holds the uniform number in [0, 1) behind each token; its width limits the response. Each process samples
    its rows, and every process gets all responses.
    """
    own = sample_local_rows(context, prompts, draws_BR, model, temperature)
    return context.world.gather_objects(own, context.world.local_rows(len(prompts)), len(prompts))


@torch.no_grad()
def sample_local_rows(
    context: PPOContext,
    prompts: Sequence[TokenizedPrompt],
    draws_BR: Tensor,
    model: Model | None = None,
    temperature: float | None = None,
) -> list[Response]:
    """Return this process's part of the responses, without waiting for the other processes."""
    models, rows = context.models, context.world.local_rows(len(prompts))
    model = models.policy if model is None else model
    with present(model):  # every process takes part in gathering a sharded model, also one without rows
        if not rows:
            return []
        return models.sampler.sample(
            model,
            [prompts[row].ids for row in rows],
            draws_BR[rows],
            context.sampling_options(temperature),
        )


@phase("score")
@torch.no_grad()
def score(
    context: PPOContext,
    prompts: Sequence[TokenizedPrompt],
    responses: list[Response],
    temperature: float | None = None,
    policy_pass: bool = True,
    age: int = 0,
) -> ScoredBatch:
    """Score responses with the run's rewards, and compute their log-probabilities.

    Without `policy_pass` the policy makes no forward pass here: the update's own pass computes log π_old. It is made
    nevertheless if a response has no value, because the update does not see that one. Raises RewardError for an error of
    a reward that ends the run.

    `age`: steps that the policy has taken since it sampled the responses.
    """
    began = time.perf_counter()
    models, spec, codec = context.models, context.spec, context.codec
    answers = to_answers(prompts, responses, codec)
    batch = Batch.from_ids([p.ids for p in prompts], [response.ids for response in responses], codec.pad_id)
    batch = batch.to(context.device)
    rewards = models.rewards.score(answers)
    reference_BR = response_logprobs(context, models.reference, batch, temperature)
    sampler_BR = sampler_logprobs(responses, reference_BR)
    old_BR: Tensor | None = None
    if spec.rollout.logprobs == "sampler" and sampler_BR is not None:
        old_BR, sampler_BR = sampler_BR, None
    elif policy_pass or len(rewards.complete) < len(batch):
        old_BR = response_logprobs(context, models.policy, batch, temperature)
    initial_BR = None
    if models.initial is not models.reference:
        initial_BR = response_logprobs(context, models.initial, batch, temperature)
    return ScoredBatch(
        batch,
        responses,
        answers,
        old_BR,
        reference_BR,
        initial_BR,
        rewards,
        with_missing_eos(rewards, answers, spec.shaping).to(reference_BR),
        {"time/score": time.perf_counter() - began},
        sampler_BR,
        correction_for(spec.rollout, age),
        _rounding(context),
    )


def _rounding(context: PPOContext) -> float:
    """|log π_old − log μ| of a token that rounding explains. The kernels of another engine may round as in bfloat16."""
    dtype = torch.float32 if context.models.sampler.engine is None else torch.bfloat16
    return beyond_rounding(context.models.policy, dtype)


def with_missing_eos(rewards: Scores, answers: Sequence[RewardInput], spec: ShapingSpec) -> Tensor:
    """(B,) the totals with the rule for a missing EOS applied. NaN for an answer without a total, also if it was cut off."""
    totals_B = torch.tensor(rewards.numbers)
    finished_B = torch.tensor([answer.finished for answer in answers])
    return torch.where(totals_B.isnan(), totals_B, missing_eos(totals_B, finished_B, spec))


@torch.no_grad()
def response_logprobs(context: PPOContext, model: Model, batch: Batch, temperature: float | None = None) -> Tensor:
    """(B, R) log-probability of every response token, by a forward pass without gradients over all rows."""
    at = context.spec.temperature if temperature is None else temperature
    size = BatchLimits.from_spec(context.spec)
    with present(model):
        return forward_in_parts(lambda part: completion_logprobs(model, part, at)[0], batch, size, context.world)


def forward_in_parts(
    forward: Callable[[Batch], Tensor], batch: Batch, at_once: AtOnce, world: World = SINGLE
) -> Tensor:
    """Return the rows of `forward` over the whole batch, computed part by part and in the batch's order.

    Each part is padded to its longest row only. Each process computes its share, and every process gets all rows.
    """
    width, device = batch.mask_BR.shape[1], batch.input_ids_BT.device
    mine = world.balanced_rows(batch.lengths)
    found: list[Tensor] = [batch.prompt_lengths_B] * len(mine)  # each entry is replaced below
    for rows in limits(at_once).split([batch.lengths[row] for row in mine]):
        part = batch.select([mine[index] for index in rows])
        found_BR = forward(part)
        sizes = (0, 0) * (found_BR.dim() - 2)  # vectors keep theirs
        values = torch.nn.functional.pad(found_BR, (*sizes, 0, width - part.mask_BR.shape[1]))
        for at, row_R in zip(rows, values, strict=True):
            found[at] = row_R
    return world.gather_rows(torch.stack(found) if found else None, mine, len(batch), device)


def to_answers(prompts: Sequence[TokenizedPrompt], responses: Sequence[Response], codec: Codec) -> list[RewardInput]:
    """Return the responses in the form that rewards and judges read."""
    answers = []
    for prompt, response in zip(prompts, responses, strict=True):
        text, closed = codec.response(response.ids, response.finished)
        answers.append(
            RewardInput(prompt.prompt, prompt.ids, response.ids, text, response.finished, prompt.answer, closed)
        )
    return answers


def sampler_logprobs(responses: Sequence[Response], like_BR: Tensor) -> Tensor | None:
    """log μ of each token, 0 outside the mask, in the type and on the device of `like_BR`; None if any is unknown."""
    rows = [response.logprobs for response in responses]
    if any(row is None for row in rows):
        return None
    width = like_BR.shape[1]
    return torch.tensor([(row or []) + [0.0] * (width - len(row or [])) for row in rows]).to(like_BR)
