from typing import Any

import pytest
from pydantic import ValidationError
from sqlalchemy.orm import Session

from core.errors import LimitExceeded, QuotaExceeded
from core.jobs.lifecycle.actors import PLATFORM
from core.jobs.lifecycle.state import Request, request
from core.jobs.submission.limits import LIMITS, check_limits
from core.jobs.submission.templates import create_template
from core.settings import Settings, get_settings
from tests.core.factories import make_job, make_key
from trainer.spec import JobSpec


def _spec(**fields: Any) -> JobSpec:
    return JobSpec.model_validate({"model": "some/model", "data": {"preferences": "ds_1"}} | fields)


def test_limits_accept_the_default_spec(settings: Settings) -> None:
    check_limits(_spec(), settings)


@pytest.mark.parametrize(
    ("fields", "pointer", "value", "limit", "setting"),
    [
        ({"ppo": {"steps": 10**9}}, "#/ppo/steps", 10**9, 1_000_000, "PROXIMAL_MAX_STEPS"),
        ({"sft": {"epochs": 5000}}, "#/sft/epochs", 5000, 1000, "PROXIMAL_MAX_EPOCHS"),
        (
            {"ppo": {"critic": {"pretraining": {"iterations": 10**7}}}},
            "#/ppo/critic/pretraining/iterations",
            10**7,
            1_000_000,
            "PROXIMAL_MAX_STEPS",
        ),
        (
            {"ppo": {"critic": {"train": "adapters", "adapters": {"rank": 10**5}}}},
            "#/ppo/critic/adapters/rank",
            10**5,
            65_536,
            "PROXIMAL_MAX_MODEL_WIDTH",
        ),
        ({"ppo": {"critic": {"epochs": 5000}}}, "#/ppo/critic/epochs", 5000, 1000, "PROXIMAL_MAX_EPOCHS"),
        ({"dpo": {"batch_size": 10**6}}, "#/dpo/batch_size", 10**6, 4096, "PROXIMAL_MAX_BATCH_SIZE"),
        # 512 tokens of prompt and 100,000 of response
        ({"ppo": {"max_new_tokens": 10**5}}, "#/ppo/max_new_tokens", 100_512, 32768, "PROXIMAL_MAX_SEQUENCE_TOKENS"),
        (
            {"resources": {"processes": 50, "machines": 100}},
            "#/resources/processes",
            5000,
            64,
            "PROXIMAL_MAX_PROCESSES",
        ),
        ({"seeds": 64}, "#/seeds", 64, 16, "PROXIMAL_MAX_SEEDS"),
    ],
)
def test_limits_name_the_field_the_value_and_the_setting(
    settings: Settings, fields: dict[str, Any], pointer: str, value: int, limit: int, setting: str
) -> None:
    with pytest.raises(LimitExceeded) as refused:
        check_limits(_spec(**fields), settings)
    error = refused.value.extras["errors"][0]
    assert (error["pointer"], error["value"], error["limit"], error["setting"]) == (pointer, value, limit, setting)
    assert all(text in refused.value.detail for text in (pointer, str(value), str(limit), setting))


def _new(**config: Any) -> JobSpec:
    sizes = {"model_type": "llama", "hidden_size": 512, "num_hidden_layers": 2, "num_attention_heads": 8}
    return _spec(model={"config": sizes | config, "tokenizer": {"vocab_size": 1024}})


@pytest.mark.parametrize(
    ("config", "pointer", "value", "limit", "setting"),
    [
        ({"num_hidden_layers": 2000}, "num_hidden_layers", 2000, 256, "LAYERS"),
        ({"hidden_size": 131072}, "hidden_size", 131072, 65536, "WIDTH"),
        ({"intermediate_size": 10**6}, "intermediate_size", 10**6, 65536, "WIDTH"),
        ({"head_dim": 10**5}, "num_attention_heads", 800_000, 65536, "WIDTH"),
        ({"num_attention_heads": 2048}, "num_attention_heads", 2048, 1024, "HEADS"),
        ({"max_position_embeddings": 2**24}, "max_position_embeddings", 2**24, 2**20, "POSITIONS"),
        ({"model_type": "qwen3_moe", "num_experts": 1000}, "num_experts", 1000, 512, "EXPERTS"),
        ({"model_type": "gpt2", "n_layer": 300}, "num_hidden_layers", 300, 256, "LAYERS"),
    ],
)
def test_limits_name_the_size_of_a_new_model(
    settings: Settings, config: dict[str, Any], pointer: str, value: int, limit: int, setting: str
) -> None:
    with pytest.raises(LimitExceeded) as refused:
        check_limits(_new(**config), settings)
    error = next(
        e for e in refused.value.extras["errors"] if e["pointer"] == f"#/model/config/{pointer}" and e["value"] == value
    )
    assert (error["limit"], error["setting"]) == (limit, f"PROXIMAL_MAX_MODEL_{setting}")


def test_limits_count_parameters_by_arithmetic(settings: Settings) -> None:
    """200 layers of 4·16384² + 3·16384·11008 numbers, and 2 × 1024 embeddings of 16384: 322.99 billion."""
    with pytest.raises(LimitExceeded) as refused:
        check_limits(_new(hidden_size=16384, num_hidden_layers=200), settings)
    layer = 4 * 16384**2 + 3 * 16384 * 11008
    errors = {error["pointer"]: error["value"] for error in refused.value.extras["errors"]}
    assert errors == {"#/model/config": 200 * layer + 2 * 1024 * 16384}


def test_limits_bound_the_rank_of_adapters(settings: Settings) -> None:
    with pytest.raises(LimitExceeded, match=r"#/model/lora/rank: 1000000 ranks"):
        check_limits(_spec(model={"path": "some/model", "lora": {"rank": 10**6}}), settings)


def test_template_beyond_a_limit_is_refused(session: Session) -> None:
    owner = make_key(session).owner_id
    config = {"model_type": "llama", "num_hidden_layers": 2000}
    with pytest.raises(LimitExceeded, match="404758724608 parameters"):
        create_template(session, owner, "deep", "", {"model": {"config": config, "tokenizer": {"vocab_size": 1024}}})


@pytest.mark.parametrize("fields", [{"ppo": {"minibatches": 2**31}}, {"evaluation": {"prompts": 10**12}}])
def test_spec_refuses_numbers_that_overflow(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="at most 2,147,483,647"):
        _spec(**fields)


def test_limits_count_the_tokens_of_a_whole_batch(settings: Settings) -> None:
    """Pairs count twice: 4096 × 2 × (1024 + 1024) = 16,777,216."""
    data = {"preferences": "ds_1", "max_prompt_tokens": 1024, "max_completion_tokens": 1024}
    spec = _spec(reward_model={"batch_size": 4096}, data=data)
    with pytest.raises(LimitExceeded) as refused:
        check_limits(spec, settings)
    errors = {error["pointer"]: error["value"] for error in refused.value.extras["errors"]}
    assert errors == {"#/reward_model/batch_size": 16_777_216}


def test_limits_table_names_settings_and_fields(settings: Settings) -> None:
    schema = JobSpec.model_json_schema()
    for limit in LIMITS:
        assert isinstance(getattr(settings, limit.setting), int)
        assert limit.field.split(".")[0] in schema["properties"]


def test_submit_refuses_more_open_jobs_than_allowed(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, other = make_key(session).owner_id, make_key(session).owner_id
    monkeypatch.setenv("PROXIMAL_MAX_OPEN_JOBS", "2")
    get_settings.cache_clear()
    first = make_job(session, owner)
    make_job(session, owner)
    with pytest.raises(QuotaExceeded, match="2 unfinished jobs") as refused:
        make_job(session, owner)
    assert refused.value.extras["setting"] == "PROXIMAL_MAX_OPEN_JOBS"
    session.rollback()
    make_job(session, other)  # another owner is not affected
    request(session, first, Request.CANCEL, PLATFORM)
    make_job(session, owner)
