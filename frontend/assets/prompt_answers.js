// Two visits of a prompt side by side: what the policy wrote then and now, pair by pair.
(function () {
  "use strict";

  const { ask, button, count, find, make, plural } = window.bapo;
  const { failure, isRight, verdict } = window.bapoGroups;
  const { fill } = window.bapoText;

  const SIDES = ["earlier", "later"];
  const MARKS = ["word-earlier", "word-later"];

  let view = null;

  const panel = () => find("prompt-answers");

  // The newest stored group of the prompt, or that of a step.
  async function groupAt(step = null) {
    const query = new URLSearchParams({ prompt_id: view.prompt, limit: 1, ...(step === null ? {} : { step }) });
    return ask(`/api/v1/runs/${view.run}/samples?${query}`);
  }

  async function show(mounted) {
    const mine = (view = { ...mounted, pair: 0, sides: [null, null] });
    try {
      const later = await groupAt();
      if (mine !== view || later.first_step === null || later.first_step === later.newest_step) return;
      const earlier = await groupAt(later.first_step);
      if (mine !== view || !panel()) return;
      view.sides = [earlier, later];
      find("prompt-answers-section").hidden = false;
      draw();
    } catch (error) {
      if (mine === view) panel()?.replaceChildren(failure(error));
    }
  }

  async function go(side, step) {
    const mine = view;
    try {
      const page = await groupAt(step);
      if (mine !== view || !panel()) return;
      view.sides[side] = page;
      view.pair = 0;
      draw(SIDES[side]);
    } catch (error) {
      if (mine === view) panel()?.replaceChildren(failure(error));
    }
  }

  // Wrong ones first of the earlier visit, correct ones first of the later: what was learned is seen first.
  const ordered = (group, side) => group.responses.toSorted((one, other) => (isRight(one) - isRight(other)) * (side ? -1 : 1));

  function draw(focused = null) {
    const groups = view.sides.map((page) => page.items[0]);
    const pairs = Math.min(...groups.map((group) => group.responses.length));
    const shown = groups.map((group, side) => ordered(group, side)[view.pair]);
    const differing = window.bapoWords.differences(shown[0].text, shown[1].text);
    panel().replaceChildren(
      pager(pairs),
      make("div", "answers-sides", ...shown.map((item, side) => column(side, groups[side], item, differing[side]))));
    if (focused) panel().querySelector(`[data-side="${focused}"] button:not([disabled])`)?.focus();
  }

  function pager(pairs) {
    const move = (by, label, name) => {
      const element = button(label, "page-button", () => { view.pair += by; draw(); panel().querySelector(`[data-move="${name}"]`)?.focus(); });
      element.dataset.move = name;
      element.setAttribute("aria-label", `${name} pair of responses`);
      element.disabled = view.pair + by < 0 || view.pair + by >= pairs;
      return element;
    };
    return make("div", "answers-pairs", move(-1, "‹", "Previous"),
      make("span", "fact", `Pair ${count(view.pair + 1)} of ${count(pairs)}`), move(1, "›", "Next"));
  }

  function column(side, group, item, places) {
    const page = view.sides[side];
    const [earlier, later] = view.sides.map((each) => each.items[0].step);
    // The sides never change places: a visit of the earlier side is before that of the later.
    const steps = [["‹", "Previous", page.previous_step], ["›", "Next", page.next_step]].map(([sign, name, step]) => {
      const element = button(sign, "page-button", () => go(side, step));
      element.setAttribute("aria-label", `${name} visit, ${SIDES[side]} side`);
      element.disabled = step === null || (side ? step <= earlier : step >= later);
      return element;
    });
    const head = make("div", "answers-head", steps[0], make("strong", "", `Step ${count(group.step)}`), steps[1],
      make("span", "sample-accuracy", `${group.num_correct}/${group.group_size} correct`),
      make("span", "fact", `${group.group_size - group.num_correct} wrong`));
    const text = make("code", "response-text");
    fill(text, item.text, 0, item.text.length, places.map(([from, to]) => [from, to, MARKS[side]]));
    const numTokens = item.num_tokens ?? null;
    const facts = make("div", "answers-facts", verdict(isRight(item)),
      numTokens === null ? null : make("span", "response-tokens", plural(numTokens, "token")));
    const box = make("div", "answers-side", head, facts, make("div", "answers-text", text));
    box.dataset.side = SIDES[side];
    return box;
  }

  window.bapoAnswers = { show };
})();
