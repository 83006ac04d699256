"""The history of benchmarks names real reports, and its page draws every figure measured twice."""

from __future__ import annotations

from scripts.docs_site import benchmark_history
from scripts.docs_site.benchmark_history import Figure, Measurement

TWO = [
    Measurement(date="2026-11-25", commit="abc1234", machine="Intel Xeon, 2 cores", value=2.0),
    Measurement(date="2026-11-26T10:00", commit=None, machine="AMD EPYC, 2 cores", value=1.0),
]


def test_every_figure_has_a_report_and_is_ordered_by_date() -> None:
    found = benchmark_history.figures()
    assert len({figure.name for figure in found}) == len(found) > 20
    for figure in found:
        assert benchmark_history.HISTORY.with_name(f"{figure.benchmark}.md").is_file(), figure.name
        dates = [each.date for each in figure.entries]
        assert dates == sorted(dates), figure.name


def test_the_page_draws_figures_with_two_measurements() -> None:
    text = benchmark_history.page()
    repeated = [figure for figure in benchmark_history.figures() if len(figure.entries) > 1]
    assert text.count("<svg") == len(repeated) > 10
    assert text.count("<circle") == sum(len(figure.entries) for figure in repeated)


def test_a_figure_is_drawn_from_zero_to_its_largest_value_with_its_goal() -> None:
    figure = Figure(
        area="Server", name="A & B", benchmark="ingest", unit="s", goal=0.5, is_better_higher=False, entries=TWO
    )
    text = benchmark_history.drawn(figure)
    # 96 high with margins of 8: the largest value, 2, is at 8, 1 in the middle at 48, the goal 0.5 at 88 - 80/4 = 68.
    assert 'points="8.0,8.0 292.0,48.0"' in text
    assert 'y1="68.0" y2="68.0"' in text
    assert "<strong>A &amp; B</strong><br>1 s; lower is better, goal 0.5 s" in text
    assert '<circle class="filled" cx="8.0" cy="8.0"' in text
    assert "<title>1 s: 2026-11-26 10:00, AMD EPYC, 2 cores</title>" in text
