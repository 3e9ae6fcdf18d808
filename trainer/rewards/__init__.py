"""What a response is worth: the rewards of a spec, built once and asked for every batch."""

from trainer.rewards.base import Reward, RewardContext, RewardInput, Rewards, RewardValue, Scores, TokenRewards
from trainer.rewards.build import build
from trainer.rewards.check import check_answers

__all__ = [
    "Reward",
    "RewardContext",
    "RewardInput",
    "RewardValue",
    "Rewards",
    "Scores",
    "TokenRewards",
    "build",
    "check_answers",
]
