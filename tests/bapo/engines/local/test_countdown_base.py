"""The shipped base model is what its folder says, and the recipe makes such a model."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bapo.config import ConfigError
from bapo.config.paths import SHIPPED_MODELS
from bapo.config.task import CountdownTaskConfig
from bapo.tasks import Task, build_task
from tests.support.late_imports import late_imports

with late_imports():
    import torch
    from safetensors.torch import load_file
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, GenerationConfig

    from bapo.engines.local.countdown_base import DEMO_RANGE, MAX_RESPONSE_TOKENS, RECIPE, countdown_base
    from bapo.engines.local.model_card import model_card
    from bapo.engines.local.policy import LanguageModel, encode_problems, load_language_model
    from bapo.engines.local.supervised import TrainingProgress
    from bapo.engines.local.warm_start import evaluate

FOLDER = SHIPPED_MODELS / "countdown-base"


@pytest.fixture(scope="module")
def shipped() -> LanguageModel:
    return load_language_model("countdown-base", torch.device("cpu"))


@pytest.fixture(scope="module")
def task() -> Task:
    return build_task(CountdownTaskConfig())


@pytest.fixture(scope="module")
def summary() -> dict[str, Any]:
    content: dict[str, Any] = json.loads((FOLDER / "warm_start.json").read_text())
    return content


@pytest.mark.parametrize("dataset", ["CD-34", "CD-4"])
def test_figures_in_the_folder_are_measured_again(
    shipped: LanguageModel, task: Task, summary: dict[str, Any], dataset: str
) -> None:
    measured = evaluate(
        shipped, task, task.evaluation_sets[dataset], max_response_tokens=MAX_RESPONSE_TOKENS, with_greedy=True
    )
    stated = summary["evaluation"][dataset]
    # Equal draws, but another processor may round a log-probability to the other side of a draw now and then:
    # 1,600 responses and 200 greedy ones, of which half a percent may flip.
    assert measured.avg_at_k.value == pytest.approx(stated["avg_at_k"]["value"], abs=0.005)
    assert measured.greedy is not None
    assert measured.greedy.value == pytest.approx(stated["greedy"]["value"], abs=0.01)
    assert measured.pass_at[8].value == pytest.approx(stated["pass_at"]["8"]["value"], abs=0.01)
    assert measured.share_none_correct == pytest.approx(stated["share_none_correct"], abs=0.01)
    assert measured.share_all_correct == pytest.approx(stated["share_all_correct"], abs=0.01)


def test_training_prompts_leave_room_in_both_directions(shipped: LanguageModel, task: Task) -> None:
    measured = evaluate(shipped, task, task.train[:1000:3], max_response_tokens=MAX_RESPONSE_TOKENS)
    assert 0.15 <= measured.avg_at_k.value <= 0.30
    assert 0.25 <= measured.share_none_correct <= 0.42
    assert measured.share_all_correct >= 0.02


def test_the_model_card_states_the_same_figures(summary: dict[str, Any]) -> None:
    assert (FOLDER / "README.md").read_text() == model_card(summary)


def test_the_recipe_in_the_folder_is_the_default(summary: dict[str, Any]) -> None:
    recipe = summary["recipe"]
    assert recipe["max_number"] == DEMO_RANGE.max_number
    names = ("seed", "num_steps", "batch_size", "learning_rate")
    assert {name: recipe[name] for name in names} == {name: getattr(RECIPE, name) for name in names}


def test_the_folder_loads_where_vocabulary_and_end_token_must_fit() -> None:
    tokenizer = AutoTokenizer.from_pretrained(FOLDER)
    config = AutoConfig.from_pretrained(FOLDER)
    generation = GenerationConfig.from_pretrained(FOLDER)
    assert config.architectures == ["Qwen2ForCausalLM"]
    assert config.vocab_size == len(tokenizer)
    assert config.eos_token_id == generation.eos_token_id == tokenizer.eos_token_id
    assert config.pad_token_id == generation.pad_token_id == tokenizer.pad_token_id
    weights = load_file(FOLDER / "model.safetensors")
    assert {tensor.dtype for tensor in weights.values()} == {torch.float32}
    assert (FOLDER / "model.safetensors").stat().st_size <= 4_000_000
    assert AutoModelForCausalLM.from_pretrained(FOLDER).num_parameters() == sum(t.numel() for t in weights.values())


def test_all_prompts_and_longest_solutions_fit_the_demo(shipped: LanguageModel, task: Task) -> None:
    assert max(map(len, encode_problems(shipped.tokenizer, [*task.train, *task.evaluation_sets["CD-4"]]))) == 12
    # Four numbers, three operators, two pairs of parentheses and the end token are 12.
    assert len(shipped.tokenizer.encode("(12+11)*(10-9)<|im_end|>")) == 12 <= MAX_RESPONSE_TOKENS


@pytest.fixture
def few_held_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Evaluates what a test makes on few problems: they take longer than its training."""
    monkeypatch.setattr(
        "bapo.engines.local.countdown_base.build_task",
        lambda config: build_task(config.model_copy(update={"num_test": 8})),
    )


@pytest.mark.usefixtures("few_held_out")
def test_the_recipe_makes_a_folder_that_loads_and_learns(tmp_path: Path) -> None:
    seen: list[TrainingProgress] = []
    recipe = replace(RECIPE, num_steps=12, batch_size=16)
    report = countdown_base(tmp_path / "model", recipe, on_progress=seen.append)
    assert [progress.step for progress in seen] == list(range(1, 13))
    assert seen[-1].loss < seen[0].loss
    assert report.final_loss == pytest.approx(sum(progress.loss for progress in seen) / 12)
    assert {entry.name for entry in report.folder.iterdir()} == {entry.name for entry in FOLDER.iterdir()}
    loaded = load_language_model(str(report.folder), torch.device("cpu"))
    assert loaded.model.num_parameters() == report.num_parameters


@pytest.mark.usefixtures("few_held_out")
def test_equal_seeds_make_equal_models_and_leave_the_callers_draws_alone(tmp_path: Path) -> None:
    torch.manual_seed(7)
    expected = torch.rand(1)
    torch.manual_seed(7)
    for name, seed in (("first", 1), ("again", 1), ("other", 2)):
        countdown_base(tmp_path / name, replace(RECIPE, seed=seed, num_steps=2, batch_size=4))
    assert torch.equal(torch.rand(1), expected)
    first, again, other = (load_file(tmp_path / name / "model.safetensors") for name in ("first", "again", "other"))
    assert all(torch.equal(first[key], again[key]) for key in first)
    assert not all(torch.equal(first[key], other[key]) for key in first)


def test_a_folder_with_files_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("keep")
    with pytest.raises(ConfigError, match="the folder is not empty: name a new one"):
        countdown_base(tmp_path)
