"""Which engine samples which model: the spec's engine samples the policy, the built-in engine every other model.

The packages that an engine needs are imported only if that engine is chosen.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from torch import Tensor

from trainer.models import Model
from trainer.sampling.built_in import sample_with
from trainer.sampling.engine import Engine, Response, SamplingOptions
from trainer.sampling.graphs import GraphDecoding
from trainer.session.session import Session
from trainer.spec import PPOSpec
from trainer.text.codec import Codec, TokenizedPrompt

if TYPE_CHECKING:
    from trainer.sampling.vllm import VLLM

_ENGINES: "WeakKeyDictionary[Session, VLLM]" = WeakKeyDictionary()
"""The engine of each run's stage. A roll-back starts the stage again with other models, and a second engine would take a
minute and the memory of both."""


@dataclass(frozen=True)
class Sampler:
    """Samples the policy by the chosen engine. Every other model, and the policy without one, uses the built-in engine."""

    rows_at_once: int | None = None
    decode: str = "auto"
    engine: Engine | None = None
    notify: Callable[[str], None] = lambda text: None
    """Receives warnings for the user."""
    more_follow: bool = False
    """The policy is sampled again before its next update."""

    def sample(
        self,
        model: Model,
        prompts: Sequence[list[int]],
        draws_BR: Tensor,
        options: SamplingOptions,
    ) -> list[Response]:
        """Return one response per prompt, with the log-probability of each token if the engine reports it."""
        if self.engine is not None and self.engine.serves(model):
            responses = self.engine.sample(prompts, draws_BR, options.temperature)
            self.engine.free_memory(keep_weights=self.more_follow)
            return responses
        options = replace(options, with_logprobs=True)
        return sample_with(
            model, prompts, draws_BR, options, self.rows_at_once, GraphDecoding(self.decode, self.notify)
        )

    def policy_moved(self) -> None:
        """Report that the policy was updated."""
        if self.engine is not None:
            self.engine.policy_moved()


BUILT_IN = Sampler()


def sampler_for(
    session: Session, spec: PPOSpec, codec: Codec, policy: Model | None = None, prompts: Sequence[TokenizedPrompt] = ()
) -> Sampler:
    """Return the sampler for a policy that is trained on these prompts. Without `policy`, no model is trained.

    Raises ModelError if the engine is not installed, or cannot sample this policy.
    """
    engine = None
    if policy is not None and spec.rollout.engine == "vllm":
        engine = _vllm(session, spec, codec, policy, prompts)
    return Sampler(spec.rollout.rows_at_once, spec.rollout.decode, engine, session.warn)


def release_engine(session: Session) -> None:
    """Free the engine that was kept for the stage, if there is one."""
    if (engine := _ENGINES.pop(session, None)) is not None:
        engine.close()


def _vllm(session: Session, spec: PPOSpec, codec: Codec, policy: Model, prompts: Sequence[TokenizedPrompt]) -> Engine:
    from trainer.sampling.vllm import VLLM

    if (engine := _ENGINES.get(session)) is not None:
        engine.replace_policy(policy)
        return engine
    responses = max(spec.max_new_tokens, session.spec.evaluation.max_new_tokens or 0)
    _ENGINES[session] = VLLM(
        policy,
        spec,
        session.spec.model,
        stops=codec.stops,
        context=max(len(prompt.ids) for prompt in prompts) + responses,
        folder=session.run_dir / "vllm" / f"process-{session.world.rank}",
        processes=session.world.size,
    )
    return _ENGINES[session]
