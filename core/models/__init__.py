"""The tables, one a file."""

from core.models.access import (
    ApiKey,
    BrowserSession,
    Membership,
    Project,
    Role,
    SignInCode,
    StoredResponse,
    User,
    UserKind,
    ViewSetting,
    WorkerToken,
)
from core.models.annotation import Annotation, AnnotationItem, AnnotationPin, AnnotationRound
from core.models.audit import UNAUDITED, AuditChain, AuditRow
from core.models.base import Base
from core.models.commands import JobCommand
from core.models.datasets import Dataset, DatasetContent, DatasetPrompt, DatasetReport, DatasetRow, DatasetVersion
from core.models.findings import JobFinding, Severity
from core.models.groups import JobGroup, JobGroupMember
from core.models.job_logs import JobLogChunk, JobTelemetry
from core.models.jobs import (
    Checkpoint,
    CheckpointPin,
    Job,
    JobAttempt,
    JobDataset,
    JobEvent,
    JobMetricChunk,
    JobMetrics,
    JobSeed,
    queue_lines,
)
from core.models.notes import SampleNote
from core.models.tasks import DataTask
from core.models.templates import JobTemplate, Validation
from core.models.uploads import Upload, UploadPart
from core.models.webhooks import DeliveryStatus, Webhook, WebhookDelivery, WebhookFormat, WebhookTry
from core.models.workers import Worker, WorkerCordon

__all__ = [
    "UNAUDITED",
    "Annotation",
    "AnnotationItem",
    "AnnotationPin",
    "AnnotationRound",
    "ApiKey",
    "AuditChain",
    "AuditRow",
    "Base",
    "BrowserSession",
    "Checkpoint",
    "CheckpointPin",
    "DataTask",
    "Dataset",
    "DatasetContent",
    "DatasetPrompt",
    "DatasetReport",
    "DatasetRow",
    "DatasetVersion",
    "DeliveryStatus",
    "Job",
    "JobAttempt",
    "JobCommand",
    "JobDataset",
    "JobEvent",
    "JobFinding",
    "JobGroup",
    "JobGroupMember",
    "JobLogChunk",
    "JobMetricChunk",
    "JobMetrics",
    "JobSeed",
    "JobTelemetry",
    "JobTemplate",
    "Membership",
    "Project",
    "Role",
    "SampleNote",
    "Severity",
    "SignInCode",
    "StoredResponse",
    "Upload",
    "UploadPart",
    "User",
    "UserKind",
    "Validation",
    "ViewSetting",
    "Webhook",
    "WebhookDelivery",
    "WebhookFormat",
    "WebhookTry",
    "Worker",
    "WorkerCordon",
    "WorkerToken",
    "queue_lines",
]
