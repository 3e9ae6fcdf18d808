"""The request for a new annotation round, from which the REST schema and the dashboard's form are derived."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from trainer.spec import Section

MOST_ITEMS = 20_000
MOST_RANKED = 9
"""Most completions of an item: the digits 1 to 9 are the ranks on the keyboard."""
LONGEST_NAME = 200
LONGEST_INSTRUCTIONS = 20_000

Seed = Annotated[int, Field(ge=0, lt=2**32)]


class RoundFromDataset(Section):
    """Rows of a dataset of preferences: pairs for a round of pairs, rankings for a round of rankings."""

    type: Literal["dataset"]
    """Always `dataset`."""
    dataset: Annotated[str, Field(min_length=1)]
    """`ds_…` (its newest version) or `ds_…@2`."""
    rows: Literal["unlabelled", "all"] = "unlabelled"
    """`unlabelled`: pairs or rankings that no row of the dataset labels. `all`: labelled ones too, without showing their labels. Equal pairs or rankings become one item."""
    limit: Annotated[int, Field(ge=1, le=MOST_ITEMS)] = 1000
    """Most items. If the dataset has more, a sample is drawn."""
    seed: Seed = 0
    """Seed of the sample and its order."""


class RoundFromCheckpoints(Section):
    """Completions that one or several policies sample for the prompts of a dataset."""

    type: Literal["checkpoints"]
    """Always `checkpoints`."""
    checkpoints: Annotated[tuple[Annotated[str, Field(min_length=1)], ...], Field(min_length=1, max_length=MOST_RANKED)]
    """The policies: checkpoint ids (`ckpt_…`), or models as in `model.path` of a job."""
    prompts: Annotated[str, Field(min_length=1)]
    """`ds_…` or `ds_…@2`: a dataset of prompts, or one of preferences, thumbs, steps or sft, whose prompts are used."""
    completions: Annotated[int, Field(ge=1, le=MOST_RANKED)] = 1
    """Completions of each policy for a prompt. One policy with two completions is compared with itself, as in online RLHF."""
    limit: Annotated[int, Field(ge=1, le=MOST_ITEMS)] = 200
    """Most prompts. If the dataset has more, a sample is drawn."""
    temperature: Annotated[float, Field(gt=0, le=10)] = 1.0
    """Sampling temperature of all policies. The `ppo.temperature` of their jobs has no effect."""
    max_new_tokens: Annotated[int, Field(ge=1, le=8192)] | None = None
    """Longest completion of all policies, in tokens. Left out: the largest `ppo.max_new_tokens` of their jobs with a PPO stage, else 256."""
    seed: Seed = 0
    """Seed of the sample of prompts, their order, and the sampled tokens."""

    @property
    def per_prompt(self) -> int:
        return len(self.checkpoints) * self.completions


class NewRound(Section):
    """A round of annotation."""

    name: Annotated[str, Field(max_length=LONGEST_NAME)] = ""
    """Name for people. Left out: the name of the dataset that the round is made from."""
    kind: Literal["pairs", "ranking"] = "pairs"
    """`pairs`: choose the better of two completions. `ranking`: put two to nine completions in order."""
    instructions: Annotated[str, Field(max_length=LONGEST_INSTRUCTIONS)] = ""
    """Instructions that annotators see beside each item, as Markdown."""
    source: Annotated[RoundFromDataset | RoundFromCheckpoints, Field(discriminator="type")]
    """Where the completions come from."""
    overlap: Annotated[int, Field(ge=1, le=20)] = 1
    """Number of annotators who answer each item."""
    gold_share: Annotated[float, Field(ge=0, le=0.5)] = 0.0
    """Share of gold questions among the items of each annotator, from 0 to 0.5. The answer to a gold question is known."""
    gold: Annotated[str, Field(min_length=1)] | None = None
    """`ds_…` or `ds_…@2`: labelled preferences for the gold questions. May be left out if the source is a dataset with `rows` = `unlabelled`: its labelled rows are used."""
    reservation_minutes: Annotated[float, Field(gt=0, le=1440)] = 10.0
    """Minutes for which an item stays reserved for its annotator."""
    reward_model: Annotated[str, Field(min_length=1)] | None = None
    """Checkpoint of a reward model (`ckpt_…`) to compare with the answers. It can be chosen later too."""

    @model_validator(mode="after")
    def _completions_fit_the_kind(self) -> "NewRound":
        if not isinstance(self.source, RoundFromCheckpoints):
            return self
        count = self.source.per_prompt
        if self.kind == "pairs" and count != 2:
            raise ValueError(
                f"a pair has two completions, and {len(self.source.checkpoints)} × {self.source.completions} "
                f'`source.completions` make {count}. Change them, or set `kind` = "ranking"'
            )
        if not 2 <= count <= MOST_RANKED:
            raise ValueError(
                f"a ranking has 2 to {MOST_RANKED} completions, and {len(self.source.checkpoints)} × "
                f"{self.source.completions} `source.completions` make {count}"
            )
        return self

    @model_validator(mode="after")
    def _gold_has_a_source(self) -> "NewRound":
        if self.gold_share == 0:
            self.refuse_idle(["gold"], "without `gold_share`")
        own = isinstance(self.source, RoundFromDataset) and self.source.rows == "unlabelled"
        if self.gold_share > 0 and self.gold is None and not own:
            raise ValueError("`gold_share` needs `gold`, a dataset of labelled preferences")
        return self


class RoundChanges(Section):
    """New values for fields of a round. A field that is null or left out stays unchanged."""

    name: Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)] | None = None
    """Name for people."""
    instructions: Annotated[str, Field(max_length=LONGEST_INSTRUCTIONS)] | None = None
    """Instructions that annotators see beside each item, as Markdown."""
    overlap: Annotated[int, Field(ge=1, le=20)] | None = None
    """Number of annotators who answer each item."""
    status: Literal["open", "paused"] | None = None
    """`paused`: no more items are assigned, but assigned ones can still be answered. `open`: items are assigned again."""
