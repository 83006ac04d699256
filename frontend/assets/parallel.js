// Runs as lines over parallel axes: a range dragged on an axis, or chosen under "Ranges", keeps the
// runs within, also in the table; a point opens its run.
(function () {
  "use strict";

  const { count, find, make, plural, setProps } = window.bapo;

  const FAINT = 0.06;
  const PLAIN = 0.85;
  const EDGE = 0.01; // So that a stretch of a single value is seen.

  // Which lines lie within all stretches; `brushes` is by axis.
  const within = (heights, brushes) => Object.entries(brushes).every(([axis, [low, high]]) => {
    const height = heights[axis];
    return height >= low && height <= high;
  });

  // The values of an axis from the lowest to the highest, each text once, with the heights that it covers.
  function choices(lines, axis) {
    const found = new Map();
    for (const { heights, texts } of lines) {
      const { low, high } = found.get(texts[axis]) ?? { low: Infinity, high: -Infinity };
      found.set(texts[axis], { text: texts[axis], low: Math.min(low, heights[axis]), high: Math.max(high, heights[axis]) });
    }
    return [...found.values()].toSorted((one, other) => one.low - other.low);
  }

  // The first and the last value of a stretch; null where it has none.
  function endsOf(values, [low, high]) {
    const [first, last] = [values.findIndex((each) => each.high >= low), values.findLastIndex((each) => each.low <= high)];
    return first < 0 || last < first ? null : [first, last];
  }

  // A stretch of the values from one to another; null for all of them.
  const stretch = (values, first, last) => (first === 0 && last === values.length - 1 ? null : [values[first].low, values[last].high]);

  // ---------------------------------------------------------------- ranges, for the keyboard and for screen readers

  const cardOf = (name) => find(name).closest(".parallel-card");

  function select(values, label) {
    const element = make("select", "parallel-end", ...values.map(({ text }) => make("option", "", text)));
    element.setAttribute("aria-label", label);
    return element;
  }

  function fillRanges(name, plot) {
    const lines = plot.data.map(({ y, customdata }) => ({ heights: [...y], texts: customdata }));
    plot.bapoRanges = plot.layout.meta.map((title, axis) => {
      const values = choices(lines, axis);
      const ends = [select(values, `${title}, from`), select(values, `${title}, to`)];
      ends.forEach((end, index) => end.addEventListener("change", () => {
        // The other end follows where it would be on the wrong side, or nowhere.
        const chosen = end.selectedIndex;
        const other = ends[1 - index].selectedIndex < 0 ? chosen : ends[1 - index].selectedIndex;
        const [first, last] = index === 0 ? [chosen, Math.max(chosen, other)] : [Math.min(chosen, other), chosen];
        brush(name, plot, axis, stretch(values, first, last));
      }));
      return { values, ends };
    });
    const rows = plot.layout.meta.map((title, axis) => {
      const [from, to] = plot.bapoRanges[axis].ends;
      return make("div", "parallel-range", make("span", "", title), from, "to", to);
    });
    cardOf(name).querySelector(".parallel-ranges")?.replaceChildren(...rows);
    showRanges(plot);
  }

  function showRanges(plot) {
    plot.bapoRanges?.forEach(({ values, ends }, axis) => {
      const shown = plot.bapoBrushes[axis] ? endsOf(values, plot.bapoBrushes[axis]) : [0, values.length - 1];
      ends.forEach((end, index) => { end.selectedIndex = shown ? shown[index] : -1; });
    });
  }

  // ---------------------------------------------------------------- the lines

  function draw(name, plot) {
    const brushes = plot.bapoBrushes;
    const kept = plot.data.map((trace) => within([...trace.y], brushes));
    const shapes = plot.bapoShapes.concat(Object.entries(brushes).map(([axis, [low, high]]) => ({
      type: "rect", x0: Number(axis) - 0.05, x1: Number(axis) + 0.05, y0: low - EDGE, y1: high + EDGE, layer: "above",
      line: { width: 1, color: "rgb(128, 128, 128)" }, fillcolor: "rgba(128, 128, 128, 0.25)",
    })));
    window.Plotly.update(
      plot,
      { opacity: kept.map((is) => (is ? PLAIN : FAINT)), selectedpoints: kept.map(() => null) },
      { shapes, selections: [] },
    );
    tell(name, plot, kept);
  }

  function tell(name, plot, kept) {
    const isBrushed = Object.keys(plot.bapoBrushes).length > 0;
    const card = cardOf(name);
    const number = kept.filter(Boolean).length;
    card.querySelector(".parallel-count").textContent = isBrushed ? `${count(number)} of ${plural(kept.length, "run")} ` : "";
    card.querySelector(".parallel-clear").hidden = !isBrushed;
    const left = new Set(plot.data.filter((_, index) => !kept[index]).map(({ meta }) => meta));
    for (const row of card.querySelectorAll("tr[data-run]")) row.hidden = left.has(row.dataset.run);
    showRanges(plot);
  }

  function brush(name, plot, axis, range) {
    const { [axis]: _, ...others } = plot.bapoBrushes;
    plot.bapoBrushes = range ? { ...others, [axis]: range } : others;
    draw(name, plot);
  }

  function selected(name, plot, event) {
    const range = event?.range;
    if (!range) return;
    const [left, right] = [Math.min(...range.x), Math.max(...range.x)];
    const [low, high] = [Math.min(...range.y), Math.max(...range.y)];
    const axes = plot.data[0].x.length;
    const axis = Math.max(0, Math.min(axes - 1, Math.round((left + right) / 2)));
    brush(name, plot, axis, [low, high]);
  }

  function clear(name, plot) {
    plot.bapoBrushes = {};
    draw(name, plot);
  }

  function listen(name, plot) {
    plot.bapoBrushes = {};
    plot.bapoShapes = [...(plot.layout.shapes || [])];
    plot.bapoRanges = null;
    tell(name, plot, plot.data.map(() => true));
    if (cardOf(name).querySelector("[open] > .parallel-ranges")) fillRanges(name, plot);
    // A graph loses its listeners when it is plotted again.
    if (plot.bapoHeard === plot._ev) return;
    plot.bapoHeard = plot._ev;
    plot.on("plotly_selected", (event) => selected(name, plot, event));
    plot.on("plotly_deselect", () => clear(name, plot));
    plot.on("plotly_click", (event) => {
      const run = event.points[0]?.data.meta;
      if (run) setProps("url", { pathname: `/runs/${run}`, search: "" });
    });
  }

  window.bapoParallel = { within, choices, endsOf, stretch };

  const plotBeside = (element) => element.closest(".parallel-card").querySelector(".js-plotly-plot");

  // Created when it is opened: there may be hundreds of values.
  document.addEventListener("toggle", ({ target }) => {
    const plot = target.open && target.querySelector(".parallel-ranges") && plotBeside(target);
    if (plot?.data) fillRanges(plot.parentElement.id, plot);
  }, true);

  document.addEventListener("click", ({ target }) => {
    if (!target.closest?.(".parallel-clear")) return;
    const plot = plotBeside(target);
    clear(plot.parentElement.id, plot);
  });

  document.addEventListener("bapo:plotted", ({ target }) => {
    if (target.closest(".parallel-card")) listen(target.parentElement.id, target);
  });
})();
