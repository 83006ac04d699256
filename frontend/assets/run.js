// The address of a run page: its tab, its x-axis and its smoothing.
(function () {
  "use strict";

  const { clientside, find, here, noUpdate, setProps } = window.bapo;

  const FIRST = { tab: "overview", x: "step", smooth: "auto" }; // What an address without the key means.

  // The address changes before the page does.
  const onRunPage = () => /^\/runs\/[^/]+$/.test(here());

  // Where the tabs are wider than the window, the open one is in sight: also after
  // a count, a font or a turned phone has made the row or one of its tabs wider.
  let chosen;
  const sizes = new ResizeObserver(() => {
    const row = chosen.parentElement;
    row.scrollLeft = chosen.offsetLeft - (row.clientWidth - chosen.offsetWidth) / 2;
  });
  const keepInSight = (tab) => {
    chosen = tab;
    sizes.disconnect();
    if (tab) for (const watched of [tab.parentElement, ...tab.parentElement.children]) sizes.observe(watched);
  };

  clientside.run = {
    address(tab, withAxis) {
      if (!onRunPage()) return noUpdate();
      const panel = find("run-panel").parentElement;
      panel.id = `run-tabs-panel-${tab}`;
      panel.setAttribute("aria-labelledby", `run-tabs-tab-${tab}`);
      keepInSight(find(`run-tabs-tab-${tab}`));
      const query = window.bapoView.read();
      const changed = clientside.callback_context.triggered_id;
      if (changed === "run-tabs" && (query.get("tab") || FIRST.tab) !== tab) {
        window.bapoView.write({ tab: tab === FIRST.tab ? null : tab }, { push: true, keep: ["x", "smooth"] });
        dispatchEvent(new CustomEvent("bapo:tab", { detail: tab })); // What it draws is fetched while its place is made.
      }
      return withAxis.includes(tab) ? {} : { display: "none" };
    },
  };

  addEventListener("bapo:view", ({ detail: query }) => {
    if (!onRunPage() || !find("run-tabs")) return;
    setProps("run-tabs", { value: query.get("tab") || FIRST.tab });
    setProps("run-x", { value: query.get("x") || FIRST.x });
    setProps("run-smooth", { value: query.get("smooth") || FIRST.smooth });
  });
})();
