"""Files of specs without the trainer, which is not installed with the client."""

import re

from proximal.sdk import spec_fields
from tests.trainer.spec.test_named_resources import FULL
from trainer.spec import DATASETS, JobSpec
from trainer.spec.named_resources import named_paths

MEMBERS = {"type": "model", "members": [{"path": "one"}, {"path": "two"}]}
OTHERS = (
    {
        "evaluation": {"judge": {"type": "model", "path": "judge"}},
        "ppo": {"online": {"label_by": {"type": "classifier", "path": "labels"}}},
    },
    {"evaluation": {"judge": MEMBERS}, "ppo": {"online": {"label_by": MEMBERS}}},
)
"""The fields with a path that `FULL` fills otherwise."""


def test_roles_of_datasets_are_those_of_the_spec() -> None:
    assert spec_fields.DATASETS == DATASETS


def test_paths_are_those_of_the_spec() -> None:
    specs = JobSpec.model_validate(FULL), *(JobSpec.model_validate(FULL | others) for others in OTHERS)
    named = {re.sub(r"\.\d+\.", ".*.", path.param) for spec in specs for path in named_paths(spec)}
    assert set(spec_fields.PATHS) == named
