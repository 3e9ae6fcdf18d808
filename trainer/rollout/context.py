"""The models and rewards of a PPO run, by the part that each plays."""

from dataclasses import dataclass

from trainer.distributed import SINGLE, World
from trainer.distributed.cpu_threads import SEQUENTIAL, PairedExecutor
from trainer.models import Model
from trainer.rewards.base import Rewards
from trainer.sampling import BUILT_IN, Sampler


@dataclass(frozen=True)
class PPOModels:
    """Who takes part. Only the policy and the critic learn by gradient; the loop does not know which share a backbone."""

    policy: Model
    reference: Model
    """What the KL is taken to; moves where `ppo.reference.update` says so."""
    initial: Model
    """The policy as the stage started, which never moves: what evaluation compares with. The same object as `reference`
    where that is fixed and no other is named."""
    critic: Model | None
    """None where the advantage needs none; else a model of its own, or a head on the policy's trunk."""
    rewards: Rewards
    reward_model: Model | None
    """The one trained in this run, where there is one: online iterations refit it in place."""
    world: World = SINGLE
    """The processes that share the work."""
    sampler: Sampler = BUILT_IN
    """How they answer."""
    pair: PairedExecutor = SEQUENTIAL
    """Whether two models may compute at the same time."""
