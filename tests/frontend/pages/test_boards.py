"""Panels as the page moves them, calls them, and reads them from its form."""

from __future__ import annotations

import pytest

from bapo.api.base import ErrorBody
from bapo.api.boards import ChartPanel, Panel, PaperPanel, TextPanel
from bapo.api.runs import RunFilters
from bapo.client import ApiError
from frontend.components.actions import FormError
from frontend.pages.boards.changes import moved, name_of
from frontend.pages.boards.editor import _CHECKED, _VALUES, _at_field, _values_of, written


def panels() -> list[Panel]:
    return [TextPanel(id="a", text="# Now\nx"), ChartPanel(id="b", y="actor/entropy"), PaperPanel(id="c")]


def order(found: list[Panel]) -> str:
    return "".join(panel.id for panel in found)


@pytest.mark.parametrize(
    ("panel", "what", "expected"),
    [
        ("b", {"action": "earlier"}, "bac"),
        ("b", {"action": "later"}, "acb"),
        ("a", {"action": "earlier"}, "abc"),
        ("c", {"action": "later"}, "abc"),
        ("a", {"action": "swap", "target": "c"}, "bca"),
        ("c", {"action": "swap", "target": "a"}, "cab"),
        # Somebody has removed the one or the other.
        ("x", {"action": "earlier"}, "abc"),
        ("a", {"action": "swap", "target": "x"}, "abc"),
    ],
)
def test_a_panel_is_moved(panel: str, what: dict[str, str], expected: str) -> None:
    assert order(moved(panels(), panel, what)) == expected


def test_a_chart_becomes_wider_and_narrower_and_paper_figures_stay() -> None:
    wide = moved(panels(), "b", {"action": "width"})
    assert [getattr(panel, "width", None) for panel in wide] == ["full", "full", None]
    assert [getattr(panel, "width", None) for panel in moved(wide, "b", {"action": "width"})] == ["full", "half", None]
    assert moved(panels(), "c", {"action": "width"}) == panels()


def test_panels_have_names() -> None:
    assert [name_of(panel) for panel in panels()] == ["Now", "Policy entropy", "Paper figures"]
    assert name_of(TextPanel(id="t", text=" ")) == "Text"


def test_what_the_form_does_not_have_stays() -> None:
    before = ChartPanel(id="b", y="actor/entropy", filters=RunFilters(tag=["kept"], where=["method = bapo"]))
    values, checked = _values_of(before, "chart")
    given = dict(zip((*_VALUES, *_CHECKED), (*values, *checked), strict=True))
    assert (
        written("chart", "b", before, given).model_dump()
        == before.model_copy(
            update={"filters": before.filters.model_copy(update={"tag": ["kept"], "where": ["method = bapo"]})}
        ).model_dump()
    )
    changed = written(
        "chart", "b", before, given | {"title": " T ", "smooth": "", "x": "", "where": ["name ~ x"], "log_y": True}
    )
    assert isinstance(changed, ChartPanel)
    assert (changed.title, changed.smooth, changed.x, changed.log_y) == ("T", 1, "step", True)
    assert (changed.filters.tag, changed.filters.where) == (["kept"], ["name ~ x"])


def test_what_is_wrong_stands_at_its_field() -> None:
    values, checked = _values_of(None, "chart")
    given = dict(zip((*_VALUES, *_CHECKED), (*values, *checked), strict=True))
    with pytest.raises(FormError) as without:
        written("chart", "b", None, given)
    assert set(without.value.fields) == {"y"}
    with pytest.raises(FormError) as axis:
        written("chart", "b", None, given | {"y": "a", "x": "metric"})
    assert set(axis.value.fields) == {"x"}
    body = ErrorBody(
        code="invalid_placeholder", field="panels.3.text", value="{{lst step}}", remedy="no figure", request_id="r"
    )
    found = _at_field(ApiError(422, body))
    assert isinstance(found, FormError)
    assert found.fields == {"text": "{{lst step}}: no figure"}
    other = ApiError(409, body.model_copy(update={"field": "version"}))
    assert _at_field(other) is other
