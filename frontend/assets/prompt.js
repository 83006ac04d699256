// A prompt's own page: its text, all responses that are stored, and the other runs that met it.
(function () {
  "use strict";

  const { ask, button, clientside, count, find, make, plural } = window.bapo;
  const { card, failure, link, prompt, promptPath, whenMounted } = window.bapoGroups;

  const COUNTED_MS = 2000; // Until it is looked whether the run is counted by now.

  let view = null;

  const box = (name) => find(`prompt-${name}`);

  async function load() {
    const mine = view;
    const query = new URLSearchParams({ prompt_id: mine.prompt, limit: mine.groups });
    if (mine.cursor) query.set("cursor", mine.cursor);
    try {
      const page = await ask(`/api/v1/runs/${mine.run}/samples?${query}`);
      if (mine === view && box("responses")) draw(page);
    } catch (error) {
      if (mine === view) box("responses")?.replaceChildren(failure(error));
    }
  }

  function draw(page) {
    view.cursor = page.next_cursor;
    box("responses").append(...page.items.map((sample) => card(view.run, sample, { withPrompt: false, limit: view.limit })));
    if (!box("responses").childElementCount) {
      box("responses").append(make("div", "panel-card panel-hint",
        "No group of this prompt was stored with its responses: samples.groups_per_step sets how many each step keeps."));
    }
    box("more").replaceChildren(...(page.next_cursor ? [button("Show earlier responses", "page-button", load)] : []));
  }

  async function loadRuns() {
    const mine = view;
    try {
      const found = await ask(`/api/v1/prompts/${encodeURIComponent(mine.prompt)}?${new URLSearchParams({ project: mine.project })}`);
      if (mine !== view || !box("runs")) return;
      const others = found.items.filter((item) => item.run_id !== mine.run);
      const rest = found.total > found.items.length ? `, of which the newest ${count(found.items.length)} are shown` : "";
      const counted = found.total
        ? `Visited by ${plural(found.total, "run")} of the project${rest}.`
        : "This run is not counted among the project's prompts yet: it happens within seconds.";
      box("runs").replaceChildren(...others.map(other), make("span", "panel-hint", counted));
      if (!found.total) setTimeout(() => { if (mine === view && box("runs")) loadRuns(); }, COUNTED_MS);
    } catch (error) {
      if (mine === view) box("runs")?.replaceChildren(failure(error));
    }
  }

  function other(item) {
    return make("div", "other-run",
      link(item.run_name, "sample-link", promptPath(item.run_id, view.prompt)),
      make("span", "fact", item.method),
      make("span", "fact", `${item.first_correct}/${item.group_size} → ${item.last_correct}/${item.group_size}`),
      make("span", "fact", `${plural(item.num_visits, "visit")}, last in step ${count(item.last_step)}`));
  }

  clientside.prompt = {
    across: whenMounted(
      ({ prompt: id }) => `#across-question[data-prompt="${CSS.escape(id)}"]`,
      (_, text) => text && find("across-question").replaceChildren(prompt(text, "")),
    ),
    show: whenMounted(({ prompt: id }) => `.prompt-page[data-prompt="${CSS.escape(id)}"]`, show),
  };

  function show(mounted) {
    view = { ...mounted, cursor: null };
    box("mode").replaceChildren(window.bapoText.modeSwitch());
    box("question")?.replaceChildren(prompt(mounted.text, ""));
    window.bapoAnswers.show(mounted);
    load();
    loadRuns();
  }

  document.addEventListener("click", (event) => {
    if (!event.target.closest || !event.target.closest("#prompt-all-visits")) return;
    box("older-visits").hidden = false;
    box("all-visits").remove();
  });
})();
