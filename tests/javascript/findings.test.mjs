// The number of findings at their tab, and how often it is asked for.
import assert from "node:assert/strict";
import { test } from "node:test";
import { equal, NO_UPDATE, open } from "./page.mjs";

const ADDRESS = "/api/v1/runs/r1/findings";
const report = (step, count) => ({ content: { step, findings: Array.from({ length: count }, () => ({})) } });

async function opened(answers) {
  const tab = { dataset: {} };
  const elements = { "run-tabs": {}, findings: {}, "run-tabs-tab-findings": tab };
  const page = open(["findings.js"], { address: "/runs/r1", elements, answers });
  assert.equal(page.clientside.findings.begin("r1"), NO_UPDATE);
  await page.settled();
  return { page, tab };
}

test("the tab has the number of findings, and none where there are none", async () => {
  const answers = { [ADDRESS]: report(4, 2) };
  const { page, tab } = await opened(answers);
  assert.equal(tab.dataset.count, 2);
  answers[ADDRESS] = report(5, 0);
  page.fire("bapo:news", { run: "r1" });
  page.pass(5000);
  await page.settled();
  assert.equal("count" in tab.dataset, false);
});

test("however many steps come, it is asked for every five seconds", async () => {
  const answers = { [ADDRESS]: report(4, 1) };
  const { page } = await opened(answers);
  for (let event = 0; event < 9; event += 1) {
    page.fire("bapo:news", { run: "r1" });
    page.pass(500);
  }
  assert.equal(page.requests.length, 1);
  page.pass(500);
  assert.equal(page.requests.length, 2);
});

test("the open tab is drawn anew where the findings take in more steps", async () => {
  const answers = { [ADDRESS]: report(4, 1) };
  const { page } = await opened(answers);
  page.fire("bapo:news", { run: "r1" });
  page.pass(5000);
  await page.settled();
  equal(page.propsOf("findings-poke"), []);
  answers[ADDRESS] = report(9, 1);
  page.fire("bapo:news", { run: "r1" });
  page.pass(5000);
  await page.settled();
  equal(page.propsOf("findings-poke"), [{ data: 9 }]);
});

test("news of another run ask for nothing, nor does a page that was left", async () => {
  const { page } = await opened({ [ADDRESS]: report(4, 1) });
  page.fire("bapo:news", { run: "r2" });
  page.pass(9000);
  assert.equal(page.requests.length, 1);
});
