"""The list of an owner's jobs: filters, a search for words, the tags in use, and figures that the rows do not hold."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from sqlalchemy import BigInteger, ColumnElement, Select, cast, false, func, literal_column, or_, select, text, true
from sqlalchemy.dialects.postgresql import REGCONFIG, TSQUERY
from sqlalchemy.orm import Session

from core.datasets.versions import Reference
from core.errors import InvalidRequest
from core.jobs.overview.fields import Condition
from core.jobs.overview.folding import newest_of_each
from core.jobs.overview.sorting import GPU_HOURS, JobOrder, sorted_jobs
from core.models import Dataset, DatasetVersion, Job, JobDataset, JobGroupMember
from core.models.jobs import JobStatus
from core.paging import Page, page, position

MOST_TAGS_LISTED = 1000
_MOST_RARE = 1000
"""Most jobs with a word that counts as rare."""
_MODEL_PREFIX = 400
"""Length of the column `model`."""

JobHealthFilter = Literal["none", "warning", "error"]
"""`none`: a job without findings. The others: the severity of its gravest one."""


@dataclass(frozen=True)
class JobFilter:
    """Conditions on the jobs of a list. All of them must hold."""

    statuses: Sequence[JobStatus] = ()
    """One of these states."""
    health: Sequence[JobHealthFilter] = ()
    """The gravest finding has one of these severities; `none`: there is no finding."""
    archived: bool = False
    """Archived jobs instead of the others."""
    tags: Sequence[str] = ()
    """Each of these tags, normalised."""
    model: str | None = None
    """`model.path` of the spec."""
    dataset: str | None = None
    """A dataset, or a version by `ds_…@…` or by its own id."""
    external_id: str | None = None
    parent: str | None = None
    """The job of which they are clones or branches."""
    created_after: datetime | None = None
    created_before: datetime | None = None
    text: str | None = None
    """Words. Each is the beginning of a word of the name, notes or tags, or of the id."""
    group: str | None = None
    """The group that they are in."""
    where: Sequence[Condition] = ()
    """Comparisons of fields of the spec and of metrics."""

    def conditions(self, owner_id: str, job: type[Job] = Job) -> list[ColumnElement[bool]]:
        """Raises InvalidRequest for a `dataset` that is no reference."""
        found = self._of_state(job)
        if self.tags:
            found.append(job.tags.contains(list(self.tags)))
        return found + self._of_inputs(owner_id, job) + self._of_run(job)

    def _of_inputs(self, owner_id: str, job: type[Job]) -> list[ColumnElement[bool]]:
        found: list[ColumnElement[bool]] = []
        if self.model is not None:
            found += [job.model == self.model[:_MODEL_PREFIX], job.spec["model"]["path"].astext == self.model]
        if self.dataset is not None:
            try:
                versions = _versions(owner_id, self.dataset)
            except InvalidRequest as error:
                error.extras["param"] = "dataset"
                raise
            found.append(job.id.in_(select(JobDataset.job_id).where(JobDataset.version_id.in_(versions))))
        return found

    def _of_run(self, job: type[Job]) -> list[ColumnElement[bool]]:
        found: list[ColumnElement[bool]] = []
        if self.external_id is not None:
            found.append(job.external_id == self.external_id)
        if self.parent is not None:
            found.append(job.parent["job"].astext == self.parent)
        if self.created_after is not None:
            found.append(job.created_at > self.created_after)
        if self.created_before is not None:
            found.append(job.created_at < self.created_before)
        if self.group is not None:
            found.append(job.id.in_(select(JobGroupMember.job_id).where(JobGroupMember.group_id == self.group)))
        found += [one.clause(job) for one in self.where]
        return found + ([] if self.text is None else _words(self.text, job))

    def _of_state(self, job: type[Job]) -> list[ColumnElement[bool]]:
        put_aside = job.archived_at.is_not(None)
        found: list[ColumnElement[bool]] = [put_aside if self.archived else ~put_aside]
        if self.statuses:
            found.append(job.status.in_([one.value for one in self.statuses]))
        return [*found, _health(self.health, job)] if self.health else found


def list_jobs(
    session: Session,
    owner_id: str,
    wanted: JobFilter,
    after: str | None,
    limit: int,
    sort: JobOrder = "-created",
    *,
    fold: bool = False,
) -> Page[Job]:
    """A page of the owner's jobs. A job that no longer matches the filter remains a valid cursor. Raises InvalidRequest.

    `fold`: one job stands for each group, the first of its matching jobs in this order.
    """
    owned = select(Job).filter_by(owner_id=owner_id)
    query = owned.where(*wanted.conditions(owner_id))
    if wanted.text is not None and (found := _rare_matches(session, wanted.text)) is not None:
        query = query.where(Job.id.in_(found))
    if sort in ("created", "-created"):  # the order of an index
        start = None if after is None else position(session, owned, Job, after)
        if fold:
            query = newest_of_each(query, owner_id, wanted, oldest=sort == "created")
        return page(session, query, Job, start, limit, "desc" if sort == "-created" else "asc")
    return sorted_jobs(session, owned, query, sort, after, limit, fold=fold)


def tag_counts(session: Session, owner_id: str) -> tuple[Sequence[tuple[str, int]], bool]:
    """The owner's tags with the number of jobs, most frequent first, and whether some were left out."""
    lists = select(Job.tags, func.count().label("jobs")).group_by(Job.tags)  # many jobs share a list of tags
    counted = lists.where(Job.owner_id == owner_id, Job.tags != literal_column("'[]'::jsonb")).subquery()
    used = func.jsonb_array_elements_text(counted.c.tags).table_valued("tag", name="used").render_derived()
    tag, count = used.c.tag, cast(func.sum(counted.c.jobs), BigInteger).label("count")
    query = select(tag, count).select_from(counted).join(used, true())
    rows = session.execute(query.group_by(tag).order_by(count.desc(), tag).limit(MOST_TAGS_LISTED + 1)).all()
    return [(row[0], row[1]) for row in rows[:MOST_TAGS_LISTED]], len(rows) > MOST_TAGS_LISTED


def gpu_hours(session: Session, job_ids: Sequence[str]) -> dict[str, float]:
    """The GPU-hours of each job, those of a running attempt until now. One query."""
    query = select(Job.id, GPU_HOURS).where(Job.id.in_(job_ids))
    return {job_id: float(used) for job_id, used in session.execute(query)}


def _health(wanted: Sequence[JobHealthFilter], job: type[Job]) -> ColumnElement[bool]:
    some = job.health.in_([one for one in wanted if one != "none"])
    return or_(some, job.health.is_(None)) if "none" in wanted else some


def _versions(owner_id: str, text: str) -> Select[str]:
    """The ids of the owner's versions that the reference names. Raises InvalidRequest for an invalid one."""
    query = select(DatasetVersion.id).join(Dataset).where(Dataset.owner_id == owner_id)
    if text.startswith("dv_"):
        return query.where(DatasetVersion.id == text)
    reference = Reference.parse(text)
    query = query.where(DatasetVersion.dataset_id == reference.dataset_id)
    if reference.number is not None:
        query = query.where(DatasetVersion.number == reference.number)
    if reference.sum_prefix is not None:
        query = query.where(DatasetVersion.sha256.startswith(reference.sum_prefix))
    return query


def _words(text: str, job: type[Job] = Job) -> list[ColumnElement[bool]]:
    """A condition for each word with a letter or digit; a text without any matches no job."""
    words = [word for word in text.split() if any(sign.isalnum() for sign in word)]
    return [_word(word, job) for word in words] or [false()]


def _rare_matches(session: Session, words: str) -> Sequence[str] | None:
    """The ids of all jobs with these words, of any owner; None for more than `_MOST_RARE` of them.

    PostgreSQL overestimates how many jobs have a rare word, since its statistics hold frequent words only. It then reads all
    jobs in the order of the list. For a frequent word that order is best, because the first page is soon full. So this query
    finds out by the index of the words which one it is.
    """
    session.execute(text("SET LOCAL enable_seqscan = off"))
    found = session.scalars(select(Job.id).where(*_words(words)).limit(_MOST_RARE + 1)).all()
    session.execute(text("SET LOCAL enable_seqscan TO DEFAULT"))
    return None if len(found) > _MOST_RARE else found


def _word(word: str, job: type[Job]) -> ColumnElement[bool]:
    quoted = word.replace("\\", "\\\\").replace("'", "''")
    prefix = f"'{quoted}':*"
    # PostgreSQL parses the first form as it parses the stored text. The second one is a single word, as the id is.
    query = func.to_tsquery(cast("simple", REGCONFIG), prefix).op("||")(cast(prefix, TSQUERY))
    return job.search_vector.op("@@")(query)
