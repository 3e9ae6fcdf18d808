"""`python -m core`: what an operator does to the database."""

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
    """Run one command; its exit status."""
    options = _parser().parse_args(arguments)
    try:
        options.run(options)
    except PlatformError as error:
        _say(str(error), sys.stderr)
        return 1
    return 0


def _migrate(_: argparse.Namespace) -> None:
    migrate(get_settings().database_url)
    _say("The database has the newest schema.")


def _create_key(options: argparse.Namespace) -> None:
    with session_scope() as session:
        key, plaintext = create_key(session, options.name)
    _say(f"{key.id} {key.name}: keep it, it is not shown again.", sys.stderr)
    _say(plaintext)


def _list_keys(_: argparse.Namespace) -> None:
    with session_scope() as session:
        for key in session.scalars(select(ApiKey).order_by(ApiKey.created_at)):
            _say(f"{key.id}  {key.prefix}…  {'revoked' if key.revoked_at else 'active '}  {key.name}")


def _revoke_key(options: argparse.Namespace) -> None:
    with session_scope() as session:
        revoke_key(session, options.id)
    _say(f"{options.id} is revoked.")


def _say(line: str, to: TextIO | None = None) -> None:
    (to or sys.stdout).write(line + "\n")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m core", description=__doc__)
    commands = parser.add_subparsers(required=True)
    commands.add_parser("migrate", help="bring the database to the newest schema").set_defaults(run=_migrate)
    keys = commands.add_parser("keys", help="API keys").add_subparsers(required=True)
    create = keys.add_parser("create", help="make a key; prints it, once, alone on standard output")
    create.add_argument("name", help="whose it is, for people")
    create.set_defaults(run=_create_key)
    keys.add_parser("list", help="every key, without its text").set_defaults(run=_list_keys)
    revoke = keys.add_parser("revoke", help="refuse a key from now on")
    revoke.add_argument("id")
    revoke.set_defaults(run=_revoke_key)
    return parser


if __name__ == "__main__":
    sys.exit(main())
