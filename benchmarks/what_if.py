"""Time of a what-if over 471 steps x 256 prompts, the length of the paper's mathematics run.

    python -m benchmarks.what_if [--steps 471] [--prompts 256] [--pool 40192] [--repetitions 5]

The stream is made by BAPO's real batch construction over prompts of mixed difficulty that become easier; what is
measured is what a server does for one request once it has read the run: the replay, means, intervals and totals, and
the answer as JSON. `first` is what the page asks for while a control moves (4 draws of what never happened), `settled`
what it asks for when the control rests (20 draws). CPU time of the process, with the wall time. Writes
docs/benchmarks/what_if.json and what_if.md.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, astuple, dataclass
from typing import Any

import numpy as np

from bapo.analysis.visits import SOURCES, Visits
from bapo.analysis.what_if.forecast import what_if
from bapo.analysis.what_if.recording import BufferSizes, Recording
from bapo.config import RunConfig, resolve
from bapo.methods import build_method
from bapo.rollout import RolloutGroup
from benchmarks.report import command_line, table, write_report

GOAL_MILLISECONDS = 300.0
FIRST_DRAWS, SETTLED_DRAWS = 4, 20

MOVES: Mapping[str, dict[str, Any]] = {
    "nothing": {},
    "c2 and c3": {"method.c2": [0, 0], "method.c3": ["3/4", "3/4"]},
    "c1 = 1/4": {"method.c1": "1/4"},
    "m = 2": {"method.m": 2},
    "m = 1": {"method.m": 1},
    "B halved": {"training.batch_size": 128},
    "gaussian filter": {"method.filter.type": "gaussian"},
    "difficult buffer of 4,096": {"method.difficult_buffer.capacity": 4096},
    "reuse for 12 steps": {"method.high_quality_buffer.max_age_steps": 12},
    "no re-evaluation": {"method.without": ["reevaluated"]},
    "G = 4": {"rollout.group_size": 4},
    "G = 16": {"rollout.group_size": 16},
}


@dataclass(frozen=True, slots=True)
class Figures:
    """One move of the controls, measured: least over the repetitions."""

    move: str
    num_estimated: float
    first_cpu_milliseconds: float
    first_milliseconds: float
    settled_cpu_milliseconds: float
    settled_milliseconds: float
    kilobytes: float


def make_recording(config: RunConfig, num_steps: int, pool: int) -> Recording:
    """Return a recorded run under the config; each prompt has its own accuracy, which rises."""
    method, draw = build_method(config), np.random.default_rng(0)
    size, per_step = config.rollout.group_size, config.rollout.batch_size
    skill = draw.beta(0.4, 0.6, size=pool)
    ids = [f"countdown:{number:016x}" for number in range(pool)]
    number_of = {prompt_id: number for number, prompt_id in enumerate(ids)}
    order = np.arange(0)
    columns: list[list[int]] = [[] for _ in range(6)]
    sizes: list[list[float | None]] = [[], []]
    for step in range(1, num_steps + 1):
        if len(order) < per_step:
            order = draw.permutation(pool)
        fresh_ids, order = order[:per_step], order[per_step:]

        def answered(numbers: Sequence[int], step: int = step) -> list[RolloutGroup]:
            known = skill[np.array(numbers, dtype=int)]
            chances = np.clip(known + 0.75 * step / num_steps * (1 - known) * known, 0, 1)
            counts = draw.binomial(size, chances)
            return [RolloutGroup(ids[n], int(k), size, step - 1, step) for n, k in zip(numbers, counts, strict=True)]

        method.observe_fresh(step, answered(fresh_ids.tolist()))
        asked = method.prompts_to_reevaluate(step)
        batch = method.compose(step, answered([number_of[prompt_id] for prompt_id in asked]))
        method.finish_step(step)
        for column, buffer in zip(sizes, method.buffers(step), strict=True):
            column.append(buffer.size if buffer else None)
        for visit in batch.visits:
            assert visit.policy_version is not None, "our own trainer tells it"
            row = (step, number_of[visit.prompt_id], SOURCES.index(visit.source), visit.num_correct,
                   visit.policy_version, visit.in_batch)  # fmt: skip
            for values, value in zip(columns, row, strict=True):
                values.append(int(value))
    types: tuple[type[np.generic], ...] = (np.int32, np.int32, np.int8, np.int16, np.int32, np.bool_)
    arrays: list[Any] = [np.array(values, dtype) for values, dtype in zip(columns, types, strict=True)]
    return Recording(Visits(ids, size, *arrays), config, [], BufferSizes(*sizes))


def measure(recording: Recording, move: str, *, repetitions: int) -> Figures:
    """Ask as the page does, and time it."""
    times: list[tuple[float, float]] = []
    size, estimated = 0, 0.0
    for draws in (FIRST_DRAWS, SETTLED_DRAWS):
        cpu, wall = [], []
        for _ in range(repetitions):
            begin, begin_cpu = time.perf_counter(), time.process_time()
            answer = what_if(recording, MOVES[move], draws=draws)
            size = len(answer.model_dump_json())
            cpu.append(1000 * (time.process_time() - begin_cpu))
            wall.append(1000 * (time.perf_counter() - begin))
            estimated = answer.num_estimated
        times.append((min(cpu), min(wall)))
    return Figures(move, estimated, *times[0], *times[1], size / 1000)


def markdown(figures: Sequence[Figures]) -> str:
    """Return a table with one line per move."""
    heads = ["estimated re-evaluations", "first, ms of CPU", "first, ms", "settled, ms of CPU", "settled, ms", "kB"]
    rows = [[move, *(f"{value:,.0f}" for value in values)] for move, *values in map(astuple, figures)]
    return table(["moved", *heads], rows)


def main() -> None:
    """Run the benchmark."""
    options = command_line(__doc__, steps=471, prompts=256, pool=40_192, repetitions=5)
    sizes = {"batch_size": options.prompts}
    config = resolve({"rollout": sizes, "training": sizes | {"steps": options.steps}}).config
    recording = make_recording(config, options.steps, options.pool)
    begin = time.process_time()
    what_if(recording, {"method.m": 1}, draws=2)
    ready = 1000 * (time.process_time() - begin)
    figures = [measure(recording, move, repetitions=options.repetitions) for move in MOVES]
    within = [each.move for each in figures if each.first_milliseconds <= GOAL_MILLISECONDS]
    settled = [each.move for each in figures if each.settled_milliseconds <= GOAL_MILLISECONDS]
    note = (
        f"{options.steps} steps x {options.prompts} prompts of {options.pool:,}; least of {options.repetitions} "
        f"repetitions, without reading the run (done once; the first request, which also prepares the stream, took "
        f"{ready:.0f} ms of CPU). Goal: {GOAL_MILLISECONDS:g} ms. First answer (exact parts, and intervals from "
        f"{FIRST_DRAWS} draws): within the goal for {len(within)} of {len(figures)} moves. Settled answer "
        f"({SETTLED_DRAWS} draws): {len(settled)} of {len(figures)}."
    )
    results = {
        "steps": options.steps,
        "prompts": options.prompts,
        "pool": options.pool,
        "repetitions": options.repetitions,
        "goal_milliseconds": GOAL_MILLISECONDS,
        "prepare_cpu_milliseconds": ready,
        "moves": [asdict(each) for each in figures],
    }
    write_report("what_if", "What-if", results, note, markdown(figures), packages=("numpy", "pydantic"))


if __name__ == "__main__":
    main()
