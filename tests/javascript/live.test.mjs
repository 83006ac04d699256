// A run page as the run goes on: what is asked for, how often, and what becomes of late answers.
import assert from "node:assert/strict";
import { test } from "node:test";
import { equal, NO_UPDATE, open } from "./page.mjs";

const SCRIPTS = [
  "charts_export.js", "charts_hover.js", "charts_menu.js", "charts_view.js", "live.js", "live_charts.js", "live_connection.js",
  "live_head.js", "view.js",
];
const NEWS = { progress: {}, tiles: null };

function watching(answers = {}) {
  const page = open(SCRIPTS, { address: "/runs/r1", elements: { "run-tiles": { querySelector: () => null } }, answers });
  page.window.innerHeight = 800;
  page.window.bapoLive.begin("/api/v1/runs/r1/events", "r1");
  return page;
}
const FIRST = "/live/runs/r1?scheme=light&tiles=1";
const EARLY = "/live/runs/r1/charts?tab=overview&x=step&smooth=auto&scheme=light";
const asked = (page) => page.requests.map(({ path }) => path).filter((path) => path !== EARLY);

test("many events are one question", async () => {
  const page = watching({ [FIRST]: { content: NEWS } });
  for (let event = 0; event < 5; event += 1) page.window.bapoLive.note();
  page.pass(250);
  await page.settled();
  assert.deepEqual(asked(page), [FIRST]);
});

test("the next question waits for the answer, and tiles for three seconds", async () => {
  const page = watching({ [FIRST]: { content: NEWS }, "/live/runs/r1?scheme=light": { content: NEWS } });
  const { note } = page.window.bapoLive;
  note();
  page.pass(0);
  note();
  page.pass(1000);
  assert.equal(asked(page).length, 1);
  await page.settled();
  page.pass(300);
  await page.settled();
  assert.deepEqual(asked(page), [FIRST, "/live/runs/r1?scheme=light"]);
});

test("a server that does not answer is asked every two seconds", async () => {
  const page = watching();
  page.window.bapoLive.note();
  page.pass(0);
  await page.settled();
  page.pass(1999);
  assert.equal(asked(page).length, 1);
  page.pass(1);
  assert.equal(asked(page).length, 2);
});

test("an answer for a run that was left changes nothing", async () => {
  const page = watching({ [FIRST]: { content: { ...NEWS, reload: true } } });
  page.window.bapoLive.note();
  page.pass(0);
  page.window.bapoLive.begin("/api/v1/runs/r2/events", "r2");
  await page.settled();
  equal(page.propsOf("run-reload"), []);
});

test("what is appended is asked for as the charts are looked at", () => {
  const { viewQuery } = watching().window.bapoLive;
  equal(viewQuery({ charts: ["a", "b"], x: "time", smooth: "9", axes: { b: "step" }, steps: "3..9" }), {
    charts: "a,b", x: "time", smooth: "9", axes: "b:step", steps: "3..9",
  });
  equal(viewQuery({ charts: ["a"], x: "step", smooth: "auto", axes: {}, steps: null }), { charts: "a", x: "step", smooth: "auto" });
});

// A page whose charts are drawn up to step 40, and what its stream tells.
function drawnUpTo40(answers, elements = {}) {
  const page = open(SCRIPTS, {
    address: "/runs/r1", answers,
    elements: { "run-tiles": { querySelector: () => null }, "charts-grid": {}, connection: {}, ...elements },
  });
  page.window.innerHeight = 800;
  page.window.EventSource = class extends EventTarget {
    constructor() { super(); page.stream = this; }
    close() {}
  };
  page.clientside.live.connect({ url: "/api/v1/runs/r1/events", after: 7 }, "r1");
  Object.assign(page.window.bapoLive.state, { run: "r1", view: { charts: ["a"], x: "step", smooth: "auto", axes: {} }, until: 40 });
  page.tell = (type) => page.stream.dispatchEvent(new Event(type));
  return page;
}
const AFTER_40 = "/live/runs/r1?scheme=light&tiles=1&after=40&charts=a&x=step&smooth=auto&rebuild=1";

test("an evaluation or a tracking asks for its charts, and redraws nothing else", async () => {
  for (const type of ["evaluation", "tracking"]) {
    const page = drawnUpTo40({});
    page.tell(type);
    page.pass(0);
    await page.settled();
    assert.deepEqual(asked(page), [`${AFTER_40}&recorded=1`]);
    equal(page.propsOf("run-reload"), []);
  }
});

test("who has heard of an event says so, and no longer on another run's page", async () => {
  const page = drawnUpTo40({});
  page.stream.dispatchEvent(Object.assign(new Event("step"), { lastEventId: "1741" }));
  page.pass(0);
  await page.settled();
  assert.deepEqual(asked(page), [AFTER_40.replace("scheme=light", "scheme=light&heard=1741")]);
  page.clientside.live.connect({ url: "/api/v1/runs/r2/events", after: 1750 });
  assert.equal(page.window.bapoLive.state.heard, null);
});

test("an evaluation whose answer is lost is asked for again", async () => {
  const page = drawnUpTo40({});
  page.tell("evaluation");
  page.pass(0);
  await page.settled();
  page.pass(2000);
  assert.ok(asked(page)[1].endsWith("&recorded=1"), asked(page)[1]);
});

test("where the page has more than charts, and with other events, it is told anew", async () => {
  for (const [type, elements] of [["tracking", { "migration-section": {} }], ["status", {}], ["alert", {}], ["event", {}]]) {
    const page = drawnUpTo40({}, elements);
    page.tell(type);
    page.pass(0);
    await page.settled();
    equal(page.propsOf("run-reload"), [{ data: 1 }], type);
  }
});

const outputs = (...names) => [names.map((name) => ({ id: { name } }))];

test("whole figures say how many steps they leave out", () => {
  const page = watching();
  page.clientside.callback_context.outputs_list = outputs("a", "b");
  const figure = { data: [], layout: {} };
  const data = {
    run: "r1", until: 5000, view: {}, figures: { a: figure, b: figure }, empty: { b: "Nothing yet." }, notes: { a: [1500, 5000] }, problem: null,
  };
  const [, states, notes, until] = page.clientside.live.drawn(data, ["chart-card loading", "chart-card ready"]);
  equal(states, ["chart-card ready", "chart-card empty"]);
  equal(notes, ["1,500 of 5,000 steps, every peak", ""]);
  assert.equal(until, 5000);
});

test("figures of another run, or of a tab that was left, come too late", () => {
  const page = watching();
  page.clientside.callback_context.outputs_list = outputs("a");
  const late = [[NO_UPDATE], [NO_UPDATE], [NO_UPDATE], null];
  equal(page.clientside.live.drawn({ run: "r2", figures: { a: {} } }, [""]), late);
  equal(page.clientside.live.drawn({ run: "r1", figures: { b: {} } }, [""]), late);
});

test("where the server refuses, its words stand at the charts, and news ask again", () => {
  const page = watching();
  page.clientside.callback_context.outputs_list = outputs("a");
  equal(page.clientside.live.drawn({ run: "r1", problem: "too many points" }, [""]), [[NO_UPDATE], [NO_UPDATE], ["too many points"], null]);
  assert.equal(page.window.bapoLive.state.reload, true);
});

function streaming() {
  const label = {};
  const banner = { classList: { toggle: (_, is) => { banner.shown = is; } } };
  const page = open(SCRIPTS, { address: "/runs/r1", elements: { connection: label, "connection-banner": banner } });
  const streams = [];
  page.window.EventSource = class extends EventTarget {
    constructor(url) { super(); Object.assign(this, { url, readyState: 0 }); streams.push(this); }
    close() { this.readyState = 2; }
  };
  page.window.EventSource.CLOSED = 2;
  return { page, label, banner, streams };
}

const VIEW = { tab: "overview", charts: ["a"], x: "step", smooth: "auto", axes: {}, steps: null };
const LATE = "/live/runs/r1/charts?charts=a&x=step&smooth=auto&scheme=light";
const drawnWith = (known, ...given) => {
  const page = watching({ [EARLY]: { content: known }, [LATE]: { content: { figures: { a: 2 } } } });
  return page.settled().then(() => page.clientside.live.draw(...given)).then((answer) => [answer, asked(page)]);
};

test("charts that were asked for before the page was there are not asked for again", async () => {
  const known = { event: 7, figures: { a: 1, b: 1 } };
  const [answer, requests] = await drawnWith(known, VIEW, "light", 0, "r1", { after: 7 });
  equal(answer, { run: "r1", view: VIEW, ...known });
  assert.deepEqual(requests, []);
});

test("charts that are older than the page, other ones and another look are asked for", async () => {
  const source = { after: 7 };
  for (const known of [{ event: 6, figures: { a: 1 } }, { event: 7, figures: { b: 1 } }, { problem: "no" }]) {
    const [answer, requests] = await drawnWith(known, VIEW, "light", 0, "r1", source);
    equal(answer, { run: "r1", view: VIEW, figures: { a: 2 } });
    assert.deepEqual(requests, [LATE]);
  }
  const [, requests] = await drawnWith({ event: 7, figures: { a: 1 } }, VIEW, "dark", 0, "r1", source);
  assert.deepEqual(requests, [LATE.replace("light", "dark")]);
});

test("the stream begins after the newest event that the page has, later ones with how the run stands", () => {
  const { page, streams } = streaming();
  const source = { url: "/api/v1/runs/r1/events", after: 41 };
  assert.equal(page.clientside.live.connect(source), "open");
  assert.equal(streams[0].url, "/api/v1/runs/r1/events?after=41");
  assert.equal(page.clientside.live.connect(source), "kept");
  assert.equal(page.clientside.live.connect(null), "none");
  assert.equal(streams[0].readyState, 2);
});

test("while the stream is lost the page says since when", () => {
  const { page, label, banner, streams } = streaming();
  page.clientside.live.connect({ url: "/api/v1/runs/r1/events", after: null });
  assert.deepEqual([label.textContent, banner.shown], ["Live", false]);
  streams[0].dispatchEvent(new Event("error"));
  page.pass(125_000);
  assert.deepEqual([label.textContent, banner.shown], ["Offline", true]);
  assert.match(banner.textContent, /^Connection lost 2 m 5 s ago\. /);
  streams[0].dispatchEvent(new Event("open"));
  assert.deepEqual([label.textContent, banner.shown], ["Live", false]);
  assert.equal(page.window.bapoLive.state.reload, true);
});
