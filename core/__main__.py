"""`python -m core` migrates the database, backs it up, and manages its API keys and the quotas of their owners."""

import argparse
import sys
from pathlib import Path
from typing import TextIO

from pydantic import ValidationError
from sqlalchemy import select
from sqlalchemy.orm import Session

from core.access.keys import create_key, revoke_key, valid_keys_made_by
from core.audit.recording import operator_scope
from core.backup.making import back_up
from core.backup.manifest import BackupError, read_manifest, verify
from core.backup.restoring import restore
from core.blobs import blob_store
from core.db import migrate, session_scope
from core.errors import InvalidRequest, NotFound, PlatformError
from core.live import announce_ended_access
from core.models import ApiKey, Project
from core.quotas import Quotas
from core.scheduling.usage import usage_of
from core.settings import get_settings


def main(arguments: list[str] | None = None) -> int:
    """Run one command. Returns the exit status."""
    options = _parser().parse_args(arguments)
    try:
        options.run(options)
    except PlatformError as error:
        _print(str(error), sys.stderr)
        return 1
    return 0


def _migrate(_: argparse.Namespace) -> None:
    migrate(get_settings().database_url)
    _print("The database has the newest schema.")


def _back_up(options: argparse.Namespace) -> None:
    if options.check:
        verify(options.folder, read_manifest(options.folder), _print)
        return
    settings = get_settings()
    made = back_up(settings.database_url, blob_store(settings), options.folder, _print)
    _print(f"{made.rows} rows of {len(made.tables)} tables and {len(made.blobs)} blobs are backed up.")
    if made.faults:
        raise BackupError(" ".join(f"{fault}." for fault in made.faults))


def _restore(options: argparse.Namespace) -> None:
    settings = get_settings()
    made, paused = restore(options.folder, settings.database_url, blob_store(settings), _print)
    _print(
        f"{made.rows} rows of {len(made.tables)} tables and {len(made.blobs)} blobs are restored. {paused} jobs are paused."
    )


def _create_key(options: argparse.Namespace) -> None:
    with operator_scope("keys create") as session:
        key, plaintext = create_key(session, options.name, operator=options.operator)
    _print(f"{key.id} {key.name}: copy the key now, it is not shown again.", sys.stderr)
    _print(plaintext)


def _list_keys(_: argparse.Namespace) -> None:
    with session_scope() as session:
        for key in session.scalars(select(ApiKey).order_by(ApiKey.created_at)):
            made_by = f"  made by {key.made_by}" if key.made_by else ""
            _print(f"{key.id}  {key.prefix}…  {'revoked' if key.revoked_at else 'active '}  {key.name}{made_by}")


def _revoke_key(options: argparse.Namespace) -> None:
    with operator_scope("keys revoke") as session:
        made = valid_keys_made_by(session, options.id)
        for key_id in (options.id, *(key.id for key in made if options.and_made)):
            revoke_key(session, key_id)
            _print(f"{key_id} is revoked.")
        announce_ended_access(session)
    for key in () if options.and_made else made:
        _print(f"{key.id} ({key.name}) was made with it and stays valid. `--and-made` revokes such keys too.")


def _list_owners(_: argparse.Namespace) -> None:
    with session_scope() as session:
        for owner in session.scalars(select(Project).order_by(Project.created_at, Project.id)):
            own = ", ".join(f"{name}={_text(value)}" for name, value in sorted(owner.quotas.items()))
            _print(f"{owner.id}  {owner.name}  {own or 'default quotas'}")


def _show_owner(options: argparse.Namespace) -> None:
    with session_scope() as session:
        owner = _owner(session, options.id)
        usage = usage_of(session, owner.id, get_settings())
    used = {"running_jobs": usage.running_jobs, "gpus": usage.gpus, "gpu_hours": round(usage.gpu_hours, 2)}
    used |= {"open_jobs": usage.open_jobs, "stored_bytes": usage.stored_bytes}
    for name, limit in usage.quotas.model_dump().items():
        origin = "own" if name in owner.quotas else "default"
        _print(f"{name:14} {_text(limit):>16}  {origin:8} {used.get(name, '')}".rstrip())


def _set_quotas(options: argparse.Namespace) -> None:
    with operator_scope("owners set") as session:
        owner = _owner(session, options.id)
        quotas = dict(owner.quotas)
        for name, value in options.quotas:
            quotas.pop(name, None)
            if value != "default":
                quotas[name] = None if value == "none" else value
        try:
            stored = Quotas.model_validate(quotas).model_dump(exclude_unset=True)
        except ValidationError as error:
            first = error.errors()[0]
            allowed = ", ".join(Quotas.model_fields)
            raise InvalidRequest(f"{first['loc'][0]}: {first['msg']}. The quotas are {allowed}.") from error
        owner.quotas = stored
    _show_owner(options)


def _owner(session: Session, owner_id: str) -> Project:
    owner = session.get(Project, owner_id)
    if owner is None:
        raise NotFound(f"There is no owner {owner_id!r}. `python -m core owners list` prints all.")
    return owner


def _assignment(argument: str) -> tuple[str, str]:
    name, separator, value = argument.partition("=")
    if not separator or not value:
        raise argparse.ArgumentTypeError(f"{argument!r} is not NAME=VALUE")
    return name, value


def _text(value: object) -> str:
    return "none" if value is None else str(value)


def _print(line: str, to: TextIO | None = None) -> None:
    (to or sys.stdout).write(line + "\n")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m core", description=__doc__)
    commands = parser.add_subparsers(required=True)
    commands.add_parser("migrate", help="bring the database to the newest schema").set_defaults(run=_migrate)
    backup = commands.add_parser("backup", help="write the database and the blobs to a folder")
    backup.add_argument("folder", type=Path, help="an empty folder, or one with an earlier backup")
    backup.add_argument("--check", action="store_true", help="only verify the backup in the folder")
    backup.set_defaults(run=_back_up)
    restored = commands.add_parser("restore", help="restore a backup into an empty database and an empty blob store")
    restored.add_argument("folder", type=Path, help="the folder of the backup")
    restored.set_defaults(run=_restore)
    keys = commands.add_parser("keys", help="API keys").add_subparsers(required=True)
    create = keys.add_parser("create", help="create a key and print it on standard output")
    create.add_argument("name", help="name of its owner, for people")
    create.add_argument("--operator", action="store_true", help="let the key cordon and drain workers")
    create.set_defaults(run=_create_key)
    keys.add_parser("list", help="list all keys, without their texts").set_defaults(run=_list_keys)
    revoke = keys.add_parser("revoke", help="revoke a key and end its browser sessions")
    revoke.add_argument("id", help="id of the key, as `keys list` prints it")
    revoke.add_argument("--and-made", action="store_true", help="also revoke the keys that it made")
    revoke.set_defaults(run=_revoke_key)
    owners = commands.add_parser("owners", help="owners and their quotas").add_subparsers(required=True)
    owners.add_parser("list", help="list all owners, with the quotas of their own").set_defaults(run=_list_owners)
    show = owners.add_parser("show", help="print the quotas of an owner, and its use")
    show.add_argument("id", help="id of the owner, as `owners list` prints it")
    show.set_defaults(run=_show_owner)
    change = owners.add_parser("set", help="set quotas of an owner")
    change.add_argument("id", help="id of the owner")
    change.add_argument(
        "quotas", nargs="+", type=_assignment, metavar="NAME=VALUE", help="VALUE: a number, `none` or `default`"
    )
    change.set_defaults(run=_set_quotas)
    return parser


if __name__ == "__main__":
    sys.exit(main())
