// The run list's filters: the controls, the address and the saved views say the same; this keeps them so.
(function () {
  "use strict";

  const runs = window.bapoRuns;
  const { state } = runs;
  const { button, clientside, day, find, here, icon, make, noUpdate, same, setChanged: setProps } = window.bapo;

  const LISTS = ["status", "method", "tag", "owner", "group", "project", "where"];
  const DATES = ["created_after", "created_before"];
  const STEPS = ["min_step", "max_step"];
  const HIDING = ["archived", "trash"]; // Hidden unless asked for.
  const SHARES = ["min_best", "max_best"];
  const LABELS = {
    search: "search", status: "state", method: "method", tag: "tag", owner: "owner", group: "group",
    project: "project", starred: "starred",
    archived: "archived", created_after: "created from", created_before: "created before", min_step: "steps ≥",
    max_step: "steps ≤", min_best: "best ≥", max_best: "best ≤", trash: "trash", where: "where",
  };

  let controls = {}; // Filter → component.
  let presets = {}; // Quick choice → states.
  let seen = {}; // Filter → what its control last said.
  let written = {}; // Filter → what its control was last set to; it says so some time later.

  let shownPreset = "all";

  // ---------------------------------------------------------------- forms of the same filters

  // Without what narrows nothing, in one order: equal filters are equal texts.
  function tidy(filters) {
    const kept = {};
    for (const name of Object.keys(LABELS)) {
      const value = filters[name];
      const isEmpty = ["", null, undefined, false].includes(value) || (Array.isArray(value) && !value.length);
      if (!isEmpty && !(HIDING.includes(name) && value === "hidden")) kept[name] = Array.isArray(value) ? value.toSorted() : value;
    }
    return kept;
  }

  function fromControl(name, value) {
    if (DATES.includes(name)) return value ? new Date(`${String(value).slice(0, 10)}T00:00`).toISOString() : null;
    if (SHARES.includes(name)) return value === "" || value === null ? null : Number((value / 100).toFixed(6));
    return value;
  }

  function toControls(filters) {
    setProps("runs-search", { value: filters.search || "" });
    for (const [name, component] of Object.entries(controls)) {
      const value = filters[name];
      if (name === "starred") setProps(component, { checked: Boolean(value) });
      else if (LISTS.includes(name)) setProps(component, { value: value || [] });
      else if (DATES.includes(name)) setProps(component, { value: value ? day(new Date(value)) : null });
      else if (SHARES.includes(name)) setProps(component, { value: value === undefined ? "" : Number((100 * value).toFixed(4)) });
      else if (STEPS.includes(name)) setProps(component, { value: value === undefined ? "" : value });
      else setProps(component, { value: value || (HIDING.includes(name) ? "hidden" : "") });
    }
  }

  const presetOf = (states) => Object.keys(presets).find((name) => same(presets[name].toSorted(), (states || []).toSorted()));

  runs.filtersOf = fromAddress;
  function fromAddress(query) {
    const filters = {};
    for (const name of Object.keys(LABELS)) {
      const text = query.get(name);
      if (text === null) continue;
      if (name === "status" && presets[text]) filters[name] = presets[text];
      else if (LISTS.includes(name)) filters[name] = text.split(",").map(decodeURIComponent);
      else if (name === "starred") filters[name] = text === "yes";
      else if (DATES.includes(name)) {
        const moment = new Date(`${text}T00:00`);
        if (!isNaN(moment)) filters[name] = moment.toISOString();
      } else if (STEPS.includes(name) || SHARES.includes(name)) {
        if (!isNaN(Number(text))) filters[name] = Number(text);
      } else filters[name] = text;
    }
    return tidy(filters);
  }

  runs.writeAddress = () => {
    const changes = { view: state.view?.id ?? null, sort: null, by: state.by };
    for (const name of Object.keys(LABELS)) changes[name] = null;
    if (!state.view) {
      if (state.sort !== runs.DEFAULT_SORT) changes.sort = state.sort;
      for (const [name, value] of Object.entries(state.filters)) {
        if (name === "status") changes[name] = presetOf(value) || value.join(",");
        else if (LISTS.includes(name)) changes[name] = value.map(encodeURIComponent).join(",");
        else if (name === "starred") changes[name] = "yes";
        else if (DATES.includes(name)) changes[name] = day(new Date(value));
        else changes[name] = String(value);
      }
    }
    window.bapoView.write(changes);
    publish();
  };

  // ---------------------------------------------------------------- keeping them the same

  // What the address says, on arrival and when it changes by itself.
  runs.restore = async () => {
    const query = window.bapoView.read();
    const id = query.get("view");
    state.by = query.get("by");
    setProps("runs-by", { value: state.by });
    runs.showGrouping();
    if (id) {
      const view = await runs.send("GET", `/views/${encodeURIComponent(id)}`);
      if (view) {
        state.view = { id: view.id, name: view.name };
        state.columns = view.columns.length ? view.columns : null;
        apply(tidy(view.filters), view.sort);
        return;
      }
    }
    state.view = null;
    state.columns = null;
    apply(fromAddress(query), query.get("sort") || runs.rememberedSort() || runs.DEFAULT_SORT);
  };

  function apply(filters, sort) {
    state.filters = filters;
    state.sort = sort;
    written = { ...filters };
    toControls(filters);
    publish();
  }

  // Everything on the page that says which filters hold.
  function publish() {
    const number = Object.keys(state.filters).filter((name) => name !== "search").length;
    setProps("runs-filter-count", { children: number ? String(number) : "" });
    shownPreset = presetOf(state.filters.status) ?? "";
    setProps("runs-status", { value: shownPreset });
    setProps("runs-view-name", { children: state.view ? `: ${state.view.name}` : "" });
    setProps("runs-shows", { data: { filters: state.filters, sort: state.sort, columns: runs.visibleColumns() } });
    drawChips();
    runs.followTrash();
  }
  runs.publish = publish;

  // The user changed filters, order or columns: the list no longer shows the saved view.
  runs.leaveView = () => {
    state.view = null;
  };

  function filterBy(filters) {
    const tidied = tidy(filters);
    if (same(tidied, state.filters)) return;
    runs.leaveView();
    apply(tidied, state.sort);
    runs.changed();
  }
  runs.filterBy = filterBy;

  // ---------------------------------------------------------------- chips

  function drawChips() {
    const box = find("runs-chips");
    if (!box) return;
    box.replaceChildren();
    for (const [name, value] of Object.entries(state.filters)) {
      if (name === "search" || (name === "status" && presetOf(value))) continue;
      for (const part of Array.isArray(value) ? value : [value]) box.append(chip(name, part));
    }
  }

  function chip(name, part) {
    const text = name === "starred" ? "starred" : name === "where" ? part : `${LABELS[name]}${HIDING.includes(name) || /≥|≤/.test(LABELS[name]) ? " " : ": "}${formatted(name, part)}`;
    const element = button(make("span", "", text), "runs-chip", () => {
      const rest = Array.isArray(state.filters[name]) ? state.filters[name].filter((each) => each !== part) : null;
      filterBy({ ...state.filters, [name]: rest });
    });
    element.append(icon("cross"));
    element.title = text;
    element.setAttribute("aria-label", `Remove the filter ${text}`);
    return element;
  }

  function formatted(name, value) {
    if (DATES.includes(name)) return day(new Date(value));
    if (SHARES.includes(name)) return `${Number((100 * value).toFixed(4))}\u202f%`;
    return String(value);
  }

  // ---------------------------------------------------------------- the search

  // Each letter is asked for at once; while an answer is on its way, the newest text waits for it.
  let typed = null;

  async function search() {
    const isUnderWay = typed !== null;
    typed = find("runs-search").value;
    if (isUnderWay) return;
    for (let asked = null; asked !== typed;) {
      asked = typed;
      const filters = tidy({ ...state.filters, search: asked.trim() });
      if (same(filters, state.filters)) continue;
      state.filters = filters;
      runs.leaveView();
      publish();
      await runs.changed();
    }
    typed = null;
  }

  document.addEventListener("input", ({ target }) => {
    if (target.id === "runs-search" && state.api && state.box === find("runs-grid-box")) search();
  });

  // ---------------------------------------------------------------- callbacks

  Object.assign(clientside.runs, {
    filtered(...parts) {
      const data = parts.pop();
      controls = data.controls;
      presets = data.presets;
      state.widths = data.widths;
      state.titles = data.titles;
      state.sortable = data.sortable;
      state.trashDays = data.trash_days;
      if (state.box !== find("runs-grid-box")) {
        runs.restoreLayouts(data.layouts);
        seen = Object.fromEntries(Object.keys(controls).map((name, index) => [name, parts[index]]));
        runs.begin();
        return noUpdate();
      }
      // One by one: a control that was set from here says so only later, and until then what it said before.
      const changes = {};
      Object.keys(controls).forEach((name, index) => {
        if (same(parts[index], seen[name])) return;
        seen[name] = parts[index];
        const value = tidy({ [name]: fromControl(name, parts[index]) })[name];
        if (!same(value, written[name])) changes[name] = written[name] = value;
      });
      const filters = tidy({ ...state.filters, ...changes });
      if (same(filters, state.filters)) return noUpdate();
      state.filters = filters;
      runs.leaveView();
      publish();
      runs.changed();
      return noUpdate();
    },
    preset(name) {
      const isOurs = name === shownPreset;
      shownPreset = name;
      if (!isOurs && presets[name] && presetOf(state.filters.status) !== name && state.box === find("runs-grid-box")) {
        filterBy({ ...state.filters, status: presets[name] });
      }
      return noUpdate();
    },
    async openFilters(isOpen) {
      if (!isOpen) return noUpdate();
      const choose = (names) => setProps("runs-where-column", { data: names.map((name) => ({ value: name, label: runs.titleOf(name) === name ? name : `${runs.titleOf(name)} · ${name}` })) });
      const [known] = await Promise.allSettled([runs.learnColumns()]);
      choose([...runs.sortableColumns(), ...(known.value ?? []).map(({ name }) => name)]);
      return noUpdate();
    },
    operatorChosen(operator) {
      return { display: operator.startsWith("is ") ? "none" : undefined };
    },
    addWhere(clicks, entered, column, operator, value) {
      if (!clicks && !entered) return noUpdate();
      const given = (value ?? "").trim();
      const isWhole = operator.startsWith("is ");
      const problem = !column ? "Choose a column." : !isWhole && !given ? "Give a value." : "";
      setProps("runs-where-value", { error: problem });
      if (problem) return noUpdate();
      const condition = isWhole ? `${column} ${operator}` : `${column} ${operator} ${given}`;
      setProps("runs-where-value", { value: "" });
      filterBy({ ...state.filters, where: [...new Set([...(state.filters.where ?? []), condition])] });
      return noUpdate();
    },
    clear(panel, none) {
      if (panel || none) filterBy({});
      return noUpdate();
    },
    // Keeping the old list would redraw it just when one of its buttons is pressed.
    viewsToggled(opened) {
      return opened ? noUpdate() : [];
    },
    viewSaved(view) {
      if (view) {
        state.view = view;
        runs.writeAddress();
        setProps("runs-views", { opened: false });
      }
      return noUpdate();
    },
  });

  // A link to another view of this page, the search above, back and forward.
  addEventListener("bapo:view", async () => {
    if (here() !== "/runs" || !state.api || state.box !== find("runs-grid-box")) return;
    setProps("runs-views", { opened: false });
    await runs.restore();
    runs.restoreColumns();
    runs.reload();
    runs.tellTrashed();
  });
})();
