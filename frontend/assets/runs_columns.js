// The run list's columns: which, how wide, in which order, and by which the runs are sorted; the server remembers it for
// each person, separately for narrow and wide windows. Until then the window's width decides. Columns of config
// fields and metrics are created on request; their values come with the rows from then on.
(function () {
  "use strict";

  const runs = window.bapoRuns;
  const { state } = runs;
  const { clientside, noUpdate, stored } = window.bapo;

  const NARROW = 700;
  const CHOICE = "ag-Grid-SelectionColumn";
  const ALWAYS = new Set([CHOICE, "name"]);
  const RECORDED = /^(config|metric)\../;
  const RECORDED_WIDTH = 130;
  const SAVE_MS = 600; // Dragging an edge sends an event for every pixel.
  const MISSING = "–";
  const IN_TRASH = ["status", "name", "method", "trashed_at", "trashed_by", "storage_bytes"];

  const bucket = () => (innerWidth < NARROW ? "narrow" : "wide");
  let shown = null; // Bucket that the columns were placed for.
  let saving = null;
  // What was chosen, until the server has answered: a page that opens sooner brings the layouts of before.
  const unsaved = stored("bapo-run-list-unsaved", "sessionStorage");
  const latest = stored("bapo-run-list");

  const remembered = () => state.layouts?.[bucket()] ?? {};

  function keep(changes) {
    state.layouts = { ...state.layouts, [bucket()]: { ...remembered(), ...changes } };
    unsaved.write(JSON.stringify(state.layouts));
    clearTimeout(saving);
    saving = setTimeout(save, SAVE_MS);
  }

  async function save() {
    clearTimeout(saving);
    saving = null;
    const sent = JSON.stringify(state.layouts);
    await runs.send("PUT", "/account/run-list", state.layouts, { keepalive: true });
    if (unsaved.read() === sent) unsaved.write(null);
  }
  // Save a pending choice when the page is left.
  addEventListener("pagehide", () => { if (saving !== null) save(); });

  // The layouts that came with the page, unless some that were chosen before it opened are not saved yet.
  runs.restoreLayouts = (saved) => {
    const unstored = unsaved.read();
    state.layouts = unstored === null ? saved : JSON.parse(unstored);
    if (unstored !== null) save();
    latest.write(JSON.stringify(state.layouts));
  };

  // What the page will most likely bring: the order, and the fields and metrics that are shown.
  runs.expectedLayout = () => {
    const { sort, columns } = JSON.parse(unsaved.read() ?? latest.read())?.[bucket()] ?? {};
    return { sort, asked: columns?.map(({ name }) => name).filter(isRecorded) };
  };

  runs.rememberedSort = () => remembered().sort ?? null;
  runs.rememberSort = () => {
    if (!state.view) keep({ sort: state.sort });
  };

  const builtIn = () => Object.keys(state.widths);
  const isRecorded = (name) => RECORDED.test(name);
  const isKnown = (name) => name in state.widths || isRecorded(name);
  const usual = (name) => ALWAYS.has(name) || (state.widths[name] !== null && innerWidth >= state.widths[name]);

  runs.titleOf = (name) => state.titles?.[name] ?? name.replace(/^(config|metric)\./, "");
  runs.builtInColumns = builtIn;
  runs.sortableColumns = () => state.sortable ?? builtIn();
  runs.isRecorded = isRecorded;

  // The view's columns, else those that were chosen, else those that fit.
  function wanted() {
    if (runs.inTrash()) return IN_TRASH.filter((name) => usual(name) || innerWidth >= NARROW).map((name) => ({ name }));
    const named = state.columns?.map((name) => ({ name })) ?? remembered().columns;
    if (!named) return builtIn().filter(usual).map((name) => ({ name }));
    const known = named.filter(({ name }) => isKnown(name));
    return known.some(({ name }) => name === "name") ? known : [{ name: "name" }, ...known];
  }

  function definition(name) {
    const isMixed = state.recorded?.find((column) => column.name === name)?.is_mixed;
    return {
      colId: name,
      headerName: runs.titleOf(name),
      headerTooltip: (name.startsWith("metric.") ? `${name.slice(7)}: newest value` : `${name.slice(7)}, as submitted`) +
        (isMixed ? "; texts sort before numbers" : ""),
      valueGetter: ({ data }) => data && (data[`${name}_text`] ?? MISSING),
      width: RECORDED_WIDTH,
      minWidth: 60,
      type: name.startsWith("metric.") ? "rightAligned" : undefined,
      hide: true,
    };
  }

  // The table has a column for each field and metric that is shown, and gets those that it lacks.
  function make(names) {
    state.made ??= new Set();
    const lacking = names.filter((name) => isRecorded(name) && !state.made.has(name));
    if (!lacking.length) return;
    state.base ??= state.api.getColumnDefs();
    for (const name of lacking) state.made.add(name);
    state.api.setGridOption("columnDefs", [...state.base, ...[...state.made].map(definition)]);
  }

  // Shows these columns, in this order, and no others.
  function arrange(columns) {
    const names = columns.map(({ name }) => name);
    make(names);
    const sorted = state.sort.replace(/^-/, "");
    const hidden = [...builtIn(), ...(state.made ?? [])].filter((name) => !names.includes(name));
    const all = [
      { colId: CHOICE, hide: false },
      ...columns.map(({ name, width }) => ({ colId: name, hide: false, ...(width ? { width } : {}) })),
      ...hidden.map((name) => ({ colId: name, hide: true })),
    ];
    state.api.applyColumnState({
      state: all.map((column) => ({
        ...column,
        // The name takes what the others leave.
        ...(column.colId === "name" ? { flex: 1 } : {}),
        sort: column.colId === sorted ? (state.sort.startsWith("-") ? "desc" : "asc") : null,
      })),
      applyOrder: true,
    });
    notify();
  }

  runs.restoreColumns = () => {
    shown = bucket();
    state.ofTrash = runs.inTrash();
    arrange(wanted());
  };

  const layout = () =>
    state.api ? state.api.getColumnState().filter(({ colId, hide }) => !hide && colId !== CHOICE) : [];
  runs.visibleColumns = () => layout().map(({ colId }) => colId);

  function notify() {
    state.asked = runs.visibleColumns().filter(isRecorded);
    runs.publish();
    runs.fitHeight();
  }

  // The window became wider or narrower.
  runs.fitColumns = () => {
    if (shown !== bucket() || (!state.columns && !remembered().columns)) runs.restoreColumns();
  };

  runs.columnsChanged = (event) => {
    if (String(event.source).startsWith("ui") && event.finished !== false) chosen();
  };

  function chosen() {
    state.columns = null;
    runs.leaveView();
    // The trash always looks the same.
    if (!runs.inTrash()) keep({ columns: layout().map(({ colId, width }) => ({ name: colId, width: Math.round(width) || null })) });
    runs.writeAddress();
    notify();
  }

  // Applies the user's choice of columns, in this order.
  runs.chooseColumns = (names) => {
    const widths = new Map(layout().map(({ colId, width }) => [colId, width]));
    const before = state.asked ?? [];
    arrange(names.map((name) => ({ name, width: widths.get(name) })));
    chosen();
    if (state.asked.some((name) => !before.includes(name))) state.api.refreshInfiniteCache();
  };

  Object.assign(clientside.runs, {
    resetColumns(clicks) {
      if (!clicks || !state.api) return noUpdate();
      keep({ columns: null });
      state.columns = null;
      state.api.resetColumnState();
      runs.restoreColumns();
      runs.drawPicker();
      return noUpdate();
    },
  });
})();
