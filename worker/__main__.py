"""`python -m worker run` is the worker; it starts `python -m worker consume` by itself."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from worker.health import check_health

FOLDER_VARIABLE = "BAPO_WORKER_FOLDER"


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


def main(arguments: list[str] | None = None) -> int:
    """Run the worker; exits with 1 if it cannot work and 2 if a setting is wrong, and prints why."""
    options = _parser().parse_args(arguments)
    if options.command == "health":
        return check_health(options.worker_folder or Path(os.environ.get(FOLDER_VARIABLE, "bapo-worker")))
    # A second of imports, which a health check every few seconds does without.
    from worker.start import consume_queue, run_worker  # noqa: PLC0415

    if options.command == "consume":
        return consume_queue(options.queue, options.pipe)
    return run_worker(vars(options))


if __name__ == "__main__":
    sys.exit(main())
