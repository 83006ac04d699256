// Takes a chart out of the page: as a picture, as a table, as data.
(function () {
  "use strict";

  const charts = (window.bapoCharts = window.bapoCharts || {});

  const cardOf = (name) => document.querySelector(`[data-chart="${name}"]`);
  const titleOf = (name) => cardOf(name).querySelector(".chart-title").textContent;
  const runName = () => document.querySelector(".run-name")?.textContent || document.title;
  const style = (variable) => getComputedStyle(document.documentElement).getPropertyValue(variable).trim();
  const shown = (graph) => graph.data.filter((trace) => trace.visible !== "legendonly" && trace.hoverinfo !== "skip");

  function fileOf(name) {
    return `${runName()}-${name}`.toLowerCase().replace(/[^a-z0-9]+/g, "-").slice(0, 80);
  }

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

  charts.saveCsv = (name) => {
    const graph = charts.plot(name);
    save(`${fileOf(name)}.csv`, contentOf(graph), "text/csv");
  };

  function contentOf(graph) {
    const [first] = graph.data;
    return first?.type === "sankey" ? bands(first) : first?.z ? cells(graph) : columns(graph);
  }

  const quoted = (value) => (/[",\n]/.test(String(value)) ? `"${String(value).replaceAll('"', '""')}"` : value ?? "");
  const table = (rows) => rows.map((row) => row.map(quoted).join(",")).join("\n") + "\n";
  const axisTitle = (graph, axis) => graph.layout[axis]?.title?.text || axis[0];

  function columns(graph) {
    const traces = shown(graph).filter((trace) => trace.x && trace.y);
    const isSideways = traces.some((trace) => trace.orientation === "h");
    const rows = new Map();
    traces.forEach((trace, column) => {
      const positions = plainX(graph, isSideways ? trace.y : trace.x);
      const values = isSideways ? trace.x : trace.y;
      positions.forEach((x, index) => {
        if (!rows.has(x)) rows.set(x, new Array(traces.length).fill(""));
        rows.get(x)[column] = values[index];
      });
    });
    const head = [axisTitle(graph, isSideways ? "yaxis" : "xaxis"), ...traces.map((trace) => trace.name || "value")];
    return table([head, ...[...rows].map(([x, values]) => [x, ...values])]);
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
    return table([[axisTitle(graph, "xaxis"), axisTitle(graph, "yaxis"), "value"], ...rows]);
  }

  // Flows: a row for each band.
  function bands({ node, link }) {
    const end = (index) => [node.customdata[index], node.label[index]];
    const rows = [...link.value].map((value, index) => [...end(link.source[index]), ...end(link.target[index]), value]);
    return table([["from", "class", "to", "class", "prompts"], ...rows]);
  }

  charts.saveJson = (name) => {
    const graph = charts.plot(name);
    const { template, uirevision, meta, ...layout } = graph.layout;
    const content = {
      title: titleOf(name),
      chart: name,
      run: { id: location.pathname.split("/")[2] || null, name: runName() },
      exported_at: new Date().toISOString(),
      address: location.href,
      note: cardOf(name).querySelector(".chart-note")?.textContent || null,
      data: graph.data.map((trace) => ({ ...trace, ...(trace.x ? { x: plainX(graph, trace.x) } : {}) })),
      layout,
    };
    save(`${fileOf(name)}.json`, JSON.stringify(content, null, 1), "application/json");
  };

  charts.save = save;
  function save(name, text, type) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }
})();
