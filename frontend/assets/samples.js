// The tab with responses, group by group; the view is in the address.
(function () {
  "use strict";

  const { ask, button, clientside, count, find, make, plural, same, setProps } = window.bapo;
  const { announce, card, request, whenMounted } = window.bapoGroups;

  const TYPING_MS = 250;
  const NEWS_MS = 3000;

  let view = null;
  let typing = null;
  let askedAt = 0;

  const panel = () => find("samples");

  function parameters({ groupSize, wanted }) {
    const range = { none: [null, 0], some: [1, groupSize - 1], all: [groupSize, null] }[wanted.correct] || [null, null];
    const given = { step: wanted.step, source: wanted.source, min_correct: range[0], max_correct: range[1] };
    return new URLSearchParams(Object.entries(given).filter(([, value]) => value !== null && value !== ""));
  }

  function load(more) {
    const query = parameters(view);
    if (view.wanted.search) query.set("search", view.wanted.search);
    query.set("limit", view.groups);
    if (more) query.set("cursor", view.cursor);
    request(view, panel, `/api/v1/runs/${view.run}/samples?${query}`, (page) => draw(page, more));
  }

  function draw(page, more) {
    const part = view.wanted.search;
    const cards = page.items.map((sample) => card(view.run, sample, { part, limit: view.limit }));
    if (more) panel().append(...cards);
    else panel().replaceChildren(...cards);
    view.cursor = page.next_cursor;
    view.shown = (more ? view.shown : 0) + page.items.length;
    view.searched = (more ? view.searched : 0) + (page.num_searched || 0);
    if (!more) {
      Object.assign(view, { newest: page.newest_step, previous: page.previous_step, next: page.next_step });
      setProps("samples-previous", { disabled: page.previous_step === null });
      setProps("samples-next", { disabled: page.next_step === null || view.wanted.step === "" });
      tellNews();
    }
    const shown = find("samples-shown");
    shown.textContent = part
      ? `${plural(view.shown, "group")} found in ${count(view.searched)} searched`
      : page.total === null ? "" : `${count(view.shown)} of ${plural(page.total, "group")}`;
    if (!view.shown) panel().replaceChildren(nothing(page));
    const foot = find("samples-more");
    foot.replaceChildren();
    if (page.next_cursor) {
      const last = page.items.at(-1);
      const label = part && page.items.length < view.groups ? "Search older responses" : "Show more";
      foot.append(button(label, "page-button", () => load(true)));
      if (last) foot.append(make("span", "fact", `down to step ${count(last.step)}`));
    }
  }

  function nothing(page) {
    const filtered = Object.values(view.wanted).some((value) => value !== "");
    const title = filtered ? "No group matches" : "No responses yet";
    const text = page.next_cursor
      ? "None of the newest groups matches. Search the older ones below."
      : filtered
        ? "Not every group is stored with its responses. Change the step or the filter above."
        : "samples.groups_per_step sets how many groups of each step are stored with their responses.";
    return make("div", "panel-empty", make("strong", "", title), make("span", "", text));
  }

  function tellNews() {
    const isNew = view.arrived !== null && view.newest !== null && view.arrived > view.newest;
    announce("samples-news", isNew && `Step ${count(view.arrived)} has new responses.`, "Show", newest);
  }

  function newest() {
    if (view.wanted.step === "") load(false);
    else setProps("samples-step", { value: "" });
  }

  function address() {
    window.bapoView.write(view.wanted);
  }

  clientside.samples = { show: whenMounted(({ run }) => `#samples[data-run="${run}"]`, show) };

  window.bapoSamples = { parameters };

  function show(mounted, step, source, correct, search) {
    const wanted = { step: step ?? "", source: source ?? "", correct: correct ?? "", search: (search || "").trim().slice(0, 200) };
    if (!view || view.mounted !== mounted) {
      view = { ...mounted, mounted, wanted, cursor: null, shown: 0, searched: 0, newest: null, arrived: null };
      find("samples-mode").replaceChildren(window.bapoText.modeSwitch());
      load(false);
    } else if (!same(wanted, view.wanted)) {
      const typed = find("samples-search") === document.activeElement || find("samples-step") === document.activeElement;
      view.wanted = wanted;
      clearTimeout(typing);
      typing = setTimeout(() => { if (panel()) { address(); load(false); } }, typed ? TYPING_MS : 0);
    }
  }

  document.addEventListener("click", (event) => {
    if (!view || !panel() || !event.target.closest) return;
    const go = (step) => { if (step !== null) setProps("samples-step", { value: step }); };
    if (event.target.closest("#samples-previous")) go(view.previous);
    else if (event.target.closest("#samples-next")) go(view.next);
    else if (event.target.closest("#samples-newest")) newest();
  });

  addEventListener("bapo:view", ({ detail: query }) => {
    if (!view || !panel() || query.get("tab") !== "samples") return;
    const wanted = Object.fromEntries(["step", "source", "correct", "search"].map((key) => [key, query.get(key) || ""]));
    if (wanted.step) wanted.step = Number(wanted.step);
    view.wanted = wanted;
    setProps("samples-step", { value: wanted.step });
    setProps("samples-source", { value: wanted.source || null });
    setProps("samples-correct", { value: wanted.correct || null });
    setProps("samples-search", { value: wanted.search });
    load(false);
  });

  // New responses are announced, not shown, so that the text being read does not move.
  addEventListener("bapo:step", () => {
    if (!view || !panel() || Date.now() - askedAt < NEWS_MS) return;
    askedAt = Date.now();
    setTimeout(async () => {
      if (!panel()) return;
      const query = parameters(view);
      query.delete("step");
      query.set("limit", 1);
      try {
        view.arrived = (await ask(`/api/v1/runs/${view.run}/samples?${query}`)).newest_step;
      } catch {
        return; // The next step asks again.
      }
      if (!panel()) return;
      if (view.newest === null && view.arrived !== null) load(false);
      else tellNews();
    }, NEWS_MS / 3);
  });
})();
