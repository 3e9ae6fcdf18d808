"""`proximal audit list|export|verify` against a platform, and the client for asyncio."""

import asyncio
import csv
import json
from pathlib import Path
from typing import Any

import pytest

from proximal.errors import ClientError
from proximal.sdk import AsyncClient, Client
from tests.proximal.conftest import Up
from tests.proximal.test_cli import run as run


def test_log_is_listed_exported_and_verified(run: Any, client: Client, up: Up, tmp_path: Path) -> None:
    group = client.create_group("audited")["id"]
    shown = run("audit", "list", "--object", group).output
    assert "create_group" in shown and "local" in shown and "made" in shown
    (row,) = json.loads(run("audit", "list", "--object", group, "--output", "json").output)
    assert row["changes"][0]["after"]["name"] == "audited"
    run("audit", "export", str(tmp_path / "log.jsonl"), "--action", "create_group")
    lines = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert lines[-1]["object_id"] == group
    assert run("audit", "export", str(tmp_path / "log.csv"), "-q").output.strip() == str(tmp_path / "log.csv")
    with (tmp_path / "log.csv").open(newline="") as file:
        assert group in [line["object_id"] for line in csv.DictReader(file)]
    assert "are as they were written" in run("audit", "verify").output
    asyncio.run(_export_anew(up, tmp_path / "again.jsonl"))
    assert (tmp_path / "again.jsonl").read_bytes() == (tmp_path / "log.jsonl").read_bytes()


async def _export_anew(up: Up, target: Path) -> None:
    client = up.client()
    key = client._http.headers["Authorization"].partition(" ")[2]
    async with AsyncClient(up.url, key) as other:
        await other.export_audit_log(target, action="create_group")


def test_broken_log_ends_with_an_error(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    fault = {"number": 2, "reason": "Row 2 is missing: row 3 follows row 1."}
    found = {"valid": False, "rows": 1, "first": 1, "last": 3, "hash": "-", "fault": fault}
    monkeypatch.setattr(Client, "verify_audit_log", lambda _: found)
    with pytest.raises(ClientError, match="Row 2 is missing"):
        run("audit", "verify")
