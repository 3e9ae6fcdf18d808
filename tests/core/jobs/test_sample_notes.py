"""Notes on completions: they stay with the text that they were written on."""

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from core.blobs import blob_store
from core.errors import CompletionReplaced, InvalidRequest, NotFound, QuotaExceeded
from core.jobs.actions.branch import clone_job
from core.jobs.lifecycle import attempts, removal
from core.jobs.lifecycle.actors import PLATFORM
from core.jobs.run import sample_notes
from core.jobs.run.events import append_events
from core.jobs.run.sample_notes import SamplePlace, Written, delete_note, list_notes, replaced_notes, write_note
from core.jobs.run.samples import OneSeed
from core.models import Job, SampleNote
from core.models.jobs import JobStatus
from core.settings import get_settings
from tests.core.factories import make_job, running
from trainer.events import Sample, Samples, TokenRow


@pytest.fixture
def job(session: Session) -> Job:
    """Running, with two completions at step 2."""
    made = make_job(session)
    running(session, made)
    log(session, made, "first", "second")
    return made


def log(session: Session, job: Job, *responses: str, step: int = 2, seed: int | None = None) -> None:
    table = [TokenRow(text="a")]
    rows = [Sample(prompt="p", response=one, score=0.5, token_table=table) for one in responses]
    append_events(session, job.id, 1, [Samples(stage="ppo", step=step, rows=rows, seed=seed)])
    session.commit()


def write(session: Session, job: Job, index: int = 0, text: str = "A note", seed: OneSeed | None = None) -> SampleNote:
    note = write_note(session, job, SamplePlace("ppo", 2, index, seed), Written(text, "ada"))
    session.commit()
    return note


def listed(session: Session, job: Job, seed: OneSeed | None = None) -> list[tuple[str, str, bool]]:
    """Text, response and whether it was replaced, of each note, oldest first."""
    notes = list_notes(session, job, None, seed, None, 100, "asc").items
    replaced = replaced_notes(session, job, notes)
    return [(note.text, note.sample["response"], note.id in replaced) for note in notes]


def test_second_note_on_a_completion_takes_the_first_s_place(session: Session, job: Job) -> None:
    first = write(session, job)
    again = write(session, job, text="Better")
    assert again.id == first.id and again.updated_at > again.created_at
    assert listed(session, job) == [("Better", "first", False)]
    assert "token_table" not in again.sample and again.sample["score"] == 0.5


def test_repeated_step_with_other_texts_replaces_the_completion(session: Session, job: Job) -> None:
    write(session, job)
    log(session, job, "other", "second")
    assert listed(session, job) == [("A note", "first", True)]
    write(session, job, text="On the new one")
    assert listed(session, job) == [("A note", "first", True), ("On the new one", "other", False)]


def test_repeated_step_with_equal_texts_keeps_its_notes(session: Session, job: Job) -> None:
    note = write(session, job)
    log(session, job, "first", "second")
    assert listed(session, job) == [("A note", "first", False)]
    assert write(session, job, text="Edited").id == note.id


def test_text_that_comes_back_has_its_note_again(session: Session, job: Job) -> None:
    write(session, job)
    log(session, job, "other")
    log(session, job, "first")
    assert listed(session, job) == [("A note", "first", False)]


def test_repeated_step_with_fewer_completions_leaves_no_match(session: Session, job: Job) -> None:
    write(session, job, index=1)
    log(session, job, "first")
    assert listed(session, job) == [("A note", "second", True)]


def test_note_on_a_text_that_was_replaced_meanwhile_is_refused(session: Session, job: Job) -> None:
    with pytest.raises(CompletionReplaced, match=r"ppo\.2\.0 has another response now"):
        write_note(session, job, SamplePlace("ppo", 2, 0, None), Written("A note", response="an older one"))
    assert listed(session, job) == []


def test_seeds_have_notes_of_their_own(session: Session) -> None:
    job = make_job(session, seed=5, seeds=2)
    running(session, job)
    for seed in (5, 6):
        log(session, job, "same", seed=seed)
    for seed in (5, 6):
        write(session, job, text=f"of {seed}", seed=OneSeed(seed, 5))
    log(session, job, "other", seed=6)
    assert listed(session, job) == [("of 5", "same", False), ("of 6", "same", True)]
    assert listed(session, job, OneSeed(5, 5)) == [("of 5", "same", False)]
    with pytest.raises(InvalidRequest, match="has the seeds 5 to 6"):
        sample_notes.seed_to_note(job, None)


def test_absent_completion_has_no_note(session: Session, job: Job) -> None:
    for place in (
        SamplePlace("ppo", 2, 2, None),
        SamplePlace("ppo", 3, 0, None),
        SamplePlace("evaluation", 2, 0, None),
    ):
        with pytest.raises(NotFound, match=f"no completion {place.name}"):
            write_note(session, job, place, Written("A note"))


def test_number_of_notes_is_bounded(session: Session, job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sample_notes, "MOST_NOTES", 1)
    write(session, job)
    write(session, job, text="The same completion")
    with pytest.raises(QuotaExceeded, match="This platform allows 1"):
        write(session, job, index=1)


def test_note_of_another_job_is_not_deleted(session: Session, job: Job) -> None:
    note = write(session, job)
    attempts.finish(session, job.id, 1, JobStatus.SUCCEEDED, "Done.")
    with pytest.raises(NotFound):
        delete_note(session, make_job(session), note.id)
    delete_note(session, job, note.id)
    assert listed(session, job) == []


def test_clone_has_no_notes_of_its_source(session: Session, job: Job) -> None:
    write(session, job)
    clone = clone_job(session, job, {}, get_settings(), PLATFORM)
    assert listed(session, clone) == []


def test_notes_are_deleted_with_their_job(session: Session, job: Job) -> None:
    write(session, job)
    attempts.finish(session, job.id, 1, JobStatus.SUCCEEDED, "Done.")
    removal.delete_job(session, blob_store(get_settings()), job.id)
    session.commit()
    assert session.scalars(select(SampleNote)).all() == []
