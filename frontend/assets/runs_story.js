// The story above the run list: which group of runs it describes, whether it is hidden, and when it is reloaded.
// It is asked for once the first rows are there, and takes its place together with them, so that nothing moves later.
(function () {
  "use strict";

  const runs = window.bapoRuns;
  const { state } = runs;
  const { find, setProps, stored } = window.bapo;

  const FEW_RUNS = 20; // As many runs as a list has that is about one group and little else.
  const FOLLOW_MS = 5000;
  const kept = stored("bapo-stories-hidden");
  const MOST_HIDDEN = 100;

  let box = null; // Of the visit that `group` belongs to.
  let group = null;
  let askedAt = 0;
  let timer = null;

  function hidden() {
    try {
      return JSON.parse(kept.read()) || [];
    } catch {
      return []; // It holds what another version wrote.
    }
  }

  function hide(name, isHidden) {
    const others = hidden().filter((each) => each !== name);
    kept.write(JSON.stringify(isHidden ? [...others, name].slice(-MOST_HIDDEN) : others));
  }

  // The one group that the list is filtered to; without filters, the only one of a short list.
  function groupAtHand(rows, total) {
    if (state.filters.group?.length === 1) return total ? state.filters.group[0] : null;
    if (Object.keys(state.filters).length || total > FEW_RUNS) return null;
    const groups = new Set(rows.map((row) => row.group).filter(Boolean));
    return groups.size === 1 ? [...groups][0] : null;
  }

  // Called with all rows of a short list, and with the first ones of any other.
  runs.showStory = (rows, total) => {
    const found = groupAtHand(rows, total);
    if (found === group && box === find("runs-story")) return;
    group = found;
    box = find("runs-story");
    place(group !== null && hidden().includes(group));
  };

  function place(isHidden) {
    clearTimeout(timer);
    timer = null;
    const isShown = group !== null && !isHidden;
    setProps("runs-story-show", { hidden: group === null || isShown });
    setProps("runs-story", { hidden: !isShown, children: null });
    if (isShown) ask();
  }

  function ask() {
    askedAt = Date.now();
    setProps("runs-story-asked", { data: { group, at: askedAt } });
  }

  // Something happened to a run.
  runs.followStory = () => {
    if (timer !== null || !find("runs-story")?.querySelector("[data-moving=true]")) return;
    const visit = box;
    timer = setTimeout(() => {
      timer = null;
      if (visit === find("runs-story") && !visit.hidden && !document.hidden) ask();
    }, Math.max(0, askedAt + FOLLOW_MS - Date.now()));
  };

  document.addEventListener("click", (event) => {
    const isHide = event.target.closest?.("[data-story=hide]");
    if (!isHide && !event.target.closest?.("#runs-story-show")) return;
    hide(group, Boolean(isHide));
    place(Boolean(isHide));
    // The button that was pressed is gone.
    requestAnimationFrame(() => find(isHide ? "runs-story-show" : "runs-story")?.focus());
  });
})();
