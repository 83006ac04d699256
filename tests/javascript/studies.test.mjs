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

test("values of an axis are offered in the order of their heights, each text once", () => {
  const { choices, endsOf, stretch } = open(["parallel.js"]).window.bapoParallel;
  const lines = [["2", 1], ["1", 0], ["1", 0.1], ["1.5", 0.5]].map(([text, height]) => ({ heights: [height], texts: [text] }));
  const values = choices(lines, 0);
  equal(values, [{ text: "1", low: 0, high: 0.1 }, { text: "1.5", low: 0.5, high: 0.5 }, { text: "2", low: 1, high: 1 }]);
  // What is dragged over names its first and its last value, and may hold none.
  equal(endsOf(values, [0.1, 0.5]), [0, 1]);
  equal(endsOf(values, [0.11, 2]), [1, 2]);
  assert.equal(endsOf(values, [0.2, 0.4]), null);
  assert.equal(endsOf(values, [1.1, 1.2]), null);
  // What is chosen covers all of both; all values are no stretch.
  equal(stretch(values, 0, 1), [0, 0.5]);
  equal(stretch(values, 1, 1), [0.5, 0.5]);
  assert.equal(stretch(values, 0, 2), null);
});
