"""Problems with images on verl: rollout, update, checkpoint and resume, with a tiny vision-language model."""

from __future__ import annotations

import json
from math import exp
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from bapo.config import ConfigError, RunConfig, resolve
from bapo.engines.base import Policy
from bapo.rollout import RolloutGroup
from bapo.tasks import build_task
from tests.verl.comparing import rows
from tests.verl.short_runs import BATCH_SIZE, GROUP_SIZE, NUM_STEPS, assert_it_trained, train_on

SIDE = 56
"""Pixels of a square image: 4 × 4 patches of 14, of which 2 × 2 become one token."""
TOKENS_PER_IMAGE = 4
COLOURS = ("red", "green", "blue", "yellow", "black", "white", "orange", "purple")
VERIFIER = """\"\"\"What an untrained model gets right half of the time.\"\"\"


def reward(problem, response):
    return len(response) % 2
"""


def _data(folder: Path) -> Path:
    """24 problems of one image each; the colours of the two halves differ from problem to problem."""
    lines = []
    for number in range(24):
        image = Image.new("RGB", (SIDE, SIDE), COLOURS[number % 8])
        image.paste(COLOURS[number // 8], (0, 0, SIDE // 2, SIDE))
        image.save(folder / f"{number}.png")
        lines.append({"prompt": "<image>Which colour?", "answer": COLOURS[number % 8], "images": [f"{number}.png"]})
    path = folder / "problems.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "verifier.py").write_text(VERIFIER)
    return path


def _config(folder: Path, **engine: Any) -> RunConfig:
    return resolve(
        {
            "model": {"path": str(folder / "model")},
            "task": {
                "type": "file",
                "train_file": str(folder / "problems.jsonl"),
                "verifier": f"{folder / 'verifier.py'}:reward",
            },
            "engine": {"type": "verl", **engine},
            "method": {"type": "bapo", "v": 2, "m": 2, "c1": 0.25, "c2": [0.25, 0.5], "c3": [0.5, 0.75]},
            "rollout": {
                "batch_size": BATCH_SIZE,
                "group_size": GROUP_SIZE,
                "max_prompt_tokens": 64,
                "max_response_tokens": 12,
            },
            "training": {
                "batch_size": BATCH_SIZE,
                "steps": NUM_STEPS,
                "checkpoint_interval": 100,
                "learning_rate": 1e-3,
            },
            "tracking": {"num_prompts": 0},
            "evaluation": {"enabled": False},
        }
    ).config


def _images(group: RolloutGroup, engine: Any) -> tuple[int, Any]:
    """How many tokens of the group's first prompt are its image's, and the pixels that go with it."""
    data = rows([group])
    (image,) = engine._tokenizer.encode("<|image_pad|>")
    prompt, inputs = data["prompts"].unbind()[0], data["multi_modal_inputs"][0]
    return int((prompt == image).sum()), getattr(inputs, "data", inputs)["pixel_values"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Model and data."""
    folder = tmp_path_factory.mktemp("vision")
    _data(folder)
    # Not before the environment of verl is set.
    from tests.verl.vision_model import make_vision_model  # noqa: PLC0415

    make_vision_model(folder / "model")
    return folder


def test_a_model_that_reads_text_alone_is_refused_before_anything_starts(folder: Path) -> None:
    from bapo.run.engine import build_engine  # noqa: PLC0415

    config = _config(folder)
    config = config.model_copy(update={"model": config.model.model_copy(update={"path": "countdown-base"})})
    with pytest.raises(ConfigError, match=r"model\.path = 'countdown-base': .* no image processor can be loaded"):
        build_engine(config, build_task(config.task))


def test_problems_with_images_train_stop_and_resume(folder: Path, tmp_path: Path) -> None:
    from bapo.run.engine import build_engine  # noqa: PLC0415

    config = _config(folder)
    engine = build_engine(config, build_task(config.task))
    try:
        task = build_task(config.task)
        groups = engine.generate(task.train[:2], group_size=1, policy=Policy.CURRENT, step=1, purpose="images").groups
        seen = [_images(group, engine) for group in groups]
        assert [tokens for tokens, _ in seen] == [TOKENS_PER_IMAGE] * 2
        assert not seen[0][1].equal(seen[1][1])
        records = train_on(engine, config, tmp_path / "run")
        assert_it_trained(records, config, tmp_path / "run")
        gaps = [
            record.update.logprob_gap for record in records if record.update is not None and record.update.logprob_gap
        ]
        # vLLM and the training processes each prepare the images, and agree but for what verl bars from being
        # sampled: the placeholders of an image and of a video, 2 of 356 tokens. Were all equally likely, Δ would be
        # -ln(1 - 2/356) = 0.0056; logits of these weights spread by 0.02 · √128 = 0.23, so it is that times e^±0.5.
        assert gaps
        assert all(0.0056 * exp(-0.5) < gap.mean <= gap.max < 0.0056 * exp(0.5) for gap in gaps), gaps
    finally:
        engine.close()
