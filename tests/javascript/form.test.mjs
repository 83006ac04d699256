// The form of a new run: what stands at its fields, and what follows when the method changes.
import assert from "node:assert/strict";
import { test } from "node:test";
import { equal, NO_UPDATE, open } from "./page.mjs";

// Two methods share the field `method.c1`, which the second does not show filled.
const look = (value, text = "", was = "") => ({ shown: { value }, text, was });
const START = {
  key: "recipe-1", hidden: [], sections: { method: ["method.c1", "method.c2"] }, types: { "method.type": "bapo" }, shown: { "method.type": { value: "bapo" }, "method.c1": { value: "1/4" } },
  of: {
    bapo: { "method.type": look("bapo"), "method.c1": look("1/4", "Difficult at most", "was 1/8") },
    grpo: { "method.type": look("grpo"), "method.c1": look("", "Difficult at most", "") },
  },
};
const IDS = [{ path: "method.type", part: "value" }, { path: "method.c1", part: "value" }];

function form() {
  const page = open(["form.js"], { elements: { "new-submit": {} } });
  return { page, pause: (...values) => page.clientside.form.pause(values, IDS, START) };
}

test("the server is asked 200 ms after the last letter", () => {
  const { page, pause } = form();
  pause("bapo", "1/");
  page.pass(199);
  pause("bapo", "1/2");
  page.pass(199);
  equal(page.propsOf("new-typed"), []);
  page.pass(1);
  equal(page.propsOf("new-typed"), [{ data: 1 }]);
});

test("a field that nobody touched takes the value of the new method", () => {
  const { page, pause } = form();
  pause("bapo", "1/4");
  equal(page.props, []);
  pause("grpo", "1/4");
  equal(page.props, [[{ type: "new-wrap", path: "method.c1" }, { was: "" }], [IDS[1], { value: "" }]]);
});

test("what somebody typed stays when the method changes", () => {
  const { page, pause } = form();
  pause("bapo", "1/4");
  pause("grpo", "3/8");
  equal(page.propsOf(IDS[1]), []);
});

test("only what changed is set at the fields, and an old error goes", () => {
  const { page } = form();
  const mark = (checked) => page.clientside.form.mark(checked, START);
  assert.equal(mark({ errors: { "method.c1": "at most 1" }, changed: ["method.c1"] }), NO_UPDATE);
  equal(page.props, [
    [{ type: "new-wrap", path: "method.c1" }, { error: "at most 1", isChanged: true }],
  ]);
  page.props.length = 0;
  mark({ errors: { "method.c1": "at most 1" }, changed: ["method.c1"] });
  equal(page.props, []);
  mark({ errors: {}, warnings: { "method.c1": "unusual" } });
  equal(page.props, [
    [{ type: "new-wrap", path: "method.c1" }, { error: null, warning: "unusual" }],
  ]);
});

test("a section that nobody has opened says how many fields it has, and marks them as others", () => {
  const { page } = form();
  page.clientside.form.mark({ changed: ["method.c2"], hidden: ["method.c1"] }, START);
  equal(page.props, [
    [{ type: "new-wrap", path: "method.c2" }, { isChanged: true }],
    [{ type: "new-wrap", path: "method.c1" }, { isHidden: true }],
    [{ type: "new-more", section: "method" }, { children: " · 1 more" }],
  ]);
});

test("a field's button sets that field back and no other", () => {
  const { page } = form();
  equal(page.clientside.form.reset({ path: "method.c1", at: 1 }, IDS, START), [NO_UPDATE, "1/4"]);
  equal(page.clientside.form.reset(null, IDS, START), [NO_UPDATE, NO_UPDATE]);
});

test("a plan of several runs is asked for while it is wanted", () => {
  const page = open(["form.js"], { elements: { "grid-builder": {} } });
  const { several, label } = page.clientside.form;
  const asked = () => page.propsOf("grid-asked").length;
  equal(several(false), { display: "none" });
  equal(several(true), {});
  page.pass(0);
  equal(asked(), 1);
  // While its values are typed, when that pauses; not if they are no longer wanted by then.
  page.clientside.callback_context.triggered = [{ prop_id: '{"row":0,"type":"grid-values"}.value' }];
  several(true);
  page.pass(199);
  several(true);
  page.pass(199);
  equal(asked(), 1);
  page.pass(1);
  equal(asked(), 2);
  several(true);
  several(false);
  page.pass(300);
  equal(asked(), 2);
  equal([label(false, "Start 4 runs"), label(true, "Start 4 runs")], ["Start the run", "Start 4 runs"]);
});

test("another recipe or checkpoint is another form, and the one that is there is not opened again", () => {
  const { page } = form();
  const { recipe, fork, made } = page.clientside.form;
  equal([recipe("countdown-grpo", { recipe: "countdown-demo" }), recipe("countdown-demo", { recipe: "countdown-demo" })], ["?recipe=countdown-grpo", NO_UPDATE]);
  const start = { fork: { run_id: "r1", step: 8 } };
  equal([fork("16", start), fork("8", start)], ["?fork=r1&step=16", NO_UPDATE]);
  equal([made("/runs/r2"), made(undefined)], ["/runs/r2", NO_UPDATE]);
});
