"""The job spec: what a run *is*.

The models here describe the REST body of `POST /v1/jobs`, the TOML file of `python -m trainer run` and the reference in
the docs. The text under a field is its description in all of them. Torch-free, so that the API, the worker and the
command line validate with the same code.
"""

from trainer.spec.data import DATASETS, DataSpec
from trainer.spec.health import HealthAction, HealthRule, HealthSpec
from trainer.spec.job import CheckpointSpec, HangSpec, JobSpec, ResourcesSpec, RuntimeSpec, SlurmSpec
from trainer.spec.model import AdapterSpec, LoraSpec, ModelSpec, TokenizerSpec
from trainer.spec.pass_at import PassAtSpec
from trainer.spec.ppo import AdaptiveRateSpec, OnlineSpec, PositiveExamplesSpec, PPOSpec
from trainer.spec.ppo_advantage import (
    AdvantageSpec,
    CriticSpec,
    OptimalValueSpec,
    ValueClassificationSpec,
    ValueNormalizationSpec,
    ValuePretrainingSpec,
)
from trainer.spec.ppo_correction import CorrectionSpec
from trainer.spec.ppo_critics import CriticHeadsSpec
from trainer.spec.ppo_loss import GuardsSpec, PolicyLossSpec, PtxSpec
from trainer.spec.ppo_reward import KLSpec, ReferenceSpec, ShapingSpec, TeacherSpec
from trainer.spec.ppo_rollout import CurriculumSpec, RefillSpec, RolloutSpec
from trainer.spec.rewards import (
    DEFAULT_MAX_MISSING,
    ClassifierReward,
    ExactMatchReward,
    HttpJudge,
    HttpReward,
    JsonSchemaReward,
    JudgeSpec,
    LengthReward,
    LexiconReward,
    MissingCause,
    ModelReward,
    NumericMatchReward,
    PluginReward,
    RegexReward,
    RewardSpec,
    reward_names,
)
from trainer.spec.section import STAGES, AdaptiveSchedule, Schedule, Section, StageName
from trainer.spec.stages import (
    DPOSpec,
    EvaluationSpec,
    KTOSpec,
    OptimizerSpec,
    RewardModelLoss,
    RewardModelSpec,
    SFTSpec,
)
from trainer.spec.tracking import MLflowTracker, TensorBoardTracker, TrackingSpec, TrackioTracker, WandbTracker

__all__ = [
    "DATASETS",
    "DEFAULT_MAX_MISSING",
    "STAGES",
    "AdapterSpec",
    "AdaptiveRateSpec",
    "AdaptiveSchedule",
    "AdvantageSpec",
    "CheckpointSpec",
    "ClassifierReward",
    "CorrectionSpec",
    "CriticHeadsSpec",
    "CriticSpec",
    "CurriculumSpec",
    "DPOSpec",
    "DataSpec",
    "EvaluationSpec",
    "ExactMatchReward",
    "GuardsSpec",
    "HangSpec",
    "HealthAction",
    "HealthRule",
    "HealthSpec",
    "HttpJudge",
    "HttpReward",
    "JobSpec",
    "JsonSchemaReward",
    "JudgeSpec",
    "KLSpec",
    "KTOSpec",
    "LengthReward",
    "LexiconReward",
    "LoraSpec",
    "MLflowTracker",
    "MissingCause",
    "ModelReward",
    "ModelSpec",
    "NumericMatchReward",
    "OnlineSpec",
    "OptimalValueSpec",
    "OptimizerSpec",
    "PPOSpec",
    "PassAtSpec",
    "PluginReward",
    "PolicyLossSpec",
    "PositiveExamplesSpec",
    "PtxSpec",
    "ReferenceSpec",
    "RefillSpec",
    "RegexReward",
    "ResourcesSpec",
    "RewardModelLoss",
    "RewardModelSpec",
    "RewardSpec",
    "RolloutSpec",
    "RuntimeSpec",
    "SFTSpec",
    "Schedule",
    "Section",
    "ShapingSpec",
    "SlurmSpec",
    "StageName",
    "TeacherSpec",
    "TensorBoardTracker",
    "TokenizerSpec",
    "TrackingSpec",
    "TrackioTracker",
    "ValueClassificationSpec",
    "ValueNormalizationSpec",
    "ValuePretrainingSpec",
    "WandbTracker",
    "reward_names",
]  # fmt: skip
