"""The sections stand in the paper's order, and each says what it shows or what it needs."""

from __future__ import annotations

from typing import Any

import pytest

from bapo.figures.recorded import RecordedRun
from bapo.figures.theme import DARK, LIGHT
from bapo.report.contents import sections_of, selection_of
from bapo.report.document import drawings
from bapo.report.section import Section
from tests.support.figure_runs import full, run, tracked

ORDER = (
    *("Figure 1", "Figure 4", "Table 1", "Figure 5", "Figure 6", "Figure 7, 13", "Figure 7, rates", "Figure 8, 14"),
    *("Figure 9", "Figure 10", "Figure 11", "Figure 12", "Table 2", "Savings", "Figure 15", "Table 4", "Figure 16"),
)


def _sections(*runs: RecordedRun, by: str = "config") -> dict[str, Section]:
    return {section.number: section for section in sections_of(selection_of(runs, by))}


def test_sections_follow_the_paper() -> None:
    sections = _sections(full("a"))
    assert tuple(sections) == ORDER
    assert len({section.name for section in sections.values()}) == len(ORDER)


def test_a_run_without_anything_needs_everything() -> None:
    for section in _sections(run("a")).values():
        assert section.needs.startswith("needs ")
        assert section.draw is None
        assert section.table is None


def test_one_complete_run_leaves_only_what_compares() -> None:
    missing = {number: section.needs for number, section in _sections(full("a")).items() if section.needs}
    assert set(missing) == {"Figure 6", "Figure 10", "Figure 16", "Savings"}
    assert "method.filter.type" in missing["Figure 10"]
    assert "ba_ppo, ppo" in missing["Figure 16"]


def test_no_tracking_is_said_where_tracking_is_needed() -> None:
    sections = _sections(full("a")._replace(tracking=[]))
    assert [number for number, section in sections.items() if "tracking.num_prompts" in section.needs] == [
        "Figure 1",
        "Figure 7, 13",
        "Figure 7, rates",
        "Figure 15",
    ]


def test_enough_runs_leave_nothing_to_need() -> None:
    runs = [
        *(full("a"), full("b", seed=2), full("c", "grpo"), full("d", method__filter={"type": "uniform"})),
        *(full("e", "ppo"), full("f", "ba_ppo")),
    ]
    sections = _sections(*runs)
    assert [section.number for section in sections.values() if section.needs] == []
    assert sections["Figure 4"].shows.startswith("BAPO (n = 2), GRPO (n = 1)")


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=lambda palette: palette.scheme)
def test_every_section_can_be_drawn_in_both_schemes(palette: Any) -> None:
    runs = [full("a"), full("b", seed=2), full("c", "grpo")]
    sections = sections_of(selection_of(runs, "config"))
    figures = drawings(sections, palette)
    assert set(figures) == {section.name for section in sections if section.draw is not None}
    assert all(drawing["data"] for several in figures.values() for drawing in several)


def test_a_missing_null_is_said() -> None:
    once = full("a")._replace(tracking=[tracked(0, [0, 0]), tracked(2, [1, 0])])
    section = _sections(once)["Figure 7, rates"]
    assert "No chance level for BAPO: the base model was sampled once." in section.caption


def test_the_null_is_the_first_matrix_and_the_method_is_named() -> None:
    section = _sections(full("c", "grpo"), full("a"))["Figure 15"]
    assert section.draw is not None
    titles = [figure.layout.title.text for figure in section.draw(LIGHT)]
    assert titles == ["BAPO (n = 1), base again", "BAPO (n = 1), step 2"]
    assert "Shown for BAPO" in section.caption


def test_smoothing_and_sampling_are_said() -> None:
    sections = _sections(full("a")._replace(num_left_out=500))
    assert "Points are means of 10 steps." in sections["Figure 4"].caption
    assert "where the server sampled" in sections["Table 2"].caption
