// Studies: what is wrong stands at its input, and stretches of parallel axes keep the runs within.
import assert from "node:assert/strict";
import { test } from "node:test";
import { equal, open } from "./page.mjs";

test("only the errors that differ are set, and all of them when the form is drawn anew", () => {
  const page = open(["study_form.js"]);
  const { mark } = page.clientside.studyForm;
  const errors = () => page.props.splice(0).map(([{ path }, { error }]) => [path, error]);
  mark({ title: "give one", seeds: "1 appears twice" }, 1);
  equal(errors(), [["title", "give one"], ["seeds", "1 appears twice"]]);
  mark({ seeds: "1 appears twice" }, 1);
  equal(errors(), [["title", null]]);
  mark({ seeds: "1 appears twice" }, 2);
  equal(errors(), [["seeds", "1 appears twice"]]);
});

test("the file is written 300 ms after the last letter", () => {
  const page = open(["study_form.js"], { elements: { "study-text": {} } });
  const { pause } = page.clientside.studyForm;
  pause();
  page.pass(299);
  pause();
  page.pass(299);
  equal(page.propsOf("study-typed"), []);
  page.pass(1);
  assert.equal(page.propsOf("study-typed").length, 1);
});

test("a run stays while it lies within every stretch, its ends included", () => {
  const { within } = open(["parallel.js"]).window.bapoParallel;
  assert.equal(within([0, 0.5, 1], {}), true);
  assert.equal(within([0, 0.5, 1], { 1: [0.5, 0.7] }), true);
  assert.equal(within([0, 0.5, 1], { 1: [0.4, 0.6], 2: [0, 0.9] }), false);
});
