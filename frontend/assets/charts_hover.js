// Pointing at one chart points at the same x in the others of the tab.
(function () {
  "use strict";

  const { inSight } = window.bapo;
  const charts = window.bapoCharts;
  const LEAST_MS = 60; // Each hover is drawn by every chart in sight.

  let wanted = null;
  let timer = null;
  let last = 0;
  let isOurs = false;

  charts.synced = (graph) => {
    graph.on("plotly_hover", (event) => {
      if (isOurs || !event.points?.length) return;
      wanted = { graph, x: event.points[0].x };
      schedule();
    });
    graph.on("plotly_unhover", () => {
      if (isOurs) return;
      wanted = { graph, x: null };
      schedule();
    });
  };

  function schedule() {
    if (timer === null) timer = setTimeout(show, Math.max(0, last + LEAST_MS - performance.now()));
  }

  const kindOf = (graph) => String(graph.layout?.uirevision || "").split("|")[0];

  function siblings(graph) {
    const grid = graph.closest(".chart-grid");
    if (!grid || graph._dragging) return [];
    return [...grid.querySelectorAll(".js-plotly-plot")].filter((each) => {
      if (each === graph || !each._fullLayout?.xaxis || kindOf(each) !== kindOf(graph) || each._dragging) return false;
      return inSight(each) && String(each._fullLayout.hovermode).startsWith("x");
    });
  }

  function show() {
    timer = null;
    last = performance.now();
    const { graph, x } = wanted;
    isOurs = true;
    try {
      for (const sibling of siblings(graph)) {
        if (x === null) {
          window.Plotly.Fx.unhover(sibling);
          continue;
        }
        const axis = sibling._fullLayout.xaxis;
        const xval = axis.d2c(x);
        const [low, high] = axis.range.map((end) => axis.r2c(end));
        if (xval >= low && xval <= high) window.Plotly.Fx.hover(sibling, { xval, yval: 0 }, ["xy"]);
        else window.Plotly.Fx.unhover(sibling);
      }
    } finally {
      isOurs = false;
    }
  }
})();
