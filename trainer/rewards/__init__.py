"""What a response is worth: the rewards of a spec, built once and asked for every batch."""

from trainer.rewards.answer import Answer
from trainer.rewards.base import Dense, Given, Reward, RewardContext, Rewards, Scores
from trainer.rewards.build import build
from trainer.rewards.check import check_answers

__all__ = ["Answer", "Dense", "Given", "Reward", "RewardContext", "Rewards", "Scores", "build", "check_answers"]
