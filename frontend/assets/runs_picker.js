// The choice of columns: those that are shown, in their order, and below them everything else that the runs have, to be
// searched. Opened from the toolbar; the config fields and metrics are asked for when it is.
(function () {
  "use strict";

  const runs = window.bapoRuns;
  const { state } = runs;
  const { ask, button, clientside, find, make, noUpdate, plural } = window.bapo;

  const MOST_LISTED = 60; // Of each kind; a search finds the others.
  const KINDS = [
    ["Run", (name) => !runs.isRecorded(name)],
    ["Config", (name) => name.startsWith("config.")],
    ["Metrics, newest value", (name) => name.startsWith("metric.")],
  ];
  const LATER = "runs-column-later";

  const box = () => find("runs-column-picker");

  // ---------------------------------------------------------------- what there is

  runs.learnColumns = async () => {
    if (state.recorded) return state.recorded;
    const query = new URLSearchParams((state.filters.project ?? []).map((name) => ["project", name]));
    state.recorded = (await ask(`/api/v1/runs/columns?${query}`)).items;
    return state.recorded;
  };

  async function open() {
    draw();
    try {
      await runs.learnColumns();
      draw();
    } catch (error) {
      const place = box()?.querySelector(`.${LATER}`);
      if (place) place.textContent = error instanceof TypeError ? "The server does not answer: close and open this again." : error.message;
    }
  }

  // ---------------------------------------------------------------- drawing

  function draw() {
    const place = box();
    if (!place || !state.api) return;
    const focused = place.contains(document.activeElement) ? document.activeElement.getAttribute("aria-label") : null;
    const typed = place.querySelector("input[type=search]")?.value ?? "";
    const search = make("input", "runs-column-search");
    Object.assign(search, { type: "search", placeholder: "Search fields and metrics", value: typed });
    search.setAttribute("aria-label", "Search columns");
    search.addEventListener("input", () => list(search.value));
    const shown = make("ol", "runs-column-shown", ...runs.visibleColumns().map((name) => row(name, true)));
    shown.setAttribute("aria-label", "Columns that are shown, from left to right");
    place.replaceChildren(search, shown, make("div", "runs-column-more"));
    list(typed);
    if (focused) [...place.querySelectorAll("[aria-label]")].find((each) => each.getAttribute("aria-label") === focused)?.focus();
  }
  runs.drawPicker = draw;

  function list(typed) {
    const place = box();
    const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
    const matches = (name) => words.every((word) => `${name} ${runs.titleOf(name)}`.toLowerCase().includes(word));
    const shown = new Set(runs.visibleColumns());
    const chosen = [...place.querySelector(".runs-column-shown").children];
    for (const each of chosen) each.hidden = !matches(each.dataset.column);
    const names = [...runs.builtInColumns(), ...(state.recorded ?? []).map(({ name }) => name)].filter((name) => !shown.has(name) && matches(name));
    const parts = KINDS.flatMap(([title, belongs]) => {
      const found = names.filter(belongs);
      if (!found.length) return [];
      const more = found.length - MOST_LISTED;
      const items = make("ul", "", ...found.slice(0, MOST_LISTED).map((name) => row(name, false)));
      items.setAttribute("aria-label", title);
      return [make("h3", "", title), items, ...(more > 0 ? [make("p", "", `${plural(more, "more column")}: search for them.`)] : [])];
    });
    if (!state.recorded) parts.push(make("p", LATER, "Looking for fields and metrics…"));
    else if (!parts.length && chosen.every((each) => each.hidden)) parts.push(make("p", "", "No column has all of these words."));
    place.querySelector(".runs-column-more").replaceChildren(...parts);
  }

  function row(name, isShown) {
    const title = runs.titleOf(name);
    const tick = make("input");
    Object.assign(tick, { type: "checkbox", checked: isShown, disabled: name === "name" });
    tick.setAttribute("aria-label", title);
    tick.addEventListener("change", () => toggle(name, tick));
    const label = make("label", "", tick, make("span", "", title));
    label.title = name;
    const item = make("li", "", label);
    item.dataset.column = name;
    if (isShown) item.append(mover(name, title, -1), mover(name, title, 1));
    return item;
  }

  function mover(name, title, by) {
    const element = button(by < 0 ? "↑" : "↓", "runs-column-move", () => move(name, by));
    element.setAttribute("aria-label", `Move ${title} to the ${by < 0 ? "left" : "right"}`);
    return element;
  }

  // ---------------------------------------------------------------- choosing

  function toggle(name, tick) {
    const shown = runs.visibleColumns();
    runs.chooseColumns(tick.checked ? [...shown, name] : shown.filter((each) => each !== name));
    draw();
  }

  function move(name, by) {
    const names = runs.visibleColumns();
    const place = names.indexOf(name);
    const other = place + by;
    if (other < 0 || other >= names.length) return;
    [names[place], names[other]] = [names[other], names[place]];
    runs.chooseColumns(names);
    draw();
  }

  Object.assign(clientside.runs, {
    openPicker(isOpen) {
      if (isOpen) open();
      return noUpdate();
    },
  });
})();
