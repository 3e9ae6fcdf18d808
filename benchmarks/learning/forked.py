"""`python -m trainer run` in a process forked from one that has its imports: they take longer than a small run."""

import json
import multiprocessing
import shutil
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any


def train_forked(
    spec: dict[str, Any],
    folder: Path,
    then: Callable[[Path], None] | None = None,
    first: Callable[[], None] | None = None,
) -> None:
    """Train in `folder`, which is made anew, and delete the checkpoints. Ends the program if the run fails.

    `first` is called in the same process before the run. `then` is called with the run folder after it, before the checkpoints
    are deleted.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "spec.json").write_text(json.dumps(spec, indent=1))
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["trainer.run.pipeline", "trainer.run.process"])
    process = context.Process(target=_command, args=(folder, then, first))
    process.start()
    process.join()
    if process.exitcode:
        sys.exit(f"{folder} ended with {process.exitcode}:\n{(folder / 'log.txt').read_text()[-3000:]}")
    shutil.rmtree(folder / "run" / "checkpoints", ignore_errors=True)


def _command(folder: Path, then: Callable[[Path], None] | None, first: Callable[[], None] | None) -> None:
    with (folder / "log.txt").open("w") as log, redirect_stdout(log), redirect_stderr(log):
        from trainer.cli import main as trainer

        if first is not None:
            first()
        status = trainer(["run", str(folder / "spec.json"), "--run-dir", str(folder / "run")])
        if status == 0 and then is not None:
            then(folder / "run")
        sys.exit(status)
