"""Every number a run reports: what it is, how it is computed, and when it looks healthy.

One table for the docs, the API and the dashboard. Names follow TRL and the N+ implementation details paper
(Huang et al. 2024). All means over tokens are taken over response tokens only; padding never counts. Torch-free.
"""

from trainer.metrics.dpo import DPO
from trainer.metrics.evaluation import EVALUATION
from trainer.metrics.kto import KTO
from trainer.metrics.metric import Metric
from trainer.metrics.ppo import PPO
from trainer.metrics.reward_model import REWARD_MODEL
from trainer.metrics.rewards import REWARDS
from trainer.metrics.sft import SFT

METRICS: tuple[Metric, ...] = (*SFT, *REWARD_MODEL, *DPO, *KTO, *PPO, *REWARDS, *EVALUATION)

__all__ = ["METRICS", "Metric"]
