// Tabs of a run page: sliders of the difficulty, prompts, responses, what-if, config.
import assert from "node:assert/strict";
import { test } from "node:test";
import { equal, NO_UPDATE, open } from "./page.mjs";

const difficulty = open(["difficulty.js"]).window.bapoDifficulty;
const sampled = { steps: [1, 10, 20], last_step: 20 };

test("a slider over sampled steps counts their places, another one the steps themselves", () => {
  const tracked = difficulty.scaleOf("tracked", sampled);
  assert.deepEqual([tracked.last, tracked.stepAt(1), tracked.valueOf(20)], [2, 10, 2]);
  const lastSeen = difficulty.scaleOf("last_seen", sampled);
  assert.deepEqual([lastSeen.last, lastSeen.stepAt(7), lastSeen.valueOf(7)], [20, 7, 7]);
});

test("before the first sample a slider has one place, which stands for step 0", () => {
  const { last, stepAt, valueOf } = difficulty.scaleOf("tracked", { steps: [], last_step: 3 });
  assert.deepEqual([last, stepAt(0), valueOf(3)], [0, 0, 0]);
  equal(difficulty.marksOf("tracked", { steps: [], last_step: 3 }), []);
  equal(difficulty.marksOf("last_seen", { steps: [], last_step: 0 }), []);
});

test("twelve sampled steps all have labels", () => {
  const steps = Array.from({ length: 12 }, (_, place) => 100 * (place + 1));
  const labels = difficulty.marksOf("tracked", { steps, last_step: 1200 }).map(({ label }) => label);
  assert.deepEqual([labels.length, labels[0], labels[11]], [12, "100", "1,200"]);
});

test("of more steps every second, third … has one, and the last in place of one that would touch it", () => {
  const steps = Array.from({ length: 14 }, (_, place) => place + 1);
  const marks = difficulty.marksOf("tracked", { steps, last_step: 14 });
  // ⌈14 / 12⌉ = 2: places 0, 2 … 12, of which 12 is one place, half of two, from the last.
  assert.deepEqual(marks.filter(({ label }) => label).map(({ value }) => value), [0, 2, 4, 6, 8, 10, 12, 13]);
  assert.equal(marks.length, 14);
});

test("of more than sixty sampled steps only the ends have marks", () => {
  const steps = Array.from({ length: 61 }, (_, place) => 25 * place);
  equal(difficulty.marksOf("tracked", { steps, last_step: 1500 }), [{ value: 0, label: "0" }, { value: 60, label: "1,500" }]);
});

const prompts = open(["_text.js", "groups.js", "prompts.js"]).window.bapoPrompts;

test("the list of prompts is read from the address, and asked for in the same words", () => {
  const wanted = prompts.read(new URLSearchParams("story=stuck&search=7+8&sort=gain&descending=true&page=3&tab=prompts"));
  equal(wanted, {
    story: "stuck", source: "", search: "7 8", min_last: "", max_last: "", sort: "gain", descending: true, page: 3,
  });
  assert.equal(prompts.parameters(wanted, wanted.sort).toString(), "story=stuck&search=7+8&sort=gain&descending=true");
});

test("without an order the largest comes first; pages begin at 1", () => {
  for (const text of ["page=0", "page=-2", "page=x", ""]) {
    const { descending, page } = prompts.read(new URLSearchParams(text));
    assert.deepEqual([descending, page], [true, 1]);
  }
  assert.equal(prompts.parameters(prompts.read(new URLSearchParams()), "").toString(), "");
});

test("a gain is written in percentage points with its sign", () => {
  equal(prompts.pointsOf(0.125), { text: "+12.5 pts", kind: "good" });
  equal(prompts.pointsOf(-1), { text: "−100 pts", kind: "bad" });
  equal(prompts.pointsOf(0.0004), { text: "±0 pts", kind: "" });
});

const { parameters } = open(["_text.js", "groups.js", "samples.js"]).window.bapoSamples;

test("responses are asked for by how many of a group are right", () => {
  const query = (correct, wanted = {}) => parameters({ groupSize: 8, wanted: { step: "", source: "", correct, ...wanted } }).toString();
  assert.equal(query(""), "");
  assert.equal(query("none"), "max_correct=0");
  assert.equal(query("some"), "min_correct=1&max_correct=7");
  assert.equal(query("all", { step: 40, source: "reused" }), "step=40&source=reused&min_correct=8");
});

const { bapoGroups: { promptPath }, bapoText: { matches } } = open(["_text.js", "groups.js"]).window;

test("what is searched for is found as it is written, in any case, 200 times at most", () => {
  equal(matches("3 + 4 = 7, (3 + 4)", "3 + 4"), [[0, 5], [12, 17]]);
  equal(matches("Äpfel, äpfel", "ÄPFEL"), [[0, 5], [7, 12]]);
  equal(matches("a.b", "."), [[1, 2]]);
  equal(matches("anything", ""), []);
  assert.equal(matches("a".repeat(500), "a").length, 200);
});

test("a prompt's page has its identifier in its address, whatever that is made of", () => {
  assert.equal(promptPath("run-1", "math/7?b"), "/runs/run-1/prompts/math%2F7%3Fb");
});

const CONTROLS = [{ field: "method.type" }, { field: "method.c1" }, { field: "reuse.ends" }, { field: "method.filter.type" }];
const SHOWN = [{ field: "method.c1" }, { field: "reuse.ends" }, { field: "buffers.size" }];

function whatIf() {
  const methods = JSON.stringify({ bapo: ["buffers", "bapo"], bapo_mini: ["buffers"] });
  const page = open(["view.js", "what_if.js"], { address: "/runs/1", elements: { "what-if-controls": { dataset: { methods } } } });
  const move = (c1, method = "bapo") =>
    page.clientside.whatIf.moved([method, c1, [4, 6.333], "gaussian"], CONTROLS, SHOWN.slice(0, 2), 8);
  const asked = () => structuredClone(page.propsOf("what-if-asked").map(({ data }) => [data.number, data.draws, data.values["method.c1"]]));
  return { page, move, asked };
}

test("controls say what they stand at, in right responses of a group", () => {
  const { move } = whatIf();
  const [first, classes, texts] = move(2);
  assert.equal(first, NO_UPDATE);
  assert.equal(classes, "panel-card what-if-controls has-all has-buffers has-bapo filter-gaussian");
  equal(texts, ["2/8", "4/8 to 6.33/8"]);
});

test("controls that a method does not have are out of sight", () => {
  const { move } = whatIf();
  assert.equal(move(2, "bapo_mini")[1], "panel-card what-if-controls has-all has-buffers filter-gaussian");
  assert.equal(move(2, "grpo")[1], "panel-card what-if-controls has-all filter-gaussian");
});

test("of a drag only the newest position is asked for, one question at a time", () => {
  const { page, move, asked } = whatIf();
  move(1);
  page.pass(30);
  move(2);
  page.pass(60);
  assert.deepEqual(asked(), [[1, 4, 2]]);
  move(3);
  page.pass(60);
  move(4);
  page.pass(60);
  assert.deepEqual(asked(), [[1, 4, 2]]); // The first is not answered yet.
  page.clientside.whatIf.answered({ number: 1, draws: 4, num_draws: 4 });
  assert.deepEqual(asked().at(-1), [2, 4, 4]);
});

test("at rest the same is asked again with more draws, and the address keeps what was set", () => {
  const { page, move, asked } = whatIf();
  move(2);
  page.pass(60);
  page.clientside.whatIf.answered({ number: 1, draws: 4, num_draws: 4, set: "method.c1=1/4" });
  assert.equal(page.window.location.search, "?set=method.c1%3D1%2F4");
  page.pass(499);
  assert.equal(asked().length, 1);
  page.pass(1);
  assert.deepEqual(asked().at(-1), [2, 20, 2]);
  page.clientside.whatIf.answered({ number: 2, draws: 20, num_draws: 20, set: "" });
  page.pass(60000);
  assert.equal(asked().length, 2);
  assert.equal(page.window.location.search, "");
});

test("an answer that never comes blocks for 30 seconds", () => {
  const { page, move, asked } = whatIf();
  move(1);
  page.pass(60);
  page.pass(30000);
  move(2);
  page.pass(60);
  assert.deepEqual(asked().at(-1), [2, 4, 2]);
});

test("fields are searched for by all words, and counted", () => {
  const row = (textContent, isSet) => ({ textContent, classList: { contains: () => isSet } });
  const rows = [row("method.c1 difficult threshold", true), row("method.c2 lower threshold", false), row("optimizer.lr", true)];
  const none = {};
  const page = open(["config.js", "view.js"], { address: "/runs/1", elements: { "config-none": none }, found: { "[data-field-row]": rows } });
  assert.equal(page.clientside.config.filter("Threshold  METHOD", false), "2 of 3 fields");
  assert.deepEqual(rows.map(({ hidden }) => hidden), [false, false, true]);
  assert.equal(page.clientside.config.filter("threshold", true), "1 of 3 fields");
  assert.equal(page.window.location.search, "?q=threshold&only=set");
  assert.equal(page.clientside.config.filter("nothing", false), "0 of 3 fields");
  assert.equal(none.hidden, false);
  assert.equal(page.clientside.config.filter("", false), "3 fields");
});
