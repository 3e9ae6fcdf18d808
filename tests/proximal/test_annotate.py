"""A round on the terminal, and from Python."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from proximal import cli
from proximal.errors import ApiError, ClientError
from proximal.sdk import Client
from tests.proximal.conftest import Up
from tests.waiting import eventually

Run = Callable[..., str]


@pytest.fixture
def run(up: Up, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("PROXIMAL_DATA_DIR", str(up.folder))

    def run(*arguments: str, typed: str = "") -> str:
        width = {"COLUMNS": "200"}
        result = CliRunner().invoke(cli.app, ["annotate", *arguments], input=typed, env=width, catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result.output

    return run


@pytest.fixture(scope="module")
def dataset(up: Up, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Two pairs and a ranking without labels."""
    file = tmp_path_factory.mktemp("unlabelled") / "unlabelled.jsonl"
    rows = [{"prompt": f"p{n}", "a": "left", "b": "right", "label": None} for n in range(2)]
    ranking = {"prompt": "r", "completions": ["one", "two", "three"], "ranks": None}
    file.write_text("".join(json.dumps(row) + "\n" for row in [*rows, ranking]))
    with up.client() as client:
        return client.upload_dataset(file, "preferences", "unlabelled")["id"]


@pytest.fixture
def described(dataset: str, tmp_path: Path) -> Callable[..., str]:
    """A file that describes a round of that dataset."""

    def write(*lines: str) -> str:
        file = tmp_path / "round.toml"
        file.write_text("\n".join([*lines, "[source]", 'type = "dataset"', f'dataset = "{dataset}"']) + "\n")
        return str(file)

    return write


def opened(client: Client, round_id: str) -> str:
    eventually(lambda: client.get_annotation_round(round_id)["status"] != "preparing")
    assert client.get_annotation_round(round_id)["status"] == "open"
    return round_id


def test_pairs_are_answered_on_the_terminal_and_become_a_dataset(
    run: Run, client: Client, described: Callable[..., str]
) -> None:
    file = described('name = "[/b] terminal"', 'instructions = "Be [/b] fair."')
    round_id = opened(client, run("new", file).split()[0])
    output = run("answer", round_id, "--annotator", "kim", typed="1\nu\nnonsense\n0\ns\n")
    assert "Be [/b] fair." in output and "[1] " in output and "1 of 2" in output
    assert "There are no more items for you. You have answered 2." in output
    shown = run("show", round_id)
    assert "[/b] terminal" in shown and "1 of 2, 1 skips" in shown and "kim" in shown
    assert round_id in run("list", "--status", "open")
    assert run("pause", round_id) == "paused\n"
    assert run("open", round_id) == "open\n"
    assert run("close", round_id, "--name", "said").strip().endswith("@1  closing")
    eventually(lambda: client.get_annotation_round(round_id)["status"] == "closed")
    (row,) = client.list_dataset_rows(str(client.get_annotation_round(round_id)["dataset"]))
    assert (row["row"]["label"], row["row"]["annotator"]) == ("tie", "kim")


def test_a_ranking_is_typed_as_digits(run: Run, client: Client, described: Callable[..., str]) -> None:
    round_id = opened(client, run("new", described('kind = "ranking"')).split()[0])
    assert "Ranks of the 3 completions" in run("answer", round_id, "--annotator", "kim", typed="12\n124\n2 1 2\n")
    (result,) = client.list_annotation_results(round_id)
    (given,) = result["answers"]
    assert given["ranks"] is not None
    assert [given["ranks"][index] for index in given["shown"]] == [2, 1, 2]
    run("delete", round_id)
    with pytest.raises(ApiError, match="There is no round"):
        client.get_annotation_round(round_id)


def test_annotate_quit_keeps_the_item_open(run: Run, client: Client, described: Callable[..., str]) -> None:
    round_id = opened(client, run("new", described()).split()[0])
    run("answer", round_id, "--annotator", "kim", typed="u\nq\n")
    assert client.get_annotation_progress(round_id)["answers"] == 0


def test_annotate_continue_names_the_obstacle(client: Client, dataset: str) -> None:
    round_id = client.create_annotation_round({"source": {"type": "dataset", "dataset": dataset}})["id"]
    for verb in (client.get_annotation_continuation, client.continue_job):
        with pytest.raises(ApiError, match="Close it first") as refusal:
            verb(round_id, job="job_x")
        assert refusal.value.code == "round_open"


def test_annotate_new_round_names_missing_options(run: Run, tmp_path: Path) -> None:
    (tmp_path / "round.json").write_text('{"nmae": "x"}')
    with pytest.raises(ApiError, match="did you mean 'name'") as refusal:
        run("new", str(tmp_path / "round.json"))
    assert "#/source" in str(refusal.value)


def test_annotate_source_that_is_no_table_is_refused(tmp_path: Path) -> None:
    (tmp_path / "round.toml").write_text('source = "ds_x"')
    with pytest.raises(ClientError, match="`source` must be a table"):
        CliRunner().invoke(cli.app, ["annotate", "new", str(tmp_path / "round.toml")], catch_exceptions=False)
