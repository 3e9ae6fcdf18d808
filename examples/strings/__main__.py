"""Writes what the examples of this folder need, and serves their rewards: `python -m examples.strings FOLDER --serve 8077`.

    FOLDER/model              random weights and a tokenizer of characters
    FOLDER/prompts.jsonl      questions of the task (`--task`, copying by default), with their answers
    FOLDER/sft.jsonl          answers to other questions, for SFT
    FOLDER/from_scratch.toml  the spec of PPO from random weights
    FOLDER/after_sft.toml     the spec of SFT and PPO

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

DEMONSTRATIONS = 512


def write(folder: Path, task: str = "copy", seed: int = 0) -> None:
    """Model, data and specs of a task. The specs name the addresses of their own tasks' rewards."""
    new_policy(folder / "model", seed)
    prompts = TASKS[task].prompts()
    rows = [json.dumps({"prompt": prompt, "answer": TASKS[task].answer(prompt)}) for prompt in prompts]
    (folder / "prompts.jsonl").write_text("\n".join(rows) + "\n")
    shown = [prompt for prompt in TASKS[task].prompts(seed=1) if prompt not in set(prompts)][:DEMONSTRATIONS]
    rows = [json.dumps({"prompt": prompt, "completion": TASKS[task].answer(prompt)}) for prompt in shown]
    (folder / "sft.jsonl").write_text("\n".join(rows) + "\n")
    for name in ("from_scratch.toml", "after_sft.toml"):
        shutil.copy(Path(__file__).with_name(name), folder)


def main() -> None:
    parser = argparse.ArgumentParser(description="Write a model, prompts and spec, and serve the reward.")
    parser.add_argument("folder", type=Path)
    parser.add_argument(
        "--serve", type=int, metavar="PORT", help="then serve the reward on this port until interrupted"
    )
    parser.add_argument("--task", choices=TASKS, default="copy", help="the task of the prompts")
    arguments = parser.parse_args()
    write(arguments.folder, arguments.task)
    if arguments.serve is not None:
        with serving(arguments.serve) as url:
            print(f"serving rewards at {url}/{arguments.task}; stop with Ctrl-C", flush=True)  # noqa: T201 this command's output
            try:
                threading.Event().wait()
            except KeyboardInterrupt:
                return


if __name__ == "__main__":
    main()
