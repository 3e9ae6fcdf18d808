"""The sampler that a spec asks for. What an engine needs is imported only when that engine is chosen."""

from collections.abc import Sequence
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from trainer.models import Model
from trainer.sampling.sampler import Engine, Sampler
from trainer.session.session import Session
from trainer.spec import PPOSpec
from trainer.text.codec import Codec
from trainer.text.prompts import EncodedPrompt

if TYPE_CHECKING:
    from trainer.sampling.vllm import VLLM

_KEPT: "WeakKeyDictionary[Session, VLLM]" = WeakKeyDictionary()
"""The engine of each run's stage: when a run goes back to a checkpoint, the stage begins anew with other models, and making
a second engine takes a minute and the memory of both."""


def sampler_for(
    session: Session, spec: PPOSpec, codec: Codec, policy: Model | None = None, prompts: Sequence[EncodedPrompt] = ()
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
    session: Session, spec: PPOSpec, codec: Codec, policy: Model, prompts: Sequence[EncodedPrompt]
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
