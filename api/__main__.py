"""`python -m api`: serve, or print the OpenAPI schema."""

import argparse
import logging
import sys
from types import FrameType

import uvicorn
from fastapi import FastAPI

from api import openapi
from api.app import create_app
from core.errors import SettingsError
from core.settings import get_settings

GRACE_SECONDS = 5


class Server(uvicorn.Server):
    """Ends open event streams when the server stops, so that they do not delay the shutdown."""

    def __init__(self, config: uvicorn.Config, app: FastAPI) -> None:
        super().__init__(config)
        self._app = app  # config.app is a wrapper without `state`

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._app.state.closing = True
        super().handle_exit(sig, frame)


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
    app = create_app(get_settings())
    # The middleware logs requests. The access log of uvicorn would contain the query, and with it the sign-in token.
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    Server(config, app).run()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m api", description=__doc__)
    parser.add_argument("command", nargs="?", choices=["serve", "openapi"], default="serve")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen at (%(default)s)")
    parser.add_argument("--port", type=int, default=8000, help="port to listen at (%(default)s)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
