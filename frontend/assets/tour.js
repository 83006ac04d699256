// The tour: a card in the corner leads from page to page and says what to look at there. Nothing is covered or locked, so
// that the page stays usable; Escape or "Leave" ends the tour. It starts at the story of the first runs, in the
// help (`?`) and in the palette.
(function () {
  "use strict";

  const { button, find, here, make, served, setProps } = window.bapo;
  const { linkTo } = window.bapoKeys;

  const LOOK_MS = 150;
  const PATIENCE_MS = 15_000; // For the list of runs, before the tour continues without a run.

  // `page` and `tab`: where it is; RUN is the page of a run. `at`: what it points at. `document`: more of it.
  const RUN = "run";
  const STOPS = [
    { page: "/runs", at: "#runs-grid-box", title: "Every run of the team", document: "dashboard.md#runs",
      text: "Runs that train here and runs of other trainers, live. Any config field or metric can be a column; runs are searched, grouped and compared from here." },
    { page: RUN, at: "#run-tiles", title: "One run", document: "dashboard.md#a-run",
      text: "Does it learn? Reward and test accuracy with their intervals, how full the batches were, and what it has cost so far." },
    { page: RUN, tab: "batch", at: "#run-panel .chart-card", title: "What each batch was made of", document: "methods.md#bapo",
      text: "X1 are fresh groups, X2 difficult prompts that were answered again, X3 good groups that were used again. Groups that are all right or all wrong teach nothing: BAPO replaces them." },
    { page: RUN, tab: "difficulty", at: "#run-panel .chart-card", title: "How prompts move", document: "concepts.md#terms",
      text: "From 0/8 to 8/8: which prompts are unlocked, which are forgotten, and how much of that chance alone would move." },
    { page: RUN, tab: "findings", at: "#run-panel", title: "What is wrong with the data", document: "findings.md",
      text: "Groups without a gradient, verifiers that err, duplicates, learning that has stopped: each with its evidence and what to do about it." },
    { page: "/compare", at: "#page h1", title: "Is it better?", document: "dashboard.md#compare",
      text: "Runs side by side at equal cost, with intervals over problems and seeds, and one sentence that says what they show and what they do not." },
    { page: "/new", at: "#page h1", title: "Your turn", document: "own-run.md",
      text: "Start from a recipe or clone a run. Every field is explained and checked while you type, and a probe tells what the run would make of your data." },
  ];

  const tour = { run: null, card: null, looking: null };

  // ---------------------------------------------------------------- where to go

  // A viewer has no form for new runs, a new server no run yet.
  const stops = () => STOPS.filter(({ page }) => (page === RUN ? tour.run : linkTo(page)));

  // The one whose batches the story above the list recommends, else the first in the list.
  const firstRun = () => {
    const inStory = document.querySelector("#runs-story a[href*='tab=batch']");
    const link = inStory ?? document.querySelector(".ag-center-cols-container .ag-row[row-index='0'] a.cell-name");
    return link && here(new URL(link.href).pathname);
  };

  function go({ page, tab }) {
    const pathname = page === RUN ? tour.run : page;
    const search = tab ? `?tab=${tab}` : "";
    if (here() + location.search !== pathname + search) setProps("url", { pathname, search });
  }

  // ---------------------------------------------------------------- the card

  const unmark = () => document.querySelectorAll(".tour-target").forEach((each) => each.classList.remove("tour-target"));

  function leave() {
    clearInterval(tour.looking);
    unmark();
    tour.card?.remove();
    tour.card = null;
  }

  // Frames what the stop is about as soon as it is there, and again when the page redraws it.
  function pointAt({ at }) {
    clearInterval(tour.looking);
    unmark();
    tour.looking = setInterval(() => {
      const target = document.querySelector(at);
      if (!target || target.classList.contains("tour-target")) return;
      unmark();
      target.classList.add("tour-target");
      target.scrollIntoView({ block: "nearest" });
      // A new page has taken the focus to its heading.
      tour.card.querySelector(".tour-next").focus({ preventScroll: true });
    }, LOOK_MS);
  }

  function show(index) {
    const all = stops();
    const stop = all[index];
    const isLast = index === all.length - 1;
    const more = make("a", "fact-link", "More");
    Object.assign(more, { href: served(`/documents/docs/${stop.document}`), target: "_blank", rel: "noopener" });
    more.setAttribute("aria-label", `More about: ${stop.title}`);
    const next = button(isLast ? "Done" : "Next", "tour-next", () => (isLast ? leave() : show(index + 1)));
    const back = button("Back", "tour-back", () => show(index - 1));
    back.disabled = index === 0;
    const card = make("section", "tour-card",
      make("div", "tour-count", `Tour, ${index + 1} of ${all.length}`),
      make("h2", "tour-title", stop.title),
      make("p", "tour-text", stop.text, " ", more),
      make("div", "tour-buttons", button("Leave", "tour-leave", leave), make("span", "tour-space"), back, next));
    card.setAttribute("role", "dialog");
    card.setAttribute("aria-label", `Tour, ${index + 1} of ${all.length}: ${stop.title}`);
    tour.card?.remove();
    tour.card = card;
    document.body.append(card);
    next.focus({ preventScroll: true });
    go(stop);
    pointAt(stop);
  }

  // The list of runs says which run the tour shows; it may have to be opened first.
  function start() {
    leave();
    tour.run = firstRun();
    if (tour.run) {
      show(0);
      return;
    }
    setProps("url", { pathname: "/runs", search: "" });
    const until = Date.now() + PATIENCE_MS;
    tour.looking = setInterval(() => {
      tour.run = firstRun();
      const isEmpty = find("runs-first") && !find("runs-first").hidden;
      if (tour.run || isEmpty || Date.now() > until) show(0);
    }, LOOK_MS);
  }

  addEventListener("keydown", (event) => {
    if (event.key === "Escape" && tour.card && !window.bapo.isCovered()) leave();
  });
  document.addEventListener("click", (event) => {
    if (event.target.closest?.("[data-tour]")) start();
  });

  window.bapoTour = { start, STOPS };
})();
