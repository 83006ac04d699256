// Live updates: one event stream per visible page says that something is new; the page's own callback fetches what,
// and the charts append it. Nothing is redrawn while somebody drags in a chart, and nothing that is out of sight.
(function () {
  "use strict";

  const FASTEST_MS = 250; // At most four redraws a second, and fewer where a redraw takes long.
  const SLOWEST_MS = 2000;
  const LIST_MS = 1000;
  const HEAD_MS = 1000; // Header and tiles.
  const REBUILD_MS = 5000; // Charts of totals.
  const ANSWER_MS = 8000; // After this an unanswered poke is given up.
  const LONGEST_WAIT_MS = 15000;
  const DATA_EVENTS = ["step", "evaluation", "tracking", "event", "status"];

  const state = {
    target: null, // Store that pokes go to: runs-poke or run-poke.
    url: null,
    stream: null,
    retries: 0,
    retryTimer: null,
    lostAt: null,
    lastNews: null,
    news: false,
    reload: false,
    reloads: 0,
    inFlight: null,
    sentAt: 0,
    sequence: 0,
    pokeTimer: null,
    interval: FASTEST_MS,
    lastHead: 0,
    headTimer: null,
    lastRebuild: 0,
    run: null,
    tab: null,
    until: 0, // Last step that the charts show.
    queues: new Map(), // Chart name -> extensions that wait until the chart is in sight and at rest.
  };

  const setProps = (id, props) => window.dash_clientside.set_props(id, props);
  const exists = (id) => document.getElementById(id) !== null;

  // ---------------------------------------------------------------- connection

  function connect(url) {
    const run = /^\/api\/v1\/runs\/([^/]+)\/events$/.exec(url || "");
    if (url === state.url && state.stream) return "kept";
    close();
    Object.assign(state, {
      url: url || null, target: run ? "run-poke" : "runs-poke", run: run ? run[1] : null, tab: null, until: 0, news: false,
      reload: false, inFlight: null, interval: run ? FASTEST_MS : LIST_MS, lostAt: null, lastNews: null,
    });
    state.queues.clear();
    if (url && !document.hidden) open();
    showConnection();
    return url ? "open" : "none";
  }

  function open() {
    clearTimeout(state.retryTimer);
    const stream = new EventSource(state.url);
    state.stream = stream;
    stream.onopen = () => {
      const wasLost = state.lostAt !== null;
      state.retries = 0;
      state.lostAt = null;
      showConnection();
      if (wasLost) {
        // Whatever happened meanwhile is fetched anew: states, marks and all.
        state.reload = true;
        note();
      }
    };
    stream.onerror = () => {
      if (state.stream !== stream) return;
      lost();
      if (stream.readyState === EventSource.CLOSED) retry();
    };
    for (const type of DATA_EVENTS) {
      stream.addEventListener(type, () => {
        state.lastNews = Date.now();
        if (type !== "step") state.reload = true;
        note();
      });
    }
  }

  function close() {
    clearTimeout(state.retryTimer);
    if (state.stream) state.stream.close();
    state.stream = null;
  }

  function lost() {
    if (state.lostAt === null) state.lostAt = Date.now();
    showConnection();
  }

  // A server that restarts answers with an error, after which the browser does not try again by itself.
  function retry() {
    close();
    const wait = Math.min(LONGEST_WAIT_MS, 500 * 2 ** state.retries++);
    state.retryTimer = setTimeout(async () => {
      if (document.hidden || !state.url) return;
      try {
        const answer = await fetch("/api/v1/me");
        if (answer.status === 401) {
          location.reload(); // The session ended: the gate shows the login page.
          return;
        }
        if (answer.ok) return open();
      } catch (error) {
        // Still out of reach.
      }
      retry();
    }, wait);
  }

  document.addEventListener("visibilitychange", () => {
    // A browser allows few connections to one server: pages out of sight give theirs back.
    if (document.hidden) {
      close();
      state.inFlight = null;
    } else if (state.url && !state.stream) {
      open();
      state.reload = true;
      note();
    }
  });

  function showConnection() {
    const label = document.getElementById("connection");
    const banner = document.getElementById("connection-banner");
    if (!label || !banner) return;
    const offline = state.url && state.lostAt !== null;
    label.textContent = !state.url ? "" : offline ? "Offline" : "Live";
    label.className = "connection " + (!state.url ? "" : offline ? "offline" : "online");
    banner.classList.toggle("shown", Boolean(offline));
    if (offline) {
      const seconds = Math.round((Date.now() - state.lostAt) / 1000);
      const since = new Date(state.lostAt).toLocaleTimeString();
      banner.textContent =
        `Connection lost ${age(seconds)} ago. You see the data as of ${since}; training goes on. Trying again …`;
    }
  }

  const age = (seconds) => (seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} m ${seconds % 60} s`);
  setInterval(() => { if (state.lostAt !== null) showConnection(); }, 1000);
  // Relative times grow old also where nothing happens.
  setInterval(() => { if (state.stream && state.lostAt === null) note(); }, 30000);

  // ---------------------------------------------------------------- pokes

  function note() {
    state.news = true;
    schedule();
  }

  function schedule() {
    if (state.pokeTimer !== null || !state.news) return;
    const wait = Math.max(0, state.sentAt + state.interval - Date.now());
    state.pokeTimer = setTimeout(() => {
      state.pokeTimer = null;
      poke();
    }, wait);
  }

  function poke() {
    const now = Date.now();
    if (!state.news || document.hidden || !exists(state.target === "run-poke" ? "run-status" : "runs-grid")) return;
    if (state.inFlight !== null && now - state.sentAt < ANSWER_MS) return; // Its answer asks again.
    if (dragging()) {
      state.pokeTimer = setTimeout(() => { state.pokeTimer = null; poke(); }, 200);
      return;
    }
    state.news = false;
    state.sentAt = now;
    state.inFlight = ++state.sequence;
    const rebuild = now - state.lastRebuild >= REBUILD_MS;
    if (rebuild) state.lastRebuild = now;
    if (state.target === "run-poke") pokeHead();
    if (state.target === "run-poke" && state.reload) {
      state.reload = false;
      setProps("run-reload", { data: ++state.reloads });
      // Where there are charts, their drawing is the answer.
      if (document.querySelector(".chart-grid")) return;
    }
    setProps(state.target, { data: { seq: state.inFlight, after: state.until, rebuild } });
  }

  // The charts go first; header and tiles follow once a second.
  function pokeHead() {
    if (state.headTimer !== null) return;
    const wait = Math.max(100, state.lastHead + HEAD_MS - Date.now());
    state.headTimer = setTimeout(() => {
      state.headTimer = null;
      state.lastHead = Date.now();
      if (state.target === "run-poke" && exists("run-status")) setProps("run-head-poke", { data: state.lastHead });
    }, wait);
  }

  function answered() {
    state.inFlight = null;
    schedule();
  }

  // ---------------------------------------------------------------- charts

  const plot = (name) => document.querySelector(`[data-chart="${name}"] .js-plotly-plot`);
  const dragging = () => [...document.querySelectorAll(".js-plotly-plot")].some((graph) => graph._dragging);

  function inSight(graph) {
    const box = graph.getBoundingClientRect();
    return box.bottom > -200 && box.top < innerHeight + 200 && box.width > 0;
  }

  // Whole figures from the server take their place; where somebody zoomed, the axis stays as it is.
  function drawn(data, classes) {
    const names = window.dash_clientside.callback_context.outputs_list[0].map((output) => output.id.name);
    const keep = () => names.map(() => window.dash_clientside.no_update);
    if (!data || data.run !== state.run) return [keep(), keep(), keep(), null];
    if (data.problem) {
      answered();
      return [keep(), keep(), names.map(() => data.problem), null];
    }
    const figures = names.map((name) => zoomed(plot(name), data.figures[name]));
    const states = names.map((name, index) => {
      const base = classes[index].split(" ").filter((part) => !["loading", "empty", "ready"].includes(part));
      return [...base, data.empty.includes(name) ? "empty" : "ready"].join(" ");
    });
    state.tab = data.tab;
    state.until = data.until;
    state.queues.clear();
    wanted(data);
    answered();
    return [figures, states, names.map((name) => data.notes[name]), data.until];
  }

  function zoomed(graph, figure) {
    const before = graph && graph._fullLayout;
    // Another x-axis, or a first drawing, begins with all of it in view.
    if (!figure || !before || before.uirevision !== figure.layout.uirevision) return figure;
    for (const name of ["xaxis", "yaxis"]) {
      const axis = before[name];
      const given = figure.layout[name] || {};
      if (axis && axis.autorange === false && !given.range) {
        figure.layout[name] = { ...given, range: [...axis.range], autorange: false };
      }
    }
    return figure;
  }

  function apply(delta) {
    if (!delta) return null;
    if (delta.seq !== state.inFlight) return window.dash_clientside.no_update;
    const started = performance.now();
    if (delta.failed) {
      state.news = true; // Asked again, slowly.
      state.interval = SLOWEST_MS;
    } else if (delta.reload) {
      setProps("run-reload", { data: ++state.reloads });
    } else if (delta.after === state.until) {
      for (const [name, extension] of Object.entries(delta.charts)) {
        if (!state.queues.has(name)) state.queues.set(name, []);
        state.queues.get(name).push(extension);
      }
      state.until = delta.until;
      flush();
      for (const [name, figure] of Object.entries(delta.figures)) redraw(name, figure);
    } else {
      state.news = true; // The charts were drawn anew meanwhile: what is new is another question now.
    }
    requestAnimationFrame(() => {
      const spent = performance.now() - started;
      if (!delta.failed) state.interval = Math.min(SLOWEST_MS, Math.max(FASTEST_MS, 2 * spent));
      answered();
    });
    return delta.until;
  }

  function flush() {
    for (const [name, extensions] of state.queues) {
      const graph = plot(name);
      if (!graph || !graph.data) {
        state.queues.delete(name);
      } else if (!graph._dragging && inSight(graph)) {
        state.queues.delete(name);
        const traces = extensions[0].traces;
        const joined = (column) => traces.map((_, index) => extensions.flatMap((each) => each[column][index]));
        if (graph.data.length === traces.length) {
          window.Plotly.extendTraces(graph, { x: joined("x"), y: joined("y") }, traces);
        }
      }
    }
  }

  function redraw(name, figure) {
    const graph = plot(name);
    if (!graph || graph._dragging) return;
    graph.closest(".chart-card").classList.remove("empty");
    window.Plotly.react(graph, figure.data, figure.layout, graph._context);
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

  window.dash_clientside = window.dash_clientside || {};
  window.dash_clientside.live = { connect, drawn, apply };
  window.bapoLive = { answered, state };
})();
