"""Types of what the platform receives and returns. `make openapi` generates them from the API's schema; do not edit."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypeAlias

from typing_extensions import TypedDict

Action: TypeAlias = Literal[
    "account",
    "read",
    "read_rounds",
    "annotate",
    "submit",
    "change",
    "read_webhooks",
    "keys",
    "manage",
    "audit",
    "operate",
]
"""The kind of a request."""


class Actor(TypedDict):
    """The cause of a transition."""

    kind: Literal["api_key", "worker", "health_rule", "platform"]
    """`api_key`: a request. `worker`: the worker that held the job. `health_rule`: a rule of the trainer. `platform`: the sweeper."""
    id: str | None
    """Id of the key or of the worker, or name of the rule; null for the platform."""
    name: str | None
    """Name of the key when it acted, or of a part of the platform; null for the others."""


class AdapterSpec(TypedDict, closed=True):
    """Low-rank adapters of a frozen model (Hu et al. 2021), by peft."""

    rank: NotRequired[int]
    """r: rank of each adapter."""
    alpha: NotRequired[float]
    """α: adapters are scaled by α / r."""
    target_modules: NotRequired[list[str] | Literal["all-linear"]]
    """Names of the linear layers that get an adapter; `all-linear` takes every one but the output layer."""


class AdaptiveRateSpec(TypedDict, closed=True):
    """How `lr_schedule` = "kl_adaptive" changes the learning rate between iterations (rsl_rl, rl_games; β in Schulman et al. 2017, §4)."""

    target: NotRequired[float]
    """KL(π_old ‖ π) after an iteration's updates, in nats per token. Above twice this, the rate is divided by `factor`. Below half of it, the rate is multiplied, up to four times where it is far too low."""
    factor: NotRequired[float]
    """Factor of one change of the rate."""
    minimum: NotRequired[float]
    """Lowest learning rate of the policy, and of a critic that follows it."""
    maximum: NotRequired[float]
    """Highest learning rate of the policy, and of a critic that follows it."""


class AdvantageSpec(TypedDict, closed=True):
    """How much better a token was than expected."""

    estimator: NotRequired[Literal["gae", "reward_to_go", "sequence"]]
    """`gae`: generalised advantage estimation with a critic (Schulman et al. 2016). `reward_to_go`: the discounted rewards from the token on, without a critic (Williams 1992). `sequence`: the whole response is one action, and each token has its return (Ahmadian et al. 2024)."""
    gamma: NotRequired[float]
    """γ: discount per token."""
    gae_lambda: NotRequired[float]
    """λ of GAE: 1 is Monte Carlo, 0 is one-step temporal difference."""
    length_adaptive: NotRequired[float | None]
    """α: λ = 1 − 1/(α·length) for each response in place of `gae_lambda`, so that long responses are not discounted away (VAPO, Yue et al. 2025). Left out: the same λ for all."""
    critic_lambda: NotRequired[float | None]
    """λ of the returns that the critic learns, apart from the policy's (decoupled GAE; VC-PPO, Yuan et al. 2025, and VAPO: 1). `gae_lambda` or `length_adaptive` then holds for the advantages alone. Left out: the policy's λ for both."""
    bootstrap_truncated: NotRequired[bool]
    """Treat a response cut off by `max_new_tokens` as unfinished. Its return then ends with the critic's value after the last token in place of its score. The missing-EOS penalty still counts. False: the response ends there, with its score."""
    baseline: NotRequired[Literal["none", "batch_mean", "leave_one_out", "group_mean", "optimal_value"]]
    """Value subtracted from the return without a critic. `batch_mean`: the mean of the batch's returns. `leave_one_out`: the mean of the other responses to the same prompt (RLOO, Kool et al. 2019). `group_mean`: the mean of all responses to the prompt (GRPO, Shao et al. 2024). `optimal_value`: the prompt's V* (A*-PO, Brantley et al. 2025). With `reward_to_go` each mean is taken per position. A response that ended earlier counts there with the return of its last token."""
    normalize: NotRequired[Literal["whiten", "group_std", "none"]]
    """`whiten`: mean 0 and variance 1 over the batch's response tokens. `group_std`: divided by the standard deviation of the returns of the same prompt (GRPO). `none`: unchanged."""
    whiten_floor: NotRequired[float]
    """Smallest standard deviation that `whiten` divides by, in the units of the shaped rewards. Where all scores of a batch are equal, a critic's advantages are its errors. Without a floor, these are scaled to variance 1, and can ruin a solved task."""


class AnnotationAnswer(TypedDict):
    """A stored answer, in the order in which the annotator saw the completions."""

    done: int
    """Items that the annotator has answered or skipped."""
    total: int
    """`done` plus the items that remain; an estimate if gold questions are mixed in."""
    last_item: str | None
    """The last item that the annotator answered or skipped."""
    choice: Literal["1", "2", "tie", "skip"] | None
    """Answer to a pair, or a skip."""
    ranks: list[int] | None
    """Answer to a ranking: 1 is the best rank; equal numbers are a tie."""
    object: Literal["annotation.answer"]
    """Always `annotation.answer`."""
    item: str
    """The item."""
    annotator: str
    """Name of the annotator."""
    seconds: float
    """Time taken."""
    answered_at: str
    """When the platform stored it."""


class AnnotationError(TypedDict):
    """Why a step of the round failed."""

    code: str
    """For programs."""
    message: str
    """For people."""


class AnnotationPolicy(TypedDict):
    """A policy whose completions are compared."""

    checkpoint: str | None
    """Its checkpoint, `ckpt_…`; null for a model that is not a checkpoint."""
    model: str | None
    """Path or hub id of a model that is not a checkpoint."""
    job: str | None
    """The job that made the checkpoint."""
    stage: str | None
    """The stage of that job."""
    step: int | None
    """The step of that stage."""
    seed: int | None
    """The seed of the checkpoint, where that job has several; null otherwise, and for the job's own result."""


class AnnotationSide(TypedDict):
    """Wins and losses of one policy against the others."""

    policy: int
    """Index in the round's `policies`."""
    checkpoint: str | None
    """Its checkpoint."""
    model: str | None
    """Path or hub id of a model that is not a checkpoint."""
    wins: int
    """Answers that prefer it. Each pair of a ranking counts."""
    losses: int
    """Answers that prefer another."""
    ties: int
    """Answers that prefer neither."""


class AnnotatorAgreement(TypedDict):
    """Agreement of one annotator with the majority."""

    annotator: str
    """Name of the annotator in the rows."""
    rows: int
    """Rows that the annotator labelled."""
    compared: int
    """Pairs that at least two other annotators labelled too, with a majority among them."""
    agreement: float | None
    """Share of these pairs in which the annotator's label is the majority's."""
    low: float | None
    """Lower end of Wilson's 95 % interval of it."""
    high: float | None
    """Upper end of the interval."""


class AnnotatorProgress(TypedDict):
    """One annotator's share, speed and quality."""

    annotator: str
    """Name of the annotator."""
    answers: int
    """Answers, without gold questions and skips."""
    skips: int
    """Skipped items."""
    ties: int
    """Answers with a tie, including rankings in which two completions share a rank."""
    median_seconds: float | None
    """Median time of an answer."""
    per_hour: float | None
    """Answers per hour of work."""
    gold_right: int
    """Gold questions answered correctly. Each pair of a ranking counts."""
    gold_of: int
    """Gold questions answered."""
    agreement: float | None
    """Share of this annotator's labels that equal the majority of the other labels of the same pair. Null if no other annotator labelled these pairs."""
    kappa: float | None
    """Cohen's κ: the agreement corrected for chance."""
    reward_model_agreement: float | None
    """Share of preferences on which the reward model agrees; null while it has no scores."""
    last_at: str
    """Time of the last answer or skip."""


class ApplyFixes(TypedDict, closed=True):
    """The findings to fix."""

    findings: list[str]
    """Codes of the findings. `leave_out` stands for all records that the import could not use."""
    version: NotRequired[int | None]
    """Number of the version. Left out: the newest."""
    report: NotRequired[str | None]
    """The report with these findings, `rep_…`. Left out: the newest finished report on the version."""


class AuditActor(TypedDict):
    """Who acted, as it was then."""

    user_id: str | None
    """The member; null for a command that an operator ran on the host."""
    name: str
    """The member's name, or `operator on the host`."""
    role: str | None
    """The member's role; null for a command of the host."""
    key_id: str | None
    """The API key of the request, or the one behind its browser session."""
    address: str | None
    """The address that the request came from."""


class AuditChange(TypedDict):
    """A changed object, with only the columns that changed."""

    kind: str
    """Its kind, or the name of its table. `more`: `id` counts further changes that the row does not hold."""
    id: str
    """Its id. Several parts are joined by a slash."""
    before: dict[str, Any] | None
    """The columns before; null: it was made."""
    after: dict[str, Any] | None
    """The columns afterwards; null: it was deleted."""


class AuditFault(TypedDict):
    """The first row that is not as it was written."""

    number: int
    """Its number."""
    reason: str
    """The fault, as a sentence."""


class AuditObject(TypedDict):
    """The object that a request names or makes."""

    kind: str
    """Its kind, such as `job` or `dataset`."""
    id: str | None
    """Its id; null for one without an id."""


class AuditRow(TypedDict):
    """A change, a refused change, or a read that is recorded. It cannot be changed."""

    object: Literal["audit.row"]
    """Always `audit.row`."""
    id: str
    """`aud_` and its number."""
    number: int
    """Its place in the chain of the project, from 1, without gaps."""
    at: str
    """When it was written, by the clock of the database."""
    action: str
    """The operation id of the API, such as `create_job`, or a command of the host, such as `keys create`."""
    actor: AuditActor
    """Who acted."""
    target: AuditObject
    """The object that it is about."""
    request_id: str | None
    """The `X-Request-Id` of the response; null for a command of the host."""
    status: int | None
    """The status of the response. 403: the request was refused. Null for a command of the host."""
    changes: list[AuditChange]
    """The changed objects; empty for a read and for a refused request. A value of more than 8,000 characters is replaced by its size and its SHA-256."""
    hash: str
    """SHA-256 of the row and of the hash of the row before."""


class AuditRowList(TypedDict):
    """Rows of the audit log."""

    object: Literal["list"]
    """Always `list`."""
    data: list[AuditRow]
    """The items of this page."""
    has_more: bool
    """Whether more follow."""
    first_id: str | None
    """Cursor of the first item."""
    last_id: str | None
    """Cursor of the last item: the next page's `after`."""


class AuditVerification(TypedDict):
    """The result of a check of the whole log."""

    object: Literal["audit.verification"]
    """Always `audit.verification`."""
    valid: bool
    """Whether every row is as it was written, and none is missing."""
    rows: int
    """Rows that were checked, up to the faulty one."""
    first: int | None
    """Number of the oldest row that is kept; null without a row."""
    last: int
    """Number of the newest row; 0 before the first one."""
    hash: str
    """The hash of the newest row. Keep a copy elsewhere: it shows later that no row up to this one was changed."""
    fault: AuditFault | None
    """The first fault; null without one."""


class BestOfGroup(TypedDict):
    """The job of a group with the best objective."""

    job: str
    """Its id."""
    name: str
    """Its name."""
    number: int
    """Its place in the group, from 1."""
    values: dict[str, Any]
    """The fields of the spec that differ between the jobs of a sweep, by path."""
    objective: float
    """Its objective."""


class BranchJob(TypedDict, closed=True):
    """The start of a branch, by `checkpoint` or by `stage` and `step`, and its changes."""

    patch: NotRequired[dict[str, Any]]
    """JSON merge patch (RFC 7396) on the stored spec: null restores the default of a field, `{"null": true}` sets null, objects are merged, and any other value replaces."""
    checkpoint: NotRequired[str | None]
    """Id of a checkpoint of the job."""
    stage: NotRequired[Literal["sft", "reward_model", "dpo", "kto", "ppo", "evaluation"] | None]
    """Stage of the checkpoint."""
    step: NotRequired[int | None]
    """Step of the checkpoint."""


class CalibrationBin(TypedDict, closed=True):
    """Pairs in which the reward model is about equally sure, or completions to which it gives about the same odds."""

    low: float
    """Lower end of the bin of σ(|Δ|), or of σ(r)."""
    high: float
    """Upper end of the bin."""
    pairs: int
    """Their number."""
    predicted: float
    """Mean σ(|Δ|); of completions mean σ(r), the probability of a thumb up."""
    observed: float
    """Share in which the answer it ranks first is the preferred one; of completions the share of thumbs up."""


class CarriedPart(TypedDict):
    """A part of the state of a run, and whether a branch continues it."""

    part: str
    """`results` of earlier stages, `weights`, `optimizer`, `critic`, `kl_controller`, `reference` or `sampler`."""
    carried: bool
    """Whether the branch continues it."""
    detail: str
    """The part that carries over, or the reason why it does not, for people."""


class ChangeDataset(TypedDict, closed=True):
    """The fields to change. Other fields keep their values."""

    name: NotRequired[str | None]
    """Name of the dataset."""
    expires_at: NotRequired[str | None]
    """When the platform may delete the dataset, unless an unfinished job uses it then; null: never."""


class ChangeJob(TypedDict, closed=True):
    """
    A JSON merge patch (RFC 7396) on what describes a job and on `preemptible`: null empties a field or restores its default.

    A field that is left out stays.
    """

    name: NotRequired[str | None]
    """The new name. The spec keeps the one that was submitted."""
    tags: NotRequired[list[str] | None]
    """All tags, in place of the present ones: at most 20 of 50 characters. They are stored in lower case."""
    notes: NotRequired[str | None]
    """Text for people, of at most 10,000 characters."""
    metadata: NotRequired[dict[str, str | None] | None]
    """Texts by key, merged into the present ones; null removes a key. A job has at most 50, of 64 and 500 characters."""
    preemptible: NotRequired[bool | None]
    """Whether the platform may pause the job for a more urgent one, from now on. Null: it may not."""


class ChangeProject(TypedDict, closed=True):
    """The new name of the project."""

    name: str
    """Its new name."""


class ChangeTemplate(TypedDict, closed=True):
    """A JSON merge patch (RFC 7396) on a template."""

    name: NotRequired[str | None]
    """The new name. It cannot be null."""
    description: NotRequired[str | None]
    """The new description; null empties it."""
    spec: NotRequired[dict[str, Any] | None]
    """Changes of the spec: null removes a field, `{"null": true}` sets null, objects are merged, and any other value replaces."""


class CheckpointDamagedData(TypedDict):
    """The stored files of a checkpoint are not those that were saved. It is not used."""

    seed: NotRequired[int | None]
    """The seed that it belongs to, in a job of several seeds; null for the whole job, and in a job of one seed."""
    stage: Literal["sft", "reward_model", "dpo", "kto", "ppo", "evaluation"]
    """The stage of the run."""
    step: NotRequired[int | None]
    """The step of the checkpoint; null where only the damaged files name it."""
    path: str
    """The folder, relative to the run folder."""
    final: bool
    """Whether it was the result of the stage."""
    best: NotRequired[bool]
    """Whether it was the best checkpoint of the stage."""
    reason: str
    """The first file that is wrong, and how."""
    remedy: str
    """The action of the run or of the platform instead."""
    checkpoint: NotRequired[str | None]
    """The platform's id of the checkpoint; null in a run without a platform."""


class CheckpointDamagedEvent(TypedDict):
    """The stored files of a checkpoint are not those that were saved. It is not used."""

    object: Literal["job.event"]
    """Always `job.event`."""
    job_id: str
    """The job that it belongs to."""
    seq: int
    """Sequence number in the job, from 1 without gaps. It is the event id of the stream and the cursor of this list."""
    attempt: int
    """The attempt that reported it."""
    type: Literal["checkpoint_damaged"]
    """Always `checkpoint_damaged`."""
    created_at: str
    """When it happened."""
    seed: int | None
    """Seed of the event, in a job with several; null if it concerns the whole job, and with one seed."""
    stage: str | None
    """Stage of the event; null if it concerns the whole job."""
    step: int | None
    """Step of the event; null if it has none."""
    data: CheckpointDamagedData
    """The event's own fields."""


class CheckpointFile(TypedDict):
    """Path, size and checksum of one file."""

    path: str
    """Relative to the checkpoint's folder."""
    bytes: int
    """Its size."""
    sha256: str
    """SHA-256 in hexadecimal."""


class CheckpointSavedData(TypedDict):
    """A checkpoint folder is complete on disk."""

    seed: NotRequired[int | None]
    """The seed that it belongs to, in a job of several seeds; null for the whole job, and in a job of one seed."""
    stage: Literal["sft", "reward_model", "dpo", "kto", "ppo", "evaluation"]
    """The stage of the run."""
    step: int
    """The step of the stage."""
    path: str
    """The folder, relative to the run folder."""
    final: bool
    """Whether it is the result of the stage."""
    best: NotRequired[bool]
    """Whether its evaluation is the best so far. It replaces the best checkpoint before it."""
    metrics: NotRequired[dict[str, float]]
    """Figures of the checkpoint, by name."""


class CheckpointSavedEvent(TypedDict):
    """A checkpoint folder is complete on disk."""

    object: Literal["job.event"]
    """Always `job.event`."""
    job_id: str
    """The job that it belongs to."""
    seq: int
    """Sequence number in the job, from 1 without gaps. It is the event id of the stream and the cursor of this list."""
    attempt: int
    """The attempt that reported it."""
    type: Literal["checkpoint_saved"]
    """Always `checkpoint_saved`."""
    created_at: str
    """When it happened."""
    seed: int | None
    """Seed of the event, in a job with several; null if it concerns the whole job, and with one seed."""
    stage: str | None
    """Stage of the event; null if it concerns the whole job."""
    step: int | None
    """Step of the event; null if it has none."""
    data: CheckpointSavedData
    """The event's own fields."""


class CheckpointSpec(TypedDict, closed=True):
    """The checkpoints that are kept during a run."""

    keep_last: NotRequired[int]
    """Intermediate checkpoints kept per stage; the final one of each stage always is."""


class Choice(TypedDict, closed=True):
    """One of a few values, each with the same probability."""

    distribution: Literal["choice"]
    """Always `choice`."""
    values: list[Any]
    """The values."""


class ChooseRewardModel(TypedDict, closed=True):
    """A reward model to compare the answers with."""

    checkpoint: str
    """Its checkpoint, `ckpt_…`."""


class ClassifierReward(TypedDict, closed=True):
    """Any sequence classifier: the probability, log-probability or logit of one of its labels."""

    name: NotRequired[str | None]
    """Name under which it is logged (`reward/<name>`). Left out: its type, numbered if there are several."""
    weight: NotRequired[float]
    """The run's score is the weighted sum of its rewards; a negative weight penalises."""
    max_missing: NotRequired[float]
    """Largest share of responses without a value from this reward, over its last 1000 responses (fewer than 200 count as 200). Above it the job pauses. Such a response takes part in no mean and no gradient. 0 pauses at the first one, 1 never."""
    type: Literal["classifier"]
    """Which reward this is."""
    path: str
    """Hub id or folder of a sequence-classification model with its tokenizer."""
    label: NotRequired[str | int | None]
    """Label whose value is the reward, by name or number. Left out: the only one, or the last of several."""
    output: NotRequired[Literal["logit", "probability", "log_probability"]]
    """The output that is read: the raw logit, the softmax (sigmoid for one label) probability, or its logarithm."""
    text: NotRequired[Literal["response", "prompt_and_response", "pair"]]
    """Input of the classifier. `response`: the response alone. `prompt_and_response`: both as one text, by its chat template if it has one. `pair`: both as a pair of texts with its separator between them."""


class CloneJob(TypedDict, closed=True):
    """The changes of a clone."""

    patch: NotRequired[dict[str, Any]]
    """JSON merge patch (RFC 7396) on the stored spec: null restores the default of a field, `{"null": true}` sets null, objects are merged, and any other value replaces."""


class CloseRound(TypedDict, closed=True):
    """The dataset for the answers."""

    dataset: NotRequired[str | None]
    """A dataset of preferences. It gets a version with its rows and the answers. Left out: a new dataset."""
    name: NotRequired[str | None]
    """Name of a new dataset. Left out: the name of the round."""


class CommandActor(TypedDict):
    """Who requested a command."""

    kind: str
    """`api_key`."""
    id: str | None
    """Id of the key."""
    name: str | None
    """Name of the key when it acted."""


class CommandDoneData(TypedDict):
    """An action was requested and taken up between two steps. An evaluation is part of the next step."""

    stage: Literal["sft", "reward_model", "dpo", "kto", "ppo", "evaluation"]
    """The stage of the run."""
    step: int
    """Steps of the stage that were done."""
    name: Literal["evaluate", "checkpoint"]
    """The action."""
    command: str
    """Id of the command that requested it."""


class CommandDoneEvent(TypedDict):
    """An action was requested and taken up between two steps. An evaluation is part of the next step."""

    object: Literal["job.event"]
    """Always `job.event`."""
    job_id: str
    """The job that it belongs to."""
    seq: int
    """Sequence number in the job, from 1 without gaps. It is the event id of the stream and the cursor of this list."""
    attempt: int
    """The attempt that reported it."""
    type: Literal["command_done"]
    """Always `command_done`."""
    created_at: str
    """When it happened."""
    seed: int | None
    """Seed of the event, in a job with several; null if it concerns the whole job, and with one seed."""
    stage: str | None
    """Stage of the event; null if it concerns the whole job."""
    step: int | None
    """Step of the event; null if it has none."""
    data: CommandDoneData
    """The event's own fields."""


class CommandRefusedData(TypedDict):
    """A command was not carried out."""

    stage: Literal["sft", "reward_model", "dpo", "kto", "ppo", "evaluation"]
    """The stage that ran."""
    step: int
    """Steps of the stage that were done."""
    name: Literal["learning_rate", "critic_learning_rate", "kl_coef", "kl_target"] | Literal["evaluate", "checkpoint"]
    """The knob or the action."""
    command: str
    """Id of the command."""
    reason: str
    """Why, as a sentence."""


class CommandRefusedEvent(TypedDict):
    """A command was not carried out."""

    object: Literal["job.event"]
    """Always `job.event`."""
    job_id: str
    """The job that it belongs to."""
    seq: int
    """Sequence number in the job, from 1 without gaps. It is the event id of the stream and the cursor of this list."""
    attempt: int
    """The attempt that reported it."""
    type: Literal["command_refused"]
    """Always `command_refused`."""
    created_at: str
    """When it happened."""
    seed: int | None
    """Seed of the event, in a job with several; null if it concerns the whole job, and with one seed."""
    stage: str | None
    """Stage of the event; null if it concerns the whole job."""
    step: int | None
    """Step of the event; null if it has none."""
    data: CommandRefusedData
    """The event's own fields."""


class CommandRequest(TypedDict, closed=True):
    """Commands to the stage that runs: new values of knobs, and actions. All of them are stored, or none."""

    evaluate: NotRequired[bool]
    """Evaluate the policy after the next step. It does not change the result of the run."""
    checkpoint: NotRequired[bool]
    """Save a checkpoint between two steps. It does not change the result of the run."""
    learning_rate: NotRequired[float | None]
    """New peak learning rate of the model that the stage trains; in PPO, of the policy. Left out: unchanged."""
    critic_learning_rate: NotRequired[float | None]
    """New peak learning rate of a separate critic. Left out: unchanged."""
    kl_coef: NotRequired[float | None]
    """New KL coefficient β. Left out: unchanged."""
    kl_target: NotRequired[float | None]
    """New KL target of the adaptive controller, in nats per response. Left out: unchanged."""


class CommandRequestedData(TypedDict):
    """A command for the stage was requested. The platform appends this event; the trainer reports the outcome."""

    stage: Literal["sft", "reward_model", "dpo", "kto", "ppo", "evaluation"]
    """The stage that it is meant for."""
    name: Literal["learning_rate", "critic_learning_rate", "kl_coef", "kl_target"] | Literal["evaluate", "checkpoint"]
    """The knob or the action."""
    value: NotRequired[float | None]
    """The new value; null for an action."""
    command: str
    """Id of the command."""
    actor: dict[str, str | None]
    """Who requested it: `kind`, `id` and `name`, as in `status_changed`."""


class CommandRequestedEvent(TypedDict):
    """A command for the stage was requested. The platform appends this event; the trainer reports the outcome."""

    object: Literal["job.event"]
    """Always `job.event`."""
    job_id: str
    """The job that it belongs to."""
    seq: int
    """Sequence number in the job, from 1 without gaps. It is the event id of the stream and the cursor of this list."""
    attempt: int
    """The attempt that reported it."""
    type: Literal["command_requested"]
    """Always `command_requested`."""
    created_at: str
    """When it happened."""
    seed: int | None
    """Seed of the event, in a job with several; null if it concerns the whole job, and with one seed."""
    stage: str | None
    """Stage of the event; null if it concerns the whole job."""
    step: int | None
    """Step of the event; null if it has none."""
    data: CommandRequestedData
    """The event's own fields."""


CommandStatus: TypeAlias = Literal["pending", "applied", "refused"]
"""The state of a command."""


class CompleteUpload(TypedDict, closed=True):
    """Checksum to verify."""

    sha256: NotRequired[str | None]
    """SHA-256 of the whole file in hexadecimal."""


class ContinueJob(TypedDict, closed=True):
    """How to continue a job."""

    job: str
    """The job to continue."""
    steps: NotRequired[int | None]
    """Steps of PPO. Left out: the same number as in the job."""
    name: NotRequired[str | None]
    """Name of the new job. Left out: it is made from the names of the job and the round."""


class CorrectionSpec(TypedDict, closed=True):
    """The importance correction of the policy loss. r = π_old/π_sampler of a token."""

    kind: NotRequired[Literal["none", "truncated", "mask", "sequence_truncated", "sequence_mask"] | Literal["auto"]]
    """The constant that multiplies the policy loss of each token, and a KL in the loss. `none`: 1; `truncated`: min(r, C), C = `importance_cap` (Ionides 2008; between two engines: Yao et al. 2025); `mask`: r inside [1 − ε_low, 1 + ε_high], else 0 (DIS, SAO, arXiv 2607.07508; IcePop); `sequence_truncated`: min(s, C), s the geometric mean of r over the response; `sequence_mask`: s inside [1 − ε_low, 1 + ε_high], else 0: whole responses. `auto`: `truncated` if `importance_cap` is a number, and by default where the sampler is not the trainer, else `none`."""
    epsilon_low: NotRequired[float]
    """ε_low of the masks: below 1 − ε_low there is no gradient."""
    epsilon_high: NotRequired[float]
    """ε_high of the masks: above 1 + ε_high there is no gradient."""
    denominator: NotRequired[Literal["old", "sampler", "interpolated"]]
    """The denominator of the loss's ratio. `old`: π_old, and the weight corrects for the sampler (Hilton et al. 2022). `sampler`: π_sampler itself (bypass), so the ratio π/π_sampler is the correction. A mask then reads the ratio of each pass, and its weight is 1 or 0. `interpolated`: π_prox between π_sampler and π of each pass, log π_prox = (log π_sampler + k·log π)/(k + 1) for a response of age k (A-3PO, arXiv 2512.06547). The weight is then that of r = π_prox/π_sampler."""


class CreateUpload(TypedDict, closed=True):
    """A file to send."""

    filename: str
    """Name of the file. Folders before it are dropped."""
    bytes: int
    """Size of the file in bytes."""
    sha256: NotRequired[str | None]
    """SHA-256 of the whole file in hexadecimal, if known."""


class CreateUploadFrom(TypedDict, closed=True):
    """A file for the platform to download."""

    url: str
    """An https address, `s3://bucket/key`, `hf://datasets/owner/name[@revision]/file`, the id of a hub dataset with one file, or `file:///…` on the server. The operator decides which are allowed."""
    filename: NotRequired[str | None]
    """Name of the file. Left out: the last part of the address."""


class CriticCalibration(TypedDict, closed=True):
    """Tokens with about the same value."""

    low: float
    """Lowest value."""
    high: float
    """Highest value."""
    tokens: int
    """Their number."""
    value: float
    """Mean value."""
    returns: float
    """Mean return; equal to the mean value for a calibrated critic."""


class CriticHeadsSpec(TypedDict, closed=True):
    """Several critics as heads of one backbone (AsyPPO, Liu et al. 2025, arXiv 2510.01656). Each head learns from a part of the responses of its own. The value is the mean of the heads, and their standard deviation is the disagreement about a token."""

    count: NotRequired[int]
    """Number of heads, which all begin as the same one."""
    divide: NotRequired[Literal["prompts", "responses"]]
    """`prompts`: a prompt and all its responses belong to one head, by a hash of the prompt's tokens. `responses`: those to each prompt are dealt to the heads in turn, so that each head sees every prompt (the paper's group-level division)."""
    mask_advantages: NotRequired[float | None]
    """The advantage is 0 for this share of the batch's tokens: those on which the heads disagree least. Left out: none."""
    filter_entropy: NotRequired[float | None]
    """The entropy bonus leaves out this share of the batch's tokens: those on which the heads disagree most. Left out: none."""


class CriticLength(TypedDict, closed=True):
    """Responses of about the same length."""

    low: int
    """Tokens of the shortest one."""
    high: int
    """Tokens of the longest one."""
    responses: int
    """Their number."""
    value: float
    """Mean value over their tokens."""
    returns: float
    """Mean return over their tokens; the bias is the mean value less this."""


class CriticPosition(TypedDict, closed=True):
    """Tokens in the same part of their responses."""

    low: float
    """Begin of the part, as a share of the response."""
    high: float
    """End of the part."""
    tokens: int
    """Their number."""
    value: float
    """Mean value."""
    returns: float
    """Mean return."""
    explained_variance: NotRequired[float | None]
    """1 − Var(G − V) ÷ Var(G) over these tokens; none where the returns are equal."""
    td_error: float
    """Mean |δ|."""


class CurriculumSpec(TypedDict, closed=True):
    """A curriculum by measured difficulty. A prompt is drawn with a weight of `floor` + (1 − `floor`)·4·p·(1 − p), p its own success rate so far. Prompts that are always or never solved are drawn least (LILO, Foster et al. 2025, arXiv 2502.12272; Bae et al. 2025, arXiv 2504.03380)."""

    above: NotRequired[float]
    """A response is a success if its score is above this number. The score is the weighted sum of its rewards before `shaping`."""
    floor: NotRequired[float]
    """Weight of a prompt that is always or never solved. That of a prompt that is solved half of the time, or not drawn yet, is 1."""
    decay: NotRequired[float]
    """Factor of a prompt's earlier counts when it is drawn again, because they are those of an older policy. 0: only the newest responses count. 1: all count alike."""


class CurvePoint(TypedDict, closed=True):
    """One evaluation of the held-out prompts."""

    step: int
    """Step of the evaluation."""
    sqrt_kl: float
    """√ of the mean KL to the policy as PPO began (Gao et al. 2023 plot against it); 0 where the estimate is negative."""
    score: NotRequired[float | None]
    """Mean score by the rewards that PPO maximises."""
    judge: NotRequired[float | None]
    """Mean score by the judge: the gold reward, where there is a judge that scores."""
    win_rate: float
    """Win rate against the policy as PPO began."""


class DPOSpec(TypedDict, closed=True):
    """Direct preference optimisation (Rafailov et al. 2023) and its relatives on pairs: the baselines without a reward model."""

    learning_rate: NotRequired[float]
    """Peak learning rate of AdamW."""
    lr_schedule: NotRequired[Literal["constant", "linear", "cosine"]]
    """Shape of the learning rate after warm-up: constant, or down to 0 along a line or a cosine."""
    warmup_ratio: NotRequired[float]
    """Share of the steps (in PPO: iterations) over which the learning rate rises from 0."""
    weight_decay: NotRequired[float]
    """Decoupled weight decay of AdamW, on matrices only (never on biases and norms)."""
    max_grad_norm: NotRequired[float]
    """Gradients are scaled down to this global L2 norm."""
    micro_batch_size: NotRequired[int | None]
    """Sequences per forward pass (a preference pair is two); gradients accumulate to the batch. Left out: the whole (mini)batch at once. Changes memory, not the result."""
    micro_batch_tokens: NotRequired[int | None]
    """Tokens per forward pass at most, prompts included (a sequence that is longer goes alone); sequences of like length go together. Evens out memory where lengths differ much. With `micro_batch_size` both hold. Left out: no limit. Changes memory, not the result."""
    optimizer: NotRequired[Literal["adamw", "adamw_8bit"]]
    """`adamw`: Loshchilov and Hutter (2019). `adamw_8bit`: its two moments are in 8 bits, block by block (Dettmers et al. 2022). They take 2 bytes a parameter in place of 8, with nearly the same steps, which are slower on a CPU."""
    offload_optimizer: NotRequired[bool]
    """Keep the optimizer's moments (and masters of bfloat16 weights) in host memory and take its steps on the CPU: the GPU holds weights and gradients alone. Changes memory and speed, the result by rounding only."""
    save_every: NotRequired[int]
    """Steps between checkpoints to resume from."""
    eval_rows: NotRequired[int | None]
    """Held-out rows in an evaluation before the end of the stage, at most, counted as in `batch_size`. It runs with every checkpoint and on request, always on the same rows, in every job on the same data. The evaluation at the end uses all held-out rows. `null`: all of them every time."""
    epochs: NotRequired[int]
    """Passes over the pairs."""
    batch_size: NotRequired[int]
    """Pairs per optimizer step."""
    beta: NotRequired[float]
    """β: how strongly the policy is held to the reference; of `simpo`, the scale of the mean log-probabilities. A spec with `loss` = "simpo" must name it; the paper takes 2 to 2.5."""
    loss: NotRequired[Literal["sigmoid", "ipo", "simpo", "orpo"]]
    """The loss of a pair. `sigmoid`: −log σ(β·Δ), Δ the difference of the two log-ratios (Rafailov et al. 2023, eq. 7); `ipo`: (Δ − 1/(2β))² on mean log-ratios per token (Azar et al. 2023, eq. 17); `simpo`: −log σ(β·Δ − `target_margin`), Δ the difference of the mean log-probabilities per token, without a reference (Meng et al. 2024, eq. 6); `orpo`: −log p(preferred) − `odds_ratio_weight`·log σ(log odds(preferred) − log odds(other)), p the geometric mean per token and odds = p/(1 − p), without a reference (Hong et al. 2024, eq. 6)."""
    label_smoothing: NotRequired[float]
    """Probability that a label is wrong (conservative DPO, Mitchell 2023)."""
    target_margin: NotRequired[float]
    """γ of `simpo`: how much larger β times the mean log-probability of the preferred side should be. The paper takes 0.3 to 1.6, often about half of β."""
    odds_ratio_weight: NotRequired[float]
    """λ of `orpo`: weight of the odds ratio beside the language-model loss of the preferred side."""


class DataProgress(TypedDict):
    """Progress of a data task."""

    fraction: float
    """From 0 to 1."""
    note: str
    """Current step, or what the task waits for, for people."""
    place: int | None
    """Tasks that run or begin before it while it waits in the queue: 0 for the next one. Null once it runs."""


class DataSpec(TypedDict, closed=True):
    """The datasets of the run: dataset ids (`ds_…`) over REST, JSONL files on the command line."""

    preferences: NotRequired[str | None]
    """Preference pairs, or rankings of several completions: they train the reward model, and DPO."""
    thumbs: NotRequired[str | None]
    """Single completions with a thumb up or down: they train KTO, and the reward model where `reward_model.loss` is `pointwise`."""
    steps: NotRequired[str | None]
    """Solutions with a label for each step: they train the reward model where `reward_model.loss` is `stepwise`."""
    sft: NotRequired[str | None]
    """Prompt and completion pairs for SFT. Left out: the preferred completions of `preferences`, else the completions of `thumbs` with a thumb up."""
    prompts: NotRequired[str | None]
    """Prompts for PPO and evaluation, each with an `answer` where a reward checks one. A repeated row counts twice. Left out: the prompts of `preferences`, else of `sft`, else of `thumbs`, else of `steps`, each once."""
    evaluation_prompts: NotRequired[str | None]
    """Prompts for PPO's evaluations and the evaluation stage, in place of those held out of `prompts` by their hash. No stage trains on a row with one of these prompts. Left out: held-out `prompts`."""
    pretraining: NotRequired[str | None]
    """Plain texts for `ppo.ptx`."""
    eval_fraction: NotRequired[float]
    """Share of the prompts held out from every stage, chosen by a hash of the prompt so that no prompt crosses. With `evaluation_prompts` it divides the data of the other stages alone, and PPO trains on all of `prompts`."""
    max_prompt_tokens: NotRequired[int]
    """Longer prompts are left out, and counted in the run's log."""
    max_completion_tokens: NotRequired[int]
    """Longer completions are cut in SFT, without an EOS at the cut. The reward model, DPO and KTO leave out pairs with a longer side, and thumbs and labelled steps of a longer completion."""
    chat_template: NotRequired[Literal["auto", "none"]]
    """`auto` applies the tokenizer's chat template where it has one; `none` joins prompt and completion as they stand."""


class DatasetError(TypedDict):
    """Why a version could not be made."""

    code: str
    """For programs."""
    message: str
    """For people."""
    errors: list[dict[str, Any]] | None
    """The first bad records: `line`, `detail`, and `column` or `pointer` where known."""


DatasetKind: TypeAlias = Literal["preferences", "thumbs", "steps", "prompts", "sft", "pretraining"]
"""The kind of the rows of a dataset."""


class DatasetRow(TypedDict):
    """One row, in canonical form."""

    object: Literal["dataset.row"]
    """Always `dataset.row`."""
    line: int
    """Position in the source, from 1. It is a line in text files, where blank lines count and a CSV record has its first line. It is the record's number in JSON arrays and Parquet files."""
    row_number: int
    """Number of the row in the version, from 1."""
    row: dict[str, Any]
    """The row: `prompt` with `a`, `b` and `label`, with `completion`, or alone."""
    split: Literal["train", "eval"] | None
    """The split that a run would put its prompt into; null without a prompt, or until the rows are indexed."""


class DatasetRowList(TypedDict):
    """Rows of a version, in order. The cursor is the row's number."""

    object: Literal["list"]
    """Always `list`."""
    data: list[DatasetRow]
    """The items of this page."""
    has_more: bool
    """Whether more follow."""
    first_id: str | None
    """Cursor of the first item."""
    last_id: str | None
    """Cursor of the last item: the next page's `after`."""
    total: int | None
    """How many match; null: more than 10,000."""


DeliveryStatus: TypeAlias = Literal["pending", "delivered", "failed"]
"""The state of a delivery."""


EventType: TypeAlias = Literal[
    "job.queued",
    "job.running",
    "job.paused",
    "job.succeeded",
    "job.failed",
    "job.cancelled",
    "job.finding",
    "dataset.ready",
    "dataset.failed",
]
"""An event that a webhook can receive. `webhook.test` goes to the webhook whose test was asked for."""


class Evidence(TypedDict):
    """One number that a health rule looked at."""

    metric: str
    """Name of the metric."""
    step: int
    """Step of the value."""
    value: float
    """The value."""


class ExactMatchReward(TypedDict, closed=True):
    """1 where the response equals the prompt's `answer`, else 0."""

    name: NotRequired[str | None]
    """Name under which it is logged (`reward/<name>`). Left out: its type, numbered if there are several."""
    weight: NotRequired[float]
    """The run's score is the weighted sum of its rewards; a negative weight penalises."""
    type: Literal["exact_match"]
    """Which reward this is."""
    ignore_case: NotRequired[bool]
    """Compare without regard to case."""
    ignore_whitespace: NotRequired[bool]
    """Strip both sides and take runs of white space for one space."""


ExportFormat: TypeAlias = Literal["trl", "openai", "openrlhf", "verl", "llama_factory", "parquet", "rows"]
"""The file format of an export."""


class ExtendJob(TypedDict, closed=True):
    """More steps of PPO for a succeeded job."""

    steps: int
    """The new number of steps in all."""


class FigureHistogram(TypedDict):
    """How often a figure of the completions has which value."""

    by: Literal["score", "judge", "kl", "tokens"]
    """The figure."""
    low: float | None
    """Lower edge of the first bin; null if no completion has the figure."""
    high: float | None
    """Upper edge of the last bin; it belongs to this bin."""
    counts: list[int]
    """Completions in each bin. The bins have equal widths; `min` and `max` of the request have no effect on them."""


class FindingCounts(TypedDict):
    """Numbers of findings, of the import and of the newest report."""

    blocking: int
    """Findings that prevent jobs from using the version."""
    warning: int
    """Findings that need attention."""


class FindingFix(TypedDict):
    """A correction that the platform can apply."""

    id: str
    """For programs."""
    label: str
    """For people."""


class FindingSample(TypedDict):
    """A record that a finding is about."""

    line: int
    """Line in the source."""
    row: int | None
    """Number among the stored rows; null if it is not stored."""
    text: str
    """Beginning of the record."""


Goal: TypeAlias = Literal["maximize", "minimize"]
"""The objective that is the best one."""


class GroupRequest(TypedDict, closed=True):
    """A group without jobs. `POST /v1/jobs?group=…` adds jobs to it."""

    name: NotRequired[str]
    """For people."""
    metric: NotRequired[str]
    """The objective by which its jobs are compared: a figure of the run's summary, or a metric."""
    max_parallel: NotRequired[int | None]
    """Most jobs that are queued or run at once. The others are paused until there is room. Left out: no bound."""
    goal: NotRequired[Goal]
    """Whether the highest objective is the best, or the lowest, as for a loss."""


class GroupSummary(TypedDict):
    """A group in a list."""

    object: Literal["job.group"]
    """Always `job.group`."""
    id: str
    """Begins with `grp_`."""
    name: str
    """For people."""
    metric: str
    """The objective of its jobs."""
    goal: Goal
    """Whether the highest or the lowest objective is the best."""
    max_parallel: int | None
    """Most jobs that are queued or run at once; null: no bound."""
    sweep: dict[str, Any] | None
    """The request of the sweep without the base spec; null for a group by hand."""
    created_at: str
    """When it was made."""


class GuardsSpec(TypedDict, closed=True):
    """Limits on the steps inside an iteration."""

    target_kl: NotRequired[float | None]
    """End the iteration's passes once a minibatch's KL to the sampling policy (`approxkl`) exceeds this, before its step. Left out: never."""
    lr_cut_kl: NotRequired[float | None]
    """Multiply the learning rates by `lr_cut_factor` for the next `lr_cut_steps` optimizer steps once a minibatch's KL to the sampling policy exceeds this (usual: 0.015). Left out: never."""
    lr_cut_factor: NotRequired[float]
    """Factor of the learning rates after `lr_cut_kl` was exceeded."""
    lr_cut_steps: NotRequired[int]
    """Optimizer steps for which `lr_cut_factor` holds."""


class HangSpec(TypedDict, closed=True):
    """The watch for phases of the run that hang. The deadline of a phase is ten times the longest that it has taken."""

    action: NotRequired[Literal["off", "warn", "restart", "fail"]]
    """`warn`: name the phase in the events and write the stacks of all threads into the log. `restart`: do so, end the run and start it again from its checkpoint. After five attempts without a new checkpoint it fails. `fail`: end the run with the error `hang`. `off`: watch nothing."""
    first_seconds: NotRequired[int]
    """Shortest deadline of a phase that has not ended before: it may compile kernels or start an engine."""
    least_seconds: NotRequired[int]
    """Shortest deadline of a phase that has ended before."""


class Health(TypedDict):
    """The process is up."""

    status: Literal["ok"]
    """Always `ok`."""
    version: str
    """The version of the platform."""


class HealthRule(TypedDict, closed=True):
    """One rule: its limit, its patience and its action."""

    action: NotRequired[Literal["off", "warn", "pause", "stop", "roll_back"]]
    """`warn`: log an event. `pause`: save and end; the same command resumes. `stop`: save and fail; `not_finite` fails at once and saves nothing more. `roll_back`: return to the best checkpoint with half the learning rates."""
    limit: NotRequired[float]
    """The threshold. Its meaning is described at each rule. Left out: the rule's default."""
    patience: NotRequired[int]
    """Steps in a row beyond the limit before the rule acts. Rules about evaluations count evaluations, and `reward_collapse` counts blocks of ten. Left out: the rule's default."""


class HealthRuleInfo(TypedDict):
    """A rule that watches the metrics of PPO, with its defaults."""

    rule: str
    """Its name in the spec's `health` and in findings."""
    title: str
    """Its title for people."""
    meaning: str
    """When it fires."""
    action: Literal["off", "warn", "pause", "stop", "roll_back"]
    """The default of `action`."""
    limit: float
    """The default of `limit`."""
    patience: int
    """The default of `patience`."""


class HealthRuleInfoList(TypedDict):
    """Every health rule."""

    object: Literal["list"]
    """Always `list`."""
    data: list[HealthRuleInfo]
    """The items of this page."""
    has_more: bool
    """Whether more follow."""
    first_id: str | None
    """Cursor of the first item."""
    last_id: str | None
    """Cursor of the last item: the next page's `after`."""


class HealthSpec(TypedDict, closed=True):
    """The limits on PPO's metrics. Each rule's event names the cause, the evidence and the setting to change."""

    enabled: NotRequired[bool]
    """False turns every rule off."""
    kl_blow_up: NotRequired[HealthRule]
    """`objective/kl` above the limit, in nats per response."""
    negative_kl: NotRequired[HealthRule]
    """`objective/kl` below the limit: the sampled policy is not the one that is trained."""
    entropy_collapse: NotRequired[HealthRule]
    """`policy/entropy_avg` below this share of its first value."""
    approxkl_high: NotRequired[HealthRule]
    """`policy/approxkl_avg` above the limit: the steps are too large. It is always 0 with one optimizer step per iteration."""
    approxkl_jump: NotRequired[HealthRule]
    """`policy/approxkl_avg` above the limit even once: one iteration replaced the policy by another one."""
    clipfrac_high: NotRequired[HealthRule]
    """`policy/clipfrac_avg` above the limit."""
    clipfrac_zero: NotRequired[HealthRule]
    """`policy/clipfrac_avg` at the limit or below with several optimizer steps per iteration, while the KL to the first policy is below 0.1 nats: the policy hardly moves."""
    policy_still: NotRequired[HealthRule]
    """KL to the first policy (`objective/kl`, or `objective/kl_initial` where the reference moves) and `policy/approxkl_avg` below the limit, in nats: the policy does not move at all. Warm-ups are left out."""
    reward_collapse: NotRequired[HealthRule]
    """`objective/scores` has fallen and stays low for a quarter of the run, 20 iterations at least. The limit is the fall below the first ten iterations, as a multiple of the responses' standard deviation. A fall below the first iteration alone is twice that. A fall below the best ten iterations is twice that, and half of the gain. The patience counts blocks of ten iterations."""
    negative_explained_variance: NotRequired[HealthRule]
    """`val/explained_var` below the limit: the critic is worse than a constant."""
    over_optimisation: NotRequired[HealthRule]
    """The score rises while the win rate (or the judge) is this far below its best."""
    length_explosion: NotRequired[HealthRule]
    """The score rises while `val/response_length` is above this multiple of its first value."""
    length_collapse: NotRequired[HealthRule]
    """The score rises while `val/response_length` is below this share of its first value."""
    ensemble_disagreement: NotRequired[HealthRule]
    """`reward/<name>/disagreement` of an ensemble of reward models above this multiple of its first value: the policy leaves the data that they learnt from. A refit of the reward model sets a new first value."""
    truncation: NotRequired[HealthRule]
    """Share of responses cut off without an EOS above the limit."""
    kl_outweighs_reward: NotRequired[HealthRule]
    """`objective/kl_penalty_std` above this multiple of the raw scores' standard deviation, while the mean raw score has risen by less than that deviation since the start. The KL penalty then outweighs the score of better responses. Only with the KL in the reward."""
    value_loss_spike: NotRequired[HealthRule]
    """`loss/value_avg` above this multiple of the median of its last 20 steps."""
    critic_worse_than_mean: NotRequired[HealthRule]
    """`critic/skill` below the limit: the mean return is a better guess than the critic. Left out are returns whose spread is below a tenth of its first value, and the critic's warm-up."""
    critic_lags: NotRequired[HealthRule]
    """The mean value is farther from the mean return than this multiple of the returns' standard deviation. It also is at most half as far from the mean return of one of the 20 steps before. The critic's warm-up is left out."""
    critic_noise_whitened: NotRequired[HealthRule]
    """`objective/raw_scores_std` at the limit or below: all scores are equal, so the advantages are errors of the critic, which whitening scales to variance 1. Only with `ppo.advantage.normalize` = "whiten" without a `whiten_floor`, and without a KL penalty in the reward."""
    returns_outside_bins: NotRequired[HealthRule]
    """`val/returns_outside_bins` above the limit: the critic cannot foresee this share of its targets. Only with `ppo.critic.classification`."""
    sampler_gap: NotRequired[HealthRule]
    """`sampling/ratio/outside` above the limit: on this share of the tokens the sampler and the policy lie apart by more than a factor of 2."""
    sampler_differs: NotRequired[HealthRule]
    """`sampling/ratio/beyond_rounding` above the limit: on this share of the tokens the sampler computes something else than the policy. Not with `ppo.rollout.asynchronous`, where it is an older policy."""
    refill_short: NotRequired[HealthRule]
    """`refill/shortfall` above the limit: `ppo.rollout.refill` finds too few prompts whose responses differ in their scores."""
    teacher_kl_rises: NotRequired[HealthRule]
    """`objective/teacher_kl` above this multiple of its first value, and at least 0.05 nats above it: the policy moves away from its teacher."""
    not_finite: NotRequired[HealthRule]
    """A loss or gradient is NaN or infinite more often than the limit. The step is never taken. `stop` fails in the midst of the iteration and saves nothing more. `warn` skips the step, and `roll_back` returns to the best checkpoint."""


class Histogram(TypedDict):
    """Lengths of the texts of one kind. The last bin includes its upper edge and the longest 1 % of the texts."""

    name: str
    """For programs, such as `prompt_tokens`."""
    title: str
    """For people."""
    unit: str
    """`tokens`, `characters` or `words`."""
    edges: list[int]
    """Lower edges of the bins, then the upper edge of the last one."""
    counts: list[int]
    """Number of texts in each bin."""
    limit: int | None
    """The job's limit in tokens. Longer texts are left out or cut."""
    mean: float
    """Mean length."""
    median: int
    """Median length."""
    p95: int
    """95th percentile of the length."""
    max: int
    """Length of the longest text."""


class HistoryPart(TypedDict):
    """Metrics from before the first step of a job, which belong to an ancestor."""

    stage: str
    """Their stage."""
    job: str
    """The ancestor."""
    name: str | None
    """Its name; null where it is unknown."""
    deleted: bool
    """Whether it was deleted, and its metrics with it."""
    seed: int | None
    """The seed whose metrics they are, where the ancestor has several; null otherwise."""
    to: int | None
    """The last step that counts; null for the whole stage."""


class HttpJudge(TypedDict, closed=True):
    """A remote endpoint that compares: POST {"items": [{"prompt", "a", "b"}, …]} returns {"preferred": ["a" | "b" | "tie", …]}. Each pair is asked twice, the sides swapped; answers that contradict each other are a tie. In place of a verdict it may give {"missing": cause}."""

    type: Literal["http_judge"]
    """Which judge this is."""
    url: str
    """Address of the endpoint."""
    max_missing: NotRequired[float]
    """Largest share of pairs without a verdict, over the last 1000 pairs (fewer than 200 count as 200). Above it the job pauses. Such a pair counts in no win rate. 0 pauses at the first one, 1 never."""
    batch_size: NotRequired[int]
    """Pairs per request."""
    timeout: NotRequired[float]
    """Seconds for one request."""
    retries: NotRequired[int]
    """Further tries after a timeout, a broken connection, a 429 or a 5xx, waiting 0.5, 1, 2, 4 … (at most 60) seconds in between."""


class HttpReward(TypedDict, closed=True):
    """A remote endpoint: POST {"items": [{"prompt", "response", "answer", "finished"}, …]} returns {"scores": [number, …]}. In place of a number it may give a list of one number for each token of the response, or {"missing": cause} for a response without a value."""

    name: NotRequired[str | None]
    """Name under which it is logged (`reward/<name>`). Left out: its type, numbered if there are several."""
    weight: NotRequired[float]
    """The run's score is the weighted sum of its rewards; a negative weight penalises."""
    max_missing: NotRequired[float]
    """Largest share of responses without a value from this reward, over its last 1000 responses (fewer than 200 count as 200). Above it the job pauses. Such a response takes part in no mean and no gradient. 0 pauses at the first one, 1 never."""
    step_delimiter: NotRequired[str | None]
    """Text that separates the steps of a response, such as a line break. The reward then scores each step, and PPO takes the score on the last token of the step. Parts of white space are no steps. Left out: the response is scored as a whole."""
    type: Literal["http"]
    """Which reward this is."""
    url: str
    """Address of the endpoint."""
    batch_size: NotRequired[int]
    """Responses per request."""
    timeout: NotRequired[float]
    """Seconds for one request."""
    retries: NotRequired[int]
    """Further tries after a timeout, a broken connection, a 429 or a 5xx, waiting 0.5, 1, 2, 4 … (at most 60) seconds in between."""
    protocol: NotRequired[Literal["proximal", "openrlhf"]]
    """The form of request and response. `proximal`: the one above. `openrlhf`: {"query": [prompt and response, …], "prompts": [prompt, …], "labels": [answer, …]} and {"rewards": [number, …]}, texts with their special tokens, as OpenRLHF's remote reward models have it."""
    send_tokens: NotRequired[bool]
    """Send the texts of each response's tokens too (`tokens`), for an endpoint that gives one number for each token."""


class InheritedStage(TypedDict):
    """A stage that ended before a branch began. The branch uses its result."""

    stage: str
    """The stage."""
    job: str
    """Id of the job that ran it. It may have been deleted since."""
    name: str
    """Name of that job when the branch was made."""
    seed: int | None
    """Seed of its checkpoint, where that job has several; null otherwise."""
    step: int
    """The last step of the stage."""
    checkpoint: str
    """Id of the stage's result."""
    seconds: float | None
    """Duration of the stage; null while unknown."""
    summary: dict[str, float]
    """Headline figures of the stage, by name."""


class Integer(TypedDict, closed=True):
    """An integer, each with the same probability."""

    distribution: Literal["int"]
    """Always `int`."""
    min: int
    """Smallest value."""
    max: int
    """Largest value, itself included."""


class JobCommand(TypedDict):
    """One command to a job."""

    object: Literal["job.command"]
    """Always `job.command`."""
    id: str
    """Begins with `cmd_`."""
    job_id: str
    """The job."""
    stage: Literal["sft", "reward_model", "dpo", "kto", "ppo", "evaluation"]
    """The stage that it is meant for."""
    name: Literal["learning_rate", "critic_learning_rate", "kl_coef", "kl_target"] | Literal["evaluate", "checkpoint"]
    """The knob or the action."""
    value: float | None
    """The new value; null for an action."""
    value_before: float | None
    """The value that it replaced; null until it is applied."""
    status: CommandStatus
    """`pending`: the trainer takes it up between two steps. A job that has ended takes up no more commands."""
    step: int | None
    """Steps of the stage that were done when the trainer took it up; the next one is the first with the new value."""
    reason: str | None
    """Why the trainer refused it; null otherwise."""
    actor: CommandActor
    """Who requested it."""
    created_at: str
    """When it was requested."""
    settled_at: str | None
    """When the platform stored the outcome; null while it is pending."""


class JobCommandList(TypedDict):
    """Commands in the order of their requests."""

    object: Literal["list"]
    """Always `list`."""
    data: list[JobCommand]
    """The items of this page."""
    has_more: bool
    """Whether more follow."""
    first_id: str | None
    """Cursor of the first item."""
    last_id: str | None
    """Cursor of the last item: the next page's `after`."""


class JobError(TypedDict):
    """Why a job failed."""

    code: str
    """The kind of failure, for programs."""
    message: str
    """Cause and remedy, for people."""


class JobFinding(TypedDict):
    """A problem of a job, found without training."""

    code: str
    """For programs, such as `prompts_too_long`."""
    severity: Literal["blocking", "warning", "info"]
    """`blocking`: the run would fail. `warning`: it would run, but probably not as intended. `info`: a note."""
    area: Literal["spec", "data", "model", "memory"]
    """Subject of the finding."""
    pointer: str
    """JSON pointer to the field of the spec."""
    detail: str
    """Description of the problem."""
    advice: str | None
    """The change to make, if one is known."""


class JobFromTemplate(TypedDict, closed=True):
    """The changes of the job."""

    patch: NotRequired[dict[str, Any]]
    """JSON merge patch (RFC 7396) on the spec of the template: null restores the default of a field, `{"null": true}` sets null, objects are merged, and any other value replaces."""


class JobGroupPlace(TypedDict):
    """The group that a job is in."""

    group_id: str
    """Id of the group."""
    name: str
    """Name of the group."""
    number: int
    """The job's place in the group, from 1."""
    values: dict[str, Any]
    """The fields of the spec that differ between the jobs of a sweep, by path."""


class JobInput(TypedDict):
    """A dataset or checkpoint that a spec names."""

    field: str
    """The field of the spec, such as `data.preferences` or `rewards.0.path`."""
    value: str
    """The reference in the spec."""
    kind: Literal["dataset", "checkpoint"]
    """Whether it is a dataset or a checkpoint."""
    name: str | None
    """In words: `reviews, version 2`, or `"First", PPO step 40`; null for one that was deleted."""
    id: str
    """Id of the dataset or checkpoint."""
    job: str | None
    """The job that saved the checkpoint; null for a dataset, and for a checkpoint that was deleted."""


class JobKnob(TypedDict):
    """A setting that can be changed while the stage runs."""

    name: Literal["learning_rate", "critic_learning_rate", "kl_coef", "kl_target"]
    """Name of the knob."""
    field: str
    """The field of the spec, such as `ppo.kl.coef`."""
    value: float | None
    """Present value: that of the spec, or of the newest change. An adaptive controller moves `kl_coef` on from it. Null if the stage lacks the knob."""
    available: bool
    """Whether it can be changed now: the stage has it, and the job is starting or running."""
    reason: str | None
    """Why it is not available, for people; null if it is."""
    minimum: float | None
    """Smallest value; null without one."""
    exclusive_minimum: bool
    """Whether `minimum` itself is not allowed."""
    maximum: float | None
    """Largest value; null without one."""
    exclusive_maximum: bool
    """Whether `maximum` itself is not allowed."""


class JobKnobs(TypedDict):
    """The live knobs of the job's present stage, and the changes that are not applied yet."""

    object: Literal["job.knobs"]
    """Always `job.knobs`."""
    stage: Literal["sft", "reward_model", "dpo", "kto", "ppo", "evaluation"]
    """The present or last stage."""
    knobs: list[JobKnob]
    """All knobs, also those that the stage lacks."""
    pending: list[JobCommand]
    """Commands that the trainer has not taken up yet. A job that has ended takes up no more of them."""


JobStatus: TypeAlias = Literal[
    "queued", "starting", "running", "pausing", "paused", "cancelling", "succeeded", "failed", "cancelled"
]
"""The state of a job."""


class JobTag(TypedDict):
    """A tag in use."""

    object: Literal["job.tag"]
    """Always `job.tag`."""
    tag: str
    """The tag."""
    jobs: int
    """Number of your jobs that have it."""


class JobTagList(TypedDict):
    """Tags, most frequent first."""

    object: Literal["list"]
    """Always `list`."""
    data: list[JobTag]
    """The items of this page."""
    has_more: bool
    """Whether more follow."""
    first_id: str | None
    """Cursor of the first item."""
    last_id: str | None
    """Cursor of the last item: the next page's `after`."""


class JoinedWorker(TypedDict):
    """The settings of a worker that joins. They contain the credentials of the database."""

    object: Literal["worker.settings"]
    """Always `worker.settings`."""
    environment: dict[str, str]
    """The environment variables with which the worker starts."""
    storage_probe: str
    """SHA-256 of a small file in the blob store, by which the worker finds out whether it reaches the same store."""


JsonValue: TypeAlias = Any


class KLSpec(TypedDict, closed=True):
    """The KL penalty that holds the policy near the reference policy."""

    coef: NotRequired[float]
    """β: weight of the KL penalty. If `controller` changes it, this is the initial one. The live knob `kl_coef` changes it during the run."""
    placement: NotRequired[Literal["reward", "loss"]]
    """Inside the reward of each token (Ziegler et al. 2019), or added to the policy loss (GRPO)."""
    estimator: NotRequired[Literal["k1", "k2", "k3"]]
    """Estimator of KL(π ‖ π_ref) at a sampled token, with x = log π − log π_ref (Schulman 2020): k1 = x, k2 = x²/2, k3 = exp(−x) − 1 + x. In the reward only k1 has the gradient of the KL. k2 and k3 need `placement` = "loss"."""
    unbiased_gradient: NotRequired[bool]
    """In the loss: weigh the estimate by the ratio π/π_old so that its expected gradient is the KL's own. False: the plain derivative of the estimate. At π = π_old its mean is the gradient of the KL for k2, and that of the reverse KL for k3 (as GRPO has it). For k1 the mean is 0, so k1 needs true."""
    controller: NotRequired[Literal["fixed", "adaptive", "linear", "cosine"]]
    """How β changes. `fixed`: it is constant. `adaptive`: proportional control towards `target` (Ziegler et al. 2019, eq. 4 and 5). `linear`, `cosine`: down to `final_coef` along a line or half a cosine."""
    target: NotRequired[float]
    """Nats per response that `adaptive` steers to. The live knob `kl_target` changes it during the run."""
    horizon: NotRequired[int]
    """Responses over which `adaptive` answers to an error: β ← β·(1 + clip(KL/target − 1, ±0.2)·batch/horizon)."""
    final_coef: NotRequired[float]
    """β at the last iteration, for `linear` and `cosine`."""


class KTOSpec(TypedDict, closed=True):
    """Kahneman-Tversky optimisation (Ethayarajh et al. 2024): the policy learns from single completions with a thumb up or down, without a reward model, pairs or sampling."""

    learning_rate: NotRequired[float]
    """Peak learning rate of AdamW."""
    lr_schedule: NotRequired[Literal["constant", "linear", "cosine"]]
    """Shape of the learning rate after warm-up: constant, or down to 0 along a line or a cosine."""
    warmup_ratio: NotRequired[float]
    """Share of the steps (in PPO: iterations) over which the learning rate rises from 0."""
    weight_decay: NotRequired[float]
    """Decoupled weight decay of AdamW, on matrices only (never on biases and norms)."""
    max_grad_norm: NotRequired[float]
    """Gradients are scaled down to this global L2 norm."""
    micro_batch_size: NotRequired[int | None]
    """Sequences per forward pass (a preference pair is two); gradients accumulate to the batch. Left out: the whole (mini)batch at once. Changes memory, not the result."""
    micro_batch_tokens: NotRequired[int | None]
    """Tokens per forward pass at most, prompts included (a sequence that is longer goes alone); sequences of like length go together. Evens out memory where lengths differ much. With `micro_batch_size` both hold. Left out: no limit. Changes memory, not the result."""
    optimizer: NotRequired[Literal["adamw", "adamw_8bit"]]
    """`adamw`: Loshchilov and Hutter (2019). `adamw_8bit`: its two moments are in 8 bits, block by block (Dettmers et al. 2022). They take 2 bytes a parameter in place of 8, with nearly the same steps, which are slower on a CPU."""
    offload_optimizer: NotRequired[bool]
    """Keep the optimizer's moments (and masters of bfloat16 weights) in host memory and take its steps on the CPU: the GPU holds weights and gradients alone. Changes memory and speed, the result by rounding only."""
    save_every: NotRequired[int]
    """Steps between checkpoints to resume from."""
    eval_rows: NotRequired[int | None]
    """Held-out rows in an evaluation before the end of the stage, at most, counted as in `batch_size`. It runs with every checkpoint and on request, always on the same rows, in every job on the same data. The evaluation at the end uses all held-out rows. `null`: all of them every time."""
    epochs: NotRequired[int]
    """Passes over the thumbs."""
    batch_size: NotRequired[int]
    """Thumbs per optimizer step. The reference point z₀ is estimated from this batch, so a small one makes it noisy; two are the least."""
    beta: NotRequired[float]
    """β: how strongly the policy is held to the reference."""
    desirable_weight: NotRequired[float]
    """λ_D: weight of the rows with a thumb up."""
    undesirable_weight: NotRequired[float]
    """λ_U: weight of the rows with a thumb down. The paper advises λ_D·n_D / (λ_U·n_U) between 1 and 4/3, n_D and n_U the numbers of thumbs up and down; `python -m trainer check` compares them."""


class KeyRef(TypedDict):
    """An API key."""

    id: str
    """The key's id."""
    name: str
    """The key's name."""
    operator: bool
    """Whether it may change workers."""


class KeyRotation(TypedDict, closed=True):
    """How a key is replaced by a new one."""

    overlap_seconds: NotRequired[int]
    """Seconds for which the old key stays valid beside the new one. 0: it is revoked at once."""
    expires_at: NotRequired[str | None]
    """When the new key stops being valid. Left out: after as long a life as the old key had, if that has an end, and not later than the key of this request."""


KnobChangedData = TypedDict(
    "KnobChangedData",
    {
        "stage": Literal["sft", "reward_model", "dpo", "kto", "ppo", "evaluation"],
        "step": int,
        "name": Literal["learning_rate", "critic_learning_rate", "kl_coef", "kl_target"],
        "from": float,
        "to": float,
        "command": str,
    },
)


class KnobChangedEvent(TypedDict):
    """A setting of the stage was changed between two steps. A step that is repeated after a resume reports it again."""

    object: Literal["job.event"]
    """Always `job.event`."""
    job_id: str
    """The job that it belongs to."""
    seq: int
    """Sequence number in the job, from 1 without gaps. It is the event id of the stream and the cursor of this list."""
    attempt: int
    """The attempt that reported it."""
    type: Literal["knob_changed"]
    """Always `knob_changed`."""
    created_at: str
    """When it happened."""
    seed: int | None
    """Seed of the event, in a job with several; null if it concerns the whole job, and with one seed."""
    stage: str | None
    """Stage of the event; null if it concerns the whole job."""
    step: int | None
    """Step of the event; null if it has none."""
    data: KnobChangedData
    """The event's own fields."""


class LanguageShare(TypedDict):
    """Share of one language in a sample of at most 2,000 rows."""

    language: str
    """ISO 639-1 code; `und` if the language is not detected."""
    rows: int
    """Rows of the sample in this language."""
    share: float
    """Share of the sample, from 0 to 1."""


class LengthBias(TypedDict):
    """How well lengths alone predict the preferences. A ranking counts once, by its best and its worst answer."""

    unit: str
    """`tokens` or `characters`."""
    pairs: int
    """Decided pairs whose answers differ in length."""
    longer_wins: float
    """Share of these pairs in which the longer answer is preferred."""
    low: float
    """Lower end of Wilson's 95 % interval of it."""
    high: float
    """Upper end of the interval."""
    mean_difference: float
    """Mean length of the preferred answer minus that of the other one, over all decided pairs."""
    length_only_accuracy: float
    """Accuracy of the rule in `rule`."""
    accuracy_low: float
    """Lower end of Wilson's 95 % interval of it."""
    accuracy_high: float
    """Upper end of the interval."""
    rule: str
    """The best rule that uses lengths only, for people."""


class LengthReward(TypedDict, closed=True):
    """−|length − target| ÷ target: 0 at the target length, −1 for an empty response."""

    name: NotRequired[str | None]
    """Name under which it is logged (`reward/<name>`). Left out: its type, numbered if there are several."""
    weight: NotRequired[float]
    """The run's score is the weighted sum of its rewards; a negative weight penalises."""
    type: Literal["length"]
    """Which reward this is."""
    target: int
    """The target length."""
    unit: NotRequired[Literal["tokens", "words", "characters"]]
    """The unit of the length. An EOS is not counted."""


class Lengths(TypedDict, closed=True):
    """Quantiles of a token count over the rows used."""

    median: int
    """Median."""
    p95: int
    """95th percentile."""
    longest: int
    """Longest row."""
    mean: float
    """Mean."""


class LexiconReward(TypedDict, closed=True):
    """Sentiment by a lexicon of words with valences: Σ / √(Σ² + 15), in −1 to 1 (VADER's normalisation, Hutto and Gilbert 2014, without its grammar rules)."""

    name: NotRequired[str | None]
    """Name under which it is logged (`reward/<name>`). Left out: its type, numbered if there are several."""
    weight: NotRequired[float]
    """The run's score is the weighted sum of its rewards; a negative weight penalises."""
    type: Literal["lexicon"]
    """Which reward this is."""
    path: NotRequired[str | None]
    """A text file with a word and its valence on each line, tab-separated (VADER's format; further columns are ignored)."""
    words: NotRequired[dict[str, float] | None]
    """The words themselves, in place of `path`."""


LogSource: TypeAlias = Literal["trainer", "worker"]
"""The program that wrote a line."""


class LogUniform(TypedDict, closed=True):
    """A number whose logarithm has the same density everywhere."""

    min: float
    """Smallest value."""
    max: float
    """Largest value."""
    distribution: Literal["log_uniform"]
    """Always `log_uniform`."""


class LoraSpec(TypedDict, closed=True):
    """Low-rank adapters instead of full fine-tuning (Hu et al. 2021), by peft."""

    rank: NotRequired[int]
    """r: rank of each adapter."""
    alpha: NotRequired[float]
    """α: adapters are scaled by α / r."""
    target_modules: NotRequired[list[str] | Literal["all-linear"]]
    """Names of the linear layers that get an adapter; `all-linear` takes every one but the output layer."""
    share_backbone: NotRequired[bool]
    """One frozen backbone in memory for policy, reference, critic and reward model, each with an adapter (the reference with none): four models cost about one. False: each has a backbone of its own."""
    merge: NotRequired[bool]
    """A stage's result is the whole model in float32, with the adapter merged in and once more beside it: 27 GB for 7 billion weights. False: the adapter alone, which needs its base to be loaded."""


class MLflowTracker(TypedDict, closed=True):
    """A run of MLflow. The environment holds the address and the credentials: `MLFLOW_TRACKING_URI`, `MLFLOW_TRACKING_TOKEN`."""

    experiment: NotRequired[str]
    """The experiment of the run. It is created where it does not exist."""


Meaning: TypeAlias = Literal[
    "verdict", "ranking", "answer", "reference", "prompt", "system", "role", "tree", "turn", "media", "text"
]
"""A content of a column that changes the meaning of its record."""


class MeasurementInfo(TypedDict):
    """The meaning of a measurement. `<n>` in its name stands for the number of a GPU."""

    name: str
    """Name of its series."""
    unit: str
    """Unit of its values."""
    meaning: str
    """The quantity that is measured."""


class MessageData(TypedDict):
    """A line for people."""

    level: NotRequired[Literal["info", "warning", "error"]]
    """Severity of the message."""
    text: str
    """The text."""
    actor: NotRequired[dict[str, str | None] | None]
    """Who caused it: `kind`, `id` and `name`, as in `status_changed`. Null: the trainer."""


class MessageEvent(TypedDict):
    """A line for people."""

    object: Literal["job.event"]
    """Always `job.event`."""
    job_id: str
    """The job that it belongs to."""
    seq: int
    """Sequence number in the job, from 1 without gaps. It is the event id of the stream and the cursor of this list."""
    attempt: int
    """The attempt that reported it."""
    type: Literal["message"]
    """Always `message`."""
    created_at: str
    """When it happened."""
    seed: int | None
    """Seed of the event, in a job with several; null if it concerns the whole job, and with one seed."""
    stage: str | None
    """Stage of the event; null if it concerns the whole job."""
    step: int | None
    """Step of the event; null if it has none."""
    data: MessageData
    """The event's own fields."""


class MetricChart(TypedDict):
    """The dashboard's chart of a metric. Metrics of one stage with the same title are lines of one chart."""

    title: str
    """The chart's title."""
    order: int
    """Sort key for the charts of a stage and for the lines of a chart."""
    line: str
    """The line's name in the legend; empty for the only line."""
    scale: Literal["left", "right"]
    """The axis of the line."""


class MetricInfo(TypedDict):
    """One metric: its meaning, its unit and its chart."""

    stage: str
    """The stage that reports it."""
    name: str
    """Its name in events and series."""
    label: str
    """Its name for people."""
    formula: str
    """How it is computed."""
    meaning: str
    """Its description."""
    healthy: tuple[float | None, float | None] | None
    """The range of a healthy run, either side null where open; null where there is no general rule."""
    advice: str
    """How to react to a value outside that range."""
    unit: str
    """Its unit; empty for a number without one."""
    chart: MetricChart | None
    """Its chart; null for a metric that is only in the list of all metrics."""


class MetricInfoList(TypedDict):
    """Every metric that the trainer reports."""

    object: Literal["list"]
    """Always `list`."""
    data: list[MetricInfo]
    """The items of this page."""
    has_more: bool
    """Whether more follow."""
    first_id: str | None
    """Cursor of the first item."""
    last_id: str | None
    """Cursor of the last item: the next page's `after`."""


class MetricsData(TypedDict):
    """Metrics of one step. After a resume, a repeated step is reported again; the later report counts."""

    stage: Literal["sft", "reward_model", "dpo", "kto", "ppo", "evaluation"]
    """The stage of the run."""
    step: int
    """The step of the stage."""
    total_steps: int
    """Steps that the stage has."""
    values: dict[str, float]
    """Finite values by the metric's name."""


class MetricsEvent(TypedDict):
    """Metrics of one step. After a resume, a repeated step is reported again; the later report counts."""

    object: Literal["job.event"]
    """Always `job.event`."""
    job_id: str
    """The job that it belongs to."""
    seq: int
    """Sequence number in the job, from 1 without gaps. It is the event id of the stream and the cursor of this list."""
    attempt: int
    """The attempt that reported it."""
    type: Literal["metrics"]
    """Always `metrics`."""
    created_at: str
    """When it happened."""
    seed: int | None
    """Seed of the event, in a job with several; null if it concerns the whole job, and with one seed."""
    stage: str | None
    """Stage of the event; null if it concerns the whole job."""
    step: int | None
    """Step of the event; null if it has none."""
    data: MetricsData
    """The event's own fields."""


class ModelReport(TypedDict, closed=True):
    """The model that would be trained."""

    architecture: str
    """The `model_type` of its configuration."""
    parameters: int
    """All parameters of the policy."""
    trained_parameters: int
    """Parameters of the policy that are trained."""
    vocabulary: int
    """Size of the vocabulary in tokens."""
    context: NotRequired[int | None]
    """Positions; None where the architecture sets no limit."""
    layers: int
    """Number of layers."""
    hidden_size: int
    """Width of the hidden states."""
    dtype: str
    """The type in which it would compute, after `model.dtype` = "auto" is resolved for the device."""


class NewQuotas(TypedDict, closed=True):
    """A project's own limits. A limit that is left out is the platform's default; null is no limit."""

    open_jobs: NotRequired[int | None]
    """Unfinished jobs."""
    running_jobs: NotRequired[int | None]
    """Jobs that run at once."""
    gpus: NotRequired[int | None]
    """GPUs that running jobs take at once."""
    gpu_hours: NotRequired[int | None]
    """GPU-hours in a calendar month."""
    stored_bytes: NotRequired[int | None]
    """Bytes of uploads, rows of datasets and checkpoints."""
    when_exceeded: NotRequired[Literal["queue", "refuse"]]
    """`queue`: a job beyond the running jobs, GPUs or GPU-hours waits. `refuse`: its submission is refused."""


class NewTemplate(TypedDict, closed=True):
    """A partial spec under a name."""

    name: str
    """Unique among your templates."""
    description: NotRequired[str]
    """For people."""
    spec: NotRequired[dict[str, Any]]
    """Any fields of a job spec. Their values must be valid. Other fields that a job needs may come at its submission."""


class NewViewSetting(TypedDict, closed=True):
    """The value of a setting."""

    value: Any
    """Any JSON, at most 64 KiB. The platform does not read it."""


class NextItems(TypedDict, closed=True):
    """A request for items."""

    annotator: str
    """Name of the annotator, as it is stored with the answers."""
    limit: NotRequired[int]
    """Maximum number of items."""


class NumericMatchReward(TypedDict, closed=True):
    """1 if the response's final number equals the prompt's `answer`, else 0. By GSM8K's conventions, that is the number after `####`, else the last one. Commas, currency and percent signs are ignored."""

    name: NotRequired[str | None]
    """Name under which it is logged (`reward/<name>`). Left out: its type, numbered if there are several."""
    weight: NotRequired[float]
    """The run's score is the weighted sum of its rewards; a negative weight penalises."""
    type: Literal["numeric_match"]
    """Which reward this is."""
    tolerance: NotRequired[float]
    """Largest absolute difference that still counts as equal."""
    format_credit: NotRequired[float]
    """Reward of a wrong number that at least follows `####`."""


class OptimalValueSpec(TypedDict, closed=True):
    """V* of every prompt, before the first iteration: β·log mean exp(r/β) over responses of the reference (A*-PO, eq. 3)."""

    samples: NotRequired[int]
    """Responses per prompt."""
    beta: NotRequired[float]
    """β: how far V* lies above the mean, towards the best."""


class OverlapRow(TypedDict):
    """A row with a prompt that the other dataset holds too."""

    row_number: int
    """Number of the row, from 1."""
    line: int
    """Line in the uploaded file."""
    prompt: str
    """Beginning of the prompt."""


class OverlapSample(TypedDict):
    """A pair of rows, one of each dataset, with equal or nearly equal prompts."""

    row: OverlapRow
    """The row in `dataset`."""
    other: OverlapRow
    """The row in `other`."""
    similarity: float
    """Share of word triples that occur in both prompts; 1 for equal prompts."""


class OverlapSide(TypedDict):
    """One of the two datasets."""

    id: str
    """`ds_…`"""
    version: int
    """The version that was compared."""
    rows: int
    """Number of rows."""


StopItem: TypeAlias = str


KItem: TypeAlias = int


class PassAtSpec(TypedDict, closed=True):
    """pass@k: the chance that at least one of k responses to a held-out prompt is correct, by the unbiased estimator of Chen et al. (2021, eq. 1)."""

    k: NotRequired[list[KItem]]
    """The numbers of responses, ascending. Each has a figure of its own."""
    samples: NotRequired[int]
    """n: responses sampled for each held-out prompt and policy, beside the one that is compared. At least the largest k; more make the figures less noisy."""
    reward: NotRequired[str | None]
    """Name of the reward that verifies the responses: a rule, an endpoint or a plug-in among `rewards`. Its weight does not matter. Left out: the only rule (`exact_match`, `numeric_match`, `regex` or `json_schema`)."""
    threshold: NotRequired[float]
    """A response is correct if the reward's value is at least this."""


class PhaseMemory(TypedDict, closed=True):
    """Peak bytes of one phase, in each process."""

    phase: Literal["sft", "reward_model", "dpo", "kto", "ppo_rollout", "ppo_score", "ppo_update", "evaluation"]
    """The phase."""
    low: int
    """With sequences of average length."""
    expected: int
    """With the longest sequences that are expected in the run's worst batch, by the data and the limits."""
    high: int
    """With every sequence as long as allowed, and the allocator's fragmentation."""
    parts: dict[str, int]
    """Bytes of the expected peak by use: weights, gradients, optimizer, activations, kv_cache, and the gathered parts of sharded models."""


class PlannedJob(TypedDict):
    """A job that the sweep would make."""

    number: int
    """Its place, from 1."""
    name: str
    """Its name."""
    values: dict[str, Any]
    """The fields of the spec that differ, by path."""


class PluginReward(TypedDict, closed=True):
    """A reward that the operator installed, under the entry-point group `proximal.rewards`."""

    name: NotRequired[str | None]
    """Name under which it is logged (`reward/<name>`). Left out: its type, numbered if there are several."""
    weight: NotRequired[float]
    """The run's score is the weighted sum of its rewards; a negative weight penalises."""
    max_missing: NotRequired[float]
    """Largest share of responses without a value from this reward, over its last 1000 responses (fewer than 200 count as 200). Above it the job pauses. Such a response takes part in no mean and no gradient. 0 pauses at the first one, 1 never."""
    step_delimiter: NotRequired[str | None]
    """Text that separates the steps of a response, such as a line break. The reward then scores each step, and PPO takes the score on the last token of the step. Parts of white space are no steps. Left out: the response is scored as a whole."""
    type: Literal["plugin"]
    """Which reward this is."""
    plugin: str
    """Its entry-point name."""
    options: NotRequired[dict[str, JsonValue]]
    """Handed to the plug-in as keyword arguments."""


class PolicyLossSpec(TypedDict, closed=True):
    """The loss that the policy minimises, given advantages."""

    kind: NotRequired[Literal["clipped", "gspo", "cispo", "unclipped", "reinforce", "kl_penalty", "least_squares"]]
    """ρ = π/π_old, A the advantage. `clipped`: max(−Aρ, −A·clip(ρ)) (Schulman et al. 2017, eq. 7); `gspo`: max(−As, −A·clip(s)), s the geometric mean of ρ over the response (GSPO, Zheng et al. 2025); `cispo`: −A·sg(clip(ρ))·log π, sg without a gradient (CISPO, MiniMax-M1, arXiv 2506.13585); `unclipped`: −Aρ; `reinforce`: −A·log π; `kl_penalty`: −Aρ + β·KL(π_old ‖ π) (Schulman et al. 2017, §4); `least_squares`: (`beta`·log π/π_ref − A)² per response (A*-PO)."""
    clip_range: NotRequired[float]
    """ε: the ratio is clipped to [1 − ε, 1 + ε]. 1 is no lower bound, as `cispo` has it in the paper. The ratio of `gspo` is a mean, which moves far less than that of a token: 3e-4 in the paper."""
    clip_range_high: NotRequired[float | None]
    """Upper ε of its own, clip-higher (DAPO, Yu et al. 2025: 0.28; GSPO: 4e-4). Left out: `clip_range`."""
    dual_clip: NotRequired[float | None]
    """c: where A < 0 the loss is at most −c·A (Ye et al. 2020: 3). Left out: no second clip."""
    beta: NotRequired[float]
    """β of `kl_penalty` and of `least_squares`. If `old_kl_target` adapts it, this is the initial one."""
    old_kl_target: NotRequired[float | None]
    """Adapts β of `kl_penalty` after every iteration: halved where KL(π_old ‖ π) < target/1.5, doubled where > 1.5·target. Left out: fixed."""
    entropy_coef: NotRequired[float]
    """Weight of the entropy bonus."""
    aggregation: NotRequired[Literal["token_mean", "sequence_mean", "fixed_length"]]
    """How token losses become one number over a whole optimizer step, independent of micro-batches. `token_mean`: the mean over tokens. `sequence_mean`: the mean over responses of each response's mean. `fixed_length`: the sum over tokens ÷ (responses × `max_new_tokens`). With it a token has the same weight in a short and a long response (Dr. GRPO, Liu et al. 2025). `gspo` always has `sequence_mean`."""


class Positions(TypedDict):
    """Shares of the preferences by position."""

    pairs: int
    """Labelled pairs."""
    a: float
    """Share of pairs that prefer the first answer."""
    b: float
    """Share of pairs that prefer the second answer."""
    tie: float
    """Share of ties."""
    a_of_decided: float
    """Share of pairs that prefer the first answer, ties left out."""
    low: float
    """Lower end of Wilson's 95 % interval of it."""
    high: float
    """Upper end of the interval."""


class PositiveExamplesSpec(TypedDict, closed=True):
    """Language-model loss on the batch's positive responses, beside the policy loss (VAPO, Yue et al. 2025, arXiv 2504.05118). It needs no further pass."""

    coef: NotRequired[float]
    """μ: weight of the mean of −log π over the tokens of these responses, at the sampling temperature. The mean is that of an optimizer step. Importance weights and clipping do not hold for it."""
    above: NotRequired[float]
    """A response is positive if its score is above this number. The score is the weighted sum of its rewards before shaping."""


class Preset(TypedDict):
    """A job spec to start from."""

    name: str
    """Its name, also in `python -m trainer presets`."""
    title: str
    """Its name for people."""
    description: str
    """When to use it, and what its settings are for."""
    replace: list[str]
    """Fields of the spec with placeholder values. Replace them by your own model, datasets and rewards."""
    models: list[str]
    """Fields of `model`. A job that the preset suits has one of them: `path`, a model to load, or `config`, a new one."""
    rewards: list[str]
    """Types of rewards. A job that the preset suits has no other; `model` is also that of a job without `rewards`."""
    spec: dict[str, Any]
    """The body of `POST /v1/jobs`, after the fields in `replace` are set. Missing fields have their default."""


class PresetList(TypedDict):
    """Every preset."""

    object: Literal["list"]
    """Always `list`."""
    data: list[Preset]
    """The items of this page."""
    has_more: bool
    """Whether more follow."""
    first_id: str | None
    """Cursor of the first item."""
    last_id: str | None
    """Cursor of the last item: the next page's `after`."""


class PreviewCandidate(TypedDict):
    """A format that fits the records."""

    format: str
    """A format's id."""
    title: str
    """Its name for people."""
    kind: DatasetKind
    """Kind of the rows."""
    score: float
    """Share of the records that fit."""
    why: str
    """The reason, for people."""


class PreviewChoice(TypedDict):
    """An answer to a question, as options of the import. Options that are null stay as they are."""

    label: str
    """The answer, for people."""
    format: str | None
    """A format's id."""
    kind: DatasetKind | None
    """Kind of the rows."""
    mapping: dict[str, Any] | None
    """Columns of the fields. A label whose meaning is null is to be chosen, or marks unusable records."""
    ignore: list[str]
    """Columns to ignore."""


class PreviewColumn(TypedDict):
    """A field of the records."""

    name: str
    """Name of the field. Dots separate the names of nested fields."""
    type: str
    """Type for people: `text`, `number or null`, `messages`, …"""
    examples: list[str]
    """Distinct values, shortened."""
    share: float
    """Share of the records that have it."""


class PreviewPlan(TypedDict):
    """How the rows of a preview were read."""

    format: str
    """A format's id."""
    kind: DatasetKind
    """Kind of the rows."""
    mapping: dict[str, Any] | None
    """Columns of the fields, for the format `custom`."""


class PreviewProblem(TypedDict):
    """A record that cannot be read."""

    line: int
    """Its line."""
    detail: str
    """Description of the error."""


class PreviewQuestion(TypedDict):
    """A column that looks meaningful and that no row would use. The file is not imported until the user decides."""

    column: str
    """Name of the column. Dots separate the names of nested fields."""
    meaning: Meaning
    """Its probable content."""
    detail: str
    """Description of what would be lost."""
    values: list[str]
    """Some of its values, shortened."""
    choices: list[PreviewChoice]
    """Possible answers. The last one ignores the column."""


IgnoreItem: TypeAlias = str


class PreviewRequest(TypedDict, closed=True):
    """How to read an upload. Fields that are left out are detected."""

    format: NotRequired[str | None]
    """A format's id, see `GET /v1/reference/formats`."""
    kind: NotRequired[DatasetKind | None]
    """Kind of the rows."""
    mapping: NotRequired[dict[str, Any] | None]
    """Columns of the fields, for the format `custom`: `{"fields": {…}, "labels": {…}}`."""
    encoding: NotRequired[str | None]
    """Encoding of the text, such as `cp1252` or `shift_jis`."""
    ignore: NotRequired[list[IgnoreItem]]
    """Columns that are not used and not asked about."""


class PreviewRow(TypedDict):
    """A record with a row made from it, or the reason why there is none. Some records give several rows."""

    line: int
    """Position in the file: the line, or the number of the record in JSON arrays and Parquet."""
    raw: str
    """Beginning of the record."""
    row: dict[str, Any] | None
    """The row as it would be stored."""
    problem: str | None
    """Why there is no row; null if there is one."""


class Progress(TypedDict):
    """Progress of a job."""

    stage: str
    """The current stage."""
    step: int
    """Completed steps of the stage."""
    total_steps: int
    """Steps of the stage."""
    at_most: bool
    """Whether the stage may have fewer steps than `total_steps`: value pretraining of the critic ends by what it reaches."""
    stage_index: int
    """Index of the stage, from 0."""
    stage_count: int
    """Number of stages of the run."""
    fraction: float
    """Completed share of the whole run, 0 to 1. Stages are weighted roughly by their duration."""
    step_fraction: float
    """Share of the whole run that one step of this stage is: `fraction` grows by it with each step."""
    eta_seconds: float | None
    """Seconds until the end of the current stage; null while unknown."""
    seeds_done: int
    """Finished seeds of a job with several seeds."""
    seed_count: int
    """Number of seeds of the job."""
    seed: int | None
    """The seed that runs or ran last, to which stage and step belong; null in a job with one seed."""
    seeds_eta_seconds: float | None
    """Seconds until the last seed ends, by the mean duration of the finished ones; null before the first, and with one seed."""


class Project(TypedDict):
    """A project: everything that its members share."""

    object: Literal["project"]
    """Always `project`."""
    id: str
    """Begins with `prj_`, or with `key_` if it was made before projects had members."""
    name: str
    """Its name."""
    created_at: str
    """When it was created."""
    etag: str
    """For `If-Match`, so that a change does not overwrite another one."""


class ProjectRef(TypedDict):
    """The holder of a job."""

    id: str
    """The project's id."""
    name: str
    """The project's name."""


class PtxSpec(TypedDict, closed=True):
    """PPO-ptx: the language-model loss on `data.pretraining`, mixed into every step of the policy (Ouyang et al. 2022, eq. 2)."""

    coef: NotRequired[float]
    """Weight of the mean loss per token. (InstructGPT's γ = 27.8 weighs a sum, not a mean.)"""
    batch_size: NotRequired[int]
    """Texts per optimizer step."""
    max_tokens: NotRequired[int]
    """Longer texts are cut."""


class QueuePlaceView(TypedDict):
    """The place of a job in the queue, as an estimate."""

    position: int
    """1: it starts next. The estimate follows priorities, ageing, fair share, quotas and the sizes of workers. Other submissions change it."""
    reason: str
    """Why it waits, for people."""
    expected_start: str | None
    """When it is expected to start; null if it cannot start at present or nothing is known about running times."""


class Readiness(TypedDict):
    """State of each service that the API needs."""

    status: Literal["ok", "failed"]
    """`ok` if every check is `ok`."""
    checks: dict[str, str]
    """`database`, `migrations`, `redis` and `blobs`: `ok`, or the problem."""
    notes: list[str]
    """Limits of services that are `ok`."""


class ReferenceSpec(TypedDict, closed=True):
    """The policy that the KL is measured against."""

    path: NotRequired[str | None]
    """Checkpoint or model. Left out: the policy as the stage starts."""
    update: NotRequired[Literal["fixed", "reanchored", "ema"]]
    """`fixed`: it never changes. `reanchored`: a fresh copy of the policy every `every` iterations. `ema`: an exponential moving average of the policy."""
    every: NotRequired[int]
    """Iterations between copies, for `reanchored`."""
    decay: NotRequired[float]
    """π_ref ← decay·π_ref + (1 − decay)·π after each iteration, for `ema`. The two factors of an adapter are averaged separately."""


class RefillSpec(TypedDict, closed=True):
    """Dynamic sampling (DAPO, Yu et al. 2025, arXiv 2503.14476, §3.2): prompts whose responses all have the same score are replaced by further prompts, until the batch is full."""

    max_rounds: NotRequired[int]
    """Most rounds of sampling in an iteration, the batch itself included. After them the iteration learns from the prompts that it has. The metric `refill/shortfall` is the share that is lacking."""
    oversampling: NotRequired[float]
    """Prompts of a further round, as a multiple of those that the batch still lacks, and at most a batch. More take fewer rounds. Those after the prompt that fills the batch are thrown away, and the next iteration draws them again."""
    tolerance: NotRequired[float]
    """A prompt is replaced if its highest and lowest score lie no further apart than this. 0: if they are equal, as in the paper."""


class RegexReward(TypedDict, closed=True):
    """1 where the response matches a pattern, else 0. With `step_delimiter`, for each step."""

    name: NotRequired[str | None]
    """Name under which it is logged (`reward/<name>`). Left out: its type, numbered if there are several."""
    weight: NotRequired[float]
    """The run's score is the weighted sum of its rewards; a negative weight penalises."""
    max_missing: NotRequired[float]
    """Largest share of responses without a value from this reward, over its last 1000 responses (fewer than 200 count as 200). Above it the job pauses. Such a response takes part in no mean and no gradient. 0 pauses at the first one, 1 never."""
    step_delimiter: NotRequired[str | None]
    """Text that separates the steps of a response, such as a line break. The reward then scores each step, and PPO takes the score on the last token of the step. Parts of white space are no steps. Left out: the response is scored as a whole."""
    type: Literal["regex"]
    """Which reward this is."""
    pattern: str
    """A Python regular expression."""
    whole: NotRequired[bool]
    """Match the whole response (or step), not a part of it."""


Relation: TypeAlias = Literal["clone", "branch", "extend", "continue"]
"""How a job was made from another one."""


class RequestReport(TypedDict, closed=True):
    """Settings of a report. The same settings for the same version give the same report."""

    version: NotRequired[int | None]
    """Number of the version. Left out: the newest."""
    model: NotRequired[str | None]
    """Model whose tokenizer is used: a checkpoint's id, a hub id, or a folder that the operator allows. Left out: lengths are in characters and words."""
    chat_template: NotRequired[Literal["auto", "none"] | None]
    """Same as `data.chat_template` of a job. Left out: `auto`."""
    max_prompt_tokens: NotRequired[int | None]
    """Same as in a job. Left out: the job's default."""
    max_completion_tokens: NotRequired[int | None]
    """Same as in a job. Left out: the job's default."""
    eval_fraction: NotRequired[float | None]
    """Same as in a job. Left out: the job's default."""


Label: TypeAlias = str


class RewardMember(TypedDict, closed=True):
    """A reward model of an ensemble."""

    path: str
    """Hub id, folder or checkpoint of a reward model with the policy's tokenizer and chat template."""


class RewardMissingData(TypedDict):
    """A reward or a judge has no value for some responses of a step. They take part in no mean and no gradient."""

    stage: Literal["sft", "reward_model", "dpo", "kto", "ppo", "evaluation"]
    """The stage of the run."""
    step: int
    """The step of the stage."""
    reward: str
    """Name of the reward; `evaluation.judge` or `ppo.online.label_by` for a judge."""
    asked: int
    """Responses that it was asked about in this step; pairs for a judge that compares."""
    missing: dict[Literal["time_out", "refusal", "bad_output", "crash", "unreachable"], int]
    """Responses without a value, by cause."""
    share: float
    """Share without a value in the window that `max_missing` limits, this step included."""
    reason: str
    """The reason of the first of them, for people."""
    held_out: NotRequired[bool]
    """Whether they are the responses of an evaluation."""


class RewardMissingEvent(TypedDict):
    """A reward or a judge has no value for some responses of a step. They take part in no mean and no gradient."""

    object: Literal["job.event"]
    """Always `job.event`."""
    job_id: str
    """The job that it belongs to."""
    seq: int
    """Sequence number in the job, from 1 without gaps. It is the event id of the stream and the cursor of this list."""
    attempt: int
    """The attempt that reported it."""
    type: Literal["reward_missing"]
    """Always `reward_missing`."""
    created_at: str
    """When it happened."""
    seed: int | None
    """Seed of the event, in a job with several; null if it concerns the whole job, and with one seed."""
    stage: str | None
    """Stage of the event; null if it concerns the whole job."""
    step: int | None
    """Step of the event; null if it has none."""
    data: RewardMissingData
    """The event's own fields."""


class RewardModelProgress(TypedDict):
    """Agreement of the annotators with a reward model."""

    checkpoint: str
    """The reward model's checkpoint."""
    status: Literal["queued", "scoring", "succeeded", "failed"]
    """State of the scoring."""
    progress: DataProgress | None
    """Progress of the scoring; null once it has ended."""
    error: AnnotationError | None
    """Why the scoring failed."""
    agree: int
    """Answers that prefer the completion with the higher score."""
    of: int
    """Answers without ties."""
    low: float | None
    """Lower end of the share's 95 % interval (Wilson); null without answers."""
    high: float | None
    """Upper end of it."""


class RewardModelSpec(TypedDict, closed=True):
    """Reward model: a scalar head on the SFT model, score taken at the EOS token, or at the end of each step."""

    learning_rate: NotRequired[float]
    """Peak learning rate of AdamW. The live knob `learning_rate` changes it during the stage."""
    lr_schedule: NotRequired[Literal["constant", "linear", "cosine"]]
    """Shape of the learning rate after warm-up: constant, or down to 0 along a line or a cosine."""
    warmup_ratio: NotRequired[float]
    """Share of the steps (in PPO: iterations) over which the learning rate rises from 0."""
    weight_decay: NotRequired[float]
    """Decoupled weight decay of AdamW, on matrices only (never on biases and norms)."""
    max_grad_norm: NotRequired[float]
    """Gradients are scaled down to this global L2 norm."""
    micro_batch_size: NotRequired[int | None]
    """Sequences per forward pass (a preference pair is two); gradients accumulate to the batch. Left out: the whole (mini)batch at once. Changes memory, not the result."""
    micro_batch_tokens: NotRequired[int | None]
    """Tokens per forward pass at most, prompts included (a sequence that is longer goes alone); sequences of like length go together. Evens out memory where lengths differ much. With `micro_batch_size` both hold. Left out: no limit. Changes memory, not the result."""
    optimizer: NotRequired[Literal["adamw", "adamw_8bit"]]
    """`adamw`: Loshchilov and Hutter (2019). `adamw_8bit`: its two moments are in 8 bits, block by block (Dettmers et al. 2022). They take 2 bytes a parameter in place of 8, with nearly the same steps, which are slower on a CPU."""
    offload_optimizer: NotRequired[bool]
    """Keep the optimizer's moments (and masters of bfloat16 weights) in host memory and take its steps on the CPU: the GPU holds weights and gradients alone. Changes memory and speed, the result by rounding only."""
    save_every: NotRequired[int]
    """Steps between checkpoints to resume from."""
    eval_rows: NotRequired[int | None]
    """Held-out rows in an evaluation before the end of the stage, at most, counted as in `batch_size`. It runs with every checkpoint and on request, always on the same rows, in every job on the same data. The evaluation at the end uses all held-out rows. `null`: all of them every time."""
    loss: NotRequired[Literal["pairwise", "pointwise", "stepwise"]]
    """`pairwise`: −log σ(r(preferred) − r(other)) on the pairs of `data.preferences` (Bradley-Terry; Ouyang et al. 2022, eq. 1). `pointwise`: binary cross-entropy, −log σ(r) on a thumb up and −log σ(−r) on a thumb down, on the rows of `data.thumbs`. `stepwise`: binary cross-entropy on the label of each step of `data.steps`, with r at the last token of the step. That is a process reward model (Lightman et al. 2023). The loss selects the dataset that the reward model learns from. If a job names several, only the other stages use the others."""
    step_delimiter: NotRequired[str]
    """Stepwise only: the text between two steps, such as a line break. A step ends with the token that completes the delimiter behind it, the last one with the EOS. Solutions with a delimiter inside a step are left out. A reward of this model has the same `step_delimiter`."""
    neutral: NotRequired[Literal["good", "bad", "skip"]]
    """Stepwise only: the label of neutral steps in training. `good` and `bad` take them for those (Lightman et al. 2023 evaluate both, and take them for good); `skip` leaves them without a loss."""
    path: NotRequired[str | None]
    """A reward model to go on training. Left out: the SFT model with a fresh scalar head."""
    members: NotRequired[int]
    """Reward models of an ensemble: heads on one trunk that begin with different random weights and learn from the same rows. The reward is by default the mean of their scores − their standard deviation (`combine` of the reward; Coste et al. 2023). 4 or 5 are usual. 1: a single reward model."""
    member_share: NotRequired[float]
    """Share of the pairs or thumbs that each member learns from, drawn for each row and member (bootstrapped heads; Osband et al. 2016). Members that learn from different rows disagree more off the data. 1: all learn from all rows."""
    epochs: NotRequired[int]
    """Passes over the pairs, thumbs or solutions. More than one overfits quickly (Stiennon et al. 2020; Ouyang et al. 2022)."""
    batch_size: NotRequired[int]
    """Pairs, thumbs, or solutions with all of their steps, per optimizer step. All pairs of one ranking count together as one (Ouyang et al. 2022, §3.5)."""
    margin: NotRequired[bool]
    """Ask for r(preferred) − r(other) ≥ the row's `margin`: −log σ(Δ − margin) (Touvron et al. 2023, eq. 2). Rows without one have margin 0."""
    center_coef: NotRequired[float]
    """Weight of (r(a) + r(b))², which keeps scores near 0 (Eisenstein et al. 2023, eq. 2; 0.01 is usual)."""
    normalize: NotRequired[Literal["none", "mean", "mean_and_std"]]
    """Scale of the SFT reference answers' scores after training: mean 0 (Stiennon et al. 2020), mean 0 and standard deviation 1, or unchanged. The scores of a pointwise reward model are log odds of a thumb up only with `none`. Those of a stepwise one are always `none`: σ of a score is the probability that the step is good."""


Role: TypeAlias = Literal["viewer", "annotator", "member", "admin"]
"""The rights of a member in a project. `core.access.policy` has the table."""


class RolledBackData(TypedDict):
    """The run went back to an earlier checkpoint's weights. Steps go on counting from `step`."""

    stage: Literal["sft", "reward_model", "dpo", "kto", "ppo", "evaluation"]
    """The stage of the run."""
    step: int
    """The step that was done last; steps go on counting from here."""
    to_step: int
    """The step whose weights it goes on from."""
    learning_rate_factor: float
    """Factor of both learning rates from here on."""


class RolledBackEvent(TypedDict):
    """The run went back to an earlier checkpoint's weights. Steps go on counting from `step`."""

    object: Literal["job.event"]
    """Always `job.event`."""
    job_id: str
    """The job that it belongs to."""
    seq: int
    """Sequence number in the job, from 1 without gaps. It is the event id of the stream and the cursor of this list."""
    attempt: int
    """The attempt that reported it."""
    type: Literal["rolled_back"]
    """Always `rolled_back`."""
    created_at: str
    """When it happened."""
    seed: int | None
    """Seed of the event, in a job with several; null if it concerns the whole job, and with one seed."""
    stage: str | None
    """Stage of the event; null if it concerns the whole job."""
    step: int | None
    """Step of the event; null if it has none."""
    data: RolledBackData
    """The event's own fields."""


class RolloutSpec(TypedDict, closed=True):
    """The engine that samples the responses, and the source of the sampling policy's log-probabilities."""

    engine: NotRequired[Literal["built_in", "vllm"]]
    """`built_in`: the model itself, with a key-value cache that is written in place. `vllm`: vLLM in the trainer's process, if installed. Its weights are updated before every rollout. vLLM samples only the policy that is trained; the built-in engine samples every other model."""
    rows_at_once: NotRequired[int | None]
    """Rows that are sampled together, in evaluations too: fewer take less memory for their cache. Left out: the whole batch."""
    decode: NotRequired[Literal["auto", "eager", "cuda_graphs"]]
    """How the built-in engine takes a step. `eager`: the model's forward pass over the columns in use. `cuda_graphs`: a forward pass that was captured once for each of a few batch sizes and is replayed, which saves kernel launches. `auto`: `cuda_graphs` on a CUDA device if the model allows it. On a CPU, Llama, Mistral, Qwen2 and Qwen3 in float32 take steps without the overhead of the forward pass, with the same results up to rounding. Any other model: `eager`."""
    logprobs: NotRequired[Literal["recomputed", "sampler"]]
    """Source of the old log-probabilities π_old. `recomputed`: a forward pass of the trainer over the sampled responses. With one epoch, one minibatch and no KL in the reward, this is the update's own pass. `sampler`: the sampler as it drew each token, which saves that pass. Those of the built-in engine equal the trainer's up to rounding."""
    importance_cap: NotRequired[float | Literal["auto"] | None]
    """C of truncated importance sampling (Ionides 2008, Yao et al. 2025), which needs a recomputed π_old. The policy loss of each token, and a KL in the loss, are multiplied by min(π_old/π_sampler, C). Null (in TOML: false): no weights. `auto`: 2 with `asynchronous` or `engine` = "vllm", where the sampler is not the trainer, and with a `correction.kind` that truncates, else no weights."""
    correction: NotRequired[CorrectionSpec]
    """How the policy loss corrects for a sampler that is not π_old."""
    asynchronous: NotRequired[bool]
    """Sample the responses of a later iteration while the trainer learns from this one's. The sampling policy is `staleness` steps old (Noukhovitch et al. 2024), for which `correction` corrects. Takes one more copy of the policy's weights."""
    staleness: NotRequired[int | None]
    """k, the largest age of a sampling policy in steps. Iteration t learns from responses of the policy before step t − k, and the first k iterations from those of the first policy. 1 or more turns `asynchronous` on. Left out: 1 with `asynchronous`, else 0."""
    refill: NotRequired[RefillSpec | None]
    """Replace prompts whose responses all have the same score, which teach nothing with a baseline of the group. Scores are those before `shaping`. Left out: they stay in the batch."""
    gpu_memory_utilization: NotRequired[float]
    """Share of the GPU's memory that vLLM takes for its weights and its cache while it samples. On a CPU the cache takes what the rows sampled at once need."""


class RotateSecret(TypedDict, closed=True):
    """How long the present secret signs as well."""

    overlap_hours: NotRequired[float]
    """Hours for which both secrets sign, so that receivers can change theirs in peace. 0: the present one ends at once."""


class RoundChanges(TypedDict, closed=True):
    """New values for fields of a round. A field that is null or left out stays unchanged."""

    name: NotRequired[str | None]
    """Name for people."""
    instructions: NotRequired[str | None]
    """Instructions that annotators see beside each item, as Markdown."""
    overlap: NotRequired[int | None]
    """Number of annotators who answer each item."""
    status: NotRequired[Literal["open", "paused"] | None]
    """`paused`: no more items are assigned, but assigned ones can still be answered. `open`: items are assigned again."""


Checkpoint1: TypeAlias = str


class RoundFromCheckpoints(TypedDict, closed=True):
    """Completions that one or several policies sample for the prompts of a dataset."""

    type: Literal["checkpoints"]
    """Always `checkpoints`."""
    checkpoints: list[Checkpoint1]
    """The policies: checkpoint ids (`ckpt_…`), or models as in `model.path` of a job."""
    prompts: str
    """`ds_…` or `ds_…@2`: a dataset of prompts, or one of preferences, thumbs, steps or sft, whose prompts are used."""
    completions: NotRequired[int]
    """Completions of each policy for a prompt. One policy with two completions is compared with itself, as in online RLHF."""
    limit: NotRequired[int]
    """Most prompts. If the dataset has more, a sample is drawn."""
    temperature: NotRequired[float]
    """Sampling temperature of all policies. The `ppo.temperature` of their jobs has no effect."""
    max_new_tokens: NotRequired[int | None]
    """Longest completion of all policies, in tokens. Left out: the largest `ppo.max_new_tokens` of their jobs with a PPO stage, else 256."""
    seed: NotRequired[int]
    """Seed of the sample of prompts, their order, and the sampled tokens."""


class RoundFromDataset(TypedDict, closed=True):
    """Rows of a dataset of preferences: pairs for a round of pairs, rankings for a round of rankings."""

    type: Literal["dataset"]
    """Always `dataset`."""
    dataset: str
    """`ds_…` (its newest version) or `ds_…@2`."""
    rows: NotRequired[Literal["unlabelled", "all"]]
    """`unlabelled`: pairs or rankings that no row of the dataset labels. `all`: labelled ones too, without showing their labels. Equal pairs or rankings become one item."""
    limit: NotRequired[int]
    """Most items. If the dataset has more, a sample is drawn."""
    seed: NotRequired[int]
    """Seed of the sample and its order."""


RoundKind: TypeAlias = Literal["pairs", "ranking"]
"""The question of an item."""


RoundStatus: TypeAlias = Literal["preparing", "open", "paused", "closing", "closed", "failed"]
"""The state of a round."""


class RunFailedData(TypedDict):
    """The run ended with an error. `code` names its kind, and `message` describes it and what to do next."""

    code: str
    """The kind of error, for programs."""
    message: str
    """A description of the error and of what to do next, for people."""
    stage: NotRequired[Literal["sft", "reward_model", "dpo", "kto", "ppo", "evaluation"] | None]
    """The stage that failed; null before the first stage."""
    step: NotRequired[int | None]
    """The step that failed; null outside the steps of a stage."""


class RunFailedEvent(TypedDict):
    """The run ended with an error. `code` names its kind, and `message` describes it and what to do next."""

    object: Literal["job.event"]
    """Always `job.event`."""
    job_id: str
    """The job that it belongs to."""
    seq: int
    """Sequence number in the job, from 1 without gaps. It is the event id of the stream and the cursor of this list."""
    attempt: int
    """The attempt that reported it."""
    type: Literal["run_failed"]
    """Always `run_failed`."""
    created_at: str
    """When it happened."""
    seed: int | None
    """Seed of the event, in a job with several; null if it concerns the whole job, and with one seed."""
    stage: str | None
    """Stage of the event; null if it concerns the whole job."""
    step: int | None
    """Step of the event; null if it has none."""
    data: RunFailedData
    """The event's own fields."""


class RunFinishedData(TypedDict):
    """The run succeeded. `summary` holds its headline figures."""

    seconds: float
    """Duration of the run."""
    summary: dict[str, float]
    """Headline figures of the run, by name."""


class RunFinishedEvent(TypedDict):
    """The run succeeded. `summary` holds its headline figures."""

    object: Literal["job.event"]
    """Always `job.event`."""
    job_id: str
    """The job that it belongs to."""
    seq: int
    """Sequence number in the job, from 1 without gaps. It is the event id of the stream and the cursor of this list."""
    attempt: int
    """The attempt that reported it."""
    type: Literal["run_finished"]
    """Always `run_finished`."""
    created_at: str
    """When it happened."""
    seed: int | None
    """Seed of the event, in a job with several; null if it concerns the whole job, and with one seed."""
    stage: str | None
    """Stage of the event; null if it concerns the whole job."""
    step: int | None
    """Step of the event; null if it has none."""
    data: RunFinishedData
    """The event's own fields."""


class RunStoppedData(TypedDict):
    """The run was asked to stop, saved, and can be resumed."""

    reason: Literal["signal", "lease_lost", "health", "rewards"]
    """`signal`: the process was asked to stop. `lease_lost`: the worker lost the job. `health`: a health rule stopped the run. `rewards`: too many responses have no reward (`max_missing`)."""
    stage: NotRequired[Literal["sft", "reward_model", "dpo", "kto", "ppo", "evaluation"] | None]
    """The stage that was stopped; null before the first stage."""
    step: NotRequired[int | None]
    """The last step that is saved; null outside the steps of a stage."""
    message: NotRequired[str | None]
    """The reason, for people."""


class RunStoppedEvent(TypedDict):
    """The run was asked to stop, saved, and can be resumed."""

    object: Literal["job.event"]
    """Always `job.event`."""
    job_id: str
    """The job that it belongs to."""
    seq: int
    """Sequence number in the job, from 1 without gaps. It is the event id of the stream and the cursor of this list."""
    attempt: int
    """The attempt that reported it."""
    type: Literal["run_stopped"]
    """Always `run_stopped`."""
    created_at: str
    """When it happened."""
    seed: int | None
    """Seed of the event, in a job with several; null if it concerns the whole job, and with one seed."""
    stage: str | None
    """Stage of the event; null if it concerns the whole job."""
    step: int | None
    """Step of the event; null if it has none."""
    data: RunStoppedData
    """The event's own fields."""


class RuntimeSpec(TypedDict, closed=True):
    """The device, the threads and the memory layout of the run."""

    device: NotRequired[Literal["auto", "cpu", "cuda"]]
    """`auto` takes a GPU where there is one."""
    threads: NotRequired[int | Literal["auto"]]
    """CPU threads. `auto` takes one per core, but a single one for models below a million parameters, which more threads slow down on a busy machine. On several cores, SFT and a reward model on pairs then compute the two halves of a batch at once while that is faster. A resumed run keeps the number it began with."""
    packing: NotRequired[bool | Literal["auto"]]
    """Lay the sequences of a forward pass end to end in one row, each seeing only itself: no work on padding. `auto` does so where the architecture is found to compute the same that way and more than a fiftieth would be padding. Changes speed, not the result."""
    critic_thread: NotRequired[bool | Literal["auto"]]
    """On a CPU, let the policy and a separate critic learn at the same time, each with half of the threads (at least one). `auto` does so for models below forty million parameters where there are two cores: larger ones keep the cores busy by themselves. A resumed run keeps what it had. Has no effect where the two share a trunk, on a GPU, or with several processes."""
    offload_frozen: NotRequired[bool]
    """Keep the frozen models of PPO and of the evaluation (reference, reward models) in host memory. Each is copied to the GPU only while it scores. This saves the memory of two or three models and costs some seconds of copying per batch. Has no effect with adapters on one backbone. Changes no result."""
    sharding: NotRequired[Literal["replicated", "fsdp"]]
    """The part of the models that each process holds. `replicated`: all of them. `fsdp`: a slice of each model, its gradient and its optimizer, for models that do not fit one device. Layers are gathered when they are used (torch's FSDP2). The result is the same up to rounding. Has no effect with one process."""


class SFTSpec(TypedDict, closed=True):
    """Supervised fine-tuning on completions (the loss ignores the prompt)."""

    learning_rate: NotRequired[float]
    """Peak learning rate of AdamW. The live knob `learning_rate` changes it during the stage."""
    lr_schedule: NotRequired[Literal["constant", "linear", "cosine"]]
    """Shape of the learning rate after warm-up: constant, or down to 0 along a line or a cosine."""
    warmup_ratio: NotRequired[float]
    """Share of the steps (in PPO: iterations) over which the learning rate rises from 0."""
    weight_decay: NotRequired[float]
    """Decoupled weight decay of AdamW, on matrices only (never on biases and norms)."""
    max_grad_norm: NotRequired[float]
    """Gradients are scaled down to this global L2 norm."""
    micro_batch_size: NotRequired[int | None]
    """Sequences per forward pass (a preference pair is two); gradients accumulate to the batch. Left out: the whole (mini)batch at once. Changes memory, not the result."""
    micro_batch_tokens: NotRequired[int | None]
    """Tokens per forward pass at most, prompts included (a sequence that is longer goes alone); sequences of like length go together. Evens out memory where lengths differ much. With `micro_batch_size` both hold. Left out: no limit. Changes memory, not the result."""
    optimizer: NotRequired[Literal["adamw", "adamw_8bit"]]
    """`adamw`: Loshchilov and Hutter (2019). `adamw_8bit`: its two moments are in 8 bits, block by block (Dettmers et al. 2022). They take 2 bytes a parameter in place of 8, with nearly the same steps, which are slower on a CPU."""
    offload_optimizer: NotRequired[bool]
    """Keep the optimizer's moments (and masters of bfloat16 weights) in host memory and take its steps on the CPU: the GPU holds weights and gradients alone. Changes memory and speed, the result by rounding only."""
    save_every: NotRequired[int]
    """Steps between checkpoints to resume from."""
    eval_rows: NotRequired[int | None]
    """Held-out rows in an evaluation before the end of the stage, at most, counted as in `batch_size`. It runs with every checkpoint and on request, always on the same rows, in every job on the same data. The evaluation at the end uses all held-out rows. `null`: all of them every time."""
    epochs: NotRequired[int]
    """Passes over the data."""
    batch_size: NotRequired[int]
    """Sequences per optimizer step."""
    turns: NotRequired[Literal["last", "all"]]
    """Assistant turns of a conversation that SFT learns. `last`: the last one. `all`: each one as an example of its own, whose prompt is rendered by the chat template at that turn."""


class SampleStep(TypedDict):
    """A step that has completions."""

    seed: int | None
    """Its seed; null in a job with one seed."""
    stage: str
    """Its stage."""
    step: int
    """Its number."""


class SampleStepList(TypedDict):
    """Steps that have completions, in the order in which they were reached."""

    object: Literal["list"]
    """Always `list`."""
    data: list[SampleStep]
    """The items of this page."""
    has_more: bool
    """Whether more follow."""
    first_id: str | None
    """Cursor of the first item."""
    last_id: str | None
    """Cursor of the last item: the next page's `after`."""


Scope: TypeAlias = Literal["read", "annotate", "submit", "manage"]
"""A part of what a role allows, to which a key can be limited."""


class SeedFinishedData(TypedDict):
    """One seed of several is done: finished, collapsed or failed."""

    seed: int
    """The seed."""
    number: int
    """Its position among the seeds, from 1."""
    of: int
    """Number of seeds in the job."""
    seconds: float
    """Duration of the seed's run."""
    summary: dict[str, float]
    """Headline figures of its run, by name. Empty if it failed."""
    collapsed: bool
    """Whether it ended worse than it began, by the rule in trainer/events/seed_summary.py."""
    why: NotRequired[str | None]
    """A description of the collapse or failure."""


class SeedFinishedEvent(TypedDict):
    """One seed of several is done: finished, collapsed or failed."""

    object: Literal["job.event"]
    """Always `job.event`."""
    job_id: str
    """The job that it belongs to."""
    seq: int
    """Sequence number in the job, from 1 without gaps. It is the event id of the stream and the cursor of this list."""
    attempt: int
    """The attempt that reported it."""
    type: Literal["seed_finished"]
    """Always `seed_finished`."""
    created_at: str
    """When it happened."""
    seed: int | None
    """Seed of the event, in a job with several; null if it concerns the whole job, and with one seed."""
    stage: str | None
    """Stage of the event; null if it concerns the whole job."""
    step: int | None
    """Step of the event; null if it has none."""
    data: SeedFinishedData
    """The event's own fields."""


SeedStatus: TypeAlias = Literal["waiting", "running", "stopped", "finished", "collapsed"]
"""The state of one seed."""


class Series(TypedDict):
    """A metric of a stage: `values` of each step, or `last`, `min`, `max`, `mean` and `n` of each bucket of a long series."""

    seed: int | None
    """The seed it belongs to; null in a job with one seed."""
    stage: Literal["sft", "reward_model", "dpo", "kto", "ppo", "evaluation"]
    """The stage it belongs to."""
    name: str
    """The metric; `GET /v1/reference/metrics` explains it."""
    steps: list[int]
    """Step of each point, or the last step of each bucket."""
    values: list[float] | None
    """Value at each step; null for buckets."""
    last: list[float] | None
    """Value at the last step of each bucket; null without buckets."""
    min: list[float] | None
    """Smallest value of each bucket; null without buckets."""
    max: list[float] | None
    """Largest value of each bucket; null without buckets."""
    mean: list[float] | None
    """Mean of the points of each bucket; null without buckets."""
    n: list[int] | None
    """Number of points in each bucket; null without buckets."""


Severity: TypeAlias = Literal["warning", "error"]
"""How grave a finding is."""


class ShapingSpec(TypedDict, closed=True):
    """How a response's score becomes the optimised score, in this order: normalise, clip, missing EOS, length, overlong. Token rewards are normalised and clipped one by one."""

    normalize: NotRequired[Literal["none", "running"]]
    """`running`: divided by the standard deviation of all scores so far (Engstrom et al. 2020), which a resume keeps."""
    clip: NotRequired[float | None]
    """Scores are clipped to ± this."""
    missing_eos: NotRequired[Literal["subtract", "replace"]]
    """Score of a response that was cut off without an EOS. `subtract`: the penalty is subtracted. `replace`: the score is minus the penalty (Huang et al. 2024: −1)."""
    missing_eos_penalty: NotRequired[float]
    """Penalty of a response that was cut off without an EOS."""
    length_penalty: NotRequired[float]
    """Subtracted for every token beyond `length_free`."""
    length_free: NotRequired[int]
    """Tokens without a length penalty."""
    overlong_tokens: NotRequired[int | None]
    """Soft overlong punishment (DAPO, Yu et al. 2025, eq. 13): over the last so many tokens before `max_new_tokens`, a penalty rises from 0 to `overlong_penalty`. Left out: none."""
    overlong_penalty: NotRequired[float]
    """Penalty of a response of `max_new_tokens` tokens, for `overlong_tokens`. One that was cut off has that for a missing EOS too, unless `missing_eos_penalty` is 0."""
    whiten_rewards: NotRequired[bool]
    """Scale the token rewards (KL included) to variance 1 over the batch, their mean kept (Huang et al. 2024)."""


class SharedPrompts(TypedDict):
    """Prompts of `dataset` that `other` holds too."""

    prompts: int
    """Number of distinct prompts."""
    rows: int
    """Rows of `dataset` with them."""
    other_rows: int | None
    """Rows of `other` with them; null for near duplicates, whose rows are not counted in `other`."""
    samples: list[OverlapSample]
    """The first pairs of rows, at most 20."""
    complete: bool
    """False if there are more candidate pairs than the platform measures. There may then be more near duplicates."""


class ShownAnswer(TypedDict):
    """An answer in the order in which the annotator saw the completions."""

    choice: Literal["1", "2", "tie", "skip"] | None
    """Answer to a pair, or a skip."""
    ranks: list[int] | None
    """Answer to a ranking: 1 is the best rank; equal numbers are a tie."""


class SignIn(TypedDict, closed=True):
    """Credentials for a browser session: either an API key, or the code of a sign-in link."""

    token: NotRequired[str | None]
    """An API key."""
    code: NotRequired[str | None]
    """The code of a sign-in link. It can be used once."""


class SignInCode(TypedDict):
    """A code for a sign-in link: the dashboard's address with `?code=…`."""

    object: Literal["session.code"]
    """Always `session.code`."""
    code: str
    """The code. It signs a browser in once."""
    expires_at: str
    """When it stops being valid."""


class Slice(TypedDict, closed=True):
    """Some of the pairs, ties left out; in a pointwise card, some of the completions."""

    pairs: int
    """Their number."""
    accuracy: float
    """Share in which the preferred answer scores higher; of completions, whose score has the sign of their thumb."""
    low: float
    """Lower end of the accuracy's 95 % interval (Wilson)."""
    high: float
    """Upper end of the interval."""
    confidence: NotRequired[float | None]
    """Mean probability that the reward model gives to the answer it ranks first, σ(|Δ|), or to the thumb it expects, σ(|r|). It equals the accuracy of a calibrated model."""


class SlurmSpec(TypedDict, closed=True):
    """Options of the batch job of a worker that submits to Slurm. Other workers do not take such a job."""

    partition: NotRequired[str | None]
    """Partition. The job waits for a worker whose cluster has it. Left out: the worker's."""
    account: NotRequired[str | None]
    """Account that Slurm charges. Left out: the worker's."""
    qos: NotRequired[str | None]
    """Quality of service. Left out: the worker's."""
    minutes: NotRequired[int | None]
    """Time limit of each batch job. The trainer saves before it, and the job is queued again, so it does not limit the run. Left out: the worker's."""
    memory_gib: NotRequired[int | None]
    """Memory on each node. Left out: the worker's."""
    constraint: NotRequired[str | None]
    """Features that the nodes must have, such as `a100`."""
    exclude: NotRequired[str | None]
    """Nodes that the job must not use, such as `node[3-5]`."""
    reservation: NotRequired[str | None]
    """Reservation that the job runs in."""


class SplitSizes(TypedDict):
    """Sizes of the training and the evaluation split of a run with this dataset alone."""

    eval_fraction: float
    """Requested share of the prompts in the evaluation split."""
    train: int
    """Rows in the training split."""
    eval: int
    """Rows in the evaluation split."""
    train_prompts: int
    """Distinct prompts in the training split."""
    eval_prompts: int
    """Distinct prompts in the evaluation split."""
    shared_prompts: int
    """Prompts in both splits: always 0."""
    near_prompts: int
    """Prompts of the evaluation split with a near duplicate in the training split."""


class StageEstimate(TypedDict, closed=True):
    """The amount of work of a stage."""

    stage: Literal["sft", "reward_model", "dpo", "kto", "ppo", "evaluation"]
    """The stage."""
    steps: int
    """Steps as the run counts them: optimizer steps, in PPO iterations."""
    at_most: NotRequired[bool]
    """Whether all figures are the most that is possible, because value pretraining of the critic ends by what it reaches."""
    optimizer_steps: int
    """Times the weights change. In PPO, steps of policy and critic together count once, and steps of the critic alone too."""
    responses: NotRequired[int]
    """Responses sampled. Those that `ppo.rollout.refill` samples in place of others are unknown before the run and not counted."""
    tokens: int
    """Expected tokens of the training passes, with prompts, once for every epoch (in PPO, of the policy); in the evaluation, tokens read."""
    generated: NotRequired[int]
    """Expected tokens sampled, from the lengths of the demonstrations."""
    generated_max: NotRequired[int]
    """Tokens sampled where every response is as long as allowed, and `ppo.rollout.refill` takes all of its rounds with a whole batch each."""


class StageFinishedData(TypedDict):
    """A stage is done; `summary` holds its headline figures."""

    stage: Literal["sft", "reward_model", "dpo", "kto", "ppo", "evaluation"]
    """The stage of the run."""
    seconds: float
    """Duration of the stage."""
    summary: NotRequired[dict[str, float]]
    """Headline figures of the stage, by name."""


class StageFinishedEvent(TypedDict):
    """A stage is done; `summary` holds its headline figures."""

    object: Literal["job.event"]
    """Always `job.event`."""
    job_id: str
    """The job that it belongs to."""
    seq: int
    """Sequence number in the job, from 1 without gaps. It is the event id of the stream and the cursor of this list."""
    attempt: int
    """The attempt that reported it."""
    type: Literal["stage_finished"]
    """Always `stage_finished`."""
    created_at: str
    """When it happened."""
    seed: int | None
    """Seed of the event, in a job with several; null if it concerns the whole job, and with one seed."""
    stage: str | None
    """Stage of the event; null if it concerns the whole job."""
    step: int | None
    """Step of the event; null if it has none."""
    data: StageFinishedData
    """The event's own fields."""


class StagePlan(TypedDict):
    """A stage the run will go through."""

    stage: Literal["sft", "reward_model", "dpo", "kto", "ppo", "evaluation"]
    """The stage of the run."""
    total_steps: int
    """Steps that the stage has."""
    at_most: NotRequired[bool]
    """Whether the stage may have fewer steps, because value pretraining of the critic ends by what it reaches."""


class StageStartedData(TypedDict):
    """A stage begins at `start_step` (0, or the step it resumes after)."""

    stage: Literal["sft", "reward_model", "dpo", "kto", "ppo", "evaluation"]
    """The stage of the run."""
    total_steps: int
    """Steps that the stage has: the most while value pretraining goes on."""
    start_step: NotRequired[int]
    """0, or the step that the stage resumes after."""


class StageStartedEvent(TypedDict):
    """A stage begins at `start_step` (0, or the step it resumes after)."""

    object: Literal["job.event"]
    """Always `job.event`."""
    job_id: str
    """The job that it belongs to."""
    seq: int
    """Sequence number in the job, from 1 without gaps. It is the event id of the stream and the cursor of this list."""
    attempt: int
    """The attempt that reported it."""
    type: Literal["stage_started"]
    """Always `stage_started`."""
    created_at: str
    """When it happened."""
    seed: int | None
    """Seed of the event, in a job with several; null if it concerns the whole job, and with one seed."""
    stage: str | None
    """Stage of the event; null if it concerns the whole job."""
    step: int | None
    """Step of the event; null if it has none."""
    data: StageStartedData
    """The event's own fields."""


class StageTime(TypedDict):
    """The expected time of one stage."""

    stage: Literal["sft", "reward_model", "dpo", "kto", "ppo", "evaluation"]
    """The stage."""
    steps: int
    """Its number of steps."""
    seconds_per_step: float | None
    """Median over `jobs`; null without any."""
    seconds: float | None
    """`steps` times `seconds_per_step`, for one seed."""
    jobs: list[str]
    """The earlier jobs that the figure is based on, newest first."""


StatusChangedData = TypedDict(
    "StatusChangedData",
    {
        "from": JobStatus | None,
        "to": JobStatus,
        "reason": str,
        "error": JobError | None,
        "actor": NotRequired[Actor | None],
    },
)


class StatusChangedEvent(TypedDict):
    """The platform moved the job to another state."""

    object: Literal["job.event"]
    """Always `job.event`."""
    job_id: str
    """The job that it belongs to."""
    seq: int
    """Sequence number in the job, from 1 without gaps. It is the event id of the stream and the cursor of this list."""
    attempt: int
    """The attempt that reported it."""
    type: Literal["status_changed"]
    """Always `status_changed`."""
    created_at: str
    """When it happened."""
    seed: int | None
    """Seed of the event, in a job with several; null if it concerns the whole job, and with one seed."""
    stage: str | None
    """Stage of the event; null if it concerns the whole job."""
    step: int | None
    """Step of the event; null if it has none."""
    data: StatusChangedData
    """The event's own fields."""


class StoredAnswer(TypedDict):
    """An annotator's answer to an item, in the order of the item's `completions`."""

    annotator: str
    """Name of the annotator."""
    choice: Literal["a", "b", "tie", "skip"] | None
    """Answer to a pair: `a` is the first of `completions`."""
    ranks: list[int] | None
    """Answer to a ranking: one rank for each of `completions`."""
    shown: list[int]
    """Indices, from 0, of the completions in the order in which the annotator saw them."""
    seconds: float | None
    """Time taken."""
    answered_at: str
    """When the platform stored it."""


class SubmitAnswer(TypedDict, closed=True):
    """An answer to one item, in the order in which the annotator saw the completions."""

    annotator: str
    """Name of the annotator."""
    choice: NotRequired[Literal["1", "2", "tie", "skip"] | None]
    """The better completion of a pair, or a tie. `skip` skips a pair or a ranking."""
    ranks: NotRequired[list[int] | None]
    """A rank for each completion of a ranking: 1 is the best, the same number for a tie."""
    seconds: NotRequired[float | None]
    """Time taken, in seconds. Left out: the time since the item was assigned."""


class SuggestedChange(TypedDict):
    """A change of the spec that may help. Several of a finding are alternatives."""

    field: str
    """Path of the field, such as `ppo.kl.coef`."""
    value: JsonValue
    """The new value."""
    factor: NotRequired[float | None]
    """`value` is this multiple of the value in the spec. A live knob may have another value; null for a fixed value."""


class Suggestion(TypedDict, closed=True):
    """A change that lowers the peak, and the peak with this and all suggestions before it."""

    where: str
    """Pointer to the field of the spec."""
    change: str
    """The change, as a field and its value."""
    expected: int
    """Expected peak in bytes."""
    fits: bool
    """Whether this peak fits."""


class SweepPlan(TypedDict):
    """The jobs that a sweep would make."""

    object: Literal["sweep.plan"]
    """Always `sweep.plan`."""
    jobs: list[PlannedJob]
    """The jobs in order."""


TaskStatus: TypeAlias = Literal["queued", "running", "succeeded", "failed", "cancelled"]
"""The state of a data task."""


class TeacherSpec(TypedDict, closed=True):
    """On-policy distillation: reverse KL to a teacher on the policy's own responses (GKD, arXiv 2306.13649, and MiniLLM, arXiv 2306.08543). Each token gets `coef`·(log π_teacher − log π_old) as advantage, beside that of the rewards or alone."""

    path: str
    """Hub id, folder or checkpoint of the teacher, a causal language model with the policy's tokenizer. It may be larger and of another architecture."""
    coef: NotRequired[float]
    """Weight of the teacher's part of the advantage, in nats. It is added after the advantage of the rewards is normalised."""
    discount: NotRequired[float]
    """Discount of the log-ratios of later tokens. 0: each token has its own log-ratio alone, whose expected gradient is that of the exact KL of the token's distribution (GKD). 1: all later ones too, for the gradient of the KL of whole responses (MiniLLM), with much more variance."""


class TelemetrySeries(TypedDict):
    """One measurement over the time axis."""

    name: str
    """The measurement, such as `cpu/percent` or `gpu/0/power`."""
    values: list[float | None]
    """Mean in each bucket; null where it was not measured."""


class Template(TypedDict):
    """A partial spec from which jobs are submitted."""

    object: Literal["job.template"]
    """Always `job.template`."""
    id: str
    """Begins with `tpl_`."""
    name: str
    """Unique among your templates. A job gets it as its name, unless the spec has one."""
    description: str
    """For people."""
    spec: dict[str, Any]
    """The given fields of a job spec, without defaults."""
    etag: str
    """Changes with what requests can change. Send it as `If-Match` to keep a request from overwriting another change."""
    created_at: str
    """When it was made."""
    updated_at: str
    """When it was changed last."""


class TemplateList(TypedDict):
    """Templates, newest first unless asked otherwise."""

    object: Literal["list"]
    """Always `list`."""
    data: list[Template]
    """The items of this page."""
    has_more: bool
    """Whether more follow."""
    first_id: str | None
    """Cursor of the first item."""
    last_id: str | None
    """Cursor of the last item: the next page's `after`."""


class TensorBoardTracker(TypedDict, closed=True):
    """TensorBoard event files, in the folder `tensorboard` of the run folder."""


class TokenRow(TypedDict, closed=True):
    """One token of a completion, as PPO saw it. A number that is not finite is missing."""

    text: str
    """The token's text. A token that is no whole character has its name in the vocabulary."""
    logprob: NotRequired[float | None]
    """Log-probability under the policy that sampled it, at the sampling temperature, in nats."""
    reference_logprob: NotRequired[float | None]
    """Log-probability under the reference, in nats."""
    kl: NotRequired[float | None]
    """The KL estimate at this token."""
    value: NotRequired[float | None]
    """The critic's value of the state before it; none without a critic."""
    advantage: NotRequired[float | None]
    """The advantage that the update used."""
    reward: NotRequired[float | None]
    """The reward that the advantage is computed from: the KL penalty, and the score on the last token."""
    clipped: NotRequired[bool | None]
    """Whether the clipped term of the policy loss was active in the last pass; none where it took no part."""
    entropy: NotRequired[float | None]
    """Entropy of the policy's distribution at this token, in nats, in the last pass over the response."""
    ratio: NotRequired[float | None]
    """π/π_old of the token in the last pass over the response; 1 where the policy had taken no step before it."""
    sampler_gap: NotRequired[float | None]
    """log π_old − log π_sampler of the token, in nats; none where the sampler's numbers are π_old's, or unknown."""
    teacher_logprob: NotRequired[float | None]
    """Log-probability under the teacher (`ppo.teacher`), in nats; none without one."""
    special: NotRequired[bool | None]
    """Whether it is a special token, such as EOS; none in logs from before it was reported."""


class TokenizerSpec(TypedDict, closed=True):
    """A byte-level BPE tokenizer trained on the run's own supervised text."""

    vocab_size: NotRequired[int]
    """Largest vocabulary: 256 bytes, the special tokens, and the text's merges up to this size."""


class TrackioTracker(TypedDict, closed=True):
    """A run of trackio. The environment selects the place: `TRACKIO_DIR`, or `TRACKIO_SPACE_ID` with `HF_TOKEN`."""

    project: NotRequired[str]
    """The project of the run."""


class TransitionReason(TypedDict, closed=True):
    """Why a user changes the state of a job. The body may be left out."""

    reason: NotRequired[str]
    """The reason, for the event of the transition and for `status_reason`. Empty: a sentence that names the request."""


class UndoAnswer(TypedDict, closed=True):
    """Names the answer to remove from the round."""

    annotator: str
    """Name of the annotator."""
    item: NotRequired[str | None]
    """The item. Without an answer to it, nothing happens. Left out: the last item that was answered or skipped."""


class Uniform(TypedDict, closed=True):
    """A number with the same density everywhere."""

    min: float
    """Smallest value."""
    max: float
    """Largest value."""
    distribution: Literal["uniform"]
    """Always `uniform`."""


class UploadError(TypedDict):
    """Why a download failed."""

    code: str
    """For programs."""
    message: str
    """For people."""


class UploadLimits(TypedDict):
    """Limits of uploads, and allowed sources of downloads."""

    object: Literal["upload.limits"]
    """Always `upload.limits`."""
    max_upload_bytes: int
    """Largest file that is sent in parts or downloaded, in bytes."""
    max_request_upload_bytes: int
    """Largest file of `POST /v1/datasets` in one request, in bytes."""
    part_bytes: int
    """Size of a part in bytes. Files with too many parts have larger ones."""
    import_urls: Literal["none", "any", "some"]
    """Allowed sources of downloads: none, any public address, or addresses that begin with one of the prefixes."""
    import_prefixes: list[str]
    """Prefixes of allowed addresses."""


class UploadPart(TypedDict):
    """A received part."""

    object: Literal["upload.part"]
    """Always `upload.part`."""
    number: int
    """Number of the part, from 1."""
    bytes: int
    """Size in bytes."""


class UploadPartSum(TypedDict):
    """A received part with its checksum, to verify a resumed upload."""

    object: Literal["upload.part"]
    """Always `upload.part`."""
    number: int
    """Number of the part, from 1."""
    bytes: int
    """Size in bytes."""
    sha256: str
    """SHA-256 of the part."""


class UploadPreview(TypedDict):
    """Contents of an upload, from its first records, and the rows that they would give."""

    object: Literal["upload.preview"]
    """Always `upload.preview`."""
    container: Literal["jsonl", "json", "csv", "parquet"]
    """File format, independent of the file's name."""
    compression: Literal["none", "gzip", "zstd"]
    """Compression of the file."""
    encoding: str
    """Encoding of the text; empty for Parquet."""
    notes: list[str]
    """Peculiarities of the file."""
    sure: bool
    """Whether one candidate stands out, and no question is open."""
    records: int
    """Number of records that were read."""
    columns: list[PreviewColumn]
    """Fields of the records."""
    candidates: list[PreviewCandidate]
    """Formats that fit, the best first."""
    problems: list[PreviewProblem]
    """The first records that cannot be read."""
    questions: list[PreviewQuestion]
    """Columns that no row would use although they look meaningful. They are to be answered with `kind`, `mapping` or `ignore`."""
    suggested: dict[str, Any] | None
    """A mapping made from the columns' names, if no candidate stands out."""
    plan: PreviewPlan | None
    """How the rows were read; null if the format is unclear."""
    rows: list[PreviewRow]
    """The first rows."""


UploadStatus: TypeAlias = Literal["open", "fetching", "complete", "failed"]
"""The state of an upload."""


class UsageLimits(TypedDict):
    """The limits of the caller. Null is no limit."""

    open_jobs: int | None
    """Unfinished jobs. A submission beyond it is refused."""
    running_jobs: int | None
    """Jobs that run at once."""
    gpus: int | None
    """GPUs that running jobs take at once. A process on a worker without a GPU counts as one."""
    gpu_hours: int | None
    """GPU-hours in a calendar month."""
    stored_bytes: int | None
    """Bytes of uploads, rows of datasets and checkpoints."""
    when_exceeded: Literal["queue", "refuse"]
    """`queue`: a job beyond the running jobs, GPUs or GPU-hours waits. `refuse`: its submission is refused."""


class UsagePeriod(TypedDict):
    """The calendar month in UTC that `gpu_hours` counts."""

    start: str
    """Its first moment."""
    end: str
    """The first moment of the next month."""


class Used(TypedDict):
    """The use of the caller, under the names of the limits."""

    open_jobs: int
    """Unfinished jobs."""
    running_jobs: int
    """Jobs that workers hold."""
    gpus: int
    """GPUs that these jobs take."""
    gpu_hours: float
    """GPU-hours of the period, with those of running jobs until now."""
    stored_bytes: int
    """Bytes of uploads, rows of datasets and checkpoints."""
    recent_gpu_hours: float
    """GPU-hours that the fair share compares: earlier hours count less, by a half-life."""


UserKind: TypeAlias = Literal["person", "service"]


class UserRef(TypedDict):
    """The member that a request acts for."""

    id: str
    """The user's id."""
    name: str
    """The user's name."""


class ValueClassificationSpec(TypedDict, closed=True):
    """Value loss by classification: the critic learns a distribution over bins by cross-entropy. Its value is the mean of that distribution (Imani & White 2018; Farebrother et al. 2024, arXiv 2403.03950)."""

    low: float
    """Lower end of the range of values, in the units of the critic's targets: shaped rewards, with the KL of `kl.placement` = "reward". A target outside of the range is learned as its nearest end, and counted by the metric `val/returns_outside_bins`."""
    high: float
    """Upper end of the range. The first values of a new critic are the middle of the range."""
    target: NotRequired[Literal["hl_gauss", "two_hot"]]
    """Distribution of a target. `hl_gauss`: that of a Gaussian around it over bins of equal width. `two_hot`: the two nearest of equally spaced values from `low` to `high`, so weighted that their mean is the target."""
    bins: NotRequired[int]
    """Number of bins, and of outputs of the critic's head."""
    sigma: NotRequired[float]
    """σ of the Gaussian of `hl_gauss`, in widths of a bin."""


class ValueNormalizationSpec(TypedDict, closed=True):
    """PopArt (van Hasselt et al. 2016, arXiv 1602.07714): the critic learns normalised returns, with the running mean μ and standard deviation σ of its targets. When these move, the head is rescaled so that no value changes."""

    rate: NotRequired[float]
    """β: share of the newest batch in the mean and the second moment. The first batches count more, so that the moments are weighted means of the targets so far."""


class ValuePretrainingSpec(TypedDict, closed=True):
    """Value pretraining (VC-PPO, arXiv 2503.01491): before the first iteration, the critic learns Monte-Carlo returns of the policy that PPO starts from. It ends at the first of these ends."""

    explained_variance: NotRequired[float | None]
    """It ends once the critic explains this share of the variance of the returns of a new batch. Left out: no such end."""
    patience: NotRequired[int]
    """It ends after so many iterations in a row without a new highest explained variance."""
    iterations: NotRequired[int]
    """Most iterations, which come before those of `ppo.steps`. Each samples a batch."""


VersionStatus: TypeAlias = Literal["importing", "ready", "blocked", "failed"]
"""The state of a version."""


class ViewSetting(TypedDict):
    """One setting of the dashboard."""

    object: Literal["view_setting"]
    """Always `view_setting`."""
    name: str
    """Unique among your settings."""
    value: Any
    """Any JSON."""
    updated_at: str
    """When it was stored last."""


class ViewSettingList(TypedDict):
    """Your settings of the dashboard, by name."""

    object: Literal["list"]
    """Always `list`."""
    data: list[ViewSetting]
    """The items of this page."""
    has_more: bool
    """Whether more follow."""
    first_id: str | None
    """Cursor of the first item."""
    last_id: str | None
    """Cursor of the last item: the next page's `after`."""


Tag: TypeAlias = str


class WandbTracker(TypedDict, closed=True):
    """A run of Weights & Biases. The environment holds the key and the address: `WANDB_API_KEY`, `WANDB_BASE_URL`, `WANDB_MODE`."""

    project: NotRequired[str]
    """The project of the run."""
    entity: NotRequired[str | None]
    """User or team that owns the project. Left out: the default of the key."""
    tags: NotRequired[list[Tag]]
    """Tags of the run."""


WebhookFormat: TypeAlias = Literal["standard", "slack"]
"""The form of a payload."""


class WebhookTry(TypedDict):
    """One request of a delivery."""

    number: int
    """From 1."""
    started_at: str
    """When it began."""
    duration_ms: int | None
    """Milliseconds until its end; null if no result was reported, since it still runs or its sender was lost."""
    response_status: int | None
    """HTTP status of the response; null without one."""
    response_body: str | None
    """The first 1024 bytes of the response; null without one."""
    error: str | None
    """Why it failed; null for a success, or without a result."""


class WebhookWithSecret(TypedDict):
    """A webhook with its new secret."""

    object: Literal["webhook"]
    """Always `webhook`."""
    id: str
    """Begins with `whk_`."""
    url: str
    """The address that receives the events. Its path is shown to admins only, because it may hold a secret."""
    description: str
    """For people."""
    event_types: list[EventType]
    """The events that it receives."""
    format: WebhookFormat
    """`standard` or `slack`: the form of its payloads."""
    enabled: bool
    """Whether events are sent."""
    disabled_reason: str | None
    """Why the platform disabled it; null if it is enabled, or if a person disabled it."""
    failing_since: str | None
    """The first failed try since the last success; null after a success."""
    previous_secret_until: str | None
    """Until when the secret before the last rotation signs as well; null if only one signs."""
    etag: str
    """Changes with what requests can change. Send it as `If-Match` to keep a request from overwriting another change."""
    created_at: str
    """When it was created."""
    secret: str
    """The key of the signatures, `whsec_…`. It is shown once."""


class WorkerGpu(TypedDict):
    """Model and memory, by the driver of the machine."""

    model: str
    """Name of the model, as its driver reports it."""
    memory_gib: int
    """Its memory in GiB, rounded."""


class WorkerJoin(TypedDict, closed=True):
    """The worker that joins."""

    version: str
    """Version of the platform that is installed on its machine. It must be that of the platform."""


class WorkerNodes(TypedDict):
    """Nodes of a partition that are equal and in one state."""

    state: str
    """Slurm's word, such as `idle` or `down`. It ends with `*` if the nodes do not respond."""
    count: int
    """Number of nodes."""
    nodes: str
    """Their names, as Slurm abbreviates them."""
    cores: int
    """Cores of each node."""
    memory_mib: int
    """Memory of each node in MiB."""
    gpus: int
    """GPUs of each node."""
    reason: str
    """Why they take no jobs, in the words of an operator or of Slurm; empty if they take some."""


class WorkerPartition(TypedDict):
    """A partition of a cluster."""

    name: str
    """Its name."""
    default: bool
    """Whether it is the cluster's default."""
    up: bool
    """Whether it takes jobs."""
    time_limit: str
    """Longest time of a job, as Slurm writes it."""
    groups: list[WorkerNodes]
    """Its nodes."""


WorkerState: TypeAlias = Literal["online", "cordoned", "draining"]
"""Whether a worker takes jobs. An operator sets it."""


class WorkerToken(TypedDict):
    """A token with which one worker joins: `proximal worker join URL --token TOKEN`."""

    object: Literal["worker.token"]
    """Always `worker.token`."""
    token: str
    """The token. It is shown once: the platform stores only its hash."""
    expires_at: str
    """When it stops being valid."""


class WriteNote(TypedDict, closed=True):
    """The content of a note on a completion."""

    text: str
    """Plain text of at most 2,000 characters, without control characters other than line breaks."""
    author: NotRequired[str | None]
    """The name of its author, of at most 100 characters. Null: none."""
    response: NotRequired[str | None]
    """The response that the author has read. If the step has run again and has another one, the request is refused. Null: the present one."""


class WrongToken(TypedDict, closed=True):
    """A token of a response whose value is farthest from its return."""

    response: int
    """Place of the response in the batch as it was sampled, from 0. The first ones are logged as completions."""
    position: int
    """Place of the token in the response, from 0."""
    before: str
    """The text of the tokens before it; "…" begins one that is cut."""
    text: str
    """The token's text."""
    after: str
    """The text of the tokens after it; "…" ends one that is cut."""
    value: float
    """The critic's value of the state before the token."""
    returns: float
    """The return from the token on."""
    score: float
    """Score of the response."""


class ProblemItem(TypedDict):
    """One of several errors."""

    detail: str
    """Description of the error, and often the correction."""
    pointer: NotRequired[str | None]
    """Where: `#/ppo/policy_loss/clip_range` in a JSON body, `?limit` in the query, `/chosen` in a dataset's row."""
    line: NotRequired[int | None]
    """Line of an uploaded file, from 1."""
    column: NotRequired[int | None]
    """Column of that line in characters, from 1."""
    value: NotRequired[int | None]
    """For `limit_exceeded`: the figure that exceeds the limit."""
    limit: NotRequired[int | None]
    """For `limit_exceeded`: the largest figure that the platform allows."""
    setting: NotRequired[str | None]
    """For `limit_exceeded`: the setting with the limit."""


class Problem(TypedDict):
    """An error in the format of RFC 9457. Some codes have further members, such as `from`, `to` and `allowed`."""

    type: str
    """URI of the kind of problem."""
    title: str
    """Title of the kind of problem."""
    status: int
    """The HTTP status."""
    detail: str
    """Description of this occurrence, for people."""
    instance: str
    """Path of the request."""
    code: str
    """The kind of problem, for programs."""
    request_id: str
    """Id of the request in the server's log."""
    param: NotRequired[str | None]
    """The invalid parameter or field, if there is one."""
    errors: NotRequired[list[ProblemItem] | None]
    """The errors, if there may be several."""
    error_count: NotRequired[int | None]
    """Number of errors, if not all are listed."""
    allowed: NotRequired[list[Any] | None]
    """For `invalid_transition`: the states that the job can change to."""
    existing: NotRequired[str | None]
    """For `external_id_taken`: the id of the object that has the external id."""
    encodings: NotRequired[list[str] | None]
    """For `invalid_dataset`: the likely encodings of a file that is not UTF-8, of which the request names one as `encoding`."""
    etag: NotRequired[str | None]
    """For `precondition_failed`: the present ETag."""
    requests: NotRequired[list[str] | None]
    """For `invalid_transition` and `job_not_ended`: the requests about the job that are possible now, such as `pause`."""


BadRows: TypeAlias = Literal["refuse", "report", "leave_out"]
"""The treatment of a file in which some records cannot be used."""


class ImportDataset(TypedDict, closed=True):
    """An upload to import as a dataset. Fields that are left out are detected from the file."""

    upload: str
    """The id of a complete upload, `up_…`."""
    name: NotRequired[str | None]
    """Name of the dataset. Left out: the file's name."""
    kind: NotRequired[DatasetKind | None]
    """Kind of the rows."""
    format: NotRequired[str | None]
    """How to read a record: an `id` of `GET /v1/reference/formats`."""
    mapping: NotRequired[dict[str, Any] | None]
    """For the format `custom`: `{"fields": {"prompt": "column or dotted.path", …}, "labels": {"model_a": "a", …}}`."""
    encoding: NotRequired[str | None]
    """Encoding of the text, such as `cp1252` or `shift_jis`. Left out: UTF-8, or the encoding that a byte-order mark shows."""
    ignore: NotRequired[list[IgnoreItem]]
    """Columns that are not used and not asked about. Without it a column that looks like a verdict, an answer, a role or a system message stops the import if no row uses it."""
    bad_rows: NotRequired[BadRows]
    """Handling of invalid records. `refuse` stores nothing. `leave_out` stores the valid rows. `report` stores them too, but the version is `blocked` until the user decides."""


class JobLogLine(TypedDict):
    """A line of a job's console output."""

    object: Literal["job.log_line"]
    """Always `job.log_line`."""
    number: int
    """Number of the line in the job, from 1, over all attempts. It is the cursor. Dropped lines leave a gap."""
    attempt: int
    """The attempt that it belongs to."""
    at: str
    """When the worker read it."""
    source: LogSource
    """The program that wrote it."""
    machine: int
    """Number of the machine, for a run on several; 0 is the worker's."""
    rank: int | None
    """Number of the process in the run, from 0; null for the worker and for the launcher of several processes."""
    text: str
    """The line without its end. Secrets in it are replaced by `[masked]`."""
    dropped_bytes: int
    """Size of the output before this line that is not stored (`PROXIMAL_LOG_BYTES`); 0 for most lines."""


class Agreement(TypedDict):
    """Agreement between annotators."""

    alpha: float | None
    """Krippendorff's α of nominal verdicts: 1 full agreement, 0 what chance would give; null where it is not defined."""
    items: int
    """Pairs that several annotators labelled."""
    annotators: list[AnnotatorAgreement]
    """The hundred annotators with most rows, then up to a hundred of the others with the lowest agreement."""


class Ancestor(TypedDict):
    """A job from which another one descends."""

    job: str
    """Its id."""
    name: str | None
    """Its name; null where it is unknown."""
    status: JobStatus | None
    """Its state; null for a job that was deleted."""
    text: str
    """How the next job was made from it, in one phrase."""


class AnnotationItem(TypedDict):
    """An item as an annotator sees it. It names neither the policies nor a known answer."""

    object: Literal["annotation.item"]
    """Always `annotation.item`."""
    id: str
    """Begins with `item_`."""
    kind: RoundKind
    """Whether it is a pair or a ranking."""
    prompt: str | list[dict[str, Any]]
    """Text, or messages."""
    completions: list[str]
    """The completions, in an order that is fixed for this annotator."""
    previous: ShownAnswer | None
    """The annotator's answer before it was undone; null if there was none."""
    reserved_until: str
    """End of the reservation. Until then, no other annotator receives the item instead."""


class AnnotationProgress(TypedDict):
    """The figures of a round."""

    object: Literal["annotation.progress"]
    """Always `annotation.progress`."""
    items: int
    """Items to compare, without gold questions."""
    items_done: int
    """Items with as many answers as are wanted."""
    answers: int
    """Answers, without gold questions and skips."""
    answers_wanted: int
    """Items times overlap."""
    skips: int
    """Skipped items."""
    ties: int
    """Answers with a tie, including rankings in which two completions share a rank."""
    first_chosen: int
    """Answers that prefer the completion that was shown first. A share far from one half indicates a position bias."""
    second_chosen: int
    """Answers that prefer the completion that was shown second."""
    annotators: list[AnnotatorProgress]
    """The annotators, sorted by name."""
    alpha: float | None
    """Krippendorff's α over the pairs that several people compared: 1 is full agreement, 0 is chance. Null without such pairs, and if all labels are equal."""
    alpha_items: int
    """Items that several people have answered."""
    alpha_level: Literal["nominal"]
    """Labels are compared as equal or not."""
    pairwise: float | None
    """Share of equal pairs among all pairs of answers to the same item."""
    gold_right: int
    """Gold questions answered correctly."""
    gold_of: int
    """Gold questions answered."""
    sides: list[AnnotationSide] | None
    """Wins of each policy, in a round of several policies."""
    reward_model: RewardModelProgress | None
    """Agreement with a reward model; null while the round has none."""


class AnnotationQueue(TypedDict):
    """The items that are reserved for an annotator."""

    done: int
    """Items that the annotator has answered or skipped."""
    total: int
    """`done` plus the items that remain; an estimate if gold questions are mixed in."""
    last_item: str | None
    """The last item that the annotator answered or skipped."""
    object: Literal["annotation.queue"]
    """Always `annotation.queue`."""
    status: RoundStatus
    """State of the round. Only an open round hands out items."""
    items: list[AnnotationItem]
    """The reserved items. Items reserved earlier come first."""


class AnnotationResult(TypedDict):
    """An item with its policies, scores and answers."""

    object: Literal["annotation.result"]
    """Always `annotation.result`."""
    id: str
    """Begins with `item_`."""
    number: int
    """Number of the item in the round. It is the cursor of this list."""
    prompt: str | list[dict[str, Any]]
    """Text, or messages."""
    completions: list[str]
    """The completions, in the order of the platform."""
    policies: list[int] | None
    """For each completion, its index in the round's `policies`."""
    finished: list[bool] | None
    """Whether each completion ended with a stop. The others were cut off at `max_new_tokens`. Null for the rows of a dataset."""
    row: int | None
    """Row number in the source dataset."""
    gold: dict[str, Any] | None
    """The known answer of a gold question, `choice` or `ranks`; else null."""
    scores: list[float | None] | None
    """Scores of the round's reward model; null where there is no score."""
    answers: list[StoredAnswer]
    """All answers and skips, oldest first."""


class AnnotationResultList(TypedDict):
    """Items in order. The cursor is the item's number."""

    object: Literal["list"]
    """Always `list`."""
    data: list[AnnotationResult]
    """The items of this page."""
    has_more: bool
    """Whether more follow."""
    first_id: str | None
    """Cursor of the first item."""
    last_id: str | None
    """Cursor of the last item: the next page's `after`."""


class AnnotationRound(TypedDict):
    """A set of items that people compare."""

    object: Literal["annotation.round"]
    """Always `annotation.round`."""
    id: str
    """Begins with `ann_`."""
    name: str
    """For people."""
    kind: RoundKind
    """The annotators' task: compare pairs, or rank completions."""
    status: RoundStatus
    """State of the round."""
    etag: str
    """Changes with what requests can change. Send it as `If-Match` to keep a request from overwriting another change."""
    progress: DataProgress | None
    """Progress of the data task that prepares or closes the round; else null."""
    error: AnnotationError | None
    """Why the items could not be made (`failed`), or why the answers could not be written (`paused` again); else null."""
    source: RoundFromDataset | RoundFromCheckpoints
    """Source of the completions. A dataset is named with its version."""
    policies: list[AnnotationPolicy] | None
    """The compared policies of a round of completions. `sides` and an item's `policies` are indices into this list."""
    instructions: str
    """Instructions for the annotators, in Markdown."""
    overlap: int
    """How many annotators answer each item."""
    gold: str | None
    """The dataset version of the gold questions."""
    gold_share: float
    """Share of gold questions among the items of each annotator."""
    reservation_minutes: float
    """How long an item is reserved for the annotator who received it."""
    items: int
    """Items to compare, without gold questions."""
    gold_items: int
    """Gold questions."""
    complete: int
    """Items with as many answers as are wanted."""
    left_out: int
    """Rows or prompts without an item: too long, or all policies gave the same completion."""
    cut_off: int
    """Items with a completion that was cut off at `max_new_tokens`."""
    answers: int
    """Answers, without gold questions and skips."""
    answers_wanted: int
    """Items times overlap."""
    annotators: int
    """People who have answered or skipped an item."""
    reward_model: str | None
    """The reward model's checkpoint that the answers are compared with."""
    dataset: str | None
    """The dataset that the answers are written to."""
    version: int | None
    """The number of the dataset version."""
    jobs: list[str]
    """Jobs that continue from this round."""
    created_at: str
    """When it was created."""
    closed_at: str | None
    """When its answers were written to a dataset version."""


class AnnotationRoundList(TypedDict):
    """Rounds, newest first unless asked otherwise."""

    object: Literal["list"]
    """Always `list`."""
    data: list[AnnotationRound]
    """The items of this page."""
    has_more: bool
    """Whether more follow."""
    first_id: str | None
    """Cursor of the first item."""
    last_id: str | None
    """Cursor of the last item: the next page's `after`."""


class AnnotationUndo(TypedDict):
    """The result of undoing an answer."""

    done: int
    """Items that the annotator has answered or skipped."""
    total: int
    """`done` plus the items that remain; an estimate if gold questions are mixed in."""
    last_item: str | None
    """The last item that the annotator answered or skipped."""
    object: Literal["annotation.undo"]
    """Always `annotation.undo`."""
    item: AnnotationItem | None
    """The item, open again; null if there was nothing to undo."""


class BrowserSession(TypedDict):
    """A browser that is signed in with one of your keys."""

    object: Literal["browser_session"]
    """Always `browser_session`."""
    id: str
    """Begins with `ses_`."""
    key: KeyRef
    """The key that it signed in with, which it acts for."""
    address: str | None
    """The address that it signed in from; null: it did so in an older release."""
    user_agent: str | None
    """How the browser names itself; null: it signed in with an older release, or gave no name."""
    current: bool
    """Whether this request is made by it."""
    created_at: str
    """When it signed in."""
    expires_at: str
    """When the session ends by itself."""


class BrowserSessionList(TypedDict):
    """The browsers that are signed in with your keys."""

    object: Literal["list"]
    """Always `list`."""
    data: list[BrowserSession]
    """The items of this page."""
    has_more: bool
    """Whether more follow."""
    first_id: str | None
    """Cursor of the first item."""
    last_id: str | None
    """Cursor of the last item: the next page's `after`."""


class Card(TypedDict, closed=True):
    """A reward model on held-out pairs. Scores are raw: before normalisation, their differences are log odds."""

    loss: NotRequired[Literal["pairwise"]]
    """The reward model's loss."""
    overall: Slice
    by_source: NotRequired[dict[str, Slice]]
    """By the rows' `source`."""
    by_length: NotRequired[dict[str, Slice]]
    """By the tokens of the preferred answer over those of the other one."""
    by_agreement: NotRequired[dict[str, Slice]]
    """Pairs that several people labelled: `unanimous`, `majority` (measured against the label of most), `split` (no majority: against each label); each pair counts once."""
    by_member: NotRequired[dict[str, Slice]]
    """By the number of the member of an ensemble (`reward_model.members`), from 1, with the accuracy of that member alone."""
    agreement: NotRequired[float | None]
    """Share of the pairs in which all members of an ensemble prefer the same answer; none for a single reward model."""
    ties: int
    """Pairs without a preference, which are in no slice."""
    calibration: list[CalibrationBin]
    """Ten bins from ½ to 1; empty ones are left out."""
    calibration_error: float
    """Mean distance of predicted and observed over the bins, weighted by their pairs (ECE)."""
    length_baseline: Slice
    """The accuracy of choosing the longer answer. Equal lengths are half right."""
    length_correlation: NotRequired[float | None]
    """Pearson's, between an answer's score and its length in tokens; none where either does not vary."""
    margin: float
    """Mean r(preferred) − r(other)."""
    references: int
    """SFT reference answers measured."""
    reference_mean: NotRequired[float | None]
    """Mean of their raw scores."""
    reference_std: NotRequired[float | None]
    """Standard deviation of their raw scores."""


class ChangeWebhook(TypedDict, closed=True):
    """The new values. Fields that are left out stay."""

    url: NotRequired[str | None]
    """The new address. Deliveries that wait go there, too. It cannot be null."""
    event_types: NotRequired[list[EventType] | None]
    """The events that it receives from now on. It cannot be null."""
    description: NotRequired[str | None]
    """The new description; null empties it."""
    enabled: NotRequired[bool | None]
    """Whether events are sent. Events of the time without are not sent later. It cannot be null."""


class Checkpoint(TypedDict):
    """A saved model folder that transformers' `from_pretrained` loads."""

    object: Literal["job.checkpoint"]
    """Always `job.checkpoint`."""
    id: str
    """Begins with `ckpt_`."""
    job_id: str
    """The job it comes from."""
    attempt: int
    """The attempt that saved it."""
    stage: Literal["sft", "reward_model", "dpo", "kto", "ppo", "evaluation"]
    """The stage it was saved in."""
    step: int
    """The step it was saved after."""
    final: bool
    """Whether it is the result of the stage. A run resumes from the other checkpoints."""
    best: bool
    """Whether its evaluation on held-out prompts is the best of the stage and seed so far. The platform keeps it beside the last ones."""
    seed: int | None
    """Seed of a job with several seeds; null for the job's own seed."""
    created_at: str
    """When it was stored."""
    bytes: int
    """Size of all files."""
    metrics: dict[str, float]
    """Figures of the checkpoint, by name."""
    files: list[CheckpointFile]
    """The files of the folder."""
    can_branch: bool
    """
    Whether a branch can start from it. The best checkpoint may hold a model without the state of its run; a new job can
    start with it as `model.path`. No branch starts from a damaged checkpoint.
    """
    damage: str | None
    """The first stored file that is not what was saved, and how; null for a good one. A damaged checkpoint is never used."""
    damaged_at: str | None
    """When the damage was found."""


class CheckpointList(TypedDict):
    """Checkpoints, oldest first unless asked otherwise."""

    object: Literal["list"]
    """Always `list`."""
    data: list[Checkpoint]
    """The items of this page."""
    has_more: bool
    """Whether more follow."""
    first_id: str | None
    """Cursor of the first item."""
    last_id: str | None
    """Cursor of the last item: the next page's `after`."""


class CreatedKey(TypedDict):
    """A new API key with its text."""

    object: Literal["key"]
    """Always `key`."""
    id: str
    """Begins with `key_`."""
    name: str
    """Its purpose, as its creator named it."""
    prefix: str
    """Its first characters, by which its user recognises it."""
    user_id: str | None
    """The member that it acts for; null: a key of an older release that was not used since."""
    scopes: list[Scope] | None
    """The scopes to which it is limited; null: everything that the role of its member allows."""
    expires_at: str | None
    """When it stops being valid; null: never."""
    operator: bool
    """Whether it may change workers."""
    current: bool
    """Whether this request was made with it, or with a browser session that it opened."""
    created_at: str
    """When it was created."""
    last_used_at: str | None
    """When it was last used, to a minute; null if never."""
    revoked_at: str | None
    """When it was revoked; null if it is valid."""
    made_by: str | None
    """Id of the key whose request created it; null if none did, or if that was not recorded."""
    text: str
    """The key itself. It is shown once: the platform stores only its hash."""


class CreatedMember(TypedDict):
    """A new member with its first key."""

    object: Literal["member"]
    """Always `member`."""
    id: str
    """The user's id. It begins with `usr_`."""
    name: str
    """The user's name."""
    kind: UserKind
    """`person`, or `service` for a program."""
    role: Role
    """The member's role. The page Permissions of the documentation lists what each role allows."""
    current: bool
    """Whether this request is made by this member."""
    joined_at: str
    """When the user joined the project."""
    key: CreatedKey
    """The member's first API key. Its text is shown once: pass it on."""


class Critic(TypedDict, closed=True):
    """A critic beside the returns of one batch, before it learned from them."""

    responses: int
    """Responses that the iteration learns from."""
    tokens: int
    """Their tokens."""
    value: float
    """Mean value over the tokens."""
    returns: float
    """Mean return over the tokens."""
    returns_std: float
    """Standard deviation of the returns over the tokens."""
    explained_variance: NotRequired[float | None]
    """1 − Var(G − V) ÷ Var(G); none where the returns are equal."""
    skill: NotRequired[float | None]
    """1 − mean (G − V)² ÷ Var(G): below 0 the mean return is a better guess than the critic."""
    td_error: float
    """Mean |δ|, δ = r + γ·V(next) − V."""
    calibration_error: float
    """Mean distance of value and return over the bins of `calibration`, weighted by their tokens."""
    variance_removed: NotRequired[float | None]
    """1 − Var(A) ÷ Var(A of a constant critic): the share of the variance of the advantages that the critic removes."""
    rank_first: NotRequired[float | None]
    """Spearman's correlation, over responses, of the value at the first token with the score; none where either does not vary."""
    rank_middle: NotRequired[float | None]
    """The same for the value at the middle token."""
    rank_last: NotRequired[float | None]
    """The same for the value at the last token."""
    disagreement: NotRequired[float | None]
    """Mean over the tokens of the standard deviation over several critics; none of one critic."""
    agreement: NotRequired[float | None]
    """Mean over the pairs of several critics of Spearman's correlation of their values over the tokens; none where the values of one are equal."""
    by_position: list[CriticPosition]
    """Five equal parts of each response; those without a token are left out."""
    calibration: list[CriticCalibration]
    """At most ten bins with about as many tokens each, by value."""
    by_length: list[CriticLength]
    """At most four bins with about as many responses each, by length."""
    worst: list[WrongToken]
    """The worst token of each of the responses with the largest errors, largest first."""


class CriticCardData(TypedDict):
    """How good the critic was in one iteration of PPO. After a resume, a repeated step is reported again; the later report counts."""

    stage: Literal["sft", "reward_model", "dpo", "kto", "ppo", "evaluation"]
    """The stage of the run."""
    step: int
    """The step of the stage."""
    card: Critic
    """The figures."""


class CriticCardEvent(TypedDict):
    """How good the critic was in one iteration of PPO. After a resume, a repeated step is reported again; the later report counts."""

    object: Literal["job.event"]
    """Always `job.event`."""
    job_id: str
    """The job that it belongs to."""
    seq: int
    """Sequence number in the job, from 1 without gaps. It is the event id of the stream and the cursor of this list."""
    attempt: int
    """The attempt that reported it."""
    type: Literal["critic_card"]
    """Always `critic_card`."""
    created_at: str
    """When it happened."""
    seed: int | None
    """Seed of the event, in a job with several; null if it concerns the whole job, and with one seed."""
    stage: str | None
    """Stage of the event; null if it concerns the whole job."""
    step: int | None
    """Step of the event; null if it has none."""
    data: CriticCardData
    """The event's own fields."""


class CriticSpec(TypedDict, closed=True):
    """The value function of `advantage.estimator` = "gae"."""

    kind: NotRequired[Literal["separate", "value_head"]]
    """`separate`: a model of its own with its own optimizer; `value_head`: a scalar head on the policy's trunk, one optimizer for both."""
    initial: NotRequired[Literal["auto", "reward_model", "policy"]]
    """Initial weights of a separate critic: the reward model, or the policy with a new head whose output is 0. `auto`: the reward model if the run has one on the policy's tokenizer, else the policy."""
    train: NotRequired[Literal["all", "all_but_attention", "last_layers", "adapters"]]
    """The parameters of a separate critic that learn; the others keep their initial values, without gradient and optimizer. `all_but_attention`: those outside of the attention modules (the frozen attention of SAO, arXiv 2607.07508). `last_layers`: the head and the last `last_layers` layers. `adapters`: the head and low-rank adapters on a frozen copy. With `model.lora` the choice is among the critic's adapters."""
    last_layers: NotRequired[int | None]
    """Layers that learn beside the head, counted from the last one, for `train` = "last_layers". 0: the head alone. Embeddings and the norm after the layers do not learn."""
    adapters: NotRequired[AdapterSpec | None]
    """The adapters of `train` = "adapters". Left out: the defaults of `model.lora`."""
    learning_rate: NotRequired[float]
    """Peak learning rate of a separate critic. The live knob `critic_learning_rate` changes it during the stage."""
    schedule: NotRequired[Literal["constant", "linear", "cosine"] | None]
    """Shape of the learning rate of a separate critic after its warm-up. Left out: `ppo.lr_schedule`. If that is "kl_adaptive", the rate changes by the same factors as the policy's."""
    warmup_ratio: NotRequired[float | None]
    """Share of the iterations over which the learning rate of a separate critic rises from 0. Left out: `ppo.warmup_ratio`."""
    epochs: NotRequired[int | None]
    """Passes of a separate critic over each batch of responses (SAO, arXiv 2607.07508: 2 for one of the policy). Left out: `ppo.epochs`. With another number of passes or minibatches than the policy's, the critic learns after the policy, and `ppo.guards` holds for the policy alone."""
    minibatches: NotRequired[int | None]
    """Optimizer steps of a separate critic per pass; must divide `ppo.batch_size`. Left out: `ppo.minibatches`."""
    coef: NotRequired[float]
    """Weight of the value loss beside the policy loss, for `value_head`."""
    targets: NotRequired[Literal["lambda_returns", "monte_carlo"]]
    """The returns that the critic learns. `lambda_returns`: TD(λ), with `advantage.critic_lambda` or else the policy's λ. `monte_carlo`: the discounted rewards to come, as with `critic_lambda` = 1."""
    classification: NotRequired[ValueClassificationSpec | None]
    """Value loss by classification. Left out: the squared error."""
    normalization: NotRequired[ValueNormalizationSpec | None]
    """Value normalisation by PopArt. Left out: the critic learns returns in their own units."""
    heads: NotRequired[CriticHeadsSpec | None]
    """Several critics as heads of one backbone. Left out: one critic."""
    value_clip_range: NotRequired[float | None]
    """New values are clipped to within this distance of the old ones; with `normalization` in units of σ. Null (in TOML: false) turns value clipping off. With `classification` it must be null, which is then the default."""
    warmup_steps: NotRequired[int]
    """First iterations of `ppo.steps` in which only the critic learns."""
    pretraining: NotRequired[ValuePretrainingSpec | None]
    """Value pretraining, whose length is not fixed. Left out: none."""


class CurveData(TypedDict):
    """The over-optimisation curve: the optimised score, and the judge and win rate, against the distance from the start."""

    stage: Literal["sft", "reward_model", "dpo", "kto", "ppo", "evaluation"]
    """The stage of the run."""
    points: list[CurvePoint]
    """The evaluations, by step."""


class CurveEvent(TypedDict):
    """The over-optimisation curve: the optimised score, and the judge and win rate, against the distance from the start."""

    object: Literal["job.event"]
    """Always `job.event`."""
    job_id: str
    """The job that it belongs to."""
    seq: int
    """Sequence number in the job, from 1 without gaps. It is the event id of the stream and the cursor of this list."""
    attempt: int
    """The attempt that reported it."""
    type: Literal["curve"]
    """Always `curve`."""
    created_at: str
    """When it happened."""
    seed: int | None
    """Seed of the event, in a job with several; null if it concerns the whole job, and with one seed."""
    stage: str | None
    """Stage of the event; null if it concerns the whole job."""
    step: int | None
    """Step of the event; null if it has none."""
    data: CurveData
    """The event's own fields."""


class DataTask(TypedDict):
    """A background task for a dataset."""

    object: Literal["data.task"]
    """Always `data.task`."""
    id: str
    """Begins with `dt_`."""
    kind: str
    """`import`, `index`, `report` and others."""
    status: TaskStatus
    """`queued`, `running`, then `succeeded`, `failed` or `cancelled`."""
    progress: float
    """From 0 to 1."""
    note: str
    """Current step, or what the task waits for, for people."""
    place: int | None
    """Tasks that run or begin before it while it waits in the queue: 0 for the next one. Null once it runs."""
    attempt: int
    """Number of the attempt. A task whose worker is lost is tried three times."""
    error: dict[str, Any] | None
    """`{code, message, …}` of a failed task."""
    created_at: str
    """When it was queued."""
    started_at: str | None
    """When the first attempt began."""
    finished_at: str | None
    """When it ended."""


class DataTaskList(TypedDict):
    """The data tasks of a dataset."""

    object: Literal["list"]
    """Always `list`."""
    data: list[DataTask]
    """The items of this page."""
    has_more: bool
    """Whether more follow."""
    first_id: str | None
    """Cursor of the first item."""
    last_id: str | None
    """Cursor of the last item: the next page's `after`."""


class Dataset(TypedDict):
    """A dataset: a name and its versions. Fields about rows describe the newest version."""

    object: Literal["dataset"]
    """Always `dataset`."""
    id: str
    """Begins with `ds_`. In a job it means the newest ready version; `ds_…@2` and `ds_…@sha256:…` mean that one."""
    name: str
    """For people."""
    external_id: str | None
    """The id that was given at its creation; null without one."""
    kind: DatasetKind
    """Kind of the rows."""
    status: VersionStatus
    """State of the newest version: `importing`, then `ready`, `blocked` (see its findings) or `failed` (see `error`)."""
    version: int
    """Number of the newest version."""
    rows: int | None
    """Number of rows; null until they are stored."""
    bytes: int | None
    """Size of the stored rows in bytes."""
    sha256: str | None
    """SHA-256 of the stored rows in canonical form. Equal rows have equal sums."""
    damage: str | None
    """
    How the stored rows differ from those that were imported; null for good ones. Importing the same file again stores
    them anew.
    """
    etag: str
    """Changes with what requests can change. Send it as `If-Match` to keep a request from overwriting another change."""
    findings: FindingCounts
    """Number of known problems."""
    progress: DataProgress | None
    """Progress of an import; else null."""
    error: DatasetError | None
    """Why the newest version failed, if it did."""
    origin: dict[str, Any]
    """Origin of the newest version: its `type` is `upload`, `fix` or `annotation`."""
    created_at: str
    """When the first version was created."""
    archived_at: str | None
    """When it was archived; null if it is not."""
    expires_at: str | None
    """When it may be deleted; null: never."""


class DatasetFormat(TypedDict):
    """A format that files may have."""

    object: Literal["dataset.format"]
    """Always `dataset.format`."""
    id: str
    """The value of `format` in a request."""
    title: str
    """Its name for people."""
    kinds: list[DatasetKind]
    """Kinds of rows that it can be read as, the usual one first."""
    about: str
    """Description of a record, and of the rows made from it."""
    source: str
    """Where the format is documented, or a dataset in that format. Empty: a format of the platform."""
    example: list[dict[str, Any]]
    """Example records."""
    mapping: dict[str, Any] | None
    """Mapping of the example, for the format `custom`."""
    becomes: list[dict[str, Any]]
    """Rows made from the example, as they are stored."""


class DatasetFormatList(TypedDict):
    """Every format, the most common first."""

    object: Literal["list"]
    """Always `list`."""
    data: list[DatasetFormat]
    """The items of this page."""
    has_more: bool
    """Whether more follow."""
    first_id: str | None
    """Cursor of the first item."""
    last_id: str | None
    """Cursor of the last item: the next page's `after`."""


class DatasetList(TypedDict):
    """A page of the datasets of the caller."""

    object: Literal["list"]
    """Always `list`."""
    data: list[Dataset]
    """The items of this page."""
    has_more: bool
    """Whether more follow."""
    first_id: str | None
    """Cursor of the first item."""
    last_id: str | None
    """Cursor of the last item: the next page's `after`."""


class DatasetReport(TypedDict, closed=True):
    """One dataset as the run would use it."""

    name: Literal["demonstrations", "pairs", "thumbs", "solutions", "prompts", "texts"]
    """The role of its rows in the run."""
    rows: int
    """Rows read."""
    train: int
    """Used for training."""
    held_out: int
    """Used for evaluation."""
    left_out: NotRequired[dict[str, int]]
    """Rows that are not used, by reason."""
    lengths: NotRequired[dict[str, Lengths]]
    """Tokens of the rows used: of their prompts, their completions."""


class Finding(TypedDict):
    """A problem of the data, with the records that have it."""

    code: str
    """For programs."""
    severity: Literal["blocking", "warning", "info"]
    """`blocking`: after an import, no job can use the version until the user decides; in a report, training on these rows is pointless."""
    title: str
    """For people."""
    detail: str
    """Description of the problem."""
    count: int
    """Number of records."""
    share: float | None
    """Share of all records, from 0 to 1; null for a finding about the whole dataset."""
    lines: list[int]
    """Lines of the first of them in the source."""
    samples: list[FindingSample]
    """Some of them."""
    fix: FindingFix | None
    """The fix that the platform can apply, if there is one."""


class FoldedGroup(TypedDict):
    """The jobs of a group that a list shows as one."""

    group_id: str
    """Id of the group."""
    name: str
    """Its name."""
    sweep: bool
    """Whether a sweep made it."""
    metric: str
    """The objective by which its jobs are compared."""
    goal: Goal
    """Whether the highest or the lowest objective is the best."""
    jobs: int
    """Number of its jobs that match the filters."""
    statuses: dict[JobStatus, int]
    """Number of these jobs in each state that occurs."""
    best: BestOfGroup | None
    """The best of these jobs; null if none has a value of the objective."""


class GroupJob(TypedDict):
    """One member, with its values and its objective."""

    id: str
    """Id of the job."""
    number: int
    """Its place in the group, from 1."""
    name: str
    """Name of the job."""
    status: JobStatus
    """State of the job."""
    status_reason: str
    """Reason of the last transition."""
    values: dict[str, Any]
    """The fields of the spec that differ between the jobs of a sweep, by path."""
    objective: float | None
    """The group's metric, as far as the run has come; null without a value. With several seeds, a score is the mean over those that have not failed. Another metric is that of the seed that runs, and at the end of the job the mean."""
    objective_low: float | None
    """Lower end of the 95 % interval of this mean; null for a job with one seed or before its end."""
    objective_high: float | None
    """Upper end of the interval."""
    seeds: int
    """Number of seeds of the job."""


class GroupList(TypedDict):
    """Groups, newest first unless asked otherwise."""

    object: Literal["list"]
    """Always `list`."""
    data: list[GroupSummary]
    """The items of this page."""
    has_more: bool
    """Whether more follow."""
    first_id: str | None
    """Cursor of the first item."""
    last_id: str | None
    """Cursor of the last item: the next page's `after`."""


class HealthData(TypedDict):
    """A health rule has fired. A step that is repeated after a resume reports the same finding again."""

    stage: Literal["sft", "reward_model", "dpo", "kto", "ppo", "evaluation"]
    """The stage of the run."""
    step: int
    """The step of the stage."""
    rule: str
    """Its name in the spec's `health`."""
    title: NotRequired[str]
    """Its title for people; empty in events of older versions."""
    action: Literal["warn", "pause", "stop", "roll_back"]
    """The action of the run."""
    limit: float
    """The rule's limit."""
    cause: str
    """The problem, in a sentence."""
    evidence: list[Evidence]
    """The values that the last steps are compared with, then the last steps beyond the limit."""
    suggestion: str
    """The setting to change."""
    changes: NotRequired[list[SuggestedChange]]
    """The suggestion for programs; empty if there is no change with a known value."""


class HealthEvent(TypedDict):
    """A health rule has fired. A step that is repeated after a resume reports the same finding again."""

    object: Literal["job.event"]
    """Always `job.event`."""
    job_id: str
    """The job that it belongs to."""
    seq: int
    """Sequence number in the job, from 1 without gaps. It is the event id of the stream and the cursor of this list."""
    attempt: int
    """The attempt that reported it."""
    type: Literal["health"]
    """Always `health`."""
    created_at: str
    """When it happened."""
    seed: int | None
    """Seed of the event, in a job with several; null if it concerns the whole job, and with one seed."""
    stage: str | None
    """Stage of the event; null if it concerns the whole job."""
    step: int | None
    """Step of the event; null if it has none."""
    data: HealthData
    """The event's own fields."""


class HealthFinding(TypedDict):
    """A health rule that fired in a run, or a warning of the run. One for each seed and rule, or text."""

    object: Literal["health.finding"]
    """Always `health.finding`."""
    id: str
    """Begins with `find_`."""
    job_id: str
    """The job that it is about."""
    job_name: str
    """Name of the job."""
    job_status: JobStatus
    """State of the job."""
    severity: Severity
    """`warning`: the run went on. `error`: it was paused, rolled back or stopped, or it reported an error. The gravest so far."""
    title: str
    """The finding in words, such as "No clipping"."""
    rule: str | None
    """Name of the health rule, as in the spec's `health`; null for a warning of the run."""
    action: Literal["warn", "pause", "stop", "roll_back"] | None
    """The action of the run when the rule fired last; null for a warning of the run."""
    seed: int | None
    """The seed that it belongs to; null in a job with one seed."""
    stage: Literal["sft", "reward_model", "dpo", "kto", "ppo", "evaluation"] | None
    """The stage of the run; null for a warning of the run."""
    step: int | None
    """The last step at which the rule fired; null for a warning of the run."""
    times: int
    """Steps at which it fired. A step that is repeated after a resume counts once."""
    cause: str
    """The problem, or the text of the warning."""
    suggestion: str
    """The setting to change; empty for a warning of the run."""
    evidence: list[Evidence]
    """The values that the rule looked at when it fired last."""
    changes: list[SuggestedChange]
    """The suggestion for programs: alternatives."""
    created_at: str
    """When it was reported first. Lists are in this order."""
    last_at: str
    """When it was reported last."""


class HealthFindingList(TypedDict):
    """Findings, newest first unless asked otherwise."""

    object: Literal["list"]
    """Always `list`."""
    data: list[HealthFinding]
    """The items of this page."""
    has_more: bool
    """Whether more follow."""
    first_id: str | None
    """Cursor of the first item."""
    last_id: str | None
    """Cursor of the last item: the next page's `after`."""


class JobChild(TypedDict):
    """A job that was made from another one."""

    job: str
    """Its id."""
    name: str
    """Its name."""
    status: JobStatus
    """Its state."""
    relation: Relation
    """How it was made."""
    stage: str | None
    """Stage of the checkpoint that it starts from; null for a clone."""
    step: int | None
    """Step of that checkpoint; null for a clone."""
    final: bool | None
    """Whether that checkpoint is the result of its stage; null for a clone, and where it is unknown."""
    seed: int | None
    """Seed of that checkpoint, where this job has several; null otherwise."""


class JobHealth(TypedDict):
    """The gravest finding of a job; of equally grave ones the last. `GET /v1/findings` lists them all."""

    severity: Severity
    """`warning`: the run went on. `error`: it was paused, rolled back or stopped, or it reported an error."""
    title: str
    """The finding in words, such as "No clipping"."""
    rule: str | None
    """Name of the health rule; null for a warning of the run."""
    seed: int | None
    """The seed that it belongs to; null in a job with one seed."""
    step: int | None
    """The last step at which it was found; null for a warning of the run."""
    findings: int
    """Number of all findings of the job."""


class JobLineage(TypedDict):
    """The ancestors of a job, its metrics from before its first step, and the jobs made from it."""

    object: Literal["job.lineage"]
    """Always `job.lineage`."""
    job_id: str
    """The job."""
    ancestors: list[Ancestor]
    """The job that it was made from, then the one before that, as far as they are stored."""
    history: list[HistoryPart]
    """The parts of the history, oldest first within a stage; empty for a job that runs every stage from its beginning."""
    children: list[JobChild]
    """The jobs made from it, oldest first, at most 100."""


class JobParent(TypedDict):
    """The job that another one was made from."""

    job: str
    """Its id. It may have been deleted since."""
    name: str | None
    """Its name: the present one, or that of the time for a deleted job; null where it is unknown."""
    deleted: bool
    """Whether that job has been deleted."""
    relation: Relation
    """
    `clone`: with its spec, from the beginning. `branch`: from one of its checkpoints. `extend`: with more steps of PPO.
    `continue`: with its policy, and its reward model refitted on the answers of an annotation round.
    """
    text: str
    """The origin in one phrase, such as `Branched from "First", PPO step 40`."""
    checkpoint: str | None
    """Id of the checkpoint that it starts from; null for a clone."""
    stage: str | None
    """Stage of that checkpoint; null for a clone."""
    step: int | None
    """Step of that checkpoint; null for a clone."""
    final: bool | None
    """Whether that checkpoint is the result of its stage; null for a clone, and where it is unknown."""
    seed: int | None
    """Seed of that checkpoint, where the other job has several; null otherwise."""
    round: str | None
    """Id of the annotation round with whose answers it continues; null otherwise."""
    round_name: str | None
    """Name of that round."""
    stages: list[InheritedStage]
    """The stages that ended before a branch began, in order."""
    carried: list[CarriedPart]
    """The parts of the state of a branch; empty for other relations."""


class JobSample(TypedDict):
    """A completion that the run logged."""

    prompt: str
    """The text that the policy was given."""
    response: str
    """The text that the policy wrote."""
    score: float | None
    """Score by the run's rewards."""
    kl: float | None
    """Sum over the response of log π − log π_ref."""
    tokens: int | None
    """Length of the response."""
    finished: bool | None
    """Whether the response ended with an EOS token."""
    score_missing: Literal["time_out", "refusal", "bad_output", "crash", "unreachable"] | None
    """Why a reward has no value, so that there is no score. Such a completion takes part in no mean and no gradient."""
    judge: float | None
    """Score by the judge, where there is a judge that scores."""
    judge_missing: Literal["time_out", "refusal", "bad_output", "crash", "unreachable"] | None
    """Why the judge has no value."""
    reference: str | None
    """Response to the same prompt of the policy that this one is compared with (only for held-out prompts)."""
    reference_score: float | None
    """Score of `reference` by the run's rewards."""
    reference_score_missing: Literal["time_out", "refusal", "bad_output", "crash", "unreachable"] | None
    """Why a reward has no value for `reference`."""
    reference_judge: float | None
    """Score of `reference` by the judge."""
    reference_judge_missing: Literal["time_out", "refusal", "bad_output", "crash", "unreachable"] | None
    """Why the judge has no value for `reference`."""
    token_table: list[TokenRow] | None
    """The completion token by token; for a few completions, at evaluations in PPO."""
    held_out: bool
    """Whether its prompt is one of those held-out prompts whose completions are logged at every evaluation of PPO."""
    policy_step: int | None
    """Steps of PPO that the policy had taken when it sampled the response; only with `ppo.rollout.asynchronous`."""
    object: Literal["job.sample"]
    """Always `job.sample`."""
    seed: int | None
    """The seed of the run; null in a job with one seed."""
    stage: str
    """The stage of the run."""
    step: int
    """The step of the stage."""
    index: int
    """Index among the completions of that step, from 0."""


class JobSampleList(TypedDict):
    """The completions of one step."""

    object: Literal["list"]
    """Always `list`."""
    data: list[JobSample]
    """The items of this page."""
    has_more: bool
    """Whether more follow."""
    first_id: str | None
    """Cursor of the first item."""
    last_id: str | None
    """Cursor of the last item: the next page's `after`."""


class JobSummary(TypedDict):
    """A job in a list, without its spec."""

    object: Literal["job"]
    """Always `job`."""
    id: str
    """Begins with `job_`."""
    name: str
    """For people. `PATCH /v1/jobs/{job_id}` changes it; the name in the spec stays as it was submitted."""
    external_id: str | None
    """The id that was given at its creation; null without one."""
    tags: list[str]
    """Labels, in lower case and without duplicates."""
    metadata: dict[str, str]
    """Texts by key, for programs."""
    parent: JobParent | None
    """The job that it was made from; null for one that was submitted."""
    group: JobGroupPlace | None
    """The group that it is in; null without one."""
    model: str | None
    """`model.path` of the spec, at most 400 characters; null for a new model."""
    model_name: str | None
    """The stored checkpoint that `model` names, in words, such as `"First", PPO step 40`; null for another model."""
    submitted_by: str | None
    """Name of the API key at the submission; null if it is unknown."""
    status: JobStatus
    """State of the job."""
    priority: Literal["low", "normal", "high"]
    """Priority class of the job in the queue."""
    preemptible: bool
    """Whether the platform may pause it for a more urgent job. It continues when a worker is free."""
    status_reason: str
    """Reason of the last transition, for people."""
    queue_reason: str | None
    """Why a queued job waits, or a started one that waits in the queue of a cluster; null otherwise."""
    queue: QueuePlaceView | None
    """The place of a queued job; null in other states."""
    created_at: str
    """When it was submitted."""
    started_at: str | None
    """When a worker first claimed it."""
    finished_at: str | None
    """When it ended."""
    archived_at: str | None
    """When it was archived; null for a job in the default list."""
    metrics_thinned_at: str | None
    """When the platform deleted the exact steps of its metrics, which then come in buckets; null while it has every step."""
    stage: str | None
    """The current or last stage; null before the first."""
    progress: Progress | None
    """Null until the trainer has reported its plan."""
    attempt: int
    """Number of attempts so far."""
    gpu_hours: float
    """GPU-hours of all attempts, those of a running one until now. A process on a worker without a GPU counts as one."""
    health: JobHealth | None
    """The gravest finding of the health rules and the warnings of the run; null without one."""
    error: JobError | None
    """Why the job failed; null in other states."""
    summary: dict[str, float] | None
    """Main results of a run that succeeded; null otherwise. With several seeds, each figure is the mean over the seeds that came to an end, `<figure>_low` and `<figure>_high` are its 95 % interval, and `seeds`, `collapsed_seeds` and `failed_seeds` are counts."""
    latest_metrics: dict[str, float]
    """The newest value of each metric of the current stage, by name; empty before its first step. With several seeds, those of the seed that runs, and in the end the mean over those that did not fail. The step of the best checkpoint and bounds of intervals then have none."""
    reward_sparkline: list[float]
    """Mean score in the course of PPO, at most 60 numbers; empty without PPO. With several seeds, the mean over those that have not failed, or over all if each one has."""
    etag: str
    """Changes with what requests can change. Send it as `If-Match` to keep a request from overwriting another change."""
    shown: dict[str, Any]
    """The columns that `show` of the request names, by name: null where the job has no value. Empty without `show`."""
    folded: FoldedGroup | None
    """With `fold`, the jobs of its group that this job stands for; null for a job that stands for itself alone."""
    actions: list[
        Literal[
            "pause",
            "resume",
            "cancel",
            "retry",
            "command",
            "clone",
            "branch",
            "extend",
            "archive",
            "unarchive",
            "delete",
        ]
    ]
    """The requests that the state of the job allows, by their names under `/v1/jobs/{job_id}`. `command`: its knobs can be changed."""


class JsonSchemaReward(TypedDict, closed=True):
    """1 where the response is JSON that a schema accepts, else 0."""

    name: NotRequired[str | None]
    """Name under which it is logged (`reward/<name>`). Left out: its type, numbered if there are several."""
    weight: NotRequired[float]
    """The run's score is the weighted sum of its rewards; a negative weight penalises."""
    max_missing: NotRequired[float]
    """Largest share of responses without a value from this reward, over its last 1000 responses (fewer than 200 count as 200). Above it the job pauses. Such a response takes part in no mean and no gradient. 0 pauses at the first one, 1 never."""
    type: Literal["json_schema"]
    """Which reward this is."""
    json_schema: dict[str, JsonValue]
    """A JSON schema (draft 2020-12). Its references lead to its own parts, as `#/$defs/name`."""


class Key(TypedDict):
    """An API key, without its text."""

    object: Literal["key"]
    """Always `key`."""
    id: str
    """Begins with `key_`."""
    name: str
    """Its purpose, as its creator named it."""
    prefix: str
    """Its first characters, by which its user recognises it."""
    user_id: str | None
    """The member that it acts for; null: a key of an older release that was not used since."""
    scopes: list[Scope] | None
    """The scopes to which it is limited; null: everything that the role of its member allows."""
    expires_at: str | None
    """When it stops being valid; null: never."""
    operator: bool
    """Whether it may change workers."""
    current: bool
    """Whether this request was made with it, or with a browser session that it opened."""
    created_at: str
    """When it was created."""
    last_used_at: str | None
    """When it was last used, to a minute; null if never."""
    revoked_at: str | None
    """When it was revoked; null if it is valid."""
    made_by: str | None
    """Id of the key whose request created it; null if none did, or if that was not recorded."""


class KeyList(TypedDict):
    """API keys of the project."""

    object: Literal["list"]
    """Always `list`."""
    data: list[Key]
    """The items of this page."""
    has_more: bool
    """Whether more follow."""
    first_id: str | None
    """Cursor of the first item."""
    last_id: str | None
    """Cursor of the last item: the next page's `after`."""


class Member(TypedDict):
    """A member of the project."""

    object: Literal["member"]
    """Always `member`."""
    id: str
    """The user's id. It begins with `usr_`."""
    name: str
    """The user's name."""
    kind: UserKind
    """`person`, or `service` for a program."""
    role: Role
    """The member's role. The page Permissions of the documentation lists what each role allows."""
    current: bool
    """Whether this request is made by this member."""
    joined_at: str
    """When the user joined the project."""


class MemberList(TypedDict):
    """The members of the project."""

    object: Literal["list"]
    """Always `list`."""
    data: list[Member]
    """The items of this page."""
    has_more: bool
    """Whether more follow."""
    first_id: str | None
    """Cursor of the first item."""
    last_id: str | None
    """Cursor of the last item: the next page's `after`."""


class MemoryReport(TypedDict, closed=True):
    """Memory, phase by phase, of each process."""

    device: str
    """`cpu` or `cuda`."""
    processes: NotRequired[int]
    """Processes of the run, over all machines."""
    available: NotRequired[int | None]
    """Bytes of the device (in RAM: of each process' part of the machine's); None where they are not known."""
    runtime: int
    """Bytes of the process itself, in addition to the phases: Python and its libraries, or the CUDA context."""
    phases: list[PhaseMemory]
    """Peak of each phase, in the order of the run."""
    suggestions: NotRequired[list[Suggestion]]
    """Only where the expected peak does not fit, the cheapest first."""


class Metrics(TypedDict):
    """The metrics of a job."""

    object: Literal["metrics"]
    """Always `metrics`."""
    series: list[Series]
    """By seed, then by stage in the run's order, then by name."""
    last_seq: int
    """Sequence number of the last event in these metrics. A stream with `after` set to it continues without a gap."""
    thinned_at: str | None
    """When the platform deleted the exact steps of the job. The series then have buckets; null while it has every step."""


class ModelReward(TypedDict, closed=True):
    """A trained reward model, read at the EOS, or with `step_delimiter` at the end of each step, or an ensemble of them: the members of one model, or several models."""

    name: NotRequired[str | None]
    """Name under which it is logged (`reward/<name>`). Left out: its type, numbered if there are several."""
    weight: NotRequired[float]
    """The run's score is the weighted sum of its rewards; a negative weight penalises."""
    max_missing: NotRequired[float]
    """Largest share of responses without a value from this reward, over its last 1000 responses (fewer than 200 count as 200). Above it the job pauses. Such a response takes part in no mean and no gradient. 0 pauses at the first one, 1 never."""
    step_delimiter: NotRequired[str | None]
    """Text that separates the steps of a response, such as a line break. The reward then scores each step, and PPO takes the score on the last token of the step. Parts of white space are no steps. Left out: the response is scored as a whole."""
    type: NotRequired[Literal["model"]]
    """Which reward this is."""
    path: NotRequired[str | None]
    """Hub id, folder or checkpoint of a reward model. With a tokenizer other than the policy's, responses are decoded and encoded again with its own chat template. Left out: the one trained in this run."""
    members: NotRequired[list[RewardMember]]
    """Several reward models as one ensemble, in place of `path`. Each should be normalised by its own run: a difference of their levels would count as disagreement."""
    combine: NotRequired[Literal["mean_minus_std", "mean_minus_variance", "worst", "mean"]]
    """How the scores rₘ of an ensemble become one, with s their population standard deviation. `mean_minus_std`: r̄ − penalty·s. `mean_minus_variance`: r̄ − penalty·s² (UWO of Coste et al. 2023). `worst`: min rₘ (their WCO). `mean`: r̄."""
    penalty: NotRequired[float]
    """Weight of the disagreement of an ensemble, which grows where the policy leaves the data of the reward models."""
    step_output: NotRequired[Literal["probability", "log_probability", "logit"]]
    """The reward of a step, with `step_delimiter`, from the score r of a stepwise reward model. `probability`: σ(r), that the step is good; more steps earn more. `log_probability`: log σ(r), whose sum over the steps is the log of the probability that all are good (Lightman et al. 2023, §2.6). `logit`: r itself, negative for a bad step."""


class ModelSpec(TypedDict, closed=True):
    """The language model to start from: a pretrained one by `path`, or a new one from `config` and `tokenizer`."""

    path: NotRequired[str | None]
    """Hub id, local folder or checkpoint of a causal language model with its tokenizer. Weights must be safetensors."""
    config: NotRequired[dict[str, JsonValue] | None]
    """A transformers configuration for a model with random weights: `model_type` and sizes and switches of that architecture. Other keys are refused."""
    tokenizer: NotRequired[TokenizerSpec | None]
    """How to train the tokenizer of a model made from `config`."""
    dtype: NotRequired[Literal["auto", "float32", "bfloat16", "float16"]]
    """Type in which forward passes compute. It is also the type in which frozen models store their linear layers and a backbone under adapters all of its weights. "auto" is bfloat16 on a GPU that has it, and float32 elsewhere; a run keeps the type it began with. `float16`: 11 bits in place of the 8 of bfloat16, so the log-probabilities of sampler and trainer lie closer together (arXiv 2510.26788), but no numbers above 65504. Trained weights stay in float32. Dynamic loss scaling keeps small gradients from vanishing (Micikevicius et al. 2018). A step whose gradient overflows is left out, and the metric `overflows` counts it."""
    output_layer: NotRequired[Literal["dtype", "float32"]]
    """Type in which the output layer of policies and references computes the logits. `dtype`: that of `dtype`. `float32`: from hidden states in `dtype`, logits in float32, when sampling and in training. Log-probabilities of the sampler and of the trainer then lie closer together (MiniMax 2025, arXiv 2506.13585, §3.2). Logits take twice the memory, and their products are slower."""
    tf32: NotRequired[bool]
    """On a GPU, multiply float32 matrices in TF32, which keeps 10 of their 23 bits and is several times as fast. Off by default, because a spec that sets float32 expects its precision. bfloat16 is faster still."""
    trained_weights: NotRequired[Literal["float32", "bfloat16"]]
    """Type of weights that are trained. `bfloat16` (needs `dtype` = "bfloat16"): weights and gradients take half the memory. The optimizer keeps float32 masters, so that steps too small for bfloat16 add up."""
    gradient_checkpointing: NotRequired[bool]
    """Keep only the layers' inputs for the backward pass and compute the rest again: less memory, about a third slower."""
    lora: NotRequired[LoraSpec | None]
    """Train low-rank adapters, not the weights themselves. Left out: full fine-tuning."""
    quantization: NotRequired[Literal["8bit", "4bit"] | None]
    """Load the frozen backbone in 8 or 4 bits (bitsandbytes, where installed; QLoRA, Dettmers et al. 2023). Needs `lora`."""


class NewKey(TypedDict, closed=True):
    """A key to create."""

    name: str
    """Its purpose, such as the name of a machine or a script."""
    scopes: NotRequired[list[Scope] | None]
    """The scopes to which it is limited. Left out: those of the key that makes it, if it has any. `read`: read the project. `annotate`: answer rounds. `submit`: make jobs and datasets, and change them. `manage`: keys and members."""
    expires_at: NotRequired[str | None]
    """When it stops being valid. Left out: when the key that makes it does, if ever."""


class NewMember(TypedDict, closed=True):
    """A person or a service account that joins the project."""

    name: str
    """The person's name, or the purpose of the service account."""
    kind: NotRequired[UserKind]
    """`person`, or `service` for a program."""
    role: Role
    """The member's role. The page Permissions of the documentation lists what each role allows."""


class NewRole(TypedDict, closed=True):
    """A member's new role."""

    role: Role
    """The member's role. The page Permissions of the documentation lists what each role allows."""


class NewRound(TypedDict, closed=True):
    """A round of annotation."""

    name: NotRequired[str]
    """Name for people. Left out: the name of the dataset that the round is made from."""
    kind: NotRequired[Literal["pairs", "ranking"]]
    """`pairs`: choose the better of two completions. `ranking`: put two to nine completions in order."""
    instructions: NotRequired[str]
    """Instructions that annotators see beside each item, as Markdown."""
    source: RoundFromDataset | RoundFromCheckpoints
    """Where the completions come from."""
    overlap: NotRequired[int]
    """Number of annotators who answer each item."""
    gold_share: NotRequired[float]
    """Share of gold questions among the items of each annotator, from 0 to 0.5. The answer to a gold question is known."""
    gold: NotRequired[str | None]
    """`ds_…` or `ds_…@2`: labelled preferences for the gold questions. May be left out if the source is a dataset with `rows` = `unlabelled`: its labelled rows are used."""
    reservation_minutes: NotRequired[float]
    """Minutes for which an item stays reserved for its annotator."""
    reward_model: NotRequired[str | None]
    """Checkpoint of a reward model (`ckpt_…`) to compare with the answers. It can be chosen later too."""


class NewWebhook(TypedDict, closed=True):
    """A webhook to create."""

    url: str
    """The https address that receives the events. It must lead to the public internet, unless the operator allows other networks."""
    event_types: list[EventType]
    """The events that it receives."""
    description: NotRequired[str]
    """For people."""
    format: NotRequired[WebhookFormat]
    """`standard`: the payload `{type, timestamp, data}` of Standard Webhooks. `slack`: `{text}`, for incoming webhooks of Slack and other chats."""
    enabled: NotRequired[bool]
    """Whether events are sent."""


class OnlineSpec(TypedDict, closed=True):
    """Online iterative RLHF (Bai et al. 2022, §4.5, and Dong et al. 2024). Every round labels fresh pairs of the policy and refits the reward model."""

    rounds: NotRequired[int]
    """Rounds into which `ppo.steps` is divided; the reward model is refitted between them."""
    prompts: NotRequired[int]
    """Prompts per round, two responses each."""
    label_by: NotRequired[
        str
        | ModelReward
        | ClassifierReward
        | ExactMatchReward
        | NumericMatchReward
        | RegexReward
        | JsonSchemaReward
        | LengthReward
        | LexiconReward
        | HttpReward
        | PluginReward
        | None
    ]
    """The preference source: an installed judge by name, or any reward; the response with the higher value is preferred. Left out: `evaluation.judge`."""
    noise: NotRequired[float]
    """Share of the labels that are flipped, to stand for human error."""
    epochs: NotRequired[int]
    """Passes of the refit over the pairs of this round and as many old ones."""
    learning_rate: NotRequired[float | None]
    """Peak learning rate of the refit. Left out: `reward_model.learning_rate`."""


class Overlap(TypedDict):
    """Prompts that two datasets share."""

    object: Literal["dataset.overlap"]
    """Always `dataset.overlap`."""
    dataset: OverlapSide
    """The dataset whose prompts are searched for."""
    other: OverlapSide
    """The dataset that is searched."""
    exact: SharedPrompts
    """Equal prompts. A text equals a single user message with that text."""
    near: SharedPrompts | None
    """Near duplicates: distinct prompts that share at least 0.8 of their word triples. Null while the rows have no index for them. This request starts the indexing; repeat it later. It stays null if the data worker has no package rensa."""


class PPOSpec(TypedDict, closed=True):
    """Proximal policy optimisation against the rewards (Schulman et al. 2017; Ziegler et al. 2019), and its relatives."""

    learning_rate: NotRequired[float]
    """Peak learning rate of the policy, or the one that `kl_adaptive` begins with. The live knob `learning_rate` changes it during the stage."""
    lr_schedule: NotRequired[Literal["auto", "constant", "linear", "cosine", "kl_adaptive"]]
    """Shape of both learning rates after warm-up: constant, or down to 0 along a line or a cosine. `kl_adaptive`: raised or lowered after each iteration by the KL that it moved the policy, as `adaptive_rate` has it. `auto`: `linear` where `learning_rate`, `guards.target_kl` or `policy_loss.old_kl_target` is named, otherwise `kl_adaptive`. A critic whose `learning_rate` is named then has the schedule `linear`."""
    warmup_ratio: NotRequired[float]
    """Share of the steps (in PPO: iterations) over which the learning rate rises from 0."""
    weight_decay: NotRequired[float]
    """Decoupled weight decay of AdamW, on matrices only (never on biases and norms)."""
    max_grad_norm: NotRequired[float]
    """Gradients are scaled down to this global L2 norm."""
    micro_batch_size: NotRequired[int | None]
    """Sequences per forward pass (a preference pair is two); gradients accumulate to the batch. Left out: the whole (mini)batch at once. Changes memory, not the result."""
    micro_batch_tokens: NotRequired[int | None]
    """Tokens per forward pass at most, prompts included (a sequence that is longer goes alone); sequences of like length go together. Evens out memory where lengths differ much. With `micro_batch_size` both hold. Left out: no limit. Changes memory, not the result."""
    optimizer: NotRequired[Literal["adamw", "adamw_8bit"]]
    """`adamw`: Loshchilov and Hutter (2019). `adamw_8bit`: its two moments are in 8 bits, block by block (Dettmers et al. 2022). They take 2 bytes a parameter in place of 8, with nearly the same steps, which are slower on a CPU."""
    offload_optimizer: NotRequired[bool]
    """Keep the optimizer's moments (and masters of bfloat16 weights) in host memory and take its steps on the CPU: the GPU holds weights and gradients alone. Changes memory and speed, the result by rounding only."""
    save_every: NotRequired[int]
    """Iterations between checkpoints to resume from."""
    steps: NotRequired[int]
    """Iterations: each samples one batch of responses and updates on it."""
    batch_size: NotRequired[int]
    """Responses per iteration."""
    samples_per_prompt: NotRequired[int]
    """Responses to each prompt of the batch (the group of RLOO and GRPO); must divide `batch_size`."""
    epochs: NotRequired[int]
    """Passes over each batch of responses."""
    minibatches: NotRequired[int]
    """Optimizer steps per pass; must divide `batch_size`."""
    adaptive_rate: NotRequired[AdaptiveRateSpec]
    """Options of `lr_schedule` = "kl_adaptive"."""
    adam_eps: NotRequired[float]
    """Adam's epsilon; 1e-5 tames early updates (Huang et al. 2024)."""
    max_new_tokens: NotRequired[int]
    """Longest response, in tokens."""
    stop: NotRequired[list[StopItem]]
    """Texts that end a response, beside the tokenizer's EOS and the stops of the model's generation_config.json, in evaluation too. A response is cut after the token that completes the first of them; rewards see the text before it. A special token, such as "<|im_end|>", may be given by its text."""
    temperature: NotRequired[float]
    """Sampling temperature; the log-probabilities of the update are taken at the same one."""
    rollout: NotRequired[RolloutSpec]
    """How the responses are sampled."""
    curriculum: NotRequired[CurriculumSpec | None]
    """Draw prompts by their measured difficulty. Left out: in shuffled passes over all of them."""
    advantage: NotRequired[AdvantageSpec]
    policy_loss: NotRequired[PolicyLossSpec]
    """The loss that the policy minimises."""
    critic: NotRequired[CriticSpec]
    """The value function."""
    kl: NotRequired[KLSpec]
    """The KL penalty that holds the policy near the reference."""
    reference: NotRequired[ReferenceSpec]
    teacher: NotRequired[TeacherSpec | None]
    """On-policy distillation from a teacher. Left out: none. Without `rewards` the teacher's part is the whole advantage."""
    shaping: NotRequired[ShapingSpec]
    """How a score becomes a reward."""
    guards: NotRequired[GuardsSpec]
    ptx: NotRequired[PtxSpec | None]
    """Pretraining mix; left out: none."""
    positive_examples: NotRequired[PositiveExamplesSpec | None]
    """Language-model loss on positive responses. Left out: none."""
    optimal_value: NotRequired[OptimalValueSpec]
    """Options of `advantage.baseline` = "optimal_value"."""
    online: NotRequired[OnlineSpec | None]
    """Online iterative RLHF; left out: the reward model stays as it is."""
    self_test: NotRequired[bool]
    """Test the models on real prompts before the first iteration. The ratio must be 1, the KL to the reference 0, and padding must change nothing. Sampled and recomputed log-probabilities must agree, and stored answers must score as they did. A run that fails the test stops."""
    eval_every: NotRequired[int]
    """Iterations between evaluations on held-out prompts."""
    log_samples: NotRequired[int]
    """Completions of each batch that are logged."""
    log_token_tables: NotRequired[int]
    """Number of these completions that are logged token by token (log-probabilities, KL, value, advantage, entropy, ratio, clipped) at every evaluation. Together they have at most 4096 tokens."""
    log_held_out: NotRequired[int]
    """Held-out prompts whose completions are logged at every evaluation, beside those of the policy before PPO. They are always the first ones, so that a prompt can be followed over the run."""


class PlatformJob(TypedDict):
    """A job of any project, without its spec and its results."""

    object: Literal["platform.job"]
    """Always `platform.job`."""
    id: str
    """The job's id."""
    project: ProjectRef
    """The project that it belongs to."""
    status: JobStatus
    """The job's state."""
    priority: int
    """Its priority in the queue."""
    slots: int
    """GPUs that it takes, or processes on a worker without a GPU."""
    worker_id: str | None
    """The worker that holds it; null if none does."""
    gpu_hours: float
    """GPU-hours of its attempts that have ended. A process on a worker without a GPU counts as one GPU."""
    created_at: str
    """When it was submitted."""
    queued_at: str
    """When it entered the queue for the last time."""
    finished_at: str | None
    """When it ended; null if it has not."""


class PlatformJobList(TypedDict):
    """Jobs of all projects."""

    object: Literal["list"]
    """Always `list`."""
    data: list[PlatformJob]
    """The items of this page."""
    has_more: bool
    """Whether more follow."""
    first_id: str | None
    """Cursor of the first item."""
    last_id: str | None
    """Cursor of the last item: the next page's `after`."""


class PointwiseCard(TypedDict, closed=True):
    """
    A reward model on held-out completions, each with a thumb. Scores are raw: the log odds of a thumb up.

    With the loss `stepwise`, each labelled step counts as a completion that ends with it, and a good step as a thumb up. The steps
    of one solution are not independent, so the intervals are narrower than they should be.
    """

    loss: NotRequired[Literal["pointwise", "stepwise"]]
    """The reward model's loss."""
    first_error_accuracy: NotRequired[float | None]
    """Share of the solutions whose first bad step is the first with a score of 0 or less; none without steps."""
    overall: Slice
    by_thumb: NotRequired[dict[str, Slice]]
    """By the verdict: `up`, `down`. Their accuracies are sensitivity and specificity."""
    by_source: NotRequired[dict[str, Slice]]
    """By the rows' `source`."""
    by_member: NotRequired[dict[str, Slice]]
    """By the number of the member of an ensemble (`reward_model.members`), from 1, with the accuracy of that member alone."""
    agreement: NotRequired[float | None]
    """Share of the completions whose thumb all members of an ensemble expect alike; none for a single reward model."""
    auc: NotRequired[float | None]
    """Probability that a completion with a thumb up scores higher than one with a thumb down; none without both."""
    majority_baseline: float
    """Share of the more frequent verdict: the accuracy of always expecting it."""
    calibration: list[CalibrationBin]
    """Ten bins from 0 to 1; empty ones are left out."""
    calibration_error: float
    """Mean distance of predicted and observed over the bins, weighted by their completions (ECE)."""
    length_correlation: NotRequired[float | None]
    """Pearson's, between a completion's score and its length in tokens; none where either does not vary."""
    margin: NotRequired[float | None]
    """Mean score of thumbs up − mean score of thumbs down."""
    references: int
    """SFT reference answers measured."""
    reference_mean: NotRequired[float | None]
    """Mean of their raw scores."""
    reference_std: NotRequired[float | None]
    """Standard deviation of their raw scores."""


class ReportCardData(TypedDict):
    """A reward model is trained: its figures on held-out pairs or thumbs, also in report_card.json beside its weights."""

    stage: Literal["sft", "reward_model", "dpo", "kto", "ppo", "evaluation"]
    """The stage of the run."""
    step: int
    """The step after which it was measured."""
    card: Card | PointwiseCard
    """The figures."""


class ReportCardEvent(TypedDict):
    """A reward model is trained: its figures on held-out pairs or thumbs, also in report_card.json beside its weights."""

    object: Literal["job.event"]
    """Always `job.event`."""
    job_id: str
    """The job that it belongs to."""
    seq: int
    """Sequence number in the job, from 1 without gaps. It is the event id of the stream and the cursor of this list."""
    attempt: int
    """The attempt that reported it."""
    type: Literal["report_card"]
    """Always `report_card`."""
    created_at: str
    """When it happened."""
    seed: int | None
    """Seed of the event, in a job with several; null if it concerns the whole job, and with one seed."""
    stage: str | None
    """Stage of the event; null if it concerns the whole job."""
    step: int | None
    """Step of the event; null if it has none."""
    data: ReportCardData
    """The event's own fields."""


class ReportResult(TypedDict):
    """The contents of a report."""

    summary: dict[str, float]
    """Figures by name: rows, prompts, pairs, ties, duplicates, truncated, steps of each stage, …"""
    findings: list[Finding]
    """Blocking ones first."""
    histograms: list[Histogram]
    """Lengths of prompts and answers."""
    languages: list[LanguageShare]
    """Most rows first."""
    length_bias: LengthBias | None
    """Null without decided pairs, and if all answers have the same length."""
    position: Positions | None
    """Null where the order of the answers has no meaning."""
    agreement: Agreement | None
    """Null if no two named annotators labelled the same answers."""
    splits: SplitSizes | None
    """Null for rows without prompts."""
    special_tokens: list[str]
    """Special tokens that the texts contain, also those that appear once others are removed."""


class ResourcesSpec(TypedDict, closed=True):
    """The processes that share the work, and the workers that may run them. A run may be resumed with other values."""

    processes: NotRequired[int]
    """Processes on each machine: one for each GPU, or for each core or two on a CPU. They split every batch and sum their gradients. The result equals that of one process up to rounding."""
    machines: NotRequired[int]
    """Machines, each with `processes` processes. The worker that takes the job must be the first of a group of at least as many."""
    gpu_memory_gib: NotRequired[int | None]
    """Smallest memory of each GPU of the worker, in GiB. The job waits for a worker with such GPUs. Left out: any worker. The trainer ignores it."""
    labels: NotRequired[list[Label]]
    """Labels that the worker must have, such as `["a100", "zone=eu"]`. The operator sets them with `PROXIMAL_LABELS`. The job waits for a worker that has all of them. The trainer ignores them."""
    slurm: NotRequired[SlurmSpec | None]
    """Options of the batch job in Slurm. The job then waits for a worker that submits to Slurm. The trainer ignores them."""


class RevokedKey(TypedDict):
    """A revoked API key."""

    object: Literal["key"]
    """Always `key`."""
    id: str
    """Begins with `key_`."""
    name: str
    """Its purpose, as its creator named it."""
    prefix: str
    """Its first characters, by which its user recognises it."""
    user_id: str | None
    """The member that it acts for; null: a key of an older release that was not used since."""
    scopes: list[Scope] | None
    """The scopes to which it is limited; null: everything that the role of its member allows."""
    expires_at: str | None
    """When it stops being valid; null: never."""
    operator: bool
    """Whether it may change workers."""
    current: bool
    """Whether this request was made with it, or with a browser session that it opened."""
    created_at: str
    """When it was created."""
    last_used_at: str | None
    """When it was last used, to a minute; null if never."""
    revoked_at: str | None
    """When it was revoked; null if it is valid."""
    made_by: str | None
    """Id of the key whose request created it; null if none did, or if that was not recorded."""
    valid_keys_made: list[Key]
    """The valid keys that it made, and those that these made. Revoke them too if a stranger had the key."""


class RotatedKey(TypedDict):
    """A new API key with its text, and the key that it replaces."""

    object: Literal["key"]
    """Always `key`."""
    id: str
    """Begins with `key_`."""
    name: str
    """Its purpose, as its creator named it."""
    prefix: str
    """Its first characters, by which its user recognises it."""
    user_id: str | None
    """The member that it acts for; null: a key of an older release that was not used since."""
    scopes: list[Scope] | None
    """The scopes to which it is limited; null: everything that the role of its member allows."""
    expires_at: str | None
    """When it stops being valid; null: never."""
    operator: bool
    """Whether it may change workers."""
    current: bool
    """Whether this request was made with it, or with a browser session that it opened."""
    created_at: str
    """When it was created."""
    last_used_at: str | None
    """When it was last used, to a minute; null if never."""
    revoked_at: str | None
    """When it was revoked; null if it is valid."""
    made_by: str | None
    """Id of the key whose request created it; null if none did, or if that was not recorded."""
    text: str
    """The key itself. It is shown once: the platform stores only its hash."""
    replaces: Key
    """The old key with its end."""


class RunStartedData(TypedDict):
    """The run has loaded its data and has planned its stages."""

    stages: list[StagePlan]
    """The stages in their order."""
    device: str
    """The device that the run computes on."""
    threads: int
    """CPU threads that PyTorch uses."""
    dtype: NotRequired[str | None]
    """The type in which the run computes, which `model.dtype` = "auto" selected. None in logs from before it was reported."""
    versions: dict[str, str]
    """Versions of Python, PyTorch and transformers."""
    resumed_stage: NotRequired[Literal["sft", "reward_model", "dpo", "kto", "ppo", "evaluation"] | None]
    """The stage that the run resumes in; null for a new run."""
    resumed_step: NotRequired[int | None]
    """The step that the run resumes after; null for a new run."""


class RunStartedEvent(TypedDict):
    """The run has loaded its data and has planned its stages."""

    object: Literal["job.event"]
    """Always `job.event`."""
    job_id: str
    """The job that it belongs to."""
    seq: int
    """Sequence number in the job, from 1 without gaps. It is the event id of the stream and the cursor of this list."""
    attempt: int
    """The attempt that reported it."""
    type: Literal["run_started"]
    """Always `run_started`."""
    created_at: str
    """When it happened."""
    seed: int | None
    """Seed of the event, in a job with several; null if it concerns the whole job, and with one seed."""
    stage: str | None
    """Stage of the event; null if it concerns the whole job."""
    step: int | None
    """Step of the event; null if it has none."""
    data: RunStartedData
    """The event's own fields."""


class RunTime(TypedDict):
    """The expected time of a run. It leaves out the queue, the download of inputs and the loading of models."""

    seconds: float | None
    """Sum over all stages and seeds; null if a stage has no figure."""
    gpu_hours: float | None
    """`seconds` on all GPUs of the job, in hours. A process without a GPU counts as one GPU, which is the rule of quotas."""
    device: str | None
    """Device of the earlier runs."""
    stages: list[StageTime]
    """In the order of the run."""
    reason: str | None
    """Why `seconds` is null."""


class Sample(TypedDict, closed=True):
    """One completion."""

    prompt: str
    """The text that the policy was given."""
    response: str
    """The text that the policy wrote."""
    score: NotRequired[float | None]
    """Score by the run's rewards."""
    kl: NotRequired[float | None]
    """Sum over the response of log π − log π_ref."""
    tokens: NotRequired[int | None]
    """Length of the response."""
    finished: NotRequired[bool | None]
    """Whether the response ended with an EOS token."""
    score_missing: NotRequired[Literal["time_out", "refusal", "bad_output", "crash", "unreachable"] | None]
    """Why a reward has no value, so that there is no score. Such a completion takes part in no mean and no gradient."""
    judge: NotRequired[float | None]
    """Score by the judge, where there is a judge that scores."""
    judge_missing: NotRequired[Literal["time_out", "refusal", "bad_output", "crash", "unreachable"] | None]
    """Why the judge has no value."""
    reference: NotRequired[str | None]
    """Response to the same prompt of the policy that this one is compared with (only for held-out prompts)."""
    reference_score: NotRequired[float | None]
    """Score of `reference` by the run's rewards."""
    reference_score_missing: NotRequired[Literal["time_out", "refusal", "bad_output", "crash", "unreachable"] | None]
    """Why a reward has no value for `reference`."""
    reference_judge: NotRequired[float | None]
    """Score of `reference` by the judge."""
    reference_judge_missing: NotRequired[Literal["time_out", "refusal", "bad_output", "crash", "unreachable"] | None]
    """Why the judge has no value for `reference`."""
    token_table: NotRequired[list[TokenRow] | None]
    """The completion token by token; for a few completions, at evaluations in PPO."""
    held_out: NotRequired[bool]
    """Whether its prompt is one of those held-out prompts whose completions are logged at every evaluation of PPO."""
    policy_step: NotRequired[int | None]
    """Steps of PPO that the policy had taken when it sampled the response; only with `ppo.rollout.asynchronous`."""


class SampleNote(TypedDict):
    """A note on a completion."""

    object: Literal["job.sample_note"]
    """Always `job.sample_note`."""
    id: str
    """Its id."""
    job_id: str
    """Id of the job."""
    text: str
    """Plain text."""
    author: str | None
    """The name that its author gave; null for none."""
    replaced: bool
    """Whether the step ran again and has another completion in this place, or none. The note is about `completion`."""
    completion: JobSample
    """The completion that the note is about, as it was logged. Its `token_table` is null."""
    created_at: str
    """When it was written."""
    updated_at: str
    """When it was changed last."""


class SampleNoteList(TypedDict):
    """Notes on completions."""

    object: Literal["list"]
    """Always `list`."""
    data: list[SampleNote]
    """The items of this page."""
    has_more: bool
    """Whether more follow."""
    first_id: str | None
    """Cursor of the first item."""
    last_id: str | None
    """Cursor of the last item: the next page's `after`."""


class SampleSearch(TypedDict):
    """Completions that a search found."""

    object: Literal["list"]
    """Always `list`."""
    data: list[JobSample]
    """The completions of this page. Their `token_table` is null."""
    has_more: bool
    """Whether more follow. The same request with `skip` set to the number of those seen returns them."""
    total: int
    """Number of completions on all pages."""
    histogram: FigureHistogram
    """The histogram of the figure."""


class SamplesData(TypedDict):
    """Completions of one step."""

    stage: Literal["sft", "reward_model", "dpo", "kto", "ppo", "evaluation"]
    """The stage of the run."""
    step: int
    """The step of the stage."""
    rows: list[Sample]
    """The completions."""


class SamplesEvent(TypedDict):
    """Completions of one step."""

    object: Literal["job.event"]
    """Always `job.event`."""
    job_id: str
    """The job that it belongs to."""
    seq: int
    """Sequence number in the job, from 1 without gaps. It is the event id of the stream and the cursor of this list."""
    attempt: int
    """The attempt that reported it."""
    type: Literal["samples"]
    """Always `samples`."""
    created_at: str
    """When it happened."""
    seed: int | None
    """Seed of the event, in a job with several; null if it concerns the whole job, and with one seed."""
    stage: str | None
    """Stage of the event; null if it concerns the whole job."""
    step: int | None
    """Step of the event; null if it has none."""
    data: SamplesData
    """The event's own fields."""


class SeedResult(TypedDict):
    """One seed of a job with several."""

    seed: int
    """The seed."""
    status: SeedStatus
    """Its state."""
    stage: str | None
    """Its current or last stage; null before the first."""
    step: int | None
    """Completed steps of the stage; null before the first stage."""
    total_steps: int | None
    """Steps of the stage; null before the first stage."""
    seconds: float | None
    """Duration of its run; null until it is done."""
    summary: dict[str, float] | None
    """Its own figures, such as `best_step`, with intervals over prompts. Empty if it failed; null until it is done."""
    why: str | None
    """How it collapsed or failed; null if it did not."""


class Session(TypedDict):
    """The caller and the session."""

    object: Literal["session"]
    """Always `session`."""
    key: KeyRef
    """The API key behind the call."""
    owner: str
    """Id of the project that the key works in."""
    user: UserRef
    """The member that the key acts for."""
    role: Role
    """The member's role in the project."""
    permissions: list[Action]
    """The actions that the caller may take, on objects that it made. `change` of what other members made also needs `change_others`."""
    change_others: bool
    """Whether the caller may change what other members made."""
    expires_at: str | None
    """When the browser session or the key ends; null for a key without an end."""


class SweepSpec(TypedDict, closed=True):
    """Jobs that differ in a few fields. Lists alone are a grid: one job for each combination. `count` draws that many combinations."""

    name: NotRequired[str]
    """Name of the group, for people."""
    spec: dict[str, Any]
    """The job spec that all jobs share."""
    parameters: dict[str, list[Any] | Uniform | LogUniform | Integer | Choice]
    """Path of a field, such as `ppo.kl.coef` or `rewards.0.weight` → a list of values, or a distribution."""
    count: NotRequired[int | None]
    """Number of combinations to draw. Required with a distribution. Left out: all combinations of the lists."""
    seed: NotRequired[int]
    """Seed of the draws. The same sweep with the same seed has the same jobs."""
    max_parallel: NotRequired[int | None]
    """Most jobs that are queued or run at once. The others are paused until there is room. Left out: no bound."""
    metric: NotRequired[str]
    """The objective by which the jobs are compared: a figure of the run's summary, or a metric."""
    goal: NotRequired[Goal]
    """Whether the highest objective is the best, or the lowest, as for a loss."""


class Telemetry(TypedDict):
    """Measurements of the machine. Series, `at`, `attempts` and `seconds` have the same length."""

    object: Literal["telemetry"]
    """Always `telemetry`."""
    attempt: int
    """The attempt; the newest where all are asked for."""
    attempts: list[int]
    """The attempt of each bucket."""
    at: list[str]
    """Start of each bucket of time, by the worker's clock."""
    seconds: list[float]
    """Width of each bucket; 0 for a single measurement. Older measurements of a long attempt are averaged."""
    series: list[TelemetrySeries]
    """By name. A machine without a GPU has no GPU series."""
    measurements: list[MeasurementInfo]
    """Every kind of measurement, with its unit and meaning."""


class TrackingSpec(TypedDict, closed=True):
    """Trackers that the metrics also go to, each in a process of its own. A tracker that fails never fails the run. Addresses and credentials come from the environment of the trainer only."""

    tensorboard: NotRequired[TensorBoardTracker | None]
    """Write TensorBoard event files."""
    wandb: NotRequired[WandbTracker | None]
    """Send the metrics to Weights & Biases."""
    mlflow: NotRequired[MLflowTracker | None]
    """Send the metrics to MLflow."""
    trackio: NotRequired[TrackioTracker | None]
    """Send the metrics to trackio."""
    link: NotRequired[str]
    """Address that the tracker's run refers to, such as the page of the job in the dashboard."""
    finish_seconds: NotRequired[float]
    """Seconds that a tracker has to send the rest after the run has ended. Then it is stopped, and a warning states what was not sent."""


class Upload(TypedDict):
    """A file that is sent in parts, or that the platform downloads."""

    object: Literal["upload"]
    """Always `upload`."""
    id: str
    """Begins with `up_`."""
    filename: str
    """Name for people. Its ending helps to detect the format."""
    bytes: int | None
    """Size of the whole file; null while it is unknown."""
    bytes_received: int
    """Bytes received so far."""
    part_bytes: int
    """Size of each part in bytes. The last part may be smaller."""
    parts: int | None
    """Number of parts; null while the size is unknown."""
    received: list[int]
    """Numbers, from 1, of the received parts."""
    sha256: str | None
    """SHA-256 of the whole file: announced by the client until the upload is complete, then computed."""
    url: str | None
    """Address of a download; null for a file that is sent."""
    status: UploadStatus
    """`open`: accepts parts. `fetching`: the platform downloads it. `complete`: can become a dataset. `failed`: the download failed."""
    error: UploadError | None
    """Why the download failed; else null."""
    dataset: str | None
    """The newest dataset made from it; null without one."""
    created_at: str
    """When it was created."""
    expires_at: str
    """When the platform deletes it, unless it is used before."""
    completed_at: str | None
    """When all bytes were received."""


class UploadList(TypedDict):
    """A page of uploads."""

    object: Literal["list"]
    """Always `list`."""
    data: list[Upload]
    """The items of this page."""
    has_more: bool
    """Whether more follow."""
    first_id: str | None
    """Cursor of the first item."""
    last_id: str | None
    """Cursor of the last item: the next page's `after`."""


class Usage(TypedDict):
    """The caller's limits and use."""

    object: Literal["usage"]
    """Always `usage`."""
    at: str
    """The time of the figures."""
    period: UsagePeriod
    """The month of the GPU-hours."""
    limits: UsageLimits
    """The limits, each null where there is none."""
    used: Used
    """The present figures."""


class ValidationResult(TypedDict):
    """The findings of a check, and the figures of the run that the spec describes."""

    findings: list[JobFinding]
    """Blocking ones first."""
    datasets: list[DatasetReport]
    """The rows of each dataset as the run would use them. Empty if the data cannot be read."""
    model: ModelReport | None
    """Null if the model could not be read."""
    stages: list[StageEstimate]
    """Steps and tokens of each stage, in their order. Empty if the data or the tokenizer cannot be read."""
    memory: MemoryReport | None
    """Memory of each phase. Null if the model or the data cannot be read."""


class Webhook(TypedDict):
    """An address that receives events of the project."""

    object: Literal["webhook"]
    """Always `webhook`."""
    id: str
    """Begins with `whk_`."""
    url: str
    """The address that receives the events. Its path is shown to admins only, because it may hold a secret."""
    description: str
    """For people."""
    event_types: list[EventType]
    """The events that it receives."""
    format: WebhookFormat
    """`standard` or `slack`: the form of its payloads."""
    enabled: bool
    """Whether events are sent."""
    disabled_reason: str | None
    """Why the platform disabled it; null if it is enabled, or if a person disabled it."""
    failing_since: str | None
    """The first failed try since the last success; null after a success."""
    previous_secret_until: str | None
    """Until when the secret before the last rotation signs as well; null if only one signs."""
    etag: str
    """Changes with what requests can change. Send it as `If-Match` to keep a request from overwriting another change."""
    created_at: str
    """When it was created."""


class WebhookDelivery(TypedDict):
    """One event for one webhook, with its tries."""

    object: Literal["webhook.delivery"]
    """Always `webhook.delivery`."""
    id: str
    """Begins with `msg_`. It is the header `webhook-id` of every try."""
    webhook_id: str
    """The webhook that it goes to."""
    event_type: str
    """The event, or `webhook.test`."""
    subject: str
    """The job or dataset of the event. Its deliveries are sent one after the other."""
    status: DeliveryStatus
    """`pending`, `delivered`, or `failed` after the last try."""
    body: str
    """The payload, exactly as it is signed and sent."""
    next_try_at: str | None
    """When the next try is due, unless an earlier event of the same job waits; null if none follows."""
    tries: list[WebhookTry]
    """The requests so far."""
    created_at: str
    """When the event happened."""
    finished_at: str | None
    """When it was accepted or given up; null while it is pending."""


class WebhookDeliveryList(TypedDict):
    """Deliveries of a webhook, newest first unless asked otherwise."""

    object: Literal["list"]
    """Always `list`."""
    data: list[WebhookDelivery]
    """The items of this page."""
    has_more: bool
    """Whether more follow."""
    first_id: str | None
    """Cursor of the first item."""
    last_id: str | None
    """Cursor of the last item: the next page's `after`."""


class WebhookList(TypedDict):
    """Webhooks of the project, newest first unless asked otherwise."""

    object: Literal["list"]
    """Always `list`."""
    data: list[Webhook]
    """The items of this page."""
    has_more: bool
    """Whether more follow."""
    first_id: str | None
    """Cursor of the first item."""
    last_id: str | None
    """Cursor of the last item: the next page's `after`."""


class WorkerCluster(TypedDict):
    """The cluster that a worker submits to."""

    engine: Literal["slurm", "kubernetes"]
    """The cluster's software."""
    name: str
    """Name of the cluster; with Kubernetes, that of the namespace."""
    partitions: list[WorkerPartition]
    """Its partitions. Kubernetes has none."""


class DatasetVersion(TypedDict):
    """An immutable set of rows. Only an importing version changes."""

    object: Literal["dataset.version"]
    """Always `dataset.version`."""
    id: str
    """Begins with `dv_`."""
    dataset_id: str
    """The dataset."""
    number: int
    """1, 2, …"""
    parent: int | None
    """Number of the version that it was made from."""
    status: VersionStatus
    """`importing`, then `ready`, `blocked` or `failed`."""
    rows: int | None
    """Number of rows; null until they are stored."""
    bytes: int | None
    """Size of the stored rows in bytes."""
    sha256: str | None
    """SHA-256 of the stored rows. A job that uses the version records this sum."""
    damage: str | None
    """
    How the stored rows differ from those that were imported; null for good ones. Importing the same file again stores
    them anew.
    """
    left_out: int
    """Records of the source that are not among the rows."""
    findings: list[Finding]
    """Findings of the import. Reports have more."""
    origin: dict[str, Any]
    """Origin of the version: its `type` is `upload`, `fix` or `annotation`."""
    error: DatasetError | None
    """Why it failed, if it did."""
    created_at: str
    """When it was requested."""
    ready_at: str | None
    """When jobs could first use it."""
    jobs: list[str]
    """The jobs that use or have used it, newest first."""


class DatasetVersionList(TypedDict):
    """A page of versions."""

    object: Literal["list"]
    """Always `list`."""
    data: list[DatasetVersion]
    """The items of this page."""
    has_more: bool
    """Whether more follow."""
    first_id: str | None
    """Cursor of the first item."""
    last_id: str | None
    """Cursor of the last item: the next page's `after`."""


class EvaluationSpec(TypedDict, closed=True):
    """The trained policy against the one before it on held-out prompts, paired by prompt."""

    prompts: NotRequired[int]
    """Held-out prompts to use, at most; the same ones in the loop and at the end. Left out: 512, but in a job with PPO at most a quarter of the responses that it trains on between two evaluations, and at least 128. The job's stored spec holds the number."""
    batch_size: NotRequired[int]
    """Prompts sampled at once."""
    temperature: NotRequired[float]
    """Sampling temperature of both policies."""
    max_new_tokens: NotRequired[int | None]
    """Longest response. Left out: `ppo.max_new_tokens`."""
    judge: NotRequired[
        str
        | ModelReward
        | ClassifierReward
        | ExactMatchReward
        | NumericMatchReward
        | RegexReward
        | JsonSchemaReward
        | LengthReward
        | LexiconReward
        | HttpReward
        | PluginReward
        | HttpJudge
        | None
    ]
    """The judge of two completions: the name of an installed judge (entry-point group `proximal.judges`), any reward (a second reward model, a rule), or an HTTP endpoint that compares pairs. Left out: the rewards of the run."""
    against: NotRequired[str | None]
    """Checkpoint or model that the evaluation stage compares with. Left out: the policy as it was before PPO (or KTO, or DPO). The evaluations during PPO, `keep_best` and the health rules always compare with the policy as PPO began."""
    keep_best: NotRequired[bool]
    """Keep the best PPO checkpoint beside the last one. The best has the highest held-out win rate against the policy as PPO began. Equal win rates are decided by the judge's mean score, then the mean score by the rewards (both higher), then the KL (lower). The first of equal ones wins. The evaluation stage measures it again, with new draws (`best_win_rate`)."""
    pass_at: NotRequired[PassAtSpec | None]
    """pass@k of both policies, and of PPO's best checkpoint, in the evaluation stage. Left out: none."""


class Group(TypedDict):
    """A group with its jobs."""

    object: Literal["job.group"]
    """Always `job.group`."""
    id: str
    """Begins with `grp_`."""
    name: str
    """For people."""
    metric: str
    """The objective of its jobs."""
    goal: Goal
    """Whether the highest or the lowest objective is the best."""
    max_parallel: int | None
    """Most jobs that are queued or run at once; null: no bound."""
    sweep: dict[str, Any] | None
    """The request of the sweep without the base spec; null for a group by hand."""
    created_at: str
    """When it was made."""
    statuses: dict[JobStatus, int]
    """Number of jobs in each state that occurs."""
    metrics: list[str]
    """The figures and metrics by which the jobs can be compared: those that at least one of them has."""
    jobs: list[GroupJob]
    """The jobs, the best objective first, those without one last."""


JobEvent: TypeAlias = (
    StatusChangedEvent
    | RunStartedEvent
    | StageStartedEvent
    | MetricsEvent
    | SamplesEvent
    | CriticCardEvent
    | RewardMissingEvent
    | CheckpointSavedEvent
    | CheckpointDamagedEvent
    | HealthEvent
    | RolledBackEvent
    | CommandRequestedEvent
    | KnobChangedEvent
    | CommandDoneEvent
    | CommandRefusedEvent
    | CurveEvent
    | ReportCardEvent
    | SeedFinishedEvent
    | StageFinishedEvent
    | MessageEvent
    | RunFinishedEvent
    | RunFailedEvent
    | RunStoppedEvent
)
"""An event of a job; `type` selects the fields of `data`. The stream sends the same object."""


class JobEventList(TypedDict):
    """Events in order. The cursor is the sequence number."""

    object: Literal["list"]
    """Always `list`."""
    data: list[JobEvent]
    """The items of this page."""
    has_more: bool
    """Whether more follow."""
    first_id: str | None
    """Cursor of the first item."""
    last_id: str | None
    """Cursor of the last item: the next page's `after`."""


class JobList(TypedDict):
    """Jobs, newest first unless asked otherwise."""

    object: Literal["list"]
    """Always `list`."""
    data: list[JobSummary]
    """The items of this page."""
    has_more: bool
    """Whether more follow."""
    first_id: str | None
    """Cursor of the first item."""
    last_id: str | None
    """Cursor of the last item: the next page's `after`."""


Rewards: TypeAlias = (
    ModelReward
    | ClassifierReward
    | ExactMatchReward
    | NumericMatchReward
    | RegexReward
    | JsonSchemaReward
    | LengthReward
    | LexiconReward
    | HttpReward
    | PluginReward
)


class JobSpec(TypedDict, closed=True):
    """One RLHF run: by default SFT → reward model → PPO → evaluation; any of them alone by `stages`."""

    name: NotRequired[str]
    """Name for people, shown in lists."""
    model: ModelSpec
    """The model to start from. A bare string is short for `{"path": …}`."""
    data: DataSpec
    """Datasets."""
    stages: NotRequired[list[Literal["sft", "reward_model", "dpo", "kto", "ppo", "evaluation"]]]
    """Stages of the run, in this order. A stage that is left out is skipped, even if its section is given: `["sft"]` alone, `["ppo", "evaluation"]` on a checkpoint with a rule as reward, `["sft", "dpo", "evaluation"]`, `["sft", "kto", "evaluation"]`."""
    sft: NotRequired[SFTSpec]
    """Supervised fine-tuning."""
    reward_model: NotRequired[RewardModelSpec]
    """The reward model's training."""
    dpo: NotRequired[DPOSpec]
    """Direct preference optimisation."""
    kto: NotRequired[KTOSpec]
    """Kahneman-Tversky optimisation."""
    ppo: NotRequired[PPOSpec]
    """The policy's optimisation."""
    rewards: NotRequired[list[Rewards]]
    """PPO maximises the weighted sum of these. Left out: the reward model trained in this run; without one too, PPO learns from `ppo.teacher` alone."""
    evaluation: NotRequired[EvaluationSpec]
    """The comparison at the end, and in the loop."""
    health: NotRequired[HealthSpec]
    """The limits on PPO's metrics, and the action when one is passed."""
    hang: NotRequired[HangSpec]
    """The watch for phases of the run that hang."""
    checkpoints: NotRequired[CheckpointSpec]
    runtime: NotRequired[RuntimeSpec]
    resources: NotRequired[ResourcesSpec]
    """How many processes, on how many machines, and on which workers."""
    tracking: NotRequired[TrackingSpec]
    """Trackers that the metrics also go to."""
    seed: NotRequired[int]
    """Seeds data order, initial weights and sampling. On a CPU the same spec and seed give the same bits."""
    seeds: NotRequired[int]
    """Number of whole runs, one after the other, with `seed`, `seed` + 1, …: the summary holds each figure's mean and interval, and which seeds collapsed."""


class PlatformProject(TypedDict):
    """A project with its use of the platform."""

    object: Literal["platform.project"]
    """Always `platform.project`."""
    id: str
    """The project's id."""
    name: str
    """The project's name."""
    created_at: str
    """When it was made."""
    members: int
    """Number of its members."""
    own_limits: list[str]
    """The names of the limits that differ from the platform's defaults, or were set for it."""
    usage: Usage
    """Its limits, the defaults included, and its use."""


class PlatformProjectList(TypedDict):
    """Everything that shares the workers."""

    object: Literal["list"]
    """Always `list`."""
    data: list[PlatformProject]
    """The items of this page."""
    has_more: bool
    """Whether more follow."""
    first_id: str | None
    """Cursor of the first item."""
    last_id: str | None
    """Cursor of the last item: the next page's `after`."""


class Report(TypedDict):
    """A report on the quality of a dataset version."""

    object: Literal["dataset.report"]
    """Always `dataset.report`."""
    id: str
    """Begins with `rep_`."""
    dataset_id: str
    """The dataset."""
    version: int
    """Number of the version."""
    status: TaskStatus
    """`queued`, `running`, then `succeeded`, `failed` or `cancelled`."""
    progress: DataProgress | None
    """Progress while the report is being made; else null."""
    settings: dict[str, Any]
    """The requested settings. Settings that are missing have their default."""
    result: ReportResult | None
    """Null until the report is done."""
    error: DatasetError | None
    """Why the report failed; else null."""
    created_at: str
    """When the report was first requested."""


class ReportList(TypedDict):
    """Reports, newest first."""

    object: Literal["list"]
    """Always `list`."""
    data: list[Report]
    """The items of this page."""
    has_more: bool
    """Whether more follow."""
    first_id: str | None
    """Cursor of the first item."""
    last_id: str | None
    """Cursor of the last item: the next page's `after`."""


class Validation(TypedDict):
    """A check of a job spec on the stored datasets and models, without training."""

    object: Literal["job.validation"]
    """Always `job.validation`."""
    id: str
    """Begins with `validation_`."""
    status: TaskStatus
    """`queued`, `running`, then `succeeded`, `failed` or `cancelled`."""
    progress: DataProgress | None
    """Progress while the check runs; else null."""
    blocked: bool | None
    """Whether a finding is blocking, so that the job would be refused; null until the check has succeeded."""
    spec: JobSpec
    """The spec with all defaults filled in. It names each dataset by the hash of its rows."""
    findings: list[JobFinding] | None
    """The findings of the check, blocking ones first; null until it has succeeded."""
    result: ValidationResult | None
    """The findings again, with the figures of the run; null until the check has succeeded."""
    time: RunTime | None
    """The expected time by your earlier runs up to now; null until the check has succeeded."""
    error: JobError | None
    """Why the check itself failed; else null."""
    requested_at: str
    """When the check was requested."""
    finished_at: str | None
    """When it ended."""


class Worker(TypedDict):
    """A worker that is online, or one that has stopped and stays cordoned."""

    object: Literal["worker"]
    """Always `worker`."""
    id: str
    """Begins with `wrk_`. Each process of a worker has a new one."""
    name: str
    """Its name, from `PROXIMAL_WORKER_NAME`, which stays when the process restarts. Empty: a worker of an older release, or one whose machine you may not know."""
    hostname: str
    """The machine it runs on. Empty unless your key is an operator's, or the worker runs a job of your project."""
    state: WorkerState
    """`cordoned`: it takes no new job. `draining`: it also gives back the job that it runs."""
    offline: bool
    """Whether it has stopped. It is listed because it stays cordoned or drained when it starts again. `uncordon` ends that."""
    job_id: str | None
    """The job that it runs; null if it is idle, or if the job belongs to another key."""
    busy: bool
    """Whether it runs a job, also of another key."""
    worker_class: str
    """Workers of one class can run the same jobs. Empty: a worker of an older release."""
    gpus: list[WorkerGpu]
    """The GPUs that its jobs use."""
    cores: int
    """Cores that it may use; 0: unknown."""
    memory_bytes: int
    """Memory of its machine; 0: unknown."""
    labels: list[str]
    """Its labels, from `PROXIMAL_LABELS`."""
    launcher: Literal["local", "slurm", "kubernetes"]
    """Where it runs its jobs: on its machine, as batch jobs of Slurm, or as Jobs of Kubernetes."""
    problem: str | None
    """Why it takes no jobs at present, as a sentence; null if it takes some."""
    cluster: WorkerCluster | None
    """The cluster that it submits to; null for a worker without one, if the cluster has never responded, or if you may not know it."""
    version: str
    """Version of the platform that it runs; empty: unknown."""
    started_at: str
    """When it was first seen."""
    last_seen_at: str
    """Time of its last heartbeat."""


class WorkerList(TypedDict):
    """The workers that are online, then those that have stopped and stay cordoned."""

    object: Literal["list"]
    """Always `list`."""
    data: list[Worker]
    """The items of this page."""
    has_more: bool
    """Whether more follow."""
    first_id: str | None
    """Cursor of the first item."""
    last_id: str | None
    """Cursor of the last item: the next page's `after`."""


class AnnotationContinuation(TypedDict):
    """The job that `POST …/continue` would submit."""

    object: Literal["annotation.continuation"]
    """Always `annotation.continuation`."""
    spec: JobSpec
    """Spec of the new job."""
    sentences: list[str]
    """Description of the new job, for people."""


class Job(TypedDict):
    """A job with its spec."""

    object: Literal["job"]
    """Always `job`."""
    id: str
    """Begins with `job_`."""
    name: str
    """For people. `PATCH /v1/jobs/{job_id}` changes it; the name in the spec stays as it was submitted."""
    external_id: str | None
    """The id that was given at its creation; null without one."""
    tags: list[str]
    """Labels, in lower case and without duplicates."""
    metadata: dict[str, str]
    """Texts by key, for programs."""
    parent: JobParent | None
    """The job that it was made from; null for one that was submitted."""
    group: JobGroupPlace | None
    """The group that it is in; null without one."""
    model: str | None
    """`model.path` of the spec, at most 400 characters; null for a new model."""
    model_name: str | None
    """The stored checkpoint that `model` names, in words, such as `"First", PPO step 40`; null for another model."""
    submitted_by: str | None
    """Name of the API key at the submission; null if it is unknown."""
    status: JobStatus
    """State of the job."""
    priority: Literal["low", "normal", "high"]
    """Priority class of the job in the queue."""
    preemptible: bool
    """Whether the platform may pause it for a more urgent job. It continues when a worker is free."""
    status_reason: str
    """Reason of the last transition, for people."""
    queue_reason: str | None
    """Why a queued job waits, or a started one that waits in the queue of a cluster; null otherwise."""
    queue: QueuePlaceView | None
    """The place of a queued job; null in other states."""
    created_at: str
    """When it was submitted."""
    started_at: str | None
    """When a worker first claimed it."""
    finished_at: str | None
    """When it ended."""
    archived_at: str | None
    """When it was archived; null for a job in the default list."""
    metrics_thinned_at: str | None
    """When the platform deleted the exact steps of its metrics, which then come in buckets; null while it has every step."""
    stage: str | None
    """The current or last stage; null before the first."""
    progress: Progress | None
    """Null until the trainer has reported its plan."""
    attempt: int
    """Number of attempts so far."""
    gpu_hours: float
    """GPU-hours of all attempts, those of a running one until now. A process on a worker without a GPU counts as one."""
    health: JobHealth | None
    """The gravest finding of the health rules and the warnings of the run; null without one."""
    error: JobError | None
    """Why the job failed; null in other states."""
    summary: dict[str, float] | None
    """Main results of a run that succeeded; null otherwise. With several seeds, each figure is the mean over the seeds that came to an end, `<figure>_low` and `<figure>_high` are its 95 % interval, and `seeds`, `collapsed_seeds` and `failed_seeds` are counts."""
    latest_metrics: dict[str, float]
    """The newest value of each metric of the current stage, by name; empty before its first step. With several seeds, those of the seed that runs, and in the end the mean over those that did not fail. The step of the best checkpoint and bounds of intervals then have none."""
    reward_sparkline: list[float]
    """Mean score in the course of PPO, at most 60 numbers; empty without PPO. With several seeds, the mean over those that have not failed, or over all if each one has."""
    etag: str
    """Changes with what requests can change. Send it as `If-Match` to keep a request from overwriting another change."""
    shown: dict[str, Any]
    """The columns that `show` of the request names, by name: null where the job has no value. Empty without `show`."""
    folded: FoldedGroup | None
    """With `fold`, the jobs of its group that this job stands for; null for a job that stands for itself alone."""
    actions: list[
        Literal[
            "pause",
            "resume",
            "cancel",
            "retry",
            "command",
            "clone",
            "branch",
            "extend",
            "archive",
            "unarchive",
            "delete",
        ]
    ]
    """The requests that the state of the job allows, by their names under `/v1/jobs/{job_id}`. `command`: its knobs can be changed."""
    notes: str
    """Text for people."""
    spec: JobSpec
    """The spec with all defaults filled in."""
    seeds: list[SeedResult]
    """The seeds of a job with several, in order, each with its own figures; empty for a job with one seed."""
    seeds_summary: dict[str, float] | None
    """The figures of `summary` over the seeds that are done so far; null before the first, and for a job with one seed."""
    inputs: list[JobInput]
    """The datasets and checkpoints that the spec names, each with a name for people."""
    children: dict[str, int]
    """Numbers of the jobs made from this one, by `relation`. `GET /v1/jobs/{job_id}/lineage` lists them."""


class JobBatch(TypedDict):
    """Jobs that a request names."""

    object: Literal["job.batch"]
    """Always `job.batch`."""
    data: list[Job]
    """The jobs, in the order of the request."""
    missing: list[str]
    """The ids of which there is no job."""
