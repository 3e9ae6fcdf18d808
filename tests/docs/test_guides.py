"""The guides for frequent changes, applied step by step to a copy of the code."""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GUIDES = ROOT / "docs" / "contributing"
STEP = re.compile(
    r"^(?:In `(?P<path>[^`]+)`, (?P<action>add before|add after|replace) `(?P<mark>[^`]+)`(?: by)?|Create `(?P<created>[^`]+)`):\n\n"
    r"```(?:python|tsx)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
TEST = re.compile(r"^## \d\. Test it$.*?^```python\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Step:
    """One edit of a guide: lines that go beside, or in place of, the first line that holds `mark`."""

    path: str
    action: str
    mark: str
    text: str

    def apply(self, folder: Path) -> None:
        file = folder / self.path
        if self.action == "create":
            assert not file.exists(), f"{self.path} exists already"
            file.write_text(self.text)
            return
        lines = file.read_text().splitlines(keepends=True)
        found = [number for number, line in enumerate(lines) if self.mark in line]
        assert found, f"{self.path} has no line with {self.mark!r}: correct the guide"
        begin = found[0] + (self.action == "add after")
        end = found[0] + 1 if self.action == "replace" else begin
        file.write_text("".join([*lines[:begin], self.text, *lines[end:]]))


def steps(page: str) -> list[Step]:
    return [
        Step(found["path"] or found["created"], found["action"] or "create", found["mark"] or "", found["text"])
        for found in STEP.finditer(page)
    ]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of the packages, compiled files included."""
    for package in ("data", "trainer", "core", "api", "proximal", "migrations"):
        shutil.copytree(ROOT / package, tmp_path / package)
    return tmp_path


_SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in ("add-a-route", "add-a-spec-field")]


@pytest.mark.parametrize("name", ["add-a-reward", "add-a-policy-loss", "add-a-format", "add-a-metric", *_SLOW])
def test_guide_applied_to_a_copy_passes_its_test(name: str, tree: Path) -> None:
    page = (GUIDES / f"{name}.md").read_text()
    edits = steps(page)
    assert len({edit.path for edit in edits}) <= 3, "a frequent change needs at most three files edited by hand"
    for edit in edits:
        edit.apply(tree)
    test = TEST.search(page)
    assert test is not None and edits
    calls = "".join(f"\n{function}()\n" for function in re.findall(r"^def (test_\w+)", test["text"], re.MULTILINE))
    done = subprocess.run(
        [sys.executable, "-c", test["text"] + calls],
        cwd=tree,
        env=os.environ | {"PYTHONPATH": str(tree)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.slow  # checks the types of the whole dashboard once more
def test_guide_of_a_panel_applied_to_a_copy_has_valid_types(tmp_path: Path) -> None:
    edits = steps((GUIDES / "add-a-panel.md").read_text())
    assert len(edits) == 4 and len({edit.path for edit in edits}) == 2
    folder = tmp_path / "frontend"
    shutil.copytree(ROOT / "frontend" / "src", folder / "src")
    for file in ("frontend/tsconfig.json", "frontend/openapi.json", "tests/frontend/spec_texts.json"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / file, tmp_path / file)
    (folder / "node_modules").symlink_to(ROOT / "frontend" / "node_modules")
    for edit in edits:
        edit.apply(tmp_path)
    node = ROOT / ".venv" / "node" / "bin" / "node"
    compiler = ROOT / "frontend" / "node_modules" / "typescript" / "bin" / "tsc"
    program = str(node) if node.exists() else "node"
    done = subprocess.run([program, str(compiler), "--noEmit"], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_file_names_in_guides_exist() -> None:
    for page in GUIDES.glob("add-*.md"):
        created = {step.path for step in steps(page.read_text()) if step.action == "create"}
        names = re.findall(r"`((?:data|trainer|core|api|proximal|tests|frontend)/[\w./-]+)`", page.read_text())
        assert [name for name in names if name not in created and not (ROOT / name).exists()] == [], page.name


def test_lines_that_guides_change_exist() -> None:
    for page in GUIDES.glob("add-*.md"):
        edits = steps(page.read_text())
        created = {edit.path for edit in edits if edit.action == "create"}
        changed = [edit for edit in edits if edit.path not in created]
        missing = [edit.mark for edit in changed if edit.mark not in (ROOT / edit.path).read_text()]
        assert missing == [], page.name
