// The address of a run page: its tab, its x-axis and its smoothing.
(function () {
  "use strict";

  window.dash_clientside = window.dash_clientside || {};
  const clientside = window.dash_clientside;
  const noUpdate = () => clientside.no_update;

  const PAGE_KEYS = ["tab", "x", "smooth"];
  const FIRST = { tab: "overview", x: "step", smooth: "auto" }; // What an address without the key means.

  // The address changes before the page does.
  const onRunPage = () => /^\/runs\/[^/]+$/.test(location.pathname);

  clientside.run = {
    address(tab, withAxis) {
      if (!onRunPage()) return noUpdate();
      const query = window.bapoView.read();
      const changed = clientside.callback_context.triggered_id;
      if (changed === "run-tabs" && (query.get("tab") || FIRST.tab) !== tab) {
        const left = [...query.keys()].filter((key) => !PAGE_KEYS.includes(key));
        const changes = Object.fromEntries(left.map((key) => [key, null]));
        window.bapoView.write({ ...changes, tab: tab === FIRST.tab ? null : tab }, { push: true });
      }
      return withAxis.includes(tab) ? {} : { display: "none" };
    },
  };

  addEventListener("bapo:view", ({ detail: query }) => {
    if (!onRunPage() || !document.getElementById("run-tabs")) return;
    clientside.set_props("run-tabs", { value: query.get("tab") || FIRST.tab });
    clientside.set_props("run-x", { value: query.get("x") || FIRST.x });
    clientside.set_props("run-smooth", { value: query.get("smooth") || FIRST.smooth });
  });
})();
