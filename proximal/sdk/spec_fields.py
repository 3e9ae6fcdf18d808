"""Fields of a job spec that name files. `make openapi` generates this file; do not edit it."""

DATASETS = {
    "preferences": "preferences",
    "thumbs": "thumbs",
    "steps": "steps",
    "sft": "sft",
    "prompts": "prompts",
    "evaluation_prompts": "prompts",
    "pretraining": "pretraining",
}
"""The fields of `data` that name datasets, each with the kind of dataset that it takes."""
PATHS = (
    "model.path",
    "reward_model.path",
    "ppo.reference.path",
    "ppo.teacher.path",
    "ppo.online.label_by.path",
    "ppo.online.label_by.members.*.path",
    "rewards.*.path",
    "rewards.*.members.*.path",
    "evaluation.judge.path",
    "evaluation.judge.members.*.path",
    "evaluation.against",
)
"""The fields that name models and word lists. `*` stands for every item of a list."""
