"""Writes what examples/strings/from_scratch.toml needs, and serves its reward: `python -m examples.strings FOLDER --serve 8077`.

    FOLDER/model              random weights and a tokenizer of characters
    FOLDER/prompts.jsonl      strings to copy, with their answers
    FOLDER/from_scratch.toml  the spec

The server answers at http://127.0.0.1:PORT/copy, and at /reverse, /sort, /count, /modular_sum and /brackets, until interrupted.
"""

import argparse
import json
import shutil
import threading
from pathlib import Path

from examples.strings.model import new_policy
from examples.strings.server import serving
from examples.strings.tasks import TASKS


def write(folder: Path, task: str = "copy", seed: int = 0) -> None:
    """Model, prompts and spec of a task."""
    new_policy(folder / "model", seed)
    prompts = TASKS[task].prompts()
    rows = [json.dumps({"prompt": prompt, "answer": TASKS[task].answer(prompt)}) for prompt in prompts]
    (folder / "prompts.jsonl").write_text("\n".join(rows) + "\n")
    shutil.copy(Path(__file__).with_name("from_scratch.toml"), folder)


def main() -> None:
    parser = argparse.ArgumentParser(description="Write a model, prompts and spec, and serve the reward.")
    parser.add_argument("folder", type=Path)
    parser.add_argument(
        "--serve", type=int, metavar="PORT", help="then serve the reward on this port until interrupted"
    )
    arguments = parser.parse_args()
    write(arguments.folder)
    if arguments.serve is not None:
        with serving(arguments.serve) as url:
            print(f"serving rewards at {url}/copy; stop with Ctrl-C", flush=True)  # noqa: T201 this command's output
            try:
                threading.Event().wait()
            except KeyboardInterrupt:
                return


if __name__ == "__main__":
    main()
