// The keyboard's ways: the table of shortcuts, the palette's matching, and charts as tables.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { equal, open, ROOT } from "./page.mjs";

const SCRIPTS = ["_dialog.js", "charts_export.js", "charts_hover.js", "charts_menu.js", "charts_table.js", "charts_view.js",
  "keys.js", "palette.js", "shell.js", "time.js", "view.js"];
const inRepository = (path) => readFileSync(new URL(path, ROOT), "utf8");
const link = (href, style = { display: "flex" }) => ({ getAttribute: () => href, style });
const FIELD = { closest: () => ({}) };
const BODY = { closest: () => null };
const HIDDEN = { display: "none" };

// A page with the navigation and what else a test brings.
function opened({ elements = {}, links = [link("/new"), link("/queue")], found = {} } = {}) {
  const page = open(SCRIPTS, { elements, found: { ".shell-nav a": links, ...found } });
  const calls = [];
  page.window.bapoPalette.open = () => calls.push("palette");
  page.type = (key, more = {}) => page.press("keydown", { key, target: BODY, preventDefault() {}, ...more });
  return Object.assign(page, { calls });
}

// ---------------------------------------------------------------- shortcuts

test("every page of the navigation has a letter of its own, and the palette has the menu's entries", () => {
  const { bapoKeys: { PAGES }, bapoPalette } = opened().window;
  const shell = inRepository("frontend/shell.py");
  const navigation = [...shell.match(/^NAVIGATION[^]*?^\)/m)[0].matchAll(/\("([^"]+)", "([^"]+)"/g)].map(([, label, href]) => [label, href]);
  equal(PAGES.map(([, label, href]) => [label, href]), navigation);
  assert.equal(new Set(PAGES.map(([letter]) => letter)).size, PAGES.length);

  const menu = (text) => [...text.matchAll(/MenuItem\(\s*"([^"]+)",\s*href=served\("([^"]+)"/g)].map(([, label, href]) => [label, href]);
  const [own, administration] = shell.split("def _administration");
  equal([...bapoPalette.ACCOUNT, ["API", bapoPalette.API]], menu(own));
  equal(bapoPalette.ADMINISTRATION, menu(administration));
  assert.ok(inRepository("frontend/delivery/documents.py").includes(`START = "${bapoPalette.DOCUMENTS.replace("/documents/", "")}"`));
});

test("the document lists every shortcut, as the sheet of help does", () => {
  const { SHORTCUTS } = opened().window.bapoKeys;
  const [, keyboard] = inRepository("docs/dashboard.md").split("\n## Keyboard\n");
  const rows = [...keyboard.matchAll(/^\| `([^|]+)` \| (.+) \|$/gm)].map(([, keys, label]) => [keys, label]);
  equal(SHORTCUTS.map(({ keys, label, section }) => [keys, section === "Go to a page" ? `Go to ${label}` : label]), rows);
});

test("no key means two things in one place", () => {
  const { SHORTCUTS } = opened().window.bapoKeys;
  const places = SHORTCUTS.filter(({ act }) => act).map(({ section, keys }) => `${section} ${keys}`);
  assert.equal(new Set(places).size, places.length);
  const everywhere = SHORTCUTS.filter(({ section, act }) => act && section === "Everywhere").map(({ keys }) => keys);
  assert.ok(SHORTCUTS.every(({ section, keys }) => section === "Everywhere" || !everywhere.includes(keys)));
});

test("g and a letter open a page, within a second and a half", () => {
  const page = opened();
  page.type("g");
  page.type("q");
  page.type("q"); // Alone it is none.
  page.type("g");
  page.pass(1600);
  page.type("q");
  equal(page.propsOf("url"), [{ pathname: "/queue", search: "" }]);
});

test("what the navigation does not show to somebody is no shortcut's either", () => {
  const page = opened({ links: [link("/new", HIDDEN)] });
  page.type("n");
  page.type("g");
  page.type("q");
  equal(page.props, []);
});

test("single keys wait while somebody types, in dialogs, beside other keys, and when they are switched off", () => {
  const page = opened();
  page.type("n", { target: FIELD });
  page.type("n", { target: { isContentEditable: true } });
  for (const modifier of ["ctrlKey", "metaKey", "altKey"]) page.type("n", { [modifier]: true });
  page.type("n", { defaultPrevented: true });
  page.storage.set("bapo-single-keys", "off");
  page.type("n");
  equal(page.props, []);
  page.storage.set("bapo-single-keys", "on");
  page.type("n");
  equal(page.propsOf("url"), [{ pathname: "/new", search: "" }]);

  const covered = opened({ found: { "dialog[open], [aria-modal=true]": [{ checkVisibility: () => true }] } });
  covered.type("n");
  covered.type("k", { ctrlKey: true });
  equal([covered.props, covered.calls], [[], []]);
});

test("Ctrl+K and ⌘K open the palette anywhere; so does / where there is no field to search in", () => {
  const page = opened();
  page.storage.set("bapo-single-keys", "off");
  page.type("k", { ctrlKey: true, target: FIELD });
  page.type("K", { metaKey: true });
  assert.equal(page.calls.length, 2);
  page.type("k", { ctrlKey: true, shiftKey: true });
  page.storage.set("bapo-single-keys", "on");
  page.type("/");
  assert.equal(page.calls.length, 3);
});

test("/ selects what stands in the field above", () => {
  const done = [];
  const search = { checkVisibility: () => true, focus: () => done.push("focus"), select: () => done.push("select") };
  const page = opened({ elements: { search } });
  page.type("/", { preventDefault: () => done.push("kept from the field") });
  equal(done, ["focus", "select", "kept from the field"]);
});

test("the tabs of a run turn, over both ends, also with AltGr", () => {
  const pressed = [];
  const tab = (name, isOpen) => ({
    checkVisibility: () => true, getAttribute: () => String(isOpen), focus() {}, click: () => pressed.push(name),
  });
  const page = opened({ elements: { "run-tabs": {} }, found: { "#run-tabs [role=tab]": [tab("overview", true), tab("batch", false), tab("log", false)] } });
  page.type("]", { ctrlKey: true, altKey: true, getModifierState: () => true });
  page.type("[");
  assert.deepEqual(pressed, ["batch", "log"]);
  page.type("[", { repeat: true });
  assert.equal(pressed.length, 2);
});

// ---------------------------------------------------------------- palette

test("a label answers a text by its beginning, by the beginning of a word, or anywhere; every word counts", () => {
  const { rank } = opened().window.bapoPalette;
  assert.deepEqual(["Queue", "The queue", "Unqueue", "Runs"].map((label) => rank("queue", label)), [0, 1, 2, null]);
  assert.equal(rank("table entropy", "Table of Policy entropy"), 1);
  assert.equal(rank("table loss", "Table of Policy entropy"), null);
  assert.equal(rank("", "Runs"), 0);
  assert.equal(rank("c1=", "BAPO c1=0.25"), 1);
});

test("groups stand in the order of their best entry; the server's runs stay, by whatever it found them", () => {
  const { ranked } = opened().window.bapoPalette;
  const entries = [["This page", "Sample stop"], ["Runs", "countdown-7"], ["Pages", "Stopwatch"], ["This page", "Stop"], ["Pages", "Queue"]]
    .map(([group, label]) => ({ group, label }));
  const named = (text) => ranked(text, entries).map(([group, found]) => [group, found.map(({ label }) => label)]);
  equal(named("stop"), [["This page", ["Stop", "Sample stop"]], ["Pages", ["Stopwatch"]], ["Runs", ["countdown-7"]]]);
  equal(named("").map(([group]) => group), ["This page", "Runs", "Pages"]);
  const many = Array.from({ length: 100 }, (_, index) => ({ group: "Pages", label: `page ${index}` }));
  assert.equal(ranked("page", many)[0][1].length, 30);
});

// ---------------------------------------------------------------- charts as tables

const { bapoCharts: charts } = opened().window;
// As d3 formats, which Plotly has.
const numberFormat = (form) => (value) => (form.endsWith("%") ? `${(100 * value).toFixed(1)}%` : form === ",d" ? value.toLocaleString("en") : value.toFixed(2));
const axes = { xaxis: { title: { text: "step" } }, yaxis: { title: { text: "accuracy" } } };
const graph = (data, layout = axes, full = {}) => ({ data, layout, _fullLayout: { _d3locale: { numberFormat }, ...full } });

test("lines become rows in order, with their values as they are read at a point, and the unit in the head", () => {
  const drawn = graph([
    { name: "avg@8", x: [2, 1], y: [0.5, 0.25], customdata: [[0.4, 0.6], [0.2, 0.3]], hovertemplate: "%{y:.1%} (%{customdata[0]:.1%} to %{customdata[1]:.1%})<extra>x</extra>" },
    { name: "band", x: [1], y: [0], hoverinfo: "skip" },
    { name: "hidden", x: [1], y: [0], visible: "legendonly" },
    { name: "key", x: [null], y: [null] },
    { name: "a &lt;b&gt; <i>c</i>", x: new Float64Array([1, 10000]), y: [1234567, null] },
  ]);
  equal(charts.tablesOf(drawn), [{
    title: "", heads: ["step", "avg@8, accuracy", "a <b> c, accuracy"],
    rows: [["1", "25.0% (20.0% to 30.0%)", "1,234,567"], ["2", "50.0% (40.0% to 60.0%)", ""]], beyond: 0,
  }]);
});

test("arrays that travel as bytes are read where Plotly has decoded them", () => {
  const drawn = graph([{ name: "mean", x: { bdata: "AQI=", dtype: "i1" }, y: { bdata: "AQI=", dtype: "i1" } }]);
  drawn._fullData = [{ x: new Int8Array([1, 2]), y: new Int8Array([3, 4]) }];
  equal(charts.tablesOf(drawn)[0].rows, [["1", "3"], ["2", "4"]]);
});

test("a zoom leaves rows out, and how many is said", () => {
  const xaxis = { autorange: false, range: [2, 3], d2c: Number, r2c: Number };
  const [table] = charts.tablesOf(graph([{ name: "mean", x: [1, 2, 3, 4], y: [1, 2, 3, 4] }], axes, { xaxis }));
  equal([table.rows, table.beyond], [[["2", "2"], ["3", "3"]], 2]);
});

test("bars that lie down, and points beside names, have the names as rows", () => {
  const bars = graph([{ name: "improved 12", orientation: "h", x: [12], y: ["re-evaluated"], hovertemplate: "improved: 12 of 40<extra></extra>" }],
    { xaxis: { title: { text: "prompts" } }, yaxis: {} });
  equal(charts.tablesOf(bars)[0].rows, [["re-evaluated", "improved, 12 of 40"]]);
  const points = graph([{ x: [1.5], y: ["CD-34"], hovertemplate: "%{x:.2f} points" }], { xaxis: { title: { text: "difference" } } });
  equal(charts.tablesOf(points)[0], { title: "", heads: ["category", "difference"], rows: [["CD-34", "1.50 points"]], beyond: 0 });
});

test("each panel is a table of its own, under its title", () => {
  const layout = {
    ...axes, xaxis2: { title: { text: "step" } }, yaxis2: { title: { text: "groups" } },
    annotations: [{ name: "panel 0", xref: "paper", text: "one" }, { name: "panel 1", xref: "paper", text: "tw…", hovertext: "two &amp; more" }, { xref: "x", text: "mark" }],
  };
  const found = charts.tablesOf(graph([{ name: "B", x: [1], y: [2] }, { name: "B", x: [1], y: [3], xaxis: "x2", yaxis: "y2" }], layout));
  equal(found.map(({ title, heads }) => [title, heads]), [["one", ["step", "B, accuracy"]], ["two & more", ["step", "B, groups"]]]);
});

test("a heat map of classes is the matrix that is drawn; over training it has a row for each step", () => {
  const classes = { type: "heatmap", x: ["0/8", "8/8"], y: ["0/8", "1/8"], z: [[0.5, null], [0.25, 0]], hovertext: [["5 of 10", ""], ["1 of 4", "0 of 4"]],
    hovertemplate: "%{y} at 1 → %{x} at 2<br>%{hovertext}<extra></extra>" };
  const names = { xaxis: { title: { text: "after" } }, yaxis: { title: { text: "before" } } };
  equal(charts.tablesOf(graph([classes, { x: ["0/8"], y: ["0/8"], text: ["50"], hoverinfo: "skip" }], names))[0], {
    title: "", heads: ["before \\ after", "0/8", "8/8"], rows: [["0/8", "5 of 10", ""], ["1/8", "1 of 4", "0 of 4"]], beyond: 0,
  });
  const ages = { type: "heatmap", x: [1, 2], y: ["0", "1"], z: [[1, 0.75], [null, 0.25]], customdata: [[4, 3], [0, 1]],
    hovertemplate: "age %{y}: %{customdata:,d} groups, %{z:.1%}<extra></extra>" };
  equal(charts.tablesOf(graph([ages], { xaxis: { title: { text: "step" } }, yaxis: { title: { text: "age" } } }))[0], {
    title: "", heads: ["step", "age 0", "age 1"], rows: [["1", "4 groups, 100.0%", ""], ["2", "3 groups, 75.0%", "1 groups, 25.0%"]], beyond: 0,
  });
});

test("flows and tables are rows already; a chart without data has none", () => {
  const node = { customdata: ["step 1", "step 9"], label: ["0/8", "8/8"] };
  equal(charts.tablesOf(graph([{ type: "sankey", node, link: { source: [0], target: [1], value: [1200] } }], {}))[0].rows, [["step 1", "0/8", "step 9", "8/8", "1,200"]]);
  const cells = { values: [["BAPO", "GRPO"], [0.448, "<b>0.425</b>"]] };
  equal(charts.tablesOf(graph([{ type: "table", header: { values: ["method", "avg@8"] }, cells }], {}))[0].rows, [["BAPO", "0.448"], ["GRPO", "0.425"]]);
  equal(charts.tablesOf(graph([], {})), []);
});

test("every stop of the tour is a page of the navigation or of a run, and its document is there", () => {
  const { bapoKeys: { PAGES }, bapoTour: { STOPS } } = open(["_dialog.js", "keys.js", "tour.js"]).window;
  for (const { page, tab, document: path } of STOPS) {
    assert.ok(page === "run" || PAGES.some(([, , href]) => href === page), page);
    assert.ok(!tab || inRepository("frontend/pages/run/tabs.py").includes(`Tab("${tab}"`), tab);
    const [file, section] = path.split("#");
    const headings = [...inRepository(`docs/${file}`).matchAll(/^#+ (.+)$/gm)].map(([, text]) => text.toLowerCase().replaceAll(" ", "-"));
    assert.ok(!section || headings.includes(section), path);
  }
});
