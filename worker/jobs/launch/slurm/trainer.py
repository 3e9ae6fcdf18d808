"""One batch job of Slurm: submitted, followed and ended by a thread, so that a slow controller delays no events."""

import logging
import signal
from collections.abc import Callable
from dataclasses import dataclass

from core.slurm import client
from core.slurm.client import ControllerAway, JobView, NotInstalled, QueueFull, Refused, SlurmError, UnknownJob
from core.slurm.cluster import problem_of_error
from trainer.errors import Stopped
from worker.jobs.launch.followed import FollowedTrainer, read_record, write_record
from worker.jobs.launch.interface import EngineEnd, RunToStart
from worker.jobs.launch.slurm.reasons import ACTIVE, RUNS, why_ended, why_waiting
from worker.jobs.launch.slurm.request import comment_of, signal_seconds
from worker.jobs.launch.trainer_command import environment
from worker.jobs.workspace import Workspace

RECORD = "slurm.json"
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Submission:
    """How a job is submitted: its arguments, and whether the worker's settings alone are refused as well."""

    arguments: Callable[[], list[str]]
    settings_are_refused: Callable[[], str | None]


def recorded_job(workspace: Workspace) -> str | None:
    """The number of the batch job of an attempt; "" if it was being submitted; None if its worker had not begun to."""
    record = read_record(workspace, RECORD)
    return None if record is None else str(record.get("job") or "")


class SlurmTrainer(FollowedTrainer):
    """A trainer in a batch job. `job`: its number; "" to submit it, unless Slurm has one with the comment of the attempt."""

    errors = SlurmError

    def __init__(self, run: RunToStart, submission: Submission, job: str = "") -> None:
        self._submission, self._job = submission, job
        self._view: JobView | None = None
        self._nodes = self._lost_nodes = ""
        self._restarts = 0
        self._output_before, self._not_started = 0, False
        self._refusal = ""
        self.label = f"Slurm job {job}" if job else "a new job of Slurm"
        wanted = run.spec.get("resources", {}).get("slurm") or {}
        self._signal_seconds = signal_seconds(run.settings, wanted.get("minutes") or run.settings.slurm_minutes)
        super().__init__(run, "slurm", run.settings.slurm_poll_seconds, client.SECONDS)

    def engine_end(self) -> EngineEnd | None:
        if self._not_started:
            return EngineEnd(
                f"Slurm could not start job {self._job} on its node. The run resumes from its last checkpoint."
            )
        if self._lost_nodes:
            text = (
                f"Slurm lost the node {self._lost_nodes} of job {self._job}. The run resumes from its last checkpoint."
            )
            return EngineEnd(text, waits=True)
        if self._view is None:
            return EngineEnd(f"Slurm does not know job {self._job} any more, and its trainer reported no end.")
        return why_ended(self._job, self._view, asked=self._ask or self._kill, signal_seconds=self._signal_seconds)

    def _step(self) -> None:
        if not self._job and not self._submitted():
            return
        if self._kill and not self._killed:
            client.send_signal(self._job, "KILL", everywhere=True)
            client.cancel(self._job)
            self._killed = True
        self._look()
        if self._ask and not self._asked and self._view is not None:
            running = self._view.state in RUNS
            client.send_signal(self._job, "TERM") if running else client.cancel(self._job)
            self._asked = True

    def _submitted(self) -> bool:
        """Submit the job unless it must end already or was submitted before. Returns whether it has a number."""
        attempted = recorded_job(self._run.workspace) is not None
        found = client.find_by_comment(comment_of(self._run.job_id, self._run.attempt)) if attempted else None
        if found is None and (self._ask or self._kill):
            self._status = Stopped.exit_status
            return False
        if found is None:
            self._record("")
            try:
                found = client.submit(
                    self._submission.arguments(), env=environment(), cwd=str(self._run.workspace.folder)
                )
            except Refused as error:
                self._note_refusal(error)
                raise
        self._job, self.label = found, f"Slurm job {found}"
        self._record(found)
        log.info("%s attempt %d: submitted as Slurm job %s", self._run.job_id, self._run.attempt, found)
        self._look_often()
        return True

    def _record(self, job: str) -> None:
        write_record(self._run.workspace, RECORD, {"job": job})

    def _look(self) -> None:
        try:
            view = client.look_up(self._job, comment_of(self._run.job_id, self._run.attempt))
        except UnknownJob:
            self._view = client.look_up_ended(self._job)
            self._status = self._reported_status() if self._view is None else self._status_of(self._view)
            return
        self._view = view
        was_queued_again = view.state == "PENDING" or (view.state in RUNS and view.restarts != self._restarts)
        if was_queued_again and self._nodes:
            self._look_often()
            if lost := client.lost_nodes(self._nodes):
                self._give_up_node(lost)
                return
        if view.state in RUNS:
            self._nodes = view.nodes or self._nodes  # none while a job that is queued again is completing
            self._restarts = view.restarts
        elif view.state in ACTIVE:
            self._output_before = len(self._output())
        self.waiting = why_waiting(self._job, view) if view.state in ACTIVE else None
        if view.state not in ACTIVE:
            self._status = self._status_of(view)

    def _output(self) -> list[str]:
        """The lines of the batch job, without those of Slurm itself. A trainer that ends with status 1 wrote some."""
        log = self._run.workspace.log
        lines = log.read_text(errors="replace").splitlines() if log.exists() else []
        return [line for line in lines if not line.startswith("slurmstepd")]

    def _give_up_node(self, nodes: str) -> None:
        """End the attempt in place of the new start by Slurm. A trainer on a node that is only cut off may still run.

        It would write to the same run folder. The next attempt has another folder, and the lease ends this trainer.
        """
        client.cancel(self._job)
        self._lost_nodes = nodes
        self._status = -signal.SIGKILL

    def _note_refusal(self, error: Refused) -> None:
        """Fail the job if only its own options are refused, twice in the same words. Otherwise it waits for the operator."""
        repeated, self._refusal = str(error) == self._refusal, str(error)
        if repeated and self._submission.settings_are_refused() is None:
            self.refused = f"Slurm refuses the job: {error}. Change `resources` of the job, such as `resources.slurm`, and submit it again."

    def _note_trouble(self, error: Exception) -> None:
        log.warning("%s: %s", self._run.job_id, error)
        if self._job:
            self.waiting = f"The controller of Slurm does not respond, so job {self._job} is followed by its events alone: {error}."
        elif isinstance(error, QueueFull):
            self.waiting = (
                f"Slurm's queue is full: it takes no further job at present ({error}). The worker tries again."
            )
        elif isinstance(error, Refused):
            self.waiting = (
                f"Slurm refuses the worker's settings: {error}. The operator must correct PROXIMAL_SLURM_OPTIONS and the other "
                "settings for Slurm, and restart the worker."
            )
        elif isinstance(error, ControllerAway | NotInstalled):
            self.waiting = f"{problem_of_error(error)} The worker tries again."

    def _status_of(self, view: JobView) -> int:
        """The exit status of a job that has ended. One that Slurm ended counts as killed unless its trainer had saved."""
        if view.state == "COMPLETED":
            return 0
        if view.state == "FAILED" or view.status == Stopped.exit_status:
            self._not_started = view.status == 1 and not self._output()[self._output_before :]
            return -signal.SIGKILL if self._not_started else view.status or 1
        return -signal.SIGTERM if self._asked and view.state == "CANCELLED" else -signal.SIGKILL
