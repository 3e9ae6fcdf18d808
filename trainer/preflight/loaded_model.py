"""Checks of a loaded model, before any training."""

from typing import Literal

import torch

from trainer.errors import ModelError
from trainer.models import Model, head_logits, trunk
from trainer.models.rounding import slack
from trainer.preflight.memory.fake_models import Blueprint
from trainer.preflight.own_model import context_findings, critic_findings, vllm_findings, vocabulary_and_head
from trainer.preflight.report import raise_first
from trainer.sampling import SamplingOptions, sample
from trainer.sampling.cache import keeps_in_place, use_growing_cache
from trainer.session.session import Session
from trainer.stages.tokenize import TokenizedData
from trainer.text.codec import Codec
from trainer.text.stops import NO_STOPS

_PROBE = ([1, 2, 3], [4])
_PROBE_TOKENS = 3


def check_fit(session: Session, model: Model, codec: Codec, encoded: TokenizedData) -> None:
    """Raise ModelError for what the run's stages need and the loaded policy lacks.

    These are a vocabulary as large as the tokenizer's, a context that is long enough, a score head, the layers that
    `ppo.critic` names, and an engine that can sample it. Sampling with a cache must agree with the plain forward pass.
    """
    raise_first(vocabulary_and_head(session.spec, model.config, codec.tokenizer))
    if session.spec.ppo.critic.has_frozen_parts:
        device: Literal["cpu", "cuda"] = "cuda" if model.device.type == "cuda" else "cpu"
        raise_first(critic_findings(session.spec, Blueprint(model.config, session.spec.model, device)))
    raise_first(context_findings(session.spec, model.config, encoded))
    raise_first(vllm_findings(session.spec, model.config, model.device.type))
    if {"ppo", "evaluation"} & set(session.spec.stages):
        check_sampling(model)


def check_sampling(model: Model) -> None:
    """Test sampling with the in-place cache, and fall back to transformers' own cache. Raises ModelError if both fail."""
    try:
        _try_sampling(model)
    except ModelError:
        if not keeps_in_place(model):
            raise
        use_growing_cache(model.config.model_type)
        try:
            _try_sampling(model)
        except ModelError:
            use_growing_cache(model.config.model_type, False)
            raise


@torch.no_grad()
def _try_sampling(model: Model) -> None:
    """Raise ModelError if a left-padded batch with a cache draws other tokens than each row alone without one."""
    vocabulary = model.config.get_text_config().vocab_size
    prompts = [[token % vocabulary for token in prompt] for prompt in _PROBE]
    kind = model.config.model_type
    near = slack(getattr(model, "compute_dtype", torch.float32))
    try:
        responses = sample(
            model,
            prompts,
            SamplingOptions(NO_STOPS, 0, 1e-4, model.device),
            _PROBE_TOKENS,
            torch.Generator().manual_seed(0),
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
