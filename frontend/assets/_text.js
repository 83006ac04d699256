// What models wrote and were asked, as elements: folded where it is long, with its Markdown and formulas or as it is.
// A text becomes text nodes; its Markdown comes from the server as a tree of elements and never as markup.
// This file's name makes it load before those that use it.
(function () {
  "use strict";

  const { button, count, make, plural, served, stored } = window.bapo;

  const FOLDED_LETTERS = 1500; // A longer text is folded to its beginning, its answer and its end,
  const FOLDED_LINES = 24; //     and one of more lines.
  const HEAD = 700;
  const HEAD_LINES = 12;
  const TAIL = 200;
  const AROUND = 200; // Letters that are shown before what is looked for.
  const MOST_MARKS = 200;
  const SNAP = 60; // How near the end of a word or line is.
  const BLOCK = 350; // How near the end of a paragraph is.
  const AHEAD = "600px"; // Texts are rendered so far before they are in sight.
  const MOST_LETTERS = 100_000; // Of one request.
  const MOST_TEXTS = 100;
  const MATHML = "http://www.w3.org/1998/Math/MathML";
  const PROSE = /\n|\*\*|^#|`|\$[^$]+\$|\\[([]|\\boxed/;
  const TURN = /(?:^|(?<=\n\n))(system|developer|user|assistant|tool): /g;
  const HALVES = /[\ud800-\udfff]/;

  // ---------------------------------------------------------------- places in a text

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

  // The server counts characters, a browser counts some of them twice.
  const unitsOf = (text, characters) => (HALVES.test(text) ? [...text].slice(0, characters).join("").length : characters);
  const charactersOf = (text, units) => Array.from(text.slice(0, units)).length;

  // The pieces of a text that are shown of it while it is folded; `places`: what must be seen of it.
  function folded(text, places) {
    const all = text.length;
    if (all <= FOLDED_LETTERS && text.split("\n", FOLDED_LINES + 1).length <= FOLDED_LINES) return [[0, all]];
    const head = Math.min(HEAD, text.split("\n", HEAD_LINES).join("\n").length);
    const wanted = [[0, head], [all - TAIL, all], ...places.map(([from, to]) => [from - AROUND, Math.min(to, from + HEAD) + SNAP])];
    const pieces = [];
    for (const [from, to] of wanted.toSorted((one, other) => one[0] - other[0])) {
      const last = pieces.at(-1);
      if (last && from <= last[1] + SNAP) last[1] = Math.max(last[1], Math.min(to, all));
      else pieces.push([from, Math.min(to, all)]);
    }
    return pieces.map(([from, to], number) => {
      const seen = places.find(([start, end]) => start >= from && end <= to);
      return [
        from && after(text, from, Math.min(seen?.[0] ?? to, from + BLOCK)),
        number === pieces.length - 1 ? all : before(text, to, Math.max(seen?.[1] ?? from, to - BLOCK)),
      ];
    });
  }

  // A piece begins and ends with a paragraph, else with a line or a word, if there is one near: cut anywhere, a table or a
  // formula is none.
  function after(text, at, last) {
    const near = text.slice(at, last);
    const paragraph = near.indexOf("\n\n");
    if (paragraph >= 0) return at + paragraph + 2;
    if (/\s/.test(text[at - 1])) return at;
    const word = near.slice(0, SNAP);
    const space = word.includes("\n") ? word.indexOf("\n") : word.search(/\s/);
    return whole(text, at + space + 1);
  }

  function before(text, at, first) {
    const near = text.slice(first, at);
    const paragraph = near.lastIndexOf("\n\n");
    if (paragraph > 0) return first + paragraph;
    if (/\s/.test(text[at])) return at;
    const word = near.slice(-SNAP);
    const space = Math.max(word.lastIndexOf("\n"), word.includes("\n") ? -1 : word.lastIndexOf(" "));
    return whole(text, space < 0 ? at : at - word.length + space);
  }

  // Never half a character.
  const whole = (text, at) => (/[\udc00-\udfff]/.test(text[at] ?? "") ? at + 1 : at);

  // Role and text of the messages of a chat, as message_text.py writes them; null of any other text.
  function turns(text) {
    const marks = [...text.matchAll(TURN)];
    if (!marks.length || marks[0].index) return null;
    return marks.map((mark, number) => {
      const end = marks[number + 1]?.index ?? text.length;
      return [mark[1], text.slice(mark.index + mark[0].length, end).trimEnd()];
    });
  }

  // ---------------------------------------------------------------- elements

  function fill(element, text, from, to, marks) {
    let at = from;
    for (const [start, end, kind] of marks) {
      if (start < at || end > to) continue;
      element.append(text.slice(at, start), make("mark", kind, text.slice(start, end)));
      at = end;
    }
    element.append(text.slice(at, to));
  }

  function drawn(node, space = null) {
    if (typeof node === "string") return node;
    const [name, properties, within] = node;
    const inner = name === "math" ? MATHML : space;
    const element = inner ? document.createElementNS(inner, name) : document.createElement(name);
    for (const [key, value] of Object.entries(properties)) element.setAttribute(key === "className" ? "class" : key, value);
    element.append(...within.map((each) => drawn(each, inner)));
    return element;
  }

  const gap = () => make("span", "text-gap", "⋯");

  // A text that may be 100 kB long. `part`: what is searched for; `answer`: the place of the answer in it.
  function textBox(text, className, { part = "", answer = null, numTokens = null } = {}) {
    const box = make("div", "text-box");
    const found = matches(text, part);
    const span = answer && answer.map((place) => unitsOf(text, place));
    const marks = [...found.map(([from, to]) => [from, to, ""]), ...(span ? [[...span, "answer"]] : [])]
      .toSorted((one, other) => one[0] - other[0]);
    const folds = folded(text, [...(found.length ? [found[0]] : []), ...(span ? [span] : [])]);
    const isWhole = folds.length === 1 && folds[0][1] === text.length;
    let isOpen = isWhole;
    const toggle = button("", "text-button", () => { isOpen = !isOpen; box.draw(); });
    const length = numTokens === null ? `${count(text.length)} characters` : plural(numTokens, "token");

    box.draw = () => {
      const pieces = isOpen ? [[0, text.length]] : folds;
      const content = make("code", className);
      pieces.forEach(([from, to], number) => {
        if (number) content.append(gap());
        fill(content, text, from, to, marks);
      });
      toggle.textContent = isOpen ? "Show less" : `Show all ${length}`;
      toggle.setAttribute("aria-expanded", isOpen);
      box.replaceChildren(content, ...(isWhole ? [] : [toggle]));
      box.pieces = null;
      // What is searched for is found in the text as it is.
      if (!isRendered || part || !PROSE.test(text)) return;
      box.pieces = pieces.map(([from, to]) => piece(text, from, to, span));
      whenInSight(box);
    };

    box.show = (trees) => {
      const content = make("div", `${className} prose markdown`);
      trees.forEach((tree, number) => content.append(...(number ? [gap()] : []), ...tree.map((node) => drawn(node))));
      box.firstChild.replaceWith(content);
    };

    box.draw();
    return box;
  }

  function piece(text, from, to, span) {
    const said = text.slice(from, to);
    const isInside = span && span[0] >= from && span[1] <= to;
    return { text: said, answer: isInside ? span.map((place) => charactersOf(said, place - from)) : null };
  }

  // ---------------------------------------------------------------- Markdown

  const waiting = new Set();
  let observer = null;

  function whenInSight(box) {
    observer ??= new IntersectionObserver((entries) => {
      for (const { isIntersecting, target } of entries) {
        if (!isIntersecting) continue;
        observer.unobserve(target);
        if (target.pieces) waiting.add(target);
      }
      render();
    }, { rootMargin: AHEAD });
    observer.observe(box);
  }

  async function render() {
    while (waiting.size) {
      const boxes = [];
      const texts = [];
      let letters = 0;
      for (const box of waiting) {
        const size = box.pieces?.reduce((sum, { text }) => sum + text.length, 0) ?? 0;
        if (boxes.length && (letters + size > MOST_LETTERS || texts.length + box.pieces.length > MOST_TEXTS)) break;
        waiting.delete(box);
        if (!box.pieces) continue;
        boxes.push([box, box.pieces]);
        texts.push(...box.pieces);
        letters += size;
      }
      if (!boxes.length) return;
      const trees = await treesOf(texts);
      for (const [box, pieces] of boxes) {
        const own = trees.splice(0, pieces.length);
        if (box.pieces === pieces && own.length === pieces.length) box.show(own); // Unless it was folded meanwhile.
      }
    }
  }

  // None where the server does not answer: the text stays as it is.
  async function treesOf(texts) {
    try {
      const answer = await fetch(served("/live/rendered"), {
        method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ texts }),
      });
      return answer.ok ? await answer.json() : [];
    } catch {
      return [];
    }
  }

  // ---------------------------------------------------------------- the switch

  const mode = stored("bapo-text");
  let isRendered = mode.read() !== "plain";

  function modeSwitch() {
    const choices = [["rendered", "Rendered"], ["plain", "As text"]].map(([name, label]) => {
      const choice = button(label, "text-mode", () => {
        mode.write(name);
        isRendered = name === "rendered";
        for (const each of box.children) each.setAttribute("aria-pressed", each === choice);
        for (const each of document.querySelectorAll(".text-box")) each.draw();
      });
      choice.setAttribute("aria-pressed", (name === "rendered") === isRendered);
      return choice;
    });
    const box = make("div", "text-switch", ...choices);
    box.setAttribute("role", "group");
    box.setAttribute("aria-label", "How texts are shown");
    return box;
  }

  window.bapoText = { matches, folded, turns, textBox, fill, modeSwitch };
})();
