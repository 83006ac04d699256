"""Problems with images are refused, before anything starts, where nothing can prepare them."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from bapo.config import ConfigError, resolve
from bapo.tasks.base import Problem, has_images
from tests.support.late_imports import late_imports

with late_imports():
    from bapo.engines.verl.vision import check_images

IMAGE = Problem("p:1", "p", "<image>?", {"text": "2"}, (b"\x89PNG\r\n\x1a\n",))
TEXT = Problem("p:2", "p", "1 + 1?", {"text": "2"})


class _Task:
    """Two problems to train on, and one held out."""

    def __init__(self, *held_out: Problem) -> None:
        self.name, self.num_reward_failures = "file", 0
        self.train, self.evaluation_sets = [TEXT, TEXT], {"held out": held_out}

    def reward(self, problem: Problem, response_text: str) -> int:
        """Not asked for."""
        raise NotImplementedError


def test_a_held_out_problem_with_an_image_counts() -> None:
    assert has_images(_Task(TEXT, IMAGE))
    assert not has_images(_Task(TEXT))


def test_packages_that_are_missing_are_named_with_the_command_that_brings_them(tmp_path: Path) -> None:
    assert find_spec("qwen_vl_utils") is None, "tests/verl/test_images.py is for environments that have it"
    config = resolve({"engine": {"type": "verl"}}).config
    check_images(config, _Task(TEXT), tmp_path)
    with pytest.raises(ConfigError, match=r"qwen-vl-utils, torchvision\. Without a GPU run `sh .*--images`"):
        check_images(config, _Task(IMAGE), tmp_path)
