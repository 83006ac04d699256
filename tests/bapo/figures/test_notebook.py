"""The examples of docs/notebook.md run on really recorded runs, and need neither Dash nor a server."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from bapo.config import ConfigError
from bapo.figures import LIGHT, PAPER_FIGURES, load_run
from bapo.figures.recorded import STEP_KEYS
from tests.support.recorded import NUM_STEPS

ROOT = Path(__file__).parents[3]
EXAMPLE = re.compile(r"(<!-- not run -->\n)?```python\n(.*?)```", re.DOTALL)


def test_the_examples_run(recorded_folders: Mapping[str, Path], tmp_path: Path) -> None:
    (tmp_path / "runs").symlink_to(next(iter(recorded_folders.values())).parent)
    text = (ROOT / "docs" / "notebook.md").read_text()
    examples = [code for skipped, code in EXAMPLE.findall(text) if not skipped]
    assert len(examples) == 5
    checks = "\nimport sys\nassert 'dash' not in sys.modules\nassert len(figure.data) and len(counts.data)\n"
    done = subprocess.run(
        [sys.executable, "-c", "".join(examples) + checks],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Figure 16: actor_critic_figure(ActorCritic)" in done.stdout
    assert re.search(r"^GRPO 1 \[0\.\d+", done.stdout, re.MULTILINE)


def test_a_run_is_read_from_its_folder(recorded_folders: Mapping[str, Path]) -> None:
    run = load_run(recorded_folders["bapo-seed-2"])
    assert (run.name, run.seed, run.group_size, run.last_step) == ("bapo-seed-2", 2, 8, NUM_STEPS)
    assert set(run.steps.columns) == set(STEP_KEYS)
    assert all(len(column) == NUM_STEPS for column in run.steps.columns.values())
    x1, x2, x3, batch = (run.column(f"bapo/batch/{name}") for name in ("x1", "x2", "x3", "batch"))
    assert (x1 + x2 + x3 == batch).all()
    # Steps 0, 8, 16 and 24, the base model twice.
    assert [(record.step, record.replicate) for record in run.tracking] == [(0, 0), (0, 1), (8, 0), (16, 0), (24, 0)]
    assert sorted({record.step for record in run.evaluations}) == [0, 12, 24]


def test_a_folder_without_a_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"config\.json"):
        load_run(tmp_path)


def test_every_figure_of_the_paper_has_one_function_and_one_sentence() -> None:
    # Figures 2 and 3 are diagrams; Table 3 lists settings.
    wanted = [f"Figure {number}" for number in (1, *range(4, 17))] + ["Table 1", "Table 2", "Table 4"]
    assert set(wanted) <= set(PAPER_FIGURES)
    for entry in PAPER_FIGURES.values():
        assert callable(entry.draw)
        assert issubclass(entry.data, tuple)
        assert entry.shows.endswith(".")
    assert LIGHT.scheme == "light"
