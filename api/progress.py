"""The progress of data tasks, with the place of those that wait."""

from collections.abc import Sequence

from sqlalchemy.orm import Session

from api.schema import DataProgress
from core import lanes
from core.models import DataTask
from core.models.tasks import TaskStatus
from core.tasks import UNFINISHED


def progress_of(session: Session, tasks: Sequence[DataTask]) -> dict[str, DataProgress]:
    """The progress of the unfinished tasks, by the task's id."""
    waiting = lanes.places(session, [task.id for task in tasks if task.status == TaskStatus.QUEUED])
    found = {}
    for task in tasks:
        if task.status in UNFINISHED:
            place = waiting.get(task.id)
            note = task.note if place is None else place.reason
            found[task.id] = DataProgress(fraction=task.progress, note=note, place=place and place.place)
    return found
