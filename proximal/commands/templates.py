"""`proximal templates …`"""

from pathlib import Path
from typing import Annotated, Any

import typer

from proximal.commands.group import CommandGroup, IfMatch
from proximal.commands.job_changes import Changes, PatchFile
from proximal.errors import ClientError
from proximal.sdk import Client
from proximal.sdk.spec_files import changed_patch, changed_spec, with_uploads
from proximal.terminal import age, facts, plain

app = CommandGroup(help="Partial specs under a name, from which jobs are submitted.", no_args_is_help=True)
Template = Annotated[str, typer.Argument(help="The template's name, or its id, tpl_…", show_default=False)]
COLUMNS: dict[str, Any] = {
    "name": lambda template: template["name"],
    "description": lambda template: template["description"],
    "changed": lambda template: age(template["updated_at"]),
}


@app.command("list")
def list_(context: typer.Context) -> None:
    """List templates, newest first."""
    with context.obj.client() as client:
        context.obj.printer.items(client.list_templates(), COLUMNS)


@app.command()
def show(context: typer.Context, template: Template) -> None:
    """Show one template with its spec."""
    with context.obj.client() as client:
        found = client.get_template(template_id(client, template))
    rows: list[tuple[str, object]] = [(name, found[name]) for name in ("id", "name", "description") if found[name]]
    rows += _fields(found["spec"])
    context.obj.printer.item(found, facts(rows))


@app.command()
def create(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="Unique among your templates.", show_default=False)],
    spec: Annotated[
        Path | None,
        typer.Argument(help="TOML or JSON file with part of a spec. Data files that it names are uploaded."),
    ] = None,
    changes: Changes = None,
    description: Annotated[str, typer.Option(help="For people.")] = "",
) -> None:
    """Store part of a spec under a name, and print its id."""
    whole = changed_spec(spec, changes or ())
    with context.obj.client() as client:
        if spec is not None and "data" in whole:
            whole = with_uploads(client, whole, spec.parent)
        made = client.create_template(name, description, whole)
    context.obj.printer.item(made, plain(made["id"]))


@app.command()
def change(
    context: typer.Context,
    template: Template,
    patch: PatchFile = None,
    changes: Changes = None,
    name: Annotated[str | None, typer.Option(help="New name.", show_default=False)] = None,
    description: Annotated[str | None, typer.Option(help="New description.", show_default=False)] = None,
    if_match: IfMatch = None,
) -> None:
    """Change a template: its spec by `--patch` and then by `--set`, its name or its description."""
    spec = changed_patch(patch, changes or ())
    given: dict[str, Any] = {"name": name, "description": description, "spec": spec or None}
    given = {field: value for field, value in given.items() if value is not None}
    if not given:
        raise ClientError("Name a change: --patch, --set, --name or --description.")
    with context.obj.client() as client:
        changed = client.change_template(template_id(client, template), **given, if_match=if_match)
    context.obj.printer.item(changed, plain(f"{changed['id']}  {changed['name']}"))


@app.command()
def delete(context: typer.Context, template: Template, if_match: IfMatch = None) -> None:
    """Delete a template. Jobs that were submitted from it stay."""
    with context.obj.client() as client:
        found = template_id(client, template)
        client.delete_template(found, if_match=if_match)
    context.obj.printer.item({"id": found, "deleted": True}, plain(f"{found}  deleted"))


def template_id(client: Client, name: str) -> str:
    """The id of a template by its name. An id is returned as it is. Raises ClientError for an unknown name."""
    if name.startswith("tpl_"):
        return name
    found = next(iter(client.list_templates(name=name)), None)
    if found is None:
        raise ClientError(f"There is no template {name!r}. `proximal templates list` shows them.")
    return found["id"]


def _fields(spec: dict[str, Any], path: str = "") -> list[tuple[str, object]]:
    """Each field of the spec by its path, as `--set` takes it."""
    rows: list[tuple[str, object]] = []
    for name, value in spec.items():
        rows += _fields(value, f"{path}{name}.") if isinstance(value, dict) else [(f"{path}{name}", value)]
    return rows
