"""`python -m worker run` is the worker; it starts `python -m worker consume` by itself."""

from __future__ import annotations

import argparse
import logging
import os
import signal
import socket
import sys
from pathlib import Path

from worker.service import Worker, WorkerError, WorkerOptions, hold_folder

TOKEN_VARIABLE = "BAPO_WORKER_TOKEN"  # noqa: S105
BROKER_VARIABLE = "BAPO_BROKER_URL"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m worker", description="Takes runs from a server and trains them.")
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="take runs until SIGTERM or Ctrl-C, which give the running ones back")
    run.add_argument("--server", required=True, help="address of the server, such as https://bapo.example.org")
    run.add_argument("--token-file", type=Path, help=f"file with the worker token; else {TOKEN_VARIABLE} holds it")
    run.add_argument("--slots", type=int, default=1, help="runs trained at the same time")
    run.add_argument("--name", default=socket.gethostname(), help="tells the workers of a server apart")
    run.add_argument("--folder", type=Path, default=Path("bapo-worker"), help="where the worker keeps what it holds")
    consume = commands.add_parser("consume", help="the Celery process of a worker, which starts it")
    consume.add_argument("--queue", required=True)
    consume.add_argument("--pipe", type=int, required=True)
    return parser


def _token(options: argparse.Namespace) -> str:
    if options.token_file is not None:
        try:
            return str(options.token_file.read_text().strip())
        except OSError as error:
            raise WorkerError(f"{options.token_file} cannot be read ({error.strerror}): check --token-file") from None
    token = os.environ.get(TOKEN_VARIABLE)
    if not token:
        raise WorkerError(f"a worker token is needed: give --token-file, or set {TOKEN_VARIABLE}")
    return token


def _run(options: argparse.Namespace) -> None:
    if options.slots < 1:
        raise WorkerError(f"--slots {options.slots}: a worker needs at least one slot")
    folder = options.folder.resolve()
    # Kept open on purpose: the lock goes with the process.
    hold_folder(folder)
    worker = Worker(WorkerOptions(options.server, _token(options), folder, options.slots, options.name))
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: worker.stop())
    worker.run()


def main(arguments: list[str] | None = None) -> int:
    """Run the worker; the exit code is 1 where it cannot work, with one line that says why."""
    options = _parser().parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    logging.getLogger("httpx").setLevel(logging.WARNING)
    if options.command == "consume":
        from worker.consumer import consume  # noqa: PLC0415  (Celery is slow to import)

        consume(os.environ[BROKER_VARIABLE], options.queue, options.pipe)
        return 0
    try:
        _run(options)
    except WorkerError as error:
        print(f"worker: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
