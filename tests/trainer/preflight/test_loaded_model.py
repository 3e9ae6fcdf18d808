"""The checks of a loaded model and its data before any training."""

import json
from pathlib import Path
from typing import Any

import pytest
from transformers import DynamicCache, LlamaConfig

from tests.trainer.tiny_models import gpt2, llama
from trainer.errors import ModelError
from trainer.models import load_policy
from trainer.preflight.loaded_model import check_sampling
from trainer.preflight.own_model import context_findings
from trainer.preflight.report import raise_first
from trainer.sampling.cache import keeps_in_place
from trainer.spec import JobSpec
from trainer.stages.tokenize import TokenizedData
from trainer.stages.tokenized_rows import TokenizedDemonstration, TokenizedPair
from trainer.text.codec import TokenizedPrompt


def test_held_out_texts_count_for_the_context_too() -> None:
    short, long = [1] * 2, [1] * 9
    encoded = TokenizedData(
        examples=[TokenizedDemonstration(short, short)],
        held_out_examples=[TokenizedDemonstration(short, long)],
        references=[],
        pairs=[TokenizedPair(short, short, short, 1.0)],
        held_out_pairs=[TokenizedPair(long, short, long, 1.0)],
        prompts=[TokenizedPrompt("p", short)],
        held_out_prompts=[TokenizedPrompt("p", long)],
    )
    assert (encoded.longest_prompt(), encoded.longest_demonstration(), encoded.longest_side()) == (9, 11, 18)


def test_models_that_sample_as_they_predict_pass() -> None:
    check_sampling(llama())
    check_sampling(gpt2())


def test_a_model_whose_positions_ignore_the_padding_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    model = gpt2()
    forward = model.forward
    monkeypatch.setattr(model, "forward", lambda *a, position_ids=None, **k: forward(*a, **k))
    with pytest.raises(ModelError, match="does not agree with the plain forward pass"):
        check_sampling(model)


def test_a_model_that_needs_its_own_cache_is_sampled_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    model = gpt2()
    forward = model.forward

    def picky(*args: Any, past_key_values: Any = None, **inputs: Any) -> Any:
        if past_key_values is not None and type(past_key_values) is not DynamicCache:
            raise TypeError("not my cache")
        return forward(*args, past_key_values=past_key_values, **inputs)

    monkeypatch.setattr(model, "forward", picky)
    monkeypatch.setattr("trainer.sampling.cache._GROWING", set())
    check_sampling(model)
    assert not keeps_in_place(gpt2()) and keeps_in_place(llama())


def test_code_in_a_model_folder_is_never_run(tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    (tmp_path / "model.py").write_text(f"open({str(marker)!r}, 'w')")
    config = {"model_type": "evil", "auto_map": {"AutoConfig": "model.Config", "AutoModelForCausalLM": "model.Model"}}
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(ModelError, match=r"config\.json: `auto_map` names code"):
        load_policy(tmp_path)
    assert not marker.exists()


def test_short_context_names_the_settings_of_the_stages() -> None:
    encoded = TokenizedData(
        [TokenizedDemonstration([1] * 5, [1] * 9)], [], [], [], [], [], [TokenizedPrompt("p", [1] * 5)]
    )
    job: dict[str, Any] = {
        "model": "unused",
        "data": {"sft": "x"},
        "rewards": [{"type": "length", "target": 3}],
        "evaluation": {"against": "x"},
    }
    for stages, knobs in (
        (["sft"], "`data.max_prompt_tokens` or `data.max_completion_tokens`"),
        (["evaluation"], "`data.max_prompt_tokens` or `evaluation.max_new_tokens`"),
    ):
        spec = JobSpec.model_validate(job | {"stages": stages})
        with pytest.raises(ModelError) as caught:
            raise_first(context_findings(spec, LlamaConfig(max_position_embeddings=10), encoded))
        assert str(caught.value).endswith(f"the model's context is 10. Lower {knobs}.")
