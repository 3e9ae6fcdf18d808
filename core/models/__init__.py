"""The tables, one a file."""

from core.models.annotation import Annotation
from core.models.annotation_item import AnnotationItem
from core.models.annotation_pin import AnnotationPin
from core.models.annotation_round import AnnotationRound
from core.models.api_key import ApiKey
from core.models.base import Base
from core.models.browser_session import BrowserSession
from core.models.checkpoint import Checkpoint
from core.models.checkpoint_pin import CheckpointPin
from core.models.data_task import DataTask
from core.models.dataset import Dataset
from core.models.dataset_content import DatasetContent
from core.models.dataset_prompt import DatasetPrompt
from core.models.dataset_report import DatasetReport
from core.models.dataset_row import DatasetRow
from core.models.dataset_version import DatasetVersion
from core.models.job import Job
from core.models.job_attempt import JobAttempt
from core.models.job_dataset import JobDataset
from core.models.job_event import JobEvent
from core.models.job_metrics import JobMetrics
from core.models.upload import Upload
from core.models.upload_part import UploadPart
from core.models.worker import Worker

__all__ = [
    "Annotation",
    "AnnotationItem",
    "AnnotationPin",
    "AnnotationRound",
    "ApiKey",
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
    "Job",
    "JobAttempt",
    "JobDataset",
    "JobEvent",
    "JobMetrics",
    "Upload",
    "UploadPart",
    "Worker",
]
