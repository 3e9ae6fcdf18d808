"""The findings over all jobs, and the health rules by which they are found."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query

from api.deps import After, Limit, OrderBy, PrincipalDep, SessionDep
from api.jobs.finding_schemas import HealthFindingList, HealthRuleInfo, HealthRuleInfoList
from api.jobs.views import finding_view
from api.problems import documented
from api.validation import StrictRoute
from core.errors import InvalidRequest, NotSignedIn
from core.jobs.overview import findings
from core.jobs.overview.findings import FindingFilter
from core.models.findings import Severity
from core.models.jobs import JobStatus
from data.parse import bad_text
from trainer.spec import HealthSpec
from trainer.spec.health_titles import RULE_TITLES

router = APIRouter(tags=["Jobs"], route_class=StrictRoute)


_MESSAGES = "message"


def _filter(
    severity: Annotated[list[Severity] | None, Query(description="Only findings of this severity.")] = None,
    rule: Annotated[
        list[str] | None,
        Query(description="Only findings of this health rule (or one of these). `message`: warnings of runs."),
    ] = None,
    job: Annotated[str | None, Query(min_length=1, description="Only findings of this job, `job_…`.")] = None,
    status: Annotated[
        list[JobStatus] | None, Query(description="Only findings of jobs in this state (or one of these).")
    ] = None,
    archived: Annotated[bool, Query(description="Findings of archived jobs instead of the others.")] = False,
) -> FindingFilter:
    """The filters of the request. Raises InvalidRequest."""
    if job is not None and bad_text(job):
        raise _invalid("job", "holds a NUL character or half of a surrogate pair")
    for name in rule or ():
        if name not in RULE_TITLES and name != _MESSAGES:
            raise _invalid("rule", f"must be {_MESSAGES} or one of {', '.join(RULE_TITLES)}")
    return FindingFilter(severity or (), rule or (), job, status or (), archived)


@router.get("/findings", responses=documented(NotSignedIn, InvalidRequest))
def list_findings(
    principal: PrincipalDep,
    session: SessionDep,
    wanted: Annotated[FindingFilter, Depends(_filter)],
    limit: Limit = 20,
    after: After = None,
    order: OrderBy = "desc",
) -> HealthFindingList:
    """Health rules that fired in your runs, and the warnings of the runs. All filters must hold.

    A finding stays in the list when the run recovers. `step` and `last_at` are those of the last report.
    """
    found, jobs = findings.list_findings(session, principal.owner_id, wanted, after, limit, order)
    return HealthFindingList.from_items([finding_view(row, jobs[row.job_id]) for row in found.items], found.has_more)


@router.get("/reference/health-rules", responses=documented(NotSignedIn))
def list_health_rules(_: PrincipalDep) -> HealthRuleInfoList:
    """List the health rules with their titles and defaults."""
    return HealthRuleInfoList.from_items([_described(rule, title) for rule, title in RULE_TITLES.items()], key="rule")


def _described(rule: str, title: str) -> HealthRuleInfo:
    field = HealthSpec.model_fields[rule]
    default = field.get_default()
    return HealthRuleInfo(
        rule=rule,
        title=title,
        meaning=field.description or "",
        action=default.action,
        limit=default.limit,
        patience=default.patience,
    )


def _invalid(name: str, detail: str) -> InvalidRequest:
    return InvalidRequest(f"`{name}`: {detail}.", param=name, errors=[{"pointer": f"?{name}", "detail": detail}])
