"""The tables of a comparison: results, cost of an accuracy, paired differences, and config differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dash import html

from bapo.analysis.comparison import SEED_FIELDS, shown_name, value_text
from bapo.analysis.outcome_text import unsaid_note
from bapo.analysis.savings_text import SAVINGS_NOTE, Side, savings_text
from bapo.analysis.seed_disagreement import seed_disagreement_text
from bapo.api.compare import (
    ComparedRunInfo,
    Comparison,
    ConfigDifference,
    EqualBudget,
    GroupReached,
    MeanEstimate,
)
from bapo.api.difficulty import MigrationRate, MigrationSummary
from bapo.figures import formatting
from frontend.components.elements import Link
from frontend.components.text import first_line, plain
from frontend.pages.compare.cells import (
    NONE,
    Cell,
    Heading,
    Text,
    hours,
    mean,
    mean_rate,
    money,
    points,
    range_of,
    rate,
    share,
    table,
)
from frontend.pages.compare.panels import budget_text

_COSTS = (
    Heading("Rollouts", "Responses generated for training, re-evaluations and dropped groups included"),
    Heading("Time in steps", "Evaluations, waiting and pauses left out"),
    Heading("Compute", "GPU-hours; slot-hours where a run trained without a GPU"),
    Heading("Cost", "At the prices that compute hours had at the time (page Prices)"),
)
_RATES = (
    Heading("Unlocked", "Tracked prompts at 0/G before training that are above it now, next to the rate by chance"),
    Heading("≥ ½", "Tracked prompts at 0/G before training that are at one half or more now"),
    Heading("Lost", "Tracked prompts above 0/G before training that are at 0/G now"),
)


def results(comparison: Comparison) -> list[Any]:
    """Return the results of the groups, if one has several runs, and of every run."""
    parts: list[Any] = []
    note = unsaid_note(comparison.held_out_note, comparison.outcome)
    if note:
        parts.append(_remark(note))
    if comparison.budget is not None:
        text = _budgets(comparison.budget, comparison.datasets)
        parts.append(
            _remark(
                f"Equal budgets: the column “at budget” is at {text}, up to where every run was evaluated; it is "
                "interpolated between evaluations."
            )
        )
    if any(len(group.run_ids) > 1 for group in comparison.groups):
        parts.append(_group_results(comparison))
    parts.append(_run_results(comparison))
    return parts


def _budgets(budget: EqualBudget, datasets: Sequence[str]) -> str:
    """Return where each set is compared: "step 50", or "step 50 (CD-34), step 69 (CD-4)" where they differ."""
    texts = {dataset: budget_text(budget.x, budget.evaluated[dataset]) for dataset in datasets}
    if len(set(texts.values())) == 1:
        return next(iter(texts.values()))
    return ", ".join(f"{text} ({dataset})" for dataset, text in texts.items()) or budget_text(budget.x, budget.until)


def _remark(text: str) -> html.P:
    return html.P(text, className="compare-remark")


def _set_headings(comparison: Comparison) -> list[Heading]:
    found = []
    for dataset in comparison.datasets:
        found += [
            Heading(f"{dataset} base", "Before the first step"),
            Heading("final", f"Last evaluation on {dataset}"),
            *([Heading("at budget", f"{dataset} at the common budget")] if comparison.budget is not None else []),
            Heading("best", f"Best evaluation on {dataset}, which chance favours"),
            Heading("change", f"Final against base on {dataset}"),
        ]
    return found


def _group_results(comparison: Comparison) -> html.Div:
    rows = []
    for group in comparison.groups:
        cells = [Cell(shown_name(group.label), group.label, "", shown_name(group.label)), _count(len(group.run_ids))]
        by_set = {result.dataset: result for result in group.results}
        for dataset in comparison.datasets:
            result = by_set.get(dataset)
            figures: list[MeanEstimate | None] = (
                [None] * 3 if result is None else [result.base, result.final, result.best]
            )
            cells += [share(figures[0], over=""), share(figures[1], over="runs")]
            if comparison.budget is not None:
                cells.append(share(None if result is None else result.at_budget, over="runs"))
            cells += [share(figures[2], over=""), points(None if result is None else result.change, over="runs")]
        cells += [
            mean_rate(group.unlocked, group.unlocked_null),
            mean_rate(group.strictly_unlocked, group.strictly_unlocked_null),
            mean_rate(group.lost, group.lost_null),
            *_costs(group, mean, comparison),
        ]
        rows.append((group.label, cells))
    headings = [Heading("Group", is_number=False), Heading("Runs"), *_set_headings(comparison), *_RATES, *_COSTS]
    return table("results-by-group", headings, rows, "Results by group: means with 95 % intervals over runs")


def _costs(of: Any, cell: Callable[[Any, Text], Cell], comparison: Comparison) -> list[Cell]:
    """Return the cells of `_COSTS`."""
    return [
        cell(of.rollouts, formatting.count),
        cell(of.seconds, formatting.duration),
        cell(of.compute_hours, hours),
        cell(of.cost, lambda value: money(value, comparison.currency)),
    ]


def _count(number: int) -> Cell:
    return Cell(f"{number:,}", number)


def _run_results(comparison: Comparison) -> html.Div:
    headings = [
        Heading("Run", is_number=False),
        Heading("Step"),
        *_set_headings(comparison),
        *_RATES,
        Heading("Duration", "From start to end, or to now"),
        *_COSTS,
    ]
    rows = [(run.label, _run_cells(run, comparison)) for run in comparison.runs]
    return table("results-by-run", headings, rows, "Results of every run: 95 % intervals over held-out problems")


def _run_cells(run: ComparedRunInfo, comparison: Comparison) -> list[Cell]:
    cells = [_run_name(run), Cell(f"{run.step:,} / {run.num_steps:,}" if run.num_steps else f"{run.step:,}", run.step)]
    by_set = {result.dataset: result for result in run.results}
    for dataset in comparison.datasets:
        result = by_set.get(dataset)
        if result is None:
            cells += [NONE] * (5 if comparison.budget is not None else 4)
            continue
        cells += [share(result.base), share(result.final)]
        if comparison.budget is not None:
            cells.append(Cell(formatting.percent(result.at_budget), result.at_budget))
        best = share(result.best)
        cells += [best._replace(note=f"step {result.best_step:,}"), points(result.change)]
    rates, null = (None, None) if run.tracked is None else (run.tracked.rates, run.tracked.null)
    cells += [rate(now, chance) for now, chance in zip(_moves(rates), _moves(null), strict=True)]
    duration = Cell(formatting.duration(run.duration_seconds), run.duration_seconds)
    return [*cells, duration, *_costs(run.total, lambda value, text: Cell(text(value), value), comparison)]


def _moves(rates: MigrationSummary | None) -> tuple[MigrationRate | None, MigrationRate | None, MigrationRate | None]:
    return (None, None, None) if rates is None else (rates.unlocked, rates.strictly_unlocked, rates.lost)


def _run_name(run: ComparedRunInfo) -> Cell:
    link = Link(run.name, href=f"/runs/{run.id}", className="compare-link")
    note = first_line(run.notes_start)
    named = [link, html.Span(plain(note), className="compare-run-note", title=run.notes_start)] if note else link
    return Cell(named, run.name, run.status.value if run.status.value != "succeeded" else "", run.name)


def reached(comparison: Comparison) -> list[Any]:
    """Return what each group had spent at its first evaluation that reached the accuracy."""
    if comparison.reach is None:
        return [_remark("The runs have not been evaluated yet.")]
    target = f"avg@k of {formatting.percent(comparison.reach)} on {comparison.dataset}"
    headings = [Heading("Runs", is_number=False), Heading("Reached"), Heading("Step"), *_COSTS]
    rows = []
    for group in comparison.groups:
        if group.to_reach is None:
            continue
        found = group.to_reach
        cells = [
            Cell(shown_name(group.label), group.label),
            Cell(f"{found.num_reached} of {found.num_runs}", found.num_reached / found.num_runs),
            range_of(found.step, lambda value: f"{value:,.0f}"),
            *_costs(found, range_of, comparison),
        ]
        if not found.num_reached:
            cells[2] = Cell("not reached", None, _best(comparison, group.run_ids))
        rows.append((group.label, cells))
    return [
        *[_remark(text) for text in _savings(comparison)],
        table("cost-to-reach", headings, rows, f"Cost until the first evaluation with an {target}: median and range"),
    ]


def _savings(comparison: Comparison) -> list[str]:
    """Return a sentence for each group on what it saved against the reference, and how that was found."""
    baseline = next((group for group in comparison.groups if group.label == comparison.reference), None)
    others = [group for group in comparison.groups if group.label != comparison.reference and group.to_reach]
    if baseline is None or baseline.to_reach is None or not others:
        return []
    target = formatting.percent(comparison.reach)
    texts = [
        savings_text(
            target,
            _side(group.label, group.to_reach),
            _side(baseline.label, baseline.to_reach),
            group.to_reach.saved_hours,
            group.to_reach.saved_cost,
            comparison.currency,
        )
        for group in others
        if group.to_reach is not None
    ]
    return [*texts, SAVINGS_NOTE]


def _side(label: str, reached: GroupReached) -> Side:
    return Side(shown_name(label), reached.num_reached, reached.num_runs)


def _best(comparison: Comparison, run_ids: Sequence[str]) -> str:
    best = [
        run.to_reach.accuracy
        for run in comparison.runs
        if run.id in run_ids and run.to_reach is not None and run.to_reach.accuracy is not None
    ]
    return f"best {formatting.percent(max(best))}" if best else "never evaluated"


def paired(comparison: Comparison) -> list[Any]:
    """Return the difference of each group to the reference, paired by seed."""
    others = [group for group in comparison.groups if group.label != comparison.reference]
    if not others:
        return [_remark("There is only one group: nothing to compare it with.")]
    headings = [Heading("Group", is_number=False), *(Heading(dataset) for dataset in comparison.datasets)]
    (reference,) = (group for group in comparison.groups if group.label == comparison.reference)
    of_reference = {result.dataset for result in reference.results}
    rows = []
    for group in others:
        by_set = {result.dataset: result.against_reference for result in group.results}
        cells = []
        for dataset in comparison.datasets:
            found = by_set.get(dataset)
            missing = "no seed in common" if dataset in of_reference and dataset in by_set else "not evaluated by both"
            cells.append(Cell(missing) if found is None else points(found, over="seeds"))
        rows.append((group.label, [Cell(shown_name(group.label), group.label), *cells]))
    budget = comparison.budget
    what = "of the final evaluations" if budget is None else f"at {_budgets(budget, comparison.datasets)}"
    caption = f"Difference to {shown_name(comparison.reference)} {what}, paired by seed"
    return [
        _remark(f"{caption}.{_unequal(comparison)}"),
        *(_remark(text) for text in _disagreements(comparison)),
        table("paired-differences", headings, rows, caption),
    ]


def _disagreements(comparison: Comparison) -> list[str]:
    """Return a sentence for each difference about which the seeds disagree."""
    return [
        seed_disagreement_text(
            f"{shown_name(group.label)} against {shown_name(comparison.reference)} on {result.dataset}",
            result.disagreement,
        )
        for group in comparison.groups
        for result in group.results
        if result.disagreement is not None
    ]


def _unequal(comparison: Comparison) -> str:
    """Return a warning where final evaluations of different steps are compared."""
    steps = [
        result.final_step for run in comparison.runs for result in run.results if result.dataset == comparison.dataset
    ]
    if comparison.budget is not None or len(set(steps)) < 2:
        return ""
    return (
        f" These were after {min(steps):,} to {max(steps):,} steps, so part of a difference may be that one run has "
        "trained longer: “Equal budgets” compares all at the same position."
    )


MOST_CHARACTERS = 60


def config_differences(comparison: Comparison) -> list[Any]:
    """Return the fields that differ: a column for each group, with the values of its runs."""
    if not comparison.differences:
        return [_remark("The configs are the same in every field.")]
    places = {run.id: index for index, run in enumerate(comparison.runs)}
    headings = [
        Heading("Field", is_number=False),
        *(Heading(shown_name(group.label), is_number=False) for group in comparison.groups),
    ]
    # The seeds come last: they are there to differ.
    ordered = sorted(comparison.differences, key=lambda each: each.field in SEED_FIELDS)
    rows = [
        (
            "",
            [
                Cell(html.Code(each.field), each.field),
                *(_values(each, [places[run_id] for run_id in group.run_ids]) for group in comparison.groups),
            ],
        )
        for each in ordered
    ]
    return [table("config-differences", headings, rows, "Config fields in which the runs differ")]


def _values(difference: ConfigDifference, members: Sequence[int]) -> Cell:
    texts = dict.fromkeys(
        value_text(difference.values[index]) if difference.known[index] else formatting.MISSING for index in members
    )
    text = ", ".join(texts)
    shown = text if len(text) <= MOST_CHARACTERS else text[: MOST_CHARACTERS - 1] + "…"
    return Cell(shown, text, "", text)
