// How a chart is looked at, and what is taken out of it: charts_view.js and charts_export.js.
import assert from "node:assert/strict";
import { test } from "node:test";
import { equal, open } from "./page.mjs";

process.env.TZ = "America/New_York"; // Four hours behind UTC from 8 March 2026, 2 a.m.; five before.

const SCRIPTS = ["charts_export.js", "charts_hover.js", "charts_menu.js", "charts_view.js", "time.js", "view.js"];
const at = (address) => open(SCRIPTS, { address });
const chartsAt = (address) => at(address).window.bapoCharts;
const PLAIN = { log: false, x: null, h: null, v: null, hide: [] };

test("a chart's view is read from its part of the address", () => {
  const charts = chartsAt("/runs/1?c.rewards=log,x:time,h:10..40,v:-0.5..1,hide:0-2");
  equal(charts.viewOf("rewards"), { log: true, x: "time", h: [10, 40], v: [-0.5, 1], hide: [0, 2] });
  equal(charts.viewOf("entropy"), PLAIN);
});

test("what an address says wrongly is passed over", () => {
  equal(chartsAt("/runs/1?c.a=x:hours,h:10,v:low..high,hide:,zoom:3").viewOf("a"), PLAIN);
  equal(chartsAt("/runs/1?c.a=h:1..2..3,hide:1-x-3").viewOf("a"), { ...PLAIN, hide: [1, 3] });
});

test("a change keeps the rest of the view and rounds ranges to six digits", () => {
  const page = at("/runs/1?c.a=log&c.b=hide:1");
  page.window.bapoCharts.change("a", { h: [1 / 3, 1234567.89] });
  assert.equal(page.window.location.search, "?c.a=log,h:0.333333..1234570&c.b=hide:1");
  page.window.bapoCharts.change("a", { log: false, h: null });
  assert.equal(page.window.location.search, "?c.b=hide:1");
});

test("ranges of times keep their milliseconds", () => {
  const page = at("/runs/1");
  page.window.bapoCharts.change("a", { h: [1773480413250, 1773480413251] });
  assert.equal(page.window.location.search, "?c.a=h:1773480413250..1773480413251");
});

test("a view survives the way through the address", () => {
  const page = at("/runs/1");
  const view = { log: true, x: "rollouts", h: [0, 150], v: [0.25, 0.75], hide: [3] };
  page.window.bapoCharts.change("a", view);
  equal(page.window.bapoCharts.viewOf("a"), view);
});

test("times stand on the viewer's clock, and come back as they were, on both sides of the clock change", () => {
  const charts = chartsAt("/");
  const winter = Date.UTC(2026, 2, 8, 6, 59); // 1:59 in New York, five hours behind.
  const summer = Date.UTC(2026, 2, 8, 7, 0); // 3:00, four hours behind.
  assert.equal(charts.toLocal(winter), Date.UTC(2026, 2, 8, 1, 59));
  assert.equal(charts.toLocal(summer), Date.UTC(2026, 2, 8, 3, 0));
  assert.equal(charts.toLocal(null), null);
  for (const moment of [winter, summer]) assert.equal(charts.toUtc(charts.toLocal(moment)), moment);
});

const figure = (layout = {}) => ({
  data: [{ x: [1, 2], legendgroup: "a" }, { x: [1, 2], legendgroup: "b" }, { x: [1, 2], legendgroup: "a" }],
  layout: { uirevision: "step|auto", yaxis: { range: [0, 1] }, height: 300, ...layout },
});

test("a figure without a view of its own stays as the server drew it", () => {
  const drawn = chartsAt("/runs/1").viewed("a", figure());
  equal(drawn, { ...figure(), layout: { ...figure().layout, uirevision: "step|auto|" } });
});

test("a logarithmic axis takes a range of its own unless one was zoomed to", () => {
  equal(chartsAt("/runs/1?c.a=log").viewed("a", figure()).layout.yaxis, { type: "log", autorange: true });
  equal(chartsAt("/runs/1?c.a=log,v:0..2").viewed("a", figure()).layout.yaxis, { type: "log", autorange: false, range: [0, 2] });
});

test("hiding a line hides its group", () => {
  const { data } = chartsAt("/runs/1?c.a=hide:0").viewed("a", figure());
  equal(data.map(({ visible }) => visible ?? "shown"), ["legendonly", "shown", "legendonly"]);
});

test("the chart that fills the window has no height of its own, and the named mark stands out", () => {
  const shapes = [{ name: "steer-1", line: { width: 1 } }, { name: "steer-2", line: { width: 1 } }];
  const { layout } = chartsAt("/runs/1?full=a&mark=steer-2").viewed("a", figure({ shapes }));
  assert.equal(layout.height, undefined);
  equal(layout.shapes.map(({ line }) => line.width), [1, 4]);
});

test("a chart over time moves to the viewer's zone once, with its marks", () => {
  const noon = Date.UTC(2026, 6, 1, 12);
  const charts = chartsAt("/runs/1");
  const drawn = {
    data: [{ x: [noon] }, {}],
    layout: {
      xaxis: { type: "date", title: { text: "wall time (UTC)" } },
      shapes: [{ x0: noon, x1: noon }, { xref: "paper", x0: 0, x1: 1 }], annotations: [{ x: noon }],
    },
  };
  charts.viewed("a", drawn);
  charts.viewed("a", drawn);
  const eight = Date.UTC(2026, 6, 1, 8);
  equal(drawn.data[0].x, [eight]);
  equal(drawn.layout.shapes, [{ x0: eight, x1: eight }, { xref: "paper", x0: 0, x1: 1 }]);
  equal(drawn.layout.annotations, [{ x: eight }]);
  assert.equal(drawn.layout.xaxis.title.text, "wall time (America/New_York)");
});

const titles = { xaxis: { title: { text: "step" } }, yaxis: { title: { text: "reward" } } };

test("lines become a row for each x and a column for each line", () => {
  const graph = {
    data: [
      { name: "mean", x: [1, 2], y: [0.1, 0.2] },
      { name: "band", x: [1, 2], y: [0, 0], hoverinfo: "skip" },
      { name: "hidden", x: [1], y: [9], visible: "legendonly" },
      { name: "max", x: [2, 3], y: [0.5, 0.6] },
    ],
    layout: titles,
  };
  equal(chartsAt("/").tableOf(graph), [["step", "mean", "max"], [1, 0.1, ""], [2, 0.2, 0.5], [3, "", 0.6]]);
});

test("bars that lie down are read along their own axis", () => {
  const graph = { data: [{ name: "seconds", orientation: "h", x: [3, 4], y: ["generate", "update"] }], layout: titles };
  equal(chartsAt("/").tableOf(graph), [["reward", "seconds"], ["generate", 3], ["update", 4]]);
});

test("times are saved in UTC", () => {
  const charts = chartsAt("/");
  const graph = {
    data: [{ x: [charts.toLocal(Date.UTC(2026, 6, 1, 12))], y: [1] }], layout: { xaxis: { type: "date", title: { text: "time" } } },
  };
  equal(charts.tableOf(graph), [["time", "value"], ["2026-07-01T12:00:00.000Z", 1]]);
});

test("a heat map becomes a row for each cell that holds something", () => {
  const graph = { data: [{ z: [[]], x: [1, 2], y: ["0/8", "8/8"], customdata: [[3, 0], [null, 5]] }], layout: titles };
  equal(chartsAt("/").tableOf(graph), [["step", "reward", "value"], [1, "0/8", 3], [2, "8/8", 5]]);
});

test("flows become a row for each band, with the step and class of both ends", () => {
  const node = { customdata: ["step 1", "step 9"], label: ["0/8", "8/8"] };
  const graph = { data: [{ type: "sankey", node, link: { source: [0], target: [1], value: [12] } }], layout: {} };
  equal(chartsAt("/").tableOf(graph), [["from", "class", "to", "class", "prompts"], ["step 1", "0/8", "step 9", "8/8", 12]]);
});

test("another axis of the page forgets the ranges on the old one", () => {
  const page = at("/runs/1?x=time&c.a=log,h:1..2");
  const asked = page.clientside.charts.view({ tab: "overview", charts: ["a"] }, "step", "auto");
  assert.equal(page.window.location.search, "?c.a=log");
  equal(asked, { tab: "overview", charts: ["a"], x: "step", smooth: "auto", steps: null, axes: {}, asked: 1 });
});

test("a chart's own axis is asked for with the others", () => {
  const page = at("/runs/1?c.b=x:time&steps=3..9");
  const asked = page.clientside.charts.view({ tab: "overview", charts: ["a", "b"] }, "rollouts", "9");
  equal(asked.axes, { b: "time" });
  assert.equal(asked.steps, "3..9");
  assert.equal(page.window.location.search, "?c.b=x:time&steps=3..9&x=rollouts&smooth=9");
});

test("opening a tab at a mark keeps the axis", () => {
  const page = at("/runs/1?tab=overview&x=time&c.a=log");
  page.window.bapoCharts.openTab("history", { mark: "steer-3" });
  assert.equal(page.window.location.search, "?x=time&tab=history&mark=steer-3");
  equal(page.props, [["run-tabs", { value: "history" }]]);
});
