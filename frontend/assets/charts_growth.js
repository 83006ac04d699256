// New points at the end of a chart's lines.
(function () {
  "use strict";

  const charts = window.bapoCharts;

  // Plotly.extendTraces sets up the whole chart again: defaults, margins, legend, titles and all. Here only the lines, the
  // axes that follow them, and what lies upon them are drawn: it looks the same, in a fifth of the time. What this needs
  // of Plotly it does not promise: any chart that is otherwise than expected is drawn whole.
  charts.append = (graph, { x, y }, traces) => {
    const axes = followed(graph);
    const full = traces.map((index) => graph._fullData[index]);
    if (!axes.length || graph._fullData.length !== graph.data.length || !full.every((trace, place) => isLine(trace, graph.data[traces[place]]))) {
      return window.Plotly.extendTraces(graph, { x, y }, traces);
    }
    full.forEach((trace, place) => {
      trace.x.push(...x[place]);
      trace.y.push(...y[place]);
      trace._length = Math.min(trace.x.length, trace.y.length);
    });
    calculate(graph);
    graph.bapoGrows = true; // The axes move with the data, not because a person moved them.
    const drawn = window.Plotly.relayout(graph, Object.fromEntries(axes.map((name) => [`${name}.autorange`, true])));
    return drawn.finally(() => { graph.bapoGrows = false; });
  };

  // The axes that follow the data; none if that is unknown for one of them, or if one takes its ticks from another.
  function followed({ _fullLayout: layout }) {
    const names = Object.keys(layout).filter((key) => /^[xy]axis\d*$/.test(key));
    const isFixed = ({ autorange, tickmode }) => autorange === false && tickmode !== "sync";
    const follow = names.filter((name) => layout[name].autorange === true);
    return names.every((name) => follow.includes(name) || isFixed(layout[name])) ? follow : [];
  }

  function isLine(full, trace) {
    const isShared = (key) => Array.isArray(trace[key]) && full[key] === trace[key];
    return full.type === "scatter" && full._input === trace && isShared("x") && isShared("y") && Boolean(full._module?.calc);
  }

  // Where the points are, of lines that are shown.
  function calculate(graph) {
    const modules = new Set();
    graph._fullData.forEach((trace, index) => {
      if (trace.visible !== true) return;
      const points = trace._module.calc(graph, trace);
      points[0].t ??= {};
      points[0].trace = trace;
      graph.calcdata[index] = points;
      if (trace._module.crossTraceCalc) modules.add(trace._module);
    });
    // Of stacks, which lie upon one another.
    for (const module of modules) for (const plot of Object.values(graph._fullLayout._plots)) module.crossTraceCalc(graph, plot);
  }
})();
