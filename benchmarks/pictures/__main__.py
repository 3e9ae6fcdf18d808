"""The command: `python -m benchmarks.pictures`, or `make pictures` and `make pictures-check`.

Without options it takes the pictures of the documentation from the built dashboard. With `--against COMMIT` it changes none
of them: it builds the dashboard of that commit too, takes both series over the same stored platform, and compares them.
"""

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from PIL import Image, ImageChops

from benchmarks.measuring.places import ROOT, path, say
from benchmarks.pictures.stored import stored_platform
from benchmarks.pictures.views import photograph, views

IMAGES = ROOT / "docs" / "images"
FOLDER = ROOT / "out" / "pictures"
PORT = 8730
LARGEST_BYTES = 200_000
LIMIT = 0.0002
"""Share of a view's pixels that may differ: 200 of a million. Two series of one commit were equal."""
NOTICEABLE = 8
"""Two pixels differ if a channel does by more than this, of 255."""
FRONTEND = ROOT / "frontend"


def take(folder: Path, port: int, target: Path, only: str) -> None:
    """Take the pictures into `target`, each with at most 256 colours."""
    with stored_platform(folder, port) as (address, key, stored):
        chosen = [view for view in views(stored) if view.documented and view.name.startswith(only)]
        for file in photograph(address, key, stored, folder / "new", chosen):
            picture = target / file.name
            with Image.open(file) as image:
                image.convert("RGB").quantize(256, dither=Image.Dither.NONE).save(picture, optimize=True)
            size = picture.stat().st_size
            say(f"{picture}: {size / 1000:.0f} kB{', which is too large' if size > LARGEST_BYTES else ''}")


def check(folder: Path, port: int, commit: str, only: str) -> dict[str, float]:
    """The share of pixels that differ from those of another commit, by view. Images of the differences are written."""
    series = {}
    for name, build in (("old", _built(commit, folder / "commit")), ("new", FRONTEND / "dist")):
        shutil.rmtree(folder / name, ignore_errors=True)
        with _dashboard(build), stored_platform(folder, port) as (address, key, stored):
            say(f"pictures of {build}")
            chosen = [view for view in views(stored) if view.name.startswith(only)]
            series[name] = list(photograph(address, key, stored, folder / name, chosen))
    shares = {}
    differences = folder / "differences"
    shutil.rmtree(differences, ignore_errors=True)
    differences.mkdir()
    for old, new in zip(series["old"], series["new"], strict=True):
        with Image.open(old) as before, Image.open(new) as after:
            changed = difference(before, after)
            shares[old.stem] = share(changed)
            if shares[old.stem]:
                beside(before, after, changed).save(differences / old.name)
    return shares


def difference(before: Image.Image, after: Image.Image) -> Image.Image:
    """White where a pixel differs, else black. Where only one of the images has a pixel, it differs."""
    size = (max(before.width, after.width), max(before.height, after.height))
    images = [Image.new("RGBA", size) for _ in range(2)]
    for whole, image in zip(images, (before, after), strict=True):
        whole.paste(image.convert("RGBA"))
    channels = ImageChops.difference(*images).split()
    changed = Image.new("L", size)
    for channel in channels:
        changed = ImageChops.lighter(changed, channel.point(lambda value: 255 if value > NOTICEABLE else 0))
    return changed


def share(changed: Image.Image) -> float:
    """The share of white pixels."""
    return changed.histogram()[255] / (changed.width * changed.height)


def beside(before: Image.Image, after: Image.Image, changed: Image.Image) -> Image.Image:
    """Before, after, and the picture after it with the differences in red, side by side."""
    marked = after.convert("RGB").point(lambda value: 128 + value // 2)
    marked.paste((220, 0, 40), (0, 0), changed.crop((0, 0, *after.size)))
    whole = Image.new("RGB", (before.width + 2 * after.width, changed.height), "white")
    for left, image in ((0, before), (before.width, after), (before.width + after.width, marked)):
        whole.paste(image.convert("RGB"), (left, 0))
    return whole


@contextmanager
def _dashboard(build: Path) -> Iterator[None]:
    """Let the platform serve this build of the dashboard."""
    os.environ["PROXIMAL_DASHBOARD_DIR"] = str(build)
    try:
        yield
    finally:
        del os.environ["PROXIMAL_DASHBOARD_DIR"]


def _built(commit: str, tree: Path) -> Path:
    """Check the commit out into a folder and build its dashboard there, with the same packages if it wants the same."""
    _run(ROOT, "git", "worktree", "prune")
    if tree.exists():
        _run(ROOT, "git", "worktree", "remove", "--force", str(tree))
    _run(ROOT, "git", "worktree", "add", "--detach", str(tree), commit)
    frontend, lock = tree / "frontend", "package-lock.json"
    try:
        if (frontend / lock).read_bytes() == (FRONTEND / lock).read_bytes():
            (frontend / "node_modules").symlink_to(FRONTEND / "node_modules")
        else:
            _run(frontend, "npm", "ci")
        _run(frontend, "npx", "vite", "build")
        build = tree.with_name(f"{tree.name}-dist")
        shutil.rmtree(build, ignore_errors=True)
        shutil.copytree(frontend / "dist", build)
        return build
    finally:
        _run(ROOT, "git", "worktree", "remove", "--force", str(tree))


def _run(folder: Path, *command: str) -> None:
    """Run a program of Git or of Node. Ends this program if it fails."""
    own = ROOT / ".venv" / "node" / "bin"
    environment: Mapping[str, str] = {**os.environ, "PATH": os.pathsep.join([str(own), os.environ.get("PATH", "")])}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed with status {done.returncode}:\n{(done.stderr or done.stdout).strip()}")


def main() -> None:
    """Take or compare the pictures. The exit status of a comparison is 1 if a view differs by more than the limit."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pictures", description=__doc__)
    parser.add_argument("--against", metavar="COMMIT", help="compare with the dashboard of this commit")
    parser.add_argument("--only", default="", help="only the views whose names begin with this text")
    parser.add_argument(
        "--folder", type=path, default=FOLDER, help=f"the stored platform and raw pictures (default {FOLDER})"
    )
    parser.add_argument("--images", type=path, default=IMAGES, help=f"where pictures are written (default {IMAGES})")
    parser.add_argument("--port", type=int, default=PORT, help=f"port of the platform (default {PORT})")
    parser.add_argument("--limit", type=float, default=LIMIT, help=f"share of pixels that may differ (default {LIMIT})")
    arguments = parser.parse_args()
    if not (FRONTEND / "dist" / "index.html").is_file():
        sys.exit("The dashboard is not built. Run `make setup`.")
    if arguments.against is None:
        take(arguments.folder, arguments.port, arguments.images, arguments.only)
        return
    shares = check(arguments.folder, arguments.port, arguments.against, arguments.only)
    for name, found in shares.items():
        print(f"{found:9.4%}  {name}{'  differs' if found > arguments.limit else ''}")
    print(f"Images of the differences: {arguments.folder / 'differences'}")
    sys.exit(max(shares.values()) > arguments.limit)


if __name__ == "__main__":
    main()
