// The run list: navigation, columns that fit, and how its cells are drawn.
(function () {
  "use strict";

  window.dash_clientside = window.dash_clientside || {};
  const clientside = window.dash_clientside;
  const noUpdate = () => clientside.no_update;

  clientside.runs = {
    open(cell) {
      if (!cell || cell.rowId === undefined || cell.colId === "name") return noUpdate();
      return `/runs/${cell.rowId}`;
    },
    exportCsv(clicks) {
      return Boolean(clicks);
    },
    settled() {
      window.bapoLive.answered();
      fitColumns();
      return "runs-shown";
    },
  };

  // Narrow windows show what matters most; the table itself never makes the page scroll sideways.
  const NEEDED_WIDTH = { owner: 1560, rollouts: 1460, duration: 1340, started: 940, method: 760, reward: 700, eval_latest: 560 };

  function fitColumns() {
    const grid = document.getElementById("runs-grid");
    if (!grid || !window.dash_ag_grid) return;
    const api = window.dash_ag_grid.getApi("runs-grid");
    if (!api) return;
    for (const [column, width] of Object.entries(NEEDED_WIDTH)) {
      const wanted = innerWidth >= width;
      if (api.getColumn(column)?.isVisible() !== wanted) api.setColumnsVisible([column], wanted);
    }
  }
  addEventListener("resize", fitColumns);

  const cells = (window.dashAgGridComponentFunctions = window.dashAgGridComponentFunctions || {});
  const create = (...parts) => window.React.createElement(...parts);

  cells.StatusCell = ({ data }) =>
    data
      ? create("span", { className: `cell-status status-${data.status}`, title: data.status_reason },
          create("span", { className: "status-dot" + (/^(running|starting|pausing|stopping)$/.test(data.status) ? " moving" : "") }),
          data.status)
      : null;

  cells.NameCell = ({ data }) =>
    data
      ? create("a", {
          className: "cell-name", href: `/runs/${data.id}`, title: data.name,
          onClick: (event) => {
            if (event.ctrlKey || event.metaKey || event.shiftKey) return;
            event.preventDefault();
            clientside.set_props("url", { pathname: `/runs/${data.id}`, search: "" });
          },
        }, data.name)
      : null;

  cells.ProgressCell = ({ data }) =>
    data
      ? create("span", { className: "cell-progress" },
          create("span", { className: "cell-progress-text" }, data.progress_text),
          create("span", { className: "cell-progress-track" },
            create("span", { className: `cell-progress-bar status-${data.status}`, style: { width: `${100 * data.progress}%` } })))
      : null;

  cells.EvaluationCell = ({ data }) =>
    data
      ? create("span", { className: "cell-evaluation", title: data.eval_name },
          create("span", null, data.eval_text),
          create("span", { className: `cell-change ${data.eval_change > 0.0005 ? "good" : data.eval_change < -0.0005 ? "bad" : ""}` },
            data.eval_change_text))
      : null;

  cells.TimeCell = ({ data }) => (data ? create("span", { title: data.started_exact }, data.started_text) : null);
})();
