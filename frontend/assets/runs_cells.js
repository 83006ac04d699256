// Renderers of the run list's cells. They draw text: user input never becomes markup.
(function () {
  "use strict";

  const cells = (window.dashAgGridComponentFunctions = window.dashAgGridComponentFunctions || {});
  const create = (...parts) => window.React.createElement(...parts);
  const { served } = window.bapo;
  const runs = window.bapoRuns;
  const MOVING = /^(running|starting|pausing|stopping)$/;

  // Rows that are not there yet have no data.
  const cell = (draw) => (props) => (props.data ? draw(props.data, props) : null);

  cells.StarCell = cell((run) =>
    create("button", {
      type: "button",
      className: `cell-star${run.is_starred ? " starred" : ""}`,
      "aria-label": `${run.is_starred ? "Unstar" : "Star"} ${run.name}`,
      "aria-pressed": run.is_starred,
      tabIndex: -1,
      onClick: () => runs.star(run.id, !run.is_starred),
    }, create("span", { className: `icon icon-star${run.is_starred ? "-filled" : ""}` })));

  cells.StatusCell = cell((run) =>
    create("span", { className: `cell-status status-${run.status}`, title: run.status_reason || run.status },
      create("span", { className: `status-dot${MOVING.test(run.status) ? " moving" : ""}` }),
      create("span", { className: "cell-status-word" }, run.status)));

  cells.NameCell = cell((run) =>
    create("span", { className: "cell-name-box" },
      run.is_trashed ? create("span", { className: "cell-name", title: run.name }, run.name) : create("a", {
        className: "cell-name", href: served(`/runs/${run.id}`), title: run.name,
        onClick: (event) => {
          if (event.ctrlKey || event.metaKey || event.shiftKey) return;
          event.preventDefault();
          runs.visit(run.id);
        },
      }, run.name),
      run.is_archived ? create("span", { className: "icon icon-archive cell-mark", title: "Archived" }) : null,
      run.notes_text ? create("span", { className: "icon icon-notes cell-mark", title: run.notes_text }) : null));

  cells.TagsCell = cell((run) =>
    create("span", { className: "cell-tags", title: run.tags_text },
      run.tags.map((tag) =>
        create("button", {
          key: tag, type: "button", className: "cell-tag", tabIndex: -1, title: `Only runs with the tag ${tag}`,
          onClick: () => runs.filterBy({ ...runs.state.filters, tag: [...new Set([...(runs.state.filters.tag || []), tag])] }),
        }, tag))));

  cells.ProgressCell = cell((run) =>
    create("span", { className: "cell-progress" },
      create("span", { className: "cell-progress-text" }, run.progress_text),
      create("span", { className: "cell-progress-track" },
        create("span", { className: `cell-progress-bar status-${run.status}`, style: { width: `${100 * run.progress}%` } }))));

  cells.EvaluationCell = cell((run) => {
    const trend = run.eval_change > 0.0005 ? "good" : run.eval_change < -0.0005 ? "bad" : "";
    return create("span", { className: "cell-evaluation", title: run.eval_name },
      create("span", null, run.eval_latest_text),
      create("span", { className: `cell-change ${trend}` }, run.eval_change_text));
  });

  cells.FindingsCell = cell((run, { value }) => !run.num_findings
    ? create("span", null, value)
    : create("a", {
      className: "cell-findings", "data-severity": run.gravest_finding, href: served(`/runs/${run.id}?tab=findings`),
      title: `${run.num_findings} finding${run.num_findings === 1 ? "" : "s"}; most severe: ${run.gravest_finding}`,
    }, run.num_findings));

  cells.NotesCell = cell((run) => create("span", { title: run.notes_text }, run.notes_text));

  // Its age; the exact time where it is pointed at (time.js).
  cells.TimeCell = cell((run, { value, column }) => create("time", { dateTime: run[column.getColId()] }, value));
})();
