"""Examples of the OpenAPI document: a body for every request that takes one, and a problem for every error code.

A test validates each example against its schema, and sends the bodies to the real routes.
"""

from collections.abc import Mapping
from typing import Any

JOB, DATASET, CHECKPOINT = (
    "job_53r4mkl4uj4wx6wi3urw3fpz",
    "ds_gq36arga4krjs7mdw3lmlznw",
    "ckpt_ztk3f6c5yv2lq7hd4xnwo9sa",
)
UPLOAD, ROUND, GROUP = "up_hr6nsx5eybk6aqgstgk2qfmd", "ann_x5yd3kq7vplc2mzt4hfw6rob", "grp_m2xq7vl5tz4kd3wyrc6hfpob"
KEY = "key_tfwsx733tk66xvpat2ejksbc"
_SPEC = {
    "model": {"path": "Qwen/Qwen2.5-0.5B"},
    "data": {"preferences": DATASET},
    "ppo": {"steps": 200, "kl": {"coef": 0.05}},
}
_SWEEP = {"name": "KL", "spec": _SPEC, "parameters": {"ppo.kl.coef": [0.02, 0.05, 0.1]}, "max_parallel": 2}
_SHA = "49bc71b30e49a6f5b7a2d6a8f0c1e9d3b4a5c6d7e8f90123456789abcdef0123"

BODIES: Mapping[str, Any] = {
    "sign_in": {"token": "prx_mfrggzdfmztwq2lknnwg23tpobyxe43u"},
    "create_key": {"name": "nightly script", "scopes": ["read", "submit"], "expires_at": "2099-01-01T00:00:00Z"},
    "rotate_key": {"overlap_seconds": 3600},
    "set_project_quotas": {"gpus": 8, "gpu_hours": None, "when_exceeded": "queue"},
    "create_member_key": {"name": "nightly script", "scopes": ["read", "submit"]},
    "change_project": {"name": "Assistants"},
    "add_member": {"name": "Ada", "role": "member"},
    "set_member_role": {"role": "viewer"},
    "create_webhook": {
        "url": "https://hooks.example.org/proximal",
        "event_types": ["job.succeeded", "job.failed"],
        "description": "The team's chat",
    },
    "change_webhook": {"event_types": ["job.failed", "job.finding"], "enabled": True},
    "rotate_webhook_secret": {"overlap_hours": 24},
    "join_worker": {"version": "0.1.0"},
    "store_view_setting": {"value": {"pinned": ["Reward"], "hidden": ["Policy loss"]}},
    "upload_dataset": {"upload": UPLOAD, "name": "Pairs of March", "kind": "preferences"},
    "change_dataset": {"name": "Pairs of April", "expires_at": "2099-01-01T00:00:00Z"},
    "request_report": {"model": "Qwen/Qwen2.5-0.5B", "max_prompt_tokens": 512},
    "apply_fixes": {"findings": ["duplicate_pairs"], "version": 1},
    "create_upload": {"filename": "preferences.jsonl", "bytes": 41284},
    "create_upload_from": {"url": "https://data.example.org/preferences.jsonl"},
    "complete_upload": {"sha256": _SHA},
    "preview_upload": {"kind": "preferences"},
    "create_annotation_round": {
        "name": "Held-out prompts",
        "source": {"type": "dataset", "dataset": DATASET, "rows": "all", "limit": 200},
        "overlap": 2,
    },
    "change_annotation_round": {"instructions": "Prefer the shorter answer if both are right.", "overlap": 3},
    "next_annotation_items": {"annotator": "ada", "limit": 5},
    "answer_annotation_item": {"annotator": "ada", "choice": "1", "seconds": 12.5},
    "undo_annotation": {"annotator": "ada"},
    "choose_annotation_reward_model": {"checkpoint": CHECKPOINT},
    "close_annotation_round": {"name": "Answers of March"},
    "continue_job": {"job": JOB, "steps": 100},
    "create_job": _SPEC,
    "validate_job": _SPEC,
    "create_template": {"name": "Short PPO", "spec": {"ppo": {"steps": 100, "kl": {"coef": 0.05}}}},
    "change_template": {"spec": {"ppo": {"steps": 200}}},
    "create_job_from_template": {"patch": {"data": {"preferences": DATASET}}},
    "change_job": {"name": "KL 0.05", "tags": ["baseline"], "metadata": {"team": "alignment"}},
    "create_job_commands": {"kl_coef": 0.1, "evaluate": True},
    "create_sweep": _SWEEP,
    "validate_sweep": _SWEEP,
    "create_group": {"name": "Baselines", "max_parallel": 4},
    "cancel_job": {"reason": "The data was wrong."},
    "pause_job": {"reason": "Until tonight."},
    "resume_job": {"reason": "The GPU is free."},
    "retry_job": {"reason": "The disk has room again."},
    "clone_job": {"patch": {"name": "More steps", "ppo": {"steps": 400}}},
    "branch_job": {"stage": "ppo", "step": 40, "patch": {"ppo": {"kl": {"coef": 0.2}}}},
    "extend_job": {"steps": 400},
    "write_sample_note": {"text": "Repeats the question, and still has a high score.", "author": "ada"},
}
"""A JSON body by the id of its operation."""
FORMS: Mapping[str, Any] = {"upload_dataset": {"file": "preferences.jsonl", "kind": "preferences", "name": "Pairs"}}
"""The fields of a form by the id of its operation. The text of `file` stands for the bytes."""


def _invalid(pointer: str, detail: str) -> dict[str, Any]:
    param = pointer.lstrip("#?/").replace("/", ".")
    return {"detail": f"{pointer}: {detail}", "param": param, "errors": [{"pointer": pointer, "detail": detail}]}


_LIMIT = "is 2000000; the limit is 1000000 (PROXIMAL_MAX_STEPS)"
_AT_LIMIT = {"value": 2_000_000, "limit": 1_000_000, "setting": "PROXIMAL_MAX_STEPS"}
PROBLEMS: Mapping[str, Mapping[str, Any]] = {
    "bad_request": {"detail": "The body is not UTF-8 at byte 12. Send JSON in UTF-8."},
    "not_found": {"detail": f"There is no job {JOB!r}."},
    "not_allowed": {
        "detail": "Your role in this project is `viewer`. This request needs `member` or `admin`. Ask an admin of the project.",
    },
    "webhook_refused": {
        **_invalid("#/url", "is in a private network"),
        "detail": "10.0.0.7 is in a private network, which this platform sends no webhooks to; its operator may allow more (PROXIMAL_WEBHOOK_NETWORKS).",
    },
    "last_admin": {
        "detail": "This is the only admin of the project. Make another member an admin, and remove this one then."
    },
    "invalid_transition": {
        "detail": "A job that is succeeded cannot become cancelled. Possible now: archive.",
        "from": "succeeded",
        "to": "cancelled",
        "allowed": [],
        "requests": [],
    },
    "dataset_in_use": {
        "detail": f"{DATASET} is used by {JOB}. Cancel these jobs or wait for their end.",
        "jobs": [JOB],
    },
    "external_id_taken": {
        "detail": f"{JOB} has the external id 'ci-4711'.",
        "param": "external_id",
        "existing": JOB,
    },
    "job_in_use": {
        "detail": f"A checkpoint of this job is needed by {JOB}. Wait for their end.",
        "jobs": [JOB],
        "rounds": [],
    },
    "completion_replaced": {"detail": "ppo.120.3 has another response now. Read the completions of the step again."},
    "job_not_ended": {"detail": f"{JOB} is running. Cancel it or wait for its end."},
    "job_not_running": {"detail": "The job is succeeded. Only a job that is starting or running takes commands."},
    "knob_unavailable": {
        "detail": '`ppo.kl.controller` = "fixed" has no target: only "adaptive" has one.',
        "param": "kl_target",
    },
    "knob_out_of_range": {
        "detail": "`kl_coef` must be at least 0 and at most 100; it is -1.",
        "param": "kl_coef",
        "allowed_range": {"minimum": 0, "maximum": 100},
    },
    "precondition_failed": {
        "detail": f"{JOB} has changed since you read it. Read it again, and send its present ETag in If-Match.",
        "etag": "0f3c9a5be1d24c7788ab90cd",
    },
    "too_large": {"detail": "The body may have at most 1048576 bytes."},
    "invalid_request": _invalid("?limit", "must be at least 1"),
    "invalid_spec": _invalid("#/ppo/policy_loss/clip_rnage", "unknown field 'clip_rnage'; did you mean 'clip_range'?"),
    "invalid_dataset": {
        "detail": "1 of 160 records cannot be used: line 7: `chosen` is missing.",
        "errors": [{"line": 7, "detail": "`chosen` is missing"}],
        "error_count": 1,
    },
    "limit_exceeded": {
        "detail": f"#/ppo/steps: {_LIMIT}",
        "param": "ppo.steps",
        "errors": [{"pointer": "#/ppo/steps", "detail": _LIMIT, **_AT_LIMIT}],
    },
    "rate_limited": {
        "detail": "This key may send 100 requests per second (PROXIMAL_REQUESTS_PER_SECOND). Wait 2 seconds."
    },
    "quota_exceeded": {"detail": "You have 1000 unfinished jobs, which is the limit (PROXIMAL_MAX_OPEN_JOBS)."},
    "too_many_tries": {"detail": "Too many wrong keys were tried from your address. Wait 42 seconds."},
    "too_many_streams": {"detail": "This API key has 100 open event streams, which is the limit. Close one first."},
    "internal_error": {"detail": "Look for req_fb1fdf0bd1378f118fe2b13d in the server's log."},
    "query_timeout": {"detail": "A query took longer than 30 s (PROXIMAL_STATEMENT_SECONDS). Ask for less."},
    "unavailable": {"detail": "The database does not respond. Try again."},
}
"""Members of a problem by its code, where the title alone does not explain it."""


def add_bodies(operation: dict[str, Any]) -> None:
    """Add the examples of the operation's body."""
    name, content = operation["operationId"], operation.get("requestBody", {}).get("content", {})
    for media, described in content.items():
        table = FORMS if media == "multipart/form-data" else BODIES
        if name in table:
            described["examples"] = {"example": {"value": table[name]}}
        elif media == "application/octet-stream":
            described["examples"] = {"example": {"summary": "The bytes of the part.", "value": "{…}"}}


def problem_example(code: str, title: str, status: int) -> dict[str, Any]:
    """An example of the OpenAPI document for a problem with this code."""
    members = {"type": f"urn:proximal:{code}", "title": title, "status": status, "detail": title}
    members |= {"instance": "/v1/jobs", "code": code, "request_id": "req_fb1fdf0bd1378f118fe2b13d"}
    return {"value": members | dict(PROBLEMS.get(code, {}))}
