// Runs as lines over parallel axes: a stretch of an axis that somebody drags over keeps the runs within, a point opens
// its run.
(function () {
  "use strict";

  const { count, find, plural, setProps } = window.bapo;

  const FAINT = 0.06;
  const PLAIN = 0.85;

  // Which lines lie within all stretches; `brushes` is by axis.
  const within = (heights, brushes) => Object.entries(brushes).every(([axis, [low, high]]) => {
    const height = heights[axis];
    return height >= low && height <= high;
  });

  function draw(name, plot) {
    const brushes = plot.bapoBrushes;
    const kept = plot.data.map((trace) => within([...trace.y], brushes));
    const shapes = plot.bapoShapes.concat(Object.entries(brushes).map(([axis, [low, high]]) => ({
      type: "rect", x0: Number(axis) - 0.05, x1: Number(axis) + 0.05, y0: low, y1: high, layer: "above",
      line: { width: 1, color: "rgb(128, 128, 128)" }, fillcolor: "rgba(128, 128, 128, 0.25)",
    })));
    const isBrushed = Object.keys(brushes).length > 0;
    window.Plotly.update(
      plot,
      { opacity: kept.map((is) => (is ? PLAIN : FAINT)), selectedpoints: kept.map(() => null) },
      { shapes, selections: [] },
    );
    const card = find(name).closest(".parallel-card");
    const number = kept.filter(Boolean).length;
    card.querySelector(".parallel-count").textContent = isBrushed ? `${count(number)} of ${plural(kept.length, "run")} ` : "";
    card.querySelector(".parallel-clear").hidden = !isBrushed;
  }

  function selected(name, plot, event) {
    const range = event?.range;
    if (!range) return;
    const [left, right] = [Math.min(...range.x), Math.max(...range.x)];
    const [low, high] = [Math.min(...range.y), Math.max(...range.y)];
    const axes = plot.data[0].x.length;
    const axis = Math.max(0, Math.min(axes - 1, Math.round((left + right) / 2)));
    plot.bapoBrushes = { ...plot.bapoBrushes, [axis]: [low, high] };
    draw(name, plot);
  }

  function clear(name, plot) {
    plot.bapoBrushes = {};
    draw(name, plot);
  }

  function listen(name, plot) {
    plot.bapoBrushes = {};
    plot.bapoShapes = [...(plot.layout.shapes || [])];
    if (plot.bapoHeard) return;
    plot.bapoHeard = true;
    plot.on("plotly_selected", (event) => selected(name, plot, event));
    plot.on("plotly_deselect", () => clear(name, plot));
    plot.on("plotly_click", (event) => {
      const run = event.points[0]?.data.meta;
      if (run) setProps("url", { pathname: `/runs/${run}`, search: "" });
    });
    find(name).closest(".parallel-card").querySelector(".parallel-clear").addEventListener("click", () => clear(name, plot));
  }

  window.bapoParallel = { within };

  document.addEventListener("bapo:plotted", ({ target }) => {
    if (target.closest(".parallel-card")) listen(target.parentElement.id, target);
  });
})();
