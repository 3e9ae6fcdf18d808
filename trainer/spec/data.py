"""What the run learns from."""

from typing import Annotated, Literal

from pydantic import Field

from trainer.spec.base import Path, PositiveInt, Section

DATASETS = ("preferences", "thumbs", "sft", "prompts", "pretraining")
"""The fields of `data` that name datasets; each is also the kind of dataset that it takes."""


class DataSpec(Section):
    """What the run learns from. Over REST these are dataset ids (`ds_…`); on the command line, JSONL files."""

    preferences: Path | None = None
    """Preference pairs, or rankings of several completions: they train the reward model, and DPO."""
    thumbs: Path | None = None
    """Single completions with a thumb up or down: they train KTO, and the reward model where `reward_model.loss` is `pointwise`."""
    sft: Path | None = None
    """Prompt and completion pairs for SFT. Left out: the preferred completions of `preferences`, else the completions of `thumbs` with a thumb up."""
    prompts: Path | None = None
    """Prompts for PPO and evaluation, each with an `answer` where a reward checks one. Left out: the prompts of `preferences`, else of `sft`, else of `thumbs`."""
    pretraining: Path | None = None
    """Plain texts for `ppo.ptx`."""
    eval_fraction: Annotated[float, Field(gt=0, lt=1)] = 0.1
    """Share of the prompts held out from every stage, chosen by a hash of the prompt so that no prompt crosses."""
    max_prompt_tokens: PositiveInt = 512
    """Longer prompts are left out, and counted in the run's log."""
    max_completion_tokens: PositiveInt = 512
    """Longer completions are cut in SFT (without an EOS at the cut); pairs with a longer side and thumbs on a longer completion are left out of the data of the reward model, DPO and KTO."""
    chat_template: Literal["auto", "none"] = "auto"
    """`auto` applies the tokenizer's chat template where it has one; `none` joins prompt and completion as they stand."""
