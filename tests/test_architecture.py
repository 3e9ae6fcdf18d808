"""The package table of the architecture page, the import contracts and the torch-free modules agree."""

import re
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "explanation" / "architecture.md"
CONFIGURATION = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
CONTRACTS: list[dict[str, Any]] = CONFIGURATION["contracts"]
SUFFIX = " imports what the package table allows"

Allowed = set[tuple[str, str]]  # who imports, what


def allowed_by_table() -> dict[str, Allowed]:
    """The last column of the table, by package. `a`: `b` in a cell allows only the part `a` to import `b`."""
    section = PAGE.read_text().partition("## Packages")[2].partition("\n## ")[0]
    table = {}
    for package, cell in re.findall(r"^\| \[`(\w+)/`\].*\| ([^|]+) \|$", section, re.MULTILINE):
        table[package] = set()
        for part in cell.split(";"):
            importer, colon, names = part.rpartition(":")
            table[package] |= {
                (importer.strip(" `") if colon else package, name) for name in re.findall(r"`([^`]+)`", names)
            }
    return table


def allowed_by_contracts() -> dict[str, Allowed]:
    packages = set(CONFIGURATION["root_packages"])
    allowed = {}
    for contract in CONTRACTS:
        if contract["name"].endswith(SUFFIX):
            (package,) = contract["source_modules"]
            whole = packages - {package} - set(contract["forbidden_modules"])
            parts = [ignored.replace(".**", "").split(" -> ") for ignored in contract.get("ignore_imports", [])]
            allowed[package] = {(package, name) for name in whole} | {(importer, name) for importer, name in parts}
    return allowed


def test_each_row_of_the_package_table_is_a_contract() -> None:
    table = allowed_by_table()
    assert table.pop("frontend") == set()  # ESLint's
    assert allowed_by_contracts() == table


def test_modules_of_the_trainer_in_the_table_are_torch_free() -> None:
    (free,) = [
        contract["source_modules"] for contract in CONTRACTS if contract["name"].startswith("The parts of trainer")
    ]
    named = {name for allowed in allowed_by_table().values() for _, name in allowed if name.startswith("trainer.")}
    assert named <= set(free)


def test_every_package_is_a_row_or_the_benchmarks() -> None:
    assert set(CONFIGURATION["root_packages"]) - allowed_by_table().keys() == {"benchmarks"}
