"""The kinds of dataset."""

from enum import StrEnum


class DatasetKind(StrEnum):
    """The rows of a dataset; `data.schema` has their fields."""

    PREFERENCES = "preferences"
    THUMBS = "thumbs"
    PROMPTS = "prompts"
    SFT = "sft"
    PRETRAINING = "pretraining"
