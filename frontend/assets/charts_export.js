// Takes a chart out of the page: as a picture, as a table in a file, as data.
(function () {
  "use strict";

  const { csv, fileName, here, save } = window.bapo;
  const charts = (window.bapoCharts = {}); // Filled by the other files on charts, which load after this one.

  const cardOf = (name) => document.querySelector(`[data-chart="${name}"]`);
  const titleOf = (name) => cardOf(name).querySelector(".chart-title").textContent;
  const runName = () => document.querySelector(".run-name")?.textContent || document.title;
  const style = (variable) => getComputedStyle(document.documentElement).getPropertyValue(variable).trim();
  // Traces that are neither hidden in the legend nor there for looks alone, such as intervals.
  const shown = (charts.shown = (graph) => graph.data.filter((trace) => trace.visible !== "legendonly" && trace.hoverinfo !== "skip"));

  const fileOf = (name) => fileName(`${runName()}-${name}`);

  charts.saveImage = (name, format) => {
    const graph = charts.plot(name);
    const title = { text: `${escaped(titleOf(name))} <span style="font-size:11px">· ${escaped(runName()).slice(0, 120)}</span>`, x: 0.01, xanchor: "left", font: { size: 15 } };
    const layout = {
      ...graph.layout, title, paper_bgcolor: style("--bapo-card"), width: undefined, height: undefined,
      margin: { ...graph._fullLayout.margin, t: 64 },
    };
    return window.Plotly.downloadImage(
      { data: graph.data, layout, config: graph._context }, { format, filename: fileOf(name), width: 1200, height: 600, scale: format === "png" ? 2 : 1 },
    );
  };

  const escaped = (text) => text.replace(/[&<>]/g, (sign) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[sign]);

  const isTime = (graph) => graph.layout.xaxis?.type === "date";
  const plainX = (graph, values) =>
    Array.from(values, (x) => (isTime(graph) && typeof x === "number" ? new Date(charts.toUtc(x)).toISOString() : x));

  charts.saveCsv = (name) => save(`${fileOf(name)}.csv`, csv(charts.tableOf(charts.plot(name))), "text/csv");

  // What a chart shows, as rows of a table.
  charts.tableOf = (graph) => {
    const [first] = graph.data;
    return first?.type === "sankey" ? bands(first) : first?.z ? cells(graph) : columns(graph);
  };

  const axisTitle = (graph, axis) => graph.layout[axis]?.title?.text || axis[0];

  function columns(graph) {
    const traces = shown(graph).filter((trace) => trace.x && trace.y);
    const isSideways = traces.some((trace) => trace.orientation === "h");
    const rows = new Map();
    traces.forEach((trace, column) => {
      const positions = plainX(graph, isSideways ? trace.y : trace.x);
      const values = isSideways ? trace.x : trace.y;
      positions.forEach((x, index) => {
        if (x === null) return; // An entry of the legend alone.
        if (!rows.has(x)) rows.set(x, traces.map(() => ""));
        rows.get(x)[column] = values[index];
      });
    });
    const head = [axisTitle(graph, isSideways ? "yaxis" : "xaxis"), ...traces.map((trace) => trace.name || "value")];
    return [head, ...[...rows].map(([x, values]) => [x, ...values])];
  }

  // Heat maps: a row for each cell that holds something.
  function cells(graph) {
    const { x, y, customdata } = graph.data[0];
    const positions = plainX(graph, x);
    const rows = [];
    y.forEach((name, row) => positions.forEach((position, column) => {
      const value = customdata[row][column];
      if (value !== null && value !== 0) rows.push([position, name, value]);
    }));
    return [[axisTitle(graph, "xaxis"), axisTitle(graph, "yaxis"), "value"], ...rows];
  }

  // Flows: a row for each band.
  function bands({ node, link }) {
    const end = (index) => [node.customdata[index], node.label[index]];
    const rows = [...link.value].map((value, index) => [...end(link.source[index]), ...end(link.target[index]), value]);
    return [["from", "class", "to", "class", "prompts"], ...rows];
  }

  charts.saveJson = (name) => {
    const graph = charts.plot(name);
    const { template, uirevision, meta, ...layout } = graph.layout;
    const content = {
      title: titleOf(name),
      chart: name,
      run: { id: here().split("/")[2] || null, name: runName() },
      exported_at: new Date().toISOString(),
      address: location.href,
      note: cardOf(name).querySelector(".chart-note")?.textContent || null,
      data: graph.data.map((trace) => ({ ...trace, ...(trace.x ? { x: plainX(graph, trace.x) } : {}) })),
      layout,
    };
    save(`${fileOf(name)}.json`, JSON.stringify(content, null, 1), "application/json");
  };
})();
