"""The check of the prose rules that `make check` runs."""

import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

PROSE = Path(__file__).parents[1] / ".ci" / "prose"


@pytest.fixture
def rules(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(PROSE))
    import rules

    return rules


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A repository with the check in it and nothing else."""
    shutil.copytree(PROSE, tmp_path / ".ci" / "prose", ignore=shutil.ignore_patterns("baseline.txt", "__pycache__"))
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    return tmp_path


def check(tree: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, ".ci/prose", *arguments]
    return subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)


def broken(rules: ModuleType, name: str, source: str) -> list[tuple[int, str]]:
    """The line and the rule of each violation."""
    import texts

    found = [one for text in texts.texts(Path(name), source) for one in rules.violations(text)]
    return sorted((one.line, one.rule) for one in found)


LONG = "The worker " + "and the worker " * 10 + "run."  # 33 words


@pytest.mark.parametrize(
    ("sentence", "rule"),
    [
        (LONG, "long"),
        ("Of two calls the second waits.", "opening"),
        ("What the import found.", "opening"),
        ("Whoever comes first gets it.", "opening"),
        ("As the spec asks for.", "opening"),
        ("The job is claimed by somebody.", "person"),
        ("The message is a knock.", "metaphor"),
        ("The row says how it ended.", "verb"),
        ("The worker is told the reason.", "verb"),
        ("The outbox holds one wish.", "metaphor"),
        ("It runs " + "here and there " * 4 + "today; it waits " + "here and there " * 3 + "again.", "semicolon"),
    ],
)
def test_rules_on_one_sentence_find_the_broken_one(rules: ModuleType, sentence: str, rule: str) -> None:
    assert rule in [found for _, found in broken(rules, "page.md", f"The row is read. {sentence}\n")]
    assert rule in [found for _, found in broken(rules, "a.py", f'x = 1\n\n\ndef run():\n    """{sentence}"""\n')]
    assert rule in [found for _, found in broken(rules, "a.ts", f"// {sentence}\n")]


@pytest.mark.parametrize(
    "sentence",
    [
        "The API returns `whoever` for a name. It is used as a key, of which there is one.",
        "See e.g. As et al. What follows is fine.".replace(". What follows is fine", ""),
        "A [page](as-of-what.md) is linked.",
        "Office hours; whatever. Asynchronous runs are known. Often.",
    ],
)
def test_rules_on_plain_sentences_find_nothing(rules: ModuleType, sentence: str) -> None:
    assert broken(rules, "page.md", sentence) == []


def test_python_texts_are_docstrings_comments_and_messages(rules: ModuleType) -> None:
    source = '''"""What a module does."""

KEYS = ["Of", "What", "As nobody"]  # As in TRL.
# A comment
# goes on. What follows is found.


class Row:
    """A row."""

    name: str
    """Of the user."""

    def load_rows(self, one: dict[str, int] = {}) -> "list[int]":
        """Load the rows."""
        query = """SELECT nobody FROM users WHERE somebody AND What IS NOT NULL"""
        raise ValueError(
            f"The file {self.name} is empty. "
            "As a start, upload another."
        )
'''
    expected = [(1, "opening"), (3, "opening"), (5, "opening"), (9, "repeats"), (12, "opening"), (15, "repeats")]
    assert broken(rules, "a.py", source) == [*expected, (19, "opening")]


def test_strings_of_tests_are_data(rules: ModuleType) -> None:
    assert broken(rules, "tests/test_a.py", 'rows = ["What is the capital of France?"]  # As given.\n') == [
        (1, "opening")
    ]


def test_typescript_texts_are_comments_strings_and_markup(rules: ModuleType) -> None:
    source = """/** What it draws.
 * Of the run. */
const quote = /["']/; // fine
const url = "https://example.org/what"; // As above.
export function Page() {
  return (
    <p title="As the user sees it">
      What the import found: {count} rows of `rows`.
    </p>
  );
}
"""
    expected = [(1, "opening"), (2, "opening"), (4, "opening"), (7, "opening")]
    assert broken(rules, "a.tsx", source) == [*expected, (8, "markup"), (8, "opening")]


def test_markup_with_expressions_is_one_sentence(rules: ModuleType) -> None:
    words = "steps and more " * 5
    source = f"export const A = () => <p>The job has {{count}} {words}of {{total(rows)}} {words}here.</p>;\n"
    assert broken(rules, "a.tsx", source) == [(1, "long")]


def test_pages_have_code_and_generated_parts_left_out(rules: ModuleType) -> None:
    source = """# A heading

```bash
# What nobody reads
```

| field | meaning |
|---|---|
| `what` | Of the row. |

- What a list holds.
<!-- x: written by docs/generate -->
As generated from the code.
<!-- end of x -->
"""
    assert broken(rules, "docs/a.md", source) == [(9, "opening"), (11, "opening")]


def test_dashes_are_found_in_code_alone(rules: ModuleType) -> None:
    assert [one.line for one in rules.dashes("a = 1\n# one \u2013 two\nb = '\u2014'\nc = '\u2212'\n")] == [2, 3]


def test_an_unlisted_file_must_be_clean(tree: Path) -> None:
    (tree / "a.py").write_text('"""What it does."""\n')
    done = check(tree)
    assert done.returncode == 1 and done.stdout == "a.py:1: opening: begins with 'What': What it does.\n"
    assert "1 violations too many" in done.stderr


def test_an_exception_needs_a_reason(tree: Path) -> None:
    (tree / "a.py").write_text('"""What it does."""  # prose: quotes the paper\n# prose: a name\n# Of Mice and Men\n')
    assert check(tree).returncode == 0
    (tree / "a.py").write_text('"""What it does."""  # prose:\n')
    assert check(tree).returncode == 1


def test_the_baseline_may_only_fall(tree: Path) -> None:
    page = tree / "a.md"
    page.write_text("What one.\n\nWhat two.\n")
    assert check(tree, "--lower").returncode == 0 and check(tree).returncode == 0
    page.write_text("What one.\n\nWhat two.\n\nWhat three.\n")
    assert check(tree).returncode == 1
    refused = check(tree, "--lower")
    assert refused.returncode == 1 and "it may only fall" in refused.stderr
    page.write_text("What one.\n")
    assert "--lower" in check(tree).stdout
    assert check(tree, "--lower").stdout == "1 violations in 1 files; 2 before\n"


def test_moved_file_keeps_its_prose_baseline(tree: Path) -> None:
    (tree / "a.md").write_text("What one.\n")
    check(tree, "--lower")
    (tree / "a.md").rename(tree / "b.md")
    assert check(tree).returncode == 0
    (tree / "c.md").write_text("What two.\n")
    assert check(tree).returncode == 1


def test_listing_a_folder_shows_what_the_baseline_allows(tree: Path) -> None:
    (tree / "sub").mkdir()
    (tree / "sub" / "a.md").write_text("What one.\n")
    check(tree, "--lower")
    done = check(tree, "sub")
    assert done.returncode == 1 and done.stdout.startswith("sub/a.md:1: opening:")
