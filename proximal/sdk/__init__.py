"""Python client of the REST API: one method for each operation, with the name of the API's reference.

with Client("http://127.0.0.1:8000", "prx_…") as client:
    dataset = client.upload_dataset(Path("pairs.jsonl"), "preferences")
    job = client.create_job({"model": "…", "data": {"preferences": dataset["id"]}, "ppo": {}})
    for event in client.stream_job_events(job["id"]):
        …

`AsyncClient` has the same methods for asyncio: `await client.get_job(…)`, `async for job in client.list_jobs()`.
"""

from proximal.sdk.async_client import AsyncClient
from proximal.sdk.job_logs import JobLogs
from proximal.sdk.jobs import Jobs
from proximal.sdk.uploads import Uploads

__all__ = ["AsyncClient", "Client", "sign_in_link"]


class Client(Jobs, JobLogs, Uploads):
    """Raises ApiError when the platform refuses and Unreachable when it does not answer."""


def sign_in_link(client: Client, path: str = "") -> str:
    """An address in the dashboard that signs a browser in once, within a few minutes."""
    return f"{client.url}/{path.lstrip('/')}?code={client.create_sign_in_code()['code']}"
