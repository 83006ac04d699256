"""The warm start of a run: its model is made once on a machine, and kept for every run that needs the same one."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from bapo.config import RunConfig
from bapo.config.plugins import is_file_reference
from bapo.pretrained.folders import folder_of, keep, local_model
from bapo.pretrained.hub_model import licence_of
from bapo.run.lasting_modules import lasting_modules
from bapo.tasks.base import Task

OWNER = "warm-start"
"""First part of the names of models that warm starts made, as `bapo model list` shows them."""
_ODD = re.compile(r"[^A-Za-z0-9_.-]+")
_SOURCES = {"solutions": "worked solutions", "base": "right responses of the base model"}


class WarmModel(NamedTuple):
    """The model of a warm start, on this machine."""

    folder: Path
    is_new: bool
    """False where an earlier run made it."""
    summary: Mapping[str, Any]
    """Content of its `warm_start.json`, without the task."""

    @property
    def message(self) -> str:
        """One sentence for people: the figures before and after."""
        said, traces = self.summary, self.summary["traces"]
        changes = [f"held-out loss {said['held_out_loss_before']:.3f} → {said['held_out_loss']:.3f} nats per token"]
        for name, after in said["evaluation"].items():
            before = said["evaluation_before"][name]["avg_at_k"]
            changes.append(
                f"{name} avg@{after['num_samples']} {before['value']:.1%} → {after['avg_at_k']['value']:.1%} "
                f"(95 % interval {after['avg_at_k']['low']:.1%} to {after['avg_at_k']['high']:.1%})"
            )
        made = "" if self.is_new else "reused from an earlier run: "
        return (
            f"{made}{said['recipe']['num_steps']} steps on {traces['num_learned']:,} {_SOURCES[traces['source']]} in "
            f"{said['wall_seconds']:.0f} s: {', '.join(changes)}"
        )


def warm_model(
    config: RunConfig, task: Task, *, begin: Callable[[], None], check: Callable[[], None] = lambda: None
) -> WarmModel:
    """Return the model of the config's warm start, made here where this machine does not have it yet.

    `begin` is called before it is made; `check` is called often meanwhile, and what it raises ends the making with
    nothing kept. Raises ConfigError where the model or the data cannot be used, OSError where the disk refuses.
    """
    with lasting_modules("torch"):
        from bapo.engines.local.memory import release_unused  # noqa: PLC0415  (torch takes seconds to import)
        from bapo.engines.local.policy import model_folder  # noqa: PLC0415
        from bapo.engines.local.warm_start import SUMMARY_FILE, warm_start  # noqa: PLC0415

    def fill(folder: Path) -> None:
        begin()
        warm_start(config, task, folder, on_progress=lambda _: check(), say=lambda _: check())
        # The engine, or verl's processes, need it.
        release_unused()

    base = model_folder(config.model.path)
    known = local_model(base)
    folder, is_new = keep(
        _name(config, task, base),
        fill,
        source=f"{OWNER} of {base.name}",
        licence=known.licence if known else licence_of(base),
    )
    summary = json.loads((folder / SUMMARY_FILE).read_text(encoding="utf-8"))
    return WarmModel(folder, is_new, {key: value for key, value in summary.items() if key != "task"})


def kept_warm_model(config: RunConfig, task: Task) -> Path | None:
    """Return the folder of the model that the config's warm start made on this machine; None where it is not here."""
    from bapo.engines.local.policy import model_folder  # noqa: PLC0415  (torch takes seconds to import)

    return folder_of(_name(config, task, model_folder(config.model.path)))


def _name(config: RunConfig, task: Task, base: Path) -> str:
    return f"{OWNER}/{_ODD.sub('-', base.name)}-{_digest(config, task, base)[:12]}"


def _digest(config: RunConfig, task: Task, base: Path) -> str:
    """Return the SHA-256 of all that the model depends on."""
    section, digest = config.task, hashlib.sha256()
    settings = {
        "warm_start": config.warm_start.model_dump(mode="json"),
        "task": section.model_dump(mode="json"),
        "max_response_tokens": config.rollout.max_response_tokens,
        # The files that the task names may change under their names.
        "problems": [(problem.prompt_id, problem.solution, problem.answer) for problem in task.train],
    }
    digest.update(json.dumps(settings, sort_keys=True, default=str).encode())
    verifier = [Path(section.verifier.rpartition(":")[0])] if is_file_reference(section.verifier) else []
    for path in [*verifier, *sorted(path for path in base.iterdir() if path.is_file())]:
        with path.open("rb") as file:
            digest.update(f"\n{path.name} {hashlib.file_digest(file, 'sha256').hexdigest()}".encode())
    return digest.hexdigest()
