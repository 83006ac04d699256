"""A task with labels that a tiny model can learn: sums of three numbers, with the answer in a box.

Countdown has no label, as many expressions are right. The shipped model is taught the form and most of the sums first.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch.nn.functional import cross_entropy
from torch.nn.utils.rnn import pad_sequence
from transformers import AutoModelForCausalLM, AutoTokenizer

from bapo.engines.local.policy import encode_problems
from bapo.engines.local.tokenizer import END_OF_TURN
from bapo.tasks.base import Problem

BASE = Path(__file__).parents[1] / "bapo" / "engines" / "models" / "countdown-base"
MOST = 12
"""Largest number of a sum."""


def labelled_rows(num_problems: int, num_wrong: int, seed: int) -> tuple[list[dict[str, Any]], set[str]]:
    """Return rows of a problem file, and the prompts whose label was made wrong by 1 or 2."""
    draw = random.Random(f"labels {seed}")
    numbers = [(a, b, c) for a in range(1, MOST + 1) for b in range(1, MOST + 1) for c in range(1, MOST + 1)]
    chosen = draw.sample(numbers, num_problems)
    rows = [{"prompt": _prompt(terms), "answer": str(sum(terms))} for terms in chosen]
    wrong = draw.sample(rows, num_wrong)
    for row in wrong:
        row["answer"] = str(int(row["answer"]) + draw.choice((-1, 1)) * draw.randint(1, 2))
    return rows, {row["prompt"] for row in wrong}


def _prompt(terms: tuple[int, int, int]) -> str:
    return "{} + {} + {} = ?".format(*terms)


def teach(folder: Path, num_steps: int, seed: int) -> None:
    """Write a model that answers in a box, taught by so many batches of 64 right sums."""
    tokenizer = AutoTokenizer.from_pretrained(BASE)
    model = AutoModelForCausalLM.from_pretrained(BASE)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    model.train()
    for batch in _batches(num_steps, seed):
        prompts = encode_problems(tokenizer, [Problem("", "sums", _prompt(terms), {}) for terms in batch])
        said = [f"\\boxed{{{sum(terms)}}}{END_OF_TURN}" for terms in batch]
        answers = tokenizer(said, add_special_tokens=False)["input_ids"]
        both = list(zip(prompts, answers, strict=True))
        ids = pad_sequence([torch.tensor([*p, *a]) for p, a in both], batch_first=True)
        labels = pad_sequence([torch.tensor([-100] * len(p) + a) for p, a in both], True, -100)
        logits = model(input_ids=ids[:, :-1]).logits
        loss = cross_entropy(logits.flatten(0, 1), labels[:, 1:].flatten(), ignore_index=-100)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def _batches(num_steps: int, seed: int) -> Iterator[list[tuple[int, int, int]]]:
    draw = random.Random(f"lessons {seed}")
    for _ in range(num_steps):
        yield [(draw.randint(1, MOST), draw.randint(1, MOST), draw.randint(1, MOST)) for _ in range(64)]
