"""pass@k: the chance that at least one of k responses to a prompt is correct (Chen et al. 2021, arXiv 2107.03374)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from trainer.models import Model
from trainer.randomness import generator
from trainer.rewards.base import Rewards
from trainer.rewards.missing import Missing, MissingCounts
from trainer.rollout.batch import sample_responses, to_answers
from trainer.rollout.context import PPOContext
from trainer.sampling import uniforms
from trainer.session.session import Session
from trainer.spec import EvaluationSpec, PassAtSpec
from trainer.text.codec import TokenizedPrompt


def pass_at_k(samples: int, correct: int, k: int) -> float:
    """1 − C(n − c, k)/C(n, k) for c of n samples correct (ibid., eq. 1), unbiased for k ≤ n. Computed with whole numbers."""
    return 1 - math.comb(samples - correct, k) / math.comb(samples, k)


@dataclass(frozen=True)
class Verified:
    """The verified responses of one policy, prompt by prompt."""

    prompts: Sequence[Sequence[float | Missing]]
    """For each prompt, the value of each response."""
    spec: PassAtSpec

    def figures(self) -> dict[str, float]:
        """The mean of pass@k over the prompts for each k, as `pass_at_<k>`, and the number of responses without a value.

        A response without a value counts as not sampled. A prompt with fewer than k others is left out for that k.
        """
        found = {}
        for k in self.spec.k:
            each = [pass_at_k(n, correct, k) for n, correct in map(self._counts, self.prompts) if n >= k]
            if each:
                found[f"pass_at_{k}"] = math.fsum(each) / len(each)
        missing = sum(isinstance(value, Missing) for values in self.prompts for value in values)
        return found | ({"unverified": float(missing)} if missing else {})

    @property
    def counts(self) -> MissingCounts:
        """How many responses the reward was asked about, and how many have no value."""
        return MissingCounts.of([value for values in self.prompts for value in values])

    def _counts(self, values: Sequence[float | Missing]) -> tuple[int, int]:
        """The responses with a value, and the correct ones among them."""
        numbers = [value for value in values if not isinstance(value, Missing)]
        return len(numbers), sum(value >= self.spec.threshold for value in numbers)


@dataclass(frozen=True)
class Verification:
    """Samples several responses of a policy to each held-out prompt, and verifies them with one reward of the run."""

    session: Session
    context: PPOContext
    prompts: Sequence[TokenizedPrompt]
    spec: EvaluationSpec
    pass_at: PassAtSpec
    reward: str
    """The name of the reward."""

    @torch.no_grad()
    def verify(self, policy: Model, purpose: str) -> Verified:
        """Sample and verify. The same purpose always gets the same draws, however many responses are sampled at once."""
        count, values = self.pass_at.samples, list[float | Missing]()
        members = [member for member in self.context.models.rewards.members if member.name == self.reward]
        rewards = Rewards(members, world=self.context.world)
        rows = [(number, sample) for number in range(len(self.prompts)) for sample in range(count)]
        for first in range(0, len(rows), self.spec.batch_size):
            self.session.check_lease()
            some = rows[first : first + self.spec.batch_size]
            prompts = [self.prompts[number] for number, _ in some]
            draws_BR = torch.cat([self._draws(purpose, number, sample) for number, sample in some])
            responses = sample_responses(self.context, prompts, draws_BR, policy, self.spec.temperature)
            answers = to_answers(prompts, responses, self.context.codec)
            values.extend(rewards.score(answers).parts[self.reward])
        return Verified([values[first : first + count] for first in range(0, len(rows), count)], self.pass_at)

    def _draws(self, purpose: str, number: int, sample: int) -> Tensor:
        tokens = self.spec.max_new_tokens or self.context.spec.max_new_tokens
        return uniforms(generator(self.session.seed("evaluation"), purpose, number, "pass@k", sample), 1, tokens)
