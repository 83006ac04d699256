"""The catalogue's real model: fetched by the command, it speaks, ends its turns, and is trained by its name."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.command_line import run_here
from tests.support.late_imports import late_imports

with late_imports():
    import torch

    from bapo.engines.local.policy import LanguageModel, encode_problems, load_language_model
    from bapo.tasks import Problem

pytestmark = pytest.mark.model
NAME = "smollm2-135m"


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of models, with the one that the command has fetched."""
    folder = tmp_path_factory.mktemp("models")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BAPO_MODELS_DIR", str(folder))
        got = run_here("model", "get", NAME)
        if got.returncode == 3:
            pytest.skip(f"no index to download from: {got.stderr}")
        assert got.returncode == 0, got.stderr
        assert got.stdout == f"fetched, licence Apache-2.0: set model.path = {NAME}\n"
        yield folder


@pytest.fixture(scope="module")
def model(models: Path) -> LanguageModel:
    torch.set_num_threads(1)
    return load_language_model(NAME, torch.device("cpu"))


def test_it_answers_in_its_chat_and_ends_its_turn(model: LanguageModel) -> None:
    (prompt,) = encode_problems(
        model.tokenizer, [Problem("capital", "geography", "What is the capital of France?", {})]
    )
    written: Any = model.model.generate(torch.tensor([prompt]), max_new_tokens=20, do_sample=False)  # type: ignore[operator]
    assert model.tokenizer.decode(written[0, len(prompt) :]) == "The capital of France is Paris.<|im_end|>"


def test_every_digit_is_a_token_and_every_text_comes_back(model: LanguageModel) -> None:
    text = "12 + 345 = 357; \n\n\u00fcber \u4f60\u597d \U0001f600"
    ids = model.tokenizer(text)["input_ids"]
    assert model.tokenizer.decode(ids) == text
    assert model.tokenizer.convert_ids_to_tokens(ids)[:4] == ["1", "2", "\u0120+", "\u0120"]


def test_it_is_trained_by_its_name_and_removed(models: Path, tmp_path: Path) -> None:
    data = tmp_path / "sums.jsonl"
    data.write_text("".join(json.dumps({"prompt": f"{n} + 1 = ?", "answer": str(n + 1)}) + "\n" for n in range(9)))
    settings = {
        "model.path": NAME,
        "task.type": "file",
        "task.train_file": data,
        "method.type": "grpo",
        "rollout.max_prompt_tokens": 64,
        "rollout.max_response_tokens": 8,
        "rollout.batch_size": 2,
        "rollout.group_size": 2,
        "training.batch_size": 2,
        "training.steps": 1,
        "tracking.num_prompts": 0,
    }
    options = [part for field, value in settings.items() for part in ("--set", f"{field}={value}")]
    trained = run_here("train", "countdown-demo", "--out", tmp_path / "run", *options)
    assert trained.returncode == 0, trained.stderr
    assert json.loads(trained.stdout)["num_rollouts"] == 4
    assert run_here("model", "remove", NAME).returncode == 0
    assert {path.name for path in models.iterdir()} == {f".{NAME}.lock"}
