from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from core.errors import InvalidSpec, NotFound, WrongDatasetKind
from core.jobs.submission.submit import submit_job
from core.models import JobDataset
from core.settings import get_settings
from data.schema import DatasetKind
from tests.core.factories import make_dataset, make_job, make_key
from trainer.spec import JobSpec

JUDGE = {"type": "http_judge", "url": "http://10.0.0.1/"}
LABELS = {"online": {"label_by": {"type": "http", "url": "http://10.0.0.1/"}}}


def _spec(model: str = "owner/model", **data: Any) -> JobSpec:
    return JobSpec.model_validate({"model": model, "data": data, "ppo": {}})


def test_a_spec_is_stored_with_every_default(session: Session) -> None:
    job = make_job(session, name="first")
    assert (job.name, job.status, job.last_seq) == ("first", "queued", 1)
    assert (
        job.spec["ppo"]["policy_loss"]["clip_range"] == 0.2 and job.spec["evaluation"]["prompts"] == 160
    )  # 64 × 10 ÷ 4
    assert JobSpec.model_validate(job.spec).model_dump(mode="json") == job.spec


def test_submit_requires_an_existing_dataset_of_the_owner(session: Session) -> None:
    owner, other = make_key(session).owner_id, make_key(session).owner_id
    for dataset_id in ("ds_nope", make_dataset(session, other).id):
        with pytest.raises(NotFound) as refusal:
            submit_job(session, owner, _spec(preferences=dataset_id))
        errors = [{"pointer": "#/data/preferences", "detail": f"There is no dataset {dataset_id!r}."}]
        assert refusal.value.extras == {"param": "data.preferences", "errors": errors}


def test_a_dataset_must_be_of_the_right_kind(session: Session) -> None:
    owner = make_key(session).owner_id
    preferences, sft = make_dataset(session, owner), make_dataset(session, owner, DatasetKind.SFT)
    with pytest.raises(WrongDatasetKind, match=r"holds sft\. data\.prompts takes prompts") as refusal:
        submit_job(session, owner, _spec(preferences=preferences.id, prompts=sft.id))
    assert refusal.value.extras == {"param": "data.prompts"}


def test_submit_evaluation_prompts_are_a_pinned_prompts_dataset(session: Session) -> None:
    """A dataset of another kind is refused."""
    owner = make_key(session).owner_id
    preferences, prompts = make_dataset(session, owner), make_dataset(session, owner, DatasetKind.PROMPTS)
    with pytest.raises(WrongDatasetKind, match=r"holds preferences\. data\.evaluation_prompts takes prompts"):
        submit_job(session, owner, _spec(preferences=preferences.id, evaluation_prompts=preferences.id))
    job = submit_job(session, owner, _spec(preferences=preferences.id, evaluation_prompts=prompts.id))
    assert job.spec["data"]["evaluation_prompts"].startswith(f"{prompts.id}@sha256:")
    read = session.execute(select(JobDataset.role).where(JobDataset.job_id == job.id)).scalars()
    assert set(read) == {"preferences", "evaluation_prompts"}


def test_text_that_cannot_be_stored_is_refused_by_its_place(session: Session) -> None:
    with pytest.raises(InvalidSpec) as refusal:
        make_job(session, name="a\x00")
    assert refusal.value.extras["errors"][0]["pointer"] == "#/name"
    assert refusal.value.extras["param"] == "name" and refusal.value.detail.startswith("#/name: holds a NUL")


@pytest.mark.parametrize(
    ("allowed", "path", "fine"),
    [
        ([], "/models/llama", False),
        ([], "llama", True),
        ([], "meta/llama", True),
        ([], "./llama", False),
        ([], "~/llama", False),
        ([], "..", False),
        ([], "a/b/c", False),
        (["/models"], "/models/llama", True),
        (["/models"], "/models", True),
        (["/models"], "/models-of-others/llama", False),
        (["/models"], "/models/../etc", False),
        (["/models"], "/etc", False),
        (["/"], "/etc", True),
    ],
)
def test_local_models_are_the_operator_s_to_allow(session: Session, allowed: list[str], path: str, fine: bool) -> None:
    owner = make_key(session).owner_id
    spec = _spec(path, preferences=make_dataset(session, owner).id)
    settings = get_settings().model_copy(update={"local_models": [Path(folder) for folder in allowed]})
    if fine:
        submit_job(session, owner, spec, settings)
    else:
        with pytest.raises(InvalidSpec) as refusal:
            submit_job(session, owner, spec, settings)
        assert refusal.value.extras["param"] == "model.path"


@pytest.mark.parametrize(
    ("part", "param"),
    [
        ({"reward_model": {"path": "/secret"}}, "reward_model.path"),
        ({"ppo": {"reference": {"path": "/secret"}}}, "ppo.reference.path"),
        ({"evaluation": {"against": "./secret"}}, "evaluation.against"),
        ({"evaluation": {"judge": {"type": "model", "path": "/secret"}}}, "evaluation.judge.path"),
        ({"rewards": [{"type": "model"}, {"type": "classifier", "path": "/secret"}]}, "rewards.1.path"),
        ({"rewards": [{"type": "lexicon", "path": "secret"}]}, "rewards.0.path"),
        ({"ppo": {"online": {"label_by": {"type": "classifier", "path": "/secret"}}}}, "ppo.online.label_by.path"),
    ],
)
def test_the_same_holds_for_every_path_of_a_spec(session: Session, part: dict[str, Any], param: str) -> None:
    owner = make_key(session).owner_id
    spec = _spec(preferences=make_dataset(session, owner).id).model_dump() | part
    with pytest.raises(InvalidSpec, match="PROXIMAL_LOCAL_MODELS") as refusal:
        submit_job(session, owner, JobSpec.model_validate(spec), get_settings())
    assert refusal.value.extras["param"] == param


@pytest.mark.parametrize(
    ("part", "param"),
    [
        ({"rewards": [{"type": "http", "url": "http://10.0.0.1/"}, {"type": "model"}]}, "rewards.0.url"),
        ({"evaluation": {"judge": JUDGE}}, "evaluation.judge.url"),
        ({"ppo": LABELS}, "ppo.online.label_by.url"),
    ],
)
def test_addresses_are_the_operator_s_to_allow(session: Session, part: dict[str, Any], param: str) -> None:
    owner = make_key(session).owner_id
    spec = JobSpec.model_validate(_spec(preferences=make_dataset(session, owner).id).model_dump() | part)
    with pytest.raises(InvalidSpec, match="PROXIMAL_REWARD_URLS") as refusal:
        submit_job(session, owner, spec)
    assert refusal.value.extras["param"] == param
    for allowed in ("any", ["http://10.0.0.1"]):
        submit_job(session, owner, spec, get_settings().model_copy(update={"reward_urls": allowed}))
