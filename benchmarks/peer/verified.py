"""Runs the peer's script, unchanged, against a task's verifiable reward in place of a reward model.

`python -m benchmarks.peer.verified SCRIPT JOB ...` in the peer's virtual environment; a JOB is JSON: {"task", "log", "arguments" of the
script}. The script loads its reward model and its critic from one folder, in this order. The first is replaced by the task's `score`,
the second stays a model. The log gets one line a batch: the mean score of the task, before any penalty.
"""

import gc
import json
import os
import runpy
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn

from examples.strings.tasks import END, TASKS, Task


class Verifier(nn.Module):
    """A task as TRL wants its reward model: `score` of the last hidden state of the model under `base_model_prefix`."""

    base_model_prefix = "task"

    def __init__(self, task: Task, tokenizer: Any, log: Path) -> None:
        super().__init__()
        self.task = _Scores(task, tokenizer, log)
        self.score = nn.Identity()


class _Scores(nn.Module):
    """Each row's score, as a hidden state of width 1 at every position."""

    def __init__(self, task: Task, tokenizer: Any, log: Path) -> None:
        super().__init__()
        self._task, self._tokenizer, self._log = task, tokenizer, log

    def forward(self, input_ids: Tensor, attention_mask: Tensor, **_: Any) -> SimpleNamespace:
        """TRL writes id 0 over the padding, so only the mask marks the text."""
        rows = [ids[real].tolist() for ids, real in zip(input_ids, attention_mask.bool(), strict=True)]
        scores = [self._scored(self._tokenizer.decode(row, skip_special_tokens=True)) for row in rows]
        with self._log.open("a") as log:
            log.write(json.dumps(sum(scores) / len(scores)) + "\n")
        hidden = torch.tensor(scores, device=input_ids.device)[:, None, None].expand(*input_ids.shape, 1)
        return SimpleNamespace(hidden_states=[hidden])

    def _scored(self, text: str) -> float:
        question, end, response = text.partition(END)
        return self._task.score(question + end, response)


def main() -> None:
    """Each run in a process forked from this one, which has imported everything: imports take longer than small runs."""
    import datasets  # type: ignore[import-not-found]  # noqa: F401 the script's imports; ours need not have them
    import trl.experimental.ppo  # type: ignore[import-not-found]  # noqa: F401

    script, *jobs = sys.argv[1], *map(json.loads, sys.argv[2:])
    gc.collect()
    gc.freeze()  # TRL collects twice an iteration, which costs more than the rest of it where so much is imported
    for job in jobs:
        if child := os.fork():
            os.waitpid(child, 0)  # one that fails leaves no report, which its reader sees
        else:
            _run(script, **job)
            return


def _run(script: str, task: str, log: str, arguments: list[str]) -> None:
    import transformers

    model = transformers.AutoModelForSequenceClassification
    load, loaded = model.from_pretrained, []

    def first_the_task(path: str, **options: Any) -> Any:
        loaded.append(path)
        if len(loaded) > 1:
            return load(path, **options)
        return Verifier(TASKS[task], transformers.AutoTokenizer.from_pretrained(path), Path(log))

    model.from_pretrained = first_the_task  # type: ignore[assignment]  # a class method, replaced for this process
    sys.argv = [script, *arguments]
    runpy.run_path(script, run_name="__main__")


if __name__ == "__main__":
    main()
