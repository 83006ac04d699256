// The run list in groups: one row for each, with states, mean and spread of the columns with numbers that are shown; it
// opens in place, leads to its runs in the list, and to their comparison.
(function () {
  "use strict";

  const runs = window.bapoRuns;
  const { state } = runs;
  const { ask, button, clientside, count, find, make, noUpdate, plural, served, setProps } = window.bapo;

  const SHARES = new Set(["reward_mean", "eval_latest", "eval_best", "progress"]);
  const NUMBERS = new Set([...SHARES, "num_rollouts", "compute_hours", "attempt"]);
  const MOST_METRICS = 8;
  const MOST_OPENED = 50; // Runs of a group shown in place, and compared.
  const MISSING = "–";

  const opened = new Set(); // Labels of groups that are open: they stay so while runs train.
  let shownBy = null;

  const metrics = () => {
    const shown = runs.visibleColumns().filter((name) => NUMBERS.has(name) || runs.isRecorded(name));
    return shown.filter((name) => name !== state.by).slice(0, MOST_METRICS);
  };

  function formatted(name, value) {
    if (value === null) return MISSING;
    // Another trainer's mean reward may be no share of right responses.
    if (SHARES.has(name) && value >= 0 && value <= 1) return `${(100 * value).toFixed(1)}\u202f%`;
    return Math.abs(value) >= 10_000 ? count(Math.round(value)) : String(Number(value.toPrecision(4)));
  }

  // ---------------------------------------------------------------- the groups

  runs.loadGroups = async () => {
    const ticket = ++state.ticket;
    const names = metrics();
    const query = runs.parameters();
    for (const name of ["sort", "columns"]) query.delete(name);
    query.set("by", state.by);
    for (const name of names) query.append("metrics", name);
    find("runs-groups").classList.add("updating");
    try {
      const { items, total } = await ask(`/api/v1/runs/groups?${query}`);
      if (ticket !== state.ticket) return;
      if (shownBy !== state.by) opened.clear();
      shownBy = state.by;
      await draw(items, total, names);
      runs.problem(null);
    } catch (error) {
      if (ticket === state.ticket) runs.problem(error);
    } finally {
      find("runs-groups")?.classList.remove("updating");
      window.bapoLive.answered();
    }
  };

  async function draw(items, total, names) {
    setProps("runs-shown", { children: plural(total, "group") });
    setProps("runs-none", { hidden: total > 0 });
    const titles = [["Group", ""], ["Runs", "number"], ["States", ""], ...names.map((name) => [runs.titleOf(name), "number"]), ["", ""]];
    const head = make("tr", "", ...titles.map(([title, look]) => {
      const cell = make("th", look, title);
      cell.scope = "col";
      return cell;
    }));
    const bodies = await Promise.all(items.map((item) => group(item, names)));
    const table = make("table", "runs-groups-table", make("thead", "", head), ...bodies);
    const more = total - items.length;
    find("runs-groups").replaceChildren(
      table,
      make("p", "runs-groups-note", `Mean ± standard deviation over the runs of a group.${more > 0 ? ` ${plural(more, "smaller group")} not shown: filter to see them.` : ""}`),
    );
  }

  async function group(item, names) {
    const body = make("tbody", "");
    const toggle = button("", "runs-group-toggle", () => flip(item, names, body, toggle));
    toggle.append(make("span", "runs-group-sign", "▸"), item.label);
    const states = Object.entries(item.states).map(([name, number]) => `${count(number)} ${name}`).join(", ");
    const title = make("th", "", toggle);
    title.scope = "row";
    const show = button("Show in list", "runs-group-show", () => narrow(item));
    const compare = button("Compare", "runs-group-show", () => compareRuns(item));
    compare.disabled = item.num_runs < 2;
    body.append(make("tr", "", title, make("td", "number", count(item.num_runs)), make("td", "", states),
      ...names.map((name) => figure(name, item.aggregates[name])), make("td", "nowrap", show, " ", compare)));
    toggle.setAttribute("aria-expanded", "false");
    if (opened.has(item.label)) await open(item, names, body, toggle);
    return body;
  }

  function figure(name, { num_runs: n, mean, std, min, max, num_sets: sets }) {
    if (sets) {
      const mixed = make("td", "number nowrap", plural(sets, "held-out set"));
      mixed.title = "The runs were evaluated on different held-out sets: their accuracies have no mean";
      return mixed;
    }
    const spread = std === null ? "" : ` ± ${formatted(name, std).replace("\u202f%", "")}`;
    const cell = make("td", "number nowrap", `${formatted(name, mean)}${spread}`);
    if (mean !== null) cell.title = `${formatted(name, min)} to ${formatted(name, max)} over ${plural(n, "run")}`;
    return cell;
  }

  // ---------------------------------------------------------------- one group

  const within = ({ where, tag }) => tag === null
    ? { ...state.filters, where: [...(state.filters.where ?? []), where] }
    : { ...state.filters, tag: [...new Set([...(state.filters.tag ?? []), tag])] };

  function rowsOf(item) {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(within(item))) for (const part of [value].flat()) query.append(name, part);
    for (const name of state.asked ?? []) query.append("columns", name);
    query.set("sort", state.sort);
    query.set("limit", MOST_OPENED);
    return ask(`/live/runs?${query}`);
  }

  async function open(item, names, body, toggle) {
    const { rows, total } = await rowsOf(item);
    const lines = rows.map((run) => {
      const link = make("a", "", run.name);
      link.href = served(`/runs/${run.id}`);
      return make("tr", "runs-group-run", make("td", "", link), make("td", ""), make("td", "", run.status),
        ...names.map((name) => make("td", "number nowrap", run[`${name}_text`] ?? MISSING)), make("td", ""));
    });
    if (total > rows.length) {
      const rest = make("td", "", `and ${plural(total - rows.length, "more run")}: show them in the list`);
      rest.colSpan = names.length + 4;
      lines.push(make("tr", "runs-group-run", rest));
    }
    body.append(...lines);
    toggle.setAttribute("aria-expanded", "true");
    opened.add(item.label);
  }

  async function flip(item, names, body, toggle) {
    if (toggle.getAttribute("aria-expanded") === "true") {
      opened.delete(item.label);
      toggle.setAttribute("aria-expanded", "false");
      for (const line of body.querySelectorAll(".runs-group-run")) line.remove();
      return;
    }
    try {
      await open(item, names, body, toggle);
      runs.problem(null);
    } catch (error) {
      runs.problem(error);
    }
  }

  function narrow(item) {
    const filters = within(item);
    setProps("runs-by", { value: null });
    groupRuns(null);
    runs.filterBy(filters);
  }

  async function compareRuns(item) {
    try {
      const { rows } = await rowsOf(item);
      setProps("url", { pathname: "/compare", search: `?runs=${rows.map((run) => run.id).join(",")}` });
    } catch (error) {
      runs.problem(error);
    }
  }

  // ---------------------------------------------------------------- which

  // Groups in place of the table, or the table again.
  runs.showGrouping = () => {
    const box = find("runs-groups");
    if (!box) return;
    box.hidden = !state.by;
    state.box.classList.toggle("grouped", Boolean(state.by));
    if (state.by) state.api?.deselectAll();
    else box.replaceChildren();
  };

  function groupRuns(name) {
    state.by = name || null;
    runs.showGrouping();
    runs.changed();
  }

  Object.assign(clientside.runs, {
    async groupBy(name) {
      if (state.api && (name || null) !== (state.by || null)) groupRuns(name);
      return noUpdate();
    },
    async openGroupings(isOpen, usual) {
      if (!isOpen) return noUpdate();
      try {
        const found = (await runs.learnColumns()).map(({ name }) => ({ value: name, label: runs.titleOf(name) }));
        return [...usual, { group: "Config and metrics", items: found }];
      } catch {
        return noUpdate();
      }
    },
  });
})();
