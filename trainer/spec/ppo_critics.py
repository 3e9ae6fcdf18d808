"""PPO: several critics on one backbone."""

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from trainer.spec.section import Countable, Section

if TYPE_CHECKING:
    from trainer.spec.ppo import PPOSpec

Share = Annotated[float, Field(gt=0, lt=1)]


class CriticHeadsSpec(Section):
    """Several critics as heads of one backbone (AsyPPO, Liu et al. 2025, arXiv 2510.01656). Each head learns from a part of the responses of its own. The value is the mean of the heads, and their standard deviation is the disagreement about a token."""

    count: Annotated[int, Field(ge=2, le=16), Countable] = 2
    """Number of heads, which all begin as the same one."""
    divide: Literal["prompts", "responses"] = "prompts"
    """`prompts`: a prompt and all its responses belong to one head, by a hash of the prompt's tokens. `responses`: those to each prompt are dealt to the heads in turn, so that each head sees every prompt (the paper's group-level division)."""
    mask_advantages: Share | None = None
    """The advantage is 0 for this share of the batch's tokens: those on which the heads disagree least. Left out: none."""
    filter_entropy: Share | None = None
    """The entropy bonus leaves out this share of the batch's tokens: those on which the heads disagree most. Left out: none."""


def refuse_unfit_heads(ppo: "PPOSpec") -> None:
    """Raise ValueError where the heads cannot learn what they are for, or where one of their options has no effect."""
    heads = ppo.critic.heads
    if heads is None:
        return
    if ppo.critic.kind == "value_head":
        raise ValueError(
            '`critic.heads` needs `critic.kind` = "separate". The trunk of a value head is the policy\'s, so every policy step '
            "would move all heads alike, and their disagreement would not be about the data"
        )
    if ppo.critic.classification is not None:
        raise ValueError(
            "`critic.heads` with `critic.classification`: the outputs of the head are then the bins of one critic. Leave out one "
            "of the two"
        )
    group = ppo.samples_per_prompt
    if heads.divide == "responses" and group % heads.count:
        raise ValueError(
            f'`critic.heads.divide` = "responses" needs a `samples_per_prompt` ({group}) that `critic.heads.count` ({heads.count}) '
            "divides: else some heads would learn from fewer responses to each prompt"
        )
    if heads.filter_entropy is not None and not ppo.policy_loss.entropy_coef:
        raise ValueError("`critic.heads.filter_entropy` has no effect without `policy_loss.entropy_coef`")
