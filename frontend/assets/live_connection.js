// The event stream of the page in sight, and what is said while it is lost.
(function () {
  "use strict";

  const { clientside, find, served } = window.bapo;
  const live = window.bapoLive;

  const LONGEST_WAIT_MS = 15000;
  const DATA_EVENTS = ["step", "evaluation", "tracking", "event", "status", "alert"];
  const RECORDED = ["evaluation", "tracking"]; // They change charts that are drawn from them, and nothing of the run's state.
  const { state } = live;

  // `after`: the newest event that the page has in it.
  function connect(source) {
    const { url, after } = source || { url: null, after: null };
    const run = /^\/api\/v1\/runs\/([^/]+)\/events$/.exec(url || "");
    if (url === state.url && state.stream) return "kept";
    close();
    live.begin(url, run ? run[1] : null);
    state.after = after;
    if (url && !document.hidden) open();
    showConnection();
    if (run) live.note(); // The head of the page is not there yet.
    return url ? "open" : "none";
  }

  function open() {
    clearTimeout(state.retryTimer);
    // Later streams begin with the run's current state, and the whole page is reloaded.
    const stream = new EventSource(served(state.after === null ? state.url : `${state.url}?after=${state.after}`));
    state.after = null;
    state.stream = stream;
    stream.addEventListener("open", () => {
      const wasLost = state.lostAt !== null;
      state.retries = 0;
      state.lostAt = null;
      showConnection();
      if (wasLost) {
        // Fetch everything that happened meanwhile: states, marks and charts.
        state.reload = true;
        live.note();
      }
    });
    stream.addEventListener("error", () => {
      if (state.stream !== stream) return;
      lost();
      if (stream.readyState === EventSource.CLOSED) retry();
    });
    for (const type of DATA_EVENTS) {
      stream.addEventListener(type, ({ lastEventId }) => {
        state.heard = lastEventId;
        if (RECORDED.includes(type)) state.recorded = true;
        else if (type !== "step") state.reload = true;
        live.note();
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
        const answer = await fetch(served(state.run ? `/api/v1/runs/${state.run}` : "/api/v1/me"));
        if (answer.status === 401 || answer.status === 404) {
          location.reload(); // The session ended, or the run was deleted: the page says so.
          return;
        }
        if (answer.ok) return open();
      } catch {
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
      live.note();
    }
  });

  function showConnection() {
    const label = find("connection");
    const banner = find("connection-banner");
    if (!label || !banner) return;
    const offline = state.url && state.lostAt !== null;
    label.textContent = !state.url ? "" : offline ? "Offline" : "Live";
    label.className = `connection ${!state.url ? "" : offline ? "offline" : "online"}`;
    banner.classList.toggle("shown", Boolean(offline));
    if (offline) {
      const seconds = Math.round((Date.now() - state.lostAt) / 1000);
      const since = new Date(state.lostAt).toLocaleTimeString();
      banner.textContent =
        `Connection lost ${age(seconds)} ago. Showing data as of ${since}; training continues. Reconnecting …`;
    }
  }

  const age = (seconds) => (seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} m ${seconds % 60} s`);
  setInterval(() => { if (state.lostAt !== null) showConnection(); }, 1000);
  // Relative times grow old also where nothing happens.
  setInterval(() => { if (state.stream && state.lostAt === null) live.note(); }, 30000);

  clientside.live.connect = connect;
})();
