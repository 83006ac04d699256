"""Sections on what the data does: Figures 1, 7, 8, 9, 13, 14, 15 and Tables 2 and 4."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import plotly.graph_objects as go

from bapo.analysis.savings_text import SAVINGS_NOTE
from bapo.analysis.transition_results import MigrationMatrix
from bapo.figures.accuracy_counts import accuracy_counts, accuracy_counts_figure, shared_highest
from bapo.figures.cumulative_rollouts import cumulative_rollouts_data, cumulative_rollouts_figure
from bapo.figures.data_table import data_table_data, data_text
from bapo.figures.difficulty_bins import difficulty_bins_data, difficulty_bins_figure
from bapo.figures.groups import Group
from bapo.figures.migration_matrix import migration_cells, migration_matrix_figure
from bapo.figures.paper_figure_8 import batch_compositions_data, batch_compositions_figure
from bapo.figures.savings import savings_data, savings_table
from bapo.figures.seed_curves import shown
from bapo.figures.theme import Palette
from bapo.figures.time_table import time_table_data, time_text
from bapo.figures.tracked import common_steps, moved, moved_by_chance, pooled
from bapo.figures.unlock_comparison import unlock_comparison_data, unlock_comparison_figure
from bapo.report.policy_view import NO_STEPS
from bapo.report.section import (
    INTERVALS,
    Section,
    Selection,
    shown_counts,
    shown_runs,
    smoothing_note,
)

NO_TRACKING = "needs tracked prompts: set tracking.num_prompts, and let a run sample them during training."
MOST_MATRICES = 4
TITLE_MARGIN = 34


class Movement(NamedTuple):
    """A group's tracked prompts between step 0 and a later step, counted together over its runs."""

    label: str
    n: int
    before: str
    after: str
    matrix: MigrationMatrix
    chance: MigrationMatrix | None
    """The base model against itself; None where it was not sampled twice."""


def counts(selection: Selection) -> Section:
    """Build Figure 1: tracked prompts per accuracy."""
    section = Section(
        "figure-1",
        "Figure 1",
        "Tracked prompts per accuracy",
        "Which prompts become solvable? "
        "Tracked training prompts by how many of G responses are right, before training (outlines) and at the last "
        "sampling (filled); the runs of a method are counted together. Panels that count equally many prompts have one "
        "scale. Re-sampling alone moves prompts between bars: "
        "the rates next to Figure 7 say how many.",
        "After GRPO, most prompts at 0/8 are still there.",
    )
    found = [each for group in selection.groups if (each := last_movement(group)) is not None]
    if not found:
        return section._replace(needs=NO_TRACKING)

    def draw(palette: Palette) -> Sequence[go.Figure]:
        figures = []
        panels = [accuracy_counts(each.matrix, each.before, each.after) for each in found]
        for each, panel, highest in zip(found, panels, shared_highest(panels), strict=True):
            figure = accuracy_counts_figure(panel, palette, highest=highest)
            # Numbers of narrow bars stay readable.
            figure.update_traces(textfont={"size": 10}, constraintext="none", textangle=0)
            figures.append(named(figure, each))
        return figures

    return section._replace(shows=shown_counts([(each.label, each.n) for each in found]), draw=draw)


def bins(selection: Selection) -> Section:
    """Build Figures 7 and 13: accuracy of tracked prompts over training."""
    section = Section(
        "figure-7",
        "Figure 7, 13",
        "Accuracy of tracked prompts over training",
        "Do the unsolved prompts get fewer? "
        "Tracked prompts by accuracy over training, 0/G in deep red at the bottom with its share; means over seeds. "
        "The second bar is the base model sampled again: what differs there is chance.",
        "Prompts at 0/8 become visibly fewer under BAPO than under GRPO, on all three tasks.",
    )
    data = difficulty_bins_data(selection.groups)
    if not data.panels:
        return section._replace(needs=NO_TRACKING)
    return section._replace(
        shows=shown_counts([(panel.label, panel.n) for panel in data.panels]),
        draw=lambda palette: [difficulty_bins_figure(data, palette)],
    )


def unlocks(selection: Selection) -> Section:
    """Build the rates of Figure 7: unlocked and lost prompts."""
    section = Section(
        "figure-7-rates",
        "Figure 7, rates",
        "Unlocked and lost prompts",
        "How many were unlocked, beyond chance? "
        "Of the tracked prompts at 0/G before training, the share that was then solved at least once, or at least half "
        "of the time; and of the others, the share that was lost. Bars are means over seeds with 95 % t intervals, of "
        "one seed Wilson's interval over prompts. Grey: the same rates when the unchanged base model is sampled "
        "twice. Only what lies above them is learning. Dashed: the paper's share with the same method.",
        "31 % (BAPO) against 19 % (GRPO) unlocked after 3 epochs, without a chance level.",
    )
    data = unlock_comparison_data(selection.groups)
    if not data.groups:
        return section._replace(needs=NO_TRACKING)
    without = [group.label for group in data.groups if all(each.chance is None for each in group.rates)]
    note = f" No chance level for {', '.join(without)}: the base model was sampled once." if without else ""
    steps = sorted({group.step for group in data.groups})
    at = f" At step {', '.join(f'{step:,}' for step in steps)}."
    return section._replace(
        caption=section.caption + at + note,
        shows=shown_counts([(group.label, group.n) for group in data.groups]),
        draw=lambda palette: [unlock_comparison_figure(data, palette)],
    )


def composition(selection: Selection) -> Section:
    """Build Figures 8 and 14: batch composition."""
    section = Section(
        "figure-8",
        "Figure 8, 14",
        "Batch composition",
        "What were the batches made of? "
        "Groups trained on in each step: X1 fresh, X2 re-evaluated, X3 reused; means over seeds. Dashed: B, which GRPO "
        "always trains on. The share in the title is all groups trained on, of B in every step.",
        "40 to 60 % of a batch is X1; with c2 0.375 and c3 0.5 batches are about 70 % full, with 0 and 0.25 always.",
    )
    data = batch_compositions_data(selection.groups)
    if not data.panels:
        return section._replace(needs=NO_STEPS)
    return section._replace(
        caption=section.caption + smoothing_note(data.window),
        shows=shown_counts([(panel.label, panel.n) for panel in data.panels]),
        draw=lambda palette: [batch_compositions_figure(data, palette)],
    )


def rollouts(selection: Selection) -> Section:
    """Build Figure 9: rollouts generated."""
    section = Section(
        "figure-9",
        "Figure 9",
        "Rollouts generated",
        "What does it cost in rollouts? "
        "All responses generated for training, re-evaluations and dropped groups included; tracking and evaluation are "
        f"not among them. Grey: what follows from the config for GRPO, and for DAPO at its most. {INTERVALS}",
        "DAPO needs about 2.5 times as many rollouts as BAPO.",
    )
    data = cumulative_rollouts_data(selection.groups)
    if not data.curves:
        return section._replace(needs=NO_STEPS)
    note = "" if data.bounds is not None else " The runs roll out different numbers per step, so there is no one bound."
    return section._replace(
        caption=section.caption + note,
        shows=shown_counts([(curve.label, curve.n) for curve in data.curves]),
        draw=lambda palette: [cumulative_rollouts_figure(data, palette)],
    )


def times(selection: Selection) -> Section:
    """Build Table 2: cost and time."""
    section = Section(
        "table-2",
        "Table 2",
        "Training time",
        "What does it cost in time? "
        "Means over seeds, ± half the 95 % t interval. Batch size: prompts rolled out per step, groups per optimizer "
        "step. Training is the sum over all steps; with evaluation adds evaluation, tracking and checkpoints. Times "
        "compare only between runs on the same, equally busy machine.",
        "On 8 A100 GPUs, planning: BAPO 3 h 23 m, GRPO 3 h 47 m, DAPO 6 h 35 m; mathematics: 1 d 22 h 37 m, 1 d 16 h "
        "58 m, 2 d 15 h 30 m.",
    )
    groups = [group for group in selection.groups if any(run.last_step for run in group.runs)]
    if not groups:
        return section._replace(needs=NO_STEPS)
    left_out = any(run.num_left_out for run in selection.runs)
    note = " Times per step are left out where the server sampled a run's steps." if left_out else ""
    return section._replace(
        caption=section.caption + note, shows=shown_runs(groups), table=time_text(time_table_data(groups))
    )


def saved(selection: Selection) -> Section:
    """Build the savings at equal accuracy."""
    section = Section(
        "savings",
        "Savings",
        "Saved at equal accuracy",
        "What did it save? "
        "Compute hours in training steps, and their cost where the server has prices, until a run's first evaluation "
        f"that reaches the accuracy. {SAVINGS_NOTE} One run gives no interval; where a run of a method has not reached "
        "the accuracy, no share is given.",
    )
    data = savings_data(selection.groups)
    if data is None:
        return section._replace(needs="needs two groups of runs, with evaluations that reach an accuracy in both.")
    note = f" The baseline is {data.baseline}, the first group; the accuracy its mean final one, rounded down."
    return section._replace(
        caption=section.caption + note, shows=shown_runs(selection.groups), table=savings_table(data)
    )


def migration(selection: Selection) -> Section:
    """Build Figure 15: accuracy transitions."""
    section = Section(
        "figure-15",
        "Figure 15",
        "Accuracy transitions",
        "How did prompts move? "
        "Tracked prompts by accuracy before training (rows) and later (columns), 0/G first; the seeds of the method "
        "are counted together. Left of the diagonal is worse. The first matrix is the base model sampled twice: so "
        "much moves by chance alone.",
        "Almost nothing moves below the diagonal in steps 0, 150, 300 and 471.",
    )
    group, movements = _movements(selection.groups)
    if group is None:
        return section._replace(needs=NO_TRACKING)

    def draw(palette: Palette) -> Sequence[go.Figure]:
        figures = []
        for each in movements:
            cells = migration_cells(each.matrix, each.before, each.after, each.chance)
            figures.append(named(migration_matrix_figure(cells, palette), each, each.after))
        return figures

    others = [each.label for each in selection.groups if each is not group]
    note = f" Shown for {group.label}; put another method first to see it." if others else ""
    return section._replace(
        caption=section.caption + note, shows=shown_counts([(group.label, movements[0].n)]), draw=draw
    )


def datasets(selection: Selection) -> Section:
    """Build Table 4: data sets."""
    section = Section(
        "table-4",
        "Table 4",
        "Data sets",
        "What do they train and test on? "
        "Problems that the selected runs use. Grey: of sets of the paper that are read from a file, their published "
        "size, licence and repository; licences are those of the paper's table, the repository decides.",
        "Mathematics trains on 40,000 problems, planning on 49,000 and geometry on 2,100; Apache 2.0, but MIT for "
        "AIME24 and none for MATH500.",
    )
    data = data_table_data(selection.runs)
    if not data.rows:
        return section._replace(needs="needs a run whose config names its task's data, or that has been evaluated.")
    return section._replace(shows=shown_runs(selection.groups), table=data_text(data))


def last_movement(group: Group) -> Movement | None:
    """Return the movement from step 0 to the last sampling that all of the group's runs have."""
    runs = [run for run in group.runs if run.tracking]
    steps = [step for step in common_steps(runs) if step > 0]
    return _movement(group, steps[-1]) if steps else None


def _movement(group: Group, step: int) -> Movement | None:
    runs = [run for run in group.runs if run.tracking]
    matrix = pooled([moved(run, step) for run in runs])
    if matrix is None:
        return None
    chance = pooled([moved_by_chance(run) for run in runs])
    return Movement(group.label, len(runs), "step 0", f"step {step:,}", matrix, chance)


def _movements(groups: Sequence[Group]) -> tuple[Group | None, list[Movement]]:
    """Return the null and three later steps of the first group that has them, of BAPO where one is."""
    preferred = sorted(groups, key=lambda group: group.label != "BAPO")
    for group in preferred:
        runs = [run for run in group.runs if run.tracking]
        later = [step for step in common_steps(runs, MOST_MATRICES) if step > 0]
        found = [each for step in later if (each := _movement(group, step)) is not None]
        if found:
            chance = found[0].chance
            null = [Movement(group.label, len(runs), "step 0", "base again", chance, None)] if chance else []
            return group, [*null, *found]
    return None, []


def named(figure: go.Figure, movement: Movement, part: str = "") -> go.Figure:
    """Return the figure under the name of its group, and of which part of it this is."""
    title = f"{shown(movement.label)} (n = {movement.n})" + (f", {part}" if part else "")
    margin = {"l": 52, "r": 16, "t": TITLE_MARGIN + 28, "b": 40}
    return figure.update_layout(
        title={"text": title, "font": {"size": 12.5}, "x": 0, "xref": "paper", "y": 0.98, "yanchor": "top"},
        margin=margin,
    )
