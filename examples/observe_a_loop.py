"""Watch a loop of your own: three lines record it, and `bapo import` or a server shows it.

    python examples/observe_a_loop.py [FOLDER]

The "policy" here is a table of chances that grow with training; no model and no PyTorch.
"""

from __future__ import annotations

import random
import sys

from bapo import observe
from bapo.observe import Group

STEPS, PROMPTS_PER_STEP, GROUP_SIZE = 40, 16, 8
LEARNING_RATE = 0.05


def main() -> None:
    """Train for some steps and record each."""
    draw = random.Random(0)
    chances = {f"What is {a} + {b}?": draw.random() ** 2 for a in range(8) for b in range(8)}
    folder = sys.argv[1] if len(sys.argv) > 1 else None
    with observe.run("addition", config={"learning_rate": LEARNING_RATE}, folder=folder, num_steps=STEPS) as run:
        for step in range(1, STEPS + 1):
            prompts = draw.sample(sorted(chances), PROMPTS_PER_STEP)
            groups = []
            for prompt in prompts:
                rewards = [float(draw.random() < chances[prompt]) for _ in range(GROUP_SIZE)]
                responses = ["right" if reward else "wrong" for reward in rewards]
                groups.append(Group(prompt, rewards, responses, policy_version=step - 1))
                # Only a group with both teaches anything.
                if 0 < sum(rewards) < GROUP_SIZE:
                    chances[prompt] += LEARNING_RATE * (1 - chances[prompt])
            run.step(step, groups=groups, metrics={"actor/lr": LEARNING_RATE}, sources="addition")
    print(f"recorded {STEPS} steps in {run.folder}; show them by: bapo import {run.folder}")


if __name__ == "__main__":
    main()
