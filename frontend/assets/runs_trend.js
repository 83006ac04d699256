// The line in each row of the run list: its training reward over the steps. Rows do not wait for it: it is asked for when
// a row is drawn, for many rows in one request, and again when a run has come a good deal further.
(function () {
  "use strict";

  const { React } = window;
  const { ask } = window.bapo;
  const cells = (window.dashAgGridComponentFunctions = window.dashAgGridComponentFunctions || {});

  const KEY = "critic/rewards/mean";
  const POINTS = 40;
  const MOST_RUNS = 50; // In one request.
  const GATHERED_MS = 50; // Rows that are drawn within this time are asked for together.
  const WIDTH = 88, HEIGHT = 22, MARGIN = 2;

  const lines = new Map(); // Run → how far it was when it was asked for, and the promise of its values.
  let gathering = null;

  async function fetchValues(runs) {
    const query = new URLSearchParams(runs.map((run) => ["run", run]));
    query.set("keys", KEY);
    query.set("max_points", POINTS);
    const { series } = await ask(`/api/v1/metrics?${query}`);
    return series;
  }

  function gathered() {
    if (gathering && gathering.runs.length < MOST_RUNS) return gathering;
    const own = { runs: [] };
    own.answer = new Promise((resolve) => {
      setTimeout(() => {
        if (gathering === own) gathering = null;
        // A row without its line says no less than before; the next one that is drawn asks again.
        resolve(fetchValues(own.runs).catch(() => own.runs.forEach((run) => lines.delete(run)) ?? {}));
      }, GATHERED_MS);
    });
    gathering = own;
    return own;
  }

  function valuesOf(run, progress) {
    const known = lines.get(run);
    if (known?.progress === progress) return known.values;
    const request = gathered();
    request.runs.push(run);
    const values = request.answer.then((series) => (series[run]?.columns[KEY] ?? []).filter((value) => value !== null));
    lines.set(run, { progress, values });
    return values;
  }

  // Corners of the line, from the left edge to the right; its least value lies at the bottom and its greatest on top.
  function corners(values) {
    const low = Math.min(...values), span = Math.max(...values) - low;
    return values.map((value, index) => [
      MARGIN + ((WIDTH - 2 * MARGIN) * index) / (values.length - 1),
      MARGIN + (HEIGHT - 2 * MARGIN) * (span ? 1 - (value - low) / span : 0.5),
    ].map((place) => place.toFixed(1)).join(",")).join(" ");
  }

  const percent = (value) => `${(100 * value).toFixed(1)} %`;

  function TrendCell({ data, value: progress }) {
    const run = progress ? data?.id : null;
    const [found, setFound] = React.useState({});
    React.useEffect(() => {
      let isShown = true;
      if (run) valuesOf(run, progress).then((values) => isShown && setFound({ run, values }));
      return () => { isShown = false; };
    }, [run, progress]);
    const values = found.run === run ? found.values : []; // A cell may be given another row.
    if (!run || values.length < 2) return null;
    const summary = `Reward from ${percent(values[0])} to ${percent(values.at(-1))}`;
    return React.createElement("svg",
      { className: "cell-trend", role: "img", "aria-label": summary, viewBox: `0 0 ${WIDTH} ${HEIGHT}`, width: WIDTH, height: HEIGHT },
      React.createElement("title", null, summary),
      React.createElement("polyline", { points: corners(values) }));
  }

  cells.TrendCell = TrendCell;
  window.bapoTrend = { corners, valuesOf };
})();
