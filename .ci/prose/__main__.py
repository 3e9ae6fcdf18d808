"""Checks the prose of the project against the rules in CONTRIBUTING.md.

    python .ci/prose                 the whole tree against the baseline, as `make check` does
    python .ci/prose trainer docs    every violation in these files and folders, also those that the baseline allows
    python .ci/prose --lower         writes the baseline anew, with the counts of today

The baseline holds how many violations each file may still have. A file that it does not list has none. The counts may only
fall: `--lower` refuses to write a larger sum. A file that was moved uses up what its old place was allowed.

A line that ends in a comment `prose: REASON` (`# prose:`, `// prose:`, `<!-- prose: -->`) excepts the sentence on that line or
below it.
"""

import argparse
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from rules import Violation, dashes, violations
from texts import texts

ROOT = Path(__file__).parents[2]
BASELINE = Path(__file__).parent / "baseline.txt"
CODE = {".py", ".ts", ".tsx", ".css", ".js", ".toml", ".yml", ".yaml", ".sh", ".mako"}
NAMED = {"Makefile", "Dockerfile", "run"}
GENERATED = ("*.gen.ts", "proximal/sdk/types.py", "constraints.txt")
EXCEPTION = re.compile(r"\bprose: \w+(?: \S+)+")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python .ci/prose", description="Check prose against the project's rules.")
    parser.add_argument("paths", nargs="*", help="list every violation in these files and folders")
    parser.add_argument("--lower", action="store_true", help="write the baseline anew")
    options = parser.parse_args()
    found = {path: broken for path in _files(options.paths) if (broken := list(check(path)))}
    if options.paths:
        return _list(found)
    counts = {str(path): len(broken) for path, broken in found.items()}
    if options.lower:
        return _lower(counts)
    return _compare(found, counts)


def check(path: Path) -> Iterator[Violation]:
    """The violations of a file, in the order of its lines, without those that are excepted."""
    source = (ROOT / path).read_text(encoding="utf-8")
    excepted = {number for number, line in enumerate(source.splitlines(), 1) if EXCEPTION.search(line)}
    broken = [violation for text in texts(path, source) for violation in violations(text)]
    if path.suffix != ".md":
        broken += dashes(source)
    for violation in sorted(broken):
        if excepted.isdisjoint(range(violation.line - 1, violation.end + 1)):
            yield violation


def _files(names: list[str]) -> Iterator[Path]:
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *names]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    for path in sorted({Path(name) for name in listed}):
        has_rules = path.suffix in CODE | {".md"} or path.name in NAMED
        if has_rules and not any(path.match(pattern) for pattern in GENERATED) and (ROOT / path).is_file():
            yield path


def _list(found: dict[Path, list[Violation]]) -> int:
    for path, broken in found.items():
        for violation in broken:
            print(f"{path}:{violation.line}: {violation.rule}: {violation.text}")
    return 1 if found else 0


def _baseline() -> dict[str, int]:
    if not BASELINE.exists():
        return {}
    lines = BASELINE.read_text(encoding="utf-8").splitlines()
    return {path: int(count) for count, path in (line.split(maxsplit=1) for line in lines if not line.startswith("#"))}


def _lower(counts: dict[str, int]) -> int:
    before, now = sum(_baseline().values()), sum(counts.values())
    if BASELINE.exists() and now > before:
        print(f"The tree has {now} violations and the baseline allows {before}: it may only fall.", file=sys.stderr)
        return 1
    head = "# Violations that each file may still have; `python .ci/prose --lower` writes it, CONTRIBUTING.md explains it.\n"
    BASELINE.write_text(head + "".join(f"{count} {path}\n" for path, count in sorted(counts.items())), encoding="utf-8")
    print(f"{now} violations in {len(counts)} files; {before} before")
    return 0


def _compare(found: dict[Path, list[Violation]], counts: dict[str, int]) -> int:
    """Fails where a file has more violations than it may have, unless files that are gone leave room for them."""
    allowed = _baseline()
    room = sum(count for path, count in allowed.items() if not (ROOT / path).exists())
    over = {path: broken for path, broken in found.items() if counts[str(path)] > allowed.get(str(path), 0)}
    excess = sum(counts[str(path)] - allowed.get(str(path), 0) for path in over)
    if excess <= room:
        if sum(counts.values()) < sum(allowed.values()):
            print("prose: fewer violations than the baseline allows; `python .ci/prose --lower` records it")
        return 0
    _list(over)
    print(f"prose: {excess} violations too many. See the rules of prose in CONTRIBUTING.md.", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
