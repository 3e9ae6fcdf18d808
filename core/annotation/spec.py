"""What a round is to be: the REST body, and what the dashboard's form asks for."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from trainer.spec import Section

MOST_ITEMS = 20_000
MOST_RANKED = 9
"""Completions of one item: as many as there are digits to rank them by."""
LONGEST_NAME = 200
LONGEST_INSTRUCTIONS = 20_000

Seed = Annotated[int, Field(ge=0, lt=2**32)]


class RoundFromDataset(Section):
    """Rows of a dataset of preferences: pairs for a round of pairs, rankings for one of rankings."""

    type: Literal["dataset"]
    """Always `dataset`."""
    dataset: Annotated[str, Field(min_length=1)]
    """`ds_…` (its newest version) or `ds_…@2`."""
    rows: Literal["unlabelled", "all"] = "unlabelled"
    """`unlabelled`: pairs or rankings that no row of the dataset labels; `all`: the others too, their labels not shown. The same one is asked once, however many rows hold it."""
    limit: Annotated[int, Field(ge=1, le=MOST_ITEMS)] = 1000
    """Most items; of more rows a sample is drawn."""
    seed: Seed = 0
    """Decides the sample and the order."""


class RoundFromCheckpoints(Section):
    """Completions that one or several policies are asked for, on the prompts of a dataset."""

    type: Literal["checkpoints"]
    """Always `checkpoints`."""
    checkpoints: Annotated[tuple[Annotated[str, Field(min_length=1)], ...], Field(min_length=1, max_length=MOST_RANKED)]
    """Policies: checkpoint ids (`ckpt_…`), or models as `model.path` of a job names them."""
    prompts: Annotated[str, Field(min_length=1)]
    """`ds_…` or `ds_…@2`: prompts, or preferences, thumbs or sft, whose prompts are taken."""
    completions: Annotated[int, Field(ge=1, le=MOST_RANKED)] = 1
    """Of each policy. One policy with two is allowed: its own answers are compared, as in online RLHF."""
    limit: Annotated[int, Field(ge=1, le=MOST_ITEMS)] = 200
    """Most prompts; of more a sample is drawn."""
    temperature: Annotated[float, Field(gt=0, le=10)] = 1.0
    """Of sampling, the same for every policy, whatever `ppo.temperature` its job has."""
    max_new_tokens: Annotated[int, Field(ge=1, le=8192)] | None = None
    """Longest completion, the same for every policy. Left out: the largest `ppo.max_new_tokens` of their jobs, of those that have a stage of PPO; else 256."""
    seed: Seed = 0
    """Decides the sample of prompts, their order, and what is sampled."""

    @property
    def per_prompt(self) -> int:
        return len(self.checkpoints) * self.completions


class NewRound(Section):
    """A round of annotation."""

    name: Annotated[str, Field(max_length=LONGEST_NAME)] = ""
    """For people. Left out: what the round is made from."""
    kind: Literal["pairs", "ranking"] = "pairs"
    """`pairs`: which of two is better; `ranking`: two to nine are put in order."""
    instructions: Annotated[str, Field(max_length=LONGEST_INSTRUCTIONS)] = ""
    """What annotators should look at; shown to them."""
    source: Annotated[RoundFromDataset | RoundFromCheckpoints, Field(discriminator="type")]
    """Where the completions come from."""
    overlap: Annotated[int, Field(ge=1, le=20)] = 1
    """How many annotators should answer each item."""
    gold_share: Annotated[float, Field(ge=0, le=0.5)] = 0.0
    """Share of gold questions, whose answer is known, among what each annotator is shown."""
    gold: Annotated[str, Field(min_length=1)] | None = None
    """`ds_…` or `ds_…@2`: labelled preferences for the gold questions. Left out: the labelled rows of the source, where it is a dataset of which only unlabelled rows are shown."""
    reservation_minutes: Annotated[float, Field(gt=0, le=1440)] = 10.0
    """How long an item that was handed out is kept for its annotator."""
    reward_model: Annotated[str, Field(min_length=1)] | None = None
    """A reward model's checkpoint (`ckpt_…`) to compare the answers with. Can be named later too."""

    @model_validator(mode="after")
    def _as_many_completions_as_the_kind_needs(self) -> "NewRound":
        if not isinstance(self.source, RoundFromCheckpoints):
            return self
        count = self.source.per_prompt
        if self.kind == "pairs" and count != 2:
            raise ValueError(
                f"a pair has two completions, and {len(self.source.checkpoints)} × {self.source.completions} "
                f'`source.completions` make {count}: change them, or set `kind` = "ranking"'
            )
        if not 2 <= count <= MOST_RANKED:
            raise ValueError(
                f"a ranking has 2 to {MOST_RANKED} completions, and {len(self.source.checkpoints)} × "
                f"{self.source.completions} `source.completions` make {count}"
            )
        return self

    @model_validator(mode="after")
    def _gold_comes_from_somewhere(self) -> "NewRound":
        if self.gold_share == 0:
            self.refuse_idle(["gold"], "without `gold_share`")
        own = isinstance(self.source, RoundFromDataset) and self.source.rows == "unlabelled"
        if self.gold_share > 0 and self.gold is None and not own:
            raise ValueError("`gold_share` needs `gold`, a dataset of labelled preferences")
        return self


class RoundChanges(Section):
    """What may be changed of a round; null leaves it as it is."""

    name: Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)] | None = None
    """For people."""
    instructions: Annotated[str, Field(max_length=LONGEST_INSTRUCTIONS)] | None = None
    """What annotators should look at."""
    overlap: Annotated[int, Field(ge=1, le=20)] | None = None
    """How many annotators should answer each item."""
    status: Literal["open", "paused"] | None = None
    """`paused`: nothing more is handed out, what was handed out may still be answered; `open`: go on."""
