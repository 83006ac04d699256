"""A board as one file, and as a page that loads its scripts."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

from bapo.api.boards import ChartData, ChartPanel, Panel, PanelData, TextData, TextPanel
from bapo.api.compare import ComparedCurve
from bapo.figures.board_chart import chart_figure, chart_note, chart_title
from bapo.figures.theme import LIGHT
from bapo.report.board import Following, Shown, board_document
from bapo.report.markdown import markdown_html

NOW = datetime(2026, 9, 1, 12, 30, tzinfo=UTC)
NASTY = "</script><img src=x onerror=alert(1)>"


def curve(label: str, values: list[float | None], *, n: int = 0, x: list[float] | None = None) -> ComparedCurve:
    positions = x or [float(step) for step in range(1, len(values) + 1)]
    low: list[float | None] = [value - 1 if value is not None else None for value in values] if n else []
    high: list[float | None] = [value + 1 if value is not None else None for value in values] if n else []
    return ComparedCurve(
        label=label,
        run_ids=[],
        x=positions,
        mean=values,
        low=low,
        high=high,
        n=[n] * len(values) if n else [],
        num_positions=len(values),
    )


def data(*curves: ComparedCurve, matching: int = 3) -> ChartData:
    return ChartData(curves=curves, num_shown=3, num_matching=matching)


def shown(panel: Panel, **content: Any) -> dict[str, Shown]:
    found = PanelData(id=panel.id, **content)
    return {panel.id: Shown(found, found)}


def test_a_chart_has_a_line_and_a_band_for_each_group_and_one_entry_in_the_legend() -> None:
    panel = ChartPanel(id="c", y="actor/entropy", log_y=True)
    figure = chart_figure(panel, data(curve("bapo", [1.0, 2.0], n=3), curve("grpo", [2.0, 3.0])), LIGHT)
    assert [(trace.name, trace.showlegend) for trace in figure.data] == [
        ("BAPO 95 % interval", False),
        ("BAPO 95 % interval", False),
        ("BAPO", True),
        ("GRPO", True),
    ]
    assert (figure.layout.yaxis.type, figure.layout.yaxis.range) == ("log", None)
    assert figure.layout.showlegend is True


def test_over_another_metric_a_group_has_its_band_and_a_run_alone_its_way() -> None:
    panel = ChartPanel(id="c", y="actor/entropy", x="metric.critic/rewards/mean")
    curves = data(curve("bapo", [1.0, 3.0], x=[0.25, 0.5], n=3), curve("grpo", [2.0, 1.0], x=[0.5, 0.25]))
    figure = chart_figure(panel, curves, LIGHT)
    assert [(trace.name, trace.showlegend) for trace in figure.data] == [
        ("BAPO 95 % interval", False),
        ("BAPO 95 % interval", False),
        ("BAPO", True),
        ("GRPO", True),
    ]
    assert list(figure.data[2].customdata) == [" (0 to 2)", " (2 to 4)"]
    assert (figure.layout.xaxis.tickformat, chart_title(panel)) == (".0%", "Policy entropy over Training reward")
    assert chart_note(panel, curves) == (
        "3 runs; groups by stretches of the other metric with equally many values; mean and 95 % interval over 3 "
        "replicates (Student's t)."
    )


def test_the_note_says_what_was_left_out() -> None:
    panel = ChartPanel(id="c", y="actor/entropy", smooth=5)
    sampled = curve("bapo", [1.0, 2.0], n=3).model_copy(update={"num_positions": 5_000})
    assert chart_note(panel, data(sampled, matching=70)) == (
        "The newest 3 of 70 runs; mean and 95 % interval over 3 replicates (Student's t); means of the last 5 recorded "
        "values; 2 of 5,000 points, extremes kept."
    )


def test_a_chart_of_mean_rewards_is_in_percent_only_where_they_are_shares() -> None:
    panel = ChartPanel(id="c", y="critic/rewards/mean")
    over = ChartPanel(id="c", y="actor/entropy", x="metric.critic/rewards/mean")
    for value, form in ((1.0, ".0%"), (1.506, None)):
        assert chart_figure(panel, data(curve("bapo", [0.5, value])), LIGHT).layout.yaxis.tickformat == form
        along = data(curve("bapo", [1.0, 3.0], x=[0.25, value]))
        assert chart_figure(over, along, LIGHT).layout.xaxis.tickformat == form


def test_the_file_loads_nothing_and_shows_peoples_words_as_words() -> None:
    panels: list[Panel] = [
        ChartPanel(id="c", y="a/b", title=NASTY),
        TextPanel(id="t", text=""),
        ChartPanel(id="n", y="a/b", title="Nothing"),
    ]
    content = (
        shown(panels[0], chart=data(curve(NASTY, [1.0, 2.0])))
        | shown(panels[1], text=TextData(text=f"# {NASTY}\n[x](javascript:alert(1))", problems=[NASTY]))
        | shown(panels[2], problem="No run matches this panel's filters.")
    )
    text = board_document(NASTY, panels, content, now=NOW).decode()
    assert "<img" not in text
    assert 'href="javascript' not in text
    assert not re.findall(r"<(?:script|link|img)[^>]*(?:src|href)=", text)
    assert "default-src 'none'" in text
    assert "This shows nothing: No run matches this panel&#x27;s filters." in text
    assert "board-following" not in text.partition("</head>")[2]
    made = board_document(
        "b", panels, content, now=NOW, scripts=["/p.js", "/s.js"], expires_at=NOW, following=Following('"1f"', 15)
    )
    page = made.decode()
    assert 'data-etag="&quot;1f&quot;" data-seconds="15"' in page
    assert re.findall(r'<script src="([^"]+)"', page) == ["/p.js", "/s.js"]
    assert "Content-Security-Policy" not in page
    assert "this link expires on 2026-09-01 at 12:30 UTC" in page


def test_markdown_has_no_elements_of_its_writer() -> None:
    source = "# A\n<script>x</script> ![p](https://x.org/i.png) [a](https://x.org) [b](data:text/html,x) **c**"
    made = markdown_html(source)
    assert made.startswith("<h3>A</h3>")
    assert "<script" not in made
    assert "<img" not in made
    assert 'href="data' not in made
    assert '<a href="https://x.org" target="_blank" rel="noopener noreferrer nofollow">a</a>' in made
