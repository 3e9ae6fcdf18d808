"""One adapter for each tracker. The tracker's package is imported when the adapter starts."""

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, Protocol

from trainer.events import Metrics
from trainer.spec import JobSpec


@dataclass(frozen=True)
class TrackedRun:
    """The run as a tracker sees it: a job, or one seed of a job with several. `id` stays the same when it is resumed."""

    spec: JobSpec
    job_id: str
    folder: Path
    seed: int | None = None
    """The seed of a job with several; None for the job."""

    @property
    def id(self) -> str:
        return self.job_id if self.seed is None else f"{self.job_id}-seed-{self.seed}"

    @property
    def name(self) -> str:
        name = self.spec.name or self.job_id
        return name if self.seed is None else f"{name}, seed {self.seed}"

    @property
    def group(self) -> str | None:
        """The id that the runs of one job's seeds share; None for a job of one seed."""
        return self.job_id if self.spec.seeds > 1 else None

    @property
    def whole(self) -> "TrackedRun":
        """The run of the whole job."""
        return replace(self, seed=None)

    @property
    def config(self) -> dict[str, Any]:
        """The spec, with the link and the id of the run."""
        config: dict[str, Any] = self.spec.model_dump(mode="json", exclude={"tracking"})
        seed = {} if self.seed is None else {"seed": self.seed, "seeds": 1}
        return config | seed | {"run_id": self.id, "link": self.spec.tracking.link}


@dataclass(frozen=True)
class RunOutcome:
    """How the run ended, and its final figures. A stopped run can be resumed."""

    status: Literal["finished", "failed", "stopped"]
    summary: dict[str, float]


class Tracker(Protocol):
    """Any method may raise. The caller then repeats `log` with the same points."""

    def start(self) -> str | None:
        """Start the tracker's run, or continue it. Returns the run's address, if it has one."""

    def log(self, points: Sequence[Metrics]) -> None:
        """Send metrics. A resumed run may repeat steps."""

    def finish(self, outcome: RunOutcome) -> None:
        """Send the rest, the status and the final figures."""


def new_tracker(name: str, run: TrackedRun) -> Tracker:
    kinds: dict[str, type[Tracker]] = {
        "tensorboard": TensorBoard,
        "wandb": Wandb,
        "mlflow": MLflow,
        "trackio": Trackio,
    }
    return kinds[name](run)  # type: ignore[call-arg]  # a protocol has no constructor


def _named(point: Metrics) -> dict[str, float]:
    """The values with the stage before the name, such as `ppo/objective/kl`."""
    return {f"{point.stage}/{name}": value for name, value in point.values.items()}


def _final(outcome: RunOutcome) -> dict[str, float]:
    return {f"final/{name}": value for name, value in outcome.summary.items()}


class TensorBoard:
    """Event files: a TensorBoard run for each seed and stage, so that a resumed stage can replace its repeated steps."""

    def __init__(self, run: TrackedRun) -> None:
        self._run = run
        self._writers: dict[str, Any] = {}

    def start(self) -> str | None:
        from tensorboard.compat.proto import tensor_pb2, types_pb2
        from tensorboard.compat.proto.summary_pb2 import Summary, SummaryMetadata

        text = "```json\n" + json.dumps(self._run.config, indent=2) + "\n```"
        tensor = tensor_pb2.TensorProto(dtype=types_pb2.DT_STRING, string_val=[text.encode()])
        metadata = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="text"))
        value = Summary.Value(tag="config/text_summary", tensor=tensor, metadata=metadata)
        self._write("run", 0, Summary(value=[value]))
        return str(self._folder)

    @property
    def _folder(self) -> Path:
        folder = self._run.folder / "tensorboard"
        return folder if self._run.seed is None else folder / f"seed-{self._run.seed}"

    def log(self, points: Sequence[Metrics]) -> None:
        for point in points:
            self._scalars(point.stage, point.step, point.values, point.at)
        for writer in self._writers.values():
            writer.flush()

    def finish(self, outcome: RunOutcome) -> None:
        self._scalars("run", 0, _final(outcome))
        for writer in self._writers.values():
            writer.close()

    def _scalars(self, folder: str, step: int, values: dict[str, float], at: float | None = None) -> None:
        from tensorboard.compat.proto.summary_pb2 import Summary

        self._write(
            folder, step, Summary(value=[Summary.Value(tag=name, simple_value=one) for name, one in values.items()]), at
        )

    def _write(self, folder: str, step: int, summary: Any, at: float | None = None) -> None:
        from tensorboard.compat.proto.event_pb2 import Event, SessionLog
        from tensorboard.summary.writer.event_file_writer import EventFileWriter

        time = {} if at is None else {"wall_time": at}
        if folder not in self._writers:
            self._writers[folder] = EventFileWriter(str(self._folder / folder))
            # TensorBoard then hides points of earlier files from this step on.
            self._writers[folder].add_event(Event(step=step, session_log=SessionLog(status=SessionLog.START), **time))
        self._writers[folder].add_event(Event(step=step, summary=summary, **time))


class Wandb:
    """A run of Weights & Biases. Each stage has its own step axis. A repeated step is a second point."""

    def __init__(self, run: TrackedRun) -> None:
        self._run = run
        self._wandb_run: Any = None

    def start(self) -> str | None:
        import wandb

        chosen = self._run.spec.tracking.wandb
        assert chosen is not None
        self._wandb_run = wandb.init(
            project=chosen.project,
            entity=chosen.entity,
            tags=list(chosen.tags) or None,
            name=self._run.name,
            id=self._run.id,
            group=self._run.group,
            resume="allow",
            dir=str(self._run.folder / "tracking"),
            config=self._run.config,
            notes=self._run.spec.tracking.link or None,
            settings=wandb.Settings(
                silent=True, console="off", disable_git=True, save_code=False, x_disable_stats=True, x_disable_meta=True
            ),
        )
        for stage in self._run.spec.stages:
            self._wandb_run.define_metric(f"{stage}/step")
            self._wandb_run.define_metric(f"{stage}/*", step_metric=f"{stage}/step")
        return str(self._wandb_run.url) if self._wandb_run.url else None

    def log(self, points: Sequence[Metrics]) -> None:
        for point in points:
            self._wandb_run.log(_named(point) | {f"{point.stage}/step": point.step})

    def finish(self, outcome: RunOutcome) -> None:
        self._wandb_run.summary.update(_final(outcome))
        self._wandb_run.finish(exit_code=1 if outcome.status == "failed" else 0)


class MLflow:
    """A run of MLflow, which is found again by a tag. A repeated step is a second value, and the later one is shown."""

    _STATUS = {"finished": "FINISHED", "failed": "FAILED", "stopped": "KILLED"}  # noqa: RUF012
    _MOST_METRICS, _MOST_PARAMS, _LONGEST_VALUE = 1000, 100, 500  # limits of MLflow's REST API

    def __init__(self, run: TrackedRun) -> None:
        self._run = run
        self._client: Any = None
        self._run_id = ""

    def start(self) -> str | None:
        if not os.environ.get("MLFLOW_TRACKING_URI"):
            raise ValueError("MLFLOW_TRACKING_URI is not set in the environment of the trainer")
        from mlflow import MlflowClient

        self._client = MlflowClient()
        experiment = self._experiment()
        self._run_id = self._ensured(experiment, self._run)
        self._client.update_run(self._run_id, status="RUNNING")
        return f"run {self._run_id} of experiment {experiment}"

    def _experiment(self) -> str:
        chosen = self._run.spec.tracking.mlflow
        assert chosen is not None
        experiment = self._client.get_experiment_by_name(chosen.experiment)
        return str(experiment.experiment_id if experiment else self._client.create_experiment(chosen.experiment))

    def _ensured(self, experiment: str, run: TrackedRun) -> str:
        """The id of the run in MLflow, which is created if there is none."""
        runs = self._client.search_runs([experiment], f"tags.`proximal.run_id` = '{run.id}'", max_results=1)
        return str(runs[0].info.run_id) if runs else self._created(experiment, run)

    def _created(self, experiment: str, of: TrackedRun) -> str:
        """A new run. The run of a seed is a child of the job's run."""
        from mlflow.entities import Param

        tags = {"proximal.run_id": of.id, "mlflow.note.content": of.spec.tracking.link}
        if of.seed is not None:
            tags["mlflow.parentRunId"] = self._ensured(experiment, of.whole)
        run = self._client.create_run(experiment, tags=tags, run_name=of.name)
        params = [Param(key, value[: self._LONGEST_VALUE]) for key, value in _flat(of.config)]
        for start in range(0, len(params), self._MOST_PARAMS):
            self._client.log_batch(run.info.run_id, params=params[start : start + self._MOST_PARAMS])
        return str(run.info.run_id)

    def log(self, points: Sequence[Metrics]) -> None:
        from mlflow.entities import Metric

        metrics = [
            Metric(name, value, int(point.at * 1000), point.step)
            for point in points
            for name, value in _named(point).items()
        ]
        for start in range(0, len(metrics), self._MOST_METRICS):
            self._client.log_batch(self._run_id, metrics=metrics[start : start + self._MOST_METRICS])

    def finish(self, outcome: RunOutcome) -> None:
        for name, value in _final(outcome).items():
            self._client.log_metric(self._run_id, name, value)
        self._client.set_terminated(self._run_id, self._STATUS[outcome.status])


class Trackio:
    """A run of trackio. A repeated step is a second point."""

    def __init__(self, run: TrackedRun) -> None:
        self._run = run
        self._trackio_run: Any = None

    def start(self) -> str | None:
        import trackio

        chosen = self._run.spec.tracking.trackio
        assert chosen is not None
        self._trackio_run = trackio.init(
            project=chosen.project,
            name=self._run.id,
            group=self._run.group,
            config=self._run.config | {"name": self._run.name},
            resume="allow",
            embed=False,
            auto_log_gpu=False,
            auto_log_cpu=False,
        )
        return None

    def log(self, points: Sequence[Metrics]) -> None:
        for point in points:
            self._trackio_run.log(_named(point), step=point.step)

    def finish(self, outcome: RunOutcome) -> None:
        if final := _final(outcome):
            self._trackio_run.log(final)
        self._trackio_run.finish()


def _flat(config: dict[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    """The fields of a nested dict as `a.b` and text."""
    flat: list[tuple[str, str]] = []
    for name, value in config.items():
        if isinstance(value, dict):
            flat += _flat(value, f"{prefix}{name}.")
        elif value is not None:
            flat.append((f"{prefix}{name}", value if isinstance(value, str) else json.dumps(value)))
    return flat
