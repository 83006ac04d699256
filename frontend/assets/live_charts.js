// The charts of a run page while the run trains: drawn whole, then appended to.
(function () {
  "use strict";

  const { ask, clientside, count, here, inSight, noUpdate, scheme } = window.bapo;
  const live = window.bapoLive;
  const charts = window.bapoCharts;

  const NEAR = 200; // Pixels beyond the window's edges.
  const MOST_POINTS = 1500; // A chart that has grown longer is redrawn from a sample.
  const NO_ANSWER = "The server does not answer. Training continues; try again in a moment.";
  const { state } = live;
  const plot = (name) => charts.plot(name);
  const counts = new Map(); // Chart name -> steps shown and steps there are, where some were left out.

  live.dragging = () => [...document.querySelectorAll(".js-plotly-plot")].some((graph) => graph._dragging);

  // The view of the charts as a query: what is appended must be drawn as they were.
  live.viewQuery = (view) => {
    const query = { charts: view.charts.join(","), x: view.x, smooth: view.smooth };
    const axes = Object.entries(view.axes).map(([name, kind]) => `${name}:${kind}`).join(",");
    if (axes) query.axes = axes;
    if (view.steps) query.steps = view.steps;
    return query;
  };

  const addressOf = (run, query) => `/live/runs/${run}/charts?${new URLSearchParams(query)}`;

  // The charts of a tab are asked for while Dash still sets up the page around them, or the tab.
  const TABS = ["overview", "batch", "difficulty", "off-policy", "system"];
  let early = null;

  function askEarly(opened) {
    const run = /^\/runs\/([a-z0-9]+)$/.exec(here())?.[1];
    const tab = run && (opened || window.bapoView.read().get("tab") || TABS[0]);
    if (!TABS.includes(tab)) return;
    const { charts: _, ...query } = live.viewQuery({ charts: [], axes: {}, ...charts.look() });
    const address = addressOf(run, { tab, ...query, scheme: scheme() });
    early = { address, answer: ask(address).catch(() => null) };
  }
  addEventListener("bapo:tab", ({ detail }) => askEarly(detail));
  Promise.resolve().then(() => askEarly()); // Once all our scripts are there.

  async function draw(view, colours, _reloads, run, source) {
    if (!view) return noUpdate();
    const { charts: names, ...query } = live.viewQuery(view);
    query.scheme = colours;
    const asked = early;
    early = null;
    const known = asked?.address === addressOf(run, { tab: view.tab, ...query }) ? await asked.answer : null;
    // Not what is older than the page itself, whose stream begins after all that the page has in it.
    const isWhole = known?.figures && known.event >= (source?.after ?? 0) && view.charts.every((name) => name in known.figures);
    const data = isWhole ? known : await ask(addressOf(run, { charts: names, ...query })).catch(() => ({ problem: NO_ANSWER }));
    return { run, view, ...data };
  }

  // Whole figures from the server take their place.
  function drawn(data, classes) {
    const names = clientside.callback_context.outputs_list[0].map((output) => output.id.name);
    const keep = () => names.map(noUpdate);
    // An answer for the tab that was left comes too late.
    const isLate = data && !data.problem && names.some((name) => !(name in data.figures));
    if (!data || data.run !== state.run || isLate) return [keep(), keep(), keep(), null];
    if (data.problem) {
      state.reload = true; // Asked for again with the next news.
      return [keep(), keep(), names.map(() => data.problem), null];
    }
    const figures = names.map((name) => charts.viewed(name, data.figures[name]));
    const states = names.map((name, index) => {
      const base = classes[index].split(" ").filter((part) => !["loading", "empty", "ready"].includes(part));
      return [...base, name in data.empty ? "empty" : "ready"].join(" ");
    });
    for (const [name, reason] of Object.entries(data.empty)) {
      const place = document.querySelector(`[data-chart="${name}"] .chart-empty`);
      if (place) place.textContent = reason;
    }
    Object.assign(state, { view: data.view, until: data.until });
    state.drawings += 1;
    state.queues.clear();
    counts.clear();
    for (const name of names) if (data.notes[name]) counts.set(name, data.notes[name]);
    wanted(data);
    requestAnimationFrame(charts.showFull);
    return [figures, states, names.map(noteOf), data.until];
  }

  function noteOf(name) {
    const [shown, all] = counts.get(name) || [];
    return all ? `${count(shown)} of ${count(all)} steps, every peak` : "";
  }

  live.append = (news) => {
    for (const [name, extension] of Object.entries(news.charts)) {
      if (!state.queues.has(name)) state.queues.set(name, []);
      state.queues.get(name).push(extension);
      const known = counts.get(name);
      if (known) {
        counts.set(name, known.map((each) => each + news.until - news.after));
        const note = document.querySelector(`[data-chart="${name}"] .chart-note`);
        if (note) note.textContent = noteOf(name);
      }
    }
    state.until = news.until;
    flush();
    for (const [name, figure] of Object.entries(news.figures)) replace(name, figure);
  };

  function flush() {
    // All are looked at before the first is drawn: after that, every look would take another layout of the page. What is
    // not drawn yet has its points as soon as it is.
    const ready = [...state.queues].filter(([name]) => {
      const graph = plot(name);
      return graph && !graph._dragging && inSight(graph, NEAR);
    });
    for (const [name, extensions] of ready) {
      const graph = plot(name);
      state.queues.delete(name);
      const traces = extensions[0].traces;
      const joined = (column) => traces.map((_, index) => extensions.flatMap((each) => each[column][index]));
      if (graph.data.length !== traces.length) continue;
      const x = joined("x").map((values) => charts.localX(graph, values));
      charts.append(graph, { x, y: joined("y") }, traces);
      if (graph.data[0].x.length > MOST_POINTS) {
        state.reload = true;
        live.note();
      }
    }
  }

  function replace(name, figure) {
    const card = document.querySelector(`[data-chart="${name}"]`);
    if (!card || plot(name)?._dragging) return;
    card.classList.remove("empty");
    card.querySelector(".dash-graph").bapoShow(charts.viewed(name, figure));
  }

  let scrolled = null;
  addEventListener("scroll", () => {
    if (scrolled === null && state.queues.size) {
      scrolled = requestAnimationFrame(() => { scrolled = null; flush(); });
    }
  }, { passive: true, capture: true });
  setInterval(() => { if (state.queues.size) flush(); }, 1000);

  // A link may name a chart.
  let seen = null;
  function wanted(data) {
    const name = new URLSearchParams(location.search).get("chart");
    if (!name || seen === name + data.run) return;
    const card = document.querySelector(`[data-chart="${CSS.escape(name)}"]`);
    if (!card) return;
    seen = name + data.run;
    card.scrollIntoView({ block: "center" });
    card.classList.add("named");
  }

  clientside.live = { draw, drawn };
})();
