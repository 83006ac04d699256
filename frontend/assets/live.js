// Live updates: one event stream per visible page says that something is new; the page's own callback fetches what,
// and the charts append it. Nothing is redrawn while somebody drags in a chart, and nothing that is out of sight.
(function () {
  "use strict";

  const FASTEST_MS = 250; // At most four redraws a second, and fewer where a redraw takes long.
  const SLOWEST_MS = 2000;
  const LIST_MS = 1000;
  const TILES_MS = 3000;
  const LOG_MS = 2000;
  const REBUILD_MS = 5000; // Charts of totals.
  const ANSWER_MS = 8000; // After this an unanswered question is given up.
  const LONGEST_WAIT_MS = 15000;
  const DATA_EVENTS = ["step", "evaluation", "tracking", "event", "status"];

  const state = {
    url: null,
    stream: null,
    retries: 0,
    retryTimer: null,
    lostAt: null,
    news: false,
    reload: false,
    reloads: 0,
    inFlight: false,
    sentAt: 0,
    timer: null,
    interval: FASTEST_MS,
    lastTiles: 0,
    tilesTimer: null,
    lastRebuild: 0,
    lastLog: 0,
    run: null,
    tab: null,
    x: "step",
    method: null,
    drawings: 0,
    until: null, // Last step that the charts show; null while they are not drawn.
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
      url: url || null, run: run ? run[1] : null, tab: null, until: null, news: false, reload: false, inFlight: false,
      interval: run ? FASTEST_MS : LIST_MS, lostAt: null, lastTiles: 0,
    });
    state.queues.clear();
    if (url && !document.hidden) open();
    showConnection();
    if (run) note(); // The head of the page is not there yet.
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
      state.inFlight = false;
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

  // ---------------------------------------------------------------- news

  function note() {
    state.news = true;
    schedule();
  }

  function schedule() {
    if (state.timer !== null || !state.news) return;
    const wait = Math.max(0, state.sentAt + state.interval - Date.now());
    state.timer = setTimeout(() => {
      state.timer = null;
      ask();
    }, wait);
  }

  function ask() {
    const now = Date.now();
    if (!state.news || document.hidden || !state.url) return;
    if (state.inFlight && now - state.sentAt < ANSWER_MS) return; // Its answer asks again.
    if (!state.run) {
      if (!exists("runs-grid")) return;
      begin(now);
      setProps("runs-poke", { data: now });
      return;
    }
    if (!exists("run-tiles")) return;
    if (dragging()) {
      state.timer = setTimeout(() => { state.timer = null; ask(); }, 200);
      return;
    }
    begin(now);
    if (state.reload) {
      state.reload = false;
      redraw();
    }
    askForRun(now);
  }

  function begin(now) {
    state.news = false;
    state.sentAt = now;
    state.inFlight = true;
  }

  function answered() {
    state.inFlight = false;
    schedule();
  }

  // The whole page is told anew: state, marks, evaluations.
  function redraw() {
    state.until = null;
    setProps("run-reload", { data: ++state.reloads });
  }

  async function askForRun(now) {
    const run = state.run;
    const drawings = state.drawings;
    const query = new URLSearchParams({ scheme: scheme() });
    if (now - state.lastTiles >= TILES_MS) {
      state.lastTiles = now;
      query.set("tiles", "1");
    }
    if (state.until !== null && document.querySelector(".chart-grid")) {
      query.set("after", state.until);
      query.set("tab", state.tab);
      query.set("x", state.x);
      query.set("method", state.method);
      if (now - state.lastRebuild >= REBUILD_MS) {
        state.lastRebuild = now;
        query.set("rebuild", "1");
      }
    }
    if (exists("log-text") && now - state.lastLog >= LOG_MS) {
      state.lastLog = now;
      setProps("log-poke", { data: now });
    }
    try {
      const answer = await fetch(`/live/runs/${run}?${query}`);
      if (state.run !== run) return;
      if (!answer.ok) throw new Error(answer.statusText);
      const news = await answer.json();
      if (state.run !== run) return;
      const started = performance.now();
      apply(news, drawings);
      requestAnimationFrame(() => {
        state.interval = Math.min(SLOWEST_MS, Math.max(FASTEST_MS, 2 * (performance.now() - started)));
        answered();
      });
      // Tiles that were not due yet come soon after the last step.
      if (!query.has("tiles")) later();
    } catch (error) {
      if (state.run !== run) return;
      state.news = true;
      state.interval = SLOWEST_MS;
      answered();
    }
  }

  function later() {
    if (state.tilesTimer === null) state.tilesTimer = setTimeout(() => { state.tilesTimer = null; note(); }, TILES_MS);
  }

  const scheme = () => document.documentElement.getAttribute("data-mantine-color-scheme");
  new MutationObserver(() => {
    state.lastTiles = 0; // Sparklines have the scheme's colours.
    note();
  }).observe(document.documentElement, { attributes: true, attributeFilter: ["data-mantine-color-scheme"] });

  function apply(news, drawings) {
    drawProgress(news.progress);
    if (news.tiles) drawTiles(news.tiles);
    if (news.reload) {
      redraw();
    } else if (news.charts && drawings === state.drawings && news.after === state.until) {
      for (const [name, extension] of Object.entries(news.charts)) {
        if (!state.queues.has(name)) state.queues.set(name, []);
        state.queues.get(name).push(extension);
      }
      state.until = news.until;
      flush();
      for (const [name, figure] of Object.entries(news.figures)) replace(name, figure);
    } else if (news.charts) {
      state.news = true; // The charts were drawn anew meanwhile: what is new is another question now.
    }
  }

  // ---------------------------------------------------------------- head of a run page

  function part(parent, tag, className) {
    const element = document.createElement(tag);
    element.className = className;
    parent.append(element);
    return element;
  }

  function text(element, content) {
    if (element.textContent !== content) element.textContent = content;
  }

  function drawProgress(progress) {
    const box = document.getElementById("run-progress");
    if (!box) return;
    if (!box.childElementCount) {
      const steps = part(box, "span", "progress-step");
      text(part(steps, "span", "fact-label"), "step ");
      part(steps, "span", "progress-done").id = "run-step";
      part(steps, "span", "progress-all");
      const track = part(box, "span", "progress-track");
      track.setAttribute("role", "progressbar");
      track.setAttribute("aria-label", "Steps done");
      part(track, "span", "progress-bar");
      part(box, "span", "progress-share");
      part(box, "span", "progress-time");
    }
    text(box.querySelector(".progress-done"), progress.step);
    text(box.querySelector(".progress-all"), ` / ${progress.num_steps}`);
    const bar = box.querySelector(".progress-bar");
    bar.className = `progress-bar status-${progress.status}`;
    bar.style.width = `${progress.percent}%`;
    bar.parentElement.setAttribute("aria-valuenow", Math.round(progress.percent));
    text(box.querySelector(".progress-share"), `${Math.floor(progress.percent)}\u202f%`);
    text(box.querySelector(".progress-time"), progress.time);
  }

  function drawTiles(tiles) {
    const box = document.getElementById("run-tiles");
    if (!box) return;
    for (const tile of tiles) {
      let card = box.querySelector(`[data-tile="${tile.name}"]`);
      if (!card) {
        card = part(box, "div", "tile");
        card.dataset.tile = tile.name;
        part(card, "span", "tile-label");
        const figures = part(card, "div", "tile-figures");
        part(figures, "span", "tile-value");
        part(figures, "span", "tile-change");
        part(card, "div", "tile-note");
        part(card, "img", "tile-sparkline").alt = "";
      }
      const label = card.querySelector(".tile-label");
      text(label, tile.label);
      label.title = tile.explanation;
      text(card.querySelector(".tile-value"), tile.value);
      const change = card.querySelector(".tile-change");
      text(change, tile.change || "");
      change.className = `tile-change ${tile.trend}`;
      const note = card.querySelector(".tile-note");
      text(note, tile.note);
      note.title = tile.note;
      const image = card.querySelector(".tile-sparkline");
      if (image.getAttribute("src") !== tile.sparkline) image.src = tile.sparkline;
    }
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
      state.reload = true; // Asked for again with the next news.
      return [keep(), keep(), names.map(() => data.problem), null];
    }
    const figures = names.map((name) => zoomed(plot(name), data.figures[name]));
    const states = names.map((name, index) => {
      const base = classes[index].split(" ").filter((part) => !["loading", "empty", "ready"].includes(part));
      return [...base, data.empty.includes(name) ? "empty" : "ready"].join(" ");
    });
    Object.assign(state, { tab: data.tab, x: data.x, method: data.method, until: data.until });
    state.drawings += 1;
    state.queues.clear();
    wanted(data);
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

  function replace(name, figure) {
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
  window.dash_clientside.live = { connect, drawn };
  window.bapoLive = { answered, state };
})();
