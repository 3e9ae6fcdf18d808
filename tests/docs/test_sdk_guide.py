"""The code of docs/how-to/use-the-python-sdk.md, run against a platform as `proximal up` starts it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from proximal.data_folder import DataFolder
from tests.proximal.conftest import running_up

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "how-to" / "use-the-python-sdk.md"


@pytest.mark.slow
def test_sdk_guide_code_runs_as_it_stands(tmp_path: Path) -> None:
    code = "\n".join(re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL))
    with running_up(tmp_path / "up", "--workers", "0") as up:
        (tmp_path / "examples").symlink_to(ROOT / "examples")
        (tmp_path / ".proximal").mkdir()
        (tmp_path / ".proximal" / "api_key").write_text(DataFolder(up.folder).key() or "")
        program = code.replace("http://127.0.0.1:8000", up.url)
        done = subprocess.run(
            [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False
        )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[:3] == ["local", "1 status_changed", "['from Python']"]
    assert lines[3].startswith("422 invalid_spec [{'pointer': '#/ppo/stpes'") and "did you mean 'steps'" in lines[3]
    assert re.fullmatch(r"job_\w+ status_changed", lines[4])
