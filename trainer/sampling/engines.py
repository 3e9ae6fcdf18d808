"""The sampler that a spec asks for. What an engine needs is imported only when that engine is chosen."""

from functools import partial

from trainer.models import Model
from trainer.sampling.sampler import Engine, Sampler
from trainer.session import Session
from trainer.spec import PPOSpec
from trainer.text import Codec


def sampler_for(session: Session, spec: PPOSpec, policy: Model | None, codec: Codec) -> Sampler:
    """For a policy that is trained; None: for models that stay as they are, which the built-in engine samples.

    Raises ModelError for a policy that the engine cannot sample, and where the engine is not installed.
    """
    engine: Engine | None = None
    if policy is not None and spec.rollout.engine == "continuous_batching":
        from trainer.sampling.continuous import ContinuousBatching

        engine = ContinuousBatching(policy, eos_id=codec.eos_id, pad_id=codec.pad_id)
    elif policy is not None and spec.rollout.engine == "vllm":
        from trainer.sampling.vllm import VLLM

        engine = VLLM(policy, codec, session.spec)
    return Sampler.of(spec.rollout, partial(session.say, warning=True), engine)
