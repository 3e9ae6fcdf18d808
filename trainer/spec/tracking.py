"""Trackers that a run's metrics also go to."""

from typing import Annotated

from pydantic import Field

from trainer.spec.section import Positive, Section

Name = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f]+$")]


class TensorBoardTracker(Section):
    """TensorBoard event files, in the folder `tensorboard` of the run folder."""


class WandbTracker(Section):
    """A run of Weights & Biases. The environment holds the key and the address: `WANDB_API_KEY`, `WANDB_BASE_URL`, `WANDB_MODE`."""

    project: Name = "proximal"
    """The project of the run."""
    entity: Name | None = None
    """User or team that owns the project. Left out: the default of the key."""
    tags: Annotated[tuple[Name, ...], Field(max_length=20)] = ()
    """Tags of the run."""


class MLflowTracker(Section):
    """A run of MLflow. The environment holds the address and the credentials: `MLFLOW_TRACKING_URI`, `MLFLOW_TRACKING_TOKEN`."""

    experiment: Name = "proximal"
    """The experiment of the run. It is created where it does not exist."""


class TrackioTracker(Section):
    """A run of trackio. The environment selects the place: `TRACKIO_DIR`, or `TRACKIO_SPACE_ID` with `HF_TOKEN`."""

    project: Name = "proximal"
    """The project of the run."""


class TrackingSpec(Section):
    """Trackers that the metrics also go to, each in a process of its own. A tracker that fails never fails the run. Addresses and credentials come from the environment of the trainer only."""

    tensorboard: TensorBoardTracker | None = None
    """Write TensorBoard event files."""
    wandb: WandbTracker | None = None
    """Send the metrics to Weights & Biases."""
    mlflow: MLflowTracker | None = None
    """Send the metrics to MLflow."""
    trackio: TrackioTracker | None = None
    """Send the metrics to trackio."""
    link: Annotated[str, Field(max_length=500)] = ""
    """Address that the tracker's run refers to, such as the page of the job in the dashboard."""
    finish_seconds: Positive = 30
    """Seconds that a tracker has to send the rest after the run has ended. Then it is stopped, and a warning states what was not sent."""

    @property
    def chosen(self) -> tuple[str, ...]:
        """The names of the trackers that are asked for."""
        return tuple(name for name in ("tensorboard", "wandb", "mlflow", "trackio") if getattr(self, name) is not None)
