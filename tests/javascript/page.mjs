// A page without a browser: scripts of the dashboard run in a context of their own, with an address, a clock and a storage
// that tests can see, and with no elements but those that a test brings. What elements do is for tests/browser.
import assert from "node:assert/strict";
import { globSync, readdirSync, readFileSync } from "node:fs";
import vm from "node:vm";

export const ROOT = new URL("../../", import.meta.url);
const ASSETS = new URL("frontend/assets/", ROOT);
// Before those of the dashboard, in this order (bapo/report/document.py).
const REPORT = new URL("bapo/report/assets/", ROOT);
const OF_REPORTS = ["files.js", "paper.js"];

export const NO_UPDATE = "no update";

const pathOf = (name) => new URL(name, OF_REPORTS.includes(name) ? REPORT : ASSETS);

export const assetNames = () => [...OF_REPORTS, ...readdirSync(ASSETS).filter((name) => name.endsWith(".js")).toSorted()];

export const sourceOf = (name) => readFileSync(pathOf(name), "utf8");

// The Python of all pages and of reports.
export const pages = () => globSync(["frontend/**/*.py", "bapo/report/*.py"], { cwd: ROOT }).map((path) => readFileSync(new URL(path, ROOT), "utf8")).join("\n");

// Values of a page have that page's own Object and Array: they are compared by what they hold.
export const equal = (actual, expected) => assert.deepEqual(structuredClone(actual), expected);

// `elements`: by id. `found`: what querySelectorAll answers, by selector. `answers`: of the server, by path.
// `ofTab`: the tab's storage, which outlives a page. `prefix`: the path under which a proxy serves the dashboard.
export function open(scripts, { address = "/", elements = {}, found = {}, answers = {}, prefix = "", width = 1200, scheme = "light", ofTab = new Map() } = {}) {
  const target = new EventTarget();
  const told = new EventTarget();
  const timers = [];
  let now = Date.UTC(2026, 2, 14, 9, 26, 53);
  const page = { props: [], requests: [], steps: [] };

  const location = new URL(address, "http://bapo.test");
  location.reload = () => page.steps.push("reload");
  const visit = (kind) => (_state, _title, path) => {
    location.href = new URL(path, location).href;
    page.steps.push(kind);
  };

  function later(act, wait, every = null) {
    timers.push({ act, at: now + (wait || 0), every });
    return timers.at(-1);
  }
  const cancel = (timer) => { if (timers.includes(timer)) timers.splice(timers.indexOf(timer), 1); };

  const storage = new Map();
  const storageOf = (kept) => ({
    getItem: (key) => kept.get(key) ?? null, setItem: (key, value) => kept.set(key, value), removeItem: (key) => kept.delete(key),
  });
  const root = new Map([["data-mantine-color-scheme", scheme]]);
  const window = {
    document: {
      addEventListener: told.addEventListener.bind(told),
      getElementById: (id) => elements[id] ?? null,
      querySelector: (selector) => found[selector]?.[0] ?? null,
      querySelectorAll: (selector) => found[selector] ?? [],
      currentScript: { dataset: { plotly: "/plotly.js", prefix } },
      documentElement: {
        getAttribute: (name) => root.get(name) ?? null,
        setAttribute: (name, value) => root.set(name, value),
        hasAttribute: () => false,
        classList: { toggle() {} },
      },
    },
    dash_clientside: {
      no_update: NO_UPDATE,
      set_props: (id, props) => page.props.push([id, props]),
      callback_context: { triggered: [], triggered_id: undefined },
    },
    dash_component_api: { getLayout: (id) => ({ props: Object.assign({}, ...page.propsOf(id)) }) },
    async fetch(path, options = {}) {
      page.requests.push({ path, ...options });
      if (!(path in answers)) throw new TypeError("no server");
      const { status = 200, content = {} } = answers[path];
      return { ok: status < 400, status, statusText: `status ${status}`, json: async () => content, text: async () => JSON.stringify(content) };
    },
    localStorage: storageOf(storage), sessionStorage: storageOf(ofTab),
    history: { state: null, pushState: visit("push"), replaceState: visit("replace") },
    MutationObserver: class { observe() {} },
    IntersectionObserver: class { observe() {} },
    ResizeObserver: class { observe() {} disconnect() {} },
    PopStateEvent: class extends Event {},
    getComputedStyle: ({ style }) => style,
    matchMedia: () => ({ matches: scheme === "dark", addEventListener() {} }),
    addEventListener: target.addEventListener.bind(target),
    dispatchEvent: target.dispatchEvent.bind(target),
    setTimeout: (act, wait) => later(act, wait),
    setInterval: (act, wait) => later(act, wait, wait),
    requestAnimationFrame: (act) => later(act, 16),
    clearTimeout: cancel,
    clearInterval: cancel,
    CSS: { escape: (text) => text },
    performance: { now: () => now },
    innerWidth: width,
    location, CustomEvent, Event, URL, URLSearchParams,
  };
  window.window = window;
  window.bapoPrefix = prefix;
  const context = vm.createContext(window);
  window.now = () => now;
  vm.runInContext("Date.now = now;", context);
  const run = (name) => vm.runInContext(sourceOf(name), context, { filename: pathOf(name).href });
  for (const name of ["files.js", "_base.js", ...scripts]) run(name);

  return Object.assign(page, {
    run,
    window, storage, root,
    clientside: window.dash_clientside,
    now: () => now,
    // What the scripts set of a component, oldest first.
    propsOf: (id) => page.props.filter(([each]) => JSON.stringify(each) === JSON.stringify(id)).map(([, props]) => props),
    // Until every answer that is there has been taken.
    settled: () => new Promise((done) => { setImmediate(done); }),
    triggered(id) {
      Object.assign(window.dash_clientside.callback_context, { triggered_id: id, triggered: [{ prop_id: `${id}.value` }] });
    },
    on: (name, listener) => target.addEventListener(name, listener),
    fire: (name, detail) => target.dispatchEvent(new CustomEvent(name, { detail })),
    press: (type, properties) => told.dispatchEvent(Object.defineProperties(new Event(type), Object.fromEntries(
      Object.entries(properties).map(([key, value]) => [key, { value }]),
    ))),
    pass(ms) {
      const end = now + ms;
      for (;;) {
        const next = timers.filter(({ at }) => at <= end).toSorted((a, b) => a.at - b.at)[0];
        if (!next) break;
        now = Math.max(now, next.at);
        if (next.every) next.at += next.every;
        else cancel(next);
        next.act();
      }
      now = end;
    },
  });
}
