"""Everything that will score or judge in a run, tried before anything is trained."""

from collections.abc import Sequence
from dataclasses import replace

from torch import nn

from trainer.judges import load_judge
from trainer.prompts import EncodedPrompt
from trainer.rewards import RewardContext, build, check_answers
from trainer.spec import HttpJudge, JobSpec, JudgeSpec


def check_scoring(
    spec: JobSpec, context: RewardContext, prompts: Sequence[EncodedPrompt], held_out: Sequence[EncodedPrompt]
) -> None:
    """Load all rewards and judges and let them go again, and look whether the prompts have the answers that they need.

    Remote endpoints are not asked. Raises SpecError, ModelError or DataError, naming what cannot be had: a run learns it
    now, not after hours of its first stages.
    """
    if not {"ppo", "evaluation"} & set(spec.stages):
        return
    if "reward_model" in spec.stages:
        context = replace(context, own_model=nn.Identity())  # a stand-in: nothing is scored here
    check_answers(spec.scoring, [*prompts, *held_out] if "ppo" in spec.stages else held_out)
    build(spec.scoring, context)
    _check_judge(spec.evaluation.judge, context, held_out)
    if "ppo" in spec.stages and spec.ppo.online is not None:
        _check_judge(spec.ppo.online.label_by, context, prompts)


def _check_judge(judge: str | JudgeSpec | None, context: RewardContext, prompts: Sequence[EncodedPrompt]) -> None:
    load_judge(judge, context)
    if judge is not None and not isinstance(judge, str | HttpJudge):
        check_answers([judge], prompts)
