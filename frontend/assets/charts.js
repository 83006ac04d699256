// The menu of a chart.
(function () {
  "use strict";

  window.dash_clientside = window.dash_clientside || {};
  const clientside = window.dash_clientside;
  const noUpdate = () => clientside.no_update;

  clientside.charts = {
    menu() {
      const trigger = clientside.callback_context.triggered_id;
      const clicked = clientside.callback_context.triggered.some((each) => each.value);
      if (trigger && clicked) act(trigger.name, trigger.action);
      return noUpdate();
    },
  };

  function act(name, action) {
    const card = document.querySelector(`[data-chart="${name}"]`);
    const graph = card && card.querySelector(".js-plotly-plot");
    if (!graph) return;
    const file = `${document.querySelector(".run-name")?.textContent || "run"}-${name}`
      .toLowerCase().replace(/[^a-z0-9]+/g, "-").slice(0, 80);
    if (action === "fullscreen") {
      card.requestFullscreen();
    } else if (action === "log") {
      const type = graph._fullLayout.yaxis.type === "log" ? "linear" : "log";
      window.Plotly.relayout(graph, { "yaxis.type": type, "yaxis.autorange": true });
    } else if (action === "svg") {
      window.Plotly.downloadImage(graph, { format: "svg", filename: file, width: 1200, height: 600 });
    } else if (action === "csv") {
      save(`${file}.csv`, csv(graph));
    } else if (action === "link") {
      const address = new URL(location.href);
      address.searchParams.set("chart", name);
      navigator.clipboard.writeText(address.toString());
    }
  }

  function csv(graph) {
    const traces = graph.data.filter((trace) => trace.x && trace.y && trace.hoverinfo !== "skip");
    const quote = (value) => (/[",\n]/.test(String(value)) ? `"${String(value).replaceAll('"', '""')}"` : value ?? "");
    const rows = new Map();
    traces.forEach((trace, column) => {
      [...trace.x].forEach((x, index) => {
        if (!rows.has(x)) rows.set(x, new Array(traces.length).fill(""));
        rows.get(x)[column] = trace.y[index];
      });
    });
    const title = graph.layout.xaxis?.title?.text || "x";
    const head = [title, ...traces.map((trace) => trace.name || "value")].map(quote).join(",");
    return [head, ...[...rows].map(([x, values]) => [x, ...values].map(quote).join(","))].join("\n") + "\n";
  }

  function save(name, text) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  document.addEventListener("fullscreenchange", () => {
    for (const graph of document.querySelectorAll(".chart-card .js-plotly-plot")) window.Plotly.Plots.resize(graph);
  });
})();
