"""`python -m core` migrates the database and manages its API keys."""

import argparse
import sys
from typing import TextIO

from sqlalchemy import select

from core.access.keys import create_key, revoke_key
from core.db import migrate, session_scope
from core.errors import PlatformError
from core.models import ApiKey
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


def _create_key(options: argparse.Namespace) -> None:
    with session_scope() as session:
        key, plaintext = create_key(session, options.name)
    _print(f"{key.id} {key.name}: copy the key now, it is not shown again.", sys.stderr)
    _print(plaintext)


def _list_keys(_: argparse.Namespace) -> None:
    with session_scope() as session:
        for key in session.scalars(select(ApiKey).order_by(ApiKey.created_at)):
            _print(f"{key.id}  {key.prefix}…  {'revoked' if key.revoked_at else 'active '}  {key.name}")


def _revoke_key(options: argparse.Namespace) -> None:
    with session_scope() as session:
        revoke_key(session, options.id)
    _print(f"{options.id} is revoked.")


def _print(line: str, to: TextIO | None = None) -> None:
    (to or sys.stdout).write(line + "\n")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m core", description=__doc__)
    commands = parser.add_subparsers(required=True)
    commands.add_parser("migrate", help="bring the database to the newest schema").set_defaults(run=_migrate)
    keys = commands.add_parser("keys", help="API keys").add_subparsers(required=True)
    create = keys.add_parser("create", help="create a key and print it on standard output")
    create.add_argument("name", help="name of its owner, for people")
    create.set_defaults(run=_create_key)
    keys.add_parser("list", help="list all keys, without their texts").set_defaults(run=_list_keys)
    revoke = keys.add_parser("revoke", help="revoke a key and end its browser sessions")
    revoke.add_argument("id", help="id of the key, as `keys list` prints it")
    revoke.set_defaults(run=_revoke_key)
    return parser


if __name__ == "__main__":
    sys.exit(main())
