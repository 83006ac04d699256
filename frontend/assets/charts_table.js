// A chart as tables in a dialog: one for each of its panels, with the values drawn now, formatted as in the chart's
// tooltips.
(function () {
  "use strict";

  const { button, count, csv, dialog, fileName, make, plural, save } = window.bapo;
  const charts = window.bapoCharts;

  const MOST_ROWS = 300; // In all tables of a chart; the CSV has the others.

  // ---------------------------------------------------------------- texts

  const ENTITIES = { amp: "&", lt: "<", gt: ">", quot: '"', "#x27": "'", "#39": "'", nbsp: " " };
  // Plotly's texts have a few tags and entities; names that people chose are escaped in them.
  const plain = (text) => String(text ?? "")
    .replace(/<extra>[^]*?<\/extra>/g, "").replace(/<br\s*\/?>/g, ", ").replace(/<\/?[a-z][^<>]*>/gi, "")
    .replace(/&(amp|lt|gt|quot|nbsp|#x27|#39);/g, (_, name) => ENTITIES[name]).trim();

  const number = (value) => value.toLocaleString("en", { maximumSignificantDigits: Math.abs(value) < 1e5 ? 5 : 12 });
  const written = (value) => (typeof value === "number" && Number.isFinite(value) ? number(value) : plain(value));

  function formatted(graph, form, value) {
    if (typeof value !== "number") return plain(value);
    const formatter = form && graph._fullLayout?._d3locale?.numberFormat;
    return formatter ? formatter(form)(value) : number(value);
  }

  // "%{y:.1%} (%{customdata[0]:.1%})" of one point, without the parts that say where it lies: the table's heads do.
  function said(graph, template, place, valueAt) {
    const parts = template.replace(/<extra>[^]*?<\/extra>/g, "").split(/<br\s*\/?>|: /);
    const own = parts.filter((part) => !place.some((axis) => part.includes(`%{${axis}`)));
    return own.map((part) => plain(part.replace(/%\{([\w.]+)(?:\[(\d+)\])?(?::([^}]+))?\}/g, (_, key, index, form) => {
      const found = valueAt(key);
      return formatted(graph, form, index === undefined ? found : found?.[index]);
    }))).filter(Boolean).join(", ");
  }

  // Arrays that travel as bytes are numbers only in what Plotly has made of them.
  const ARRAYS = ["x", "y", "z", "customdata"];

  function decoded(graph, trace) {
    const full = graph._fullData?.[graph.data.indexOf(trace)];
    return { ...trace, ...Object.fromEntries(ARRAYS.filter((key) => full?.[key]).map((key) => [key, full[key]])) };
  }

  const ofPoint = (given, index) => (given !== null && typeof given === "object" ? given[index] : given);

  // ---------------------------------------------------------------- panels

  const axisOf = (graph, reference) => (reference || "x").replace(/^([xy])/, "$1axis");
  const layoutOf = (graph, reference) => graph.layout[axisOf(graph, reference)] || {};
  const titleOf = (graph, reference) => plain(layoutOf(graph, reference).title?.text);

  // The title above the panel is an annotation.
  function panelTitle(graph, index) {
    const above = (graph.layout.annotations || []).filter(({ xref }) => xref === "paper");
    const title = above.find(({ name }) => name === `panel ${index}`) ?? above[index];
    return plain(title?.hovertext || title?.text);
  }

  // Positions that a zoom leaves out.
  function within(graph, reference) {
    const axis = graph._fullLayout?.[axisOf(graph, reference)];
    if (!axis || axis.autorange === true || axis.type === "category" || !axis.range || !axis.d2c) return () => true;
    const ends = axis.range.map((end) => axis.r2c(end));
    const [low, high] = [Math.min(...ends), Math.max(...ends)];
    return (value) => axis.d2c(value) >= low && axis.d2c(value) <= high;
  }

  const isMissing = (value) => value === null || value === undefined || value === "" || Number.isNaN(value);

  function position(graph, reference, value) {
    if (typeof value === "string") return plain(value);
    if (layoutOf(graph, reference).type === "date") return window.bapoTime.exact(new Date(charts.toUtc(value)));
    return number(value);
  }

  // ---------------------------------------------------------------- kinds of charts

  // Lines and bars: a row for each position, a column for each of them.
  function ofCurves(graph, traces) {
    const isSideways = traces.some((trace) => trace.orientation === "h" || typeof trace.y[0] === "string");
    const [along, across] = isSideways ? ["y", "x"] : ["x", "y"];
    const { xaxis = "x", yaxis = "y" } = traces[0];
    const [place, scale] = isSideways ? [yaxis, xaxis] : [xaxis, yaxis];
    const isIn = within(graph, place);
    const rows = new Map();
    let beyond = 0;
    traces.forEach((trace, column) => {
      Array.from(trace[along]).forEach((at, index) => {
        const value = trace[across][index];
        if (isMissing(at) || isMissing(value)) return;
        if (!rows.has(at)) rows.set(at, traces.map(() => ""));
        const valueAt = (key) => (key === "fullData.name" ? trace.name : ofPoint(trace[key], index));
        const text = trace.hovertemplate && said(graph, ofPoint(trace.hovertemplate, index), [along], valueAt);
        rows.get(at)[column] = text || written(value);
      });
    });
    const kept = [...rows].filter(([at]) => isIn(at) || (beyond += 1, false));
    // Lines need not begin at the same place.
    if (kept.every(([at]) => typeof at === "number")) kept.sort(([one], [other]) => one - other);
    const unit = titleOf(graph, scale);
    const heads = traces.map((trace) => {
      const name = plain(trace.name);
      return [name, name.includes(unit) ? "" : unit].filter(Boolean).join(", ") || "value";
    });
    return {
      heads: [titleOf(graph, place) || (typeof kept[0]?.[0] === "string" ? "category" : "position"), ...heads],
      rows: kept.map(([at, values]) => [position(graph, place, at), ...values]), beyond,
    };
  }

  // Heat maps: classes by classes as they are drawn; over training a row for each position, a column for each class.
  function ofCells(graph, trace) {
    const { x, y, z, xaxis = "x", yaxis = "y", hovertemplate = "" } = trace;
    const xs = Array.from(x), ys = Array.from(y);
    const isIn = within(graph, xaxis);
    const cell = (row, column) => {
      if (isMissing(z[row][column])) return "";
      const valueAt = (key) => (key === "x" ? xs[column] : key === "y" ? ys[row] : ofPoint(ofPoint(trace[key], row), column));
      return said(graph, hovertemplate, ["x", "y"], valueAt) || written(z[row][column]);
    };
    const label = (title, text) => (title ? `${title} ${text}` : text);
    const isMatrix = typeof xs[0] === "string";
    if (isMatrix) {
      const corner = [titleOf(graph, yaxis), titleOf(graph, xaxis)].filter(Boolean).join(" \\ ") || "class";
      const rows = ys.map((at, row) => [position(graph, yaxis, at), ...xs.map((_, column) => cell(row, column))]);
      return { heads: [corner, ...xs.map((at) => position(graph, xaxis, at))], rows, beyond: 0 };
    }
    const shown = xs.map((at, column) => [at, column]).filter(([at]) => isIn(at));
    return {
      heads: [titleOf(graph, xaxis) || "position", ...ys.map((at) => label(titleOf(graph, yaxis), position(graph, yaxis, at)))],
      rows: shown.map(([at, column]) => [position(graph, xaxis, at), ...ys.map((_, row) => cell(row, column))]),
      beyond: xs.length - shown.length,
    };
  }

  // What is drawn as rows already: flows, and tables.
  function ofRows([heads, ...rows]) {
    return { heads: heads.map(plain), rows: rows.map((row) => row.map(written)), beyond: 0 };
  }

  function ofTable({ header, cells }) {
    const columns = cells.values.map((column) => Array.from(column));
    return ofRows([header.values.flat(), ...columns[0].map((_, row) => columns.map((column) => column[row]))]);
  }

  // ---------------------------------------------------------------- a chart

  // Panels of a chart as { title, heads, rows, beyond }: texts, and how many rows a zoom leaves out.
  charts.tablesOf = (graph) => {
    const [lead] = graph.data;
    if (!lead) return [];
    if (lead.type === "sankey") return [{ title: "", ...ofRows(charts.tableOf(graph)) }];
    const panels = new Map();
    for (const trace of charts.shown(graph).map((each) => decoded(graph, each))) {
      if (trace.type !== "table" && (!trace.x || !trace.y || !Array.from(trace.x).some((at) => !isMissing(at)))) continue;
      const key = `${trace.xaxis || "x"}${trace.yaxis || "y"}${trace.type === "heatmap" ? " cells" : ""}`;
      if (!panels.has(key)) panels.set(key, []);
      panels.get(key).push(trace);
    }
    return [...panels].map(([key, traces]) => {
      const [trace] = traces;
      const index = Number((trace.yaxis || "y").slice(1) || 1) - 1;
      const made = trace.type === "table" ? ofTable(trace) : key.endsWith(" cells") ? ofCells(graph, trace) : ofCurves(graph, traces);
      return { title: panels.size > 1 ? panelTitle(graph, index) : plain(graph.layout.title?.text), ...made };
    });
  };

  // ---------------------------------------------------------------- the dialog

  function tableOf(title, { heads, rows }, limit) {
    const headings = heads.map((head) => {
      const cell = make("th", "", head);
      cell.scope = "col";
      return cell;
    });
    const lines = rows.slice(0, limit).map(([at, ...values]) => {
      const cell = make("th", "", at);
      cell.scope = "row";
      return make("tr", "", cell, ...values.map((value) => make("td", "", value)));
    });
    return make("table", "data-table", make("caption", "data-caption", title), make("thead", "", make("tr", "", ...headings)), make("tbody", "", ...lines));
  }

  // What of the chart is not in the tables.
  function notes(graphs, tables, numShown) {
    const total = tables.reduce((sum, { rows }) => sum + rows.length, 0);
    const beyond = tables.reduce((sum, table) => sum + table.beyond, 0);
    const hidden = graphs.flatMap(({ data }) => data).filter((trace) => trace.visible === "legendonly" && trace.hoverinfo !== "skip").map(({ name }) => plain(name));
    return [
      numShown < total ? `The first ${count(numShown)} of ${plural(total, "row")}; the CSV has all.` : `${plural(total, "row")}.`,
      beyond ? `${plural(beyond, "row")} outside the zoom left out.` : "",
      hidden.length ? `Hidden in the legend: ${[...new Set(hidden)].join(", ")}.` : "",
    ].filter(Boolean).join(" ");
  }

  // `graphs`: the graphs under one title.
  charts.showTable = (graphs, title) => {
    const tables = graphs.flatMap(charts.tablesOf);
    const several = tables.length > 1;
    let left = MOST_ROWS;
    const elements = tables.map((table, index) => {
      const element = tableOf(several ? `${title}: ${table.title || `panel ${index + 1}`}` : title, table, left);
      if (!several) element.caption.classList.add("unseen"); // The dialog's title says it already.
      left -= Math.min(left, table.rows.length);
      return element;
    });
    const region = make("div", "data-region", ...(elements.length ? elements : ["There is no data yet."]));
    Object.assign(region, { tabIndex: 0, autofocus: true });
    region.setAttribute("role", "region");
    region.setAttribute("aria-label", `Table of ${title}`);
    const taken = button("Download as CSV", "text-button", () => save(`${fileName(`${title} table`)}.csv`, csv(rowsOf(tables, several)), "text/csv"));
    const note = make("p", "data-note", `${notes(graphs, tables, MOST_ROWS - left)} `, ...(elements.length ? [taken] : []));
    dialog(title, "data-dialog", [note, region]);
  };

  const rowsOf = (tables, several) => tables.flatMap(({ title, heads, rows }) =>
    (several ? [[title], heads, ...rows] : [heads, ...rows]));

  // ---------------------------------------------------------------- charts on the page

  const NAMED = "[role=figure][aria-label], [data-paper]";

  // A card's heading; else what the figure is called. What compares runs is called by its title and a note.
  const titleIn = (figure) => (figure.querySelector(".chart-title")?.textContent || figure.getAttribute("aria-label")).trim();
  const drawnIn = (figure) => [...figure.querySelectorAll(".js-plotly-plot")].filter((graph) => graph.data?.length && graph.checkVisibility());

  charts.drawnFigures = () => [...document.querySelectorAll(NAMED)]
    .map((figure) => ({ title: titleIn(figure), graphs: drawnIn(figure) })).filter(({ graphs }) => graphs.length);

  document.addEventListener("click", (event) => {
    const asked = event.target.closest?.("[data-chart-table]");
    const figure = asked && (asked.closest(NAMED) ?? asked.closest("section").querySelector(NAMED));
    if (figure) charts.showTable(drawnIn(figure), titleIn(figure));
  });
})();
