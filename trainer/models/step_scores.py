"""The mark of a reward model that scores the steps of a response: `config.step_delimiter`.

Its scores have a meaning at the ends of steps alone, and those of any other reward model only at the end of the response. The
mark is saved with the weights, so that a reward reads a model as it learnt.
"""

from typing import Any


def step_delimiter_of(config: object) -> str | None:
    """The text between the steps that the model learnt to score; None where it scores whole responses."""
    return getattr(config, "step_delimiter", None)


def mark_steps(config: Any, delimiter: str | None) -> None:
    """Set or remove the mark. A configuration without one is unchanged by None."""
    if delimiter is not None:
        config.step_delimiter = delimiter
    else:
        vars(config).pop("step_delimiter", None)
