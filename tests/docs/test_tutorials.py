"""The tutorials, typed as they stand against a platform that trains."""

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.shell import Shell, shell
from tests.proximal.conftest import free_port, running_up

ROOT = Path(__file__).parents[2]
TUTORIALS = ROOT / "docs" / "tutorials"
# The first job as the page has it takes minutes; this one takes seconds.
SMALLER = {
    "epochs = 6": "epochs = 1",
    "epochs = 2": "epochs = 1",
    "steps = 30": "steps = 2",
    "max_new_tokens = 40": "max_new_tokens = 8",
}
ROWS = {"sft.jsonl": 200, "preferences.jsonl": 200, "prompts.jsonl": 100}


@pytest.fixture
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shell]:
    """A shell where the pages assume it: in the repository's folder, with the platform running."""
    port = free_port()
    monkeypatch.setenv("PROXIMAL_REWARD_URLS", f"http://127.0.0.1:{port}")
    smaller_examples(tmp_path / "examples")
    with running_up(tmp_path / ".proximal") as up:
        env = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
        replaced = {
            "http://127.0.0.1:8000": up.url,
            "127.0.0.1:9000": f"127.0.0.1:{port}",
            '("127.0.0.1", 9000)': f'("127.0.0.1", {port})',
        }
        with shell(tmp_path, env, replaced) as opened:
            yield opened


def smaller_examples(folder: Path) -> None:
    (folder / "reviews" / "data").mkdir(parents=True)
    spec = (ROOT / "examples" / "ppo.toml").read_text()
    for old, new in SMALLER.items():
        assert old in spec
        spec = spec.replace(old, new)
    (folder / "ppo.toml").write_text(spec)
    for name, rows in ROWS.items():
        lines = (ROOT / "examples" / "reviews" / "data" / name).read_text().splitlines(keepends=True)
        (folder / "reviews" / "data" / name).write_text("".join(lines[:rows]))
    shutil.copytree(ROOT / "examples" / "tiny", folder / "tiny")


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.skipif(shutil.which("curl") is None, reason="the pages use curl, which this machine does not have")
def test_tutorials_typed_as_they_stand_succeed(reader: Shell, tmp_path: Path) -> None:
    for name in ("first-job", "your-own-data", "your-own-reward", "read-a-run"):
        reader.follow(TUTORIALS / f"{name}.md")
    assert (tmp_path / "policy.zip").stat().st_size > 10_000
    assert "duplicate_rows" in reader.output and "1 dropped" in reader.output
    assert reader.output.count("succeeded: The run has finished.") == 4
    assert "reward/plot=" in reader.output and '"objective/kl"' in reader.output
