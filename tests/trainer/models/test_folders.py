"""Where a model is looked for, and the error when it is not there."""

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import huggingface_hub.constants as hub
import pytest

from tests.security.conftest import save_model
from trainer.errors import ModelError
from trainer.models import folders, load_config, load_policy, load_tokenizer

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@contextmanager
def broken_hub() -> Iterator[tuple[str, list[int]]]:
    """An address that takes connections and closes them at once, and how many there were."""
    asked: list[int] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def refuse() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                asked.append(1)
                connection.close()

        thread = Thread(target=refuse)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.getsockname()[1]}", asked
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join()


@pytest.mark.parametrize("name", ["./nothing", "../nothing", "a/b/c", "/nothing/here", "models\\x", "a--b"])
def test_load_invalid_hub_id_is_not_requested_from_the_hub(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with broken_hub() as (url, asked):
        monkeypatch.setattr(hub, "HF_HUB_OFFLINE", False)
        monkeypatch.setattr(hub, "ENDPOINT", url)
        for load in (load_tokenizer, load_config, load_policy):
            with pytest.raises(ModelError) as refusal:
                load(name)
            assert str(refusal.value) == f"There is no folder {name} on this machine."
    assert asked == []


def test_a_tilde_is_named_as_the_reason() -> None:
    with pytest.raises(ModelError, match=r"no folder ~/x on this machine\. `~` is not replaced by the home folder"):
        load_policy("~/x")


@pytest.mark.parametrize("name", ["owner/nothing", "nothing"])
def test_load_hub_unreachable_is_tried_once_and_explained(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """transformers asks four times, six times over, with pauses: one and a half minutes."""
    with broken_hub() as (url, asked):
        monkeypatch.setattr(hub, "HF_HUB_OFFLINE", False)
        monkeypatch.setattr(hub, "ENDPOINT", url)
        monkeypatch.setattr(hub, "HF_HUB_CACHE", str(tmp_path))
        with pytest.raises(ModelError) as refusal:
            load_policy(name)
    said = str(refusal.value)
    assert said.startswith(f"There is no folder {name} on this machine, and the hub's model {name} is not in this")
    assert "the hub cannot be reached" in said and 1 <= len(asked) <= 2


def test_a_model_in_the_hub_s_cache_is_found_without_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository = tmp_path / "models--owner--name"
    save_model(repository / "snapshots" / COMMIT)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(COMMIT)
    monkeypatch.setattr(hub, "HF_HUB_CACHE", str(tmp_path))
    assert load_policy("owner/name").config.model_type == load_config("owner/name").model_type == "llama"
    assert load_tokenizer("owner/name").eos_token == "<|eos|>"
    config = {"peft_type": "LORA", "base_model_name_or_path": "/some/folder"}
    (repository / "snapshots" / COMMIT / "adapter_config.json").write_text(json.dumps(config))
    for load in (load_policy, load_tokenizer, load_config):
        with pytest.raises(ModelError, match="owner/name is an adapter on the hub"):
            load("owner/name")


def test_load_tokenizer_missing_lists_expected_and_found_files(tmp_path: Path) -> None:
    model = save_model(tmp_path / "model")
    (model / "tokenizer.json").unlink()
    with pytest.raises(ModelError) as refusal:
        load_tokenizer(model)
    said = str(refusal.value)
    assert f"{model} holds no complete tokenizer. The files tokenizer.json, vocab.json, merges.txt, vocab.txt, " in said
    assert "found: tokenizer_config.json. Copy the tokenizer's files into the folder." in said
    assert not said.rstrip(".)").endswith(":")  # the library's own sentence is whole
    (model / "tokenizer_config.json").unlink()
    with pytest.raises(ModelError, match=r"found: none\. Copy"):
        load_tokenizer(model)


def test_saved_tokenizer_has_no_options_of_its_loading(tmp_path: Path) -> None:
    model = save_model(tmp_path / "model")
    load_tokenizer(model).save_pretrained(tmp_path / "saved")
    kept, saved = (json.loads((folder / "tokenizer_config.json").read_text()) for folder in (model, tmp_path / "saved"))
    assert saved == kept


def test_missing_model_without_the_hub_names_the_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert folders.why_unavailable("nobody/absent") == "it is not in the cache, and HF_HUB_OFFLINE forbids a download"
