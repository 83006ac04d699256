"""`python -m frontend serve --host 127.0.0.1 --port 8000`, `python -m frontend report FOLDER… --out report.html`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from types import FrameType

import uvicorn

from bapo import log
from bapo.api import StudyReport
from bapo.settings import SettingsError, load, warn_of_unknown_variables
from frontend.app import create_app
from frontend.figures.groups import BY_CONFIG
from frontend.gate import Gate
from frontend.report.command import write_report
from frontend.report.study import study_document
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
    """Serve the dashboard until it is told to stop, or write a report of run folders."""
    parser = argparse.ArgumentParser(prog="python -m frontend", description="The dashboard of BAPO.")
    commands = parser.add_subparsers(dest="command", required=True)
    serve = commands.add_parser("serve", help="serve the dashboard and pass the API through")
    serve.add_argument("--host", default="127.0.0.1")
    serve.add_argument("--port", type=int, default=8000)
    report = commands.add_parser("report", help="write run folders as the paper's figures into one HTML file")
    report.add_argument("folders", nargs="+", type=Path, metavar="FOLDER", help="folder of a run")
    report.add_argument("--out", type=Path, default=Path("report.html"))
    report.add_argument("--group", default=BY_CONFIG, help="config, method, run, or a config field such as method.c1")
    report.add_argument("--title", default=None)
    study = commands.add_parser("study-report", help="write a study's report.json as one HTML file")
    study.add_argument("report", type=Path)
    study.add_argument("--out", type=Path, default=Path("report.html"))
    arguments = parser.parse_args()
    if arguments.command == "study-report":
        content = study_document(StudyReport.model_validate_json(arguments.report.read_bytes()))
        arguments.out.write_bytes(content)
        return
    if arguments.command == "report":
        write_report(arguments.folders, arguments.out, by=arguments.group, title=arguments.title)
        return
    try:
        settings = load(FrontendSettings)
    except SettingsError as error:
        print(error, file=sys.stderr)
        sys.exit(2)
    log.configure("frontend", settings.log_format, settings.log_level)
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
