"""Between text and token ids: training a tokenizer, rendering prompts, and the one place that appends the EOS."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import tokenizers
from jinja2 import TemplateError
from transformers import PreTrainedTokenizerFast

from data.rows import Prompt, PromptRow
from trainer.errors import DataError, ModelError
from trainer.spec import DataSpec
from trainer.text.stops import NO_STOPS, Stops

_ANSWER = "Indeed."
Tokenizer = Any  # transformers' tokenizers share an interface, not a typed base class


def train_tokenizer(texts: Iterable[str], vocab_size: int) -> Tokenizer:
    """A byte-level BPE tokenizer (every text is encodable) with its own EOS and PAD."""
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
    """What ends a sampled response. Completions are trained to end with the EOS, which is one of them."""

    @classmethod
    def for_tokenizer(cls, tokenizer: Tokenizer, spec: DataSpec, stops: Stops | None = None) -> "Codec":
        """Without `stops` the EOS alone ends a response. Raises ModelError for a tokenizer without an EOS, with which
        completions are trained to end."""
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
        """What fills the unused positions. Any id will do: masks are explicit, and nothing reads it."""
        pad = self.tokenizer.pad_token_id
        return self.eos_id if pad is None else int(pad)

    def prompt(self, prompt: Prompt) -> list[int] | None:
        """Token ids of a prompt as generation starts from it; None when it is too long."""
        ids = self.prompt_ids([self.rendered(prompt)])[0]
        return ids if 0 < len(ids) <= self.max_prompt_tokens else None

    def rendered(self, prompt: Prompt) -> str:
        """The text that a prompt's tokens are made of. Raises DataError where the chat template refuses it."""
        if self.use_chat_template:
            return self._templated([{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt)
        return prompt if isinstance(prompt, str) else "\n".join(message["content"] for message in prompt)

    def prompt_ids(self, rendered: Sequence[str]) -> list[list[int]]:
        """Token ids of each rendered prompt, however long. One call for many is several times as quick as one for each."""
        if self.use_chat_template:
            return self._ids(rendered, add_special_tokens=False)
        # Tokenizers that append an EOS of their own would end the text before it begins.
        found = self._ids(rendered, split_special_tokens=True)
        return [ids[:-1] if ids and ids[-1] == self.eos_id else ids for ids in found]

    def completion(self, text: str) -> tuple[list[int], bool]:
        """Token ids of a completion and whether it is whole. A whole one ends with one EOS; a cut one does not.

        An EOS that the text already ends with is not doubled, and special tokens spelt out inside it stay plain text.
        """
        return self.closed(self.completion_ids([text])[0])

    def completion_ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Token ids of each completion, however long, without its EOS."""
        plain = [text.removesuffix(self.tokenizer.eos_token) for text in texts]
        return self._ids(plain, add_special_tokens=False, split_special_tokens=True)

    def closed(self, ids: list[int]) -> tuple[list[int], bool]:
        """A completion's ids with their EOS and True or, where that does not fit, cut and False."""
        if len(ids) + 1 > self.max_completion_tokens:
            return ids[: self.max_completion_tokens], False
        return [*ids, self.eos_id], True

    def text(self, text: str, max_tokens: int) -> list[int]:
        """Token ids of a plain text from its beginning (BOS and all, where the tokenizer has one), cut to `max_tokens`.

        A whole one ends with one EOS; a cut one does not.
        """
        ids = list(self.tokenizer(text.removesuffix(self.tokenizer.eos_token), split_special_tokens=True)["input_ids"])
        ids = ids[:-1] if ids and ids[-1] == self.eos_id else ids
        return [*ids, self.eos_id] if len(ids) < max_tokens else ids[:max_tokens]

    def closing_token(self) -> str | None:
        """The special token with which the chat template ends an assistant's turn; None without a template or a token.

        It should be the EOS: that is what completions are trained to end with, and what ends a response.
        """
        if not self.use_chat_template:
            return None
        asked = [{"role": "user", "content": "Well?"}]
        try:
            text = str(
                self.tokenizer.apply_chat_template(
                    [*asked, {"role": "assistant", "content": _ANSWER}], tokenize=False, add_generation_prompt=False
                )
            )
        except TemplateError:
            return None  # a template that refuses this much says so when the prompts are encoded
        _, found, end = text.rpartition(_ANSWER)
        special = set(self.tokenizer.all_special_ids)
        ids = self.tokenizer(end, add_special_tokens=False)["input_ids"] if found else []
        return next((str(self.tokenizer.convert_ids_to_tokens(id_)) for id_ in ids if id_ in special), None)

    def _ids(self, texts: Sequence[str], **options: bool) -> list[list[int]]:
        found = self.tokenizer(list(texts), return_attention_mask=False, **options)["input_ids"] if texts else []
        return [list(ids) for ids in found]

    def _templated(self, messages: list[dict[str, str]]) -> str:
        """The conversation in the tokenizer's chat template; DataError when the template refuses it."""
        try:
            return str(self.tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True))
        except TemplateError as error:
            roles = ", ".join(message["role"] for message in messages)
            raise DataError(
                f"The tokenizer's chat template refuses a prompt with the roles {roles}: {error}. "
                'Mend the prompt, or set `data.chat_template` to "none".'
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
        """The text of a sampled response, and its token ids as a reward model reads them.

        The stop that ended it is part of neither. In its place the ids end with the EOS, with which the reward model's
        training data ends. Where a stop string ended it, the text before it is encoded anew, because the string may begin
        inside a token.
        """
        if not finished:
            return self.decode(ids), ids
        if ids[-1] in self.stops.ids or not self.stops.strings:
            return self.decode(ids[:-1]), [*ids[:-1], self.eos_id]
        text = self.stops.before(self.decode(ids))
        return text, [*self.completion_ids([text])[0], self.eos_id]

    def token_texts(self, ids: list[int]) -> list[str]:
        """The text that each token adds, special tokens included; joined, they are the text of all.

        A character of several tokens belongs to its last one; those before it add "". The cost is linear in the tokens: each
        text is decoded beside that of the tokens directly before.
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
        """Text of a response, special tokens left out."""
        return str(self.tokenizer.decode(ids, skip_special_tokens=True))


@dataclass(frozen=True)
class TokenizedPrompt:
    """A prompt, its token ids, and what a verifiable reward expects of its response."""

    prompt: Prompt
    ids: list[int]
    answer: str | None = None


def tokenize_prompts(prompts: Sequence[PromptRow], codec: Codec) -> tuple[list[TokenizedPrompt], int]:
    """Encoded prompts, and how many were too long (left out)."""
    encoded = [
        TokenizedPrompt(row.prompt, ids, row.answer) for row in prompts if (ids := codec.prompt(row.prompt)) is not None
    ]
    return encoded, len(prompts) - len(encoded)


def same_vocabulary(one: Tokenizer, other: Tokenizer) -> bool:
    """Whether the same ids mean the same tokens, the EOS among them."""
    return bool(one.eos_token_id == other.eos_token_id and one.get_vocab() == other.get_vocab())


def embedding_rows(tokenizer: Tokenizer) -> int:
    """How many ids a model needs for every token: more than there are tokens, where the ids have gaps."""
    return max(len(tokenizer), 1 + max(map(int, tokenizer.get_vocab().values())))
