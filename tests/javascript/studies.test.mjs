// Studies: what is wrong stands at its input, and stretches of parallel axes keep the runs within.
import assert from "node:assert/strict";
import { test } from "node:test";
import { equal, NO_UPDATE, open } from "./page.mjs";

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

test("what is typed into the file is looked at 300 ms after the last letter, and what others write there at once", () => {
  const box = {};
  const page = open(["study_form.js"], { elements: { "study-text": box } });
  const { settle } = page.clientside.studyForm;
  assert.equal(settle("a"), "a");
  page.window.document.activeElement = box;
  assert.equal(settle("ab"), NO_UPDATE);
  page.pass(299);
  assert.equal(settle("abc"), NO_UPDATE);
  page.pass(300);
  equal(page.propsOf("study-settled"), [{ data: "abc" }]);
  // What was typed before somebody pressed a button comes no more.
  settle("abcd");
  page.window.document.activeElement = null;
  assert.equal(settle("a"), "a");
  page.pass(1_000);
  equal(page.propsOf("study-settled"), [{ data: "abc" }]);
});

test("buttons that are drawn anew are not pressed", () => {
  const page = open(["study_form.js"]);
  const { press } = page.clientside.studyForm;
  const told = (value) => ({ prop_id: '{"action":"remove-member","place":"arms/2","type":"study-op"}.n_clicks', value });
  page.clientside.callback_context = { triggered: [told(undefined), told(0)] };
  assert.equal(press(), NO_UPDATE);
  page.clientside.callback_context = { triggered: [told(0), told(1)] };
  equal(press(), { press: 1, type: "study-op", action: "remove-member", place: "arms/2", value: 1 });
  assert.equal(press().press, 2);
});

test("what was typed into the form does not undo what happened to the file meanwhile", () => {
  const { written } = open(["study_form.js"]).clientside.studyForm;
  const answer = { base: "a", text: "ab", drawn: "ab" };
  equal(written(answer, "a"), ["ab", "ab"]);
  equal(written(answer, "c"), [NO_UPDATE, NO_UPDATE]);
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
