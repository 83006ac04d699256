"""Pages on which each tool shows charts and runs, and the sign that they are drawn.

A script of a page is a function that is asked again and again; it gets the numbers of charts and of runs, and returns
whether all of them are there. Charts on a canvas do not tell what is drawn on them: these count as drawn at the last
change of their pixels, once no canvas is empty and none has changed for `SETTLED_MILLISECONDS`.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple
from urllib.parse import quote, urlencode

from benchmarks.peer_servers import Shown

METRICS = (
    *("critic/rewards/mean", "actor/entropy", "actor/pg_loss", "actor/grad_norm", "actor/ppo_kl"),
    *("actor/pg_clipfrac", "bapo/ratio/mean", "bapo/ratio/max", "bapo/tv/tokens/fresh", "bapo/tv/sequences/fresh"),
)
"""Metrics that are drawn, each in its own chart."""
OTHERS = (
    *("bapo/batch/reward_mean", "bapo/batch/x1", "bapo/batch/x3", "bapo/batch/fill_rate", "bapo/cost/num_rollouts"),
    *("bapo/cost/num_tokens", "bapo/policy/rollout_version", "bapo/system/cpu_percent", "bapo/thresholds/c2"),
    "bapo/thresholds/c3",
)
"""Metrics that are stored too, and not drawn."""
FIRST_ROWS = 10
SETTLED_MILLISECONDS = 2_000
MLFLOW_VIEW = "ten"


class View(NamedTuple):
    """A page of a tool."""

    address: Callable[[Shown], str]
    is_drawn: str
    """A JavaScript function of {charts, runs}, or, if `settles`, one that returns canvases or null."""
    summary: str
    """The sign that the page is drawn, in words."""
    settles: bool = False


PLOTLY = """(root, runOf) => ({charts, runs}) => {
    const graphs = [...document.querySelectorAll(`${root} .js-plotly-plot`)];
    const points = (graph, number) => graph.calcdata?.[number]?.length > 1;
    const shown = (graph) => new Set(graph.data?.filter((_, number) => points(graph, number)).map(runOf)).size;
    const lines = (graph) => graph.querySelectorAll('.scatterlayer path.js-line[d]').length;
    return graphs.length === charts && graphs.every((graph) => shown(graph) >= runs && lines(graph) >= runs);
}"""
AIM_LINES = """({charts, runs}) => {
    const graphs = [...document.querySelectorAll('.LineChart')];
    const lines = (graph) => [...graph.querySelectorAll('path.Line')].filter((line) => line.getAttribute('d'));
    return graphs.length === charts && graphs.every((graph) => lines(graph).length >= runs);
}"""
CANVASES = """(card, waiting) => ({charts}) => {
    const cards = [...document.querySelectorAll(card)];
    if (cards.length !== charts || cards.some((each) => waiting && each.querySelector(waiting))) return null;
    const canvases = cards.map((each) => each.querySelector('canvas'));
    return canvases.every((canvas) => canvas?.width && canvas.height) ? canvases : null;
}"""
ROWS = f"""(selector) => () => {{
    const isVisible = (row) => {{
        const box = row.getBoundingClientRect();
        return box.height > 0 && box.bottom > 0 && box.top < innerHeight && row.textContent.trim();
    }};
    let count = 0;
    for (const row of document.querySelectorAll(selector)) {{
        if (isVisible(row) && ++count === {FIRST_ROWS}) return true;
    }}
    return false;
}}"""
WATCH = f"""(() => {{
    const wanted = WANTED, isDrawn = IS_DRAWN, settles = SETTLES;
    const small = new OffscreenCanvas(48, 48).getContext('2d', {{ willReadFrequently: true }});
    const pixels = (canvas) => {{
        small.clearRect(0, 0, 48, 48);
        small.drawImage(canvas, 0, 0, 48, 48);
        const data = small.getImageData(0, 0, 48, 48).data;
        let sum = 0;
        for (let i = 0; i < data.length; i++) sum = (sum * 31 + data[i]) | 0;
        return data.some((value, i) => i % 4 === 3 && value > 0) ? sum : null;
    }};
    let last = '', changed = Infinity;
    const look = () => {{
        let found = document.body && isDrawn(wanted);
        if (found && settles) {{
            const now = found.map(pixels);
            if (now.some((each) => each === null) || now.join() !== last) changed = Date.now();
            last = now.join();
            if (now.includes(null) || Date.now() - changed < {SETTLED_MILLISECONDS}) found = false;
        }}
        if (found) window.drawnAt = settles ? changed : Date.now();
        else settles ? setTimeout(look, 100) : requestAnimationFrame(look);
    }};
    look();
}})()"""
"""Notes in the page when it was drawn."""


def watch(view: View, num_charts: int, num_runs: int) -> str:
    """Return the script that records in a page when this view is drawn."""
    wanted = json.dumps({"charts": num_charts, "runs": num_runs})
    script = WATCH.replace("IS_DRAWN", view.is_drawn).replace("SETTLES", json.dumps(view.settles))
    return script.replace("WANTED", wanted)


def expression() -> str:
    """Return a regular expression that matches the drawn metrics only."""
    return f"^({'|'.join(re.escape(name) for name in METRICS)})$"


def aim_state(state: Mapping[str, object]) -> str:
    """Return a part of an address in Aim's encoding."""
    text = quote(json.dumps(state), safe="!#$&'()*+,/:;=?@-._~")
    return "O-" + base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _aim_charts(shown: Shown) -> str:
    query = f"metric.name in {json.dumps(METRICS)}"
    state = aim_state({"options": [], "query": "", "advancedMode": True, "advancedQuery": query})
    return f"{shown.url}/metrics?select={state}"


def _mlflow(shown: Shown, **query: str) -> str:
    return f"{shown.url}/#/experiments/{shown.filled['experiment']}/runs?{urlencode(query)}"


def our_charts(url: str, run_ids: Sequence[str]) -> str:
    """Return the address of our page that compares single runs."""
    return f"{url}/compare?{urlencode({'runs': ','.join(run_ids), 'group': 'run', 'metric': ','.join(METRICS)})}"


PLOTLY_TOLD = "ten Plotly graphs hold a line for each run, with points, in the page"
# Ours has one trace for each run, MLflow several, of which each names its run.
OUR_CHARTS = View(
    lambda shown: our_charts(shown.url, shown.filled["runs"]),
    f"({PLOTLY})('#compare-curves', (each, number) => number)",
    f"Compare, of single runs: {PLOTLY_TOLD}",
)
OUR_LIST = View(lambda shown: f"{shown.url}/runs", f"({ROWS})('#runs-grid [row-id]')", "rows of the table of runs")
CHARTS: Mapping[str, View] = {
    "tensorboard": View(
        lambda shown: f"{shown.url}/?{urlencode({'tagFilter': expression()})}#timeseries",
        f"({CANVASES})('scalar-card', 'mat-spinner')",
        "Time series, filtered to the ten tags by its address: no card has a spinner, no canvas is empty, and none "
        "changes any more; the time is that of the last change",
        settles=True,
    ),
    "mlflow": View(
        lambda shown: _mlflow(shown, viewStateShareKey=MLFLOW_VIEW, compareRunsMode="CHART"),
        f"({PLOTLY})('body', (each) => each.uuid ?? each.name)",
        f"the experiment's chart view, by a shared view that shows all runs and ten metrics: {PLOTLY_TOLD}",
    ),
    "aim": View(
        _aim_charts, AIM_LINES, "Metrics explorer, with a query for ten metrics: ten charts hold a path for each run"
    ),
    "trackio": View(
        lambda shown: f"{shown.url}/?{urlencode({'project': 'pages', 'metric_filter': expression()})}",
        f"({CANVASES})('.plot-container[data-metric]', '')",
        "Metrics, filtered to ten by its address: no canvas is empty, and none changes any more; the time is that of "
        "the last change",
        settles=True,
    ),
}
LISTS: Mapping[str, View] = {
    "tensorboard": View(
        lambda shown: f"{shown.url}/#timeseries",
        f"({ROWS})('tb-data-table-content-row')",
        "rows of the sidebar next to Time series",
    ),
    "mlflow": View(_mlflow, f"({ROWS})('.ag-center-cols-container [row-id]')", "rows of the experiment's table"),
    "aim": View(
        lambda shown: f"{shown.url}/runs", f"({ROWS})('.RunNameColumn__runName')", "names in the runs explorer's table"
    ),
    "trackio": View(
        lambda shown: f"{shown.url}/runs?project=pages", f"({ROWS})('tbody tr')", "rows of the table on its page Runs"
    ),
}
