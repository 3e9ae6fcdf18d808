"""The actions on a job, from the table of core to the command line."""

import typer.main

from core.jobs.actions.allowed_actions import ACTIONS
from proximal.commands.jobs import app
from tests.api.compatibility import committed

ROUTES = {
    "command": ("post", "/v1/jobs/{job_id}/commands"),
    "delete": ("delete", "/v1/jobs/{job_id}"),
}
"""The actions whose route has another name."""


def test_every_action_has_a_route_and_a_command() -> None:
    paths, commands = committed()["paths"], typer.main.get_group(app).commands
    routes = {action: ROUTES.get(action, ("post", f"/v1/jobs/{{job_id}}/{action}")) for action in ACTIONS}
    assert [action for action, (method, path) in routes.items() if method not in paths.get(path, {})] == []
    assert ACTIONS.keys() - commands.keys() == {"command"}  # `jobs set`
