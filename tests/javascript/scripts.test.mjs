// What holds for every script of the dashboard.
import assert from "node:assert/strict";
import { test } from "node:test";
import { assetNames, open, pages, sourceOf } from "./page.mjs";

const BEFORE_ALL = ["first.js", "files.js", "_base.js"];

test("every script is one function in strict mode", () => {
  for (const name of assetNames()) {
    assert.match(sourceOf(name), /^(\/\/.*\n)+\(function \(\) \{\n {2}"use strict";\n/, name);
    assert.ok(sourceOf(name).endsWith("\n})();\n"), name);
  }
});

test("scripts load one after another in the order of their names, as Dash loads them", () => {
  const { window } = open(assetNames().filter((name) => !BEFORE_ALL.includes(name)));
  for (const name of ["bapo", "bapoView", "bapoCharts", "bapoLive", "bapoRuns", "bapoGroups", "bapoPaper"]) assert.ok(window[name], name);
});

// Behind a proxy the dashboard may be served under a path, which only these two add and take off.
test("scripts name addresses by way of served and here", () => {
  for (const name of assetNames()) {
    const script = sourceOf(name);
    const asked = [...script.matchAll(/\b(fetch|EventSource|location\.assign|window\.open)\((?!\))(.{0,12})/g)].map(([, call, first]) => `${call}(${first}`);
    const direct = asked.filter((each) => !/\((served\(|address)/.test(each)); // `address` is what `served` gave, or the provider's.
    assert.deepEqual(direct, [], name);
    assert.doesNotMatch(script, /href(:|\s=)\s*["'`]\//, name);
    if (!["_base.js", "first.js", "view.js"].includes(name)) assert.doesNotMatch(script, /location\.pathname/, name);
  }
});

test("what a script puts on the page goes under a name of ours", () => {
  const before = new Set(Object.keys(open([]).window));
  const { window } = open(assetNames().filter((name) => !BEFORE_ALL.includes(name)));
  const added = Object.keys(window).filter((name) => !before.has(name));
  const others = added.filter((name) => !name.startsWith("bapo"));
  const ofComponents = ["regeneratorRuntime", "dash_ag_grid"];
  assert.deepEqual(others, [...ofComponents, "dashMantineFunctions", "dashAgGridComponentFunctions"]);
});

test("the pages call every function of the scripts, and none that is not there", () => {
  const { clientside } = open(assetNames().filter((name) => !BEFORE_ALL.includes(name)));
  const own = new Set(["no_update", "set_props", "callback_context"]);
  const defined = Object.keys(clientside).filter((name) => !own.has(name)).flatMap(
    (name) => Object.keys(clientside[name]).map((each) => `${name}.${each}`),
  );
  // clientside(app, "charts", "view", …), or once per page in_browser = partial(clientside, app, "runs") and then in_browser("bulk", …).
  let namespace = "";
  const called = [...pages().matchAll(/clientside[(,]\s*app,\s*"(\w+)"(?:,\s*"(\w+)")?|in_browser\(\s*"(\w+)"/g)].flatMap(
    ([, named, direct, short]) => {
      if (direct) return [`${named}.${direct}`];
      if (short) return [`${namespace}.${short}`];
      namespace = named;
      return [];
    },
  );
  assert.deepEqual(defined.toSorted(), [...new Set(called)].toSorted());
});
