"""The folder of a study that is made without a server: its declaration, its runs, what was chosen, what was changed."""

from __future__ import annotations

import fcntl
import json
import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from bapo.config.errors import ConfigError, ConfigProblem
from bapo.config.resolve import difference
from bapo.config.run import RunConfig
from bapo.files.locks import HeldError, held
from bapo.run import nvidia_smi
from bapo.run.journal import RECORDS_FILE, attempt_folders, read_records
from bapo.run.run_folder import CONFIG_FILE, LOCK_FILE, SUMMARY_FILE, read_config, write_atomically
from bapo.study.declaration import Declaration, parse, read
from bapo.study.measured_run import MeasuredRun, read_measured_run
from bapo.study.plan import Choices, PlannedRun, final_runs, resolved, tuning_runs
from bapo.study.report import build
from bapo.study.results import StudyAmendment, StudyReport, StudyRunInfo

STUDY_FILE = "study.toml"
STATE_FILE = "study.json"
TUNING_FILE = "tuning.json"
RUNS_FOLDER = "runs"
SET_ASIDE_FOLDER = "set-aside"
STUDY_LOCK = ".study-lock"
FAILURE_FILE = "failure.txt"
"""In a run's folder: why its last attempt failed."""


class StudyState(BaseModel):
    """The state of a study, stored next to its declaration; `study.json`."""

    digest: str
    created_at: datetime
    machine: str
    amendments: list[StudyAmendment] = []


class StudyFolder:
    """The folder of a study: declaration, state, choices and runs."""

    def __init__(self, path: Path, study: Declaration, state: StudyState) -> None:
        self.path = path
        self.study = study
        self.state = state
        self._configs: dict[str, RunConfig] = {}
        """By what a run sets: a run that tuning changed is another."""

    @classmethod
    def open(cls, path: Path) -> StudyFolder:
        """Return an existing study. Raises ConfigError where the folder is none."""
        if not (path / STATE_FILE).is_file():
            raise ConfigError([ConfigProblem("study folder", str(path), f"it holds no {STATE_FILE}: name another")])
        state = StudyState.model_validate_json((path / STATE_FILE).read_bytes())
        study = parse(read(path / STUDY_FILE))
        if study.digest != state.digest:
            remedy = f"{STUDY_FILE} was changed by hand: give the changed file to `bapo study`, which says what follows"
            raise ConfigError([ConfigProblem("study folder", str(path / STUDY_FILE), remedy)])
        return cls(path, study, state)

    @classmethod
    def begin(cls, path: Path, text: str, *, amend: str | None = None) -> StudyFolder:
        """Return a study's folder, made where there is none; `amend` is why the declaration changes after the first
        run.

        Raises ConfigError for a declaration that differs from that of the runs there.
        """
        study = parse(text)
        if not (path / STATE_FILE).exists():
            state = StudyState(digest=study.digest, created_at=datetime.now(UTC), machine=machine())
            folder = cls(path, study, state)
            folder._write(text)
            return folder
        state = StudyState.model_validate_json((path / STATE_FILE).read_bytes())
        before = parse(read(path / STUDY_FILE))
        folder = cls(path, study, state)
        if state.digest != study.digest:
            changed = changed_fields(before, study)
            if folder.has_begun:
                if amend is None:
                    remedy = (
                        f"{', '.join(changed)} changed after the first run: start a new study in another folder, or "
                        'say --amend "WHY", which the report records'
                    )
                    raise ConfigError([ConfigProblem("study", str(path), remedy)])
                folder._amend(before, changed, amend)
            state.digest = study.digest
        folder._write(text)
        return folder

    def _write(self, text: str) -> None:
        (self.path / RUNS_FOLDER).mkdir(parents=True, exist_ok=True)
        write_atomically(self.path / STUDY_FILE, text.encode())
        write_atomically(self.path / STATE_FILE, self.state.model_dump_json(indent=2).encode())

    def _amend(self, before: Declaration, changed: Sequence[str], reason: str) -> None:
        """Put away what the new declaration no longer has, and note the change."""
        done = sum(run.state == "done" for run in StudyFolder(self.path, before, self.state).runs())
        # Settings are chosen again where anything of the choice changed.
        if before.tuning != self.study.tuning:
            (self.path / TUNING_FILE).unlink(missing_ok=True)
        planned = {run.name: run for run in self.planned()}
        aside = [run for run in self._existing() if not self._is_as_declared(run, planned.get(run.name))]
        place = self.path / SET_ASIDE_FOLDER / f"{len(self.state.amendments) + 1}-{before.digest[:8]}"
        for run_folder in aside:
            place.mkdir(parents=True, exist_ok=True)
            run_folder.rename(place / run_folder.name)
        self.state.amendments.append(
            StudyAmendment(
                at=datetime.now(UTC),
                reason=reason,
                digest_before=before.digest,
                changed=changed,
                num_done=done,
                num_set_aside=len(aside),
            )
        )

    def _existing(self) -> list[Path]:
        return sorted(folder for folder in (self.path / RUNS_FOLDER).glob("*") if attempt_folders(folder))

    def _is_as_declared(self, run_folder: Path, run: PlannedRun | None) -> bool:
        return run is not None and not difference(self.config_of(run), read_config(run_folder))

    # ------------------------------------------------------------ runs

    @property
    def has_begun(self) -> bool:
        """True if any run has begun."""
        return bool(self._existing())

    @property
    def choices(self) -> Choices | None:
        """The settings that tuning chose; None before it has."""
        if self.study.tuning is None:
            return {}
        path = self.path / TUNING_FILE
        if not path.exists():
            return None
        return {(each["regime"], each["arm"]): each["set"] for each in json.loads(path.read_bytes())}

    def write_choices(self, choices: Choices) -> None:
        """Keep what tuning chose: it is never chosen again."""
        lines = [{"regime": regime, "arm": arm, "set": dict(point)} for (regime, arm), point in choices.items()]
        write_atomically(self.path / TUNING_FILE, json.dumps(lines, indent=2).encode())

    def planned(self) -> list[PlannedRun]:
        """Return all planned runs; the final ones lack the chosen settings while those are unknown."""
        return [*tuning_runs(self.study), *final_runs(self.study, self.choices or {})]

    def config_of(self, run: PlannedRun) -> RunConfig:
        """Return a run's complete config, which is resolved once. Raises ConfigError where it cannot run."""
        key = json.dumps(dict(run.changes), default=str)
        if key not in self._configs:
            self._configs[key] = resolved(self.study, run)
        return self._configs[key]

    def prepare(self, run: PlannedRun) -> Path:
        """Write a run's config where it has none yet, and return its folder."""
        place = self.run_folder(run)
        if not (place / CONFIG_FILE).exists():
            place.mkdir(parents=True, exist_ok=True)
            write_atomically(place / CONFIG_FILE, self.config_of(run).model_dump_json(indent=2).encode())
        return place

    def run_folder(self, run: PlannedRun | StudyRunInfo) -> Path:
        """Return the folder of a run."""
        return self.path / RUNS_FOLDER / run.name

    def runs(self) -> list[StudyRunInfo]:
        """Return every planned run and what became of it."""
        return [self._info(run) for run in self.planned()]

    def _info(self, run: PlannedRun) -> StudyRunInfo:
        folder = self.run_folder(run)
        state, reason, step = state_of(folder)
        return StudyRunInfo.model_validate(
            {
                **{name: getattr(run, name) for name in ("name", "stage", "regime", "arm", "seed")},
                "set": dict(run.point),
                "state": state,
                "reason": reason,
                "step": step,
                "num_steps": self.config_of(run).training.steps,
                "run_id": None,
                "folder": f"{RUNS_FOLDER}/{run.name}",
            }
        )

    def report(self) -> StudyReport:
        """Return the report so far as the runs are done."""
        runs = self.runs()
        return build(
            self.study,
            runs,
            self.measured(runs),
            choices=self.choices or {},
            amendments=self.state.amendments,
            machine=self.state.machine,
        )

    def measured(self, runs: Sequence[StudyRunInfo]) -> dict[str, MeasuredRun]:
        """Return what the finished runs measured."""
        return {run.name: read_measured_run(self.run_folder(run)) for run in runs if run.state == "done"}

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Hold the study against a second `bapo study`. Raises ConfigError where another holds it."""
        with ExitStack() as lock:
            try:
                lock.enter_context(held(self.path / STUDY_LOCK))
            except HeldError as error:
                remedy = f"another `bapo study` is using it ({error}): wait or stop it"
                raise ConfigError([ConfigProblem("study folder", str(self.path), remedy)]) from None
            yield


def changed_fields(before: Declaration, after: Declaration) -> list[str]:
    """Return fields of the file that differ; arms and regimes by name."""
    ours, theirs = _named(after.model_dump(mode="json")), _named(before.model_dump(mode="json"))
    return [field for field in dict.fromkeys([*theirs, *ours]) if ours.get(field) != theirs.get(field)]


def _named(dumped: Mapping[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for field, value in dumped.items():
        if field in ("arms", "regimes"):
            flat |= {f"{field}.{each['name']}": each for each in value}
        else:
            flat[field] = value
    return flat


def state_of(run_folder: Path) -> tuple[str, str | None, int]:
    """State, reason and last step of a run's folder."""
    attempts = attempt_folders(run_folder)
    note = run_folder / FAILURE_FILE
    failure = note.read_text(encoding="utf-8") if note.exists() else None
    if is_held(run_folder):
        return "training", None, _last_step(attempts[-1]) if attempts else 0
    if not attempts:
        return ("waiting", None, 0) if failure is None else ("failed", failure, 0)
    step = _last_step(attempts[-1])
    summary = attempts[-1] / SUMMARY_FILE
    if summary.exists() and json.loads(summary.read_bytes())["status"] == "succeeded":
        return "done", None, step
    return ("stopped", None, step) if failure is None else ("failed", failure, step)


def _last_step(attempt: Path) -> int:
    return max((record.step for record in read_records(attempt / RECORDS_FILE)), default=0)


def is_held(run_folder: Path) -> bool:
    """Return whether a trainer is using the folder."""
    lock = run_folder / LOCK_FILE
    if not lock.exists():
        return False
    with lock.open("r") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def machine(*packages: str) -> str:
    """Describe CPU, cores, GPUs, and the versions of Python and of the packages that figures may depend on."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    cpu = names[0] if names else platform.processor() or platform.machine()
    versions = []
    for package in packages or ("torch", "transformers"):
        try:
            versions.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            versions.append(f"no {package}")
    gpus = "".join(f", {name}" for (name,) in nvidia_smi.query("name"))
    return f"{cpu}, {os.cpu_count()} cores{gpus}; Python {platform.python_version()}, {', '.join(versions)}"
