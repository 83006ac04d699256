import assert from "node:assert/strict";
import { test } from "node:test";
import { equal, open } from "./page.mjs";

const { bapo } = open([]).window;

test("numbers are written with thousands, and words follow them", () => {
  assert.equal(bapo.count(1234567), "1,234,567");
  assert.equal(bapo.plural(0, "run"), "0 runs");
  assert.equal(bapo.plural(1, "run"), "1 run");
  assert.equal(bapo.plural(1200, "run"), "1,200 runs");
  assert.equal(bapo.plural(2, "run stays", "runs stay"), "2 runs stay");
});

test("under a path the browser asks for our addresses with it, and pages know their own without", async () => {
  const page = open([], { address: "/bapo/runs/r1?tab=batch", prefix: "/bapo", answers: { "/bapo/api/v1/me": { content: { role: "admin" } } } });
  const { served, here, ask } = page.window.bapo;
  assert.deepEqual(["/runs?x=1", "#a", "//other.test/", "https://other.test/runs"].map(served), ["/bapo/runs?x=1", "#a", "//other.test/", "https://other.test/runs"]);
  assert.equal(here(), "/runs/r1");
  assert.equal(here("/bapo"), "/");
  assert.deepEqual(await ask("/api/v1/me"), { role: "admin" });
  assert.equal(bapo.served("/runs"), "/runs");
  assert.equal(open([], { address: "/runs/r1" }).window.bapo.here(), "/runs/r1");
});

test("a day is written in the viewer's own calendar", () => {
  assert.equal(bapo.day(new Date(2026, 0, 5, 23, 59)), "2026-01-05");
  assert.equal(bapo.two(7), "07");
});

test("a table becomes lines, with quotes where a cell needs them", () => {
  const rows = [["run", "x"], ["a, b", 0.5], ['says "yes"', null], ["two\nlines", undefined], ["plain", Number.NaN]];
  assert.equal(bapo.csv(rows), 'run,x\n"a, b",0.5\n"says ""yes""",\n"two\nlines",\nplain,\n');
});

test("a text that a spreadsheet would run as a formula gets an apostrophe, and a number none", () => {
  const rows = [["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1"], [-0.5, "-0.5", "+3.2 %", "-1e-5", "a=b"]];
  assert.equal(bapo.csv(rows), "'=1+1,'+cmd|' /C calc'!A0,'-2+3,'@SUM(A1),'\t=1\n-0.5,-0.5,+3.2 %,-1e-5,a=b\n");
});

test("a file is named with small letters, digits and hyphens, 80 of them at most", () => {
  assert.equal(bapo.fileName("Run 7: c1 = ¼ — reward"), "run-7-c1-reward");
  assert.equal(bapo.fileName("a".repeat(100)).length, 80);
});

test("a refusal names the field and its value, and the request where there is one", () => {
  const remedy = "give a share from 0 to 1";
  assert.equal(bapo.refusal({ remedy, request_id: "none" }), remedy);
  assert.equal(
    bapo.refusal({ field: "method.c1", value: "2", remedy, request_id: "r-1" }), `method.c1 = "2": ${remedy} (request r-1)`,
  );
});

test("values are the same if they are written alike", () => {
  assert.ok(bapo.same({ a: [1, null] }, { a: [1, null] }));
  assert.ok(!bapo.same([1, 2], [2, 1]));
});

test("an answer comes as data, a refusal as an error that says why", async () => {
  const page = open([], {
    answers: {
      "/good": { content: { total: 3 } },
      "/refused": { status: 422, content: { field: "limit", value: 0, remedy: "ask for 1 or more", request_id: "none" } },
      "/broken": { status: 502, content: "no object" },
    },
  });
  const { ask } = page.window.bapo;
  equal(await ask("/good"), { total: 3 });
  await assert.rejects(ask("/refused"), { message: "limit = 0: ask for 1 or more" });
  await assert.rejects(ask("/broken"), { message: "status 502" });
  await assert.rejects(ask("/unknown"), TypeError);
  equal(page.steps, []);
});

test("an answer that wants a login loads the page anew, where the gate asks for one", async () => {
  const page = open([], { answers: { "/late": { status: 401, content: { remedy: "log in", request_id: "none" } } } });
  await assert.rejects(page.window.bapo.ask("/late"));
  equal(page.steps, ["reload"]);
});
