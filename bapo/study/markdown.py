"""A study's report as Markdown: the form in which it is committed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from bapo.analysis.number_format import counted
from bapo.study import tables
from bapo.study.results import StudyDifference, StudyRegimeReport, StudyReport
from bapo.study.sections import sections_of
from bapo.study.tables import Cell, Table


def markdown(report: StudyReport) -> str:
    """Format the whole report as Markdown."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: StudyReport) -> Iterator[str]:
    yield f"# {text(report.title)}"
    yield ""
    yield text(report.question)
    if report.expectation:
        yield f"\nExpected before the first run: {text(report.expectation)}"
    yield from _primary(report)
    yield from _undone(report)
    yield from _facts(report)
    for regime in report.regimes:
        if len(report.regimes) > 1 or regime.title:
            yield f"\n## {text(regime.name)}"
            if regime.title:
                yield f"\n{text(regime.title)}"
        level = "###" if len(report.regimes) > 1 or regime.title else "##"
        yield from _regime(report, regime, level)
    yield from _tuning(report)
    yield from _arms(report)
    yield from _runs(report)


# ---------------------------------------------------------------- the head


def _primary(report: StudyReport) -> Iterator[str]:
    yield "\n## The primary comparison"
    yield f"\nDeclared before the first run: {text(report.primary_words)}."
    yield f"\n**{primary_result(report.primary)}**"


def primary_result(found: StudyDifference) -> str:
    """Return the primary comparison's outcome in one sentence."""
    if found.difference is None:
        return "No result: no seed has an ended run of both arms."
    size = "" if found.effect_size is None else f", effect size d = {found.effect_size:+.2f}"
    ends = {
        "higher": f"{found.arm} is higher",
        "lower": f"{found.arm} is lower",
        "open": "the interval holds 0, so that neither is shown to be better",
        "unknown": f"{_why_no_interval(found.difference.n)} no interval, so that nothing is shown",
    }
    seeds = counted(found.difference.n, "seed")
    return f"{tables.points(found.difference)} points over {seeds}{size}: {ends[found.verdict]}."


def _why_no_interval(num_seeds: int) -> str:
    return "one seed gives" if num_seeds == 1 else "seeds that all differ by the same give"


def _undone(report: StudyReport) -> Iterator[str]:
    done = sum(run.state == "done" for run in report.runs)
    yield "\n## What was run and what was not"
    yield f"\n{done} of {len(report.runs)} declared runs are done" + (
        "." if report.is_complete else "; not in the figures:"
    )
    if not report.is_complete:
        yield ""
        yield from (f"- {text(line)}" for line in undone_lines(report))
    if report.held_out_note:
        yield f"\n{text(report.held_out_note)}"
    for amendment in report.amendments:
        aside = f"; {counted(amendment.num_set_aside, 'run')} set aside" if amendment.num_set_aside else ""
        yield (
            f"\n**Amended** {amendment.at:%Y-%m-%d %H:%M} UTC, when {counted(amendment.num_done, 'run')} had ended: "
            f"{', '.join(amendment.changed)} changed{aside}. Reason: {text(amendment.reason)}"
        )


def undone_lines(report: StudyReport) -> list[str]:
    """Return the declared runs without a result, seeds of one arm and state together."""
    found: dict[tuple[str, str, str, str, str], list[int]] = {}
    for run in report.runs:
        if run.state != "done":
            # Why something waits changes by the minute.
            reason = (run.reason or "") if run.state not in ("waiting", "training") else ""
            found.setdefault((run.stage, run.regime, run.arm, run.state, reason), []).append(run.seed)
    lines = []
    for (stage, regime, arm, state, reason), seeds in found.items():
        where = f"{regime}, " if len(report.regimes) > 1 else ""
        kind = " (tuning)" if stage == "tuning" else ""
        unique = sorted(set(seeds))
        named = f"seed{'s' if len(unique) > 1 else ''} {', '.join(map(str, unique))}"
        lines.append(f"{where}{arm}{kind}, {named}: {state}" + (f" ({reason})" if reason else ""))
    return lines


def _facts(report: StudyReport) -> Iterator[str]:
    yield (
        f"\nReference arm: {text(report.reference)}. Test sets: {', '.join(map(text, report.test_sets))}. Seeds: "
        f"{', '.join(map(str, report.seeds))}. Declaration {report.digest[:12]}, BAPO Control Plane {report.version}"
        + (f", {text(report.machine)}." if report.machine else ".")
    )
    yield (
        "\nIntervals are Student's 95 % intervals over seeds; differences are paired seed by seed; d is the mean "
        "difference over its standard deviation. Compute is CPU-seconds of training steps, evaluation left out."
    )


# ---------------------------------------------------------------- a regime


def _regime(report: StudyReport, regime: StudyRegimeReport, level: str) -> Iterator[str]:
    for section in sections_of(regime, report.reference):
        yield f"\n{level} {text(section.title)} ({section.number})"
        if section.caption:
            yield f"\n{text(section.caption)}"
        if section.paper:
            yield f"\nIn the paper: {text(section.paper)}"
        if section.table is not None:
            yield ""
            yield from table(section.table)


# ---------------------------------------------------------------- the foot


def _tuning(report: StudyReport) -> Iterator[str]:
    if not report.tuning:
        return
    yield "\n## Settings chosen on validation problems"
    yield "\nMean avg@k over the validation sets; no test problem was seen.\n"
    rows = [
        [
            text(each.regime),
            text(each.arm),
            _settings(each.set),
            tables.percent(each.accuracy),
            "chosen" if each.chosen else "",
        ]
        for each in report.tuning
    ]
    yield from table(Table(["regime", "arm", "setting", "accuracy", ""], rows))


def _arms(report: StudyReport) -> Iterator[str]:
    yield "\n## Arms\n"
    rows = [[text(arm.name), f"`{arm.method}`", _settings(arm.set)] for arm in report.arms]
    yield from table(Table(["arm", "method", "settings"], rows))


def _settings(fields: Mapping[str, Any]) -> str:
    return ", ".join(f"`{field} = {json.dumps(value)}`" for field, value in fields.items()) or "defaults"


def _runs(report: StudyReport) -> Iterator[str]:
    yield "\n<details><summary>All runs</summary>\n"
    rows = [
        [
            run.regime,
            text(run.arm),
            str(run.seed),
            run.stage,
            run.state,
            f"{run.step:,}",
            run.run_id or run.folder or "",
        ]
        for run in report.runs
    ]
    yield from table(Table(["regime", "arm", "seed", "stage", "state", "step", "run"], rows))
    yield "\n</details>"


# ---------------------------------------------------------------- words


def table(content: Table) -> Iterator[str]:
    """Format a table as Markdown."""
    yield f"| {' | '.join(content.heads)} |"
    yield f"|{'---|' * len(content.heads)}"
    for row in content.rows:
        yield f"| {' | '.join(map(_cell, row))} |"


def _cell(cell: Cell | str) -> str:
    if isinstance(cell, str):
        return cell
    shown = text(cell.text) if cell.is_name else cell.text
    return f"**{shown}**" if cell.stands_out else shown


def text(value: str) -> str:
    """Escape a user's text for Markdown."""
    flat = " ".join(value.split())
    for sign in "\\`*_[]<>|#":
        flat = flat.replace(sign, f"\\{sign}")
    return flat
