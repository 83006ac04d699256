"""docs/extending.md does what it says: its package can be installed, its commands run, the product knows its types."""

from __future__ import annotations

import re
import shlex
import signal
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from bapo.analysis.comparison import ComparedRun, flattened, groups_of, shown_name
from bapo.analysis.rollout_estimate import rollout_estimate
from bapo.analysis.what_if.forecast import what_if
from bapo.analysis.what_if.recording import read_recording
from bapo.api.configs import ConfigFieldInfo
from bapo.cli import app
from bapo.config import RunConfig, resolve
from bapo.config.documentation import documentation
from bapo.config.method import METHODS, steerable_fields
from bapo.config.task import TASKS
from bapo.figures.theme import LIGHT
from bapo.records import EvaluationRecord, StepRecord
from bapo.run.journal import merged_records
from bapo.run.run_folder import read_config
from bapo.tasks import build_task
from frontend.components.config_form.inputs import METHOD, TASK
from frontend.components.config_form.methods import field_text, own_bases
from frontend.pages.compare.panels import styles
from frontend.pages.run.charts import charts_of
from frontend.pages.run.what_if_controls import control_kinds
from tests.contract.extending_page import blocks, register, write_package

FEWER_SAMPLES = ("--set", "evaluation.num_samples=2", "--set", "tracking.num_prompts=0")
"""Of the base model and of the trained one: the page's commands sample for most of their time."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("extending")


@pytest.fixture(scope="module", autouse=True)
def _installed(folder: Path) -> Iterator[None]:
    """Put the page's package and its entry points on the path, as an editable installation does."""
    write_package(folder)
    site = register(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(site))
        patch.syspath_prepend(str(folder))
        METHODS.forget()
        TASKS.forget()
        yield
    sys.modules.pop("bapo_sums", None)
    METHODS.forget()
    TASKS.forget()


@pytest.fixture(scope="module", autouse=True)
def printed(folder: Path, _installed: None) -> dict[str, str]:
    """What each `bapo` command of the page prints."""
    commands = [
        line for language, _, text in blocks() if language == "sh" for line in text.splitlines() if line[:5] == "bapo "
    ]
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    outputs = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for command in commands:
            words = shlex.split(command)[1:]
            arguments = [*words, *(FEWER_SAMPLES if words[0] == "train" else ())]
            result = CliRunner().invoke(app, arguments, catch_exceptions=False)
            assert result.exit_code == 0, (command, result.output)
            outputs[command] = result.output
    # `bapo train` ends its process, and leaves its own behind.
    for number, handler in handlers.items():
        signal.signal(number, handler)
    return outputs


def test_the_page_installs_what_it_has_written_by_then() -> None:
    written: dict[str, str] = {}
    installed = set()
    for language, file, text in blocks():
        if file:
            written[file] = written.get(file, "") + text
        elif language == "sh" and "pip install" in text:
            groups = tomllib.loads(written["pyproject.toml"])["project"]["entry-points"]
            installed = {place.removeprefix("bapo_sums:") for group in groups.values() for place in group.values()}
            assert installed <= set(re.findall(r"^(?:class|def) (\w+)", written["bapo_sums.py"], re.MULTILINE))
    assert installed == {"Middle", "Sums", "whole_answer"}


def fields() -> list[ConfigFieldInfo]:
    """As the form gets them from the server."""
    return [ConfigFieldInfo.model_validate(asdict(field)) for field in documentation()]


def info(path: str) -> ConfigFieldInfo:
    return next(field for field in fields() if field.path == path)


def test_the_command_line_describes_the_fields(printed: dict[str, str]) -> None:
    assert "method.target" in printed["bapo config --method middle"]
    assert "Largest number of a sum." in printed["bapo config task.largest"]


@pytest.mark.parametrize(
    ("changes", "remedy"),
    [
        ({"method": {"type": "middle", "target": 2}}, "method.target = 2: must be at most 1"),
        ({"method": {"type": "midle"}}, "did you mean middle?"),
        ({"method": {"type": "grpo", "target": 0.5}}, "it belongs to middle"),
        ({"task": {"type": "sums", "largest": 1}}, "task.largest = 1: must be at least 5"),
    ],
)
def test_a_config_is_checked_by_the_packages_classes(changes: dict[str, Any], remedy: str) -> None:
    with pytest.raises(ValueError, match=re.escape(remedy)):
        resolve(changes)


def test_a_run_trains_by_the_method_and_shows_what_became_of_each_group(folder: Path) -> None:
    config = read_config(folder / "middle")
    assert (config.method.type, config.objective.aggregation) == ("middle", "response-mean")
    steps = [record for record in merged_records(folder / "middle") if isinstance(record, StepRecord)]
    assert [step.counts.x1 for step in steps] == [32, 32]
    assert steerable_fields("middle") == ["method.target"]


def test_a_run_trains_on_the_task_and_is_judged_by_the_verifier(folder: Path) -> None:
    config = read_config(folder / "sums")
    assert (config.task.type, config.task.verifier) == ("sums", "whole_answer")
    task = build_task(config.task)
    # 12 · 12 sums, of which every tenth is held out.
    assert (len(task.train), len(task.evaluation_sets["sums"])) == (130, 14)
    assert [task.reward(task.train[0], text) for text in (str(task.train[0].answer["text"]), "no")] == [1, 0]
    assert any(isinstance(record, EvaluationRecord) for record in merged_records(folder / "sums"))


def test_the_form_offers_both_with_their_fields_and_defaults() -> None:
    base = {METHOD: "bapo", TASK: "countdown"}
    assert own_bases(METHOD, fields(), {}, base)["middle"] == {"method.target": 0.5}
    assert own_bases(TASK, fields(), {}, base)["sums"]["task.largest"] == 9
    assert field_text(info("loss.aggregation"), "middle") is not None
    assert "middle has response-mean." in str(field_text(info("loss.aggregation"), "middle"))
    assert info(METHOD).variants["middle"].description.startswith("GRPO that prefers the groups")


def test_the_estimate_counts_what_does_not_depend_on_the_packages_data() -> None:
    config = resolve({"task": {"type": "sums"}, "training": {"steps": 2}}).config
    estimate = rollout_estimate(config.model_dump(mode="json"))
    # 2 steps of B · G responses; how many problems are held out is for the package to say.
    assert (estimate.fresh, estimate.evaluation) == (2 * config.rollout.batch_size * config.rollout.group_size, None)
    by_epochs = resolve({"task": {"type": "sums"}, "training": {"epochs": 1, "steps": None}}).config
    assert rollout_estimate(by_epochs.model_dump(mode="json")).steps is None


def test_a_step_is_walked_by_its_own_name(printed: dict[str, str]) -> None:
    walked = printed["bapo walk middle 2"]
    assert walked.startswith("Step 2 of 2, along the rule of Middle")
    assert "32 of 32 groups trained on." in walked


def test_what_if_replays_it_and_as_it(folder: Path) -> None:
    answer = what_if(read_recording(folder / "middle"), {"training.batch_size": 16})
    assert answer.forecast.x1.mean == [16, 16]
    again = what_if(read_recording(folder / "middle"), {"method.type": "grpo"})
    assert again.forecast.x1.mean == again.recorded.x1
    assert control_kinds()["middle"] == []


def test_the_run_page_shows_no_chart_of_what_it_has_not() -> None:
    names = {chart.name for chart in charts_of("batch", "middle")}
    assert "batch-composition" in names
    assert not names & {"thresholds", "buffer-sizes", "rounds"}


def test_comparisons_and_reports_call_and_draw_it_by_its_own_name_and_line(folder: Path) -> None:
    runs = [
        ComparedRun(method, flattened(RunConfig.model_validate({"method": {"type": method}}).model_dump(mode="json")))
        for method in ("middle", "grpo")
    ]
    labels = [group.label for group in groups_of(runs, "config")]
    assert [shown_name(label) for label in labels] == ["Middle", "GRPO"]
    middle, grpo = styles(labels, LIGHT).values()
    assert (middle.colour, middle.dash, middle.symbol) == (grpo.colour, "dot", "cross")
    assert "Middle" in (folder / "middle.html").read_text()
