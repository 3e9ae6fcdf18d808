from typing import Any

import pytest
from sqlalchemy.orm import Session

from core.errors import LimitExceeded, QuotaExceeded
from core.jobs.actors import PLATFORM
from core.jobs.limits import LIMITS, check_limits
from core.jobs.state import request_cancel
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
    owner, other = make_key(session).id, make_key(session).id
    monkeypatch.setenv("PROXIMAL_MAX_OPEN_JOBS", "2")
    get_settings.cache_clear()
    first = make_job(session, owner)
    make_job(session, owner)
    with pytest.raises(QuotaExceeded, match="2 unfinished jobs") as refused:
        make_job(session, owner)
    assert refused.value.extras["setting"] == "PROXIMAL_MAX_OPEN_JOBS"
    session.rollback()
    make_job(session, other)  # another owner is not affected
    request_cancel(session, first, PLATFORM)
    make_job(session, owner)
