"""Writes problems.jsonl and held_out.jsonl: reach a target by adding and subtracting."""

from __future__ import annotations

import json
import random
from pathlib import Path

FOLDER = Path(__file__).parent
NUM_TRAIN = 256
NUM_HELD_OUT = 64


def problems(count: int, draws: random.Random) -> dict[str, dict[str, object]]:
    """Answers by prompt."""
    found: dict[str, dict[str, object]] = {}
    while len(found) < count:
        numbers = [draws.randint(1, 12) for _ in range(3)]
        target = numbers[0] + draws.choice((1, -1)) * numbers[1] + draws.choice((1, -1)) * numbers[2]
        if 1 <= target <= 40:
            prompt = f"{' '.join(map(str, draws.sample(numbers, 3)))}={target}"
            found[prompt] = {"numbers": numbers, "target": target}
    return found


def main() -> None:
    rows = [
        json.dumps({"prompt": prompt, "answer": answer})
        for prompt, answer in problems(NUM_TRAIN + NUM_HELD_OUT, random.Random(7)).items()
    ]
    (FOLDER / "problems.jsonl").write_text("\n".join(rows[:NUM_TRAIN]) + "\n", encoding="utf-8")
    (FOLDER / "held_out.jsonl").write_text("\n".join(rows[NUM_TRAIN:]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
