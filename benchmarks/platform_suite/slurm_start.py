"""Measures the time from a submission to the first step: a job in Slurm against one that the worker runs itself, in turn.

    python -m benchmarks.platform_suite.slurm_start --json FILE

Slurm is the cluster that `sbatch` reaches. It must be free, and see the folder of `--folder` on all nodes.
"""

import argparse
import os
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.measuring.places import CACHE, path, say, write_json
from benchmarks.platform_suite.step_cost import client_of, free_port
from proximal.local import services
from proximal.local.options import Options
from proximal.sdk import Client
from proximal.sdk.spec_files import read_spec, with_uploads

_JOB = Path(__file__).parents[2] / "examples" / "tiny.toml"
_LAUNCHERS = ("local", "slurm")


def main(argv: list[str] | None = None) -> dict[str, Any]:
    """`start_s_local`, `start_s_slurm`: median seconds to the first step. `slurm_above_local_s`: their difference."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.platform_suite.slurm_start", description=__doc__)
    parser.add_argument("--json", type=path, help="write every figure to this file")
    parser.add_argument("--jobs", type=int, default=5, help="jobs of each launcher (default 5)")
    parser.add_argument(
        "--folder", type=path, default=CACHE / "slurm-start", help="folder of the platforms, for a while"
    )
    arguments = parser.parse_args(argv)
    found: dict[str, list[float]] = {one: [] for one in _LAUNCHERS}
    with _platform("local", arguments.folder) as local, _platform("slurm", arguments.folder) as slurm:
        for number in range(arguments.jobs + 1):
            for launcher, client in zip(_LAUNCHERS, (local, slurm), strict=True):
                seconds = _first_step(client)
                if number:  # the first one fills the caches of the file system
                    found[launcher].append(seconds)
                say(f"job {number} of {arguments.jobs}, {launcher}: {seconds:.2f} s")
    figures = {f"start_s_{one}": round(median(seconds), 2) for one, seconds in found.items()}
    figures["slurm_above_local_s"] = round(figures["start_s_slurm"] - figures["start_s_local"], 2)
    write_json(figures | {"seconds": found}, arguments.json)
    say(str(figures))
    return figures


@contextmanager
def _platform(launcher: str, folder: Path) -> Iterator[Client]:
    os.environ |= {"PROXIMAL_LAUNCHER": launcher, "HF_HUB_OFFLINE": "1"}
    options = Options(folder / launcher, port=free_port())
    up = services.start_in_background(options)
    try:
        with client_of(options) as client:
            yield client
    finally:
        up.stop(grace=60)
        shutil.rmtree(folder / launcher)


def _first_step(client: Client) -> float:
    """Seconds from the submission to the first values of a step. Returns when the job has ended."""
    spec = with_uploads(client, read_spec(_JOB), _JOB.parent)
    began = time.monotonic()
    job_id, seconds = client.create_job(spec)["id"], None
    for event in client.stream_job_events(job_id):
        if event["type"] == "metrics" and seconds is None:
            seconds = time.monotonic() - began
    job = client.get_job(job_id)
    if job["status"] != "succeeded" or seconds is None:
        sys.exit(f"The job ended as {job['status']}: {job['error']}")
    return seconds


if __name__ == "__main__":
    main()
