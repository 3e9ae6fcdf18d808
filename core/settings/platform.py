"""The settings of the API and the workers.

Each description states what the setting is, its unit, and when to change it. docs/generate writes docs/reference/settings.md
and .env.example from them.
"""

import re
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import unquote, urlsplit

from pydantic import AliasChoices, Field, SecretStr, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode

from core.access.allowlist import HttpAddress, RewardUrls
from core.access.import_urls import ImportUrls, check_prefix
from core.settings.kubernetes import KubernetesSettings
from core.settings.slurm import SlurmSettings
from core.settings.values import Folders, Seconds, Words, aliases
from trainer.spec.path_rules import PathRules
from trainer.spec.section import Label
from trainer.spec.tracking import TrackingSpec

_ROOT = Path(__file__).parents[2]
_BUILT_IN = _ROOT / "api" / "static"
"""The dashboard in the wheel of `make wheels`. A checkout has it in frontend/dist."""
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_PREFIX = re.compile(r"(/(?!\.{1,2}(/|$))[A-Za-z0-9._-]+)*/?")
_HOST_AND_PORT = re.compile(r"\S+:\d+")
_HOST = re.compile(r"\*|(\*\.)?[\w.-]+|\[[0-9a-fA-F:.]+\]")


class Settings(KubernetesSettings, SlurmSettings, BaseSettings):
    """The settings of the API and the workers. Each process reads them from the environment once."""

    model_config = SlurmSettings.model_config

    database_url: Annotated[str, Field(validation_alias=AliasChoices("DATABASE_URL", "database_url"))]
    """Address of the PostgreSQL server, as `postgresql://user:password@host:5432/name`. `proximal up` starts a server of its own where this variable is not set."""
    redis_url: Annotated[str, Field(validation_alias=AliasChoices("REDIS_URL", "redis_url"))]
    """Address of the Redis or Valkey server, as `redis://host:6379/0`. It carries the messages that wake workers, and stores nothing. `proximal up` starts a server of its own where this variable is not set."""
    data_dir: Path = Path(".proximal")
    """Folder of this machine for run folders, the data of embedded servers, heartbeat files and, by default, blobs. Put it on a disk with room for several checkpoints. With `PROXIMAL_MACHINES` above 1, it must be on storage that all machines share."""
    blob_url: str = ""
    """Store of the blobs (datasets, uploads and checkpoints): a folder, as `file:///some/folder`, or a bucket with an optional prefix, as `s3://bucket/prefix`. Empty: `blobs` in the data folder. Set it if API and workers run on several machines. All of them must reach the folder or the bucket. With a bucket they share no folder."""
    blob_endpoint: Annotated[
        str,
        Field(validation_alias=aliases("PROXIMAL_BLOB_ENDPOINT", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")),
    ] = ""
    """Address of the S3-compatible server that has the bucket of `PROXIMAL_BLOB_URL`, as `https://minio.example.org:9000`. Empty: Amazon S3, or `AWS_ENDPOINT_URL_S3` or `AWS_ENDPOINT_URL` where they are set."""
    blob_region: Annotated[
        str, Field(validation_alias=aliases("PROXIMAL_BLOB_REGION", "AWS_REGION", "AWS_DEFAULT_REGION"))
    ] = "us-east-1"
    """Region of the bucket of `PROXIMAL_BLOB_URL`. `AWS_REGION` and `AWS_DEFAULT_REGION` set it, too."""
    blob_access_key_id: Annotated[
        SecretStr | None, Field(validation_alias=aliases("PROXIMAL_BLOB_ACCESS_KEY_ID", "AWS_ACCESS_KEY_ID"))
    ] = None
    """Access key for the bucket of `PROXIMAL_BLOB_URL`. Left out: `AWS_ACCESS_KEY_ID`, else the role of the machine or the container. No trainer receives it."""
    blob_secret_access_key: Annotated[
        SecretStr | None, Field(validation_alias=aliases("PROXIMAL_BLOB_SECRET_ACCESS_KEY", "AWS_SECRET_ACCESS_KEY"))
    ] = None
    """Secret of the access key. Left out: `AWS_SECRET_ACCESS_KEY`."""
    blob_session_token: Annotated[
        SecretStr | None, Field(validation_alias=aliases("PROXIMAL_BLOB_SESSION_TOKEN", "AWS_SESSION_TOKEN"))
    ] = None
    """Session token of temporary credentials. Left out: `AWS_SESSION_TOKEN`."""
    blob_redirects: bool = True
    """Whether the download of a checkpoint's file is redirected to the bucket, by an address that is valid for ten minutes. Set it to `false` where clients cannot reach the S3 server. The API then sends the files itself."""

    lease_seconds: Seconds = 15
    """Seconds after the last heartbeat of a worker until its job goes back to the queue. Increase it if workers lose jobs because of short network failures. A lost worker is then noticed later."""
    heartbeat_seconds: Seconds = 3
    """Seconds between two heartbeats of a worker. It must be well below `PROXIMAL_LEASE_SECONDS`: a third or less."""
    sweep_seconds: Seconds = 3
    """Seconds between two runs of the sweeper, which repairs the effects of lost workers and lost messages and deletes expired data."""
    max_attempts: Annotated[int, Field(ge=1)] = 5
    """Number of workers that a job may lose in a row, without a new checkpoint, before it fails. Increase it on machines that are often taken away."""
    fair_share_half_life_hours: Annotated[float, Field(gt=0)] = 24
    """Hours after which the GPU time that an owner has used counts half in the fair share of the queue. Decrease it to forget earlier use sooner."""
    ageing_hours: Annotated[float, Field(gt=0)] = 6
    """Hours of waiting that raise a queued job by one priority class. They are counted anew when a job of the same owner, priority and resources starts. Decrease it if low priorities wait too long."""
    preempt_after_minutes: Annotated[float, Field(ge=0)] = 10
    """Minutes for which an attempt at a preemptible job runs before the platform may pause it for a more urgent job. They double with each preemption of the job. Increase it if jobs take long to load or to save."""
    validation_seconds: Seconds = 600
    """Seconds that the check of a job spec (`POST /v1/jobs/validate`) may take on the data worker. Then it is ended, and the validation fails. Increase it for large datasets."""
    refuse_unfit_jobs: bool = False
    """Whether a check of a job blocks it (`no_worker_fits`) if its memory estimate fits no worker that is online. Otherwise the finding is a warning, since a larger worker may join later."""
    data_slots: Annotated[int, Field(ge=1, le=64)] | None = None
    """Number of data tasks that this machine's data worker runs at a time, each in a process of its own of about 100 MB. From 2 on, one is kept free for checks of jobs, and an owner has one check at a time. From 3 on, one more never runs reports, so that imports do not wait for them. From 4 on, no owner holds all of them. Left out: 4, or 2 on a machine with one core. Set it to 1 on a machine with little memory."""
    stop_seconds: Seconds = 60
    """Seconds that a trainer has to finish its step and save after a stop request. Then the worker kills it. Increase it for large models. Keep it below the time that your process manager gives the worker, such as `stop_grace_period` in `docker-compose.yml`."""

    trainer_memory_gib: Annotated[float, Field(ge=0)] | None = None
    """Most memory of a trainer in GiB, all its processes together, so that the kernel ends it and not a server of the same machine. Left out: 90 % of the machine's or the container's memory. `0`: no limit. Set it where a machine has several workers. With cgroup v2 delegated to the worker it holds exactly. Otherwise each process of a trainer on the CPU is limited to its share, and a trainer on a GPU only counts as the first process to end."""
    processes: Annotated[int, Field(ge=1)] | None = None
    """Most processes of a job on this worker's machine. Left out: the number of GPUs; without a GPU, or for a job on the CPU, the number of cores. Set it to reserve part of a machine for other work."""
    worker_name: Annotated[str, Field(max_length=100)] = ""
    """Name of this worker. A cordon belongs to the name, so it holds when the worker restarts. Empty: the name of the machine, with `CUDA_VISIBLE_DEVICES` if it is set. Give each of several workers of one machine its own name. Set it in containers, whose machine name changes."""
    labels: Annotated[list[Label], NoDecode] = []
    """Labels of this worker, separated by spaces or commas, as `a100 zone=eu`. A job that asks for labels (`resources.labels`) runs only on workers that have all of them."""
    cuda_visible_devices: Annotated[
        str | None, Field(validation_alias=AliasChoices("CUDA_VISIBLE_DEVICES", "cuda_visible_devices"))
    ] = None
    """GPUs that the trainers of this worker use, as `0,1`. Left out: all GPUs. Set it to run several workers on one machine."""
    machines: Annotated[int, Field(ge=1)] = 1
    """Number of machines that work on one job together: that of this worker, and those that run `python -m worker join`. Above 1, `PROXIMAL_RENDEZVOUS` is required."""
    rendezvous: str = ""
    """Address where these machines connect to each other, as `host:port`: the name of this worker's machine for the others, and a free port on it."""

    max_upload_bytes: Annotated[int, Field(ge=1)] = 64 * 1024**3
    """Largest upload in parts, and largest file imported from an address, in bytes."""
    max_request_upload_bytes: Annotated[int, Field(ge=1)] = 64 * 1024**2
    """Largest dataset in one request, in bytes. A larger one must be uploaded in parts (`/v1/uploads`)."""
    upload_part_bytes: Annotated[int, Field(ge=1)] = 16 * 1024**2
    """Size of the parts of an upload, in bytes. It is doubled for a file that would have more than 10,000 parts. Decrease it if a reverse proxy limits the size of requests."""
    upload_hours: Annotated[float, Field(gt=0)] = 24
    """Hours for which an upload is kept after its last part, or after a dataset was made of it."""
    import_urls: Annotated[ImportUrls, NoDecode] = "none"
    """Addresses that files may be imported from: `none`, `any` (every public https address, bucket and hub dataset), or prefixes separated by spaces. An example is `https://data.example/ s3://bucket/pairs/ hf://datasets/owner/ file:///srv/data/`. A prefix that ends with `://` allows every public address of its scheme. A prefix that names a host allows that host in a private network too. The data worker sends the requests: with a wide prefix, an owner of an API key can read what only your machines can reach."""
    hub_url: str = "https://huggingface.co"
    """Address of the hub where dataset ids are looked up. Set it to use a mirror."""
    s3_endpoint: str = ""
    """Address of an S3-compatible store for imports from `s3://` addresses. Empty: Amazon S3."""
    s3_region: str = "us-east-1"
    """Region of the buckets that files are imported from."""
    s3_access_key_id: str = ""
    """Access key for reading buckets. Empty: only public buckets can be read."""
    s3_secret_access_key: SecretStr | None = None
    """Secret of `PROXIMAL_S3_ACCESS_KEY_ID`."""
    max_body_bytes: Annotated[int, Field(ge=1)] = 1024**2
    """Largest body of any other request, in bytes. Increase it for very long job specs."""
    max_line_bytes: Annotated[int, Field(ge=1)] = 4 * 1024**2
    """Longest line of an imported file, in bytes."""
    max_expanded_bytes: Annotated[int, Field(ge=1)] = 64 * 1024**3
    """Largest imported file after decompression, in bytes."""
    max_compression_ratio: Annotated[float, Field(gt=1)] = 200
    """Largest ratio of the decompressed to the compressed size of an imported file. It protects the disk from decompression bombs. Increase it for very repetitive data."""
    max_columns: Annotated[int, Field(ge=1)] = 1000
    """Most columns of an imported table, or fields of a record."""
    max_depth: Annotated[int, Field(ge=1)] = 64
    """Deepest nesting of the values of a record, in levels."""
    tracking: TrackingSpec = TrackingSpec()
    """Trackers of every job whose spec has no `tracking` of its own, as JSON: `{"tensorboard": {}}`, or `{"wandb": {"project": "rlhf"}}`. Credentials and addresses are variables of the worker's environment, such as `WANDB_API_KEY`, which trainers inherit."""
    local_models: Folders = []
    """Folders of the worker's machine from which a job may read models and files, separated by `:`. Empty or `none`: no folder. The data and blob folders are never allowed. `proximal up` adds the folder `models` beside its data folder. In a container, mount the folders into the worker."""
    reward_urls: Annotated[RewardUrls, NoDecode] = "none"
    """Addresses that a job may name as its reward or judge: `none`, `any`, or prefixes separated by spaces, as `https://rewards.example:8443/v1 http://10.0.0.7/`. The trainer sends the requests from the worker's network: with `any`, an owner of an API key can reach what only your machines can."""
    webhook_networks: Words = []
    """Private networks and addresses that webhooks may be sent to, separated by spaces, as `10.20.0.0/16 127.0.0.1`. Left out: only https addresses of the public internet. Addresses in these networks may be http, too. The sweeper sends the requests: an admin of any project can then send requests to every service in these networks."""
    webhook_seconds: Seconds = 15
    """Seconds that a receiver of webhooks may take for a whole response. A slower one counts as a failed try."""
    webhook_failing_days: Annotated[float, Field(gt=0)] = 5
    """Days of failed tries, without one success, after which a webhook is disabled."""
    webhook_days: Annotated[float, Field(gt=0)] = 30
    """Days for which deliveries of webhooks are kept, with the log of their tries. Those that still wait then are deleted, too."""

    max_steps: Annotated[int, Field(ge=1)] = 1_000_000
    """Most PPO steps of a job (`ppo.steps`)."""
    max_sweep_jobs: Annotated[int, Field(ge=1)] = 100
    """Most jobs of a sweep. Increase it if your workers run hundreds of short jobs."""
    max_epochs: Annotated[int, Field(ge=1)] = 1000
    """Most epochs of each stage of a job."""
    max_batch_size: Annotated[int, Field(ge=1)] = 4096
    """Largest batch of each stage of a job, in rows."""
    max_sequence_tokens: Annotated[int, Field(ge=1)] = 32768
    """Most tokens of one sequence of a job: its prompt and its response or completion together."""
    max_batch_tokens: Annotated[int, Field(ge=1)] = 8 * 1024**2
    """Most tokens of one batch of a job: the batch size times the longest sequence. Preference pairs count as two sequences. Decrease it if the jobs of your users fill the memory of a machine."""
    max_processes: Annotated[int, Field(ge=1)] = 64
    """Most processes of a job, over all its machines. `PROXIMAL_PROCESSES` is the limit of one worker."""
    max_seeds: Annotated[int, Field(ge=1)] = 16
    """Most seeds of a job. Each seed is a whole run."""
    max_model_parameters: Annotated[int, Field(ge=1)] = 20_000_000_000
    """Most parameters of a new model (`model.config`), by arithmetic from its sizes. A pretrained model has no such limit. Its check compares it with the memory of the workers."""
    max_model_layers: Annotated[int, Field(ge=1)] = 256
    """Most layers of a new model."""
    max_model_width: Annotated[int, Field(ge=1)] = 65_536
    """Largest width of a new model: of its hidden states, all heads together, and the feed-forward part. It also bounds the rank of adapters."""
    max_model_heads: Annotated[int, Field(ge=1)] = 1024
    """Most attention heads of a new model."""
    max_model_experts: Annotated[int, Field(ge=1)] = 512
    """Most experts in a layer of a new model."""
    max_model_positions: Annotated[int, Field(ge=1)] = 1024**2
    """Most positions of a new model (`max_position_embeddings`)."""
    max_run_hours: Annotated[float, Field(gt=0)] = 24 * 7
    """Longest run of a job in hours: all attempts since its submission or its last retry. The worker then lets the trainer save, and the job ends as failed with the code `time_limit`. Its checkpoints are kept. Workers read this setting."""
    max_open_jobs: Annotated[int, Field(ge=1)] = 1000
    """Most unfinished jobs of one owner. A further submission returns 429."""
    max_open_imports: Annotated[int, Field(ge=1)] = 1000
    """Most unfinished imports of one owner: downloads from an address, imports of uploads and fixes of a version. A further one returns 429. An import in one request is not counted."""
    max_owner_bytes: Annotated[int, Field(ge=1)] = 256 * 1024**3
    """Most bytes of one owner: uploads, rows of datasets and checkpoints together. At the limit, uploads, datasets and submissions return 429, and imports fail. Running jobs still store their checkpoints."""
    telemetry_seconds: Seconds = 10
    """Seconds between two measurements of CPU, memory, disk and GPUs while a job runs. Decrease it to see short peaks. Old measurements are averaged, so the stored number stays the same."""
    log_bytes: Annotated[int, Field(ge=64 * 1024)] = 4 * 1024**2
    """Most bytes of console output that are stored for each attempt of a job. The first quarter and the newest output are kept, and the log states how much was dropped between them. Increase it for trainers that print much."""

    checkpoint_days: Annotated[float, Field(gt=0)] | None = None
    """Days after the end of a job for which its intermediate checkpoints are kept. Left out: until the job is deleted. The results of stages and the best checkpoints always stay, and so does the newest checkpoint of a stage that did not finish. Set it to save disk space: a job cannot be extended, or branched from a step, without the checkpoint."""
    metric_days: Annotated[float, Field(gt=0)] | None = None
    """Days after the end of a job for which the metrics of each of its steps are kept. Left out: until the job is deleted. Afterwards charts and exports have the last, smallest and largest value and the mean of every 4 steps, and the events of the steps are deleted. One critic card in 4 steps stays. An event and the page of the run say so. Results, findings, completions and the newest steps stay. Set it to save about four fifths of the space that metrics take. PostgreSQL uses the space for later rows."""
    audit_days: Annotated[float, Field(gt=0)] | None = None
    """Days for which the rows of the audit log are kept. Left out: for ever. The sweeper removes older ones from the front of each project's chain, and the rest can still be verified. Export them before, if you must keep them for longer."""
    run_folder_days: Annotated[float, Field(gt=0)] | None = 30
    """Days after the end of a failed job for which a worker keeps its run folder, with the trainer's console output and events. The database has both as well. Empty: until the job is deleted. The folders of other jobs are removed when they end."""

    max_running_jobs: Annotated[int, Field(ge=0)] | None = None
    """Most jobs of one owner that run at once. Left out: no limit. `python -m core owners set` sets other limits for one owner."""
    max_owner_gpus: Annotated[int, Field(ge=0)] | None = None
    """Most GPUs that the running jobs of one owner take. A process on a worker without a GPU counts as one. Left out: no limit."""
    max_owner_gpu_hours: Annotated[int, Field(ge=0)] | None = None
    """Most GPU-hours of one owner in a calendar month (UTC). At the limit, running jobs go on and no further job starts. Left out: no limit."""
    when_quota_exceeded: Literal["queue", "refuse"] = "queue"
    """Handling of a job beyond the running jobs, GPUs or GPU-hours of its owner. `queue`: it waits. `refuse`: its submission returns 429."""

    hosts: Words = []
    """Names and addresses under which clients reach the API, separated by spaces, as `proximal.example.org 10.0.0.5`. `localhost`, `127.0.0.1` and `[::1]` are always included, and so is the address that the API listens at. `*.example.org` includes every name below it. `*` includes all names and removes the protection against DNS rebinding. A request for another host returns 421."""
    trusted_proxies: Annotated[
        Words,
        Field(validation_alias=AliasChoices("PROXIMAL_TRUSTED_PROXIES", "FORWARDED_ALLOW_IPS", "trusted_proxies")),
    ] = []
    """Addresses and networks of the reverse proxies in front of the API, separated by spaces, as `10.0.0.2 172.16.0.0/12`. The API reads the client's address and scheme from their `X-Forwarded-For` and `X-Forwarded-Proto`, and ignores these headers from everyone else. Set it behind a proxy: otherwise all clients count as one address. It is needed for the `Secure` mark of the cookie, too."""
    wrong_keys_per_address: Annotated[int, Field(ge=1)] = 30
    """Wrong API keys and sign-in codes that one address may send within a minute. Further ones return 429. Right keys are accepted all the same. Decrease it to keep guesses out of the log."""
    wrong_tries_per_key: Annotated[int, Field(ge=1)] = 5
    """Times that the same wrong key or code may be sent within a minute, from all addresses together."""
    requests_per_second: Annotated[int, Field(ge=0)] = 100
    """Requests per second that all API keys of one owner together may send on average over 10 seconds, and likewise all its signed-in browsers. Further ones return 429 with `Retry-After`. All API processes count together. `0`: no limit. Increase it if many programs or people work for one owner."""
    header_seconds: Seconds = 20
    """Seconds that the header of a request may take to arrive. Then the API closes the connection. Increase it for clients on very slow networks."""
    body_seconds: Seconds = 20
    """Seconds that the body of a request may take to arrive. A second is added for every 500 bytes. Then the API returns 408 and closes the connection. A client may take as long to read a response."""
    unfinished_requests_per_address: Annotated[int, Field(ge=1)] = 256
    """Most connections of one address whose next request has not arrived completely, or whose response is not read. Beyond it, the API closes the oldest. All addresses together may have half as many as the file descriptors that the API may open (`ulimit -n`). Trusted proxies have no such limits."""
    sign_in_minutes: Annotated[float, Field(gt=0)] = 10
    """Minutes for which the link of `proximal up` and `proximal open` is valid. It works once."""
    idempotency_hours: Annotated[float, Field(gt=0)] = 24
    """Hours for which the response of a request with an `Idempotency-Key` is stored. A repeated request returns it for as long."""
    join_minutes: Annotated[float, Field(gt=0)] = 30
    """Minutes for which a token of `proximal workers token` is valid. It lets one worker join."""
    join_database_url: str = ""
    """Address of the database for workers that join from other machines. Empty: `DATABASE_URL`. Set it if the API reaches the database by a name or an address that holds on its own machine only."""
    join_redis_url: str = ""
    """Address of Redis for workers that join from other machines. Empty: `REDIS_URL`."""
    join_blob_url: str = ""
    """Address of the blobs for workers that join from other machines, if they mount the folder elsewhere. Empty: that of the API."""
    session_hours: Annotated[float, Field(gt=0)] = 24 * 14
    """Hours for which a browser stays signed in."""
    stream_seconds: Seconds = 600
    """Seconds after which the API closes an event stream. The browser reconnects and continues at the same event. Keep it below the longest request that a reverse proxy allows."""
    stream_poll_seconds: Seconds = 0.5
    """Seconds between two queries for new events, one for all event streams of an API process, while Redis does not announce them. With Redis the interval is ten times as long, since only lost notices must be found. Increase it to reduce the load on the database."""
    statement_seconds: Seconds = 30
    """Seconds after which PostgreSQL ends a statement of an API request, which then fails with the code `query_timeout`. It keeps expensive requests from occupying the database. Migrations and workers have no such limit."""
    stream_jobs: Annotated[int, Field(ge=1, le=500)] = 50
    """Most jobs of one event stream (`GET /v1/stream`). Each message contains a cursor for every job, about 30 bytes."""
    streams_per_owner: Annotated[int, Field(ge=1)] = 100
    """Most event streams that the API keys and browser sessions of one owner may have open in one API process. An open stream takes about 100 KiB. Increase it if many people work for one owner."""
    metrics_token: SecretStr | None = None
    """Token with which a Prometheus server reads `GET /metrics`, as `Authorization: Bearer …`. Left out: an operator's key is needed. Use a long random text, such as that of `openssl rand -hex 24`. It opens nothing else."""
    metrics_jobs: Annotated[int, Field(ge=0, le=10_000)] = 50
    """Most running jobs whose figures `GET /metrics` has: those that started last. Each has about ten series, which end with the job. `0`: none. Decrease it to store fewer series."""
    dashboard_dir: Path = _BUILT_IN if _BUILT_IN.is_dir() else _ROOT / "frontend" / "dist"
    """Folder of the built dashboard."""

    @field_validator("database_url")
    @classmethod
    def _use_psycopg_3(cls, url: str) -> str:
        scheme, separator, rest = url.partition("://")
        if scheme not in ("postgres", "postgresql", "postgresql+psycopg") or not separator:
            raise ValueError("must be a PostgreSQL address, as postgresql://user:password@host:5432/name")
        return f"postgresql+psycopg://{rest}"

    @field_validator(
        "trainer_memory_gib",
        "processes",
        "checkpoint_days",
        "metric_days",
        "audit_days",
        "run_folder_days",
        "max_running_jobs",
        "max_owner_gpus",
        "max_owner_gpu_hours",
        "blob_access_key_id",
        "blob_secret_access_key",
        "blob_session_token",
        "metrics_token",
        mode="before",
    )
    @classmethod
    def _empty_is_left_out(cls, value: object) -> object:
        return None if value == "" else value

    @field_validator("hosts")
    @classmethod
    def _names_only(cls, hosts: list[str]) -> list[str]:
        for host in hosts:
            if not _HOST.fullmatch(host):
                raise ValueError(f"{host}: a host is a name or an address without scheme, port and path")
        return [host.lower().rstrip(".") for host in hosts]

    @field_validator("trusted_proxies")
    @classmethod
    def _networks_only(cls, proxies: list[str]) -> list[str]:
        for proxy in proxies:
            if proxy == "*":
                raise ValueError("`*` would let every client choose its address: list addresses or networks")
            ip_network(proxy)
        return proxies

    @field_validator("webhook_networks")
    @classmethod
    def _networks_of_webhooks(cls, networks: list[str]) -> list[str]:
        return [str(ip_network(network)) for network in networks]

    @field_validator("data_dir", "dashboard_dir")
    @classmethod
    def _absolute(cls, folder: Path) -> Path:
        return folder.expanduser().resolve()

    @field_validator("blob_url")
    @classmethod
    def _known_scheme(cls, url: str) -> str:
        parts = urlsplit(url)
        if not url or parts.scheme == "file":
            return url
        if parts.scheme != "s3":
            raise ValueError("must be a folder, as file:///some/folder, or a bucket, as s3://bucket/prefix")
        if not _BUCKET.fullmatch(parts.netloc):
            raise ValueError(
                f"{parts.netloc!r} is no name of a bucket: 3 to 63 small letters, digits, dots and hyphens"
            )
        if parts.query or parts.fragment or not _PREFIX.fullmatch(parts.path):
            raise ValueError("the prefix may have letters, digits and the characters . _ - / only, and no `..` or `//`")
        return url.rstrip("/")

    @field_validator("blob_endpoint")
    @classmethod
    def _http_only(cls, endpoint: str) -> str:
        parts = urlsplit(endpoint)
        if endpoint and (parts.scheme not in ("http", "https") or not parts.hostname or parts.query or "@" in endpoint):
            raise ValueError("must be an address without a key, as https://minio.example.org:9000")
        return endpoint.rstrip("/")

    @field_validator("labels", mode="before")
    @classmethod
    def _split_labels(cls, value: Any) -> Any:
        return sorted(set(value.replace(",", " ").split())) if isinstance(value, str) else value

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
    def _keys_have_secrets(self) -> "Settings":
        given = self.blob_access_key_id is not None, self.blob_secret_access_key is not None
        if self.blob_bucket and given[0] != given[1]:
            missing = "PROXIMAL_BLOB_SECRET_ACCESS_KEY" if given[0] else "PROXIMAL_BLOB_ACCESS_KEY_ID"
            raise ValueError(f"{missing} is missing: an access key and its secret belong together")
        return self

    @model_validator(mode="after")
    def _machines_have_a_rendezvous(self) -> "Settings":
        if self.machines > 1 and not _HOST_AND_PORT.fullmatch(self.rendezvous):
            raise ValueError("PROXIMAL_MACHINES needs PROXIMAL_RENDEZVOUS, as host:port")
        return self

    @model_validator(mode="after")
    def _models_are_outside_own_folders(self) -> "Settings":
        for folder in self.local_models:
            if PathRules(allowed=(folder,), refused=self.own_folders).why_not(folder):
                raise ValueError(
                    f"PROXIMAL_LOCAL_MODELS: {folder} lies in the data or blob folder, which jobs may never read; "
                    "choose a folder elsewhere"
                )
        return self

    @property
    def job_lease_seconds(self) -> float:
        """Seconds of the lease of a job: longer for a trainer that goes on while its worker restarts."""
        of_launchers = {"slurm": self.slurm_lease_seconds, "kubernetes": self.kubernetes_lease_seconds}
        return of_launchers.get(self.launcher, self.lease_seconds)

    @property
    def own_folders(self) -> tuple[Path, ...]:
        """The folders of the platform itself. They contain the data of all API keys."""
        return self.data_dir, self.blob_dir

    @property
    def path_rules(self) -> PathRules:
        """The rules for local paths that a job may name."""
        return PathRules(allowed=tuple(self.local_models), refused=self.own_folders)

    @property
    def blob_dir(self) -> Path:
        """The folder of the blobs, where they are not in a bucket."""
        parts = urlsplit(self.blob_url)
        return Path(unquote(parts.path)) if parts.scheme == "file" else self.data_dir / "blobs"

    @property
    def blob_bucket(self) -> tuple[str, str] | None:
        """The bucket of the blobs and the prefix of their keys; None if they are in a folder."""
        parts = urlsplit(self.blob_url)
        return (parts.netloc, parts.path.strip("/")) if parts.scheme == "s3" else None
