"""Rewards: functions that score responses, built once from a spec and called for every batch."""

from trainer.rewards.base import Reward, RewardContext, RewardInput, Rewards, RewardValue, Scores, TokenRewards
from trainer.rewards.build import build, check_answers
from trainer.rewards.missing import Missing

__all__ = [
    "Missing",
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
