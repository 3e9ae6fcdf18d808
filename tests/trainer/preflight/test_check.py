"""`python -m trainer check`: what it finds, and how it ends."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from tests.trainer.preflight.by_formula import ByFormula
from tests.trainer.rewards.tools import Reply, says, serving
from tests.trainer.running import ROOT
from trainer.cli import load_spec, main
from trainer.preflight.check import CheckOptions, check
from trainer.preflight.report import Finding, Report
from trainer.spec import JobSpec
from trainer.spec.path_rules import PathRules
from trainer.text.codec import train_tokenizer

CONFIG = {
    "model_type": "llama",
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
}
WORDS = ["the", "film", "was", "good", "and", "bad", "but", "long"]
PROMPTS = [f"{WORDS[n % 8]} {WORDS[n // 8]} {n}" for n in range(60)]


def lines(path: Path, rows: list[Any]) -> str:
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return str(path)


def job(folder: Path, **changes: Any) -> dict[str, Any]:
    """A small valid job with data of its own; `changes` replace or, for sections, extend it."""
    sft = [{"prompt": prompt, "completion": " ".join(WORDS[: 2 + n % 3])} for n, prompt in enumerate(PROMPTS)]
    pairs = [{"prompt": prompt, "chosen": "good film", "rejected": "bad film"} for prompt in PROMPTS]
    raw: dict[str, Any] = {
        "model": {"config": CONFIG | {"max_position_embeddings": 128}, "tokenizer": {"vocab_size": 300}},
        "data": {
            "sft": lines(folder / "sft.jsonl", sft),
            "preferences": lines(folder / "preferences.jsonl", pairs),
            "prompts": lines(folder / "prompts.jsonl", [{"prompt": prompt} for prompt in PROMPTS]),
        },
        "sft": {"batch_size": 8},
        "reward_model": {"batch_size": 8},
        "ppo": {"steps": 2, "batch_size": 8, "max_new_tokens": 40},
        "evaluation": {"prompts": 4},
        "runtime": {"device": "cpu"},
    }
    for name, value in changes.items():
        raw[name] = raw.get(name, {}) | value if isinstance(value, dict) else value
    return raw


def checked(folder: Path, wishes: CheckOptions | None = None, **changes: Any) -> Report:
    return check(JobSpec.model_validate(job(folder, **changes)), wishes)


def only(report: Report, code: str) -> Finding:
    (found,) = [finding for finding in report.findings if finding.code == code]
    return found


@pytest.fixture
def counted() -> None:
    """For tests that need the counted passes."""


@pytest.fixture(autouse=True)
def _by_formula(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Count no pass. Other files test the counts."""
    if "counted" not in request.fixturenames:
        monkeypatch.setattr("trainer.preflight.check.Passes", ByFormula)


@pytest.mark.slow
@pytest.mark.usefixtures("counted")
@pytest.mark.parametrize("example", sorted(ROOT.glob("examples/*.toml")), ids=lambda path: path.stem)
def test_every_example_passes(example: Path) -> None:
    report = check(load_spec(example))
    assert report.exit_status() == 0, report.errors()
    assert report.model is not None and report.memory is not None
    assert [stage.stage for stage in report.stages] == list(load_spec(example).stages)


@pytest.mark.usefixtures("counted")
def test_a_sound_job_has_nothing_to_complain_of(tmp_path: Path) -> None:
    report = checked(tmp_path)
    assert [finding.code for finding in report.findings if finding.level != "info"] == []
    demonstrations = next(dataset for dataset in report.datasets if dataset.name == "demonstrations")
    assert demonstrations.rows == 60 == demonstrations.train + demonstrations.held_out


def test_steps_and_tokens_by_hand(tmp_path: Path) -> None:
    report = checked(tmp_path, sft={"epochs": 3, "batch_size": 8}, ppo={"epochs": 2, "minibatches": 4, "eval_every": 1})
    sft, reward_model, ppo, evaluation = report.stages
    rows = {dataset.name: dataset for dataset in report.datasets}
    assert sft.steps == -(-3 * rows["demonstrations"].train // 8)
    lengths = rows["demonstrations"].lengths
    per_row = lengths["prompt"].mean + lengths["completion"].mean
    assert sft.tokens == pytest.approx(3 * rows["demonstrations"].train * per_row)
    assert reward_model.steps == -(-rows["pairs"].train // 8)
    assert (ppo.steps, ppo.optimizer_steps) == (2, 2 * 2 * 4)
    assert ppo.responses == 2 * 8 + 3 * 4  # two batches; four held-out prompts before, and after each iteration
    assert ppo.generated_max == ppo.responses * 40
    assert ppo.generated == pytest.approx(ppo.responses * lengths["completion"].mean, abs=1)
    assert evaluation.responses == 3 * 4  # before, after, and the best checkpoint


@pytest.mark.parametrize(
    ("changes", "code", "where", "said"),
    [
        ({"ppo": {"max_new_tokens": 3}}, "responses_cut", "#/ppo/max_new_tokens", "64% of the demonstrations"),
        ({"ppo": {"batch_size": 128}}, "batch_too_large", "#/ppo/batch_size", "A batch takes 128 prompts"),
        ({"data": {"max_completion_tokens": 4}}, "completions_cut", "#/data/max_completion_tokens", "teach no EOS"),
        ({"evaluation": {"prompts": 128}}, "few_held_out", "#/data/eval_fraction", "uncertain by ±"),
        ({"data": {"max_prompt_tokens": 1}}, "nothing_left", "#/data/sft", "No demonstration is left"),
        ({"ppo": {"max_new_tokens": 125}}, "context", "#/ppo/max_new_tokens", "the model's context is 128"),
        ({"rewards": [{"type": "exact_match"}]}, "answers_missing", "#/data/prompts", "have no `answer`"),
        ({"rewards": [{"type": "lexicon", "path": "/no/such"}]}, "scorer", "#/rewards/0", "/no/such"),
        ({"rewards": [{"type": "plugin", "plugin": "nope"}]}, "scorer", "#/rewards/0", "no plug-in named 'nope'"),
        ({"evaluation": {"judge": "nope"}}, "scorer", "#/evaluation/judge", "no judge named 'nope'"),
        ({"ppo": {"stop": ["\n"]}}, "stops", "#/ppo/stop", 'These end a response: <|eos|> (1), "\\n".'),
        ({"ppo": {"stop": ["film was"]}}, "odd_stops", "#/ppo/stop", "40 of 60 demonstrations contain a stop string"),
        ({"rewards": [{"type": "http", "url": "http://x"}]}, "not_asked", "#/rewards/0", "http://x was not asked"),
        ({"rewards": [{"type": "model", "path": "/no/such"}]}, "invalid_model", "#/rewards/0/path", "no folder /no/such"),
        ({"rewards": [{"type": "model", "path": "some/model"}]}, "not_checked", "#/rewards/0/path", "hub's cache"),
    ],
)  # fmt: skip
def test_check_finds_every_expected_problem(
    tmp_path: Path, changes: dict[str, Any], code: str, where: str, said: str
) -> None:
    found = [finding for finding in checked(tmp_path, **changes).findings if finding.code == code]
    assert any(finding.where == where and said in finding.detail for finding in found), found


def test_scorers_that_fail_end_a_check_as_they_end_a_run(tmp_path: Path) -> None:
    (tmp_path / "words.tsv").write_text("not a word list\n")
    listed = checked(tmp_path, rewards=[{"type": "lexicon", "path": str(tmp_path / "words.tsv")}])
    assert (only(listed, "scorer").area, listed.exit_status()) == ("data", 3)
    unknown = checked(tmp_path, rewards=[{"type": "plugin", "plugin": "nope"}])
    assert (only(unknown, "scorer").area, unknown.exit_status()) == ("spec", 2)


def test_check_unreachable_endpoint_is_reported_once_as_scorer(tmp_path: Path) -> None:
    rewards = [{"type": "http", "url": "http://127.0.0.1:9/", "timeout": 1}]
    found = only(checked(tmp_path, CheckOptions(ask_endpoints=True), rewards=rewards), "scorer")
    assert "failed once: " in found.detail and "raise `timeout` or `retries`. It was asked for" in found.detail
    assert found.detail.count("http://127.0.0.1:9/") == 1


def sums(question: dict[str, Any]) -> Reply:
    """A server of one task alone, as they are: any other prompt is a bad request."""
    scores = []
    for item in question["items"]:
        if not re.fullmatch(r"\d+ \+ \d+ =", item["prompt"]) or item["answer"] is None:
            return 400, b"not one of my sums"
        scores.append(float(item["response"].strip() == item["answer"]))
    return says({"scores": scores})


def test_check_endpoint_receives_data_of_the_job(tmp_path: Path) -> None:
    rows = [{"prompt": f"{n} + {n} =", "answer": 2 * n} for n in range(1, 40)]
    data = {"prompts": lines(tmp_path / "sums.jsonl", rows)}
    with serving(sums) as server:
        found = checked(
            tmp_path, CheckOptions(ask_endpoints=True), data=data, rewards=[{"type": "http", "url": server.url}]
        )
    assert not [finding for finding in found.findings if finding.code == "scorer"]
    ((item,),) = [question["items"] for question in server.questions]
    first = int(item["prompt"].split()[0])
    assert only(found, "asked").detail == (
        f'{server.url} gave 1 for the response "{2 * first}" to "{first} + {first} =".'
    )


def test_check_endpoint_gets_demonstration_and_judge_is_called(tmp_path: Path) -> None:
    rewards = [{"type": "http", "url": "", "protocol": "openrlhf"}]
    with serving(lambda question: says({"rewards": [0.25], "preferred": ["tie"]})) as server:
        rewards[0]["url"] = server.url
        judge = {"type": "http_judge", "url": server.url}
        found = checked(tmp_path, CheckOptions(ask_endpoints=True), rewards=rewards, evaluation={"judge": judge})
    demonstrations = {prompt: " ".join(WORDS[: 2 + n % 3]) for n, prompt in enumerate(PROMPTS)}
    (prompt,) = server.questions[0]["prompts"]
    assert server.questions[0]["query"] == [f"{prompt}{demonstrations[prompt]}<|eos|>"]
    shown = demonstrations[prompt]
    assert server.questions[1]["items"] == [{"prompt": prompt, "a": shown, "b": shown}]
    assert [f.where for f in found.findings if f.code == "asked"] == ["#/rewards/0", "#/evaluation/judge"]


def test_check_separate_evaluation_prompts_are_counted(tmp_path: Path) -> None:
    rows = [{"prompt": prompt} for prompt in [*PROMPTS, *PROMPTS[:3]]]
    own = lines(tmp_path / "own.jsonl", [{"prompt": PROMPTS[59]}, *({"prompt": f"new {n}"} for n in range(39))])
    report = checked(tmp_path, data={"prompts": lines(tmp_path / "asked.jsonl", rows), "evaluation_prompts": own})
    assert only(report, "repeated_prompts").detail.startswith("3 of 62 prompts to train on repeat an earlier row")
    assert only(report, "shared_prompts").detail == (
        "No stage trains on 1 demonstrations, 1 pairs, 1 prompts: their prompt is in `data.evaluation_prompts`."
    )
    assert only(report, "held_out").detail == "The first 4 of the 40 prompts in `data.evaluation_prompts` are used."
    (prompts,) = [dataset for dataset in report.datasets if dataset.name == "prompts"]
    assert (prompts.train, prompts.held_out) == (62, 40)


def test_check_finds_lost_roles_missing_margins_and_empty_files(tmp_path: Path) -> None:
    talk = [{"role": "user", "content": "the"}, {"role": "assistant", "content": "a"}, {"role": "user", "content": "b"}]
    talks = lines(tmp_path / "talks.jsonl", [{"prompt": talk}, *({"prompt": prompt} for prompt in PROMPTS)])
    found = checked(tmp_path, data={"prompts": talks}, reward_model={"margin": True})
    assert "their roles are lost" in only(found, "no_chat_template").detail
    assert "no row" in only(found, "no_margins").detail
    assert not [finding for finding in found.findings if finding.code == "response_length"]
    empty = checked(tmp_path, data={"prompts": lines(tmp_path / "none.jsonl", [])})
    assert empty.exit_status() == 3 and "the file is empty" in only(empty, "invalid_row").detail


def test_check_counts_left_out_rows_by_reason(tmp_path: Path) -> None:
    long = " ".join(WORDS * 20)
    pairs = [{"prompt": prompt, "chosen": "good film", "rejected": "bad film"} for prompt in PROMPTS]
    pairs += [{"prompt": "same", "chosen": "film", "rejected": "film"}] * 2
    pairs += [{"prompt": "long side", "chosen": long, "rejected": "film"}] * 3
    pairs += [{"prompt": long, "chosen": "good film", "rejected": "film"}] * 4
    data = {"preferences": lines(tmp_path / "more.jsonl", pairs), "max_prompt_tokens": 64, "max_completion_tokens": 64}
    report = checked(tmp_path, data=job(tmp_path)["data"] | data)
    (dataset,) = [dataset for dataset in report.datasets if dataset.name == "pairs"]
    assert dataset.left_out == {"same tokens on both sides": 2, "completion too long": 3, "prompt too long": 4}
    assert dataset.rows - dataset.train - dataset.held_out == 9


def test_check_finds_contradictions_and_repeated_demonstrations(tmp_path: Path) -> None:
    pairs = [{"prompt": p, "a": "good", "b": "bad", "label": label} for p in PROMPTS for label in ("a", "b", "a")]
    shown = [{"prompt": prompt, "completion": "good"} for prompt in PROMPTS] * 2
    data = {"preferences": lines(tmp_path / "torn.jsonl", pairs), "sft": lines(tmp_path / "twice.jsonl", shown)}
    report = checked(tmp_path, data=job(tmp_path)["data"] | data)
    trained_on = next(dataset.train for dataset in report.datasets if dataset.name == "demonstrations") // 2
    assert only(report, "contradictions").detail.startswith(f"{trained_on} pairs")
    assert only(report, "repeated_demonstrations").detail.startswith(f"{trained_on} demonstrations")


def test_every_broken_row_and_file_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    raw = job(tmp_path)
    lines(tmp_path / "sft.jsonl", ['{"prompt": "x"}', "{", '{"prompt": "y", "completion": "z"}'])
    raw["data"]["prompts"] = str(tmp_path / "gone.jsonl")
    (tmp_path / "spec.json").write_text(json.dumps(raw))
    assert main(["check", str(tmp_path / "spec.json")]) == 3
    said = " ".join(capsys.readouterr().out.split())
    assert "sft.jsonl, line 1: The field 'completion' is missing" in said
    assert "sft.jsonl, line 2" in said and "gone.jsonl: No such file" in said
    assert said.endswith("This run would not start: 3 errors.")


def test_an_invalid_spec_is_a_report_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "spec.json").write_text(json.dumps(job(tmp_path, ppo={"stepz": 1}, sft={"epochs": 0})))
    assert main(["check", str(tmp_path / "spec.json"), "--json", "-"]) == 2
    report = Report.model_validate_json(capsys.readouterr().out)
    assert {finding.where for finding in report.errors()} == {"#/ppo/stepz", "#/sft/epochs"}


def test_check_report_json_holds_the_text_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "spec.json").write_text(json.dumps(job(tmp_path)))
    assert main(["check", str(tmp_path / "spec.json"), "--json", str(tmp_path / "report.json")]) == 0
    report = Report.model_validate_json((tmp_path / "report.json").read_text())
    said = capsys.readouterr().out
    assert report.model is not None and report.memory is not None and said.rstrip().endswith("Ready to run.")
    assert [phase.phase for phase in report.memory.phases] == [
        "sft", "reward_model", "ppo_rollout", "ppo_score", "ppo_update", "evaluation",
    ]  # fmt: skip
    assert all(f"\n{phase.phase} " in said for phase in report.memory.phases)


def test_check_little_memory_is_error_with_effective_suggestions(tmp_path: Path) -> None:
    large: dict[str, Any] = {"sft": {"batch_size": 48}, "reward_model": {"batch_size": 48}}
    report = checked(tmp_path, **large)
    assert report.memory is not None and report.memory.suggestions == []
    room = report.memory.runtime + max(phase.low for phase in report.memory.phases) // 2
    small = checked(tmp_path, CheckOptions(device_memory=room), **large)
    assert small.exit_status() == 6 and only(small, "no_room").level == "error"
    assert small.memory is not None
    suggestions = small.memory.suggestions
    assert suggestions[0].where.endswith("micro_batch_size") and suggestions[-1].fits
    peaks = [small.memory.peak().expected, *(suggestion.expected for suggestion in suggestions)]
    assert peaks == sorted(peaks, reverse=True) and peaks[-1] <= room - report.memory.runtime


@pytest.mark.parametrize(("text", "status"), [("24GiB", 0), ("80 GB", 0), ("512m", 0), ("much", 2), ("-1", 2)])
def test_amounts_of_memory(tmp_path: Path, text: str, status: int, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "spec.json").write_text(json.dumps(job(tmp_path)))
    assert main(["check", str(tmp_path / "spec.json"), f"--device-memory={text}"]) == status
    assert ("is no amount of memory" in capsys.readouterr().err) == (status == 2)


def test_check_pretrained_model_with_lora_and_without_weights(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    tokenizer = train_tokenizer([" ".join(WORDS)], 300)
    torch.manual_seed(0)
    sizes = CONFIG | {"max_position_embeddings": 128, "vocab_size": len(tokenizer)}
    LlamaForCausalLM(LlamaConfig(**sizes)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    raw = job(tmp_path) | {"model": {"path": str(folder), "lora": {"rank": 2, "target_modules": ["q_proj", "nope"]}}}
    report = check(JobSpec.model_validate(raw))
    assert only(report, "invalid_model").where == "#/model/lora/target_modules" and report.exit_status() == 4
    raw["model"] = {"path": str(folder), "lora": {"rank": 2, "target_modules": ["q_proj"]}}
    model = check(JobSpec.model_validate(raw)).model
    assert model is not None and model.trained_parameters == 2 * (16 + 16)
    (folder / "model.safetensors").unlink()
    report = check(JobSpec.model_validate(raw))
    assert "holds no weights as safetensors" in only(report, "no_weights").detail and report.exit_status() == 4
    assert report.memory is not None and report.memory == check(JobSpec.model_validate(raw)).memory


@pytest.mark.slow
def test_check_estimates_gpu_memory_from_the_config_alone(tmp_path: Path) -> None:
    """A Llama of 7 billion parameters of which nothing has been downloaded but the small files, on no GPU."""
    folder = tmp_path / "model"
    tokenizer = train_tokenizer([" ".join(WORDS)], 300)
    LlamaConfig(vocab_size=32_000).save_pretrained(folder)  # the sizes of Llama-7B are its defaults
    tokenizer.save_pretrained(folder)
    ppo = {"steps": 2, "batch_size": 8, "max_new_tokens": 40, "critic": {"kind": "value_head"}}
    raw = job(tmp_path, stages=["ppo"], ppo=ppo, rewards=[])
    raw |= {"model": {"path": str(folder), "dtype": "bfloat16", "lora": {}, "gradient_checkpointing": True}}
    raw |= {"rewards": [{"type": "length", "target": 10}], "runtime": {"device": "cuda"}}
    report = check(JobSpec.model_validate(raw), CheckOptions(device_memory=24 * 2**30))
    assert report.errors() == [] and report.model is not None and report.model.parameters == 6_738_415_616
    assert report.memory is not None and report.memory.available == 24 * 2**30
    weights = report.memory.peak().parts["weights"]
    assert 2 * 6_738_415_616 < weights < 2.05 * 6_738_415_616 and report.memory.peak().expected < 16 * 2**30
    assert {"no_weights", "not_checked"} & {found.code for found in report.findings}


def thumbs_in(folder: Path, ups: int) -> dict[str, Any]:
    """Rows of which `ups` in ten have a thumb up."""
    rows = [
        {"prompt": prompt, "completion": WORDS[n % 8], "thumb": "up" if n % 10 < ups else "down"}
        for n, prompt in enumerate(PROMPTS)
    ]
    return {"thumbs": lines(folder / "thumbs.jsonl", rows)}


def test_check_thumbs_are_planned_with_their_balance(tmp_path: Path) -> None:
    report = checked(
        tmp_path, data=thumbs_in(tmp_path, 5), stages=["sft", "reward_model", "kto", "evaluation"],
        reward_model={"loss": "pointwise"}, kto={"batch_size": 8},
    )  # fmt: skip
    assert report.exit_status() == 0
    counted = next(one for one in report.datasets if one.name == "thumbs")
    assert counted.rows == 60 and counted.train + counted.held_out == 60
    steps = {stage.stage: stage.steps for stage in report.stages}
    assert steps["kto"] == steps["reward_model"] == -(-counted.train // 8)
    found = only(report, "thumbs").detail
    assert f"of the {counted.train} thumbs that are trained on are up" in found
    assert {phase.phase for phase in report.memory.phases} >= {"reward_model", "kto"}  # type: ignore[union-attr]


def test_check_unbalanced_thumbs_suggest_kto_weights(tmp_path: Path) -> None:
    asked: dict[str, Any] = {"data": thumbs_in(tmp_path, 9), "stages": ["sft", "kto"], "kto": {"batch_size": 8}}
    report = checked(tmp_path, **asked)
    assert "are up" in only(report, "unbalanced_thumbs").detail
    weights = only(report, "unbalanced_weights")
    assert weights.where == "#/kto/undesirable_weight" and weights.fix is not None
    advised = float(weights.fix.split()[3])
    asked["kto"] |= {"undesirable_weight": advised}
    assert not [found for found in checked(tmp_path, **asked).findings if found.code == "unbalanced_weights"]


def test_thumbs_that_are_all_up_end_the_check(tmp_path: Path) -> None:
    report = checked(tmp_path, data=thumbs_in(tmp_path, 10), stages=["sft", "kto"])
    assert any("every thumb that is trained on is up" in found.detail for found in report.errors())


def test_every_row_of_thumbs_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    rows = [{"prompt": "p", "completion": "x", "thumb": "up"}, {"prompt": "p", "completion": "x", "thumb": "?"}]
    path = lines(tmp_path / "thumbs.jsonl", [*rows, rows[1]])
    found = checked(tmp_path, data={"thumbs": path}, stages=["sft", "kto"]).errors()
    assert [(one.code, one.where) for one in found] == [("invalid_row", f"{path}, line {n}") for n in (2, 3)]


@pytest.mark.parametrize(("loss", "unused"), [("pairwise", "data.thumbs"), ("pointwise", "data.preferences")])
def test_check_reward_loss_reports_unused_pairs_or_thumbs(tmp_path: Path, loss: str, unused: str) -> None:
    """With both kinds of data the loss uses one. The other is reported unless a stage uses it."""
    data = thumbs_in(tmp_path, 5)
    report = checked(tmp_path, data=data, stages=["sft", "reward_model"], reward_model={"loss": loss})
    assert f"`{unused}`" in only(report, "unused_data").detail.split(":")[0]
    both = checked(tmp_path, data=data, stages=["sft", "reward_model", "dpo", "kto"], reward_model={"loss": loss})
    assert not [found for found in both.findings if found.code == "unused_data"]


def test_completions_with_both_thumbs_are_counted(tmp_path: Path) -> None:
    rows = [{"prompt": prompt, "completion": "good", "thumb": thumb} for prompt in PROMPTS for thumb in ("up", "down")]
    report = checked(tmp_path, data={"thumbs": lines(tmp_path / "thumbs.jsonl", rows)}, stages=["sft", "kto"])
    counted = next(one for one in report.datasets if one.name == "thumbs")
    assert only(report, "contradictions").detail.startswith(f"{counted.train // 2} completions have both")


def test_check_for_another_machine_compares_no_memory(tmp_path: Path) -> None:
    """The machine of the test has no 1 EiB, and most have no GPU."""
    report = checked(tmp_path, CheckOptions(elsewhere=True), runtime={"device": "cuda"})
    assert report.errors() == [] and report.memory is not None
    assert (report.memory.device, report.memory.available, report.memory.suggestions) == ("cuda", None, [])


def test_check_confined_refuses_a_folder_outside(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, other = tmp_path / "run", tmp_path / "other"
    run.mkdir(), other.mkdir()
    (run / "local_paths.json").write_text(PathRules().model_dump_json(exclude={"own"}))
    raw = job(run, model={"path": str(other), "config": None, "tokenizer": None})
    (run / "spec.json").write_text(json.dumps(raw))
    status = main(["check", str(run / "spec.json"), "--local-paths", str(run / "local_paths.json")])
    assert status == 2 and "#/model/path" in capsys.readouterr().err
