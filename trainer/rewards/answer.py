"""What a reward or a judge sees."""

from dataclasses import dataclass

from trainer.data import Prompt


@dataclass(frozen=True)
class Answer:
    """A response to a prompt, as token ids and as text."""

    prompt: Prompt
    prompt_ids: list[int]
    response_ids: list[int]
    """With its EOS, where it has one."""
    text: str
    """The response decoded, special tokens left out."""
    finished: bool
    """It ended with an EOS; else it was cut off."""
    reference: str | None
    """The prompt's `answer`, which verifiable rewards check against."""
