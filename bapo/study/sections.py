"""The sections of a study's report in their order: what each is called, what it says, and its table.

Markdown writes them as they are; the page and the HTML file add drawings.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from bapo.study import tables
from bapo.study.declaration import Budget
from bapo.study.results import StudyRegimeReport
from bapo.study.tables import Table

HEADS: Mapping[Budget, str] = {
    "steps": "after equal steps",
    "rollouts": "at equal rollouts",
    "compute": "at equal compute",
}


class StudySection(NamedTuple):
    """A numbered part of the report."""

    name: str
    """Unique in a regime."""
    number: str
    """In the paper."""
    title: str
    caption: str
    """The question that it answers, and how to read it."""
    paper: str = ""
    """Results that the paper reports there."""
    table: Table | None = None
    """`None` if there is only something to draw."""


def sections_of(regime: StudyRegimeReport, reference: str) -> Iterator[StudySection]:
    """Yield the sections for which the regime has results; arms are compared with the reference."""
    yield StudySection(
        "results",
        "Table 1",
        "Test accuracy",
        "How accurate is each arm on the test sets? "
        "The last evaluation in percent: mean [95 % interval over seeds]. Bold: the highest, and its paired difference "
        "to every other arm excludes 0.",
        table=tables.results(regime),
    )
    yield from _differences(regime, reference)
    yield from _curves(regime)
    if regime.unlocks:
        yield StudySection(
            "unlocks",
            "Figure 7",
            "Unlocked and lost prompts",
            "How many hard prompts were unlocked, beyond chance? "
            "Of the tracked prompts at 0/G before training, those above, and at 1/2 or more, at the end; of the "
            "others, those lost. Null: the base model sampled again.",
            "Of prompts at 0/8, BAPO improved 31 %, GRPO 19 %; no null is given.",
            tables.unlocks(regime),
        )
    if regime.composition:
        yield StudySection(
            "composition",
            "Figures 8, 14",
            "Batch composition",
            "What were batches made of? "
            "Groups per step, means over steps and seeds; a hit is a fresh group that became X1, or a re-evaluated "
            "prompt that improved.",
            "40 to 60 % of a batch is X1.",
            tables.composition(regime),
        )
    if regime.cost:
        yield StudySection(
            "cost",
            "Table 2, Figure 9",
            "Cost",
            "What did it cost? "
            "Whole runs, evaluation left out. To reach: median over the seeds that got to the mean final accuracy of "
            f"{reference}. Wall time depends on what else the machine did.",
            "DAPO needs about 2.5 times the rollouts of BAPO.",
            tables.cost(regime),
        )
    if any(each.matrices for each in regime.stability):
        yield StudySection(
            "migration",
            "Figure 15",
            "Accuracy transitions",
            "Do solved prompts stay solved? "
            "Tracked prompts with more and with fewer correct responses than before training, in percent, next to the "
            "null: the base model sampled again. Solved kept: of those at G/G, at (G - 1)/G or more at the end.",
            "The lower triangle of the migration matrix is nearly empty.",
            tables.migration(regime),
        )
    if regime.stability:
        yield StudySection(
            "stability",
            "Theorem 3.2",
            "Distance to the behaviour policies",
            "How far is the policy from what generated its data? "
            "TV: ½·mean|ρ - 1| over tokens between π_θ and each source's behaviour policy, mean over steps (largest). "
            "K1 to K3 at r_tot = 0, for methods with thresholds.",
            table=tables.stability(regime),
        )


def _differences(regime: StudyRegimeReport, reference: str) -> Iterator[StudySection]:
    title = f"Differences to {reference}"
    known = [each for each in regime.differences if each.difference is not None]
    if known:
        caption = (
            f"Paired seed by seed: each arm minus {reference} with the 95 % interval over seeds. d: mean difference "
            "over its standard deviation."
        )
        yield StudySection("differences", "Paired", title, f"{caption} {tables.multiplicity(regime)}".strip())
    for budget, head in HEADS.items():
        found = [each for each in known if each.at == budget]
        if found:
            yield StudySection(
                f"differences-{budget}",
                "Paired",
                f"{title} {head}",
                "In percentage points of the primary metric.",
                table=tables.differences(found),
            )


def _curves(regime: StudyRegimeReport) -> Iterator[StudySection]:
    known = {budget: found for budget, found in regime.curves.items() if found}
    if known:
        yield StudySection(
            "curves",
            "Figures 9, 12",
            "Test accuracy by budget",
            "How does accuracy rise with what is spent? "
            "Mean avg@k over the test sets, over seeds; between two evaluations linearly.",
        )
    for budget, found in known.items():
        title = f"Test accuracy over {tables.AXES[budget]}"
        yield StudySection(f"curves-{budget}", "Figures 9, 12", title, "", table=tables.curves(found, budget))
