"""Authorisation: the action of each operation, and the dependency that refuses a caller whose role or key does not allow it.

`core.access.policy` has the roles that allow each action. An operation that the table lacks stops the application from starting.
Objects of other projects do not exist for a caller: the routes look objects up by project.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from fastapi import Request
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from sqlalchemy import Select, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from core.access.keys import Principal
from core.access.policy import Action, distinguishes, roles_for
from core.db import request_scope
from core.errors import NotFound
from core.models import AnnotationRound, ApiKey, Dataset, Job, JobGroup, JobTemplate, Upload
from core.settings import Settings

_OPERATIONS: Mapping[Action, str] = {
    Action.ACCOUNT: """
        who_am_i sign_out create_sign_in_code list_view_settings get_project
        list_health_rules list_metric_meanings list_presets get_job_schema list_formats get_upload_limits
    """,
    Action.READ: """
        list_jobs list_job_tags get_jobs get_job get_job_lineage get_job_knobs list_job_commands list_findings get_validation
        list_job_events stream_job_events stream_events get_job_metrics get_job_log get_job_telemetry
        list_job_samples list_job_sample_steps search_job_samples list_sample_notes
        list_job_checkpoints download_checkpoint download_checkpoint_file
        list_groups get_group list_templates get_template
        list_datasets get_dataset list_dataset_versions get_dataset_version list_dataset_rows export_dataset compare_datasets
        list_dataset_tasks list_reports get_report
        list_uploads get_upload get_upload_part
        list_annotation_results get_annotation_continuation
        get_usage list_workers list_members
    """,
    Action.READ_ROUNDS: "list_annotation_rounds get_annotation_round get_annotation_progress",
    Action.ANNOTATE: "next_annotation_items answer_annotation_item undo_annotation",
    Action.SUBMIT: """
        create_job validate_job cancel_validation clone_job branch_job extend_job create_sweep validate_sweep
        create_group create_template create_job_from_template
        upload_dataset request_report create_upload create_upload_from preview_upload
        create_annotation_round continue_job write_sample_note delete_sample_note store_view_setting delete_view_setting
    """,
    Action.CHANGE: """
        change_job delete_job cancel_job pause_job resume_job retry_job archive_job unarchive_job create_job_commands
        cancel_group change_template delete_template
        change_dataset delete_dataset archive_dataset unarchive_dataset cancel_dataset_task apply_fixes
        delete_upload put_upload_part complete_upload
        change_annotation_round delete_annotation_round choose_annotation_reward_model close_annotation_round
    """,
    Action.READ_WEBHOOKS: "list_webhooks get_webhook list_webhook_deliveries",
    Action.KEYS: "list_keys create_key revoke_key rotate_key list_sessions end_session",
    Action.MANAGE: """
        change_project add_member set_member_role remove_member create_member_key
        create_webhook change_webhook delete_webhook rotate_webhook_secret test_webhook replay_webhook_delivery
    """,
    Action.AUDIT: "list_audit_rows export_audit_log verify_audit_log",
    Action.OPERATE: "cordon_worker drain_worker uncordon_worker create_worker_token list_projects set_project_quotas list_platform_jobs",
}
ACTIONS: Mapping[str, Action] = {name: action for action, names in _OPERATIONS.items() for name in names.split()}
"""The action of each operation that needs a caller, by the operation's id."""
AUDITED_READS = frozenset(
    [
        "download_checkpoint",
        "download_checkpoint_file",
        "list_dataset_rows",
        "export_dataset",
        "compare_datasets",
        "list_keys",
        "list_audit_rows",
        "export_audit_log",
        "verify_audit_log",
    ]
)
"""Operations that change nothing, and have a row in the audit log nevertheless."""
PUBLIC = frozenset({"sign_in", "join_worker", "is_alive", "is_ready"})
"""Operations that need no caller. `sign_in` and `join_worker` have credentials of their own."""


@dataclass(frozen=True)
class _Kind:
    """A kind of object that a path parameter names."""

    name: str
    id: InstrumentedAttribute[str]
    maker: Select[str, str | None]
    """Its project, and the user who made it."""


_KINDS: Mapping[str, _Kind] = {
    "job_id": _Kind("job", Job.id, select(Job.owner_id, Job.created_by)),
    "group_id": _Kind("group", JobGroup.id, select(JobGroup.owner_id, JobGroup.created_by)),
    "template_id": _Kind("template", JobTemplate.id, select(JobTemplate.owner_id, JobTemplate.created_by)),
    "dataset_id": _Kind("dataset", Dataset.id, select(Dataset.owner_id, Dataset.created_by)),
    "upload_id": _Kind("upload", Upload.id, select(Upload.owner_id, Upload.created_by)),
    "round_id": _Kind("round", AnnotationRound.id, select(AnnotationRound.owner_id, AnnotationRound.created_by)),
    "key_id": _Kind("key", ApiKey.id, select(ApiKey.owner_id, ApiKey.user_id)),
}
"""The path parameters that name an object of which it matters who made it."""


def check_table(routes: Iterable[object], caller: Callable[..., Principal]) -> None:
    """Raise ValueError for an operation without an action or with two, and for one that does not depend on `caller`, which
    calls `authorize`."""
    shown = [route for route in routes if isinstance(route, APIRoute) and route.include_in_schema]
    listed = [name for text in _OPERATIONS.values() for name in text.split()] + sorted(PUBLIC)
    wrong = {route.name for route in shown}.symmetric_difference(listed)
    wrong |= {name for name in listed if listed.count(name) > 1}
    wrong |= AUDITED_READS - {*listed}
    wrong |= {route.name for route in shown if _needs(route.dependant, caller) is (route.name in PUBLIC)}
    if wrong:
        raise ValueError(
            f"Each operation has one entry in api/authorization.py, and checks it: {', '.join(sorted(wrong))}"
        )


def _needs(dependant: Dependant, call: Callable[..., Principal]) -> bool:
    return dependant.call is call or any(_needs(inner, call) for inner in dependant.dependencies)


def authorize(request: Request, settings: Settings, principal: Principal) -> None:
    """Refuse a request that its caller may not make. Raises NotAllowed, NotOperator, and NotFound for an object of another project.

    The maker of an object is read in a transaction of its own, and only where it matters to the caller's role.
    """
    action = ACTIONS[request.scope["route"].name]
    principal.require(action)
    if distinguishes(action) and principal.role not in roles_for(action):
        with request_scope(settings) as session:
            for name, object_id in request.path_params.items():
                if name in _KINDS:
                    authorize_object(session, principal, action, name, object_id)


def authorize_object(session: Session, principal: Principal, action: Action, name: str, object_id: str) -> None:
    """Refuse an action on an object that the path or the body names. `name`: the path parameter of its kind.

    Raises NotAllowed, and NotFound for an object of another project.
    """
    kind = _KINDS[name]
    found = session.execute(kind.maker.where(kind.id.in_([object_id]))).one_or_none()
    if found is None or found[0] != principal.owner_id:
        raise NotFound(f"There is no {kind.name} {object_id!r}.")
    principal.require(action, own=found[1] == principal.user_id)
