// The trash of the run list: a filter with its own columns and actions. Runs that were just moved there can be taken
// back at once.
(function () {
  "use strict";

  const runs = window.bapoRuns;
  const { state } = runs;
  const MOST_NAMED = 500; // In one request.
  const { button, find, icon, make, plural, served, setChanged: setProps } = window.bapo;

  runs.inTrash = () => state.filters.trash === "only";

  // The filter was set or taken away: other columns, and a word on what this is.
  runs.followTrash = () => {
    setProps("runs-trash-note", { hidden: !runs.inTrash() });
    find("runs-table")?.classList.toggle("in-trash", runs.inTrash());
    if (state.api && Boolean(state.ofTrash) !== runs.inTrash()) runs.restoreColumns();
  };

  // The page of a run that was deleted leads here, and says which it was.
  runs.tellTrashed = () => {
    const id = window.bapoView.read().get("trashed");
    if (!id) return;
    window.bapoView.write({ trashed: null });
    runs.offerUndo([id]);
  };

  function hide() {
    const bar = find("runs-undo");
    if (bar) bar.hidden = true;
    runs.fitHeight();
  }

  runs.offerUndo = (ids) => {
    const bar = find("runs-undo");
    if (!bar) return;
    const closing = button(icon("cross"), "icon-button", hide);
    closing.setAttribute("aria-label", "Close");
    const open = make("a", "", "Open the trash");
    open.href = served("/runs?trash=only");
    bar.replaceChildren(
      make("span", "", `${plural(ids.length, "run")} moved to the trash.`),
      button("Undo", "runs-undo-button", () => undo(ids)), open, closing,
    );
    bar.hidden = false;
    runs.fitHeight();
  };

  async function undo(ids) {
    const results = [];
    for (let begin = 0; begin < ids.length; begin += MOST_NAMED) {
      const answer = await runs.send("POST", "/runs/bulk", { run_ids: ids.slice(begin, begin + MOST_NAMED), action: "restore" });
      if (answer === null) return;
      results.push(...answer.results);
    }
    hide();
    const refused = results.filter((result) => !result.done);
    if (refused.length) runs.tell(`${plural(refused.length, "run")} not restored`, refused[0].reason);
    else runs.tell(`Restored ${plural(results.length, "run")}`, "", "green");
    runs.refresh();
  }
})();
