"""The closed loop, with nothing made up: a job's two policies answer, two people compare, and the job goes on with that."""

from pathlib import Path
from typing import Any

from client.sdk import Client
from client.submit import read_spec, with_uploads
from tests.client.conftest import running_up
from tests.waiting import eventually

TINY = Path(__file__).parents[3] / "examples" / "tiny.toml"
SHORT: dict[str, dict[str, Any]] = {
    "sft": {"epochs": 1},
    "reward_model": {"epochs": 1},
    "ppo": {"steps": 2, "eval_every": 2},
}
ENDED = ("succeeded", "failed", "cancelled")


def submitted(client: Client) -> dict[str, Any]:
    spec = read_spec(TINY)
    for section, changes in SHORT.items():
        spec[section] |= changes
    return finished(client, client.create_job(with_uploads(client, spec, TINY.parent))["id"])


def finished(client: Client, job_id: str) -> dict[str, Any]:
    eventually(lambda: client.get_job(job_id)["status"] in ENDED, 120)
    job = client.get_job(job_id)
    assert job["status"] == "succeeded", job["error"]
    return dict(job)


def answer_all(client: Client, round_id: str, annotator: str) -> None:
    """By a rule of taste: the longer text, wherever it stands."""
    while items := client.next_annotation_items(round_id, annotator)["items"]:
        lengths = [len(text) for text in items[0]["completions"]]
        choice = "tie" if lengths[0] == lengths[1] else str(1 + lengths.index(max(lengths)))
        client.answer_annotation_item(round_id, items[0]["id"], annotator, choice)


def test_policies_are_compared_by_two_people_and_the_job_goes_on(tmp_path: Path) -> None:
    with running_up(tmp_path / "data") as up, up.client() as client:
        job = submitted(client)
        final = {found["stage"]: found["id"] for found in client.list_job_checkpoints(job["id"], final=True)}
        dataset = job["spec"]["data"]["preferences"].partition("@")[0]
        source = {"type": "checkpoints", "checkpoints": [final["sft"], final["ppo"]], "prompts": dataset, "limit": 6}
        round_id = client.create_annotation_round(source, overlap=2, reward_model=final["reward_model"])["id"]

        eventually(lambda: client.get_annotation_round(round_id)["status"] not in ("preparing",), 60)
        made = client.get_annotation_round(round_id)
        assert made["status"] == "open", made["error"]
        assert made["items"] + made["left_out"] == 6 and made["items"] > 0
        assert [policy["stage"] for policy in made["policies"] or []] == ["sft", "ppo"]
        for annotator in ("kim", "lee"):
            answer_all(client, round_id, annotator)

        def scored() -> bool:
            return (client.get_annotation_progress(round_id)["reward_model"] or {})["status"] == "done"

        eventually(scored, 60)
        progress = client.get_annotation_progress(round_id)
        assert progress["answers"] == 2 * made["items"] and progress["pairwise"] == 1.0
        assert (
            progress["reward_model"] is not None
            and progress["reward_model"]["of"] == progress["answers"] - progress["ties"]
        )
        sides = progress["sides"] or []
        assert [side["checkpoint"] for side in sides] == [final["sft"], final["ppo"]]
        assert sides[0]["wins"] == sides[1]["losses"]

        client.close_annotation_round(round_id, dataset)
        eventually(lambda: client.get_annotation_round(round_id)["status"] == "closed", 30)
        assert client.get_dataset_version(dataset, 2)["rows"] == 160 + progress["answers"]
        following = finished(client, client.continue_job(round_id, job["id"], steps=2)["id"])
        assert following["spec"]["stages"] == ["reward_model", "ppo", "evaluation"]
        assert following["spec"]["model"]["path"] == final["ppo"]
        assert following["spec"]["ppo"]["reference"]["path"] == final["sft"]
        assert following["summary"] is not None
        assert client.get_annotation_round(round_id)["jobs"] == [following["id"]]
