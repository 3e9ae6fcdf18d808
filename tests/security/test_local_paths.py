"""A key must not reach a model of another one, nor any file of the machine, by naming its path."""

import json
import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from sqlalchemy.orm import Session

from core.models import Job
from core.settings import Settings
from tests.api.problem_checks import problem
from tests.security.conftest import Attacker, same, save_model, weights_of
from trainer import allowed_paths
from trainer.cli import main
from trainer.errors import SpecError
from trainer.spec import path_rules
from trainer.spec.path_rules import PathRules, is_hub_id


def refusal(attacker: Attacker, model: str) -> str:
    """The detail of the error for a job with this model, which must be refused."""
    document = problem(attacker.client.post("/v1/jobs", json=attacker.body(model)), 422, "invalid_spec")
    assert document["param"] == "model.path"
    return str(document["detail"])


def failed(attacker: Attacker, job_id: str, tmp_path: Path) -> str:
    """The error of a job that must fail without a result."""
    attacker.work()
    job = attacker.client.get(f"/v1/jobs/{job_id}").json()
    assert (job["status"], attacker.loot(job_id, tmp_path / "loot")) == ("failed", None)
    return str(job["error"]["message"])


def test_the_model_of_another_key_is_refused_by_its_path(attacker: Attacker, private: Path) -> None:
    assert "its operator allows" in refusal(attacker, str(private))


def test_link_changed_after_submission_is_refused(
    attacker: Attacker, models: Path, private: Path, tmp_path: Path
) -> None:
    """The real worker and the real trainer: the link passes the API's check, and leads elsewhere when the job runs."""
    link = models / "mine"
    link.symlink_to(save_model(models / "good"))
    answer = attacker.client.post("/v1/jobs", json=attacker.body(str(link)))
    assert answer.status_code == 201
    link.unlink()
    link.symlink_to(private)
    assert "its operator allows" in failed(attacker, answer.json()["id"], tmp_path)


def test_adapter_with_base_of_another_key_is_refused(
    attacker: Attacker, models: Path, private: Path, tmp_path: Path
) -> None:
    """The real trainer: only it reads the file that names the base."""
    adapter = models / "adapter"
    adapter.mkdir()
    config = {"peft_type": "LORA", "task_type": "CAUSAL_LM", "base_model_name_or_path": str(private), "r": 1}
    (adapter / "adapter_config.json").write_text(json.dumps(config | {"target_modules": ["q_proj"]}))
    layer = "base_model.model.model.layers.0.self_attn.q_proj"  # zeros: merged into its base it changes nothing
    zeros = {f"{layer}.lora_A.weight": torch.zeros(1, 8), f"{layer}.lora_B.weight": torch.zeros(8, 1)}
    save_file(zeros, adapter / "adapter_model.safetensors")
    answer = attacker.client.post("/v1/jobs", json=attacker.body(str(adapter)))
    assert answer.status_code == 201
    assert "its operator allows" in failed(attacker, answer.json()["id"], tmp_path)


@pytest.mark.slow
def test_a_model_in_the_allowed_folder_can_be_used(attacker: Attacker, models: Path, tmp_path: Path) -> None:
    """And so can a checkpoint of one's own, which the worker itself puts into the run folder."""
    model = save_model(models / "good")
    first = attacker.client.post("/v1/jobs", json=attacker.body(str(model))).json()["id"]
    attacker.work()
    loot = attacker.loot(first, tmp_path / "first")
    assert loot is not None and same(loot, weights_of(model))
    (checkpoint,) = attacker.client.get(f"/v1/jobs/{first}/checkpoints").json()["data"]
    second = attacker.client.post("/v1/jobs", json=attacker.body(checkpoint["id"])).json()["id"]
    attacker.work()
    loot = attacker.loot(second, tmp_path / "second")
    assert loot is not None and same(loot, weights_of(model))


def test_a_job_that_was_queued_before_the_rule_fails_too(
    attacker: Attacker, session: Session, private: Path, models: Path, tmp_path: Path
) -> None:
    job_id = attacker.client.post("/v1/jobs", json=attacker.body(str(models / "any"))).json()["id"]
    job = session.get_one(Job, job_id)
    job.spec = job.spec | {"model": job.spec["model"] | {"path": str(private)}}
    session.commit()
    assert "its operator allows" in failed(attacker, job_id, tmp_path)


@pytest.mark.parametrize("below", ["data", "data/blobs", "data/runs/x", "elsewhere", "models/../data", "models/link"])
def test_refusal_is_the_same_whether_the_file_exists_or_not(
    attacker: Attacker, models: Path, tmp_path: Path, below: str
) -> None:
    (models / "link").symlink_to(tmp_path / "elsewhere")
    folder = tmp_path / below
    if not folder.is_symlink():
        folder.mkdir(parents=True, exist_ok=True)
    else:
        folder.resolve().mkdir()
    (folder / "there").mkdir()
    assert refusal(attacker, str(folder / "there")) == refusal(attacker, str(folder / "not_there"))


def test_a_path_outside_is_refused_without_a_look_at_the_disk(
    attacker: Attacker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even the time of the answer depends on what is there."""
    asked: list[str] = []
    stat, lstat, readlink = os.stat, os.lstat, os.readlink
    for name, real in (("stat", stat), ("lstat", lstat), ("readlink", readlink)):

        def noted(path: Any, *rest: Any, _real: Any = real, **options: Any) -> Any:
            asked.append(str(path))
            return _real(path, *rest, **options)

        monkeypatch.setattr(os, name, noted)
    refusal(attacker, str(tmp_path / "elsewhere" / "secret"))
    monkeypatch.undo()
    assert not [path for path in asked if "elsewhere" in path]


@pytest.mark.parametrize("name", ["./good", "good/../good", "~/good", "a/b/c", "..", "a/..", "/", "models\\x", "c:\\x"])
def test_a_path_must_be_absolute_and_plain(attacker: Attacker, models: Path, name: str) -> None:
    refusal(attacker, name)


def test_path_rules_allow_all_still_refuse_own_folders(private: Path, settings: Settings, tmp_path: Path) -> None:
    rules = PathRules(allowed=(Path("/"),), refused=settings.own_folders)
    assert rules.why_not(tmp_path) is None and rules.why_not("/etc/passwd") is None
    for path in (settings.data_dir, private, private / "model.safetensors", settings.data_dir / "not_there"):
        assert rules.why_not(path) is not None
    (tmp_path / "link").symlink_to(private)
    assert rules.why_not(tmp_path / "link" / "config.json") is not None


def test_path_rules_refuse_a_folder_under_other_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its inode. A link stands for the second name that a file system without case, or a second mount, would give."""
    (tmp_path / "data" / "x").mkdir(parents=True)
    (tmp_path / "DATA").symlink_to(tmp_path / "data")
    monkeypatch.setattr(path_rules, "_real", lambda path: path)
    rules = PathRules(allowed=(tmp_path,), refused=(tmp_path / "data",))
    assert rules.why_not(tmp_path / "DATA" / "x") is not None
    assert rules.why_not(tmp_path / "other") is None


def test_files_of_an_allowed_folder_must_not_lead_out_of_it(tmp_path: Path) -> None:
    secret = save_model(tmp_path / "secret")
    model = tmp_path / "models" / "mine"
    model.mkdir(parents=True)
    rules = PathRules(allowed=(tmp_path / "models",))
    for file in secret.iterdir():
        shutil.copy(file, model)
    with allowed_paths.confined_to(rules):
        assert allowed_paths.permitted_folder(model) == model
        (model / "model.safetensors").unlink()
        (model / "model.safetensors").symlink_to(secret / "model.safetensors")
        with pytest.raises(SpecError, match="its operator allows"):
            allowed_paths.permitted_folder(model)


def test_an_allowed_folder_may_be_a_link_itself(tmp_path: Path) -> None:
    (tmp_path / "disk" / "model").mkdir(parents=True)
    (tmp_path / "models").symlink_to(tmp_path / "disk")
    rules = PathRules(allowed=(tmp_path / "models",))
    assert rules.resolved(tmp_path / "models" / "model") == tmp_path / "disk" / "model"
    assert rules.resolved(tmp_path / "disk" / "model") == tmp_path / "disk" / "model"


@pytest.mark.parametrize("name", ["gpt2", "owner/name", "Qwen/Qwen2.5-0.5B", "a_b/c.d-e"])
def test_hub_id_valid_forms_are_accepted(name: str) -> None:
    assert is_hub_id(name)


@pytest.mark.parametrize(
    "name", ["", ".", "..", "a/..", "../a", "a/b/c", "/a", "a/", "~/a", "a b", "a\\b", "a:b", "a--b", "a\nb", "a" * 97]
)
def test_hub_id_invalid_forms_are_refused(name: str) -> None:
    assert not is_hub_id(name)


def test_a_word_list_is_read_only_from_allowed_folders(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The trainer as the worker starts it: `--local-paths` is checked again there, whatever the API has allowed."""
    run = tmp_path / "run"
    run.mkdir()
    rules = run / "local_paths.json"
    rules.write_text(PathRules(allowed=(tmp_path / "models",)).model_dump_json(exclude={"own"}))
    lexicon = {"type": "lexicon", "path": "/etc/passwd"}
    spec: dict[str, Any] = {"model": "some/model", "rewards": [lexicon], "stages": ["ppo"], "data": {"prompts": "p"}}
    (run / "spec.json").write_text(json.dumps(spec))
    arguments = ["run", str(run / "spec.json"), "--run-dir", str(run)]
    assert main([*arguments, "--local-paths", str(rules)]) == 2
    assert "#/rewards/0/path: this platform reads local models and files only" in capsys.readouterr().err
    assert allowed_paths.current() is None


def test_the_trainer_alone_is_not_restricted(tmp_path: Path) -> None:
    assert allowed_paths.permitted_folder(tmp_path) == tmp_path and allowed_paths.permits("../x")


def test_rules_hold_in_every_thread_of_the_process(tmp_path: Path) -> None:
    with allowed_paths.confined_to(PathRules()), ThreadPoolExecutor(1) as pool:
        assert not pool.submit(allowed_paths.permits, tmp_path).result()
