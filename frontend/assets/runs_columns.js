// The run list's columns: which, how wide, in which order, and by which the runs are sorted; remembered by this
// browser, for narrow windows apart from wide ones. Until somebody chooses, the window's width does.
(function () {
  "use strict";

  const runs = window.bapoRuns;
  const { state } = runs;
  const { clientside, find, noUpdate, setProps } = window.bapo;

  const NARROW = 700;
  const CHOICE = "ag-Grid-SelectionColumn";
  const ALWAYS = new Set([CHOICE, "name"]);

  const bucket = () => (innerWidth < NARROW ? "narrow" : "wide");
  const key = () => `bapo-runs-${bucket()}`;
  let shown = null; // Bucket that the columns were placed for.

  function remembered() {
    try {
      return JSON.parse(localStorage.getItem(key())) || {};
    } catch {
      return {}; // Storage is forbidden, or holds what another version wrote.
    }
  }

  function keep(changes) {
    try {
      localStorage.setItem(key(), JSON.stringify({ ...remembered(), ...changes }));
    } catch {
      // Not remembered where storage is forbidden.
    }
  }

  runs.rememberedSort = () => remembered().sort ?? null;
  runs.rememberSort = () => {
    if (!state.view) keep({ sort: state.sort });
  };

  const all = () => Object.keys(state.widths);
  const usual = (name) => ALWAYS.has(name) || (state.widths[name] !== null && innerWidth >= state.widths[name]);

  // The view's columns, else those that were chosen, else those that fit.
  function wanted() {
    const named = state.columns?.filter((name) => name in state.widths);
    if (named) {
      const front = named.includes("name") ? named : ["name", ...named];
      return [...front, ...all().filter((name) => !front.includes(name))].map((colId) => ({ colId, hide: !front.includes(colId) }));
    }
    const kept = remembered().columns?.filter((column) => column.colId in state.widths);
    if (kept) {
      const added = all().filter((name) => !kept.some((column) => column.colId === name));
      return [...kept, ...added.map((colId) => ({ colId, hide: true }))];
    }
    return all().map((colId) => ({ colId, hide: !usual(colId) }));
  }

  runs.restoreColumns = () => {
    shown = bucket();
    const sorted = state.sort.replace(/^-/, "");
    const columns = [{ colId: CHOICE, hide: false }, ...wanted()].map((column) => ({
      ...column,
      // The name takes what the others leave.
      ...(column.colId === "name" ? { flex: 1 } : {}),
      sort: column.colId === sorted ? (state.sort.startsWith("-") ? "desc" : "asc") : null,
    }));
    state.api.applyColumnState({ state: columns, applyOrder: true });
    told();
  };

  runs.visibleColumns = () =>
    state.api ? state.api.getColumnState().filter(({ colId, hide }) => !hide && colId !== CHOICE).map(({ colId }) => colId) : [];

  const optional = () => runs.visibleColumns().filter((name) => !ALWAYS.has(name));

  function told() {
    setProps("runs-columns", { value: optional() });
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
    keep({ columns: state.api.getColumnState().filter(({ colId }) => colId !== CHOICE).map(({ colId, width, hide }) => ({ colId, width, hide })) });
    runs.writeAddress();
    told();
  }

  Object.assign(clientside.runs, {
    chooseColumns(names) {
      if (!state.api || state.box !== find("runs-grid-box")) return noUpdate();
      const before = optional();
      const added = names.filter((name) => !before.includes(name));
      const removed = before.filter((name) => !names.includes(name));
      if (!added.length && !removed.length) return noUpdate();
      state.api.setColumnsVisible(added, true);
      state.api.setColumnsVisible(removed, false);
      chosen();
      return noUpdate();
    },
    resetColumns(clicks) {
      if (!clicks || !state.api) return noUpdate();
      keep({ columns: undefined });
      state.columns = null;
      state.api.resetColumnState();
      runs.restoreColumns();
      return noUpdate();
    },
  });
})();
