// Figures with panels, arranged for the width of the page, and saved as tables.
import assert from "node:assert/strict";
import { test } from "node:test";
import { equal, open } from "./page.mjs";

const { arranged, tableOf } = open(["paper.js"]).window.bapoPaper;

const LAYOUT = {
  meta: { panels: 3, columns: 3, panel_height: 200 },
  margin: { l: 50, r: 10, b: 40, t: 0 }, legend: { x: 0 },
  annotations: [0, 1, 2].map((index) => ({ name: `panel ${index}`, text: `Panel ${index}` })),
};
const DATA = [{ name: "GRPO" }, { name: "BAPO" }, { name: "band", showlegend: false }];
const domains = (layout, axis) => [axis, `${axis}2`, `${axis}3`].map((name) => layout[name].domain.map((end) => Math.round(1000 * end) / 1000));

test("a figure without panels takes the width it gets", () => {
  equal(arranged({ height: 300 }, 480, []), { height: 300, width: 480 });
});

test("a wide page has the panels side by side", () => {
  const layout = arranged(LAYOUT, 900, DATA);
  // Three panels with two gaps of 0.075: (1 − 0.15) / 3 = 0.283 each.
  equal(domains(layout, "xaxis"), [[0, 0.283], [0.358, 0.642], [0.717, 1]]);
  equal(domains(layout, "yaxis"), [[0, 1], [0, 1], [0, 1]]);
  // 200 of the row, 34 + 20 above it for titles and one row of the legend, 40 below.
  assert.equal(layout.height, 294);
});

test("a middling one has two, and the third below", () => {
  const layout = arranged(LAYOUT, 859, DATA);
  // Two rows of 200 with 78 between them: 478 in all, the second from 0 to 200 / 478.
  equal(domains(layout, "yaxis"), [[0.582, 1], [0.582, 1], [0, 0.418]]);
  equal(layout.annotations.map(({ x, y }) => [x, Math.round(1000 * y) / 1000]), [[0, 1], [0.5375, 1], [0, 0.418]]);
  assert.equal(layout.height, 478 + 54 + 40);
});

test("a narrow one has them below one another, with room for each row of the legend", () => {
  const long = ["GRPO with delay", "DAPO without filter", "BAPO"].map((name) => ({ name }));
  const layout = arranged(LAYOUT, 390, long);
  equal(domains(layout, "xaxis"), [[0, 1], [0, 1], [0, 1]]);
  // Names take 52 + 6.4 per letter: 148, 173.6 and 77.6; the widest fits once into 330, so there are three rows.
  assert.equal(layout.margin.t, 34 + 3 * 20);
  assert.equal(layout.height, 3 * 200 + 2 * 78 + 94 + 40);
});

test("the figure that was given stays as it was", () => {
  const before = JSON.stringify(LAYOUT);
  arranged(LAYOUT, 390, DATA);
  assert.equal(JSON.stringify(LAYOUT), before);
});

test("panels are saved as rows with their panel's name, and bands not", () => {
  const graph = {
    layout: { annotations: [{ text: "Reward" }, { text: "Entropy" }] },
    data: [
      { name: "GRPO", x: [1, 2], y: [0.1, 0.2] }, { name: "band", x: [1], y: [0], hoverinfo: "skip" },
      { name: "BAPO", x: [1], y: [0.3], xaxis: "x2" }, { type: "heatmap", x: ["8/8"], y: ["0/8"], z: [[0.25]] },
    ],
  };
  equal(tableOf(graph), [
    ["panel", "series", "x", "y"], ["Reward", "GRPO", 1, 0.1], ["Reward", "GRPO", 2, 0.2], ["Entropy", "BAPO", 1, 0.3],
    ["0/8", "8/8", "share", 0.25],
  ]);
});
