"""The messages about a wrong spec: one problem for each mistake, with its place in the user's file."""

from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, ValidationError

from trainer.spec import JobSpec
from trainer.spec.validation_errors import explain

SMALLEST = {"model": "some/model", "data": {"preferences": "ds_1"}}


def problems_of(**changes: Any) -> list[str]:
    with pytest.raises(ValidationError) as caught:
        JobSpec.model_validate(SMALLEST | changes)
    return [str(problem) for problem in explain(caught.value)]


def judged(judge: Any) -> dict[str, Any]:
    return {"evaluation": {"judge": judge}}


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        (judged({"type": "lexicon", "pth": "x"}), "#/evaluation/judge/pth: unknown field 'pth'; did you mean 'path'?"),
        (judged({"type": "lexicn"}), "#/evaluation/judge/type: unknown type 'lexicn'; did you mean 'lexicon'?"),
        (judged({"path": "x"}), "#/evaluation/judge: needs a `type` that names its kind"),
        (judged({"type": "lexicon"}), "#/evaluation/judge: give either `path` or `words`, not both and not neither"),
        ({"rewards": [{"type": "http"}]}, "#/rewards/0/url: Field required"),
        ({"rewards": [3]}, "#/rewards/0: must be an object"),
        ({"rewards": {"type": "length"}}, "#/rewards: must be a list"),
        (
            {"rewards": [{"type": "regex", "pattern": "("}]},
            "#/rewards/0/pattern: not a regular expression: missing ), unterminated subpattern at position 0",
        ),
        (
            {"ppo": {"online": {"label_by": {"type": "lexicon", "words": {"good": "very"}}}}},
            "#/ppo/online/label_by/words/good: Input should be a valid number, unable to parse string as a number",
        ),
        (
            {"model": {"path": "x", "lora": {"target_modules": ["a", 3]}}},
            "#/model/lora/target_modules/1: Input should be a valid string",
        ),
        ({"ppo": {"ptx": 3}}, "#/ppo/ptx: must be an object"),
        ({"stages": []}, "#/stages: must not be empty: 1 at least is needed"),
        ({"rewards": [{"type": "http", "url": "x"}]}, "#/rewards/0/url: must begin with http:// or https://"),
        ({"sft": None}, "#/sft: cannot be null; to leave the stage out, leave 'sft' out of `stages`"),
        (
            {"stages": ["sftt"]},
            "#/stages/0: Input should be 'sft', 'reward_model', 'dpo', 'kto', 'ppo' or 'evaluation'",
        ),
    ],
)
def test_one_mistake_is_one_problem(changes: dict[str, Any], problem: str) -> None:
    assert problems_of(**changes) == [problem]


@pytest.mark.parametrize(
    ("changes", "hint"),
    [
        ({"ppo": {"kl_coef": 0.1}}, "`ppo.kl.coef`"),
        ({"ppo": {"clip_range": 0.1}}, "`ppo.policy_loss.clip_range`"),
        ({"ppo": {"critic_learning_rate": 0.1}}, "`ppo.critic.learning_rate`"),
        ({"ppo": {"gamma": 1}}, "`ppo.advantage.gamma`"),
        ({"judge": "x"}, "`evaluation.judge`"),
        ({"sft": {"gae_lambda": 1}}, "`ppo.advantage.gae_lambda`"),
        ({"ppo": {"kl": {"learning_rate": 1}}}, "`ppo.learning_rate` or `ppo.critic.learning_rate`"),
        ({"sft": {"packing": True}}, "`runtime.packing`"),
        ({"ppo": {"epoch": 1}}, "'epochs'"),
    ],
)
def test_misplaced_field_error_names_its_section(changes: dict[str, Any], hint: str) -> None:
    (problem,) = problems_of(**changes)
    assert f"did you mean {hint}" in problem


def test_unknown_field_without_a_near_name_lists_all() -> None:
    assert problems_of(runtime={"zzz": 1}) == [
        "#/runtime/zzz: unknown field 'zzz'; known here: device, threads, packing, critic_thread, offload_frozen, sharding."
    ]


def test_value_of_no_union_member_error_lists_every_kind() -> None:
    assert problems_of(**judged(3)) == [
        "#/evaluation/judge: Input should be a valid string",
        "#/evaluation/judge: must be an object",
    ]


def test_other_models_are_explained_too() -> None:
    class Inner(BaseModel):
        size: int

    class Outer(BaseModel):
        inner: list[Inner] | None

    with pytest.raises(ValidationError) as caught:
        Outer.model_validate({"inner": [{"size": 1}, {"size": "x"}]})
    (problem,) = explain(caught.value, Outer)
    assert problem.pointer == "#/inner/1/size"


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({"shape": "disc", "radius": 1}, "#/figure/radius: unknown field 'radius'; known here: shape, size."),
        ({"shape": "disk", "size": 1}, "#/figure/shape: unknown shape 'disk'; did you mean 'disc'?"),
        ({"size": 1}, "#/figure: needs a `shape` that names its kind"),
    ],
)
def test_union_with_another_discriminator_is_explained(value: object, problem: str) -> None:
    class Disc(BaseModel, extra="forbid"):
        shape: Literal["disc"]
        size: int = 1

    class Square(BaseModel, extra="forbid"):
        shape: Literal["square"]

    class Drawing(BaseModel):
        figure: list[int] | Annotated[Disc | Square, Field(discriminator="shape")]

    with pytest.raises(ValidationError) as caught:
        Drawing.model_validate({"figure": value})
    assert [str(found) for found in explain(caught.value, Drawing)] == [problem]
