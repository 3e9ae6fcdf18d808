"""Any sequence classifier as a reward: the value of one of its labels."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jinja2 import TemplateError
from torch import Tensor
from torch.nn import functional

from data.rows import Prompt
from trainer.errors import ModelError, RewardError
from trainer.models import Model, load_classifier, load_tokenizer, present, settle
from trainer.rewards.answer import Answer
from trainer.rewards.base import RewardContext
from trainer.rewards.model import check_context, check_vocabulary
from trainer.spec import ClassifierReward
from trainer.text.codec import Tokenizer


def build_classifier(spec: ClassifierReward, context: RewardContext) -> "Classifier":
    """Raises ModelError for a model that cannot be loaded, lacks weights, or has no such label."""
    tokenizer = load_tokenizer(spec.path)
    model = settle(load_classifier(spec.path, context.dtype).requires_grad_(False), context.device, context.offload)
    check_vocabulary(spec.path, model, tokenizer)
    # Decoders look for the last token that is no PAD, and take an EOS that is also the PAD for one. Nothing is padded here.
    model.config.pad_token_id = model.config.get_text_config().pad_token_id = -1
    return Classifier(model, tokenizer, label_number(spec, model.config), spec, context.batch_size)


@dataclass(frozen=True)
class Classifier:
    """Scores text. Rows of one length are scored together: without padding, no side and no PAD token can be wrong."""

    model: Model
    tokenizer: Tokenizer
    label: int
    spec: ClassifierReward
    batch_size: int | None

    @torch.no_grad()
    def score(self, answers: Sequence[Answer]) -> list[float]:
        """Raises RewardError where the model's context is too short for an answer."""
        encoded = [self._encoded(answer) for answer in answers]
        check_context(max((len(ids) for ids in encoded), default=0), self.model, self.tokenizer)
        scores = [0.0] * len(encoded)
        with present(self.model):
            for rows in _of_one_length(encoded, self.batch_size or len(encoded)):
                values = self._values(torch.tensor([encoded[row] for row in rows], device=self.model.device))
                for row, value in zip(rows, values.tolist(), strict=True):
                    scores[row] = value
        return scores

    def _values(self, ids_BT: Tensor) -> Tensor:
        """(B,) fp32: the label's logit, probability or log-probability."""
        logits_BL: Tensor = self.model(input_ids=ids_BT, attention_mask=torch.ones_like(ids_BT)).logits.float()
        if self.spec.output == "logit":
            return logits_BL[:, self.label]
        logprobs_BL = functional.logsigmoid(logits_BL) if logits_BL.shape[1] == 1 else logits_BL.log_softmax(1)
        logprobs_B = logprobs_BL[:, self.label]
        return logprobs_B if self.spec.output == "log_probability" else logprobs_B.exp()

    def _encoded(self, answer: Answer) -> list[int]:
        """Special tokens that a plain text spells out stay text."""
        if self.spec.text == "response":
            ids = self.tokenizer(answer.text, split_special_tokens=True)["input_ids"]
        elif self.spec.text == "pair":
            ids = self.tokenizer(_plain(answer.prompt), answer.text, split_special_tokens=True)["input_ids"]
        elif getattr(self.tokenizer, "chat_template", None) is not None:
            ids = self.tokenizer(self._conversation(answer), add_special_tokens=False)["input_ids"]
        else:
            ids = self.tokenizer(_plain(answer.prompt) + answer.text, split_special_tokens=True)["input_ids"]
        if not ids:
            raise RewardError("Its tokenizer makes no token of an empty response; let it read the prompt too (`text`).")
        return list(ids)

    def _conversation(self, answer: Answer) -> str:
        prompt = answer.prompt
        messages = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else list(prompt)
        messages.append({"role": "assistant", "content": answer.text})
        try:
            return str(self.tokenizer.apply_chat_template(messages, tokenize=False))
        except TemplateError as error:
            raise RewardError(f"The chat template of its tokenizer refuses a conversation: {error}.") from error


def _plain(prompt: Prompt) -> str:
    """A prompt as it stands where no chat template is applied."""
    return prompt if isinstance(prompt, str) else "\n".join(message["content"] for message in prompt)


def _of_one_length(encoded: Sequence[list[int]], size: int) -> list[list[int]]:
    """Row numbers in groups of at most `size`, each group's rows equally long."""
    by_length: dict[int, list[int]] = {}
    for row, ids in enumerate(encoded):
        by_length.setdefault(len(ids), []).append(row)
    return [rows[first : first + size] for rows in by_length.values() for first in range(0, len(rows), size)]


def label_number(spec: ClassifierReward, config: Any) -> int:
    """The number of the label that is read. Raises ModelError, listing the labels, where the model has none of that name."""
    names = {int(number): str(name) for number, name in config.id2label.items()}
    if spec.label is None:
        return max(names)
    found = [number for number, name in names.items() if spec.label in (number, name)]
    if len(found) != 1:
        known = ", ".join(f"{number} = {name}" for number, name in sorted(names.items()))
        raise ModelError(f"{spec.path} has no label {spec.label!r}. Its labels: {known}.")
    return found[0]
