"""What ends a response: the tokenizer's EOS, the stop tokens of the model's generation configuration, and stop strings.

A run makes one `Stops` (trainer/models/loading.py), which travels with the codec. Every engine cuts responses by it, and
rewards and people see the text before the stop.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

_CONTEXT = 8
"""Tokens in front of those that a stop string can span, so that they decode as they do inside the whole response."""


@dataclass(frozen=True)
class Stops:
    """The token ids that end a response, and the texts that do. With neither, only the length limit ends one."""

    ids: tuple[int, ...]
    strings: tuple[str, ...] = ()
    decode: Callable[[list[int]], str] | None = field(default=None, compare=False)
    """Text of token ids, special tokens left out; needed for `strings`."""
    special: frozenset[int] = frozenset()
    """Ids of special tokens: they are no part of the text, so they do not interrupt a stop string."""

    @classmethod
    def for_tokenizer(cls, tokenizer: Any, ids: Sequence[int] = (), strings: Sequence[str] = ()) -> "Stops":
        """The EOS of `tokenizer`, further `ids`, and `strings`.

        A string that is a special token of the tokenizer, such as "<|im_end|>", stands for that token.
        """
        added = {token.content: number for number, token in tokenizer.added_tokens_decoder.items() if token.special}
        texts = tuple(dict.fromkeys(strings))
        eos = tokenizer.eos_token_id  # a codec refuses a tokenizer without one
        named = {*([] if eos is None else [int(eos)]), *ids, *(added[text] for text in texts if text in added)}
        return cls(
            tuple(sorted(named)),
            tuple(text for text in texts if text not in added),
            lambda tokens: str(tokenizer.decode(tokens, skip_special_tokens=True)),
            frozenset(added.values()),
        )

    @cached_property
    def span(self) -> int:
        """Tokens that the longest stop string spans at most, each token being at least one byte, and their context."""
        return _CONTEXT + max((len(string.encode()) for string in self.strings), default=0)

    def end(self, ids: Sequence[int]) -> int | None:
        """How many of a response's tokens there are up to its stop, the stop included; None for a response without one."""
        watch = StopMatcher(self)
        return next((number for number, token in enumerate(ids, 1) if watch.ends_with(token)), None)

    def before(self, text: str) -> str:
        """The text up to the first stop string in it."""
        found = [at for string in self.strings if (at := text.find(string)) >= 0]
        return text[: min(found)] if found else text

    def ordinary_ids(self, tokenizer: Any) -> list[int]:
        """Stop ids other than the EOS that are no special tokens: texts hold them."""
        return [number for number in self.ids if number not in self.special and number != tokenizer.eos_token_id]

    def shown(self, tokenizer: Any) -> str:
        """The stops as a message names them: tokens with their ids, then strings."""
        tokens = [f"{tokenizer.convert_ids_to_tokens(number)} ({number})" for number in self.ids]
        return ", ".join([*tokens, *(json.dumps(string, ensure_ascii=False) for string in self.strings)])


NO_STOPS = Stops(())
"""Responses as long as the limit."""


class StopMatcher:
    """Follows one response token by token. The cost of a token does not depend on how many came before."""

    def __init__(self, stops: Stops) -> None:
        self._stops = stops
        self._tail: list[int] = []

    def ends_with(self, token: int) -> bool:
        """Take the next token of the response; True where it completes a stop."""
        stops = self._stops
        if token in stops.ids:
            return True
        if not stops.strings or token in stops.special:
            return False
        assert stops.decode is not None  # comes with the strings
        self._tail.append(token)
        if len(self._tail) > 2 * stops.span:
            self._tail = self._tail[-stops.span :]
        text = stops.decode(self._tail)
        return any(string in text for string in stops.strings)
