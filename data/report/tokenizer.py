"""The interface through which a report counts a job's tokens. The trainer implements it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from data.rows import Prompt


@dataclass(frozen=True)
class TokenizerFacts:
    """Properties of a job's tokenizer that findings depend on."""

    special_tokens: frozenset[str] = frozenset()
    has_eos: bool = True
    eos: str = ""
    closing: str | None = None
    """The special token with which the chat template ends an assistant's turn; None without a template."""
    templated: bool = False
    """Whether a chat template is applied."""


class RowTokenizer(Protocol):
    """Renders and tokenizes rows exactly as the job does."""

    def rendered(self, prompt: Prompt) -> str:
        """The text that a prompt's tokens are made of. Raises RowError where the chat template refuses it."""

    def conversation(self, prompt: Prompt, answer: str) -> str | None:
        """Prompt and answer in the chat template; None without a template, or where it refuses them."""

    def prompt_ids(self, rendered: Sequence[str]) -> list[list[int]]:
        """Token ids of each rendered prompt, not cut."""

    def completion_ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Token ids of each answer, not cut, without EOS."""

    def closed(self, ids: list[int]) -> tuple[list[int], bool]:
        """An answer's ids with EOS and True or, where that does not fit, cut and False."""


LoadTokenizer = Callable[[], tuple[RowTokenizer | None, TokenizerFacts]]
"""Loads the tokenizer in each process of a report, so it must be picklable. None where it has no EOS. Raises
TokenizerFailed."""
