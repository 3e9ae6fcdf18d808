"""A shell that types the commands of a page."""

import re
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

BLOCK = re.compile(r"^```bash\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
PLACEHOLDER = re.compile(r"^(?P<name>\w+)=(?P<prefix>[a-z]+_)…$", re.MULTILINE)


@dataclass
class Shell:
    """One bash for all blocks, so that variables and background processes live on."""

    process: "subprocess.Popen[str]"
    replaced: Mapping[str, str]
    output: str = ""
    failed: list[str] = field(default_factory=list)

    def follow(self, page: Path) -> None:
        """Types every block of a page that is marked as `bash`."""
        for block in BLOCK.finditer(page.read_text()):
            self.type(block["text"])

    def type(self, block: str) -> None:
        """Types a block with the newest id of its kind for each `ds_…`, and waits until it has run."""
        text = PLACEHOLDER.sub(lambda found: f"{found['name']}={self.newest(found['prefix'])}", block)
        for old, new in self.replaced.items():
            text = text.replace(old, new)
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(f"{text}\nprintf '\\n__DONE__\\n'\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            if line.startswith("__DONE__"):
                assert self.failed == [], self.output
                return
            self.output += line
            if line.startswith("__FAILED__"):
                self.failed.append(line.strip())
        raise AssertionError(f"the shell has ended:\n{self.output}")

    def newest(self, prefix: str) -> str:
        return re.findall(rf"\b{prefix}[a-z0-9]{{24}}\b", self.output)[-1]


@contextmanager
def shell(folder: Path, env: Mapping[str, str], replaced: Mapping[str, str]) -> Iterator[Shell]:
    """A shell in `folder`. `replaced` maps texts of the pages, such as addresses, to those of the test."""
    process = subprocess.Popen(
        ["bash"],
        cwd=folder,
        env=dict(env),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    opened = Shell(process, replaced)
    opened.type("trap 'echo; echo __FAILED__ \"$BASH_COMMAND\"' ERR")
    try:
        yield opened
    finally:
        assert process.stdin is not None
        process.stdin.write("kill $(jobs -p) 2> /dev/null\n")
        process.stdin.close()
        process.wait(30)
        assert process.stdout is not None
        process.stdout.close()
