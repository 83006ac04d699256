"""`bapo compare`: runs side by side, as a table."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table

from bapo.analysis.comparison import SEED_FIELDS, shown_name, value_text
from bapo.analysis.number_format import bounds_text, share_interval
from bapo.analysis.outcome_text import unsaid_note
from bapo.analysis.savings_text import Side, savings_text
from bapo.analysis.seed_disagreement import seed_disagreement_text
from bapo.api.compare import ComparedGroup, Comparison, CostSpread, MeanEstimate
from bapo.cli.connection import online
from bapo.cli.output import NOTHING, JsonOption, percent, print_framed, print_json, say
from bapo.cli.run_lookup import RunsArgument, find_runs
from bapo.client import Client


@online
def compare(
    client: Client,
    runs: RunsArgument,
    group: Annotated[
        str,
        typer.Option(help="Group by config (all but the seed), run, tags, group, or a config field such as method.c1."),
    ] = "config",
    reach: Annotated[
        float | None, typer.Option(min=0, max=1, help="Show the cost to reach this avg@k, from 0 to 1.")
    ] = None,
    dataset: Annotated[str | None, typer.Option(help="Held-out set for --reach. Default: the widest.")] = None,
    reference: Annotated[
        str | None, typer.Option(help="Group to compare with, as the tables name it. Default: the first.")
    ] = None,
    equal: Annotated[
        str | None, typer.Option(help="Compare at equal step, rollouts or time, up to the shortest run.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Compare runs: results with intervals over seeds, paired differences, costs and config differences.

    [bold]bapo compare kzx3 m2v8 --reach 0.3[/bold]
    """
    if equal not in (None, "step", "rollouts", "time"):
        raise typer.BadParameter(f"give step, rollouts or time, not {equal!r}", param_hint="--equal")
    found = client.compare(
        [run.id for run in find_runs(client, runs)],
        group=group,
        x=equal or "step",  # type: ignore[arg-type] # one of the three, as was checked
        equal=equal is not None,
        dataset=dataset,
        reach=reach,
        reference=reference,
    )
    if as_json:
        print_json(found)
        return
    if found.outcome_text:
        say(found.outcome_text)
    for table in tables(found):
        print_framed(table)
    note = unsaid_note(found.held_out_note, found.outcome)
    for text in (*disagreements(found), *saved(found), *([note] if note else [])):
        say(text)


def tables(found: Comparison) -> list[Table]:
    """Return the tables of results, costs and configs."""
    parts = [_results(found)]
    if found.reach is not None:
        parts.append(_reached(found))
    if found.differences:
        parts.append(_configs(found))
    return parts


def disagreements(found: Comparison) -> list[str]:
    """Return the differences to the reference about which the seeds disagree."""
    return [
        seed_disagreement_text(
            f"{shown_name(group.label)} against {shown_name(found.reference)} on {result.dataset}", result.disagreement
        )
        for group in found.groups
        for result in group.results
        if result.disagreement is not None
    ]


def saved(found: Comparison) -> list[str]:
    """Return the savings of each group against the reference until it reached the accuracy."""
    sides = {
        group.label: Side(shown_name(group.label), group.to_reach.num_reached, group.to_reach.num_runs)
        for group in found.groups
        if group.to_reach is not None
    }
    return [
        savings_text(
            f"{100 * (found.reach or 0):g} %",
            sides[group.label],
            sides[found.reference],
            group.to_reach.saved_hours,
            group.to_reach.saved_cost,
            found.currency,
        )
        for group in found.groups
        if group.to_reach is not None and group.label != found.reference and found.reference in sides
    ]


def _results(found: Comparison) -> Table:
    title = "Results: mean and 95 % interval over the runs of a group"
    if found.budget is not None:
        title += f"; budget: {found.budget.until:,.0f} ({found.budget.x})"
    table = Table(title=title)
    table.add_column("group")
    table.add_column("runs", justify="right")
    for dataset in found.datasets:
        shown = "at budget" if found.budget is not None else "final"
        for heading in (f"{dataset} base", shown, "change", f"against {shown_name(found.reference)}"):
            table.add_column(heading, justify="right")
    for heading in ("unlocked (chance)", "rollouts", "hours", f"cost ({found.currency})"):
        table.add_column(heading, justify="right")
    for group in found.groups:
        table.add_row(shown_name(group.label), f"{len(group.run_ids)}", *_figures(found, group), *_costs(group))
    return table


def _figures(found: Comparison, group: ComparedGroup) -> list[str]:
    by_set = {result.dataset: result for result in group.results}
    texts = []
    for dataset in found.datasets:
        result = by_set.get(dataset)
        if result is None:
            texts += [NOTHING] * 4
            continue
        last = result.at_budget if found.budget is not None else result.final
        texts += [_percent(result.base), _percent(last), _points(result.change), _points(result.against_reference)]
    return texts


def _costs(group: ComparedGroup) -> list[str]:
    unlocked = _percent(group.unlocked, bounds=False)
    if group.unlocked_null is not None:
        unlocked += f" ({_percent(group.unlocked_null, bounds=False)})"
    return [
        unlocked,
        f"{group.rollouts.value:,.0f}",
        NOTHING if group.compute_hours is None else f"{group.compute_hours.value:.2f}",
        NOTHING if group.cost is None else f"{group.cost.value:,.2f}",
    ]


def _percent(estimate: MeanEstimate | None, *, bounds: bool = True) -> str:
    if estimate is None:
        return NOTHING
    if not bounds:
        return percent(estimate.value)
    return percent(estimate.value) + (share_interval(estimate) or f" (n={estimate.n})")


def _points(estimate: MeanEstimate | None) -> str:
    if estimate is None:
        return NOTHING
    bounds = bounds_text(estimate.low, estimate.high, lambda value: f"{100 * value:+.1f}", ", ")
    return f"{100 * estimate.value:+.1f}{f' [{bounds}]' if bounds else ''} (n={estimate.n})"


def _reached(found: Comparison) -> Table:
    table = Table(title=f"To reach {100 * (found.reach or 0):g} % on {found.dataset}: median and range")
    table.add_column("group")
    for heading in ("reached", "step", "rollouts", "hours", f"cost ({found.currency})"):
        table.add_column(heading, justify="right")
    for group in found.groups:
        to_reach = group.to_reach
        if to_reach is not None:
            table.add_row(
                shown_name(group.label),
                f"{to_reach.num_reached} of {to_reach.num_runs}" if to_reach.num_reached else "not reached",
                _range(to_reach.step, ",.0f"),
                _range(to_reach.rollouts, ",.0f"),
                _range(to_reach.compute_hours, ".2f"),
                _range(to_reach.cost, ",.2f"),
            )
    return table


def _range(spread: CostSpread | None, form: str) -> str:
    if spread is None:
        return NOTHING
    text = f"{spread.median:{form}}"
    return text if spread.low == spread.high else f"{text} [{spread.low:{form}}, {spread.high:{form}}]"


def _configs(found: Comparison) -> Table:
    table = Table(title="Config fields on which the runs differ")
    table.add_column("field")
    places = {run.id: index for index, run in enumerate(found.runs)}
    for group in found.groups:
        table.add_column(shown_name(group.label))
    for each in sorted(found.differences, key=lambda difference: difference.field in SEED_FIELDS):
        texts = []
        for group in found.groups:
            values = [
                value_text(each.values[places[run_id]]) if each.known[places[run_id]] else NOTHING
                for run_id in group.run_ids
            ]
            texts.append(", ".join(dict.fromkeys(values)))
        table.add_row(each.field, *texts)
    return table
