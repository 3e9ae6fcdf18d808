"""`python -m api`: serve, or print the OpenAPI schema."""

import argparse
import logging
import sys

from data.start_up import importing

with importing("api.app"):
    from api import openapi
    from api.app import create_app
    from api.server import Server
    from core.errors import SettingsError
    from core.settings import get_settings


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit status."""
    options = _parser().parse_args(arguments)
    if options.command == "openapi":
        sys.stdout.write(openapi.text(create_app()))
        return 0
    try:
        _serve(options.host, options.port)
    except SettingsError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


def _serve(host: str, port: int) -> None:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    settings = get_settings()
    app = create_app(settings.model_copy(update={"hosts": [*settings.hosts, *_own_name(host)]}))
    Server(app, settings, host, port).run()


def _own_name(host: str) -> list[str]:
    """The address that the server listens at, as clients write it; empty for all addresses."""
    if host in ("0.0.0.0", "::", ""):
        return []
    return [f"[{host}]" if ":" in host else host.lower()]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m api", description=__doc__)
    parser.add_argument("command", nargs="?", choices=["serve", "openapi"], default="serve")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen at (%(default)s)")
    parser.add_argument("--port", type=int, default=8000, help="port to listen at (%(default)s)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
