"""The tables that `bapo compare` prints."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from typer.testing import CliRunner

from bapo.api.compare import (
    ComparedGroup,
    ComparedRunInfo,
    Comparison,
    ConfigDifference,
    CostSpread,
    GroupEvaluation,
    GroupReached,
    MeanEstimate,
    Spent,
)
from bapo.api.runs import RunStatus
from bapo.cli import app
from bapo.cli.compare import tables

SPENT = Spent(step=2, rollouts=512, seconds=3, compute_hours=0.5, cost=None)


def estimate(value: float, half: float | None = None, n: int = 2) -> MeanEstimate:
    low, high = (None, None) if half is None else (value - half, value + half)
    return MeanEstimate(value=value, low=low, high=high, n=n)


def run(name: str, label: str, seed: int) -> ComparedRunInfo:
    return ComparedRunInfo(
        id=name,
        name=name,
        status=RunStatus.SUCCEEDED,
        method=label,
        seed=seed,
        label=label,
        step=2,
        num_steps=2,
        tags=(),
        group=None,
        duration_seconds=3.0,
        total=SPENT,
        results=(),
        tracked=None,
        to_reach=None,
    )


def group(label: str, num_reached: int, against: MeanEstimate | None) -> ComparedGroup:
    spread = CostSpread(median=768, low=512, high=1024) if num_reached else None
    result = GroupEvaluation(
        dataset="CD-34",
        num_samples=8,
        base=estimate(0.2),
        final=estimate(0.4, 0.05),
        best=None,
        change=estimate(0.2, 0.1),
        at_budget=None,
        against_reference=against,
    )
    return ComparedGroup(
        label=label,
        run_ids=[f"{label}-1", f"{label}-2"],
        results=[result],
        unlocked=estimate(0.5),
        unlocked_null=estimate(0.32),
        strictly_unlocked=None,
        strictly_unlocked_null=None,
        lost=None,
        lost_null=None,
        rollouts=estimate(38_400),
        seconds=estimate(3),
        compute_hours=estimate(0.5),
        cost=None,
        to_reach=GroupReached(
            num_reached=num_reached,
            num_runs=2,
            step=spread,
            rollouts=spread,
            seconds=None,
            compute_hours=None,
            cost=None,
        ),
    )


COMPARISON = Comparison(
    runs=[run(f"{label}-{seed}", label, seed) for label in ("bapo", "grpo") for seed in (1, 2)],
    groups=[group("bapo", 2, None), group("grpo", 0, estimate(-0.01, 0.02))],
    grouped_by="config",
    reference="bapo",
    differences=[
        ConfigDifference(field="training.seed", values=[1, 2, 1, 2], known=[True] * 4),
        ConfigDifference(field="method.c1", values=[0.125, 0.125, None, None], known=[True, True, False, False]),
    ],
    fields=("method.c1",),
    datasets=("CD-34",),
    dataset="CD-34",
    reach=0.4,
    budget=None,
    currency="USD",
)


def test_the_tables_say_what_the_server_answered() -> None:
    console = Console(file=io.StringIO(), width=220)
    for table in tables(COMPARISON):
        console.print(table)
    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    for part in (
        "40.0 % [35.0, 45.0]",
        "+20.0 [+10.0, +30.0] (n=2)",
        "-1.0 [-3.0, +1.0] (n=2)",
        "50.0 % (32.0 %)",
        "38,400",
        "To reach 40 % on CD-34",
        "768 [512, 1,024]",
        "not reached",
    ):
        assert part in text, part
    # Methods have the names that pages give them.
    assert "against BAPO" in text
    assert next(line.split()[1] for line in text.splitlines() if "grpo" in line.lower()) == "GRPO"
    assert "bapo" not in text
    # Seeds last, collapsed.
    rows = [line for line in text.splitlines() if "method.c1" in line or "training.seed" in line]
    assert ["0.125" in rows[0], "1, 2" in rows[1]] == [True, True]


@pytest.mark.parametrize(
    ("arguments", "words"), [(["a", "--equal", "moon"], "give step, rollouts or time"), ([], "RUN…")]
)
def test_what_cannot_be_compared_is_said(arguments: list[str], words: str) -> None:
    result = CliRunner().invoke(app, ["compare", *arguments], env={"COLUMNS": "200", "BAPO_TOKEN": "x"})
    assert result.exit_code == 2
    assert words in result.output
