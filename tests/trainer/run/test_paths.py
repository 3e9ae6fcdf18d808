"""Where the paths of a spec file lead, and what makes two runs the same run."""

import json
import shutil
from pathlib import Path

import pytest

from tests.trainer.run.tools import spec_of
from tests.trainer.running import tiny_spec
from trainer.cli import load_spec
from trainer.errors import SpecError
from trainer.run_folder import claim
from trainer.spec.named_resources import named_paths


def test_paths_resolve_beside_spec_file_and_keep_hub_ids(tmp_path: Path) -> None:
    for folder in ("base", "rm", "old", "gold", "judge", "toxic"):
        (tmp_path / "models" / folder).mkdir(parents=True)
    spec = tiny_spec() | {
        "model": "models/base",
        "stages": ["sft", "reward_model", "ppo", "evaluation"],
        "reward_model": {"path": "models/rm"},
        "ppo": {
            "reference": {"path": "models/old"},
            "online": {"label_by": {"type": "classifier", "path": "models/toxic"}},
        },
        "rewards": [{"type": "model", "path": "models/gold"}, {"type": "model"}, {"type": "lexicon", "path": "words"},
                    {"type": "classifier", "path": "org/on-the-hub"}],
        "evaluation": {"against": "models/old", "judge": {"type": "model", "path": "models/judge"}},
    }  # fmt: skip
    (tmp_path / "spec.json").write_text(json.dumps(spec))
    found = {named.pointer: named.value for named in named_paths(load_spec(tmp_path / "spec.json"))}
    assert found.pop("#/rewards/3/path") == "org/on-the-hub"
    assert found.pop("#/rewards/2/path") == str(tmp_path / "words")  # a file: named in the error if it is not there
    assert found == {
        "#/model/path": str(tmp_path / "models/base"),
        "#/reward_model/path": str(tmp_path / "models/rm"),
        "#/ppo/reference/path": str(tmp_path / "models/old"),
        "#/rewards/0/path": str(tmp_path / "models/gold"),
        "#/evaluation/against": str(tmp_path / "models/old"),
        "#/evaluation/judge/path": str(tmp_path / "models/judge"),
        "#/ppo/online/label_by/path": str(tmp_path / "models/toxic"),
    }


def test_a_model_may_move_but_not_change(first: Path, tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    for folder in (here, there):
        shutil.copytree(first / "sft", folder)
    claim(spec_of(["dpo"], model=str(here)), tmp_path)
    claim(spec_of(["dpo"], model=str(there)), tmp_path)
    weights = there / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    with pytest.raises(SpecError, match="it differs at #/model/path"):
        claim(spec_of(["dpo"], model=str(there)), tmp_path)


def test_words_count_by_their_content(first: Path, tmp_path: Path) -> None:
    for name, valence in (("a", 1), ("b", 1), ("c", 2)):
        (tmp_path / name).write_text(f"good\t{valence}\n")
    specs = [
        spec_of(["ppo"], model=str(first / "sft"), rewards=[{"type": "lexicon", "path": str(tmp_path / name)}])
        for name in ("a", "b", "c")
    ]
    claim(specs[0], tmp_path)
    claim(specs[1], tmp_path)
    with pytest.raises(SpecError, match="it differs at #/rewards"):
        claim(specs[2], tmp_path)
