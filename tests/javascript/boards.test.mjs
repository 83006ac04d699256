// A board: what it asks for, and what becomes of it when the server does not answer.
import assert from "node:assert/strict";
import { test } from "node:test";
import { open } from "./page.mjs";

const SCRIPTS = ["charts_export.js", "charts_view.js", "live.js", "live_charts.js", "boards.js"];
const grid = () => ({ dataset: { board: "b1", changes: "yes" }, children: [], querySelectorAll: () => [] });

function at(answers = {}, place = grid()) {
  const state = { textContent: "" };
  const page = open(SCRIPTS, { address: "/boards/b1", elements: { "board-grid": place, "board-state": state }, answers });
  return { page, state };
}

test("a board asks for its panels in the colours of the page", async () => {
  const path = "/live/boards/b1?scheme=light";
  const { page, state } = at({ [path]: { content: { version: 1, name: "empty", panels: [] } } });
  await page.window.bapoBoards.refresh();
  assert.equal(page.requests.at(-1).path, path);
  assert.match(state.textContent, /The board is empty: add a chart/);
});

test("who may only look is not told to add anything", async () => {
  const path = "/live/boards/b1?scheme=light";
  const place = { ...grid(), dataset: { board: "b1", changes: "" } };
  const { page, state } = at({ [path]: { content: { version: 1, name: "empty", panels: [] } } }, place);
  await page.window.bapoBoards.refresh();
  assert.equal(state.textContent, "The board is empty.");
});

test("a board that was deleted stays to be read, and says what it is", async () => {
  const path = "/live/boards/b1?scheme=light";
  const { page, state } = at({ [path]: { status: 404, content: { remedy: "there is no board 'b1': check the ID" } } });
  await page.window.bapoBoards.refresh();
  assert.equal(state.textContent, "Not up to date: there is no board 'b1': check the ID");
});

test("whatever asks for news meanwhile is answered by one more question", async () => {
  const path = "/live/boards/b1?scheme=light";
  const { page } = at({ [path]: { content: { version: 1, name: "empty", panels: [] } } });
  const before = page.requests.length;
  const asked = page.window.bapoBoards.refresh();
  page.window.bapoBoards.refresh();
  page.window.bapoBoards.refresh();
  await asked;
  assert.equal(page.requests.length, before + 2);
});
