// The address of a run page: its tab and its x-axis.
(function () {
  "use strict";

  window.dash_clientside = window.dash_clientside || {};
  const clientside = window.dash_clientside;
  const noUpdate = () => clientside.no_update;

  clientside.run = {
    address(tab, axis, search) {
      if (!onRunPage()) return [noUpdate(), noUpdate()];
      const given = new URLSearchParams(search || "");
      const wanted = new URLSearchParams();
      if (tab !== "overview") wanted.set("tab", tab);
      if (axis !== "step") wanted.set("x", axis);
      if (given.get("chart") && (given.get("tab") || "overview") === tab) wanted.set("chart", given.get("chart"));
      const text = wanted.toString() ? `?${wanted}` : "";
      return [text === (search || "") ? noUpdate() : text, axisStyle(tab)];
    },
    // Back and forward in the browser's history.
    followAddress(search) {
      if (onRunPage() && document.getElementById("run-tabs")) {
        const tab = new URLSearchParams(search || "").get("tab") || "overview";
        clientside.set_props("run-tabs", { value: tab });
      }
      return "";
    },
  };

  // The address changes before the page does.
  const onRunPage = () => /^\/runs\/[^/]+$/.test(location.pathname);

  function axisStyle(tab) {
    return ["overview", "batch", "difficulty"].includes(tab) ? {} : { visibility: "hidden" };
  }
})();
