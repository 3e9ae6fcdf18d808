"""A teacher is checked before it loads, and counted by the memory estimate."""

from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from tests.trainer.preflight.checked_jobs import checked, only
from tests.trainer.preflight.test_phases import LLAMA, spec_of
from tests.trainer.stage_tools import new_codec
from trainer.errors import ModelError
from trainer.models import load_tokenizer
from trainer.preflight.memory.fake_models import Blueprint
from trainer.preflight.memory.residents import NamedScorers, resident
from trainer.preflight.report import Phase
from trainer.preflight.scorers import named_scorers
from trainer.text.codec import train_tokenizer

ALONE = {"advantage": {"estimator": "sequence", "normalize": "none"}, "kl": {"coef": 0.0}}
WIDE = LlamaConfig(  # type: ignore[call-arg]
    vocab_size=300, hidden_size=64, intermediate_size=96, num_hidden_layers=3, num_attention_heads=4,
    num_key_value_heads=4, max_position_embeddings=256,
)  # fmt: skip


def saved(folder: Path, tokenizer: Any, **sizes: Any) -> str:
    config = LlamaConfig.from_dict(WIDE.to_dict() | {"vocab_size": max(300, len(tokenizer))} | sizes)
    torch.manual_seed(0)
    LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


def report(folder: Path, teacher: str) -> Any:
    """The check of a job on a pretrained student."""
    student = saved(folder / "student", new_codec().tokenizer, hidden_size=16, max_position_embeddings=128)
    ppo = {"steps": 2, "batch_size": 8, "max_new_tokens": 40, "teacher": {"path": teacher}}
    return checked(folder, model={"path": student, "config": None, "tokenizer": None}, stages=["ppo"], ppo=ppo | ALONE)


def test_teacher_with_the_same_tokenizer_passes(tmp_path: Path) -> None:
    found = report(tmp_path, saved(tmp_path / "teacher", new_codec().tokenizer))
    assert [one.detail for one in found.findings if one.level == "error"] == []


def test_teacher_with_another_tokenizer_is_refused_unloaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    teacher = saved(tmp_path / "teacher", train_tokenizer(["other words entirely, merged otherwise"] * 9, 290))
    monkeypatch.setattr(LlamaForCausalLM, "from_pretrained", lambda *_, **__: pytest.fail("a model was loaded"))
    found = only(report(tmp_path, teacher), "invalid_model")
    assert (found.where, found.level) == ("#/ppo/teacher/path", "error")
    assert found.detail == f"{teacher} has another tokenizer than the policy, so it cannot read the policy's tokens."


def test_teacher_with_a_short_context_is_refused(tmp_path: Path) -> None:
    teacher = saved(tmp_path / "teacher", new_codec().tokenizer, max_position_embeddings=42)
    found = only(report(tmp_path, teacher), "context")
    assert found.where == "#/ppo/teacher/path" and "but the teacher's context is 42" in found.detail


def test_missing_teacher_is_an_error(tmp_path: Path) -> None:
    found = only(report(tmp_path, str(tmp_path / "gone")), "invalid_model")
    assert found.where == "#/ppo/teacher/path" and "There is no folder" in found.detail


def weights(phase: Phase, scorers: NamedScorers, **changes: Any) -> int:
    spec = spec_of(stages=["ppo", "evaluation"], rewards=[{"type": "length", "target": 3}], **changes)
    return resident(spec, phase, Blueprint(LLAMA, spec.model, "cpu"), scorers).weights


@pytest.mark.parametrize("phase", ["ppo_rollout", "ppo_score", "ppo_update", "evaluation"])
def test_teacher_is_counted_by_its_own_size(phase: Phase) -> None:
    """An embedding and an output layer of 300·64, and 3 layers: 4·64² + 3·64·96 + 2·64; the last norm has 64."""
    with_teacher, without = ({"ppo": {"teacher": one}} for one in ({"path": "t"}, None))
    more = weights(phase, NamedScorers(teacher=WIDE), **with_teacher) - weights(phase, NamedScorers(), **without)
    assert more == 4 * (2 * 300 * 64 + 3 * (4 * 64**2 + 3 * 64 * 96 + 2 * 64) + 64)


def test_teacher_beside_adapters_has_its_own_backbone() -> None:
    lora = {"model": {"path": "unused", "lora": {"rank": 2}}}
    taught, alone = (
        weights("ppo_score", NamedScorers(teacher=WIDE), ppo={"teacher": t}, **lora) for t in ({"path": "t"}, None)
    )
    blueprint = Blueprint(LLAMA, spec_of(**lora).model, "cpu")
    assert taught - alone == blueprint.of_teacher(WIDE).frozen_bytes("policy")
    itself = weights("ppo_score", NamedScorers(teacher=LLAMA), ppo={"teacher": {"path": "unused"}}, **lora)
    assert itself == alone  # the teacher is the shared backbone without its adapter


def test_configuration_of_the_teacher_is_read_for_the_estimate(tmp_path: Path) -> None:
    codec = new_codec()
    path = saved(tmp_path / "teacher", codec.tokenizer)
    spec = spec_of(stages=["ppo"], rewards=[{"type": "length", "target": 3}], ppo={"teacher": {"path": path}})
    assert named_scorers(spec, codec).teacher.hidden_size == 64
    assert load_tokenizer(path).get_vocab() == codec.tokenizer.get_vocab()
    without = spec_of(stages=["ppo"], rewards=[{"type": "length", "target": 3}])
    assert named_scorers(without, codec).teacher is None
    with pytest.raises(ModelError, match="There is no folder"):
        named_scorers(
            spec_of(stages=["ppo"], rewards=[{"type": "length", "target": 3}], ppo={"teacher": {"path": "/gone"}}),
            codec,
        )
