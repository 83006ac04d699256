// The run list: filters and their address, columns, and what can be done to the runs that are chosen.
import assert from "node:assert/strict";
import { test } from "node:test";
import { equal, open } from "./page.mjs";

process.env.TZ = "America/New_York";

const SCRIPTS = ["runs.js", "runs_bulk.js", "runs_columns.js", "runs_filters.js", "runs_groups.js", "runs_picker.js", "runs_story.js", "runs_trash.js", "view.js"];
const PRESETS = { all: [], active: ["queued", "starting", "running"] };

function list(options = {}) {
  const page = open(SCRIPTS, { address: "/runs", ...options });
  const { bapoRuns: runs } = page.window;
  const filter = (filters, widths = {}) => page.clientside.runs.filtered(
    ...Object.values(filters), { controls: Object.fromEntries(Object.keys(filters).map((name) => [name, `filter-${name}`])), presets: PRESETS, widths },
  );
  return { page, runs, filter, search: () => page.window.location.search };
}

test("filters are written into the address in words", () => {
  const { filter, search } = list();
  filter({ search: "c1 up", method: ["bapo", "grpo"], starred: true, archived: "hidden", min_step: 10, min_best: 12.5 });
  assert.equal(search(), "?search=c1+up&method=bapo,grpo&starred=yes&min_step=10&min_best=0.125");
});

test("a day is the viewer's, and the server is asked for its moment", () => {
  const { runs, filter, search } = list();
  filter({ created_after: "2026-03-08T00:00:00" });
  assert.equal(search(), "?created_after=2026-03-08");
  assert.equal(runs.parameters().get("created_after"), "2026-03-08T05:00:00.000Z"); // Midnight in New York.
});

test("states of a quick choice are written as the choice", () => {
  const { page, filter, search } = list();
  filter({ status: ["running", "queued", "starting"] });
  assert.equal(search(), "?status=active");
  equal(page.propsOf("runs-status").at(-1), { value: "active" });
  filter({ status: ["running"] });
  assert.equal(search(), "?status=running");
  equal(page.propsOf("runs-status").at(-1), { value: "" });
});

test("an address becomes the same filters again", () => {
  const { runs, filter } = list();
  filter({ tag: [] }); // Brings the quick choices.
  const read = (text) => runs.filtersOf(new URLSearchParams(text));
  equal(read("status=active&tag=a%2Cb,c&starred=yes&archived=only&created_before=2026-12-24&max_step=50&max_best=0.5"), {
    status: ["queued", "running", "starting"], tag: ["a", "b", "c"], starred: true, archived: "only",
    created_before: "2026-12-24T05:00:00.000Z", max_step: 50, max_best: 0.5,
  });
});

test("a tag with a comma survives the address", () => {
  const { runs, filter, search } = list();
  filter({ tag: ["a,b", "c"] });
  equal(runs.filtersOf(new URLSearchParams(search())), { tag: ["a,b", "c"] });
});

test("what an address says wrongly narrows nothing", () => {
  equal(list().runs.filtersOf(new URLSearchParams("min_step=many&created_after=spring&archived=hidden&search=&starred=no&color=red")), {});
});

test("filters are asked for one by one, with the order", () => {
  const { runs, filter } = list();
  filter({ method: ["grpo", "bapo"], search: "loss" });
  assert.equal(runs.parameters().toString(), "search=loss&method=bapo&method=grpo&sort=-created_at");
});

test("each letter of a search is asked for at once, and the newest text once the answer is there", async () => {
  const field = { id: "runs-search", value: "" };
  const elements = { "runs-search": field, "runs-grid-box": null };
  const { page, runs, search } = list({ elements });
  const answers = [];
  Object.assign(runs, { changed: () => { runs.writeAddress(); return new Promise((done) => { answers.push(done); }); } });
  Object.assign(runs.state, { api: { getColumnState: () => [] } });
  const type = (value) => {
    field.value = value;
    page.press("input", { target: field });
  };
  type(" l");
  assert.equal(search(), "?search=l");
  type(" lo");
  type(" los");
  assert.equal(search(), "?search=l");
  answers.pop()();
  await page.settled();
  assert.equal(search(), "?search=los");
  assert.equal(answers.length, 1); // Nobody asked for "lo".
  answers.pop()();
  await page.settled();
  type("");
  assert.equal(search(), "");
});

test("the first rows are asked for before the page is there, unless it says what they are", async () => {
  const asked = async (address) => {
    const { page } = list({ address });
    await page.settled();
    return page.requests.map(({ path }) => path);
  };
  equal(await asked("/runs"), ["/live/runs?sort=-created_at&offset=0&limit=50"]);
  equal(await asked("/runs?sort=name&search=loss"), ["/live/runs?search=loss&sort=name&offset=0&limit=50"]);
  equal(await asked("/runs?status=failed"), []);
  equal(await asked("/runs?view=v1"), []);
  equal(await asked("/runs/r1"), []);
});

test("the list that the search above opens shows in its field, as filters of other links do", async () => {
  const { page, runs } = list({ address: "/runs?search=loss&sort=name" });
  await runs.restore();
  assert.equal(runs.state.sort, "name");
  equal(runs.state.filters, { search: "loss" });
  equal(page.propsOf("runs-filter-count").at(-1), { children: "" }); // The search has a field of its own.
});

test("a saved view brings filters, order and columns, until somebody changes one of them", async () => {
  const view = { id: "v1", name: "Best", filters: { method: ["bapo"] }, sort: "-best", columns: ["name", "best"] };
  const { page, runs, filter, search } = list({ address: "/runs?view=v1", answers: { "/api/v1/views/v1": { content: view } } });
  await runs.restore();
  equal([runs.state.view, runs.state.filters, runs.state.sort, runs.state.columns], [
    { id: "v1", name: "Best" }, { method: ["bapo"] }, "-best", ["name", "best"],
  ]);
  equal(page.propsOf("runs-view-name").at(-1), { children: ": Best" });
  filter({ starred: true });
  assert.equal(search(), "?sort=-best&method=bapo&starred=yes");
});

function columns(options, { widths, ...state } = {}) {
  const { page, runs, filter } = list(options);
  filter({}, widths);
  const applied = [];
  Object.assign(runs.state, state, {
    api: { applyColumnState: (change) => applied.push(change.state), getColumnState: () => applied.at(-1), isDestroyed: () => false },
  });
  runs.restoreColumns();
  const shown = (change) => change.filter(({ hide }) => !hide).map(({ colId }) => colId);
  return { page, runs, applied, shown: () => shown(applied.at(-1)) };
}

const WIDTHS = { name: 0, status: 0, best: 900, owner: 1400, notes: null };
const BOX = "ag-Grid-SelectionColumn";

test("a window shows the columns that it is wide enough for", () => {
  equal(columns({ width: 1399 }, { widths: WIDTHS }).shown(), [BOX, "name", "status", "best"]);
  equal(columns({ width: 1400 }, { widths: WIDTHS }).shown(), [BOX, "name", "status", "best", "owner"]);
  equal(columns({ width: 400 }, { widths: WIDTHS }).shown(), [BOX, "name", "status"]);
});

test("a view's columns come in its own order, the name first where it says nothing of it", () => {
  equal(columns({}, { widths: WIDTHS, columns: ["owner", "gone", "best"] }).shown(), [BOX, "name", "owner", "best"]);
});

test("columns that somebody chose are remembered by the server, for narrow windows apart from wide ones", () => {
  const first = columns({ width: 1200 }, { widths: WIDTHS });
  first.applied.push([{ colId: "name", width: 300, hide: false }, { colId: "owner", width: 90, hide: false }]);
  first.runs.columnsChanged({ source: "uiColumnMoved", finished: true });
  first.page.pass(1_000);
  const { path, body } = first.page.requests.at(-1);
  assert.equal(path, "/api/v1/account/run-list");
  equal(JSON.parse(body).wide.columns, [{ name: "name", width: 300 }, { name: "owner", width: 90 }]);
  first.runs.restoreColumns();
  equal(first.shown(), [BOX, "name", "owner"]);
  first.page.window.innerWidth = 500;
  first.runs.restoreColumns();
  equal(first.shown(), [BOX, "name", "status"]);
});

test("what somebody chose just before leaving holds on arrival, though the server does not know it yet", async () => {
  const ofTab = new Map();
  const sort = (runs) => {
    runs.state.sort = "-best";
    runs.rememberSort();
  };
  sort(columns({ ofTab }, { widths: WIDTHS }).runs);
  const { page, runs } = columns({ ofTab, answers: { "/api/v1/account/run-list": {} } }, { widths: WIDTHS });
  runs.restoreLayouts({});
  assert.equal(runs.rememberedSort(), "-best");
  equal(JSON.parse(page.requests.at(-1).body).wide, { sort: "-best" });
  await page.settled();
  assert.equal(ofTab.size, 0); // Saved: from now on the page brings it.
});

test("a change made while an older one is being saved is kept until it is saved too", async () => {
  const ofTab = new Map();
  const { page, runs } = columns({ ofTab, answers: { "/api/v1/account/run-list": {} } }, { widths: WIDTHS });
  runs.state.sort = "name";
  runs.rememberSort();
  page.pass(1_000);
  runs.state.sort = "-best";
  runs.rememberSort();
  await page.settled();
  equal(JSON.parse(ofTab.get("bapo-run-list-unsaved")).wide, { sort: "-best" });
});

test("a config field gets a column when it is chosen, and its values are asked for with the rows", () => {
  const { runs, applied, shown } = columns({}, { widths: WIDTHS });
  const made = [];
  let fetched = 0;
  Object.assign(runs.state.api, {
    getColumnDefs: () => [], setGridOption: (_, definitions) => made.push(...definitions), refreshInfiniteCache: () => { fetched += 1; },
  });
  runs.chooseColumns(["name", "config.method.c1"]);
  equal(shown(), [BOX, "name", "config.method.c1"]);
  assert.deepEqual(made.map(({ colId, headerName }) => [colId, headerName]), [["config.method.c1", "method.c1"]]);
  assert.equal(made[0].valueGetter({ data: { "config.method.c1_text": "0.25" } }), "0.25");
  assert.deepEqual(runs.parameters().getAll("columns"), ["config.method.c1"]);
  assert.equal(fetched, 1);
  assert.ok(applied.length);
});

test("a condition on any column stands in the address, and comes back from it", () => {
  const { runs, filter, search } = list();
  filter({ tag: [] });
  runs.filterBy({ where: ["config.method.c1 >= 0.25", "name ~ a, b"] });
  equal(runs.filtersOf(new URLSearchParams(search())), { where: ["config.method.c1 >= 0.25", "name ~ a, b"] });
  assert.deepEqual(runs.parameters().getAll("where"), ["config.method.c1 >= 0.25", "name ~ a, b"]);
});

test("what is in the trash can only be restored or deleted for good", () => {
  const { isPossible, possible } = list().runs;
  const actions = (run) => Object.keys(possible).filter((action) => isPossible(action, run));
  assert.deepEqual(actions({ status: "failed", is_trashed: true }), ["restore", "purge"]);
  assert.ok(!actions({ status: "failed" }).includes("restore"));
});

test("the order stands at its column", () => {
  const { applied } = columns({}, { widths: WIDTHS, sort: "-best" });
  equal(applied[0].filter(({ sort }) => sort).map(({ colId, sort }) => [colId, sort]), [["best", "desc"]]);
});

// A table that shows one run, which is chosen, and a server whose list holds what became of it.
async function showing(row, later) {
  const everywhere = new Proxy({}, { has: () => true, get: () => ({ content: { rows: [{ ...row, ...later }], total: 1 } }) });
  const { page, runs } = list({ answers: everywhere });
  page.window.bapoLive = { answered() {}, note() {} };
  await page.settled();
  page.requests.length = 0;
  const node = { id: row.id, data: row, setData: (data) => { node.data = data; } };
  const api = {
    getSelectedNodes: () => [node], getRowNode: () => node, getDisplayedRowAtIndex: () => node, isDestroyed: () => false,
    getFirstDisplayedRowIndex: () => 0, getLastDisplayedRowIndex: () => 0,
  };
  Object.assign(runs.state, { api, total: 1, box: { classList: { remove() {} } } });
  Object.assign(runs, { showStory() {}, followStory() {}, fitHeight() {} });
  runs.selectionChanged();
  const isShown = (action) => page.propsOf({ type: "runs-bulk", action }).at(-1)?.style.display !== "none";
  return { page, runs, node, isShown };
}

test("what can be done to the chosen runs follows them as they change", async () => {
  const row = { id: "r1", name: "a", status: "running" };
  const { runs, isShown } = await showing(row, { status: "failed" });
  assert.deepEqual(["stop", "delete"].map(isShown), [true, false]);
  await runs.refresh();
  assert.deepEqual(["stop", "delete"].map(isShown), [false, true]);
});

test("rows asked for while others are on their way are asked for after them", async () => {
  const row = { id: "r1", name: "a", status: "failed" };
  const { page, runs, node } = await showing(row, { is_starred: true });
  runs.refresh();
  const [second, third] = [runs.refresh(), runs.refresh()];
  assert.equal(page.requests.length, 1);
  await Promise.all([second, third]);
  assert.equal(page.requests.length, 2);
  assert.equal(node.data.is_starred, true);
  assert.equal(runs.state.refreshing, null);
});

test("only what a run's state allows can be done to it", () => {
  const { possible } = list().runs;
  const actions = (run) => Object.keys(possible).filter((action) => possible[action](run)).toSorted();
  assert.deepEqual(actions({ status: "running" }), ["pause", "star", "stop", "tag", "untag"]);
  assert.deepEqual(actions({ status: "paused", is_starred: true }), ["archive", "resume", "stop", "tag", "unstar", "untag"]);
  assert.deepEqual(actions({ status: "failed", is_archived: true }), ["delete", "star", "tag", "unarchive", "untag"]);
});

test("sizes are written as the server writes them", () => {
  const { size } = list().runs;
  assert.deepEqual([0, 999, 1000, 99_949_999, 99_950_000, 1.25e9, 99.95e9].map(size), [
    "0\u2009B", "999\u2009B", "1\u2009kB", "99.9\u2009MB", "100\u2009MB", "1.3\u2009GB", "100\u2009GB",
  ]);
});

const going = (changes = {}) => ({
  run_id: "r1", refusal: null, num_steps: 0, num_samples: 0, num_checkpoints: 0, num_artifacts: 0, children: [], waiting_forks: [], ...changes,
});

test("before runs are deleted it is said what goes with them and what stays", () => {
  const { consequence } = list().runs;
  assert.equal(consequence({ items: [going()], num_bytes: 0 }), "1 run is deleted for good and for everybody, with folders and journals.");
  const items = [
    going({ num_steps: 1, num_checkpoints: 2, children: ["r2", "r9"] }), going({ run_id: "r2", num_steps: 1499, waiting_forks: ["r9"] }),
    going({ run_id: "r3", refusal: "it is running" }),
  ];
  assert.equal(
    consequence({ items, num_bytes: 2.5e6 }),
    "2 runs with 1,500 steps, 2 checkpoints (2.5\u2009MB in total) are deleted for good and for everybody, with folders and journals. " +
      "1 run stays: it is running. 1 run cloned or forked from them stays. " +
      "Folders whose checkpoint a fork still needs stay until it has started.",
  );
});

test("what leaves the list as it is filtered is chosen no longer", () => {
  const { leaves } = list().runs;
  assert.deepEqual([leaves.archive({}), leaves.archive({ archived: "shown" }), leaves.unarchive({ archived: "only" })], [true, false, true]);
  assert.deepEqual([leaves.unstar({}), leaves.unstar({ starred: true }), leaves.delete({})], [false, true, true]);
  assert.deepEqual([leaves.untag({ tag: ["a"] }, "a"), leaves.untag({ tag: ["a"] }, "b"), leaves.untag({}, "a")], [true, false, false]);
  assert.deepEqual([leaves.pause({}), leaves.stop({ status: ["running"] })], [false, true]);
});

const rewards = (values) => ({ steps: values.map((_, index) => index + 1), columns: { "critic/rewards/mean": values } });

test("rows that are drawn together ask once for their lines, and again when a run has come further", async () => {
  const query = "keys=critic%2Frewards%2Fmean&max_points=40";
  const page = open(["runs_trend.js"], {
    answers: {
      [`/api/v1/metrics?run=a&run=b&${query}`]: { content: { series: { a: rewards([0.25, null, 0.5]), b: rewards([]) } } },
      [`/api/v1/metrics?run=a&${query}`]: { content: { series: { a: rewards([0.25, null, 0.5, 0.75]) } } },
    },
  });
  const { valuesOf } = page.window.bapoTrend;
  const drawn = [valuesOf("a", "10"), valuesOf("b", "10"), valuesOf("a", "10")];
  page.pass(50);
  equal(await Promise.all(drawn), [[0.25, 0.5], [], [0.25, 0.5]]);
  const further = valuesOf("a", "11");
  page.pass(50);
  equal(await further, [0.25, 0.5, 0.75]);
  assert.equal(page.requests.length, 2);
});

test("a line that could not be fetched is asked for by the next row", async () => {
  const page = open(["runs_trend.js"]);
  const { valuesOf } = page.window.bapoTrend;
  for (const requests of [1, 2]) {
    const values = valuesOf("a", "10");
    page.pass(50);
    equal(await values, []);
    assert.equal(page.requests.length, requests);
  }
});

test("a line reaches from edge to edge, its least value at the bottom", () => {
  const { corners } = open(["runs_trend.js"]).window.bapoTrend;
  assert.equal(corners([0.2, 0.6, 0.4]), "2.0,20.0 44.0,2.0 86.0,11.0");
  assert.equal(corners([0.3, 0.3]), "2.0,11.0 86.0,11.0");
});
