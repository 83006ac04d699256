"""A warm start learns from right responses alone, and says what it did."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bapo.config import ConfigError, RunConfig, resolve
from bapo.config.warm_start import SupervisedRecipe, WarmStartConfig
from bapo.tasks import build_task
from tests.support.late_imports import late_imports

with late_imports():
    import torch
    from safetensors.torch import load_file

    from bapo.engines.local.policy import load_language_model
    from bapo.engines.local.supervised import Example, TrainingProgress, mean_loss, train_on
    from bapo.engines.local.warm_start import WarmStartReport, warm_start

SECTION = {"steps": 12, "batch_size": 8, "learning_rate": 1e-3}


def warm(
    config: RunConfig, out: Path, *, on_progress: Callable[[TrainingProgress], None] | None = None, **section: Any
) -> WarmStartReport:
    config = config.model_copy(update={"warm_start": WarmStartConfig(**{**SECTION, **section})})
    return warm_start(config, build_task(config.task), out, on_progress=on_progress)


def sums(folder: Path, *, solution: str | None = "{a}+{b}", name: str = "sums.jsonl") -> RunConfig:
    """A planned run on sums of two numbers, which the shipped model, made for three and four, hardly solves."""
    rows: list[dict[str, Any]] = []
    for a in range(1, 10):
        for b in range(a + 1, 12):
            row = {"prompt": f"{a} {b}={a + b}", "answer": {"nums": [a, b], "target": a + b}}
            rows.append(row if solution is None else row | {"solution": solution.format(a=a, b=b)})
    path = folder / name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    task = {"type": "file", "train_file": str(path), "verifier": "countdown"}
    rollout = {"max_prompt_tokens": 16, "max_response_tokens": 12}
    return resolve({"model": {"path": "countdown-base"}, "task": task, "rollout": rollout}).config


def test_a_model_learns_worked_solutions_and_its_folder_says_how(tmp_path: Path) -> None:
    losses: list[float] = []
    report = warm(sums(tmp_path), tmp_path / "warm", on_progress=lambda now: losses.append(now.loss))
    assert len(losses) == 12
    assert losses[-1] < losses[0]
    assert report.held_out_loss is not None
    assert report.held_out_loss_before is not None
    assert report.held_out_loss < report.held_out_loss_before
    # 9 · 11 - 45 = 54 sums of a < b: 5 are held out, and the rest learned from.
    assert report.traces is not None
    assert (report.traces.source, report.traces.num_learned, report.traces.num_held_out) == ("solutions", 49, 5)
    content = json.loads((report.folder / "warm_start.json").read_text())
    assert content["base"] == "countdown-base"
    assert content["traces"]["num_wrong"] == 0
    card = (report.folder / "README.md").read_text()
    assert "# countdown-base, warm-started" in card
    assert f"| held-out responses, after | {report.held_out_loss:.3f} |" in card
    assert (report.folder / "BASE_MODEL.md").read_text().startswith("# Countdown base model")
    loaded = load_language_model(str(report.folder), torch.device("cpu"))
    assert loaded.model.num_parameters() == report.num_parameters


def test_held_out_problems_are_evaluated_before_and_after(tmp_path: Path) -> None:
    config = sums(tmp_path)
    problems = Path(str(config.task.model_dump()["train_file"])).read_text().splitlines()
    (tmp_path / "test.jsonl").write_text("\n".join(problems[:8]))
    section = {**config.task.model_dump(), "test_files": (str(tmp_path / "test.jsonl"),)}
    config = config.model_copy(update={"task": type(config.task)(**section)})
    report = warm(config, tmp_path / "warm", steps=40, batch_size=16, learning_rate=2e-3, num_evaluated=8)
    before, after = report.evaluation_before["test"], report.evaluation["test"]
    assert (before.num_problems, before.num_samples) == (after.num_problems, after.num_samples) == (8, 4)
    assert after.avg_at_k.value > before.avg_at_k.value
    assert after.avg_at_k.low <= after.avg_at_k.value <= after.avg_at_k.high


def test_equal_arguments_make_equal_weights(tmp_path: Path) -> None:
    for name in ("first", "again"):
        warm(sums(tmp_path), tmp_path / name, steps=2, batch_size=4, num_evaluated=1)
    first, again = (load_file(tmp_path / name / "model.safetensors") for name in ("first", "again"))
    assert all(torch.equal(first[key], again[key]) for key in first)


def test_a_model_learns_its_own_right_responses_where_there_are_no_solutions(tmp_path: Path) -> None:
    config = resolve({"model": {"path": "countdown-base"}, "task": {"num_train": 64, "num_test": 4}}).config
    report = warm(config, tmp_path / "warm", num_evaluated=8)
    traces = report.traces
    assert traces is not None
    assert traces.source == "base"
    # At most two of the eight responses to each of 64 problems; the others were wrong, or as many as one is.
    assert 8 <= traces.num_learned + traces.num_held_out <= 128
    assert traces.num_wrong > 0
    assert set(report.evaluation) == {"CD-34", "CD-4"}


def test_wrong_solutions_are_not_learned_from(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        warm(sums(tmp_path, solution="{a}*{b}+1"), tmp_path / "warm")
    (problem,) = caught.value.problems
    assert (problem.field, problem.value) == ("warm_start.source", "solutions")
    assert "only 0 right responses were found (54 were judged wrong, 0 are longer" in problem.remedy
    assert not (tmp_path / "warm").exists()


def test_solutions_longer_than_a_response_may_be_are_left_out(tmp_path: Path) -> None:
    config = sums(tmp_path)
    short = config.model_copy(update={"rollout": config.rollout.model_copy(update={"max_response_tokens": 3})})
    # `3+4` and the end token are four tokens.
    with pytest.raises(ConfigError, match=r"0 were judged wrong, 54 are longer than rollout\.max_response_tokens"):
        warm(short, tmp_path / "warm")


def test_a_task_without_solutions_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"name the column of worked solutions \(task\.solution_column\)"):
        warm(sums(tmp_path, solution=None), tmp_path / "warm", source="solutions")


def test_a_folder_with_files_is_not_overwritten(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"--out = .*: the folder is not empty: name a new one"):
        warm(sums(tmp_path), tmp_path)


def test_micro_batches_change_no_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = load_language_model("countdown-base", torch.device("cpu"))
    texts = [("3 4=7", "3+4"), ("3 4 5=12", "3+4+5"), ("9 2 7=0", "9-2-7")]
    examples = [Example(*(loaded.tokenizer(text)["input_ids"] for text in pair)) for pair in texts]
    whole = mean_loss(loaded.model, examples, padding=0)
    monkeypatch.setattr("bapo.engines.local.supervised._MOST_LOGITS", 1)
    assert mean_loss(loaded.model, examples, padding=0) == pytest.approx(whole, rel=1e-5)
    recipe = SupervisedRecipe(num_steps=1, batch_size=3, learning_rate=1e-3, warm_up_steps=0)
    assert train_on(loaded.model, lambda _: examples, recipe, padding=0) == pytest.approx([whole], rel=1e-5)
