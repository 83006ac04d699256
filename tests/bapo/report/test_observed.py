"""A report of a run of another trainer beside one of ours."""

from __future__ import annotations

from pathlib import Path

import pytest

from bapo import observe
from bapo.config.recipes import shipped_recipes
from bapo.config.resolve import resolve
from bapo.figures.recorded import load_run
from bapo.figures.time_table import time_table_data
from bapo.observe import Group
from bapo.records import AnyRecord
from bapo.report.contents import sections_of, selection_of
from bapo.run.journal import RECORDS_FILE
from tests.support.command_line import run_here


@pytest.fixture
def ours(run_records: list[AnyRecord], tmp_path: Path) -> Path:
    folder = tmp_path / "ours"
    (folder / "attempt-1").mkdir(parents=True)
    recipe = next(each for each in shipped_recipes() if each.name == "countdown-demo")
    (folder / "config.json").write_text(resolve(recipe.explicit).config.model_dump_json())
    (folder / "attempt-1" / RECORDS_FILE).write_text("".join(f"{each.model_dump_json()}\n" for each in run_records))
    return folder


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    folder = tmp_path / "theirs"
    with observe.run("theirs", folder=folder, trainer="TRL GRPOTrainer") as run:
        for step in range(1, 31):
            # Of four prompts one is never solved and one always.
            groups = [Group(f"prompt {n}", [n % 4 > place for place in range(3)], ["a", "b", "c"]) for n in range(8)]
            run.step(step, groups=groups, metrics={"actor/entropy": 1 / step})
            run.evaluation(step, dataset="exam", groups=groups)
    return folder


def test_a_report_of_a_run_of_another_trainer_beside_one_of_ours_is_one_file(
    ours: Path, theirs: Path, tmp_path: Path
) -> None:
    out = tmp_path / "report.html"
    done = run_here("report", ours, theirs, "--out", out)
    assert done.returncode == 0, done.stderr
    assert "2 runs" in done.stdout
    written = out.read_text()
    assert written.lower().startswith("<!doctype html>")
    # Both are in the table of findings.
    findings = written[written.index('<section id="findings">') :]
    assert "<td>ours</td>" in findings
    assert "<td>theirs</td>" in findings
    assert run_here("report", theirs, "--out", out).returncode == 0


def test_what_another_trainer_does_not_tell_is_missing_in_the_report_and_not_zero(ours: Path, theirs: Path) -> None:
    selection = selection_of([load_run(ours), load_run(theirs)], "config")
    of_ours, of_theirs = time_table_data(selection.groups).rows
    assert (of_theirs.compute_hours, of_theirs.num_tokens) == (None, None)
    # 30 steps of 8 groups of 3.
    assert of_theirs.num_rollouts is not None
    assert of_theirs.num_rollouts.value == 720
    assert of_ours.compute_hours is not None
    alone = {section.number: section for section in sections_of(selection_of([load_run(theirs)], "config"))}
    # No prompts are tracked, and nothing is re-evaluated.
    assert all(alone[number].draw is None and alone[number].needs for number in ("Figure 1", "Figure 7, 13"))
    assert alone["Figure 4"].draw is not None
