"""The folder of an observed run: who may write it, its config, and what an earlier process recorded."""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bapo.config import ConfigError, ConfigProblem, RunConfig, parse_config
from bapo.config.resolve import difference, flatten
from bapo.methods.observed import ObservedConfig
from bapo.observe.observation import Observation, Sizes
from bapo.records import StepRecord
from bapo.run.journal import RECORDS_FILE, attempt_folders, read_records
from bapo.run.run_folder import CONFIG_FILE, read_config, write_atomically

OBSERVATION = "observation"
"""Key in the data of an attempt's first record whose value identifies the run."""
FOLDERS = Path("observed-runs")
"""Folder of runs whose caller names none."""


def new_folder(name: str) -> Path:
    """Return a new folder for a run of this name: two runs of one script are two runs."""
    plain = re.sub(r"[^\w.-]+", "-", name).strip("-.") or "run"
    number = 1
    while (folder := FOLDERS / (plain if number == 1 else f"{plain}-{number}")).exists():
        number += 1
    return folder


def config_of(
    own: Mapping[str, Any], *, trainer: str, trainer_version: str, reward_threshold: float, sizes: Sizes | None
) -> RunConfig:
    """Return the config of an observed run: its user's values, and its sizes once known. Raises ConfigError."""
    try:
        fields = flatten(own)
    except (AttributeError, RecursionError):
        remedy = "give a mapping that does not contain itself, such as vars(args)"
        raise ConfigError([ConfigProblem("config", type(own).__name__, remedy)]) from None
    explicit: dict[str, Any] = {
        "method": {
            "type": "observed",
            "trainer": trainer,
            "trainer_version": trainer_version,
            "reward_threshold": reward_threshold,
            "config": {_unicode(str(field))[:200]: _scalar(value) for field, value in fields.items()},
        }
    }
    if sizes is not None:
        explicit["rollout"] = {"group_size": sizes.group_size, "batch_size": sizes.batch_size}
        explicit["training"] = {"batch_size": sizes.batch_size}
    return parse_config(explicit)


def _scalar(value: Any) -> bool | int | float | str | None:
    """Return the value as JSON has it; what JSON has no word for, as Python writes it."""
    if getattr(value, "shape", None) == ():
        # One number of NumPy or PyTorch.
        value = value.item()
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int) and abs(value) < 2**53:
        return int(value)
    if isinstance(value, float) and value - value == 0:
        return float(value)
    return _unicode(str(value))[:10_000]


def _unicode(text: str) -> str:
    """Return the text with ? for halves of characters, as Python has for bytes of file names that are no UTF-8."""
    return text.encode(errors="replace").decode()


def claimed_sizes(folder: Path, config: RunConfig) -> Sizes | None:
    """Write the config of a folder that records no step yet; of one that does, the sizes of its groups.

    Raises ConfigError where the folder is that of another run.
    """
    if not (folder / CONFIG_FILE).exists():
        if attempt_folders(folder):
            remedy = f"it has attempts but no {CONFIG_FILE}, so that their config is unknown: choose another folder"
            raise ConfigError([ConfigProblem("folder", str(folder), remedy)])
        write_config(folder, config)
        return None
    theirs = read_config(folder)
    if theirs.method.is_trainable:
        remedy = "it holds a run that was trained by bapo: choose another folder"
        raise ConfigError([ConfigProblem("folder", str(folder), remedy)])
    changes = [field for field in difference(config, theirs) if field.startswith("method.")]
    if changes:
        remedy = (
            f"the run in {folder} was observed with other values of {', '.join(changes[:5])}: "
            "use those to continue it, or another folder"
        )
        raise ConfigError([ConfigProblem("folder", str(folder), remedy)])
    return sizes_of(theirs)


def sizes_of(config: RunConfig) -> Sizes | None:
    """Return the sizes of an observed run's groups; None if it has recorded no step."""
    if "rollout" not in config.model_fields_set:
        return None
    return Sizes(config.rollout.group_size, config.rollout.batch_size)


def write_config(folder: Path, config: RunConfig) -> None:
    """Replace the folder's config."""
    write_atomically(folder / CONFIG_FILE, config.model_dump_json(indent=2).encode())


def latest_step(folder: Path) -> StepRecord | None:
    """Return the step that the newest attempt with any has recorded last."""
    for attempt in reversed(attempt_folders(folder)):
        found = None
        for record in read_records(attempt / RECORDS_FILE):
            if isinstance(record, StepRecord):
                found = record
        if found is not None:
            return found
    return None


def continued(folder: Path, attempt: int, config: RunConfig) -> Observation:
    """Return an observation that adds to an earlier attempt, after the last step that it records."""
    assert isinstance(config.method, ObservedConfig), "other runs have no ranks"
    observation = Observation(attempt=attempt, reward_threshold=config.method.reward_threshold, sizes=sizes_of(config))
    if (latest := latest_step(folder)) is not None:
        observation.num_steps = latest.num_steps
        observation.resume_after(latest)
    steps = (record for record in read_records(folder / f"attempt-{attempt}" / RECORDS_FILE) if record.type == "step")
    observation.step = max((record.step for record in steps), default=0)
    return observation


def new_identity() -> str:
    """Return a unique identity of a run, which copies of its folder keep."""
    return uuid.uuid4().hex
