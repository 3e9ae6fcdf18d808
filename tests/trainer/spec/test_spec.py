from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from trainer import spec
from trainer.spec import JobSpec
from trainer.spec.validation_errors import explain

SMALLEST = {"model": "some/model", "data": {"preferences": "ds_1"}, "ppo": {}}


def problems_of(**changes: Any) -> list[str]:
    with pytest.raises(ValidationError) as caught:
        JobSpec.model_validate(SMALLEST | changes)
    return [str(problem) for problem in explain(caught.value)]


def test_a_model_a_dataset_and_ppo_are_a_complete_job() -> None:
    job = JobSpec.model_validate(SMALLEST)
    assert job.model.path == "some/model"
    assert job.stages == ("sft", "reward_model", "ppo", "evaluation") and job.ppo.kl.coef == 0.05
    assert JobSpec.model_validate(job.model_dump(mode="json")) == job


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        (
            {"model": {"config": {"model_type": "lama"}, "tokenizer": {}}},
            "#/model/config: unknown `model_type` 'lama'; did you mean 'llama'?",
        ),
        (
            {"model": {"config": {"model_type": "llama", "hiden_size": 8}, "tokenizer": {}}},
            "#/model/config: `config` of a llama has no key 'hiden_size'; did you mean 'hidden_size'?",
        ),
        ({"modle": "x"}, "#/modle: unknown field 'modle'; did you mean 'model'?"),
        ({"ppo": {"kl": {"coeff": 0.1}}}, "#/ppo/kl/coeff: unknown field 'coeff'; did you mean 'coef'?"),
        ({"sft": {"epoch": 2}}, "#/sft/epoch: unknown field 'epoch'; did you mean 'epochs'?"),
        ({"ppo": {"batch_size": 10, "minibatches": 4}}, "#/ppo: `minibatches` (4) must divide `batch_size` (10)"),
        (
            {"ppo": {"policy_loss": {"clip_range": 1.5}}},
            "#/ppo/policy_loss/clip_range: Input should be less than or equal to 1",
        ),
        ({"ppo": {"kl": {"coef": float("nan")}}}, "#/ppo/kl/coef: Input should be a finite number"),
        ({"runtime": {"threads": 0}}, "#/runtime/threads: Input should be greater than or equal to 1"),
        (
            {"resources": {"labels": ["eu", "a b"]}},
            "#/resources/labels/1: must match the pattern ^[A-Za-z0-9][A-Za-z0-9._=/-]{0,62}$",
        ),
        (
            {"resources": {"gpu_memory_gib": 0}},
            "#/resources/gpu_memory_gib: Input should be greater than or equal to 1",
        ),
        (
            {"resources": {"gpu_memory_gib": 40}, "runtime": {"device": "cpu"}},
            '#: `resources.gpu_memory_gib` has no effect with `runtime.device` = "cpu"',
        ),
        (
            {"runtime": {"compile": True}},
            "#/runtime: `compile` was removed, because it brought at most 5 %; leave it out",
        ),
        (
            {"model": {"path": "x", "dtype": "float16", "trained_weights": "bfloat16"}},
            '#/model: `trained_weights` = "bfloat16" needs `dtype` = "bfloat16", which they compute in',
        ),
    ],
)
def test_problems_name_the_place_and_the_remedy(changes: dict[str, Any], problem: str) -> None:
    assert problem in problems_of(**changes)


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ({}, "give either `path`"),
        ({"path": "x", "config": {"model_type": "llama"}}, "give either `path`"),
        ({"config": {"hidden_size": 8}}, "`config` needs a `model_type`"),
        ({"config": {"model_type": "llama"}}, "needs `tokenizer`"),
        ({"path": "x", "tokenizer": {}}, "a pretrained model brings its own"),
    ],
)
def test_model_requires_exactly_one_source(model: dict[str, Any], said: str) -> None:
    assert said in " ".join(problems_of(model=model))


def test_a_random_model_cannot_skip_sft() -> None:
    model = {"config": {"model_type": "llama"}, "tokenizer": {}}
    assert 'it needs "sft" in `stages`' in " ".join(problems_of(model=model, stages=["reward_model"]))


def test_every_field_has_a_description() -> None:
    sections = [m for m in vars(spec).values() if isinstance(m, type) and issubclass(m, BaseModel)]
    bare = [f"{m.__name__}.{n}" for m in sections for n, f in m.model_fields.items() if not f.description]
    assert len(sections) > 8 and bare == []


MOVING = {"path": "another/model", "update": "ema"}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"ppo": {"steps": 5, "critic": {"warmup_steps": 5}}}, "`ppo.critic.warmup_steps` (5) leaves the policy none"),
        ({"ppo": {"reference": {"update": "reanchored"}}}, "a KL in the reward is always 0"),
        (
            {
                "ppo": {
                    "samples_per_prompt": 4,
                    "advantage": {"estimator": "reward_to_go", "normalize": "group_std", "gamma": 0.9},
                }
            },
            '`normalize` = "group_std" with `estimator` = "reward_to_go" needs `gamma` = 1',
        ),
        (
            {"ppo": {"advantage": {"estimator": "reward_to_go", "critic_lambda": 1.0}}},
            '`critic_lambda` has no effect with `estimator` = "reward_to_go": it has no critic',
        ),
        *(
            (
                {"ppo": {"advantage": {"critic_lambda": lam}, "critic": {"targets": "monte_carlo"}}},
                f'`critic.targets` = "monte_carlo" is `advantage.critic_lambda` = 1, which is {lam:g} here',
            )
            for lam in (1.0, 0.9)
        ),
        *(
            (
                {"ppo": {"critic": {"kind": "value_head", name: value}}},
                f'`{name}` has no effect with `kind` = "value_head": it learns with the policy',
            )
            for name, value in (("schedule", "cosine"), ("warmup_ratio", 0.1))
        ),
        *(
            (
                {"ppo": {"critic": {"kind": "value_head", name: 2}}},
                f'`{name}` has no effect with `kind` = "value_head": the gradient of the value loss also reaches',
            )
            for name in ("epochs", "minibatches")
        ),
        (
            {"ppo": {"advantage": {"estimator": "sequence", "normalize": "none"}, "critic": {"epochs": 2}}},
            '`critic` has no effect with `advantage.estimator` = "sequence"',
        ),
        (
            {"ppo": {"critic": {"kind": "value_head", "train": "all_but_attention"}}},
            '`train` has no effect with `kind` = "value_head": the head is all that such a critic has of its own',
        ),
        ({"ppo": {"critic": {"train": "last_layers"}}}, '`train` = "last_layers" needs `last_layers`'),
        (
            {"ppo": {"lr_schedule": "linear", "adaptive_rate": {"target": 0.02}}},
            '`adaptive_rate` has no effect without `lr_schedule` = "kl_adaptive"',
        ),
        ({"ppo": {"adaptive_rate": {"minimum": 0.1}}}, "`minimum` (0.1) must be less than `maximum` (0.01)"),
        (
            {"ppo": {"lr_schedule": "kl_adaptive", "learning_rate": 0.1}},
            'with which `lr_schedule` = "kl_adaptive" begins, must be from `adaptive_rate.minimum` (1e-07)',
        ),
        (
            {"ppo": {"lr_schedule": "kl_adaptive", "guards": {"target_kl": 0.004}}},
            "ends every iteration below half of `adaptive_rate.target` (0.03)",
        ),
        (
            {
                "ppo": {
                    "lr_schedule": "kl_adaptive",
                    "policy_loss": {"kind": "kl_penalty", "old_kl_target": 0.01},
                }
            },
            "both steer the KL to the old policy",
        ),
        (
            {"ppo": {"policy_loss": {"kind": "gspo", "aggregation": "fixed_length"}}},
            '`aggregation` has no effect with `kind` = "gspo": its loss is the "sequence_mean"',
        ),
        (
            {"ppo": {"policy_loss": {"kind": "gspo", "dual_clip": 3.0}}},
            '`dual_clip` has no effect with `kind` = "gspo"',
        ),
        ({"ppo": {"policy_loss": {"kind": "cispo", "beta": 2.0}}}, '`beta` has no effect with `kind` = "cispo"'),
        (
            {"ppo": {"policy_loss": {"kind": "reinforce"}, "rollout": {"correction": {"denominator": "sampler"}}}},
            'needs a loss of the ratio π/π_old ("clipped", "gspo", "cispo", "unclipped"). `policy_loss.kind` = "reinforce" would stay',
        ),
        (
            {"ppo": {"rollout": {"correction": {"denominator": "interpolated"}}}},
            "for those of the policy itself the interpolation is the sampler",
        ),
        (
            {"ppo": {"rollout": {"staleness": 2, "correction": {"kind": "none", "denominator": "interpolated"}}}},
            "leaves the step from π_sampler to π_prox without a weight",
        ),
        (
            {
                "ppo": {
                    "rollout": {"staleness": 2, "importance_cap": None, "correction": {"denominator": "interpolated"}}
                }
            },
            '"interpolated" needs a weight',
        ),
        (
            {"ppo": {"rollout": {"staleness": 2, "correction": {"kind": "mask", "denominator": "interpolated"}}}},
            'a mask with `rollout.correction.denominator` = "interpolated" and `epochs` = 4',
        ),
        (
            {"ppo": {"lr_schedule": "kl_adaptive", "critic": {"learning_rate": 0.02}}},
            "`critic.learning_rate` (0.02), which follows `lr_schedule`",
        ),
        ({"sft": {"lr_schedule": "kl_adaptive"}}, "Input should be 'constant', 'linear' or 'cosine'"),
        ({"ppo": {"critic": {"last_layers": 0}}}, '`last_layers` has no effect without `train` = "last_layers"'),
        (
            {"ppo": {"critic": {"train": "last_layers", "last_layers": 1, "adapters": {"rank": 2}}}},
            '`adapters` has no effect without `train` = "adapters"',
        ),
        (
            {"model": {"path": "m", "lora": {}}, "ppo": {"critic": {"train": "adapters"}}},
            "with `model.lora`: the critic has adapters already",
        ),
        (
            {"runtime": {"sharding": "fsdp"}, "ppo": {"critic": {"train": "adapters"}}},
            '`runtime.sharding` = "fsdp" does not go with `ppo.critic.train` = "adapters"',
        ),
        (
            {"ppo": {"shaping": {"overlong_tokens": 65}}},
            "`shaping.overlong_tokens` (65) must not be more than `max_new_tokens` (64)",
        ),
        (
            {"ppo": {"shaping": {"overlong_penalty": 2.0}}},
            "`overlong_penalty` has no effect without `overlong_tokens`",
        ),
        ({"ppo": {"critic": {"minibatches": 5}}}, "`critic.minibatches` (5) must divide `batch_size` (64)"),
        ({"ppo": {"critic": {"epochs": 0}}}, "#/ppo/critic/epochs"),
        ({"ppo": {"critic": {"schedule": "exponential"}}}, "#/ppo/critic/schedule"),
        ({"ppo": {"kl": {"estimator": "k2"}}}, 'Set `estimator` = "k1" or `placement` = "loss"'),
        ({"ppo": {"kl": {"estimator": "k3"}}}, 'Set `estimator` = "k1" or `placement` = "loss"'),
        ({"ppo": {"kl": {"placement": "loss", "unbiased_gradient": False}}}, "the expected derivative of log π is 0"),
        (
            {"model": {"path": "m", "lora": {}}, "ppo": {"reference": MOVING}},
            "means nothing on the backbone of another",
        ),
        (
            {"rewards": [{"type": "length", "target": 3}], "ppo": {"critic": {"initial": "reward_model"}}},
            "this run has no reward model",
        ),
    ],
)
def test_parts_that_would_cancel_each_other_are_refused(changes: dict[str, Any], said: str) -> None:
    assert said in " ".join(problems_of(**changes))


def test_a_critic_may_begin_as_a_reward_model_from_elsewhere() -> None:
    rewards = [{"type": "model", "path": "a/scorer"}]
    job = JobSpec.model_validate(SMALLEST | {"rewards": rewards, "ppo": {"critic": {"initial": "reward_model"}}})
    assert job.ppo.critic.initial == "reward_model"


POINTWISE = {"loss": "pointwise"}


@pytest.mark.parametrize(
    ("ppo", "schedule"),
    [
        ({}, "kl_adaptive"),
        ({"lr_schedule": "auto", "critic": {"learning_rate": 1e-4}}, "kl_adaptive"),
        ({"learning_rate": 3e-6}, "linear"),
        ({"learning_rate": 3e-6, "lr_schedule": "auto"}, "linear"),
        ({"learning_rate": 3e-6, "adaptive_rate": {"factor": 2}}, "kl_adaptive"),
        ({"guards": {"target_kl": 0.004}}, "linear"),
        ({"guards": {"target_kl": {"null": True}}}, "kl_adaptive"),
        ({"policy_loss": spec.PolicyLossSpec(kind="kl_penalty", old_kl_target=0.01)}, "linear"),
        ({"learning_rate": 3e-6, "lr_schedule": "kl_adaptive"}, "kl_adaptive"),
        ({"lr_schedule": "cosine"}, "cosine"),
    ],
)
def test_rate_follows_the_kl_unless_one_is_named(ppo: dict[str, Any], schedule: str) -> None:
    """The stored spec names the schedule, so that it means the same when it is read again."""
    section = spec.PPOSpec.model_validate(ppo)
    stored = section.model_dump(mode="json")
    assert stored["lr_schedule"] == schedule and spec.PPOSpec.model_validate(stored) == section


@pytest.mark.parametrize(
    ("critic", "schedule"),
    [
        ({}, None),
        ({"learning_rate": 1e-3}, "linear"),
        ({"learning_rate": 1e-3, "schedule": "cosine"}, "cosine"),
        ({"learning_rate": 1e-3, "schedule": None}, None),
        ({"kind": "value_head"}, None),
    ],
)
def test_critic_keeps_a_rate_that_is_named(critic: dict[str, Any], schedule: str | None) -> None:
    section = spec.PPOSpec.model_validate({"critic": critic})
    assert (section.lr_schedule, section.critic.schedule) == ("kl_adaptive", schedule)
    assert spec.PPOSpec.model_validate(section.model_dump(mode="json")) == section


def test_thumbs_and_kto_are_a_complete_job() -> None:
    job = JobSpec.model_validate({"model": "m", "data": {"thumbs": "ds_1"}, "stages": ["sft", "kto", "evaluation"],
                                  "evaluation": {"judge": {"type": "length", "target": 9}}})  # fmt: skip
    assert (job.kto.desirable_weight, job.kto.undesirable_weight, job.kto.beta) == (1.0, 1.0, 0.1)
    whole = JobSpec.model_validate({"model": "m", "data": {"thumbs": "ds_1"}, "reward_model": POINTWISE})
    assert whole.stages == ("sft", "reward_model", "ppo", "evaluation")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"data": {"thumbs": "ds_1"}},
            'needs `data.preferences`; `data.thumbs` needs `reward_model.loss` = "pointwise"',
        ),
        ({"reward_model": POINTWISE}, '`reward_model.loss` = "pointwise" needs `data.thumbs`'),
        ({"stages": ["kto"]}, "`stages` names 'kto': it needs `data.thumbs`"),
        ({"reward_model": POINTWISE | {"margin": True}}, '`margin` has no effect with `loss` = "pointwise"'),
        ({"kto": {"batch_size": 1}}, "#/kto/batch_size: Input should be greater than or equal to 2"),
        (
            {"data": {"thumbs": "ds_1"}, "reward_model": POINTWISE, "ppo": {"online": {"prompts": 8}}},
            "`ppo.online` refits the reward model on pairs",
        ),
    ],
)
def test_thumbs_that_no_stage_can_use_are_refused(changes: dict[str, Any], said: str) -> None:
    assert said in " ".join(problems_of(**changes))


def test_stored_spec_with_removed_defaults_still_loads() -> None:
    stored = JobSpec.model_validate(SMALLEST).model_dump(mode="json")
    stored["runtime"] |= {"compile": False, "threads": None}
    assert JobSpec.model_validate(stored).runtime == JobSpec.model_validate(SMALLEST).runtime


def test_stored_spec_without_labels_still_loads() -> None:
    stored = JobSpec.model_validate(SMALLEST).model_dump(mode="json")
    del stored["resources"]["labels"], stored["resources"]["gpu_memory_gib"]
    assert JobSpec.model_validate(stored) == JobSpec.model_validate(SMALLEST)


@pytest.mark.parametrize(
    ("stages", "ppo", "prompts", "expected"),
    [
        (["ppo", "evaluation"], {}, None, 160),  # 64 · 10 ÷ 4
        (["ppo", "evaluation"], {"eval_every": 5}, None, 128),
        (["ppo", "evaluation"], {"batch_size": 256, "eval_every": 20}, None, 512),
        (["dpo", "evaluation"], {"eval_every": 5}, None, 512),
        (["ppo", "evaluation"], {}, 16, 16),
    ],
)
def test_evaluation_prompts_left_out_follow_the_cost(
    stages: list[str], ppo: dict[str, int], prompts: int | None, expected: int
) -> None:
    spec = JobSpec.model_validate(
        {
            "model": "m",
            "data": {"preferences": "p"},
            "stages": stages,
            "rewards": [{"type": "exact_match"}],
            "ppo": ppo,
            "evaluation": {} if prompts is None else {"prompts": prompts},
        }
    )
    assert spec.evaluation.prompts == expected
