// The frame of every page: colour scheme, search, navigation, moments, alerts, dialogs, buttons in lists.
import assert from "node:assert/strict";
import { test } from "node:test";
import { equal, NO_UPDATE, open } from "./page.mjs";

process.env.TZ = "America/New_York";

test("the scheme is the chosen one, else the system's", () => {
  const first = (scheme, kept) => {
    const page = open([], { scheme });
    if (kept) page.storage.set("mantine-color-scheme-value", kept);
    page.run("first.js");
    return page.root.get("data-mantine-color-scheme");
  };
  assert.equal(first("dark", null), "dark");
  assert.equal(first("light", null), "light");
  assert.equal(first("dark", "light"), "light");
  assert.equal(first("dark", "auto"), "dark");
});

test("the button changes the scheme and remembers it; the first drawing changes nothing", () => {
  const page = open(["shell.js"], { scheme: "dark" });
  equal(page.clientside.shell.scheme(null), ["dark", "dark"]);
  assert.equal(page.storage.size, 0);
  equal(page.clientside.shell.scheme(1), ["light", "light"]);
  assert.equal(page.storage.get("mantine-color-scheme-value"), "light");
});

test("storage may be forbidden", () => {
  const page = open(["shell.js"]);
  page.window.localStorage.setItem = () => { throw new Error("forbidden"); };
  equal(page.clientside.shell.scheme(1), ["dark", "dark"]);
});

test("the search above opens the list of runs", () => {
  const { search } = open(["shell.js"]).clientside.shell;
  assert.equal(search(null, "loss"), NO_UPDATE);
  assert.equal(search(1, "c1 & c2"), "/runs?search=c1%20%26%20c2");
  assert.equal(search(1, ""), "/runs");
});

test("the choice of a project opens its runs, and says nothing new where the address names it", () => {
  const page = open(["shell.js"], { address: "/runs?project=one" });
  const { project } = page.clientside.shell;
  assert.equal(project("one"), NO_UPDATE);
  assert.equal(project("two, too"), "/runs?project=two%252C%2520too");
  assert.equal(project(null), "/runs");
});

test("under a path the frame knows its page, marks its link and logs out there", async () => {
  const link = (href) => {
    const marks = new Map([["href", href]]);
    return {
      getAttribute: (name) => marks.get(name), setAttribute: (name, value) => marks.set(name, value),
      removeAttribute: (name) => marks.delete(name), isMarked: () => marks.get("aria-current") === "page",
    };
  };
  const [runs, queue] = ["/bapo/runs", "/bapo/queue"].map(link);
  const page = open(["shell.js"], { address: "/bapo/runs?project=one", prefix: "/bapo", found: { ".shell-nav a": [runs, queue] } });
  page.window.scrollTo = () => {};
  const { go, logout, project } = page.clientside.shell;
  assert.equal(project("one"), NO_UPDATE);
  go("/queue");
  assert.deepEqual([runs.isMarked(), queue.isMarked()], [false, true]);
  const left = [];
  page.window.location.assign = (address) => left.push(address);
  logout(1);
  await page.settled();
  assert.deepEqual(page.requests.map(({ path }) => path), ["/bapo/logout"]);
  assert.deepEqual(left, ["/bapo/login"]); // No server: to its login page.
});

test("the page's address is told without the path, and written with it", () => {
  const page = open(["_markup.js", "address.js"], { address: "/bapo/runs?x=1", prefix: "/bapo" });
  const { window } = page;
  window.dash_clientside.clean_url = (address) => address;
  const told = { current: null };
  window.React = { useRef: () => told, useLayoutEffect: (act) => act(), createElement: (name, properties) => properties };
  const set = [];
  window.bapo_elements.Location({ setProps: (address) => set.push(address) });
  equal(set.at(-1), { pathname: "/runs", search: "?x=1", href: "http://bapo.test/bapo/runs?x=1" });
  window.bapo_elements.Location({ ...set.at(-1), pathname: "/runs/r1", search: "?tab=log", setProps: (address) => set.push(address) });
  assert.equal(window.location.pathname + window.location.search, "/bapo/runs/r1?tab=log");
  assert.equal(set.at(-1).pathname, "/runs/r1");
  window.bapo_elements.Location({ ...set.at(-1), href: "/queue", setProps: (address) => set.push(address) });
  equal(set.at(-1), { pathname: "/queue", search: "", href: "http://bapo.test/bapo/queue" });
  assert.equal(window.bapo_elements.Link({ href: "/queue" }).href, "/bapo/queue");
});

test("the navigation of a phone opens and closes", () => {
  const { navbar } = open(["shell.js"]).clientside.shell;
  equal(navbar(true, { width: 220 }), { width: 220, collapsed: { mobile: false } });
  equal(navbar(false, { width: 220 }), { width: 220, collapsed: { mobile: true } });
});

test("a moment is told by its age in whole units", () => {
  const page = open(["time.js"]);
  const { age } = page.window.bapoTime;
  const ages = [0, 9.9, 10, 59, 60, 3599, 3600, 86399, 86400, 172800];
  assert.deepEqual(ages.map((seconds) => age(new Date(page.now() - 1000 * seconds))), [
    "just now", "just now", "10 seconds ago", "59 seconds ago", "1 minute ago", "59 minutes ago", "1 hour ago", "23 hours ago",
    "1 day ago", "2 days ago",
  ]);
  assert.equal(age(new Date(page.now() + 5000)), "just now"); // The server's clock may be ahead.
});

test("a moment to come is told by the time until then", () => {
  const page = open(["time.js"]);
  const { until } = page.window.bapoTime;
  const lengths = [-60, 9, 12, 3600, 86399].map((seconds) => until(new Date(page.now() + 1000 * seconds)));
  assert.deepEqual(lengths, ["now", "now", "in 12 seconds", "in 1 hour", "in 23 hours"]);
});

test("a moment's exact time is the viewer's", () => {
  const { exact } = open(["time.js"]).window.bapoTime;
  assert.equal(exact(new Date("2026-03-08T06:59:07Z")), "2026-03-08 01:59:07");
});

test("a dialog asks with what it is given, and what is final wants its word typed", () => {
  const { ask, typed } = open(["confirm.js"]).clientside.confirm;
  equal(ask(null), Array(10).fill(NO_UPDATE));
  equal(ask({ title: "Stop?", button: "Stop", text: "For good." }), [
    true, "Stop?", "", "For good.", "Stop", "red", "", { display: "none" }, "", "",
  ]);
  const final = { title: "Delete?", button: "Delete", typed: "countdown" };
  equal(ask(final).slice(6, 8), ["Type countdown to confirm", {}]);
  assert.deepEqual([typed("", final), typed(" countdown ", final), typed("", { title: "Stop?" })], [true, false, false]);
});

test("a dialog stays open with the error when its request fails", () => {
  const { answered } = open(["confirm.js"]).clientside.confirm;
  equal(answered({ error: "it is running" }, {}), [true, "it is running"]);
  equal(answered({}, {}), [false, ""]);
  equal(answered(null, {}), [NO_UPDATE, NO_UPDATE]);
});

test("a button in a list tells its store what was pressed", () => {
  const page = open(["_markup.js", "store.js"]);
  const press = (button) => page.press("click", { target: { closest: () => button } });
  press({ dataset: { storeButton: '{"store": "withdraw", "what": {"id": 7}}' } });
  press({ disabled: true, dataset: { storeButton: "{}" } });
  press(null);
  equal(page.props, [["withdraw", { data: { id: 7, at: page.now() } }]]);
});

test("a rule is previewed when typing pauses, one preview at a time", () => {
  const page = open(["alerts.js"], { elements: { "rule-preview": {} } });
  const { typed, previewing } = page.clientside.alerts;
  const previewed = () => page.propsOf("rule-typed").map(({ data }) => data);
  typed();
  page.pass(200);
  typed();
  page.pass(300);
  assert.deepEqual(previewed(), [2]);
  typed();
  page.pass(300);
  assert.deepEqual(previewed(), [2]); // The answer to the second is under way.
  previewing(false);
  assert.deepEqual(previewed(), [2, 3]);
  previewing(false);
  assert.deepEqual(previewed(), [2, 3]);
});

test("another page is asked for, and a view of the one that is open is not", () => {
  const { ask } = open(["shell.js"]).clientside.shell;
  equal(ask("/runs/1", "?tab=log", "/runs/1", null), NO_UPDATE);
  const form = { path: "/new", search: "?recipe=a" };
  equal(ask("/new", "?recipe=a", "/runs/1", null), form);
  // Back before it came: what is on its way must not take the place of the page whose address stands there.
  const back = { path: "/runs/1", search: "" };
  equal(ask("/runs/1", "", "/runs/1", form), back);
  equal(ask("/runs/1", "?tab=log", "/runs/1", back), NO_UPDATE);
  // An error instead of a page.
  equal(ask("/runs/1", "?tab=log", null, back), { path: "/runs/1", search: "?tab=log" });
});

test("what draws charts is fetched as soon as a page with charts is asked for", () => {
  const page = open(["shell.js"], { address: "/runs" });
  page.run("first.js");
  let times = 0;
  page.window.bapoPlotly = async () => { times += 1; };
  const { ask } = page.clientside.shell;
  ask("/queue", "", "/runs", null);
  assert.equal(times, 0);
  ask("/runs/1", "", "/queue", null);
  assert.equal(times, 1);
  ask("/runs/1", "?tab=log", "/runs/1", null);
  assert.equal(times, 1);
});

test("the query of some pages makes the page", () => {
  const { ask } = open(["shell.js"]).clientside.shell;
  equal(ask("/new", "?recipe=b", "/new?", null), { path: "/new", search: "?recipe=b" });
});

test("the filters of alerts stand in the address", () => {
  const page = open(["alerts.js", "view.js"], { address: "/alerts?state=all&run=r1" });
  page.clientside.alerts.filtered("open", "stalled");
  assert.equal(page.window.location.search, "?run=r1&kind=stalled");
});

test("what is new of alerts while their list is on its way is shown once it is there", async () => {
  const elements = { bell: { setAttribute() {} }, "bell-count": {} };
  const page = open(["alerts.js"], { address: "/alerts", elements, answers: { "/api/v1/alerts/summary": { content: {} } } });
  page.window.EventSource = class extends EventTarget {
    constructor() { super(); queueMicrotask(() => this.dispatchEvent(new Event("alert"))); }
  };
  page.clientside.alerts.begin();
  await page.settled();
  page.pass(500);
  equal(page.props, []);
  elements["alerts-list"] = {};
  page.pass(100);
  equal(page.props.map(([id]) => id), ["alerts-poke"]);
  page.pass(1000);
  assert.equal(page.props.length, 1);
});

test("the bell says how many alerts are open, and in how many runs", async () => {
  const bell = (open_, runs) => {
    const elements = { bell: { setAttribute(name, value) { this[name] = value; } }, "bell-count": {} };
    const page = open(["alerts.js"], { elements, answers: { "/api/v1/alerts/summary": { content: { num_open: open_, num_runs: runs } } } });
    page.window.EventSource = class extends EventTarget {
      constructor() { super(); queueMicrotask(() => this.dispatchEvent(new Event("open"))); }
    };
    page.clientside.alerts.begin();
    return page.settled().then(() => { page.pass(300); return page.settled(); }).then(() => [elements["bell-count"].textContent, elements.bell.title]);
  };
  assert.deepEqual(await bell(0, 0), ["", "No open alerts"]);
  assert.deepEqual(await bell(1, 1), [1, "1 open alert in 1 run"]);
  assert.deepEqual(await bell(120, 3), ["99+", "120 open alerts in 3 runs"]);
});
