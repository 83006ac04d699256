"""Sections on how well the policy learns: Figures 4, 5, 6, 10, 11, 12, 16 and Table 1."""

from __future__ import annotations

from collections.abc import Sequence

from bapo.config.method import methods_with
from bapo.figures.ablations import ablation_groups, ablations_data, ablations_figure
from bapo.figures.accuracy_curves import (
    accuracy_curves_data,
    accuracy_curves_figure,
    actor_critic_data,
    actor_critic_figure,
    datasets_of,
)
from bapo.figures.curve_panels import CurvePanel
from bapo.figures.group_accuracy import group_accuracy_data, group_accuracy_figure
from bapo.figures.groups import BY_METHOD, grouped
from bapo.figures.online_filters import filter_groups, online_filters_data, online_filters_figure
from bapo.figures.paper_values import ACCURACIES
from bapo.figures.results_table import results_table_data, results_text
from bapo.figures.reward_curves import (
    reward_curves_data,
    reward_curves_figure,
    training_dynamics_data,
    training_dynamics_figure,
)
from bapo.report.section import (
    INTERVALS,
    Section,
    Selection,
    shown_counts,
    shown_runs,
    smoothing_note,
)

NO_STEPS = "needs a run with at least one finished training step."
NO_EVALUATIONS = "needs evaluations: set evaluation.enabled, and let a run reach its first one."


def rewards(selection: Selection) -> Section:
    """Build Figure 4: training reward."""
    section = Section(
        "figure-4",
        "Figure 4",
        "Training reward",
        "Does the training reward rise? "
        f"Share of correct responses among the fresh rollouts of each step, task by task. {INTERVALS}",
        "BAPO rises more smoothly than GRPO and ends higher on all three tasks.",
    )
    data = reward_curves_data(selection.groups)
    if not data.tasks:
        return section._replace(needs=NO_STEPS)
    return section._replace(
        caption=section.caption + smoothing_note(data.window),
        shows=_counts(data.tasks),
        draw=lambda palette: [reward_curves_figure(data, palette)],
    )


def results(selection: Selection) -> Section:
    """Build Table 1: final test accuracy."""
    section = Section(
        "table-1",
        "Table 1",
        "Final test accuracy",
        "Which method ends best? "
        "The last evaluation of each run, in percent: mean over seeds with its 95 % t interval; of one seed the "
        "interval over problems, which says nothing about other seeds. Bold: above every other method beyond doubt, "
        "because the intervals over seeds do not touch or the paired difference over common seeds excludes 0. "
        "Underlined: second to it, above every remaining method likewise. One seed is neither. Policy: whether a "
        "method trains only on groups that the current policy has just generated.",
        "Mathematics, avg@32: BAPO 56.0, DAPO 54.2, GRPO 51.6 on average, with 733k, 1921k and 677k rollouts; the "
        "paper does not define their unit.",
    )
    data = results_table_data(selection.groups)
    if not data.datasets:
        return section._replace(needs=NO_EVALUATIONS)
    counts = [(row.label, row.n) for row in data.rows if not row.is_base]
    models = dict.fromkeys(ACCURACIES[name][0] for name, _ in data.datasets if name in ACCURACIES)
    grey = f" Grey: the paper's own, of {' and '.join(models)}, on its own problems of these sets." if models else ""
    caption = section.caption + grey + _noted(selection)
    return section._replace(caption=caption, shows=shown_counts(counts), table=results_text(data))


def _noted(selection: Selection) -> str:
    return f" {selection.held_out_note}" if selection.held_out_note else ""


def group_accuracy(selection: Selection) -> Section:
    """Build Figure 5: test accuracy by initial accuracy."""
    section = Section(
        "figure-5",
        "Figure 5",
        "Test accuracy by initial accuracy",
        "Which test problems does it learn? "
        "Accuracy of test problems by what the base model could do: nothing, less than half, or more. The evaluation "
        "at step 0 chose the groups, so that its own point is biased: part of the first rise of the unsolved, and of "
        f"the first fall of the solved, is chance. Compare methods, not points. {INTERVALS}",
        "BAPO stays above GRPO on AIME, also without any threshold to tune (mini test).",
    )
    datasets = datasets_of(selection.runs)
    if not datasets:
        return section._replace(needs=NO_EVALUATIONS)
    sets = [group_accuracy_data(selection.groups, dataset, num_samples) for dataset, num_samples in datasets]
    sets = [data for data in sets if data.panels]
    if not sets:
        return section._replace(needs="needs an evaluation of the base model, at step 0.")
    return section._replace(
        shows=_counts([panel for data in sets for panel in data.panels]),
        draw=lambda palette: [group_accuracy_figure(data, palette) for data in sets],
    )


def ablations(selection: Selection) -> Section:
    """Build Figure 6: ablations of BAPO."""
    section = Section(
        "figure-6",
        "Figure 6",
        "Ablations of BAPO",
        "Which parts of BAPO matter? "
        "Each panel varies one thing and leaves the rest as most of the complete BAPO runs have it: the intervals v "
        "and m, the parts X2 and X3 next to GRPO, and adaptive or fixed thresholds. "
        f"{INTERVALS}",
        "Stable over v and m up to extreme delays; about 21 % worse without X2; adaptive thresholds converge best.",
    )
    panels = ablation_groups(selection.runs)
    if not any(panels):
        return section._replace(
            needs="needs complete BAPO runs that differ in v, m, c1, c2 or c3, or runs without X2 or X3, or GRPO, "
            "in addition to BAPO."
        )
    data = ablations_data(panels)
    missing = [
        name
        for name, panel in zip(
            ("other v or m", "runs without X2 or X3, or GRPO", "other thresholds"), panels, strict=True
        )
        if not panel
    ]
    note = f" Panels left out, for they need: {'; '.join(missing)}." if missing else ""
    return section._replace(
        caption=section.caption + smoothing_note(data.window) + note,
        shows=_counts(data.panels),
        draw=lambda palette: [ablations_figure(data, palette)],
    )


def filters(selection: Selection) -> Section:
    """Build Figure 10: online filters."""
    section = Section(
        "figure-10",
        "Figure 10",
        "Online filters",
        "Does it matter which fresh groups are kept? "
        "Complete BAPO runs by their online filter: range keeps every group with mixed rewards, gaussian those near "
        "one half, uniform a random 60 % of all. The star is the best evaluation of any; being the best of many, it is "
        f"higher than the truth. {INTERVALS}",
        "Uniform collapses after 150 steps with exploding gradients; gaussian is faster at first, range ends highest.",
    )
    groups = filter_groups(selection.runs)
    if len(groups) < 2:
        return section._replace(
            needs="needs complete BAPO runs with at least two different method.filter.type and one config otherwise."
        )
    data = online_filters_data(groups)
    return section._replace(
        caption=section.caption + smoothing_note(data.window),
        shows=shown_runs(groups),
        draw=lambda palette: [online_filters_figure(data, palette)],
    )


def dynamics(selection: Selection) -> Section:
    """Build Figure 11: reward, entropy and response length."""
    section = Section(
        "figure-11",
        "Figure 11",
        "Reward, entropy and response length",
        "How does the policy behave while it learns? "
        f"Training reward, entropy per token and response length. An entropy near 0 no longer explores. {INTERVALS}",
        "BAPO keeps a higher entropy than GRPO and DAPO, and answers at greater length.",
    )
    data = training_dynamics_data(selection.groups)
    if not any(panel.curves for panel in data.panels):
        return section._replace(needs=NO_STEPS)
    return section._replace(
        caption=section.caption + smoothing_note(data.window),
        shows=_counts(data.panels),
        draw=lambda palette: [training_dynamics_figure(data, palette)],
    )


def accuracy(selection: Selection) -> Section:
    """Build Figure 12: test accuracy over training."""
    section = Section(
        "figure-12",
        "Figure 12",
        "Test accuracy over training",
        f"Does it generalise? avg@k on each held-out set over training; step 0 is the base model. {INTERVALS}"
        f"{_noted(selection)}",
        "BAPO and DAPO stay above GRPO on AMC, CD-4 and Geo-3K.",
    )
    data = accuracy_curves_data(selection.groups)
    if not data.datasets:
        return section._replace(needs=NO_EVALUATIONS)
    return section._replace(shows=_counts(data.datasets), draw=lambda palette: [accuracy_curves_figure(data, palette)])


def critics(selection: Selection) -> Section:
    """Build Figure 16: PPO and BA-PPO."""
    section = Section(
        "figure-16",
        "Figure 16",
        "PPO and BA-PPO",
        "Does batch adaptation help with a critic? "
        f"Test accuracy of PPO and of BA-PPO; the star is the best evaluation. {INTERVALS}",
        "AIME24 with Qwen3-4B: BA-PPO peaks at 0.325, 5.5 points above PPO.",
    )
    critics = methods_with("has_critic")
    runs = [run for run in selection.runs if run.config["method"]["type"] in critics]
    types = {str(run.config["method"]["type"]) for run in runs}
    datasets = datasets_of(runs)
    if len(types) < 2 or not datasets:
        needs = f"needs runs of two methods with a critic ({', '.join(critics)}) that have been evaluated."
        return section._replace(needs=needs)
    groups = grouped(runs, BY_METHOD)
    data = actor_critic_data(groups, *datasets[0])
    return section._replace(shows=shown_runs(groups), draw=lambda palette: [actor_critic_figure(data, palette)])


def _counts(panels: Sequence[CurvePanel]) -> str:
    counts: dict[str, int] = {}
    for panel in panels:
        for curve in panel.curves:
            counts[curve.label] = max(curve.n, counts.get(curve.label, 0))
    return shown_counts(list(counts.items()))
