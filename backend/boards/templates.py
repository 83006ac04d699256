"""Panels that a new board can begin with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bapo.api.boards import AS_THE_PAPER, Panel, PaperPanel, TextPanel

_AS_THE_PAPER_TEXT = """## As the paper

The figures and tables of arXiv:2602.20722, of this board's runs, in the paper's order and with its numbering. They
follow the runs: {{count}} now, of which {{count of status = running, starting}} train. Best held-out accuracy:
{{last eval_best as percent}}.
"""

TEMPLATES: Mapping[str, Sequence[Panel]] = {
    AS_THE_PAPER: (
        TextPanel(id="paper-introduction", text=_AS_THE_PAPER_TEXT),
        PaperPanel(id="paper"),
    )
}
