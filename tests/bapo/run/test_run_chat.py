"""Chats with a run's models: which there are, what they answer, and what the verifier says."""

from __future__ import annotations

from pathlib import Path

import pytest

from bapo.config import ConfigError, RunConfig
from bapo.run.chat import ANSWERS, ChatError, Question, SideAnswer, answer_chat, answers_of, models_of, problem_of
from bapo.run.run_folder import claim_config
from bapo.run.trainer import train
from bapo.tasks import build_task
from tests.support.small_runs import OF_ANY_METHOD, config_of

SHORT = {**OF_ANY_METHOD, "training.steps": 2, "tracking.num_prompts": 0, "evaluation.interval": 2}
WARM = {"warm_start.steps": 2, "warm_start.batch_size": 4, "warm_start.num_answered": 24, "warm_start.num_evaluated": 2}
CONFIG = config_of(SHORT, WARM)


@pytest.fixture(scope="module")
def warm_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that has a warm start and a checkpoint."""
    folder = tmp_path_factory.mktemp("warm")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BAPO_MODELS_DIR", str(folder / "models"))
        train(folder / "run", CONFIG)
    return folder / "run"


@pytest.fixture
def models(warm_run: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = warm_run.with_name("models")
    monkeypatch.setenv("BAPO_MODELS_DIR", str(folder))
    return folder


def question(prompt: str, *sides: str, max_tokens: int = 12, temperature: float = 0.0, seed: int = 0) -> Question:
    return Question(prompt, sides or ("base", "trained"), max_tokens, temperature, seed)  # type: ignore[arg-type]


def asked(run: Path, what: Question) -> tuple[list[SideAnswer], list[SideAnswer]]:
    """The answers, and all that was shown of them meanwhile."""
    shown: list[SideAnswer] = []
    return answers_of(run, what, shown.extend), shown


def test_the_base_the_warm_start_and_the_newest_checkpoint_answer(warm_run: Path, models: Path) -> None:
    task = build_task(CONFIG.task)
    found = models_of(warm_run, CONFIG, task)
    assert [(side, model.name) for side, model in found.items()] == [
        ("base", "base"),
        ("warm_start", "warm start"),
        ("trained", "step 2"),
    ]
    assert Path(found["warm_start"].path).parent == models
    answers, shown = asked(warm_run, question(task.train[0].prompt, "base", "warm_start", "trained"))
    assert [(each.side, each.is_finished) for each in answers] == [
        ("base", True),
        ("warm_start", True),
        ("trained", True),
    ]
    # Each side is named before its model is loaded.
    assert {(each.side, each.num_tokens) for each in shown} >= {("base", 0), ("warm_start", 0), ("trained", 0)}


def test_the_prompt_of_a_problem_is_verified_held_out_ones_too(warm_run: Path, models: Path) -> None:
    task = build_task(CONFIG.task)
    held_out = next(iter(task.evaluation_sets.values()))[0]
    for problem in (task.train[0], held_out):
        assert problem_of(task, problem.prompt) == problem
        (answer,), _ = asked(warm_run, question(problem.prompt, "base"))
        assert answer.is_correct is bool(task.reward(problem, answer.text))
    (answer,), _ = asked(warm_run, question("1 2 3=6 and no problem of the task", "base"))
    assert answer.is_correct is None


def test_an_answer_is_cut_at_its_limit_and_repeats_with_its_seed(warm_run: Path, models: Path) -> None:
    (cut,), _ = asked(warm_run, question("3 7 12 11=22", "base", max_tokens=1))
    assert (cut.num_tokens, cut.is_cut) == (1, True)
    texts = [
        asked(warm_run, question("3 7 12 11=22", "base", temperature=2.0, seed=seed))[0][0].text for seed in (1, 1, 2)
    ]
    assert texts[0] == texts[1] != texts[2]


def test_what_is_missing_is_said(tmp_path: Path, warm_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    claim_config(tmp_path / "new", CONFIG)
    with pytest.raises(ChatError, match="the run has no checkpoint with a model: train it further"):
        asked(tmp_path / "new", question("1 2 3=6"))
    monkeypatch.setenv("BAPO_MODELS_DIR", str(tmp_path / "elsewhere"))
    with pytest.raises(ChatError, match="the model of the warm start is no longer on this machine"):
        asked(warm_run, question("1 2 3=6", "warm_start"))
    # Its context has 512 tokens, and a letter is one.
    with pytest.raises(ConfigError, match="as many as the model's context or more: write less"):
        asked(warm_run, question("x" * 600, "base"))


def test_a_model_that_does_not_fit_is_refused_before_it_is_loaded(
    warm_run: Path, models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Memory:
        available = 1_000_000

    monkeypatch.setattr("bapo.run.chat.psutil.virtual_memory", Memory)
    with pytest.raises(ChatError, match=r"base: this model needs up to 0.0 GiB of memory, and 0.0 GiB are free"):
        asked(warm_run, question("1 2 3=6", "base"))


def test_the_process_of_an_answer_writes_what_there_is_and_returns_a_problem(
    tmp_path: Path, warm_run: Path, models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bapo.run.chat.os.nice", lambda _: 0)
    written = tmp_path / "answers.json"
    outcome = answer_chat(warm_run, question("3 7 12 11=22"), written, 1)
    assert outcome.problem is None
    assert ANSWERS.validate_json(written.read_bytes()) == outcome.answers
    refused = answer_chat(tmp_path / "nowhere", question("3 7 12 11=22"), written, 1)
    assert refused.answers == []
    assert refused.problem is not None
    assert "it holds no config.json" in refused.problem


def test_a_run_without_a_warm_start_has_two_sides(warm_run: Path) -> None:
    plain: RunConfig = config_of(SHORT)
    assert list(models_of(warm_run, plain, build_task(plain.task))) == ["base", "trained"]
