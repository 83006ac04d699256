// Runs before anything is drawn: the chosen colour scheme, else the system's.
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
})();
