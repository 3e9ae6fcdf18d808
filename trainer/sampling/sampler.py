"""Who samples which model."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from trainer.models import Model
from trainer.sampling.built_in import sample_with
from trainer.sampling.engine import Response
from trainer.sampling.graphs import Decoding
from trainer.session.session import Session
from trainer.spec import PPOSpec, RolloutSpec
from trainer.text.codec import Codec, TokenizedPrompt
from trainer.text.stops import Stops

if TYPE_CHECKING:
    from trainer.sampling.vllm import VLLM


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


# The sampler that a spec asks for. What an engine needs is imported only when that engine is chosen.
_KEPT: "WeakKeyDictionary[Session, VLLM]" = WeakKeyDictionary()
"""The engine of each run's stage: when a run goes back to a checkpoint, the stage begins anew with other models, and making
a second engine takes a minute and the memory of both."""


def sampler_for(
    session: Session, spec: PPOSpec, codec: Codec, policy: Model | None = None, prompts: Sequence[TokenizedPrompt] = ()
) -> Sampler:
    """For a policy that is trained on those prompts; None: for models that stay as they are, which the built-in engine samples.

    Raises ModelError for a policy that the engine cannot sample, and where the engine is not installed.
    """
    return Sampler.of(
        spec.rollout,
        session.warn,
        None if policy is None else _engine(session, spec, codec, policy, prompts),
    )


def let_go(session: Session) -> None:
    """Free what was kept for the stage."""
    _KEPT.pop(session, None)


def _engine(
    session: Session, spec: PPOSpec, codec: Codec, policy: Model, prompts: Sequence[TokenizedPrompt]
) -> Engine | None:
    match spec.rollout.engine:
        case "continuous_batching":
            from trainer.sampling.continuous import ContinuousBatching

            return ContinuousBatching(
                policy, stops=codec.stops, pad_id=codec.pad_id, rows_at_once=spec.rollout.rows_at_once
            )
        case "vllm":
            from trainer.sampling.vllm import VLLM

            if (engine := _KEPT.get(session)) is not None:
                engine.adopt(policy)
                return engine
            _KEPT[session] = VLLM(
                policy,
                spec,
                session.spec.model,
                stops=codec.stops,
                context=max(len(prompt.ids) for prompt in prompts)
                + max(spec.max_new_tokens, session.spec.evaluation.max_new_tokens or 0),
                folder=session.run_dir / "vllm",
                processes=session.world.size,
            )
            return _KEPT[session]
        case _:
            return None
