"""`bapo chat`: what models answer to a person, before and after a run."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from tests.support.command_line import TINY, run_here

PROMPT = "3 7 12 11=22"


def test_a_model_answers_each_message(tmp_path: Path) -> None:
    said = run_here("chat", "countdown-base", "--prompt", PROMPT, "--max-tokens", "12", "--json")
    assert said.returncode == 0, said.stderr
    answered = json.loads(said.stdout)
    assert answered["prompt"] == PROMPT
    # The base model writes expressions, and its turn ends by itself.
    text = answered["answers"]["countdown-base"]
    assert text
    assert set(text) <= set("0123456789+-*/()")
    cut = run_here("chat", "countdown-base", "--prompt", PROMPT, "--prompt", "1 2 3=6", "--max-tokens", "1")
    assert f"prompt: {PROMPT}\ncountdown-base: {text[0]}" in cut.stdout
    assert "prompt: 1 2 3=6\n" in cut.stdout


def test_of_a_run_the_base_model_and_its_newest_checkpoint_answer(tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert run_here("train", "countdown-demo", "--out", run, *TINY).returncode == 0
    said = run_here("chat", run, "--prompt", PROMPT, "--max-tokens", "12", "--json")
    assert list(json.loads(said.stdout)["answers"]) == ["base", "step 4"]
    for checkpoint in (run / "checkpoints").iterdir():
        shutil.rmtree(checkpoint)
    none = run_here("chat", run, "--prompt", "hi")
    assert none.returncode == 2
    assert "it has no checkpoint with a model" in none.stderr


def test_what_cannot_answer_is_refused(tmp_path: Path) -> None:
    missing = run_here("chat", tmp_path / "nowhere", "--prompt", "hi")
    assert missing.returncode == 2
    assert "this model folder does not exist" in missing.stderr
    # Its context has 512 tokens, and a letter is one.
    long = run_here("chat", "countdown-base", "--prompt", "x" * 600)
    assert long.returncode == 2
    assert "as many as the model's context or more: write less" in long.stderr
