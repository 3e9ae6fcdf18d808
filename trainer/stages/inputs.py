"""What each stage starts from: the policy that the stages before it left, else the one that the spec names."""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from trainer.session.checkpoint import STATE, Checkpoints
from trainer.spec import JobSpec, StageName

POLICY_STAGES: tuple[StageName, ...] = ("sft", "dpo", "kto", "ppo")
"""Those that train the policy, in their order."""


@dataclass(frozen=True)
class Lineage:
    """Of one run."""

    spec: JobSpec
    checkpoints: Checkpoints

    def policy_before(self, stage: StageName) -> Path | str | None:
        """The policy as `stage` finds it; None for a new one made from `model.config`."""
        trained = self._trained(stages_before(stage, self.spec.stages))
        return self.checkpoints.final(trained) if trained else self.spec.model.path

    def last_policy_stage(self) -> StageName | None:
        """The stage whose policy is evaluated; None where the run trains none."""
        return self._trained(self.spec.stages)

    def unfinished(self) -> StageName | None:
        """The stage that comes next; None when all are done."""
        return next((stage for stage in self.spec.stages if self.checkpoints.result(stage) is None), None)

    def resumed(self, stage: StageName, part: str | None = None) -> Path | None:
        """The newest checkpoint inside `stage`, or the model saved as `part` in it; None at its beginning."""
        newest = self.checkpoints.newest(stage)
        if newest is None:
            return None
        return newest[0] if part is None else newest[0] / STATE / part

    def refitted(self) -> Path:
        """The reward model as it is after the stages that are done: as it was trained, or as online rounds left it."""
        online = self.checkpoints.final("ppo") / "reward_model"
        return online if online.is_dir() else self.checkpoints.final("reward_model")

    def _trained(self, stages: Collection[StageName]) -> StageName | None:
        return next((stage for stage in reversed(POLICY_STAGES) if stage in stages), None)


def stages_before(stage: StageName, stages: tuple[StageName, ...]) -> tuple[StageName, ...]:
    return stages[: stages.index(stage)]
