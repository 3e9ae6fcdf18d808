"""Datasets from Python and from the command line, on a platform with its data worker."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from typer.testing import CliRunner

from proximal import cli
from proximal.errors import ApiError, ClientError
from proximal.sdk import Client
from proximal.sdk.types import Dataset
from tests.proximal.conftest import Up
from tests.waiting import eventually

Run = Callable[..., Result]


@pytest.fixture
def run(up: Up, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("PROXIMAL_DATA_DIR", str(up.folder))

    def run(*arguments: str) -> Result:
        result = CliRunner().invoke(cli.app, ["datasets", *arguments], env={"COLUMNS": "200"}, catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result

    return run


@pytest.fixture
def dataset(client: Client, tmp_path: Path) -> Dataset:
    """Thirty pairs that no other test has, in the search index."""
    rows = [{"prompt": f"question {n}", "chosen": "good", "rejected": tmp_path.name} for n in range(30)]
    file = tmp_path / "pairs.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    made = client.upload_dataset(file, "preferences", "thirty")
    indexed = {"index": "succeeded"}
    eventually(
        lambda: indexed.items() <= {t["kind"]: t["status"] for t in client.list_dataset_tasks(made["id"])}.items()
    )
    return made


def test_rows_are_paged_searched_split_and_sampled(client: Client, dataset: Dataset) -> None:
    id_ = dataset["id"]
    assert [row["row_number"] for row in client.list_dataset_rows(id_, after=27)] == [28, 29, 30]
    assert [row["line"] for row in client.list_dataset_rows(id_, search='"question 7"')] == [8]
    sides = {side: list(client.list_dataset_rows(id_, split=side)) for side in ("train", "eval")}
    assert sum(map(len, sides.values())) == 30 and sides["eval"]
    assert client.sample_dataset_rows(id_, 3, seed=1) == client.sample_dataset_rows(id_, 3, seed=1)


def test_a_version_is_pinned_by_the_job_that_uses_it(client: Client, dataset: Dataset) -> None:
    job = client.create_job({"model": "m", "data": {"preferences": dataset["id"]}, "ppo": {}})
    (version,) = client.list_dataset_versions(dataset["id"])
    assert version == client.get_dataset_version(dataset["id"], 1)
    assert version["jobs"] == [job["id"]]
    assert job["spec"]["data"]["preferences"] == f"{dataset['id']}@sha256:{version['sha256']}"
    with pytest.raises(ApiError) as refusal:
        client.delete_dataset(dataset["id"])
    assert (refusal.value.code, refusal.value.problem["jobs"]) == ("dataset_in_use", [job["id"]])
    client.cancel_job(job["id"])
    client.delete_dataset(dataset["id"])


def test_a_dataset_is_changed_put_aside_and_brought_back(client: Client, dataset: Dataset) -> None:
    changed = client.change_dataset(dataset["id"], name="other", expires_at="2099-01-01T00:00:00Z")
    assert (changed["name"], changed["expires_at"]) == ("other", "2099-01-01T00:00:00Z")
    client.archive_dataset(dataset["id"])
    assert dataset["id"] in {found["id"] for found in client.list_datasets(archived=True)}
    assert dataset["id"] not in {found["id"] for found in client.list_datasets()}
    assert client.unarchive_dataset(dataset["id"])["archived_at"] is None
    assert dataset["id"] in {found["id"] for found in client.list_datasets(search="OTHER")}
    client.delete_dataset(dataset["id"])


def test_the_same_from_the_command_line(run: Run, dataset: Dataset) -> None:
    id_ = dataset["id"]
    assert id_ in run("list", "--search", "thirty").output
    assert "size" in run("list", "--sort", "-size").output
    shown = run("get", id_).output
    assert "ready" in shown and str(dataset["sha256"]) in shown
    assert "ready" in run("versions", id_).output
    found = json.loads(run("rows", id_, "--search", '"question 7"').output)
    assert (found["line"], found["row_number"], found["row"]["a"]) == (8, 8, "good")
    assert len(run("rows", id_, "--limit", "2").output.splitlines()) == 2
    assert len(run("rows", id_, "--sample", "5").output.splitlines()) == 5
    assert (
        "renamed, kept until 2099-01-31 12:00:00 UTC"
        in run("change", id_, "--name", "renamed", "--expires-at", "2099-01-31T12:00Z").output
    )
    assert "kept until it is deleted" in run("change", id_, "--expires-at", "never").output
    assert "archived" in run("archive", id_).output
    assert id_ not in run("list").output
    assert "in the list" in run("archive", id_, "--undo").output
    assert "deleted" in run("delete", id_).output


def test_cli_refused_file_is_reported_with_remedies(up: Up, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROXIMAL_DATA_DIR", str(up.folder))
    file = tmp_path / "pairs.jsonl"
    file.write_text(
        '{"prompt": "p", "chosen": "a", "rejected": "b"}\n{"prompt": "p", "chosen": "a", "rejected": "a"}\n'
    )
    with pytest.raises(ClientError, match=r"(?s)Line 2.*--bad-rows leave_out"):
        CliRunner().invoke(cli.app, ["datasets", "upload", str(file)], catch_exceptions=False)


def test_a_task_that_is_over_stays_as_it_is(client: Client, dataset: Dataset) -> None:
    index = next(task for task in client.list_dataset_tasks(dataset["id"]) if task["kind"] == "index")
    assert client.cancel_dataset_task(dataset["id"], index["id"])["status"] == "succeeded"
    client.delete_dataset(dataset["id"])


def test_two_datasets_are_compared(client: Client, run: Run, dataset: Dataset) -> None:
    found = client.compare_datasets(dataset=dataset["id"], other=f"{dataset['id']}@1")
    assert found["exact"]["prompts"] == found["exact"]["rows"] == 30
    said = run("overlap", dataset["id"], f"{dataset['id']}@1").output
    assert f"equal prompts: 30, in 30 of the 30 rows of {dataset['id']}@1" in said and "near duplicates: 0" in said


def upload(up: Up, monkeypatch: pytest.MonkeyPatch, file: Path, *options: str) -> Result:
    """The result of `proximal datasets upload`, with any exit status."""
    monkeypatch.setenv("PROXIMAL_DATA_DIR", str(up.folder))
    words = ["datasets", "upload", str(file), *options]
    return CliRunner().invoke(cli.app, words, env={"COLUMNS": "200"})


def test_upload_prints_warnings_on_standard_error(up: Up, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "pairs.csv"
    file.write_text(f"prompt,completion,source\n{tmp_path.name},x,NaN\nr,y,web\n")
    result = upload(up, monkeypatch, file, "--kind", "sft")
    assert result.exit_code == 0 and "2 rows of sft" in result.stdout
    assert (
        "warning: Cells with a word for a missing value, such as NaN, were read as empty in line 2: NaN in"
        in result.stderr
    )
    quiet = upload(up, monkeypatch, file, "--kind", "sft", "--output", "json")
    assert json.loads(quiet.stdout)["rows"] == 2 and "warning:" in quiet.stderr


def test_upload_counts_the_records_it_leaves_out(up: Up, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "pairs.jsonl"
    file.write_text(
        '{"prompt": "q", "chosen": "x", "rejected": "x"}\n' * 3
        + f'{{"prompt": "{tmp_path.name}", "chosen": "x", "rejected": "y"}}\n'
    )
    result = upload(up, monkeypatch, file, "--bad-rows", "leave_out")
    assert result.exit_code == 0 and "1 row of preferences, 3 records left out" in result.stdout
    assert "warning: Both answers are the same in 3 records, first in line 1:" in result.stderr


def test_upload_that_is_blocked_exits_with_7(up: Up, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "pairs.jsonl"
    file.write_text(
        '{"prompt": "q", "chosen": "x", "rejected": "x"}\n'
        + f'{{"prompt": "{tmp_path.name}", "chosen": "x", "rejected": "y"}}\n'
    )
    result = upload(up, monkeypatch, file, "--bad-rows", "report")
    assert (
        result.exit_code == 7 and "identical_answers" in result.stderr and "proximal datasets fix ds_" in result.stderr
    )


def test_upload_that_is_a_question_exits_with_6(up: Up, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "votes.jsonl"
    file.write_text('{"query": "q", "left": {"text": "x"}, "right": {"text": "y"}, "vote": "left"}\n')
    error = upload(up, monkeypatch, file).exception
    assert isinstance(error, ClientError) and error.exit_status == 6


def test_dataset_is_shown_by_the_name_of_other_groups(run: Run, dataset: Dataset) -> None:
    assert run("show", dataset["id"]).output == run("get", dataset["id"]).output


def test_single_error_is_printed_once() -> None:
    error = ApiError(
        422, {"detail": "Line 2: is empty.", "errors": [{"line": 2, "detail": "is empty"}], "error_count": 1}
    )
    assert str(error) == "Line 2: is empty."
    several = ApiError(
        422, {"detail": "Line 2: is empty. 1 more.", "errors": [{"line": 2, "detail": "a"}, {"line": 3, "detail": "b"}]}
    )
    assert str(several).count("\n") == 2


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        (
            {"detail": "`zz` is not used: why.", "errors": [{"pointer": "/zz", "detail": "`zz` is not used: why."}]},
            "`zz` is not used: why.",
        ),
        ({"detail": "mapping/fields: is empty.", "errors": [{"pointer": "#/mapping/fields", "detail": "is empty"}]}, "mapping/fields: is empty."),
        (
            {"title": "The dataset is invalid", "detail": "Line 2: is empty.", "errors": [{"line": 2, "pointer": "/prompt", "detail": "is empty"}]},
            "The dataset is invalid\n  line 2, /prompt: is empty",
        ),
        (
            {"detail": "Line 2: is empty. Read as empty: NaN.", "errors": [{"line": 2, "pointer": "/prompt", "detail": "is empty"}]},
            "Line 2: is empty. Read as empty: NaN.\n  line 2, /prompt: is empty",
        ),
    ],
)  # fmt: skip
def test_single_error_with_a_place_is_printed_once(problem: dict[str, Any], message: str) -> None:
    assert str(ApiError(422, problem)) == message


def test_one_record_that_is_left_out_is_counted_in_the_singular(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "pairs.jsonl"
    file.write_text('{"prompt": "p", "chosen": "x", "rejected": "y"}\n{"prompt": "", "chosen": "x", "rejected": "y"}\n')
    assert "1 row of preferences, 1 record left out" in run("upload", str(file), "--bad-rows", "leave_out").output


def test_url_without_a_scheme_is_named() -> None:
    with pytest.raises(ClientError, match=r"must begin with http:// or https://, as in http://localhost:8000"):
        Client("localhost:8000", "key")


def test_upload_of_an_unusable_file_has_no_advice_for_rows(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "splits.json"
    file.write_text('{"train": [{"prompt": "p"}], "test": [{"prompt": "q"}]}')
    with pytest.raises(ClientError, match="several lists of records") as refused:
        run("upload", str(file))
    assert "--bad-rows" not in str(refused.value) and str(refused.value).count("several lists") == 1
