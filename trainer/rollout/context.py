"""The models of a PPO run, and the context that sampling, scoring and the update share."""

from dataclasses import dataclass

import torch

from trainer.distributed import SINGLE, World
from trainer.distributed.cpu_threads import SEQUENTIAL, PairedExecutor
from trainer.models import Model
from trainer.rewards.base import Rewards
from trainer.sampling import BUILT_IN, Sampler, SamplingOptions
from trainer.session.session import Session
from trainer.spec import PPOSpec
from trainer.text.codec import Codec


@dataclass(frozen=True)
class PPOModels:
    """The models and rewards of a PPO run, by role. Only the policy and the critic learn by gradient.

    Roles may share a backbone; no code of PPO depends on which do.
    """

    policy: Model
    reference: Model
    """The KL is measured against this model. It moves if `ppo.reference.update` asks for it."""
    initial: Model
    """The policy as the stage started; it never moves, and evaluation compares with it. The same object as `reference` if
    that is fixed and the spec names no other."""
    critic: Model | None
    """A model of its own, or a head on the policy's trunk; None if the advantage needs no values."""
    rewards: Rewards
    reward_model: Model | None
    """The reward model that this run trained, if any. Online iterations refit it in place."""
    world: World = SINGLE
    """The processes that share the work."""
    sampler: Sampler = BUILT_IN
    pair: PairedExecutor = SEQUENTIAL
    """Runs the policy's and the critic's passes in turn or at the same time."""
    teacher: Model | None = None
    """The model of `ppo.teacher`, which never moves. PPO alone has it, with its evaluations."""


@dataclass(frozen=True)
class PPOContext:
    """Everything that sampling, scoring and the update need and that no iteration changes, apart from the weights."""

    models: PPOModels
    spec: PPOSpec
    codec: Codec
    device: torch.device
    seed: int
    """Every random number of the stage is derived from it and from a purpose."""

    @classmethod
    def from_session(cls, session: Session, models: PPOModels, codec: Codec, spec: PPOSpec) -> "PPOContext":
        """Take the device and the stage's seed from the session."""
        return cls(models, spec, codec, session.device, session.seed("ppo"))

    def sampling_options(self, temperature: float | None = None) -> SamplingOptions:
        """The options of the responses. `temperature` None: that of the spec."""
        codec, own = self.codec, self.spec.temperature
        return SamplingOptions(codec.stops, codec.pad_id, own if temperature is None else temperature, self.device)

    @property
    def world(self) -> World:
        return self.models.world
