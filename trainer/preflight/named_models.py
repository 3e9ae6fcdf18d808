"""Every other place that a spec names, looked at before any training: models to compare with, reward models, judges."""

from trainer.errors import ModelError, SpecError
from trainer.models import load_config, load_tokenizer
from trainer.models.adapters import is_adapter
from trainer.rewards import judges
from trainer.rewards.build import build
from trainer.rewards.check import check_answers
from trainer.rewards.classifier import label_number
from trainer.spec import ClassifierReward, HttpJudge, JobSpec, JudgeSpec, ModelReward, RewardSpec, reward_names
from trainer.stages.model_factory import Assembly
from trainer.stages.tokenize import Encoded
from trainer.text.codec import Codec
from trainer.text.prompts import EncodedPrompt
from trainer.text.vocabulary import ids_of, same_vocabulary


def check_places(assembly: Assembly, encoded: Encoded) -> None:
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
    if ids_of(tokenizer) > size:
        raise ModelError(f"{field}: {path}: its tokenizer has {ids_of(tokenizer)} tokens, the model only {size}.")


def _judges(spec: JobSpec, encoded: Encoded) -> list[tuple[str, str | JudgeSpec | None, list[EncodedPrompt]]]:
    """Each with the prompts whose answers it will see."""
    found: list[tuple[str, str | JudgeSpec | None, list[EncodedPrompt]]] = []
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
