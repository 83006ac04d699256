// What-if: while a control moves, the server is asked as often as it can answer, and once more, for steadier intervals,
// when it rests. One question is under way at a time; of what was moved meanwhile only the newest counts.
(function () {
  "use strict";

  const { clientside, count, find, noUpdate, setProps } = window.bapo;

  const PAUSE_MS = 60; // Of a drag, which tells every pixel.
  const REST_MS = 500;
  const PATIENCE_MS = 30000; // An answer that never came blocks nothing.
  const QUICK_DRAWS = 4;
  const DRAWS = 20;

  let values = null;
  let number = 0;
  let underWay = null; // { number, since }
  let isWaiting = false;
  let timer = null;

  const isOpen = () => find("what-if-controls") !== null;
  // Method → the kinds of controls that it has.
  const kindsOfMethods = () => JSON.parse(find("what-if-controls")?.dataset.methods ?? "{}");

  function ask(draws) {
    clearTimeout(timer);
    if (!isOpen() || values === null) return;
    if (underWay && Date.now() - underWay.since < PATIENCE_MS) {
      isWaiting = true;
      return;
    }
    isWaiting = false;
    underWay = { number: ++number, since: Date.now() };
    setProps("what-if-asked", { data: { number, draws, values } });
  }

  function shown(field, value, groupSize) {
    if (field === "method.c1") return `${value}/${groupSize}`;
    if (field.startsWith("reuse.")) return value.map((k) => `${Math.round(k * 100) / 100}/${groupSize}`).join(" to ");
    return count(Number(value));
  }

  clientside.whatIf = {
    moved(all, ids, shownIds, groupSize) {
      values = Object.fromEntries(ids.map((id, place) => [id.field, all[place]]));
      clearTimeout(timer);
      const isFirst = find("what-if-totals")?.querySelector(".loading"); // No control has been moved yet.
      timer = setTimeout(() => ask(QUICK_DRAWS), isFirst ? 0 : PAUSE_MS);
      const method = values["method.type"];
      const kinds = ["all", ...(kindsOfMethods()[method] ?? [])];
      const filter = values["method.filter.type"];
      const classes = ["panel-card", "what-if-controls", ...kinds.map((kind) => `has-${kind}`), `filter-${filter}`];
      return [
        noUpdate(),
        classes.join(" "),
        shownIds.map((id) => shown(id.field, values[id.field], groupSize)),
      ];
    },

    answered(answer) {
      if (!answer) return noUpdate();
      if (underWay && answer.number === underWay.number) underWay = null;
      if (answer.set !== undefined && !isWaiting) window.bapoView.write({ set: answer.set || null });
      if (isWaiting) ask(QUICK_DRAWS);
      else if (answer.num_draws > 1 && answer.draws < DRAWS) {
        clearTimeout(timer);
        timer = setTimeout(() => ask(DRAWS), REST_MS);
      }
      return noUpdate();
    },

    reset(clicks, start, ids) {
      return ids.map((id) => (clicks ? start[id.field] : noUpdate()));
    },
  };
})();
