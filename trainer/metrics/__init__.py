"""Every metric of a run: name, formula, unit, meaning, healthy range and chart. Torch-free.

`GET /v1/reference/metrics` serves this table, the dashboard draws its charts from it, and docs/reference/metrics.md is
generated from it. Names follow TRL and the N+ implementation details paper (Huang et al. 2024). Means over tokens include
response tokens only, never padding.
"""

from trainer.metrics.critic import CRITIC
from trainer.metrics.evaluation import EVALUATION, HELD_OUT
from trainer.metrics.metric import Chart, Metric
from trainer.metrics.offline import DPO, KTO, SFT
from trainer.metrics.ppo import PPO
from trainer.metrics.ppo_prompts import PPO_PROMPTS
from trainer.metrics.ppo_sampling import PPO_SAMPLING
from trainer.metrics.reward_model import REWARD_MODEL

METRICS: tuple[Metric, ...] = (
    *SFT,
    *REWARD_MODEL,
    *DPO,
    *KTO,
    *PPO,
    *CRITIC,
    *PPO_PROMPTS,
    *PPO_SAMPLING,
    *HELD_OUT,
    *EVALUATION,
)

__all__ = ["METRICS", "Chart", "Metric"]
