"""A real Slurm on loopback: munged, a controller and two nodes, with every file in one folder and ports of their own."""

import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from core import child
from tests.waiting import eventually

PROGRAMS = ("slurmctld", "slurmd", "munged", "sbatch", "squeue")
_CONFIGURATION = """\
ClusterName=trial
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={ports[0]}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=5
CredType=cred/munge
SlurmUser={user}
SlurmdUser={user}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
ReturnToService=1
KillWait=15
SlurmdTimeout=10
MessageTimeout=5
SlurmdParameters=config_overrides
SchedulerParameters=sched_interval=2,sched_min_interval=0,bf_interval=2
NodeName=n1 NodeHostname=localhost NodeAddr=127.0.0.1 Port={ports[1]} CPUs=4 RealMemory=4000
NodeName=n2 NodeHostname=localhost NodeAddr=127.0.0.1 Port={ports[2]} CPUs=4 RealMemory=4000
PartitionName=main Nodes=n1,n2 Default=YES PriorityTier=1 MaxTime=60 State=UP
PartitionName=urgent Nodes=n1,n2 PriorityTier=10 MaxTime=60 State=UP
"""


class SlurmCluster:
    """The daemons of one cluster. `SLURM_CONF` of this process leads to it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._running: dict[str, child.Child] = {}

    def start(self) -> None:
        """Returns once both nodes are idle."""
        (self.folder / "state").mkdir(parents=True)
        for node in ("n1", "n2"):
            (self.folder / f"spool-{node}").mkdir()
        user = subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()
        text = _CONFIGURATION.format(folder=self.folder, user=user, ports=_free_ports(3))
        (self.folder / "slurm.conf").write_text(text)
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        os.environ["SLURM_CONF"] = str(self.folder / "slurm.conf")
        files = {"key-file": "key", "socket": "socket", "pid-file": "pid", "log-file": "log", "seed-file": "seed"}
        options = [f"--{name}={self.folder}/munge.{suffix}" for name, suffix in files.items()]
        self._start("munged", "munged", "--foreground", "--force", *options)
        eventually(lambda: (self.folder / "munge.socket").exists())
        self.start_controller()
        for node in ("n1", "n2"):
            self.start_node(node)
        eventually(lambda: self.states() == {"n1": "idle", "n2": "idle"})

    def start_controller(self) -> None:
        self._start("slurmctld", "slurmctld", "-D")

    def start_node(self, node: str) -> None:
        self._start(node, "slurmd", "-D", "-N", node)

    def kill(self, name: str) -> None:
        """Kill `slurmctld`, or the daemon of a node."""
        os.kill(self._running[name].pid, signal.SIGKILL)
        self._running.pop(name).wait()

    def stop_controller(self) -> None:
        """Stop the controller as its service does: it saves its state."""
        self._running.pop("slurmctld").stop(grace=60)

    def stop(self) -> None:
        with suppress(subprocess.CalledProcessError, KeyError):
            ask("scancel", f"--user={os.getuid()}")
        for name in ("n2", "n1", "slurmctld", "munged"):
            if name in self._running:
                self._running.pop(name).stop(grace=20)
        os.environ.pop("SLURM_CONF", None)

    def states(self) -> dict[str, str]:
        """The state of each node."""
        done = subprocess.run(
            ["sinfo", "--noheader", "--Node", "--partition=main", "--format=%N %T"], capture_output=True, text=True
        )
        return dict(line.split() for line in done.stdout.splitlines())

    def _start(self, name: str, *command: str) -> None:
        with (self.folder / f"{name}.out").open("ab") as output:
            self._running[name] = child.start(command, stdout=output)


def ask(*command: str) -> str:
    """The output of a command of Slurm."""
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def missing() -> str | None:
    """The programs that this machine lacks, for the reason of a skip."""
    absent = [program for program in PROGRAMS if shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin") is None]
    return f"{', '.join(absent)} not installed: slurmctld slurmd slurm-client munge on Debian" if absent else None


@contextmanager
def running_cluster(folder: Path) -> Iterator[SlurmCluster]:
    cluster = SlurmCluster(folder)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


def _free_ports(count: int) -> list[int]:
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return ports
