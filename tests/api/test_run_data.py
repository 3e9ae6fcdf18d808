"""Events, numbers, completions and checkpoints over HTTP."""

import hashlib
import io
import zipfile
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text
from sqlalchemy.orm import Session

from core.blobs import blob_store
from core.jobs.checkpoints.checkpoints import CheckpointFile, record_checkpoint
from core.jobs.lifecycle import attempts
from core.jobs.run.events import append_events
from core.jobs.run.thinning import thin_metrics
from core.models import ApiKey, Checkpoint, Job
from core.models.jobs import JobStatus
from core.settings import Settings
from tests.api.compatibility import committed
from tests.api.problem_checks import problem
from tests.core.factories import make_job, make_key, running, start_events, step
from trainer.events import (
    CheckpointSaved,
    CriticCard,
    Curve,
    CurvePoint,
    Event,
    Evidence,
    Health,
    ReportCard,
    RolledBack,
    Sample,
    Samples,
    SeedFinished,
    TokenRow,
)
from trainer.metrics import METRICS


@pytest.fixture
def job(session: Session, owner: tuple[ApiKey, str]) -> Job:
    """Running, in PPO, with three steps done."""
    made = make_job(session, owner[0].owner_id)
    running(session, made)
    samples = Samples(
        stage="ppo", step=2, rows=[Sample(prompt="p", response="r", score=0.5), Sample(prompt="q", response="s")]
    )
    append_events(session, made.id, 1, [step(1, kl=0.1), step(2, kl=0.2), samples, step(3, kl=0.3)])
    session.commit()
    return made


def test_events_in_order_by_cursor_and_type(client: TestClient, job: Job) -> None:
    page = client.get(f"/v1/jobs/{job.id}/events?limit=4").json()
    assert [event["seq"] for event in page["data"]] == [1, 2, 3, 4]
    assert (page["has_more"], page["first_id"], page["last_id"]) == (True, "1", "4")
    assert page["data"][0] | {"created_at": ""} == {
        "object": "job.event",
        "job_id": job.id,
        "seq": 1,
        "attempt": 0,
        "type": "status_changed",
        "created_at": "",
        "seed": None,
        "stage": None,
        "step": None,
        "data": {
            "from": None,
            "to": "queued",
            "reason": "Created.",
            "error": None,
            "actor": {"kind": "platform", "id": None, "name": None},
        },
    }
    rest = client.get(f"/v1/jobs/{job.id}/events?after=4").json()
    assert [event["seq"] for event in rest["data"]] == list(range(5, job.last_seq + 1)) and not rest["has_more"]
    only = client.get(f"/v1/jobs/{job.id}/events?types=samples,run_started").json()
    assert [event["type"] for event in only["data"]] == ["run_started", "samples"]
    refused = problem(client.get(f"/v1/jobs/{job.id}/events?types=samples,metric"), 422, "invalid_request")
    assert refused["errors"] == [{"pointer": "?types", "detail": "unknown type 'metric'; did you mean 'metrics'?"}]
    assert (
        "there is no type 'metric'. The types are status_changed," in refused["detail"]
        and "samples" in refused["detail"]
    )


def test_events_of_a_step_are_those_alone(client: TestClient, job: Job) -> None:
    def found(query: str) -> list[tuple[str, int]]:
        shown = client.get(f"/v1/jobs/{job.id}/events?{query}").json()["data"]
        return [(event["type"], event["step"]) for event in shown]

    assert found("step=2") == [("metrics", 2), ("samples", 2)]
    assert found("step=2&types=samples,critic_card") == [("samples", 2)]
    assert found("step=7") == []


TOLD: list[Event] = [
    Health(
        stage="ppo",
        step=3,
        rule="kl_blow_up",
        action="warn",
        limit=50.0,
        cause="The policy has left the reference.",
        evidence=[Evidence(metric="objective/kl", step=3, value=61.5)],
        suggestion="Raise `ppo.kl.coef`.",
    ),
    RolledBack(stage="ppo", step=3, to_step=1, learning_rate_factor=0.5),
    Curve(stage="ppo", points=[CurvePoint(step=1, sqrt_kl=0.5, score=1.0, judge=None, win_rate=0.6)]),
    SeedFinished(seed=0, number=1, of=2, seconds=3.5, summary={"win_rate": 0.4}, collapsed=True, why="KL"),
    ReportCard.model_validate(
        {
            "stage": "reward_model",
            "step": 9,
            "card": {
                "overall": {"pairs": 10, "accuracy": 0.7, "low": 0.4, "high": 0.9, "confidence": 0.8},
                "by_source": {"web": {"pairs": 10, "accuracy": 0.7, "low": 0.4, "high": 0.9}},
                "ties": 1,
                "calibration": [{"low": 0.5, "high": 0.55, "pairs": 10, "predicted": 0.52, "observed": 0.5}],
                "calibration_error": 0.02,
                "length_baseline": {"pairs": 10, "accuracy": 0.5, "low": 0.2, "high": 0.8},
                "margin": 0.3,
                "references": 4,
            },
        }
    ),
    CriticCard.model_validate(
        {
            "stage": "ppo",
            "step": 3,
            "card": {
                **{"responses": 2, "tokens": 3, "value": 2.0, "returns": 1.5, "returns_std": 0.5, "skill": -1.0},
                **{"td_error": 1.0, "calibration_error": 0.5, "rank_first": None},
                "by_position": [{"low": 0.0, "high": 0.2, "tokens": 3, "value": 2.0, "returns": 1.5, "td_error": 1.0}],
                "calibration": [{"low": 1.0, "high": 3.0, "tokens": 3, "value": 2.0, "returns": 1.5}],
                "by_length": [{"low": 1, "high": 2, "responses": 2, "value": 2.0, "returns": 1.5}],
                "worst": [
                    {"response": 1, "position": 0, "before": "", "text": "a", "after": "", "value": 3.0}
                    | {"returns": 1.0, "score": 1.0}
                ],
            },
        }
    ),
    CheckpointSaved(stage="ppo", step=3, path="checkpoints/ppo-best", final=False, best=True, seed=0),
]


def test_every_trainer_event_is_stored_unchanged(client: TestClient, session: Session, job: Job) -> None:
    append_events(session, job.id, 1, TOLD)
    session.commit()
    shown = client.get(f"/v1/jobs/{job.id}/events?after={job.last_seq - len(TOLD)}").json()["data"]
    assert [event["type"] for event in shown] == [told.type for told in TOLD]
    exclude = [{"type", "at"} | (set() if told.seed is not None else {"seed"}) for told in TOLD]
    told_data = [told.model_dump(mode="json", exclude=left_out) for told, left_out in zip(TOLD, exclude, strict=True)]
    assert [event["data"] for event in shown] == told_data
    assert [event["seed"] for event in shown] == [told.seed for told in TOLD]
    assert (shown[0]["stage"], shown[0]["step"]) == ("ppo", 3)


def test_event_of_each_kind_fits_its_schema(client: TestClient, session: Session, job: Job) -> None:
    append_events(session, job.id, 1, TOLD)
    session.commit()
    shown = client.get(f"/v1/jobs/{job.id}/events").json()["data"]
    components = committed()["components"]
    validator = jsonschema.Draft202012Validator({"$ref": "#/components/schemas/JobEvent", "components": components})
    assert {"status_changed", *(told.type for told in TOLD)} <= {event["type"] for event in shown}
    assert [error.message for event in shown for error in validator.iter_errors(event)] == []


def test_transitions_of_a_request_name_its_key(
    client: TestClient, body: dict[str, Any], owner: tuple[ApiKey, str]
) -> None:
    made = client.post("/v1/jobs", json=body).json()["id"]
    client.post(f"/v1/jobs/{made}/cancel")
    shown = client.get(f"/v1/jobs/{made}/events?types=status_changed").json()["data"]
    key = {"kind": "api_key", "id": owner[0].id, "name": "tester"}
    assert [(event["data"]["to"], event["data"]["actor"]) for event in shown] == [("queued", key), ("cancelled", key)]


def test_stored_transition_without_actor_is_returned(client: TestClient, session: Session, job: Job) -> None:
    """Events of versions before actors existed."""
    session.execute(text("UPDATE job_events SET data = data - 'actor' WHERE job_id = :job"), {"job": job.id})
    session.commit()
    (first, *_) = client.get(f"/v1/jobs/{job.id}/events?types=status_changed").json()["data"]
    assert first["data"] == {"from": None, "to": "queued", "reason": "Created.", "error": None}


def test_token_tables_are_served(client: TestClient, session: Session, job: Job) -> None:
    row = TokenRow(text=" a", logprob=-1.0, reference_logprob=-1.5, kl=0.5, value=None, advantage=0.2, reward=-0.1)
    sample = Sample(prompt="p", response=" a", token_table=[row])
    append_events(session, job.id, 1, [Samples(stage="ppo", step=7, rows=[sample])])
    session.commit()
    (shown,) = client.get(f"/v1/jobs/{job.id}/samples?step=7").json()["data"]
    assert shown["token_table"] == [row.model_dump(mode="json")]


def test_metrics_are_exact_and_have_their_last_sequence(client: TestClient, job: Job) -> None:
    shown = client.get(f"/v1/jobs/{job.id}/metrics?names=kl,nothing&stage=ppo&from=2").json()
    assert (shown["object"], shown["last_seq"]) == ("metrics", job.last_seq)
    (kl,) = shown["series"]
    assert (kl["stage"], kl["name"], kl["steps"], kl["values"], kl["min"]) == ("ppo", "kl", [2, 3], [0.2, 0.3], None)


def test_metrics_above_max_points_are_in_buckets(client: TestClient, job: Job) -> None:
    (kl,) = client.get(f"/v1/jobs/{job.id}/metrics?names=kl&max_points=2").json()["series"]
    assert (kl["values"], kl["steps"], kl["n"]) == (None, [3], [3])
    assert (kl["last"], kl["min"], kl["max"], kl["mean"]) == ([0.3], [0.1], [0.3], [pytest.approx(0.2)])


def test_thinned_metrics_state_it_and_are_in_buckets(client: TestClient, session: Session, job: Job) -> None:
    path = f"/v1/jobs/{job.id}"
    assert client.get(f"{path}/metrics").json()["thinned_at"] is None
    append_events(session, job.id, 1, [step(n, 200, kl=n) for n in range(4, 201)])
    attempts.finish(session, job.id, 1, JobStatus.SUCCEEDED, "The run has ended.", summary={})
    thin_metrics(session, job.id, 30)
    session.commit()
    shown = client.get(f"{path}/metrics?names=kl&from=2&to=130").json()
    assert shown["thinned_at"] == client.get(path).json()["metrics_thinned_at"] is not None
    (kl,) = shown["series"]
    assert (kl["values"], kl["steps"][:2], kl["steps"][-2:], kl["n"][-2:]) == (None, [3, 7], [127, 130], [4, 3])
    events = client.get(f"{path}/events?types=metrics").json()["data"]
    assert [event["step"] for event in events] == list(range(128, 201))


def test_samples_are_of_the_newest_or_the_requested_step(client: TestClient, job: Job) -> None:
    for query in ("", "?stage=ppo", "?step=2"):
        rows = client.get(f"/v1/jobs/{job.id}/samples{query}").json()["data"]
        assert [(row["stage"], row["step"], row["index"], row["prompt"]) for row in rows] == [
            ("ppo", 2, 0, "p"),
            ("ppo", 2, 1, "q"),
        ]
        assert (rows[0]["score"], rows[1]["score"]) == (0.5, None)
    assert client.get(f"/v1/jobs/{job.id}/samples?step=9").json()["data"] == []
    assert client.get(f"/v1/jobs/{job.id}/samples/steps").json()["data"] == [{"seed": None, "stage": "ppo", "step": 2}]


@pytest.fixture
def searched(session: Session, job: Job) -> Job:
    """Adds completions of steps 4 and 6; step 4 ran twice."""
    token = TokenRow(text="x")
    rows = {
        4: [Sample(prompt="p", response="Good dog", score=2.0, kl=0.5, finished=True, token_table=[token])],
        6: [
            Sample(prompt="q", response="bad", score=-1.0, finished=False),
            Sample(prompt="p", response="good 100%", score=1.0, held_out=True, reference="r"),
        ],
    }
    stale = Samples(stage="ppo", step=4, rows=[Sample(prompt="p", response="good, rolled back", score=9.0)])
    append_events(session, job.id, 1, [stale, *(Samples(stage="ppo", step=at, rows=rows[at]) for at in rows)])
    session.commit()
    return job


# step 2 has: p r .5, q s (no score)
@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", ["6.0", "6.1", "4.0", "2.0", "2.1"]),
        ("?order=oldest", ["2.0", "2.1", "4.0", "6.0", "6.1"]),
        ("?order=highest", ["4.0", "6.1", "2.0", "6.0", "2.1"]),
        ("?order=lowest&limit=2", ["6.0", "2.0"]),
        ("?order=lowest&limit=2&skip=2", ["6.1", "4.0"]),
        ("?q=GOOD", ["6.1", "4.0"]),
        ("?q=%25", ["6.1"]),
        ("?q=%00x&stage=ppo", []),
        ("?from=3&to=4", ["4.0"]),
        ("?stage=sft", []),
        ("?min=1&max=1.5", ["6.1"]),
        ("?by=kl&order=highest&limit=1", ["4.0"]),
        ("?finished=false", ["6.0"]),
        ("?held_out=true", ["6.1"]),
        ("?held_out=false&q=good", ["4.0"]),
        ("?same_prompt=ppo.6.1&order=oldest", ["2.0", "4.0", "6.1"]),
        ("?same_prompt=ppo.6.9", []),
        ("?same_prompt=ppo.5.0", []),
    ],
)
def test_samples_are_searched_across_steps(client: TestClient, searched: Job, query: str, found: list[str]) -> None:
    page = client.get(f"/v1/jobs/{searched.id}/samples/search{query}").json()
    assert [f"{row['step']}.{row['index']}" for row in page["data"]] == found
    assert page["has_more"] is (
        query in ("?order=lowest&limit=2", "?order=lowest&limit=2&skip=2", "?by=kl&order=highest&limit=1")
    )


def test_sample_search_counts_without_its_bounds(client: TestClient, searched: Job) -> None:
    page = client.get(f"/v1/jobs/{searched.id}/samples/search?min=1&limit=1&order=highest").json()
    assert (page["total"], page["has_more"]) == (2, True)
    counts = [0] * 20
    counts[0] = counts[10] = counts[13] = counts[19] = 1  # -1, .5, 1 and 2 between -1 and 2
    assert page["histogram"] == {"by": "score", "low": -1.0, "high": 2.0, "counts": counts}
    assert page["data"][0]["token_table"] is None and page["data"][0]["response"] == "Good dog"
    nothing = client.get(f"/v1/jobs/{searched.id}/samples/search?by=judge").json()["histogram"]
    assert nothing == {"by": "judge", "low": None, "high": None, "counts": []}
    one = client.get(f"/v1/jobs/{searched.id}/samples/search?by=kl").json()["histogram"]
    assert (one["low"], one["high"], one["counts"]) == (0.5, 0.5, [1] + [0] * 19)
    problem(client.get(f"/v1/jobs/{searched.id}/samples/search?same_prompt=6.1"), 422, "invalid_request")


FILES = {"config.json": b"{}", "model.safetensors": b"w" * 300_000, "trainer_state/rng.bin": b"r"}


@pytest.fixture
def checkpoint(session: Session, job: Job, settings: Settings, tmp_path: Path) -> Checkpoint:
    files: list[CheckpointFile] = []
    for name, content in FILES.items():
        (tmp_path / "file").write_bytes(content)
        blob_store(settings).put_file(f"prefix/{name}", tmp_path / "file")
        files.append({"path": name, "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()})
    saved = CheckpointSaved(stage="ppo", step=3, path="x", final=True, metrics={"kl": 0.3})
    made = record_checkpoint(session, job.id, 1, saved, files, "prefix")
    session.commit()
    return made


def test_checkpoints_are_listed_with_their_files(client: TestClient, job: Job, checkpoint: Checkpoint) -> None:
    (shown,) = client.get(f"/v1/jobs/{job.id}/checkpoints").json()["data"]
    assert (shown["object"], shown["id"], shown["stage"], shown["step"]) == ("job.checkpoint", checkpoint.id, "ppo", 3)
    assert (shown["final"], shown["metrics"], shown["bytes"]) == (True, {"kl": 0.3}, 300_003)
    assert [file["path"] for file in shown["files"]] == list(FILES)
    assert "blob_prefix" not in shown
    assert client.get(f"/v1/jobs/{job.id}/checkpoints?final=false").json()["data"] == []


def test_a_checkpoint_is_downloaded_as_a_zip(client: TestClient, job: Job, checkpoint: Checkpoint) -> None:
    response = client.get(f"/v1/checkpoints/{checkpoint.id}/download")
    assert response.headers["content-type"] == "application/zip"
    assert response.headers["content-disposition"] == f'attachment; filename="{job.id}-ppo.zip"'
    with zipfile.ZipFile(io.BytesIO(response.content)) as archive:
        assert archive.testzip() is None
        assert {name: archive.read(name) for name in archive.namelist()} == {
            f"{job.id}-ppo/{name}": content for name, content in FILES.items()
        }


def test_a_file_is_downloaded_by_its_name(client: TestClient, checkpoint: Checkpoint) -> None:
    for name, content in FILES.items():
        response = client.get(f"/v1/checkpoints/{checkpoint.id}/files/{name}")
        assert response.content == content and response.headers["content-length"] == str(len(content))


@pytest.mark.parametrize(
    "path", ["nope", "../config.json", "..%2fconfig.json", "%2fetc%2fpasswd", "trainer_state", "a%00"]
)
def test_nothing_but_its_files_is_served(client: TestClient, checkpoint: Checkpoint, path: str) -> None:
    problem(client.get(f"/v1/checkpoints/{checkpoint.id}/files/{path}"), 404, "not_found")


def test_another_key_s_checkpoint_is_absent(client: TestClient, checkpoint: Checkpoint, session: Session) -> None:
    session.get_one(Job, checkpoint.job_id).owner_id = make_key(session).owner_id
    session.commit()
    for rest in ("download", "files/config.json"):
        problem(client.get(f"/v1/checkpoints/{checkpoint.id}/{rest}"), 404, "not_found")


def test_every_metric_is_explained(client: TestClient) -> None:
    shown = client.get("/v1/reference/metrics").json()["data"]
    assert [(metric["stage"], metric["name"]) for metric in shown] == [
        (metric.stage, metric.name) for metric in METRICS
    ]


def test_the_job_s_schema_is_served(client: TestClient) -> None:
    schema = client.get("/v1/schema/job").json()
    assert schema["required"] == ["model", "data"]


@pytest.fixture
def three(session: Session, owner: tuple[ApiKey, str]) -> Job:
    """A job of the seeds 4, 5 and 6: two are done, and the second has collapsed."""
    job = make_job(session, owner[0].owner_id, seed=4, seeds=3)
    assert attempts.claim(session, "wrk_1") is not None
    for number, seed in enumerate((4, 5), 1):
        rows = [Sample(prompt="p", response=f"of {seed}", score=float(seed))]
        run = [*start_events(), step(1, kl=float(seed)), Samples(stage="ppo", step=1, rows=rows)]
        end = SeedFinished(
            seed=seed, number=number, of=3, seconds=2.0, summary={"best_step": 3.0 * number},
            collapsed=seed == 5, why="It is left with few answers." if seed == 5 else None,
        )  # fmt: skip
        append_events(session, job.id, 1, [*(one.model_copy(update={"seed": seed}) for one in run), end])
    session.commit()
    return job


def test_metrics_of_a_seed_are_those_alone(client: TestClient, three: Job) -> None:
    path = f"/v1/jobs/{three.id}/metrics?names=kl"
    both = client.get(path).json()["series"]
    assert [(one["seed"], one["values"]) for one in both] == [(4, [4.0]), (5, [5.0])]
    (second,) = client.get(f"{path}&seed=5").json()["series"]
    assert (second["seed"], second["values"]) == (5, [5.0])
    assert client.get(f"{path}&seed=6").json()["series"] == []
    for resource in ("metrics", "samples", "samples/steps", "samples/search", "events"):
        refused = client.get(f"/v1/jobs/{three.id}/{resource}?seed=7")
        document = problem(refused, 422, "invalid_request")
        assert (document["param"], document["detail"]) == ("seed", f"{three.id} has no seed 7. It has: 4 to 6.")


def test_samples_and_events_of_a_seed_are_those_alone(client: TestClient, three: Job) -> None:
    path = f"/v1/jobs/{three.id}"
    (row,) = client.get(f"{path}/samples?seed=4").json()["data"]
    assert (row["seed"], row["response"]) == (4, "of 4")
    assert client.get(f"{path}/samples").json()["data"][0]["seed"] == 5
    steps = client.get(f"{path}/samples/steps?seed=4").json()["data"]
    assert steps == [{"seed": 4, "stage": "ppo", "step": 1}]
    found = client.get(f"{path}/samples/search?seed=5&order=highest").json()
    assert (found["total"], found["data"][0]["response"]) == (1, "of 5")
    events = client.get(f"{path}/events?seed=5").json()["data"]
    assert {event["seed"] for event in events} == {5} and events[-1]["type"] == "seed_finished"


def test_job_of_several_seeds_lists_each_result(client: TestClient, three: Job) -> None:
    job = client.get(f"/v1/jobs/{three.id}").json()
    assert [(one["seed"], one["status"], one["summary"], one["why"]) for one in job["seeds"]] == [
        (4, "finished", {"best_step": 3.0}, None),
        (5, "collapsed", {"best_step": 6.0}, "It is left with few answers."),
        (6, "waiting", None, None),
    ]
    assert job["seeds_summary"] == {"seeds": 2, "collapsed_seeds": 1, "failed_seeds": 0, "best_seed": 4}
    assert (job["progress"]["seed"], job["progress"]["seeds_done"], job["progress"]["seed_count"]) == (5, 2, 3)


def test_own_seed_of_a_job_with_one_selects_everything(client: TestClient, job: Job) -> None:
    path = f"/v1/jobs/{job.id}"
    for resource in ("metrics", "samples", "events"):
        assert client.get(f"{path}/{resource}?seed=0").json() == client.get(f"{path}/{resource}").json()
    shown = client.get(path).json()
    assert (shown["seeds"], shown["seeds_summary"]) == ([], None)
    assert client.get(f"{path}/metrics?seed=1").status_code == 422
