// The tab Step by step: the lines of the method's rule at the left, the groups that the chosen line touched at the
// right; on a phone below it. The address holds the view: step, c1, c2, c3 and line.
(function () {
  "use strict";

  const { ask, button, clientside, count, find, make, plural, same, setProps } = window.bapo;
  const { announce, failure, link, promptPath, request, whenMounted } = window.bapoGroups;

  const LISTED = 8; // Groups of each outcome at first.
  const MORE = 100;
  const NEWS_MS = 3000;
  const THRESHOLDS = ["c1", "c2", "c3"];
  const SOURCES = [["x1", "fresh", "X1 fresh"], ["x2", "reevaluated", "X2 re-evaluated"], ["x3", "reused", "X3 reused"]];
  const trained = (outcome) => (outcome.treatment === "trained" ? " walk-trained" : "");
  const narrow = matchMedia("(max-width: 899px)");

  let view = null;
  let askedAt = 0;

  const panel = () => find("walk");
  const onTab = () => window.bapoView.read().get("tab") === "walk";

  function parameters(wanted) {
    return new URLSearchParams(["step", ...THRESHOLDS].filter((key) => wanted[key] !== "").map((key) => [key, wanted[key]]));
  }

  // ---------------------------------------------------------------- asking

  function load() {
    const query = parameters(view.wanted);
    query.set("limit", LISTED);
    request(view, panel, `/api/v1/runs/${view.run}/walk?${query}`, draw, fail);
  }

  function fail(error) {
    view.walk = null;
    for (const id of ["walk-previous", "walk-next"]) setProps(id, { disabled: true });
    panel().replaceChildren(failure(error));
  }

  async function loadMore(line, outcome, list, foot) {
    const shown = list.childElementCount;
    const mine = view.walk;
    const query = parameters({ ...view.wanted, step: mine.step });
    for (const [key, value] of Object.entries({ line: line.key, outcome: outcome.name, offset: shown, limit: MORE })) query.set(key, value);
    try {
      const walk = await ask(`/api/v1/runs/${view.run}/walk?${query}`);
      if (mine !== view.walk) return;
      const groups = walk.lines.find((each) => each.key === line.key).outcomes.find((each) => each.name === outcome.name).groups;
      outcome.groups = [...outcome.groups, ...groups];
      Object.assign(mine.texts, walk.texts);
      list.append(...groups.map(row));
      foot.replaceChildren(...more(line, outcome, list, foot));
    } catch (error) {
      foot.replaceChildren(failure(error));
    }
  }

  // ---------------------------------------------------------------- drawing

  function draw(walk) {
    view.walk = walk;
    if (!walk.lines.some((line) => line.key === view.line)) view.line = firstLine(walk);
    setProps("walk-previous", { disabled: walk.previous_step === null });
    setProps("walk-next", { disabled: walk.next_step === null });
    panel().replaceChildren(head(walk), ...notes(walk), body(walk));
    tellNews();
  }

  // Where most is decided: what becomes of the fresh groups.
  const firstLine = (walk) => (walk.lines.find((line) => ["filter", "choose"].includes(line.key)) || walk.lines[0]).key;

  function head(walk) {
    const title = make("h2", "chart-title", `Step ${count(walk.step)}`);
    const parts = SOURCES.filter(([key]) => walk[key]);
    const bar = make("div", "walk-bar", ...parts.map(([key, source]) => {
      const part = make("span", `walk-part source-${source}`);
      part.style.flexGrow = walk[key];
      return part;
    }));
    const rest = Math.max(0, walk.batch_size - walk.batch);
    if (rest) {
      const part = make("span", "walk-part walk-room");
      part.style.flexGrow = rest;
      bar.append(part);
    }
    bar.setAttribute("aria-hidden", "true");
    const before = walk.recorded_batch === walk.batch ? null : make("span", "walk-was", ` (recorded: ${count(walk.recorded_batch)})`);
    return make("div", "panel-card walk-head", title,
      make("p", "walk-sum",
        `trained on ${plural(walk.batch, "group")}, B = ${count(walk.batch_size)}`, before,
        ...parts.map(([key, source, label]) => make("span", `source source-${source}`, `${label} ${count(walk[key])}`))),
      bar, ...thresholds(walk));
  }

  function thresholds({ thresholds: now, recorded_thresholds: was, group_size: size }) {
    if (!now) return [];
    const value = (number) => (Number.isInteger(number * size) ? `${number * size}/${size}` : number.toFixed(3));
    const facts = THRESHOLDS.map((key) => make("span", "fact", `${key} = `,
      ...(now[key] === was[key] ? [value(now[key])] : [make("s", "walk-was", value(was[key])), " ", make("strong", "", value(now[key]))])));
    return [make("p", "walk-thresholds-now", ...facts, make("span", "fact", `r_tot = ${now.r_tot.toFixed(3)}`))];
  }

  const notes = (walk) => [...walk.not_recorded, ...walk.cautions].map((text) => make("p", "walk-note", text));

  function body(walk) {
    const name = walk.follows_algorithm_1 ? "Algorithm 1, one step" : `${walk.method}, one step`;
    const list = make("ol", "walk-lines", ...walk.lines.map((line) => lineItem(line)));
    const left = make("section", "panel-card walk-rule", make("h3", "walk-rule-name", name), list);
    left.setAttribute("aria-label", name);
    const whole = make("div", "walk-body", left);
    place(whole, walk.lines.find((line) => line.key === view.line));
    return whole;
  }

  function lineItem(line) {
    const number = make("span", "walk-number", line.number);
    const act = button("", "walk-line", () => choose(line.key));
    act.append(number, make("span", "walk-text",
      make("span", "walk-title", line.title), make("span", "walk-why", line.why), tally(line)));
    act.dataset.line = line.key;
    act.setAttribute("aria-pressed", line.key === view.line);
    return make("li", "", act);
  }

  // What the line did in numbers, so that the left side alone tells the step.
  function tally(line) {
    const shown = line.outcomes.filter((outcome) => outcome.count || outcome.recorded);
    return make("span", "walk-tally", ...shown.map((outcome) =>
      make("span", `walk-chip${trained(outcome)}${changed(outcome) ? " changed" : ""}`, `${outcome.label} `, amount(outcome))));
  }

  const changed = (outcome) => outcome.count !== outcome.recorded || outcome.groups.some((group) => group.was);
  const amount = (outcome) => make("b", "", outcome.count === outcome.recorded
    ? count(outcome.count) : `${count(outcome.recorded)} → ${count(outcome.count)}`);

  function place(whole, line) {
    whole.querySelector(".walk-groups")?.remove();
    const groups = groupsOf(line);
    if (narrow.matches) whole.querySelector(`[data-line="${line.key}"]`).after(groups);
    else whole.append(groups);
  }

  function groupsOf(line) {
    const box = make("section", "panel-card walk-groups",
      make("h3", "walk-rule-name", make("span", "walk-number", line.number), line.title),
      make("p", "walk-said", line.said), ...line.outcomes.map((outcome) => outcomeBox(line, outcome)));
    if (!line.outcomes.length) box.append(make("p", "walk-why", "This line touches no single groups."));
    box.setAttribute("aria-label", `Line ${line.number}: groups`);
    box.setAttribute("aria-live", "polite");
    return box;
  }

  function outcomeBox(line, outcome) {
    const list = make("ul", "walk-list", ...outcome.groups.map(row));
    const foot = make("div", "walk-more");
    foot.append(...more(line, outcome, list, foot));
    return make("div", `walk-outcome${trained(outcome)}`,
      make("h4", "walk-outcome-name", outcome.label, " ", amount(outcome)), make("p", "walk-why", outcome.why), list, foot);
  }

  function more(line, outcome, list, foot) {
    const left = outcome.count - list.childElementCount;
    return left > 0 ? [button(`Show ${count(Math.min(left, MORE))} more of ${count(outcome.count)}`, "text-button", () => loadMore(line, outcome, list, foot))] : [];
  }

  function row(group) {
    const { walk, run } = view;
    const size = walk.group_size;
    const swatch = make("span", "walk-swatch");
    swatch.style.background = `var(--k${group.num_correct})`;
    swatch.setAttribute("aria-hidden", "true");
    const text = walk.texts[group.prompt_id] || group.prompt_id;
    const to = link(text.replace(/\s+/g, " "), "walk-prompt", promptPath(run, group.prompt_id));
    to.title = group.prompt_id;
    const facts = [];
    if (group.earlier_correct !== null) facts.push(`${group.earlier_correct}/${size} at step ${count(group.earlier_step)}`);
    else if (group.earlier_step !== null) facts.push(`of step ${count(group.earlier_step)}`);
    if (group.policy_version !== null) facts.push(age(walk.step - 1 - group.policy_version));
    return make("li", "walk-group", swatch, make("span", "walk-accuracy", `${group.num_correct}/${size}`), to,
      group.was ? make("span", "walk-changed", `recorded: ${group.was}`) : null,
      make("span", "walk-fact", facts.join(", ")));
  }

  const age = (steps) => (steps <= 0 ? "current policy" : `policy ${plural(steps, "step")} old`);

  // ---------------------------------------------------------------- controls

  function choose(key) {
    view.line = key;
    window.bapoView.write({ line: key });
    for (const each of panel().querySelectorAll(".walk-line")) each.setAttribute("aria-pressed", each.dataset.line === key);
    place(panel().querySelector(".walk-body"), view.walk.lines.find((line) => line.key === key));
  }

  function go(step) {
    if (step === null || step === undefined) return;
    setProps("walk-step", { value: step });
  }

  function reset() {
    view.wanted = { ...view.wanted, ...Object.fromEntries(THRESHOLDS.map((key) => [key, ""])) };
    view.controls = view.wanted;
    for (const key of THRESHOLDS) setProps(`walk-${key}`, { value: null });
    window.bapoView.write(view.wanted);
    load();
  }

  function newest() {
    if (view.wanted.step === "") load(); // There may be a newer one by now.
    else setProps("walk-step", { value: "" });
  }

  function tellNews() {
    const step = Number((find("run-step")?.textContent || "").replace(/\D/g, ""));
    const isNew = view.walk && step > view.walk.last_step;
    announce("walk-news", isNew && `The run is at step ${count(step)} now.`, "Walk through it", newest);
  }

  clientside.walk = { show: whenMounted(({ run }) => `#walk[data-run="${run}"]`, show) };

  const read = (query) => Object.fromEntries(["step", ...THRESHOLDS].map((key) => [key, query.get(key) || ""]));

  function show(mounted, step, ...values) {
    const wanted = { step: String(step ?? ""), ...Object.fromEntries(THRESHOLDS.map((key, number) => [key, values[number] ?? ""])) };
    if (!view || view.mounted !== mounted) {
      const query = onTab() ? window.bapoView.read() : new URLSearchParams();
      // Any fraction in a link counts, also one that the selects do not offer.
      view = { ...mounted, mounted, wanted: { ...wanted, ...read(query) }, line: query.get("line"), walk: null };
      load();
    } else if (!same(wanted, view.controls)) {
      const moved = Object.entries(wanted).filter(([key, value]) => value !== view.controls[key]);
      view.wanted = { ...view.wanted, ...Object.fromEntries(moved) };
      window.bapoView.write(view.wanted);
      load();
    }
    view.controls = wanted;
  }

  document.addEventListener("click", (event) => {
    if (!view || !panel() || !event.target.closest) return;
    if (event.target.closest("#walk-previous")) go(view.walk?.previous_step);
    else if (event.target.closest("#walk-next")) go(view.walk?.next_step);
    else if (event.target.closest("#walk-newest")) newest();
    else if (event.target.closest("#walk-reset")) reset();
  });

  // A click on a step in a chart on batches. Without a mouse, it shows the figures.
  addEventListener("bapo:point", ({ detail: { kind, x } }) => {
    if (kind !== "step" || !(x >= 1) || window.bapoView.read().get("tab") !== "batch" || !matchMedia("(hover: hover)").matches) return;
    window.bapoCharts.openTab("walk", { step: Math.round(x) });
  });

  narrow.addEventListener("change", () => {
    const whole = view?.walk && panel()?.querySelector(".walk-body");
    if (whole) place(whole, view.walk.lines.find((line) => line.key === view.line));
  });

  addEventListener("bapo:view", ({ detail: query }) => {
    if (!view || !panel() || query.get("tab") !== "walk") return;
    view.wanted = view.controls = read(query);
    view.line = query.get("line") || view.line;
    setProps("walk-step", { value: view.wanted.step === "" ? "" : Number(view.wanted.step) });
    for (const key of THRESHOLDS) if (find(`walk-${key}`)) setProps(`walk-${key}`, { value: view.wanted[key] || null });
    load();
  });

  addEventListener("bapo:step", () => {
    if (!view?.walk || !panel() || Date.now() - askedAt < NEWS_MS) return;
    askedAt = Date.now();
    tellNews();
  });
})();
