// Texts of models: what is shown of a long one, the messages of a chat, and the words in which two texts differ.
import assert from "node:assert/strict";
import { test } from "node:test";
import { equal, open } from "./page.mjs";

const { bapoText: { folded, turns }, bapoWords: { differences } } = open(["_text.js", "_words.js"]).window;

test("a text of 1,500 characters in 24 lines is shown whole", () => {
  equal(folded("x".repeat(1500), []), [[0, 1500]]);
  equal(folded("ab\n".repeat(23), []), [[0, 69]]);
});

test("of a text of more lines the first twelve are shown", () => {
  // 400 lines of 3 characters: twelve end at 36, less the last one's break; the last 200 begin with a whole line.
  equal(folded("ab\n".repeat(400), []), [[0, 35], [1002, 1200]]);
});

test("of a longer one its beginning and its end are shown, and the place of its answer between them", () => {
  const text = "x".repeat(9000);
  equal(folded(text, []), [[0, 700], [8800, 9000]]);
  // 200 letters before the answer, and 60 behind it.
  equal(folded(text, [[5000, 5002]]), [[0, 700], [4800, 5062], [8800, 9000]]);
  equal(folded(text, [[8950, 8952]]), [[0, 700], [8750, 9000]]);
});

test("a piece ends with a line or a word, and never within a character", () => {
  const words = "seven77 ".repeat(400);
  const [[from, to]] = folded(words, []);
  equal([from, to], [0, 695]);
  const astral = `${"x".repeat(699)}${"😀".repeat(800)}`;
  equal(folded(astral, [])[0], [0, 701]);
});

test("a piece begins and ends with a paragraph where one is near", () => {
  const text = `${"word ".repeat(100)}\n\n${"x".repeat(400)}\n\n${"y".repeat(2000)}\n\n${"so ".repeat(50)}`;
  // 502 letters, 402, 2002 and 150: the first ends before 700, and the last begins after 2856.
  equal(folded(text, []), [[0, 500], [2906, 3056]]);
});

test("an answer as long as the text does not unfold it", () => {
  equal(folded("x".repeat(9000), [[2000, 8000]]), [[0, 700], [1800, 2760], [8800, 9000]]);
});

test("a chat is shown as its messages, any other prompt as one text", () => {
  equal(turns("system: Be brief.\n\nuser: Two\n\nlines: 3\n\nassistant: So."), [
    ["system", "Be brief."], ["user", "Two\n\nlines: 3"], ["assistant", "So."],
  ]);
  assert.equal(turns("What does a user: say?"), null);
  assert.equal(turns(""), null);
});

test("words that one of two texts alone has at a place are marked, neighbours as one", () => {
  //                 0123456789012345678901
  equal(differences("so 3 apples are left.", "so 14 pears are left."), [[[3, 11]], [[3, 11]]]);
  equal(differences("a b c", "a c"), [[[2, 3]], []]);
  equal(differences("a c", "a b c"), [[], [[2, 3]]]);
  equal(differences("same", "same"), [[], []]);
  equal(differences("", "new word"), [[], [[0, 8]]]);
  // x=1 is three words: the number alone differs.
  equal(differences("x=1", "x=2"), [[[2, 3]], [[2, 3]]]);
});
