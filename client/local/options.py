"""Options of a local platform."""

from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from client.local.folder import DataFolder, UpError
from core.settings import LocalSettings


@dataclass(frozen=True)
class Options:
    """Data folder, address, and number of workers."""

    data_dir: Path | None = None
    host: str = "127.0.0.1"
    port: int = 8000
    workers: int = 1

    @property
    def folder(self) -> DataFolder:
        return DataFolder(self.data_dir or _settings().data_dir)

    @property
    def model_folders(self) -> list[Path]:
        """The folders that jobs may read local models from: the platform's, and those that the operator adds."""
        return [*self.folder.model_folders, *_settings().local_models]

    @property
    def url(self) -> str:
        host = "127.0.0.1" if self.host in ("0.0.0.0", "::") else self.host
        return f"http://{host}:{self.port}"


def _settings() -> LocalSettings:
    try:
        return LocalSettings()
    except ValidationError as error:
        raise UpError(
            "; ".join(f"PROXIMAL_{str(item['loc'][0]).upper()}: {item['msg']}" for item in error.errors())
        ) from error
