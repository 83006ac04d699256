// Pieces that pages on prompts and responses are made of. This file's name makes it load before those that use it.
(function () {
  "use strict";

  const { ask, button, copy, count, find, icon, make, noUpdate, plural, served, setProps } = window.bapo;
  const { textBox, turns } = window.bapoText;

  const SOURCES = { fresh: "X1 fresh", reevaluated: "X2 re-evaluated", reused: "X3 reused" };

  function copyButton(text, what) {
    if (!navigator.clipboard) return null; // Only where the page is served safely.
    const mark = icon("copy");
    mark.style.width = mark.style.height = "14px";
    const element = button(mark, "copy-button", () => copy(text, mark));
    element.setAttribute("aria-label", `Copy ${what}`);
    element.title = `Copy ${what}`;
    return element;
  }

  // `limit`: tokens at which the run cuts responses; null where nothing says so.
  function response(item, part, limit) {
    const mark = verdict(isRight(item));
    const numTokens = item.num_tokens ?? null;
    const isCut = item.is_cut ?? (limit !== null && numTokens !== null && numTokens >= limit);
    const cut = isCut ? make("span", "response-cut", "cut") : null;
    if (cut) cut.title = limit === null ? "Cut at the limit on tokens" : `Cut at the limit of ${plural(limit, "token")}`;
    return make("div", "response", mark,
      textBox(item.text, "response-text", { part, answer: item.answer_span ?? null, numTokens }),
      make("span", "response-tools", cut,
        numTokens === null ? null : make("span", "response-tokens", plural(numTokens, "token")),
        copyButton(item.text, "the response")));
  }

  const isRight = (item) => item.is_correct ?? item.reward > 0;

  function verdict(good) {
    const mark = icon(good ? "check" : "cross");
    mark.style.width = mark.style.height = "14px";
    const box = make("span", `response-reward ${good ? "good" : "bad"}`, mark);
    box.setAttribute("role", "img");
    box.setAttribute("aria-label", good ? "correct" : "wrong");
    return box;
  }

  const promptPath = (run, id) => `/runs/${encodeURIComponent(run)}/prompts/${encodeURIComponent(id)}`;

  // A link inside the dashboard: no page load, except in another tab.
  function link(label, className, path, query = "") {
    const element = make("a", className, label);
    element.href = served(path + query);
    element.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
      event.preventDefault();
      event.stopPropagation();
      setProps("url", { pathname: path, search: query });
    });
    return element;
  }

  function card(run, sample, { part = "", withPrompt = true, limit = null } = {}) {
    const age = sample.step - 1 - sample.policy_version;
    const policy = age <= 0 ? "current policy" : `policy ${plural(age, "step")} old`;
    const facts = [
      `step ${count(sample.step)}`,
      ...((sample.policy_version ?? null) === null ? [] : [policy]), // An observed trainer may not report it.
      sample.in_batch ? "trained on" : "not trained on",
    ];
    const head = make("div", "sample-head",
      make("span", `source source-${sample.source}`, SOURCES[sample.source] || sample.source),
      make("span", "sample-accuracy", `${sample.num_correct}/${sample.group_size} correct`),
      ...facts.map((fact) => make("span", "fact", fact)),
      withPrompt ? link("All visits", "sample-link", promptPath(run, sample.prompt_id)) : null);
    const responses = make("div", "responses", ...sample.responses.map((item) => response(item, part, limit)));
    const box = make("article", "sample-card", head, withPrompt ? prompt(sample.prompt, part) : null, responses);
    box.setAttribute("aria-label", `${sample.prompt_id}, step ${sample.step}`);
    return box;
  }

  // The messages of a chat one below the other, any other prompt as one text.
  function prompt(text, part) {
    const said = (turns(text) ?? [[null, text]]).map(([role, content]) =>
      make("div", "turn", role && make("span", "turn-role", role), textBox(content, "sample-prompt", { part })));
    return make("div", "sample-question", make("div", "turns", ...said), copyButton(text, "the prompt"));
  }

  function failure(error) {
    const text = error instanceof TypeError ? "The server does not answer. Training continues." : error.message;
    const box = make("div", "panel-problem", text);
    box.setAttribute("role", "alert");
    return box;
  }

  function whenThere(selector, act, tries = 200) {
    if (document.querySelector(selector)) act();
    else if (tries) setTimeout(() => whenThere(selector, act, tries - 1), 25);
  }

  // The callback of a mounted panel: Dash may call it before the browser has the panel.
  const whenMounted = (selector, show) => (mounted, ...controls) => {
    if (mounted) whenThere(selector(mounted), () => show(mounted, ...controls));
    return noUpdate();
  };

  // Draws the answer to the newest request of a view, unless its panel was closed meanwhile.
  async function request(view, panel, path, draw, fail = (error) => panel().replaceChildren(failure(error))) {
    view.request?.abort();
    const mine = (view.request = new AbortController());
    panel().setAttribute("aria-busy", "true");
    try {
      const answer = await ask(path, mine.signal);
      if (mine === view.request && panel()) draw(answer);
    } catch (error) {
      if (error.name !== "AbortError" && mine === view.request && panel()) fail(error);
    }
    if (mine === view.request) panel()?.removeAttribute("aria-busy");
  }

  // Announces what a panel does not show yet, with the button that shows it; without a text, hides the announcement.
  function announce(id, text, label, act) {
    const box = find(id);
    box.hidden = !text;
    box.replaceChildren(...(text ? [make("span", "", text), button(label, "text-button", act)] : []));
  }

  window.bapoGroups = { card, isRight, prompt, link, promptPath, failure, verdict, whenMounted, request, announce };
})();
