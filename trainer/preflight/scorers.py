"""Rewards and judges: whether what they need is here. Models are not loaded, endpoints asked only where that is wanted."""

import math
from collections.abc import Iterator

from data.splits import prompt_key, prompt_text
from trainer.errors import ModelError, RewardError, SpecError, TrainerError
from trainer.models import load_config, load_tokenizer
from trainer.models.adapters import is_adapter
from trainer.preflight.memory.fake_models import is_linear
from trainer.preflight.own_model import config_of, finding, local, weights_of
from trainer.preflight.report import EXIT_STATUS, Area, Finding
from trainer.rewards import RewardContext, RewardInput, judges
from trainer.rewards.build import build
from trainer.rewards.check import check_answers
from trainer.rewards.http import GOES_ON, Endpoint
from trainer.rewards.judges import GROUP as JUDGES
from trainer.rewards.judges import ComparingJudge
from trainer.rewards.models import label_number
from trainer.rewards.plugin import GROUP, load_entry_point
from trainer.run_data import Data
from trainer.spec import (
    ClassifierReward,
    HttpJudge,
    HttpReward,
    JobSpec,
    JudgeSpec,
    ModelReward,
    PluginReward,
    RewardSpec,
    reward_names,
)
from trainer.spec.named_resources import named_paths
from trainer.stages.model_factory import Assembly
from trainer.stages.tokenize import TokenizedData
from trainer.text.codec import Codec, TokenizedPrompt, embedding_rows, same_vocabulary

_HEAVY = (ModelReward, ClassifierReward, PluginReward, HttpReward, HttpJudge)
"""Not built here: their building loads models, runs what an operator installed, or goes over a network."""

_SHOWN = 80
"""Characters of a prompt or a response that a message repeats."""


def look(
    spec: JobSpec, context: RewardContext | None, loaded: Data | None = None, ask: bool = False
) -> Iterator[Finding]:
    """Findings of every reward and judge. `context` is None where the model could not be read, `loaded` where the data
    could not. With `ask`, remote ones are asked about one response from the data."""
    example = None if context is None or loaded is None or not ask else example_of(loaded, context.codec)
    for where, member in _members(spec):
        try:
            yield from _member(where, member, context, example, ask)
        except TrainerError as error:
            yield Finding(level="error", area=_area(error), code="scorer", where=where, detail=str(error))


def look_at_models(spec: JobSpec) -> Iterator[Finding]:
    """Every model that the spec names beside the job's own."""
    for named in named_paths(spec):
        if named.kind == "file" or named.pointer == "#/model/path" or not _used(spec, named.pointer):
            continue
        try:
            folder = local(named.value)
            if folder is None:
                detail = f"{named.value} is no folder here and not in the hub's cache: it could not be checked."
                yield finding("warning", "not_checked", named.pointer, detail)
                continue
            config_of(folder)
            weights_of(folder)
        except TrainerError as error:
            yield finding("error", "invalid_model", named.pointer, str(error))


def weights(spec: JobSpec) -> int:
    """Bytes of the reward models that the run only loads; 0 for those that are not here.

    All of a classifier is in the model's type, of a reward model the linear layers are.
    """
    small = 4 if spec.model.dtype == "float32" else 2
    total = 0
    for reward in [*spec.scoring, spec.evaluation.judge]:
        if isinstance(reward, ModelReward | ClassifierReward) and reward.path is not None:
            folder = local(reward.path)
            if folder is not None:
                others = 4 if isinstance(reward, ModelReward) else small
                total += sum(
                    math.prod(shape) * (small if is_linear(name, len(shape)) else others)
                    for name, shape in weights_of(folder).items()
                )
    return total


def _area(error: TrainerError) -> Area:
    """That with the exit status of the run; a model's is also that of what only a run finds out, such as no answer."""
    areas: tuple[Area, ...] = ("spec", "data")
    return next((area for area in areas if EXIT_STATUS[area] == error.exit_status), "model")


def _used(spec: JobSpec, pointer: str) -> bool:
    stage = pointer.split("/")[1]
    return stage not in ("reward_model", "ppo") or stage in spec.stages


def _members(spec: JobSpec) -> Iterator[tuple[str, object]]:
    if {"ppo", "evaluation"} & set(spec.stages):
        yield from ((f"#/rewards/{number}", reward) for number, reward in enumerate(spec.rewards))
        if spec.evaluation.judge is not None:
            yield "#/evaluation/judge", spec.evaluation.judge
    if "ppo" in spec.stages and spec.ppo.online is not None and spec.ppo.online.label_by is not None:
        yield "#/ppo/online/label_by", spec.ppo.online.label_by


def _member(
    where: str, member: object, context: RewardContext | None, example: RewardInput | None, ask: bool
) -> Iterator[Finding]:
    if isinstance(member, str):
        load_entry_point(JUDGES, member, "judge")
    elif isinstance(member, PluginReward):
        load_entry_point(GROUP, member.plugin, "plug-in")
    elif isinstance(member, HttpReward | HttpJudge):
        if context is not None and example is not None:
            yield finding("info", "asked", where, _ask(member, context, example))
        elif ask:
            yield finding(
                "info", "not_asked", where, f"{member.url} was not asked: the data gives no prompt to ask with."
            )
        else:
            advice = "`--ask-endpoints` asks it about a response from the data."
            yield finding("info", "not_asked", where, f"{member.url} was not asked.", advice)
    elif not isinstance(member, _HEAVY) and context is not None:
        build([member], context)  # type: ignore[list-item]


def example_of(loaded: Data, codec: Codec) -> RewardInput | None:
    """A prompt of the data with its `answer` and a response, as a reward would see them; None without a prompt that fits.

    The response is the demonstration of that prompt. Where no prompt has one it is the prompt's own `answer`, else another
    prompt's demonstration, else the prompt's text.
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


def _ask(member: HttpReward | HttpJudge, context: RewardContext, example: RewardInput) -> str:
    """Ask once, without further tries; what it answered. A judge compares the response with itself."""
    once = member.model_copy(update={"retries": 0})
    about = f'for the response "{_short(example.text)}" to "{_short(prompt_text(example.prompt))}"'
    try:
        if isinstance(once, HttpJudge):
            ComparingJudge(once, Endpoint(once.url, once.timeout, 0, context.notify)).points([example], [example])
            return f"{member.url} answers. It was asked to compare a response with itself."
        (score,) = build([once], context).score([example]).parts.popitem()[1]
        return f"{member.url} gave {score:g} {about}."
    except RewardError as error:
        said = str(error).replace(GOES_ON, "")  # there is no run to go on with
        said = said if member.url in said else f"{member.url}: {said}"
        raise type(error)(f"{said} It was asked {about}.") from error


def _short(text: str) -> str:
    """The beginning of a text on one line."""
    plain = " ".join(text.split())
    return plain if len(plain) <= _SHOWN else f"{plain[:_SHOWN]}…"


def check_places(assembly: Assembly, encoded: TokenizedData) -> None:
    """Raise what would end the run later: SpecError, ModelError or DataError, by the field that names the place."""
    spec, codec = assembly.spec, assembly.codec
    for field, path in _on_our_tokens(spec):
        _check_tokens(field, path, codec)
    rewards = [*spec.scoring] if {"ppo", "evaluation"} & set(spec.stages) else []
    if rewards:
        asked = encoded.prompts if "ppo" in spec.stages else []
        check_answers(rewards, [*asked, *encoded.held_out_prompts])
    for name, reward in zip(reward_names(rewards), rewards, strict=True):
        _check_scorer(f"Reward `{name}`", reward.model_copy(update={"name": name}), assembly)
    for field, judge, asked in _judges(spec, encoded):
        if judge is None or isinstance(judge, str | HttpJudge):
            judges.load_judge(judge, assembly.context())
        else:
            check_answers([judge], asked, role="Judge")
            _check_scorer(field, judge, assembly)


def _on_our_tokens(spec: JobSpec) -> list[tuple[str, str]]:
    """Models that read the policy's token ids."""
    named = (
        ("reward_model", "#/reward_model/path", spec.reward_model.path),
        ("ppo", "#/ppo/reference/path", spec.ppo.reference.path),
        ("evaluation", "#/evaluation/against", spec.evaluation.against),
    )
    return [(field, path) for stage, field, path in named if stage in spec.stages and path is not None]


def _check_tokens(field: str, path: str, codec: Codec) -> None:
    try:
        tokenizer, size = load_tokenizer(path), load_config(path).get_text_config().vocab_size
    except ModelError as error:
        raise ModelError(f"{field}: {error}") from error
    if not same_vocabulary(tokenizer, codec.tokenizer):
        raise ModelError(
            f"{field}: {path} has another tokenizer than the policy, so it cannot read the policy's tokens."
        )
    if embedding_rows(tokenizer) > size:
        raise ModelError(
            f"{field}: {path}: its tokenizer has {embedding_rows(tokenizer)} tokens, the model only {size}."
        )


def _judges(spec: JobSpec, encoded: TokenizedData) -> list[tuple[str, str | JudgeSpec | None, list[TokenizedPrompt]]]:
    """Each with the prompts whose answers it will see."""
    found: list[tuple[str, str | JudgeSpec | None, list[TokenizedPrompt]]] = []
    if {"ppo", "evaluation"} & set(spec.stages):
        found.append(("#/evaluation/judge", spec.evaluation.judge, encoded.held_out_prompts))
    if "ppo" in spec.stages and spec.ppo.online is not None:
        source = spec.ppo.online.label_by or spec.evaluation.judge
        found.append(("#/ppo/online/label_by", source, encoded.prompts))
    return found


def _check_scorer(what: str, spec: RewardSpec, assembly: Assembly) -> None:
    """What loads a model is only looked at; everything else is made once, and thrown away."""
    if isinstance(spec, ModelReward) and spec.path is None:
        if "reward_model" not in assembly.spec.stages:
            raise SpecError(f"{what} is a model without `path`, but `stages` trains none.")
    elif isinstance(spec, ModelReward | ClassifierReward):
        assert spec.path is not None  # a classifier must have one
        _check_scoring_model(what, spec, spec.path)
    else:
        build([spec], assembly.context())


def _check_scoring_model(what: str, spec: ModelReward | ClassifierReward, path: str) -> None:
    try:
        load_tokenizer(path)
        config = load_config(path)
        kinds = config.architectures or []
        if isinstance(spec, ClassifierReward):
            label_number(spec, config)
    except ModelError as error:
        raise ModelError(f"{what}: {error}") from error
    if kinds and not is_adapter(path) and not any("SequenceClassification" in kind for kind in kinds):
        raise ModelError(f"{what}: {path} is a {kinds[0]}, which gives no scores.")
