"""Stops: the EOS, the stop tokens of the model's generation configuration, and stop strings, each of which ends a response.

A run creates one `Stops` (trainer/models/loading.py), which is part of the codec. Every sampling engine cuts responses by
it. Rewards and annotators get the text before the stop.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

_CONTEXT = 8
"""Tokens decoded before those that a stop string can span, so that all decode as in the whole response."""


@dataclass(frozen=True)
class Stops:
    """The token ids and strings that end a response. Without both, only the length limit does."""

    ids: tuple[int, ...]
    strings: tuple[str, ...] = ()
    decode: Callable[[list[int]], str] | None = field(default=None, compare=False)
    """Returns the text of token ids without special tokens. Required for `strings`."""
    special: frozenset[int] = frozenset()
    """Ids of special tokens. They are not part of the text, so they do not interrupt a stop string."""

    @classmethod
    def for_tokenizer(cls, tokenizer: Any, ids: Sequence[int] = (), strings: Sequence[str] = ()) -> "Stops":
        """The EOS of `tokenizer`, further `ids`, and `strings`.

        A string that is a special token of the tokenizer, such as "<|im_end|>", becomes the id of that token.
        """
        added = {token.content: number for number, token in tokenizer.added_tokens_decoder.items() if token.special}
        texts = tuple(dict.fromkeys(strings))
        eos = tokenizer.eos_token_id  # a codec raises an error for a tokenizer without EOS
        named = {*([] if eos is None else [int(eos)]), *ids, *(added[text] for text in texts if text in added)}
        return cls(
            tuple(sorted(named)),
            tuple(text for text in texts if text not in added),
            lambda tokens: str(tokenizer.decode(tokens, skip_special_tokens=True)),
            frozenset(added.values()),
        )

    @cached_property
    def span(self) -> int:
        """The most tokens that a stop string spans, with at least one byte for each token, and their context."""
        return _CONTEXT + max((len(string.encode()) for string in self.strings), default=0)

    def end(self, ids: Sequence[int]) -> int | None:
        """The number of tokens up to and including the stop; None for a response without a stop."""
        watch = StopMatcher(self)
        return next((number for number, token in enumerate(ids, 1) if watch.ends_with(token)), None)

    def before(self, text: str) -> str:
        """The text before its first stop string."""
        positions = [at for string in self.strings if (at := text.find(string)) >= 0]
        return text[: min(positions)] if positions else text

    def ordinary_ids(self, tokenizer: Any) -> list[int]:
        """Stop ids, except the EOS, that are not special tokens. Ordinary text may contain them."""
        return [number for number in self.ids if number not in self.special and number != tokenizer.eos_token_id]

    def shown(self, tokenizer: Any) -> str:
        """The stops for a message: tokens with their ids, then strings."""
        tokens = [f"{tokenizer.convert_ids_to_tokens(number)} ({number})" for number in self.ids]
        return ", ".join([*tokens, *(json.dumps(string, ensure_ascii=False) for string in self.strings)])


NO_STOPS = Stops(())
"""For responses that only the length limit ends."""


class StopMatcher:
    """Finds the stop of one response token by token, at a constant cost for each token."""

    def __init__(self, stops: Stops) -> None:
        self._stops = stops
        self._tail: list[int] = []

    def ends_with(self, token: int) -> bool:
        """Add the next token of the response; return whether it completes a stop."""
        stops = self._stops
        if token in stops.ids:
            return True
        if not stops.strings or token in stops.special:
            return False
        assert stops.decode is not None  # set together with the strings
        self._tail.append(token)
        if len(self._tail) > 2 * stops.span:
            self._tail = self._tail[-stops.span :]
        text = stops.decode(self._tail)
        return any(string in text for string in stops.strings)
