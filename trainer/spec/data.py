"""The datasets of a run."""

from typing import Annotated, Literal

from pydantic import Field

from trainer.spec.facts import MID_PPO, Change, Dataset, facts_of
from trainer.spec.section import Path, PositiveInt, Section

_PROMPTS = Change("mid_ppo", in_waiting=True, in_optimal_values=True)


class DataSpec(Section):
    """The datasets of the run: dataset ids (`ds_…`) over REST, JSONL files on the command line."""

    preferences: Annotated[Path | None, Dataset("preferences")] = None
    """Preference pairs, or rankings of several completions: they train the reward model, and DPO."""
    thumbs: Annotated[Path | None, Dataset("thumbs")] = None
    """Single completions with a thumb up or down: they train KTO, and the reward model where `reward_model.loss` is `pointwise`."""
    steps: Annotated[Path | None, Dataset("steps")] = None
    """Solutions with a label for each step: they train the reward model where `reward_model.loss` is `stepwise`."""
    sft: Annotated[Path | None, Dataset("sft")] = None
    """Prompt and completion pairs for SFT. Left out: the preferred completions of `preferences`, else the completions of `thumbs` with a thumb up."""
    prompts: Annotated[Path | None, Dataset("prompts"), _PROMPTS] = None
    """Prompts for PPO and evaluation, each with an `answer` where a reward checks one. A repeated row counts twice. Left out: the prompts of `preferences`, else of `sft`, else of `thumbs`, else of `steps`, each once."""
    evaluation_prompts: Annotated[Path | None, Dataset("prompts"), MID_PPO] = None
    """Prompts for PPO's evaluations and the evaluation stage, in place of those held out of `prompts` by their hash. No stage trains on a row with one of these prompts. Left out: held-out `prompts`."""
    pretraining: Annotated[Path | None, Dataset("pretraining"), MID_PPO] = None
    """Plain texts for `ppo.ptx`."""
    eval_fraction: Annotated[float, Field(gt=0, lt=1)] = 0.1
    """Share of the prompts held out from every stage, chosen by a hash of the prompt so that no prompt crosses. With `evaluation_prompts` it divides the data of the other stages alone, and PPO trains on all of `prompts`."""
    max_prompt_tokens: PositiveInt = 512
    """Longer prompts are left out, and counted in the run's log."""
    max_completion_tokens: PositiveInt = 512
    """Longer completions are cut in SFT, without an EOS at the cut. The reward model, DPO and KTO leave out pairs with a longer side, and thumbs and labelled steps of a longer completion."""
    chat_template: Literal["auto", "none"] = "auto"
    """`auto` applies the tokenizer's chat template where it has one; `none` joins prompt and completion as they stand."""


DATASETS = {name: dataset.kind for (name,), dataset in facts_of(DataSpec, Dataset).items()}
"""The fields of `data` that name datasets, each with the kind of dataset that it takes."""
