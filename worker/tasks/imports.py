"""The data task `import`: reads an upload into the version that waits for it."""

from core import uploads
from core.datasets.importing import BadRows, Source, imported, limits_of
from core.db import session_scope
from core.models import DatasetVersion
from core.models.datasets import VersionStatus
from data.plan import Plan
from worker.tasks.context import TaskRun


def run(task: TaskRun) -> None:
    """Raises what keeps the file from being read; the version fails with it."""
    with session_scope() as session:
        version = session.get(DatasetVersion, task.args["version"])
        if version is None or version.status != VersionStatus.IMPORTING:
            return  # deleted, or done by a try that was lost at its very end
        upload = uploads.get(session, task.owner_id, task.args["upload"])
        source = Source(uploads.opener(task.blobs, upload), upload.filename, upload.id, upload.url)
    size = max(upload.bytes or 0, 1)
    plan, bad_rows = Plan.from_json(task.args["plan"]), BadRows(task.args["bad_rows"])

    def progress(read: int) -> None:
        task.tell(read / size, f"{read:,} of {size:,} bytes are read")

    limits = limits_of(task.settings)
    with imported(source, plan, bad_rows, limits, task.scratch, progress) as found, session_scope() as session:
        task.require_held(session)  # locks are taken in the order task, version
        found.fill(session, task.blobs, task.args["version"])
        task.end(session)  # whoever sees that the version is ready may delete the upload
