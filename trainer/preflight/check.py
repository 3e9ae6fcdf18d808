"""Checks a spec without training, and reports every problem that it finds."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache

import torch

from trainer import run_data
from trainer.errors import DataError, ModelError, TrainerError
from trainer.models import load_stops, precision
from trainer.preflight import broken_rows, datasets, own_model, scorers
from trainer.preflight.memory import advice
from trainer.preflight.memory.fake_models import Blueprint
from trainer.preflight.memory.passes import Passes
from trainer.preflight.memory.phases import Peak, Phases
from trainer.preflight.memory.processes import RUNTIME, available
from trainer.preflight.memory.residents import NO_SCORERS
from trainer.preflight.own_model import Device, ModelFiles
from trainer.preflight.render import show_bytes
from trainer.preflight.report import DatasetReport, Finding, Level, MemoryReport, Phase, Report, StageEstimate
from trainer.preflight.scorers import ScoringInputs, check_scorers
from trainer.preflight.workload import Sizes, plan
from trainer.rewards import RewardContext
from trainer.spec import JobSpec, ModelSpec
from trainer.stages.tokenize import new_tokenizer, tokenize_data
from trainer.text.codec import Codec, Tokenizer
from trainer.tracking import missing_package


@dataclass(frozen=True)
class CheckOptions:
    """The memory that a check assumes, and whether it calls endpoints."""

    device_memory: int | None = None
    """Bytes of memory that the run must fit into; None for the memory of this machine."""
    ask_endpoints: bool = False
    """Send one response from the data to each remote reward and judge."""
    elsewhere: bool = False
    """The run is for another machine, so parts that are missing here are warnings. `device_memory` implies it."""


@dataclass
class _Draft:
    """The parts of a report that are known so far."""

    findings: list[Finding] = field(default_factory=list)
    datasets: list[DatasetReport] = field(default_factory=list)
    stages: list[StageEstimate] = field(default_factory=list)
    memory: MemoryReport | None = None


def check(spec: JobSpec, options: CheckOptions | None = None) -> Report:
    """Check a valid spec. Problems become findings; none is raised."""
    options, draft, device = options or CheckOptions(), _Draft(), _device(spec)
    spec = precision.resolved(spec, device)
    elsewhere = options.elsewhere or options.device_memory is not None
    found = own_model.read_model(spec, device, elsewhere=elsewhere)
    loaded = _loaded(spec, draft)
    tokenizer = _tokenizer(spec, found, loaded)
    codec = _codec(spec, tokenizer, found)
    if tokenizer is not None:
        own_model.check_architecture(found, spec, tokenizer, device)
    sizes = None
    if loaded is not None and codec is not None:
        sizes = _measure(spec, loaded, codec, found, draft, options)
    example = None if loaded is None or codec is None else scorers.example_of(loaded, codec)
    encoded = None if sizes is None else sizes.encoded
    inputs = ScoringInputs(
        _context(spec, codec), encoded, elsewhere=elsewhere, ask=options.ask_endpoints, example=example
    )
    draft.findings += check_scorers(spec, inputs)
    draft.findings += _tracker_findings(spec)
    return Report(
        datasets=draft.datasets,
        model=None if found.blueprint is None else own_model.describe(found.blueprint),
        stages=draft.stages,
        memory=draft.memory,
    ).with_findings([*found.findings, *draft.findings])


def _tracker_findings(spec: JobSpec) -> Iterator[Finding]:
    """A finding for each tracker whose package is missing here."""
    for name in spec.tracking.chosen:
        if advice := missing_package(name):
            detail = f"The package of the tracker {name} is not installed here, so the run would not use it."
            yield Finding(
                level="warning",
                area="spec",
                code="tracker_missing",
                where=f"#/tracking/{name}",
                detail=detail,
                fix=advice,
            )


def _device(spec: JobSpec) -> Device:
    """The device that the run would compute on here. A GPU in the spec counts as present, so that the rest can be checked."""
    if spec.runtime.device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    return spec.runtime.device


def _loaded(spec: JobSpec, draft: _Draft) -> run_data.Data | None:
    """The data. If it cannot be loaded, None and a finding for every row that cannot be used."""
    try:
        return run_data.load(spec.data, spec.stages, spec.sft.turns, spec.reward_model.loss)
    except DataError as error:
        broken = list(broken_rows.broken(spec.data))
        draft.findings += broken or [
            Finding(level="error", area="data", code="invalid_data", where="#/data", detail=str(error))
        ]
        return None


def _tokenizer(spec: JobSpec, found: ModelFiles, loaded: run_data.Data | None) -> Tokenizer | None:
    """The tokenizer of the pretrained model, or a new one as the run would train it."""
    if spec.model.tokenizer is None or loaded is None:
        return found.tokenizer
    return new_tokenizer(spec.model.tokenizer, loaded)


def _codec(spec: JobSpec, tokenizer: Tokenizer | None, found: ModelFiles) -> Codec | None:
    if tokenizer is None:
        return None
    try:
        return Codec.for_tokenizer(tokenizer, spec.data, load_stops(tokenizer, found.folder, spec.ppo.stop))
    except ModelError as error:
        found.problem("#/model", "invalid_stops" if tokenizer.eos_token_id is not None else "no_eos", error)
        return None


def _context(spec: JobSpec, codec: Codec | None) -> RewardContext | None:
    if codec is None:
        return None
    return RewardContext(codec, torch.device("cpu"), None, spec.ppo.micro_batch_size, lambda text: None)


def _measure(
    spec: JobSpec, loaded: run_data.Data, codec: Codec, found: ModelFiles, draft: _Draft, options: CheckOptions
) -> Sizes | None:
    try:
        sizes = Sizes(tokenize_data(spec, loaded, codec), codec.eos_id)
    except DataError as error:
        draft.findings.append(
            Finding(level="error", area="data", code="invalid_data", where="#/data", detail=str(error))
        )
        return None
    draft.datasets = datasets.describe(loaded, sizes)
    draft.findings += datasets.data_findings(spec, loaded, codec, sizes)
    if found.config is not None:
        draft.findings += own_model.context_findings(spec, found.config, sizes.encoded)
    if not any(finding.code == "nothing_left" for finding in draft.findings):
        draft.stages = plan(spec, sizes)
        if found.blueprint is not None:
            draft.memory = _memory(spec, codec, found, sizes, options)
            draft.findings += _fits(draft.memory)
    return sizes


def _memory(spec: JobSpec, codec: Codec, found: ModelFiles, sizes: Sizes, options: CheckOptions) -> MemoryReport:
    """The memory of all phases, and changes that lower it if they do not fit."""
    blueprint = found.blueprint
    assert blueprint is not None  # the caller has checked it
    logging.getLogger("torch._subclasses.fake_tensor").setLevel(logging.CRITICAL)  # a failure is a finding below
    try:
        named_scorers = scorers.named_scorers(spec, codec)
    except TrainerError:
        named_scorers = NO_SCORERS  # the findings report what is wrong with them

    @cache
    def passes(model: str) -> Passes:
        return Passes(
            Blueprint(blueprint.config, ModelSpec.model_validate_json(model), blueprint.device, spec.runtime.packing)
        )

    def of(changed: JobSpec) -> Phases:
        return Phases(changed, passes(changed.model.model_dump_json()), sizes, named_scorers)

    def estimate(changed: JobSpec, only: Phase | None) -> list[Peak]:
        return of(changed).expected(only)

    phases = of(spec).all()
    if why := passes(spec.model.model_dump_json()).uncounted:
        detail = f"Memory is a rough estimate by formula, because the model could not be followed: {why}"
        found.findings.append(own_model.finding("warning", "memory_by_formula", "#/model", detail))
    if host := Phases(spec, passes(spec.model.model_dump_json()), sizes).host():
        per = " per process" if spec.resources.total > 1 else ""
        detail = f"The offloaded optimizer keeps {show_bytes(host)} in host memory{per}."
        found.findings.append(own_model.finding("info", "host_memory", "#/ppo/offload_optimizer", detail))
    sampling = [phase.parts.get("gathered", 0) for phase in phases if phase.phase in ("ppo_rollout", "evaluation")]
    if whole := max(sampling, default=0):
        detail = (
            f"To sample, each process gathers the whole policy: {show_bytes(whole)} besides its slices. "
            "Sharding makes training smaller, not sampling."
        )
        found.findings.append(own_model.finding("info", "sampling_gathers", "#/runtime/sharding", detail))
    memory = options.device_memory
    here = not options.elsewhere and (blueprint.device == "cpu" or torch.cuda.is_available())
    if memory is None and here:
        memory = _available(spec, blueprint.device)
    suggestions = [] if memory is None else advice.suggest(spec, estimate, memory - RUNTIME[blueprint.device])
    return MemoryReport(
        device=blueprint.device,
        processes=spec.resources.total,
        available=memory,
        runtime=RUNTIME[blueprint.device],
        phases=phases,
        suggestions=suggestions,
    )


def _available(spec: JobSpec, device: Device) -> int:
    """Bytes available to each process: its own GPU, or its part of the RAM."""
    return available(device) // (spec.resources.processes if device == "cpu" else 1)


def _fits(memory: MemoryReport) -> Iterator[Finding]:
    """A finding about the peak and the available memory. It is an error only if even the low estimate is too much."""
    if memory.available is None:
        return
    room, peak = memory.available - memory.runtime, memory.peak()
    per = " per process" if memory.processes > 1 else ""
    size = f"{show_bytes(peak.expected)}{per} expected in {peak.phase}, {show_bytes(max(0, room))} free for it"
    fix = "See the suggestions." if memory.suggestions else None
    where = "#/ppo" if peak.phase.startswith("ppo") else f"#/{peak.phase}"

    def finding(level: Level, code: str, detail: str, fix: str | None) -> Finding:
        return Finding(level=level, area="memory", code=code, where=where, detail=f"{detail}: {size}.", fix=fix)

    if max(phase.low for phase in memory.phases) > room:
        yield finding("error", "no_room", "It does not fit", fix)
    elif peak.expected > room:
        yield finding("warning", "little_room", "It hardly fits", fix)
    elif max(phase.high for phase in memory.phases) > room:
        yield finding("info", "tight", "Long sequences may not fit", None)
