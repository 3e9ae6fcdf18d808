"""The keys that `model.config` may hold, for each `model_type`.

`model.config` comes from a REST body and goes to transformers. Its configuration classes take any key, and some keys
run code or load files (`auto_map`, `_attn_implementation_internal`, `quantization_config`, …). Only sizes and switches
of the architecture are listed here; every other key is refused.
"""

import difflib
import re
from collections.abc import Iterator
from typing import Any


def _keys(names: str) -> frozenset[str]:
    return frozenset(names.split())


_COMMON = _keys(
    "bos_token_id eos_token_id hidden_size num_attention_heads num_hidden_layers tie_word_embeddings vocab_size"
)
_ROTARY = _COMMON | _keys(
    "attention_dropout hidden_act initializer_range intermediate_size max_position_embeddings num_key_value_heads "
    "pad_token_id rope_parameters"
)
_RMS_NORM = _ROTARY | _keys("rms_norm_eps")
_GPT2 = _COMMON | _keys(
    "activation_function attn_pdrop embd_pdrop initializer_range layer_norm_epsilon max_position_embeddings "
    "n_embd n_head n_inner n_layer n_positions resid_pdrop"
)

ARCHITECTURES: dict[str, frozenset[str]] = {
    "arcee": _RMS_NORM | _keys("attention_bias head_dim mlp_bias"),
    "bloom": _COMMON
    | _keys(
        "apply_residual_connection_post_layernorm attention_dropout hidden_dropout initializer_range "
        "layer_norm_epsilon n_head n_layer pad_token_id slow_but_exact"
    ),
    "codegen": _GPT2 | _keys("n_ctx rotary_dim"),
    "cohere": _ROTARY | _keys("attention_bias layer_norm_eps logit_scale use_qk_norm"),
    "cohere2": _ROTARY | _keys("attention_bias layer_norm_eps layer_types logit_scale sliding_window"),
    "diffllama": _RMS_NORM | _keys("attention_bias head_dim lambda_std_dev"),
    "exaone4": _RMS_NORM | _keys("layer_types sliding_window sliding_window_pattern"),
    "falcon": _COMMON
    | _keys(
        "activation alibi attention_dropout bias ffn_hidden_size hidden_dropout initializer_range "
        "layer_norm_epsilon max_position_embeddings multi_query new_decoder_architecture num_kv_heads "
        "num_ln_in_parallel_attn pad_token_id parallel_attn rope_parameters"
    ),
    "gemma": _RMS_NORM | _keys("attention_bias head_dim use_bidirectional_attention"),
    "gemma2": _COMMON
    | _keys(
        "attention_bias attention_dropout attn_logit_softcapping final_logit_softcapping head_dim "
        "hidden_activation initializer_range intermediate_size layer_types max_position_embeddings "
        "num_key_value_heads pad_token_id query_pre_attn_scalar rms_norm_eps rope_parameters sliding_window "
        "use_bidirectional_attention"
    ),
    "gemma3_text": _COMMON
    | _keys(
        "attention_bias attention_dropout attn_logit_softcapping final_logit_softcapping head_dim "
        "hidden_activation initializer_range intermediate_size layer_types max_position_embeddings "
        "num_key_value_heads pad_token_id query_pre_attn_scalar rms_norm_eps rope_parameters sliding_window "
        "use_bidirectional_attention"
    ),
    "glm": _RMS_NORM | _keys("attention_bias head_dim"),
    "glm4": _RMS_NORM | _keys("attention_bias head_dim"),
    "gpt2": _GPT2 | _keys("pad_token_id reorder_and_upcast_attn scale_attn_by_inverse_layer_idx scale_attn_weights"),
    "gpt_bigcode": _GPT2
    | _keys("attention_softmax_in_fp32 multi_query pad_token_id scale_attention_softmax_in_fp32 scale_attn_weights"),
    "gpt_neo": _COMMON
    | _keys(
        "activation_function attention_dropout attention_types classifier_dropout embed_dropout initializer_range "
        "intermediate_size layer_norm_epsilon max_position_embeddings num_heads num_layers pad_token_id "
        "resid_dropout window_size"
    ),
    "gpt_neox": _COMMON
    | _keys(
        "attention_bias attention_dropout classifier_dropout hidden_act hidden_dropout initializer_range "
        "intermediate_size is_decoder layer_norm_eps max_position_embeddings pad_token_id rope_parameters "
        "use_parallel_residual"
    ),
    "gptj": _GPT2 | _keys("pad_token_id rotary_dim"),
    "granite": _RMS_NORM
    | _keys("attention_bias attention_multiplier embedding_multiplier logits_scaling mlp_bias residual_multiplier"),
    "helium": _RMS_NORM | _keys("attention_bias head_dim mlp_bias"),
    "llama": _RMS_NORM | _keys("attention_bias head_dim mlp_bias"),
    "ministral": _RMS_NORM | _keys("head_dim layer_types sliding_window"),
    "mistral": _RMS_NORM | _keys("head_dim sliding_window"),
    "mixtral": _RMS_NORM
    | _keys(
        "head_dim num_experts num_experts_per_tok num_local_experts router_aux_loss_coef router_jitter_noise "
        "sliding_window"
    ),
    "mpt": _COMMON
    | _keys(
        "d_model emb_pdrop embedding_fraction expansion_ratio init_device initializer_range layer_norm_epsilon "
        "learned_pos_emb logit_scale max_seq_len n_heads n_layers no_bias norm_type pad_token_id resid_pdrop"
    ),
    "nemotron": _ROTARY | _keys("attention_bias head_dim mlp_bias norm_eps"),
    "olmo": _ROTARY | _keys("attention_bias clip_qkv"),
    "olmo2": _RMS_NORM | _keys("attention_bias"),
    "olmo3": _RMS_NORM | _keys("attention_bias layer_types sliding_window"),
    "opt": _COMMON
    | _keys(
        "activation_function attention_dropout do_layer_norm_before dropout enable_bias ffn_dim init_std "
        "layer_norm_elementwise_affine layerdrop max_position_embeddings pad_token_id word_embed_proj_dim"
    ),
    "persimmon": _COMMON
    | _keys(
        "attention_dropout hidden_act hidden_dropout initializer_range intermediate_size layer_norm_eps "
        "max_position_embeddings pad_token_id qk_layernorm rope_parameters"
    ),
    "phi": _ROTARY | _keys("embd_pdrop layer_norm_eps qk_layernorm resid_pdrop"),
    "phi3": _RMS_NORM | _keys("embd_pdrop original_max_position_embeddings resid_pdrop sliding_window"),
    "qwen2": _RMS_NORM | _keys("layer_types max_window_layers sliding_window use_sliding_window"),
    "qwen2_moe": _RMS_NORM
    | _keys(
        "decoder_sparse_step layer_types max_window_layers mlp_only_layers moe_intermediate_size norm_topk_prob "
        "num_experts num_experts_per_tok qkv_bias router_aux_loss_coef shared_expert_intermediate_size "
        "sliding_window use_sliding_window"
    ),
    "qwen3": _RMS_NORM
    | _keys("attention_bias head_dim layer_types max_window_layers sliding_window use_sliding_window"),
    "qwen3_moe": _RMS_NORM
    | _keys(
        "attention_bias decoder_sparse_step mlp_only_layers moe_intermediate_size norm_topk_prob num_experts "
        "num_experts_per_tok router_aux_loss_coef sliding_window use_sliding_window"
    ),
    "seed_oss": _RMS_NORM | _keys("attention_bias attention_out_bias head_dim mlp_bias residual_dropout"),
    "smollm3": _RMS_NORM
    | _keys(
        "attention_bias layer_types mlp_bias no_rope_layer_interval no_rope_layers sliding_window use_sliding_window"
    ),
    "stablelm": _ROTARY | _keys("hidden_dropout layer_norm_eps qk_layernorm use_parallel_residual use_qkv_bias"),
    "starcoder2": _ROTARY | _keys("embedding_dropout norm_epsilon residual_dropout sliding_window use_bias"),
}
"""Causal language models of transformers that can be made with random weights."""

_NESTED = {"rope_parameters"}
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_LONGEST_LIST = 1024
_PER_LAYER = ("layer_types", "no_rope_layers")
_MOST_KINDS = 2
"""Different items of these lists: with and without a window, with and without rotary embeddings.

The check of a job follows a model of each kind of layers, so that 256 kinds would take it minutes.
"""


def faults(config: dict[str, Any]) -> Iterator[str]:
    """Yield the mistakes in a `model.config`, one sentence for each key."""
    model_type = config.get("model_type")
    if not isinstance(model_type, str) or model_type not in ARCHITECTURES:
        hint = _nearest(model_type, ARCHITECTURES) or f"; known are {', '.join(ARCHITECTURES)}"
        yield f"unknown `model_type` {model_type!r}{hint}"
        return
    known = ARCHITECTURES[model_type]
    for key in sorted(config.keys() - {"model_type"}):
        if key not in known:
            yield f"`config` of a {model_type} has no key {key!r}{_nearest(key, known)}"
        elif not _is_plain(config[key], depth=2 if key in _NESTED else 0):
            yield f"`{key}` must be a number, a switch, a short name or a list of these"
        elif key in _PER_LAYER and (kinds := _different(config[key])) > _MOST_KINDS:
            yield f"`{key}` has {kinds} different items; layers differ by {_MOST_KINDS} at most"


def _different(items: Any) -> int:
    return len(set(map(repr, items))) if isinstance(items, list) else 0


def _nearest(name: object, known: Any) -> str:
    near = difflib.get_close_matches(str(name), sorted(known), n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def _is_plain(value: Any, depth: int) -> bool:
    """Numbers, switches and short names, in lists too; in tables as deep as `depth`."""
    if isinstance(value, str):
        return _NAME.fullmatch(value) is not None
    if isinstance(value, list):
        return len(value) <= _LONGEST_LIST and all(_is_plain(item, 0) for item in value)
    if isinstance(value, dict):
        return depth > 0 and all(_NAME.fullmatch(key) and _is_plain(item, depth - 1) for key, item in value.items())
    return True
