// Keeps a board behind a read-only link up to date while it is open: asks for the page again, which answers 304 while
// the board shows the same, and takes over what is new. Figures stay in place, with their zoom.
(function () {
  "use strict";

  const state = document.getElementById("board-following");
  if (!state) return; // An exported file asks for nothing.

  const INTERVAL_MS = 1000 * state.dataset.seconds;
  const MOST_MS = Math.max(300_000, INTERVAL_MS);
  const grid = document.querySelector(".board-grid");
  // As the server made them: drawing changes them.
  const known = [...grid.children].map((each) => each.outerHTML);
  let { etag } = state.dataset;
  let timer = null, waitMs = INTERVAL_MS, isAsking = false, hasEnded = false;

  const scripts = (page) => [...page.querySelectorAll("script[src]")].map((each) => each.getAttribute("src")).join();

  function say(text, role) {
    state.setAttribute("role", role);
    state.textContent = text;
  }

  function replacePanels(wanted) {
    wanted.forEach((panel, index) => {
      const html = panel.outerHTML;
      if (known[index] === html) return;
      for (const place of panel.querySelectorAll("[data-paper]")) {
        const drawn = grid.querySelector(`[data-paper="${CSS.escape(place.dataset.paper)}"]`);
        if (!drawn) continue;
        drawn.setAttribute("aria-label", place.getAttribute("aria-label"));
        place.replaceWith(drawn);
      }
      if (grid.children[index]) grid.children[index].replaceWith(panel);
      else grid.append(panel);
      known[index] = html;
    });
    while (grid.children.length > wanted.length) grid.lastElementChild.remove();
    known.length = wanted.length;
  }

  function apply(text) {
    const page = new DOMParser().parseFromString(text, "text/html");
    const next = page.getElementById("board-following");
    const wanted = [...(page.querySelector(".board-grid")?.children || [])];
    // Another release, or an empty board, which has a sentence besides.
    if (!next || scripts(page) !== scripts(document) || !wanted.length !== !known.length) return void location.reload();
    etag = next.dataset.etag;
    document.title = page.title;
    for (const part of ["h1", ".facts", "#paper-light", "#paper-dark"]) {
      document.querySelector(part).textContent = page.querySelector(part).textContent;
    }
    replacePanels(wanted);
    dispatchEvent(new Event("bapo:drawings"));
  }

  function stillTrue(date) {
    const now = new Date(date || Date.now()).toISOString().slice(0, 16).replace("T", " ");
    const facts = document.querySelector(".facts");
    facts.textContent = facts.textContent.replace(/^As of [\d-]+ [\d:]+/, `As of ${now}`);
  }

  function end(text) {
    const problem = new DOMParser().parseFromString(text, "text/html").querySelector(".problem")?.textContent;
    hasEnded = true;
    const facts = document.querySelector(".facts");
    facts.textContent = facts.textContent.replace(/;[^;·]*(?= · )/, "");
    say(`${problem || "This link opens nothing any more."} The board is shown as it was last.`, "alert");
    state.classList.add("problem");
  }

  async function ask() {
    clearTimeout(timer);
    if (isAsking || hasEnded || document.hidden) return;
    isAsking = true;
    try {
      const answer = await fetch(location.href, { headers: { "If-None-Match": etag }, cache: "no-store" });
      if (answer.status === 404 || answer.status === 410) return end(await answer.text());
      if (answer.status !== 304 && !answer.ok) throw new Error(`the server answered ${answer.status}`);
      if (answer.status === 304) stillTrue(answer.headers.get("Date"));
      else apply(await answer.text());
      waitMs = INTERVAL_MS;
      say("", "status");
    } catch (error) {
      // What is drawn stays; it is asked for less and less often.
      waitMs = Math.min(2 * waitMs, MOST_MS);
      say(`Not up to date: ${error instanceof TypeError ? "the server does not answer" : error.message}.`, "status");
    } finally {
      isAsking = false;
      if (!hasEnded && !document.hidden) timer = setTimeout(ask, waitMs);
    }
  }

  document.addEventListener("visibilitychange", () => (document.hidden ? clearTimeout(timer) : ask()));
  if (!document.hidden) timer = setTimeout(ask, waitMs);
})();
