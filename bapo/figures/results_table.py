"""Table 1: accuracy of each method on each held-out set after training, and what it cost in rollouts."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple

import plotly.graph_objects as go

from bapo.analysis.comparison import SeedFigures, estimate, over_replicates, paired_difference
from bapo.analysis.result import MeanEstimate
from bapo.config.method import METHODS
from bapo.figures import formatting
from bapo.figures.accuracy_curves import datasets_of, evaluations_on
from bapo.figures.axes import ROLLOUTS_KEY
from bapo.figures.groups import Group, estimate_over, replicates_of
from bapo.figures.paper_values import ACCURACIES, BASE, method_of
from bapo.figures.recorded import RecordedRun
from bapo.figures.tables import Cell, Column, TextTable, percent_cell, spread_cell, table_figure
from bapo.figures.theme import Palette
from bapo.records import EvaluationRecord, Interval


class Score(NamedTuple):
    """A figure of a group."""

    value: MeanEstimate | None
    """Over seeds; of one run its own interval over problems."""
    is_best: bool = False
    """Above all other groups beyond doubt: see `clear_best`."""
    is_second: bool = False
    """Above all groups but the best beyond doubt."""


class ResultsRow(NamedTuple):
    """The results of one method."""

    label: str
    n: int
    """Replicates with an evaluation: identical runs of one seed are one."""
    policy: str
    """`on`, `off`, or empty for the base model and for mixed groups."""
    scores: Sequence[Score]
    """avg@k and pass@k of each set in turn."""
    average: Score
    """Mean avg@k over the sets."""
    num_rollouts: MeanEstimate | None
    quoted: Sequence[float | None] = ()
    """avg@32 of the same method on each set in the paper, which is of another model."""
    is_base: bool = False
    """The model before training."""


class ResultsTable(NamedTuple):
    """Methods × held-out sets; the base model is the first row."""

    datasets: Sequence[tuple[str, int]]
    """Name, and k."""
    rows: Sequence[ResultsRow]


def results_table_data(groups: Sequence[Group]) -> ResultsTable:
    """Return each run's last evaluation; the base model's row is the evaluation before training, over all runs."""
    runs = [run for group in groups for run in group.runs]
    datasets = datasets_of(runs)
    measured = [group._replace(runs=[run for run in group.runs if run.evaluations]) for group in groups]
    measured = [group for group in measured if group.runs]
    keys = [replicates_of(group.runs) for group in measured]
    scores = []
    for dataset, num_samples in datasets:
        scores.append(_scores(measured, keys, _last(dataset, num_samples, _average)))
        scores.append(_scores(measured, keys, _last(dataset, num_samples, _pass)))
    averages = _scores(measured, keys, lambda run: _mean_over(run, datasets))
    rows = [
        ResultsRow(
            group.label,
            len(set(keys[index])),
            _policy(group),
            [column[index] for column in scores],
            averages[index],
            estimate_over(group.runs, _rollouts),
            _quoted(datasets, method_of(group)),
        )
        for index, group in enumerate(measured)
    ]
    return ResultsTable(datasets, [*_base_rows(runs, datasets), *rows])


def clear_second(groups: Sequence[SeedFigures], best: int) -> int | None:
    """Return the index of the group that is the best of all but `best` beyond doubt, None if there is none."""
    others = [index for index in range(len(groups)) if index != best]
    found = clear_best([groups[index] for index in others])
    return None if found is None else others[found]


def clear_best(groups: Sequence[SeedFigures]) -> int | None:
    """Return the index of the group whose mean is above every other's beyond doubt, None if there is none.

    Beyond doubt: against each other group the 95 % intervals over seeds do not touch, or the paired difference over
    the seeds that both have lies above 0 with its whole interval. One seed is never beyond doubt.
    """
    estimates = [estimate(_by_seed(figures)) for figures in groups]
    known = [(each.value, index) for index, each in enumerate(estimates) if each is not None]
    if len(known) < 2:
        return None
    _, best = max(known)
    top = estimates[best]
    assert top is not None
    for index, other in enumerate(estimates):
        if index == best or other is None:
            continue
        apart = top.low is not None and other.high is not None and top.low > other.high
        difference = paired_difference(groups[index], groups[best])
        paired = difference is not None and difference.low is not None and difference.low > 0
        if not (apart or paired):
            return None
    return best


def _by_seed(figures: SeedFigures) -> list[float]:
    keys = [index if seed is None else (seed,) for index, (seed, _) in enumerate(figures)]
    return over_replicates(zip(keys, (figure for _, figure in figures), strict=True))


class _Figure(NamedTuple):
    """One run's figure with its interval over problems."""

    value: float
    low: float | None
    high: float | None


class _Member(NamedTuple):
    """One run's figure, with what pairs and what counts it."""

    seed: int | None
    replicate: Hashable
    figure: _Figure


def _scores(
    groups: Sequence[Group],
    replicates: Sequence[Sequence[Hashable]],
    of_run: Callable[[RecordedRun], _Figure | None],
) -> list[Score]:
    figures = [
        [
            _Member(run.seed, key, found)
            for run, key in zip(group.runs, keys, strict=True)
            if (found := of_run(run)) is not None
        ]
        for group, keys in zip(groups, replicates, strict=True)
    ]
    values = [[(each.seed, each.figure.value) for each in members] for members in figures]
    best = clear_best(values)
    second = None if best is None else clear_second(values, best)
    scores = []
    for index, members in enumerate(figures):
        if len(members) == 1:
            only = members[0].figure
            scores.append(Score(MeanEstimate(value=only.value, low=only.low, high=only.high, n=1)))
        else:
            distinct = over_replicates([(each.replicate, each.figure.value) for each in members])
            scores.append(Score(estimate(distinct), index == best, index == second))
    return scores


def _average(record: EvaluationRecord) -> Interval | None:
    return record.avg_at_k


def _pass(record: EvaluationRecord) -> Interval | None:
    return record.pass_at.get(record.num_samples)


def _last(
    dataset: str, num_samples: int, figure: Callable[[EvaluationRecord], Interval | None]
) -> Callable[[RecordedRun], _Figure | None]:
    def of_run(run: RecordedRun) -> _Figure | None:
        records = evaluations_on(run, dataset, num_samples)
        interval = figure(records[-1]) if records else None
        return None if interval is None else _Figure(interval.value, interval.low, interval.high)

    return of_run


def _mean_over(run: RecordedRun, datasets: Sequence[tuple[str, int]]) -> _Figure | None:
    values = [found.value for each in datasets if (found := _last(*each, _average)(run)) is not None]
    # A mean over fewer sets would be another figure.
    return _Figure(sum(values) / len(values), None, None) if values and len(values) == len(datasets) else None


def _rollouts(run: RecordedRun) -> float | None:
    totals = [value for value in run.steps.columns.get(ROLLOUTS_KEY, ()) if value is not None]
    return totals[-1] if totals else None


def _policy(group: Group) -> str:
    methods = {METHODS.get(run.config["method"]["type"]) for run in group.runs}
    kinds = {"" if method is None else "on" if method.is_on_policy else "off" for method in methods}
    return kinds.pop() if len(kinds) == 1 else ""


def _model(run: RecordedRun) -> str:
    return str(run.config["model"]["path"]) if "model" in run.config else "model not recorded"


def _base_rows(runs: Sequence[RecordedRun], datasets: Sequence[tuple[str, int]]) -> list[ResultsRow]:
    based = [run for run in runs if any(record.step == 0 for record in run.evaluations)]
    rows = []
    for model in dict.fromkeys(map(_model, based)):
        of_model = [run for run in based if _model(run) == model]
        before = [
            run._replace(evaluations=[record for record in run.evaluations if record.step == 0]) for run in of_model
        ]
        group = Group(model, before, [], [])
        # Before training, how it will train is of no matter: the runs of one seed drew the same responses.
        keys = [index if run.seed is None else (run.seed,) for index, run in enumerate(before)]
        scores = [
            _scores([group], [keys], _last(dataset, num_samples, figure))[0]
            for dataset, num_samples in datasets
            for figure in (_average, _pass)
        ]
        average = _scores([group], [keys], lambda run: _mean_over(run, datasets))[0]
        label, quoted = f"{model}, before training", _quoted(datasets, BASE)
        rows.append(ResultsRow(label, len(set(keys)), "", scores, average, None, quoted, is_base=True))
    return rows


def _quoted(datasets: Sequence[tuple[str, int]], method: str | None) -> list[float | None]:
    return [ACCURACIES[name][1].get(method or "") if name in ACCURACIES else None for name, _ in datasets]


def results_text(data: ResultsTable) -> TextTable:
    """Format the table, as percentages."""
    columns = [Column("method", align="left"), Column("n")]
    are_quoted = [any(row.quoted[index] is not None for row in data.rows) for index in range(len(data.datasets))]
    for (dataset, num_samples), is_quoted in zip(data.datasets, are_quoted, strict=True):
        columns += [Column(f"avg@{num_samples}", dataset), Column(f"pass@{num_samples}", dataset)]
        if is_quoted:
            columns.append(Column("paper's avg@32", dataset))
    if len(data.datasets) > 1:
        columns.append(Column("mean avg"))
    columns += [Column("rollouts"), Column("policy", align="left")]
    rows = []
    for row in data.rows:
        cells = [Cell(row.label), Cell(str(row.n))]
        for index, is_quoted in enumerate(are_quoted):
            own = row.scores[2 * index : 2 * index + 2]
            cells += [_score_cell(score) for score in own]
            if is_quoted:
                cells.append(_quoted_cell(row.quoted[index]))
        if len(data.datasets) > 1:
            cells.append(_score_cell(row.average))
        rows.append([*cells, spread_cell(row.num_rollouts, formatting.count), Cell(row.policy or "–")])
    return TextTable(columns, rows)


def _score_cell(score: Score) -> Cell:
    return percent_cell(score.value)._replace(is_best=score.is_best, is_second=score.is_second)


def _quoted_cell(value: float | None) -> Cell:
    return Cell(formatting.MISSING if value is None else formatting.share(value), is_quoted=True)


def results_table_figure(data: ResultsTable, palette: Palette) -> go.Figure:
    """Return the table as a plotly figure."""
    return table_figure(results_text(data), palette)
