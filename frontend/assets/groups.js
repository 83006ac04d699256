// Pieces that pages on prompts and responses are made of. Whatever a model wrote becomes text nodes, never markup. Long
// texts are clipped until they are expanded; what a search finds is marked. This file's name makes it load
// before those that use it.
(function () {
  "use strict";

  const { button, copy, count, icon, make, plural, served, setProps } = window.bapo;

  const CLIPPED_LETTERS = 1200;
  const BEFORE_MATCH = 200; // Where a match lies beyond the clip, the clip begins so many letters before it.
  const MOST_MARKS = 200;
  const SOURCES = { fresh: "X1 fresh", reevaluated: "X2 re-evaluated", reused: "X3 reused" };

  // ---------------------------------------------------------------- pieces of a page

  function matches(text, part) {
    if (!part) return [];
    const pattern = new RegExp(part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "giu");
    const found = [];
    for (const match of text.matchAll(pattern)) {
      found.push([match.index, match.index + match[0].length]);
      if (found.length >= MOST_MARKS) break;
    }
    return found;
  }

  function fill(element, text, from, to, found) {
    let at = from;
    for (const [start, end] of found) {
      if (start < from || end > to) continue;
      element.append(text.slice(at, start), make("mark", "", text.slice(start, end)));
      at = end;
    }
    element.append(text.slice(at, to));
  }

  // A text that may be 100 kB long, as an element with a button where it is clipped.
  function clipped(text, className, part) {
    const box = make("div", "clipped");
    const code = make("code", className);
    const found = matches(text, part);
    box.append(code);
    if (text.length <= CLIPPED_LETTERS * 1.25) {
      fill(code, text, 0, text.length, found);
      return box;
    }
    const from = found.length && found[0][0] > CLIPPED_LETTERS ? found[0][0] - BEFORE_MATCH : 0;
    let whole = false;
    const toggle = button("", "text-button", () => { whole = !whole; draw(); });
    function draw() {
      code.replaceChildren();
      if (whole) {
        fill(code, text, 0, text.length, found);
      } else {
        const to = Math.min(text.length, from + CLIPPED_LETTERS);
        if (from) code.append("… ");
        fill(code, text, from, to, found);
        if (to < text.length) code.append(" …");
      }
      toggle.textContent = whole ? "Show less" : `Show all ${count(text.length)} characters`;
      toggle.setAttribute("aria-expanded", whole);
    }
    draw();
    box.append(toggle);
    return box;
  }

  function copyButton(text, what) {
    if (!navigator.clipboard) return null; // Only where the page is served safely.
    const mark = icon("copy");
    mark.style.width = mark.style.height = "14px";
    const element = button(mark, "copy-button", () => copy(text, mark));
    element.setAttribute("aria-label", `Copy ${what}`);
    element.title = `Copy ${what}`;
    return element;
  }

  function response(item, part) {
    const good = item.is_correct ?? item.reward > 0;
    const mark = icon(good ? "check" : "cross");
    mark.style.width = mark.style.height = "14px";
    const verdict = make("span", `response-reward ${good ? "good" : "bad"}`, mark);
    verdict.setAttribute("role", "img");
    verdict.setAttribute("aria-label", good ? "correct" : "wrong");
    return make("div", "response", verdict, clipped(item.text, "response-text", part),
      make("span", "response-tools",
        (item.num_tokens ?? null) === null ? null : make("span", "response-tokens", plural(item.num_tokens, "token")),
        copyButton(item.text, "the response")));
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

  function card(run, sample, { part = "", withPrompt = true } = {}) {
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
    const responses = make("div", "responses", ...sample.responses.map((item) => response(item, part)));
    const box = make("article", "sample-card", head, withPrompt ? prompt(sample.prompt, part) : null, responses);
    box.setAttribute("aria-label", `${sample.prompt_id}, step ${sample.step}`);
    return box;
  }

  function prompt(text, part) {
    return make("div", "sample-question", clipped(text, "sample-prompt", part), copyButton(text, "the prompt"));
  }

  function failure(error) {
    const text = error instanceof TypeError ? "The server does not answer. Training continues." : error.message;
    const box = make("div", "panel-problem", text);
    box.setAttribute("role", "alert");
    return box;
  }

  // Dash may tell of a panel before the browser has it.
  function whenThere(selector, act, tries = 200) {
    if (document.querySelector(selector)) act();
    else if (tries) setTimeout(() => whenThere(selector, act, tries - 1), 25);
  }

  window.bapoGroups = { matches, card, prompt, link, promptPath, failure, whenThere };
})();
