// The run list: its table, whose rows come from the server on scrolling, sorting and filtering, and stay live.
// What the table shows is `bapoRuns.state`; runs_filters.js, runs_columns.js and runs_bulk.js change it.
(function () {
  "use strict";

  const BLOCK = 50; // As `cacheBlockSize` of the table.
  const MOST_IN_SIGHT = 100;
  const REST_MS = 30; // Blocks that are scrolled past meanwhile are not asked for.
  const ROW_HEIGHT = 40;
  const HEAD_HEIGHT = 42;
  const LEAST_HEIGHT = 220;
  const DEFAULT_SORT = "-created_at";

  const { ask, clientside, find, here, make, noUpdate, plural, refusal, same, served, setChanged, setProps } = window.bapo;

  const state = {
    box: null, // Element of the page that is shown: another one is another visit.
    api: null,
    filters: {},
    sort: DEFAULT_SORT,
    view: null,
    total: null,
    ticket: 0,
    page: null, // First rows, fetched before the table asks for them, so that it is never empty in between.
    reloading: false, // They are on their way.
    base: null, // Definitions of the built-in columns.
    made: null, // Config fields and metrics that the table has a column for, shown or not.
    asked: [], // Those that are shown: their values come with the rows.
    by: null, // Column that the runs are grouped by.
    recorded: null, // All recorded columns, once requested.
    refreshing: null, // Rows in sight that are on their way, and those that were asked for meanwhile.
    next: null,
  };
  const runs = (window.bapoRuns = { state, DEFAULT_SORT });

  // ---------------------------------------------------------------- a visit

  // Called with the filters' first values, which may come before the table is there.
  runs.begin = async () => {
    const box = find("runs-grid-box");
    Object.assign(state, { box, api: null, filters: {}, sort: DEFAULT_SORT, view: null, total: null, page: null, base: null, made: null, asked: [], recorded: null, by: null });
    state.ticket += 1;
    const [api] = await Promise.all([window.dash_ag_grid.getApiAsync("runs-grid"), runs.restore()]);
    // The component sets the table's data source when that is ready; ours replaces it.
    while (!api.isDestroyed() && !api.getGridOption("datasource")) await new Promise((done) => { setTimeout(done, 5); });
    if (state.box !== box || api.isDestroyed()) return;
    state.api = api;
    runs.restoreColumns();
    for (const [event, listener] of Object.entries(listeners)) api.addEventListener(event, listener);
    runs.reload();
    runs.tellTrashed();
  };

  const listeners = {
    sortChanged(event) {
      const sorted = state.api.getColumnState().find((column) => column.sort);
      const sort = sorted ? (sorted.sort === "desc" ? "-" : "") + sorted.colId : DEFAULT_SORT;
      if (event.source === "api" || sort === state.sort) return;
      state.sort = sort;
      runs.leaveView();
      runs.rememberSort();
      runs.changed();
    },
    selectionChanged: () => runs.selectionChanged(),
    cellKeyDown({ event, node }) {
      if (!node.data || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === "Enter" && !node.data.is_trashed) visit(node.data.id);
      if (event.key === "s") runs.star(node.data.id, !node.data.is_starred);
    },
    columnMoved: (event) => runs.columnsChanged(event),
    columnResized: (event) => runs.columnsChanged(event),
    columnVisible: (event) => runs.columnsChanged(event),
  };

  // Filters, order or view changed: the address says so, and the rows follow.
  runs.changed = () => {
    runs.writeAddress();
    return runs.reload();
  };

  // ---------------------------------------------------------------- rows

  runs.parameters = ({ filters, sort, asked } = state) => {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(filters)) {
      for (const part of Array.isArray(value) ? value : [value]) query.append(name, part);
    }
    query.set("sort", sort);
    for (const name of asked ?? []) query.append("columns", name);
    return query;
  };

  function addressOf(begin, end, shown) {
    const query = runs.parameters(shown);
    query.set("offset", begin);
    query.set("limit", end - begin);
    return `/live/runs?${query}`;
  }

  const fetchRows = (begin, end) => ask(addressOf(begin, end));

  // The first rows are asked for while Dash still sets up the page around them.
  let early = null;

  function askEarly() {
    const query = window.bapoView.read();
    // What a view holds, and which states a quick choice stands for, comes with the page.
    if (here() !== "/runs" || ["view", "by", "status"].some((name) => query.has(name))) return;
    const { sort, asked } = runs.expectedLayout();
    const shown = { filters: runs.filtersOf(query), sort: query.get("sort") || sort || DEFAULT_SORT, asked };
    const address = addressOf(0, BLOCK, shown);
    early = { address, answer: ask(address).catch(() => null) };
  }
  Promise.resolve().then(askEarly); // Once all our scripts are there.

  async function firstRows() {
    const asked = early;
    early = null;
    const known = asked?.address === addressOf(0, BLOCK) ? await asked.answer : null;
    if (!known) return fetchRows(0, BLOCK);
    window.bapoLive.note(); // They are older than the stream of events.
    return known;
  }

  const waiting = []; // Blocks that the table asks for while it is scrolled.
  let rest = null;

  const source = {
    getRows(parameters) {
      if (parameters.startRow === 0 && state.page) {
        const { rows, total } = state.page;
        state.page = null;
        parameters.successCallback(rows, total);
        runs.rowsChanged();
      } else if (!state.reloading) {
        waiting.push(parameters);
        clearTimeout(rest);
        rest = setTimeout(fetchWaiting, REST_MS);
      }
    },
  };

  function fetchWaiting() {
    const asked = waiting.splice(0);
    if (!state.api || state.api.isDestroyed()) return;
    const kept = new Set(Object.values(state.api.getCacheBlockState()).map(({ startRow }) => startRow));
    for (const parameters of asked) if (kept.has(parameters.startRow)) fetchBlock(parameters);
  }

  async function fetchBlock({ startRow, endRow, successCallback, failCallback }) {
    try {
      const page = await fetchRows(startRow, endRow);
      successCallback(page.rows, page.total);
      runs.rowsChanged();
      show(page);
      problem(null);
    } catch (error) {
      failCallback();
      problem(error);
    }
  }

  // Reloads the list and scrolls to its top.
  runs.reload = async () => {
    if (!state.api) return;
    if (state.by) return runs.loadGroups();
    const ticket = ++state.ticket;
    state.box.classList.add("updating");
    state.reloading = true;
    try {
      const page = await firstRows();
      if (ticket !== state.ticket || state.api.isDestroyed()) return;
      state.page = page;
      show(page);
      if (page.total) fill();
      runs.showStory(page.rows, page.total);
      problem(null);
    } catch (error) {
      if (ticket === state.ticket) problem(error);
    } finally {
      if (ticket === state.ticket) {
        state.reloading = false;
        state.box.classList.remove("updating", "loading");
      }
      window.bapoLive.answered();
    }
  };

  // The table takes the first rows. Those that it has change in place, where there are no others further down.
  function fill() {
    const isOurs = state.api.getGridOption("datasource") === source;
    if (isOurs && Object.keys(state.api.getCacheBlockState()).join() === "0") state.api.refreshInfiniteCache();
    else if (isOurs) state.api.purgeInfiniteCache();
    else state.api.setGridOption("datasource", source);
    state.api.ensureIndexVisible(0, "top");
  }

  // Rows in sight, as they are now; what is chosen, scrolled to or open stays. Rows that are on their way may be older than
  // now: others follow them.
  runs.refresh = async () => {
    if (!state.api) return;
    if (state.by) return runs.loadGroups();
    if (!state.total) return runs.reload();
    if (state.refreshing) {
      state.next ??= state.refreshing.then(() => { state.next = null; return runs.refresh(); });
      return state.next;
    }
    state.refreshing = rowsInSight();
    return state.refreshing;
  };

  async function rowsInSight() {
    const ticket = state.ticket;
    const first = Math.max(0, state.api.getFirstDisplayedRowIndex());
    const last = Math.max(first, state.api.getLastDisplayedRowIndex());
    try {
      const page = await fetchRows(first, Math.min(last + 1, first + MOST_IN_SIGHT));
      if (ticket !== state.ticket || state.api.isDestroyed()) return;
      place(page, first);
      problem(null);
    } catch (error) {
      problem(error);
    } finally {
      state.refreshing = null;
      window.bapoLive.answered();
    }
  }

  function place(page, first) {
    const { rows, total } = page;
    const nodes = rows.map((_, index) => state.api.getDisplayedRowAtIndex(first + index));
    const isSame = total === state.total && rows.every((row, index) => nodes[index]?.data?.id === row.id);
    if (total !== state.total && rows.length === total) runs.showStory(rows, total);
    show(page);
    runs.followStory();
    if (!total) return;
    if (!isSame) {
      state.api.refreshInfiniteCache();
      return;
    }
    rows.forEach((row, index) => {
      if (!same(nodes[index].data, row)) nodes[index].setData(row);
    });
    runs.rowsChanged();
  }

  runs.row = (id) => state.api?.getRowNode(id);

  // The keyboard goes to the next row, or to the first in sight where it has none yet.
  runs.step = (by) => {
    if (!state.api || !state.total || state.by) return false;
    const focused = state.api.getFocusedCell();
    const next = focused ? focused.rowIndex + by : state.api.getFirstDisplayedRowIndex();
    const row = Math.max(0, Math.min(next, state.total - 1));
    state.api.ensureIndexVisible(row);
    state.api.setFocusedCell(row, "name");
    return true;
  };

  // ---------------------------------------------------------------- around the table

  function show({ total, num_sets: sets, is_new_here: isNewHere }) {
    state.total = total;
    const order = sets ? `, sorted by accuracies on ${plural(sets, "held-out set")}, which are not comparable` : "";
    setChanged("runs-shown", { children: `${plural(total, "run")}${order}` });
    setChanged("runs-first", { hidden: !isNewHere });
    setChanged("runs-table", { hidden: isNewHere });
    const isEmptyTrash = !total && runs.inTrash() && Object.keys(state.filters).length === 1;
    setChanged("runs-trash-empty", { hidden: !isEmptyTrash });
    setChanged("runs-none", { hidden: total > 0 || isNewHere || isEmptyTrash });
    state.box.hidden = !total;
    state.box.classList.remove("loading");
    fitHeight();
  }

  function fitHeight() {
    if (!state.box?.isConnected) return;
    const top = state.box.getBoundingClientRect().top + scrollY;
    const room = Math.max(LEAST_HEIGHT, innerHeight - Math.min(top, 320) - 24);
    // The scroll bar below the rows takes additional room if the columns are wider than the window.
    const bar = state.box.querySelector(".ag-body-horizontal-scroll:not(.ag-hidden)")?.offsetHeight || 0;
    const height = state.total ? Math.min(room, HEAD_HEIGHT + state.total * ROW_HEIGHT + bar + 2) : LEAST_HEIGHT;
    state.box.style.height = `${height}px`;
  }
  addEventListener("resize", () => {
    fitHeight();
    if (state.api && !state.api.isDestroyed()) runs.fitColumns();
  });
  runs.fitHeight = fitHeight;

  function problem(error) {
    const box = find("runs-problem");
    if (!box) return;
    const text = error === null ? "" : error instanceof TypeError ? "The server does not answer: these rows may be out of date." : error.message;
    setChanged("runs-problem", { hidden: !text, children: text });
    if (text) state.box.classList.remove("loading");
  }

  runs.problem = problem;

  runs.tell = (title, message, color = "red") =>
    setProps("notifications", {
      sendNotifications: [{ action: "show", title, message, color, autoClose: color === "red" ? 12000 : 5000, withBorder: true }],
    });

  // A request that changes something. Its answer, or null after a message.
  runs.send = async (method, path, body, options) => {
    try {
      const content = body && { headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
      const answer = await fetch(served(`/api/v1${path}`), { method, ...content, ...options });
      const text = await answer.text();
      const said = text ? JSON.parse(text) : {};
      if (answer.ok) return said;
      runs.tell("Refused", refusal(said));
    } catch {
      runs.tell("Not done", "The server does not answer: try again in a moment.");
    }
    return null;
  };

  runs.star = async (id, isStarred) => {
    const mark = (value) => {
      const node = runs.row(id);
      if (node?.data) node.setData({ ...node.data, is_starred: value, starred_text: value ? "yes" : "no" });
    };
    mark(isStarred);
    if ((await runs.send(isStarred ? "PUT" : "DELETE", `/runs/${encodeURIComponent(id)}/star`)) === null) mark(!isStarred);
  };

  const visit = (id) => setProps("url", { pathname: `/runs/${id}`, search: "" });
  runs.visit = visit;

  const NOT_OPENING = new Set(["name", "starred", "tags", "ag-Grid-SelectionColumn"]);

  clientside.runs = {
    open(cell) {
      // A run in the trash has no page.
      if (cell && !runs.inTrash() && cell.rowId !== undefined && !NOT_OPENING.has(cell.colId) && runs.row(cell.rowId)?.data) visit(cell.rowId);
      return noUpdate();
    },
    poked() {
      runs.refresh();
      return noUpdate();
    },
    exportCsv(clicks) {
      if (clicks) {
        const link = make("a");
        link.href = served(`/api/v1/runs.csv?${runs.parameters()}`);
        link.download = "runs.csv";
        link.click();
      }
      return noUpdate();
    },
  };
})();
