// Runs before anything is drawn: the chosen colour scheme, else the system's; and what draws charts is fetched early.
(function () {
  "use strict";

  let scheme = null;
  try {
    scheme = localStorage.getItem("mantine-color-scheme-value");
  } catch {
    // Storage may be forbidden; the system's choice serves.
  }
  if (scheme !== "light" && scheme !== "dark") {
    scheme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  }
  document.documentElement.setAttribute("data-mantine-color-scheme", scheme);

  // Plotly is the largest file by far: where there will be charts it is on its way before anything else is.
  const { plotly, prefix } = document.currentScript.dataset;
  window.bapoPrefix = prefix; // The path under which a proxy serves the dashboard; scripts use it through `served` (_base.js).
  let fetched = null;
  window.bapoPlotly = () => {
    fetched ??= new Promise((loaded, failed) => {
      const script = document.createElement("script");
      const retry = () => { fetched = null; failed(new Error("Plotly could not be loaded.")); };
      Object.assign(script, { src: plotly, async: true, onload: () => loaded(window.Plotly), onerror: retry });
      document.head.append(script);
    });
    return fetched;
  };
  const HAS_CHARTS = /^\/(runs\/.|new$|compare$|paper$|studies\/.|boards\/.)/;
  const fetchFor = (path) => { if (HAS_CHARTS.test(path)) window.bapoPlotly().catch(() => {}); };
  fetchFor(location.pathname.slice(prefix.length));
  addEventListener("bapo:asked", ({ detail }) => fetchFor(detail));
})();
