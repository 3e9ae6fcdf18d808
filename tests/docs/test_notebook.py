"""The notebook in examples/, executed against a platform that trains."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.proximal.conftest import running_up

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "examples" / "first_job.ipynb"


def test_notebook_in_the_repository_has_no_outputs() -> None:
    cells = json.loads(NOTEBOOK.read_text())["cells"]
    assert [cell for cell in cells if cell.get("outputs") or cell.get("execution_count")] == []


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_notebook_executed_draws_reward_and_kl(tmp_path: Path) -> None:
    with running_up(tmp_path / ".proximal") as up:
        key = (tmp_path / ".proximal" / "api_key").read_text().strip()
        settings = {
            "PROXIMAL_REPOSITORY": str(ROOT),
            "PROXIMAL_URL": up.url,
            "PROXIMAL_API_KEY": key,
            "IPYTHONDIR": str(tmp_path),
        }
        command = [
            str(Path(sys.executable).parent / "jupyter-execute"),
            str(NOTEBOOK),
            f"--output={tmp_path / 'executed.ipynb'}",
        ]
        done = subprocess.run(command, env=os.environ | settings, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "executed.ipynb").read_text()
    assert "step 16  score" in text and text.count("image/svg+xml") == 2 and "'succeeded'" in text
