// Findings of a run: their number at the tab, and the open tab follows what the run records.
(function () {
  "use strict";

  const { clientside, find, noUpdate, setProps } = window.bapo;

  const LEAST_MS = 5000; // Between two questions, however fast the run records.

  const state = { run: null, step: null, askedAt: 0, timer: null };

  clientside.findings = {
    begin(run) {
      Object.assign(state, { run, step: null, askedAt: 0 });
      ask();
      return noUpdate();
    },
  };

  async function ask() {
    const run = state.run;
    state.askedAt = Date.now();
    let report;
    try {
      report = await window.bapo.ask(`/api/v1/runs/${run}/findings`);
    } catch {
      return; // The next step asks again.
    }
    if (state.run !== run) return;
    const tab = find("run-tabs-tab-findings");
    const count = report.findings.length;
    // Drawn by the style sheet: the tab's content is React's.
    if (tab) {
      if (count) tab.dataset.count = count;
      else delete tab.dataset.count;
    }
    const isNew = state.step !== null && state.step !== report.step;
    state.step = report.step;
    if (isNew && find("findings")) setProps("findings-poke", { data: report.step });
  }

  addEventListener("bapo:news", ({ detail }) => {
    if (detail.run !== state.run || state.timer !== null) return;
    state.timer = setTimeout(() => {
      state.timer = null;
      if (find("run-tabs")) ask();
    }, Math.max(0, state.askedAt + LEAST_MS - Date.now()));
  });
})();
