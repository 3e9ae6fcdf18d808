"""What a reward or a judge sees."""

from dataclasses import dataclass

from data.rows import Prompt


@dataclass(frozen=True)
class Answer:
    """A response to a prompt, as token ids and as text."""

    prompt: Prompt
    prompt_ids: list[int]
    response_ids: list[int]
    """As they were sampled, with the stop that ended them."""
    text: str
    """The response decoded, without special tokens and without the stop that ended it."""
    finished: bool
    """It ended with a stop token or a stop string; else it was cut off."""
    reference: str | None
    """The prompt's `answer`, which verifiable rewards check against."""
    closed_ids: list[int] | None = None
    """The response as a reward model reads it, where that is not `response_ids`: with the EOS in place of another stop."""

    @property
    def scored_ids(self) -> list[int]:
        """The response's token ids for scoring models: they end with the EOS where the response is finished."""
        return self.response_ids if self.closed_ids is None else self.closed_ids
