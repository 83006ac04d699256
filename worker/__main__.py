"""`python -m worker run` is the worker; it starts `python -m worker consume` by itself."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from pathlib import Path
from urllib.parse import urlsplit

from bapo.deploy import service_log
from bapo.deploy.settings import ServiceSettings, SettingsError, load, variable_of, warn_of_unknown_variables
from bapo.run.lasting_modules import lasting_modules
from worker.errors import WorkerError
from worker.health import check_health
from worker.settings import WorkerSettings

BROKER_VARIABLE = "BAPO_BROKER_URL"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m worker",
        description="Takes runs from a server and trains them. Every option can also be set in the environment.",
    )
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="train runs until SIGTERM or Ctrl-C, which return running ones to the queue")
    run.add_argument("--server", dest="server_url", help="address of the server, such as https://bapo.example.org")
    run.add_argument(
        "--allow-http",
        dest="allow_http",
        action="store_true",
        default=None,
        help="let the server's address be http:// on another machine, which is not encrypted",
    )
    run.add_argument("--token-file", dest="worker_token_file", type=Path, help="file with the worker token")
    run.add_argument("--slots", dest="worker_slots", type=int, help="runs trained at a time; default: one per GPU")
    run.add_argument(
        "--gpus", dest="worker_gpus", help="indices of the GPUs to use, such as 0,1; default: all visible ones"
    )
    run.add_argument("--name", dest="worker_name", help="name of this worker; default: the host name")
    run.add_argument("--folder", dest="worker_folder", type=Path, help="folder for the worker's state")
    run.add_argument("--runs-dir", dest="worker_runs_dir", type=Path, help="folder of the runs on this machine")
    run.add_argument(
        "--drain-before", dest="drain_before", help="when this machine ends: a time, or a duration such as 11h30m"
    )
    run.add_argument("--metrics-port", dest="metrics_port", type=int, help="serve /metrics on this port")
    health = commands.add_parser("health", help="check that the server hears the worker of this folder")
    health.add_argument("--folder", dest="worker_folder", type=Path, default=None)
    consume = commands.add_parser("consume", help="the Celery process; started by the worker")
    consume.add_argument("--queue", required=True)
    consume.add_argument("--pipe", type=int, required=True)
    return parser


def _token(settings: WorkerSettings) -> str:
    file = settings.worker_token_file
    if file is not None:
        try:
            return file.read_text().strip()
        except OSError as error:
            raise WorkerError(f"{file} cannot be read ({error.strerror}): check --token-file") from None
    if not settings.worker_token:
        names = f"{variable_of('worker_token_file')} or {variable_of('worker_token')}"
        raise WorkerError(f"a worker token is needed: give --token-file, or set {names}")
    return settings.worker_token


def _run(settings: WorkerSettings) -> None:
    # Imported here, since the Celery process does not need it.
    with lasting_modules("worker.service"):
        from worker.service import Worker, hold_folder  # noqa: PLC0415

    # Kept open on purpose: the lock goes with the process.
    hold_folder(settings.worker_folder.resolve())
    token = _token(settings)
    service_log.hide(token, settings.worker_token)
    worker = Worker(settings, token)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: worker.stop())
    worker.run()


def main(arguments: list[str] | None = None) -> int:
    """Run the worker; exits with 1 if it cannot work and 2 if a setting is wrong, and prints why."""
    options = _parser().parse_args(arguments)
    given = {name: value for name, value in vars(options).items() if name in WorkerSettings.model_fields}
    if options.command == "consume":
        from worker.consumer import consume  # noqa: PLC0415  (Celery is slow to import)

        common = load(ServiceSettings)
        service_log.configure("worker", common.log_format, common.log_level)
        service_log.hide(urlsplit(os.environ[BROKER_VARIABLE]).password)
        consume(os.environ[BROKER_VARIABLE], options.queue, options.pipe)
        return 0
    if options.command == "health":
        return check_health(options.worker_folder or Path(os.environ.get(variable_of("worker_folder"), "bapo-worker")))
    try:
        settings = load(WorkerSettings, **given)
        service_log.configure("worker", settings.log_format, settings.log_level)
        warn_of_unknown_variables()
        _run(settings)
    except SettingsError as error:
        print(error, file=sys.stderr)
        return 2
    except WorkerError as error:
        print(f"worker: {service_log.mask(str(error))}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
