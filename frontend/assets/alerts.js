// The bell: the number of open alerts, from a separate event stream that carries only alerts. Pages that
// show alerts are poked when something changes.
(function () {
  "use strict";

  const { clientside, find, here, plural, served, setProps } = window.bapo;

  const GATHER_MS = 300; // Several alerts of one step are one question.
  const LONGEST_WAIT_MS = 60000;
  const TYPING_MS = 300;
  const LOOK_MS = 100;

  let stream = null;
  let retries = 0;
  let retryTimer = null;
  let gather = null;
  let coming = null;

  const bell = () => find("bell");

  async function count() {
    gather = null;
    if (!bell()) return;
    try {
      const answer = await fetch(served("/api/v1/alerts/summary"));
      if (answer.ok) show(await answer.json());
    } catch {
      // What is shown stays; the stream tells when there is something new.
    }
  }

  function show({ num_open: number, num_runs: runs }) {
    const label = number ? `${plural(number, "open alert")} in ${plural(runs, "run")}` : "No open alerts";
    find("bell-count").textContent = number > 99 ? "99+" : number || "";
    bell().title = label;
    bell().setAttribute("aria-label", label);
  }

  function changed() {
    if (gather === null) gather = setTimeout(count, GATHER_MS);
    refresh();
  }

  // A list that is on its way may have been read before this, and is read again once it is there.
  function refresh() {
    clearTimeout(coming);
    if (find("alerts-list")) setProps("alerts-poke", { data: Date.now() });
    else if (here() === "/alerts") coming = setTimeout(refresh, LOOK_MS);
  }

  function open() {
    clearTimeout(retryTimer);
    if (stream || document.hidden || !bell()) return;
    stream = new EventSource(served("/api/v1/events?only=alert"));
    stream.addEventListener("open", () => {
      retries = 0;
      changed();
    });
    stream.addEventListener("alert", changed);
    stream.addEventListener("error", () => {
      if (stream && stream.readyState === EventSource.CLOSED) {
        close();
        retryTimer = setTimeout(open, Math.min(LONGEST_WAIT_MS, 2000 * 2 ** retries++));
      }
    });
  }

  function close() {
    clearTimeout(retryTimer);
    if (stream) stream.close();
    stream = null;
  }

  document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));

  // One preview at a time: of two on their way, Dash may show the answer to the older.
  let typed = 0;
  let previewed = 0;
  let busy = false;
  let typing = null;

  function preview() {
    if (busy || !find("rule-preview")) return;
    busy = true;
    previewed = typed;
    setProps("rule-typed", { data: typed });
  }

  clientside.alerts = {
    begin() {
      open();
      return "";
    },
    // The address holds the filters.
    filtered(state, kind) {
      window.bapoView.write({ state: state === "open" ? null : state, kind });
      return Date.now();
    },
    typed() {
      typed += 1;
      clearTimeout(typing);
      typing = setTimeout(preview, TYPING_MS);
      return clientside.no_update;
    },
    previewing(running) {
      busy = Boolean(running);
      if (!busy && previewed !== typed) preview();
      return clientside.no_update;
    },
  };
})();
