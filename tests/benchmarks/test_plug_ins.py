"""The plug-ins of a checkout that is not installed."""

from importlib.metadata import distributions, entry_points
from pathlib import Path

from benchmarks.gpu_suite import plug_ins
from examples.reviews.rule import judge


def test_plug_in_folder_declares_the_same_as_the_package(tmp_path: Path) -> None:
    (found,) = distributions(path=[str(plug_ins.write_metadata(tmp_path))])
    declared = {(entry.group, entry.name, entry.value) for entry in found.entry_points}
    installed = {entry for group in ("proximal.judges", "proximal.rewards") for entry in entry_points(group=group)}
    assert declared == {(entry.group, entry.name, entry.value) for entry in installed}
    (reviews,) = (entry for entry in found.entry_points if entry.name == "reviews")
    assert reviews.load() is judge
