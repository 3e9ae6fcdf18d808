"""Encoding and decoding: training a tokenizer, rendering prompts, and appending the EOS, which happens only here."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import tokenizers
from jinja2 import TemplateError
from transformers import PreTrainedTokenizerFast

from data.rows import Prompt, PromptRow
from trainer.errors import DataError, ModelError
from trainer.spec import DataSpec
from trainer.text.stops import NO_STOPS, Stops

_PROBE_ANSWER = "Indeed."
_AT_ONCE = 1024
"""Texts that are encoded in one call, which holds their offsets too."""
T = TypeVar("T")
Tokenizer = Any  # transformers' tokenizers have a common interface but no typed base class


def train_tokenizer(texts: Iterable[str], vocab_size: int) -> Tokenizer:
    """Train a byte-level BPE tokenizer, which can encode every text, with its own EOS and PAD."""
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=["<|pad|>", "<|eos|>"],
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|eos|>", pad_token="<|pad|>")


@dataclass(frozen=True)
class Codec:
    """Encodes prompts and completions for one tokenizer, within one length budget."""

    tokenizer: Tokenizer
    max_prompt_tokens: int
    max_completion_tokens: int
    use_chat_template: bool
    stops: Stops = NO_STOPS
    """The stops of a sampled response. They include the EOS, with which training completions end."""

    @classmethod
    def for_tokenizer(cls, tokenizer: Tokenizer, spec: DataSpec, stops: Stops | None = None) -> "Codec":
        """The codec of a run. Without `stops`, only the EOS ends a response. Raises ModelError for a tokenizer without EOS."""
        if tokenizer.eos_token_id is None:
            raise ModelError("The tokenizer has no EOS token. Set `eos_token` in its tokenizer_config.json.")
        templated = spec.chat_template == "auto" and getattr(tokenizer, "chat_template", None) is not None
        stops = Stops.for_tokenizer(tokenizer) if stops is None else stops
        return cls(tokenizer, spec.max_prompt_tokens, spec.max_completion_tokens, templated, stops)

    @property
    def eos_id(self) -> int:
        return int(self.tokenizer.eos_token_id)

    @property
    def pad_id(self) -> int:
        """The id of unused positions. Masks are explicit, so its value does not matter."""
        pad = self.tokenizer.pad_token_id
        return self.eos_id if pad is None else int(pad)

    def prompt(self, prompt: Prompt) -> list[int] | None:
        """Token ids of a prompt, rendered for generation; None where it is empty or too long."""
        return next(self.prompts([prompt]))

    def prompts(self, prompts: Sequence[Prompt]) -> Iterator[list[int] | None]:
        """Like `prompt` for many at once, in less time. Equal prompts share one list."""
        rendered = [self.rendered(prompt) for prompt in prompts]
        found: dict[str, list[int]] = {}
        for block in _blocks(list(dict.fromkeys(rendered))):
            found.update(zip(block, self.prompt_ids(block), strict=True))
        for text in rendered:
            ids = found[text]
            yield ids if 0 < len(ids) <= self.max_prompt_tokens else None

    def rendered(self, prompt: Prompt) -> str:
        """A prompt as text, by the chat template or without it. Raises DataError where the template refuses it."""
        if self.use_chat_template:
            return self._templated([{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt)
        return prompt if isinstance(prompt, str) else "\n".join(message["content"] for message in prompt)

    def prompt_ids(self, rendered: Sequence[str]) -> list[list[int]]:
        """Token ids of each rendered prompt, of any length. One call for many is several times faster than one for each."""
        if self.use_chat_template:
            return self._ids(rendered, add_special_tokens=False)
        # Some tokenizers append an EOS, which would end the text before the response.
        found = self._ids(rendered, split_special_tokens=True)
        return [ids[:-1] if ids and ids[-1] == self.eos_id else ids for ids in found]

    def completion(self, text: str) -> tuple[list[int], bool]:
        """Token ids of a completion, and whether it is whole. A whole one ends with one EOS, a cut one does not.

        An EOS at the end of the text is not doubled. Special tokens spelt out inside the text stay plain text.
        """
        return next(self.completions([text]))

    def completions(self, texts: Sequence[str]) -> Iterator[tuple[list[int], bool]]:
        """Like `completion` for many at once, in less time."""
        for block in _blocks(texts):
            yield from map(self.closed, self.completion_ids(block))

    def completion_ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Token ids of each completion, of any length, without its EOS."""
        plain = [text.removesuffix(self.tokenizer.eos_token) for text in texts]
        return self._ids(plain, add_special_tokens=False, split_special_tokens=True)

    def closed(self, ids: list[int]) -> tuple[list[int], bool]:
        """A completion's ids with the EOS, and True; where that is too long, the cut ids, and False."""
        if len(ids) + 1 > self.max_completion_tokens:
            return ids[: self.max_completion_tokens], False
        return [*ids, self.eos_id], True

    def text(self, text: str, max_tokens: int) -> list[int]:
        """Token ids of a plain text with the tokenizer's BOS, if any, cut to `max_tokens`.

        A whole text ends with one EOS, a cut one does not.
        """
        ids = list(self.tokenizer(text.removesuffix(self.tokenizer.eos_token), split_special_tokens=True)["input_ids"])
        ids = ids[:-1] if ids and ids[-1] == self.eos_id else ids
        return [*ids, self.eos_id] if len(ids) < max_tokens else ids[:max_tokens]

    def closing_token(self) -> str | None:
        """The special token that ends an assistant's turn in the chat template; None without a template or a token.

        It should be the EOS, with which completions are trained to end.
        """
        if not self.use_chat_template:
            return None
        asked = [{"role": "user", "content": "Well?"}]
        try:
            text = str(
                self.tokenizer.apply_chat_template(
                    [*asked, {"role": "assistant", "content": _PROBE_ANSWER}],
                    tokenize=False,
                    add_generation_prompt=False,
                )
            )
        except TemplateError:
            return None  # encoding the prompts reports such a template
        _, found, end = text.rpartition(_PROBE_ANSWER)
        special = set(self.tokenizer.all_special_ids)
        ids = self.tokenizer(end, add_special_tokens=False)["input_ids"] if found else []
        return next((str(self.tokenizer.convert_ids_to_tokens(id_)) for id_ in ids if id_ in special), None)

    def _ids(self, texts: Sequence[str], **options: bool) -> list[list[int]]:
        found = self.tokenizer(list(texts), return_attention_mask=False, **options)["input_ids"] if texts else []
        return [list(ids) for ids in found]

    def _templated(self, messages: list[dict[str, str]]) -> str:
        """The conversation in the tokenizer's chat template. Raises DataError where the template refuses it."""
        try:
            return str(self.tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True))
        except TemplateError as error:
            roles = ", ".join(message["role"] for message in messages)
            raise DataError(
                f"The tokenizer's chat template refuses a prompt with the roles {roles}: {error}. "
                'Correct the prompt, or set `data.chat_template` to "none".'
            ) from error

    def conversation(self, prompt: Prompt, answer: str) -> str | None:
        """Prompt and answer in the chat template; None without a template, or where it refuses them."""
        if not self.use_chat_template:
            return None
        asked = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt
        messages = [*asked, {"role": "assistant", "content": answer}]
        try:
            return str(self.tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=False))
        except TemplateError:
            return None

    def response(self, ids: list[int], finished: bool) -> tuple[str, list[int]]:
        """The text of a sampled response, and its token ids for a reward model.

        Neither contains the stop that ended the response. The ids end with the EOS instead, as in the reward model's
        training data. After a stop string, the text before it is encoded again, because the string may begin inside a
        token.
        """
        if not finished:
            return self.decode(ids), ids
        if ids[-1] in self.stops.ids or not self.stops.strings:
            return self.decode(ids[:-1]), [*ids[:-1], self.eos_id]
        text = self.stops.before(self.decode(ids))
        return text, [*self.completion_ids([text])[0], self.eos_id]

    def token_texts(self, ids: list[int]) -> list[str]:
        """The text that each token adds, special tokens included. Joined, they are the whole text.

        A character of several tokens belongs to the last of them, and the others add "". The cost is linear in the number
        of tokens, because each is decoded together with only the tokens directly before it.
        """

        def text(first: int, last: int) -> str:
            options = {"skip_special_tokens": False, "clean_up_tokenization_spaces": False}
            return str(self.tokenizer.decode(ids[first:last], **options))

        texts, start, done = [], 0, 0
        for end in range(1, len(ids) + 1):
            before, whole = text(start, done), text(start, end)
            if whole.endswith("\N{REPLACEMENT CHARACTER}") and end < len(ids):
                texts.append("")
                continue
            texts.append(whole[len(before) :])
            start, done = done, end
        return texts

    def decode(self, ids: list[int]) -> str:
        """The text of a response without special tokens."""
        return str(self.tokenizer.decode(ids, skip_special_tokens=True))


@dataclass(frozen=True)
class TokenizedPrompt:
    """A prompt, its token ids, and the expected answer for verifiable rewards."""

    prompt: Prompt
    ids: list[int]
    answer: str | None = None


def _blocks(texts: Sequence[T]) -> Iterator[Sequence[T]]:
    return (texts[first : first + _AT_ONCE] for first in range(0, len(texts), _AT_ONCE))


def tokenize_prompts(prompts: Sequence[PromptRow], codec: Codec) -> tuple[list[TokenizedPrompt], int]:
    """The prompts as token ids, and the number that was left out because they are too long."""
    tokenized = zip(prompts, codec.prompts([row.prompt for row in prompts]), strict=True)
    encoded = [TokenizedPrompt(row.prompt, ids, row.answer) for row, ids in tokenized if ids is not None]
    return encoded, len(prompts) - len(encoded)


def same_vocabulary(one: Tokenizer, other: Tokenizer) -> bool:
    """Whether two tokenizers have the same tokens at the same ids, and the same EOS."""
    return bool(one.eos_token_id == other.eos_token_id and one.get_vocab() == other.get_vocab())


def embedding_rows(tokenizer: Tokenizer) -> int:
    """The number of embedding rows that a model needs for this tokenizer. It exceeds the tokens where ids have gaps."""
    return max(len(tokenizer), 1 + max(map(int, tokenizer.get_vocab().values())))
