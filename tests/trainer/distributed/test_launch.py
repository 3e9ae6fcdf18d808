"""The arguments that `python -m trainer launch` passes to accelerate, and the exit status that it derives."""

import signal
from pathlib import Path
from types import SimpleNamespace

import pytest

from trainer.cli import main
from trainer.distributed.launch import Machine, _first_status, options
from trainer.spec import ResourcesSpec


def ended(*statuses: int) -> dict[int, SimpleNamespace]:
    """Failures a second apart, as torch's agent reports them."""
    return {rank: SimpleNamespace(exitcode=status, timestamp=rank) for rank, status in enumerate(statuses)}


@pytest.mark.parametrize(
    ("statuses", "cause"),
    [
        ((6, 5), 6),
        ((11, -signal.SIGKILL), -signal.SIGKILL),
        ((-signal.SIGTERM, 75), 75),
        ((11, 11), 11),
        ((-signal.SIGTERM, -signal.SIGTERM), -signal.SIGTERM),
    ],
)
def test_launch_first_status_skips_processes_that_failed_after(statuses: tuple[int, ...], cause: int) -> None:
    """The cause is the first process that did not fail because another one had failed."""
    assert _first_status(ended(*statuses)) == cause


def test_accelerate_counts_the_processes_of_all_machines() -> None:
    asked = options(ResourcesSpec(processes=4, machines=2), Machine(1, "10.0.0.1:29500"))
    pairs = dict(zip(asked[2::2], asked[3::2], strict=True))
    assert asked[:2] == ["--multi_gpu", "--same_network"]
    assert (pairs["--num_processes"], pairs["--num_machines"], pairs["--machine_rank"]) == ("8", "2", "1")
    assert (pairs["--main_process_ip"], pairs["--main_process_port"]) == ("10.0.0.1", "29500")


@pytest.mark.parametrize(
    ("machines", "options", "said"),
    [
        (2, [], "--rendezvous"),
        (1, ["--rendezvous", "localhost:1"], "--rendezvous"),
        (2, ["--rendezvous", "localhost:1", "--machine-rank", "2"], "--machine-rank"),
    ],
)
def test_machines_without_a_place_to_meet_are_refused(
    machines: int, options: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = tmp_path / "spec.toml"
    spec.write_text(
        f'model = "some/model"\nstages = ["dpo"]\n[data]\npreferences = "p.jsonl"\n'
        f"[resources]\nprocesses = 2\nmachines = {machines}\n"
    )
    assert main(["launch", str(spec), "--run-dir", str(tmp_path / "run"), *options]) == 2
    assert said in capsys.readouterr().err
