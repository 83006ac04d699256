"""`python -m frontend serve --host 127.0.0.1 --port 8000`."""

from __future__ import annotations

import argparse
import sys
from types import FrameType

import uvicorn

from bapo.deploy import service_log
from bapo.deploy.settings import SettingsError, load, warn_of_unknown_variables
from frontend.app import create_app
from frontend.gate import Gate
from frontend.settings import FrontendSettings

GRACE_SECONDS = 5
"""How long requests in progress may take when the server stops."""


class Server(uvicorn.Server):
    """Ends the event streams as soon as it is asked to stop: uvicorn would wait for them."""

    def __init__(self, config: uvicorn.Config, gate: Gate) -> None:
        super().__init__(config)
        self._gate = gate

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """A signal asks us to stop."""
        self._gate.end_streams()
        super().handle_exit(sig, frame)


def main() -> None:
    """Serves the dashboard until it is told to stop."""
    parser = argparse.ArgumentParser(prog="python -m frontend", description="The dashboard of BAPO.")
    commands = parser.add_subparsers(dest="command", required=True)
    serve = commands.add_parser("serve", help="serve the dashboard and pass the API through")
    serve.add_argument("--host", default="127.0.0.1")
    serve.add_argument("--port", type=int, default=8000)
    arguments = parser.parse_args()
    try:
        settings = load(FrontendSettings)
    except SettingsError as error:
        print(error, file=sys.stderr)
        sys.exit(2)
    service_log.configure("frontend", settings.log_format, settings.log_level)
    warn_of_unknown_variables()
    gate = create_app(settings)
    config = uvicorn.Config(
        gate,
        host=arguments.host,
        port=arguments.port,
        log_config=None,
        access_log=False,
        server_header=False,
        # Anybody may claim to speak for others; the public address tells all that we need.
        proxy_headers=False,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    Server(config, gate).run()


if __name__ == "__main__":
    main()
