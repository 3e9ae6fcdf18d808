"""A trained reward model as a reward: on the policy's own tokens, or on text encoded again for another tokenizer."""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from trainer.errors import ModelError, RewardError
from trainer.models import Model, compute_in, load_reward_model, load_tokenizer, present, settle
from trainer.models.attention import pack_as
from trainer.models.heads import store_as_computed
from trainer.models.sequences import Batch, sequence_scores
from trainer.optim.micro_batches import AtOnce, limits
from trainer.rewards.answer import Answer
from trainer.rewards.base import Reward, RewardContext
from trainer.spec import ModelReward
from trainer.text.codec import Codec, Tokenizer
from trainer.text.vocabulary import ids_of


def build_model(spec: ModelReward, context: RewardContext) -> Reward:
    """The run's own reward model, or the one at `spec.path`. Raises ModelError."""
    if spec.path is None:
        if context.own_model is None:
            raise ModelError("This run has no reward model of its own: give the `path` of one.")
        return TokenScorer(context.own_model, context.codec.pad_id, context.at_once)
    tokenizer = load_tokenizer(spec.path)
    model = store_as_computed(load_reward_model(spec.path).requires_grad_(False), context.dtype)
    model = compute_in(settle(model, context.device, context.offload), context.dtype)
    pack_as(model, context.packing)
    check_vocabulary(spec.path, model, tokenizer)
    scorer = TokenScorer(model, context.codec.pad_id, context.at_once)
    if same_tokenizer(tokenizer, context.codec.tokenizer):
        return scorer
    if tokenizer.eos_token_id is None:
        raise ModelError(f"{spec.path}: its tokenizer has no EOS token, where a reward model is read.")
    codec = Codec(tokenizer, sys.maxsize, sys.maxsize, getattr(tokenizer, "chat_template", None) is not None)
    return TextScorer(TokenScorer(model, codec.pad_id, context.at_once), codec)


@dataclass(frozen=True)
class TokenScorer:
    """Scores token ids as they were sampled. The model may be trained on meanwhile: it is read anew each time."""

    model: Model
    pad_id: int
    batch_size: AtOnce

    def score(self, answers: Sequence[Answer]) -> list[float]:
        return self.score_ids([a.prompt_ids for a in answers], [a.scored_ids for a in answers])

    @torch.no_grad()
    def score_ids(self, prompts: Sequence[list[int]], responses: Sequence[list[int]]) -> list[float]:
        """Scores at the last token of each. Raises RewardError where the model's context is too short."""
        with present(self.model):  # for which a sharded model needs everyone, also who has no answers
            return self._score_ids(prompts, responses) if prompts else []

    def _score_ids(self, prompts: Sequence[list[int]], responses: Sequence[list[int]]) -> list[float]:
        longest = max(len(p) + len(r) for p, r in zip(prompts, responses, strict=True))
        check_context(longest, self.model)
        batch = Batch.of(prompts, responses, self.pad_id).to(self.model.device)
        scores = [0.0] * len(batch)
        for rows in limits(self.batch_size).split(batch.lengths):
            part = batch.select(rows)
            for row, score in zip(rows, sequence_scores(self.model, part).tolist(), strict=True):
                scores[row] = score
        return scores


@dataclass(frozen=True)
class TextScorer:
    """Encodes prompt and response again, with the reward model's own chat template and EOS, and scores those tokens."""

    scorer: TokenScorer
    codec: Codec

    def score(self, answers: Sequence[Answer]) -> list[float]:
        return self.scorer.score_ids([self._prompt(a) for a in answers], [self._response(a) for a in answers])

    def _prompt(self, answer: Answer) -> list[int]:
        ids = self.codec.prompt(answer.prompt)
        if ids is None:
            raise RewardError("Its tokenizer makes no token of the prompt.")
        return ids

    def _response(self, answer: Answer) -> list[int]:
        """With an EOS only where the policy ended it."""
        ids, _ = self.codec.completion(answer.text)
        return ids if answer.finished else ids[:-1]


def same_tokenizer(one: Tokenizer, other: Tokenizer) -> bool:
    """Whether both make the same ids of the same conversation: vocabulary, rules, EOS and chat template."""
    return _identity(one) == _identity(other)


def _identity(tokenizer: Tokenizer) -> tuple[Any, ...]:
    backend = getattr(tokenizer, "backend_tokenizer", None)
    rules = json.loads(backend.to_str()) if backend is not None else {"class": type(tokenizer).__name__}
    # How a batch was last padded or cut is a state, not a rule.
    rules = {key: value for key, value in rules.items() if key not in ("padding", "truncation")}
    return rules, tokenizer.get_vocab(), tokenizer.eos_token_id, getattr(tokenizer, "chat_template", None)


def check_vocabulary(path: str, model: Model, tokenizer: Tokenizer) -> None:
    """Raise ModelError where a scoring model has no embedding for some token of its tokenizer."""
    vocabulary = model.config.get_text_config().vocab_size
    if ids_of(tokenizer) > vocabulary:
        raise ModelError(f"{path}: its tokenizer has {ids_of(tokenizer)} tokens, the model only {vocabulary}.")


def check_context(tokens: int, model: Model, tokenizer: Tokenizer | None = None) -> None:
    """Raise RewardError where `tokens` are more than a scoring model can read: as many as it has positions for, and
    where it is given as many as its tokenizer says (a RoBERTa's first two positions are not for tokens)."""
    limits = [getattr(model.config.get_text_config(), "max_position_embeddings", None)]
    limits += [tokenizer.model_max_length] if tokenizer is not None else []
    context = min((limit for limit in limits if limit), default=tokens)
    if tokens > context:
        raise RewardError(
            f"A prompt with its response has {tokens} tokens there, but the context of this model is {context}. "
            "Lower `ppo.max_new_tokens` or `data.max_prompt_tokens`."
        )
