"""Checks of the models, rewards and judges that a spec names besides its own model.

No model is loaded. Endpoints are called only with `ScoringInputs.ask`.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from data.splits import prompt_key, prompt_text
from trainer.errors import ModelError, RewardError, SpecError, TrainerError
from trainer.models import load_config, load_tokenizer
from trainer.models.adapters import is_adapter
from trainer.models.adapters import read as read_adapter
from trainer.models.folders import located
from trainer.models.members import levels_of, mismatch
from trainer.preflight.memory.fake_models import is_linear
from trainer.preflight.memory.residents import NamedScorers
from trainer.preflight.own_model import absent, config_of, finding, is_elsewhere, local, weights_of
from trainer.preflight.report import EXIT_STATUS, Area, Finding
from trainer.rewards import Missing, RewardContext, RewardInput, build, check_answers, judges
from trainer.rewards.build import KINDS, check
from trainer.rewards.http import Endpoint
from trainer.rewards.judges import ComparingJudge
from trainer.rewards.plugin import load_entry_point
from trainer.run_data import Data
from trainer.spec import HttpJudge, HttpReward, JobSpec, RewardSpec, reward_names
from trainer.spec.named_resources import NamedPath, named_paths
from trainer.spec.rewards import Scorer
from trainer.stages.model_plan import critic_start_path
from trainer.stages.tokenize import TokenizedData
from trainer.text.codec import Codec, embedding_rows, same_vocabulary

_SHOWN = 80
"""Characters of a prompt or a response that a message repeats."""


@dataclass(frozen=True)
class ScoringInputs:
    """The parts of a run that the checks of its rewards and judges read."""

    context: RewardContext | None
    """None where the job's own model could not be read."""
    encoded: TokenizedData | None
    """None where the data or the model could not be read."""
    downloads: bool = False
    """Fetch the configuration and the tokenizer of a model on the hub. False: a model that is not here is not checked."""
    elsewhere: bool = False
    """Whether the run is for another machine: a model that is not here may be there."""
    ask: bool = False
    """Send each endpoint one request, about `example`."""
    example: RewardInput | None = None
    """A response from the data; None where the data has no prompt that fits."""


def check_scorers(spec: JobSpec, inputs: ScoringInputs) -> Iterator[Finding]:
    """Findings about every model that the spec names besides its own, every reward and every judge."""
    unusable = set()
    for named in named_paths(spec):
        if named.is_model and named.pointer != "#/model/path" and _is_used(spec, named.pointer):
            found = list(_model(named, inputs, spec.reward_model.members))
            if found:
                unusable.add(named.pointer)
            elif named.pointer == "#/ppo/teacher/path" and inputs.encoded is not None:
                found = list(_context_of_teacher(named, spec, inputs.encoded))
            yield from found
    for where, name, scorer in _scorers(spec):
        if not any(pointer.startswith(f"{where}/") for pointer in unusable):
            yield from _reported(where, _scorer(where, name, scorer, spec, inputs))
    if inputs.encoded is not None:
        yield from _reported("#/data/prompts", _answers(spec, inputs.encoded), code="answers_missing")


def named_scorers(spec: JobSpec, codec: Codec) -> NamedScorers:
    """The models of the rewards and judges that are on this machine. Raises ModelError for one that cannot be read."""

    def reads_policy_tokens(path: str) -> bool:
        return local(path) is not None and same_vocabulary(load_tokenizer(path), codec.tokenizer)

    teacher = spec.ppo.teacher if "ppo" in spec.stages else None
    folder = None if teacher is None else local(teacher.path)
    config = None if folder is None else config_of(folder)
    return NamedScorers(_scorer_weights(spec), critic_start_path(spec, reads_policy_tokens), config)


def _scorer_weights(spec: JobSpec) -> int:
    """Bytes of the models that score.

    Classifiers are held in the model's dtype. Reward models hold only their linear layers in it, the rest in float32.
    """
    small = 4 if spec.model.dtype == "float32" else 2
    total = 0
    for named in named_paths(spec):
        labels = "ppo" in spec.stages and named.at[:3] == ("ppo", "online", "label_by")
        scores = named.at[0] == "rewards" or named.at[:2] == ("evaluation", "judge") or labels
        if scores and named.is_model and (folder := local(named.value)) is not None:
            others = 4 if named.kind == "reward_model" else small
            total += sum(
                math.prod(shape) * (small if is_linear(name, len(shape)) else others)
                for name, shape in weights_of(folder).items()
            )
    return total


def example_of(loaded: Data, codec: Codec) -> RewardInput | None:
    """A prompt of the data with its `answer` and a response, as a reward sees them; None without a prompt that fits.

    The response is the demonstration of that prompt. Where no prompt has one, it is the prompt's own `answer`, else
    another prompt's demonstration, else the prompt's text.
    """
    rows = [row for row in (*loaded.prompts.train, *loaded.prompts.held_out) if codec.prompt(row.prompt) is not None]
    if not rows:
        return None
    shown = [*loaded.demonstrations.train, *loaded.demonstrations.held_out]
    shown_of = {prompt_key(item.prompt): item.completion for item in reversed(shown)}
    row = next((row for row in rows if prompt_key(row.prompt) in shown_of), rows[0])
    another = shown[0].completion if shown else prompt_text(row.prompt)
    response = shown_of.get(prompt_key(row.prompt), row.answer or another)
    ids, whole = codec.completion(response)
    return RewardInput(row.prompt, codec.prompt(row.prompt) or [], ids, response, whole, row.answer)


def _reported(where: str, findings: Iterator[Finding], code: str = "scorer") -> Iterator[Finding]:
    """The findings, and an error of the trainer's as one more."""
    try:
        yield from findings
    except TrainerError as error:
        yield Finding(level="error", area=_area(error), code=code, where=where, detail=str(error))


def _area(error: TrainerError) -> Area:
    """The area with the error's exit status; "model" for errors that have none, such as an endpoint's."""
    areas: tuple[Area, ...] = ("spec", "data")
    return next((area for area in areas if EXIT_STATUS[area] == error.exit_status), "model")


def _is_used(spec: JobSpec, pointer: str) -> bool:
    """Whether a stage of the run reads the model of this field."""
    section, stages = pointer.split("/")[1], set(spec.stages)
    if pointer == "#/evaluation/against":
        return "evaluation" in stages
    return bool({"ppo", "evaluation"} & stages) if section in ("rewards", "evaluation") else section in stages


def _model(named: NamedPath, inputs: ScoringInputs, members: int) -> Iterator[Finding]:
    """Problems of one named model: it is not on this machine, cannot be read, or has other tokens than the policy."""
    try:
        if is_elsewhere(named.value, inputs.elsewhere):
            yield absent(named.value, named.pointer, inputs.elsewhere)
            return
        folder = located(named.value) if inputs.downloads else local(named.value)
        if folder is None:
            yield absent(named.value, named.pointer, inputs.elsewhere)
            return
        config_of(folder)
        if Path(named.value).is_dir() or not inputs.downloads:
            weights_of(folder)
        if not named.pointer.startswith(("#/rewards", "#/evaluation/judge", "#/ppo/online")) and inputs.context:
            _check_tokens(named.value, inputs.context.codec)
        if named.pointer == "#/reward_model/path":
            _check_members(named.value, members)
    except TrainerError as error:
        yield finding("error", "invalid_model", named.pointer, str(error))


def _check_members(path: str, members: int) -> None:
    """Raise ModelError for a reward model with another number of members than `reward_model.members`."""
    folder = located(path)
    levels = read_adapter(folder).levels if is_adapter(folder) else levels_of(load_config(path))
    if (len(levels) or 1) != members:
        raise ModelError(f"{path}: {mismatch(len(levels) or 1, members)}")


def _context_of_teacher(named: NamedPath, spec: JobSpec, encoded: TokenizedData) -> Iterator[Finding]:
    """An error for a teacher that cannot read the longest prompt with the longest response."""
    context = getattr(load_config(named.value).get_text_config(), "max_position_embeddings", None)
    prompts = [*encoded.prompts, *encoded.held_out_prompts]
    response = max(spec.ppo.max_new_tokens, spec.evaluation.max_new_tokens or 0)
    tokens = max((len(prompt.ids) for prompt in prompts), default=0) + response
    if context is not None and tokens > context:
        detail = f"The longest prompt and response together: {tokens} tokens, but the teacher's context is {context}."
        fix = "Lower `data.max_prompt_tokens` or `ppo.max_new_tokens`."
        yield finding("error", "context", named.pointer, detail, fix)


def _check_tokens(path: str, codec: Codec) -> None:
    """Raise ModelError for a model that cannot read the policy's token ids."""
    tokenizer, size = load_tokenizer(path), load_config(path).get_text_config().vocab_size
    if not same_vocabulary(tokenizer, codec.tokenizer):
        raise ModelError(f"{path} has another tokenizer than the policy, so it cannot read the policy's tokens.")
    if embedding_rows(tokenizer) > size:
        raise ModelError(f"{path}: its tokenizer has {embedding_rows(tokenizer)} tokens, the model only {size}.")


def _scorers(spec: JobSpec) -> Iterator[tuple[str, str, Scorer | str]]:
    """Pointer, name in messages, and value of each reward and judge that a stage uses."""
    if {"ppo", "evaluation"} & set(spec.stages):
        for number, (name, reward) in enumerate(zip(reward_names(spec.rewards), spec.rewards, strict=True)):
            yield f"#/rewards/{number}", f"Reward `{name}`", reward
        if spec.evaluation.judge is not None:
            yield "#/evaluation/judge", "Judge", spec.evaluation.judge
    if "ppo" in spec.stages and spec.ppo.online is not None and spec.ppo.online.label_by is not None:
        yield "#/ppo/online/label_by", "Judge", spec.ppo.online.label_by


def _scorer(where: str, name: str, scorer: Scorer | str, spec: JobSpec, inputs: ScoringInputs) -> Iterator[Finding]:
    """Findings about one reward or judge. Raises the TrainerError that the run would raise."""
    if isinstance(scorer, str):
        load_entry_point(judges.GROUP, scorer, "judge")
        return
    if scorer.is_trained_in_run:
        if "reward_model" not in spec.stages:
            raise SpecError(f"{name} is a model without `path`, but `stages` trains none.")
        return
    if inputs.context is not None:
        try:
            if isinstance(scorer, HttpJudge):
                judges.load_judge(scorer, inputs.context)
            elif type(scorer) in KINDS:
                check(scorer, inputs.context)  # type: ignore[arg-type]  # the table has every kind
        except TrainerError as error:
            raise type(error)(f"{name}: {error}") from error
    if isinstance(scorer, HttpReward | HttpJudge):
        yield _asked(where, scorer, inputs)


def _asked(where: str, scorer: HttpReward | HttpJudge, inputs: ScoringInputs) -> Finding:
    """A finding with the endpoint's reply, or the reason why it was not called."""
    if not inputs.ask:
        advice = "`--ask-endpoints` asks it about a response from the data."
        return finding("info", "not_asked", where, f"{scorer.url} was not asked.", advice)
    if inputs.context is None or inputs.example is None:
        return finding("info", "not_asked", where, f"{scorer.url} was not asked: the data gives no prompt to ask with.")
    return finding("info", "asked", where, _ask(scorer, inputs.context, inputs.example))


def _ask(scorer: HttpReward | HttpJudge, context: RewardContext, example: RewardInput) -> str:
    """Send one request, without retries, and describe the reply. A judge compares the response with itself."""
    once = scorer.model_copy(update={"retries": 0})
    about = f'for the response "{_short(example.text)}" to "{_short(prompt_text(example.prompt))}"'
    try:
        if isinstance(once, HttpJudge):
            judge = ComparingJudge(once, Endpoint(once.url, once.timeout, 0, context.notify))
            _value_of(*judge.points([example], [example]))
            return f"{scorer.url} answers. It was asked to compare a response with itself."
        (values,) = build([once], context).score([example]).parts.values()
        return f"{scorer.url} gave {_value_of(*values):g} {about}."
    except RewardError as error:
        reason = str(error)
        reason = reason if scorer.url in reason else f"{scorer.url}: {reason}"
        raise type(error)(f"{reason} It was asked {about}.") from error


def _value_of(value: float | Missing) -> float:
    """Raise RewardError for an endpoint without a value."""
    if isinstance(value, Missing):
        raise RewardError(f"{value.reason}.")
    return value


def _answers(spec: JobSpec, encoded: TokenizedData) -> Iterator[Finding]:
    """Raises DataError where a reward or a judge reads the prompts' `answer` and some prompts have none."""
    if not {"ppo", "evaluation"} & set(spec.stages):
        return
    trained_on = encoded.prompts if "ppo" in spec.stages else []
    check_answers(spec.scoring, [*trained_on, *encoded.held_out_prompts])
    judge = spec.evaluation.judge
    for source, asked in (
        (judge, encoded.held_out_prompts),
        (spec.ppo.online and (spec.ppo.online.label_by or judge), trained_on),
    ):
        if source is not None and type(source) in KINDS:
            kind: RewardSpec = source  # type: ignore[assignment]  # the table has rewards alone
            check_answers([kind], asked, role="Judge")
    yield from ()


def _short(text: str) -> str:
    """The beginning of a text on one line."""
    plain = " ".join(text.split())
    return plain if len(plain) <= _SHOWN else f"{plain[:_SHOWN]}…"
