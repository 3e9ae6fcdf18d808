from pathlib import Path

import pytest

from data.errors import ProcessEnded
from data.report.pool import Pool
from data.report.settings import ReportSettings


def test_a_process_that_is_lost_is_no_endless_wait(tmp_path: Path) -> None:
    with Pool(tmp_path / "rows.jsonl", ReportSettings(kind="prompts"), 2) as pool:
        for process in pool._processes:
            process.kill()
        with pytest.raises(ProcessEnded, match="has ended with status -9"):
            list(pool.map("tokenizer_facts", [None, None]))
