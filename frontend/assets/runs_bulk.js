// What is done to the runs that are chosen in the list: who can take part, a word before what is final, and what became
// of each.
(function () {
  "use strict";

  const runs = window.bapoRuns;
  const { state } = runs;
  const { clientside, count, noUpdate, plural, same, setChanged, setProps } = window.bapo;

  const MOST = 500;
  const MOST_COMPARED = 50;
  const MOST_MATCHING = 10_000;
  const NAMED = 5;
  const ENDED = ["succeeded", "failed", "cancelled"];
  const among = (...states) => (run) => states.includes(run.status);

  // The server decides; these only keep what cannot be done out of sight.
  const POSSIBLE = {
    star: (run) => !run.is_starred,
    unstar: (run) => run.is_starred,
    tag: () => true,
    untag: () => true,
    archive: (run) => !run.is_archived && among("draft", "paused", ...ENDED)(run),
    unarchive: (run) => run.is_archived,
    pause: among("starting", "running"),
    resume: among("paused"),
    stop: among("queued", "starting", "running", "pausing", "paused", "lost"),
    delete: among("draft", ...ENDED),
    restore: (run) => run.is_trashed,
    purge: (run) => run.is_trashed,
  };
  // What is in the trash can only be taken out of it, or deleted for good.
  const OF_TRASH = new Set(["restore", "purge"]);
  const isPossible = (action, run) => Boolean(run.is_trashed) === OF_TRASH.has(action) && POSSIBLE[action](run);
  const DONE = {
    star: "Starred", unstar: "Unstarred", tag: "Tag added to", untag: "Tag removed from", archive: "Archived",
    unarchive: "Unarchived", pause: "Pausing", resume: "Queued again", stop: "Stopping", delete: "Deleted",
    restore: "Restored", purge: "Deleted",
  };
  // Whether a run leaves the list, as it is filtered, once this was done to it.
  const byStatus = ({ status }) => Boolean(status);
  const LEAVES = {
    star: () => false,
    unstar: ({ starred }) => Boolean(starred),
    tag: () => false,
    untag: ({ tag }, removed) => Boolean(tag?.includes(removed)),
    archive: ({ archived }) => !archived,
    unarchive: ({ archived }) => archived === "only",
    pause: byStatus, resume: byStatus, stop: byStatus,
    delete: () => true, restore: () => true, purge: () => true,
  };
  const VERBS = {
    star: "Star", unstar: "Unstar", tag: "Tag", untag: "Untag", archive: "Archive", unarchive: "Unarchive", pause: "Pause",
    resume: "Resume", stop: "Stop", delete: "Delete", restore: "Restore", purge: "Delete",
  };
  const FINAL = {
    stop: {
      verb: "Stop",
      text: "Training ends at the next step boundary, after a checkpoint; waiting runs are cancelled immediately. The runs " +
        "are cancelled for good: to continue them later, pause them instead.",
    },
    // What the server says would go. Where there is a trash, nothing goes before it is emptied.
    delete: { verb: "Delete", text: "" },
    purge: { verb: "Delete", text: "" },
  };

  let matching = null; // All that match the filters are chosen: the filters, and the number of runs then.
  const chosen = new Map(); // Identifier → what was last known of the run: rows out of sight are forgotten by the table.

  runs.selectionChanged = () => {
    matching = null;
    const nodes = state.api.getSelectedNodes();
    const ids = new Set(nodes.map((node) => node.id));
    for (const id of chosen.keys()) if (!ids.has(id)) chosen.delete(id);
    for (const node of nodes) if (node.data) chosen.set(node.id, node.data);
    draw();
  };

  // What can be done to the chosen ones follows them.
  runs.rowsChanged = () => { if (chosen.size) draw(); };

  function draw() {
    for (const id of chosen.keys()) {
      const node = runs.row(id);
      if (node?.data) chosen.set(id, node.data);
    }
    const all = [...chosen.values()];
    if (matching && (matching.expected !== state.total || !same(matching.filters, state.filters))) matching = null;
    const canBeMore = !matching && all.length && state.total > all.length && state.total <= MOST_MATCHING;
    setChanged("runs-bulk", { hidden: !all.length });
    setChanged("runs-chosen", { children: matching ? `All ${count(matching.expected)} that match selected` : `${count(all.length)} selected` });
    setChanged("runs-all", { children: `Select all ${count(state.total ?? 0)} that match`, style: canBeMore ? {} : { display: "none" } });
    setChanged("runs-study", { disabled: matching || all.some((run) => run.is_trashed) || all.length > MOST_COMPARED });
    setChanged("runs-compare", { disabled: matching || all.some((run) => run.is_trashed) || all.length < 2 || all.length > MOST_COMPARED });
    for (const action of Object.keys(POSSIBLE)) {
      if (action === "tag" || action === "untag") continue;
      const isShown = matching ? OF_TRASH.has(action) === runs.inTrash() : all.some((run) => isPossible(action, run));
      setChanged({ type: "runs-bulk", action }, { style: isShown ? {} : { display: "none" } });
    }
    runs.fitHeight();
  }

  function unselect() {
    state.api?.deselectAll();
    chosen.clear();
    matching = null;
    draw();
  }

  // Further actions are for rows that can be seen.
  function unselectThose(ids) {
    const gone = new Set(ids);
    for (const node of state.api.getSelectedNodes()) if (gone.has(node.id)) node.setSelected(false);
  }

  async function perform(action, ids, tag) {
    const names = new Map([...chosen].map(([id, run]) => [id, run.name]));
    const which = ids ? { run_ids: ids } : { matching };
    const answer = await runs.send("POST", "/runs/bulk", { ...which, action, ...(tag ? { tag } : {}) });
    if (answer === null) return;
    if (!ids) unselect();
    const refused = answer.results.filter((result) => !result.done);
    if (action === "delete" && state.trashDays && answer.num_done) runs.offerUndo(answer.results.filter((result) => result.done).map((result) => result.run_id));
    else if (answer.num_done) runs.tell(`${DONE[action]} ${plural(answer.num_done, "run")}`, tag ? `Tag: ${tag}` : "", "green");
    if (refused.length) {
      const reasons = refused.slice(0, NAMED).map(({ run_id: id, reason }) => `“${short(names.get(id) || id)}”: ${reason}`);
      if (refused.length > NAMED) reasons.push(`and ${refused.length - NAMED} more`);
      runs.tell(`${plural(refused.length, "run")} refused`, reasons.join("; "));
    }
    const done = answer.results.filter((result) => result.done).map((result) => result.run_id);
    if (LEAVES[action](state.filters, tag)) unselectThose(done);
    if (tag) renewTags();
    await runs.refresh();
    draw();
  }

  async function renewTags() {
    const facets = await runs.send("GET", "/runs/facets");
    if (!facets) return;
    setProps("runs-tag", { data: facets.tags.map(({ name }) => name), value: "" });
    setProps("runs-filter-tag", { data: facets.tags.map((tag) => ({ value: tag.name, label: `${tag.name} (${tag.count})` })) });
  }

  const short = (name) => (name.length > 60 ? `${name.slice(0, 59)}…` : name);

  // As bapo/figures/formatting.py writes it.
  function size(bytes) {
    const [divisor, unit, digits] = [
      [999.5, 1, "B", 0], [999.5e3, 1e3, "kB", 0], [99.95e6, 1e6, "MB", 1], [999.5e6, 1e6, "MB", 0], [99.95e9, 1e9, "GB", 1],
    ].find(([limit]) => bytes < limit)?.slice(1) || [1e9, "GB", 0];
    return `${(bytes / divisor).toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits })}\u2009${unit}`;
  }

  // What would go, as the server counts it.
  function consequence({ items, num_bytes: bytes }) {
    const going = items.filter((item) => !item.refusal);
    const sum = (key) => going.reduce((total, item) => total + item[key], 0);
    const counts = [
      [sum("num_steps"), "step"], [sum("num_samples"), "group of responses", "groups of responses"],
      [sum("num_checkpoints"), "checkpoint"], [sum("num_artifacts"), "download"],
    ];
    const parts = counts.filter(([number]) => number).map((each) => plural(...each));
    const what = plural(going.length, "run") + (parts.length ? ` with ${parts.join(", ")}` : "");
    const total = bytes ? ` (${size(bytes)} in total)` : "";
    const sentences = [`${what}${total} ${going.length === 1 ? "is" : "are"} deleted for good and for everybody, with folders and journals.`];
    const refused = items.length - going.length;
    if (refused) sentences.push(`${plural(refused, "run stays", "runs stay")}: ${items.find((item) => item.refusal).refusal}.`);
    const deleted = new Set(going.map((item) => item.run_id));
    const left = new Set(going.flatMap((item) => item.children).filter((id) => !deleted.has(id)));
    if (left.size) sentences.push(`${plural(left.size, "run", "runs")} cloned or forked from them ${left.size === 1 ? "stays" : "stay"}.`);
    if (going.some((item) => item.waiting_forks.length)) {
      sentences.push("Folders whose checkpoint a fork still needs stay until it has started.");
    }
    return sentences.join(" ");
  }

  // Of all that match only their number is known: it is agreed to before anything is done to them.
  function askOfAll(action, tag) {
    const what = plural(matching.expected, "run");
    const verb = VERBS[action] ?? action;
    const isFinal = action === "purge" || (action === "delete" && !state.trashDays);
    const question = {
      title: `${verb} ${what}?`, subject: tag ? `Tag: ${tag}` : "All that match the filters, shown or not",
      text: `${isFinal ? "They are deleted for good, for everybody, with folders and journals. " : ""}Runs that do not allow it stay as they are.`,
      button: `${verb} ${what}`, colour: FINAL[action] ? "red" : "blue", data: { action, ids: null, tag },
    };
    if (isFinal) question.typed = String(matching.expected);
    setProps({ type: "confirm-question", name: "runs" }, { data: question });
  }

  async function ask(action, ids) {
    const { verb } = FINAL[action];
    let { text } = FINAL[action];
    if (action === "purge" || action === "delete") {
      const preview = await runs.send("POST", "/runs/deletion", { run_ids: ids });
      if (preview === null) return;
      text = consequence(preview);
    }
    const names = ids.map((id) => short(chosen.get(id)?.name || id));
    const listed = names.slice(0, NAMED).map((name) => `“${name}”`).join(", ") + (names.length > NAMED ? ` and ${names.length - NAMED} more` : "");
    const what = ids.length === 1 ? "this run" : `these ${ids.length} runs`;
    const question = { title: `${verb} ${what}?`, subject: listed, text, button: `${verb} ${what}`, data: { action, ids } };
    setProps({ type: "confirm-question", name: "runs" }, { data: question });
  }

  Object.assign(runs, { possible: POSSIBLE, isPossible, leaves: LEAVES, size, consequence });
  Object.assign(clientside.runs, {
    bulk(clicks, tag) {
      const trigger = clientside.callback_context.triggered_id;
      if (!trigger || !clicks.some(Boolean)) return noUpdate();
      const { action } = trigger;
      const name = (tag || "").trim();
      if ((action === "tag" || action === "untag") && !name) {
        runs.tell("No tag given", "Type a tag, or choose one from the list.");
        return noUpdate();
      }
      const given = action === "tag" || action === "untag" ? name : null;
      if (matching) {
        askOfAll(action, given);
        return noUpdate();
      }
      const ids = [...chosen.keys()].filter((id) => isPossible(action, chosen.get(id)));
      if (ids.length > MOST) runs.tell("Too many at once", `Select at most ${MOST} runs.`);
      else if (FINAL[action] && !(action === "delete" && state.trashDays)) ask(action, ids);
      else perform(action, ids, given);
      return noUpdate();
    },
    confirmed(clicks, question) {
      if (!clicks) return noUpdate();
      perform(question.data.action, question.data.ids, question.data.tag ?? null);
      return {};
    },
    selectAll(clicks) {
      if (clicks && state.total) {
        matching = { filters: state.filters, expected: state.total };
        draw();
      }
      return noUpdate();
    },
    unselect() {
      unselect();
      return noUpdate();
    },
    study(clicks) {
      if (clicks) setProps("url", { pathname: "/studies/new", search: `?runs=${[...chosen.keys()].join(",")}` });
      return noUpdate();
    },
    compare(clicks) {
      if (clicks) setProps("url", { pathname: "/compare", search: `?runs=${[...chosen.keys()].join(",")}` });
      return noUpdate();
    },
  });
})();
