"""Where trainers may be forked, and that those that are train as others do."""

from __future__ import annotations

import os
import sys
from contextlib import closing
from pathlib import Path
from typing import Literal

import psutil
import pytest

from bapo.config.engine import EngineConfig
from bapo.run.run_folder import claim_config
from bapo.run.trainer import EXIT_SUCCEEDED, train
from bapo.run.trainer_process import start_trainer
from bapo.run.zygote import ForkRequest
from bapo.run.zygote_client import Zygote, ZygoteError, can_fork
from tests.support.services import wait_until
from tests.support.small_runs import OF_ANY_METHOD, OF_BAPO, config_of, lines


@pytest.mark.parametrize(
    ("platform", "engine", "python", "has_gpus", "expected"),
    [
        ("linux", "local", sys.executable, False, True),
        ("linux", "local", sys.executable, True, False),
        ("linux", "local", "/another/python", False, False),
        ("linux", "verl", sys.executable, False, False),
        ("darwin", "local", sys.executable, False, False),
    ],
)
def test_only_the_local_engine_on_linux_without_gpus_is_forked(
    monkeypatch: pytest.MonkeyPatch,
    platform: str,
    engine: Literal["local", "verl"],
    python: str,
    has_gpus: bool,
    expected: bool,
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    assert can_fork(EngineConfig(type=engine), python, has_gpus=has_gpus) is expected


def test_a_forked_trainer_trains_like_one_in_a_process_of_its_own(tmp_path: Path) -> None:
    short = {"training.steps": 3, "evaluation.enabled": False, "tracking.num_prompts": 0}
    settings = config_of(OF_ANY_METHOD, OF_BAPO, short)
    train(tmp_path / "here", settings)
    claim_config(tmp_path / "forked", settings)
    log = tmp_path / "trainer.log"
    with closing(Zygote()) as zygote:
        trainer = start_trainer(
            str(tmp_path / "forked"), python=sys.executable, environment=os.environ, threads=1, log=log, zygote=zygote
        )  # fmt: skip
        wait_until(lambda: not trainer.is_running())
    assert trainer.exit_code == EXIT_SUCCEEDED, log.read_text()
    assert lines(tmp_path / "forked") == lines(tmp_path / "here")


def test_a_killed_zygote_is_noticed_although_its_trainer_holds_its_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer = tmp_path / "trainer"
    zygote = tmp_path / "zygote"
    zygote.write_text(f'#!/bin/sh\nsleep 600 &\necho $! > "{trainer}"\nkill -9 $$\n', encoding="utf-8")
    zygote.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(zygote))
    request = ForkRequest(title="t", arguments=(), threads=1, log=tmp_path / "log")
    with closing(Zygote()) as forking, pytest.raises(ZygoteError, match="ended with code -9"):
        forking.fork(request, os.environ)
    # It inherited the output, whose end would not come before its own.
    orphan = psutil.Process(int(trainer.read_text()))
    assert orphan.is_running()
    orphan.kill()
