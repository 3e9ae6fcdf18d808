"""Every field of the spec declares the facts that other code needs of it. A failure names the fields that lack one."""

import typing
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel

from trainer import spec as spec_package
from trainer.spec import JobSpec
from trainer.spec.facts import Change, Dataset, LiveKnob, Names, fact_of, facts_of, fields_of
from trainer.spec.section import Path


def _single_values() -> list[tuple[str, ...]]:
    """The paths of the fields that are no sections."""
    paths = [path for path, _ in fields_of(JobSpec)]
    sections = {path[:-1] for path in paths}
    return [path for path in paths if path not in sections]


def test_every_field_declares_when_it_may_change() -> None:
    """Add ANYTIME, MID_STAGE or BETWEEN_STAGES to the declaration, or to that of the section."""
    declared = facts_of(JobSpec, Change)
    assert [".".join(path) for path in _single_values() if path not in declared] == []


def test_every_path_and_address_declares_its_content() -> None:
    """Add Names(…) or Dataset(…) to the declaration."""
    sections = [kind for kind in vars(spec_package).values() if isinstance(kind, type) and issubclass(kind, BaseModel)]
    lacking = {
        f"{section.__name__}.{name}"
        for section in sections
        for name, hint in typing.get_type_hints(section, include_extras=True).items()
        if (name == "url" or Path in _parts(hint))
        and not fact_of(section.model_fields[name], Names)
        and not fact_of(section.model_fields[name], Dataset)
    }
    assert lacking == set()


def test_facts_of_a_section_hold_for_its_fields() -> None:
    changes = facts_of(JobSpec, Change)
    assert changes["ppo", "kl", "coef"] == changes["ppo", "kl"] and changes["model", "dtype"].when == "anytime"
    assert changes["model", "path"].when == "never"


def test_knob_has_one_path_and_label_in_every_stage() -> None:
    knobs = [(path[1:], knob) for path, knob in facts_of(JobSpec, LiveKnob).items()]
    assert len(set(knobs)) == len({knob.name for _, knob in knobs}) == len({knob.label for _, knob in knobs})


def test_facts_extend_the_json_schema() -> None:
    fields = JobSpec.model_json_schema()["$defs"]
    assert (
        fields["ModelSpec"]["properties"]["path"] | {"x-form": "own", "x-names": "policy"}
        == (fields["ModelSpec"]["properties"]["path"])
    )
    assert fields["DataSpec"]["properties"]["evaluation_prompts"]["x-dataset"] == "prompts"


def _parts(hint: Any) -> Iterator[Any]:
    yield hint
    for part in typing.get_args(hint):
        yield from _parts(part)
