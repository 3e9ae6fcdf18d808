"""The asyncio client against a real platform."""

import asyncio
import json
from pathlib import Path

import pytest

from proximal.errors import ApiError, Unreachable
from proximal.sdk import AsyncClient
from proximal.sdk.types import Dataset
from tests.proximal.conftest import Up, free_port


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    file = tmp_path / "pairs.jsonl"
    file.write_text("".join(json.dumps({"prompt": f"p{n}", "chosen": "a", "rejected": "b"}) + "\n" for n in range(3)))
    return file


def connect(up: Up) -> AsyncClient:
    with up.client() as client:
        return AsyncClient(client.url, client._http.headers["Authorization"].removeprefix("Bearer "))


async def uploaded(client: AsyncClient, pairs: Path, name: str = "") -> Dataset:
    return await client.upload_dataset(pairs, "preferences", name)


def test_async_job_is_created_listed_streamed_and_cancelled(up: Up, pairs: Path) -> None:
    async def scenario() -> None:
        async with connect(up) as client:
            dataset = await uploaded(client, pairs)
            job = await client.create_job({"model": "m", "data": {"preferences": dataset["id"]}, "ppo": {}})
            assert job["id"] in {found["id"] async for found in client.list_jobs(status=["queued"])}
            events = client.stream_job_events(job["id"])
            assert (await anext(events))["data"]["to"] == "queued"  # type: ignore[typeddict-item]
            assert (await client.cancel_job(job["id"]))["status"] == "cancelled"
            assert [event["data"]["to"] async for event in events] == ["cancelled"]  # type: ignore[typeddict-item]

    asyncio.run(scenario())


def test_async_events_of_two_jobs_come_over_one_connection(up: Up, pairs: Path) -> None:
    async def scenario() -> None:
        async with connect(up) as client:
            dataset = await uploaded(client, pairs)
            spec = {"model": "m", "data": {"preferences": dataset["id"]}, "ppo": {}}
            jobs = [(await client.create_job(spec))["id"] for _ in range(2)]
            for job_id in jobs:
                await client.cancel_job(job_id)
            found = [event async for event in client.stream_events({jobs[0]: 0, jobs[1]: 1})]
            seen = sorted((event["job_id"], event["seq"]) for event in found)  # type: ignore[typeddict-item]
            assert seen == sorted([(jobs[0], 1), (jobs[0], 2), (jobs[1], 2)])

    asyncio.run(scenario())


def test_async_requests_of_one_client_run_together(up: Up, pairs: Path) -> None:
    async def scenario() -> None:
        async with connect(up) as client:
            made = await asyncio.gather(*(uploaded(client, pairs, f"n{n}") for n in range(3)))
            found = await asyncio.gather(*(client.get_dataset(one["id"]) for one in made))
            assert [one["name"] for one in found] == ["n0", "n1", "n2"]

    asyncio.run(scenario())


def test_async_lists_are_followed_over_their_pages(up: Up, pairs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("proximal.sdk.connection._PAGE", 2)

    async def scenario() -> None:
        async with connect(up) as client:
            made = [(await uploaded(client, pairs))["id"] for _ in range(5)]
            assert [one["id"] async for one in client.list_datasets()][:5] == made[::-1]

    asyncio.run(scenario())


def test_async_export_writes_the_rows(up: Up, pairs: Path, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with connect(up) as client:
            dataset = await uploaded(client, pairs)
            assert await client.export_dataset(dataset["id"], tmp_path / "rows.jsonl", "rows") == {}

    asyncio.run(scenario())
    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    assert [row["prompt"] for row in rows] == ["p0", "p1", "p2"]


def test_async_errors_are_those_of_the_client(up: Up) -> None:
    async def scenario() -> None:
        async with connect(up) as client:
            with pytest.raises(ApiError, match="no job 'job_x'"):
                await client.get_job("job_x")
        async with AsyncClient(f"http://127.0.0.1:{free_port()}", "prx_any") as nowhere:
            with pytest.raises(Unreachable):
                await nowhere.who_am_i()

    asyncio.run(scenario())
