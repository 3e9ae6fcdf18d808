"""The data folder of a local platform. Its lock allows one `up` at a time and names the running one."""

import contextlib
import json
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from proximal.errors import ClientError

try:
    import fcntl
except ImportError:  # Windows, where no platform runs
    fcntl = None  # type: ignore[assignment]


@dataclass(frozen=True)
class Running:
    """Process id and address of a running `up`, as stored in `up.lock`."""

    pid: int
    url: str


class AlreadyRunning(ClientError):
    def __init__(self, folder: Path, running: Running | None) -> None:
        who = f"process {running.pid}, at {running.url}" if running else "another process"
        super().__init__(
            f"A platform is already running on {folder} ({who}). "
            "Use that one, stop it, or choose another data folder with --data-dir."
        )


class DataFolder:
    """Paths in the folder, and its lock."""

    def __init__(self, path: Path) -> None:
        self.path = path.expanduser().resolve()
        self.logs = self.path / "logs"
        self.postgres = self.path / "postgres"
        self.redis = self.path / "redis"
        self.models = self.path.parent / "models"
        self.key_file = self.path / "api_key"
        self.worker_file = self.path / "worker.json"
        self._lock = self.path / "up.lock"

    @property
    def model_folders(self) -> list[Path]:
        """The folder of local models. Empty if it could not be made, if it is the data folder itself, or if its path has a
        colon, which separates the folders in PROXIMAL_LOCAL_MODELS."""
        usable = self.models.is_dir() and self.models != self.path and ":" not in str(self.models)
        return [self.models] if usable else []

    def log(self, name: str) -> Path:
        return self.logs / f"{name}.log"

    def prepare(self) -> None:
        """Create the folder, with access for its owner only, and the folder of local models beside it, if possible."""
        _private(self.logs)
        with contextlib.suppress(OSError):  # a file has this name, or the file system is read-only
            self.models.mkdir(exist_ok=True)
        found = self.path.stat()
        # A shared folder such as /tmp keeps its permissions.
        if found.st_uid == os.getuid() and not found.st_mode & stat.S_IWOTH:
            _private(self.path)

    @contextlib.contextmanager
    def hold(self, running: Running) -> Iterator[None]:
        """Lock the folder. Raises AlreadyRunning if it is locked. The kernel releases the lock when the process ends."""
        self.prepare()
        with self._lock.open("a+") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise AlreadyRunning(self.path, _read(self._lock)) from error
            self._lock.write_text(json.dumps(asdict(running)))
            yield

    def running(self) -> Running | None:
        """The platform that runs on this folder; None without one."""
        if fcntl is None or not self._lock.exists():
            return None
        with self._lock.open("a+") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return _read(self._lock)
        return None

    def key(self) -> str | None:
        """The local API key, if `up` has made one."""
        return self.key_file.read_text().strip() if self.key_file.exists() else None

    def keep_key(self, plaintext: str) -> None:
        self.key_file.touch(mode=0o600)
        self.key_file.write_text(f"{plaintext}\n")

    def keep_worker(self, settings: Mapping[str, object]) -> None:
        """Keep the settings of a worker that has joined a platform, which contain secrets."""
        self.prepare()
        draft = self.worker_file.with_suffix(".draft")
        draft.touch(mode=0o600)
        draft.write_text(json.dumps(settings, indent=2) + "\n")
        draft.replace(self.worker_file)


def default_folder() -> DataFolder:
    """The data folder of a platform that was started here: PROXIMAL_DATA_DIR, or `.proximal`."""
    return DataFolder(Path(os.environ.get("PROXIMAL_DATA_DIR") or ".proximal"))


def _private(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)


def _read(lock: Path) -> Running | None:
    try:
        return Running(**json.loads(lock.read_text()))
    except (ValueError, TypeError):
        return None


class UpError(ClientError):
    """The local platform could not be started. The message has the cause and the remedy."""
