// What the frame, the run list and the charts' menus do in the browser.
(function () {
  "use strict";

  window.dash_clientside = window.dash_clientside || {};
  const clientside = window.dash_clientside;
  const noUpdate = () => clientside.no_update;

  // ---------------------------------------------------------------- frame

  clientside.shell = {
    scheme(clicks) {
      const root = document.documentElement;
      let scheme = root.getAttribute("data-mantine-color-scheme") === "dark" ? "dark" : "light";
      if (clicks) {
        scheme = scheme === "dark" ? "light" : "dark";
        try {
          localStorage.setItem("mantine-color-scheme-value", scheme); // Mantine reads it at the next start.
        } catch (error) {
          // Not remembered where storage is forbidden.
        }
      }
      return [scheme, scheme];
    },

    navbar(opened, navbar) {
      return { ...navbar, collapsed: { mobile: !opened } };
    },

    closeNavigation() {
      scrollTo(0, 0);
      return false;
    },

    logout(clicks) {
      if (!clicks) return noUpdate();
      fetch("/logout", { method: "POST", redirect: "manual" }).then(() => location.assign("/login"));
      return true;
    },

    search(submits, text) {
      if (!submits) return noUpdate();
      return text ? `/runs?search=${encodeURIComponent(text)}` : "/runs";
    },
  };

  document.addEventListener("keydown", (event) => {
    const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName) || event.target.isContentEditable;
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey) {
      const field = document.getElementById("search");
      if (field && field.offsetParent !== null) {
        event.preventDefault();
        field.focus();
        field.select();
      }
    }
  });

  // ---------------------------------------------------------------- run list

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

  // ---------------------------------------------------------------- run page

  clientside.run = {
    address(tab, axis, search) {
      if (!onRunPage()) return [noUpdate(), noUpdate()];
      const given = new URLSearchParams(search || "");
      const wanted = new URLSearchParams();
      if (tab !== "overview") wanted.set("tab", tab);
      if (axis !== "step") wanted.set("x", axis);
      if (given.get("chart") && (given.get("tab") || "overview") === tab) wanted.set("chart", given.get("chart"));
      const text = wanted.toString() ? `?${wanted}` : "";
      return [text === (search || "") ? noUpdate() : text, axisStyle(tab)];
    },
    // Back and forward in the browser's history.
    followAddress(search) {
      if (onRunPage() && document.getElementById("run-tabs")) {
        const tab = new URLSearchParams(search || "").get("tab") || "overview";
        clientside.set_props("run-tabs", { value: tab });
      }
      return "";
    },
  };

  // The address changes before the page does.
  const onRunPage = () => /^\/runs\/[^/]+$/.test(location.pathname);

  function axisStyle(tab) {
    return ["overview", "batch", "difficulty"].includes(tab) ? {} : { visibility: "hidden" };
  }

  // ---------------------------------------------------------------- form

  const PAUSE_MS = 300;
  let typing = null;
  let typed = 0;

  clientside.form = {
    pause() {
      clearTimeout(typing);
      typing = setTimeout(() => {
        if (document.getElementById("new-submit")) clientside.set_props("new-typed", { data: ++typed });
      }, PAUSE_MS);
      return noUpdate();
    },
  };

  // ---------------------------------------------------------------- chart menus

  clientside.charts = {
    menu() {
      const trigger = clientside.callback_context.triggered_id;
      const clicked = clientside.callback_context.triggered.some((each) => each.value);
      if (trigger && clicked) act(trigger.name, trigger.action);
      return noUpdate();
    },
  };

  function act(name, action) {
    const card = document.querySelector(`[data-chart="${name}"]`);
    const graph = card && card.querySelector(".js-plotly-plot");
    if (!graph) return;
    const file = `${document.querySelector(".run-name")?.textContent || "run"}-${name}`
      .toLowerCase().replace(/[^a-z0-9]+/g, "-").slice(0, 80);
    if (action === "fullscreen") {
      card.requestFullscreen();
    } else if (action === "log") {
      const type = graph._fullLayout.yaxis.type === "log" ? "linear" : "log";
      window.Plotly.relayout(graph, { "yaxis.type": type, "yaxis.autorange": true });
    } else if (action === "svg") {
      window.Plotly.downloadImage(graph, { format: "svg", filename: file, width: 1200, height: 600 });
    } else if (action === "csv") {
      save(`${file}.csv`, csv(graph));
    } else if (action === "link") {
      const address = new URL(location.href);
      address.searchParams.set("chart", name);
      navigator.clipboard.writeText(address.toString());
    }
  }

  function csv(graph) {
    const traces = graph.data.filter((trace) => trace.x && trace.y && trace.hoverinfo !== "skip");
    const quote = (value) => (/[",\n]/.test(String(value)) ? `"${String(value).replaceAll('"', '""')}"` : value ?? "");
    const rows = new Map();
    traces.forEach((trace, column) => {
      [...trace.x].forEach((x, index) => {
        if (!rows.has(x)) rows.set(x, new Array(traces.length).fill(""));
        rows.get(x)[column] = trace.y[index];
      });
    });
    const title = graph.layout.xaxis?.title?.text || "x";
    const head = [title, ...traces.map((trace) => trace.name || "value")].map(quote).join(",");
    return [head, ...[...rows].map(([x, values]) => [x, ...values].map(quote).join(","))].join("\n") + "\n";
  }

  function save(name, text) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  document.addEventListener("fullscreenchange", () => {
    for (const graph of document.querySelectorAll(".chart-card .js-plotly-plot")) window.Plotly.Plots.resize(graph);
  });

  // ---------------------------------------------------------------- cells of the run list

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
