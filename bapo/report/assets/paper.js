// Draws the figures of the paper view and of the HTML report, when they come into view, as wide as there is room.
//
//   bapoPaper.show({name: [figure, …]})   fills every [data-paper="name"]; again with other figures redraws them
//
// `layout.meta` of a figure with panels says how many there are: a narrow page puts them below one another.
(function () {
  "use strict";

  const { csv, save } = window.bapoFiles;

  const NEAR = "700px"; // Figures are drawn this far ahead of the reader.
  const GAP_HEIGHT = 78, GAP_WIDTH = 0.075; // As in bapo/figures/panels.py, all of it.
  const TITLE_HEIGHT = 30, HEAD_HEIGHT = 34, LEGEND_ROW = 20;
  const CONFIG = { displaylogo: false, displayModeBar: false, responsive: false, showSendToCloud: false };
  let figures = {};

  const columnsFor = (width, panels, most) => Math.min(panels, most, width < 560 ? 1 : width < 860 ? 2 : most);

  function legendRows(names, width) {
    const widths = names.map((name) => 52 + 6.4 * name.length);
    if (widths.reduce((sum, each) => sum + each, 0) <= width) return Math.min(1, widths.length);
    return Math.ceil(widths.length / Math.max(1, Math.floor(width / Math.max(...widths))));
  }

  // The layout for a width; the same arithmetic as in panels.py.
  function arranged(layout, width, data) {
    const { panels, columns: most, panel_height: height } = layout.meta || {};
    if (!panels) return { ...layout, width };
    const columns = Math.max(1, columnsFor(width, panels, most));
    const rows = Math.ceil(panels / columns);
    const area = rows * height + (rows - 1) * GAP_HEIGHT;
    const panelWidth = (1 - (columns - 1) * GAP_WIDTH) / columns;
    const names = data.filter((trace) => trace.showlegend !== false).map((trace) => trace.name || "");
    const head = HEAD_HEIGHT + LEGEND_ROW * legendRows(names, width - layout.margin.l - layout.margin.r);
    const changed = { ...layout, width, height: area + head + layout.margin.b };
    changed.margin = { ...layout.margin, t: head };
    changed.legend = { ...layout.legend, y: 1 + TITLE_HEIGHT / area };
    changed.annotations = (layout.annotations || []).map((each) => ({ ...each }));
    for (let index = 0; index < panels; index += 1) {
      const row = Math.floor(index / columns), column = index % columns, suffix = index ? index + 1 : "";
      const left = column * (panelWidth + GAP_WIDTH), top = 1 - (row * (height + GAP_HEIGHT)) / area;
      changed[`xaxis${suffix}`] = { ...layout[`xaxis${suffix}`], domain: [left, Math.min(1, left + panelWidth)] };
      changed[`yaxis${suffix}`] = { ...layout[`yaxis${suffix}`], domain: [Math.max(0, top - height / area), top] };
      const title = changed.annotations.find((each) => each.name === `panel ${index}`);
      if (title) Object.assign(title, { x: left, y: top });
    }
    return changed;
  }

  function draw(place) {
    const wanted = figures[place.dataset.paper];
    if (!wanted || !window.Plotly?.newPlot) return;
    while (place.children.length > wanted.length) {
      window.Plotly.purge(place.lastChild);
      place.lastChild.remove();
    }
    // All of them first: the columns, and so the widths, depend on how many there are.
    while (place.children.length < wanted.length) {
      place.appendChild(document.createElement("div")).className = "paper-graph";
    }
    wanted.forEach((figure, index) => {
      const graph = place.children[index];
      const width = Math.floor(graph.getBoundingClientRect().width);
      if (!width) return;
      graph.dataset.width = width;
      window.Plotly.react(graph, figure.data, arranged(figure.layout, width, figure.data), CONFIG);
    });
    place.classList.add("drawn");
  }

  const drawNow = new IntersectionObserver(
    (entries) => {
      for (const entry of entries) {
        if (!entry.isIntersecting) continue;
        drawNow.unobserve(entry.target);
        draw(entry.target);
      }
    },
    { rootMargin: NEAR }
  );

  const places = () => [...document.querySelectorAll("[data-paper]")];

  function show(given) {
    figures = given;
    for (const place of places()) {
      // Figures with panels need the whole width.
      const own = figures[place.dataset.paper] || [];
      place.classList.toggle("several", own.length > 1 && !(own[0].layout.meta || {}).panels);
      if (place.classList.contains("drawn")) draw(place);
      else drawNow.observe(place);
    }
  }

  let resizing = null;
  addEventListener("resize", () => {
    clearTimeout(resizing);
    resizing = setTimeout(() => {
      for (const place of places()) {
        const graph = place.classList.contains("drawn") && place.firstChild;
        if (graph && Math.floor(graph.getBoundingClientRect().width) !== Number(graph.dataset.width)) draw(place);
      }
    }, 150);
  });

  // What the panels of a figure show, as rows of a table.
  function tableOf(graph) {
    const rows = [["panel", "series", "x", "y"]];
    const titles = (graph.layout.annotations || []).map((each) => each.text);
    for (const trace of graph.data) {
      if (trace.hoverinfo === "skip") continue; // Bands repeat what the hover of their line holds.
      const panel = titles[Number((trace.xaxis || "x").slice(1) || 1) - 1] || "";
      if (trace.type === "heatmap") {
        trace.z.forEach((row, i) => row.forEach((z, j) => rows.push([trace.y[i], trace.x[j], "share", z])));
      } else {
        Array.from(trace.x || []).forEach((x, i) => rows.push([panel, trace.name, x, trace.y[i]]));
      }
    }
    return rows;
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest && event.target.closest("[data-paper-save]");
    if (!button) return;
    const place = document.querySelector(`[data-paper="${button.dataset.paperOf}"]`);
    if (!place) return;
    draw(place);
    [...place.children].forEach((graph, index) => {
      const name = place.dataset.paper + (place.children.length > 1 ? `-${index + 1}` : "");
      const kind = button.dataset.paperSave;
      if (kind === "csv") save(`${name}.csv`, csv(tableOf(graph)), "text/csv");
      else {
        const background = getComputedStyle(document.body).getPropertyValue("--bapo-card").trim() || "#fff";
        const { width, height } = graph._fullLayout;
        const layout = { ...graph.layout, paper_bgcolor: background };
        window.Plotly.downloadImage({ data: graph.data, layout }, { format: kind, filename: name, width, height });
      }
    });
  });

  window.bapoPaper = { show, arranged, tableOf };

  // In the dashboard.
  window.dash_clientside = window.dash_clientside || {};
  window.dash_clientside.paper = {
    show(given) {
      if (!given) return "";
      let left = 600;
      const wait = () => {
        if (places().length) show(given);
        else if ((left -= 1) > 0) setTimeout(wait, 50);
      };
      window.bapoPlotly().then(wait, () => {});
      return "";
    },

    choose(clicks, group, runs) {
      if (window.bapoView.read().get("group") !== group || clicks) {
        window.bapoView.write({ runs: (runs || []).join(","), group: group === "config" ? null : group }, { push: true });
      }
      return "";
    },
  };

  // In the report: the reader's own scheme, light on paper.
  if (document.documentElement.hasAttribute("data-paper-report")) {
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const paint = (scheme) => {
      document.documentElement.setAttribute("data-mantine-color-scheme", scheme);
      show(JSON.parse(document.getElementById(`paper-${scheme}`).textContent));
    };
    const follow = () => paint(dark.matches ? "dark" : "light");
    dark.addEventListener("change", follow);
    addEventListener("beforeprint", () => {
      paint("light");
      places().forEach(draw);
    });
    addEventListener("afterprint", follow);
    addEventListener("bapo:drawings", follow); // A page behind a link has other ones by now.
    follow();
  }
})();
