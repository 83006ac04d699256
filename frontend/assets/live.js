// Live updates: one event stream per visible page says that something is new (live_connection.js); what is new is asked
// for here, past Dash, and goes to the head of the page (live_head.js) and to its charts (live_charts.js). Nothing is
// redrawn while the user drags in a chart, and nothing that is out of sight.
(function () {
  "use strict";

  const { find, scheme, setProps } = window.bapo;
  const live = (window.bapoLive = {});

  const FASTEST_MS = 250; // At most four redraws a second, and fewer where a redraw takes long.
  const SLOWEST_MS = 2000;
  const LIST_MS = 1000;
  const BOARD_MS = 3000; // Each of its panels is asked for.
  const TILES_MS = 3000;
  const REBUILD_MS = 5000; // Charts of totals, heat maps.
  const ANSWER_MS = 8000; // After this an unanswered question is given up.

  const state = {
    url: null,
    after: null,
    heard: null, // The newest event that the page received; pages with the same one share an answer.
    stream: null,
    retries: 0,
    retryTimer: null,
    lostAt: null,
    news: false,
    reload: false,
    recorded: false, // An evaluation or a tracking has come that the charts do not show yet.
    reloads: 0,
    inFlight: false,
    sentAt: 0,
    timer: null,
    interval: FASTEST_MS,
    lastTiles: 0,
    tilesTimer: null,
    lastRebuild: 0,
    run: null,
    view: null, // How the charts are looked at, as they were asked for.
    drawings: 0,
    until: null, // Last step that the charts show; null while they are not drawn.
    queues: new Map(), // Chart name -> extensions that wait until the chart is in sight and at rest.
  };
  live.state = state;


  // Another page lives on another stream, or on none.
  live.begin = (url, run) => {
    Object.assign(state, {
      url: url || null, run, heard: null, view: null, until: null, news: false, reload: false, recorded: false, inFlight: false,
      interval: run ? FASTEST_MS : LIST_MS, lostAt: null, lastTiles: 0,
    });
    state.queues.clear();
  };

  live.note = note;
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
    if (!state.run && window.bapoBoards.isShown()) {
      if (live.dragging()) {
        state.timer = setTimeout(() => { state.timer = null; ask(); }, 200);
        return;
      }
      begin(now);
      window.bapoBoards.refresh().then(() => {
        state.interval = Math.max(BOARD_MS, 4 * (Date.now() - now));
        answered();
      });
      return;
    }
    if (!state.run) {
      if (!find("runs-grid")) return;
      begin(now);
      setProps("runs-poke", { data: now });
      return;
    }
    if (!find("run-tiles")) return;
    if (live.dragging()) {
      state.timer = setTimeout(() => { state.timer = null; ask(); }, 200);
      return;
    }
    begin(now);
    // Moves between accuracies and a what-if are no charts of the page's own.
    if (state.recorded && (state.until === null || !find("charts-grid") || find("migration-section"))) state.reload = true;
    if (state.reload) {
      state.reload = false;
      state.recorded = false;
      redraw();
    }
    askForRun(now);
  }

  function begin(now) {
    state.news = false;
    state.sentAt = now;
    state.inFlight = true;
  }

  live.answered = answered;
  function answered() {
    state.inFlight = false;
    schedule();
  }

  // Reloads the whole page: state, marks, evaluations.
  function redraw() {
    state.until = null;
    setProps("run-reload", { data: ++state.reloads });
  }

  async function askForRun(now) {
    const run = state.run;
    const drawings = state.drawings;
    const recorded = state.recorded;
    const query = new URLSearchParams({ scheme: scheme() });
    if (state.heard) query.set("heard", state.heard);
    if (now - state.lastTiles >= TILES_MS) {
      state.lastTiles = now;
      query.set("tiles", "1");
    }
    if (state.until !== null && find("charts-grid")) {
      query.set("after", state.until);
      for (const [key, value] of Object.entries(live.viewQuery(state.view))) query.set(key, value);
      if (now - state.lastRebuild >= REBUILD_MS) {
        state.lastRebuild = now;
        query.set("rebuild", "1");
      }
      if (recorded) query.set("recorded", "1");
      state.recorded = false;
    }
    dispatchEvent(new CustomEvent("bapo:news", { detail: { run } }));
    try {
      const news = await window.bapo.ask(`/live/runs/${run}?${query}`);
      if (state.run !== run) return;
      const started = performance.now();
      if (!apply(news, drawings)) state.recorded ||= recorded;
      requestAnimationFrame(() => {
        state.interval = Math.min(SLOWEST_MS, Math.max(FASTEST_MS, 2 * (performance.now() - started)));
        answered();
      });
      // Tiles that were not due yet come soon after the last step.
      if (!query.has("tiles")) later();
    } catch {
      if (state.run !== run) return;
      state.news = true;
      state.recorded ||= recorded;
      state.interval = SLOWEST_MS;
      answered();
    }
  }

  function later() {
    if (state.tilesTimer === null) state.tilesTimer = setTimeout(() => { state.tilesTimer = null; note(); }, TILES_MS);
  }

  new MutationObserver(() => {
    state.lastTiles = 0; // Sparklines have the scheme's colours.
    note();
  }).observe(document.documentElement, { attributes: true, attributeFilter: ["data-mantine-color-scheme"] });

  // Whether the charts have what was asked for.
  function apply(news, drawings) {
    live.drawProgress(news.progress);
    if (news.tiles) live.drawTiles(news.tiles);
    if (news.reload) {
      redraw();
    } else if (news.charts && drawings === state.drawings && news.after === state.until) {
      live.append(news);
    } else if (news.charts) {
      state.news = true; // The charts were redrawn meanwhile, so ask again for what is new.
      return false;
    }
    return true;
  }
})();
