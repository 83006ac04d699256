"""Several settings from one checkpoint, compared on what the keyed draws make common to them.

Arms begin with the same weights, buffers and counters, and a draw depends on seed, step and purpose alone: every arm
gets the same fresh prompts at the same step and answers the same held-out problems. So an arm is paired with the
baseline problem by problem, and fresh prompt by fresh prompt; two arms with the same settings differ by exactly 0.

What one pair of forks cannot show is whether the setting made the difference: the chance of the answers that each was
trained on is in it too. Intervals over problems are thus no evidence of a setting. Those over several checkpoints are
(Student's t over their differences), and over seeds (the same, after the checkpoints of a seed are averaged).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bapo.analysis.comparison import SEED_FIELD, setting_name, value_text
from bapo.analysis.fork import fresh_prompts, held_out
from bapo.analysis.fork.results import ArmRole, ForkArm, ForkExperiment
from bapo.analysis.fork.runs import Arm, ForkPoint, ForkRun, unit_of
from bapo.analysis.number_format import counted, points_text
from bapo.analysis.outcome import outcome
from bapo.analysis.outcome_text import outcome_text
from bapo.analysis.result import MeanEstimate, PairedOver, Standing


def fork_experiment(
    arms: Sequence[Arm],
    points: Sequence[ForkPoint],
    *,
    further_steps: int,
    dataset: str | None = None,
    is_running: bool,
    is_unchanged: bool,
) -> ForkExperiment:
    """Compare the arms with the first one, the baseline.

    `dataset`: held-out set, by default the widest; `is_unchanged`: the baseline changes nothing of its parents.

    Raises ValueError for a held-out set that no run was evaluated on.
    """
    datasets = _datasets(arms)
    if dataset is not None and dataset not in datasets:
        raise ValueError(f"the runs were evaluated on {', '.join(datasets) or 'nothing yet'}: name one of these")
    dataset = dataset or next(iter(datasets), None)
    labels = arm_labels([arm.set for arm in arms], is_unchanged=is_unchanged)
    roles = [role_of(arm.set, arms[0].set, number) for number, arm in enumerate(arms)]
    tables = [
        [held_out.by_offset(run, point, dataset) for run, point in zip(arm.runs, points, strict=True)] for arm in arms
    ]
    read_at = held_out.last_common(tables, roles)
    # Noise is not on trial, and keeps nothing waiting.
    on_trial = [number for number, role in enumerate(roles) if role != "noise"]
    places = held_out.complete_places([tables[number] for number in on_trial], read_at)
    differences = [
        {} if number == 0 else held_out.differences_of(tables[0], table, points) for number, table in enumerate(tables)
    ]
    read = [[each for each in of_arm.get(read_at or 0, ()) if each.place in places] for of_arm in differences]
    unit = unit_of(each for number in on_trial for each in read[number])
    contenders = [
        held_out.contender(
            label,
            [(points[place].seed, table[place][read_at]) for place in places if read_at and read_at in table[place]],
            of_arm,
            unit,
        )
        for label, table, of_arm in zip(labels, tables, read, strict=True)
    ]
    standing = Standing(
        is_running=is_running,
        axis="step",
        position=None if read_at is None else float(read_at),
        is_cut=read_at is not None and read_at < further_steps,
        num_steps=further_steps,
        final_steps=None,
    )
    shown = outcome(dataset, [contenders[number] for number in on_trial], labels[0], standing, paired_over=unit)
    found = [
        ForkArm(
            number=number,
            label=labels[number],
            set=arm.set,
            role=roles[number],
            num_steps=_steps_done(arm, points),
            accuracy=contenders[number].accuracy,
            against_baseline=contenders[number].against_reference,
            fresh=None if number == 0 else fresh_prompts.fresh_difference(arms[0].runs, arm.runs, points),
            evaluations=held_out.accuracy_curve([held_out.since_fork(table) for table in tables[number]]),
            differences=held_out.difference_curve(differences[number]),
            training=fresh_prompts.training_curve([_since(run, point) for run, point in _present(arm, points)]),
        )
        for number, arm in enumerate(arms)
    ]
    begun = [
        (place, run, point)
        for place, point in enumerate(points)
        if (run := next((arm.runs[place] for arm in arms if arm.runs[place] is not None), None)) is not None
    ]
    return ForkExperiment(
        datasets=datasets,
        dataset=dataset,
        further_steps=further_steps,
        fork_step=points[0].step if len({point.step for point in points}) == 1 else None,
        num_checkpoints=len(points),
        read_at=read_at,
        history=[
            held_out.accuracy_curve([held_out.until_fork(held_out.by_offset(run, point, dataset))])
            for _, run, point in begun
        ],
        training_history=[fresh_prompts.training_curve([_until(run, point)]) for _, run, point in begun],
        arms=found,
        outcome=shown,
        text=_text(outcome_text(shown), found, standing),
        covers=covers(unit, shown.difference, num_checkpoints=len(points)),
        repetition=fresh_prompts.repetition(arms[0].runs, points) if is_unchanged else None,
    )


def arm_labels(sets: Sequence[Mapping[str, Any]], *, is_unchanged: bool) -> list[str]:
    """Return what each arm is called: `c1 = 0.25, v = 3`; an arm that sets nothing is `unchanged`, or `baseline` where
    all arms share changes.
    """
    fields = [field for each in sets for field in each]
    nothing = "unchanged" if is_unchanged else "baseline"
    return [
        ", ".join(f"{setting_name(field, fields)} = {value_text(value)}" for field, value in each.items()) or nothing
        for each in sets
    ]


def role_of(changes: Mapping[str, Any], baseline: Mapping[str, Any], number: int) -> ArmRole:
    """Return what an arm is for: the first is the baseline, one that differs from it in the seed alone is noise."""
    if number == 0:
        return "baseline"
    ours, theirs = ({field: each[field] for field in each if field != SEED_FIELD} for each in (changes, baseline))
    return "noise" if ours == theirs else "arm"


def _datasets(arms: Sequence[Arm]) -> list[str]:
    found = {dataset for arm in arms for run in arm.runs if run is not None for dataset in run.evaluations}
    # The widest set first: CD-34 before CD-4.
    return sorted(found, key=lambda dataset: (-len(dataset), dataset))


def _present(arm: Arm, points: Sequence[ForkPoint]) -> list[tuple[ForkRun, ForkPoint]]:
    return [(run, point) for run, point in zip(arm.runs, points, strict=True) if run is not None]


def _steps_done(arm: Arm, points: Sequence[ForkPoint]) -> int:
    if any(run is None for run in arm.runs):
        return 0
    return min(max(0, run.last_step - point.step) for run, point in _present(arm, points))


def _since(run: ForkRun, point: ForkPoint) -> Mapping[int, float]:
    return {offset: value for offset, value in fresh_prompts.fresh_means(run, point).items() if offset > 0}


def _until(run: ForkRun, point: ForkPoint) -> Mapping[int, float]:
    return {offset: value for offset, value in fresh_prompts.fresh_means(run, point).items() if offset <= 0}


# ---------------------------------------------------------------- words


def _text(sentence: str, arms: Sequence[ForkArm], standing: Standing) -> str:
    is_complete = standing.position is not None and not standing.is_running and not standing.is_cut
    sentences = [f"After {counted(standing.num_steps or 0, 'further step')}: {sentence}" if is_complete else sentence]
    sentences += [
        f"The baseline with another seed ({arm.label}) differs from it by {points_text(arm.against_baseline)}: so much "
        "comes from draws alone."
        for arm in arms
        if arm.role == "noise" and arm.against_baseline is not None
    ]
    return " ".join(sentences)


def covers(unit: PairedOver, difference: MeanEstimate | None, *, num_checkpoints: int) -> str:
    """Return what the intervals say something about, and what they do not."""
    n = 0 if difference is None else difference.n
    if unit == "seed":
        return (
            f"The interval is Student's over {counted(n, 'seed')}; several checkpoints of a seed count as their mean. "
            "It covers other seeds, but no other models, data or stages of training than these."
        )
    if unit == "checkpoint":
        return (
            f"The interval is Student's over {counted(n, 'checkpoint')} of one seed. It covers the chance of training "
            "from checkpoints like these, but not other seeds: repeat the experiment from runs of other seeds for that."
        )
    waits = " The other checkpoints have no result yet." if num_checkpoints > 1 else ""
    return (
        "Intervals are over problems and fresh prompts, for one checkpoint and seed: they cover which of them were "
        "drawn, and the chance of the answers. They do not cover the chance of training: other draws, another "
        "checkpoint or another seed might turn the difference. An experiment repeated from several checkpoints shows "
        f"that.{waits}"
    )
