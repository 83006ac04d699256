"""Requirements of a task with images on the environment and the model, checked before anything starts."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from transformers import AutoProcessor

from bapo.config import ConfigError, ConfigProblem, RunConfig
from bapo.tasks.base import Task, has_images

_PACKAGES = {"qwen_vl_utils": "qwen-vl-utils", "torchvision": "torchvision"}


def check_images(config: RunConfig, task: Task, folder: Path) -> None:
    """Raise ConfigError for a task with images where their packages are missing or the model reads text alone."""
    if not has_images(task):
        return
    if missing := [package for module, package in _PACKAGES.items() if find_spec(module) is None]:
        remedy = (
            f"not installed where verl is: {', '.join(missing)}. Without a GPU run `sh scripts/setup_verl.sh --images` "
            "and set BAPO_VERL_PYTHON=.venv-verl-images/bin/python; with one, the extra [verl] brings them"
        )
        raise _problem("engine.type", config.engine.type, remedy)
    try:
        processor = AutoProcessor.from_pretrained(folder, local_files_only=True)  # type: ignore[no-untyped-call]
    except Exception:
        # What a foreign file makes a foreign library raise is of any kind.
        processor = None
    if getattr(processor, "image_processor", None) is None:
        remedy = "no image processor can be loaded from there: choose a vision model, such as Qwen2.5-VL"
        raise _problem("model.path", config.model.path, remedy)


def _problem(field: str, value: object, remedy: str) -> ConfigError:
    return ConfigError([ConfigProblem(field, value, f"the problems have images, and {remedy}")])
