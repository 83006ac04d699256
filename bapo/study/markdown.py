"""A study's report as Markdown: the form in which it is committed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from bapo.study import tables
from bapo.study.results import StudyDifference, StudyRegimeReport, StudyReport
from bapo.study.tables import Cell, Table


def markdown(report: StudyReport) -> str:
    """Formats the whole report as Markdown."""
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
    """The primary comparison's outcome in one sentence."""
    if found.difference is None:
        return "No result: no seed has an ended run of both arms."
    size = "" if found.effect_size is None else f", effect size d = {found.effect_size:+.2f}"
    ends = {
        "higher": f"{found.arm} is higher",
        "lower": f"{found.arm} is lower",
        "open": "the interval holds 0, so that neither is shown to be better",
        "unknown": "one seed gives no interval, so that nothing is shown",
    }
    return f"{tables.points(found.difference)} points over {_seeds(found.difference.n)}{size}: {ends[found.verdict]}."


def _seeds(number: int) -> str:
    return f"{number} seed{'s' if number != 1 else ''}"


def _undone(report: StudyReport) -> Iterator[str]:
    done = sum(run.state == "done" for run in report.runs)
    yield "\n## What was run and what was not"
    yield f"\n{done} of {len(report.runs)} declared runs are done" + (
        "." if report.is_complete else "; not in the figures:"
    )
    if not report.is_complete:
        yield ""
        yield from (f"- {text(line)}" for line in undone_lines(report))
    for amendment in report.amendments:
        aside = f"; {amendment.num_set_aside} runs were set aside" if amendment.num_set_aside else ""
        yield (
            f"\n**Amended** {amendment.at:%Y-%m-%d %H:%M} UTC, when {amendment.num_done} runs had ended: "
            f"{', '.join(amendment.changed)} changed{aside}. Reason: {text(amendment.reason)}"
        )


def undone_lines(report: StudyReport) -> list[str]:
    """The declared runs without a result, seeds of one arm and state together."""
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
    yield f"\n{level} Accuracy on the test sets (Table 1)"
    yield (
        "\nThe last evaluation, in percent: mean [95 % interval over seeds]. Bold: the highest, and its paired "
        "difference to every other arm excludes 0.\n"
    )
    yield from table(tables.results(regime))
    for budget, head in (
        ("steps", "after equal steps"),
        ("rollouts", "at equal rollouts"),
        ("compute", "at equal compute"),
    ):
        found = [each for each in regime.differences if each.at == budget and each.difference is not None]
        if found:
            yield f"\n{level} Differences to {text(report.reference)} {head}\n"
            yield from table(tables.differences(found))
    if caution := tables.multiplicity(regime):
        yield f"\n{caution}"
    yield from _curves(regime, level)
    if regime.unlocks:
        yield f"\n{level} Unlocked prompts beside chance (Figure 7)"
        yield (
            "\nOf the tracked training prompts that the base model never solved (0/G), the percentage above 0/G, and "
            "at 1/2 or more, at the end; of the others, those lost. Null: the base model sampled again, which moves "
            "prompts by chance alone.\n"
        )
        yield from table(tables.unlocks(regime))
    if regime.composition:
        yield f"\n{level} What batches were made of (Figures 8 and 14)"
        yield "\nGroups per step, means over steps and seeds; a hit is a re-evaluated prompt that improved.\n"
        yield from table(tables.composition(regime))
    if regime.cost:
        yield f"\n{level} Cost (Table 2, Figure 9)"
        yield (
            f"\nWhole runs, evaluation left out. To reach: median over the seeds that got to the mean final accuracy "
            f"of {text(report.reference)}. Wall time depends on what else the machine did.\n"
        )
        yield from table(tables.cost(regime))
    yield from _stability(regime, level)


def _curves(regime: StudyRegimeReport, level: str) -> Iterator[str]:
    for budget, found in regime.curves.items():
        if not found:
            continue
        yield f"\n{level} Accuracy over {tables.AXES[budget]}\n"
        yield from table(tables.curves(found, budget))


def _stability(regime: StudyRegimeReport, level: str) -> Iterator[str]:
    tracked = [each for each in regime.stability if each.matrices]
    if tracked:
        yield f"\n{level} Migration of the tracked prompts (Figure 15)"
        yield (
            "\nPrompts with more and with fewer correct responses than before training, in percent, beside what "
            "sampling the base model again gives; solved kept: of those at G/G before, at (G - 1)/G or more.\n"
        )
        yield from table(tables.migration(regime))
    yield f"\n{level} Stability (Theorem 3.2)"
    yield (
        "\nTV: ½·mean|ρ - 1| over tokens between π_θ and each source's behaviour policy, mean over steps (largest). "
        "K1 to K3 at r_tot = 0, for methods with thresholds.\n"
    )
    yield from table(tables.stability(regime))


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
    """Formats a table as Markdown."""
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
    """Escapes a user's text for Markdown."""
    flat = " ".join(value.split())
    for sign in "\\`*_[]<>|#":
        flat = flat.replace(sign, f"\\{sign}")
    return flat
