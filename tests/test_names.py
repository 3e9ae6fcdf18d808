"""Rules for the names of the test functions in every file of `tests/`, and for functions that only tests call."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
MOST_CHARACTERS = 60  # with a longer name, a failure does not fit on one line of the report
PACKAGES = ("api", "core", "data", "proximal", "trainer", "worker")
KEPT = {
    "turn_gae": "the advantages of the multi-turn rollout, which is being built",
    "deprecated": "the headers of the next route that goes; no route does today",
}

Function = ast.FunctionDef | ast.AsyncFunctionDef
Scope = ast.Module | ast.ClassDef


@cache
def scopes() -> list[tuple[str, Scope]]:
    """Returns every module and class under `tests/`, each with its file."""
    found: list[tuple[str, Scope]] = []
    for file in sorted((ROOT / "tests").rglob("*.py")):
        name = str(file.relative_to(ROOT))
        nodes = ast.walk(ast.parse(file.read_text(), name))
        found += [(name, node) for node in nodes if isinstance(node, Scope)]
    return found


def functions(node: ast.AST) -> Iterator[Function]:
    """Yields the test functions of one scope, those below `if` and `try` included, in their order."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Function):
            if child.name.startswith("test"):
                yield child
        elif not isinstance(child, ast.ClassDef):
            yield from functions(child)


def test_no_test_name_exceeds_60_characters() -> None:
    long = [
        f"{file}:{function.lineno}: {function.name} ({len(function.name)} characters)"
        for file, scope in scopes()
        for function in functions(scope)
        if len(function.name) > MOST_CHARACTERS
    ]
    assert not long, f"Shorten to {MOST_CHARACTERS} characters:\n" + "\n".join(long)


def test_no_test_name_is_repeated_in_its_scope() -> None:
    """Python keeps the last function of a name only, so pytest would not run the first."""
    repeated = []
    for file, scope in scopes():
        first: dict[str, int] = {}
        for function in functions(scope):
            line = first.setdefault(function.name, function.lineno)
            if line != function.lineno:
                repeated.append(f"{file}:{function.lineno}: {function.name} (also in line {line})")
    assert not repeated, "Rename or delete:\n" + "\n".join(repeated)


def test_functions_have_a_caller_outside_the_tests() -> None:
    """A function that only tests call is code that no user reaches."""
    called: set[str] = set()
    defined: dict[str, str] = {}
    for package in (*PACKAGES, "benchmarks", "docs"):
        for file in (ROOT / package).rglob("*.py"):
            tree = ast.parse(file.read_text())
            called |= {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
            called |= {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
            plain = [node for node in tree.body if isinstance(node, Function) and not node.decorator_list]
            defined |= {
                node.name: f"{file.relative_to(ROOT)}: {node.name}"
                for node in plain
                if package in PACKAGES and node.name[:2] != "__"
            }
    alone = [place for name, place in defined.items() if name not in called | KEPT.keys()]
    assert not alone, "Call, or delete:\n" + "\n".join(alone)
