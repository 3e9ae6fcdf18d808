"""The plug-ins that this checkout brings, for a Python that has not installed it: a bare GPU machine.

Python finds an entry point in any folder on its path that holds a distribution's metadata.
"""

import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from benchmarks.measuring.places import ROOT

_NAME = "proximal-rlhf"


def are_installed() -> bool:
    """Whether the package is installed in this Python, with its entry points."""
    try:
        distribution(_NAME)
    except PackageNotFoundError:
        return False
    return True


def write_metadata(folder: Path) -> Path:
    """Write the entry points of the platform into `folder`, as pyproject.toml declares them; return `folder`, which belongs on
    `sys.path` or PYTHONPATH."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    metadata = folder / f"{_NAME.replace('-', '_')}-{project['version']}.dist-info"
    metadata.mkdir(parents=True, exist_ok=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {_NAME}\nVersion: {project['version']}\n")
    groups = (
        f"[{group}]\n" + "".join(f"{name} = {target}\n" for name, target in entries.items())
        for group, entries in project["entry-points"].items()
    )
    (metadata / "entry_points.txt").write_text("\n".join(groups), encoding="utf-8")
    return folder
