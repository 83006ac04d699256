// The style sheets hold no rule for what no page shows.
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { assetNames, pages, ROOT, sourceOf } from "./page.mjs";

const styles = globSync(["frontend/assets/*.css", "bapo/report/assets/*.css"], { cwd: ROOT });
const sheets = styles.map((name) => readFileSync(new URL(name, ROOT), "utf8").replaceAll(/\/\*[^]*?\*\//g, "")).join("\n");
const sources = pages() + assetNames().map(sourceOf).join("\n");

// Plotly, AG Grid, Mantine and Dash name elements of their own.
const FOREIGN = /^(ag|mantine|m_|_dash|dash)/;
// Names that are put together, as `icon-${name}`: their second part is a value somewhere.
const COMPOSED = /^(icon|status|source|log|rate|filter|for|has)-/;

const isThere = (text, before = "(?<![\\w-])", after = "(?![\\w-])") => new RegExp(before + text + after).test(sources);
const isComposed = (name) => COMPOSED.test(name) && isThere(name.replace(COMPOSED, ""), "[\"'(|]", "[\"'|)]");

test("every class and every identifier of a style sheet is one of the pages", () => {
  const selectors = [...sheets.matchAll(/([^{}]+)\{/g)].map(([, selector]) => selector).filter((selector) => !selector.trim().startsWith("@"));
  const named = new Set(selectors.join(" ").match(/[.#][a-zA-Z_][\w-]*/g).map((name) => name.slice(1)));
  const unknown = [...named].filter((name) => !FOREIGN.test(name) && !isThere(name) && !isComposed(name));
  assert.deepEqual(unknown, []);
});
