"""A run's warm start: its model is made once on a machine, before the first step, and lost by no stop and no kill."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from bapo.config import RunConfig
from bapo.engines.base import Engine
from bapo.pretrained.folders import local_models, remove
from bapo.records import AnyRecord, EventRecord
from bapo.run.control import ControlRequest, append_request
from bapo.run.run_folder import claim_config, read_config
from bapo.run.trainer import train
from bapo.tasks import Task
from tests.support.simulated_engine import SimulatedEngine
from tests.support.small_runs import OF_ANY_METHOD, config_of, events, lines
from tests.support.waiting import wait_until

SHORT = {**OF_ANY_METHOD, "training.steps": 2, "tracking.num_prompts": 0, "evaluation.interval": 2}
WARM = {
    "warm_start.steps": 3,
    "warm_start.batch_size": 4,
    "warm_start.learning_rate": 1e-4,
    "warm_start.num_answered": 24,
    "warm_start.num_evaluated": 4,
}


@pytest.fixture(autouse=True)
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "models"
    monkeypatch.setenv("BAPO_MODELS_DIR", str(folder))
    return folder


def warm(**changes: Any) -> RunConfig:
    return config_of(SHORT, WARM, {name.replace("__", "."): value for name, value in changes.items()})


def phases(run_folder: Path) -> list[str]:
    return [event.data["phase"] for event in events(run_folder, "warm_start")]


class StopAtTheBeginning:
    """Asks for a stop as soon as the warm start has begun."""

    def __init__(self) -> None:
        self.stop = threading.Event()

    def on_record(self, record: AnyRecord) -> None:
        if isinstance(record, EventRecord) and record.event == "warm_start":
            self.stop.set()


def test_a_run_trains_the_model_that_its_warm_start_made(tmp_path: Path) -> None:
    train(tmp_path / "run", warm())
    assert phases(tmp_path / "run") == ["begun", "made"]
    begun, made = events(tmp_path / "run", "warm_start")
    assert begun.message == "countdown-base learns from right responses: 3 steps of 4"
    # 2 of the problems are of each held-out set, with four responses each.
    assert {name: each["num_problems"] for name, each in made.data["evaluation"].items()} == {"CD-34": 2, "CD-4": 2}
    assert made.data["held_out_loss"] != made.data["held_out_loss_before"]
    assert made.message.startswith(f"3 steps on {made.data['traces']['num_learned']} right responses of the base model")
    ((model, folder),) = local_models()
    assert (model.name, model.source) == (f"warm-start/{folder.name[12:]}", "warm-start of countdown-base")
    # As if the model had been made by hand.
    train(tmp_path / "by hand", config_of(SHORT, {"model.path": str(folder)}))
    assert lines(tmp_path / "run") == lines(tmp_path / "by hand")


@pytest.mark.parametrize("engine", ["local", "verl"])
def test_every_engine_is_given_the_models_folder_and_the_run_keeps_its_config(tmp_path: Path, engine: str) -> None:
    given: list[RunConfig] = []

    def build(config: RunConfig, task: Task) -> Engine:
        given.append(config)
        return SimulatedEngine(config, task)

    config = warm(engine__type=engine)
    train(tmp_path / "run", config, build=build)
    ((_, folder),) = local_models()
    assert [each.model.path for each in given] == [str(folder)]
    assert read_config(tmp_path / "run") == config


def test_another_seed_and_another_method_reuse_it_and_what_it_depends_on_makes_another(tmp_path: Path) -> None:
    # What is trained afterwards takes no part.
    train_on_it = partial(train, build=SimulatedEngine)
    train_on_it(tmp_path / "first", warm())
    train_on_it(tmp_path / "seed", warm(training__seed=7))
    train_on_it(tmp_path / "method", warm(method__type="grpo"))
    assert phases(tmp_path / "seed") == phases(tmp_path / "method") == ["reused"]
    assert events(tmp_path / "seed", "warm_start")[0].message.startswith("reused from an earlier run: 3 steps on ")
    train_on_it(tmp_path / "problems", warm(task__num_train=47))
    train_on_it(tmp_path / "rate", warm(warm_start__learning_rate=2e-3))
    assert phases(tmp_path / "problems") == phases(tmp_path / "rate") == ["begun", "made"]
    assert len(local_models()) == 3


def test_a_resumed_run_makes_a_removed_model_again_and_goes_on_alike(tmp_path: Path) -> None:
    config = warm(loss__kl_coefficient=0.1, training__checkpoint_interval=1)
    train(tmp_path / "undisturbed", config)

    class StopAfterOne(StopAtTheBeginning):
        def on_record(self, record: AnyRecord) -> None:
            if record.type == "step":
                self.stop.set()

    stopping = StopAfterOne()
    assert train(tmp_path / "run", config, observer=stopping, stop=stopping.stop).steps == 1
    assert phases(tmp_path / "run") == ["reused"]
    ((model, _),) = local_models()
    assert remove(model.name)
    assert train(tmp_path / "run", config).status == "succeeded"
    assert phases(tmp_path / "run") == ["reused", "begun", "made"]
    assert lines(tmp_path / "run") == lines(tmp_path / "undisturbed")


def test_a_stop_ends_it_with_nothing_half_there_and_the_next_attempt_begins_it_again(
    tmp_path: Path, models: Path
) -> None:
    stopping = StopAtTheBeginning()
    summary = train(tmp_path / "run", warm(), observer=stopping, stop=stopping.stop)
    assert (summary.status, summary.steps) == ("stopped", 0)
    assert [event.message for event in events(tmp_path / "run", "stop")] == ["requested by a signal"]
    assert all(path.suffix == ".lock" for path in models.iterdir())
    assert train(tmp_path / "run", warm()).status == "succeeded"
    assert phases(tmp_path / "run") == ["begun", "begun", "made"]


def test_a_requested_stop_is_answered_by_its_author_and_one_for_later_waits(tmp_path: Path) -> None:
    claim_config(tmp_path / "run", warm())
    append_request(tmp_path / "run", ControlRequest(id="later", author="ada", stop=True, at_step=2))
    append_request(tmp_path / "run", ControlRequest(id="now", author="ada", stop=True))
    assert train(tmp_path / "run", warm()).steps == 0
    (stop,) = events(tmp_path / "run", "stop")
    assert (stop.data, phases(tmp_path / "run")) == ({"id": "now", "author": "ada"}, ["begun"])
    assert train(tmp_path / "run", warm()).steps == 1


def test_a_killed_trainer_leaves_nothing_that_the_next_one_would_take_for_a_model(tmp_path: Path) -> None:
    run = tmp_path / "run"
    claim_config(run, warm(warm_start__steps=500))
    trainer = subprocess.Popen([sys.executable, "-m", "bapo.run.trainer", run], env=os.environ)
    wait_until(lambda: phases(run) == ["begun"])
    trainer.send_signal(signal.SIGKILL)
    trainer.wait()
    assert local_models() == []
    assert train(tmp_path / "next", warm()).status == "succeeded"
    assert len(local_models()) == 1


def test_a_probe_measures_the_base_itself(tmp_path: Path) -> None:
    probe = warm(method__type="probe")
    assert not probe.begins_warm
    train(tmp_path / "probe", probe)
    assert phases(tmp_path / "probe") == []


def test_a_base_that_is_never_right_is_named_with_the_remedy(tmp_path: Path) -> None:
    data = tmp_path / "hard.jsonl"
    rows = [{"prompt": f"1 1={n}", "answer": {"nums": [1, 1], "target": n}} for n in range(900, 930)]
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    task = {"task.type": "file", "task.train_file": str(data), "task.verifier": "countdown"}
    config = config_of({**{field: value for field, value in SHORT.items() if "task." not in field}, **task}, WARM)
    with pytest.raises(ValueError, match=r"warm_start\.source = 'base': only 0 right responses were found"):
        train(tmp_path / "run", config)
    assert local_models() == []
