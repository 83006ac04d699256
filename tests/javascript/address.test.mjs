// The view in the address: view.js, and run.js, which says what goes with a tab.
import assert from "node:assert/strict";
import { test } from "node:test";
import { equal, NO_UPDATE, open } from "./page.mjs";

const search = (page) => page.window.location.search;

test("keys are set and removed, others stay, and the history entry is replaced", () => {
  const page = open(["view.js"], { address: "/runs/1?tab=log&q=loss" });
  page.window.bapoView.write({ q: null, wrap: "off", attempt: "" });
  assert.equal(search(page), "?tab=log&wrap=off");
  equal(page.steps, ["replace"]);
});

test("commas and colons stand in the address as themselves", () => {
  const page = open(["view.js"], { address: "/runs/1" });
  page.window.bapoView.write({ "c.rewards": "log,x:time" });
  assert.equal(search(page), "?c.rewards=log,x:time");
  assert.equal(page.window.bapoView.read().get("c.rewards"), "log,x:time");
});

test("writing what stands there already does nothing", () => {
  const page = open(["view.js"], { address: "/runs/1?step=40" });
  page.window.bapoView.write({ step: 40 });
  equal(page.steps, []);
});

test("what a link spells otherwise stands there already", () => {
  const page = open(["view.js"], { address: "/runs/1?set=method.c2:0~1/2;method.m:2" });
  page.window.bapoView.write({ set: "method.c2:0~1/2;method.m:2" });
  equal(page.steps, []);
});

test("a page that was left writes nothing into the address of the next one", () => {
  const page = open(["view.js"], { address: "/new?parent=1&set=method.m:2" });
  page.window.bapo.setProps("route", { data: "/runs/1" }); // What is drawn until the form comes.
  page.window.bapoView.write({ set: "method.m:3" });
  equal(page.steps, []);
  page.window.bapo.setProps("route", { data: "/new?parent=1&set=method.m:2" });
  page.window.bapoView.write({ set: "method.m:3" });
  assert.equal(search(page), "?parent=1&set=method.m:3");
});

test("only the keys to keep stay, and back undoes it", () => {
  const page = open(["view.js"], { address: "/runs/1?tab=log&x=time&q=loss" });
  page.window.bapoView.write({ tab: "batch" }, { push: true, keep: ["x", "smooth"] });
  assert.equal(search(page), "?x=time&tab=batch");
  equal(page.steps, ["push"]);
});

test("Dash hears once of many writes, when they pause for 200 ms", () => {
  const page = open(["view.js"], { address: "/runs/1" });
  let heard = 0;
  page.on("popstate", () => { heard += 1; });
  for (const step of [1, 2, 3]) page.window.bapoView.write({ step });
  page.pass(199);
  assert.equal(heard, 0);
  page.pass(1);
  assert.equal(heard, 1);
});

test("the page is told of addresses that it did not write itself", () => {
  const page = open(["view.js"], { address: "/runs/1" });
  const told = [];
  page.on("bapo:view", ({ detail }) => told.push(detail.get("tab")));
  page.window.bapoView.write({ tab: "log" });
  page.clientside.view.changed();
  assert.deepEqual(told, []);
  page.window.location.search = "?tab=batch"; // "Back".
  page.clientside.view.changed();
  page.clientside.view.changed();
  assert.deepEqual(told, ["batch"]);
});

const panel = () => {
  const around = { setAttribute: (name, value) => { around[name] = value; } };
  return { around, elements: { "run-panel": { parentElement: around } } };
};

test("another tab keeps the axis and the smoothing of the page, and leaves the rest behind", () => {
  const { around, elements } = panel();
  const page = open(["view.js", "run.js"], { address: "/runs/1?tab=prompts&x=time&smooth=9&search=7", elements });
  page.triggered("run-tabs");
  equal(page.clientside.run.address("batch", ["overview", "batch"]), {});
  // The panel belongs to the tab that names it.
  equal([around.id, around["aria-labelledby"]], ["run-tabs-panel-batch", "run-tabs-tab-batch"]);
  assert.equal(search(page), "?x=time&smooth=9&tab=batch");
});

test("the first tab needs no key, and a tab without charts shows no axis", () => {
  const page = open(["view.js", "run.js"], { address: "/runs/1?tab=log", ...panel() });
  page.triggered("run-tabs");
  equal(page.clientside.run.address("overview", ["overview"]), {});
  assert.equal(search(page), "");
  equal(page.clientside.run.address("log", ["overview"]), { display: "none" });
});

test("pages other than a run's are left alone", () => {
  const page = open(["view.js", "run.js"], { address: "/runs/1/prompts/7?tab=log" });
  page.triggered("run-tabs");
  assert.equal(page.clientside.run.address("batch", []), NO_UPDATE);
  assert.equal(search(page), "?tab=log");
});

test("an address that changed sets tab, axis and smoothing, to the usual ones where it names none", () => {
  const page = open(["view.js", "run.js"], { address: "/runs/1", elements: { "run-tabs": {} } });
  page.fire("bapo:view", new URLSearchParams("tab=batch&smooth=9"));
  equal(page.props, [["run-tabs", { value: "batch" }], ["run-x", { value: "step" }], ["run-smooth", { value: "9" }]]);
});
