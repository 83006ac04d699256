"""Starts of the worker and of its Celery process, from the options of the command line and the environment."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from bapo.deploy import service_log
from bapo.deploy.settings import ServiceSettings, SettingsError, load, variable_of, warn_of_unknown_variables
from bapo.run.lasting_modules import lasting_modules
from worker.errors import WorkerError
from worker.settings import WorkerSettings

BROKER_VARIABLE = "BAPO_BROKER_URL"


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


def consume_queue(queue: str, pipe: int) -> int:
    """Consume the worker's queue until the worker ends."""
    from worker.consumer import consume  # noqa: PLC0415  (Celery is slow to import)

    common = load(ServiceSettings)
    service_log.configure("worker", common.log_format, common.log_level)
    service_log.hide(urlsplit(os.environ[BROKER_VARIABLE]).password)
    consume(os.environ[BROKER_VARIABLE], queue, pipe)
    return 0


def run_worker(options: Mapping[str, Any]) -> int:
    """Run the worker; return 1 if it cannot work and 2 if a setting is wrong, and print why."""
    given = {name: value for name, value in options.items() if name in WorkerSettings.model_fields}
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
