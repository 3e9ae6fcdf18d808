"""Rewards by models: a trained reward model, on token ids or on text, and any sequence classifier.

A stepwise reward model scores each step of a response at the token that ends it (trainer/stages/reward_model/stepwise.py).
"""

import json
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jinja2 import TemplateError
from torch import Tensor
from torch.nn import functional

from data.rows import Prompt
from trainer.errors import ModelError, RewardError
from trainer.models import Model, compute_in, load_classifier, load_reward_model, load_tokenizer, place_frozen, present
from trainer.models.attention import pack_as
from trainer.models.heads import store_as_computed
from trainer.models.members import members_of
from trainer.models.sequences import Batch, member_scores, scores_at, sequence_scores
from trainer.models.step_scores import step_delimiter_of
from trainer.optim.micro_batches import AtOnce, limits
from trainer.rewards.base import Reward, RewardContext, RewardInput, RewardOutcome
from trainer.rewards.ensemble import Ensemble
from trainer.rewards.steps import all_steps, placed, steps_in
from trainer.spec import ClassifierReward, ModelReward
from trainer.text.codec import Codec, Tokenizer, embedding_rows


def build_model(spec: ModelReward, context: RewardContext) -> Reward:
    """The run's own reward model, the one at `spec.path`, or an ensemble. Raises ModelError."""
    if spec.is_trained_in_run:
        if context.own_model is None:
            raise ModelError("This run trains no reward model. Set the `path` of one.")
        own = TokenScorer(context.own_model, context.codec.pad_id, context.at_once)
        if spec.step_delimiter is not None:
            return StepScorer(own, context.codec, spec.step_delimiter, spec)
        return own if members_of(context.own_model.config) == 1 else Ensemble([own], spec)
    check_same_tokens(spec, context.codec)
    scorers = [_scorer_at(path, spec, context) for path in spec.paths]
    if spec.step_delimiter is not None:
        return StepScorer(scorers[0], context.codec, spec.step_delimiter, spec)
    if len(scorers) == 1 and scorers[0].members == 1:
        refuse_combination(spec)
        return scorers[0]
    return Ensemble(scorers, spec)


def _scorer_at(path: str, spec: ModelReward, context: RewardContext) -> "TokenScorer | TextScorer":
    tokenizer = load_tokenizer(path)
    model = store_as_computed(load_reward_model(path).requires_grad_(False), context.dtype)
    check_steps(path, step_delimiter_of(model.config), members_of(model.config), spec)
    model = compute_in(place_frozen(model, context.device, context.offload), context.dtype)
    pack_as(model, context.packing)
    check_vocabulary(path, model, tokenizer)
    scorer = TokenScorer(model, context.codec.pad_id, context.at_once)
    if same_tokenizer(tokenizer, context.codec.tokenizer):
        return scorer
    if tokenizer.eos_token_id is None:
        raise ModelError(f"{path}: its tokenizer has no EOS token, at which a reward model is read.")
    codec = Codec(tokenizer, sys.maxsize, sys.maxsize, getattr(tokenizer, "chat_template", None) is not None)
    return TextScorer(TokenScorer(model, codec.pad_id, context.at_once), codec)


def check_same_tokens(spec: ModelReward, codec: Codec) -> None:
    """Raise ModelError, before any weights are loaded, where a member of `spec.members` has another tokenizer than the policy.

    A single reward model may have one. Members that read other texts would also disagree about those.
    """
    for member in spec.members:
        if not same_tokenizer(load_tokenizer(member.path), codec.tokenizer):
            raise ModelError(
                f"{member.path} has another tokenizer or chat template than the policy. The members of an ensemble must read the "
                "same tokens: leave it out, or name it as a reward of its own."
            )


def check_steps(path: str, learnt: str | None, members: int, spec: ModelReward) -> None:
    """Raise ModelError where the reward would read the model at `path` elsewhere than where it learnt to score.

    `learnt`: the delimiter of the steps that it learnt to score, None for whole responses.
    """
    asked = spec.step_delimiter
    if asked is not None and members > 1:
        raise ModelError(
            f"{path} is an ensemble of {members} members, which scores whole responses. Leave out `step_delimiter`."
        )
    if asked is not None and learnt is None:
        raise ModelError(
            f"{path} was trained to score whole responses: its value at the end of a step means nothing. Leave out "
            '`step_delimiter`, or train one with `reward_model.loss` = "stepwise". (That of another trainer, with the score of a '
            "step at the token that ends it, needs `step_delimiter` in its config.json.)"
        )
    if asked is None and learnt is not None:
        raise ModelError(
            f"{path} was trained to score the steps of a response, not the whole one: set `step_delimiter` to {learnt!r}."
        )
    if asked != learnt:
        raise ModelError(f"{path} learnt to score steps that end at {learnt!r}, and `step_delimiter` is {asked!r}.")


def refuse_combination(spec: ModelReward) -> None:
    """Raise ModelError for a combination of one score."""
    try:
        spec.refuse_idle_combination("on a single reward model")
    except ValueError as error:
        raise ModelError(f"{spec.path}: {error}.") from error


@dataclass(frozen=True)
class TokenScorer:
    """Scores sampled token ids. The model may be trained between calls."""

    model: Model
    pad_id: int
    batch_size: AtOnce

    def score(self, answers: Sequence[RewardInput]) -> list[float]:
        return self.score_ids([a.prompt_ids for a in answers], [a.scored_ids for a in answers])

    @property
    def members(self) -> int:
        """The members of the model, if it is an ensemble; else 1."""
        return members_of(self.model.config)

    def member_scores(self, answers: Sequence[RewardInput]) -> list[list[float]]:
        return self.member_scores_of_ids([a.prompt_ids for a in answers], [a.scored_ids for a in answers])

    def score_ids(self, prompts: Sequence[list[int]], responses: Sequence[list[int]]) -> list[float]:
        """Scores at the last token of each; the mean of an ensemble. Raises RewardError where the model's context is too short."""
        return [score for (score,) in self._scores(prompts, responses, lambda *of: sequence_scores(*of)[:, None])]

    def member_scores_of_ids(self, prompts: Sequence[list[int]], responses: Sequence[list[int]]) -> list[list[float]]:
        """The same by each member."""
        return self._scores(prompts, responses, member_scores)

    @torch.no_grad()
    def scores_at_of_ids(
        self, prompts: Sequence[list[int]], responses: Sequence[list[int]], places: Sequence[Sequence[int]]
    ) -> list[list[float]]:
        """Scores of each response at these of its tokens, of which it may have none. Raises RewardError as `score_ids`."""
        scores: list[list[float]] = [[] for _ in responses]
        some = [row for row, own in enumerate(places) if own]
        with present(self.model):
            if not some:
                return scores
            check_context(max(len(prompts[row]) + len(responses[row]) for row in some), self.model)
            batch = Batch.from_ids([prompts[row] for row in some], [responses[row] for row in some], self.pad_id)
            batch = batch.to(self.model.device)
            for part in limits(self.batch_size).split(batch.lengths):
                own = [places[some[index]] for index in part]
                found = iter(scores_at(self.model, batch.select(part), own).tolist())
                for index in part:
                    scores[some[index]] = [next(found) for _ in places[some[index]]]
        return scores

    @torch.no_grad()
    def _scores(
        self,
        prompts: Sequence[list[int]],
        responses: Sequence[list[int]],
        scores_of: Callable[[Model, Batch], Tensor],
    ) -> list[list[float]]:
        with present(self.model):  # a collective for a sharded model, which processes without answers join
            return self._scores_of_some(prompts, responses, scores_of) if prompts else []

    def _scores_of_some(
        self,
        prompts: Sequence[list[int]],
        responses: Sequence[list[int]],
        scores_of: Callable[[Model, Batch], Tensor],
    ) -> list[list[float]]:
        longest = max(len(p) + len(r) for p, r in zip(prompts, responses, strict=True))
        check_context(longest, self.model)
        batch = Batch.from_ids(prompts, responses, self.pad_id).to(self.model.device)
        scores: dict[int, list[float]] = {}
        for rows in limits(self.batch_size).split(batch.lengths):
            part = batch.select(rows)
            scores |= dict(zip(rows, scores_of(self.model, part).tolist(), strict=True))
        return [scores[row] for row in range(len(batch))]


@dataclass(frozen=True)
class TextScorer:
    """Encodes prompt and response again with the reward model's tokenizer, chat template and EOS, and scores these tokens."""

    scorer: TokenScorer
    codec: Codec

    def score(self, answers: Sequence[RewardInput]) -> list[float]:
        return self.scorer.score_ids([self.prompt(a) for a in answers], [self.response(a) for a in answers])

    @property
    def members(self) -> int:
        return self.scorer.members

    def member_scores(self, answers: Sequence[RewardInput]) -> list[list[float]]:
        prompts, responses = [self.prompt(a) for a in answers], [self.response(a) for a in answers]
        return self.scorer.member_scores_of_ids(prompts, responses)

    def prompt(self, answer: RewardInput) -> list[int]:
        ids = self.codec.prompt(answer.prompt)
        if ids is None:
            raise RewardError("Its tokenizer returns no token for the prompt.")
        return ids

    def response(self, answer: RewardInput) -> list[int]:
        """Ends with an EOS only if the response is finished."""
        ids, _ = self.codec.completion(answer.text)
        return ids if answer.finished else ids[:-1]


@dataclass(frozen=True)
class StepScorer:
    """Scores each step of a response at the token that ends it, by a stepwise reward model (a process reward)."""

    scorer: TokenScorer | TextScorer
    codec: Codec
    """The policy's codec, by whose tokens PPO places the rewards."""
    delimiter: str
    spec: ModelReward

    def score(self, answers: Sequence[RewardInput]) -> list[RewardOutcome]:
        """For each answer one number per token: the rewards of its steps on their last tokens, else 0."""
        if isinstance(self.scorer, TextScorer):
            scorer, codec = self.scorer.scorer, self.scorer.codec
            prompts = [self.scorer.prompt(answer) for answer in answers]
            responses = [self.scorer.response(answer) for answer in answers]
        else:
            scorer, codec = self.scorer, self.codec
            prompts, responses = [a.prompt_ids for a in answers], [a.scored_ids for a in answers]
        read = [
            steps_in(ids, answer.text, self.delimiter, codec).last_tokens
            for ids, answer in zip(responses, answers, strict=True)
        ]
        scores = scorer.scores_at_of_ids(prompts, responses, read)
        rewards = [[step_reward(score, self.spec.step_output) for score in own] for own in scores]
        return placed(rewards, answers, all_steps(answers, self.delimiter, self.codec))


def step_reward(score: float, output: str) -> float:
    """The reward of a step from its log odds r: σ(r), log σ(r) = min(r, 0) − log(1 + e^−|r|), or r itself."""
    if output == "logit":
        return score
    log_probability = min(score, 0.0) - math.log1p(math.exp(-abs(score)))
    return log_probability if output == "log_probability" else math.exp(log_probability)


def same_tokenizer(one: Tokenizer, other: Tokenizer) -> bool:
    """Whether both encode every conversation alike: equal vocabulary, rules, EOS and chat template."""
    return _identity(one) == _identity(other)


def _identity(tokenizer: Tokenizer) -> tuple[Any, ...]:
    backend = getattr(tokenizer, "backend_tokenizer", None)
    rules = json.loads(backend.to_str()) if backend is not None else {"class": type(tokenizer).__name__}
    # The padding and truncation of the last batch are state, not rules.
    rules = {key: value for key, value in rules.items() if key not in ("padding", "truncation")}
    return rules, tokenizer.get_vocab(), tokenizer.eos_token_id, getattr(tokenizer, "chat_template", None)


def check_vocabulary(path: str, model: Model, tokenizer: Tokenizer) -> None:
    """Raise ModelError where a scoring model has fewer embeddings than its tokenizer has tokens."""
    vocabulary = model.config.get_text_config().vocab_size
    if embedding_rows(tokenizer) > vocabulary:
        raise ModelError(f"{path}: its tokenizer has {embedding_rows(tokenizer)} tokens, the model only {vocabulary}.")


def check_context(tokens: int, model: Model, tokenizer: Tokenizer | None = None) -> None:
    """Raise RewardError where `tokens` exceed the context of a scoring model.

    The context is the number of the model's positions, and at most the `model_max_length` of `tokenizer`. RoBERTa reserves
    two positions, so the second is smaller.
    """
    bounds = [getattr(model.config.get_text_config(), "max_position_embeddings", None)]
    bounds += [tokenizer.model_max_length] if tokenizer is not None else []
    context = min((bound for bound in bounds if bound), default=tokens)
    if tokens > context:
        raise RewardError(
            f"A prompt with its response has {tokens} tokens there, but the context of this model is {context}. "
            "Lower `ppo.max_new_tokens` or `data.max_prompt_tokens`."
        )


def build_classifier(spec: ClassifierReward, context: RewardContext) -> "Classifier":
    """Raises ModelError for a model that cannot be loaded, lacks weights, or has no such label."""
    tokenizer = load_tokenizer(spec.path)
    model = place_frozen(
        load_classifier(spec.path, context.dtype).requires_grad_(False), context.device, context.offload
    )
    check_vocabulary(spec.path, model, tokenizer)
    # Decoders look for the last token that is not the PAD, which may also be the EOS. No row is padded here.
    model.config.pad_token_id = model.config.get_text_config().pad_token_id = -1
    return Classifier(model, tokenizer, label_number(spec, model.config), spec, context.batch_size)


@dataclass(frozen=True)
class Classifier:
    """Scores text by a label of a sequence classifier. Rows of equal length are scored together, so nothing is padded."""

    model: Model
    tokenizer: Tokenizer
    label: int
    spec: ClassifierReward
    batch_size: int | None

    @torch.no_grad()
    def score(self, answers: Sequence[RewardInput]) -> list[float]:
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
        """(B,) fp32: the label's logit, probability or log-probability, by `spec.output`."""
        logits_BL: Tensor = self.model(input_ids=ids_BT, attention_mask=torch.ones_like(ids_BT)).logits.float()
        if self.spec.output == "logit":
            return logits_BL[:, self.label]
        logprobs_BL = functional.logsigmoid(logits_BL) if logits_BL.shape[1] == 1 else logits_BL.log_softmax(1)
        logprobs_B = logprobs_BL[:, self.label]
        return logprobs_B if self.spec.output == "log_probability" else logprobs_B.exp()

    def _encoded(self, answer: RewardInput) -> list[int]:
        """Token ids of an answer. Special tokens that are spelt out in plain text stay text."""
        if self.spec.text == "response":
            ids = self.tokenizer(answer.text, split_special_tokens=True)["input_ids"]
        elif self.spec.text == "pair":
            ids = self.tokenizer(_plain(answer.prompt), answer.text, split_special_tokens=True)["input_ids"]
        elif getattr(self.tokenizer, "chat_template", None) is not None:
            ids = self.tokenizer(self._conversation(answer), add_special_tokens=False)["input_ids"]
        else:
            ids = self.tokenizer(_plain(answer.prompt) + answer.text, split_special_tokens=True)["input_ids"]
        if not ids:
            raise RewardError(
                "Its tokenizer returns no token for an empty response. Set `text` so that it reads the prompt too."
            )
        return list(ids)

    def _conversation(self, answer: RewardInput) -> str:
        prompt = answer.prompt
        messages = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else list(prompt)
        messages.append({"role": "assistant", "content": answer.text})
        try:
            return str(self.tokenizer.apply_chat_template(messages, tokenize=False))
        except TemplateError as error:
            raise RewardError(f"The chat template of its tokenizer refuses a conversation: {error}.") from error


def _plain(prompt: Prompt) -> str:
    """A prompt as text without a chat template."""
    return prompt if isinstance(prompt, str) else "\n".join(message["content"] for message in prompt)


def _of_one_length(encoded: Sequence[list[int]], size: int) -> list[list[int]]:
    """Row numbers in groups of at most `size`, each group's rows equally long."""
    by_length: dict[int, list[int]] = {}
    for row, ids in enumerate(encoded):
        by_length.setdefault(len(ids), []).append(row)
    return [rows[first : first + size] for rows in by_length.values() for first in range(0, len(rows), size)]


def label_number(spec: ClassifierReward, config: Any) -> int:
    """The index of the label in `spec`. Raises ModelError, with the model's labels, for an unknown label."""
    names = {int(number): str(name) for number, name in config.id2label.items()}
    if spec.label is None:
        return max(names)
    numbers = [number for number, name in names.items() if spec.label in (number, name)]
    if len(numbers) != 1:
        known = ", ".join(f"{number} = {name}" for number, name in sorted(names.items()))
        raise ModelError(f"{spec.path} has no label {spec.label!r}. Its labels: {known}.")
    return numbers[0]
