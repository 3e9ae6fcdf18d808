from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.orm import Session

from core import jobs
from core.errors import InvalidSpec, NotFound, WrongDatasetKind
from core.models.dataset import DatasetKind
from core.settings import LocalModels
from tests.core.factories import make_dataset, make_job, make_key
from trainer.spec import JobSpec


def _spec(model: str = "owner/model", **data: Any) -> JobSpec:
    return JobSpec.model_validate({"model": model, "data": data, "ppo": {}})


def test_a_spec_is_stored_with_every_default(session: Session) -> None:
    job = make_job(session, name="first")
    assert (job.name, job.status, job.last_seq) == ("first", "queued", 1)
    assert job.spec["ppo"]["policy_loss"]["clip_range"] == 0.2 and job.spec["evaluation"]["prompts"] == 128
    assert JobSpec.model_validate(job.spec).model_dump(mode="json") == job.spec


def test_a_dataset_must_exist_and_be_one_s_own(session: Session) -> None:
    owner, other = make_key(session).id, make_key(session).id
    for dataset_id in ("ds_nope", make_dataset(session, other).id):
        with pytest.raises(NotFound) as refusal:
            jobs.create(session, owner, _spec(preferences=dataset_id))
        assert refusal.value.extras == {"param": "data.preferences"}


def test_a_dataset_must_be_of_the_right_kind(session: Session) -> None:
    owner = make_key(session).id
    preferences, sft = make_dataset(session, owner), make_dataset(session, owner, DatasetKind.SFT)
    with pytest.raises(WrongDatasetKind, match=r"holds sft; data\.prompts takes prompts") as refusal:
        jobs.create(session, owner, _spec(preferences=preferences.id, prompts=sft.id))
    assert refusal.value.extras == {"param": "data.prompts"}


def test_text_that_cannot_be_stored_is_refused_by_its_place(session: Session) -> None:
    with pytest.raises(InvalidSpec) as refusal:
        make_job(session, name="a\x00")
    assert refusal.value.extras["errors"][0]["pointer"] == "#/name"
    assert refusal.value.extras["param"] == "name" and refusal.value.detail.startswith("#/name: holds a NUL")


@pytest.mark.parametrize(
    ("allowed", "path", "fine"),
    [
        ("any", "/models/llama", True),
        ("none", "/models/llama", False),
        ("none", "llama", True),
        ("none", "meta/llama", True),
        ("none", "./llama", False),
        ("none", "~/llama", False),
        ("none", "..", False),
        ("none", "a/b/c", False),
        ([Path("/models")], "/models/llama", True),
        ([Path("/models")], "/models", True),
        ([Path("/models")], "/models-of-others/llama", False),
        ([Path("/models")], "/models/../etc", False),
        ([Path("/models")], "/etc", False),
    ],
)
def test_local_models_are_the_operator_s_to_allow(
    session: Session, allowed: LocalModels, path: str, fine: bool
) -> None:
    owner = make_key(session).id
    spec = _spec(path, preferences=make_dataset(session, owner).id)
    if fine:
        jobs.create(session, owner, spec, allowed)
    else:
        with pytest.raises(InvalidSpec) as refusal:
            jobs.create(session, owner, spec, allowed)
        assert refusal.value.extras["param"] == "model.path"
