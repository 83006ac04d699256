// A chart on a page (components/elements.py). What is in sight is drawn at once, the others one by one while the page rests,
// and what is folded up when it opens.
(function () {
  "use strict";

  const { inSight } = window.bapo;

  const CONFIG = {
    displaylogo: false,
    // The bar has only what works without any other site; the card's menu has the rest.
    displayModeBar: false,
    showSendToCloud: false,
    plotlyServerURL: "",
    doubleClick: "autosize",
    scrollZoom: false,
    showTips: false,
  };
  const TITLE = 22; // Pixels that the title of an axis takes.
  const DATES = 8; // Pixels that the second line of a time's labels lacks.

  // Plotly makes room for labels by drawing every chart twice, and measures each to see whether it has to be turned or
  // hidden. Names need it. Numbers nearly always fit, and where they do not, the margin grows (makeRoom).
  const hasNames = (figure) => figure.data.some(({ x, y }) => typeof x?.[0] === "string" || typeof y?.[0] === "string");

  function arranged(figure, left) {
    const { template, margin, ...layout } = figure.layout;
    const given = template?.layout;
    if (!given || hasNames(figure)) return { ...figure.layout };
    // A title's distance from its labels has these measured as well; without it, it makes way for them.
    const once = ({ title, ...axis }) => ({ ...axis, title: { font: title.font }, automargin: false, tickangle: 0, ticklabeloverflow: "allow" });
    const drawnOnce = { ...given, xaxis: once(given.xaxis), yaxis: once(given.yaxis) };
    const l = Math.max(margin?.l ?? given.margin.l, left);
    const b = (margin?.b ?? given.margin.b) + (layout.xaxis?.type === "date" ? DATES : 0);
    return { ...layout, template: { ...template, layout: drawnOnce }, margin: { ...margin, l, b } };
  }

  const waiting = new Set();
  let isResting = false;

  function drawOthers() {
    if (isResting) return;
    isResting = true;
    requestIdleCallback(() => {
      isResting = false;
      const next = [...waiting].find((each) => each.box.offsetWidth);
      if (!next) return;
      next.draw();
      drawOthers();
    });
  }

  // What was not in sight yet of the tab that is left need not be drawn.
  addEventListener("bapo:tab", () => {
    for (const each of waiting) if (each.box.closest("#run-panel")) waiting.delete(each);
  });

  addEventListener("beforeprint", () => {
    for (const each of waiting) each.draw();
  });

  class Plot {
    constructor(box, graph) {
      Object.assign(this, { box, graph, figure: null, size: "", left: 0, fitting: "" });
      this.approach = new IntersectionObserver(() => this.come());
      this.resize = new ResizeObserver(() => this.fit());
      this.approach.observe(box);
      this.resize.observe(box);
      box.bapoShow = (figure) => this.show(figure);
    }

    show(figure) {
      if (!figure && !this.figure) return;
      this.figure = figure;
      this.graph.toggleAttribute("data-waiting", true);
      waiting.add(this);
      this.come();
    }

    come() {
      if (!waiting.has(this)) return;
      if (inSight(this.box)) this.draw();
      else drawOthers();
    }

    async draw() {
      waiting.delete(this);
      const { figure, graph } = this;
      const plotly = await window.bapoPlotly();
      if (figure !== this.figure) return; // Another one came meanwhile, or the page has changed.
      graph.toggleAttribute("data-waiting", false);
      if (!figure) return plotly.purge(graph);
      this.size = this.measured();
      const isFirst = !graph._fullLayout;
      await plotly.react(graph, figure.data, arranged(figure, this.left), CONFIG);
      this.makeRoom();
      if (isFirst) graph.on("plotly_afterplot", () => this.makeRoom());
      graph.dispatchEvent(new CustomEvent("bapo:plotted", { bubbles: true }));
    }

    // For numbers that begin left of the chart, or in the title of their axis.
    makeRoom() {
      const { graph } = this;
      const { margin, yaxis } = graph._fullLayout;
      if (!yaxis || yaxis.automargin || yaxis.side === "right") return;
      const labels = [...graph.querySelectorAll(".ytick text")];
      // To measure takes a layout of the page: the same labels fit again.
      const texts = [margin.l, yaxis.title?.text, ...labels.map((label) => label.textContent)].join("\n");
      if (texts === this.fitting) return;
      this.fitting = texts;
      const edge = graph.getBoundingClientRect().left + (yaxis.title?.text ? TITLE : 0);
      const lacking = Math.ceil(Math.max(0, ...labels.map((label) => edge - label.getBoundingClientRect().left)));
      if (!lacking) return;
      this.left = margin.l + lacking;
      window.Plotly.relayout(graph, { "margin.l": this.left });
    }

    measured() {
      return `${this.box.offsetWidth} ${this.box.offsetHeight}`;
    }

    fit() {
      if (!this.graph._fullLayout || !this.box.offsetWidth || this.size === this.measured()) return;
      this.size = this.measured();
      this.fitting = "";
      window.Plotly.Plots.resize(this.graph);
    }

    end() {
      this.approach.disconnect();
      this.resize.disconnect();
      waiting.delete(this);
      this.figure = null;
      if (this.graph._fullLayout) window.Plotly.purge(this.graph);
    }
  }

  // A double-click is two presses that the browser counts as one; to Plotly they are two unless it hears of both, and of
  // the release, within 300 ms. On a busy page it hears late.
  function pressed({ currentTarget: graph, detail }) {
    if (detail !== 2) return;
    const isInTime = () => { graph._mouseDownTime = Date.now(); };
    isInTime();
    addEventListener("mouseup", isInTime, { capture: true, once: true });
  }

  function Drawn({ id, className, figure, style }) {
    const { createElement, useEffect, useRef } = window.React;
    const [box, graph, plot] = [useRef(null), useRef(null), useRef(null)];
    useEffect(() => {
      plot.current = new Plot(box.current, graph.current);
      return () => plot.current.end();
    }, []);
    useEffect(() => { plot.current.show(figure); }, [figure]);
    const place = { id, className: `dash-graph ${className || ""}`, style, ref: box };
    const inside = { ref: graph, onMouseDownCapture: pressed, style: { height: "100%", width: "100%" } };
    return createElement("div", place, createElement("div", inside));
  }

  // A chart that replaces another is a new component, so that it does not inherit the other's listeners.
  window.bapo_elements.Graph = (properties) => window.React.createElement(Drawn, { ...properties, key: properties.id });
})();
