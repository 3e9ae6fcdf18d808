"""`proximal members …`"""

from enum import StrEnum
from typing import Annotated, Any

import typer

from proximal.commands.group import CommandGroup
from proximal.terminal import age, plain

app = CommandGroup(help="The members of the project, and their roles.", no_args_is_help=True)
UserId = Annotated[str, typer.Argument(help="The member's id, usr_…", show_default=False)]


class Role(StrEnum):
    """The roles of a project."""

    VIEWER = "viewer"
    ANNOTATOR = "annotator"
    MEMBER = "member"
    ADMIN = "admin"


COLUMNS: dict[str, Any] = {
    "name": lambda member: f"{member['name']} (you)" if member["current"] else member["name"],
    "role": lambda member: member["role"],
    "kind": lambda member: member["kind"],
    "joined": lambda member: age(member["joined_at"]),
}


@app.command("list")
def list_(context: typer.Context) -> None:
    """List the members of your project."""
    with context.obj.client() as client:
        context.obj.printer.items(client.list_members(), COLUMNS)


@app.command()
def add(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="The person's name, or the purpose of a program.", show_default=False)],
    role: Annotated[Role, typer.Option(help="Decides what the member may do.")] = Role.MEMBER,
    service: Annotated[bool, typer.Option("--service", help="It is a program, not a person.")] = False,
) -> None:
    """Add a person or a program to your project, and print its first API key once. Needs an admin."""
    with context.obj.client() as client:
        made = client.add_member(name, role.value, "service" if service else "person")
    context.obj.printer.item(made, plain(f"{made['id']}\n{made['key']['text']}"))


@app.command("set-role")
def set_role(
    context: typer.Context, user_id: UserId, role: Annotated[Role, typer.Argument(show_default=False)]
) -> None:
    """Give a member another role. Needs an admin."""
    with context.obj.client() as client:
        changed = client.set_member_role(user_id, role.value)
    context.obj.printer.item(changed, plain(f"{changed['id']}  {changed['role']}"))


@app.command()
def remove(context: typer.Context, user_id: UserId) -> None:
    """Remove a member, and revoke its keys in the project. Its jobs and datasets stay. Needs an admin."""
    with context.obj.client() as client:
        client.remove_member(user_id)
    context.obj.printer.item({"id": user_id, "removed": True}, plain(f"{user_id}  removed"))
