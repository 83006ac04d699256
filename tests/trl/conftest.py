"""Tests of `bapo.observe.trl`: they start TRL with the Python of .venv-trl, which scripts/setup_trl.sh makes."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from bapo.records import EvaluationRecord, EventRecord, StepRecord
from bapo.run.journal import merged_records

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".venv-trl" / "bin" / "python"


class Trained(NamedTuple):
    """What a run of `tests.trl.training` left."""

    folder: Path

    @property
    def run(self) -> Path:
        """The observed run."""
        return self.folder / "run"

    @property
    def steps(self) -> list[StepRecord]:
        """Recorded steps, in order."""
        return [record for record in merged_records(self.run) if isinstance(record, StepRecord)]

    @property
    def evaluations(self) -> list[EvaluationRecord]:
        """Recorded evaluations."""
        return [record for record in merged_records(self.run) if isinstance(record, EvaluationRecord)]

    @property
    def events(self) -> list[EventRecord]:
        """Recorded events."""
        return [record for record in merged_records(self.run) if isinstance(record, EventRecord)]

    @property
    def logs(self) -> list[dict[str, Any]]:
        """What TRL logged."""
        return _lines(self.folder / "logs.jsonl")

    def scored(self, *, training: bool = True) -> list[dict[str, Any]]:
        """What the reward function was given and what it answered, a call each; of all processes, by rank."""
        calls = [_lines(path) for path in sorted(self.folder.glob("scored-*.jsonl"))]
        merged = []
        for parts in zip(*calls, strict=True):
            columns = {
                name: [value for part in parts for value in part[name]] for name in ("prompts", "responses", "rewards")
            }
            merged.append({**parts[0], **columns})
        return [call for call in merged if call["training"] is training]


def _lines(path: Path) -> list[dict[str, Any]]:
    """Read the complete lines: a process may be writing another, or was killed while it wrote."""
    complete, _, _ = path.read_text().rpartition("\n") if path.exists() else ("", "", "")
    return [json.loads(line) for line in complete.splitlines()]


def environment(**more: str) -> dict[str, str]:
    """Of a process of TRL: nobody's server, no network, one thread."""
    known = {name: value for name, value in os.environ.items() if not name.startswith("BAPO_")}
    own = {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "TRL_TELEMETRY_DISABLED": "1"}
    return {**known, **own, "TOKENIZERS_PARALLELISM": "false", **more}


def start(
    folder: Path, options: Mapping[str, Any], *, env: Mapping[str, str], processes: int = 1
) -> subprocess.Popen[str]:
    """TRL, training in the folder."""
    launcher: Sequence[str] = (
        [] if processes == 1 else ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"]
    )
    command = [str(PYTHON), *launcher, "-m", "tests.trl.training", str(folder), json.dumps(options)]
    folder.mkdir(parents=True, exist_ok=True)
    return subprocess.Popen(
        command, cwd=ROOT, env=dict(env), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


@pytest.fixture(scope="session")
def train(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Trained]:
    """Trains to the end with these settings of TRL."""

    def run(*, trainer: str = "GRPO", processes: int = 1, status: int = 0, **options: Any) -> Trained:
        folder = tmp_path_factory.mktemp("trl")
        process = start(folder, {"trainer": trainer, **options}, env=environment(), processes=processes)
        said, _ = process.communicate(timeout=600)
        assert process.returncode == status, said
        return Trained(folder)

    return run


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test of this folder; without the environment there is nothing to run."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.trl)
            if not PYTHON.exists():
                item.add_marker(pytest.mark.skip(reason="there is no .venv-trl: sh scripts/setup_trl.sh"))
