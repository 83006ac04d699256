"""Runs commands in this process: a new one imports for seconds before it says its first word."""

from __future__ import annotations

import io
import os
import signal
import subprocess
from collections.abc import Callable, Mapping
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bapo.cli import app
from bapo.deploy import service_log

TINY = [
    *("--set", "task.num_train=24", "--set", "task.num_test=4"),
    *("--set", "rollout.batch_size=6", "--set", "rollout.group_size=4", "--set", "training.batch_size=6"),
    *("--set", 'method.c2=["0","0"]', "--set", 'method.c3=["1/2","3/4"]'),
    *("--set", "training.steps=4", "--set", "training.checkpoint_interval=2"),
    *("--set", "tracking.num_prompts=0", "--set", "evaluation.num_samples=2"),
]
"""Options of a run that trains for a second."""


def run_here(*arguments: str | Path, env: Mapping[str, str | None] | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command to its end and return what a process of its own would have returned.

    `env` changes the environment; a variable whose value is None is not set.
    """
    kept = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        result = CliRunner().invoke(app, [str(argument) for argument in arguments], env=env)
    finally:
        # Commands that train end at a step boundary when they are asked to stop.
        for number, handler in kept.items():
            signal.signal(number, handler)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return subprocess.CompletedProcess(arguments, result.exit_code, result.stdout, result.stderr)


def main_here(
    main: Callable[[list[str]], int], *arguments: str, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a service's `main` to its end and return what a process would have returned that has only these settings.

    For commands that end by themselves: it leaves the log, which is this process's, as it is.
    """
    with (
        pytest.MonkeyPatch.context() as patch,
        redirect_stdout(io.StringIO()) as out,
        redirect_stderr(io.StringIO()) as errors,
    ):
        for name in [name for name in os.environ if name.startswith("BAPO_")]:
            patch.delenv(name)
        for name, value in (env or {}).items():
            patch.setenv(name, value)
        patch.setattr(service_log, "configure", lambda *_: None)
        try:
            code = main(list(arguments))
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
    return subprocess.CompletedProcess(arguments, code, out.getvalue(), errors.getvalue())
