"""The report of a pre-run check: the command prints it, the API can return it. Torch-free."""

from collections.abc import Iterable, Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict

from trainer.errors import DataError, ModelError, OutOfMemory, SpecError, TrainerError
from trainer.spec import StageName

Level = Literal["error", "warning", "info"]
LEVELS: tuple[Level, ...] = ("error", "warning", "info")
"""The gravest first."""
Area = Literal["spec", "data", "model", "memory"]
Phase = Literal["sft", "reward_model", "dpo", "kto", "ppo_rollout", "ppo_score", "ppo_update", "evaluation"]
_ERRORS: dict[Area, type[TrainerError]] = {
    "spec": SpecError,
    "data": DataError,
    "model": ModelError,
    "memory": OutOfMemory,
}
EXIT_STATUS: dict[Area, int] = {area: error.exit_status for area, error in _ERRORS.items()}
"""The exit status of `check` for an error of each area, which is the run's own."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class Finding(_Part):
    """One result of the check."""

    level: Level
    """`error`: the run would fail. `warning`: it would run, but probably not as intended. `info`: a note."""
    area: Area
    """Its subject; an error's area decides the exit status."""
    code: str
    """Its kind, for programs, such as `prompts_too_long`."""
    where: str
    """A pointer into the spec (`#/ppo/max_new_tokens`), or a file and line."""
    detail: str
    """The observation."""
    fix: str | None = None
    """The change to make."""


class Lengths(_Part):
    """Quantiles of a token count over the rows used."""

    median: int
    """Median."""
    p95: int
    """95th percentile."""
    longest: int
    """Longest row."""
    mean: float
    """Mean."""


class DatasetReport(_Part):
    """One dataset as the run would use it."""

    name: Literal["demonstrations", "pairs", "thumbs", "solutions", "prompts", "texts"]
    """The role of its rows in the run."""
    rows: int
    """Rows read."""
    train: int
    """Used for training."""
    held_out: int
    """Used for evaluation."""
    left_out: dict[str, int] = {}
    """Rows that are not used, by reason."""
    lengths: dict[str, Lengths] = {}
    """Tokens of the rows used: of their prompts, their completions."""


class StageEstimate(_Part):
    """The amount of work of a stage."""

    stage: StageName
    """The stage."""
    steps: int
    """Steps as the run counts them: optimizer steps, in PPO iterations."""
    at_most: bool = False
    """Whether all figures are the most that is possible, because value pretraining of the critic ends by what it reaches."""
    optimizer_steps: int
    """Times the weights change. In PPO, steps of policy and critic together count once, and steps of the critic alone too."""
    responses: int = 0
    """Responses sampled. Those that `ppo.rollout.refill` samples in place of others are unknown before the run and not counted."""
    tokens: int
    """Expected tokens of the training passes, with prompts, once for every epoch (in PPO, of the policy); in the evaluation, tokens read."""
    generated: int = 0
    """Expected tokens sampled, from the lengths of the demonstrations."""
    generated_max: int = 0
    """Tokens sampled where every response is as long as allowed, and `ppo.rollout.refill` takes all of its rounds with a whole batch each."""


class ModelReport(_Part):
    """The model that would be trained."""

    architecture: str
    """The `model_type` of its configuration."""
    parameters: int
    """All parameters of the policy."""
    trained_parameters: int
    """Parameters of the policy that are trained."""
    vocabulary: int
    """Size of the vocabulary in tokens."""
    context: int | None = None
    """Positions; None where the architecture sets no limit."""
    layers: int
    """Number of layers."""
    hidden_size: int
    """Width of the hidden states."""
    dtype: str
    """The type in which it would compute, after `model.dtype` = "auto" is resolved for the device."""


class PhaseMemory(_Part):
    """Peak bytes of one phase, in each process."""

    phase: Phase
    """The phase."""
    low: int
    """With sequences of average length."""
    expected: int
    """With the longest sequences that are expected in the run's worst batch, by the data and the limits."""
    high: int
    """With every sequence as long as allowed, and the allocator's fragmentation."""
    parts: dict[str, int]
    """Bytes of the expected peak by use: weights, gradients, optimizer, activations, kv_cache, and the gathered parts of sharded models."""


class Suggestion(_Part):
    """A change that lowers the peak, and the peak with this and all suggestions before it."""

    where: str
    """Pointer to the field of the spec."""
    change: str
    """The change, as a field and its value."""
    expected: int
    """Expected peak in bytes."""
    fits: bool
    """Whether this peak fits."""


class MemoryReport(_Part):
    """Memory, phase by phase, of each process."""

    device: str
    """`cpu` or `cuda`."""
    processes: int = 1
    """Processes of the run, over all machines."""
    available: int | None = None
    """Bytes of the device (in RAM: of each process' part of the machine's); None where they are not known."""
    runtime: int
    """Bytes of the process itself, in addition to the phases: Python and its libraries, or the CUDA context."""
    phases: list[PhaseMemory]
    """Peak of each phase, in the order of the run."""
    suggestions: list[Suggestion] = []
    """Only where the expected peak does not fit, the cheapest first."""

    def peak(self) -> PhaseMemory:
        return max(self.phases, key=lambda phase: phase.expected)


class TrialStep(_Part):
    """One PPO iteration on the run's first batch, at one learning rate."""

    learning_rate: float
    """The rate of all its optimizer steps."""
    kl: float | None
    """KL(π_old ‖ π) after it, in nats per token; None: a number was not finite."""


class TrialReport(_Part):
    """How far learning rates move the policy in one PPO iteration, measured."""

    steps: list[TrialStep]
    """By learning rate, the lowest first."""
    responses: int
    """Responses of the first batch that each step learned from."""
    rate: float
    """`ppo.learning_rate` of the spec."""
    target: float
    """`ppo.adaptive_rate.target`, in nats per token."""
    before: StageName | None = None
    """The stage of the run that trains the policy before PPO. The trial used the weights before it."""


class Report(_Part):
    """The result of a check without training."""

    findings: list[Finding] = []
    datasets: list[DatasetReport] = []
    model: ModelReport | None = None
    stages: list[StageEstimate] = []
    memory: MemoryReport | None = None
    trial: TrialReport | None = None
    """Only where it was asked for."""

    @classmethod
    def of_invalid_spec(cls, problems: Sequence[tuple[str, str]]) -> "Report":
        """The report of an invalid spec, from pointers with their problems."""
        return cls(
            findings=[
                Finding(level="error", area="spec", code="invalid_spec", where=pointer, detail=detail)
                for pointer, detail in problems
            ]
        )

    def with_findings(self, further: Iterable[Finding]) -> "Report":
        """The report with more findings, the gravest first."""
        found = sorted([*self.findings, *further], key=lambda finding: LEVELS.index(finding.level))
        return self.model_copy(update={"findings": found})

    def errors(self) -> list[Finding]:
        return [finding for finding in self.findings if finding.level == "error"]

    def exit_status(self) -> int:
        """0 if the spec is runnable, else the smallest status of its errors."""
        return min((EXIT_STATUS[finding.area] for finding in self.errors()), default=0)


def raise_first(findings: Iterable[Finding]) -> None:
    """Raise the first error among the findings, as the exception of its area. Later findings are not computed."""
    for finding in findings:
        if finding.level == "error":
            fix = f" {finding.fix}" if finding.fix else ""
            raise _ERRORS[finding.area](f"{finding.where}: {finding.detail}{fix}")
