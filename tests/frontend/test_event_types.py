"""EventSource hears only the events that it is told of: the dashboard must name every type that there is."""

import re
import typing
from pathlib import Path

from trainer.events import Event

NAMED = Path(__file__).parents[2] / "frontend" / "src" / "features" / "run" / "model" / "event.ts"


def test_the_dashboard_listens_to_every_type_of_event() -> None:
    kinds = typing.get_args(typing.get_args(Event)[0])
    types = {str(kind.model_fields["type"].default) for kind in kinds} | {"status_changed"}
    listed = re.search(r"EVENT_TYPES = \[(.*?)\]", NAMED.read_text(), re.DOTALL)
    assert listed is not None
    assert set(re.findall(r'"(\w+)"', listed[1])) == types
