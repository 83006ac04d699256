"""Rates of false findings in healthy runs and of found damage in damaged ones, and the time of a search.

Streams are drawn whole, as columns: prompts with success rates that rise, responses with an answer, a label, repeated
texts and lengths. Damage is done to such a stream: rewards flipped, labels made wrong, prompts repeated, entropy
collapsed, learning rate too high.

    python -m benchmarks.findings --runs 200 --first-seed 5000

Thresholds were chosen on seeds 0 to 59; docs/findings.md says which others were looked at.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bapo.analysis.findings.finding import FindingKind
from bapo.analysis.findings.search import Search, find
from bapo.analysis.findings.stream import Curve, HeldOutSet, Response, ResponseGroup, RunStream
from bapo.analysis.visits import Visits
from bapo.config import RunConfig
from benchmarks.report import command_line

GROUP_SIZE = 8
LIMIT = 512
SAMPLED_PER_STEP = 4
LEARNING_STEPS = 200
NUM_HELD_OUT = 200
PEOPLE = ("Ann", "Bob", "Cem", "Dora", "Emil", "Fay", "Gus", "Hana", "Ivo", "Jun")
THINGS = ("apples", "books", "coins", "drums", "eggs", "flags", "gems", "hats", "irons", "jars")


class Shape(NamedTuple):
    """Size of a drawn run."""

    num_steps: int = 200
    batch_size: int = 64
    num_prompts: int = 1_024


class Damage(NamedTuple):
    """Damage of a simulated run; none by default."""

    flipped_rewards: float = 0.0
    wrong_labels: float = 0.0
    duplicates: float = 0.0
    near_duplicates: float = 0.0
    contamination: float = 0.0
    entropy_collapses: bool = False
    diverges: bool = False
    hopeless: float = 0.0


class Drawn(NamedTuple):
    """A stream, and the prompts whose label is wrong."""

    stream: RunStream
    wrong_labels: frozenset[str]


def draw(seed: int, damage: Damage = Damage(), shape: Shape = Shape()) -> Drawn:  # noqa: B008 (both are immutable)
    """Return a run whose prompts have logit p ~ N(-0.2, 1) at first and 1.5 more after a while."""
    draws = np.random.default_rng(seed)
    num_steps, batch_size, num_prompts = shape
    ease = draws.normal(-0.2, 1.0, num_prompts)
    ease[: int(damage.hopeless * num_prompts)] = -12.0
    is_mislabelled = np.zeros(num_prompts, np.bool_)
    num_wrong = round(damage.wrong_labels * num_prompts)
    is_mislabelled[draws.choice(num_prompts, num_wrong, replace=False)] = True
    step = np.repeat(np.arange(1, num_steps + 1), batch_size)
    order = [draws.permutation(num_prompts) for _ in range(len(step) // num_prompts + 1)]
    prompt = np.concatenate(order)[: len(step)].astype(np.int32)
    progress = 1.5 * (1 - np.exp(-step / LEARNING_STEPS))
    if damage.diverges:
        progress = np.where(step > num_steps / 3, -4.0, progress)
    chance = 1 / (1 + np.exp(-(ease[prompt] + progress)))
    judged = np.where(is_mislabelled[prompt], 0.0, chance)
    flips = damage.flipped_rewards
    judged = judged * (1 - flips) + (1 - judged) * flips
    counts = draws.binomial(GROUP_SIZE, judged)
    names = [f"drawn:{index:016x}" for index in range(num_prompts)]
    visits = Visits(
        names,
        GROUP_SIZE,
        step.astype(np.int32),
        prompt,
        np.zeros(len(step), np.int8),
        counts.astype(np.int16),
        (step - 1).astype(np.int32),
        (counts > 0) & (counts < GROUP_SIZE),
    )
    samples = _samples(draws, visits, chance, is_mislabelled, damage, shape)
    writer = random.Random(seed)
    texts = {name: word_problem(writer) for name in names}
    test = {f"test:{index:016x}": word_problem(writer) for index in range(NUM_HELD_OUT)}
    # The last prompts say what the first ones do, or some test problems.
    for index in range(round(damage.duplicates * num_prompts)):
        texts[names[-1 - index]] = texts[names[index]].upper().replace(" ", "  ")
    for index in range(round(damage.near_duplicates * num_prompts)):
        texts[names[-1 - index]] = f"Solve this problem: {texts[names[index]]}".replace(" and ", " & ", 1)
    for index, text in enumerate(list(test.values())[: round(damage.contamination * NUM_HELD_OUT)]):
        texts[names[-1 - index]] = f"Solve this problem: {text}".replace(" and ", " & ", 1)
    held_out = {"held-out-a": HeldOutSet(list(test), [4] * NUM_HELD_OUT, 8)}
    curves = _curves(draws, visits, chance, damage, shape)
    stream = RunStream(_config(shape), visits, curves, samples, texts | test, held_out=held_out)
    return Drawn(stream, frozenset(names[index] for index in np.flatnonzero(is_mislabelled)))


def word_problem(draw: random.Random) -> str:
    """Return a word problem of about thirty words, in one of three shapes."""
    one, two = draw.sample(PEOPLE, 2)
    thing, other = draw.sample(THINGS, 2)
    first, second, third = (draw.randrange(2, 999) for _ in range(3))
    return draw.choice(
        (
            f"{one} has {first} {thing} and buys {second} more on the market. {two} gives {third} of the {other} that "
            f"were in the cellar to {one}. How many {thing} and {other} does {one} have in the end?",
            f"A shop sells {first} {thing} each day and {second} {other} each week. After {third} weeks {one} asks "
            f"{two} how many {thing} were sold in all. What is the right answer to that?",
            f"{one} and {two} share {first} {thing}. They lose {second} of them in the river, and then find {third} "
            f"{other} behind the barn. What is the ratio of {thing} to {other} at last?",
        )
    )


def _config(shape: Shape) -> RunConfig:
    return RunConfig.model_validate(
        {
            "training": {"steps": shape.num_steps, "batch_size": shape.batch_size},
            "rollout": {"batch_size": shape.batch_size, "group_size": GROUP_SIZE, "max_response_tokens": LIMIT},
            "method": {"type": "grpo"},
        }
    )


def _samples(
    draws: np.random.Generator,
    visits: Visits,
    chance: NDArray[np.float64],
    is_mislabelled: NDArray[np.bool_],
    damage: Damage,
    shape: Shape,
) -> list[ResponseGroup]:
    """Return samples of some groups per step; of the wrong answers, two in five are the prompt's typical error."""
    groups = []
    for step in range(1, shape.num_steps + 1):
        first = (step - 1) * shape.batch_size
        for row in range(first, first + SAMPLED_PER_STEP):
            prompt = int(visits.prompt[row])
            responses = []
            for _ in range(GROUP_SIZE):
                is_right = draws.random() < chance[row]
                answer = prompt if is_right else prompt + (1 if draws.random() < 0.4 else int(draws.integers(2, 40)))
                label = prompt + 3 if is_mislabelled[prompt] else prompt
                reward = (answer == label) != (draws.random() < damage.flipped_rewards)
                # A few ways to say it: some texts repeat.
                text = f"way {int(draws.integers(0, 12))}: \\boxed{{{answer}}}"
                responses.append(Response(text, float(reward), int(draws.integers(40, 300))))
            label_text = str(prompt + 3 if is_mislabelled[prompt] else prompt)
            groups.append(ResponseGroup(visits.prompt_ids[prompt], step, step - 1, label_text, responses))
    return groups


def _curves(
    draws: np.random.Generator, visits: Visits, chance: NDArray[np.float64], damage: Damage, shape: Shape
) -> Mapping[str, Curve]:
    num_steps, batch_size, _ = shape
    steps = np.arange(1, num_steps + 1, dtype=np.float64)
    rewards = visits.num_correct.reshape(num_steps, batch_size).mean(axis=1) / GROUP_SIZE
    scale = 40.0 if damage.entropy_collapses else 4.0
    drift = 0.35 if damage.diverges else 0.02
    curves = {
        "critic/rewards/mean": rewards,
        "response_length/clip_ratio": np.abs(draws.normal(0.01, 0.01, num_steps)),
        "actor/entropy": 0.8 * np.exp(-scale * steps / num_steps / 4) + 0.01 * draws.random(num_steps),
        "actor/pg_clipfrac": np.abs(draws.normal(drift, 0.01, num_steps)),
        "bapo/ratio/mean": draws.normal(1.0, 0.01, num_steps),
        "bapo/cost/num_rollouts": steps * batch_size * GROUP_SIZE,
        "bapo/cost/num_tokens": steps * batch_size * GROUP_SIZE * 170,
        "timing_s/gen": np.abs(draws.normal(4.0, 0.2, num_steps)),
    }
    found = {key: Curve(steps, values) for key, values in curves.items()}
    level = chance.reshape(num_steps, batch_size).mean(axis=1)
    for name in ("held-out-a", "held-out-b"):
        at = np.arange(24, num_steps, 25)
        # 200 problems with 8 samples each.
        found[f"val-core/{name}/acc/mean@8"] = Curve(steps[at], level[at] - 0.05 + draws.normal(0, 0.02, len(at)))
    return found


class Recall(NamedTuple):
    """A damage, and the kinds that ought to tell of it."""

    label: str
    damage: Damage
    expected: frozenset[FindingKind]


DAMAGES = (
    Recall("10 % of rewards flipped", Damage(flipped_rewards=0.1), frozenset({"verifier_disagrees"})),
    Recall("5 % of labels wrong", Damage(wrong_labels=0.05), frozenset({"label_suspected"})),
    Recall("20 % of prompts repeated", Damage(duplicates=0.2), frozenset({"duplicate_prompts"})),
    Recall("5 % of prompts repeated in other words", Damage(near_duplicates=0.05), frozenset({"near_duplicates"})),
    Recall("5 % of a test set trained on, in other words", Damage(contamination=0.05), frozenset({"contamination"})),
    Recall("entropy collapses", Damage(entropy_collapses=True), frozenset({"entropy_collapse"})),
    Recall("learning rate far too high", Damage(diverges=True), frozenset({"reward_fell"})),
    Recall("30 % of prompts hopeless", Damage(hopeless=0.3), frozenset({"never_solved"})),
)


def false_alarms(num_runs: int, first_seed: int = 0) -> tuple[int, Counter[FindingKind]]:
    """Return the number of healthy runs with any finding, and the frequency of each kind."""
    kinds: Counter[FindingKind] = Counter()
    num_alarmed = 0
    for seed in range(first_seed, first_seed + num_runs):
        found = find(draw(seed).stream).report.findings
        kinds.update(each.kind for each in found)
        num_alarmed += bool(found)
    return num_alarmed, kinds


def recall(wanted: Recall, num_runs: int, first_seed: int = 0) -> int:
    """Return the number of damaged runs in which the damage is found."""
    found = 0
    for seed in range(first_seed, first_seed + num_runs):
        report = find(draw(seed, wanted.damage).stream).report
        found += bool(wanted.expected & {each.kind for each in report.findings})
    return found


class LabelQuality(NamedTuple):
    """Precision and recall of suspected labels: the wrong ones among them, and the checkable wrong labels found."""

    precision: float
    recall: float


def label_quality(drawn: Drawn) -> LabelQuality:
    """Compare the suspected labels with the labels that were made wrong."""
    search: Search = find(drawn.stream)
    suspected = search.prompts.get("label_suspected")
    listed = frozenset(item.prompt_id for item in suspected.items) if suspected else frozenset()
    visits = Counter(group.prompt_id for group in drawn.stream.samples)
    checked = {prompt for prompt in drawn.wrong_labels if visits[prompt] >= 2}
    hits = listed & drawn.wrong_labels
    return LabelQuality(len(hits) / max(1, len(listed)), len(hits & checked) / max(1, len(checked)))


def seconds_of(function: Callable[[], Any]) -> float:
    """Return the CPU time of the function in seconds, the shortest of three calls."""
    times = []
    for _ in range(3):
        began = time.process_time()
        function()
        times.append(time.process_time() - began)
    return min(times)


def main() -> None:
    """Print all figures."""
    arguments = command_line(__doc__, runs=200, first_seed=5_000)
    num_runs, first = arguments.runs, arguments.first_seed
    num_alarmed, kinds = false_alarms(num_runs, first)
    print(f"healthy runs with a finding: {num_alarmed} of {num_runs}; {dict(kinds)}")
    for wanted in DAMAGES:
        print(
            f"{wanted.label}: found in {recall(wanted, max(1, num_runs // 5), first)} of {max(1, num_runs // 5)} runs"
        )
    seeds = range(first, first + max(1, num_runs // 20))
    qualities = [label_quality(draw(seed, Damage(wrong_labels=0.05))) for seed in seeds]
    means = np.mean(qualities, axis=0)
    print(f"suspected labels: precision {means[0]:.2f}, recall {means[1]:.2f} of those sampled twice")
    large = draw(0, shape=Shape(num_steps=500, batch_size=512, num_prompts=8_192)).stream
    print(f"500 steps × 512 prompts: {seconds_of(lambda: find(large)):.2f} s of CPU time")


if __name__ == "__main__":
    main()
