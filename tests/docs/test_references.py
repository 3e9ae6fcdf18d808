"""Every file, name and command that a page mentions in code exists in the tree."""

import json
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import yaml

from core.settings import Settings
from tests.docs.test_pages import ROOT
from tests.helm.chart import CHART, value_paths
from trainer.spec import JobSpec

# Notes with a date were true on that date, and are not corrected afterwards.
DATED = {"CHANGELOG.md", "docs/lab-notes.md"}
# Names of other software, columns of users, fields that a decision removed, and files that are not tracked.
FOREIGN = {
    "../shared/bench/trl_ppo.py",
    "RMDataset",
    "audio_url",
    "autovacuum_vacuum_max_threshold",
    "dist/",
    "errorElement",
    "get_server()",
    "no_sync",
    "pg_basebackup",
    "pg_dump",
    "ppo.120.3",
    "ppo.kl_coef",
    "ppo_math_1B",
    "runtime.compile",
}
PLACEHOLDER = re.compile(r"[A-Z]+_ID|[a-z]+_[a-z0-9]{24}")  # of a command, and an id
SOURCES = {".py", ".ts", ".tsx", ".js", ".css", ".toml", ".yml", ".json", ".mako"}
NOT_PROSE = [
    re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL),
    re.compile(r"(?<=written by docs/generate -->).*?(?=<!-- end of)", re.DOTALL),
]
CODE = re.compile(r"`([^`\n]+)`")
FILE = re.compile(r"(?:[\w.-]+/)*[\w.-]+\.(?:py|ts|tsx|js|css|md|yml|ipynb|mako)")
FOLDER = re.compile(r"(?:[\w.-]+/)+")
NAME = re.compile(r"[A-Za-z_]\w*(?:\(\))?")
DOTTED = re.compile(r"[a-z_]+(?:\.\w+)+(?<!\.jsonl)(?<!\.toml)")
LABEL = re.compile(r"\[`(?P<label>[^`]+)`\]\((?!https?:)(?P<path>[^)#\s]+)")
# "The function `lease`", and "`Lease` (`lease.py`)".
KINDS = "function|class|method|table|constant|dictionary|fixture|hook|helper|component|interface|reducer"
INTRODUCED = re.compile(rf"\b(?:{KINDS})s? `(?P<name>[A-Za-z_]\w*)`")
PLACED = re.compile(r"`(?P<name>[A-Za-z_]\w*)`\s+(?:\(|in |\(in )\[?`(?P<path>[\w./-]+\.(?:py|tsx?))`")
DEFINITION = (
    r"(?:^\s*(?:async )?(?:def|class) |\b(?:function|class|const|let|type|interface|enum) ){0}\b|^\s*{0}\s*[:=(?]"
)


@cache
def files() -> list[str]:
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    return [name for name in listed if (ROOT / name).is_file()]


@cache
def folders() -> set[str]:
    return {str(parent) for name in files() for parent in Path(name).parents}


PAGES = [name for name in files() if name.endswith(".md") and name not in DATED and not name.startswith(".")]


def is_source(path: Path) -> bool:
    return path.suffix in SOURCES or path.name == "Dockerfile"


@cache
def source() -> str:
    """The text of all code, except for the tests of pages, which hold the exceptions."""
    read = (name for name in files() if is_source(Path(name)) and not name.startswith("tests/docs/"))
    return "\n".join((ROOT / name).read_text() for name in read)


@cache
def words() -> set[str]:
    variables = {f"PROXIMAL_{name.upper()}" for name in Settings.model_fields}  # their prefix stands in one place
    return set(re.findall(r"\w+", source())) | variables


@cache
def prose(page: str) -> str:
    """A page without fenced code and generated parts."""
    text = (ROOT / page).read_text()
    for pattern in NOT_PROSE:
        text = pattern.sub("", text)
    return text


def spans(page: str) -> set[str]:
    """The code in the sentences of a page, without exceptions."""
    return {span for span in CODE.findall(prose(page)) if not PLACEHOLDER.fullmatch(span)} - FOREIGN


def ends(path: str, known: set[str] | list[str]) -> list[str]:
    """The tracked paths that are `path` or end in it, as pages shorten them."""
    return [name for name in known if name == path or name.endswith(f"/{path}")]


def defined(name: str, paths: list[str]) -> bool:
    pattern = re.compile(DEFINITION.format(re.escape(name.rpartition(".")[2])), re.MULTILINE)
    return any(pattern.search((ROOT / path).read_text()) for path in paths)


def resolves(name: str) -> bool:
    """Whether a dotted name is a field of the spec, a value of the chart, a module of ours, defined in one, or a literal in the code."""
    module, _, attribute = name.rpartition(".")
    in_module = bool(module_files(name)) or defined(attribute, module_files(module))
    return in_module or re.sub(r"\.\d+", "", name) in spec_paths() | chart_paths() or f'"{name}"' in source()


def module_files(name: str) -> list[str]:
    path = name.replace(".", "/")
    return [file for file in (f"{path}.py", f"{path}/__init__.py", f"{path}/__main__.py") if (ROOT / file).is_file()]


@cache
def spec_paths() -> set[str]:
    """The dotted path of every field of the job spec."""
    schema = JobSpec.model_json_schema()

    def walk(node: object, path: str, above: tuple[str, ...]) -> Iterator[str]:
        if isinstance(node, list):
            for part in node:
                yield from walk(part, path, above)
        elif isinstance(node, dict):
            reference = node.get("$ref", "").rpartition("/")[2]
            if reference and reference not in above:
                yield from walk(schema["$defs"][reference], path, (*above, reference))
            for name, field in node.get("properties", {}).items():
                yield f"{path}{name}"
                yield from walk(field, f"{path}{name}.", above)
            for key in ("anyOf", "oneOf", "allOf", "items", "additionalProperties"):
                yield from walk(node.get(key), path, above)

    return set(walk(schema, "", ()))


@cache
def chart_paths() -> set[str]:
    """The dotted path of every value of the Helm chart."""
    return set(value_paths(yaml.safe_load((CHART / "values.yaml").read_text())))


def test_spec_paths_reach_into_sections_and_unions() -> None:
    assert {"ppo", "ppo.policy_loss.kind", "rewards.unit"} <= spec_paths()


@pytest.mark.parametrize("page", PAGES)
def test_every_file_named_in_code_exists(page: str) -> None:
    created = set(re.findall(r"^Create `([^`]+)`", prose(page), re.MULTILINE))
    missing = []
    for span in spans(page) - created:
        path = re.sub(r"^(?:\.\.?/)+", "", span)
        is_ours = page == "frontend/README.md" or path.partition("/")[0] in folders()
        if FILE.fullmatch(path):
            missing += [] if ends(path, files()) else [span]
        elif FOLDER.fullmatch(path) and is_ours:
            missing += [] if ends(path.rstrip("/"), folders()) else [span]
    assert missing == []


@pytest.mark.parametrize("page", PAGES)
def test_every_code_label_names_its_target(page: str) -> None:
    wrong = []
    for label, path in LABEL.findall(prose(page)):
        target = (ROOT / page).parent.joinpath(path).resolve().relative_to(ROOT)
        if FILE.fullmatch(label) or FOLDER.fullmatch(label):
            places = [str(target), str(target.parent)] if target.name == "README.md" else [str(target)]
            fits = bool(ends(re.sub(r"^(?:\.\.?/)+", "", label).rstrip("/"), places))
        elif target.suffix in {".py", ".ts", ".tsx"}:
            fits = defined(label.removesuffix("()"), [str(target)])
        else:
            fits = True
        if not fits:
            wrong.append(f"{label} at {path}")
    assert wrong == []


@pytest.mark.parametrize("page", PAGES)
def test_every_name_in_code_occurs_in_the_code(page: str) -> None:
    fenced = set(re.findall(r"\w+", "".join(NOT_PROSE[0].findall((ROOT / page).read_text()))))
    names = {span for span in spans(page) if NAME.fullmatch(span) and re.search(r"_|[a-z][A-Z]|\(", span)}
    assert {name for name in names if name.removesuffix("()") not in words() | fenced} == set()


@pytest.mark.parametrize("page", PAGES)
def test_every_dotted_name_resolves(page: str) -> None:
    ours = {name.partition("/")[0] for name in files() if name.endswith(".py")} | set(JobSpec.model_fields)
    dotted = {span for span in spans(page) if DOTTED.fullmatch(span) and not FILE.fullmatch(span)}
    assert {name for name in dotted if name.partition(".")[0] in ours and not resolves(name)} == set()


@pytest.mark.parametrize("page", PAGES)
def test_every_introduced_name_is_defined_in_the_files_beside_it(page: str) -> None:
    missing = []
    for section in re.split(r"^#+ .*$", prose(page), flags=re.MULTILINE):
        for match in PLACED.finditer(section):
            if not defined(match["name"], ends(match["path"], files())):
                missing.append(f"{match['name']} in {match['path']}")
        beside = [
            path for span in CODE.findall(section) for path in ends(span, files()) if Path(path).suffix in SOURCES
        ]
        everywhere = [name for name in files() if Path(name).suffix in {".py", ".ts", ".tsx"}]
        for match in INTRODUCED.finditer(section):
            if not defined(match["name"], beside or everywhere):
                missing.append(f"{match['name']} in {', '.join(beside) or 'the tree'}")
    assert missing == []


@pytest.mark.parametrize("page", PAGES)
def test_every_command_named_in_code_exists(page: str) -> None:
    text = (ROOT / page).read_text()
    targets = set(re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    scripts = json.loads((ROOT / "frontend" / "package.json").read_text())["scripts"]
    modules = re.findall(r"python -m ((?:api|core|data|trainer|worker|proximal|benchmarks)[\w.]*)", text)
    assert set(re.findall(r"`make ([a-z0-9-]+)", text)) <= targets
    assert set(re.findall(r"\bnpm run ([a-z:-]+)", text)) <= scripts.keys()
    assert [name for name in modules if not module_files(name.rstrip("."))] == []
    assert [path for path in re.findall(r"\bpython ([\w./]+\.py)\b", text) if not ends(path, files())] == []
