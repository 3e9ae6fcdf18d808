"""References to versions, and the states in which a version can be used."""

import pytest
from sqlalchemy.orm import Session

from core import tasks
from core.blobs import blob_store
from core.datasets import publish, versions
from core.datasets.importing import BadRows
from core.datasets.versions import Reference, pin
from core.errors import DatasetBlocked, DatasetFailed, DatasetNotReady, InvalidRequest, NotFound
from core.jobs.submission.submit import submit_job
from core.models import Dataset, DatasetVersion
from core.models.tasks import TaskStatus
from core.settings import get_settings
from data.schema import DatasetKind
from tests.core.factories import jsonl, make_job, make_key, make_version
from trainer.spec import JobSpec

BAD = jsonl([{"prompt": "p", "chosen": "c", "rejected": "r"}, {"prompt": "q", "chosen": "c", "rejected": ""}])


@pytest.fixture
def version(session: Session) -> DatasetVersion:
    return make_version(session, make_key(session).owner_id)


def owner(version: DatasetVersion) -> str:
    return version.dataset.owner_id


def again(session: Session, version: DatasetVersion) -> DatasetVersion:
    """Another version of the dataset, with the same rows."""
    return publish.same_rows(session, blob_store(get_settings()), version, {"type": "fix"})


def importing(session: Session, version: DatasetVersion) -> DatasetVersion:
    return versions.new_version(session, session.get_one(Dataset, version.dataset_id), {"type": "upload"}, version)


def fail(session: Session, version: DatasetVersion, message: str) -> None:
    """Fail the task that makes a version."""
    task = tasks.enqueue(session, owner(version), "import", {"version": version.id})
    tasks.end(session, task, TaskStatus.FAILED, {"code": "invalid_dataset", "message": message})


@pytest.mark.parametrize(
    "text", ["ds_x@", "ds_x@0", "ds_x@-1", "ds_x@1.5", "ds_x@sha256:123", "ds_x@sha256:xyz", "ds_x@1@2"]
)
def test_reference_of_invalid_form_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequest, match="names no version"):
        Reference.parse(text)


def test_reference_id_is_newest_version_and_number_is_exact(session: Session, version: DatasetVersion) -> None:
    second = again(session, version)
    assert (second.number, second.parent_id, second.sha256) == (2, version.id, version.sha256)
    assert versions.get(session, owner(version), version.dataset_id).id == second.id
    assert versions.get(session, owner(version), f"{version.dataset_id}@1").id == version.id
    with pytest.raises(NotFound, match="@3"):
        versions.get(session, owner(version), f"{version.dataset_id}@3")


def test_reference_checksum_prefix_is_newest_version_with_it(session: Session, version: DatasetVersion) -> None:
    second = again(session, version)
    for digits in (8, 64):
        reference = f"{version.dataset_id}@sha256:{str(version.sha256)[:digits]}"
        assert versions.usable(session, owner(version), reference).id == second.id
    with pytest.raises(NotFound):
        versions.get(session, owner(version), f"{version.dataset_id}@sha256:00000000")


def test_another_owner_s_dataset_is_absent(session: Session, version: DatasetVersion) -> None:
    with pytest.raises(NotFound):
        versions.get(session, make_key(session).owner_id, version.dataset_id)


def test_a_job_takes_the_newest_ready_version_and_names_its_rows(session: Session, version: DatasetVersion) -> None:
    importing(session, version)
    spec = JobSpec.model_validate({"model": "some/model", "data": {"preferences": version.dataset_id}, "ppo": {}})
    job = submit_job(session, owner(version), spec)
    assert job.spec["data"]["preferences"] == f"{version.dataset_id}@sha256:{version.sha256}" == pin(version)
    # A stored spec that is submitted again names the same rows.
    assert submit_job(session, owner(version), JobSpec.model_validate(job.spec)).spec == job.spec


def test_a_version_that_is_not_there_yet_cannot_be_used(session: Session, version: DatasetVersion) -> None:
    with pytest.raises(DatasetNotReady, match=r"Version 2 .* still being imported") as refusal:
        versions.usable(session, owner(version), f"{version.dataset_id}@{importing(session, version).number}")
    assert refusal.value.headers["x-should-retry"] == "true"


def test_usable_failed_version_error_states_the_cause(session: Session, version: DatasetVersion) -> None:
    fail(session, importing(session, version), "no rows")
    with pytest.raises(DatasetFailed, match=r"Version 2 .*: no rows"):
        versions.usable(session, owner(version), f"{version.dataset_id}@2")


def test_a_version_that_is_settled_does_not_fail(session: Session, version: DatasetVersion) -> None:
    fail(session, version, "too late")
    assert (version.status, version.error) == ("ready", None)


def test_a_blocked_version_waits_for_a_decision(session: Session) -> None:
    blocked = make_version(session, make_key(session).owner_id, DatasetKind.PREFERENCES, BAD, BadRows.REPORT)
    assert (blocked.status, blocked.left_out, blocked.ready_at) == ("blocked", 1, None)
    (finding,) = blocked.findings
    assert (finding["severity"], finding["count"], finding["lines"]) == ("blocking", 1, [2])
    with pytest.raises(DatasetBlocked, match="leave_out") as refusal:
        versions.usable(session, owner(blocked), blocked.dataset_id)
    assert refusal.value.extras["findings"] == [finding["code"]]
    decided = again(session, blocked)
    assert versions.usable(session, owner(blocked), blocked.dataset_id).id == decided.id
    assert [(found["severity"], found["fix"]) for found in decided.findings] == [("warning", None)]


def test_rows_left_out_at_import_leave_the_version_ready(session: Session) -> None:
    ready = make_version(session, make_key(session).owner_id, DatasetKind.PREFERENCES, BAD, BadRows.LEAVE_OUT)
    assert (ready.status, ready.left_out) == ("ready", 1)
    assert [found["severity"] for found in ready.findings] == ["warning"]


def test_unusable_version_error_names_the_spec_field(session: Session) -> None:
    blocked = make_version(session, make_key(session).owner_id, DatasetKind.PREFERENCES, BAD, BadRows.REPORT)
    with pytest.raises(DatasetBlocked) as refusal:
        make_job(session, owner(blocked), data={"preferences": blocked.dataset_id})
    assert refusal.value.extras["param"] == "data.preferences"


@pytest.mark.parametrize("name", ["", "  ", "a\x00", "a\nb", "a" * 201])
def test_a_name_that_is_none_is_refused(session: Session, name: str) -> None:
    with pytest.raises(InvalidRequest, match="name"):
        versions.new_dataset(session, make_key(session).owner_id, name, "sft")
