// The address holds each chart's view, so that a link restores it: `c.rewards=log,x:time,h:10..40,v:0..1,hide:0-2`
// is a logarithmic chart over wall time, zoomed in both directions, without its first and third line. `full` names the
// chart that fills the window, `mark` the highlighted mark.
(function () {
  "use strict";

  const { clientside, find, noUpdate, setProps } = window.bapo;
  const charts = window.bapoCharts;

  // Skips a chart that is about to be redrawn.
  charts.plot = (name) => document.querySelector(`[data-chart="${name}"] .js-plotly-plot:not([data-waiting])`);
  charts.nameOf = (graph) => graph.closest("[data-chart]")?.dataset.chart;

  // ---------------------------------------------------------------- one chart's part of the address

  charts.textOf = (name) => window.bapoView.read().get(`c.${name}`) || "";

  charts.viewOf = (name) => {
    const view = { log: false, x: null, h: null, v: null, hide: [] };
    for (const part of charts.textOf(name).split(",")) {
      const [key, value] = part.split(":", 2);
      if (key === "log") view.log = true;
      else if (key === "x" && ["step", "time", "rollouts"].includes(value)) view.x = value;
      else if ((key === "h" || key === "v") && value) view[key] = rangeOf(value);
      else if (key === "hide" && value) view.hide = value.split("-").map(Number).filter(Number.isInteger);
    }
    return view;
  };

  function rangeOf(text) {
    const ends = text.split("..").map(Number);
    return ends.length === 2 && ends.every(Number.isFinite) ? ends : null;
  }

  charts.change = (name, changes) => window.bapoView.write({ [`c.${name}`]: textOf({ ...charts.viewOf(name), ...changes }) });

  function textOf(view) {
    const range = (ends) => ends.map((end) => Number(Number(end).toPrecision(Math.abs(end) > 1e9 ? 13 : 6))).join("..");
    const parts = [];
    if (view.log) parts.push("log");
    if (view.x) parts.push(`x:${view.x}`);
    if (view.h) parts.push(`h:${range(view.h)}`);
    if (view.v) parts.push(`v:${range(view.v)}`);
    if (view.hide.length) parts.push(`hide:${view.hide.join("-")}`);
    return parts.join(",");
  }

  // ---------------------------------------------------------------- times

  // Plotly draws times as they are written: the viewer's clock is shown by moving them.
  const offset = (ms) => new Date(ms).getTimezoneOffset() * 60000;
  charts.toLocal = (ms) => (typeof ms === "number" ? ms - offset(ms) : ms);
  charts.toUtc = (ms) => ms + offset(ms + offset(ms));
  const isTime = (layout) => layout.xaxis?.type === "date";
  const inData = (part) => !part.xref || part.xref === "x";

  function localised(figure) {
    const layout = figure.layout;
    if (!isTime(layout) || layout.meta?.local) return;
    layout.meta = { ...layout.meta, local: true };
    for (const trace of figure.data) if (trace.x) trace.x = Array.from(trace.x, charts.toLocal);
    for (const shape of (layout.shapes || []).filter(inData)) {
      shape.x0 = charts.toLocal(shape.x0);
      shape.x1 = charts.toLocal(shape.x1);
    }
    for (const note of (layout.annotations || []).filter(inData)) note.x = charts.toLocal(note.x);
    const title = layout.xaxis.title;
    if (title?.text) layout.xaxis.title = { ...title, text: title.text.replace("UTC", window.bapoTime.zone()) };
  }

  charts.localX = (graph, values) => (isTime(graph.layout) ? values.map(charts.toLocal) : values);

  // ---------------------------------------------------------------- applied to figures

  // What the server drew, as this address wants it. The address alone says what is zoomed and hidden.
  charts.viewed = (name, figure) => {
    if (!figure) return figure;
    localised(figure);
    const view = charts.viewOf(name);
    const layout = figure.layout;
    layout.uirevision = `${layout.uirevision}|${charts.textOf(name)}`;
    if (view.log) {
      layout.yaxis = { ...layout.yaxis, type: "log", autorange: true };
      delete layout.yaxis.range;
    }
    if (view.h) {
      const range = isTime(layout) ? view.h.map(charts.toLocal) : view.h;
      layout.xaxis = { ...layout.xaxis, range, autorange: false };
    }
    if (view.v) layout.yaxis = { ...layout.yaxis, range: view.v, autorange: false };
    if (view.hide.length) {
      const groups = new Set(view.hide.map((index) => figure.data[index]?.legendgroup).filter(Boolean));
      figure.data.forEach((trace, index) => {
        if (view.hide.includes(index) || groups.has(trace.legendgroup)) trace.visible = "legendonly";
      });
    }
    const mark = window.bapoView.read().get("mark");
    if (mark) {
      for (const shape of layout.shapes || []) if (shape.name === mark) shape.line = { ...shape.line, width: 4 };
      for (const note of layout.annotations || []) if (note.name === mark) note.font = { ...note.font, size: 16 };
    }
    if (window.bapoView.read().get("full") === name) delete layout.height; // As high as the window.
    return figure;
  };

  // ---------------------------------------------------------------- what people do in a chart

  function watched(graph) {
    const name = charts.nameOf(graph);
    // A graph loses its listeners when it is plotted again.
    if (!name || !graph.on || graph._ev.listeners("plotly_relayout").includes(graph.bapoMoved)) return;
    graph.bapoMoved = (change) => {
      if (graph.bapoGrows) return;
      const keys = Object.keys(change);
      const changes = {};
      for (const [key, axis] of [["h", "xaxis"], ["v", "yaxis"]]) {
        if (!keys.some((each) => each.startsWith(`${axis}.range`) || each === `${axis}.autorange`)) continue;
        const { autorange, range } = graph._fullLayout[axis];
        changes[key] = autorange === true ? null : range.map((end) => numberOf(end));
      }
      if (Object.keys(changes).length) charts.change(name, changes);
    };
    graph.on("plotly_relayout", graph.bapoMoved);
    graph.on("plotly_restyle", ([changes]) => {
      if (!("visible" in changes)) return;
      const hidden = graph.data.map((trace, index) => (trace.visible === "legendonly" ? index : null));
      charts.change(name, { hide: hidden.filter((index) => index !== null) });
    });
    graph.on("plotly_clickannotation", ({ annotation }) => {
      if (!annotation.name || !find("run-tabs")) return;
      if (annotation.name.startsWith("alert-")) find("run-alerts")?.scrollIntoView({ block: "center" });
      else charts.openTab("history", { mark: annotation.name });
    });
    graph.on("plotly_click", ({ points, event }) => {
      // A double-click leads out of a zoom, however slowly a busy machine takes it: neither click means a point.
      const { h, v } = charts.viewOf(name);
      if (!points?.length || h || v || event?.detail > 1) return;
      const kind = String(graph.layout?.uirevision || "").split("|")[0];
      dispatchEvent(new CustomEvent("bapo:point", { detail: { kind, x: points[0].x } }));
    });
    charts.synced(graph);
  }

  // Ranges of times are strings in Plotly's own notation, and in the viewer's zone.
  function numberOf(end) {
    return typeof end === "string" ? charts.toUtc(Date.parse(`${end.replace(" ", "T").slice(0, 23)}${end.length < 11 ? "" : "Z"}`)) : end;
  }

  document.addEventListener("bapo:plotted", (event) => watched(event.target));

  // Opens another tab with a view, such as the mark to highlight there.
  charts.openTab = (tab, keys) => {
    window.bapoView.write({ tab: tab === "overview" ? null : tab, ...keys }, { push: true, keep: ["x", "smooth"] });
    setProps("run-tabs", { value: tab });
  };

  document.addEventListener("click", (event) => {
    const mark = event.target.closest?.("[data-show-mark]")?.dataset.showMark;
    if (mark) charts.openTab("overview", { mark });
  });

  charts.toggleLog = (name) => {
    const graph = charts.plot(name);
    const log = !charts.viewOf(name).log;
    charts.change(name, { log, v: null });
    window.Plotly.relayout(graph, { "yaxis.type": log ? "log" : "linear", "yaxis.autorange": true });
  };

  charts.chooseAxis = (name, kind) => {
    charts.change(name, { x: kind, h: null });
    viewAgain();
  };

  // The server draws the open tab's charts as they are looked at now.
  let asked = 0;
  function viewAgain() {
    const mounted = charts.mounted;
    // Other tabs draw charts of their own.
    if (mounted && find("charts-grid")) setProps("charts-view", { data: asViewed(mounted) });
  }

  // How all charts of a tab are looked at, by the address.
  charts.look = () => {
    const query = window.bapoView.read();
    return { x: query.get("x") || "step", smooth: query.get("smooth") || "auto", steps: query.get("steps") };
  };

  function asViewed(mounted) {
    const axes = {};
    for (const name of mounted.charts) {
      const { x } = charts.viewOf(name);
      if (x) axes[name] = x;
    }
    return { tab: mounted.tab, charts: mounted.charts, ...charts.look(), axes, asked: ++asked };
  }

  clientside.charts = {
    view(mounted, x, smooth) {
      charts.mounted = mounted;
      const query = window.bapoView.read();
      // A range of steps is none of times.
      if (x !== (query.get("x") || "step")) for (const name of mounted.charts) charts.change(name, { h: null });
      window.bapoView.write({ x: x === "step" ? null : x, smooth: smooth === "auto" ? null : smooth });
      showFull();
      if (find("funnel-from")) {
        const ends = (query.get("steps") || "..").split("..");
        setProps("funnel-from", { value: ends[0] ? Number(ends[0]) : "" });
        setProps("funnel-to", { value: ends[1] ? Number(ends[1]) : "" });
      }
      return asViewed(mounted);
    },
    funnel(first, last) {
      const steps = first || last ? `${first || ""}..${last || ""}` : null;
      if (steps !== window.bapoView.read().get("steps")) {
        window.bapoView.write({ steps });
        viewAgain();
      }
      return noUpdate();
    },
  };

  addEventListener("bapo:view", () => {
    showFull();
    viewAgain();
  });

  // ---------------------------------------------------------------- one chart over the whole window

  charts.toggleFull = (name) => {
    const now = window.bapoView.read().get("full") === name ? null : name;
    window.bapoView.write({ full: now });
    showFull();
  };

  function showFull() {
    const wanted = window.bapoView.read().get("full");
    for (const card of document.querySelectorAll(".chart-card")) {
      const is = card.dataset.chart === wanted;
      if (card.classList.contains("full") === is) continue;
      card.classList.toggle("full", is);
      const graph = card.querySelector(".js-plotly-plot");
      // The graph's box has its size from the style sheet, and takes no other.
      if (graph && graph._fullLayout) window.Plotly.Plots.resize(graph);
    }
    document.documentElement.classList.toggle("has-full", Boolean(wanted && document.querySelector(".chart-card.full")));
  }
  charts.showFull = showFull;

  document.addEventListener("keydown", (event) => {
    const wanted = window.bapoView.read().get("full");
    if (event.key === "Escape" && wanted && !document.querySelector(".chart-menu")) charts.toggleFull(wanted);
  });
})();
