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

  // Plotly is the largest file by far. Dash asks for it when the first chart is there, and waits for this promise instead.
  if (/^\/(runs\/.|new$|compare$|paper$|studies\/.)/.test(location.pathname)) {
    const { plotly } = document.currentScript.dataset;
    window.Plotly = new Promise((loaded, failed) => {
      const script = document.createElement("script");
      Object.assign(script, { src: plotly, async: true, onload: loaded, onerror: failed });
      document.head.append(script);
    });
  }
})();
