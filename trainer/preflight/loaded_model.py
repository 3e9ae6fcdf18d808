"""Refuses, before any training, a model that would fail in the middle of the run."""

import copy
import difflib

import torch
from transformers import CONFIG_MAPPING, AutoModelForSequenceClassification

from trainer.errors import ModelError
from trainer.models import Model, has_linear_score, head_logits, trunk
from trainer.models.rounding import slack
from trainer.sampling import sample
from trainer.sampling.cache import keeps_in_place, let_grow
from trainer.session.session import Session
from trainer.spec import JobSpec, ModelSpec
from trainer.stages.tokenize import TokenizedData, learns_from
from trainer.text.codec import Codec, embedding_rows
from trainer.text.stops import NO_STOPS

_PROBE = ([1, 2, 3], [4])
_PROBE_TOKENS = 3


def check_config(spec: ModelSpec) -> None:
    """Raise ModelError for a `model.config` with an unknown `model_type` or an unknown key, with the nearest known one."""
    if spec.config is None:
        return
    model_type, config = str(spec.config["model_type"]), spec.config.keys() - {"model_type"}
    if model_type not in CONFIG_MAPPING:
        near = _nearest(model_type, list(CONFIG_MAPPING))
        raise ModelError(f"`model.config`: unknown `model_type` {model_type!r}{near}")
    known_config = CONFIG_MAPPING[model_type]()
    known = {*known_config.to_dict(), *known_config.attribute_map}
    for key in sorted(config):
        if key not in known:
            raise ModelError(f"`model.config` has an unknown field {key!r}{_nearest(key, sorted(known))}")


def check_fit(session: Session, model: Model, codec: Codec, encoded: TokenizedData) -> None:
    """Raise ModelError for what the run's stages need and the model has not: a vocabulary as large as the tokenizer's, a
    context that is long enough, a score head, sampling that goes right."""
    spec, stages = session.spec, set(session.spec.stages)
    config, tokens = model.config.get_text_config(), embedding_rows(codec.tokenizer)
    if tokens > config.vocab_size:
        raise ModelError(
            f"The tokenizer has {tokens} tokens, the model only {config.vocab_size}: they do not belong together."
        )
    _check_context(getattr(config, "max_position_embeddings", None), encoded, spec)
    if "reward_model" in stages or ("ppo" in stages and spec.ppo.uses_critic and spec.ppo.critic.kind == "separate"):
        _check_score_head(model)
    if stages & {"ppo", "evaluation"}:
        check_sampling(model)


def _check_context(context: int | None, encoded: TokenizedData, spec: JobSpec) -> None:
    stages, answer = set(spec.stages), spec.evaluation.max_new_tokens or spec.ppo.max_new_tokens
    held_out = max((len(prompt.ids) for prompt in encoded.held_out_prompts), default=0)
    text = max(map(len, encoded.texts), default=0)
    prompt, completion, response = "`data.max_prompt_tokens`", "`data.max_completion_tokens`", "`ppo.max_new_tokens`"
    own = spec.evaluation.max_new_tokens is not None or "ppo" not in stages
    on_pairs = stages if learns_from(spec, "comparisons") else set()
    on_thumbs = stages if learns_from(spec, "thumbs") else set()
    held_out_response = "`evaluation.max_new_tokens`" if own else response
    needs = [
        (what, tokens, knobs)
        for needed, what, tokens, knobs in (
            ({"sft"}, "The longest demonstration", encoded.longest_demonstration(), (prompt, completion)),
            (on_pairs, "The longest preference pair", encoded.longest_side(), (prompt, completion)),
            (on_thumbs, "The longest completion with a thumb", encoded.longest_thumb(), (prompt, completion)),
            (
                {"kto"},
                "The longest prompt and completion of `data.thumbs`, which KTO pairs for its reference point,",
                encoded.longest_thumb(mismatched=True),
                (prompt, completion),
            ),
            (
                {"ppo"},
                "The longest prompt and `ppo.max_new_tokens` together",
                encoded.longest_prompt() + spec.ppo.max_new_tokens,
                (prompt, response),
            ),
            ({"ppo"}, "The longest text of `data.pretraining`", text, ("`ppo.ptx.max_tokens`",)),
            (
                {"ppo", "evaluation"},
                "The longest held-out prompt and its response together",
                held_out + answer,
                (prompt, held_out_response),
            ),
        )
        if needed & stages
    ]
    for what, tokens, knobs in needs:
        if context is not None and tokens > context:
            raise ModelError(
                f"{what}: {tokens} tokens, but the model's context is {context}. Lower {' or '.join(knobs)}."
            )


def _check_score_head(model: Model) -> None:
    """Made without memory, on the meta device."""
    kind, config = model.config.model_type, copy.deepcopy(model.config)
    config.num_labels = 1
    try:
        with torch.device("meta"):
            scorer = AutoModelForSequenceClassification.from_config(config)
    except (ValueError, KeyError, AttributeError) as error:
        raise ModelError(f"{kind}: transformers has no reward model for this architecture.") from error
    if not has_linear_score(scorer):
        raise ModelError(f"{kind}: the reward model of this architecture has no linear `score` head.")


def check_sampling(model: Model) -> None:
    """A model that is not sampled right with the cache that is written in place is sampled with its own, if that goes."""
    try:
        _try_sampling(model)
    except ModelError:
        if not keeps_in_place(model):
            raise
        let_grow(model.config.model_type)
        try:
            _try_sampling(model)
        except ModelError:
            let_grow(model.config.model_type, False)
            raise


@torch.no_grad()
def _try_sampling(model: Model) -> None:
    """A ragged, left-padded batch with a cache must say what each row says alone without one."""
    vocabulary = model.config.get_text_config().vocab_size
    prompts = [[token % vocabulary for token in prompt] for prompt in _PROBE]
    kind = model.config.model_type
    near = slack(getattr(model, "compute_dtype", torch.float32))
    try:
        responses = sample(
            model,
            prompts,
            stops=NO_STOPS,
            pad_id=0,
            max_new_tokens=_PROBE_TOKENS,
            temperature=1e-4,
            generator=torch.Generator().manual_seed(0),
            device=model.device,
        )
    except (TypeError, AttributeError, ValueError, RuntimeError, IndexError) as error:
        raise ModelError(f"{kind}: this architecture cannot be sampled with a cache here: {error}") from error
    for prompt, response in zip(prompts, responses, strict=True):
        ids = torch.tensor([prompt + response.ids], device=model.device)
        hidden = trunk(model)(input_ids=ids, use_cache=False).last_hidden_state
        logits = head_logits(model, hidden[0, len(prompt) - 1 : -1]).float()
        best, chosen = logits.max(-1).values, logits.gather(-1, ids[0, len(prompt) :, None])[:, 0]
        if not torch.allclose(best, chosen, rtol=near, atol=near):
            raise ModelError(f"{kind}: padded sampling with a cache does not agree with the plain forward pass.")


def _nearest(name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {near[0]!r}?" if near else "."
