"""MB/s of a large file to the blob store and back, beside a copy by `cp`.

The store is that of the settings: `PROXIMAL_BLOB_URL` and the variables of its bucket. No database is needed. Each copy ends on
the disk, and the SHA-256 of what comes back is verified, as for a checkpoint.
"""

import argparse
import json
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from core.blobs import blob_store
from core.settings import Settings

_KEY = "benchmark/model.safetensors"
_PIECE = 16 * 1024 * 1024
_MB = 1_000_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gb", type=float, default=2.0, help="size of the file in GB (%(default)s)")
    parser.add_argument("--folder", type=Path, default=Path("out"), help="folder for the copies (%(default)s)")
    parser.add_argument("--json", type=Path, help="file for the figures")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=options.folder) as folder:
        figures = measure(Path(folder), int(options.gb * 1000) * _MB)
    print(", ".join(f"{name} {rate:.0f} MB/s" for name, rate in figures.items()))
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2))


def measure(folder: Path, size: int) -> dict[str, float]:
    """The rates of `cp`, of the way up and of the way down, in MB/s."""
    source, copy, back = folder / "source", folder / "copy", folder / "back"
    with source.open("wb") as file:
        for start in range(0, size, _PIECE):
            file.write(os.urandom(min(_PIECE, size - start)))
    settings = Settings(database_url="postgresql://none", redis_url="redis://none", data_dir=folder / "data")
    blobs = blob_store(settings)

    def rate(action: Callable[[], object]) -> float:
        began = time.perf_counter()
        action()
        return size / _MB / (time.perf_counter() - began)

    figures = {"cp": rate(lambda: subprocess.run(["sh", "-c", f"cp {source} {copy} && sync {copy}"], check=True))}
    copy.unlink()
    try:
        figures["up"] = rate(lambda: blobs.put_file(_KEY, source))
        content = blobs.put_file(_KEY, source)
        figures["down"] = rate(lambda: blobs.get_to(_KEY, back, content))
    finally:
        blobs.delete_prefix("benchmark")
    return figures


if __name__ == "__main__":
    main()
