"""Cost of composing BAPO's batches, from the demo's size up to 8,192 groups and buffers of 100,000 entries.

    python -m benchmarks.batch_construction [--steps 20] [--repetitions 5]

Times what the loop calls its `batch` phase: thresholds, storing, choosing prompts to answer again, X1 ∪ X2 ∪ X3,
finishing the step. Both buffers are full, and prompts are answered again in every step, so the figures are the worst
steps of a run. CPU time of the process. Writes docs/benchmarks/batch_construction.json and batch_construction.md.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import median

from bapo.config import resolve
from bapo.methods import Method, build_method
from bapo.rollout import RolloutGroup
from benchmarks.report import command_line, table, write_report

GOAL_MICROSECONDS = 5.0
"""Per group that a step generates, with the paper's limit of three steps on reuse."""
UNLIMITED = 1_000_000


@dataclass(frozen=True, slots=True)
class Size:
    """B fresh prompts of G responses a step, the capacity of both buffers, and how long a group may be reused."""

    batch_size: int
    group_size: int
    capacity: int
    max_age_steps: int = 3


SIZES = (
    Size(32, 8, 32),
    Size(256, 8, 256),
    Size(256, 8, 100_000),
    Size(256, 8, 100_000, max_age_steps=UNLIMITED),
    Size(2048, 16, 2048),
    Size(8192, 64, 8192),
    Size(8192, 64, 100_000),
    Size(8192, 64, 100_000, max_age_steps=UNLIMITED),
)


@dataclass(frozen=True, slots=True)
class Figures:
    """One size, measured."""

    batch_size: int
    group_size: int
    max_age_steps: int
    num_difficult: int
    """Prompts in the difficult buffer."""
    num_stored: int
    """Groups in the high-quality buffer."""
    num_generated: int
    """Fresh and re-evaluated groups per step, median."""
    milliseconds_per_step: float
    """Median over the steps, least over the repetitions."""

    @property
    def microseconds_per_generated_group(self) -> float:
        """Cost of a step per generated group, in microseconds."""
        return 1000 * self.milliseconds_per_step / self.num_generated

    @property
    def microseconds_per_group(self) -> float:
        """Cost per group that is generated or buffered: every step goes through the candidates of X3."""
        return 1000 * self.milliseconds_per_step / (self.num_generated + self.num_difficult + self.num_stored)


def build(size: Size) -> Method:
    """Build BAPO with thresholds that put every group of the filling steps into one of the buffers."""
    buffer = {"capacity": size.capacity}
    explicit = {
        "method": {
            "type": "bapo",
            "m": 1,
            "c1": 0.25,
            "c2": [0.25, 0.25],
            "c3": [0.75, 0.75],
            "max_reevaluated_prompts": size.batch_size // 2,
            "difficult_buffer": buffer,
            "high_quality_buffer": buffer | {"max_age_steps": size.max_age_steps},
        },
        "rollout": {"group_size": size.group_size, "batch_size": size.batch_size},
        "training": {"batch_size": size.batch_size, "steps": 1},
    }
    return build_method(resolve(explicit).config)


def groups(prompt_ids: Sequence[str], accuracies: Sequence[float], size: Size, step: int) -> list[RolloutGroup]:
    """Return one group per prompt, with accuracies drawn from those given."""
    draw = random.Random(step)
    return [
        RolloutGroup(prompt_id, round(draw.choice(accuracies) * size.group_size), size.group_size, step - 1, step)
        for prompt_id in prompt_ids
    ]


def fresh_ids(size: Size, step: int) -> list[str]:
    """Return prompt identifiers as long as real ones, each only once."""
    return [f"countdown:{step:06x}{index:010x}" for index in range(size.batch_size)]


def measure(size: Size, *, num_steps: int) -> Figures:
    """Fill both buffers, then time `num_steps` steps."""
    method = build(size)
    filling_steps = 2 * size.capacity // size.batch_size + 1
    for step in range(1, filling_steps + 1):
        method.observe_fresh(step, groups(fresh_ids(size, step), (0.0, 0.5), size, step))
        method.compose(step, ())
        method.finish_step(step)
    accuracies = [k / 8 for k in range(9)]
    seconds, generated = [], []
    for step in range(filling_steps + 1, filling_steps + 1 + num_steps):
        fresh = groups(fresh_ids(size, step), accuracies, size, step)
        begin = time.process_time()
        method.thresholds()
        method.observe_fresh(step, fresh)
        asked = method.prompts_to_reevaluate(step)
        first = time.process_time() - begin
        answers = groups(asked, accuracies, size, step)
        begin = time.process_time()
        method.compose(step, answers)
        method.finish_step(step)
        seconds.append(first + time.process_time() - begin)
        generated.append(len(fresh) + len(answers))
    difficult, stored = (state.size for state in method.buffers(step) if state is not None)
    return Figures(
        size.batch_size,
        size.group_size,
        size.max_age_steps,
        difficult,
        stored,
        round(median(generated)),
        1000 * median(seconds),
    )


def markdown(figures: Sequence[Figures]) -> str:
    """Return a table with one line per size."""
    heads = ["B", "G", "difficult prompts held", "groups stored", "reused for", "generated per step", "ms per step"]
    heads += ["µs per generated group", "µs per group generated or held"]
    rows = [
        [
            f"{each.batch_size:,}",
            f"{each.group_size}",
            f"{each.num_difficult:,}",
            f"{each.num_stored:,}",
            "any time" if each.max_age_steps == UNLIMITED else f"{each.max_age_steps} steps",
            f"{each.num_generated:,}",
            f"{each.milliseconds_per_step:.2f}",
            f"{each.microseconds_per_generated_group:.2f}",
            f"{each.microseconds_per_group:.2f}",
        ]
        for each in figures
    ]
    return table(heads, rows)


def main() -> None:
    """Run the benchmark."""
    options = command_line(__doc__, steps=20, repetitions=5)
    figures = [
        min(
            (measure(size, num_steps=options.steps) for _ in range(options.repetitions)),
            key=lambda each: each.milliseconds_per_step,
        )
        for size in SIZES
    ]
    slowest = max(each.microseconds_per_generated_group for each in figures if each.max_age_steps < UNLIMITED)
    verdict = "reached" if slowest <= GOAL_MICROSECONDS else "missed"
    note = (
        "CPU time of thresholds, storing, choosing prompts to answer again, X1 ∪ X2 ∪ X3 and finishing the step: "
        f"median of {options.steps} steps with a re-evaluation in each, least of {options.repetitions} repetitions. "
        f"Goal: at most {GOAL_MICROSECONDS:g} µs per generated group where groups are reused for three steps, as in "
        f"the paper: {verdict} (largest: {slowest:.2f} µs). Where their age is not limited, every step looks through "
        "all groups stored."
    )
    results = {
        "steps": options.steps,
        "repetitions": options.repetitions,
        "goal_microseconds_per_group": GOAL_MICROSECONDS,
        "sizes": [
            asdict(each)
            | {
                "microseconds_per_generated_group": each.microseconds_per_generated_group,
                "microseconds_per_group": each.microseconds_per_group,
            }
            for each in figures
        ],
    }
    write_report("batch_construction", "Batch construction", results, note, markdown(figures), packages=("pydantic",))


if __name__ == "__main__":
    main()
