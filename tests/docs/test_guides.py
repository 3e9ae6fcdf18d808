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
    r"```(?:python|tsx?)\n(?P<text>.*?)^```$",
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
    """A copy of the packages, compiled files included, and of the dashboard's source."""
    for folder in ("data", "trainer", "core", "api", "proximal", "migrations", "frontend/src"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    return tmp_path


_SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in ("add-a-route", "add-a-spec-field")]


@pytest.mark.parametrize(
    "name", ["add-a-knob", "add-a-reward", "add-a-policy-loss", "add-a-format", "add-a-metric", *_SLOW]
)
def test_guide_applied_to_a_copy_passes_its_test(name: str, tree: Path) -> None:
    apply(name, tree, most_files=3)
    run_its_test(name, tree)


@pytest.mark.slow  # checks the types of the whole dashboard once more
def test_guide_of_a_panel_applied_to_a_copy_has_valid_types(tree: Path) -> None:
    add_tools(tree)
    apply("add-a-panel", tree, most_files=2)
    run(tree / "frontend", "npm", "run", "typecheck")


@pytest.mark.slow  # generates all files and checks the types of the whole dashboard once more
def test_guide_of_an_action_makes_a_command_and_a_menu_entry(tree: Path) -> None:
    add_tools(tree)
    apply("add-a-job-action", tree, most_files=4)
    run_its_test("add-a-job-action", tree)
    document = run(tree, sys.executable, "-m", "api", "openapi")
    (tree / "frontend" / "openapi.json").write_text(document)
    run(tree, str(Path(sys.executable).with_name("datamodel-codegen")))
    run(tree, sys.executable, "-m", "proximal.sdk.generate")
    run(tree / "frontend", "npm", "run", "generate")
    run(tree / "frontend", "npm", "run", "typecheck")
    code = "import sys; from proximal.cli import main; sys.argv = ['proximal', 'jobs', 'lend', '--help']; main()"
    assert "more urgent one" in run(tree, sys.executable, "-c", code)


def apply(name: str, tree: Path, most_files: int) -> None:
    edits = steps((GUIDES / f"{name}.md").read_text())
    assert 0 < len({edit.path for edit in edits}) <= most_files, "a frequent change needs few files edited by hand"
    for edit in edits:
        edit.apply(tree)


def run_its_test(name: str, tree: Path) -> None:
    test = TEST.search((GUIDES / f"{name}.md").read_text())
    assert test is not None
    calls = "".join(f"\n{function}()\n" for function in re.findall(r"^def (test_\w+)", test["text"], re.MULTILINE))
    run(tree, sys.executable, "-c", test["text"] + calls)


def add_tools(tree: Path) -> None:
    """Add what the generators and the type check need."""
    frontend = ("openapi.json", "package.json", "tsconfig.json", "knobs.js", "fields.js")
    for file in ("pyproject.toml", "tests/frontend/spec_texts.json", *(f"frontend/{name}" for name in frontend)):
        (tree / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / file, tree / file)
    (tree / "frontend" / "node_modules").symlink_to(ROOT / "frontend" / "node_modules")


def run(folder: Path, *command: str) -> str:
    """Run a command with the copied packages, and with the Node of the set-up if there is one. Returns its output."""
    root = next(one for one in (folder, *folder.parents) if (one / "proximal").is_dir())
    path = os.pathsep.join([str(ROOT / ".venv" / "node" / "bin"), os.environ["PATH"]])
    env = os.environ | {"PYTHONPATH": str(root), "PATH": path}
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


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
