"""`python -m trainer report`: writes the data report (`data.report`) on a file of rows, with the job's tokenizer and step counts."""

import argparse
import json
import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from data.errors import RowError, TokenizerFailed
from data.report.settings import ReportSettings, TokenizerFacts
from data.rows import Prompt
from trainer import allowed_paths
from trainer.errors import DataError, ModelError, SpecError, TrainerError, data_errors
from trainer.spec import DataSpec, DPOSpec, KTOSpec, RewardModelSpec, SFTSpec
from trainer.spec.path_rules import PathRules
from trainer.spec.stages import total_steps
from trainer.spec.validation_errors import explain

if TYPE_CHECKING:  # it imports torch, which only a report with a model needs
    from trainer.text.codec import Codec


def add_to(commands: Any) -> None:
    """Add the command to `commands`, the result of argparse's `add_subparsers`."""
    command = commands.add_parser(
        "report",
        help="write a report about the quality of a dataset",
        description="Check every row for duplicates, contradictions, length, bias and agreement. With a model in the settings, "
        "lengths are those of its tokenizer. Progress is printed as one JSON object a line. Exit status 0 is success. Errors: "
        "2 settings, 3 rows that cannot be read, 4 a tokenizer that cannot be loaded.",
    )
    command.add_argument("rows", type=Path, help="JSONL file of rows, as `python -m trainer run` takes it")
    command.add_argument("--settings", type=Path, required=True, help="JSON file: kind, and model and lengths of a job")
    command.add_argument("--out", type=Path, required=True, help="file for the report, as JSON")
    command.add_argument("--rows-dir", type=Path, required=True, help="folder for <code>.u64: the rows of each finding")
    command.add_argument("--processes", type=int, help="processes at most (default: one for each core, up to 8)")
    command.add_argument("--nice", type=int, default=0, help="niceness of the process, up to 19")
    allowed_paths.add_option_to(command)
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Write the report. An error is printed as a JSON line and raised."""
    try:
        _run(arguments)
    except TrainerError as error:
        _print_line({"error": {"code": error.code, "message": str(error)}})
        raise


def _run(arguments: argparse.Namespace) -> None:
    settings = read_settings(arguments.settings)
    os.nice(arguments.nice)
    report = make(arguments.rows, settings, arguments.rows_dir, _print_progress, arguments.processes)
    draft = arguments.out.with_name(f".{arguments.out.name}.new")
    draft.write_text(json.dumps(report, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")
    draft.replace(arguments.out)


def make(
    path: Path,
    settings: ReportSettings,
    rows_dir: Path,
    report_progress: Callable[[float, str], None],
    processes: int | None = None,
) -> dict[str, Any]:
    """The report on the rows at `path`; `data.report.build.make` describes it.

    Raises DataError for rows that the trainer would refuse, ModelError for a tokenizer that cannot be loaded, and SpecError
    where a library is not installed.
    """
    try:
        from data.report.build import TrainerPart, make
    except ImportError as error:
        raise SpecError(f"A report needs {error.name}: pip install rensa py3langid krippendorff.") from error
    if settings.model is not None and Path(settings.model).is_absolute() and not Path(settings.model).is_dir():
        raise ModelError(f"There is no folder {settings.model} on this machine.")  # raised before torch is imported
    load = None if settings.model is None else partial(load_tokenizer, settings, allowed_paths.current())
    with data_errors():
        try:
            return make(path, settings, rows_dir, report_progress, TrainerPart(_steps, load), processes)
        except TokenizerFailed as failed:
            raise failed.error from failed


def _steps(stage: str, items: int) -> int:
    """Steps of a stage with the spec's default epochs and batch size."""
    specs: dict[str, SFTSpec | RewardModelSpec | DPOSpec | KTOSpec] = {
        "sft": SFTSpec(),
        "reward_model": RewardModelSpec(),
        "dpo": DPOSpec(),
        "kto": KTOSpec(),
    }
    return total_steps(items, specs[stage])


class ReportTokenizer:
    """The job's codec as `data.report.settings.RowTokenizer`."""

    def __init__(self, codec: "Codec") -> None:
        self._codec = codec
        self.conversation = codec.conversation
        self.closed = codec.closed

    def rendered(self, prompt: Prompt) -> str:
        try:
            return self._codec.rendered(prompt)
        except DataError as error:
            raise RowError(str(error)) from error

    def prompt_ids(self, rendered: Sequence[str]) -> list[list[int]]:
        return self._codec.prompt_ids(rendered)

    def completion_ids(self, texts: Sequence[str]) -> list[list[int]]:
        return self._codec.completion_ids(texts)


def load_tokenizer(settings: ReportSettings, rules: PathRules | None) -> tuple[ReportTokenizer | None, TokenizerFacts]:
    """The job's tokenizer, read from a path that `rules` allow. Raises TokenizerFailed."""
    try:
        with allowed_paths.confined_to(rules):
            codec = _codec(settings)
    except TrainerError as error:
        raise TokenizerFailed(error) from error
    if codec is None:
        return None, TokenizerFacts(has_eos=False)
    return ReportTokenizer(codec), _facts(codec)


def _codec(settings: ReportSettings) -> "Codec | None":
    """None where the tokenizer names no EOS. Raises ModelError when it cannot be loaded."""
    from trainer.models.loading import load_tokenizer as load
    from trainer.text.codec import Codec

    assert settings.model is not None
    tokenizer = load(settings.model)
    lengths = {"max_prompt_tokens", "max_completion_tokens", "chat_template", "eval_fraction"}
    try:
        return Codec.for_tokenizer(tokenizer, DataSpec(**settings.model_dump(include=lengths)))
    except ModelError:
        if tokenizer.eos_token_id is None:
            return None
        raise


def _facts(codec: "Codec") -> TokenizerFacts:
    tokenizer = codec.tokenizer
    special = frozenset(str(token) for token in tokenizer.all_special_tokens)
    added = frozenset(str(token) for token in tokenizer.added_tokens_decoder.values() if token.special)
    return TokenizerFacts(
        special_tokens=special | added,
        eos=str(tokenizer.eos_token),
        closing=codec.closing_token(),
        templated=codec.use_chat_template,
    )


def read_settings(path: Path) -> ReportSettings:
    """Raises SpecError, naming every field that is wrong."""
    try:
        return ReportSettings.model_validate_json(path.read_bytes())
    except OSError as error:
        raise SpecError(f"{path}: {error.strerror}.") from error
    except ValidationError as error:
        problems = "\n".join(f"  {problem}" for problem in explain(error, ReportSettings))
        raise SpecError(f"{path} holds no valid settings of a report:\n{problems}") from error


def _print_progress(progress: float, note: str) -> None:
    _print_line({"progress": round(progress, 4), "note": note})


def _print_line(line: dict[str, Any]) -> None:
    print(json.dumps(line), flush=True)  # noqa: T201 this command's output
