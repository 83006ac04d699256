"""`python -m frontend serve --host 127.0.0.1 --port 8000`."""

from __future__ import annotations

import argparse

import uvicorn

from frontend.app import create_app
from frontend.settings import FrontendSettings


def main() -> None:
    """Serve the dashboard until it is told to stop."""
    parser = argparse.ArgumentParser(prog="python -m frontend", description="The dashboard of BAPO.")
    commands = parser.add_subparsers(dest="command", required=True)
    serve = commands.add_parser("serve", help="serve the dashboard and pass the API through")
    serve.add_argument("--host", default="127.0.0.1")
    serve.add_argument("--port", type=int, default=8000)
    arguments = parser.parse_args()
    uvicorn.run(
        create_app(FrontendSettings()),
        host=arguments.host,
        port=arguments.port,
        log_level="warning",
        server_header=False,
        # Anybody may claim to speak for others; the public address tells all that we need.
        proxy_headers=False,
        # An open event stream must not hold up the end.
        timeout_graceful_shutdown=2,
    )


if __name__ == "__main__":
    main()
