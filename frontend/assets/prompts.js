// The table of training prompts: chips, filters, sorted pages, and each prompt's course as a small drawing. The view
// is in the address under the API's names.
(function () {
  "use strict";

  const { button, clientside, count, find, make, plural, setProps } = window.bapo;
  const { announce, link, promptPath, request, whenMounted } = window.bapoGroups;

  const TYPING_MS = 250;
  const HEIGHT = 36, EDGE = 5;
  const MOST_LISTED = 12; // Visits that the tooltip of a course lists.
  const SOURCES = { fresh: "fresh", reevaluated: "re-evaluated", reused: "reused" };
  const FILTERS = ["story", "source", "search", "min_last", "max_last"];
  const COLUMNS = [
    { label: "Prompt" },
    { label: "Accuracy over the run", sort: "variance", title: "Sort by how much the accuracy varies" },
    { label: "First → last", sort: "last_accuracy", title: "Sort by the accuracy at the last evaluation" },
    { label: "Gain", sort: "gain", title: "Last minus first accuracy" },
    { label: "Visits", sort: "visits", title: "Steps in which the prompt was seen" },
    { label: "First seen", sort: "first_step", title: "Step of the first visit" },
    { label: "Last seen", sort: "last_step", title: "Step of the last visit" },
  ];

  let view = null;
  let typing = null;

  const table = () => find("prompts-table");
  const onTab = () => (window.bapoView.read().get("tab") || "") === "prompts";

  function read(query) {
    const wanted = Object.fromEntries(FILTERS.map((key) => [key, query.get(key) || ""]));
    wanted.sort = query.get("sort") || "";
    wanted.descending = wanted.sort ? query.get("descending") === "true" : true;
    wanted.page = Math.max(1, Number.parseInt(query.get("page"), 10) || 1);
    return wanted;
  }

  function parameters(wanted, sort) {
    const query = new URLSearchParams(FILTERS.filter((key) => wanted[key]).map((key) => [key, wanted[key]]));
    if (sort) {
      query.set("sort", sort);
      query.set("descending", wanted.descending);
    }
    return query;
  }

  // What a prompt's own page needs to know of the list that it is reached from.
  function listQuery() {
    const query = parameters(view.wanted, view.wanted.sort).toString();
    return query && `?${query}`;
  }

  function address() {
    const { sort, descending, page, ...filters } = view.wanted;
    window.bapoView.write({
      ...filters, sort, descending: sort ? descending : null, page: page > 1 ? page : null,
    });
  }

  function change(changes) {
    view.wanted = { ...view.wanted, page: 1, ...changes };
    address();
    load();
  }

  function load() {
    const query = parameters(view.wanted, view.wanted.sort || view.defaultSort);
    query.set("limit", view.rows);
    query.set("offset", (view.wanted.page - 1) * view.rows);
    request(view, table, `/api/v1/runs/${view.run}/prompts?${query}`, draw);
  }

  function draw(page) {
    view.lastStep = page.totals.last_step;
    drawChips(page);
    const shown = find("prompts-shown");
    const { num_prompts: all, num_never_solved: unsolved } = page.totals;
    shown.textContent = page.total === all
      ? `${plural(all, "prompt")}, ${count(unsolved)} never solved` : `${count(page.total)} of ${plural(all, "prompt")}`;
    table().replaceChildren(page.items.length ? rows(page) : nothing(page));
    drawPages(page);
    tellNews();
  }

  function drawChips(page) {
    const chips = find("prompts-chips");
    const focused = document.activeElement?.dataset?.story;
    const stories = [{ name: "", label: "All", definition: "Every prompt that the run has met." }, ...view.stories];
    const all = view.wanted.story ? null : page.total;
    chips.replaceChildren(...stories.map(({ name, label, definition }) => {
      const number = name ? page.stories[name] : all;
      const chip = button(label, "chip", () => change({ story: name === view.wanted.story ? "" : name }));
      if (number !== null) chip.append(make("span", "chip-count", count(number)));
      chip.dataset.story = name;
      chip.title = definition;
      chip.setAttribute("aria-description", definition);
      chip.setAttribute("aria-pressed", name === view.wanted.story);
      return chip;
    }));
    if (focused !== undefined) chips.querySelector(`[data-story="${focused}"]`)?.focus();
  }

  function rows(page) {
    const head = make("tr", "", ...COLUMNS.map(heading));
    const body = make("tbody", "", ...page.items.map((item) => row(item, page.totals.last_step)));
    const list = make("table", "prompts-list", make("thead", "", head), body);
    list.setAttribute("aria-label", "Training prompts");
    return list;
  }

  function heading({ label, sort, title }) {
    const cell = make("th");
    cell.scope = "col";
    if (!sort) {
      cell.append(label);
      return cell;
    }
    const chosen = (view.wanted.sort || view.defaultSort) === sort;
    const down = chosen ? !view.wanted.descending : true;
    const act = button(label, "sort-button", () => change({ sort, descending: down }));
    act.title = title;
    if (chosen) {
      const sign = make("span", "sort-sign", view.wanted.descending ? "↓" : "↑");
      sign.setAttribute("aria-hidden", "true");
      act.append(sign);
    }
    cell.setAttribute("aria-sort", chosen ? (view.wanted.descending ? "descending" : "ascending") : "none");
    cell.append(act);
    return cell;
  }

  // A difference of accuracies in percentage points.
  function pointsOf(difference) {
    const points = Math.round(1000 * difference) / 10;
    const [sign, kind] = points > 0 ? ["+", "good"] : points < 0 ? ["−", "bad"] : ["±", ""];
    return { text: `${sign}${Math.abs(points)} pts`, kind };
  }

  function row(item, lastStep) {
    const path = promptPath(view.run, item.prompt_id);
    const name = make("td", "prompt-name",
      link(item.text === null ? item.prompt_id : item.text.slice(0, 160), "prompt-text", path, listQuery()),
      item.text === null ? null : make("span", "prompt-id", item.prompt_id));
    const gain = pointsOf(item.gain);
    const cells = [
      name,
      make("td", "prompt-course", course(item, lastStep)),
      make("td", "number", `${item.first_correct}/${item.group_size} → ${item.last_correct}/${item.group_size}`),
      make("td", `number ${gain.kind}`, gain.text),
      make("td", "number", count(item.num_visits)),
      make("td", "number", count(item.first_step)),
      make("td", "number", count(item.last_step)),
    ];
    cells.forEach((cell, index) => { cell.dataset.label = COLUMNS[index].label; });
    const line = make("tr", "prompt-row", ...cells);
    line.addEventListener("click", () => {
      if (!getSelection().toString()) setProps("url", { pathname: path, search: listQuery() });
    });
    return line;
  }

  // ---------------------------------------------------------------- courses

  function part(tag, attributes) {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    return element;
  }

  const SHAPES = {
    fresh: (x, y) => `M${x - 3},${y}a3,3 0 1,0 6,0a3,3 0 1,0 -6,0`,
    reevaluated: (x, y) => `M${x},${y - 4}l3.8,6.6h-7.6z`,
    reused: (x, y) => `M${x - 2.6},${y - 2.6}h5.2v5.2h-5.2z`,
  };

  function course(item, lastStep) {
    const full = innerWidth < 1100 ? 200 : 280; // About what it takes on the page: marks keep their size.
    const width = full - 2 * EDGE, height = HEIGHT - 2 * EDGE;
    const x = (step) => Math.round(10 * (EDGE + (lastStep > 1 ? (width * (step - 1)) / (lastStep - 1) : width / 2))) / 10;
    const y = (correct) => Math.round(10 * (EDGE + height * (1 - correct / item.group_size))) / 10;
    const drawing = part("svg", { class: "course", viewBox: `0 0 ${full} ${HEIGHT}`, role: "img" });
    const summary = `${item.first_correct} of ${item.group_size} at first, ${item.last_correct} at last, ${plural(item.num_visits, "visit")}`;
    drawing.setAttribute("aria-label", summary);
    for (const level of [0, item.group_size]) {
      drawing.append(part("line", { x1: 0, x2: full, y1: y(level), y2: y(level), class: "course-level" }));
    }
    const paths = new Map(); // One element per colour and shape, however many visits there are.
    const line = [];
    item.steps.forEach((step, index) => {
      const correct = item.num_correct[index], source = item.sources[index];
      const key = `${source} ${correct}`;
      paths.set(key, (paths.get(key) || "") + SHAPES[source](x(step), y(correct)));
      if (source !== "reused") line.push(`${x(step)},${y(correct)}`);
    });
    drawing.append(part("polyline", { points: line.join(" "), class: "course-line" }));
    for (const [key, d] of paths) {
      const [source, correct] = key.split(" ");
      drawing.append(part("path", { d, class: `course-mark course-${source}`, style: `fill: var(--k${correct})` }));
    }
    const visitsValue = item.steps.slice(0, MOST_LISTED).map((step, index) =>
      `step ${count(step)}: ${item.num_correct[index]}/${item.group_size} ${SOURCES[item.sources[index]]}`);
    if (item.num_visits > visitsValue.length) visitsValue.push(`… and ${plural(item.num_visits - visitsValue.length, "more visit")}`);
    const tip = part("title", {});
    tip.textContent = visitsValue.join("\n");
    drawing.prepend(tip);
    return drawing;
  }

  // ---------------------------------------------------------------- below and above the table

  function nothing(page) {
    const box = make("div", "panel-empty");
    if (!page.totals.num_prompts) {
      box.append(make("strong", "", "No prompt has been visited yet"),
        make("span", "", "Prompts appear with the first training step."));
    } else {
      box.append(make("strong", "", "No prompt matches"),
        button("Clear the filter", "page-button", () => {
          change(Object.fromEntries(FILTERS.map((key) => [key, ""])));
          showControls();
        }));
    }
    return box;
  }

  function drawPages(page) {
    const foot = find("prompts-pages");
    const last = Math.max(1, Math.ceil(page.total / view.rows));
    const now = view.wanted.page;
    foot.replaceChildren();
    if (last === 1 && now === 1) return;
    const turn = (label, to, enabled) => {
      const act = button(label, "page-button", () => { change({ page: to }); table().scrollIntoView({ block: "nearest" }); });
      act.disabled = !enabled;
      return act;
    };
    const from = (now - 1) * view.rows + 1;
    foot.append(turn("Previous", now - 1, now > 1),
      make("span", "fact", `${count(Math.min(from, page.total))}–${count(Math.min(from + view.rows - 1, page.total))} of ${count(page.total)}`),
      turn("Next", now + 1, now < last));
  }

  function tellNews() {
    if (!find("prompts-news") || !view || view.lastStep === undefined) return;
    const step = Number((find("run-step")?.textContent || "").replace(/\D/g, ""));
    const text = `Shown up to step ${count(view.lastStep)}; the run is at step ${count(step)}.`;
    announce("prompts-news", step > view.lastStep && text, "Refresh", load);
  }
  addEventListener("bapo:step", () => { if (table()) tellNews(); });

  function showControls() {
    setProps("prompts-search", { value: view.wanted.search });
    setProps("prompts-source", { value: view.wanted.source || null });
    setProps("prompts-min", { value: view.wanted.min_last || null });
    setProps("prompts-max", { value: view.wanted.max_last || null });
  }

  clientside.prompts = { show: whenMounted(({ run }) => `#prompts-table[data-run="${run}"]`, show) };

  window.bapoPrompts = { read, parameters, pointsOf };

  function show(mounted, search, source, min, max) {
    const given = { search: (search || "").trim().slice(0, 200), source: source || "", min_last: min || "", max_last: max || "" };
    if (!view || view.mounted !== mounted) {
      const wanted = onTab() ? read(window.bapoView.read()) : read(new URLSearchParams());
      view = { ...mounted, mounted, wanted: { ...wanted, ...given } };
      load();
    } else if (Object.entries(given).some(([key, value]) => view.wanted[key] !== value)) {
      const typed = given.search !== view.wanted.search;
      view.wanted = { ...view.wanted, ...given, page: 1 };
      clearTimeout(typing);
      typing = setTimeout(() => { if (table()) { address(); load(); } }, typed ? TYPING_MS : 0);
    }
  }

  addEventListener("bapo:view", ({ detail: query }) => {
    if (!view || !table() || query.get("tab") !== "prompts") return;
    view.wanted = read(query);
    showControls();
    load();
  });
})();
