"""Installs the project: `python3 .setup` (everything that running needs), `python3 .setup browser` (for the tests), or
`python3 .setup lighthouse` (for `make lighthouse`, with the browser). `python3 .setup wheels` builds the wheels into `dist`.
`python3 .setup vllm` makes the environment of `make test-vllm`, `python3 .setup containers` the base images of `make test-images`.

Standard library only, since it runs before anything is installed. Each step leaves a stamp of what it was done for, so
that doing it again costs nothing and a half-done set-up goes on where it stopped.
"""

import sys
from pathlib import Path

import browser
import containers
import dashboard
import packages
import vllm
import wheels
from steps import SetupError

ROOT = Path(__file__).resolve().parent.parent


def main(arguments: list[str]) -> int:
    try:
        if arguments == ["browser"]:
            browser.ensure(ROOT)
        elif arguments == ["lighthouse"]:
            browser.ensure(ROOT)
            dashboard.ensure_lighthouse(ROOT)
        elif arguments == ["vllm"]:
            vllm.ensure(ROOT)
        elif arguments == ["containers"]:
            containers.ensure(ROOT)
        elif arguments == ["wheels"]:
            wheels.build(ROOT, ROOT / "dist")
        else:
            packages.ensure(ROOT)
            dashboard.ensure(ROOT)
    except SetupError as error:
        print(f"\n{error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nStopped. The same command goes on from here.", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
