"""`python -m frontend serve --host 127.0.0.1 --port 8000`."""

from __future__ import annotations

import argparse
import gc
import sys

from bapo.deploy import service_log
from bapo.deploy.http_server import Server
from bapo.deploy.settings import SettingsError, load, warn_of_unknown_variables
from bapo.run.lasting_modules import lasting_modules
from frontend.server.settings import FrontendSettings


def main() -> None:
    """Serve the dashboard until it is asked to stop."""
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
    with lasting_modules("frontend.app"):
        from frontend.app import create_app  # noqa: PLC0415
    gate = create_app(settings)
    # What was made so far lives as long as the process: no collection needs to walk over it again.
    gc.collect()
    gc.freeze()
    Server(gate, gate.end_streams, arguments.host, arguments.port).run()


if __name__ == "__main__":
    main()
