"""Rewards and judges, each kind with its fields. They are declarative: a spec carries no code.

A new reward kind is a class here and in `_AnyReward`, and an implementation in trainer/rewards/ with an entry in `KINDS`.
"""

import re
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, JsonValue, field_validator, model_validator

from trainer.spec.facts import ANYTIME, Names
from trainer.spec.json_schemas import schema_problem, with_floats
from trainer.spec.section import Fraction, NonNegative, Path, Positive, PositiveInt, Section

MissingCause = Literal["time_out", "refusal", "bad_output", "crash", "unreachable"]
"""Why a reward or a judge has no value: it did not respond in time, refused, returned no usable number, failed, or is away."""
DEFAULT_MAX_MISSING = 0.05


class Scorer(Section):
    """Base of rewards and judges."""

    @property
    def is_trained_in_run(self) -> bool:
        """Whether this is the reward model that the run itself trains."""
        return False


class RewardBase(Scorer):
    """The fields of every reward."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9_]{1,40}$")] | None = None
    """Name under which it is logged (`reward/<name>`). Left out: its type, numbered if there are several."""
    weight: float = 1.0
    """The run's score is the weighted sum of its rewards; a negative weight penalises."""


class FallibleReward(RewardBase):
    """The fields of every reward that may have no value for a response."""

    max_missing: Annotated[Fraction, ANYTIME] = DEFAULT_MAX_MISSING
    """Largest share of responses without a value from this reward, over its last 1000 responses (fewer than 200 count as 200). Above it the job pauses. Such a response takes part in no mean and no gradient. 0 pauses at the first one, 1 never."""


Combination = Literal["mean_minus_std", "mean_minus_variance", "worst", "mean"]
"""How the scores of an ensemble become one."""


class RewardMember(Section):
    """A reward model of an ensemble."""

    path: Annotated[Path, Names("reward_model")]
    """Hub id, folder or checkpoint of a reward model with the policy's tokenizer and chat template."""


class StepwiseReward(FallibleReward):
    """The fields of every reward that may score the steps of a response."""

    step_delimiter: Annotated[str, Field(min_length=1, max_length=40)] | None = None
    """Text that separates the steps of a response, such as a line break. The reward then scores each step, and PPO takes the score on the last token of the step. Parts of white space are no steps. Left out: the response is scored as a whole."""


class ModelReward(StepwiseReward):
    """A trained reward model, read at the EOS, or with `step_delimiter` at the end of each step, or an ensemble of them: the members of one model, or several models."""

    type: Literal["model"] = "model"
    """Which reward this is."""
    path: Annotated[Path | None, Names("reward_model")] = None
    """Hub id, folder or checkpoint of a reward model. With a tokenizer other than the policy's, responses are decoded and encoded again with its own chat template. Left out: the one trained in this run."""

    members: tuple[RewardMember, ...] = ()
    """Several reward models as one ensemble, in place of `path`. Each should be normalised by its own run: a difference of their levels would count as disagreement."""
    combine: Combination = "mean_minus_std"
    """How the scores rₘ of an ensemble become one, with s their population standard deviation. `mean_minus_std`: r̄ − penalty·s. `mean_minus_variance`: r̄ − penalty·s² (UWO of Coste et al. 2023). `worst`: min rₘ (their WCO). `mean`: r̄."""
    penalty: NonNegative = 1.0
    """Weight of the disagreement of an ensemble, which grows where the policy leaves the data of the reward models."""
    step_output: Literal["probability", "log_probability", "logit"] = "probability"
    """The reward of a step, with `step_delimiter`, from the score r of a stepwise reward model. `probability`: σ(r), that the step is good; more steps earn more. `log_probability`: log σ(r), whose sum over the steps is the log of the probability that all are good (Lightman et al. 2023, §2.6). `logit`: r itself, negative for a bad step."""

    @model_validator(mode="after")
    def _names_one_ensemble(self) -> "ModelReward":
        paths = self.paths
        if self.path is not None and self.members:
            raise ValueError("give either `path` or `members`, not both")
        if self.members and len(set(paths)) < max(2, len(paths)):
            raise ValueError("`members` needs two or more different reward models: equal ones never disagree")
        if self.step_delimiter is None:
            self.refuse_idle(["step_output"], "without `step_delimiter`: the response has one score")
        elif self.members:
            raise ValueError(
                "`members` with `step_delimiter`: the disagreement of an ensemble is defined for one score of a response, not for "
                "each step. Name each model as a reward of its own"
            )
        else:
            self.refuse_idle_combination("with `step_delimiter`, which takes one reward model")
        if self.combine in ("worst", "mean"):
            self.refuse_idle(["penalty"], f'with `combine` = "{self.combine}"')
        return self

    @property
    def is_trained_in_run(self) -> bool:
        return self.path is None and not self.members

    @property
    def paths(self) -> tuple[str, ...]:
        """The reward models that are loaded; empty for the one trained in this run."""
        return tuple(member.path for member in self.members) if self.path is None else (self.path,)

    def refuse_idle_combination(self, because: str) -> None:
        """Raise ValueError for a combination, which a single reward model has no use for."""
        self.refuse_idle(["combine", "penalty"], because)


class ClassifierReward(FallibleReward):
    """Any sequence classifier: the probability, log-probability or logit of one of its labels."""

    type: Literal["classifier"]
    """Which reward this is."""
    path: Annotated[Path, Names("classifier")]
    """Hub id or folder of a sequence-classification model with its tokenizer."""
    label: str | int | None = None
    """Label whose value is the reward, by name or number. Left out: the only one, or the last of several."""
    output: Literal["logit", "probability", "log_probability"] = "logit"
    """The output that is read: the raw logit, the softmax (sigmoid for one label) probability, or its logarithm."""
    text: Literal["response", "prompt_and_response", "pair"] = "prompt_and_response"
    """Input of the classifier. `response`: the response alone. `prompt_and_response`: both as one text, by its chat template if it has one. `pair`: both as a pair of texts with its separator between them."""


class ExactMatchReward(RewardBase):
    """1 where the response equals the prompt's `answer`, else 0."""

    type: Literal["exact_match"]
    """Which reward this is."""
    ignore_case: bool = False
    """Compare without regard to case."""
    ignore_whitespace: bool = True
    """Strip both sides and take runs of white space for one space."""


class NumericMatchReward(RewardBase):
    """1 if the response's final number equals the prompt's `answer`, else 0. By GSM8K's conventions, that is the number after `####`, else the last one. Commas, currency and percent signs are ignored."""

    type: Literal["numeric_match"]
    """Which reward this is."""
    tolerance: NonNegative = 1e-6
    """Largest absolute difference that still counts as equal."""
    format_credit: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """Reward of a wrong number that at least follows `####`."""


class RegexReward(StepwiseReward):
    """1 where the response matches a pattern, else 0. With `step_delimiter`, for each step."""

    type: Literal["regex"]
    """Which reward this is."""
    pattern: Annotated[str, Field(min_length=1, max_length=2000)]
    """A Python regular expression."""
    whole: bool = False
    """Match the whole response (or step), not a part of it."""

    @field_validator("pattern")
    @classmethod
    def _compiles(cls, pattern: str) -> str:
        try:
            re.compile(pattern)
        except (re.error, OverflowError, RecursionError) as error:
            raise ValueError(f"not a regular expression: {error}") from error
        return pattern


class JsonSchemaReward(FallibleReward):
    """1 where the response is JSON that a schema accepts, else 0."""

    type: Literal["json_schema"]
    """Which reward this is."""
    json_schema: dict[str, JsonValue]
    """A JSON schema (draft 2020-12). Its references lead to its own parts, as `#/$defs/name`."""

    @field_validator("json_schema", mode="before")
    @classmethod
    def _as_written(cls, schema: Any) -> Any:
        return with_floats(schema)

    @field_validator("json_schema")
    @classmethod
    def _is_usable(cls, schema: dict[str, JsonValue]) -> dict[str, JsonValue]:
        try:
            problem = schema_problem(schema)
        except ImportError:  # the run then stops with advice, if it is to use the reward here
            return schema
        if problem:
            raise ValueError(problem)
        return schema


class LengthReward(RewardBase):
    """−|length − target| ÷ target: 0 at the target length, −1 for an empty response."""

    type: Literal["length"]
    """Which reward this is."""
    target: PositiveInt
    """The target length."""
    unit: Literal["tokens", "words", "characters"] = "tokens"
    """The unit of the length. An EOS is not counted."""


class LexiconReward(RewardBase):
    """Sentiment by a lexicon of words with valences: Σ / √(Σ² + 15), in −1 to 1 (VADER's normalisation, Hutto and Gilbert 2014, without its grammar rules)."""

    type: Literal["lexicon"]
    """Which reward this is."""
    path: Annotated[Path | None, Names("file")] = None
    """A text file with a word and its valence on each line, tab-separated (VADER's format; further columns are ignored)."""
    words: dict[str, float] | None = None
    """The words themselves, in place of `path`."""

    @model_validator(mode="after")
    def _one_source(self) -> "LexiconReward":
        if (self.path is None) == (self.words is None):
            raise ValueError("give either `path` or `words`, not both and not neither")
        return self


class HttpReward(StepwiseReward):
    """A remote endpoint: POST {"items": [{"prompt", "response", "answer", "finished"}, …]} returns {"scores": [number, …]}. In place of a number it may give a list of one number for each token of the response, or {"missing": cause} for a response without a value."""

    type: Literal["http"]
    """Which reward this is."""
    url: Annotated[str, Field(pattern=r"^https?://", max_length=2000), Names("url")]
    """Address of the endpoint."""
    batch_size: PositiveInt = 64
    """Responses per request."""
    timeout: Positive = 60.0
    """Seconds for one request."""
    retries: Annotated[int, Field(ge=0, le=20)] = 4
    """Further tries after a timeout, a broken connection, a 429 or a 5xx, waiting 0.5, 1, 2, 4 … (at most 60) seconds in between."""
    protocol: Literal["proximal", "openrlhf"] = "proximal"
    """The form of request and response. `proximal`: the one above. `openrlhf`: {"query": [prompt and response, …], "prompts": [prompt, …], "labels": [answer, …]} and {"rewards": [number, …]}, texts with their special tokens, as OpenRLHF's remote reward models have it."""
    send_tokens: bool = False
    """Send the texts of each response's tokens too (`tokens`), for an endpoint that gives one number for each token."""

    @model_validator(mode="after")
    def _lists_mean_one_thing(self) -> "HttpReward":
        if self.step_delimiter is not None:
            self.refuse_idle(
                ["send_tokens"], "with `step_delimiter`: a list in place of a number then has one number for each step"
            )
        return self


class PluginReward(StepwiseReward):
    """A reward that the operator installed, under the entry-point group `proximal.rewards`."""

    type: Literal["plugin"]
    """Which reward this is."""
    plugin: Annotated[str, Field(min_length=1)]
    """Its entry-point name."""
    options: dict[str, JsonValue] = Field(default_factory=dict)
    """Handed to the plug-in as keyword arguments."""


class HttpJudge(Scorer):
    """A remote endpoint that compares: POST {"items": [{"prompt", "a", "b"}, …]} returns {"preferred": ["a" | "b" | "tie", …]}. Each pair is asked twice, the sides swapped; answers that contradict each other are a tie. In place of a verdict it may give {"missing": cause}."""

    type: Literal["http_judge"]
    """Which judge this is."""
    url: Annotated[str, Field(pattern=r"^https?://", max_length=2000), Names("url")]
    """Address of the endpoint."""
    max_missing: Annotated[Fraction, ANYTIME] = DEFAULT_MAX_MISSING
    """Largest share of pairs without a verdict, over the last 1000 pairs (fewer than 200 count as 200). Above it the job pauses. Such a pair counts in no win rate. 0 pauses at the first one, 1 never."""
    batch_size: PositiveInt = 32
    """Pairs per request."""
    timeout: Positive = 120.0
    """Seconds for one request."""
    retries: Annotated[int, Field(ge=0, le=20)] = 4
    """Further tries after a timeout, a broken connection, a 429 or a 5xx, waiting 0.5, 1, 2, 4 … (at most 60) seconds in between."""


_AnyReward = (
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
"""Every reward kind. `KINDS` in trainer/rewards/build.py names the implementation of each."""
RewardSpec = Annotated[_AnyReward, Field(discriminator="type")]
JudgeSpec = Annotated[_AnyReward | HttpJudge, Field(discriminator="type")]


def reward_names(rewards: Sequence[RewardSpec]) -> list[str]:
    """The name of each reward: its own, else its type, numbered where that is taken."""
    names: list[str] = []
    for reward in rewards:
        name = base = reward.name or reward.type
        number = 1
        while name in names:
            number += 1
            name = f"{base}_{number}"
        names.append(name)
    return names
