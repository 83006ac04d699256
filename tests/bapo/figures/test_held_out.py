"""Figures over runs that were evaluated on different held-out sets of one name."""

from __future__ import annotations

from bapo.figures.accuracy_curves import accuracy_curves_data
from bapo.figures.groups import grouped
from bapo.figures.recorded import with_named_sets
from bapo.figures.results_table import results_table_data
from bapo.report.contents import sections_of, selection_of
from tests.support.figure_runs import evaluation, run


def test_runs_on_different_sets_share_no_figure() -> None:
    runs = [
        run("a", "bapo", evaluations=[evaluation(0, [0, 0]), evaluation(5, [4, 4])]),
        run("b", "grpo", evaluations=[evaluation(0, [0, 0, 0]), evaluation(5, [4, 4, 0])]),
    ]
    named, sets = with_named_sets(runs)
    assert sets.note() is not None
    groups = grouped(named)
    assert [
        (panel.title, [curve.label for curve in panel.curves]) for panel in accuracy_curves_data(groups).datasets
    ] == [
        ("CD-4 (2 × 4) avg@4", ["BAPO"]),
        ("CD-4 (3 × 4) avg@4", ["GRPO"]),
    ]
    table = results_table_data(groups)
    # Neither has a mean over both sets, so that none is the best.
    assert [row.average.value for row in table.rows if not row.is_base] == [None, None]


def test_one_set_keeps_its_name_and_of_a_changed_one_the_newest_evaluations_stay() -> None:
    records = [evaluation(0, [0, 0]), evaluation(5, [4, 4, 4]), evaluation(10, [4, 4, 0])]
    (found,), sets = with_named_sets([run("a", evaluations=records)])
    assert [(record.dataset, record.step) for record in found.evaluations] == [("CD-4", 5), ("CD-4", 10)]
    assert sets.difference() is None


def test_a_report_says_which_sets_are_not_compared() -> None:
    runs = [run("a", evaluations=[evaluation(5, [4, 4])]), run("b", evaluations=[evaluation(5, [4, 4, 4])])]
    captions = {section.name: section.caption for section in sections_of(selection_of(runs, "run"))}
    for name in ("table-1", "figure-12"):
        assert "CD-4 is 2 problems × 4 responses in some runs and 3 problems × 4 responses in others" in captions[name]
