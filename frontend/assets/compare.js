// The comparison: its address, one legend for all charts, tables that sort, downloads, and news of running runs.
(function () {
  "use strict";

  const { clientside, csv, fileName, find, here, noUpdate, plural, save, setProps } = window.bapo;
  // The server has searched already.
  const functions = (window.dashMantineFunctions = window.dashMantineFunctions || {});
  functions.compareFound = ({ options }) => options;

  const FASTEST_MS = 5000;
  const SLOWEST_MS = 20000; // Many runs.
  const page = () => document.querySelector(".compare-page");

  clientside.compare = {
    address(runs, group, x, equal, smooth, metrics, dataset, reach, reference, other) {
      if (!page() || here() !== "/compare") return noUpdate();
      const changed = clientside.callback_context.triggered.map((each) => each.prop_id.split(".")[0]);
      const changes = {
        runs: (runs || []).join(","), group: group === "config" ? null : group, x: x === "step" ? null : x,
        equal: equal ? null : "0", smooth: smooth ? "1" : null, run_group: null,
      };
      // What the server chose is not written: it may choose otherwise when there is more to choose from.
      const later = { metric: (metrics || []).join(","), dataset, reach, reference, other };
      const names = { metric: "compare-metrics", dataset: "compare-dataset", reach: "compare-reach",
        reference: "compare-reference", other: "compare-other" };
      for (const [key, id] of Object.entries(names)) if (changed.includes(id) && touched.has(id)) changes[key] = later[key];
      window.bapoView.write(changes);
      return Date.now();
    },

    drawn(data) {
      if (!data) return noUpdate();
      requestAnimationFrame(() => { applyHidden(); resort(); });
      lastDrawn = Date.now();
      if (find("compare-count")) find("compare-count").textContent = plural(data.runs.length, "run");
      const columns = innerWidth < 600 ? 1 : innerWidth < 1000 ? 2 : 4;
      return { columns, labels: data.labels || [] };
    },
  };

  // ---------------------------------------------------------------- what the user chose

  // Fields that had the focus: only those can hold a user's choice.
  const touched = new Set();
  for (const type of ["focusin", "pointerdown"]) {
    document.addEventListener(type, (event) => {
      if (!page()) return;
      const field = event.target.closest?.("input[id^='compare-']");
      if (field) touched.add(field.id);
      if (event.target.closest?.(".compare-metrics")) touched.add("compare-metrics");
    }, true);
  }

  addEventListener("bapo:view", (event) => {
    if (!page() || here() !== "/compare") return;
    const query = event.detail;
    if (query.has("run_group")) {
      location.reload(); // The server knows which runs those are.
      return;
    }
    setProps("compare-runs", { value: (query.get("runs") || "").split(",").filter(Boolean) });
    setProps("compare-group", { value: query.get("group") || "config" });
    setProps("compare-x", { value: query.get("x") || "step" });
    setProps("compare-equal", { checked: query.get("equal") !== "0" });
    setProps("compare-smooth", { checked: query.get("smooth") === "1" });
    setProps("compare-hidden", { data: (query.get("hide") || "").split("|").filter(Boolean) });
  });

  // ---------------------------------------------------------------- legend

  const pressed = (button) => button.getAttribute("aria-pressed") === "true";

  function hidden() {
    return [...document.querySelectorAll(".compare-key")].filter((key) => !pressed(key)).map((key) => key.dataset.label);
  }

  function applyHidden() {
    const labels = new Set(hidden());
    for (const graph of document.querySelectorAll(".compare-page .js-plotly-plot")) {
      const visible = [], traces = [];
      (graph.data || []).forEach((trace, index) => {
        if (trace.legendgroup === undefined || graph.closest("[data-chart='composition'], [data-chart='migration']")) return;
        const wanted = !labels.has(trace.legendgroup);
        if ((trace.visible !== false) !== wanted) { visible.push(wanted); traces.push(index); }
      });
      if (traces.length) window.Plotly.restyle(graph, { visible }, traces);
    }
    for (const row of document.querySelectorAll(".compare-table tbody tr")) {
      row.classList.toggle("dimmed", labels.has(row.dataset.label));
    }
  }

  function emphasise(label) {
    for (const graph of document.querySelectorAll("#compare-curves .js-plotly-plot")) {
      for (const line of graph.querySelectorAll(".scatterlayer .trace")) {
        const trace = line.__data__?.[0]?.trace;
        line.style.opacity = !label || !trace || trace.legendgroup === label ? "" : "0.15";
      }
    }
  }

  for (const [type, on] of [["pointerover", true], ["pointerout", false], ["focusin", true], ["focusout", false]]) {
    document.addEventListener(type, (event) => {
      const key = event.target.closest?.(".compare-key");
      if (key) emphasise(on && pressed(key) ? key.dataset.label : null);
    });
  }

  // ---------------------------------------------------------------- buttons

  document.addEventListener("click", (event) => {
    if (!page()) return;
    const key = event.target.closest(".compare-key");
    if (key) toggle(key, event.altKey || event.shiftKey);
    const action = event.target.closest("[data-compare-action]");
    if (action) act(action.closest("[data-chart]"), action.dataset.compareAction);
    const table = event.target.closest("[data-compare-table]");
    if (table) hand(table, table.closest("[data-compare-name]"));
    const heading = event.target.closest(".compare-sort");
    if (heading) sort(heading.closest("th"));
  });

  function toggle(key, alone) {
    const keys = [...document.querySelectorAll(".compare-key")];
    if (alone) {
      const isAlone = keys.every((each) => pressed(each) === (each === key));
      for (const each of keys) each.setAttribute("aria-pressed", String(isAlone || each === key));
    } else {
      key.setAttribute("aria-pressed", String(!pressed(key)));
    }
    emphasise(null);
    applyHidden();
    const labels = hidden();
    setProps("compare-hidden", { data: labels });
    window.bapoView.write({ hide: labels.join("|") });
  }

  function act(card, action) {
    const graph = card && card.querySelector(".js-plotly-plot");
    if (!graph) return;
    const file = fileName(`compare-${card.dataset.chart}`);
    if (action === "table") window.bapoCharts.showTable([graph], card.querySelector(".chart-title").textContent);
    if (action === "fullscreen") card.requestFullscreen();
    if (action === "svg") window.Plotly.downloadImage(graph, { format: "svg", filename: file, width: 1200, height: 600 });
    if (action === "csv") saveCsv(file, card.dataset.chart === "migration" ? cells(graph) : points(graph));
  }

  const saveCsv = (name, rows) => save(`${name}.csv`, csv(rows), "text/csv");
  const unescaped = (text) => new DOMParser().parseFromString(text, "text/html").body.textContent;

  function points(graph) {
    const rows = [["run or group", graph._fullLayout.xaxis.title.text || "x", graph._fullLayout.yaxis.title.text || "y"]];
    for (const trace of graph._fullData) {
      if (trace.hoverinfo === "skip" || trace.mode === "markers" || !trace.x) continue;
      const axis = (trace.xaxis || "x").replace("x", "");
      const title = graph._fullLayout.annotations?.[axis ? Number(axis) - 1 : 0]?.hovertext;
      const name = [title, trace.name].filter(Boolean).map(unescaped).join(" ");
      for (let index = 0; index < trace.x.length; index++) rows.push([name, trace.x[index], trace.y[index]]);
    }
    return rows;
  }

  function cells(graph) {
    const [map] = graph._fullData;
    const rows = [["before", "after", "percentage points"]];
    map.y.forEach((before, row) => map.x.forEach((after, column) => rows.push([before, after, map.z[row][column]])));
    return rows;
  }

  function rowsOf(box) {
    const text = (cell) => (cell.closest("thead") ? cell.textContent : cell.dataset.raw ?? cell.textContent);
    return [...box.querySelector("table").rows].map((row) => [...row.cells].map(text));
  }

  async function hand(button, box) {
    if (button.dataset.compareTable === "csv") {
      saveCsv(`compare-${box.dataset.compareName}`, rowsOf(box));
      return;
    }
    await navigator.clipboard.writeText(rowsOf(box).map((row) => row.join("\t")).join("\n"));
    const before = button.textContent;
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = before; }, 1500);
  }

  // ---------------------------------------------------------------- sorting

  const orders = new Map(); // Table name -> [column, direction].

  function sort(heading) {
    const name = heading.closest("[data-compare-name]").dataset.compareName;
    const [column, direction] = orders.get(name) || [];
    const first = heading.classList.contains("number") ? -1 : 1;
    if (column !== heading.cellIndex) orders.set(name, [heading.cellIndex, first]);
    else if (direction === first) orders.set(name, [heading.cellIndex, -first]);
    else orders.delete(name);
    order(heading.closest("[data-compare-name]"));
  }

  function compared(one, other, direction) {
    if (one === "" || other === "") return (one === "") - (other === ""); // What is missing comes last either way.
    const numbers = Number(one) - Number(other);
    return direction * (Number.isNaN(numbers) ? one.localeCompare(other, undefined, { numeric: true }) : numbers);
  }

  function order(box) {
    const [column, direction] = orders.get(box.dataset.compareName) || [];
    const body = box.querySelector("tbody");
    const rows = [...body.rows];
    rows.forEach((row, index) => { row.dataset.place = row.dataset.place ?? index; });
    const value = (row) => row.cells[column]?.dataset.raw ?? "";
    rows.sort((a, b) => (
      column === undefined ? a.dataset.place - b.dataset.place : compared(value(a), value(b), direction)
    ));
    body.append(...rows);
    for (const cell of box.querySelectorAll("thead th")) {
      const sorted = cell.cellIndex === column;
      cell.setAttribute("aria-sort", !sorted ? "none" : direction > 0 ? "ascending" : "descending");
    }
  }

  function resort() {
    for (const box of document.querySelectorAll("[data-compare-name]")) {
      if (orders.has(box.dataset.compareName)) order(box);
    }
  }

  window.bapoCompare = { compared, points, cells };

  // ---------------------------------------------------------------- zoom

  // Plotly prefers a new figure's range to the user's zoom.
  const zooms = new Map(); // Chart -> { x-axis, ranges }.

  function watch(graph) {
    graph._compareWatched = true;
    const chart = graph.closest("[data-chart]").dataset.chart;
    graph.on("plotly_relayout", (change) => {
      const keys = Object.keys(change);
      if (keys.some((key) => key.endsWith(".autorange"))) zooms.delete(chart);
      else if (keys.some((key) => key.includes("axis.range"))) {
        const { xaxis, yaxis } = graph._fullLayout;
        zooms.set(chart, { x: graph.layout.uirevision, "xaxis.range": [...xaxis.range], "yaxis.range": [...yaxis.range] });
      }
    });
    const restore = () => {
      const zoom = zooms.get(chart);
      if (!zoom || zoom.x !== graph.layout.uirevision) return;
      const { x, ...ranges } = zoom;
      const axes = graph._fullLayout;
      const same = ["xaxis", "yaxis"].every((name) => String(axes[name].range) === String(ranges[`${name}.range`]));
      if (!same) window.Plotly.relayout(graph, ranges);
    };
    graph.on("plotly_afterplot", restore);
    restore(); // A chart that was created again.
  }

  document.addEventListener("bapo:plotted", ({ target }) => {
    if (!page()) return;
    // What the legend hides may have changed before the chart was drawn.
    applyHidden();
    if (!target._compareWatched && target.closest("#compare-curves")) watch(target);
  });

  // ---------------------------------------------------------------- running runs

  let lastDrawn = 0;
  setInterval(() => {
    if (!page() || document.hidden || !find("compare-active")) return;
    const graphs = [...document.querySelectorAll(".compare-page .js-plotly-plot")];
    const wait = document.querySelectorAll(".compare-key").length > 10 ? SLOWEST_MS : FASTEST_MS;
    if (Date.now() - lastDrawn < wait || graphs.some((graph) => graph._dragging)) return;
    lastDrawn = Date.now();
    setProps("compare-poke", { data: lastDrawn });
  }, 1000);
})();
