"""Options of a local platform."""

from dataclasses import dataclass, replace
from pathlib import Path

from proximal.data_folder import DataFolder, UpError


@dataclass(frozen=True)
class Environment:
    """The values of `core.settings.LocalSettings`."""

    data_dir: Path
    local_models: list[Path]
    database_url: str | None
    redis_url: str | None


@dataclass(frozen=True)
class Options:
    """Data folder, address, and number of workers."""

    data_dir: Path | None = None
    host: str = "127.0.0.1"
    port: int = 8000
    workers: int = 1
    known_environment: Environment | None = None

    @property
    def environment(self) -> Environment:
        """The settings of the environment. Raises UpError for wrong ones."""
        return self.known_environment or _environment()

    def with_environment(self) -> "Options":
        """The same options, which need not read the settings again."""
        return replace(self, known_environment=self.environment)

    @property
    def folder(self) -> DataFolder:
        return DataFolder(self.data_dir or self.environment.data_dir)

    @property
    def model_folders(self) -> list[Path]:
        """The folders that jobs may read local models from: the platform's, and those that the operator adds."""
        return [*self.folder.model_folders, *self.environment.local_models]

    @property
    def url(self) -> str:
        host = "127.0.0.1" if self.host in ("0.0.0.0", "::") else self.host
        return f"http://{host}:{self.port}"


def _environment() -> Environment:
    from pydantic import ValidationError

    from core.settings import LocalSettings

    try:
        found = LocalSettings()
    except ValidationError as error:
        raise UpError(
            "; ".join(f"PROXIMAL_{str(item['loc'][0]).upper()}: {item['msg']}" for item in error.errors())
        ) from error
    return Environment(found.data_dir, found.local_models, found.database_url, found.redis_url)
