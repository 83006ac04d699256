"""The report is one file that needs nothing else and shows user text as text."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from html.parser import HTMLParser

from bapo.figures.groups import grouped
from bapo.figures.theme import LIGHT
from bapo.report.contents import sections_of, selection_of
from bapo.report.document import drawings, expected_bytes, remarks_on, report
from tests.support.figure_runs import full

NOW = datetime(2026, 9, 1, 12, 30, tzinfo=UTC)
NASTY = "</script><img src=x onerror=alert(1)>"


class _Reader(HTMLParser):
    """Collects the elements, and everything that would make a request."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.loads: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        values = dict(attrs)
        self.loads += [str(values[name]) for name in ("src", "data", "srcset", "action") if values.get(name)]
        if tag == "link":
            self.loads.append(str(values.get("href")))


def _read(content: bytes) -> _Reader:
    reader = _Reader()
    reader.feed(content.decode())
    return reader


def test_it_loads_nothing() -> None:
    content = report(selection_of([full("a"), full("b", "grpo")], "config"), title="Two runs", now=NOW)
    reader = _read(content)
    assert reader.loads == []
    assert reader.tags.count("script") == 5, "figures in two schemes, plotly.js, two of our own"
    assert content.count(b"plotly.js v") == 1
    # Style sheets could load as well.
    styles = re.findall(r"<style>(.*?)</style>", content.decode(), re.DOTALL)
    assert styles
    assert not any("url(" in style or "@import" in style for style in styles)
    assert b"default-src 'none'" in content


def test_it_tells_when_from_what_and_with_which_versions() -> None:
    runs = [full("a"), full("b", "grpo")]
    text = report(selection_of(runs, "config"), title="Two runs", base_url="http://bapo.test", now=NOW).decode()
    assert "2 runs in 2 groups · made 2026-09-01 12:30 UTC · BAPO Control Plane " in text
    assert '<a href="http://bapo.test/runs/a">a</a>' in text
    assert "&quot;learning_rate&quot;: 0.1" in text
    assert "<h1>Two runs</h1>" in text


def test_without_a_server_the_runs_are_not_linked() -> None:
    content = report(selection_of([full("a")], "config"), title="One run", now=NOW)
    assert "a" not in _read(content).tags
    assert b"1 run in 1 group \xc2\xb7" in content


def test_names_are_text_wherever_they_stand() -> None:
    plain = _read(report(selection_of([full("a")], "run"), title="t", base_url="http://x", now=NOW))
    nasty = _read(report(selection_of([full(NASTY)], "run"), title=NASTY, base_url="http://x", now=NOW))
    assert nasty.tags == plain.tags
    assert nasty.loads == []


def test_both_schemes_hold_the_same_figures() -> None:
    text = report(selection_of([full("a")], "config"), title="t", now=NOW).decode()
    found = dict(re.findall(r'<script type="application/json" id="paper-(\w+)">(.*?)</script>', text))
    light, dark = json.loads(found["light"]), json.loads(found["dark"])
    assert set(light) == set(dark)
    line_of = {scheme: figures["figure-4"][0]["data"][-1] for scheme, figures in (("light", light), ("dark", dark))}
    assert line_of["light"]["y"] == line_of["dark"]["y"]
    assert line_of["light"]["line"]["color"] != line_of["dark"]["line"]["color"]
    placed = set(re.findall(r'class="paper-figures" data-paper="([\w-]+)"', text))
    assert placed == set(light)


def test_what_is_missing_has_its_place() -> None:
    text = report(selection_of([full("a")], "config"), title="t", now=NOW).decode()
    assert '<p class="paper-needs">This needs runs of two methods with a critic' in text


def test_its_size_is_known_beforehand() -> None:
    selection = selection_of([full("a"), full("b", "grpo")], "config")
    expected = expected_bytes(drawings(sections_of(selection), LIGHT))
    assert abs(len(report(selection, title="t", now=NOW)) / expected - 1) < 0.03


def test_remarks_warn_of_what_is_no_replicate() -> None:
    longer = full("c", seed=3)
    longer = longer._replace(steps=longer.steps.model_copy(update={"steps": [1, 3]}))
    runs = [full("a"), full("b"), longer, full("d", method__v=1), full("e", "grpo", training__learning_rate=0.5)]
    remarks = "\n".join(remarks_on(grouped(runs, "method")))
    assert "The runs of BAPO are no mere replicates: they also differ in method.v." in remarks
    assert "Several runs of BAPO have the seed 1: identical ones count as one replicate." in remarks
    assert "end at different steps (2, 3)" in remarks
    assert "The groups differ in more than their method: training.learning_rate." in remarks
    assert remarks_on(grouped([full("a"), full("b", seed=2)])) == []
    assert "plain name" in remarks_on(grouped([full("a"), full("b", seed=2), full("d", method__v=1)]))[0]
