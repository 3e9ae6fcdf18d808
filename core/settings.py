"""Every setting of the platform, and the only place that reads the environment."""

import re
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, TypeVar
from urllib.parse import unquote, urlsplit

from pydantic import AliasChoices, BeforeValidator, Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from core.access.allowlist import HttpAddress, RewardUrls
from core.access.import_urls import ImportUrls, check_prefix
from core.errors import SettingsError
from trainer.spec.path_rules import PathRules

Seconds = Annotated[float, Field(gt=0)]
Kind = TypeVar("Kind", bound=BaseSettings)
_HOST_AND_PORT = re.compile(r"\S+:\d+")


def _folders(value: object) -> object:
    """Absolute folders from a list separated by `:`."""
    if not isinstance(value, str):
        return value
    if value == "any":
        raise ValueError("`any` is not supported any more: list the folders that jobs may read models from")
    folders = (Path(root).expanduser().absolute() for root in value.split(":") if root and root != "none")
    return [folder.resolve() if ".." in folder.parts else folder for folder in folders]


Folders = Annotated[list[Path], NoDecode, BeforeValidator(_folders)]


class Settings(BaseSettings):
    """Read from the environment once; `proximal up` fills in the addresses of the embedded servers."""

    model_config = SettingsConfigDict(
        env_prefix="PROXIMAL_", frozen=True, extra="ignore", use_attribute_docstrings=True, populate_by_name=True
    )

    database_url: Annotated[str, Field(validation_alias=AliasChoices("DATABASE_URL", "database_url"))]
    """PostgreSQL, as `postgresql://user:password@host:5432/name`."""
    redis_url: Annotated[str, Field(validation_alias=AliasChoices("REDIS_URL", "redis_url"))]
    """Redis or Valkey, as `redis://host:6379/0`: the queue's broker."""
    data_dir: Path = Path(".proximal")
    """Folder for what this machine keeps: run folders, the embedded servers' data and, by default, blobs."""
    blob_url: str = ""
    """Where datasets and checkpoints lie, as `file:///some/folder`. Empty: `blobs` in the data folder."""

    lease_seconds: Seconds = 15
    """How long a worker holds a job without a sign of life before the job is given to another."""
    heartbeat_seconds: Seconds = 3
    """How often a worker gives a sign of life. Well below the lease."""
    sweep_seconds: Seconds = 3
    """How often the sweeper looks for lost workers and for jobs whose message was lost."""
    max_attempts: Annotated[int, Field(ge=1)] = 5
    """How many workers in a row a job may lose, without a checkpoint in between, before it fails."""
    stop_seconds: Seconds = 60
    """How long a trainer that was asked to stop may take to finish its step and save, before it is killed."""

    processes: Annotated[int, Field(ge=1)] | None = None
    """How many processes a job may ask this worker's machine for. Left out: one for each GPU or, where there is none or the job computes on the CPU, one for each core."""
    cuda_visible_devices: Annotated[
        str | None, Field(validation_alias=AliasChoices("CUDA_VISIBLE_DEVICES", "cuda_visible_devices"))
    ] = None
    """The GPUs that this worker's trainers use, as `0,1`. Left out: all."""
    machines: Annotated[int, Field(ge=1)] = 1
    """How many machines work on one job together: this worker's, and those that run `python -m worker join`."""
    rendezvous: str = ""
    """Where those machines meet, as `host:port`: this worker's machine as the others reach it, and a port that is free there."""

    max_upload_bytes: Annotated[int, Field(ge=1)] = 64 * 1024**3
    """Largest upload in parts, and largest file imported from elsewhere."""
    max_request_upload_bytes: Annotated[int, Field(ge=1)] = 64 * 1024**2
    """Largest dataset in one request; a larger one comes in parts (`/v1/uploads`)."""
    upload_part_bytes: Annotated[int, Field(ge=1)] = 16 * 1024**2
    """Size of an upload's parts; doubled for a file that would have more than 10,000 of them."""
    upload_hours: Annotated[float, Field(gt=0)] = 24
    """How long an upload is kept after its last part, or after the dataset that was made of it."""
    import_urls: Annotated[ImportUrls, NoDecode] = "none"
    """Where files may be imported from: `none`, `any` (every public https address, bucket and hub dataset), or a list of prefixes separated by spaces, as `https://data.example/ s3://bucket/pairs/ hf://datasets/owner/ file:///srv/data/`. A prefix that ends with `://` is every public address of its kind; one that names a host holds for a private network too."""
    hub_url: str = "https://huggingface.co"
    """The hub that dataset ids are looked up at."""
    s3_endpoint: str = ""
    """Address of an S3-compatible store. Empty: Amazon's."""
    s3_region: str = "us-east-1"
    """Region of the buckets that are imported from."""
    s3_access_key_id: str = ""
    """Key to read buckets with. Empty: only public ones."""
    s3_secret_access_key: SecretStr | None = None
    """The secret of that key."""
    max_body_bytes: Annotated[int, Field(ge=1)] = 1024**2
    """Largest request body other than an upload."""
    max_line_bytes: Annotated[int, Field(ge=1)] = 4 * 1024**2
    """Longest line of a dataset."""
    max_expanded_bytes: Annotated[int, Field(ge=1)] = 64 * 1024**3
    """Largest dataset once it is decompressed."""
    max_compression_ratio: Annotated[float, Field(gt=1)] = 200
    """How many times larger than its file a compressed dataset may be."""
    max_columns: Annotated[int, Field(ge=1)] = 1000
    """Most columns of a dataset, or fields of a record."""
    max_depth: Annotated[int, Field(ge=1)] = 64
    """How deeply the values of a record may be nested."""
    local_models: Folders = []
    """Folders of the worker's machine from which a job may read models and files, separated by `:`. Empty or `none`: no folder. The data and blob folders are never allowed. `proximal up` adds the folder `models` beside its data folder."""
    reward_urls: Annotated[RewardUrls, NoDecode] = "none"
    """Addresses that a job may name as its reward or judge: `any`, `none`, or a list of prefixes separated by spaces, as `https://rewards.example:8443/v1 http://10.0.0.7/`. The trainer asks them from the worker's network."""

    session_hours: Annotated[float, Field(gt=0)] = 24 * 14
    """How long a browser stays signed in."""
    stream_seconds: Seconds = 600
    """Longest life of one event stream; the browser then reconnects and goes on where it was."""
    stream_poll_seconds: Seconds = 0.5
    """How often an event stream looks for news in the database."""
    dashboard_dir: Path = Path(__file__).parent.parent / "frontend" / "dist"
    """The built dashboard."""

    @field_validator("database_url")
    @classmethod
    def _use_psycopg_3(cls, url: str) -> str:
        scheme, separator, rest = url.partition("://")
        if scheme not in ("postgres", "postgresql", "postgresql+psycopg") or not separator:
            raise ValueError("must be a PostgreSQL address, as postgresql://user:password@host:5432/name")
        return f"postgresql+psycopg://{rest}"

    @field_validator("processes", mode="before")
    @classmethod
    def _empty_is_left_out(cls, value: object) -> object:
        return None if value == "" else value

    @field_validator("data_dir", "dashboard_dir")
    @classmethod
    def _absolute(cls, folder: Path) -> Path:
        return folder.expanduser().resolve()

    @field_validator("blob_url")
    @classmethod
    def _known_scheme(cls, url: str) -> str:
        if url and urlsplit(url).scheme != "file":
            raise ValueError("only file:///folder addresses are supported so far")
        return url

    @field_validator("reward_urls", mode="before")
    @classmethod
    def _split_prefixes(cls, value: Any) -> Any:
        if not isinstance(value, str) or value in ("any", "none"):
            return value
        for prefix in value.split():
            HttpAddress.parse(prefix)
            if "?" in prefix or "#" in prefix:
                raise ValueError(f"{prefix}: a prefix ends with the path")
        return value.split()

    @field_validator("import_urls", mode="before")
    @classmethod
    def _split_import_prefixes(cls, value: Any) -> Any:
        if not isinstance(value, str) or value in ("any", "none"):
            return value
        return [check_prefix(prefix) for prefix in value.split()]

    @model_validator(mode="after")
    def _machines_have_a_place_to_meet(self) -> "Settings":
        if self.machines > 1 and not _HOST_AND_PORT.fullmatch(self.rendezvous):
            raise ValueError("PROXIMAL_MACHINES needs PROXIMAL_RENDEZVOUS, as host:port")
        return self

    @model_validator(mode="after")
    def _models_lie_apart(self) -> "Settings":
        for folder in self.local_models:
            if PathRules(allowed=(folder,), refused=self.own_folders).why_not(folder):
                raise ValueError(
                    f"PROXIMAL_LOCAL_MODELS: {folder} lies in the data or blob folder, which jobs may never read; "
                    "choose a folder elsewhere"
                )
        return self

    @property
    def own_folders(self) -> tuple[Path, ...]:
        """The folders of the platform itself, which hold the data of every key."""
        return self.data_dir, self.blob_dir

    @property
    def path_rules(self) -> PathRules:
        """Which local paths a job may name."""
        return PathRules(allowed=tuple(self.local_models), refused=self.own_folders)

    @property
    def blob_dir(self) -> Path:
        """The folder of the blobs."""
        return Path(unquote(urlsplit(self.blob_url).path)) if self.blob_url else self.data_dir / "blobs"


class LocalSettings(BaseSettings):
    """What `proximal up` looks at before it fills in the rest: servers of one's own replace the embedded ones."""

    model_config = Settings.model_config

    database_url: Annotated[str | None, Field(validation_alias=AliasChoices("DATABASE_URL", "database_url"))] = None
    """PostgreSQL of one's own; left out, an embedded one runs in the data folder."""
    redis_url: Annotated[str | None, Field(validation_alias=AliasChoices("REDIS_URL", "redis_url"))] = None
    """Redis of one's own; left out, an embedded one runs in the data folder."""
    data_dir: Path = Path(".proximal")
    """Folder for what this machine keeps."""
    local_models: Folders = []
    """Folders of one's own that jobs may read models from, beside the one that `proximal up` makes."""


class MachineSettings(BaseSettings):
    """What `python -m worker join` looks at: it needs neither database nor Redis."""

    model_config = Settings.model_config

    data_dir: Path
    """The data folder of the worker that it joins, on storage that both see."""
    machine_rank: Annotated[int, Field(ge=1)]
    """Which of the machines this is; that of the worker is 0."""
    stop_seconds: Seconds = 60
    """As the worker's."""


@lru_cache(maxsize=1)
def get_settings() -> Settings:
    """The process's settings. Never called while a module is being imported."""
    return _read(Settings)


def get_machine_settings() -> MachineSettings:
    """Those of a machine that joins a worker's."""
    return _read(MachineSettings)


def _read(kind: type[Kind]) -> Kind:
    try:
        return kind()
    except ValidationError as error:
        lines = [f"  {'.'.join(str(part) for part in item['loc'])}: {item['msg']}" for item in error.errors()]
        raise SettingsError("The settings are not complete:\n" + "\n".join(lines)) from error
