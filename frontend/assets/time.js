// Points in time (`time.moment`, text.py) in the viewer's zone, and their age as it grows.
(function () {
  "use strict";

  const { day, plural, two } = window.bapo;

  const TICK_MS = 10000;

  // Asked for when it is shown: a browser takes 20 ms to find it out, in which no page could begin.
  const zone = () => Intl.DateTimeFormat().resolvedOptions().timeZone;
  const exact = (at) => `${day(at)} ${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;

  // As formatting.ago and formatting.until of the server.
  function age(at) {
    const length = lengthOf((Date.now() - at) / 1000);
    return length ? `${length} ago` : "just now";
  }

  function until(at) {
    const length = lengthOf((at - Date.now()) / 1000);
    return length ? `in ${length}` : "now";
  }

  function lengthOf(seconds) {
    if (seconds < 10) return "";
    const [size, unit] = [[86400, "day"], [3600, "hour"], [60, "minute"], [1, "second"]].find(([each]) => seconds >= each);
    return plural(Math.floor(seconds / size), unit);
  }

  const forms = { age, until, time: exact };

  function show(element) {
    const at = new Date(element.dateTime);
    if (Number.isNaN(at.getTime())) return;
    const text = forms[element.dataset.shown](at);
    if (element.textContent !== text) element.textContent = text;
  }

  const showIn = (node) => { for (const element of node.querySelectorAll("time.moment")) show(element); };

  new MutationObserver((changes) => {
    for (const { addedNodes } of changes) {
      for (const node of addedNodes) {
        if (!(node instanceof HTMLElement)) continue; // Charts are SVG and have none.
        if (node.matches("time.moment")) show(node);
        else showIn(node);
      }
    }
  }).observe(document.documentElement, { childList: true, subtree: true });
  setInterval(() => { if (!document.hidden) showIn(document); }, TICK_MS);
  document.addEventListener("visibilitychange", () => { if (!document.hidden) showIn(document); });
  document.addEventListener("pointerover", (event) => {
    const element = event.target.closest?.("time");
    const at = new Date(element?.dateTime);
    if (!Number.isNaN(at.getTime())) element.title = `${exact(at)} ${zone()}`;
  });
  window.bapoTime = { exact, age, until, zone };
})();
