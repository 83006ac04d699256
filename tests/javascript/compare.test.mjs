// The comparison: its address, its sorting, and its charts as tables.
import assert from "node:assert/strict";
import { test } from "node:test";
import { equal, NO_UPDATE, open } from "./page.mjs";

const at = (address) => open(["compare.js", "view.js"], { address, found: { ".compare-page": [{}] } });
const search = (page) => page.window.location.search;
const choose = (page, { runs = ["a", "b"], group = "config", x = "step", equalSteps = true, smooth = false } = {}, metrics = ["reward"]) =>
  page.clientside.compare.address(runs, group, x, equalSteps, smooth, metrics, "cd-34", 0.5, "grpo", "dapo");

test("what is usual is not written into the address", () => {
  const page = at("/compare");
  page.triggered("compare-runs");
  assert.equal(choose(page), page.now());
  assert.equal(search(page), "?runs=a,b");
  choose(page, { group: "method", x: "rollouts", equalSteps: false, smooth: true });
  assert.equal(search(page), "?runs=a,b&group=method&x=rollouts&equal=0&smooth=1");
});

test("what the server chose is written only when somebody has been in its field", () => {
  const page = at("/compare");
  page.triggered("compare-metrics");
  choose(page);
  assert.equal(search(page), "?runs=a,b");
  page.press("focusin", { target: { closest: (selector) => (selector.startsWith("input") ? { id: "compare-metrics" } : null) } });
  choose(page, {}, ["reward", "entropy"]);
  assert.equal(search(page), "?runs=a,b&metric=reward,entropy");
});

test("other pages' addresses are left alone", () => {
  const page = at("/runs");
  assert.equal(choose(page), NO_UPDATE);
  assert.equal(search(page), "");
});

test("narrow windows show fewer charts side by side", () => {
  const columns = (width) => open(["compare.js"], { width }).clientside.compare.drawn({ labels: ["GRPO"] }).columns;
  assert.deepEqual([599, 600, 999, 1000].map(columns), [1, 2, 2, 4]);
});

test("numbers sort as numbers, names with their numbers, and what is missing comes last either way", () => {
  const { compared } = at("/compare").window.bapoCompare;
  const sorted = (values, direction) => values.toSorted((one, other) => compared(one, other, direction));
  assert.deepEqual(sorted(["10", "", "9.5", "-1"], 1), ["-1", "9.5", "10", ""]);
  assert.deepEqual(sorted(["10", "", "9.5", "-1"], -1), ["10", "9.5", "-1", ""]);
  assert.deepEqual(sorted(["run 10", "run 9", "run 1"], 1), ["run 1", "run 9", "run 10"]);
});

test("curves become a row for each point, and bands none", () => {
  const page = at("/compare");
  page.window.DOMParser = class { parseFromString(text) { return { body: { textContent: text.replace("&amp;", "&") } }; } };
  const graph = {
    _fullLayout: {
      xaxis: { title: { text: "step" } }, yaxis: { title: { text: "" } }, annotations: [{ hovertext: "solved" }, { hovertext: "mixed" }],
    },
    _fullData: [
      { name: "GRPO &amp; delay", x: [1, 2], y: [0.5, 0.75] },
      { name: "interval", x: [1, 2], y: [0, 1], hoverinfo: "skip" },
      { name: "BAPO", x: [1], y: [1], xaxis: "x2" },
    ],
  };
  equal(page.window.bapoCompare.points(graph), [
    ["run or group", "step", "y"], ["solved GRPO & delay", 1, 0.5], ["solved GRPO & delay", 2, 0.75], ["mixed BAPO", 1, 1],
  ]);
});

test("a map of differences becomes a row for each cell", () => {
  const graph = { _fullData: [{ x: ["0/8", "8/8"], y: ["0/8"], z: [[1.5, -2]] }] };
  equal(at("/compare").window.bapoCompare.cells(graph), [
    ["before", "after", "percentage points"], ["0/8", "0/8", 1.5], ["0/8", "8/8", -2],
  ]);
});
