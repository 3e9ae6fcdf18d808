"""Who samples which model."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from trainer.models import Model
from trainer.sampling.built_in import sample_with
from trainer.sampling.graphs import Decoding
from trainer.sampling.responses import Response
from trainer.spec import RolloutSpec
from trainer.text.stops import Stops


class Engine(Protocol):
    """Something outside the model that samples the policy being trained. It sees this process's rows alone."""

    def serves(self, model: Model) -> bool:
        """Whether this is the policy that it was made for."""
        ...

    def sample(self, prompts: Sequence[list[int]], draws_BR: Tensor, temperature: float) -> list[Response]:
        """One response per prompt by the policy's weights as they are now, none longer than the draws are wide.

        An engine that draws by itself takes nothing from the draws but a seed for each row.
        """
        ...

    def rest(self, keep_weights: bool = False) -> None:
        """Hand back the memory that only sampling needs. `keep_weights`: the next batch is likely of the same policy."""
        ...

    def policy_moved(self) -> None:
        """The policy's weights are other ones from now on."""
        ...


@dataclass(frozen=True)
class Sampler:
    """The policy by the engine that was chosen for it; every other model, and without such an engine the policy too, by
    the built-in one."""

    rows_at_once: int | None = None
    decode: str = "auto"
    engine: Engine | None = None
    notify: Callable[[str], None] = lambda text: None
    """Hears what a person should know."""
    more_follow: bool = False
    """Before its next update the policy is sampled again."""

    @classmethod
    def of(cls, spec: RolloutSpec, notify: Callable[[str], None], engine: Engine | None = None) -> "Sampler":
        return cls(spec.rows_at_once, spec.decode, engine, notify)

    def sample(
        self,
        model: Model,
        prompts: Sequence[list[int]],
        draws_BR: Tensor,
        *,
        stops: Stops,
        pad_id: int,
        temperature: float,
        device: torch.device,
    ) -> list[Response]:
        """One response per prompt, with the log-probability of each token where the engine knows it."""
        if self.engine is not None and self.engine.serves(model):
            responses = self.engine.sample(prompts, draws_BR, temperature)
            self.engine.rest(keep_weights=self.more_follow)
            return responses
        decoding = Decoding(self.decode, self.notify)
        return sample_with(
            model,
            prompts,
            draws_BR,
            stops=stops,
            pad_id=pad_id,
            temperature=temperature,
            device=device,
            with_logprobs=True,
            rows_at_once=self.rows_at_once,
            step=decoding.step,
            caches=decoding.cache,
        )

    def policy_moved(self) -> None:
        """To be called after each update of the policy."""
        if self.engine is not None:
            self.engine.policy_moved()


BUILT_IN = Sampler()
